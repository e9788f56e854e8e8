//! The assignment of nodes to the device and the CPU, and the values that cross between them.
//!
//! ```text
//! x -> Relu -> NonZero -> Cast -> y        device, CPU, device: two partitions
//! ```
//!
//! A partition is a set of nodes of the device that run without a stop. Nodes of the device with the same
//! *level* are one partition: the level is the largest number of changes from the CPU to the device on a path
//! to the node. No path leaves a level and comes back to it, so each partition can run as a whole.
//!
//! A value crosses if a node of one side makes it, or it is an input of the graph, and a node of the other
//! side reads it. Inputs and outputs of the graph are on the CPU; they are counted apart from crossings.
//!
//! **Cost:** linear in the model, apart from the expressions of sizes.

use std::collections::{BTreeMap, BTreeSet};

use typeloom_dim::DimId;
use typeloom_onnx::domain::canonical;
use typeloom_onnx::view::{DimValue, TypeKindView};
use typeloom_solver::diagnostic::{TargetIssue, TargetSite};
use typeloom_solver::model::Checked;
use typeloom_solver::model::bodies::SolvedBody;
use typeloom_solver::program::{Body, BodySource, StepId, StepKind, ValueId};

use super::advice::Advices;
use super::folded::Folded;
use super::node::{Found, found, is_conversion};
use super::table::{Assignment, Inputs, Table};

/// The assignment of the nodes of a model.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Placement {
    /// The nodes of the graph, apart from constants, in the order of the file. A call of a function is where
    /// the worst of its nodes is.
    pub nodes: Vec<PlacedNode>,
    /// The number of partitions.
    pub partitions: usize,
    /// The bytes of the values that cross between the device and the CPU in one run, as an expression in the
    /// symbols; `None` if a size is not known.
    pub crossing: Option<String>,
    /// Conditions on the symbols under which this holds.
    pub conditions: Vec<String>,
    /// The symbols that have to be numbers, because only fixed extents were measured.
    pub fixed: Vec<String>,
}

/// A node with its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlacedNode {
    /// The position of the node in the graph.
    pub position: usize,
    /// The device or the CPU.
    pub place: Assignment,
    /// The number of its partition, from 0; `None` for a node that is not on the device.
    pub partition: Option<usize>,
}

impl Placement {
    /// The number of nodes with a place.
    #[must_use]
    pub fn count(&self, place: Assignment) -> usize {
        self.nodes.iter().filter(|node| node.place == place).count()
    }
}

/// A body with the assignment of its nodes.
type Placed<'a> = (SolvedBody<'a>, BTreeMap<StepId, Assignment>);

/// The issues of a model, and where its nodes run.
pub(crate) fn placement<'a>(
    table: &Table<'static>,
    checked: &mut Checked<'a>,
    issues: &mut Vec<(TargetSite<'a>, TargetIssue)>,
) -> Placement {
    let mut placement = Placement::default();
    let mut conditions = BTreeSet::new();
    let mut advices = Advices::default();
    let mut bodies: Vec<Placed<'a>> = Vec::new();
    let (unnamed, inputs) = unnamed(checked);
    if table.is_fixed {
        conditions.extend(inputs.iter().map(|input| format!("the unnamed extents of `{input}` are numbers")));
    }
    undeclared(table.inputs, checked, issues);
    let bodies_to_place = match table.rejects_functions {
        true => checked.bodies().into_iter().take(1).collect(),
        false => checked.bodies(),
    };
    for body in bodies_to_place {
        let mut places = BTreeMap::new();
        for (step, found) in nodes(table, checked, &body, &unnamed, &mut advices) {
            let Found { place, conditions: own, reason, advice } = found;
            conditions.extend(own);
            places.insert(step, place);
            if let Some(issue) = issue(table, place, reason, advice) {
                issues.push((TargetSite::Node(body.clone(), step), issue));
            }
        }
        conversions(&body.body, &mut places);
        bodies.push((body, places));
    }
    let Some((main, _)) = bodies.first().cloned() else { return placement };
    let places = with_calls(checked, &bodies);
    let levels = levels(&main.body, &places);
    let mut used: Vec<usize> = levels.values().copied().collect();
    used.sort_unstable();
    used.dedup();
    placement.nodes.extend(places.iter().map(|(step, place)| PlacedNode {
        position: main.body.step(*step).position as usize,
        place: *place,
        partition: levels.get(step).and_then(|level| used.binary_search(level).ok()),
    }));
    placement.nodes.sort_by_key(|node| node.position);
    placement.partitions = used.len();
    placement.crossing = crossing(checked, &main, &places);
    placement.conditions = conditions.into_iter().collect();
    if table.is_fixed {
        placement.fixed = symbols(checked);
    }
    if !placement.conditions.is_empty() || !placement.fixed.is_empty() {
        let (conditions, fixed) = (placement.conditions.clone(), placement.fixed.clone());
        issues.push((TargetSite::Model, TargetIssue::Condition { conditions, fixed }));
    }
    placement
}

