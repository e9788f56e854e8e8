//! Bound variables: scopes, and the normal form of schemes.
//!
//! Variables are de Bruijn pairs: the number of binders between the variable and its own binder, and the
//! index among that binder's variables. A scheme is in normal form if its variables are numbered by first use
//! and all of them are used, so that alpha-equivalent schemes are one type.
//!
//! First use is in preorder, or in breadth-first order if the open part of the body is infinite, because then
//! the preorder depends on the node at which the recursion was written down. Operands of sums, products,
//! minima and maxima have no order. Variables are therefore numbered by their other occurrences first; a
//! single remaining variable comes last; several remaining variables get the numbers that minimize the text
//! of those operands, found by trying all permutations (hence the limit on their number). The text does not
//! distinguish variables of binders in between, because their order may depend on it; ties that result from
//! that are an error.
//!
//! **Invariant:** only open parts are visited, each once per depth, so a closed type of any size costs
//! nothing.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet, VecDeque};

use crate::dim::int_of;
use crate::error::PoolError;
use crate::layout;
use crate::pool::Pool;
use crate::tag::{Sort, Tag};

/// Maximum number of variables of one scheme that occur only in commutative positions.
pub(crate) const MAX_AMBIGUOUS: usize = 5;

/// Maximum nesting of constants in a search for variables.
const MAX_CONST_DEPTH: u32 = 64;

/// Maximum number of constants and bytes of symbols compared to order variables in commutative positions.
const MAX_TEXT: usize = 1 << 16;

/// Cost of visiting one type, in units of the caller's work limit. Visiting takes longer than a step of
/// minimizing a group.
const ENTERING: usize = 16;

/// Subtracts steps from the caller's work limit.
fn spend(work: &mut u64, steps: usize) -> Result<(), PoolError> {
    *work = work.checked_sub(steps as u64).ok_or(PoolError::SchemeTooHard)?;
    Ok(())
}

/// Read access to types by reference: those of a pool, or those of a pool and of a graph that is not interned
/// yet.
pub(crate) trait View {
    /// Returns tag, words and number of free binders.
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

/// A used variable of the examined binder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Use {
    pub(crate) index: u32,
    pub(crate) sort: u32,
}

/// Order in which the open part of a body is visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WalkOrder {
    /// A type, then its children one after the other.
    Preorder,
    /// Breadth-first. Schemes do not count as a level, so a scheme without variables has no effect.
    Levels,
}

/// A walk through the open part of a body that visits every node once for each number of binders around it.
struct Walk {
    /// Reference and number of binders between the body and the node.
    seen: HashSet<(u32, u32)>,
    /// Used variables of the binder, each once, in order.
    uses: Vec<Use>,
    known: HashSet<Use>,
    /// Commutative nodes, which the walk does not enter; `None` if it enters them.
    deferred: Option<Vec<(u32, u32)>>,
    /// Whether a node with children was visited again.
    has_shared_node: bool,
}

impl Walk {
    fn new(deferred: Option<Vec<(u32, u32)>>) -> Self {
        Walk {
            seen: HashSet::new(),
            uses: Vec::new(),
            known: HashSet::new(),
            deferred,
            has_shared_node: false,
        }
    }

    fn run(
        &mut self,
        view: &impl View,
        start: (u32, u32),
        order: WalkOrder,
        work: &mut u64,
    ) -> Result<(), PoolError> {
        let mut waiting = VecDeque::from([start]);
        let mut next = Vec::new();
        while let Some((mut reference, mut level)) = waiting.pop_front() {
            spend(work, ENTERING)?;
            if order == WalkOrder::Levels {
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
                self.has_shared_node = true;
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
                WalkOrder::Preorder => next.drain(..).rev().for_each(|child| waiting.push_front(child)),
                WalkOrder::Levels => waiting.extend(next.drain(..)),
            }
        }
        Ok(())
    }
}

