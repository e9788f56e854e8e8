//! Rules: the typing of operators beyond their signatures.
//!
//! A rule is a named function. It runs in a [`RuleCx`], which gives it the known types, shapes and constants
//! at the ports of one node and lets it narrow them. Missing knowledge is `None`. A rule that needs missing
//! knowledge returns without effect and runs again when more is known.
//!
//! Every rule satisfies these laws, which the tests of the catalogue check:
//!
//! - *Monotone.* More knowledge never leads to a less precise or contradictory result.
//! - *Idempotent.* A second run changes nothing.
//! - *Sound.* A rule writes only facts that hold in every run of the operator. An extent that depends on data
//!   is [`fresh`](RuleCx::fresh). If the rank depends on data, the rule writes no shape.
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
pub(crate) mod runs;
mod shapes;
mod shared;
mod steps;
pub(crate) mod tree;
mod types;
mod unroll;

pub use crate::state::affine::{Affine, Form, Part, Term, Variable};
pub use crate::state::constants::{Extents, Floats, Ints, Items, MAX_ELEMENTS};
pub use cases::ComparisonOp;
pub use cx::RuleCx;
pub use error::RuleError;
pub use loops::{Knowledge, Trips};
pub use port::{Extent, ExtentRelation, Port};
pub use types::Kind;
pub use unroll::Unroll;

/// A rule of an operator.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The name: the operator in lower case, a dot, and the relation (`matmul.contract`).
    pub name: &'static str,
    /// The function to run.
    pub run: RuleFn,
}

/// The result of a rule or of a part of it.
pub type RuleResult<T = ()> = Result<T, RuleError>;

/// The function of a rule.
pub type RuleFn = fn(&mut RuleCx<'_, '_>) -> RuleResult;

/// A rule that is data, such as a shape rule from a description file.
pub trait ShapeRule: Send + Sync + std::fmt::Debug {
    /// The name, as for a [`Rule`].
    fn name(&self) -> &'static str;

    /// Runs the rule. It satisfies the laws of a [`Rule`].
    ///
    /// # Errors
    /// The error of the node.
    fn run(&self, cx: &mut RuleCx<'_, '_>) -> Result<(), RuleError>;
}

/// The rules of an operator with nested graphs.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// Runs before the nested graphs and types their inputs.
    pub enter: Rule,
    /// Runs after the nested graphs and types the outputs of the node.
    pub exit: ExitRule,
    /// The use of the types in the nested graphs.
    pub graphs: GraphTypes,
}

/// The use that an operator makes of the types in its nested graphs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GraphTypes {
    /// They decide the types of the node's outputs.
    Decide,
    /// They are checked only. [`Detail::Types`](crate::model::Detail::Types) leaves such graphs out, as the
    /// reference does, and applies the operator's rules for a node without graphs.
    Check,
}

/// The rule that runs after the nested graphs.
#[derive(Clone, Copy, Debug)]
pub struct ExitRule {
    /// The name, as for a [`Rule`].
    pub name: &'static str,
    /// The function to run.
    pub run: fn(&mut RuleCx<'_, '_>) -> Result<Exit, RuleError>,
}

/// The result of an [`ExitRule`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// The outputs are typed.
    Done,
    /// The inputs of the nested graphs were widened (see [`RuleCx::assume_shape`]); the graphs have to be
    /// solved again.
    Again,
}
