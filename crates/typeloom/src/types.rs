//! The tree of types, Rust types that store tensors, and operators that declare relations between their
//! ports.
//!
//! ```standalone_crate
//! use typeloom::check::{Operators, Options, check_with};
//! use typeloom::types::operators::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, PortDecl, PortRef, TypeRelation};
//! use typeloom::types::{Lattice, Storage, TypeKind, TypeNode, builtins, register_type_node};
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
//! assert!(Lattice::get().lookup("tensor.posit16").is_some());
//! assert!(Lattice::get().is_subtype(&POSIT, &builtins::TYPE_TENSOR));
//! assert_eq!(<[f32] as Storage>::TYPE, &builtins::TYPE_TENSOR_F32);
//!
//! /// Relates the shapes only: the bounds of the ports determine their element types.
//! const SAME_SHAPE: TypeRelation =
//!     TypeRelation::BroadcastShape { in0: PortRef::Input(0), in1: PortRef::Input(0), out: PortRef::Output(0) };
//!
//! static OPS: AtomicOpsetDecl = AtomicOpsetDecl {
//!     domain: "org.example",
//!     version: 1,
//!     ops: &[AtomicOpDecl {
//!         name: "ToPosit",
//!         inputs: &[PortDecl::required("x", &builtins::TYPE_TENSOR_F32)],
//!         outputs: &[PortDecl::required("y", &POSIT)],
//!         kind: AtomicOpKind::Pure,
//!         type_relations: &[SAME_SHAPE],
//!     }],
//! };
//!
//! let operators = Operators::standard().with_opset(&OPS);
//! let model = typeloom::onnx::model_from_text(
//!     r#"<ir_version: 10, opset_import: ["org.example" : 1]>
//!     g (float[N, 3] x) => (y) { y = org.example.ToPosit(x) }"#,
//! )?;
//! let mut checked = check_with(&model, &Options::default(), &operators)?;
//! let y = checked.value("y").expect("the model has this value");
//! assert_eq!(y.ty().node, Some(&POSIT));
//! assert_eq!(y.ty().shape, checked.value("x").and_then(|x| x.ty().shape.clone()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(hidden)]
pub use crate::published::names::in_types::{
    BROADCAST_BINARY, CustomRelationCtx, ELEMENTWISE, MATMUL_BINARY, NO_RELATIONS, NodeRef, PortRef,
    REDUCE_AXIS, RelationResult, TypeError, TypeNodeReg, TypeRelation, TypeSolution, TypeSolver,
    UNARY_SAME_ELEMENT, apply_solution_to_value_info, common_relations, lattice, lookup_by_id,
    lookup_denotation, relations, storage,
};

