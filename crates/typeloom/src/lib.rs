//! typeloom proves the type of every value in a tensor program, and carries those types across
//! modules, processes and languages.
//!
//! This crate is the one public surface with a stability promise; it alone re-exports.
//!
//! ```
//! let text = r#"<ir_version: 10, opset_import: ["" : 21]>
//! g (float[N, 3] x, float[3, 4] w) => (y) { h = MatMul(x, w)  y = Relu(h) }"#;
//! let bytes = typeloom::model_from_text(text)?;
//!
//! let mut checked = typeloom::check(&bytes, &typeloom::Options::default())?;
//! assert!(checked.is_ok());
//! let y = checked.find("y").expect("the graph has a value `y`");
//! assert_eq!(checked.display_type(y), "float[N, 4]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | check a model | [`check`], [`Options`], [`Checked`] |
//! | describe operators of other domains | [`check_with`], [`Operators`], [`Described`] |
//! | show what was found | [`report`] |
//! | type a graph of declared operators | [`TypeSolver`], [`TypeSolution`], [`TypeError`] |
//! | write types into a graph | [`apply_solution_to_value_info`] |
//! | find types in the tree | [`Lattice`], [`lookup_by_id`], [`lookup_denotation`], [`TYPE_ANY`] and the other statics |
//! | add types to the tree | [`TypeNode`], [`TypeNodeReg`], [`register_type_node!`], [`inventory`] |
//! | say what Rust types store | [`Storage`], [`ElementStorage`] |
//! | hold tensors of any element type | [`AnyTensor`], [`Dtype`] |
//! | declare operators | [`AtomicOpDecl`], [`AtomicOpsetDecl`], [`TENSOR_PRIMITIVES_OPS`] |
//! | relate their ports | [`TypeRelation`], [`PortRef`], [`CustomRelationCtx`], [`BROADCAST_BINARY`] and the other slices |
//! | build and edit ONNX graphs | [`GraphProto`], [`NodeProto`], [`ModelProto`] |
//! | read and write ONNX files | [`onnx`] |
//! | look operators up | [`ops`] |
//! | work with types as terms: equality, subtyping, inference | [`term`] |
//! | describe the public types of a Rust crate, compare two versions | [`rust`] |
//! | write a module | [`Module`], [`Graph`], [`ValueRef`], [`OperatorMethods`] |
//! | compile it, or an ONNX model, into a typed artifact | [`Compiler`], [`Coercion`], [`Artifact`], [`BuildError`] |
//! | implement what it is bound to | [`Backend`], [`GraphExecutor`], [`Index`], [`Codec`] and the other contracts |
//! | bind components that exist: indices, networks, averages, codecs, data sources, tables of peers | [`components`] |
//! | call what another program exports | [`Imported`], [`TypedModule`] |
//! | write types into files, take a model's interface, compare two | [`compiler`] |
//! | run a model | [`session`], [`Session`], [`Verify`] |
//! | run a compiled module with its components | [`Components`], [`Executor`], [`Datum`]; [`Part`] where it sends |
//! | compute, on the embedded backend or one's own | [`Cpu`], [`ByPrimitives`], [`ByExecution`], [`FromDatum`] |
//! | carry values to other peers | [`wire`], [`host`] |
//! | carry types to other processes | [`pool`] |
//!
//! `cargo run --example polymorphic_types` walks through the types, `backend_slots`, `index_over_backend`, `receive_cast` and
//! `permissive_types` through modules, `federated` through peers that learn together.
//!
//! **Invariant:** a name that documents or examples use stands at the top of this crate; [`types`], [`onnx`],
//! [`solver`], [`ops`], [`compiler`], [`contracts`], [`pool`] and [`report`] hold the rest.

#![deny(missing_docs)]

mod bundle;
pub mod host;

use std::sync::{Arc, OnceLock};

use typeloom_solver::universe::Universe;

