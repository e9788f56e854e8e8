//! Published names are exported at the top of the facade: code written against them needs no other path.

use typeloom as bb;
use typeloom::{
    AnyTensor, AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, BROADCAST_BINARY, CustomRelationCtx, Dtype,
    ELEMENTWISE, GraphProto, Lattice, MATMUL_BINARY, ModelProto, NO_RELATIONS, NodeProto, PortRef,
    REDUCE_AXIS, RelationResult, Storage, TENSOR_PRIMITIVES_OPS, TYPE_TENSOR, TypeError, TypeKind, TypeNode,
    TypeNodeReg, TypeProto, TypeRelation, TypeSolution, TypeSolver, UNARY_SAME_ELEMENT, ValueInfoProto,
};

static TYPE_SUBMITTED: TypeNode = TypeNode {
    id: "tensor.submitted",
    parent: Some("tensor"),
    kind: TypeKind::Concrete,
    ffi_name: "",
    wire_hash: 0,
    denotation: "org.example.submitted",
};

bb::inventory::submit! { TypeNodeReg(&TYPE_SUBMITTED) }

static TYPE_REGISTERED: TypeNode =
    TypeNode { id: "tensor.registered", denotation: "org.example.registered", ..TYPE_SUBMITTED };

bb::register_type_node!(TYPE_REGISTERED);

#[test]
fn leaves_are_registered_with_the_facade_as_the_only_dependency() {
    for node in [&TYPE_SUBMITTED, &TYPE_REGISTERED] {
        assert_eq!(bb::lookup_by_id(node.id), Some(node));
        assert_eq!(bb::lookup_denotation(node.denotation), Some(node));
        assert!(Lattice::get().is_subtype(node, &TYPE_TENSOR));
    }
}

#[test]
fn named_slices_are_relations_of_the_published_kinds() {
    let names = |relations: &[TypeRelation]| relations.iter().map(TypeRelation::name).collect::<Vec<_>>();
    assert!(NO_RELATIONS.is_empty());
    assert_eq!(names(ELEMENTWISE), ["elementwise"]);
    assert_eq!(names(UNARY_SAME_ELEMENT), ["same-element-type"]);
    assert_eq!(names(BROADCAST_BINARY), ["same-element-type", "broadcast-shape"]);
    assert_eq!(names(MATMUL_BINARY), ["same-element-type", "matmul.contract"]);
    assert_eq!(names(REDUCE_AXIS), ["reduce-over"]);
}

/// A custom relation in the documented form.
fn same(cx: &CustomRelationCtx<'_>) -> RelationResult {
    cx.unify(&[PortRef::Input(0), PortRef::Output(0)])
}

static OPS: [AtomicOpDecl; 1] = [AtomicOpDecl {
    name: "Same",
    inputs: &[bb::PortDecl::required("x", &TYPE_TENSOR)],
    outputs: &[bb::PortDecl::required("y", &TYPE_TENSOR)],
    kind: AtomicOpKind::Pure,
    type_relations: &[TypeRelation::Custom { name: "same.all", run: same }],
}];

static OPSET: AtomicOpsetDecl = AtomicOpsetDecl { domain: "org.example", version: 1, ops: &OPS };

#[test]
fn a_model_of_declared_operators_is_typed_by_the_storage_of_a_rust_type() -> Result<(), TypeError> {
    assert_eq!(TENSOR_PRIMITIVES_OPS.len(), 30);
    let node = NodeProto {
        op_type: "Same".into(),
        domain: "org.example".into(),
        input: vec!["x".into()],
        output: vec!["y".into()],
        ..Default::default()
    };
    let output = ValueInfoProto { name: "y".into(), ..Default::default() };
    let graph = GraphProto { node: vec![node], output: vec![output], ..Default::default() };
    let mut model = ModelProto { graph: Some(graph), ..Default::default() };
    let graph = model.graph.as_mut().expect("it was just put there");

    let mut solver = TypeSolver::from_graph(graph, |domain, op_type| {
        OPSET.op(op_type).filter(|_| domain == OPSET.domain)
    })?;
    solver.seed("x", <AnyTensor as Storage>::TYPE).seed("y", <[i64] as Storage>::TYPE);
    let solution: TypeSolution = solver.solve_strict()?;
    assert_eq!(solution.type_of("x"), Some(Dtype::I64.type_node()));
    bb::apply_solution_to_value_info(graph, &solution);
    let stamp: Option<&TypeProto> = graph.output[0].r#type.as_ref();
    assert_eq!(stamp.and_then(|ty| ty.denotation.as_deref()), Some("ai.bytesandbrains.tensor.i64"));
    Ok(())
}

