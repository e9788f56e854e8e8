//! Structural compatibility of pool types, with a path to every difference.
//!
//! *Backward* compatible: `old` is a subtype of `new`, so readers of `new` accept values of `old`. *Forward*
//! compatible: `new` is a subtype of `old`. *Full*: both. [`Pool::compat`] states the subtyping rules.
//! A result is a list of [`Difference`]s.
//!
//! Recursive types are compared coinductively: a pair under comparison is assumed to fit. The walk visits
//! each pair of ids once per direction and gives up, with a negative answer, after [`MAX_PAIRS`] pairs. Equal
//! ids, and in the cache equal digests, need no walk. Variables of generic types are matched one to one in
//! the order in which a parallel walk meets them (`matching`).
//!
//! # Shared vocabulary
//!
//! Three checkers report with these types: [`Pool::compat`](crate::Pool::compat) for pool types, the
//! interface comparison of models, and the comparison of Rust crates. A checker brings its own enum of
//! changes as the parameter `C` of [`Difference`], builds a [`TypePath`] from the compared root to the
//! differing part, and fills in [`Breaks`]; [`Direction::is_broken_by`] then decides which differences matter
//! to the caller. [`ChangeKind`] classifies a change where its details do not matter.
//!
//! ```
//! use typeloom_pool::compat::{Breaks, ChangeKind, Difference, Direction, PathStep, TypePath};
//!
//! #[derive(Debug)]
//! enum PortChange {
//!     Extent,
//! }
//!
//! let axis = [PathStep::Part("inputs"), PathStep::Field("x".to_owned()), PathStep::Part("shape"), PathStep::Element(1)];
//! let difference = Difference {
//!     path: TypePath::from_iter(axis),
//!     change: PortChange::Extent,
//!     old: "3".to_owned(),
//!     new: "N".to_owned(),
//!     breaks: Breaks { backward: false, forward: true },
//! };
//! assert_eq!(difference.path.to_string(), "inputs.x.shape[1]");
//! assert_eq!(ChangeKind::from(difference.breaks), ChangeKind::Widened);
//! assert!(!Direction::Backward.is_broken_by(difference.breaks));
//! assert!(Direction::Full.is_broken_by(difference.breaks));
//! ```
//!
//! Example of [`Pool::compat`]:
//!
//! ```
//! use typeloom_pool::{Pool, Tag, compat::Direction};
//! let mut pool = Pool::new();
//! let (int, text) = (pool.primitive(Tag::I64)?, pool.primitive(Tag::Str)?);
//! let (user, id, mail) = (pool.name("User")?, pool.name("id")?, pool.name("mail")?);
//! let old = pool.structure(user, &[(id, int)])?;
//! let new = pool.structure(user, &[(id, int), (mail, text)])?;
//!
//! // Readers of the old type ignore the new field; readers of the new type need it.
//! assert!(pool.compat(old, new, Direction::Forward).is_compatible());
//! let answer = pool.compat(old, new, Direction::Backward);
//! assert_eq!(answer.breaking[0].to_string(), "(the type itself): field `mail` added (breaks backward)");
//!
//! let (old, new) = (pool.list(old)?, pool.list(new)?);
//! assert_eq!(pool.diff(old, new), "element: field `mail` added (breaks backward)\n");
//! # Ok::<(), typeloom_pool::PoolError>(())
//! ```

mod difference;
mod exports;
mod matching;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use typeloom_term::Variance;

use crate::digest::Digest;
use crate::hashing::NotPortable;
use crate::layout::{FieldList, FieldLists};
use crate::pool::{Idx, Pool};
use crate::render::{RenderLimits, Scope, binder_sorts};
use crate::tag::{Sort, Tag, TagClass};

pub use difference::{Breaks, ChangeKind, Difference, Direction, PathStep, TypeChange, TypePath};
pub use exports::ModuleCompat;

