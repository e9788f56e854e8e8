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

use std::collections::{HashMap, HashSet};

use typeloom_module::ir;
use typeloom_module::names;
use typeloom_module::operators::{self, SLOT_STORAGE, binding_key};
use typeloom_module::registry::Registry;
use typeloom_onnx::messages::{GraphProto, NodeProto, type_proto};
use typeloom_onnx::nested;
use typeloom_ops::catalogue::Standard;
use typeloom_solver::catalogue::{Catalogue, Lookup};
use typeloom_solver::model::Mode;
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
    let solution = solve(&unit.model, &unit.bindings, unit.mode)?;
    if solution.is_ok() {
        return Ok(solved(unit, solution, Vec::new()));
    }
    if unit.coercion == Coercion::Never {
        return Err(failed(&unit, solution.diagnostics));
    }
    let casts = plan(&unit)?;
    if casts.is_empty() {
        return Err(failed(&unit, solution.diagnostics));
    }
    let lossy: Vec<CastReport> =
        casts.iter().map(PlannedCast::report).filter(|cast| !cast.lossless).collect();
    if unit.coercion == Coercion::Lossless && !lossy.is_empty() {
        return Err(BuildError::LossyCast(lossy));
    }
    let mut model = unit.model.clone();
    insert_cast_ops::insert(&mut model, &casts);
    let solution = solve(&model, &unit.bindings, unit.mode)?;
    if !solution.is_ok() {
        return Err(failed(&unit, solution.diagnostics));
    }
    Ok(solved(unit, solution, casts))
}

fn solved(unit: Unit, solution: Solution, casts: Vec<PlannedCast>) -> Solved {
    let Solution { types, interface, diagnostics: _ } = solution;
    Solved { unit, types, interface, casts }
}

/// The declared operators of a program, with the imported versions of their domains.
struct Extensions {
    registry: Registry,
    versions: HashMap<String, i64>,
}

impl Extensions {
    fn find(&self, node: &NodeProto) -> Option<&'static AtomicOpDecl> {
        let version = self.versions.get(node.domain()).copied().unwrap_or(i64::MAX);
        match self.registry.lookup(node.domain(), node.op_type(), version) {
            Lookup::Declared(op) => Some(op),
            _ => None,
        }
    }
}

/// A cut edge.
struct Cut {
    site: CastSite,
    /// The value names on the side of the producer and of the consumer.
    ends: (String, String),
    reason: String,
}

/// Plans the casts on declared edges.
fn plan(unit: &Unit) -> Result<Vec<PlannedCast>, BuildError> {
    let mut model = unit.model.clone();
    let version = ir::imported(&model, "").unwrap_or(i64::MAX);
    let registry = Registry::of(&unit.bindings)?;
    let versions: HashMap<String, i64> =
        model.opset_import.iter().map(|import| (import.domain().to_owned(), import.version())).collect();
    let extensions = Extensions { registry, versions };
    let graph = model.graph.get_or_insert_default();
    let mut taken = nested::value_names(graph);
    let mut cuts: Vec<(usize, Cut)> = Vec::new();
    nested::each_numbered_graph_mut(graph, |graph, number| {
        let found = cut(graph, version, &extensions, &mut taken);
        cuts.extend(found.into_iter().map(|cut| (number, cut)));
    });
    if cuts.is_empty() {
        return Ok(Vec::new());
    }
    let solution = solve(&model, &unit.bindings, Mode::Permissive)?;
    let mut planned = Vec::new();
    for (graph, Cut { site, ends: (from, to), reason }) in cuts {
        let ty = |value: &str| solution.types.visible_from(graph, value);
        let (Some(from), Some(to)) = (ty(&from), ty(&to)) else { continue };
        let (Some(source), Some(target)) = (from.leaf(), to.leaf()) else { continue };
        if source.id != target.id && planned_casts::is_convertible(from, to) {
            let lossless = planned_casts::is_lossless(from, to);
            planned.push(PlannedCast { graph, site, from: source.id, to: target.id, lossless, reason });
        }
    }
    Ok(planned)
}