/// The statics of all built-in type nodes.
pub mod builtins {
    #[doc(hidden)]
    pub use crate::published::names::{lookup_by_id, lookup_denotation};
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
    /// Types of the values of a graph message under declared operators.
    ///
    /// ```
    /// use typeloom::onnx::{GraphProto, NodeProto, ValueInfoProto};
    /// use typeloom::types::builtins::{TYPE_TENSOR_F32, TYPE_TENSOR_F64};
    /// use typeloom::types::operators::{
    ///     TENSOR_PRIMITIVES, TypeCause, TypeError, TypeSolution, TypeSolver, apply_solution_to_value_info,
    /// };
    ///
    /// let add = NodeProto {
    ///     op_type: "Add".into(),
    ///     input: vec!["x".into(), "y".into()],
    ///     output: vec!["z".into()],
    ///     ..NodeProto::default()
    /// };
    /// let z = ValueInfoProto { name: "z".into(), ..ValueInfoProto::default() };
    /// let mut graph = GraphProto { node: vec![add], output: vec![z], ..GraphProto::default() };
    ///
    /// let mut solver = TypeSolver::from_graph(&graph, |_, op_type| TENSOR_PRIMITIVES.op(op_type))?;
    /// solver.seed("x", &TYPE_TENSOR_F32);
    /// let solution: TypeSolution = solver.solve_strict()?;
    /// assert_eq!(solution.type_of("z"), Some(&TYPE_TENSOR_F32));
    /// apply_solution_to_value_info(&mut graph, &solution);
    /// assert!(graph.output[0].r#type.is_some());
    ///
    /// solver.seed("y", &TYPE_TENSOR_F64);
    /// let Err(TypeError::ConstraintFailed(failure)) = solver.solve() else { panic!("the seeds differ") };
    /// assert_eq!((failure.node.op_type.as_str(), failure.node.position), ("Add", 0));
    /// assert!(failure.sides.iter().all(|side| matches!(side.cause, Some(TypeCause::Seed { .. }))));
    /// assert_eq!(TENSOR_PRIMITIVES.ops.len(), 30);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(inline)]
    pub use typeloom_solver::type_solver::TypeSolver;
    /// [`TypeSolver`] has an example.
    #[doc(inline)]
    pub use typeloom_solver::type_solver::{
        TypeCause, TypeError, TypeSolution, apply_solution_to_value_info,
    };
    /// Declarations of operators and of their ports.
    ///
    /// ```
    /// use typeloom::types::builtins::TYPE_TENSOR;
    /// use typeloom::types::operators::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, NO_RELATIONS, PortDecl};
    ///
    /// static OPSET: AtomicOpsetDecl = AtomicOpsetDecl {
    ///     domain: "com.example",
    ///     version: 1,
    ///     ops: &[AtomicOpDecl {
    ///         name: "Log",
    ///         inputs: &[PortDecl::variadic("values", &TYPE_TENSOR)],
    ///         outputs: &[],
    ///         kind: AtomicOpKind::Stateful,
    ///         type_relations: NO_RELATIONS,
    ///     }],
    /// };
    /// let log = OPSET.op("Log").expect("the set declares it");
    /// assert_eq!(log.input(7).map(|port| port.name), Some("values"));
    /// assert_eq!(OPSET.check(), []);
    /// ```
    #[doc(inline)]
    pub use typeloom_types::op::AtomicOpDecl;
    #[doc(inline)]
    pub use typeloom_types::op::primitives::TENSOR_PRIMITIVES;
    /// [`AtomicOpDecl`] has an example.
    #[doc(inline)]
    pub use typeloom_types::op::{AtomicOpKind, AtomicOpsetDecl, PortDecl};
    /// Named lists of relations for declarations. All of them relate element types: an operator whose output
    /// has another element type than its input lists [`TypeRelation`]s of its own.
    ///
    /// ```
    /// use typeloom::types::operators::{
    ///     BROADCAST_BINARY, ELEMENTWISE, MATMUL_BINARY, NO_RELATIONS, REDUCE_AXIS, TypeRelation, UNARY_SAME_ELEMENT,
    /// };
    ///
    /// let names = |list: &[TypeRelation]| list.iter().map(TypeRelation::name).collect::<Vec<_>>();
    /// assert!(NO_RELATIONS.is_empty());
    /// assert_eq!(names(ELEMENTWISE), ["elementwise"]);
    /// assert_eq!(names(UNARY_SAME_ELEMENT), ["same-element-type"]);
    /// assert_eq!(names(BROADCAST_BINARY), ["same-element-type", "broadcast-shape"]);
    /// assert_eq!(names(MATMUL_BINARY), ["same-element-type", "matmul.contract"]);
    /// assert_eq!(names(REDUCE_AXIS), ["reduce-over"]);
    /// ```
    #[doc(inline)]
    pub use typeloom_types::relation::ELEMENTWISE;
    /// Relations written in Rust, as functions on the ports of a node.
    ///
    /// A function sees a symbolic dim as unknown (`None`), and `None` leaves a dim unchanged;
    /// `cx.copy_extents` passes symbolic dims from one port to another, as the built-in relations do. An
    /// operator that computes with symbolic dims is [`Described`](crate::check::Described).
    ///
    /// ```
    /// use typeloom::types::operators::{CustomRelationCtx, PortRef, RelationError, RelationResult, TypeRelation};
    ///
    /// fn same(cx: &CustomRelationCtx<'_>) -> RelationResult {
    ///     cx.unify(&[PortRef::Input(0), PortRef::Output(0)])
    /// }
    ///
    /// fn transposed(cx: &CustomRelationCtx<'_>) -> Result<bool, RelationError> {
    ///     let Some(shape) = cx.shape(PortRef::Input(0)) else { return Ok(false) };
    ///     let reversed: Vec<_> = shape.into_iter().rev().collect();
    ///     cx.refine_shape(PortRef::Output(0), &reversed)
    /// }
    ///
    /// let relations = [
    ///     TypeRelation::Custom { name: "example.same", run: same },
    ///     TypeRelation::Custom {
    ///         name: "example.transposed",
    ///         run: |cx| match transposed(cx) {
    ///             Ok(true) => RelationResult::Refined,
    ///             Ok(false) => RelationResult::Defer,
    ///             Err(error) => error.into(),
    ///         },
    ///     },
    /// ];
    /// assert_eq!(relations[1].name(), "example.transposed");
    /// ```
    #[doc(inline)]
    pub use typeloom_types::relation::TypeRelation;
    /// [`ELEMENTWISE`] has an example.
    #[doc(inline)]
    pub use typeloom_types::relation::{
        BROADCAST_BINARY, MATMUL_BINARY, NO_RELATIONS, REDUCE_AXIS, UNARY_SAME_ELEMENT,
    };
    /// [`TypeRelation`] has an example.
    #[doc(inline)]
    pub use typeloom_types::relation::{PortRef, RelationError, RelationResult, custom::CustomRelationCtx};
}

