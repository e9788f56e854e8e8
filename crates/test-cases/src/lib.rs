//! The number of cases that a test takes: all with `TYPELOOM_TESTS=all`, which the CI sets, and a part of them otherwise.
//!
//! A plain run is a quick check during development: a test that takes seconds with all cases takes a tenth to a fifth of them. What it
//! asserts about the number of cases of a kind holds for both runs.

/// Whether tests take all their cases.
pub fn is_all() -> bool {
    std::env::var("TYPELOOM_TESTS").as_deref() == Ok("all")
}

/// `all` if tests take all their cases, and `few` otherwise: a count, a size, or a step through a list of cases (`number(10, 1)`).
pub fn number<T>(few: T, all: T) -> T {
    if is_all() { all } else { few }
}
