//! The measurement that fits one node.

use std::collections::BTreeSet;

use typeloom_dim::DimId;
use typeloom_onnx::domain::shown as shown_domain;
use typeloom_solver::model::Checked;
use typeloom_solver::model::bodies::SolvedBody;
use typeloom_solver::program::{Body, StepId, ValueId};
use typeloom_solver::solution::Type;

use super::advice::Advices;
use super::folded::Folded;
use super::property::{Subject, Value};
use super::table::{Assignment, Node, Operator, Table};

/// The value of a property that is not known before the run.
const UNKNOWN: &str = "unknown";
/// The largest number of leaves that a walk looks at.
const MAX_LEAVES: usize = 256;
/// The largest number of conditions of a case; with more, the node is undecided.
const MAX_CONDITIONS: usize = 4;

/// The result for a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    pub(crate) place: Assignment,
    /// The conditions of the assignment; empty if it always holds.
    pub(crate) conditions: BTreeSet<String>,
    /// The properties that decide, or why the place is unknown.
    pub(crate) reason: String,
    /// A change after which the device runs the node.
    pub(crate) advice: Option<String>,
}

impl Found {
    pub(crate) fn nowhere(reason: String) -> Self {
        Self { place: Assignment::Nowhere, conditions: BTreeSet::new(), reason, advice: None }
    }

    pub(crate) fn unknown(reason: String) -> Self {
        Self { place: Assignment::Unknown, conditions: BTreeSet::new(), reason, advice: None }
    }
}

/// The place of a node, the best one if it depends on symbols.
pub(crate) fn found<'a>(
    table: &Table<'static>,
    checked: &mut Checked<'a>,
    body: &SolvedBody<'a>,
    step: StepId,
    folded: &Folded,
    unnamed: &BTreeSet<DimId>,
    advices: &mut Advices,
) -> Found {
    let Some(schema) = checked.schema_of(&body.body, step) else {
        return Found::unknown("its operator is unknown here".to_owned());
    };
    let suffix = if is_quantized(&body.body, step) { "/quantized" } else { "" };
    let name = format!("{}::{}{suffix}", shown_domain(&schema.domain), schema.name);
    let Some(operator) = table.operator(&name) else {
        let kind = if suffix.is_empty() { "" } else { " with quantised values" };
        return Found::unknown(format!("no node of this operator{kind} was measured"));
    };
    let mut subject = Subject { checked, body, step, schema, operator, folded, unnamed };
    if table.is_fixed
        && let Some(name) = unfixable(&mut subject)
    {
        return Found::unknown(format!(
            "the extents of `{name}` depend on data, and measured ones were fixed"
        ));
    }
    let values = operator.properties.iter().map(|(name, measured)| match subject.property(name) {
        // Some tables have rows for properties that are not known before the run.
        Value::Unknown if measured.contains(&UNKNOWN) => Value::Known(UNKNOWN.to_owned()),
        value => value,
    });
    let values: Vec<Value> = values.collect();
    let found = match not_measured(operator, &values) {
        Some(reason) => Found::unknown(reason),
        None => decide(operator, &values),
    };
    if found.place == Assignment::Device && table.through.is_none() && depends_on_graphs(&mut subject) {
        return Found::unknown("a measured node has other nested graphs".to_owned());
    }
    let advice = advices.of(&name, &values, found.place, &mut subject);
    Found { advice, ..found }
}

/// Whether the outcome of a node depends on its nested graphs, which no property is about. `If` and `Loop` run
/// if their nodes do, which are decided on their own, and their values are tensors of known ranks. A `Scan`
/// also depends on the number of values that its graph takes from outside.
fn depends_on_graphs(subject: &mut Subject<'_, '_>) -> bool {
    let Subject { checked, body, step, .. } = subject;
    let graph = &body.body;
    let last = graph.last_step(*step);
    // Of several values, a property is about the first one.
    let mut values = graph.inputs(*step).iter().chain(graph.outputs(last)).flatten();
    let is_ranked = |value: &ValueId| match checked.type_within(body, *value) {
        Type::Tensor(tensor) => tensor.shape.is_some(),
        _ => false,
    };
    last != *step && !(matches!(graph.op_name(*step), "If" | "Loop") && values.all(is_ranked))
}