/// Result of comparing two types.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Compat {
    /// The direction that was checked.
    pub direction: Direction,
    /// Whether the types are equal.
    pub equal: bool,
    /// Differences that break the direction. A pair of types that several paths lead to is compared once;
    /// differences inside it are reported at the first path.
    pub breaking: Vec<Difference>,
    /// All other differences.
    pub harmless: Vec<Difference>,
    /// Whether the types fit in the direction. If not, `breaking` contains the reasons unless it is
    /// truncated.
    pub compatible: bool,
    /// Whether differences are missing: there are more than [`MAX_DIFFERENCES`], or the walk gave up after
    /// [`MAX_PAIRS`] pairs.
    pub truncated: bool,
}

impl Compat {
    /// Whether the types fit in the direction.
    #[must_use]
    pub fn is_compatible(&self) -> bool {
        self.compatible
    }
}

/// Formats all differences, one line each; empty for equal types.
impl fmt::Display for Compat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for difference in self.breaking.iter().chain(&self.harmless) {
            writeln!(f, "{difference}")?;
        }
        if self.truncated { f.write_str("…\n") } else { Ok(()) }
    }
}

/// Maximum number of differences in one [`Compat`].
pub const MAX_DIFFERENCES: usize = 1000;

/// Maximum number of pairs of different types that one comparison visits. Types of the same shape have as
/// many pairs as types; recursive types with different periods can have as many as the product.
pub const MAX_PAIRS: usize = 1 << 20;

/// Maximum number of steps of a reported path, counted from its end. The step `…` replaces the rest.
const MAX_STEPS: usize = 256;

/// Maximum number of rounds of variable matching; nested generic types need one round per level.
const MAX_ROUNDS: usize = 16;

/// Cache of results by the digests of the two types and the direction. Valid for any number of pools, because
/// digests are independent of the pool.
#[derive(Clone, Debug, Default)]
pub struct CompatCache {
    answers: HashMap<(Digest, Digest, Direction), Arc<Compat>>,
}

impl CompatCache {
    /// Creates an empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of cached results.
    #[must_use]
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    /// Whether the cache has no results.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }
}

/// Two types that are compared, with the index of their step in [`Walk::trail`].
#[derive(Clone, Copy)]
struct Pair {
    old: u32,
    new: u32,
    /// Relation that backward compatibility of the roots requires: covariant for `old <: new`, contravariant
    /// for `new <: old`, invariant for equality.
    mode: Variance,
    trail: usize,
}

/// A difference before it is rendered.
struct Found {
    pair: Pair,
    change: TypeChange,
    breaks: Breaks,
}

/// A step of the walk. Names are ids; the root has no step.
struct Trail {
    parent: usize,
    step: Option<PathStep<u32>>,
    /// The nearest binder around the pair, as an index of [`Walk::binders`].
    binder: Option<usize>,
}

/// Two binders that are compared, with the nearest binder around them.
struct BinderPair {
    old: u32,
    new: u32,
    outer: Option<usize>,
}

/// For pairs of schemes whose variables have different numbers, the new body in the numbering of the old
/// scheme, and the sorts of its variables.
type Bodies = HashMap<(u32, u32), (u32, Vec<u32>)>;

struct Walk<'p> {
    pool: &'p Pool,
    bodies: &'p Bodies,
    /// Pairs of schemes that `bodies` lacks, with the old variable for each new one.
    wanted: Vec<((u32, u32), HashMap<u32, u32>)>,
    /// Whether more variables may be matched.
    matches: bool,
    /// Number of pairs that matching may still visit.
    left: usize,
    gave_up: bool,
    roots: (u32, u32),
    trail: Vec<Trail>,
    binders: Vec<BinderPair>,
    todo: Vec<Pair>,
    seen: HashSet<(u32, u32, Variance)>,
    found: Vec<Found>,
    /// Union over all differences, including those that were not kept.
    breaks: Breaks,
    truncated: bool,
}

