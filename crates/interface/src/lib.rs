//! Interfaces: what a caller of a program has to know, and no more.
//!
//! An [`Interface`] lists inputs and outputs by name and in order, each with its type; an input that the program has a
//! value for of its own is an optional parameter. Extents are numbers, expressions over symbols, or unknown. Nothing else
//! is part of it: not the operator sets, not the names of values inside, not the weights.
//!
//! # As a type
//!
//! [`Interface::to_pool`] gives a type of the [pool](typeloom_pool), whose digest means the same everywhere:
//!
//! ```text
//! forall A, B. (struct inputs { x: Tensor<f32, [A, B]>, scale: default<Tensor<f32, []>> })
//!           -> struct outputs { y: Tensor<f32, [A, B]> }
//! ```
//!
//! Symbols are variables of the scheme, numbered by first use, so that their names are no part of the type. So are the
//! extents of inputs that nobody named: a caller chooses them as well. A variable that occurs in outputs alone stands for
//! a number that the program chooses; where it occurs once and by itself it says nothing, and is an unknown extent.
//!
//! The conditions that operators place on the symbols of inputs are a second parameter, where there are any:
//!
//! ```text
//! forall A. (struct inputs { x: Tensor<f32, [A]> }, struct conditions { 0: at-most<Tensor<bool, [A, 64]>> }) -> ...
//! ```
//!
//! # Compatibility
//!
//! See [`compare`](compare()). The rules are in `spec/interfaces.md`.

pub mod bundle;
mod compare;
mod decode;
mod encode;
mod leaves;
mod matching;

use std::collections::HashSet;
use std::sync::Arc;

use typeloom_solver::dim::{Condition, DimId, Dims};
use typeloom_solver::model::Checked;
use typeloom_solver::program::Origin;
use typeloom_solver::solution::Type;
use typeloom_solver::universe::Universe;

pub use compare::{Binding, Change, Comparison, Difference, Direction, Place, compare};
pub use decode::NotAnInterface;
pub use encode::{EncodeError, value_to_pool};

/// The label of a model's interface in a bundle.
pub const MAIN: &str = "main";

/// Inputs and outputs with their types.
#[derive(Clone)]
pub struct Interface {
    /// What callers give.
    pub inputs: Vec<Parameter>,
    /// What they get.
    pub outputs: Vec<Parameter>,
    /// The conditions on the symbols of inputs under which the program runs.
    pub conditions: Vec<Condition>,
    /// The extents that the types are made of.
    pub dims: Dims,
    /// The element types and the tree.
    pub universe: Arc<Universe>,
}

/// An input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Whether a caller may leave it out; never of an output.
    pub optional: bool,
    /// Whether the type of an output rests on a declaration that the graph neither confirms nor refutes. Not part of the
    /// portable type.
    pub assumed: bool,
}

impl Interface {
    /// The interface of a checked model, in the types that were solved. What callers cannot give, such as an initializer
    /// that an old model lists as an input, is no part of it.
    pub fn of_checked(checked: &mut Checked<'_>) -> Self {
        let body = checked.body();
        let root = body.graph(body.root());
        let inputs: Vec<_> = root
            .inputs
            .iter()
            .filter_map(|value| match body.value(*value).origin {
                Origin::InputWithDefault(_) => Some((*value, true)),
                Origin::Input | Origin::Undefined | Origin::Step(_) => Some((*value, false)),
                Origin::Initializer(_) => None,
            })
            .collect();
        let outputs: Vec<_> = root.outputs.iter().map(|value| (*value, false)).collect();
        let mut list = |values: Vec<_>| {
            let parameter = |(value, optional)| {
                let name = checked.body().value_name(value).to_owned();
                Parameter { name, ty: checked.type_of(value), optional, assumed: checked.is_assumed(value) }
            };
            values.into_iter().map(parameter).collect()
        };
        let (inputs, outputs) = (list(inputs), list(outputs));
        let conditions = checked.preconditions();
        let (dims, universe) = (checked.dims().clone(), Arc::clone(checked.universe()));
        Self { inputs, outputs, conditions, dims, universe }
    }

    /// The named symbols in the order of their first use.
    #[must_use]
    pub fn symbols(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut known: HashSet<DimId> = HashSet::new();
        for dim in self.inputs.iter().chain(&self.outputs).flat_map(|parameter| extents(&parameter.ty)) {
            for symbol in self.dims.symbols_of(*dim) {
                if known.insert(symbol) {
                    names.push(self.dims.as_symbol(symbol).unwrap_or_default().to_owned());
                }
            }
        }
        names
    }

    /// The conditions as text: `seq <= 64`.
    #[must_use]
    pub fn shown_conditions(&self) -> Vec<String> {
        self.conditions.iter().map(|condition| self.dims.display_condition(*condition).to_string()).collect()
    }

    /// A type of the interface, as ONNX writes it.
    #[must_use]
    pub fn show(&self, ty: &Type) -> String {
        ty.display(&self.universe, &self.dims).to_string()
    }
}

/// The extents of the tensor in a type.
pub(crate) fn extents(ty: &Type) -> &[DimId] {
    ty.tensor().and_then(|tensor| tensor.shape.as_deref()).unwrap_or_default()
}
