//! Variables and their binders: scopes, and the order of a scheme's variables.
//!
//! Variables are de Bruijn pairs: how many binders further out, and which place of that binder. A scheme is in normal
//! form when its places are in the order of first use and each is used, so that alpha-equivalent schemes are one type.
//!
//! First use is in preorder, or level by level where the open part of the body is infinite: what comes first in preorder
//! then depends on where the recursion was written down, what is nearest does not. The operands of sums, products, minima
//! and maxima have no order, so variables are first numbered by their other occurrences; a single variable left over comes
//! last; several left over are numbered in the way that makes the text of those operands smallest, which is found by
//! trying (hence the bound on how many). Variables of binders in between are not told apart in that text, since their own
//! order may depend on it; what is then left undecided is refused.
//!
//! **Invariant:** only open parts are walked, each once per depth, so a closed type of any size costs nothing.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet, VecDeque};

use crate::dim::int_of;
use crate::error::TypeError;
use crate::layout::{self, Role};
use crate::pool::Pool;
use crate::tag::{Sort, Tag};

/// The most variables of one scheme that may occur in commutative positions only.
pub(crate) const MAX_AMBIGUOUS: usize = 5;

/// The deepest nesting of constants that is searched for variables.
const MAX_CONST_DEPTH: u32 = 64;

/// The most constants, and bytes of symbols, that are compared for telling apart variables in commutative positions.
const MAX_TEXT: usize = 1 << 16;

/// What entering one type costs of what the caller allows: it takes longer than a step of minimising a group.
const ENTERING: usize = 16;

/// Takes steps off what the caller allows.
fn spend(work: &mut u64, steps: usize) -> Result<(), TypeError> {
    *work = work.checked_sub(steps as u64).ok_or(TypeError::SchemeTooHard)?;
    Ok(())
}

/// Types by reference: those of a pool, or those of a pool together with a graph that is not in it yet.
pub(crate) trait View {
    /// Tag, words and number of free binders.
    fn node(&self, reference: u32) -> (Tag, &[u32], u8);
    fn name(&self, name: u32) -> &str;
}

impl View for Pool {
    #[inline]
    fn node(&self, reference: u32) -> (Tag, &[u32], u8) {
        let node = &self.nodes[reference as usize];
        (node.tag, self.words(reference), node.free)
    }

    fn name(&self, name: u32) -> &str {
        self.names.get(name)
    }
}

/// One use of a place of the binder in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Use {
    pub(crate) index: u32,
    pub(crate) sort: u32,
}

/// In which order the open part of a body is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// A type, then its children in turn.
    Preorder,
    /// Level by level. Schemes are no level of their own, so that one that binds nothing counts for nothing.
    Levels,
}

/// A walk through the open part of a body, every node once for each number of binders around it.
struct Walk {
    /// Reference and number of binders between the body and the node.
    seen: HashSet<(u32, u32)>,
    /// The uses of the binder's places, each place once, in order.
    uses: Vec<Use>,
    known: HashSet<Use>,
    /// Commutative nodes, if those are not to be entered.
    deferred: Option<Vec<(u32, u32)>>,
    /// Whether a node that has children was met again.
    met_again: bool,
}

impl Walk {
    fn new(deferred: Option<Vec<(u32, u32)>>) -> Self {
        Walk { seen: HashSet::new(), uses: Vec::new(), known: HashSet::new(), deferred, met_again: false }
    }

    fn run(
        &mut self,
        view: &impl View,
        start: (u32, u32),
        order: Order,
        work: &mut u64,
    ) -> Result<(), TypeError> {
        let mut waiting = VecDeque::from([start]);
        let mut next = Vec::new();
        while let Some((mut reference, mut level)) = waiting.pop_front() {
            spend(work, ENTERING)?;
            if order == Order::Levels {
                while let (Tag::Scheme, words, free) = view.node(reference)
                    && u32::from(free) > level
                    && self.seen.insert((reference, level))
                {
                    (reference, level) = (words[0], level + 1);
                }
            }
            let (tag, words, free) = view.node(reference);
            if u32::from(free) <= level {
                continue;
            }
            if tag == Tag::Bound {
                let found = Use { index: words[1], sort: words[2] };
                if words[0] == level && self.known.insert(found) {
                    self.uses.push(found);
                }
                continue;
            }
            if !self.seen.insert((reference, level)) {
                self.met_again = true;
                continue;
            }
            if let Some(deferred) = &mut self.deferred
                && is_unordered(tag, words)
            {
                deferred.push((reference, level));
                continue;
            }
            open_children(view, reference, level, &mut next);
            match order {
                Order::Preorder => next.drain(..).rev().for_each(|child| waiting.push_front(child)),
                Order::Levels => waiting.extend(next.drain(..)),
            }
        }
        Ok(())
    }
}