impl Walk<'_> {
    /// Records a difference. `sub`: `old` is not a subtype of `new`; `sup`: `new` is not a subtype of `old`.
    fn differ(&mut self, pair: Pair, change: TypeChange, sub: bool, sup: bool) {
        let straight = Breaks { backward: sub, forward: sup };
        let breaks = match pair.mode {
            Variance::Covariant => straight,
            Variance::Contravariant => straight.reversed(),
            Variance::Invariant => straight.union(straight.reversed()),
            Variance::Bivariant => Breaks::default(),
        };
        self.breaks = self.breaks.union(breaks);
        if self.found.len() >= MAX_DIFFERENCES {
            self.truncated = true;
            return;
        }
        self.found.push(Found { pair, change, breaks });
    }

    /// Ends the walk. Pairs that were not visited may contain any difference.
    fn give_up(&mut self) {
        self.breaks = Breaks::BOTH;
        self.truncated = true;
        self.gave_up = true;
    }

    fn follow(&mut self, from: Pair, old: u32, new: u32, variance: Variance, step: PathStep<u32>) {
        if old == new {
            return;
        }
        let mode = from.mode.compose(variance);
        // A pair is expanded once; a difference between leaves is reported at every path.
        if self.seen.insert((old, new, mode)) || self.is_leaf(old, new) {
            if self.trail.len() > MAX_PAIRS {
                return self.give_up();
            }
            let trail = self.push_step(from, step);
            self.todo.push(Pair { old, new, mode, trail });
        }
    }

    /// Appends a step below a pair; returns its index in the trail.
    fn push_step(&mut self, from: Pair, step: PathStep<u32>) -> usize {
        let mut binder = self.trail[from.trail].binder;
        if self.binder_sorts(from.old).is_some() {
            self.binders.push(BinderPair { old: from.old, new: from.new, outer: binder });
            binder = Some(self.binders.len() - 1);
        }
        self.trail.push(Trail { parent: from.trail, step: Some(step), binder });
        self.trail.len() - 1
    }

    /// Whether comparing the pair visits no other pairs.
    fn is_leaf(&self, old: u32, new: u32) -> bool {
        let tags = (self.pool.nodes[old as usize].tag, self.pool.nodes[new as usize].tag);
        match tags {
            (a, b) if share_element(a, b) => false,
            (a, b) => a != b || matches!(a.class(), TagClass::Primitive | TagClass::Region | TagClass::Const),
        }
    }

    fn fields(&mut self, pair: Pair, old: FieldList<'_>, new: FieldList<'_>, open: bool) {
        let pool = self.pool;
        let old_types: Vec<u32> = old.field_types().collect();
        let new_types: Vec<u32> = new.field_types().collect();
        // A struct without fields can gain named ones; a variant is either named or positional.
        let bare = |part: FieldList<'_>, types: &[u32]| open && !part.named && types.is_empty();
        if !(old.named || bare(old, &old_types)) || !(new.named || bare(new, &new_types)) {
            if old.named != new.named || old_types.len() != new_types.len() {
                let change = TypeChange::Count { old: old_types.len(), new: new_types.len() };
                self.differ(pair, if old.named == new.named { change } else { TypeChange::Type }, true, true);
            }
            if old.named == new.named {
                for (at, (&a, &b)) in old_types.iter().zip(&new_types).enumerate() {
                    self.follow(pair, a, b, Variance::Covariant, PathStep::Element(at));
                }
            }
            return;
        }
        let old_names: Vec<u32> = old.field_names().collect();
        let new_names: Vec<u32> = new.field_names().collect();
        let new_at: HashMap<u32, usize> = new_names.iter().zip(0..).map(|(&name, at)| (name, at)).collect();
        let text = |name: u32| pool.names.get(name).to_owned();
        for (&name, &ty) in old_names.iter().zip(&old_types) {
            match new_at.get(&name) {
                Some(&at) => self.follow(pair, ty, new_types[at], Variance::Covariant, PathStep::Field(name)),
                None => self.differ(pair, TypeChange::FieldRemoved(text(name)), !open, true),
            }
        }
        let old_set: HashSet<u32> = old_names.into_iter().collect();
        for &name in new_names.iter().filter(|name| !old_set.contains(name)) {
            self.differ(pair, TypeChange::FieldAdded(text(name)), true, !open);
        }
    }

    fn lists(&mut self, pair: Pair, old: &[u32], new: &[u32], variance: Variance) {
        if old.len() != new.len() {
            self.differ(pair, TypeChange::Count { old: old.len(), new: new.len() }, true, true);
        }
        for (at, (&a, &b)) in old.iter().zip(new).enumerate() {
            let step =
                if variance == Variance::Contravariant { PathStep::Param(at) } else { PathStep::Element(at) };
            self.follow(pair, a, b, variance, step);
        }
    }

    fn compare(&mut self, pair: Pair) {
        let pool = self.pool;
        let Pair { old, new, .. } = pair;
        let (old_tag, new_tag) = (pool.nodes[old as usize].tag, pool.nodes[new as usize].tag);
        let (a, b) = (pool.words(old), pool.words(new));
        if pool.sort(Idx::from_raw(old)) == Sort::Region && pool.sort(Idx::from_raw(new)) == Sort::Region {
            let is_static =
                |tag: Tag, words: &[u32]| tag == Tag::Lifetime && pool.names.get(words[0]) == "static";
            return self.differ(pair, TypeChange::Type, !is_static(old_tag, a), !is_static(new_tag, b));
        }
        if old_tag != new_tag {
            let sub = fits_by_tag(old_tag, new_tag);
            let sup = fits_by_tag(new_tag, old_tag);
            self.differ(pair, TypeChange::Type, !sub, !sup);
            if share_element(old_tag, new_tag) {
                self.follow(pair, a[0], b[0], Variance::Covariant, PathStep::Part("element"));
            }
            return;
        }
        match old_tag {
            Tag::Struct | Tag::Enum | Tag::Applied if a[0] != b[0] => {
                self.differ(pair, TypeChange::Type, true, true);
            }
            Tag::Struct => {
                if let (Some(a), Some(b)) = (FieldLists(a).next(), FieldLists(b).next()) {
                    self.fields(pair, a, b, true);
                }
            }
            Tag::Enum => self.variants(pair, a, b),
            Tag::Declared if a[0] == b[0] && a[2..] == b[2..] => {
                self.follow(pair, a[1], b[1], Variance::Covariant, PathStep::Part("definition"));
            }
            Tag::Scheme => self.schemes(pair, a, b),
            Tag::Function => {
                self.lists(pair, &a[1..], &b[1..], Variance::Contravariant);
                self.follow(pair, a[0], b[0], Variance::Covariant, PathStep::Part("returns"));
            }
            Tag::Channel => {
                self.follow(pair, a[0], b[0], Variance::Invariant, PathStep::Part("element"));
            }
            Tag::Applied => self.lists(pair, &a[1..], &b[1..], Variance::Invariant),
            _ => match parts(old_tag) {
                Some((names, rest)) => {
                    for (at, name) in names.iter().enumerate() {
                        self.follow(pair, a[at], b[at], Variance::Covariant, PathStep::Part(name));
                    }
                    if let Some(variance) = rest {
                        self.lists(pair, &a[names.len()..], &b[names.len()..], variance);
                    }
                }
                None => self.differ(pair, TypeChange::Type, true, true),
            },
        }
    }

    fn schemes(&mut self, pair: Pair, a: &[u32], b: &[u32]) {
        let Pair { old, new, .. } = pair;
        let body = match self.bodies.get(&(old, new)) {
            Some((body, _)) => *body,
            None => {
                let Some(order) = matching::variables(self.pool, a, b, &mut self.left) else {
                    return self.give_up();
                };
                if order.iter().any(|(from, to)| from != to) {
                    if self.matches {
                        self.wanted.push(((old, new), order));
                    } else {
                        self.differ(pair, TypeChange::Type, true, true);
                    }
                    return;
                }
                b[0]
            }
        };
        self.follow(pair, a[0], body, Variance::Covariant, PathStep::Part("body"));
    }

    fn variants(&mut self, pair: Pair, a: &[u32], b: &[u32]) {
        let pool = self.pool;
        let text = |name: u32| pool.names.get(name).to_owned();
        let new_parts: Vec<FieldList<'_>> = FieldLists::of(Tag::Enum, b).collect();
        let new_at: HashMap<u32, FieldList<'_>> = new_parts.iter().map(|part| (part.name, *part)).collect();
        let mut old_names = HashSet::new();
        for old in FieldLists::of(Tag::Enum, a) {
            old_names.insert(old.name);
            match new_at.get(&old.name) {
                Some(new) => {
                    let trail = self.push_step(pair, PathStep::Variant(old.name));
                    self.fields(Pair { trail, ..pair }, old, *new, false);
                }
                None => self.differ(pair, TypeChange::VariantRemoved(text(old.name)), true, false),
            }
        }
        for new in new_parts.iter().filter(|part| !old_names.contains(&part.name)) {
            self.differ(pair, TypeChange::VariantAdded(text(new.name)), false, true);
        }
    }

    /// Compares two types and everything below them. Matching of variables may visit `left` pairs; `None`
    /// turns it off.
    fn through<'p>(
        pool: &'p Pool,
        bodies: &'p Bodies,
        (old, new): (Idx, Idx),
        left: Option<usize>,
    ) -> Walk<'p> {
        let mut walk = Walk {
            pool,
            bodies,
            wanted: Vec::new(),
            matches: left.is_some(),
            left: left.unwrap_or(MAX_PAIRS),
            gave_up: false,
            roots: (old.number(), new.number()),
            trail: vec![Trail { parent: 0, step: None, binder: None }],
            binders: Vec::new(),
            todo: Vec::new(),
            seen: HashSet::new(),
            found: Vec::new(),
            breaks: Breaks::default(),
            truncated: false,
        };
        if old != new {
            let root = Pair { old: old.number(), new: new.number(), mode: Variance::Covariant, trail: 0 };
            walk.seen.insert((root.old, root.new, root.mode));
            walk.todo.push(root);
        }
        while let Some(pair) = walk.todo.pop()
            && !walk.gave_up
        {
            walk.compare(pair);
        }
        walk
    }

    fn report(&self, direction: Direction) -> Compat {
        let limits = RenderLimits { bytes: 200, lines: 0, depth: 6 };
        let (old, new) = self.roots;
        let outside =
            if self.binders.is_empty() { Scope::default() } else { Scope::around(self.pool, &[old, new]) };
        let (mut breaking, mut harmless) = (Vec::new(), Vec::new());
        for Found { pair, change, breaks } in &self.found {
            let scope = self.trail[pair.trail].binder.map(|binder| self.scope(binder, &outside));
            let render = |ty: u32| self.pool.signature_in(ty, &limits, scope.clone());
            let difference = Difference {
                path: self.path(pair.trail),
                change: change.clone(),
                old: render(pair.old),
                new: render(pair.new),
                breaks: *breaks,
            };
            let list = if direction.is_broken_by(*breaks) { &mut breaking } else { &mut harmless };
            list.push(difference);
        }
        // The walk visits parts in reverse order.
        let key = |difference: &Difference| difference.path.to_string();
        breaking.sort_by_cached_key(key);
        harmless.sort_by_cached_key(key);
        let compatible = !direction.is_broken_by(self.breaks);
        Compat { direction, equal: old == new, breaking, harmless, compatible, truncated: self.truncated }
    }

    fn binder_sorts(&self, id: u32) -> Option<&[u32]> {
        binder_sorts(self.pool.nodes[id as usize].tag, self.pool.words(id))
    }

    /// The names of the variables inside a binder. Matched variables have the number and the name of the old
    /// one.
    fn scope(&self, binder: usize, outside: &Scope) -> Scope {
        let above = |at: &usize| self.binders[*at].outer;
        let chain: Vec<usize> = std::iter::successors(Some(binder), above).collect();
        let mut scope = outside.clone();
        for BinderPair { old, new, outer: _ } in chain.into_iter().rev().map(|at| &self.binders[at]) {
            let sorts = |id: u32| self.binder_sorts(id).unwrap_or_default();
            let (old_sorts, new_sorts) = (sorts(*old), sorts(*new));
            let more = if new_sorts.len() > old_sorts.len() { new_sorts } else { old_sorts };
            scope.enter(self.bodies.get(&(*old, *new)).map_or(more, |(_, sorts)| sorts));
        }
        scope
    }

    fn path(&self, mut at: usize) -> TypePath {
        let mut steps = Vec::new();
        let text = |name: u32| self.pool.names.get(name).to_owned();
        while let Trail { parent, step: Some(step), binder: _ } = self.trail[at] {
            if steps.len() == MAX_STEPS {
                steps.push(PathStep::Part("…"));
                break;
            }
            steps.push(match step {
                PathStep::Part(name) => PathStep::Part(name),
                PathStep::Param(param) => PathStep::Param(param),
                PathStep::Element(element) => PathStep::Element(element),
                PathStep::Field(name) => PathStep::Field(text(name)),
                PathStep::Variant(name) => PathStep::Variant(text(name)),
                PathStep::Label(name) => PathStep::Label(text(name)),
            });
            at = parent;
        }
        steps.into_iter().rev().collect()
    }
}