pub use typeloom_compiler as compiler;
pub use typeloom_components as components;
pub use typeloom_contracts as contracts;
pub use typeloom_cpu as cpu;
pub use typeloom_interface as interface;
pub use typeloom_onnx as onnx;
pub use typeloom_ops as ops;
pub use typeloom_pool as pool;
pub use typeloom_report as report;
pub use typeloom_rewrite as rewrite;
pub use typeloom_runtime as runtime;
pub use typeloom_rust_api as rust;
pub use typeloom_solver as solver;
pub use typeloom_term as term;
pub use typeloom_types as types;
pub use typeloom_wire as wire;

// Whole models.
pub use typeloom_solver::model::{CheckError, Checked, Mode, Options, Seed};

// The tree of types. `inventory` is what `TypeNodeReg` is submitted through.
pub use inventory;
pub use typeloom_types::lattice::{Lattice, lookup_by_id, lookup_denotation};
pub use typeloom_types::register_type_node;
pub use typeloom_types::tree::builtin::{
    TYPE_ADDRESS_VEC, TYPE_ANY, TYPE_BYTES, TYPE_COMPOSITE, TYPE_MULTIADDRESS, TYPE_PEER_ID,
    TYPE_PEER_ID_VEC, TYPE_SCALAR, TYPE_SCALAR_F16, TYPE_SCALAR_F32, TYPE_SCALAR_F64, TYPE_SCALAR_I32,
    TYPE_SCALAR_U8, TYPE_TENSOR, TYPE_TENSOR_BF16, TYPE_TENSOR_BOOL, TYPE_TENSOR_F16, TYPE_TENSOR_F32,
    TYPE_TENSOR_F64, TYPE_TENSOR_I8, TYPE_TENSOR_I16, TYPE_TENSOR_I32, TYPE_TENSOR_I64, TYPE_TENSOR_U8,
    TYPE_TENSOR_U16, TYPE_TENSOR_U32, TYPE_TENSOR_U64, TYPE_TRIGGER, TYPE_WIRE_REQ_ID,
};
pub use typeloom_types::tree::onnx::{
    TYPE_TENSOR_COMPLEX64, TYPE_TENSOR_COMPLEX128, TYPE_TENSOR_FLOAT4E2M1, TYPE_TENSOR_FLOAT6E2M3,
    TYPE_TENSOR_FLOAT6E3M2, TYPE_TENSOR_FLOAT8E4M3FN, TYPE_TENSOR_FLOAT8E4M3FNUZ, TYPE_TENSOR_FLOAT8E5M2,
    TYPE_TENSOR_FLOAT8E5M2FNUZ, TYPE_TENSOR_FLOAT8E8M0, TYPE_TENSOR_INT2, TYPE_TENSOR_INT4,
    TYPE_TENSOR_STRING, TYPE_TENSOR_UINT2, TYPE_TENSOR_UINT4,
};
pub use typeloom_types::tree::{TypeKind, TypeNode, TypeNodeReg};

// Storage and tensors that are tagged at run time.
pub use typeloom_types::any_tensor::AnyTensor;
pub use typeloom_types::dtype::Dtype;
pub use typeloom_types::storage::{ElementStorage, Storage};

// Operators and the relations between their ports.
pub use typeloom_types::op::primitives::{TENSOR_PRIMITIVES, TENSOR_PRIMITIVES_OPS};
pub use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, PortArity, PortDecl};
pub use typeloom_types::relation::custom::CustomRelationCtx;
pub use typeloom_types::relation::{
    BROADCAST_BINARY, ELEMENTWISE, MATMUL_BINARY, NO_RELATIONS, PortRef, REDUCE_AXIS, RelationError,
    RelationResult, TypeRelation, UNARY_SAME_ELEMENT,
};

// Operators beside the standard ones.
pub use typeloom_ops::described::{DescribeError, Described, Operators};

// Graphs as messages.
pub use typeloom_onnx::messages::{
    AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto,
};

// Graphs of declared operators.
pub use typeloom_solver::type_solver::{
    ConstraintFailure, ConstraintSide, NodeLabel, TypeCause, TypeError, TypeSolution, TypeSolver,
    apply_solution_to_value_info,
};

