//! The files of `typeloom run`: input values, side files of models, generated inputs, outputs.

pub(crate) mod budget;
pub(crate) mod engine;
pub(crate) mod prepared;
pub(crate) mod random;
pub(crate) mod store;
pub(crate) mod summary;