/// The places of the nodes of a body. Those that are computed before need no place; calls and conversions are decided by others.
fn nodes<'a>(
    table: &Table<'static>,
    checked: &mut Checked<'a>,
    solved: &SolvedBody<'a>,
    unnamed: &BTreeSet<DimId>,
    advices: &mut Advices,
) -> Vec<(StepId, Found)> {
    let body = &solved.body;
    let folded = Folded::new(table, checked, solved);
    let used = used(body);
    let measures_constants = table.operator("ai.onnx::Constant").is_some();
    let (from, to) = body.graph(body.root()).steps;
    let mut found_nodes = Vec::new();
    for step in (from..to).map(StepId::new) {
        let is_exit = matches!(body.step(step).kind, StepKind::Exit(_));
        let is_decided_by_others =
            checked.is_call(body, step) || (is_conversion(body, step) && is_attached(body, step));
        if checked.is_call(body, step) && table.rejects_functions {
            found_nodes.push((step, Found::nowhere("a call of a function of the model".to_owned())));
        }
        let is_used = used.contains(&step);
        if is_exit
            || (folded.has_all_of(body, step) && !measures_constants)
            || is_decided_by_others
            || (!is_used && table.removes_unused)
        {
            continue;
        }
        let mut found = found(table, checked, solved, step, &folded, unnamed, advices);
        if !is_used && found.place != Assignment::Device {
            found = Found::unknown("nothing reads its results, and the runtime may remove it".to_owned());
        }
        found_nodes.push((step, found));
    }
    found_nodes
}

/// The steps on which an output of the graph depends.
fn used(body: &Body<'_>) -> BTreeSet<StepId> {
    let root = body.graph(body.root());
    let mut values: BTreeSet<ValueId> = root.outputs.iter().copied().collect();
    let mut used = BTreeSet::new();
    // A node with nested graphs ends after them.
    for step in (root.steps.0..root.steps.1).rev().map(StepId::new) {
        let outputs = body.outputs(body.last_step(step));
        if outputs.iter().flatten().any(|value| values.contains(value)) {
            values.extend(body.inputs(step).iter().flatten());
            if let StepKind::Exit(start) = body.step(step).kind {
                values.extend(body.graphs_of(start).flat_map(|(_, graph)| graph.outputs.iter().copied()));
            }
            used.insert(step);
        }
    }
    used
}

/// Reports inputs of the model whose types declare too little.
fn undeclared<'a>(
    inputs: Inputs,
    checked: &mut Checked<'a>,
    issues: &mut Vec<(TargetSite<'a>, TargetIssue)>,
) {
    let body = checked.shared_body();
    for input in &body.graph(body.root()).inputs {
        let name = body.value_name(*input);
        let (reason, advice) = match inputs {
            _ if body.is_stored(*input) => continue,
            Inputs::Ranked
                if declared(&body, *input).is_none() && !body.consumers().of(*input).is_empty() =>
            {
                (format!("the input `{name}` has no declared rank"), format!("declare the shape of `{name}`"))
            }
            Inputs::Named
                if declared(&body, *input).is_none_or(|extents| extents.contains(&DimValue::Unknown)) =>
            {
                (
                    format!("the input `{name}` has an extent without a number or name"),
                    format!("declare the shape of `{name}` with a name for each open extent"),
                )
            }
            Inputs::Any | Inputs::Ranked | Inputs::Named => continue,
        };
        issues.push((TargetSite::Model, TargetIssue::Operator { reason, advice: Some(advice) }));
    }
}