/// The reason why the table has no row like a node: the first property with a value that no row has.
///
/// A version that was not measured is no exception: between measured versions of one operator, 1 row in 100
/// differs, most of them for no reason in the specification.
fn not_measured(operator: &Operator<'_>, values: &[Value]) -> Option<String> {
    values.iter().zip(&operator.properties).find_map(|(value, (name, measured))| match value {
        Value::Known(value) if !measured.contains(&value.as_str()) => {
            Some(format!("no measured node has {}", shown(name, value)))
        }
        Value::Known(_) | Value::Open(_) | Value::Unknown => None,
    })
}

/// A present input or output with an extent that is decided by data.
fn unfixable(subject: &mut Subject<'_, '_>) -> Option<String> {
    let body = std::sync::Arc::clone(&subject.body.body);
    let outputs = body.outputs(body.last_step(subject.step));
    for value in body.inputs(subject.step).iter().chain(outputs).flatten() {
        let ty = subject.checked.type_within(subject.body, *value);
        let Some(shape) = ty.tensor().and_then(|tensor| tensor.shape.as_ref()) else { continue };
        let dims = subject.checked.dims();
        // An extent can have a name although data decides it.
        let is_unfixable = |dim: &DimId| {
            let unknown = dims.variables_of(*dim);
            let is_named = unknown.is_empty() && dims.is_unknown(*dim);
            is_named || unknown.iter().any(|variable| !subject.unnamed.contains(variable))
        };
        if shape.iter().any(is_unfixable) {
            return Some(body.value_name(*value).to_owned());
        }
    }
    None
}

/// A leaf that a walk reaches.
struct Case {
    place: Assignment,
    conditions: BTreeSet<String>,
    tested: Vec<(usize, usize)>,
    /// Whether a property on the way is not known.
    is_guess: bool,
}

/// Walks the tree of an operator by the properties of a node.
pub(crate) fn decide(operator: &Operator<'_>, values: &[Value]) -> Found {
    let start =
        Case { place: Assignment::Unknown, conditions: BTreeSet::new(), tested: Vec::new(), is_guess: false };
    let mut open = vec![(operator.tree(), start)];
    let mut cases: Vec<Case> = Vec::new();
    let mut missing: Option<usize> = None;
    while let Some((node, mut case)) = open.pop() {
        if cases.len() + open.len() > MAX_LEAVES {
            return Found::unknown("too many of its properties are unknown".to_owned());
        }
        let (property, branches) = match node {
            Node::Leaf(place) => {
                case.place = place;
                cases.push(case);
                continue;
            }
            Node::Test(property, branches) => (property, branches),
        };
        let Some((_, measured)) = operator.properties.get(property) else { continue };
        let mut follow = |number: usize, condition: Option<&str>, is_guess: bool| {
            let mut case = Case {
                place: Assignment::Unknown,
                conditions: case.conditions.clone(),
                tested: case.tested.clone(),
                is_guess: case.is_guess || is_guess,
            };
            case.conditions.extend(condition.map(str::to_owned));
            case.tested.push((property, number));
            match branches.of(number) {
                Some(node) => open.push((node, case)),
                None => {
                    missing = Some(property);
                    cases.push(case);
                }
            }
        };
        // A path that tests a property again stays with the value that it took.
        if let Some((_, number)) = case.tested.iter().find(|(tested, _)| *tested == property) {
            follow(*number, None, false);
            continue;
        }
        match values.get(property) {
            Some(Value::Known(value)) => {
                let number = measured.iter().position(|known| known == value).unwrap_or(usize::MAX);
                follow(number, None, false);
            }
            Some(Value::Open(alternatives)) => {
                for (value, condition) in alternatives {
                    let number = measured.iter().position(|known| known == value).unwrap_or(usize::MAX);
                    follow(number, Some(condition), false);
                }
            }
            Some(Value::Unknown) | None => {
                for number in 0..measured.len() {
                    follow(number, None, true);
                }
            }
        }
    }
    best(operator, values, cases, missing)
}

