//! The column of changes between two models: lists of changed nodes and values only, so that it is short for
//! one model.

use super::Error;
use super::bytes::{Reader, Writer};
use crate::scene::{
    Change, ChangedItem, Comparison, ListedChange, Node, NodeId, Scene, Subject, TypeId, Value, ValueId,
};

/// Writes the changes of a scene.
pub(super) fn write(scene: &Scene, out: &mut Writer) {
    match &scene.comparison {
        None => out.byte(0),
        Some(Comparison { listed, total }) => {
            out.byte(1);
            out.count(*total);
            out.count(listed.len());
            for ListedChange { change, subject, text, count, items } in listed {
                out.byte(byte_of(*change));
                write_item(*subject, text, out);
                out.count(*count);
                out.count(items.len());
                items.iter().for_each(|ChangedItem { subject, text }| write_item(*subject, text, out));
            }
        }
    }
    let is_changed = |node: &Node| {
        node.change != Change::Same || !node.differences.is_empty() || !node.old_reads.is_empty()
    };
    let nodes = scene.nodes.iter().enumerate().filter(|(_, node)| is_changed(node));
    let mut sparse = Sparse::of(out, nodes.clone().count());
    for (at, Node { change, differences, old_reads, .. }) in nodes {
        let out = sparse.item(at);
        out.byte(byte_of(*change));
        out.count(differences.len());
        differences.iter().for_each(|text| out.text(text));
        out.count(old_reads.len());
        old_reads.iter().for_each(|value| out.count(value.index()));
    }
    let is_changed =
        |value: &Value| value.change != Change::Same || value.old_type.is_some() || value.old_name.is_some();
    let values = scene.values.iter().enumerate().filter(|(_, value)| is_changed(value));
    let mut sparse = Sparse::of(out, values.clone().count());
    for (at, Value { change, old_type, old_name, .. }) in values {
        let out = sparse.item(at);
        out.byte(byte_of(*change) | u8::from(old_name.is_some()) << 2);
        out.count(old_type.map_or(0, |ty| ty.index() + 1));
        old_name.iter().for_each(|name| out.text(name));
    }
}

fn write_item(subject: Subject, text: &str, out: &mut Writer) {
    match subject {
        Subject::Model => out.byte(0),
        Subject::Node(node) => {
            out.byte(1);
            out.count(node.index());
        }
        Subject::Value(value) => {
            out.byte(2);
            out.count(value.index());
        }
    }
    out.text(text);
}

fn read_item(scene: &Scene, input: &mut Reader<'_>) -> Result<ChangedItem, Error> {
    let subject = match input.byte()? {
        0 => Subject::Model,
        1 => Subject::Node(NodeId::new(input.position(scene.nodes.len())?)),
        2 => Subject::Value(ValueId::new(input.position(scene.values.len())?)),
        _ => return Err(input.invalid("the part that changed is unknown")),
    };
    Ok(ChangedItem { subject, text: input.text()?.to_owned() })
}

/// A count of changes, which is not the length of a list.
fn number(input: &mut Reader<'_>) -> Result<usize, Error> {
    usize::try_from(input.number()?).map_err(|_| input.invalid("a number is too large"))
}

/// A list of positions in increasing order, each with an item.
struct Sparse<'w> {
    out: &'w mut Writer,
    next: usize,
}

impl<'w> Sparse<'w> {
    fn of(out: &'w mut Writer, count: usize) -> Self {
        out.count(count);
        Self { out, next: 0 }
    }

    fn item(&mut self, at: usize) -> &mut Writer {
        self.out.count(at - self.next);
        self.next = at + 1;
        self.out
    }
}

/// Reads the changes of a scene that has its nodes, values and types.
pub(super) fn read(scene: &mut Scene, input: &mut Reader<'_>) -> Result<(), Error> {
    scene.comparison = match input.byte()? {
        0 => None,
        1 => {
            let total = number(input)?;
            let mut listed = Vec::new();
            for _ in 0..input.count()? {
                let change = change_of(input)?;
                let ChangedItem { subject, text } = read_item(scene, input)?;
                let count = number(input)?;
                let mut items = Vec::new();
                for _ in 0..input.count()? {
                    items.push(read_item(scene, input)?);
                }
                listed.push(ListedChange { change, subject, text, count, items });
            }
            Some(Comparison { listed, total })
        }
        _ => return Err(input.invalid("the kind of a comparison is unknown")),
    };
    let mut next = 0;
    for _ in 0..input.count()? {
        let at = next + input.position(scene.nodes.len().saturating_sub(next))?;
        next = at + 1;
        let change = change_of(input)?;
        let mut differences = Vec::new();
        for _ in 0..input.count()? {
            differences.push(input.text()?.to_owned());
        }
        let mut old_reads = Vec::new();
        for _ in 0..input.count()? {
            old_reads.push(ValueId::new(input.position(scene.values.len())?));
        }
        let node = &mut scene.nodes[at];
        (node.change, node.differences, node.old_reads) = (change, differences, old_reads);
    }
    next = 0;
    for _ in 0..input.count()? {
        let at = next + input.position(scene.values.len().saturating_sub(next))?;
        next = at + 1;
        let code = input.byte()?;
        let change = change_with(code & 3);
        if code >> 3 != 0 {
            return Err(input.invalid("the change of a value is unknown"));
        }
        let old_type = input.position(scene.types.len() + 1)?.checked_sub(1).map(TypeId::new);
        let old_name = match code >> 2 & 1 {
            0 => None,
            _ => Some(input.text()?.to_owned()),
        };
        let value = &mut scene.values[at];
        (value.change, value.old_type, value.old_name) = (change, old_type, old_name);
    }
    Ok(())
}

fn byte_of(change: Change) -> u8 {
    match change {
        Change::Same => 0,
        Change::Added => 1,
        Change::Removed => 2,
        Change::Changed => 3,
    }
}

fn change_of(input: &mut Reader<'_>) -> Result<Change, Error> {
    match input.byte()? {
        code @ 0..=3 => Ok(change_with(code)),
        _ => Err(input.invalid("the kind of a change is unknown")),
    }
}

/// The change with the lowest two bits of a byte.
fn change_with(code: u8) -> Change {
    match code & 3 {
        0 => Change::Same,
        1 => Change::Added,
        2 => Change::Removed,
        _ => Change::Changed,
    }
}
