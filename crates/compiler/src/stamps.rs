//! The types of a program's values, in the order in which the program makes them.
//!
//! A stamp for each value of a large program is mostly read the way it was made: from the first value to the last. So names and
//! stamps stand in two lists, and a cursor that walks the program beside them compares one name at each step. Whoever
//! asks out of order gets an index of the names, which is made when it is first needed: one probe of a large table
//! costs more than all else that a pass does with a node.

use std::cell::OnceCell;

use typeloom_onnx::messages::TypeProto;

use crate::ir::Map;

/// The types of a program's values.
#[derive(Clone, Debug, Default)]
pub struct Solved {
    /// The values of each graph: of the main one first, then of those nested in it, outer ones first, in the order of
    /// nodes and attributes.
    graphs: Vec<Named>,
    /// The stamps; values of one type share one.
    stamps: Vec<Stamp>,
}

/// The type of one value.
#[derive(Clone, Debug, PartialEq)]
pub struct Stamp {
    /// As a message: the denotation of the concrete node, element type and shape.
    pub ty: TypeProto,
    /// The concrete node of the type tree; nothing for containers and what is not settled.
    pub node: Option<&'static str>,
    /// Whether it is settled.
    pub concrete: bool,
}

/// A stamp, by its position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StampId(u32);

/// One value: how long its name is, and its stamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    length: u32,
    stamp: StampId,
}

/// The values of one graph.
#[derive(Clone, Debug, Default)]
struct Named {
    /// All names, one after the other.
    names: String,
    entries: Vec<Entry>,
    /// The place of each name, once somebody asked out of order.
    index: OnceCell<Map<Box<str>, Spot>>,
}

/// A place in the lists of a graph.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Spot {
    entry: usize,
    start: usize,
}

impl Named {
    fn at(&self, spot: Spot) -> Option<(&str, StampId, Spot)> {
        let entry = self.entries.get(spot.entry)?;
        let end = spot.start + entry.length as usize;
        Some((self.names.get(spot.start..end)?, entry.stamp, Spot { entry: spot.entry + 1, start: end }))
    }

    fn spot(&self, name: &str) -> Option<Spot> {
        let index = self.index.get_or_init(|| {
            let mut index =
                Map::with_capacity_and_hasher(self.entries.len(), foldhash::fast::RandomState::default());
            let mut spot = Spot::default();
            while let Some((name, _, next)) = self.at(spot) {
                index.insert(name.into(), spot);
                spot = next;
            }
            index
        });
        index.get(name).copied()
    }
}

impl Solved {
    /// For a program with so many graphs.
    pub(crate) fn new(graphs: usize) -> Self {
        Self { graphs: vec![Named::default(); graphs], stamps: Vec::new() }
    }

    /// Makes room for values of the main graph.
    pub(crate) fn reserve(&mut self, values: usize) {
        if let Some(main) = self.graphs.first_mut() {
            main.entries.reserve_exact(values);
        }
    }

    pub(crate) fn add_stamp(&mut self, stamp: Stamp) -> StampId {
        self.stamps.push(stamp);
        StampId(u32::try_from(self.stamps.len() - 1).unwrap_or(u32::MAX))
    }

    /// Adds a value of a graph, behind those that are there.
    pub(crate) fn push(&mut self, graph: usize, name: &str, stamp: StampId) {
        if let (Some(named), Ok(length)) = (self.graphs.get_mut(graph), u32::try_from(name.len())) {
            named.names.push_str(name);
            named.entries.push(Entry { length, stamp });
            named.index.take();
        }
    }

    /// The type of a value of the main graph.
    #[must_use]
    pub fn get(&self, value: &str) -> Option<&Stamp> {
        self.of(0, value)
    }

    /// The type of a value of a graph.
    pub(crate) fn of(&self, graph: usize, value: &str) -> Option<&Stamp> {
        let named = self.graphs.get(graph)?;
        let (_, stamp, _) = named.at(named.spot(value)?)?;
        Some(self.stamp(stamp))
    }

    /// The type of a value as a graph sees it: its own, or one of a graph around it.
    pub(crate) fn seen_from(&self, graph: usize, value: &str) -> Option<&Stamp> {
        std::iter::once(graph).chain(0..self.graphs.len()).find_map(|graph| self.of(graph, value))
    }

    pub(crate) fn stamp(&self, id: StampId) -> &Stamp {
        &self.stamps[id.0 as usize]
    }

    /// Walks the values of a graph.
    pub(crate) fn cursor(&self, graph: usize) -> Option<Cursor<'_>> {
        Some(Cursor { named: self.graphs.get(graph)?, next: Spot::default() })
    }
}

/// Where somebody who walks a graph is.
pub(crate) struct Cursor<'s> {
    named: &'s Named,
    next: Spot,
}

impl<'s> Cursor<'s> {
    /// The name and the stamp of a value: of the next one, if it is that.
    pub(crate) fn find(&mut self, name: &str) -> Option<(&'s str, StampId)> {
        let found = match self.named.at(self.next) {
            Some(found) if found.0 == name => found,
            Some(_) | None => self.named.at(self.named.spot(name)?)?,
        };
        self.next = found.2;
        Some((found.0, found.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solved() -> Solved {
        let mut solved = Solved::new(2);
        for (graph, name, node) in [
            (0, "x", "tensor.f32"),
            (0, "", "tensor.i8"),
            (0, "long name", "tensor.i64"),
            (1, "x", "tensor.bool"),
        ] {
            let id = solved.add_stamp(Stamp { ty: TypeProto::default(), node: Some(node), concrete: true });
            solved.push(graph, name, id);
        }
        solved
    }

    #[test]
    fn values_are_found_in_any_order() {
        let solved = solved();
        let node = |stamp: Option<&Stamp>| stamp.and_then(|stamp| stamp.node);
        assert_eq!(node(solved.get("long name")), Some("tensor.i64"));
        assert_eq!(node(solved.get("x")), Some("tensor.f32"));
        assert_eq!(node(solved.of(1, "x")), Some("tensor.bool"));
        assert_eq!(node(solved.of(1, "long name")), None);
        assert_eq!(node(solved.seen_from(1, "long name")), Some("tensor.i64"));
        assert_eq!(node(solved.get("other")), None);
    }

    #[test]
    fn a_cursor_makes_no_index_while_it_is_asked_in_order() {
        let solved = solved();
        let mut cursor = solved.cursor(0).unwrap();
        for name in ["x", "", "long name"] {
            assert_eq!(cursor.find(name).unwrap().0, name);
        }
        assert!(solved.graphs[0].index.get().is_none());
        assert_eq!(cursor.find("x").unwrap().0, "x");
        assert!(solved.graphs[0].index.get().is_some());
        assert_eq!(cursor.find("").unwrap().0, "");
    }
}