/// The published table of the tree: id, parent, wire hash, denotation and C name.
#[test]
fn nodes_have_the_published_contents() {
    let row = |node: &'static TypeNode| {
        (node.id, node.parent, node.wire_hash, node.denotation, node.ffi_name, node.is_concrete())
    };
    assert_eq!(row(&bb::TYPE_ANY), ("any", None, 0, "", "", false));
    let f32 = ("tensor.f32", Some("tensor"), 0x101, "ai.bytesandbrains.tensor.f32", "bb_tensor_f32_t", true);
    assert_eq!(row(&bb::TYPE_TENSOR_F32), f32);
    assert_eq!(row(&bb::TYPE_SCALAR_F32), ("scalar.f32", Some("scalar"), 0x201, "bb.f32", "bb_f32_t", true));
    assert_eq!(row(&bb::TYPE_PEER_ID), ("peer_id", Some("any"), 0x10, "bb.peer_id", "bb_peer_id_t", true));
    assert_eq!(bb::TYPE_BYTES.denotation, "ai.bytesandbrains.opaque");
    assert!(bb::TYPE_TENSOR_F32.is_subtype_of(&TYPE_TENSOR) && TYPE_TENSOR.is_abstract());
    let lattice = Lattice::get();
    assert!(lattice.nodes().any(|node| node.id == "composite") && lattice.lookup("address_vec").is_some());
}

#[test]
fn dtypes_convert_to_leaves_and_numbers() {
    for dtype in [
        Dtype::F32,
        Dtype::F64,
        Dtype::F16,
        Dtype::BF16,
        Dtype::U8,
        Dtype::U16,
        Dtype::U32,
        Dtype::U64,
        Dtype::I8,
        Dtype::I16,
        Dtype::I32,
        Dtype::I64,
        Dtype::Bool,
    ] {
        assert_eq!(dtype.type_node().id, format!("tensor.{}", dtype.name()));
        assert_eq!(Dtype::from_onnx_number(dtype.onnx_number()), Some(dtype));
        assert!(dtype.size_bytes().is_some());
    }
}

/// The associated types and methods of the contracts.
#[expect(dead_code, reason = "it is compiled, not called")]
fn contracts<B, I, M, A, C, D, P>(
    index: &mut I,
    model: &mut M,
    average: &mut A,
    codec: &mut C,
    data: &mut D,
    peers: &mut P,
) where
    B: bb::Backend<Tensor: Storage, Error: Send>,
    I: bb::Index<Vector = [f32]>,
    M: bb::Model<Tensor = [f32]>,
    A: bb::Aggregator<Element = [f32]>,
    C: bb::Codec<In = [f32], Out = [u8]>,
    D: bb::DataSource<Sample = [f32]>,
    P: bb::PeerSelector,
{
    let _ = B::extension_opsets();
    let _ = (index.add(1, &[0.0]), index.search(&[0.0], 1), index.remove(1), index.train(&[&[0.0]]));
    let _ = (model.forward(&[0.0]), model.load_parameters(&[0.0]), model.backward(&[0.0]));
    let _ = (model.apply_delta(&[0.0]), model.compute_loss(&[0.0], &[0.0]), model.params());
    let _ = (A::contribute as fn(&mut A, &str, &A::Element, A::Metadata) -> _, average.aggregate());
    let _ = (codec.train(&[&[0.0]]), codec.encode(&[0.0]), codec.decode(&[0]));
    let _ = (data.next_batch(), data.reset(), data.on_data_loaded(&[0.0]));
    let _ = (peers.select(1), peers.sample(1), peers.current_view());
}

#[test]
fn descriptors_have_the_published_fields() {
    use bb::{Tag, TypeDescriptor};

    let children = |ty: &TypeDescriptor| match ty {
        TypeDescriptor::Primitive(_)
        | TypeDescriptor::Named { name: _ }
        | TypeDescriptor::Variable { .. } => 0,
        TypeDescriptor::Container { tag: _, child: _ } => 1,
        TypeDescriptor::TwoChild { tag: _, child1: _, child2: _ } => 2,
        TypeDescriptor::Borrowed { inner: _, lifetime: _ } => 2,
        TypeDescriptor::Function { params, returns: _ } => params.len() + 1,
        TypeDescriptor::Tuple { elements } => elements.len(),
        TypeDescriptor::Struct { name: _, field_names: _, field_types } => field_types.len(),
        TypeDescriptor::Enum { name: _, variants } => variants.len(),
        TypeDescriptor::Applied { name: _, args } => args.len(),
        TypeDescriptor::Scheme { vars: _, body: _ } => 1,
        _ => 0,
    };
    let mut pool = bb::Pool::new();
    let int = pool.primitive(Tag::Int).unwrap();
    for tag in
        [Tag::List, Tag::Option, Tag::Set, Tag::Channel, Tag::Range, Tag::Iterator, Tag::DoubleEndedIterator]
    {
        let container: bb::Idx = pool.container(tag, int).unwrap();
        assert_eq!(children(&pool.describe(container).unwrap()), 1);
    }
}

