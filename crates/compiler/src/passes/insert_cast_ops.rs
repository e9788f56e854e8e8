//! `insert_cast_ops`: inserts the casts that the solver planned.
//!
//! A cast is `ai.bytesandbrains.types.Cast` with the ids of type nodes as attributes `from` and `to`. All
//! ports of a graph that need the same cast of a value share one node.

use std::collections::HashMap;

use typeloom_onnx::messages::IntoAttribute;
use typeloom_program::domain::Domain;
use typeloom_program::facts::Facts;
use typeloom_program::program::{GraphId, Names, Node, NodeId, Program, ValueId};

use crate::error::BuildError;
use crate::planned_casts::{CastEnd, CastSite, PlannedCast};
use crate::stage::Solved;
use crate::unit::Unit;

/// Inserts the planned casts. The types of their results are solved already.
pub(crate) fn run(mut solved: Solved) -> Result<Solved, BuildError> {
    let planned = std::mem::take(&mut solved.casts);
    let Unit { program, facts, report, .. } = &mut solved.unit;
    report.casts.extend(planned.iter().map(|cast| cast.report(program)));
    let made = insert(program, facts, &planned);
    for (value, ty) in made.into_iter().zip(std::mem::take(&mut solved.cast_types)) {
        if let Some(ty) = ty {
            facts.types.set(value, ty);
        }
    }
    Ok(solved)
}

/// Inserts casts into a program; returns the new values, in an order that depends on the casts only.
pub(crate) fn insert(program: &mut Program, facts: &mut Facts, planned: &[PlannedCast]) -> Vec<ValueId> {
    let mut by_node: HashMap<NodeId, Vec<&PlannedCast>> = HashMap::new();
    for cast in planned {
        by_node.entry(cast.site.node).or_default().push(cast);
    }
    if by_node.is_empty() {
        return Vec::new();
    }
    if program.imported(&Domain::Types).is_none() {
        program.import(&Domain::Types, 1);
    }
    let mut inserted = Insertion { names: program.names(), program, facts, made: Vec::new() };
    for graph in inserted.program.graphs_in(inserted.program.main()) {
        if !inserted.program[graph].nodes.iter().any(|node| by_node.contains_key(node)) {
            continue;
        }
        let mut shared: HashMap<(ValueId, &str), ValueId> = HashMap::new();
        let former = inserted.program.take_nodes(graph);
        let mut nodes = Vec::with_capacity(former.len() + planned.len());
        for node in former {
            let mut after = Vec::new();
            for cast in by_node.get(&node).into_iter().flatten() {
                let CastSite { end, port, value, .. } = cast.site;
                match end {
                    CastEnd::Input => {
                        let result = *shared.entry((value, cast.to)).or_insert_with(|| {
                            let result = inserted.value(graph, value, cast.to);
                            nodes.push(inserted.cast(cast, value, result));
                            result
                        });
                        inserted.program[node].inputs[port] = Some(result);
                    }
                    CastEnd::Output => {
                        let result = inserted.value(graph, value, cast.from);
                        inserted.program[node].outputs[port] = Some(result);
                        after.push(inserted.cast(cast, result, value));
                    }
                }
            }
            nodes.push(node);
            nodes.extend(after);
        }
        inserted.program[graph].nodes = nodes;
    }
    inserted.made
}

struct Insertion<'p> {
    names: Names,
    program: &'p mut Program,
    facts: &'p mut Facts,
    made: Vec<ValueId>,
}

impl Insertion<'_> {
    /// A new value next to another, named after a type.
    fn value(&mut self, graph: GraphId, next_to: ValueId, ty: &str) -> ValueId {
        let short = ty.rsplit_once('.').map_or(ty, |(_, name)| name);
        let name = self.names.fresh(&format!("{}.{short}", self.program[next_to].name));
        let value = self.program.add_value(graph, name);
        self.made.push(value);
        value
    }

    fn cast(&mut self, cast: &PlannedCast, from: ValueId, to: ValueId) -> NodeId {
        let mut node = Node::new(Domain::Types, "Cast", vec![Some(from)], vec![Some(to)]);
        node.attributes = vec![cast.from.into_attribute("from"), cast.to.into_attribute("to")];
        let id = self.program.add_node(node);
        self.facts.is_made_by(id, cast.site.node);
        id
    }
}