/// The declared extents of a tensor; none for another value.
fn declared<'a>(body: &Body<'a>, value: ValueId) -> Option<Vec<DimValue<'a>>> {
    let mut kinds = body.declarations(value).filter_map(|declaration| declaration.ty.parse().ok());
    match kinds.next()?.kind {
        TypeKindView::Tensor { shape, .. } => {
            shape?.dims().map(|dim| dim.ok().map(|dim| dim.value)).collect()
        }
        _ => Some(Vec::new()),
    }
}

/// Whether a conversion is next to a node that was measured together with it.
fn is_attached(body: &Body<'_>, step: StepId) -> bool {
    neighbours(body, step).any(|other| !is_conversion(body, other))
        || neighbours(body, step).any(|other| neighbours(body, other).any(|next| !is_conversion(body, next)))
}

/// The nodes that make the inputs of a node, and those that read its outputs.
fn neighbours(body: &Body<'_>, step: StepId) -> impl Iterator<Item = StepId> {
    let makers = body.inputs(step).iter().flatten().filter_map(|value| body.maker(*value));
    let readers = body.outputs(step).iter().flatten().flat_map(|value| body.consumers().of(*value));
    makers.chain(readers.copied())
}

/// Conversions are where the nodes are that were measured with them: the worst place of the neighbours.
fn conversions(body: &Body<'_>, places: &mut BTreeMap<StepId, Assignment>) {
    let (from, to) = body.graph(body.root()).steps;
    let open = (from..to).map(StepId::new);
    let mut open: Vec<StepId> =
        open.filter(|step| is_conversion(body, *step) && !places.contains_key(step)).collect();
    // A pair of conversions has one that is next to a node; the other one follows in the second round.
    for _ in 0..2 {
        let of = |step: &StepId, places: &BTreeMap<StepId, Assignment>| {
            neighbours(body, *step).filter_map(|other| places.get(&other).copied()).max()
        };
        let found: Vec<(StepId, Assignment)> =
            open.iter().filter_map(|step| Some((*step, of(step, places)?))).collect();
        places.extend(found);
        open.retain(|step| !places.contains_key(step));
    }
}

/// The places of the nodes of the graph, with calls of functions: a call is where the worst of its nodes is.
fn with_calls<'a>(checked: &Checked<'a>, bodies: &[Placed<'a>]) -> BTreeMap<StepId, Assignment> {
    let Some((main, own)) = bodies.first() else { return BTreeMap::new() };
    let mut by_function: BTreeMap<(&str, &str), Vec<&Placed<'a>>> = BTreeMap::new();
    for body in bodies {
        if let Some(function) = source(&body.0.body) {
            by_function.entry(function).or_default().push(body);
        }
    }
    let worst_of = |function| {
        let mut worst = None;
        let (mut open, mut seen) = (vec![function], BTreeSet::new());
        while let Some(function) = open.pop() {
            if !seen.insert(function) {
                continue;
            }
            for (body, places) in by_function.get(&function).into_iter().flatten() {
                worst = worst.max(Some(places.values().copied().max().unwrap_or(Assignment::Device)));
                open.extend(calls(checked, &body.body).map(|inner| key(checked, &body.body, inner)));
            }
        }
        worst.unwrap_or(Assignment::Unknown)
    };
    let mut known: BTreeMap<(&str, &str), Assignment> = BTreeMap::new();
    let mut places = own.clone();
    for call in calls(checked, &main.body) {
        let function = key(checked, &main.body, call);
        let place = *known.entry(function).or_insert_with(|| worst_of(function));
        places.insert(call, place);
    }
    places
}

fn calls<'b, 'a>(checked: &'b Checked<'a>, body: &'b Body<'a>) -> impl Iterator<Item = StepId> + use<'b, 'a> {
    let (from, to) = body.graph(body.root()).steps;
    (from..to).map(StepId::new).filter(|step| checked.is_call(body, *step))
}

/// The function that a node calls.
fn key<'a>(checked: &Checked<'a>, body: &Body<'a>, call: StepId) -> (&'a str, &'a str) {
    (checked.domain_of(body, call), body.op_name(call))
}

/// The function whose body this is.
pub(crate) fn source<'a>(body: &Body<'a>) -> Option<(&'a str, &'a str)> {
    match body.source() {
        BodySource::Main(_) => None,
        BodySource::Function(view) => {
            Some((canonical(view.domain().unwrap_or_default()), view.name().unwrap_or_default()))
        }
    }
}

