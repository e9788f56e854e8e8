//! The arena: nodes, symbols and anonymous variables.
//!
//! A node is a constant beyond the inline range of ids, an *atom* (symbol, variable, floor division,
//! minimum), a *product* of at least two atoms, or a *sum* of terms. Frequently used properties of a node
//! (bounds, written size, whether it contains a variable) are computed when it is interned.
//!
//! **Invariant:** two nodes never have the same content, so equal content in one arena has equal ids.
//!
//! **Invariant:** children have smaller indices than their parents. Only the binding of a variable may refer
//! to a younger node; the occurs check of [`Dims::bind`] keeps bindings acyclic.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet, HashTable};

use crate::bounds::Interval;
use crate::facts::Facts;
use crate::id::DimId;
use crate::poly::Term;
use crate::prove::Prepared;
use crate::work::Work;

/// A range in one of the arena's flat lists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    start: u32,
    len: u32,
}

impl Span {
    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// The content of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// A constant beyond the inline range.
    Constant(i64),
    /// A named symbol, by its position among the names.
    Symbol(u32),
    /// An anonymous variable, by its position among the variables.
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

/// Cached properties of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    pub(crate) bounds: Interval,
    /// Number of leaves in the text, which bounds displays and traversals.
    pub(crate) size: u16,
    /// Nesting of floors and minima.
    pub(crate) nesting: u8,
    /// Number of factors of the largest monomial.
    pub(crate) degree: u8,
    /// Whether it contains an anonymous variable, bound or not.
    pub(crate) variable: bool,
}

