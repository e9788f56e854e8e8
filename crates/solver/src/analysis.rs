//! Analyses of a solved body: what its declarations, conditions and errors mean for the whole model.

pub(crate) mod claims;
pub(crate) mod conditions;
pub(crate) mod false_shapes;
pub(crate) mod limits;
pub(crate) mod recovery;
