//! Interfaces of models: the inputs, outputs and conditions that a caller depends on.
//!
//! An [`Interface`] lists inputs and outputs by name and in order, each with its type. An input with a
//! default value is an optional parameter. Extents are numbers, expressions over symbols, or unknown.
//! Operator sets, names of inner values and weights are not part of an interface.
//!
//! # As a type
//!
//! [`Interface::to_pool`] returns a type of the [pool](typeloom_pool), whose digest is the same in every
//! process:
//!
//! ```text
//! forall A, B. (struct inputs { x: Tensor<f32, [A, B]>, scale: default<Tensor<f32, []>> })
//!           -> struct outputs { y: Tensor<f32, [A, B]> }
//! ```
//!
//! Symbols are variables of the scheme, numbered by first use, so the type does not depend on their names.
//! Anonymous extents of inputs are variables too, because the caller chooses them. A variable that occurs
//! only in outputs is a number that the program chooses. If it occurs once, and not in an expression, it is
//! encoded as an unknown extent.
//!
//! The conditions of operators on the symbols of inputs are a second parameter, if there are any:
//!
//! ```text
//! forall A. (struct inputs { x: Tensor<f32, [A]> }, struct conditions { 0: at-most<Tensor<bool, [A, 64]>> }) -> ...
//! ```
//!
//! # Compatibility
//!
//! [`compare()`] decides whether one model can replace another. The rules are in `spec/interfaces.md`.
//! Symbols are matched on the solver's dims, which decide equality of expressions, and not on ids of a pool.
//! Positions count by default, because some runtimes bind outputs by position.
//!
//! Example of [`Interface::of`]:
//!
//! ```
//! use typeloom_interface::Interface;
//! use typeloom_onnx::prost::Message;
//! use typeloom_onnx::text::parse_model;
//!
//! let text = "<ir_version: 10, opset_import: [\"\" : 21]> g (float[N, 3] x) => (y) { y = Relu(x) }";
//! let model = parse_model(text)?.encode_to_vec();
//! assert_eq!(Interface::of(&model)?.to_string(), "(x: float[N, 3]) -> (y: float[N, 3])");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod bundle;
mod compare;
mod decode;
mod dims;
mod encode;
pub mod exports;
mod leaves;
mod matching;
pub mod recorded;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use typeloom_dim::{Condition, DimId, Dims};
use typeloom_ops::catalogue::Standard;
use typeloom_solver::model::{CheckError, Checked, Options, check};
use typeloom_solver::program::Origin;
use typeloom_solver::solution::Type;
use typeloom_solver::universe::Universe;
use typeloom_tensor::value_type::ValueType;

pub use compare::{InterfaceChange, InterfaceComparison, InterfaceDifference, PortIdentity, compare};
pub use decode::NotAnInterface;
pub use encode::{EncodeError, value_to_pool};

/// The label of a model's interface in a bundle.
pub const MAIN: &str = "main";

/// Inputs, outputs and conditions of a model.
#[derive(Clone)]
pub struct Interface {
    /// The inputs in order.
    pub inputs: Vec<Parameter>,
    /// The outputs in order.
    pub outputs: Vec<Parameter>,
    /// The conditions on the symbols of inputs without which the model fails.
    pub conditions: Vec<Condition>,
    /// The arena of the extents.
    pub dims: Dims,
    /// The element types and the type tree.
    pub universe: Arc<Universe>,
}

/// An input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name that callers use.
    pub name: String,
    /// The solved type.
    pub ty: Type,
    /// Whether a caller may omit it. Never true for outputs.
    pub optional: bool,
    /// Whether the type of an output comes from a declaration that the graph neither confirms nor refutes.
    /// Not part of the portable type.
    pub assumed: bool,
}

impl Interface {
    /// The interface of a serialized model with the standard operators.
    ///
    /// # Errors
    /// [`CheckError`] for a model that cannot be checked. Type errors are not reported; the types of values
    /// in error are unknown.
    pub fn of(model: &[u8]) -> Result<Self, CheckError> {
        Ok(Self::of_checked(&mut check(model, &Standard, Universe::standard(), &Options::default())?))
    }

    /// The interface of a checked model. Inputs that callers cannot set, such as initializers that models
    /// before IR 4 list as inputs, are left out.
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

    /// The names of the symbols in the order of their first use.
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

    /// The conditions as text, such as `seq <= 64`.
    #[must_use]
    pub fn shown_conditions(&self) -> Vec<String> {
        self.conditions.iter().map(|condition| self.dims.display_condition(*condition).to_string()).collect()
    }

    /// A type of the interface in the syntax of ONNX.
    #[must_use]
    pub fn show(&self, ty: &Type) -> String {
        ty.display(&self.universe, &self.dims).to_string()
    }

    /// The solved type of an input or output, from the type of its [`Parameter`].
    #[must_use]
    pub fn value_type(&self, ty: &Type) -> ValueType {
        ty.value_type(&self.universe, &self.dims)
    }
}

/// Formats the signature: `(x: float[N], bias?: float[...]) -> (y: float[N]) where N <= 64`.
impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |parameters: &[Parameter]| {
            let one = |it: &Parameter| {
                let mark = if it.optional { "?" } else { "" };
                format!("{}{mark}: {}", it.name, self.show(&it.ty))
            };
            parameters.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        write!(f, "({}) -> ({})", list(&self.inputs), list(&self.outputs))?;
        if !self.conditions.is_empty() {
            write!(f, " where {}", self.shown_conditions().join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Interface({self})")
    }
}

/// The extents of the tensors in a type.
pub(crate) fn extents(ty: &Type) -> impl Iterator<Item = &DimId> {
    ty.tensors().flat_map(|tensor| tensor.shape.as_deref().unwrap_or_default())
}
