//! Edits of serialized models that keep every other byte.
//!
//! | module | purpose |
//! |---|---|
//! | [`annotate`] | writes solved types into a model file, and removes them again |
//! | [`mend`] | repairs the order of nodes and false declared shapes |
//! | [`coerce`] | inserts the fewest conversions that make a model type-check |
//! | [`advise`] | keeps the fixes of diagnostics that are known to work |
//!
//! **Invariant:** nothing that is not proved is written into a model.

pub mod advise;
pub mod annotate;
pub mod coerce;
pub mod mend;

mod declared;
mod fields;
mod names;
