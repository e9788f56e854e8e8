//! The solver of graph messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use typeloom::types::builtins::{
    TYPE_ANY, TYPE_BYTES, TYPE_PEER_ID, TYPE_SCALAR_F32, TYPE_TENSOR, TYPE_TENSOR_BOOL, TYPE_TENSOR_F16,
    TYPE_TENSOR_F32, TYPE_TENSOR_F64, TYPE_TENSOR_I8, TYPE_TENSOR_I64,
};
use typeloom::types::operators::{
    AtomicOpDecl, AtomicOpKind, CustomRelationCtx, ELEMENTWISE, PortDecl, PortRef, RelationResult,
    TENSOR_PRIMITIVES, TypeCause, TypeError, TypeRelation, TypeSolver, apply_solution_to_value_info,
};
use typeloom::types::{Lattice, TypeKind, TypeNode};
use typeloom::{AttributeProto, GraphProto, TypeProto, ValueInfoProto};

use super::{Outcome, graph, node};

static RELU: AtomicOpDecl = AtomicOpDecl {
    name: "Relu",
    inputs: &[PortDecl::required("X", &TYPE_ANY)],
    outputs: &[PortDecl::required("Y", &TYPE_ANY)],
    kind: AtomicOpKind::Pure,
    type_relations: ELEMENTWISE,
};

fn lookup(domain: &str, op_type: &str) -> Option<&'static AtomicOpDecl> {
    match (domain, op_type) {
        ("", "Relu") => Some(&RELU),
        ("" | "ai.onnx", _) => TENSOR_PRIMITIVES.op(op_type),
        _ => None,
    }
}

fn solver(graph: &GraphProto) -> TypeSolver {
    TypeSolver::from_graph(graph, lookup).expect("the graph is well-formed")
}

/// z = Add(x, y); w = Relu(z)
fn worked() -> GraphProto {
    graph(vec![node("Add", &["x", "y"], &["z"]), node("Relu", &["z"], &["w"])])
}

#[test]
fn one_seed_types_the_worked_example_from_any_value() -> Outcome {
    for (seed, ty) in
        [("x", &TYPE_TENSOR_F32), ("w", &TYPE_TENSOR_F16), ("y", &TYPE_TENSOR_I8), ("z", &TYPE_TENSOR_F64)]
    {
        let mut solver = solver(&worked());
        solver.seed(seed, ty);
        let solution = solver.solve_strict()?;
        let found: Vec<(&str, &str)> = solution.iter().map(|(name, node)| (name, node.id)).collect();
        assert_eq!(found.len(), 4);
        assert!(found.iter().all(|(_, id)| *id == ty.id), "{found:?}");
        assert_eq!(solution.type_of("w"), Some(ty));
        assert_eq!(solution.type_of("absent"), None);
    }
    Ok(())
}

#[test]
fn contradicting_seeds_are_named_with_node_ports_types_and_causes() {
    let mut solver = solver(&worked());
    solver.seed("w", &TYPE_TENSOR_F32).seed("y", &TYPE_TENSOR_F64);
    let text = |solver: &TypeSolver| solver.solve().expect_err("they contradict").to_string();
    let first = text(&solver);
    for part in ["`Add`", "`y`", "tensor.f32", "tensor.f64", "seed of `w`", "seed of `y`"] {
        assert!(first.contains(part), "no {part} in {first}");
    }
    assert!((0..5).all(|_| text(&solver) == first));
    let Err(TypeError::ConstraintFailed(failure)) = solver.solve() else { panic!("a constraint") };
    assert_eq!((failure.node.position, failure.relation.as_str()), (0, "same-element-type"));
    assert!(failure.sides.iter().all(|side| matches!(side.cause, Some(TypeCause::Seed { .. }))));
}

