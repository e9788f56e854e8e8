//! The types of all values of a program, by graph and name.

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::ops::Index;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use typeloom_tensor::value_type::ValueType;

use crate::model::Checked;
use crate::program::{Body, GraphId, ValueId};
use crate::solution::Type;
use crate::solution::convert::Converter;

/// The types of all values of a program.
///
/// Graphs have the numbers of a walk that visits a graph before the graphs nested in it, in the order of
/// nodes and of their attributes: the main graph is number 0. Each distinct type is stored once and has a
/// [`TypeNo`].
#[derive(Clone, Debug, Default)]
pub struct ValueTypes {
    types: Vec<ValueType>,
    graphs: Vec<GraphTypes>,
}

/// The values of one graph. Names are stored in one text: a table has as many names as its program.
#[derive(Clone, Debug, Default)]
struct GraphTypes {
    names: String,
    /// The end of each name in `names`, and the type.
    entries: Vec<(usize, TypeNo)>,
    /// Positions in `entries`, by name.
    index: HashTable<usize>,
    hasher: RandomState,
}

impl GraphTypes {
    fn reserve(&mut self, values: usize) {
        self.entries.reserve_exact(values);
        self.index.reserve(values, |_| 0);
    }

    fn name<'n>(names: &'n str, entries: &[(usize, TypeNo)], position: usize) -> &'n str {
        let start = position.checked_sub(1).map_or(0, |previous| entries[previous].0);
        &names[start..entries[position].0]
    }

    fn insert(&mut self, name: &str, ty: TypeNo) {
        self.names.push_str(name);
        self.entries.push((self.names.len(), ty));
        let Self { names, entries, index, hasher } = self;
        let hash = |position: &usize| hasher.hash_one(Self::name(names, entries, *position));
        index.insert_unique(hasher.hash_one(name), entries.len() - 1, hash);
    }

    fn get(&self, name: &str) -> Option<TypeNo> {
        let Self { names, entries, index, hasher } = self;
        let found = index.find(hasher.hash_one(name), |at| Self::name(names, entries, *at) == name)?;
        Some(entries[*found].1)
    }
}

/// The position of a type in [`ValueTypes::distinct`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TypeNo(u32);

impl TypeNo {
    /// The position as an index into arrays that are parallel to [`ValueTypes::distinct`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ValueTypes {
    /// The types of a checked program as a compiled program stores them: the symbols of a loop's body, which
    /// differ from iteration to iteration, are unknown dims.
    #[must_use]
    pub fn of_program(checked: &mut Checked<'_>) -> Self {
        let order = graphs_in_order(checked.body());
        let repeated = repeated(checked.body(), &order);
        Self::collect(checked, &order, Checked::type_of, |ty, graph| match repeated[graph] {
            true => ty.without_symbols(),
            false => ty,
        })
    }

    /// The types that hold without assuming any declared shape. A session verifies values against them. Types
    /// that are not concrete are unknown.
    #[must_use]
    pub fn proven(checked: &mut Checked<'_>) -> Self {
        let order = graphs_in_order(checked.body());
        Self::collect(checked, &order, Checked::proven_type_of, |ty, _| match ty.is_concrete() {
            true => ty,
            false => ValueType::default(),
        })
    }

    /// Collects the types of all values; `adapt` gets each distinct type of a graph with the number of the
    /// graph.
    fn collect<'a>(
        checked: &mut Checked<'a>,
        order: &[GraphId],
        type_of: fn(&mut Checked<'a>, ValueId) -> Type,
        adapt: impl Fn(ValueType, usize) -> ValueType,
    ) -> Self {
        let mut found = Self { types: Vec::new(), graphs: vec![GraphTypes::default(); order.len()] };
        found.graphs[0].reserve(checked.value_count());
        let numbers: HashMap<GraphId, usize, RandomState> =
            order.iter().enumerate().map(|(number, graph)| (*graph, number)).collect();
        let mut converter = Converter::default();
        let mut known: Vec<HashMap<Type, TypeNo, RandomState>> = vec![HashMap::default(); order.len()];
        for value in checked.body().values() {
            let Some(&graph) = numbers.get(&checked.body().value(value).graph) else { continue };
            let ty = type_of(checked, value);
            let number = match known[graph].get(&ty) {
                Some(number) => *number,
                None => {
                    let converted = converter.convert(&ty, checked.universe(), checked.dims());
                    let number =
                        TypeNo(u32::try_from(found.types.len()).expect("a table has fewer than 2^32 types"));
                    found.types.push(adapt(converted, graph));
                    known[graph].insert(ty, number);
                    number
                }
            };
            found.graphs[graph].insert(checked.body().value_name(value), number);
        }
        found
    }

    /// The distinct types, by number.
    #[must_use]
    pub fn distinct(&self) -> &[ValueType] {
        &self.types
    }

    /// The number of the type of a value of a graph.
    #[must_use]
    pub fn number_of(&self, graph: usize, name: &str) -> Option<TypeNo> {
        self.graphs.get(graph)?.get(name)
    }

    /// The type of a value of a graph.
    #[must_use]
    pub fn get(&self, graph: usize, name: &str) -> Option<&ValueType> {
        self.number_of(graph, name).map(|number| &self[number])
    }

    /// The type of a value that is visible in a graph: its own, or that of a graph around it.
    #[must_use]
    pub fn visible_from(&self, graph: usize, name: &str) -> Option<&ValueType> {
        std::iter::once(graph).chain(0..self.graphs.len()).find_map(|graph| self.get(graph, name))
    }
}

impl Index<TypeNo> for ValueTypes {
    type Output = ValueType;

    fn index(&self, number: TypeNo) -> &ValueType {
        &self.types[number.index()]
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
