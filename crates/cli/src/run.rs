//! What `typeloom run` needs of files: values in, side files of models, made-up inputs, outputs.

pub(crate) mod budget;
pub(crate) mod prepared;
pub(crate) mod random;
pub(crate) mod store;
pub(crate) mod summary;
