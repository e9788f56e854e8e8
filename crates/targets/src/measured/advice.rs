//! Changes of a node after which the device runs it, by the measurements.
//!
//! One property of a node is replaced by another measured value, and the tree is walked again. A change is
//! advice only if a user can make it: a constant input, fixed extents, another version of the operator,
//! another value of an attribute, another element type of the same kind. The other properties of the node are
//! taken as they are, so advice is never applied without another look at the changed model.
//!
//! **Invariant:** advice names a place that rows of the table have; a change that leads to an unknown place is
//! not advice.
//!
//! **Cost:** a walk for each candidate, and at most [`MAX_PAIRS`] for pairs of them. Nodes with equal
//! properties share the result.

use std::collections::HashMap;

use typeloom_solver::diagnostic::same_kind;

use super::node::{decide, shown};
use super::property::{Subject, Value};
use super::table::{Assignment, Operator};

/// The largest number of pairs of changes that are tried.
const MAX_PAIRS: usize = 256;

/// The advice for nodes by operator and properties.
#[derive(Default)]
pub(crate) struct Advices(HashMap<(String, Vec<Value>, Vec<usize>), Option<String>>);

/// Another value of a property.
struct Change {
    property: usize,
    value: String,
    cost: usize,
}

impl Advices {
    /// The best change for a node that the device does not run, as a sentence.
    pub(crate) fn of(
        &mut self,
        name: &str,
        values: &[Value],
        place: Assignment,
        subject: &mut Subject<'_, '_>,
    ) -> Option<String> {
        if place == Assignment::Device {
            return None;
        }
        let operator = subject.operator;
        let changes = changes(operator, values, subject);
        let tried: Vec<usize> = changes.iter().map(|change| change.property).collect();
        let key = (name.to_owned(), values.to_vec(), tried);
        self.0.entry(key).or_insert_with(|| advice(operator, values, place, &changes)).clone()
    }
}

/// The changes that a user can make, the cheapest first.
fn changes(operator: &Operator<'_>, values: &[Value], subject: &mut Subject<'_, '_>) -> Vec<Change> {
    let mut found = Vec::new();
    for (property, ((name, measured), value)) in operator.properties.iter().zip(values).enumerate() {
        let (family, rest) = name.split_once('.').unwrap_or((name, ""));
        let Value::Known(current) = value else { continue };
        let others = measured.iter().filter(|other| *other != current).copied();
        let mut add = |value: &str, cost: usize| {
            found.push(Change { property, value: value.to_owned(), cost });
        };
        match family {
            "constant" if current == "false" && subject.can_be_constant(rest) => {
                others.filter(|other| *other == "true").for_each(|other| add(other, 0));
            }
            "extents" if current == "open" => {
                others.filter(|other| *other == "fixed").for_each(|other| add(other, 0));
            }
            "version" => {
                let number = |text: &str| text.parse::<usize>().unwrap_or_default();
                let own = number(current);
                // An older version is supported by more runtimes than a newer one.
                others.for_each(|other| {
                    let distance = number(other).abs_diff(own) * 2 + usize::from(number(other) > own);
                    add(other, 100 + distance);
                });
            }
            "attribute" if is_free(rest) && current != "none" => {
                others.filter(|other| *other != "none").for_each(|other| add(other, 200));
            }
            "given" if current == "false" => {
                others.filter(|other| *other == "true").for_each(|other| add(other, 200));
            }
            "type" => {
                let near = same_kind(current, &measured.iter().map(ToString::to_string).collect::<Vec<_>>());
                near.iter().enumerate().for_each(|(distance, other)| add(other, 300 + distance));
            }
            _ => {}
        }
    }
    found.sort_by_key(|change| change.cost);
    found
}

/// Whether another value of an attribute leaves the types of outputs and the meaning of other properties as
/// they are.
fn is_free(attribute: &str) -> bool {
    !matches!(attribute, "axis" | "dtype" | "p" | "size" | "stash_type" | "to" | "training_mode")
}

fn advice(
    operator: &Operator<'_>,
    values: &[Value],
    place: Assignment,
    changes: &[Change],
) -> Option<String> {
    let mut wanted = vec![Assignment::Device];
    if place == Assignment::Nowhere {
        wanted.push(Assignment::Cpu);
    }
    let singles = (0..changes.len()).map(|at| vec![at]);
    let mut pairs: Vec<Vec<usize>> = (0..changes.len())
        .flat_map(|second| (0..second).map(move |first| vec![first, second]))
        .filter(|pair| changes[pair[0]].property != changes[pair[1]].property)
        .take(MAX_PAIRS)
        .collect();
    pairs.sort_by_key(|pair| pair.iter().map(|at| changes[*at].cost).sum::<usize>());
    let mut other = None;
    for chosen in singles.chain(pairs) {
        let mut changed = values.to_vec();
        for at in &chosen {
            changed[changes[*at].property] = Value::Known(changes[*at].value.clone());
        }
        let is_measured = |(value, (_, measured)): (&Value, &(&str, Vec<&str>))| match value {
            Value::Known(value) => measured.contains(&value.as_str()),
            Value::Open(_) | Value::Unknown => true,
        };
        if !changed.iter().zip(&operator.properties).all(is_measured) {
            continue;
        }
        let found = decide(operator, &changed);
        if !wanted.contains(&found.place) {
            continue;
        }
        let sentence = || {
            let words: Vec<String> = chosen.iter().map(|at| text(operator, values, &changes[*at])).collect();
            let who = if found.place == Assignment::Device { "the device" } else { "the CPU" };
            let conditions: Vec<&str> = found.conditions.iter().map(String::as_str).collect();
            let under = match conditions.as_slice() {
                [] => String::new(),
                all => format!(", where {}", all.join(" and ")),
            };
            format!("{who} runs it with {}{under}", words.join(" and "))
        };
        if found.place == Assignment::Device {
            return Some(sentence());
        }
        other = other.or_else(|| Some(sentence()));
    }
    other
}

fn text(operator: &Operator<'_>, values: &[Value], change: &Change) -> String {
    let (name, _) = operator.properties[change.property];
    let new = shown(name, &change.value);
    match (name.split('.').next(), &values[change.property]) {
        (Some("version"), Value::Known(old)) => format!("{new} of the operator instead of {old}"),
        (Some("type" | "attribute"), Value::Known(old)) => format!("{new} instead of {old}"),
        (Some("constant"), _) => format!("{new} (an initializer)"),
        _ => new,
    }
}

impl Subject<'_, '_> {
    /// Whether a user can store an input in the file: a parameter such as a shape, and not the data.
    fn can_be_constant(&mut self, port: &str) -> bool {
        let is_first = self.schema.inputs.first().is_some_and(|formal| &*formal.name == port);
        let Some(value) = self.input(port) else { return false };
        let ty = self.checked.type_within(self.body, value);
        !is_first
            && ty.tensor().and_then(|tensor| tensor.shape.as_ref()).is_some_and(|shape| shape.len() <= 1)
    }
}
