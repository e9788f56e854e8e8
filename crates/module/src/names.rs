//! Names of attributes and methods.

/// Attribute: the parameter types of an imported function.
pub const PARAMS: &str = "params";
/// Attribute: the result types of an imported function.
pub const RESULTS: &str = "results";
/// Attribute: the parameter names of an imported function.
pub const PARAMS_NAMES: &str = "params_names";
/// Attribute: the result names of an imported function.
pub const RESULTS_NAMES: &str = "results_names";
/// `ReduceSum` as `reduce_sum`, `GRU` as `gru`, `MatMul` as `mat_mul`.
#[must_use]
pub fn snake_case(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut snake = String::with_capacity(name.len() + 4);
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| chars[before]);
        let starts_word = c.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || (before.is_ascii_digit() && chars.get(at + 1).is_some_and(char::is_ascii_lowercase))
                    || (before.is_ascii_uppercase()
                        && chars.get(at + 1).is_some_and(char::is_ascii_lowercase))
            });
        if starts_word {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}
