//! Tour of the type system: `cargo run --example polymorphic_types`.
//!
//! Each step asserts the results that it describes and returns the lines to print.
//! `tests/polymorphic_types.rs` runs the steps as a test.

use std::error::Error;
use std::sync::Arc;

use typeloom as bb;
use typeloom::module::OperatorMethods as _;
use typeloom::onnx::{AttributeProto, GraphProto, NodeProto, ValueInfoProto};
use typeloom::run::Cpu;
use typeloom::types::builtins::{
    TYPE_ANY, TYPE_BYTES, TYPE_SCALAR_F32, TYPE_TENSOR, TYPE_TENSOR_F32, TYPE_TENSOR_F64,
};
use typeloom::types::operators::{
    AtomicOpDecl, AtomicOpKind, BROADCAST_BINARY, CustomRelationCtx, ELEMENTWISE, PortDecl, PortRef,
    RelationError, RelationResult, TENSOR_PRIMITIVES, TypeCause, TypeError, TypeRelation, TypeSolution,
    TypeSolver,
};
use typeloom::types::{AnyTensor, Dtype, ElementStorage, Lattice, Storage, TypeKind, TypeNode};

/// The lines that a step prints.
type Lines = Result<Vec<String>, Box<dyn Error>>;

/// A title and the function that runs the step.
type Step = (&'static str, fn() -> Lines);

/// The steps in the order of the output.
const STEPS: [Step; 11] = [
    ("the tree", tree),
    ("storage", storage),
    ("runtime tags", runtime_tags),
    ("relations", relations),
    ("the solver", solver),
    ("a conflict", conflict),
    ("stamps on the graph", stamps),
    ("permissive and strict", permissive),
    ("a leaf of our own", custom_leaf),
    ("an operator of our own", custom_operator),
    ("a compiled module", compiled),
];

#[expect(clippy::print_stdout, reason = "an example prints its results")]
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", walk()?);
    Ok(())
}

/// Runs all steps and returns their output.
pub(crate) fn walk() -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    for (at, (title, step)) in STEPS.iter().enumerate() {
        text += &format!("{}. {title}\n", at + 1);
        text.extend(step()?.iter().map(|line| format!("   {line}\n")));
    }
    Ok(text)
}

/// Types form a tree: values have concrete leaf types, abstract nodes are bounds.
fn tree() -> Lines {
    assert!(TYPE_TENSOR_F32.is_concrete() && TYPE_TENSOR.is_abstract());
    assert!(TYPE_TENSOR_F32.is_subtype_of(&TYPE_TENSOR) && !TYPE_TENSOR.is_subtype_of(&TYPE_TENSOR_F32));

    let lattice = Lattice::get();
    let number = |node| lattice.number_of(node).ok_or("a registered node");
    let (f32, f64) = (number(&TYPE_TENSOR_F32)?, number(&TYPE_TENSOR_F64)?);
    let scalar = number(&TYPE_SCALAR_F32)?;
    let id = |no| lattice.node(no).map(|node| node.id);
    assert_eq!(id(lattice.join(f32, f64)), Some("tensor"));
    assert_eq!(id(lattice.join(f32, scalar)), Some("any"));
    assert_eq!(lattice.meet(f32, f64), None);

    let found = bb::lookup_by_id("tensor.f32").ok_or("a registered id")?;
    assert_eq!(bb::lookup_denotation(found.denotation), Some(found));
    Ok(vec![
        "tensor.f32 <: tensor <: any".into(),
        "join(tensor.f32, tensor.f64) = tensor; they have no common subtype".into(),
        format!("{found}: denotation {}, wire tag {:#x}", found.denotation, found.wire_tag()),
    ])
}

/// Returns the node of the storage type `T`.
fn node_of<T: ?Sized + Storage>() -> &'static TypeNode {
    T::TYPE
}

/// A component declares its storage by a Rust type. All owned and borrowed forms of a slice map to one type.
fn storage() -> Lines {
    for node in [node_of::<[f32]>(), node_of::<Vec<f32>>(), node_of::<Arc<[f32]>>(), node_of::<[f32; 4]>()] {
        assert_eq!(node, &TYPE_TENSOR_F32);
    }
    assert_eq!(node_of::<f32>(), &TYPE_SCALAR_F32);
    assert_eq!(node_of::<AnyTensor>(), &TYPE_TENSOR);
    Ok(vec![
        format!("[f32], Vec<f32>, Arc<[f32]> and [f32; 4] store {}", node_of::<[f32]>()),
        format!("f32 stores {}, AnyTensor stores {}", node_of::<f32>(), node_of::<AnyTensor>()),
    ])
}

