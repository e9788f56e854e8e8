//! Names at the root of the crate that published documents use. The modules of their tasks document them.

pub use inventory;
pub use typeloom_types::lattice::{lookup_by_id, lookup_denotation};
pub use typeloom_types::op::primitives::TENSOR_PRIMITIVES_OPS;
pub use typeloom_types::tree::{TypeNodeReg, builtin::*, onnx::*};

pub use crate::module::{
    Aggregator, Backend, BuildError, Codec, Compiler, DataSource, Graph, Index, Model, Module, PeerId,
    PeerSelector, Protocol, register_protocol,
};
pub use crate::onnx::{AttributeProto, GraphProto, ModelProto, NodeProto, TypeProto, ValueInfoProto};
pub use crate::pool::{Idx, Pool, Tag, TypeDescriptor, TypedModule, VariantDescriptor};
pub use crate::term::{ApplicationTy, GenericArguments, Ty, TyData, TypeFamily};
pub use crate::types::operators::{
    AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, BROADCAST_BINARY, CustomRelationCtx, ELEMENTWISE,
    MATMUL_BINARY, NO_RELATIONS, PortDecl, PortRef, REDUCE_AXIS, RelationResult, TypeError, TypeRelation,
    TypeSolution, TypeSolver, UNARY_SAME_ELEMENT, apply_solution_to_value_info,
};
pub use crate::types::{AnyTensor, Dtype, Lattice, Storage, TypeKind, TypeNode, register_type_node};