/// Appends the children of a node with the number of binders around each.
fn open_children(view: &impl View, reference: u32, level: u32, children: &mut Vec<(u32, u32)>) {
    let (tag, words, _) = view.node(reference);
    layout::for_each_scoped_child(tag, words, |_, child, is_bound| {
        children.push((child, level + u32::from(is_bound)));
    });
}

/// Whether the open part of a body unfolds to an infinite tree: a depth-first search meets a node on its
/// current path.
fn is_infinite(view: &impl View, body: u32, work: &mut u64) -> Result<bool, PoolError> {
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

/// Whether the operands of a constant have no order. A sum of one term has one operand.
pub(crate) fn is_unordered(tag: Tag, words: &[u32]) -> bool {
    match tag {
        Tag::DimSum => words.len() > 5,
        _ => tag.is_commutative(),
    }
}

/// Returns the used variables of a binder in unspecified order.
pub(crate) fn used_variables(view: &impl View, body: u32, work: &mut u64) -> Result<Vec<Use>, PoolError> {
    let mut walk = Walk::new(None);
    walk.run(view, (body, 0), WalkOrder::Preorder, work)?;
    Ok(walk.uses)
}

/// Returns the used variables of a scheme in the order of the normal form.
pub(crate) fn uses(view: &impl View, body: u32, work: &mut u64) -> Result<Vec<Use>, PoolError> {
    let mut walk = Walk::new(Some(Vec::new()));
    walk.run(view, (body, 0), WalkOrder::Preorder, work)?;
    if walk.has_shared_node && is_infinite(view, body, work)? {
        walk = Walk::new(Some(Vec::new()));
        walk.run(view, (body, 0), WalkOrder::Levels, work)?;
    }
    let deferred = walk.deferred.unwrap_or_default();
    let ordered = walk.uses;
    if deferred.is_empty() {
        return Ok(ordered);
    }
    let mut walk = Walk { known: walk.known, uses: ordered.clone(), ..Walk::new(None) };
    for &start in &deferred {
        walk.run(view, start, WalkOrder::Preorder, work)?;
    }
    let mut all = walk.uses;
    let left = &mut all[ordered.len()..];
    match left {
        [] => return Ok(ordered),
        [_] => return Ok(all),
        _ if left.len() > MAX_AMBIGUOUS => {
            return Err(PoolError::AmbiguousVariables { count: left.len(), max: MAX_AMBIGUOUS });
        }
        // Among orders with equal text, the order of the existing numbers is kept.
        _ => left.sort_unstable_by_key(|used| used.index),
    }
    let order = least_order(view, &ordered, left, &deferred, work)?;
    let positions: HashMap<u32, usize> = order.into_iter().zip(0..).collect();
    all.sort_unstable_by_key(|used| positions[&used.index]);
    Ok(all)
}

/// Returns the order of all variables, `ordered` ones first, that minimizes the text of the commutative
/// nodes.
fn least_order(
    view: &impl View,
    ordered: &[Use],
    left: &mut [Use],
    deferred: &[(u32, u32)],
    work: &mut u64,
) -> Result<Vec<u32>, PoolError> {
    let count = left.len();
    let mut best: Option<(String, Vec<u32>)> = None;
    let (mut tied, mut ambiguous) = (false, false);
    let mut failed = Ok(());
    permutations(left, &mut |candidate| {
        if failed.is_err() {
            return;
        }
        let order: Vec<u32> = ordered.iter().chain(candidate).map(|used| used.index).collect();
        let positions = order.iter().zip(0..).map(|(&index, position)| (index, position)).collect();
        let mut text =
            OperandText { view, level: 0, positions, first_left: ordered.len(), steps: 0, ambiguous: false };
        let key = text.of_all(deferred);
        let key = match key.and_then(|key| spend(work, ENTERING * text.steps).map(|()| key)) {
            Ok(key) => key,
            Err(error) => return failed = Err(error),
        };
        ambiguous |= text.ambiguous;
        match &mut best {
            Some((least, known)) if *least == key => {
                tied = true;
                if order < *known {
                    *known = order;
                }
            }
            Some((least, _)) if *least < key => {}
            _ => {
                tied = false;
                best = Some((key, order));
            }
        }
    });
    failed?;
    // The tied variables differ only by variables of binders in between, whose order may depend on them.
    if tied && ambiguous {
        return Err(PoolError::EntangledVariables { count });
    }
    Ok(best.map(|(_, order)| order).unwrap_or_default())
}

/// Calls `f` with every permutation of `items` (Heap's algorithm, at most [`MAX_AMBIGUOUS`] items).
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

/// Builds a text of constants with the scheme's own variables renumbered. The text does not depend on the
/// order of operands, on ids, or on the numbers of variables of binders in between.
struct OperandText<'v, V> {
    view: &'v V,
    /// Number of binders between the scheme and the current constant.
    level: u32,
    positions: HashMap<u32, usize>,
    /// First position of the variables that are being ordered.
    first_left: usize,
    /// Number of constants and bytes of symbols so far.
    steps: usize,
    /// Whether a variable that is being ordered occurs together with one of a binder in between.
    ambiguous: bool,
}

