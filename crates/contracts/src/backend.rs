//! Contract of backends: computation of tensor operators.
//!
//! The contract has two parts: a typed method for each of the thirty tensor primitives ([`Primitives`]), and
//! execution of a whole graph ([`GraphExecutor`]). [`Backend`] has both. A type that has only one part
//! implements that trait and uses an adapter for the other. [`by_execution::ByExecution`] builds a graph of
//! one node for each primitive. The adapter in the other direction, `ByPrimitives`, interprets a graph by
//! calling primitives and is part of the runtime.
//!
//! **Law.** An adapter implements `Backend` for a wrapper around one part. The wrapped type does not
//! implement the other part, so no call can recurse through the adapter. A type with neither part cannot be a
//! `Backend`, because no method that computes has a default.
//!
//! ```compile_fail,E0046
//! use typeloom_contracts::backend::Backend;
//!
//! struct Empty;
//! // Neither half: the thirty primitives and `execute` are missing.
//! impl Backend for Empty {
//!     type Tensor = Vec<f32>;
//!     type Error = std::fmt::Error;
//! }
//! ```
//!
//! ```compile_fail,E0277
//! use typeloom_contracts::backend::{Backend, by_execution::ByExecution};
//!
//! struct Empty;
//! fn needs_a_backend<B: Backend>() {}
//! // The adapter cannot make something out of nothing.
//! needs_a_backend::<ByExecution<Empty>>();
//! ```

use std::error::Error;

use typeloom_onnx::messages::{AttributeProto, GraphProto, TensorProto};
use typeloom_types::dtype::Dtype;
use typeloom_types::op::AtomicOpsetDecl;
use typeloom_types::storage::Storage;

pub mod by_execution;