// Modules.
pub use typeloom_compiler::artifact::{Artifact, LoadError};
pub use typeloom_compiler::compiler::Compiler;
pub use typeloom_compiler::error::BuildError;
pub use typeloom_compiler::pass::Pass;
pub use typeloom_compiler::unit::{Coercion, Unit};
pub use typeloom_module::authoring::{AuthoringError, AuthoringErrorKind};
pub use typeloom_module::bindings::{Alias, Bindings};
pub use typeloom_module::graph::Graph;
pub use typeloom_module::graph::operators::OperatorMethods;
pub use typeloom_module::graph::value::ValueRef;
pub use typeloom_module::module::Module;
pub use typeloom_module::module::imports::Imported;
pub use typeloom_module::program::Program;
pub use typeloom_pool::TypedModule;

// Contracts of components.
pub use typeloom_contracts::aggregator::Aggregator;
pub use typeloom_contracts::backend::by_execution::ByExecution;
pub use typeloom_contracts::backend::{Backend, GraphExecutor, Primitives};
pub use typeloom_contracts::codec::Codec;
pub use typeloom_contracts::data_source::DataSource;
pub use typeloom_contracts::index::Index;
pub use typeloom_contracts::model::Model;
pub use typeloom_contracts::peer_selector::{PeerId, PeerSelector};
pub use typeloom_contracts::protocol::Protocol;
pub use typeloom_contracts::register_protocol;
pub use typeloom_contracts::role::Role;
// Running.
pub use typeloom_contracts::datum::Datum;
pub use typeloom_runtime::backend::Cpu;
pub use typeloom_runtime::backend::by_primitives::ByPrimitives;
pub use typeloom_runtime::components::{Components, RunProtocol};
pub use typeloom_runtime::convert::{DatumElement, FromDatum, IntoDatum};
pub use typeloom_runtime::executor::Executor;
pub use typeloom_runtime::executor::part::Part;
pub use typeloom_runtime::options::Verify;
pub use typeloom_runtime::session::Session;

// Interfaces.
pub use bundle::{BundleError, Exported, artifact_interfaces, export_interfaces, import_interfaces};
pub use typeloom_interface::Interface;

/// Checks a serialized ONNX model against the standard operators and the default type tree.
///
/// # Errors
/// [`CheckError`] where the bytes are not a model; what is wrong with a model is in [`Checked`].
pub fn check<'a>(bytes: &'a [u8], options: &Options) -> Result<Checked<'a>, CheckError> {
    check_with(bytes, options, &STANDARD)
}

/// ONNX's operators and those of ONNX Runtime.
static STANDARD: Operators = Operators::standard();

/// As [`check`], with operators beside the standard ones: described by a text, or declared in Rust.
///
/// ```
/// use typeloom::{Described, Operators, Options};
///
/// let operators = Operators::standard().with(Described::parse(
///     r#"typeloom-operators 1
/// domain com.example 1
/// op Fold 1
///   type T tensor(float+float16)
///   in data T
///   out folded T
///   attr width int required
///   shape data [batch, length]
///   shape folded [batch, length // width, width]
/// "#,
/// )?);
/// let bytes = typeloom::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21, "com.example" : 1]>
///     g (float[N, 12] x) => (y) { y = com.example.Fold <width = 4> (x) }"#,
/// )?;
/// let mut checked = typeloom::check_with(&bytes, &Options::default(), &operators)?;
/// let y = checked.find("y").expect("the graph has a value `y`");
/// assert_eq!(checked.display_type(y), "float[N, 3, 4]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`check`].
pub fn check_with<'a>(
    bytes: &'a [u8],
    options: &Options,
    operators: &'a Operators,
) -> Result<Checked<'a>, CheckError> {
    typeloom_solver::model::check(bytes, operators, universe(), options)
}

