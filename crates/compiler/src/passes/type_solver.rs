//! `type_solver`: solves the types of all values, or reports all type errors.
//!
//! A program without errors is solved once. If it has errors and casts are allowed, every *declared edge* is
//! cut: an edge to a port of a known type (of a slot whose component stores a concrete type, or of an
//! imported function), and the edge from a node to a value of a declared type. The ends of a cut edge are
//! solved independently; if both are concrete and differ, a cast is planned. All other edges are restored,
//! and the program with the planned casts is solved again.
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
use typeloom_solver::value_type::ValueType;
use typeloom_types::lattice::lookup_by_id;
use typeloom_types::op::AtomicOpDecl;

use super::insert_cast_ops;
use crate::error::BuildError;
use crate::planned_casts::{self, CastEnd, CastSite, PlannedCast};
use crate::program_operators::{data_ports, is_extension_data};
use crate::report::CastReport;
use crate::solve_program::{Solution, failed, solve};
use crate::stage::{Expanded, Solved};
use crate::unit::{Coercion, Unit};

/// Solves the types of a program.
pub(crate) fn run(expanded: Expanded) -> Result<Solved, BuildError> {
    let Expanded { unit } = expanded;
    let solution = solve(&unit.program, &unit.facts, &unit.bindings, unit.mode)?;
    if solution.is_ok() {
        return Ok(solved(unit, solution, Vec::new(), Vec::new()));
    }
    if unit.coercion == Coercion::Never {
        return Err(failed(&unit, solution.diagnostics));
    }
    let casts = plan(&unit)?;
    if casts.is_empty() {
        return Err(failed(&unit, solution.diagnostics));
    }
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
    let version = program.imported(&Domain::Onnx).unwrap_or(i64::MAX);
    let registry = Registry::of(&unit.bindings)?;
    let versions = program.imports().iter().map(|it| (Domain::of(it.domain()), it.version())).collect();
    let extensions = Extensions { registry, versions };
    let mut names = program.names();
    let mut cuts = Vec::new();
    for graph in program.graphs_in(program.main()) {
        cut(unit, (&mut program, &mut facts), graph, version, &extensions, &mut names, &mut cuts);
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
    version: i64,
    extensions: &Extensions,
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
        for (port, reason) in declared_ports(made, unit.facts.placements.get(node), version, extensions) {
            if let Some(value) = made.inputs.get(port).copied().flatten() {
                nodes.push(cut(CastEnd::Input, port, value, reason));
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

/// Returns the inputs of a node that have a known type, with the source of the type.
fn declared_ports(
    node: &Node,
    placement: Option<&Placement>,
    version: i64,
    extensions: &Extensions,
) -> Vec<(usize, String)> {
    if node.domain == Domain::Import {
        return (0..node.inputs.len())
            .map(|at| (at, "the imported function declares it".to_owned()))
            .collect();
    }
    let Some(placement) = placement else { return Vec::new() };
    let Placement { slot, role, .. } = placement;
    let reason = |assoc: &str, id: &str| format!("<{slot} as {role}>::{assoc} is {id}");
    if let Some(opset) = operators::opset(node.domain.name()) {
        let Some(op) = opset.op(&node.op) else { return Vec::new() };
        let of_storage = op.type_relations.iter().any(|relation| relation.name() == SLOT_STORAGE);
        if !of_storage {
            return Vec::new();
        }
        // Ports of stored tensors are declared as `any`.
        let open = op.inputs.iter().enumerate().filter(|(_, port)| port.bound.id == "any");
        let reasons =
            role.storages().iter().filter_map(|assoc| Some(reason(assoc, placement.storage(assoc)?)));
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        return open.map(|(at, _)| (at, reasons.clone())).collect();
    }
    let Some(id) = placement.storage("Tensor") else { return Vec::new() };
    if let (Some(op), Some(stored)) = (extensions.find(node), lookup_by_id(id)) {
        let is_data = |at: &usize| op.input(*at).is_some_and(|port| is_extension_data(port.bound, stored));
        return (0..node.inputs.len()).filter(is_data).map(|at| (at, reason("Tensor", id))).collect();
    }
    let Lookup::Found(operator) = Standard.lookup(node.domain.name(), &node.op, version) else {
        return Vec::new();
    };
    let Some(is_data) = data_ports(operator.schema) else { return Vec::new() };
    let data = (0..node.inputs.len()).filter(|at| is_data(operator.schema.input(*at)));
    data.map(|at| (at, reason("Tensor", id))).collect()
}