/// Invokes `$then!` with the thirty primitives. This is the single definition of each primitive: its
/// documentation, ONNX operator name and method signature, and its form as a node:
/// `([inputs]; attribute: value)`, and the list with an entry for each output if there are several. The
/// calling module must import `TensorProto` and `Dtype`, which occur in the signatures.
#[doc(hidden)]
#[macro_export]
macro_rules! primitives {
    ($then:ident) => {
        $then! {
            /// `a + b` with broadcasting.
            "Add" add(a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor = ([a, b]);
            /// `a - b` with broadcasting.
            "Sub" sub(a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor = ([a, b]);
            /// `a * b` with broadcasting.
            "Mul" mul(a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor = ([a, b]);
            /// `a / b` with broadcasting; integer division truncates.
            "Div" div(a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor = ([a, b]);
            /// `-a`, elementwise.
            "Neg" neg(a: &Self::Tensor) -> Self::Tensor = ([a]);
            /// `|a|`, elementwise.
            "Abs" abs(a: &Self::Tensor) -> Self::Tensor = ([a]);
            /// Square root, elementwise.
            "Sqrt" sqrt(a: &Self::Tensor) -> Self::Tensor = ([a]);
            /// `a` to the power of `b` with broadcasting; the result has the element type of `a`.
            "Pow" pow(a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor = ([a, b]);
            /// `e` to the power of `a`, elementwise.
            "Exp" exp(a: &Self::Tensor) -> Self::Tensor = ([a]);
            /// Natural logarithm, elementwise.
            "Log" log(a: &Self::Tensor) -> Self::Tensor = ([a]);
            /// Product of matrices, or of stacks of matrices.
            "MatMul" matmul(a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor = ([a, b]);
            /// Sum along the given axes, or along all axes for `None`.
            "ReduceSum" reduce_sum(a: &Self::Tensor, axes: Option<&[i64]>, keepdims: bool) -> Self::Tensor = ([a, axes]; keepdims: keepdims);
            /// Mean along the given axes, or along all axes for `None`.
            "ReduceMean" reduce_mean(a: &Self::Tensor, axes: Option<&[i64]>, keepdims: bool) -> Self::Tensor = ([a, axes]; keepdims: keepdims);
            /// Maximum along the given axes, or along all axes for `None`.
            "ReduceMax" reduce_max(a: &Self::Tensor, axes: Option<&[i64]>, keepdims: bool) -> Self::Tensor = ([a, axes]; keepdims: keepdims);
            /// Minimum along the given axes, or along all axes for `None`.
            "ReduceMin" reduce_min(a: &Self::Tensor, axes: Option<&[i64]>, keepdims: bool) -> Self::Tensor = ([a, axes]; keepdims: keepdims);
            /// Changes the shape and keeps the elements; 0 copies an extent, -1 is inferred.
            "Reshape" reshape(a: &Self::Tensor, shape: &[i64]) -> Self::Tensor = ([a, shape]);
            /// Permutes the axes.
            "Transpose" transpose(a: &Self::Tensor, perm: &[i64]) -> Self::Tensor = ([a]; perm: perm);
            /// Concatenates tensors along an axis.
            "Concat" concat(parts: &[&Self::Tensor], axis: i64) -> Self::Tensor = ([..parts]; axis: axis);
            /// Selects every `steps`-th element from `starts` up to but excluding `ends` along `axes`.
            "Slice" slice(a: &Self::Tensor, starts: &[i64], ends: &[i64], axes: &[i64], steps: &[i64]) -> Self::Tensor = ([a, starts, ends, axes, steps]);
            /// Splits a tensor into parts of the given sizes along an axis.
            "Split" split(a: &Self::Tensor, sizes: &[i64], axis: i64) -> Vec<Self::Tensor> = ([a, sizes]; axis: axis; sizes);
            /// Removes the given axes of extent 1, or all axes of extent 1 for `None`.
            "Squeeze" squeeze(a: &Self::Tensor, axes: Option<&[i64]>) -> Self::Tensor = ([a, axes]);
            /// Inserts axes of extent 1 at the given positions of the result.
            "Unsqueeze" unsqueeze(a: &Self::Tensor, axes: &[i64]) -> Self::Tensor = ([a, axes]);
            /// Returns its argument.
            "Identity" identity(a: &Self::Tensor) -> Self::Tensor = ([a]);
            /// Converts the elements to another element type.
            "Cast" cast(a: &Self::Tensor, dtype: Dtype) -> Self::Tensor = ([a]; to: dtype);
            /// `a == b`, elementwise with broadcasting.
            "Equal" equal(a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor = ([a, b]);
            /// `a > b`, elementwise with broadcasting.
            "Greater" greater(a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor = ([a, b]);
            /// `a < b`, elementwise with broadcasting.
            "Less" less(a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor = ([a, b]);
            /// Selects `a` where the condition is true and `b` elsewhere, with broadcasting.
            "Where" where_(condition: &Self::Tensor, a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor = ([condition, a, b]);
            /// Creates a tensor from a constant.
            "Constant" constant(value: &TensorProto) -> Self::Tensor = ([]; value: value);
            /// Selects the entries at `indices` along an axis.
            "Gather" gather(data: &Self::Tensor, indices: &Self::Tensor, axis: i64) -> Self::Tensor = ([data, indices]; axis: axis);
        }
    };
}

macro_rules! declare_halves {
    ($($(#[doc = $doc:literal])* $op:literal $name:ident($($arg:ident: $ty:ty),*) -> $out:ty = $form:tt;)*) => {
        /// Typed methods for the tensor primitives, with the semantics of ONNX operator set 18.
        pub trait Primitives: Send + Sync + 'static {
            /// Storage of tensors.
            type Tensor: Storage;
            type Error: Error + Send + Sync + 'static;
            $(
                $(#[doc = $doc])*
                ///
                /// # Errors
                /// The backend cannot compute the operator on these arguments.
                fn $name(&self, $($arg: $ty),*) -> Result<$out, Self::Error>;
            )*

            /// Operators beyond the primitives that the type computes directly; the compiler lowers all
            /// others.
            fn extension_opsets() -> &'static [AtomicOpsetDecl] {
                &[]
            }
        }

        /// Computes tensor operators: single primitives and whole graphs. See the [module](self) for the
        /// adapters of types that implement one part only.
        #[diagnostic::on_unimplemented(
            message = "`{Self}` is not a backend",
            label = "`{Self}` does not implement the `Backend` contract",
            note = "a type that implements `GraphExecutor` is one inside `ByExecution<..>`"
        )]
        pub trait Backend: Send + Sync + 'static {
            /// Storage of tensors.
            type Tensor: Storage;
            type Error: Error + Send + Sync + 'static;
            $(
                $(#[doc = $doc])*
                ///
                /// # Errors
                /// The backend cannot compute the operator on these arguments.
                fn $name(&self, $($arg: $ty),*) -> Result<$out, Self::Error>;
            )*

            /// Executes a graph; `inputs` are in the order of the graph's inputs. See
            /// [`GraphExecutor::execute`].
            ///
            /// # Errors
            /// The backend cannot execute the graph.
            fn execute(
                &self,
                graph: &GraphProto,
                inputs: Vec<Self::Tensor>,
                attrs: &[AttributeProto],
            ) -> Result<Vec<Self::Tensor>, Self::Error>;

            /// Operators beyond the primitives that the backend computes directly; the compiler lowers all
            /// others.
            fn extension_opsets() -> &'static [AtomicOpsetDecl] {
                &[]
            }
        }
    };
}
primitives!(declare_halves);

/// Execution of whole graphs.
pub trait GraphExecutor: Send + Sync + 'static {
    /// Storage of tensors.
    type Tensor: Storage;
    type Error: Error + Send + Sync + 'static;

    /// Executes a graph of ONNX operators and returns its outputs in order. `inputs` are in the order of the
    /// graph's inputs. `attrs` are the values of attributes that nodes of the graph reference by name.
    ///
    /// # Errors
    /// The graph cannot be executed.
    fn execute(
        &self,
        graph: &GraphProto,
        inputs: Vec<Self::Tensor>,
        attrs: &[AttributeProto],
    ) -> Result<Vec<Self::Tensor>, Self::Error>;

    /// Operators beyond the primitives that the type computes directly; the compiler lowers all others.
    fn extension_opsets() -> &'static [AtomicOpsetDecl] {
        &[]
    }
}
