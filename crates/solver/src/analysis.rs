//! Analyses of solved bodies: declared shapes, conditions on symbols, limits, and recovery from errors.

pub(crate) mod claims;
pub(crate) mod conditions;
pub(crate) mod false_shapes;
pub(crate) mod limits;
pub(crate) mod recovery;