#[test]
fn relations_have_the_published_forms() {
    let ports: &'static [PortRef] = &[PortRef::Input(0), PortRef::Output(0)];
    let (in0, in1, out) = (PortRef::Input(0), PortRef::Input(1), PortRef::Output(0));
    let relations = [
        TypeRelation::SameType(ports),
        TypeRelation::SameElementType(ports),
        TypeRelation::BroadcastShape { in0, in1, out },
        TypeRelation::Elementwise { input: in0, output: out },
        TypeRelation::ReduceOver { input: in0, output: out },
        TypeRelation::Custom { name: "same.all", run: same },
    ];
    assert_eq!(relations.map(|relation| relation.name().is_empty()), [false; 6]);
    let results = [RelationResult::Refined, RelationResult::Satisfied, RelationResult::Defer];
    assert!(!results.iter().any(|result| matches!(result, RelationResult::Failed { .. })));
    let names: Vec<_> = TENSOR_PRIMITIVES_OPS.iter().map(|op| op.name).collect();
    for name in ["Add", "Pow", "MatMul", "ReduceMin", "Unsqueeze", "Identity", "Where", "Constant", "Gather"]
    {
        assert!(names.contains(&name), "{name}");
    }
}

/// The published parts of the type library.
fn terms<F: bb::TypeFamily>(family: &F, ty: &bb::Ty<F>) -> Option<bb::TypeName<F>> {
    let handle: F::InternedTy = family.intern_ty(ty.data()).ok()?;
    drop(handle);
    match ty.data() {
        bb::TyData::Apply(bb::ApplicationTy { name, args }) => {
            let _: bb::GenericArguments<'_, F> = args;
            Some(name)
        }
        bb::TyData::Placeholder(_)
        | bb::TyData::InferenceVar(_)
        | bb::TyData::Dyn(_)
        | bb::TyData::Fn(_)
        | bb::TyData::GeneratorWitness(_)
        | bb::TyData::Alias(_)
        | bb::TyData::BoundVariable(_)
        | bb::TyData::Error(_) => None,
    }
}

#[test]
fn terms_have_the_published_parts() -> Result<(), Box<dyn std::error::Error>> {
    use typeloom::term::{Boxed, Name, Ty};

    let family = Boxed::new();
    assert_eq!(terms(&family, &Ty::apply(&family, Name::Bool, &[])?), Some(Name::Bool));
    Ok(())
}

/// Imports items of the facade, and lists them.
macro_rules! items {
    ($($($segment:ident)::+;)*) => {
        /// Compiles only if the facade has all items.
        #[expect(unused_imports, reason = "the imports are resolved, not used")]
        pub mod facade {
            $(pub use typeloom::$($segment)::+ as _;)*
        }

        const ITEMS: &[&str] = &[$(stringify!($($segment)::+)),*];
    };
}

