//! Re-exports under the published paths. The modules of their tasks document the names.
//!
//! **Invariant:** each item is hidden from the documentation by an attribute of its own: that of a glob does
//! not apply to the items that the glob re-exports.

#[doc(hidden)]
pub use half;
#[doc(hidden)]
pub use inventory;
#[doc(hidden)]
pub use typeloom_types::lattice::{lookup_by_id, lookup_denotation};
#[doc(hidden)]
pub use typeloom_types::op::primitives::TENSOR_PRIMITIVES_OPS;
#[doc(hidden)]
pub use typeloom_types::tree::{TypeNodeReg, builtin::*, onnx::*};

#[cfg(feature = "modules")]
#[doc(hidden)]
pub use crate::module::{
    Aggregator, Backend, BuildError, Codec, Compiler, DataSource, Graph, Index, Model, Module, PeerId,
    PeerSelector, Protocol, register_protocol,
};
#[doc(hidden)]
pub use crate::onnx::{
    AttributeProto, GraphProto, IntoAttribute, ModelProto, NodeProto, OperatorSetIdProto,
    StringStringEntryProto, Text, TypeProto, ValueInfoProto,
};
#[cfg(feature = "interfaces")]
#[doc(hidden)]
pub use crate::pool::{Idx, Pool, Tag, TypeDescriptor, TypedModule, Variable, VariantDescriptor};
#[doc(hidden)]
pub use crate::term::infer::{AliasTy, Canonical};
#[doc(hidden)]
pub use crate::term::{ApplicationTy, DynTy, FnTy, GenericArguments, Reporter, Ty, TyData, TypeFamily};
#[doc(hidden)]
pub use crate::types::operators::{
    AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, BROADCAST_BINARY, CustomRelationCtx, ELEMENTWISE,
    MATMUL_BINARY, NO_RELATIONS, PortDecl, PortRef, REDUCE_AXIS, RelationResult, TypeError, TypeRelation,
    TypeSolution, TypeSolver, UNARY_SAME_ELEMENT, apply_solution_to_value_info,
};
#[doc(hidden)]
pub use crate::types::{
    AnyTensor, CoreDtype, Dtype, Lattice, Storage, TypeKind, TypeNode, register_type_node,
};

/// The name of a type constructor in a family.
#[doc(hidden)]
pub type TypeName<F> = <F as TypeFamily>::Name;

/// The handle of a type in a family.
#[doc(hidden)]
pub type InternedTy<F> = <F as TypeFamily>::InternedTy;

/// The contracts of components.
#[cfg(feature = "modules")]
#[doc(hidden)]
pub mod contracts {
    pub use crate::module::{Aggregator, Backend, Codec, DataSource, Index, Model, PeerSelector};
}

/// The operators that every backend computes.
#[doc(hidden)]
pub mod tensor_primitives {
    pub use crate::types::operators::TENSOR_PRIMITIVES;
    pub use typeloom_types::op::primitives::TENSOR_PRIMITIVES_OPS;
}

/// Modules inside [`types`](crate::types).
#[doc(hidden)]
pub mod in_types {
    pub use super::{TypeNodeReg, lookup_by_id, lookup_denotation};
    pub use crate::types::operators::{
        BROADCAST_BINARY, CustomRelationCtx, ELEMENTWISE, MATMUL_BINARY, NO_RELATIONS, PortRef, REDUCE_AXIS,
        RelationResult, TypeError, TypeRelation, TypeSolution, TypeSolver, UNARY_SAME_ELEMENT,
        apply_solution_to_value_info,
    };
    pub use typeloom_types::lattice::NodeRef;

    /// The named lists of relations.
    pub mod common_relations {
        pub use crate::types::operators::{
            BROADCAST_BINARY, ELEMENTWISE, MATMUL_BINARY, NO_RELATIONS, REDUCE_AXIS, UNARY_SAME_ELEMENT,
        };
    }

    /// Lattices and their nodes.
    pub mod lattice {
        pub use crate::types::{Lattice, TypeKind, TypeNode};
        pub use typeloom_types::lattice::NodeRef;
        pub use typeloom_types::lattice::{build::NodeSpec, lookup_by_id, lookup_denotation};
        pub use typeloom_types::tree::TypeNodeReg;
    }

    /// Relations and operators.
    pub mod relations {
        pub use crate::types::operators::{
            AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, CustomRelationCtx, PortDecl, PortRef, RelationError,
            RelationResult, TypeRelation,
        };
    }

    /// Storage of Rust types.
    pub mod storage {
        pub use crate::types::{AnyTensor, Dtype, ElementStorage, Storage};
    }
}
