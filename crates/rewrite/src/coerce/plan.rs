//! From a model taken apart to conversions with names and places.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use typeloom_solver::elem::Elem;
use typeloom_solver::model::Checked;
use typeloom_solver::model::ports::{ClassId, Ports, Reader, derived_declaration, ports};
use typeloom_solver::program::{Body, GraphId, Origin, StepId, ValueId};
use typeloom_solver::solution::Type;

use super::assign::{Chosen, Group, choose};
use super::policy::{Policy, Stored, Support};

/// A conversion to insert.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// The value that is converted.
    pub(crate) value: ValueId,
    /// The graph that the conversion stands in.
    pub(crate) graph: GraphId,
    /// In front of which node of that graph; the number of its nodes for the end.
    pub(crate) before: usize,
    pub(crate) from: Elem,
    pub(crate) to: Elem,
    /// The new value's name.
    pub(crate) output: String,
    /// Who reads the new value.
    pub(crate) readers: Vec<Reader>,
}

/// What has to change in a model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) casts: Vec<Planned>,
    /// Values that leave their name to a conversion, because it is the name of an output of the model.
    pub(crate) renamed: BTreeMap<ValueId, String>,
    /// The element type of each value by its position, where it is decided.
    pub(crate) elems: Vec<Option<Elem>>,
    /// The element type of each output of a nested graph, where it is decided.
    pub(crate) outputs: BTreeMap<(GraphId, usize), Elem>,
    /// Conversions that the policy does not allow, and that would be needed: value, from, to.
    pub(crate) refused: Vec<(ValueId, Elem, Elem)>,
    /// Whether fewer conversions are impossible.
    pub(crate) is_proved: bool,
}

/// Readers of one value whose conversions stand in one graph.
struct Readers {
    value: ValueId,
    graph: GraphId,
    by_class: BTreeMap<ClassId, Vec<Reader>>,
}

pub(crate) fn plan(checked: &mut Checked<'_>, policy: Policy, support: Support) -> Plan {
    let apart = ports(checked);
    let (readers, groups) = groups(checked, &apart);
    let chosen = choose(&apart.classes, &groups, policy, support);
    let mut plan = Plan { is_proved: chosen.is_proved, ..Plan::default() };
    plan.elems = apart.makers.iter().map(|class| chosen.elems[(*class)?.index()]).collect();
    let needed = if chosen.refused.is_empty() {
        None
    } else {
        Some(choose(&apart.classes, &groups, Policy::Widest, support))
    };
    let mut names = Names::new(checked.body());
    let mut lengths: BTreeMap<GraphId, usize> = BTreeMap::new();
    for (at, readers) in readers.iter().enumerate() {
        if chosen.refused.contains(&at) {
            plan.elems[readers.value.index()] = None;
            let needed = needed.as_ref().filter(|needed| !needed.refused.contains(&at));
            let casts = needed.map(|needed| conversions(readers, &apart, needed)).unwrap_or_default();
            plan.refused.extend(casts.into_iter().map(|(from, to, _)| (readers.value, from, to)));
            continue;
        }
        for (class, by) in &readers.by_class {
            for reader in by {
                if let (Reader::Output { graph, at }, Some(elem)) = (reader, chosen.elems[class.index()]) {
                    plan.outputs.insert((*graph, *at), elem);
                }
            }
        }
        for (from, to, by) in conversions(readers, &apart, &chosen) {
            let before = position(checked.body(), readers.graph, &by).unwrap_or_else(|| {
                let length = || nodes_of(checked.body(), readers.graph);
                *lengths.entry(readers.graph).or_insert_with(length)
            });
            let name = checked.body().value_name(readers.value);
            let output = if by.iter().any(|reader| is_interface(checked.body(), *reader)) {
                let own = names.fresh(&format!("{name}_as_{}", word(from)));
                plan.renamed.insert(readers.value, own);
                name.to_owned()
            } else {
                names.fresh(&format!("{name}_as_{}", word(to)))
            };
            let Readers { value, graph, .. } = *readers;
            plan.casts.push(Planned { value, graph, before, from, to, output, readers: by });
        }
    }
    plan
}

/// What a value is converted to, and for whom.
fn conversions(readers: &Readers, apart: &Ports, chosen: &Chosen) -> Vec<(Elem, Elem, Vec<Reader>)> {
    let from = apart.makers[readers.value.index()].and_then(|class| chosen.elems[class.index()]);
    let Some(from) = from else { return Vec::new() };
    let mut by_type: BTreeMap<Elem, Vec<Reader>> = BTreeMap::new();
    for (class, by) in &readers.by_class {
        if let Some(to) = chosen.elems[class.index()].filter(|to| *to != from) {
            by_type.entry(to).or_default().extend(by);
        }
    }
    by_type
        .into_iter()
        .map(|(to, mut by)| {
            by.sort_unstable();
            (from, to, by)
        })
        .collect()
}

