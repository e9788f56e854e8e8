//! Compatibility of two types, with directions, and a path to every difference.
//!
//! *Backward* compatible: whoever expects `new` can take what was made as `old`, so `old` is a subtype of `new`.
//! *Forward* compatible: whoever still expects `old` can take what is made as `new`. *Full*: both.
//!
//! What is a subtype of what is said at [`Pool::compat`]. Generic types are compared with their variables matched one to one, as they are met in fields, variants and positions
//! of the same name or place (`matching`).
//!
//! Recursive types are compared coinductively: a pair under comparison is assumed to fit. The walk is over pairs, each
//! visited once per direction, so it ends after at most as many steps as there are pairs; it gives up, which is a no,
//! after [`MAX_PAIRS`]. Equal ids, and in the cache equal digests, are the fast yes.

pub(crate) mod exports;
mod matching;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use crate::digest::Digest;
use crate::hashing::NotPortable;
use crate::layout::{Part, Parts};
use crate::pool::{Idx, Pool};
use crate::tag::{Class, Sort, Tag};

/// Which way types must fit, for values that one program writes and another one reads.
///
/// What is *called* goes the other way: a new function takes the place of an old one if it is a subtype of it, which is
/// `Forward` here. [`Pool::compat_exports`] turns the question round by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The new reads the old: `old` is a subtype of `new`.
    Backward,
    /// The old reads the new: `new` is a subtype of `old`.
    Forward,
    /// Both.
    Full,
}

/// One step from a type to a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A named part, such as `key` or `returns`.
    Part(&'static str),
    /// A parameter, from 0.
    Param(usize),
    /// An element, argument or positional field, from 0.
    Element(usize),
    /// A field.
    Field(String),
    /// A variant.
    Variant(String),
}

/// The way from the compared types to a part of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Path(pub Vec<Step>);

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("(the type itself)");
        }
        for (at, step) in self.0.iter().enumerate() {
            let dot = if at == 0 { "" } else { "." };
            match step {
                Step::Part(name) => write!(f, "{dot}{name}")?,
                Step::Param(param) => write!(f, "{dot}param[{param}]")?,
                Step::Element(element) => write!(f, "[{element}]")?,
                Step::Field(name) => write!(f, "{dot}{name}")?,
                Step::Variant(name) => write!(f, "{dot}{name}")?,
            }
        }
        Ok(())
    }
}

/// What differs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// Another type, known by its two renderings being different kinds, names or constants.
    Type,
    /// Another number of parameters, elements or arguments.
    Count {
        /// In the old type.
        old: usize,
        /// In the new type.
        new: usize,
    },
    /// A field that only the new type has.
    FieldAdded(String),
    /// A field that only the old type has.
    FieldRemoved(String),
    /// A variant that only the new type has.
    VariantAdded(String),
    /// A variant that only the old type has.
    VariantRemoved(String),
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Difference {
    /// Where.
    pub path: Path,
    /// What.
    pub change: Change,
    /// The type there in the old type, for people.
    pub old: String,
    /// The type there in the new type, for people.
    pub new: String,
    /// Whether it keeps the new from reading the old.
    pub breaks_backward: bool,
    /// Whether it keeps the old from reading the new.
    pub breaks_forward: bool,
}

/// As a line of [`Pool::diff`].
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, change, old, new, breaks_backward, breaks_forward } = self;
        write!(f, "{path}: ")?;
        match change {
            Change::Type => write!(f, "`{old}` -> `{new}`")?,
            Change::Count { old, new } => write!(f, "{old} -> {new} in number")?,
            Change::FieldAdded(name) => write!(f, "field `{name}` added")?,
            Change::FieldRemoved(name) => write!(f, "field `{name}` removed")?,
            Change::VariantAdded(name) => write!(f, "variant `{name}` added")?,
            Change::VariantRemoved(name) => write!(f, "variant `{name}` removed")?,
        }
        f.write_str(match (breaks_backward, breaks_forward) {
            (true, true) => " (incompatible)",
            (true, false) => " (breaks backward)",
            (false, true) => " (breaks forward)",
            (false, false) => " (compatible)",
        })
    }
}

