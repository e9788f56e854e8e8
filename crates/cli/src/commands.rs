//! One file a command.

pub(crate) mod check;
pub(crate) mod explain;
pub(crate) mod infer;
pub(crate) mod ops;
