//! Published calls: code from the documents of the three proposals that this crate implements.
//!
//! Such code compiles after one line: `use typeloom as bb;`. Each published name is at the root of the crate,
//! and also in the module of its task, which documents it. The examples are the published calls, unchanged.
//!
//! # Messages
//!
//! Text fields of messages have the type [`Text`](crate::onnx::Text). Strings convert into it, and `as_str`
//! reads it. A file distinguishes an absent text from an empty one, but `as_str` returns `""` for both.
//!
//! ```
//! use typeloom as bb;
//!
//! let node = bb::NodeProto { op_type: "Add".into(), domain: "".into(), name: "n".into(), ..Default::default() };
//! assert_eq!((node.op_type.as_str(), node.domain.as_str(), node.name.as_str()), ("Add", "", "n"));
//!
//! let type_proto = bb::TypeProto { denotation: "bb.peer_id".into(), ..Default::default() };
//! assert_eq!(type_proto.denotation.as_str(), "bb.peer_id");
//! assert_eq!(bb::TypeProto::default().denotation.as_str(), "");
//! ```
//!
//! Bodies that seed a solver from declarations, and stamp its solution, read and compare texts as strings.
//!
//! ```
//! use typeloom as bb;
//!
//! fn seed(solver: &mut bb::TypeSolver, graph: &bb::GraphProto) {
//!     for info in graph.input.iter().chain(&graph.value_info).chain(&graph.output) {
//!         let Some(ty) = &info.r#type else { continue };
//!         if let Some(node) = bb::lookup_denotation(&ty.denotation) {
//!             solver.seed(&info.name, node);
//!         }
//!     }
//! }
//!
//! fn stamp(graph: &mut bb::GraphProto, solution: &bb::TypeSolution) {
//!     for info in graph.input.iter_mut().chain(&mut graph.value_info).chain(&mut graph.output) {
//!         if let Some(node) = solution.type_of(&info.name) {
//!             info.r#type.get_or_insert_default().denotation = node.denotation.into();
//!         }
//!     }
//! }
//!
//! let value = |name: &str| bb::ValueInfoProto { name: name.into(), ..Default::default() };
//! let ty = bb::TypeProto { denotation: "ai.bytesandbrains.tensor.f32".into(), ..Default::default() };
//! let negation = bb::NodeProto {
//!     op_type: "Neg".into(),
//!     input: vec!["x".into()],
//!     output: vec!["y".into()],
//!     ..Default::default()
//! };
//! let mut graph = bb::GraphProto {
//!     node: vec![negation],
//!     input: vec![bb::ValueInfoProto { r#type: Some(ty), ..value("x") }],
//!     output: vec![value("y")],
//!     ..Default::default()
//! };
//! let lookup = |_: &str, op_type: &str| bb::TENSOR_PRIMITIVES_OPS.iter().find(|op| op.name == op_type);
//! let mut solver = bb::TypeSolver::from_graph(&graph, lookup)?;
//! seed(&mut solver, &graph);
//! stamp(&mut graph, &solver.solve_strict()?);
//!
//! let stamps: std::collections::HashMap<String, &str> = graph
//!     .output
//!     .iter()
//!     .map(|info| (String::from(&info.name), info.r#type.as_ref().unwrap().denotation.as_str()))
//!     .collect();
//! assert_eq!(stamps["y"], "ai.bytesandbrains.tensor.f32");
//! let name = String::from("y");
//! assert!(graph.output[0].name == name && name == graph.output[0].name && *"y" == graph.output[0].name);
//! # Ok::<(), bb::TypeError>(())
//! ```
//!
//! # Solver
//!
//! Several unresolved values, or several failed relations, are one error of the variant for one of them, which
//! lists all.
//!
//! ```
//! use typeloom as bb;
//!
//! let node = |input: &str, output: &str| bb::NodeProto {
//!     op_type: "Neg".into(),
//!     input: vec![input.into()],
//!     output: vec![output.into()],
//!     ..Default::default()
//! };
//! let graph = bb::GraphProto { node: vec![node("a", "b"), node("c", "d")], ..Default::default() };
//! let lookup = |_: &str, op_type: &str| bb::TENSOR_PRIMITIVES_OPS.iter().find(|op| op.name == op_type);
//! let error = bb::TypeSolver::from_graph(&graph, lookup)?.solve_strict().unwrap_err();
//! let bb::TypeError::UnresolvedType { value, .. } = &error else { panic!("{error}") };
//! assert_eq!((value.as_str(), error.errors().len()), ("a", 2));
//! # Ok::<(), bb::TypeError>(())
//! ```
//!
//! `from_graph` fails for a malformed graph: if a value is defined twice, if nodes form a cycle, or if graphs
//! are nested too deep. `type_of` returns a reference to the static of the type node.
//!
//! ```
//! use typeloom as bb;
//!
//! static RELU: bb::AtomicOpDecl = bb::AtomicOpDecl {
//!     name: "Relu",
//!     inputs: &[bb::PortDecl::required("X", &bb::TYPE_TENSOR)],
//!     outputs: &[bb::PortDecl::required("Y", &bb::TYPE_TENSOR)],
//!     kind: bb::AtomicOpKind::Pure,
//!     type_relations: bb::ELEMENTWISE,
//! };
//!
//! let lookup = |_domain: &str, op_type: &str| {
//!     let mut ops = bb::TENSOR_PRIMITIVES_OPS.iter().chain([&RELU]);
//!     ops.find(|op| op.name == op_type)
//! };
//! let node = |op_type: &str, input: &[&str], output: &str| bb::NodeProto {
//!     op_type: op_type.into(),
//!     input: input.iter().map(|name| name.to_string()).collect(),
//!     output: vec![output.into()],
//!     ..Default::default()
//! };
//! // z = Add(x, y); w = Relu(z)
//! let add_relu = vec![node("Add", &["x", "y"], "z"), node("Relu", &["z"], "w")];
//! let graph = bb::GraphProto { node: add_relu, ..Default::default() };
//!
//! let mut solver = bb::TypeSolver::from_graph(&graph, lookup)?;
//! solver.seed("x", &bb::TYPE_TENSOR_F32);
//! let s = solver.solve_strict()?;
//! assert_eq!(s.type_of("w"), Some(&bb::TYPE_TENSOR_F32));
//! assert!(s.type_of("y").unwrap() == &bb::TYPE_TENSOR_F32);
//!
//! let twice = vec![node("Relu", &["x"], "y"), node("Relu", &["x"], "y")];
//! let malformed = bb::GraphProto { node: twice, ..Default::default() };
//! let error = bb::TypeSolver::from_graph(&malformed, lookup).unwrap_err();
//! assert_eq!(error.to_string(), "node #1 `Relu`: `y` is defined twice");
//! # Ok::<(), bb::TypeError>(())
//! ```
//!
//! # Outputs of modules
//!
//! An output is given by value or by reference.
//!
//! ```
//! use typeloom as bb;
//! use typeloom::module::OperatorMethods as _;
//!
//! struct Responder;
//!
//! impl bb::Module for Responder {
//!     fn name(&self) -> &str {
//!         "responder"
//!     }
//!
//!     fn body(&self, g: &mut bb::Graph) {
//!         let query = g.input("query").of("float[N]");
//!         let response = query.relu();
//!         g.output("copy", &response);
//!         g.output("response", response);
//!     }
//! }
//!
//! let artifact = bb::Compiler::new().compile(Responder)?;
//! assert_eq!(artifact.type_of("response"), artifact.type_of("copy"));
//! # Ok::<(), bb::BuildError>(())
//! ```
//!
//! # Custom relations
//!
//! Rules that narrow ports and rules that only read have the same function type: both borrow the context as
//! shared, and the context has interior mutability. (Rust does not convert between functions of `&T` and of
//! `&mut T`, so one field could not accept both.)
//!
//! ```
//! use typeloom as bb;
//! use typeloom::types::operators::RelationError;
//!
//! fn rule(cx: &bb::CustomRelationCtx<'_>) -> bb::RelationResult {
//!     match cx.shape(bb::PortRef::Input(0)).map(|dims| dims.len()) {
//!         None => bb::RelationResult::Defer,
//!         Some(2) => bb::RelationResult::Satisfied,
//!         Some(rank) => {
//!             let ports = [bb::PortRef::Input(0)];
//!             RelationError::new("only a matrix has an inverse", ports, "rank 2", format!("rank {rank}")).into()
//!         }
//!     }
//! }
//!
//! fn refining(cx: &bb::CustomRelationCtx<'_>) -> bb::RelationResult {
//!     cx.unify(&[bb::PortRef::Input(0), bb::PortRef::Output(0)])
//! }
//!
//! static INVERT: bb::AtomicOpDecl = bb::AtomicOpDecl {
//!     name: "Invert",
//!     inputs: &[bb::PortDecl::required("matrix", &bb::TYPE_TENSOR)],
//!     outputs: &[bb::PortDecl::required("inverse", &bb::TYPE_TENSOR)],
//!     kind: bb::AtomicOpKind::Pure,
//!     type_relations: &[
//!         bb::TypeRelation::Custom { name: "invert.rank", run: rule },
//!         bb::TypeRelation::Custom { name: "invert.same", run: refining },
//!     ],
//! };
//! assert_eq!(INVERT.check(), []);
//! ```
//!
//! # Registered nodes
//!
//! Several crates can submit a node with the same content. The lattice then contains one node.
//!
//! ```standalone_crate
//! use typeloom as bb;
//! use typeloom::inventory;
//!
//! inventory::submit! {
//!     bb::TypeNodeReg(&bb::TypeNode {
//!         id: "tensor.bf16",
//!         parent: Some("tensor"),
//!         kind: bb::TypeKind::Concrete,
//!         ffi_name: "bb_tensor_bf16_t",
//!         wire_hash: 0x107,
//!         denotation: "ai.bytesandbrains.tensor.bf16",
//!     })
//! }
//!
//! assert_eq!(bb::lookup_by_id("tensor.bf16"), Some(&bb::TYPE_TENSOR_BF16));
//! assert!(bb::Lattice::get().is_subtype("tensor.bf16", &bb::TYPE_TENSOR));
//! ```
//!
//! A node is also submitted without its wrapper.
//!
//! ```standalone_crate
//! use typeloom as bb;
//! use typeloom::inventory;
//!
//! inventory::submit! {
//!     bb::TypeNode {
//!         id: "tensor.lns8",
//!         parent: Some("tensor"),
//!         kind: bb::TypeKind::Concrete,
//!         ffi_name: "",
//!         wire_hash: 0x801,
//!         denotation: "org.example.lns8",
//!     }
//! }
//!
//! let node = bb::Lattice::get().lookup("tensor.lns8").unwrap();
//! assert_eq!((node.parent, node.wire_hash, node.denotation), (Some("tensor"), 0x801, "org.example.lns8"));
//! assert_eq!(bb::types::builtins::lookup_denotation("org.example.lns8"), node.as_static());
//! ```
//!
//! Two nodes with the same id and different contents are an error. `Lattice::get` panics with its message,
//! `Lattice::try_get` returns it.
//!
//! ```standalone_crate
//! use typeloom as bb;
//! use typeloom::inventory;
//!
//! inventory::submit! {
//!     bb::TypeNodeReg(&bb::TypeNode {
//!         id: "tensor.bf16",
//!         parent: Some("tensor"),
//!         kind: bb::TypeKind::Concrete,
//!         ffi_name: "own_bf16_t",
//!         wire_hash: 0,
//!         denotation: "org.example.bf16",
//!     })
//! }
//!
//! let error = bb::Lattice::try_get().unwrap_err();
//! assert_eq!(error.to_string(), "id `tensor.bf16` is declared 2 times, with different contents");
//! ```
//!
//! # Element types
//!
//! [`CoreDtype`](crate::types::CoreDtype) is the published set of thirteen, for exhaustive matches.
//!
//! ```
//! use typeloom as bb;
//!
//! assert_eq!(bb::CoreDtype::ALL.len(), 13);
//! assert_eq!(bb::AnyTensor::from([true]).dtype().core(), Some(bb::CoreDtype::Bool));
//! assert_eq!(bb::Dtype::from(bb::CoreDtype::F16), bb::Dtype::F16);
//! ```
//!
//! # Storage
//!
//! ```
//! use typeloom as bb;
//!
//! struct Own(Vec<f32>);
//!
//! impl bb::Storage for Own {
//!     const TYPE: &'static bb::TypeNode = &bb::TYPE_TENSOR_F32;
//! }
//!
//! assert_eq!(<Own as bb::Storage>::TYPE, <[f32] as bb::Storage>::TYPE);
//! ```
//!
//! # Paths
//!
//! ```
//! use typeloom as bb;
//!
//! use bb::contracts::{Aggregator, Backend, Codec, DataSource, Index, Model, PeerSelector};
//! use bb::types::{builtins, common_relations, lattice, relations, storage};
//! use bb::{Pool, Ty, TyData, TypeDescriptor, TypeFamily, tensor_primitives};
//!
//! fn contracts<B, I, M, A, C, D, P>()
//! where
//!     B: Backend,
//!     I: Index,
//!     M: Model,
//!     A: Aggregator,
//!     C: Codec,
//!     D: DataSource,
//!     P: PeerSelector,
//! {
//! }
//!
//! fn content<F: TypeFamily>(ty: &Ty<F>) -> TyData<'_, F> {
//!     ty.data()
//! }
//!
//! let add = tensor_primitives::TENSOR_PRIMITIVES_OPS.iter().find(|op| op.name == "Add");
//! let names = |list: &[relations::TypeRelation]| list.iter().map(|one| one.name()).collect::<Vec<_>>();
//! assert_eq!(names(add.unwrap().type_relations), names(common_relations::BROADCAST_BINARY));
//! assert_eq!(<[f32] as storage::Storage>::TYPE, &builtins::TYPE_TENSOR_F32);
//! assert!(lattice::Lattice::get().is_subtype(&builtins::TYPE_TENSOR_F32, &builtins::TYPE_TENSOR));
//! let mut pool = Pool::new();
//! let int = pool.primitive(bb::Tag::Int)?;
//! assert_eq!(pool.describe(int)?, TypeDescriptor::Primitive(bb::Tag::Int));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Descriptors
//!
//! `describe_transitive` returns each description with its digest. `reconstruct` computes the digests again
//! and rejects a wrong digest.
//!
//! ```
//! use typeloom as bb;
//! use bb::{Tag, TypeDescriptor};
//!
//! let mut pool = bb::Pool::new();
//! let (int, str) = (pool.primitive(Tag::Int)?, pool.primitive(Tag::Str)?);
//! let map = pool.map(str, int)?;
//! let list = pool.list(map)?;
//!
//! let map_digest = pool.digest(map)?;
//! let TypeDescriptor::Container { tag: Tag::List, child } = pool.describe(list)? else { panic!("a list") };
//! assert_eq!(child, map_digest);
//! // Methods have the published names of the fields.
//! assert_eq!(pool.describe(list)?.child_hash(), Some(&map_digest));
//!
//! let descriptors = pool.describe_transitive(list)?;
//! assert_eq!(descriptors.len(), 4); // int, str, map, list
//! assert_eq!(descriptors[0].1, TypeDescriptor::Primitive(Tag::Int));
//! let (digest, descriptor) = &descriptors[3];
//! assert_eq!((*digest, descriptor), (pool.digest(list)?, &pool.describe(list)?));
//!
//! let mut empty = bb::Pool::new();
//! let types = empty.reconstruct(&descriptors)?;
//! assert_eq!(empty.describe_transitive(types[digest])?, descriptors);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Terms
//!
//! ```
//! use typeloom as bb;
//! use bb::{ApplicationTy, TyData, TypeFamily};
//! use typeloom::term::{Boxed, Name, Ty};
//!
//! let family = Boxed::new();
//! let data = TyData::Apply(ApplicationTy { name: Name::Bool, args: &[] });
//! let handle = family.intern_ty(data)?;
//! let ty: Ty = Ty::from_interned(handle);
//! assert!(matches!(ty.data(), TyData::Apply(ApplicationTy { name: Name::Bool, args: [] })));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Half-precision floats
//!
//! ```
//! use typeloom as bb;
//! use bb::Storage;
//!
//! assert_eq!(<[bb::half::f16] as Storage>::TYPE, &bb::TYPE_TENSOR_F16);
//! assert_eq!(<[bb::half::bf16] as Storage>::TYPE, &bb::TYPE_TENSOR_BF16);
//! assert_eq!(<bb::half::f16 as Storage>::TYPE, &bb::TYPE_SCALAR_F16);
//! ```

#[doc(hidden)]
pub mod names;