/// The issue of a node that does not run on the device.
fn issue(
    table: &Table<'_>,
    place: Assignment,
    reason: String,
    advice: Option<String>,
) -> Option<TargetIssue> {
    let source = table.source.to_owned();
    match place {
        Assignment::Device => None,
        Assignment::Cpu => Some(TargetIssue::Fallback { reason, source, advice }),
        Assignment::Nowhere => Some(TargetIssue::Measured { reason, source, advice }),
        Assignment::Unknown => Some(TargetIssue::Undecided { reason, advice }),
    }
}

/// The level of each node of the device: the largest number of changes from the CPU to the device on a path to
/// it. Nodes are in an order in which values are made before they are read.
fn levels(body: &Body<'_>, places: &BTreeMap<StepId, Assignment>) -> BTreeMap<StepId, usize> {
    let mut all: BTreeMap<StepId, usize> = BTreeMap::new();
    for (step, place) in places {
        let makers = body.inputs(*step).iter().flatten().filter_map(|value| body.maker(*value));
        let level = makers.filter_map(|maker| {
            let level = all.get(&maker)?;
            let is_change = *place == Assignment::Device && places.get(&maker) != Some(&Assignment::Device);
            Some(level + usize::from(is_change))
        });
        let level = level.max().unwrap_or_default();
        all.insert(*step, level);
    }
    all.retain(|step, _| places.get(step) == Some(&Assignment::Device));
    all
}

/// The bytes that cross between the device and the CPU.
fn crossing<'a>(
    checked: &mut Checked<'a>,
    main: &SolvedBody<'a>,
    places: &BTreeMap<StepId, Assignment>,
) -> Option<String> {
    let body = &main.body;
    let mut crossing: BTreeSet<ValueId> = BTreeSet::new();
    for (step, place) in places {
        for value in body.inputs(*step).iter().flatten() {
            let maker = body.maker(*value).and_then(|maker| places.get(&maker));
            if maker.is_some_and(|maker| (*maker == Assignment::Device) != (*place == Assignment::Device)) {
                crossing.insert(*value);
            }
        }
    }
    let mut bytes: Vec<DimId> = Vec::new();
    for value in crossing {
        let ty = checked.type_within(main, value);
        let tensor = ty.tensor()?;
        let bits = tensor.elem.single()?.dtype()?.size_bits()?;
        let shape = tensor.shape.as_ref()?;
        let dims = checked.dims_mut();
        if shape.iter().any(|dim| dims.is_unknown(*dim)) {
            return None;
        }
        let elements = dims.product(shape);
        let (bits, eight) = (dims.constant(i64::from(bits)), dims.constant(8));
        let bits = dims.mul(elements, bits);
        bytes.push(dims.ceil_div(bits, eight));
    }
    let dims = checked.dims_mut();
    let sum = dims.sum(&bytes);
    Some(dims.display(sum).to_string())
}

/// The extents of inputs of the model that have no name, and the inputs that have them.
fn unnamed(checked: &mut Checked<'_>) -> (BTreeSet<DimId>, Vec<String>) {
    let body = checked.shared_body();
    let (mut found, mut inputs) = (BTreeSet::new(), Vec::new());
    for input in &body.graph(body.root()).inputs {
        let ty = checked.type_of(*input);
        let shapes = ty.tensors().filter_map(|tensor| tensor.shape.as_ref());
        let dims = checked.dims();
        let variables: Vec<DimId> = shapes.flatten().flat_map(|dim| dims.variables_of(*dim)).collect();
        if !variables.is_empty() {
            inputs.push(body.value_name(*input).to_owned());
        }
        found.extend(variables);
    }
    (found, inputs)
}

/// The symbols of the inputs of the model.
fn symbols(checked: &mut Checked<'_>) -> Vec<String> {
    let body = checked.shared_body();
    let mut found = BTreeSet::new();
    for input in &body.graph(body.root()).inputs {
        let ty = checked.type_of(*input);
        let dims = checked.dims();
        for dim in ty.tensors().filter_map(|tensor| tensor.shape.as_ref()).flatten() {
            let symbols = dims.symbols_of(*dim);
            found.extend(symbols.iter().filter_map(|symbol| dims.as_symbol(*symbol)).map(str::to_owned));
        }
    }
    found.into_iter().collect()
}
