//! Contract of backends: computation of tensor operators.
//!
//! The contract has two parts: a typed method for each of the thirty tensor primitives ([`Primitives`]), and
//! execution of a whole graph ([`GraphExecutor`]). [`Backend`] has both. A type that has only one part
//! implements that trait and uses an adapter for the other. [`by_execution::ByExecution`] builds a graph of
//! one node for each primitive. The adapter in the other direction, `ByPrimitives`, interprets a graph by
//! calling primitives and is part of the runtime.
//!
//! **Representation.** A method takes and returns `Self::Tensor`, also for masks and indices. A storage of one
//! element type represents them in this type: a mask as 1 and 0, indices as the same numbers, a result of
//! `cast` as numbers of its target. The runtime converts at each call, see `docs/modules.md`. A storage of
//! several types, such as `AnyTensor`, gets the types of ONNX.
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
use typeloom_types::primitives;
use typeloom_types::storage::Storage;

pub mod by_execution;

macro_rules! declare_halves {
    ($($(#[doc = $doc:literal])* $op:literal $name:ident($($arg:ident: $ty:ty),*) -> $out:ty = $form:tt $ports:tt;)*) => {
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
