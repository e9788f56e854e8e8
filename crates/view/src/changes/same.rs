//! Changes that several items share: the change without the parts that differ from item to item.
//!
//! ```text
//! a: float[N, 4] -> float16[N, 4]        float -> float16
//! b: float[8]    -> float16[8]           float -> float16
//! c: float[1, 4] -> float[batch, 4]      extent 1 -> batch
//! ```

use super::text::{Both, difference, evidences};
use super::{Direction, NodeChange, NodeDifference, PortChange, PortDifference};
use crate::scene::{NodeId, Scene, TypeId, ValueId};
use crate::text::{MAX_NAME, MAX_TYPE, short};

/// A change that several items can share.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Kind {
    /// The items, as a noun in the singular.
    pub(crate) noun: String,
    /// The change.
    pub(crate) text: String,
}

/// The change of an input or output of which only the type has changed.
pub(crate) fn of_port(scenes: Both<'_>, change: &PortChange) -> Option<Kind> {
    let PortChange { direction, old: Some(old), new: Some(new), differences } = change else { return None };
    if differences[..] != [PortDifference::Type] {
        return None;
    }
    let noun = match direction {
        Direction::Input => "input",
        Direction::Output => "output",
    };
    Some(Kind { noun: noun.to_owned(), text: of_values(scenes, *old, *new) })
}

/// The change of a node that is in both models.
pub(crate) fn of_node(scenes: Both<'_>, change: &NodeChange) -> Option<Kind> {
    let NodeChange::Changed { old, new, differences, others: 0 } = change else { return None };
    let texts: Vec<String> = differences.iter().map(|it| of_difference(scenes, [*old, *new], it)).collect();
    let operator = short(&scenes[1].operator(*new).name, MAX_NAME);
    Some(Kind { noun: format!("{operator} node"), text: texts.join("; ") })
}

fn of_difference(scenes: Both<'_>, [old, new]: [NodeId; 2], of: &NodeDifference) -> String {
    match of {
        NodeDifference::Stored { port, old, new }
            if scenes[0].type_text(*old) != scenes[1].type_text(*new) =>
        {
            format!("stored input {port}: {}", of_values(scenes, *old, *new))
        }
        NodeDifference::Stored { .. }
        | NodeDifference::Operator
        | NodeDifference::Attribute { .. }
        | NodeDifference::Input { .. }
        | NodeDifference::Output { .. } => difference(scenes, old, new, of),
    }
}

/// The change of the type of a value.
pub(crate) fn of_value(scenes: Both<'_>, old: ValueId, new: ValueId) -> Kind {
    Kind { noun: "value".to_owned(), text: of_values(scenes, old, new) }
}

fn of_values([old, new]: Both<'_>, first: ValueId, second: ValueId) -> String {
    if old.type_text(first) == new.type_text(second) {
        return evidences(old.value(first).evidence, new.value(second).evidence);
    }
    let types = [(old, old.value(first).ty), (new, new.value(second).ty)];
    let [before, after] = extents(types).unwrap_or_else(|| elements(types));
    format!("{} -> {}", short(&before, MAX_TYPE), short(&after, MAX_TYPE))
}

type Types<'s> = [(&'s Scene, TypeId); 2];

/// The old and the new extent of two types that differ in one extent, or several times in the same way.
fn extents(types: Types<'_>) -> Option<[String; 2]> {
    let [old, new] = types.map(|(scene, ty)| &scene.types[ty.index()]);
    if old.texts != new.texts || old.shapes.len() != new.shapes.len() {
        return None;
    }
    let mut found: Option<[String; 2]> = None;
    for (before, after) in old.shapes.iter().zip(&new.shapes) {
        if before.len() != after.len() {
            return None;
        }
        for (before, after) in before.iter().zip(after) {
            let pair = [
                types[0].0.extent(*before).text().into_owned(),
                types[1].0.extent(*after).text().into_owned(),
            ];
            match &found {
                _ if pair[0] == pair[1] => {}
                Some(known) if *known != pair => return None,
                Some(_) => {}
                None => found = Some(pair),
            }
        }
    }
    found.map(|[before, after]| [format!("extent {before}"), after])
}

/// Two types without their shapes if these are equal.
fn elements(types: Types<'_>) -> [String; 2] {
    let shapes = types.map(|(scene, ty)| {
        let shapes = scene.types[ty.index()].shapes.iter();
        let text =
            |shape: &Vec<_>| shape.iter().map(|it| scene.extent(*it).text().into_owned()).collect::<Vec<_>>();
        shapes.map(text).collect::<Vec<_>>()
    });
    if shapes[0] == shapes[1] {
        types.map(|(scene, ty)| scene.types[ty.index()].texts.concat())
    } else {
        types.map(|(scene, ty)| scene.text_of(ty).to_owned())
    }
}
