//! Backends: they compute tensor operators.
//!
//! The contract has two halves: a typed method for each of the thirty tensor primitives
//! ([`Primitives`]), and running a whole graph ([`GraphExecutor`]). [`Backend`] is both. Who has only one
//! half implements that trait and declares which adapter gives the other: [`by_execution::ByExecution`]
//! makes a graph of one node for each primitive; the adapter in the other direction, `ByPrimitives`, which walks a graph
//! and calls primitives, belongs to the runtime.
//!
//! **Law.** An adapter implements `Backend` for a wrapper around one half, and the wrapped type has no
//! other half to call, so neither half can end up calling itself. A type that supplies neither half has no
//! way to be a `Backend`: nothing here has a default that stands for a computation.
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

/// Calls `$then!` with the thirty primitives, so that each is written once: its documentation, ONNX's name of it, and the
/// signature of its method. Whoever calls it imports `TensorProto` and `Dtype`, which the signatures speak of.
#[doc(hidden)]
#[macro_export]
macro_rules! primitives {
    ($then:ident) => {
        $then! {
            /// `a + b`, broadcast.
            "Add" add(a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor;
            /// `a - b`, broadcast.
            "Sub" sub(a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor;
            /// `a * b`, broadcast.
            "Mul" mul(a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor;
            /// `a / b`, broadcast; integers truncate.
            "Div" div(a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor;
            /// `-a`.
            "Neg" neg(a: &Self::Tensor) -> Self::Tensor;
            /// `|a|`.
            "Abs" abs(a: &Self::Tensor) -> Self::Tensor;
            /// The square root of each element.
            "Sqrt" sqrt(a: &Self::Tensor) -> Self::Tensor;
            /// `a` to the power of `b`, broadcast, of the element type of `a`.
            "Pow" pow(a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor;
            /// `e` to the power of each element.
            "Exp" exp(a: &Self::Tensor) -> Self::Tensor;
            /// The natural logarithm of each element.
            "Log" log(a: &Self::Tensor) -> Self::Tensor;
            /// The product of (stacks of) matrices.
            "MatMul" matmul(a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor;
            /// The sum along axes, or along all where `None`.
            "ReduceSum" reduce_sum(a: &Self::Tensor, axes: Option<&[i64]>, keepdims: bool) -> Self::Tensor;
            /// The mean along axes, or along all where `None`.
            "ReduceMean" reduce_mean(a: &Self::Tensor, axes: Option<&[i64]>, keepdims: bool) -> Self::Tensor;
            /// The greatest along axes, or along all where `None`.
            "ReduceMax" reduce_max(a: &Self::Tensor, axes: Option<&[i64]>, keepdims: bool) -> Self::Tensor;
            /// The least along axes, or along all where `None`.
            "ReduceMin" reduce_min(a: &Self::Tensor, axes: Option<&[i64]>, keepdims: bool) -> Self::Tensor;
            /// The same elements in another shape; 0 copies an extent, -1 is what is left.
            "Reshape" reshape(a: &Self::Tensor, shape: &[i64]) -> Self::Tensor;
            /// The axes in another order.
            "Transpose" transpose(a: &Self::Tensor, perm: &[i64]) -> Self::Tensor;
            /// Tensors one after the other along an axis.
            "Concat" concat(parts: &[&Self::Tensor], axis: i64) -> Self::Tensor;
            /// Every `steps`-th element from `starts` to before `ends` along `axes`.
            "Slice" slice(a: &Self::Tensor, starts: &[i64], ends: &[i64], axes: &[i64], steps: &[i64]) -> Self::Tensor;
            /// The parts of these sizes along an axis.
            "Split" split(a: &Self::Tensor, sizes: &[i64], axis: i64) -> Vec<Self::Tensor>;
            /// Without these axes of extent 1, or without all of them where `None`.
            "Squeeze" squeeze(a: &Self::Tensor, axes: Option<&[i64]>) -> Self::Tensor;
            /// With axes of extent 1 at these positions of the result.
            "Unsqueeze" unsqueeze(a: &Self::Tensor, axes: &[i64]) -> Self::Tensor;
            /// The same.
            "Identity" identity(a: &Self::Tensor) -> Self::Tensor;
            /// The elements as another element type.
            "Cast" cast(a: &Self::Tensor, dtype: Dtype) -> Self::Tensor;
            /// Where elements are equal, broadcast.
            "Equal" equal(a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor;
            /// Where `a > b`, broadcast.
            "Greater" greater(a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor;
            /// Where `a < b`, broadcast.
            "Less" less(a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor;
            /// `a` where the condition holds, else `b`; broadcast.
            "Where" where_(condition: &Self::Tensor, a: &Self::Tensor, b: &Self::Tensor) -> Self::Tensor;
            /// The tensor of a constant.
            "Constant" constant(value: &TensorProto) -> Self::Tensor;
            /// The entries along an axis that the indices name.
            "Gather" gather(data: &Self::Tensor, indices: &Self::Tensor, axis: i64) -> Self::Tensor;
        }
    };
}

macro_rules! declare_halves {
    ($($(#[doc = $doc:literal])* $op:literal $name:ident($($arg:ident: $ty:ty),*) -> $out:ty;)*) => {
        /// The first half: a method for each tensor primitive, with ONNX's meaning at operator set 18.
        pub trait Primitives: Send + Sync + 'static {
            /// What tensors are stored as.
            type Tensor: Storage;
            /// What can go wrong.
            type Error: Error + Send + Sync + 'static;
            $(
                $(#[doc = $doc])*
                ///
                /// # Errors
                /// What the backend cannot compute.
                fn $name(&self, $($arg: $ty),*) -> Result<$out, Self::Error>;
            )*

            /// Operators beyond the primitives that the type computes itself; others are lowered.
            fn extension_opsets() -> &'static [AtomicOpsetDecl] {
                &[]
            }
        }

        /// Computes tensor operators: each primitive, and whole graphs. See the [module](self) for who has
        /// only one half.
        #[diagnostic::on_unimplemented(
            message = "`{Self}` is not a backend",
            label = "`{Self}` does not implement the `Backend` contract",
            note = "a type that implements `GraphExecutor` is one inside `ByExecution<..>`"
        )]
        pub trait Backend: Send + Sync + 'static {
            /// What tensors are stored as.
            type Tensor: Storage;
            /// What can go wrong.
            type Error: Error + Send + Sync + 'static;
            $(
                $(#[doc = $doc])*
                ///
                /// # Errors
                /// What the backend cannot compute.
                fn $name(&self, $($arg: $ty),*) -> Result<$out, Self::Error>;
            )*

            /// Runs a graph on inputs in the order in which it lists them; see [`GraphExecutor::execute`].
            ///
            /// # Errors
            /// What the backend cannot compute.
            fn execute(
                &self,
                graph: &GraphProto,
                inputs: Vec<Self::Tensor>,
                attrs: &[AttributeProto],
            ) -> Result<Vec<Self::Tensor>, Self::Error>;

            /// Operators beyond the primitives that the backend computes itself; others are lowered.
            fn extension_opsets() -> &'static [AtomicOpsetDecl] {
                &[]
            }
        }
    };
}
primitives!(declare_halves);

/// The second half: running a graph.
pub trait GraphExecutor: Send + Sync + 'static {
    /// What tensors are stored as.
    type Tensor: Storage;
    /// What can go wrong.
    type Error: Error + Send + Sync + 'static;

    /// Runs a graph of ONNX operators on inputs in the order in which it lists them, and gives its outputs
    /// in order. `attrs` are the values of attributes that nodes of the graph refer to by name.
    ///
    /// # Errors
    /// What the type cannot compute.
    fn execute(
        &self,
        graph: &GraphProto,
        inputs: Vec<Self::Tensor>,
        attrs: &[AttributeProto],
    ) -> Result<Vec<Self::Tensor>, Self::Error>;

    /// Operators beyond the primitives that the type computes itself; others are lowered.
    fn extension_opsets() -> &'static [AtomicOpsetDecl] {
        &[]
    }
}