/// A tensor can store its element type at run time; views of it are checked.
fn runtime_tags() -> Lines {
    let tensor = AnyTensor::from_slice(&[2, 2], &[1.0_f32, 2.0, 3.0, 4.0])?;
    assert_eq!((tensor.dtype(), tensor.type_node()), (Dtype::F32, &TYPE_TENSOR_F32));
    assert_eq!(tensor.as_slice::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
    let refused = tensor.as_slice::<i64>().err().ok_or("f32 is not i64")?;
    assert_eq!(Dtype::from_onnx_number(Dtype::F32.onnx_number()), Some(Dtype::F32));
    Ok(vec![
        format!("{:?} of {:?} is {}", tensor.dtype(), tensor.shape(), tensor.type_node()),
        format!("as i64: {refused}"),
    ])
}

/// An operator declaration is a constant: its ports and the relations between them.
static RELU: AtomicOpDecl = AtomicOpDecl {
    name: "Relu",
    inputs: &[PortDecl::required("X", &TYPE_ANY)],
    outputs: &[PortDecl::required("Y", &TYPE_ANY)],
    kind: AtomicOpKind::Pure,
    type_relations: ELEMENTWISE,
};

fn relations() -> Lines {
    assert_eq!((TENSOR_PRIMITIVES.ops.len(), RELU.check()), (30, vec![]));
    let add = TENSOR_PRIMITIVES.op("Add").ok_or("Add is a primitive")?;
    let names = |op: &AtomicOpDecl| op.type_relations.iter().map(TypeRelation::name).collect::<Vec<_>>();
    assert_eq!(names(add), BROADCAST_BINARY.iter().map(TypeRelation::name).collect::<Vec<_>>());
    Ok([add, &RELU].map(|op| format!("{}: {}", op.name, names(op).join(", "))).to_vec())
}

/// Returns the declaration of an operator. A graph may use any source of declarations; this one has the
/// primitives and the operators of this example.
fn declaration(domain: &str, name: &str) -> Option<&'static AtomicOpDecl> {
    match (domain, name) {
        ("", "Relu") => Some(&RELU),
        ("org.example", "Decode") => Some(&DECODE),
        _ => TENSOR_PRIMITIVES.op(name),
    }
}

fn node(op: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto {
        op_type: op.into(),
        input: inputs.iter().map(|name| (*name).to_owned()).collect(),
        output: vec![output.into()],
        ..NodeProto::default()
    }
}

/// `z = Add(x, y); w = Relu(z)`
fn add_relu() -> GraphProto {
    GraphProto {
        node: vec![node("Add", &["x", "y"], "z"), node("Relu", &["z"], "w")],
        ..GraphProto::default()
    }
}

fn show(solution: &TypeSolution) -> String {
    let types: Vec<_> = solution.iter().map(|(value, ty)| format!("{value}: {}", ty.id)).collect();
    types.join(", ")
}

/// One seed types the whole graph. Inference also runs backwards: `y` is an input like `x`.
fn solver() -> Lines {
    let mut solver = TypeSolver::from_graph(&add_relu(), declaration)?;
    solver.seed("x", &TYPE_TENSOR_F32);
    let solution = solver.solve()?;
    for value in ["x", "y", "z", "w"] {
        assert_eq!(solution.type_of(value).map(|ty| ty.id), Some("tensor.f32"), "{value}");
    }
    Ok(vec!["seed x = tensor.f32".into(), show(&solution)])
}