/// Values with their readers, in the order of values.
fn groups(checked: &mut Checked<'_>, apart: &Ports) -> (Vec<Readers>, Vec<Group>) {
    let mut found: BTreeMap<(ValueId, GraphId, bool), BTreeMap<ClassId, Vec<Reader>>> = BTreeMap::new();
    let body = checked.body();
    for read in &apart.reads {
        let own = body.value(read.value).graph;
        let (place, converts) = match read.by {
            Reader::Output { graph, .. } if graph == body.root() => {
                // The name of an output has to go to the conversion, and an input cannot give up its own.
                (own, !matches!(body.value(read.value).origin, Origin::Input | Origin::InputWithDefault(_)))
            }
            // A graph gives values of its own only, so what it captures is converted inside.
            Reader::Output { graph, .. } => (graph, true),
            Reader::Input { .. } => (own, true),
        };
        let readers = found.entry((read.value, place, converts)).or_default();
        readers.entry(read.class).or_default().push(read.by);
    }
    let (mut readers, mut groups) = (Vec::new(), Vec::new());
    for ((value, graph, converts), by_class) in found {
        let Some(maker) = apart.makers[value.index()] else { continue };
        let is_tensor = matches!(checked.type_of(value), Type::Tensor(_) | Type::Error | Type::Unknown(_));
        groups.push(Group {
            maker,
            readers: by_class.keys().copied().collect(),
            converts: converts && is_tensor,
            stored: stored(checked.body(), value),
            declared: derived_declaration(checked, value),
        });
        readers.push(Readers { value, graph, by_class });
    }
    (readers, groups)
}

fn stored(body: &Body<'_>, value: ValueId) -> Stored {
    match body.value(value).origin {
        Origin::Initializer(_) | Origin::InputWithDefault(_) => Stored::Yes,
        // A node without inputs is a constant.
        Origin::Step(step) if body.inputs(body.first_step(step)).is_empty() => Stored::Yes,
        Origin::Step(_) | Origin::Input | Origin::Undefined => Stored::No,
    }
}

/// Whether a reader is an output of the model, whose name callers know.
fn is_interface(body: &Body<'_>, reader: Reader) -> bool {
    matches!(reader, Reader::Output { graph, .. } if graph == body.root())
}

/// In front of which node of a graph a value is read first, by that node or inside it; nothing for the end.
fn position(body: &Body<'_>, graph: GraphId, readers: &[Reader]) -> Option<usize> {
    let first = readers.iter().filter_map(|reader| {
        let mut step = match *reader {
            Reader::Input { step, .. } => step,
            Reader::Output { graph: of, .. } if of == graph => return None,
            Reader::Output { graph: of, .. } => body.graph(of).owner?.step,
        };
        loop {
            if body.step(step).graph == graph {
                return usize::try_from(body.step(step).position).ok();
            }
            step = body.graph(body.step(step).graph).owner?.step;
        }
    });
    first.min()
}

/// How many nodes a graph has.
fn nodes_of(body: &Body<'_>, graph: GraphId) -> usize {
    let (from, to) = body.graph(graph).steps;
    let own = (from..to).map(StepId::new).filter(|step| body.step(*step).graph == graph);
    own.filter_map(|step| usize::try_from(body.step(step).position).ok()).max().map_or(0, |last| last + 1)
}

/// An element type as a part of a name.
fn word(elem: Elem) -> &'static str {
    elem.onnx_name().unwrap_or("other")
}

/// The names that a model uses.
pub(crate) struct Names {
    taken: HashSet<String>,
    /// The number to try next for a name that was wanted before.
    next: HashMap<String, usize>,
}

impl Names {
    pub(crate) fn new(body: &Body<'_>) -> Self {
        let mut taken: BTreeSet<String> =
            body.values().map(|value| body.value_name(value).to_owned()).collect();
        taken.extend(body.node_names().map(str::to_owned));
        Self { taken: taken.into_iter().collect(), next: HashMap::new() }
    }

    /// A name that nothing has, as close to the one that is wanted as possible.
    pub(crate) fn fresh(&mut self, wanted: &str) -> String {
        // Names are never given back, so that smaller numbers stay taken.
        let next = self.next.entry(wanted.to_owned()).or_insert(1);
        loop {
            let name = if *next == 1 { wanted.to_owned() } else { format!("{wanted}_{next}") };
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}