/// Sorts of the variables of two schemes, in the numbering of the first one.
fn sorts_in_old_numbering(pool: &Pool, old: u32, new: u32, order: &HashMap<u32, u32>) -> Vec<u32> {
    let mut sorts = pool.words(old)[1..].to_vec();
    for (variable, sort) in (0..).zip(&pool.words(new)[1..]) {
        let at = order.get(&variable).map_or(0, |at| *at as usize);
        if at >= sorts.len() {
            sorts.resize(at + 1, *sort);
        }
        sorts[at] = *sort;
    }
    sorts
}

/// Whether one of two different tags is a special case of the other, with the element first in both.
const fn share_element(a: Tag, b: Tag) -> bool {
    use Tag::{DoubleEndedIterator, Iterator, Tensor, TensorUnranked};
    matches!(
        (a, b),
        (Tensor, TensorUnranked)
            | (TensorUnranked, Tensor)
            | (Iterator, DoubleEndedIterator)
            | (DoubleEndedIterator, Iterator)
    )
}

/// Names of the covariant parts that come first in a type, and the variance of the other ones, which are a
/// list; `None` for a tag of which all types differ or that has another form.
const fn parts(tag: Tag) -> Option<(&'static [&'static str], Option<Variance>)> {
    Some(match tag {
        Tag::Map => (&["key", "value"], None),
        Tag::Result => (&["ok", "error"], None),
        Tag::Borrowed => (&["inner", "lifetime"], None),
        Tag::Tuple => (&[], Some(Variance::Covariant)),
        Tag::Instance => (&["declaration"], Some(Variance::Invariant)),
        Tag::Tensor => (&["element"], Some(Variance::Covariant)),
        Tag::TensorUnranked => (&["element"], None),
        _ if matches!(tag.class(), TagClass::Container) => (&["element"], None),
        _ => return None,
    })
}

