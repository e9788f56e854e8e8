//! `type_solver`: solves the types of all values, or reports all type errors.
//!
//! A program without errors is solved once. If it has errors and casts are allowed, every *declared edge* is
//! cut, at once if declarations contradict each other, and otherwise after a solve that fails: an edge to a
//! port of a known type (of a slot whose component stores a concrete type, or of an imported function), and
//! the edge from a node to a value of a declared type. The ends of a cut edge are solved independently; if
//! both are concrete and differ, a cast is planned. All other edges are restored, and the program with the
//! planned casts is solved again.
//!
//! **Invariant:** a program without type errors gets no casts. The types of both ends of a cast follow from
//! declarations.

use std::collections::HashMap;

use typeloom_module::operators::{self, SLOT_STORAGE};
use typeloom_module::registry::Registry;
use typeloom_ops::catalogue::Standard;
use typeloom_program::domain::Domain;
use typeloom_program::facts::{Facts, Placement};
use typeloom_program::program::{Graph, GraphId, Names, Node, Program, ValueId};
use typeloom_solver::catalogue::{Catalogue, Lookup};
use typeloom_solver::model::Mode;
use typeloom_tensor::value_type::ValueType;
use typeloom_types::dtype::Dtype;
use typeloom_types::lattice::lookup_by_id;
use typeloom_types::op::AtomicOpDecl;
use typeloom_types::tree::TypeNode;
use typeloom_types::tree::builtin::TYPE_TENSOR_BOOL;

use super::insert_cast_ops;
use crate::error::BuildError;
use crate::planned_casts::{self, CastEnd, CastSite, PlannedCast};
use crate::program_operators::{data_ports, is_extension_data, takes_masks};
use crate::report::CastReport;
use crate::solve_program::{Solution, failed, solve};
use crate::stage::{Expanded, Solved};
use crate::unit::{Coercion, Unit};

/// Solves the types of a program.
pub(crate) fn run(expanded: Expanded) -> Result<Solved, BuildError> {
    let Expanded { unit } = expanded;
    let casts = match unit.coercion {
        Coercion::Lossless | Coercion::AsDeclared if contradicts(&unit)? => plan(&unit)?,
        Coercion::Never | Coercion::Lossless | Coercion::AsDeclared => Vec::new(),
    };
    let casts = if casts.is_empty() {
        let solution = solve(&unit.program, &unit.facts, &unit.bindings, unit.mode)?;
        if solution.is_ok() {
            return Ok(solved(unit, solution, Vec::new(), Vec::new()));
        }
        let casts = if unit.coercion == Coercion::Never { Vec::new() } else { plan(&unit)? };
        if casts.is_empty() {
            return Err(failed(&unit, solution.diagnostics));
        }
        casts
    } else {
        casts
    };
    let reports = casts.iter().map(|cast| cast.report(&unit.program));
    let lossy: Vec<CastReport> = reports.filter(|cast| !cast.lossless).collect();
    if unit.coercion == Coercion::Lossless && !lossy.is_empty() {
        return Err(BuildError::LossyCast(lossy));
    }
    let (mut program, mut facts) = (unit.program.clone(), unit.facts.clone());
    let made = insert_cast_ops::insert(&mut program, &mut facts, &casts);
    let mut solution = solve(&program, &facts, &unit.bindings, unit.mode)?;
    if !solution.is_ok() {
        return Err(failed(&unit, solution.diagnostics));
    }
    let cast_types = made.iter().map(|value| solution.types.get(*value).cloned()).collect();
    solution.types.truncate(unit.program.value_count());
    Ok(solved(unit, solution, casts, cast_types))
}

fn solved(
    mut unit: Unit,
    solution: Solution,
    casts: Vec<PlannedCast>,
    cast_types: Vec<Option<ValueType>>,
) -> Solved {
    let Solution { types, interface, diagnostics: _ } = solution;
    unit.facts.types = types;
    Solved { unit, interface, casts, cast_types }
}

/// The declared operators of a program, with the imported versions of their domains.
struct Extensions {
    registry: Registry,
    versions: HashMap<Domain, i64>,
}