items! {
    Storage;
    AnyTensor;
    Dtype;
    TypeNode;
    TypeKind;
    TypeNodeReg;
    inventory::submit;
    half::f16;
    half::bf16;
    Lattice;
    lookup_by_id;
    lookup_denotation;
    TYPE_ANY;
    TYPE_TENSOR;
    TYPE_SCALAR;
    TYPE_TENSOR_F32;
    TYPE_TENSOR_F64;
    TYPE_TENSOR_F16;
    TYPE_TENSOR_U8;
    TYPE_TENSOR_I32;
    TYPE_TENSOR_BOOL;
    TYPE_TENSOR_BF16;
    TYPE_TENSOR_I8;
    TYPE_TENSOR_I16;
    TYPE_TENSOR_I64;
    TYPE_TENSOR_U16;
    TYPE_TENSOR_U32;
    TYPE_TENSOR_U64;
    TYPE_SCALAR_F32;
    TYPE_SCALAR_F64;
    TYPE_SCALAR_F16;
    TYPE_SCALAR_U8;
    TYPE_SCALAR_I32;
    TYPE_PEER_ID;
    TYPE_PEER_ID_VEC;
    TYPE_TRIGGER;
    TYPE_BYTES;
    TYPE_WIRE_REQ_ID;
    TYPE_MULTIADDRESS;
    TYPE_COMPOSITE;
    TYPE_ADDRESS_VEC;
    types::Storage;
    types::AnyTensor;
    types::Dtype;
    types::TypeNode;
    types::TypeKind;
    types::TypeNodeReg;
    types::Lattice;
    types::lookup_by_id;
    types::lookup_denotation;
    types::PortRef;
    types::TypeRelation;
    types::RelationResult;
    types::CustomRelationCtx;
    types::NO_RELATIONS;
    types::ELEMENTWISE;
    types::UNARY_SAME_ELEMENT;
    types::BROADCAST_BINARY;
    types::MATMUL_BINARY;
    types::REDUCE_AXIS;
    types::TypeSolver;
    types::TypeSolution;
    types::TypeError;
    types::apply_solution_to_value_info;
    types::builtins::TYPE_ANY;
    types::builtins::lookup_by_id;
    types::builtins::lookup_denotation;
    types::relations::TypeRelation;
    types::relations::AtomicOpDecl;
    types::common_relations::ELEMENTWISE;
    types::lattice::Lattice;
    types::lattice::TypeNodeReg;
    types::storage::Storage;
    contracts::Backend;
    contracts::Index;
    contracts::Model;
    contracts::Aggregator;
    contracts::Codec;
    contracts::DataSource;
    contracts::PeerSelector;
    tensor_primitives::TENSOR_PRIMITIVES_OPS;
    PortRef;
    TypeRelation;
    RelationResult;
    CustomRelationCtx;
    NO_RELATIONS;
    ELEMENTWISE;
    UNARY_SAME_ELEMENT;
    BROADCAST_BINARY;
    MATMUL_BINARY;
    REDUCE_AXIS;
    AtomicOpDecl;
    AtomicOpsetDecl;
    TENSOR_PRIMITIVES_OPS;
    GraphProto;
    NodeProto;
    ValueInfoProto;
    ModelProto;
    TypeProto;
    AttributeProto;
    StringStringEntryProto;
    OperatorSetIdProto;
    TypeSolver;
    TypeSolution;
    TypeError;
    apply_solution_to_value_info;
    Module;
    Graph;
    Compiler;
    register_protocol;
    BuildError;
    Protocol;
    PeerId;
    Backend;
    Index;
    Model;
    Aggregator;
    Codec;
    DataSource;
    PeerSelector;
    Pool;
    Idx;
    Tag;
    TypeDescriptor;
    VariantDescriptor;
    TypedModule;
    TypeFamily;
    Ty;
    TyData;
    ApplicationTy;
    InternedTy;
    TypeName;
    InternedTy;
    GenericArguments;
}

/// The page of differences, whose tables state the published names in backticks.
const DIFFERENCES: &str = include_str!("../../../docs/published-names.md");

/// Whether the facade has a published name: an item that [`ITEMS`] imports, or a member in the recorded API.
fn is_in_facade(name: &str) -> bool {
    let segments: Vec<&str> = name.split("::").collect();
    let is_member = segments.iter().rev().nth(1).is_some_and(|of| of.starts_with(char::is_uppercase));
    if !is_member {
        return ITEMS.iter().any(|item| item.replace(' ', "") == name);
    }
    // A descriptor is an alias of the descriptor with digests as references.
    let path = format!("::{}", name.replace("TypeDescriptor", "Descriptor"));
    let ends_there =
        |at: usize| !API[at + path.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    API.match_indices(&path).any(|(at, _)| ends_there(at))
}

const API: &str = include_str!("../api.txt");

/// Whether the page of differences has a published name: its last segment, in code of a first column.
fn is_listed_difference(name: &str) -> bool {
    let last = name.rsplit("::").next().unwrap_or(name);
    let published = DIFFERENCES.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let codes = published.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    codes.flat_map(|code| code.split(move |c| !is_word(c))).any(|word| word == last)
}

#[test]
fn a_published_name_is_in_the_facade_or_a_listed_difference() {
    let names = include_str!("published/names.txt").lines();
    let names: Vec<&str> = names.filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert!(names.len() > 250);
    let missing: Vec<_> =
        names.iter().filter(|name| !is_in_facade(name) && !is_listed_difference(name)).collect();
    assert!(missing.is_empty(), "neither in the facade nor in docs/published-names.md: {missing:?}");
    for unknown in ["Storages", "Lattice::gets", "Pool::descr", "TypeDescriptor::Container::chil"] {
        assert!(!is_in_facade(unknown) && !is_listed_difference(unknown), "{unknown}");
    }
}
