//! Writes a solution into a graph: every value gets its denotation and element type.

use typeloom_onnx::messages::{GraphProto, TensorProto, TypeProto, ValueInfoProto};
use typeloom_types::lattice::NodeRef;

use super::solution::{SolvedValue, TypeSolution};
use crate::map::Set;

/// Writes the solved types into the declarations of inputs, values and outputs of a graph.
///
/// A stamp is the denotation of the concrete node, and for tensors the element type. Undeclared extents are
/// filled in. Values without a declaration get one in `value_info`, in the order of the nodes; initializers
/// need none. Unresolved values are unchanged, and nothing is removed. Stamping twice changes nothing.
pub fn apply_solution_to_value_info(graph: &mut GraphProto, solution: &TypeSolution) {
    let GraphProto { input, output, value_info, .. } = &mut *graph;
    for info in input.iter_mut().chain(output).chain(value_info) {
        if let Some(value) = solution.get(info.name()) {
            stamp(&mut info.r#type, value, solution);
        }
    }
    let mut known: Set<String> = Set::default();
    let lists = [&graph.input, &graph.output, &graph.value_info];
    known.extend(lists.into_iter().flatten().map(|info| info.name().to_owned()));
    known.extend(graph.initializer.iter().map(|tensor| TensorProto::name(tensor).to_owned()));
    let sparse = graph.sparse_initializer.iter().filter_map(|sparse| sparse.values.as_ref());
    known.extend(sparse.map(|tensor| tensor.name().to_owned()));
    let names = graph.node.iter().flat_map(|node| node.input.iter().chain(&node.output));
    let mut missing = Vec::new();
    for name in names.filter(|name| !name.is_empty()) {
        if let Some(value) = solution.get(name).filter(|value| value.is_resolved())
            && known.insert(name.clone())
        {
            let mut info = ValueInfoProto { name: name.clone().into(), ..ValueInfoProto::default() };
            stamp(&mut info.r#type, value, solution);
            missing.push(info);
        }
    }
    graph.value_info.extend(missing);
}

fn stamp(ty: &mut Option<TypeProto>, value: &SolvedValue, solution: &TypeSolution) {
    if !value.is_resolved() {
        return;
    }
    let ty = ty.get_or_insert_default();
    let denotation =
        solution.lattice().node(value.bound).filter(NodeRef::is_concrete).map(|node| node.denotation);
    if let Some(denotation) = denotation.filter(|denotation| !denotation.is_empty()) {
        ty.denotation = denotation.into();
    }
    value.ty.value_type(&solution.universe, solution.dims()).fill(&mut ty.value);
}
