//! The arena: nodes, symbols and anonymous variables.
//!
//! A node is a constant that does not fit into an id, an *atom* (symbol, variable, floor division,
//! minimum), a *product* of at least two atoms, or a *sum* of terms. What is asked about a node often
//! (its bounds, its written size, whether it mentions a variable) is computed once, when it is interned.
//!
//! **Invariant:** two nodes never have the same content, so within one arena equal content is an equal id.
//! **Invariant:** children have smaller indices than their parents; only the binding of a variable may
//! point to a younger node, and the occurs check of [`Dims::bind`] keeps that acyclic.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::bounds::Interval;
use super::facts::Facts;
use super::id::DimId;
use super::poly::Term;

/// A range in one of the arena's flat lists.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    start: u32,
    len: u32,
}

impl Span {
    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// What a node is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A constant beyond the inline range.
    Constant(i64),
    /// A named symbol: its position among the names.
    Symbol(u32),
    /// An anonymous variable: its position among the variables.
    Variable(u32),
    /// The floor of a quotient.
    Floor { numerator: DimId, denominator: DimId },
    /// The least of at least two dims, sorted by id.
    Min(Span),
    /// At least two atoms with repetition, sorted by id.
    Product(Span),
    /// At least two terms, or one with a coefficient that is not 1; sorted by monomial.
    Sum(Span),
}

/// What is known of a node without looking at its children again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Summary {
    pub(super) bounds: Interval,
    /// Leaves when written out, so that neither a display nor a walk can blow up.
    pub(super) size: u16,
    /// How deep floors and minima are nested.
    pub(super) nesting: u8,
    /// Factors of the largest monomial.
    pub(super) degree: u8,
    /// Whether an anonymous variable is mentioned, bound or not.
    pub(super) variable: bool,
}

impl Summary {
    pub(super) fn leaf(bounds: Interval, degree: u8, variable: bool) -> Self {
        Self { bounds, size: 1, nesting: 0, degree, variable }
    }
}

#[derive(Clone, Debug)]
struct Node {
    kind: Kind,
    summary: Summary,
    hash: u64,
    /// The resolved form, valid for bindings up to `memo_epoch`.
    memo: DimId,
    memo_epoch: u32,
}

/// What an anonymous variable ranges over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Range {
    /// Integers from 0 on.
    Extent,
    /// All integers.
    Integer,
}

#[derive(Clone, Debug)]
struct Variable {
    range: Range,
    binding: Option<DimId>,
}

/// The operations whose answer can be unknown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Operation {
    Add,
    Sub,
    Mul,
    FloorDiv,
    CeilDiv,
    Modulo,
    Min,
    Max,
    Rebuild,
}

/// The most terms of a sum.
pub(super) const MAX_TERMS: usize = 64;
/// The most factors of a monomial.
pub(super) const MAX_DEGREE: usize = 8;
/// The deepest nesting of floors and minima.
pub(super) const MAX_NESTING: u8 = 8;
/// The most leaves of a dim when written out.
pub(super) const MAX_SIZE: usize = 512;
/// The most arguments of one minimum.
pub(super) const MAX_ARGUMENTS: usize = 8;

/// The arena of dims. See the [module](crate::dim) documentation for the theory.
#[derive(Clone, Default)]
pub struct Dims {
    nodes: Vec<Node>,
    lists: Vec<DimId>,
    terms: Vec<Term>,
    index: HashTable<DimId>,
    names: Vec<Box<str>>,
    symbols: HashTable<DimId>,
    variables: Vec<Variable>,
    /// Counts bindings, so that a memo from before the latest one is recognised.
    epoch: u32,
    unknowns: HashMap<(Operation, DimId, DimId), DimId, RandomState>,
    /// The unknowns of operations that are beyond the limits, in ascending order.
    given_up: Vec<DimId>,
    /// How the author of a model writes a dim.
    spellings: HashMap<DimId, Box<str>, RandomState>,
    /// The symbols that no input declares and that a declaration gives to an unknown extent.
    names_of_unknowns: HashSet<DimId, RandomState>,
    hasher: RandomState,
    /// What is assumed while one case is solved.
    pub(super) facts: Facts,
}