impl Extensions {
    fn find(&self, node: &Node) -> Option<&'static AtomicOpDecl> {
        let version = self.versions.get(&node.domain).copied().unwrap_or(i64::MAX);
        match self.registry.lookup(node.domain.name(), &node.op, version) {
            Lookup::Declared(op) => Some(op),
            _ => None,
        }
    }
}

/// The operators of a program, to find its declared edges.
struct DeclaredPorts {
    /// The imported version of ONNX's operators.
    version: i64,
    extensions: Extensions,
}

/// The inputs of a node that have a known type.
#[derive(Default)]
struct KnownInputs<'p> {
    at: Vec<usize>,
    /// The id of the type, if one declaration determines it.
    id: Option<&'p str>,
    /// Whether a mask is a value of this type, too.
    takes_masks: bool,
}

/// Whether a value that is declared as a tensor of one element type is read at a port of another. The solver
/// would report it, so casts are planned without a solve that is known to fail.
fn contradicts(unit: &Unit) -> Result<bool, BuildError> {
    let program = &unit.program;
    let ports = DeclaredPorts::of(unit)?;
    let mut declared: HashMap<ValueId, &'static str> = HashMap::new();
    for port in program.graphs_in(program.main()).into_iter().flat_map(|graph| program[graph].ports()) {
        let leaf = port.declared.as_ref().and_then(|ty| ty.value_type().leaf());
        declared.extend(leaf.map(|leaf| (port.value, leaf.id)));
    }
    Ok(program.nodes_in(program.main()).any(|id| {
        let node = &program[id];
        if !node.inputs.iter().flatten().any(|value| declared.contains_key(value)) {
            return false;
        }
        let KnownInputs { at, id, takes_masks } = ports.of_node(node, unit.facts.placements.get(id));
        let Some(required) = id.filter(|id| lookup_by_id(id).is_some_and(TypeNode::is_concrete)) else {
            return false;
        };
        let values = at.into_iter().filter_map(|at| node.inputs.get(at).copied().flatten());
        let mut found = values.filter_map(|value| declared.get(&value));
        found.any(|declared| *declared != required && !(takes_masks && *declared == TYPE_TENSOR_BOOL.id))
    }))
}

/// A cut edge.
struct Cut {
    site: CastSite,
    /// The values on the side of the producer and of the consumer.
    ends: (ValueId, ValueId),
    reason: String,
}

/// Plans the casts on declared edges.
fn plan(unit: &Unit) -> Result<Vec<PlannedCast>, BuildError> {
    let (mut program, mut facts) = (unit.program.clone(), unit.facts.clone());
    let ports = DeclaredPorts::of(unit)?;
    let mut names = program.names();
    let mut cuts = Vec::new();
    for graph in program.graphs_in(program.main()) {
        cut(unit, (&mut program, &mut facts), graph, &ports, &mut names, &mut cuts);
    }
    if cuts.is_empty() {
        return Ok(Vec::new());
    }
    let solution = solve(&program, &facts, &unit.bindings, Mode::Permissive)?;
    let mut planned = Vec::new();
    for Cut { site, ends: (from, to), reason } in cuts {
        let (Some(from), Some(to)) = (solution.types.get(from), solution.types.get(to)) else { continue };
        let (Some(source), Some(target)) = (from.leaf(), to.leaf()) else { continue };
        if source.id != target.id && planned_casts::is_convertible(from, to) {
            let lossless = planned_casts::is_lossless(from, to);
            planned.push(PlannedCast { site, from: source.id, to: target.id, lossless, reason });
        }
    }
    Ok(planned)
}