/// Cuts the declared edges of one graph.
fn cut(
    graph: &mut GraphProto,
    version: i64,
    extensions: &Extensions,
    taken: &mut HashSet<String>,
) -> Vec<Cut> {
    let infos = graph.value_info.iter().chain(&graph.output);
    let typed = infos.filter_map(|info| Some((info.name().to_owned(), info.r#type.as_ref()?)));
    let declared: HashMap<String, String> =
        typed.filter(|(_, ty)| has_element(ty)).map(|(name, ty)| (name, ir::show_type(ty))).collect();
    let mut cuts = Vec::new();
    let mut nodes = Vec::with_capacity(graph.node.len());
    for (at, mut node) in std::mem::take(&mut graph.node).into_iter().enumerate() {
        let ports = declared_ports(&node, version, extensions);
        for (port, reason) in ports {
            let Some(value) = node.input.get(port).filter(|value| !value.is_empty()).cloned() else {
                continue;
            };
            let cut = ir::fresh(taken, &format!("{value}.edge"));
            nodes.push(ir::types_node("Edge", &value, &cut, node.metadata_props.clone()));
            node.input[port].clone_from(&cut);
            cuts.push(Cut {
                site: CastSite { end: CastEnd::Input, node: at, port, value: value.clone() },
                ends: (value, cut),
                reason,
            });
        }
        let mut edges = Vec::new();
        for (port, output) in node.output.iter_mut().enumerate() {
            let Some(ty) = declared.get(output) else { continue };
            let cut = ir::fresh(taken, &format!("{output}.edge"));
            let value = std::mem::replace(output, cut.clone());
            edges.push(ir::types_node("Edge", &cut, &value, node.metadata_props.clone()));
            cuts.push(Cut {
                site: CastSite { end: CastEnd::Output, node: at, port, value: value.clone() },
                reason: format!("`{value}` is declared as {ty}"),
                ends: (cut, value),
            });
        }
        nodes.push(node);
        nodes.extend(edges);
    }
    graph.node = nodes;
    cuts
}

/// Whether a declared type is more than a shape.
fn has_element(ty: &typeloom_onnx::messages::TypeProto) -> bool {
    ty.denotation.as_deref().is_some_and(|denotation| !denotation.is_empty())
        || matches!(&ty.value, Some(type_proto::Value::TensorType(tensor)) if tensor.elem_type() != 0)
}

/// Returns the inputs of a node that have a known type, with the source of the type.
fn declared_ports(node: &NodeProto, version: i64, extensions: &Extensions) -> Vec<(usize, String)> {
    if node.domain() == names::IMPORT_DOMAIN {
        return (0..node.input.len())
            .map(|at| (at, "the imported function declares it".to_owned()))
            .collect();
    }
    let Some(slot) = ir::metadata(node, names::SLOT_ID) else { return Vec::new() };
    let role = ir::metadata(node, names::REQUIRED_TRAIT).unwrap_or_default();
    let stores = |assoc: &str| ir::metadata(node, &binding_key(assoc));
    let reason = |assoc: &str, id: &str| format!("<{slot} as {role}>::{assoc} is {id}");
    if let Some(opset) = operators::opset(node.domain()) {
        let Some(op) = opset.op(node.op_type()) else { return Vec::new() };
        let assocs =
            typeloom_contracts::role::Role::from_trait_name(role).map_or(&[][..], |role| role.storages());
        let of_storage = op.type_relations.iter().any(|relation| relation.name() == SLOT_STORAGE);
        if !of_storage {
            return Vec::new();
        }
        // Ports of stored tensors are declared as `any`.
        let open = op.inputs.iter().enumerate().filter(|(_, port)| port.bound.id == "any");
        let reasons = assocs.iter().filter_map(|assoc| Some(reason(assoc, stores(assoc)?)));
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        return open.map(|(at, _)| (at, reasons.clone())).collect();
    }
    let Some(id) = stores("Tensor") else { return Vec::new() };
    if let (Some(op), Some(stored)) = (extensions.find(node), lookup_by_id(id)) {
        let is_data = |at: &usize| op.input(*at).is_some_and(|port| is_extension_data(port.bound, stored));
        return (0..node.input.len()).filter(is_data).map(|at| (at, reason("Tensor", id))).collect();
    }
    let Lookup::Found(operator) = Standard.lookup(node.domain(), node.op_type(), version) else {
        return Vec::new();
    };
    let Some(is_data) = data_ports(operator.schema) else { return Vec::new() };
    let data = (0..node.input.len()).filter(|at| is_data(operator.schema.input(*at)));
    data.map(|at| (at, reason("Tensor", id))).collect()
}
