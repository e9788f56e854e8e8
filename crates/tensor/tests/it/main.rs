//! Laws of values, tested through the public interface.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

#[cfg(feature = "values")]
mod addresses;
mod any_tensor;