impl Dims {
    /// An empty arena.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The constant `value`.
    pub fn constant(&mut self, value: i64) -> DimId {
        if DimId::INLINE_RANGE.contains(&value)
            && let Ok(small) = i32::try_from(value)
        {
            return DimId::inline(small);
        }
        let hash = self.hash(0, [value.cast_unsigned()]);
        self.find(hash, |_, kind| matches!(kind, Kind::Constant(other) if *other == value)).unwrap_or_else(
            || self.push(Kind::Constant(value), Summary::leaf(Interval::point(value), 0, false), hash),
        )
    }

    /// The symbol with this name: rigid, an integer from 0 on, the same wherever the name is the same.
    pub fn symbol(&mut self, name: &str) -> DimId {
        let hash = self.hasher.hash_one(name);
        if let Some(found) = self.symbols.find(hash, |&id| self.as_symbol(id) == Some(name)) {
            return *found;
        }
        let position = u32::try_from(self.names.len()).expect("fewer names than nodes");
        self.names.push(name.into());
        let id = self.push_unindexed(Kind::Symbol(position), Summary::leaf(Interval::EXTENT, 1, false), hash);
        self.symbols.insert_unique(hash, id, |id| match id.index() {
            Some(index) => self.nodes[index].hash,
            None => 0,
        });
        id
    }

    /// A new anonymous variable for an extent that nobody named: one definite integer from 0 on.
    pub fn fresh(&mut self) -> DimId {
        self.fresh_in(Range::Extent)
    }

    /// A new symbol without a name that ranges over an interval.
    pub(super) fn bounded(&mut self, bounds: Interval) -> DimId {
        let position = u32::try_from(self.names.len()).expect("fewer names than nodes");
        self.names.push(Box::default());
        self.push_unindexed(Kind::Symbol(position), Summary::leaf(bounds, 1, false), 0)
    }

    /// How many variables were ever made.
    pub(crate) fn variable_count(&self) -> usize {
        self.variables.len()
    }

    /// How often a variable was bound.
    pub(crate) fn binding_count(&self) -> usize {
        self.epoch as usize
    }

    /// A new anonymous variable for a number of which nothing is known: one definite integer of any sign.
    pub fn fresh_integer(&mut self) -> DimId {
        self.fresh_in(Range::Integer)
    }

    fn fresh_in(&mut self, range: Range) -> DimId {
        let bounds = match range {
            Range::Extent => Interval::EXTENT,
            Range::Integer => Interval::ALL,
        };
        let position = u32::try_from(self.variables.len()).expect("fewer variables than nodes");
        let node = self.push_unindexed(Kind::Variable(position), Summary::leaf(bounds, 1, true), 0);
        self.variables.push(Variable { range, binding: None });
        node
    }

    /// The number that stands for the answer of an operation that is beyond the limits, or undefined.
    ///
    /// The same operation on the same arguments is the same unknown, as long as that is not bound.
    pub(super) fn unknown(&mut self, operation: Operation, a: DimId, b: DimId) -> DimId {
        let (a, b) = match operation {
            Operation::Add | Operation::Mul | Operation::Min | Operation::Max => (a.min(b), a.max(b)),
            Operation::Sub
            | Operation::FloorDiv
            | Operation::CeilDiv
            | Operation::Modulo
            | Operation::Rebuild => (a, b),
        };
        if let Some(&known) = self.unknowns.get(&(operation, a, b))
            && self.binding(known).is_none()
        {
            return known;
        }
        let natural = self.summary(a).bounds.low >= 0 && self.summary(b).bounds.low >= 0;
        let range = match operation {
            Operation::Sub => Range::Integer,
            Operation::Add
            | Operation::Mul
            | Operation::FloorDiv
            | Operation::CeilDiv
            | Operation::Modulo
            | Operation::Min
            | Operation::Max
            | Operation::Rebuild
                if natural =>
            {
                Range::Extent
            }
            Operation::Add
            | Operation::Mul
            | Operation::FloorDiv
            | Operation::CeilDiv
            | Operation::Modulo
            | Operation::Min
            | Operation::Max
            | Operation::Rebuild => Range::Integer,
        };
        let fresh = self.fresh_in(range);
        self.unknowns.insert((operation, a, b), fresh);
        // A quotient by what may be zero or negative is undefined rather than beyond a limit.
        let is_undefined = match operation {
            Operation::FloorDiv | Operation::CeilDiv | Operation::Modulo => self.summary(b).bounds.low < 1,
            Operation::Add
            | Operation::Sub
            | Operation::Mul
            | Operation::Min
            | Operation::Max
            | Operation::Rebuild => false,
        };
        if !is_undefined {
            self.given_up.push(fresh);
        }
        fresh
    }