/// The children of a node, with the number of binders around each.
fn open_children(view: &impl View, reference: u32, level: u32, children: &mut Vec<(u32, u32)>) {
    let (tag, words, _) = view.node(reference);
    let body = layout::binder_body(tag);
    layout::for_each(tag, words, |role, at, word| {
        if let Role::Child(_) = role {
            children.push((word, level + u32::from(body == Some(at))));
        }
    });
}

/// Whether the open part of a body unfolds to an infinite tree: depth first, a node that is still being walked is met.
fn is_infinite(view: &impl View, body: u32, work: &mut u64) -> Result<bool, TypeError> {
    let mut entered: HashMap<(u32, u32), bool> = HashMap::new();
    let mut stack = vec![(body, 0, false)];
    let mut children = Vec::new();
    while let Some((reference, level, done)) = stack.pop() {
        spend(work, ENTERING)?;
        if done {
            entered.insert((reference, level), false);
            continue;
        }
        if u32::from(view.node(reference).2) <= level {
            continue;
        }
        match entered.get(&(reference, level)) {
            Some(true) => return Ok(true),
            Some(false) => continue,
            None => {}
        }
        entered.insert((reference, level), true);
        stack.push((reference, level, true));
        open_children(view, reference, level, &mut children);
        stack.extend(children.drain(..).map(|(child, level)| (child, level, false)));
    }
    Ok(false)
}

fn is_unordered(tag: Tag, words: &[u32]) -> bool {
    match tag {
        Tag::DimSum => words.len() > 5,
        _ => tag.is_commutative(),
    }
}

/// The places of a binder that are used, in no particular order.
pub(crate) fn used_places(view: &impl View, body: u32, work: &mut u64) -> Result<Vec<Use>, TypeError> {
    let mut walk = Walk::new(None);
    walk.run(view, (body, 0), Order::Preorder, work)?;
    Ok(walk.uses)
}

/// The uses of a scheme's places in the order that the normal form gives them.
pub(crate) fn uses(view: &impl View, body: u32, work: &mut u64) -> Result<Vec<Use>, TypeError> {
    let mut walk = Walk::new(Some(Vec::new()));
    walk.run(view, (body, 0), Order::Preorder, work)?;
    if walk.met_again && is_infinite(view, body, work)? {
        walk = Walk::new(Some(Vec::new()));
        walk.run(view, (body, 0), Order::Levels, work)?;
    }
    let deferred = walk.deferred.unwrap_or_default();
    let ordered = walk.uses;
    if deferred.is_empty() {
        return Ok(ordered);
    }
    let mut walk = Walk { known: walk.known, uses: ordered.clone(), ..Walk::new(None) };
    for &start in &deferred {
        walk.run(view, start, Order::Preorder, work)?;
    }
    let mut all = walk.uses;
    let left = &mut all[ordered.len()..];
    match left {
        [] => return Ok(ordered),
        [_] => return Ok(all),
        _ if left.len() > MAX_AMBIGUOUS => {
            return Err(TypeError::AmbiguousVariables { count: left.len(), max: MAX_AMBIGUOUS });
        }
        // The order that is taken where several give the same text is the one that the places have.
        _ => left.sort_unstable_by_key(|used| used.index),
    }
    let count = left.len();
    let mut best: Option<(String, Vec<u32>)> = None;
    let (mut tied, mut hides) = (false, false);
    let mut failed = None;
    permutations(left, &mut |candidate| {
        if failed.is_some() {
            return;
        }
        let order: Vec<u32> = ordered.iter().chain(candidate).map(|used| used.index).collect();
        let places = order.iter().zip(0..).map(|(&index, place)| (index, place)).collect();
        let mut text = Text { view, level: 0, places, first_left: ordered.len(), steps: 0, hides: false };
        let key = match text.of_all(&deferred) {
            Ok(key) => key,
            Err(error) => return failed = Some(error),
        };
        if let Err(error) = spend(work, ENTERING * text.steps) {
            return failed = Some(error);
        }
        hides |= text.hides;
        match best.as_mut().map(|(smallest, known)| (key.cmp(smallest), known)) {
            Some((Ordering::Greater, _)) => {}
            Some((Ordering::Equal, known)) => {
                tied = true;
                if order < *known {
                    *known = order;
                }
            }
            Some((Ordering::Less, _)) | None => {
                tied = false;
                best = Some((key, order));
            }
        }
    });
    match (failed, best) {
        (Some(error), _) => Err(error),
        // Nothing tells these variables apart but variables whose own order may depend on theirs.
        (None, Some(_)) if tied && hides => Err(TypeError::EntangledVariables { count }),
        (None, Some((_, order))) => {
            let places: HashMap<u32, usize> = order.into_iter().zip(0..).collect();
            all.sort_unstable_by_key(|used| places[&used.index]);
            Ok(all)
        }
        (None, None) => Ok(all),
    }
}

