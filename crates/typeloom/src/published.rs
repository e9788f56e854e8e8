//! Names at the root of the crate that published documents use. They are documented in the modules of their tasks.

pub use inventory;
pub use typeloom_module::{authoring::AuthoringErrorKind, program::Program};
pub use typeloom_types::tree::builtin::*;
pub use typeloom_types::tree::onnx::*;

pub use crate::check::{CheckError, Described, Mode, Operators, Options, Seed, check_with};
pub use crate::interface::Interface;
pub use crate::module::*;
pub use crate::onnx::{
    AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto,
    model_from_text,
};
pub use crate::pool::{Pool, TypeDescriptor, TypedModule};
#[cfg(feature = "runtime")]
pub use crate::run::{
    ByExecution, ByPrimitives, Components, Cpu, Datum, DatumElement, Executor, FromDatum, IntoDatum, Part,
    RunProtocol, Session, Verify, components, host, session, wire,
};
pub use crate::term::{Ty, TyData, TypeFamily};
pub use crate::types::operators::*;
pub use crate::types::{
    AnyTensor, Dtype, ElementStorage, Lattice, Storage, TypeKind, TypeNode, TypeNodeReg, lookup_by_id,
    lookup_denotation, register_type_node,
};