/// Whether a type of tag `from` is a subtype of one of tag `to`, ignoring children.
fn fits_by_tag(from: Tag, to: Tag) -> bool {
    match (from, to) {
        (_, Tag::Any) => from.class() != TagClass::Const && from.class() != TagClass::Region,
        (Tag::Never, _) => to.class() != TagClass::Const && to.class() != TagClass::Region,
        (_, Tag::DimUnknown) => true,
        (Tag::Tensor, Tag::TensorUnranked) | (Tag::DoubleEndedIterator, Tag::Iterator) => true,
        _ => false,
    }
}

impl Pool {
    /// Compares two types and returns every difference.
    ///
    /// Subtyping is structural below names. `never` is the bottom type and `any` the top type. Containers,
    /// maps, results, tuples and fields are covariant; channels and arguments of names are invariant;
    /// parameters are contravariant. A struct may have more named fields than its supertype, an enum fewer
    /// variants. Lifetime `static` is a subtype of every lifetime, a tensor of known rank of the tensor of
    /// unknown rank, and every dim of the unknown dim. Nothing else widens: numbers are never converted,
    /// names must be equal, symbols are rigid, and a generic type is not a subtype of its instances.
    ///
    /// # Panics
    /// If an id is not of this pool.
    #[must_use]
    pub fn compat(&self, old: Idx, new: Idx, direction: Direction) -> Compat {
        let mut pool = Cow::Borrowed(self);
        let mut bodies = Bodies::new();
        let (mut round, mut work, mut left) = (0, MAX_PAIRS, MAX_PAIRS);
        loop {
            let walk = Walk::through(&pool, &bodies, (old, new), (round < MAX_ROUNDS).then_some(left));
            left = walk.left;
            if walk.wanted.is_empty() || walk.gave_up {
                return walk.report(direction);
            }
            for ((first, second), order) in walk.wanted {
                let body = pool.words(second)[0];
                let Ok(renumbered) = pool.to_mut().renumber(body, &order, &mut work) else {
                    let mut walk = Walk::through(&pool, &bodies, (old, new), None);
                    walk.give_up();
                    return walk.report(direction);
                };
                let sorts = sorts_in_old_numbering(&pool, first, second, &order);
                bodies.insert((first, second), (renumbered, sorts));
            }
            round += 1;
        }
    }