/// Two contradicting seeds: the error is typed and names both.
fn conflict() -> Lines {
    let mut solver = TypeSolver::from_graph(&add_relu(), declaration)?;
    solver.seed("x", &TYPE_TENSOR_F32).seed("y", &TYPE_TENSOR_F64);
    let error = solver.solve().err().ok_or("f32 and f64 do not add")?;
    let TypeError::ConstraintFailed(failure) = &error else { return Err(error.into()) };
    let seeds = failure.sides.iter().filter_map(|side| match side.cause.as_ref()? {
        TypeCause::Seed { value, ty } => Some((value.as_str(), ty.as_str())),
        TypeCause::Declared { .. } | TypeCause::Constant { .. } | TypeCause::Node { .. } => None,
    });
    assert_eq!(seeds.collect::<Vec<_>>(), [("x", "tensor.f32"), ("y", "tensor.f64")]);
    assert_eq!((failure.node.op_type.as_str(), failure.relation.as_str()), ("Add", "same-element-type"));
    Ok(vec![error.to_string()])
}

fn denotation<'g>(graph: &'g GraphProto, value: &str) -> Option<&'g str> {
    let mut infos = graph.input.iter().chain(&graph.value_info).chain(&graph.output);
    infos.find(|info| info.name() == value)?.r#type.as_ref()?.denotation.as_deref()
}

/// A solution is written into the graph as stamps. A stamped graph needs no seeds.
fn stamps() -> Lines {
    let named = |name: &str| ValueInfoProto { name: name.into(), ..ValueInfoProto::default() };
    let mut graph = GraphProto { input: vec![named("x")], output: vec![named("w")], ..add_relu() };
    let mut solver = TypeSolver::from_graph(&graph, declaration)?;
    solver.seed("x", &TYPE_TENSOR_F32);
    bb::apply_solution_to_value_info(&mut graph, &solver.solve()?);
    for value in ["x", "y", "z", "w"] {
        assert_eq!(denotation(&graph, value), Some(TYPE_TENSOR_F32.denotation), "{value}");
    }

    let mut again = TypeSolver::from_graph(&graph, declaration)?;
    let solution = again.seed_from_value_info(&graph).solve_strict()?;
    assert_eq!(solution.type_of("w").map(|ty| ty.id), Some("tensor.f32"));
    let line = |value| format!("{value}: {}", denotation(&graph, value).unwrap_or("no stamp"));
    Ok(["x", "y", "z", "w"].map(line).to_vec())
}

/// An unknown type is `any`. Permissive solving leaves it open; strict solving rejects it.
fn permissive() -> Lines {
    let mut solver = TypeSolver::from_graph(&add_relu(), declaration)?;
    solver.seed("x", &TYPE_TENSOR); // abstract: a bound
    let solution = solver.solve()?;
    let open: Vec<_> = solution.unresolved().map(|(value, bound)| (value, bound.id)).collect();
    assert_eq!(solution.iter().count(), 0);
    assert!(open.contains(&("x", "tensor")) && open.iter().all(|(_, bound)| *bound != TYPE_BYTES.id));

    let refused = solver.solve_strict().err().ok_or("nothing determines x")?;
    assert!(refused.errors().iter().all(|error| matches!(error, TypeError::UnresolvedType { .. })));
    let open: Vec<_> = open.iter().map(|(value, bound)| format!("{value} under {bound}")).collect();
    let mut lines = vec![format!("permissive: {}", open.join(", "))];
    lines.extend(refused.errors().iter().map(|error| format!("strict: {error}")));
    Ok(lines)
}

/// A leaf is a static that is submitted. Its parent may be a node of another crate.
static TYPE_TENSOR_POSIT16: TypeNode = TypeNode {
    id: "tensor.posit16",
    parent: Some("tensor"),
    kind: TypeKind::Concrete,
    ffi_name: "example_tensor_posit16_t",
    wire_hash: 0, // 0: derived from the content
    denotation: "org.example.tensor.posit16",
};
bb::inventory::submit! { bb::TypeNodeReg(&TYPE_TENSOR_POSIT16) }

/// The element of the leaf, so that `[Posit16]` is storage.
struct Posit16;

impl ElementStorage for Posit16 {
    const SLICE: &'static TypeNode = &TYPE_TENSOR_POSIT16;
}