/// Cuts the declared edges of one graph: the ends of each are joined by a node that relates their shapes
/// only.
fn cut(
    unit: &Unit,
    (program, facts): (&mut Program, &mut Facts),
    graph: GraphId,
    ports: &DeclaredPorts,
    names: &mut Names,
    cuts: &mut Vec<Cut>,
) {
    let Graph { infos, outputs, .. } = &program[graph];
    let typed = infos.iter().chain(outputs).filter_map(|port| Some((port.value, port.declared.as_ref()?)));
    let declared: HashMap<ValueId, String> =
        typed.filter(|(_, ty)| ty.has_element()).map(|(value, ty)| (value, ty.to_string())).collect();
    let former = program.take_nodes(graph);
    let mut nodes = Vec::with_capacity(former.len());
    for node in former {
        let mut cut = |end: CastEnd, port: usize, value: ValueId, reason: String| {
            let other = program.add_value(graph, names.fresh(&format!("{}.edge", program[value].name)));
            let ends = match end {
                CastEnd::Input => (value, other),
                CastEnd::Output => (other, value),
            };
            let edge = Node::new(Domain::Types, "Edge", vec![Some(ends.0)], vec![Some(ends.1)]);
            let edge = program.add_node(edge);
            facts.is_made_by(edge, node);
            match end {
                CastEnd::Input => program[node].inputs[port] = Some(other),
                CastEnd::Output => program[node].outputs[port] = Some(other),
            }
            cuts.push(Cut { site: CastSite { end, node, port, value }, ends, reason });
            edge
        };
        let made = &unit.program[node];
        let placement = unit.facts.placements.get(node);
        for at in ports.of_node(made, placement).at {
            if let Some(value) = made.inputs.get(at).copied().flatten() {
                nodes.push(cut(CastEnd::Input, at, value, reason(made, placement)));
            }
        }
        nodes.push(node);
        for (port, value) in made.outputs.iter().enumerate() {
            if let Some((value, ty)) = value.and_then(|value| Some((value, declared.get(&value)?))) {
                let reason = format!("`{}` is declared as {ty}", unit.program[value].name);
                nodes.push(cut(CastEnd::Output, port, value, reason));
            }
        }
    }
    program[graph].nodes = nodes;
}

impl DeclaredPorts {
    fn of(unit: &Unit) -> Result<Self, BuildError> {
        let program = &unit.program;
        let registry = Registry::of(&unit.bindings)?;
        let versions = program.imports().iter().map(|it| (Domain::of(it.domain()), it.version())).collect();
        let version = program.imported(&Domain::Onnx).unwrap_or(i64::MAX);
        Ok(Self { version, extensions: Extensions { registry, versions } })
    }

    fn of_node<'p>(&self, node: &Node, placement: Option<&'p Placement>) -> KnownInputs<'p> {
        let all = 0..node.inputs.len();
        if node.domain == Domain::Import {
            return KnownInputs { at: all.collect(), ..KnownInputs::default() };
        }
        let Some(placement) = placement else { return KnownInputs::default() };
        if let Some(opset) = operators::opset(node.domain.name()) {
            let op = opset.op(&node.op);
            let of_storage = op.filter(|op| op.type_relations.iter().any(|it| it.name() == SLOT_STORAGE));
            // Ports of stored tensors are declared as `any`.
            let inputs = of_storage.into_iter().flat_map(|op| op.inputs.iter().enumerate());
            let at = inputs.filter(|(_, port)| port.bound.id == "any").map(|(at, _)| at).collect();
            return KnownInputs { at, ..KnownInputs::default() };
        }
        let Some(id) = placement.storage("Tensor") else { return KnownInputs::default() };
        if let (Some(op), Some(stored)) = (self.extensions.find(node), lookup_by_id(id)) {
            let is_data =
                |at: &usize| op.input(*at).is_some_and(|port| is_extension_data(port.bound, stored));
            return KnownInputs { at: all.filter(is_data).collect(), id: Some(id), takes_masks: false };
        }
        let Lookup::Found(operator) = Standard.lookup(node.domain.name(), &node.op, self.version) else {
            return KnownInputs::default();
        };
        let Some(is_data) = data_ports(operator.schema) else { return KnownInputs::default() };
        let at = all.filter(|at| is_data(operator.schema.input(*at))).collect();
        let takes_masks = takes_masks(operator.schema) && Dtype::from_node_id(id).is_some();
        KnownInputs { at, id: Some(id), takes_masks }
    }
}

/// The source of the type of a node's known inputs.
fn reason(node: &Node, placement: Option<&Placement>) -> String {
    let Some(Placement { slot, role, storages, .. }) = placement.filter(|_| node.domain != Domain::Import)
    else {
        return "the imported function declares it".to_owned();
    };
    let is_of_contract = operators::opset(node.domain.name()).is_some();
    let named = storages.iter().filter(|(assoc, _)| is_of_contract || *assoc == "Tensor");
    let reasons = named.map(|(assoc, id)| format!("<{slot} as {role}>::{assoc} is {id}"));
    reasons.collect::<Vec<_>>().join(", ")
}