impl Summary {
    pub(crate) fn leaf(bounds: Interval, degree: u8, variable: bool) -> Self {
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

/// The range of an anonymous variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Range {
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

/// The operations whose result can be unknown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Operation {
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

/// Maximum number of terms of a sum.
pub(crate) const MAX_TERMS: usize = 64;
/// Maximum number of factors of a monomial.
pub(crate) const MAX_DEGREE: usize = 8;
/// Maximum nesting of floors and minima.
pub(crate) const MAX_NESTING: u8 = 8;
/// Maximum number of leaves in the text.
pub(crate) const MAX_SIZE: usize = 512;
/// Maximum number of arguments of a minimum.
pub(crate) const MAX_ARGUMENTS: usize = 8;

/// The arena of dims. The documentation of the [crate] has the theory.
#[derive(Clone, Default)]
pub struct Dims {
    nodes: Vec<Node>,
    lists: Vec<DimId>,
    terms: Vec<Term>,
    index: HashTable<DimId>,
    names: Vec<Box<str>>,
    /// The symbols by their names.
    symbols: HashTable<DimId>,
    variables: Vec<Variable>,
    /// The number of bindings, which invalidates older memos.
    epoch: u32,
    unknowns: HashMap<(Operation, DimId, DimId), DimId, RandomState>,
    /// The unknown results of operations beyond the limits, in ascending order.
    given_up: Vec<DimId>,
    /// The author's notation of a dim.
    spellings: HashMap<DimId, Box<str>, RandomState>,
    /// The symbols that no input declares and that a declaration gives to an unknown extent.
    names_of_unknowns: HashSet<DimId, RandomState>,
    hasher: RandomState,
    /// The assumptions of the current case.
    pub(crate) facts: Facts,
    pub(crate) work: Work,
    /// The last arena of proofs in each style.
    pub(crate) prepared: Vec<Prepared>,
}

impl Dims {
    /// An empty arena.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the constant `value`.
    #[inline]
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

    /// Returns the symbol with this name: rigid, an integer from 0 on.
    pub fn symbol(&mut self, name: &str) -> DimId {
        let hash = self.hasher.hash_one(name);
        if let Some(found) = self.symbols.find(hash, |id| self.as_symbol(*id) == Some(name)) {
            return *found;
        }
        let position = u32::try_from(self.names.len()).expect("fewer names than nodes");
        self.names.push(name.into());
        let id = self.push_unindexed(Kind::Symbol(position), Summary::leaf(Interval::EXTENT, 1, false), hash);
        self.symbols.insert_unique(hash, id, |id| id.index().map_or(0, |index| self.nodes[index].hash));
        id
    }

    /// Whether a symbol with this name exists.
    pub fn has_symbol(&self, name: &str) -> bool {
        self.names.iter().any(|known| **known == *name)
    }

    /// Creates an anonymous variable for an extent: one definite integer from 0 on.
    pub fn fresh(&mut self) -> DimId {
        self.fresh_in(Range::Extent)
    }

    /// Creates a symbol without a name that ranges over an interval.
    pub(crate) fn bounded(&mut self, bounds: Interval) -> DimId {
        let position = u32::try_from(self.names.len()).expect("fewer names than nodes");
        self.names.push(Box::default());
        self.push_unindexed(Kind::Symbol(position), Summary::leaf(bounds, 1, false), 0)
    }

    /// The number of variables that were created.
    #[inline]
    pub fn variable_count(&self) -> usize {
        self.variables.len()
    }

    /// The number of times that a variable was bound.
    #[inline]
    pub fn binding_count(&self) -> usize {
        self.epoch as usize
    }

    /// Creates an anonymous variable for an integer of any sign.
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

    /// Returns the unknown result of an operation that is beyond the limits or undefined.
    ///
    /// The same operation on the same arguments has the same unknown, as long as that is not bound.
    pub(crate) fn unknown(&mut self, operation: Operation, a: DimId, b: DimId) -> DimId {
        let is_commutative =
            matches!(operation, Operation::Add | Operation::Mul | Operation::Min | Operation::Max);
        let (a, b) = if is_commutative { (a.min(b), a.max(b)) } else { (a, b) };
        if let Some(&known) = self.unknowns.get(&(operation, a, b))
            && self.binding(known).is_none()
        {
            return known;
        }
        let natural = self.summary(a).bounds.low >= 0 && self.summary(b).bounds.low >= 0;
        let range = if natural && operation != Operation::Sub { Range::Extent } else { Range::Integer };
        let fresh = self.fresh_in(range);
        self.unknowns.insert((operation, a, b), fresh);
        // A quotient by a divisor that may be zero or negative is undefined and not beyond a limit.
        let is_quotient = matches!(operation, Operation::FloorDiv | Operation::CeilDiv | Operation::Modulo);
        if !is_quotient || self.summary(b).bounds.low >= 1 {
            self.given_up.push(fresh);
        }
        fresh
    }

    /// Whether an operation exceeded the limits.
    #[inline]
    pub fn has_given_up(&self) -> bool {
        !self.given_up.is_empty()
    }

    /// Whether a variable is the result of an operation beyond the limits.
    pub fn is_given_up(&self, variable: DimId) -> bool {
        self.given_up.binary_search(&variable).is_ok()
    }

    /// Discards the unknown results of operations, so that bindings of one case do not affect another.
    pub fn forget_unknowns(&mut self) {
        self.unknowns.clear();
    }

    /// The value of a constant.
    #[must_use]
    #[inline]
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

    /// Whether the dim is a symbol of the model, and not one that an examination introduces.
    pub(crate) fn is_named(&self, dim: DimId) -> bool {
        self.as_symbol(dim).is_some_and(|name| !name.is_empty())
    }

    /// Whether the dim is an unbound anonymous variable.
    #[must_use]
    pub fn is_variable(&self, dim: DimId) -> bool {
        matches!(self.kind(self.chase(dim)), Some(Kind::Variable(_)))
    }

    /// Whether the dim contains an unbound anonymous variable.
    #[must_use]
    pub fn is_anonymous(&self, dim: DimId) -> bool {
        self.summary(dim).variable && !self.variables_of(dim).is_empty()
    }

    /// Records that a symbol names an unknown extent.
    pub fn names_unknown(&mut self, symbol: DimId) {
        self.names_of_unknowns.insert(symbol);
    }

    /// Whether a dim contains an unknown extent, or a symbol that names one.
    pub fn is_unknown(&self, dim: DimId) -> bool {
        self.is_anonymous(dim)
            || !self.names_of_unknowns.is_empty()
                && self.symbols_of(dim).iter().any(|symbol| self.names_of_unknowns.contains(symbol))
    }

    /// The author's notation of a dim, if it was declared.
    pub(crate) fn spelling(&self, dim: DimId) -> Option<&str> {
        self.spellings.get(&dim).map(|spelling| &**spelling)
    }

    /// Stores the author's notation of a dim, unless there is one.
    pub(crate) fn set_spelling(&mut self, dim: DimId, spelling: &str) {
        self.spellings.entry(dim).or_insert_with(|| spelling.into());
    }

    /// Follows bindings from variable to variable to the end of the chain.
    pub(crate) fn chase(&self, mut dim: DimId) -> DimId {
        while let Some(next) = self.binding(dim) {
            dim = next;
        }
        dim
    }

    /// The position of an anonymous variable among the variables; `None` for other dims.
    fn variable(&self, dim: DimId) -> Option<usize> {
        if let Some(Kind::Variable(position)) = self.kind(dim) { Some(position as usize) } else { None }
    }

    /// The value of a bound variable; `None` for an unbound one and for other dims.
    pub(crate) fn binding(&self, dim: DimId) -> Option<DimId> {
        self.variables[self.variable(dim)?].binding
    }

    /// Shortens a chain of bindings. The meaning of dims does not change.
    pub(crate) fn compress(&mut self, variable: DimId, value: DimId) {
        if let Some(position) = self.variable(variable) {
            self.variables[position].binding = Some(value);
        }
    }

    /// The numerator and the denominator of a floor.
    pub(crate) fn as_floor(&self, dim: DimId) -> Option<(DimId, DimId)> {
        match self.kind(dim) {
            Some(Kind::Floor { numerator, denominator }) => Some((numerator, denominator)),
            _ => None,
        }
    }

    /// The arguments of a minimum.
    pub(crate) fn as_min(&self, dim: DimId) -> Option<&[DimId]> {
        match self.kind(dim) {
            Some(Kind::Min(span)) => Some(self.list(span)),
            _ => None,
        }
    }

    /// Whether the dim is a symbol or a variable.
    pub(crate) fn is_leaf(&self, dim: DimId) -> bool {
        matches!(self.kind(dim), Some(Kind::Symbol(_) | Kind::Variable(_)))
    }

    pub(crate) fn set_binding(&mut self, variable: DimId, value: DimId) {
        self.compress(variable, value);
        self.epoch += 1;
    }

    pub(crate) fn range_of(&self, variable: DimId) -> Option<Range> {
        Some(self.variables[self.variable(variable)?].range)
    }

    /// The resolved form of an earlier traversal, if no variable was bound since.
    pub(crate) fn memo(&self, dim: DimId) -> Option<DimId> {
        let Some(index) = dim.index() else { return Some(dim) };
        let node = &self.nodes[index];
        if !node.summary.variable {
            return Some(dim);
        }
        (node.memo_epoch == self.epoch).then_some(node.memo)
    }

    pub(crate) fn set_memo(&mut self, dim: DimId, resolved: DimId) {
        if let Some(index) = dim.index() {
            self.nodes[index].memo = resolved;
            self.nodes[index].memo_epoch = self.epoch;
        }
    }

    /// The content of the dim; `None` for a constant in the id.
    pub(crate) fn kind(&self, dim: DimId) -> Option<Kind> {
        dim.index().map(|index| self.nodes[index].kind)
    }

    pub(crate) fn list(&self, span: Span) -> &[DimId] {
        &self.lists[span.range()]
    }

    pub(crate) fn sum_terms(&self, span: Span) -> &[Term] {
        &self.terms[span.range()]
    }

    pub(crate) fn summary(&self, dim: DimId) -> Summary {
        match (dim.index(), dim.inline_value()) {
            (Some(index), _) => self.nodes[index].summary,
            (None, value) => Summary::leaf(Interval::point(value.unwrap_or(0)), 0, false),
        }
    }

    pub(crate) fn hash(&self, tag: u64, words: impl IntoIterator<Item = u64>) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u64(tag);
        for word in words {
            hasher.write_u64(word);
        }
        hasher.finish()
    }

    pub(crate) fn find(&self, hash: u64, same: impl Fn(&Self, &Kind) -> bool) -> Option<DimId> {
        let at = |id: &DimId| id.index().is_some_and(|index| same(self, &self.nodes[index].kind));
        self.index.find(hash, at).copied()
    }

    pub(crate) fn push_terms(&mut self, terms: &[Term]) -> Span {
        let span = Span { start: offset(self.terms.len()), len: offset(terms.len()) };
        self.terms.extend_from_slice(terms);
        span
    }

    pub(crate) fn push_list(&mut self, list: &[DimId]) -> Span {
        let span = Span { start: offset(self.lists.len()), len: offset(list.len()) };
        self.lists.extend_from_slice(list);
        span
    }

    pub(crate) fn push(&mut self, kind: Kind, summary: Summary, hash: u64) -> DimId {
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
