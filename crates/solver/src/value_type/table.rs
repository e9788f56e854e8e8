//! The types of all values of a program, by graph and name.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::{Converter, ValueType};
use crate::model::Checked;
use crate::program::{Body, GraphId, ValueId};

/// The types of all values of a program.
///
/// Graphs have the numbers of a walk that visits a graph before the graphs nested in it, in the order of nodes and of their
/// attributes: the main graph is number 0.
#[derive(Clone, Debug, Default)]
pub struct ValueTypes {
    graphs: Vec<HashMap<Box<str>, ValueType, RandomState>>,
}

impl ValueTypes {
    /// The types of a checked program as a compiled program stores them: the symbols of a loop's body, which differ from iteration
    /// to iteration, are unknown dims.
    #[must_use]
    pub fn of_program(checked: &mut Checked<'_>) -> Self {
        let order = graphs_in_order(checked.body());
        let repeated = repeated(checked.body(), &order);
        let mut converter = Converter::default();
        Self::collect(checked, &order, |checked, graph, value| {
            let ty = checked.type_of(value);
            let ty = converter.convert(&ty, checked.universe(), checked.dims());
            if repeated[graph] { ty.without_symbols() } else { ty }
        })
    }

    /// The types that hold without any declared shape that had to be assumed: what a session verifies values against.
    /// Types that are not concrete are unknown.
    #[must_use]
    pub fn proven(checked: &mut Checked<'_>) -> Self {
        let order = graphs_in_order(checked.body());
        let mut converter = Converter::default();
        Self::collect(checked, &order, |checked, _, value| {
            let ty = checked.proven_type_of(value);
            let ty = converter.convert(&ty, checked.universe(), checked.dims());
            if ty.is_concrete() { ty } else { ValueType::default() }
        })
    }

    fn collect<'a>(
        checked: &mut Checked<'a>,
        order: &[GraphId],
        mut type_of: impl FnMut(&mut Checked<'a>, usize, ValueId) -> ValueType,
    ) -> Self {
        let mut graphs = vec![HashMap::default(); order.len()];
        graphs[0].reserve(checked.value_count());
        let numbers: HashMap<GraphId, usize, RandomState> =
            order.iter().enumerate().map(|(number, graph)| (*graph, number)).collect();
        for value in (0..checked.value_count()).map(ValueId::new) {
            let Some(&graph) = numbers.get(&checked.body().value(value).graph) else { continue };
            let ty = type_of(checked, graph, value);
            graphs[graph].insert(checked.body().value_name(value).into(), ty);
        }
        Self { graphs }
    }

    /// The type of a value of a graph.
    #[must_use]
    pub fn get(&self, graph: usize, name: &str) -> Option<&ValueType> {
        self.graphs.get(graph)?.get(name)
    }

    /// The type of a value that is visible in a graph: its own, or that of a graph around it.
    #[must_use]
    pub fn visible_from(&self, graph: usize, name: &str) -> Option<&ValueType> {
        std::iter::once(graph).chain(0..self.graphs.len()).find_map(|graph| self.get(graph, name))
    }
}

/// The graphs of a body in the order of their numbers.
fn graphs_in_order(body: &Body<'_>) -> Vec<GraphId> {
    let mut order = Vec::new();
    let mut open = vec![body.root()];
    while let Some(graph) = open.pop() {
        order.push(graph);
        let mut children: Vec<GraphId> = body.children(graph).collect();
        children.sort_by_key(|child| body.graph(*child).owner.map(|owner| body.step(owner.step).position));
        open.extend(children.into_iter().rev());
    }
    order
}

/// Whether each graph runs once per iteration of a loop. Outer graphs come first in `order`.
fn repeated(body: &Body<'_>, order: &[GraphId]) -> Vec<bool> {
    let mut repeated: HashMap<GraphId, bool, RandomState> = HashMap::default();
    for graph in order {
        let is_repeated = body.graph(*graph).owner.is_some_and(|owner| {
            let outer = body.step(owner.step).graph;
            body.op_name(owner.step) != "If" || repeated.get(&outer).copied().unwrap_or_default()
        });
        repeated.insert(*graph, is_repeated);
    }
    order.iter().map(|graph| repeated[graph]).collect()
}
