//! Extents in the texts of types and of small tensors.

/// The extents in the text of a shape after its `[`, up to its `]`. They are separated by commas outside of
/// parentheses.
pub(super) fn extents(shape: &str) -> Vec<&str> {
    let (mut depth, mut from) = (0_usize, 0);
    let mut found = Vec::new();
    let mut end = shape.len();
    for (at, c) in shape.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' if depth == 0 => {
                end = at;
                break;
            }
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                found.push(shape[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(shape[from..end].trim());
    found.retain(|extent| !extent.is_empty());
    found
}
