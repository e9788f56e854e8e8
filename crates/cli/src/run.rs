//! The parts of `typeloom run`: given and generated inputs, limits, engines, outputs, and the comparison with
//! a reference.

pub(crate) mod budget;
pub(crate) mod engine;
pub(crate) mod prepared;
pub(crate) mod reference;
pub(crate) mod store;
pub(crate) mod summary;
