//! Edits of serialized models that keep every other byte.
//!
//! | module | purpose |
//! |---|---|
//! | [`annotate`] | writes solved types into a model file, and removes them again |
//! | [`mod@reference`] | writes types in the form of the reference's inference |
//! | [`mend`] | repairs the order of nodes and false declared shapes |
//! | [`coerce`] | inserts the fewest conversions that make a model type-check |
//! | [`mod@convert`] | changes the floating-point precision of a model |
//! | [`retarget`] | exact changes that a runtime or device requires |
//! | [`specialize`] | fixes symbols, and removes what is constant then |
//! | [`advise`] | tests the fixes of diagnostics, and removes those that do not work |
//! | [`safety`] | which repairs need a decision of the user |
//! | [`names`] | new names |
//!
//! **Invariant:** only proved types are written into a model.

use std::sync::Arc;

use typeloom_solver::catalogue::Catalogue;
use typeloom_solver::model::{CheckError, Checked, Options, check};
use typeloom_solver::universe::Universe;

pub mod advise;
pub mod annotate;
pub mod coerce;
pub mod convert;
pub mod mend;
pub mod names;
pub mod reference;
pub mod retarget;
pub mod safety;
pub mod specialize;

mod apply;
mod declared;
mod fields;
mod ids;
mod proven;
mod unused;

/// Parameters of checks.
#[derive(Clone, Copy)]
struct Settings<'s> {
    catalogue: &'s dyn Catalogue,
    universe: &'s Arc<Universe>,
    options: &'s Options,
}

impl<'s> Settings<'s> {
    fn check<'b>(&self, bytes: &'b [u8]) -> Result<Checked<'b>, CheckError>
    where
        's: 'b,
    {
        check(bytes, self.catalogue, self.universe, self.options)
    }
}
