//! The parts of `typeloom run`: given and generated inputs, limits, engines, outputs, and comparisons with
//! a reference or another model.

pub(crate) mod budget;
pub(crate) mod comparison;
pub(crate) mod engine;
pub(crate) mod loaded;
pub(crate) mod prepared;
pub(crate) mod reference;
pub(crate) mod store;
pub(crate) mod summary;