    /// Whether an operation was beyond the limits.
    pub(crate) fn has_given_up(&self) -> bool {
        !self.given_up.is_empty()
    }

    /// Whether a variable is the answer of an operation that was beyond the limits.
    pub(crate) fn is_given_up(&self, variable: DimId) -> bool {
        self.given_up.binary_search(&variable).is_ok()
    }

    /// Makes new unknowns for operations whose answer is unknown, so that bindings of one case do not reach another.
    pub(crate) fn forget_unknowns(&mut self) {
        self.unknowns.clear();
    }

    /// The value of a constant.
    #[must_use]
    pub fn as_constant(&self, dim: DimId) -> Option<i64> {
        if let Some(value) = dim.inline_value() {
            return Some(value);
        }
        let dim = self.chase(dim);
        match self.kind(dim) {
            Some(Kind::Constant(value)) => Some(value),
            Some(_) => None,
            None => dim.inline_value(),
        }
    }

    /// The name of a symbol.
    #[must_use]
    pub fn as_symbol(&self, dim: DimId) -> Option<&str> {
        match self.kind(self.chase(dim)) {
            Some(Kind::Symbol(position)) => self.names.get(position as usize).map(|name| &**name),
            _ => None,
        }
    }

    /// Whether the dim is an anonymous variable, unbound, and nothing else.
    #[must_use]
    pub fn is_variable(&self, dim: DimId) -> bool {
        matches!(self.kind(self.chase(dim)), Some(Kind::Variable(_)))
    }

    /// Whether an unbound anonymous variable is mentioned.
    #[must_use]
    pub fn is_anonymous(&self, dim: DimId) -> bool {
        self.summary(dim).variable && !self.variables_of(dim).is_empty()
    }

    /// Notes that a symbol is the name of an unknown extent.
    pub(crate) fn names_unknown(&mut self, symbol: DimId) {
        self.names_of_unknowns.insert(symbol);
    }

    /// Whether a dim mentions an unknown extent, or a symbol that is nothing but the name of one.
    pub(crate) fn is_unknown(&self, dim: DimId) -> bool {
        self.is_anonymous(dim)
            || !self.names_of_unknowns.is_empty()
                && self.symbols_of(dim).iter().any(|symbol| self.names_of_unknowns.contains(symbol))
    }

    /// How the author wrote the dim, if it was declared.
    pub(super) fn spelling(&self, dim: DimId) -> Option<&str> {
        self.spellings.get(&dim).map(|spelling| &**spelling)
    }

    /// Keeps the author's way of writing a dim, unless there is one already.
    pub(super) fn set_spelling(&mut self, dim: DimId, spelling: &str) {
        self.spellings.entry(dim).or_insert_with(|| spelling.into());
    }

    /// The end of a chain of bindings from variable to variable.
    pub(super) fn chase(&self, mut dim: DimId) -> DimId {
        while let Some(Kind::Variable(position)) = self.kind(dim)
            && let Some(next) = self.variables[position as usize].binding
        {
            dim = next;
        }
        dim
    }

    /// The binding of a variable, `None` for an unbound one and for everything that is not a variable.
    pub(super) fn binding(&self, dim: DimId) -> Option<DimId> {
        match self.kind(dim) {
            Some(Kind::Variable(position)) => self.variables[position as usize].binding,
            _ => None,
        }
    }

    /// Shortens a chain of bindings; no statement about any dim changes.
    pub(super) fn compress(&mut self, variable: DimId, value: DimId) {
        if let Some(Kind::Variable(position)) = self.kind(variable) {
            self.variables[position as usize].binding = Some(value);
        }
    }

