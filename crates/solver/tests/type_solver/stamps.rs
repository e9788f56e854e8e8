//! Solutions written into graphs.

use super::*;

fn solved(graph: &GraphProto) -> TypeSolution {
    let mut solver = TypeSolver::from_graph(graph, table).unwrap();
    solver.seed_from_value_info(graph);
    solver.solve().unwrap()
}

fn entry<'g>(list: &'g [ValueInfoProto], name: &str) -> &'g TypeProto {
    list.iter().find(|info| info.name() == name).and_then(|info| info.r#type.as_ref()).unwrap()
}

#[test]
fn every_value_gets_denotation_element_type_and_shape() {
    let mut graph = graph(&["z = Add x y", "w = Relu z"]);
    graph.input =
        vec![info("x", Some(tensor_type(1, &["N", "3"]))), info("y", Some(tensor_type(1, &["N", "3"])))];
    graph.output = vec![info("w", None)];
    let solution = solved(&graph);
    apply_solution_to_value_info(&mut graph, &solution);
    for (list, name) in [(&graph.input, "x"), (&graph.value_info, "z"), (&graph.output, "w")] {
        let mut expected = tensor_type(1, &["N", "3"]);
        expected.denotation = "ai.bytesandbrains.tensor.f32".into();
        assert_eq!(*entry(list, name), expected, "{name}");
    }
    assert_eq!(graph.value_info.len(), 1);
}

#[test]
fn nothing_is_removed_or_doubled_and_a_second_stamp_changes_nothing() {
    let mut graph = graph(&["z = Add x c", "w = Relu z", "u = Mystery z"]);
    graph.input = vec![info("x", Some(tensor_type(1, &["2"])))];
    graph.value_info = vec![info("z", None), info("gone", Some(tensor_type(7, &[])))];
    graph.initializer =
        vec![TensorProto { name: "c".into(), dims: vec![2], data_type: Some(1), ..Default::default() }];
    let solution = solved(&graph);
    apply_solution_to_value_info(&mut graph, &solution);
    let listed: Vec<_> = graph.value_info.iter().map(ValueInfoProto::name).collect();
    assert_eq!(listed, ["z", "gone", "w"]);
    assert_eq!(*entry(&graph.value_info, "gone"), tensor_type(7, &[]));
    let once = graph.clone();
    apply_solution_to_value_info(&mut graph, &solution);
    assert_eq!(graph, once);
}

#[test]
fn a_declared_extent_stays_and_an_open_one_is_filled() {
    let mut graph = graph(&["y = Relu x"]);
    graph.input = vec![info("x", Some(tensor_type(1, &["2", "3"])))];
    graph.output = vec![info("y", Some(tensor_type(0, &["A", "?"])))];
    let solution = {
        let mut solver = TypeSolver::from_graph(&graph, table).unwrap();
        solver.seed_type("x", &tensor_type(1, &["2", "3"]));
        solver.solve().unwrap()
    };
    apply_solution_to_value_info(&mut graph, &solution);
    let mut expected = tensor_type(1, &["A", "3"]);
    expected.denotation = "ai.bytesandbrains.tensor.f32".into();
    assert_eq!(*entry(&graph.output, "y"), expected);
}

#[test]
fn scalars_and_leaves_are_stamped_by_denotation_alone() {
    let mut graph = graph(&["b = Identity a", "d = Identity c"]);
    let mut solver = TypeSolver::from_graph(&graph, table).unwrap();
    solver.seed("a", &TYPE_SCALAR_F32).seed("c", &TYPE_PEER_ID);
    apply_solution_to_value_info(&mut graph, &solver.solve_strict().unwrap());
    for (name, denotation) in [("b", "bb.f32"), ("d", "bb.peer_id")] {
        let ty = entry(&graph.value_info, name);
        assert_eq!((ty.denotation(), &ty.value), (denotation, &None));
    }
}

#[test]
fn sequences_are_written_as_onnx_writes_them() {
    let mut graph = graph(&["b = Identity a"]);
    let element = Some(Box::new(tensor_type(1, &["2"])));
    let sequence = type_proto::Sequence { elem_type: element, ..Default::default() };
    let ty = TypeProto { value: Some(type_proto::Value::SequenceType(sequence)), ..TypeProto::default() };
    let mut solver = TypeSolver::from_graph(&graph, table).unwrap();
    solver.seed_type("a", &ty);
    let solution = solver.solve_strict().unwrap();
    assert_eq!((id(&solution, "b"), solution.display("b").unwrap().as_str()), (None, "seq(float[2])"));
    apply_solution_to_value_info(&mut graph, &solution);
    assert_eq!(*entry(&graph.value_info, "b"), ty);
}