/// The case to report: the only place, or the best one that known conditions lead to.
fn best(operator: &Operator<'_>, values: &[Value], cases: Vec<Case>, missing: Option<usize>) -> Found {
    let places: BTreeSet<Assignment> = cases.iter().map(|case| case.place).collect();
    let is_only = places.len() == 1;
    let mut found: Vec<&Case> = cases.iter().filter(|case| case.place != Assignment::Unknown).collect();
    found.sort_by_key(|case| (case.place, case.conditions.len()));
    let Some(case) = found.first() else {
        return Found::unknown(match missing {
            Some(property) => {
                let (name, _) = operator.properties[property];
                match &values[property] {
                    Value::Known(value) => {
                        format!(
                            "no measured node has {} together with its other properties",
                            shown(name, value)
                        )
                    }
                    Value::Open(_) | Value::Unknown => format!("no measured node has its `{name}`"),
                }
            }
            None => "measurements of such nodes contradict each other".to_owned(),
        });
    };
    // The same place can be reached by several conditions, which together may be no condition at all.
    let of_place = found.iter().filter(|other| other.place == case.place);
    let is_guess = of_place.clone().all(|case| case.is_guess);
    if !is_only && (is_guess || case.conditions.len() > MAX_CONDITIONS) {
        let unknown = values.iter().zip(&operator.properties).find(|(value, _)| **value == Value::Unknown);
        let name = unknown.map_or("", |(_, (name, _))| *name);
        return Found::unknown(format!("it depends on its `{name}`, which is not known"));
    }
    let conditions = if is_only { BTreeSet::new() } else { case.conditions.clone() };
    // A path can test a property twice.
    let mut words: Vec<String> = Vec::new();
    for (property, value) in &case.tested {
        let (name, measured) = &operator.properties[*property];
        let word = shown(name, measured[*value]);
        if measured.len() > 1 && !words.contains(&word) {
            words.push(word);
        }
    }
    let reason = if words.is_empty() { "any properties".to_owned() } else { words.join(", ") };
    Found { place: case.place, conditions, reason, advice: None }
}

/// A property with its value, for messages.
pub(crate) fn shown(name: &str, value: &str) -> String {
    let (family, rest) = name.split_once('.').unwrap_or((name, ""));
    match (family, value) {
        ("version", _) => format!("version {value}"),
        ("type" | "rank" | "attribute", _) if family != "attribute" => {
            format!("{family} {value} of `{rest}`")
        }
        ("attribute", _) => format!("`{rest}` = {value}"),
        ("present", "true") => format!("an input `{rest}`"),
        ("present", _) => format!("no input `{rest}`"),
        ("constant", "true") => format!("a constant `{rest}`"),
        ("constant", _) => format!("a computed `{rest}`"),
        ("quantized", "none") => format!("a `{rest}` that is not quantised"),
        ("quantized", _) => format!("a `{rest}` quantised to {value}"),
        ("extents", "open") => format!("a `{rest}` with open extents"),
        ("extents", _) => format!("a `{rest}` with fixed extents"),
        ("single", "true") => format!("one element in `{rest}`"),
        ("single", _) => format!("several elements in `{rest}`"),
        ("has" | "given", "true") => format!("`{rest}`"),
        ("has" | "given", _) => format!("no `{rest}`"),
        _ => format!("{name} = {value}"),
    }
}

/// The integers from which `DequantizeLinear` makes a value.
pub(crate) fn dequantized(body: &Body<'_>, value: ValueId) -> Option<ValueId> {
    let step = body.maker(value)?;
    (body.op_name(step) == "DequantizeLinear").then(|| body.inputs(step).first().copied().flatten())?
}

/// The integers to which `QuantizeLinear` converts a value that nothing else reads.
pub(crate) fn requantized(body: &Body<'_>, value: ValueId) -> Option<ValueId> {
    let readers = body.consumers().of(value);
    let is_output = body.graph(body.value(value).graph).outputs.contains(&value);
    let [first, ..] = readers else { return None };
    if is_output || readers.iter().any(|reader| body.op_name(*reader) != "QuantizeLinear") {
        return None;
    }
    body.outputs(*first).first().copied().flatten()
}

/// Whether a node reads or makes quantised values, apart from the conversions themselves.
pub(crate) fn is_quantized(body: &Body<'_>, step: StepId) -> bool {
    if is_conversion(body, step) {
        return false;
    }
    let reads = body.inputs(step).iter().flatten().any(|value| dequantized(body, *value).is_some());
    let makes = body.outputs(body.last_step(step)).iter().flatten();
    reads || makes.into_iter().any(|value| requantized(body, *value).is_some())
}

/// Whether a node converts between floats and quantised integers.
pub(crate) fn is_conversion(body: &Body<'_>, step: StepId) -> bool {
    matches!(body.op_name(step), "QuantizeLinear" | "DequantizeLinear")
}