/// The leaf is solved, stamped and read back like any other, although ONNX has no number for it.
fn custom_leaf() -> Lines {
    assert_eq!(node_of::<Vec<Posit16>>(), &TYPE_TENSOR_POSIT16);
    assert_eq!(bb::lookup_by_id("tensor.posit16"), Some(&TYPE_TENSOR_POSIT16));
    let mut graph = add_relu();
    let mut solver = TypeSolver::from_graph(&graph, declaration)?;
    solver.seed("w", node_of::<[Posit16]>());
    bb::apply_solution_to_value_info(&mut graph, &solver.solve_strict()?);
    assert_eq!(denotation(&graph, "x"), Some("org.example.tensor.posit16"));
    let read = TypeSolver::from_graph(&graph, declaration)?.seed_from_value_info(&graph).solve_strict()?;
    assert_eq!(read.type_of("x").map(|ty| ty.id), Some("tensor.posit16"));
    Ok(vec!["seed w = tensor.posit16, stamp, read the stamps".into(), show(&read)])
}

/// `Decode` returns tensors of the format that its attribute names.
static DECODE: AtomicOpDecl = AtomicOpDecl {
    name: "Decode",
    inputs: &[PortDecl::required("data", &TYPE_BYTES)],
    outputs: &[PortDecl::required("decoded", &TYPE_TENSOR)],
    kind: AtomicOpKind::Pure,
    type_relations: &[TypeRelation::Custom { name: "decode.format", run: decode_format }],
};

fn decode_format(cx: &CustomRelationCtx<'_>) -> RelationResult {
    let output = PortRef::Output(0);
    match cx.attr_str("format").map(|format| format!("tensor.{format}")) {
        Some(id) => cx.narrow_all(&[output], id.as_str()),
        None => RelationResult::Failed(RelationError {
            message: "attribute `format` names the output's format".into(),
            ports: vec![output],
            expected: "a format".into(),
            found: "none".into(),
        }),
    }
}

/// `p = Decode(raw); z = Add(p, y)`: `format` determines the type of `p`, and therefore of `y` and `z`.
fn custom_operator() -> Lines {
    assert_eq!(DECODE.check(), []);
    let decode = |format: Option<&'static str>| {
        let attribute = format.map(|format| AttributeProto {
            name: "format".into(),
            s: Some(format.as_bytes().into()),
            r#type: Some(3), // a string
            ..AttributeProto::default()
        });
        let decode = NodeProto {
            domain: "org.example".into(),
            attribute: attribute.into_iter().collect(),
            ..node("Decode", &["raw"], "p")
        };
        let graph = GraphProto { node: vec![decode, node("Add", &["p", "y"], "z")], ..GraphProto::default() };
        TypeSolver::from_graph(&graph, declaration)
    };
    let solution = decode(Some("posit16"))?.solve_strict()?;
    assert_eq!(solution.type_of("y").map(|ty| ty.id), Some("tensor.posit16"));
    let refused = decode(None)?.solve().err().ok_or("a format is needed")?;
    assert!(matches!(&refused, TypeError::ConstraintFailed(failure) if failure.relation == "decode.format"));
    Ok(vec![show(&solution), format!("without it: {refused}")])
}

/// A module without types on its ports, except for the element type of one input.
struct Scorer;

impl bb::Module for Scorer {
    fn name(&self) -> &str {
        "scorer"
    }

    fn body(&self, g: &mut bb::Graph) {
        let (query, weights) = (g.input("query").of("float[N, 3]"), g.input("weights"));
        let compute = g.backend("compute");
        g.output("response", compute.abs(&compute.matmul(&query, &weights)));
    }
}

/// The compiler solves the module with its components and stamps every value and every node.
fn compiled() -> Lines {
    let artifact = bb::Compiler::new().bind_backend::<Cpu>("compute").compile(Scorer)?;
    let graph = artifact.model().graph.as_ref().ok_or("a program has a graph")?;
    let values = graph.input.iter().chain(&graph.value_info).chain(&graph.output);
    let mut lines = vec![format!("passes: {}", artifact.report.passes.join(", "))];
    for value in values {
        let stamp = value.r#type.as_ref().ok_or("a stamp")?.denotation.as_str();
        assert_eq!(stamp, TYPE_TENSOR_F32.denotation, "{}", value.name);
        lines.push(format!("{}: {stamp}", value.name));
    }
    for node in &graph.node {
        let stamps = node.metadata_props.iter().filter(|stamp| stamp.key.starts_with("ai.bytesandbrains"));
        let stamps: Vec<_> = stamps.map(|stamp| format!("{} = {}", stamp.key, stamp.value)).collect();
        lines.push(format!("{}: {}", node.op_type, stamps.join(", ")));
    }
    Ok(lines)
}