/// Variables that occur in a constant.
#[derive(Clone, Copy, Debug, Default)]
struct Mentions {
    left: bool,
    between: bool,
}

impl<V: View> OperandText<'_, V> {
    fn of_all(&mut self, constants: &[(u32, u32)]) -> Result<String, PoolError> {
        let mut all = String::new();
        for &(reference, level) in constants {
            self.level = level;
            let mut mentions = Mentions::default();
            all.push_str(&self.of(reference, 0, &mut mentions)?);
            all.push(';');
            self.ambiguous |= mentions.left && mentions.between;
        }
        Ok(all)
    }

    fn of(&mut self, reference: u32, depth: u32, mentions: &mut Mentions) -> Result<String, PoolError> {
        self.steps += 1;
        if depth > MAX_CONST_DEPTH || self.steps > MAX_TEXT {
            return Err(PoolError::ConstTooLarge);
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
                let position = self.positions.get(&index).copied().unwrap_or(self.positions.len());
                mentions.left |= position >= self.first_left;
                format!("v{position}")
            }
            Ordering::Less => {
                mentions.between = true;
                format!("b-{}", self.level - depth)
            }
            Ordering::Greater => format!("b{}.{index}", depth - self.level),
        }
    }
}

/// Checks the used variables of a binder against their sorts.
pub(crate) fn check_uses(uses: &[Use], sorts: &[u32]) -> Result<(), PoolError> {
    for used in uses {
        let Some(&bound) = sorts.get(used.index as usize) else {
            return Err(PoolError::VariableOutOfScope { index: used.index, count: sorts.len() as u32 });
        };
        if bound != used.sort {
            let name = |sort| Sort::from_number(sort).unwrap_or(Sort::Type);
            return Err(PoolError::VariableSort { expected: name(bound), found: name(used.sort) });
        }
    }
    Ok(())
}

/// Whether a scheme with these used variables and this many declared ones is in normal form.
pub(crate) fn is_normal(uses: &[Use], positions: usize) -> bool {
    uses.len() == positions && uses.iter().enumerate().all(|(at, used)| used.index as usize == at)
}

impl Pool {
    /// Checks the body of a declaration or a scheme; a scheme must be in normal form.
    pub(crate) fn check_binder(
        &self,
        tag: Tag,
        body: u32,
        sorts: &[u32],
        work: &mut u64,
    ) -> Result<(), PoolError> {
        let found = match tag {
            _ if self.nodes[body as usize].free == 0 => Vec::new(),
            Tag::Scheme => uses(self, body, work)?,
            _ => used_variables(self, body, work)?,
        };
        check_uses(&found, sorts)?;
        if tag == Tag::Scheme && !is_normal(&found, sorts.len()) {
            return Err(PoolError::Layout { tag });
        }
        Ok(())
    }
}