    /// Like [`Pool::compat`], with results cached by the digests of the types.
    ///
    /// # Errors
    /// If a type contains inference variables.
    ///
    /// # Panics
    /// If an id is not of this pool.
    pub fn compat_cached(
        &mut self,
        cache: &mut CompatCache,
        old: Idx,
        new: Idx,
        direction: Direction,
    ) -> Result<Arc<Compat>, NotPortable> {
        let key = (self.digest(old)?, self.digest(new)?, direction);
        if let Some(answer) = cache.answers.get(&key) {
            return Ok(Arc::clone(answer));
        }
        let answer = Arc::new(self.compat(old, new, direction));
        cache.answers.insert(key, Arc::clone(&answer));
        Ok(answer)
    }

    /// Returns all differences of two types as text, one line each; empty for equal types.
    ///
    /// # Panics
    /// If an id is not of this pool.
    #[must_use]
    pub fn diff(&self, old: Idx, new: Idx) -> String {
        self.compat(old, new, Direction::Full).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_type_with_children_is_followed_or_compared() {
        // For each kind, two types that differ in one child must be reported as different.
        let mut pool = Pool::new();
        let (int, str) = (pool.primitive(Tag::Int).unwrap(), pool.primitive(Tag::Str).unwrap());
        let name = pool.name("n").unwrap();
        let at = pool.lifetime("a").unwrap();
        let build = |pool: &mut Pool, ty: Idx| -> Vec<Idx> {
            let declared = pool.declared(name, &[Sort::Type], ty).unwrap();
            vec![
                pool.list(ty).unwrap(),
                pool.container(Tag::Channel, ty).unwrap(),
                pool.map(int, ty).unwrap(),
                pool.result(ty, int).unwrap(),
                pool.borrowed(ty, at).unwrap(),
                pool.function(&[ty], int).unwrap(),
                pool.function(&[int], ty).unwrap(),
                pool.tuple(&[int, ty]).unwrap(),
                pool.structure(name, &[(name, ty)]).unwrap(),
                pool.enumeration(name, &[(name, &[ty])]).unwrap(),
                pool.applied(name, &[ty]).unwrap(),
                declared,
                pool.instance(declared, &[int]).unwrap(),
                pool.tensor(ty, &[]).unwrap(),
                pool.tensor_unranked(ty).unwrap(),
            ]
        };
        let old = build(&mut pool, int);
        let new = build(&mut pool, str);
        for (&old, &new) in old.iter().zip(&new) {
            let answer = pool.compat(old, new, Direction::Full);
            assert!(!answer.is_compatible() && !answer.equal, "{}", pool.signature(old));
        }
    }
}