/// Everything that is wrong with a checked model, with fixes that were tried: making one removes its diagnostic and brings no
/// other. `bytes` is the model that was checked, with the same options and operators.
pub fn diagnose(
    bytes: &[u8],
    checked: &mut Checked<'_>,
    options: &Options,
    operators: &Operators,
) -> Vec<typeloom_solver::diagnostic::Diagnostic> {
    let mut found = typeloom_solver::diagnostic::diagnose(checked);
    rewrite::advise::advise(bytes, &mut found, operators, universe(), options);
    found
}

/// The model with the fix of one of its diagnostics and nothing else changed; `None` where the fix cannot be made.
#[must_use]
pub fn apply_fix(
    bytes: &[u8],
    diagnostic: &typeloom_solver::diagnostic::Diagnostic,
    options: &Options,
    operators: &Operators,
) -> Option<Vec<u8>> {
    let fix = diagnostic.fix.as_ref()?;
    rewrite::advise::applied(bytes, diagnostic, fix, (operators, universe(), options))
}

/// Repairs what exporters write wrongly beside the element types: the order of nodes, and false shapes.
///
/// # Errors
/// [`rewrite::coerce::RepairError`] where the model cannot be read.
pub fn mend(
    bytes: &[u8],
    options: &Options,
    operators: &Operators,
    repairs: rewrite::mend::Repairs,
) -> Result<rewrite::mend::Mended, rewrite::coerce::RepairError> {
    rewrite::mend::mend(bytes, operators, universe(), options, repairs)
}

/// Repairs the element types of a serialized ONNX model with the fewest conversions that a policy allows.
///
/// # Errors
/// [`rewrite::coerce::RepairError`]; what cannot be repaired is in [`rewrite::coerce::Repair`].
pub fn repair(
    bytes: &[u8],
    options: &Options,
    operators: &Operators,
    policy: rewrite::coerce::Policy,
) -> Result<rewrite::coerce::Repair, rewrite::coerce::RepairError> {
    rewrite::coerce::repair(bytes, operators, universe(), options, policy)
}

/// Prepares a checked model to be run on the embedded backend. Models whose tensors lie in other files are prepared by
/// [`Session::of_checked`], which is told how to read them.
///
/// ```
/// use std::collections::HashMap;
/// use typeloom::cpu::value::Value;
/// use typeloom::{AnyTensor, Verify};
///
/// let bytes = typeloom::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]>
///     g (float[N, 2] x) => (y) { h = Add(x, x)  y = ReduceSum <keepdims = 0> (h) }"#,
/// )?;
/// let mut checked = typeloom::check(&bytes, &typeloom::Options::default())?;
/// let session = typeloom::session(&mut checked)?;
///
/// let x = AnyTensor::from_slice(&[3, 2], &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let inputs = HashMap::from([("x".to_owned(), Value::Tensor(x))]);
/// let outcome = session.run(inputs, Verify::EveryValue)?;
/// assert_eq!(outcome.outputs[0].1, Value::Tensor(AnyTensor::from_scalar(42.0_f32)));
/// assert_eq!(outcome.symbols.get("N"), Some(3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`runtime::error::PrepareError`].
pub fn session(checked: &mut Checked<'_>) -> Result<Session, runtime::error::PrepareError> {
    Session::of_checked(checked, &|_| Err("no other files are read".to_owned()))
}

/// The element type with this name: ONNX's (`float`) or the tree's (`f32`).
#[must_use]
pub fn element_type(name: &str) -> Option<solver::elem::Elem> {
    universe().elem_named(name)
}

/// A model in ONNX's textual syntax, serialized.
///
/// # Errors
/// [`onnx::text::ParseError`] with the place of the mistake.
pub fn model_from_text(text: &str) -> Result<Vec<u8>, onnx::text::ParseError> {
    use onnx::prost::Message as _;
    onnx::text::parse_model(text).map(|model| model.encode_to_vec())
}

/// The element types of the default type tree.
fn universe() -> &'static Arc<Universe> {
    static UNIVERSE: OnceLock<Arc<Universe>> = OnceLock::new();
    UNIVERSE.get_or_init(|| {
        Universe::of_default_lattice()
            .expect("a program registers fewer element types than there are numbers")
    })
}