/// Calls `f` with every order of `items` (Heap's algorithm, on at most [`MAX_AMBIGUOUS`] items).
fn permutations(items: &mut [Use], f: &mut impl FnMut(&[Use])) {
    let mut counters = vec![0; items.len()];
    f(items);
    let mut at = 1;
    while at < items.len() {
        if counters[at] < at {
            items.swap(if at % 2 == 0 { 0 } else { counters[at] }, at);
            f(items);
            counters[at] += 1;
            at = 1;
        } else {
            counters[at] = 0;
            at += 1;
        }
    }
}

/// Text of constants that depends neither on the order of operands nor on ids nor on how the binders between the scheme and
/// a constant number their variables, with the scheme's own places renumbered.
struct Text<'v, V> {
    view: &'v V,
    /// The number of binders between the scheme and the constant at hand.
    level: u32,
    places: HashMap<u32, usize>,
    /// The first place of the variables that are being ordered.
    first_left: usize,
    /// Constants and bytes of symbols so far.
    steps: usize,
    /// Whether a variable that is being ordered stands beside one of a binder in between.
    hides: bool,
}

/// What variables a constant mentions.
#[derive(Clone, Copy, Debug, Default)]
struct Mentions {
    left: bool,
    between: bool,
}

impl<V: View> Text<'_, V> {
    fn of_all(&mut self, constants: &[(u32, u32)]) -> Result<String, TypeError> {
        let mut all = String::new();
        for &(reference, level) in constants {
            self.level = level;
            let mut mentions = Mentions::default();
            all.push_str(&self.of(reference, 0, &mut mentions)?);
            all.push(';');
            self.hides |= mentions.left && mentions.between;
        }
        Ok(all)
    }

    fn of(&mut self, reference: u32, depth: u32, mentions: &mut Mentions) -> Result<String, TypeError> {
        self.steps += 1;
        if depth > MAX_CONST_DEPTH || self.steps > MAX_TEXT {
            return Err(TypeError::ConstTooLarge);
        }
        let view = self.view;
        let (tag, words, _) = view.node(reference);
        let mut parts = Vec::new();
        match tag {
            Tag::Bound => return Ok(self.variable(words, mentions)),
            Tag::DimSum => {
                for term in words[2..].chunks_exact(3) {
                    let key = self.of(term[2], depth + 1, mentions)?;
                    parts.push(format!("{}*{key}", int_of(term[0], term[1])));
                }
                parts.sort_unstable();
                parts.insert(0, int_of(words[0], words[1]).to_string());
            }
            Tag::DimConst => parts.push(int_of(words[0], words[1]).to_string()),
            Tag::DimSymbol => {
                let name = view.name(words[0]);
                self.steps += name.len();
                parts.push(format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"")));
            }
            _ => {
                let mut children = Vec::new();
                layout::for_each_child(tag, words, |child| children.push(child));
                for child in children {
                    parts.push(self.of(child, depth + 1, mentions)?);
                }
                if tag.is_commutative() {
                    parts.sort_unstable();
                }
            }
        }
        Ok(format!("{}({})", tag.name(), parts.join(",")))
    }

    fn variable(&self, words: &[u32], mentions: &mut Mentions) -> String {
        let (depth, index) = (words[0], words[1]);
        match depth.cmp(&self.level) {
            Ordering::Equal => {
                let place = self.places.get(&index).copied().unwrap_or(self.places.len());
                mentions.left |= place >= self.first_left;
                format!("v{place}")
            }
            Ordering::Less => {
                mentions.between = true;
                format!("b-{}", self.level - depth)
            }
            Ordering::Greater => format!("b{}.{index}", depth - self.level),
        }
    }
}

/// Checks every use of a binder's places against their sorts.
pub(crate) fn check_uses(uses: &[Use], sorts: &[u32]) -> Result<(), TypeError> {
    for used in uses {
        let Some(&bound) = sorts.get(used.index as usize) else {
            return Err(TypeError::VariableOutOfScope { index: used.index, count: sorts.len() as u32 });
        };
        if bound != used.sort {
            let name = |sort| Sort::from_number(sort).unwrap_or(Sort::Type);
            return Err(TypeError::VariableSort { expected: name(bound), found: name(used.sort) });
        }
    }
    Ok(())
}

/// Whether a scheme with these uses and this many places is in normal form.
pub(crate) fn is_normal(uses: &[Use], places: usize) -> bool {
    uses.len() == places && uses.iter().enumerate().all(|(at, used)| used.index as usize == at)
}

impl Pool {
    /// Checks the body of a declaration or a scheme; a scheme must be in normal form.
    pub(crate) fn check_binder(
        &self,
        tag: Tag,
        body: u32,
        sorts: &[u32],
        work: &mut u64,
    ) -> Result<(), TypeError> {
        let found = match tag {
            _ if self.nodes[body as usize].free == 0 => Vec::new(),
            Tag::Scheme => uses(self, body, work)?,
            _ => used_places(self, body, work)?,
        };
        check_uses(&found, sorts)?;
        if tag == Tag::Scheme && !is_normal(&found, sorts.len()) {
            return Err(TypeError::Layout { tag });
        }
        Ok(())
    }
}