    /// The numerator and the denominator of a floor.
    pub(super) fn as_floor(&self, dim: DimId) -> Option<(DimId, DimId)> {
        match self.kind(dim) {
            Some(Kind::Floor { numerator, denominator }) => Some((numerator, denominator)),
            _ => None,
        }
    }

    /// Whether the dim is a symbol or a variable.
    pub(super) fn is_leaf(&self, dim: DimId) -> bool {
        matches!(self.kind(dim), Some(Kind::Symbol(_) | Kind::Variable(_)))
    }

    pub(super) fn set_binding(&mut self, variable: DimId, value: DimId) {
        if let Some(Kind::Variable(position)) = self.kind(variable) {
            self.variables[position as usize].binding = Some(value);
            self.epoch += 1;
        }
    }

    pub(super) fn range_of(&self, variable: DimId) -> Option<Range> {
        match self.kind(variable) {
            Some(Kind::Variable(position)) => Some(self.variables[position as usize].range),
            _ => None,
        }
    }

    /// The resolved form from the last walk, if no variable was bound since.
    pub(super) fn memo(&self, dim: DimId) -> Option<DimId> {
        let Some(index) = dim.index() else { return Some(dim) };
        let node = &self.nodes[index];
        if !node.summary.variable {
            return Some(dim);
        }
        (node.memo_epoch == self.epoch).then_some(node.memo)
    }

    pub(super) fn set_memo(&mut self, dim: DimId, resolved: DimId) {
        if let Some(index) = dim.index() {
            self.nodes[index].memo = resolved;
            self.nodes[index].memo_epoch = self.epoch;
        }
    }

    /// What the dim is; `None` for a constant in the id.
    pub(super) fn kind(&self, dim: DimId) -> Option<Kind> {
        dim.index().map(|index| self.nodes[index].kind)
    }

    pub(super) fn list(&self, span: Span) -> &[DimId] {
        &self.lists[span.range()]
    }

    pub(super) fn sum_terms(&self, span: Span) -> &[Term] {
        &self.terms[span.range()]
    }

    pub(super) fn summary(&self, dim: DimId) -> Summary {
        match (dim.index(), dim.inline_value()) {
            (Some(index), _) => self.nodes[index].summary,
            (None, value) => Summary::leaf(Interval::point(value.unwrap_or(0)), 0, false),
        }
    }

    pub(super) fn hash(&self, tag: u64, words: impl IntoIterator<Item = u64>) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u64(tag);
        for word in words {
            hasher.write_u64(word);
        }
        hasher.finish()
    }

    pub(super) fn find(&self, hash: u64, same: impl Fn(&Self, &Kind) -> bool) -> Option<DimId> {
        let at = |id: &DimId| id.index().is_some_and(|index| same(self, &self.nodes[index].kind));
        self.index.find(hash, at).copied()
    }

    pub(super) fn push_terms(&mut self, terms: &[Term]) -> Span {
        let span = Span { start: offset(self.terms.len()), len: offset(terms.len()) };
        self.terms.extend_from_slice(terms);
        span
    }

    pub(super) fn push_list(&mut self, list: &[DimId]) -> Span {
        let span = Span { start: offset(self.lists.len()), len: offset(list.len()) };
        self.lists.extend_from_slice(list);
        span
    }

    pub(super) fn push(&mut self, kind: Kind, summary: Summary, hash: u64) -> DimId {
        let id = self.push_unindexed(kind, summary, hash);
        let nodes = &self.nodes;
        self.index.insert_unique(hash, id, |id| id.index().map_or(0, |index| nodes[index].hash));
        id
    }

    fn push_unindexed(&mut self, kind: Kind, summary: Summary, hash: u64) -> DimId {
        let id = DimId::node(self.nodes.len());
        self.nodes.push(Node { kind, summary, hash, memo: id, memo_epoch: self.epoch });
        id
    }
}

fn offset(len: usize) -> u32 {
    u32::try_from(len).expect("an arena of 2^32 list entries does not fit into memory")
}
