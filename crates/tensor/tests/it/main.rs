//! Laws of values and of their types, tested through the public interface.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

#[cfg(feature = "values")]
mod addresses;
mod any_tensor;
#[cfg(feature = "values")]
mod value_checks;
mod value_types;