/// The answer to a question of compatibility.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Compat {
    /// Which way was asked for.
    pub direction: Direction,
    /// Whether the types are equal.
    pub equal: bool,
    /// Every difference that breaks the direction; a type that occurs in many places is looked into once, so
    /// that a difference inside it has the first path that leads there.
    pub breaking: Vec<Difference>,
    /// Every other difference.
    pub harmless: Vec<Difference>,
    /// Whether the types fit in the direction. If not, `breaking` says why, unless it is truncated.
    pub compatible: bool,
    /// Whether differences were left out because there are more than [`MAX_DIFFERENCES`], or the comparison was given up
    /// after [`MAX_PAIRS`] pairs.
    pub truncated: bool,
}

impl Compat {
    /// Whether the types fit in the direction.
    #[must_use]
    pub fn is_compatible(&self) -> bool {
        self.compatible
    }
}

/// The most differences that one answer lists.
pub const MAX_DIFFERENCES: usize = 1000;

/// The most pairs of different types that one comparison looks at. Types of the same shape have as many pairs as types; recursive
/// ones that are in no step with each other can have as many as the product.
pub const MAX_PAIRS: usize = 1 << 20;

/// The most steps of a path that are kept, from its end; what is left out is the step `…`.
const MAX_STEPS: usize = 256;

/// How often variables of generic types are matched anew, for those inside of others.
const MAX_ROUNDS: usize = 16;

/// Answers by the digests of the two types and the direction.
#[derive(Clone, Debug, Default)]
pub struct CompatCache {
    answers: HashMap<(Digest, Digest, Direction), Arc<Compat>>,
}

impl CompatCache {
    /// An empty cache. It can be used with any number of pools, since digests mean the same in all of them.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of answers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    /// Whether there are no answers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }
}

/// Which way a pair must fit for the new to read the old.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mode {
    /// `old <: new`.
    Straight,
    /// `new <: old`, as in parameters.
    Flipped,
    /// Both.
    Invariant,
}

type Pair = (u32, u32, Mode, usize);

/// A difference as found, before it is rendered.
struct Found {
    trail: usize,
    old: u32,
    new: u32,
    change: Change,
    /// `old` does not fit where `new` is expected.
    sub: bool,
    /// `new` does not fit where `old` is expected.
    sup: bool,
    mode: Mode,
}

impl Found {
    /// Whether it keeps the new from reading the old, and the old from reading the new.
    fn breaks(&self) -> (bool, bool) {
        match self.mode {
            Mode::Invariant => (self.sub || self.sup, self.sub || self.sup),
            Mode::Straight => (self.sub, self.sup),
            Mode::Flipped => (self.sup, self.sub),
        }
    }
}

struct Trail {
    parent: usize,
    step: At,
}

/// A step as it is kept during the walk, names by their ids.
#[derive(Clone, Copy)]
enum At {
    Start,
    Part(&'static str),
    Param(u32),
    Element(u32),
    Field(u32),
    Variant(u32),
}

/// Schemes whose variables are numbered otherwise, with the new one's body in the old one's numbering.
type Bodies = HashMap<(u32, u32), u32>;

struct Walk<'p> {
    pool: &'p Pool,
    bodies: &'p Bodies,
    /// Pairs of schemes that belong into `bodies`, with the old variable for each of the new.
    wanted: Vec<((u32, u32), HashMap<u32, u32>)>,
    /// Whether to match more variables.
    matches: bool,
    /// How many more pairs may be looked at for that.
    left: usize,
    gave_up: bool,
    trail: Vec<Trail>,
    todo: Vec<Pair>,
    seen: HashSet<(u32, u32, Mode)>,
    found: Vec<Found>,
    breaks_backward: bool,
    breaks_forward: bool,
    truncated: bool,
}