/// Every contradiction is reported, in the order of the graph.
#[test]
fn all_contradictions_are_reported_in_graph_order() {
    let both = graph(vec![
        node("Add", &["a", "b"], &["c"]),
        node("Mul", &["d", "e"], &["f"]),
        node("Relu", &["c"], &["g"]),
    ]);
    let mut solver = solver(&both);
    solver.seed("d", &TYPE_TENSOR_F32).seed("e", &TYPE_TENSOR_I64);
    solver.seed("a", &TYPE_TENSOR_F32).seed("b", &TYPE_TENSOR_BOOL);
    let error = solver.solve().expect_err("two errors");
    assert!(matches!(error, TypeError::ConstraintFailed(_)), "as for one error");
    let errors = error.errors();
    let operators: Vec<String> = errors
        .iter()
        .map(|error| match error {
            TypeError::ConstraintFailed(failure) => failure.node.op_type.clone(),
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(operators, ["Add", "Mul"]);
}

#[test]
fn an_abstract_seed_is_a_bound() -> Outcome {
    let mut solver = solver(&worked());
    solver.seed("x", &TYPE_TENSOR);
    let open = solver.solve()?;
    assert_eq!((open.type_of("x"), open.bound_of("x").map(|node| node.id)), (None, Some("tensor")));
    assert!(matches!(solver.solve_strict(), Err(TypeError::UnresolvedType { .. })));
    solver.seed("w", &TYPE_TENSOR_F16);
    assert_eq!(solver.solve_strict()?.type_of("x"), Some(&TYPE_TENSOR_F16));
    let mut outside = self::solver(&worked());
    outside.seed("x", &TYPE_TENSOR).seed("x", &TYPE_SCALAR_F32);
    assert!(outside.solve().is_err());
    Ok(())
}

/// Nothing is known: the bound is `any`, not `bytes`, and `bytes` is a type like any other leaf.
#[test]
fn unknown_is_any_and_bytes_is_a_leaf() -> Outcome {
    let same = graph(vec![node("Identity", &["x"], &["y"])]);
    let open = solver(&same).solve()?;
    assert_eq!(open.bound_of("y").map(|node| node.id), Some("any"));
    assert_eq!(open.unresolved().count(), 2);
    let text = solver(&same).solve_strict().expect_err("it is open").to_string();
    assert!(text.contains("any") && !text.contains("bytes"), "{text}");
    let mut bytes = solver(&same);
    bytes.seed("y", &TYPE_BYTES);
    assert_eq!(bytes.solve_strict()?.type_of("x"), Some(&TYPE_BYTES));
    bytes.seed("x", &TYPE_PEER_ID);
    assert!(bytes.solve().is_err());
    Ok(())
}

#[test]
fn wrong_uses_are_typed_errors() {
    let text = |change: fn(&mut TypeSolver)| {
        let mut solver = solver(&worked());
        change(&mut solver);
        solver.solve().expect_err("it is a wrong use").to_string()
    };
    assert!(text(|solver| drop(solver.seed("q", &TYPE_TENSOR).clone())).contains("`q`"));
    assert!(text(|solver| drop(solver.seed("x", "tensor.no_such").clone())).contains("tensor.no_such"));
    let cycle = graph(vec![node("Relu", &["a"], &["b"]), node("Relu", &["b"], &["a"])]);
    assert!(matches!(TypeSolver::from_graph(&cycle, lookup), Err(TypeError::InvalidGraph { .. })));
    let missing = graph(vec![node("Add", &["x"], &["y"])]);
    let error = solver(&missing).solve().expect_err("a port is missing").to_string();
    assert!(error.contains("`Add`") && error.contains("input 1") && error.contains("`B`"), "{error}");
    let surplus = graph(vec![node("Relu", &["x", "x"], &["y"])]);
    assert!(matches!(solver(&surplus).solve(), Err(TypeError::SurplusPorts { .. })));
    let unknown = graph(vec![node("Realu", &["x"], &["y"]), node("Relu", &["y"], &["z"])]);
    assert!(solver(&unknown).solve().is_ok());
    let error = solver(&unknown).solve_strict().expect_err("it has no declaration").to_string();
    assert!(error.contains("`Realu`") && error.contains("`Relu`"), "{error}");
}

fn info(name: &str, ty: Option<&str>) -> ValueInfoProto {
    let ty = ty.map(|text| TypeProto { denotation: text.into(), ..Default::default() });
    ValueInfoProto { name: name.into(), r#type: ty, ..Default::default() }
}

#[test]
fn declared_types_are_seeds_and_stamps_reach_every_list() -> Outcome {
    let mut graph = worked();
    graph.input = vec![info("x", None), info("y", Some("ai.bytesandbrains.tensor.f64"))];
    graph.output = vec![info("w", None)];
    graph.value_info = vec![info("z", None)];
    let mut solver = solver(&graph);
    assert!(solver.solve_strict().is_err(), "declarations count only as seeds");
    solver.seed_from_value_info(&graph);
    let solution = solver.solve_strict()?;
    apply_solution_to_value_info(&mut graph, &solution);
    let lists = [&graph.input, &graph.value_info, &graph.output];
    let stamps: Vec<(&str, &str)> = lists
        .into_iter()
        .flatten()
        .map(|info| (info.name.as_str(), info.r#type.as_ref().map_or("", |ty| ty.denotation.as_str())))
        .collect();
    let f64 = "ai.bytesandbrains.tensor.f64";
    assert_eq!(stamps, [("x", f64), ("y", f64), ("z", f64), ("w", f64)]);
    let stamped = graph.clone();
    apply_solution_to_value_info(&mut graph, &solution);
    assert_eq!(graph, stamped);
    // The stamps alone type the graph.
    let mut again = self::solver(&graph);
    again.seed_from_value_info(&graph);
    assert_eq!(again.solve_strict()?.type_of("w"), Some(&TYPE_TENSOR_F64));
    Ok(())
}

/// Each primitive once: inputs with seeds, attributes, the type of the first output.
#[test]
fn every_primitive_types_its_output() -> Outcome {
    let to = AttributeProto { name: "to".into(), i: Some(9), ..Default::default() };
    let value = AttributeProto { name: "value_ints".into(), ints: vec![1, 2], ..Default::default() };
    let (f32, i64, bool, f16) = (&TYPE_TENSOR_F32, &TYPE_TENSOR_I64, &TYPE_TENSOR_BOOL, &TYPE_TENSOR_F16);
    type Case<'c> = (&'c str, &'c [&'static TypeNode], &'static TypeNode);
    let cases: [Case<'_>; 30] = [
        ("Add", &[f16, f16], f16),
        ("Sub", &[f32, f32], f32),
        ("Mul", &[i64, i64], i64),
        ("Div", &[f32, f32], f32),
        ("Neg", &[f16], f16),
        ("Abs", &[i64], i64),
        ("Sqrt", &[f32], f32),
        ("Pow", &[f32, i64], f32),
        ("Exp", &[f16], f16),
        ("Log", &[f32], f32),
        ("MatMul", &[f32, f32], f32),
        ("ReduceSum", &[i64, i64], i64),
        ("ReduceMean", &[f32], f32),
        ("ReduceMax", &[f16], f16),
        ("ReduceMin", &[f32, i64], f32),
        ("Reshape", &[f32, i64], f32),
        ("Transpose", &[bool], bool),
        ("Concat", &[f16, f16, f16], f16),
        ("Slice", &[f32, i64, i64], f32),
        ("Split", &[f32], f32),
        ("Squeeze", &[bool], bool),
        ("Unsqueeze", &[f32, i64], f32),
        ("Identity", &[i64], i64),
        ("Cast", &[f32], bool),
        ("Equal", &[f32, f32], bool),
        ("Greater", &[i64, i64], bool),
        ("Less", &[f16, f16], bool),
        ("Where", &[bool, f32, f32], f32),
        ("Constant", &[], i64),
        ("Gather", &[f32, i64], f32),
    ];
    for (op, inputs, expected) in cases {
        let names: Vec<String> = (0..inputs.len()).map(|at| format!("x{at}")).collect();
        let mut one = node(op, &names.iter().map(String::as_str).collect::<Vec<_>>(), &["y"]);
        match op {
            "Cast" => one.attribute.push(to.clone()),
            "Constant" => one.attribute.push(value.clone()),
            _ => {}
        }
        let mut solver = solver(&graph(vec![one]));
        for (name, node) in names.iter().zip(inputs) {
            solver.seed(name.as_str(), *node);
        }
        let solution = solver.solve_strict().map_err(|error| format!("{op}: {error}"))?;
        assert_eq!(solution.type_of("y"), Some(expected), "{op}");
        // Another type of the last operand is an error wherever the operator relates it.
        if matches!(op, "Add" | "Equal" | "MatMul" | "Where" | "Gather" | "Reshape" | "Concat") {
            let mut wrong = solver.clone();
            wrong.seed(names[names.len() - 1].as_str(), &TYPE_SCALAR_F32);
            assert!(wrong.solve().is_err(), "{op}");
        }
    }
    Ok(())
}

/// A leaf below a bound of its own does not take the place of another leaf with the same last part.
#[test]
fn leaves_with_the_same_last_part_are_different_types() -> Outcome {
    static QUANTIZED: TypeNode = TypeNode {
        id: "tensor.audit_quantized",
        parent: Some("tensor"),
        kind: TypeKind::Abstract,
        ffi_name: "",
        wire_hash: 0,
        denotation: "",
    };
    const LEAF: TypeNode = TypeNode {
        id: "tensor.audit_quantized.i8",
        parent: Some("tensor.audit_quantized"),
        kind: TypeKind::Concrete,
        ffi_name: "",
        wire_hash: 0,
        denotation: "org.example.audit.quantized.i8",
    };
    static SMALL: TypeNode = LEAF;
    static BARE: TypeNode =
        TypeNode { id: "i8", parent: Some("tensor"), denotation: "org.example.audit.bare.i8", ..LEAF };
    static OTHER: TypeNode = TypeNode {
        id: "audit_other.i8",
        parent: Some("tensor"),
        denotation: "org.example.audit.other.i8",
        ..LEAF
    };
    let own = [&QUANTIZED, &SMALL, &BARE, &OTHER];
    let mut lattice = Lattice::builder().with_registered();
    for node in own {
        lattice = lattice.with_node(node);
    }
    let lattice = Arc::new(lattice.build()?);
    let leaves: [&'static TypeNode; 4] = [&TYPE_TENSOR_I8, &SMALL, &BARE, &OTHER];
    for one in leaves {
        let mut solver = solver(&worked()).with_lattice(Arc::clone(&lattice));
        solver.seed("x", one);
        assert_eq!(solver.solve_strict()?.type_of("w"), Some(one), "{}", one.id);
        for other in leaves.into_iter().filter(|other| other.id != one.id) {
            let mut both = solver.clone();
            both.seed("y", other);
            let error = both.solve().expect_err("they are different types").to_string();
            assert!(error.contains(one.id) && error.contains(other.id), "{error}");
        }
        let mut bounded = solver.clone();
        bounded.seed("z", &QUANTIZED);
        assert_eq!(bounded.solve().is_ok(), one.id == SMALL.id, "{}", one.id);
    }
    Ok(())
}

static CALLS: AtomicUsize = AtomicUsize::new(0);

/// Waits until its input is known, then passes its type on.
fn waits(cx: &CustomRelationCtx<'_>) -> RelationResult {
    CALLS.fetch_add(1, Ordering::Relaxed);
    match cx.is_resolved(PortRef::Input(0)) {
        true => cx.unify(&[PortRef::Input(0), PortRef::Output(0)]),
        false => RelationResult::Defer,
    }
}

static WAITS: AtomicOpDecl = AtomicOpDecl {
    name: "Waits",
    inputs: &[PortDecl::required("x", &TYPE_ANY)],
    outputs: &[PortDecl::required("y", &TYPE_ANY)],
    kind: AtomicOpKind::Pure,
    type_relations: &[TypeRelation::Custom { name: "audit.waits", run: waits }],
};

/// A deferred relation runs again when its port narrows, and a satisfied one does not.
#[test]
fn outcomes_of_relations_schedule_their_runs() -> Outcome {
    let count = 200;
    let name = |at: usize| format!("v{at}");
    let mut nodes: Vec<_> = (0..count).map(|at| node("Waits", &[&name(at)], &[&name(at + 1)])).collect();
    // Against the order of the graph.
    nodes.reverse();
    let chain = graph(nodes);
    let mut solver = TypeSolver::from_graph(&chain, |_, _| Some(&WAITS))?;
    CALLS.store(0, Ordering::Relaxed);
    assert_eq!(solver.solve()?.unresolved().count(), count + 1);
    let idle = CALLS.swap(0, Ordering::Relaxed);
    assert!(idle <= count + 1, "{idle} calls of {count} relations");
    solver.seed("v0", &TYPE_TENSOR_I8);
    assert_eq!(solver.solve_strict()?.type_of(&name(count)), Some(&TYPE_TENSOR_I8));
    let calls = CALLS.load(Ordering::Relaxed);
    assert!(calls <= 3 * count, "{calls} calls of {count} relations");
    Ok(())
}

/// Neither the order of nodes nor that of seeds changes the result or the error.
#[test]
fn results_do_not_depend_on_the_order_of_nodes_and_seeds() -> Outcome {
    let nodes = vec![
        node("Add", &["a", "b"], &["c"]),
        node("Relu", &["c"], &["d"]),
        node("MatMul", &["d", "e"], &["f"]),
        node("Equal", &["f", "g"], &["h"]),
    ];
    let mut reversed = nodes.clone();
    reversed.reverse();
    for (one, other) in [("b", "g"), ("e", "h")] {
        let solve = |nodes: &[_], seeds: [&str; 2]| {
            let mut solver = solver(&graph(nodes.to_vec()));
            for seed in seeds {
                solver.seed(seed, if seed == "h" { &TYPE_TENSOR_BOOL } else { &TYPE_TENSOR_F16 });
            }
            solver.solve_strict().map(|solution| {
                let mut found: Vec<_> =
                    solution.iter().map(|(name, node)| (name.to_owned(), node.id.to_owned())).collect();
                found.sort();
                found
            })
        };
        let expected = solve(&nodes, [one, other])?;
        assert_eq!(solve(&reversed, [other, one])?, expected);
        assert_eq!(expected.len(), 8);
    }
    Ok(())
}
