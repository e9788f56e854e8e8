//! The tree of types, Rust types that store tensors, and operators that declare relations between their ports.
//!
//! ```
//! use typeloom::types::{Lattice, Storage, TypeKind, TypeNode, builtins, lookup_by_id, register_type_node};
//!
//! static POSIT: TypeNode = TypeNode {
//!     id: "tensor.posit16",
//!     parent: Some("tensor"),
//!     kind: TypeKind::Concrete,
//!     ffi_name: "",
//!     wire_hash: 0,
//!     denotation: "org.example.tensor.posit16",
//! };
//! register_type_node!(POSIT);
//!
//! assert_eq!(lookup_by_id("tensor.posit16"), Some(&POSIT));
//! assert!(Lattice::get().is_subtype(&POSIT, &builtins::TYPE_TENSOR));
//! assert_eq!(<[f32] as Storage>::TYPE, &builtins::TYPE_TENSOR_F32);
//! ```

/// The statics of all built-in type nodes.
pub mod builtins {
    #[doc(inline)]
    pub use typeloom_types::tree::builtin::*;
    #[doc(inline)]
    pub use typeloom_types::tree::onnx::*;
}

/// Operators declared in Rust by their ports and the relations between them.
///
/// ```
/// use typeloom::types::builtins::TYPE_TENSOR;
/// use typeloom::types::operators::{AtomicOpDecl, AtomicOpKind, ELEMENTWISE, PortDecl};
///
/// static SWISH: AtomicOpDecl = AtomicOpDecl {
///     name: "Swish",
///     inputs: &[PortDecl::required("x", &TYPE_TENSOR)],
///     outputs: &[PortDecl::required("y", &TYPE_TENSOR)],
///     kind: AtomicOpKind::Pure,
///     type_relations: ELEMENTWISE,
/// };
/// assert_eq!(SWISH.check(), []);
/// ```
pub mod operators {
    #[doc(inline)]
    pub use typeloom_solver::type_solver::{
        ConstraintFailure, ConstraintSide, NodeLabel, TypeCause, TypeError, TypeSolution, TypeSolver,
        apply_solution_to_value_info,
    };
    #[doc(inline)]
    pub use typeloom_types::op::primitives::{TENSOR_PRIMITIVES, TENSOR_PRIMITIVES_OPS};
    #[doc(inline)]
    pub use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, PortArity, PortDecl};
    #[doc(inline)]
    pub use typeloom_types::relation::custom::CustomRelationCtx;
    #[doc(inline)]
    pub use typeloom_types::relation::{
        BROADCAST_BINARY, ELEMENTWISE, MATMUL_BINARY, NO_RELATIONS, PortRef, REDUCE_AXIS, RelationError,
        RelationResult, TypeRelation, UNARY_SAME_ELEMENT,
    };
}

#[doc(inline)]
pub use typeloom_types::any_tensor::AnyTensor;
#[doc(inline)]
pub use typeloom_types::dtype::Dtype;
#[doc(inline)]
pub use typeloom_types::lattice::{Lattice, lookup_by_id, lookup_denotation};
#[doc(inline)]
pub use typeloom_types::register_type_node;
#[doc(inline)]
pub use typeloom_types::storage::{ElementStorage, Storage};
#[doc(inline)]
pub use typeloom_types::tree::{TypeKind, TypeNode, TypeNodeReg};
