//! Contract of backends: computation of tensor operators.
//!
//! A backend has a typed method for each of the thirty tensor primitives, and executes whole graphs. A type
//! implements [`Backend`] in one of three ways:
//!
//! | it has | it implements |
//! |---|---|
//! | graphs only | [`Backend::execute`]; each typed method executes a graph of one node |
//! | typed methods only | [`Primitives`], and is a backend inside the adapter `ByPrimitives` of the runtime |
//! | both | [`Backend::execute`] and the methods |
//!
//! [`GraphExecutor`] with [`ByExecution`](by_execution::ByExecution) is the first way as a trait of its own, for
//! a wrapper.
//!
//! ```
//! use typeloom_contracts::backend::Backend;
//! use typeloom_onnx::messages::{AttributeProto, GraphProto};
//!
//! struct First;
//!
//! impl Backend for First {
//!     type Tensor = Vec<f32>;
//!     type Error = std::fmt::Error;
//!
//!     fn execute(
//!         &self,
//!         graph: &GraphProto,
//!         inputs: Vec<Vec<f32>>,
//!         _: &[AttributeProto],
//!     ) -> Result<Vec<Vec<f32>>, std::fmt::Error> {
//!         match (graph.node[0].op_type(), &inputs[..]) {
//!             ("Neg", [x]) => Ok(vec![x.iter().map(|x| -x).collect()]),
//!             _ => Err(std::fmt::Error),
//!         }
//!     }
//! }
//!
//! assert_eq!(First.neg(&vec![1.0]), Ok(vec![-1.0]));
//! ```
//!
//! **Representation.** A method takes and returns `Self::Tensor`, also for masks and indices. A storage of one
//! element type represents them in this type: a mask as 1 and 0, indices as the same numbers, a result of
//! `cast` as numbers of its target. The runtime converts at each call, see `docs/modules.md`. A storage of
//! several types, such as `AnyTensor`, gets the types of ONNX.
//!
//! **Law.** A type without `execute` is no backend, and the adapters wrap a type that has one part only. So a
//! call recurses only if `execute` calls a method that the type does not implement: this is a panic with the
//! name of the method, which a run reports as the error of the component.
//!
//! ```compile_fail,E0046
//! use typeloom_contracts::backend::Backend;
//!
//! struct Empty;
//! // Neither part: `execute` is missing.
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

use typeloom_onnx::messages::{AttributeProto, GraphProto, IntoAttribute as _, NodeProto, TensorProto};
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

        /// Computes tensor operators: single primitives and whole graphs. [`Backend::execute`] is enough; see the
        /// [module](self) for a type that has typed methods only.
        #[diagnostic::on_unimplemented(
            message = "`{Self}` is not a backend",
            label = "`{Self}` does not implement the `Backend` contract",
            note = "`Backend` needs `execute` only; a type that implements `Primitives` is a backend inside `ByPrimitives<..>`, and one that implements `GraphExecutor` inside `ByExecution<..>`"
        )]
        pub trait Backend: Send + Sync + 'static {
            /// Storage of tensors. A method that executes a graph clones its arguments.
            type Tensor: Storage + Clone;
            type Error: Error + Send + Sync + 'static;

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

            $(
                $(#[doc = $doc])*
                ///
                /// Unless the type implements it, a graph of one node is executed.
                ///
                /// # Errors
                /// The backend cannot compute the operator on these arguments.
                ///
                /// # Panics
                /// If `execute` calls the method, or returns another number of outputs for an operator with one.
                fn $name(&self, $($arg: $ty),*) -> Result<$out, Self::Error> {
                    by_execution::call!(self $op $form)
                }
            )*

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
