//! Inputs of runs, and comparisons of their outputs: what `typeloom run` does except for files, processes and
//! text.

pub(crate) mod constants;
pub mod difference;
pub mod literal;
pub mod precision;
pub mod random;

pub use typeloom_runtime::literal::cast;
