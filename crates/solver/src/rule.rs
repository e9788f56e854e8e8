//! Rules: what an operator says about its ports beyond its signature.
//!
//! A rule is a function with a name. It runs inside a [`RuleCx`], which shows it what is known about
//! the ports of one node and lets it narrow that knowledge. Knowledge that is missing is `None`, and
//! a rule that needs it does nothing: it runs again when more is known.
//!
//! Laws that every rule keeps, and the tests of the catalogue check:
//!
//! - *Monotone.* With more knowledge it never says less, and never the contrary.
//! - *Idempotent.* Run twice, it changes nothing the second time.
//! - *Sound.* It writes only what every run of the operator would confirm. Where an extent depends on
//!   data, the extent is [`fresh`](RuleCx::fresh); where even the rank does, nothing is written.
//!
//! ```
//! use typeloom_solver::rule::{RuleError, Port::{In, Out}, RuleCx};
//!
//! /// `squeeze_last.shape`: the output drops the last axis, which must have extent 1.
//! fn squeeze_last(cx: &mut RuleCx<'_, '_>) -> Result<(), RuleError> {
//!     let Some(mut shape) = cx.shape(In(0)) else { return Ok(()) };
//!     let Some(last) = shape.pop() else { return Err(cx.wrong_rank(In(0), 1..)) };
//!     let one = cx.dims().constant(1);
//!     cx.require_equal((In(0), shape.len(), last), one, "is squeezed, so it must be 1")?;
//!     cx.set_shape(Out(0), &shape)
//! }
//! ```

mod attributes;
mod cases;
mod constants;
pub(crate) mod cx;
pub(crate) mod error;
mod loops;
pub(crate) mod port;
mod recovery;
mod shapes;
pub(crate) mod tree;
mod types;
mod unroll;

pub use crate::dim::shape::DimVec;
pub use crate::state::constants::{Counting, Floats, Ints, MAX_ELEMENTS, Order};
pub use cases::Comparison;
pub use cx::RuleCx;
pub use error::RuleError;
pub use loops::{Knowledge, Trips};
pub use port::{Extent, Port};
pub use types::Kind;
pub use unroll::Unroll;

/// A rule of an operator.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name: the operator in lower case, a dot, what it relates (`matmul.contract`).
    pub name: &'static str,
    /// What it does.
    pub run: RuleFn,
}

/// What a rule does.
pub type RuleFn = fn(&mut RuleCx<'_, '_>) -> Result<(), RuleError>;

/// A rule that is data, such as what a file says about the shapes of an operator.
pub trait ShapeRule: Send + Sync + std::fmt::Debug {
    /// Its name, as that of a [`Rule`].
    fn name(&self) -> &'static str;

    /// What it does; it keeps the laws of a [`Rule`].
    ///
    /// # Errors
    /// What is wrong with the node.
    fn run(&self, cx: &mut RuleCx<'_, '_>) -> Result<(), RuleError>;
}

/// The rules of an operator that has nested graphs.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// Runs before the nested graphs: types their inputs.
    pub enter: Rule,
    /// Runs after them: types the node's outputs.
    pub exit: ExitRule,
}

/// The second half of a [`Control`].
#[derive(Clone, Copy, Debug)]
pub struct ExitRule {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub run: fn(&mut RuleCx<'_, '_>) -> Result<Exit, RuleError>,
}

/// What the end of a node with nested graphs decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// The outputs are typed.
    Done,
    /// The inputs of the nested graphs were widened (see [`RuleCx::assume_shape`]): solve the graphs again.
    Again,
}