/// A tensor at run time, and the table of element types. Its Rust types are `f32`, `f64`, `half::f16`,
/// `half::bf16`, the integers from `u8` and `i8` to `u64` and `i64`, and `bool`; strings and packed types
/// have their own constructors.
///
/// ```
/// use typeloom::types::{AnyTensor, Dtype};
///
/// let tensor = AnyTensor::from_slice(&[2, 2], &[1.0_f32, 2.0, 3.0, 4.0])?;
/// assert_eq!((tensor.dtype(), tensor.shape()), (Dtype::F32, &[2, 2][..]));
/// assert_eq!(tensor.as_slice::<f32>()?[3], 4.0);
/// assert!(tensor.as_slice::<i64>().is_err());
/// assert_eq!((Dtype::F32.name(), Dtype::F32.onnx_name(), Dtype::F32.size_bytes()), ("f32", "float", Some(4)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_tensor::any_tensor::AnyTensor;
/// The element types with a Rust type, as a closed set: `match` on them is exhaustive. [`Dtype`] grows with
/// ONNX.
///
/// ```
/// use typeloom::types::{CoreDtype, Dtype};
///
/// fn width(dtype: CoreDtype) -> usize {
///     match dtype {
///         CoreDtype::U8 | CoreDtype::I8 | CoreDtype::Bool => 1,
///         CoreDtype::F16 | CoreDtype::BF16 | CoreDtype::U16 | CoreDtype::I16 => 2,
///         CoreDtype::F32 | CoreDtype::U32 | CoreDtype::I32 => 4,
///         CoreDtype::F64 | CoreDtype::U64 | CoreDtype::I64 => 8,
///     }
/// }
///
/// assert_eq!(Dtype::BF16.core().map(width), Some(2));
/// assert_eq!(Dtype::String.core(), None);
/// ```
#[doc(inline)]
pub use typeloom_types::dtype::CoreDtype;
/// [`AnyTensor`] has an example.
#[doc(inline)]
pub use typeloom_types::dtype::Dtype;
/// Queries over the registered type nodes.
///
/// ```
/// use typeloom::types::Lattice;
/// use typeloom::types::builtins::{TYPE_TENSOR, TYPE_TENSOR_F32};
///
/// let lattice = Lattice::get();
/// assert!(lattice.is_subtype(&TYPE_TENSOR_F32, &TYPE_TENSOR));
/// assert_eq!(lattice.lookup("tensor.f32").and_then(|node| node.as_static()), Some(&TYPE_TENSOR_F32));
/// assert!(lattice.lookup_denotation("ai.bytesandbrains.tensor.f32").is_some());
/// ```
#[doc(inline)]
pub use typeloom_types::lattice::Lattice;
/// [`Storage`] has an example.
#[doc(inline)]
pub use typeloom_types::storage::ElementStorage;
/// Rust types that store values of a type node.
///
/// ```
/// use typeloom::types::builtins::{TYPE_BYTES, TYPE_TENSOR_U16};
/// use typeloom::types::{ElementStorage, Storage, TypeNode};
///
/// struct Blob(Vec<u8>);
///
/// impl Storage for Blob {
///     const TYPE: &'static TypeNode = &TYPE_BYTES;
/// }
///
/// struct Pixel(u16);
///
/// impl ElementStorage for Pixel {
///     const SLICE: &'static TypeNode = &TYPE_TENSOR_U16;
/// }
///
/// assert_eq!(<[Pixel] as Storage>::TYPE, <Vec<Pixel> as Storage>::TYPE);
/// ```
#[doc(inline)]
pub use typeloom_types::storage::Storage;
/// Nodes of the type tree and their registration.
///
/// ```standalone_crate
/// use typeloom::types::{Lattice, TypeKind, TypeNode, register_type_node};
///
/// static TYPE_TENSOR_BF8: TypeNode = TypeNode {
///     id: "tensor.bf8",
///     parent: Some("tensor"),
///     kind: TypeKind::Concrete,
///     ffi_name: "",
///     wire_hash: 0,
///     denotation: "org.example.tensor.bf8",
/// };
/// register_type_node!(TYPE_TENSOR_BF8);
///
/// assert!(Lattice::get().lookup("tensor.bf8").is_some());
/// ```
#[doc(inline)]
pub use typeloom_types::{
    register_type_node,
    tree::{TypeKind, TypeNode},
};