impl Walk<'_> {
    fn differ(&mut self, pair: Pair, change: Change, sub: bool, sup: bool) {
        let (old, new, mode, trail) = pair;
        let found = Found { trail, old, new, change, sub, sup, mode };
        let (backward, forward) = found.breaks();
        self.breaks_backward |= backward;
        self.breaks_forward |= forward;
        if self.found.len() >= MAX_DIFFERENCES {
            self.truncated = true;
            return;
        }
        self.found.push(found);
    }

    /// What was not looked at may be anything.
    fn give_up(&mut self) {
        (self.breaks_backward, self.breaks_forward, self.truncated) = (true, true, true);
        self.gave_up = true;
    }

    fn follow(&mut self, from: Pair, old: u32, new: u32, variance: Variance, step: At) {
        if old == new {
            return;
        }
        let mode = match (from.2, variance) {
            (Mode::Invariant, _) | (_, Variance::In) => Mode::Invariant,
            (mode, Variance::Co) => mode,
            (Mode::Straight, Variance::Contra) => Mode::Flipped,
            (Mode::Flipped, Variance::Contra) => Mode::Straight,
        };
        // A pair is expanded once; a difference without parts is listed for every place that leads to it.
        if self.seen.insert((old, new, mode)) || self.is_leaf(old, new) {
            if self.trail.len() > MAX_PAIRS {
                return self.give_up();
            }
            self.trail.push(Trail { parent: from.3, step });
            self.todo.push((old, new, mode, self.trail.len() - 1));
        }
    }

    /// Whether comparing the pair cannot lead further.
    fn is_leaf(&self, old: u32, new: u32) -> bool {
        let tags = (self.pool.nodes[old as usize].tag, self.pool.nodes[new as usize].tag);
        match tags {
            (Tag::Tensor, Tag::TensorUnranked) | (Tag::TensorUnranked, Tag::Tensor) => false,
            (Tag::Iterator, Tag::DoubleEndedIterator) | (Tag::DoubleEndedIterator, Tag::Iterator) => false,
            (a, b) => a != b || matches!(a.class(), Class::Primitive | Class::Region | Class::Const),
        }
    }

    fn fields(&mut self, pair: Pair, old: Part<'_>, new: Part<'_>, open: bool) {
        let pool = self.pool;
        let old_types: Vec<u32> = old.field_types().collect();
        let new_types: Vec<u32> = new.field_types().collect();
        // A struct without fields takes named ones; a variant is one thing or the other.
        let bare = |part: Part<'_>, types: &[u32]| open && !part.named && types.is_empty();
        if !(old.named || bare(old, &old_types)) || !(new.named || bare(new, &new_types)) {
            if old.named != new.named || old_types.len() != new_types.len() {
                let change = Change::Count { old: old_types.len(), new: new_types.len() };
                self.differ(pair, if old.named == new.named { change } else { Change::Type }, true, true);
            }
            if old.named == new.named {
                for (at, (&a, &b)) in old_types.iter().zip(&new_types).enumerate() {
                    self.follow(pair, a, b, Variance::Co, At::Element(at as u32));
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
                Some(&at) => self.follow(pair, ty, new_types[at], Variance::Co, At::Field(name)),
                // The old has more fields than the new asks for.
                None => self.differ(pair, Change::FieldRemoved(text(name)), !open, true),
            }
        }
        let old_set: HashSet<u32> = old_names.into_iter().collect();
        for &name in new_names.iter().filter(|name| !old_set.contains(name)) {
            self.differ(pair, Change::FieldAdded(text(name)), true, !open);
        }
    }

    fn lists(&mut self, pair: Pair, old: &[u32], new: &[u32], variance: Variance) {
        if old.len() != new.len() {
            self.differ(pair, Change::Count { old: old.len(), new: new.len() }, true, true);
        }
        for (at, (&a, &b)) in old.iter().zip(new).enumerate() {
            let step =
                if variance == Variance::Contra { At::Param(at as u32) } else { At::Element(at as u32) };
            self.follow(pair, a, b, variance, step);
        }
    }

    fn compare(&mut self, pair: Pair) {
        let pool = self.pool;
        let (old, new, ..) = pair;
        let (old_tag, new_tag) = (pool.nodes[old as usize].tag, pool.nodes[new as usize].tag);
        let (a, b) = (pool.words(old), pool.words(new));
        if pool.sort(Idx::from_raw(old)) == Sort::Region && pool.sort(Idx::from_raw(new)) == Sort::Region {
            let is_static =
                |tag: Tag, words: &[u32]| tag == Tag::Lifetime && pool.names.get(words[0]) == "static";
            return self.differ(pair, Change::Type, !is_static(old_tag, a), !is_static(new_tag, b));
        }
        if old_tag != new_tag {
            let sub = fits_by_tag(old_tag, new_tag);
            let sup = fits_by_tag(new_tag, old_tag);
            self.differ(pair, Change::Type, !sub, !sup);
            match (old_tag, new_tag) {
                (Tag::Tensor, Tag::TensorUnranked)
                | (Tag::TensorUnranked, Tag::Tensor)
                | (Tag::Iterator, Tag::DoubleEndedIterator)
                | (Tag::DoubleEndedIterator, Tag::Iterator) => {
                    self.follow(pair, a[0], b[0], Variance::Co, At::Part("element"));
                }
                _ => {}
            }
            return;
        }
        match old_tag.class() {
            Class::Container => {
                let variance = if old_tag == Tag::Channel { Variance::In } else { Variance::Co };
                self.follow(pair, a[0], b[0], variance, At::Part("element"));
                return;
            }
            Class::TwoChild => {
                let (first, second) = if old_tag == Tag::Map { ("key", "value") } else { ("ok", "error") };
                self.follow(pair, a[0], b[0], Variance::Co, At::Part(first));
                self.follow(pair, a[1], b[1], Variance::Co, At::Part(second));
                return;
            }
            Class::Primitive | Class::Constructor | Class::Region | Class::Const => {}
        }
        match old_tag {
            Tag::Borrowed => {
                self.follow(pair, a[0], b[0], Variance::Co, At::Part("inner"));
                self.follow(pair, a[1], b[1], Variance::Co, At::Part("lifetime"));
            }
            Tag::Function => {
                self.lists(pair, &a[1..], &b[1..], Variance::Contra);
                self.follow(pair, a[0], b[0], Variance::Co, At::Part("returns"));
            }
            Tag::Tuple => self.lists(pair, a, b, Variance::Co),
            Tag::Struct | Tag::Enum if a[0] != b[0] => self.differ(pair, Change::Type, true, true),
            Tag::Struct => {
                if let (Some(a), Some(b)) = (Parts::of(old_tag, a).next(), Parts::of(new_tag, b).next()) {
                    self.fields(pair, a, b, true);
                }
            }
            Tag::Enum => self.variants(pair, a, b),
            Tag::Applied if a[0] == b[0] => self.lists(pair, &a[1..], &b[1..], Variance::In),
            Tag::Declared if a[0] == b[0] && a[2..] == b[2..] => {
                self.follow(pair, a[1], b[1], Variance::Co, At::Part("definition"));
            }
            Tag::Instance => {
                self.follow(pair, a[0], b[0], Variance::Co, At::Part("declaration"));
                self.lists(pair, &a[1..], &b[1..], Variance::In);
            }
            Tag::Scheme => self.schemes(pair, a, b),
            Tag::Tensor => {
                self.follow(pair, a[0], b[0], Variance::Co, At::Part("element"));
                self.lists(pair, &a[1..], &b[1..], Variance::Co);
            }
            Tag::TensorUnranked => self.follow(pair, a[0], b[0], Variance::Co, At::Part("element")),
            _ => self.differ(pair, Change::Type, true, true),
        }
    }

    fn schemes(&mut self, pair: Pair, a: &[u32], b: &[u32]) {
        let (old, new, ..) = pair;
        let body = match self.bodies.get(&(old, new)) {
            Some(&body) => body,
            None => {
                let Some(order) = matching::variables(self.pool, a, b, &mut self.left) else {
                    return self.give_up();
                };
                if order.iter().any(|(from, to)| from != to) {
                    if self.matches {
                        self.wanted.push(((old, new), order));
                    } else {
                        self.differ(pair, Change::Type, true, true);
                    }
                    return;
                }
                b[0]
            }
        };
        self.follow(pair, a[0], body, Variance::Co, At::Part("body"));
    }

    fn variants(&mut self, pair: Pair, a: &[u32], b: &[u32]) {
        let pool = self.pool;
        let text = |name: u32| pool.names.get(name).to_owned();
        let new_parts: Vec<Part<'_>> = Parts::of(Tag::Enum, b).collect();
        let new_at: HashMap<u32, Part<'_>> = new_parts.iter().map(|part| (part.name, *part)).collect();
        let mut old_names = HashSet::new();
        for old in Parts::of(Tag::Enum, a) {
            old_names.insert(old.name);
            match new_at.get(&old.name) {
                Some(new) => {
                    self.trail.push(Trail { parent: pair.3, step: At::Variant(old.name) });
                    let inside = (pair.0, pair.1, pair.2, self.trail.len() - 1);
                    self.fields(inside, old, *new, false);
                }
                None => self.differ(pair, Change::VariantRemoved(text(old.name)), true, false),
            }
        }
        for new in new_parts.iter().filter(|part| !old_names.contains(&part.name)) {
            self.differ(pair, Change::VariantAdded(text(new.name)), false, true);
        }
    }

    /// Compares two types and everything below them. Variables are matched while there are pairs `left` for it.
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
            trail: vec![Trail { parent: 0, step: At::Start }],
            todo: Vec::new(),
            seen: HashSet::new(),
            found: Vec::new(),
            breaks_backward: false,
            breaks_forward: false,
            truncated: false,
        };
        if old != new {
            walk.seen.insert((old.number(), new.number(), Mode::Straight));
            walk.todo.push((old.number(), new.number(), Mode::Straight, 0));
        }
        while let Some(pair) = walk.todo.pop()
            && !walk.gave_up
        {
            walk.compare(pair);
        }
        walk
    }

    fn answer(&self, direction: Direction, equal: bool) -> Compat {
        let limits = crate::render::RenderLimits { bytes: 200, lines: 0, depth: 6 };
        let breaks = |backward: bool, forward: bool| match direction {
            Direction::Backward => backward,
            Direction::Forward => forward,
            Direction::Full => backward || forward,
        };
        let mut breaking = Vec::new();
        let mut harmless = Vec::new();
        for found in &self.found {
            let (breaks_backward, breaks_forward) = found.breaks();
            let difference = Difference {
                path: self.path(found.trail),
                change: found.change.clone(),
                old: self.pool.signature_within(Idx::from_raw(found.old), &limits),
                new: self.pool.signature_within(Idx::from_raw(found.new), &limits),
                breaks_backward,
                breaks_forward,
            };
            if breaks(breaks_backward, breaks_forward) {
                breaking.push(difference);
            } else {
                harmless.push(difference);
            }
        }
        // The walk is depth first from the back; people read from the front.
        let key = |difference: &Difference| difference.path.to_string();
        breaking.sort_by_cached_key(key);
        harmless.sort_by_cached_key(key);
        let compatible = !breaks(self.breaks_backward, self.breaks_forward);
        Compat { direction, equal, breaking, harmless, compatible, truncated: self.truncated }
    }

    fn path(&self, mut at: usize) -> Path {
        let mut steps = Vec::new();
        let text = |name: u32| self.pool.names.get(name).to_owned();
        loop {
            let Trail { parent, step } = self.trail[at];
            if steps.len() == MAX_STEPS {
                steps.push(Step::Part("…"));
                break;
            }
            steps.push(match step {
                At::Start => break,
                At::Part(name) => Step::Part(name),
                At::Param(param) => Step::Param(param as usize),
                At::Element(element) => Step::Element(element as usize),
                At::Field(name) => Step::Field(text(name)),
                At::Variant(name) => Step::Variant(text(name)),
            });
            at = parent;
        }
        steps.reverse();
        Path(steps)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Variance {
    Co,
    Contra,
    In,
}

/// Whether a type of one tag fits another tag, children aside.
fn fits_by_tag(from: Tag, to: Tag) -> bool {
    match (from, to) {
        (_, Tag::Any) => from.class() != Class::Const && from.class() != Class::Region,
        (Tag::Never, _) => to.class() != Class::Const && to.class() != Class::Region,
        (_, Tag::DimUnknown) => true,
        (Tag::Tensor, Tag::TensorUnranked) | (Tag::DoubleEndedIterator, Tag::Iterator) => true,
        _ => false,
    }
}

impl Pool {
    /// Whether two types are compatible, and every difference.
    ///
    /// Subtyping is structural below names: `never` and `any` are bottom and top; containers, maps, results, tuples and
    /// fields are covariant, a channel and the arguments of a name are invariant, parameters are contravariant. A struct
    /// may have more named fields than its supertype, an enum fewer variants. A longer borrow is one of lifetime `static`.
    /// A tensor of known rank is one of unknown rank, and any extent is an unknown one. Nothing else widens: numbers are
    /// never converted, names and labels must be equal, and symbols are rigid. A generic type is not taken for its
    /// instances.
    ///
    /// ```
    /// use typeloom_pool::{Direction, Pool, Tag};
    /// let mut pool = Pool::new();
    /// let (int, text) = (pool.primitive(Tag::I64)?, pool.primitive(Tag::Str)?);
    /// let (user, id, mail) = (pool.name("User")?, pool.name("id")?, pool.name("mail")?);
    /// let old = pool.structure(user, &[(id, int)])?;
    /// let new = pool.structure(user, &[(id, int), (mail, text)])?;
    ///
    /// // Who reads old users does not miss what new ones have beside; who reads new ones misses it in old ones.
    /// assert!(pool.compat(old, new, Direction::Forward).is_compatible());
    /// let answer = pool.compat(old, new, Direction::Backward);
    /// assert_eq!(answer.breaking[0].to_string(), "(the type itself): field `mail` added (breaks backward)");
    ///
    /// let (old, new) = (pool.list(old)?, pool.list(new)?);
    /// assert_eq!(pool.diff(old, new), "element: field `mail` added (breaks backward)\n");
    /// # Ok::<(), typeloom_pool::TypeError>(())
    /// ```
    ///
    /// # Panics
    /// If an id is not of this pool.
    #[must_use]
    pub fn compat(&self, old: Idx, new: Idx, direction: Direction) -> Compat {
        let mut pool = Cow::Borrowed(self);
        let mut bodies = Bodies::new();
        let (mut round, mut room, mut left) = (0, MAX_PAIRS, MAX_PAIRS);
        loop {
            let walk = Walk::through(&pool, &bodies, (old, new), (round < MAX_ROUNDS).then_some(left));
            left = walk.left;
            if walk.wanted.is_empty() || walk.gave_up {
                return walk.answer(direction, old == new);
            }
            for ((first, second), order) in walk.wanted {
                let body = pool.words(second)[0];
                let Ok(renumbered) = pool.to_mut().renumber(body, &order, &mut room) else {
                    let mut walk = Walk::through(&pool, &bodies, (old, new), None);
                    walk.give_up();
                    return walk.answer(direction, false);
                };
                bodies.insert((first, second), renumbered);
            }
            round += 1;
        }
    }

    /// Like [`Pool::compat`], remembering answers by the digests of the types.
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

    /// All differences of two types as text, one line each, empty for equal types.
    ///
    /// # Panics
    /// If an id is not of this pool.
    #[must_use]
    pub fn diff(&self, old: Idx, new: Idx) -> String {
        let answer = self.compat(old, new, Direction::Full);
        let mut lines = String::new();
        for difference in answer.breaking.iter().chain(&answer.harmless) {
            lines.push_str(&format!("{difference}\n"));
        }
        if answer.truncated {
            lines.push_str("…\n");
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_type_with_children_is_followed_or_compared() {
        // A child that the comparison forgot would make different types look equal; so for each kind, two types that
        // differ in one child must differ in the answer.
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
