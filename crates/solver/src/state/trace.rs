//! Why each value has the type it has: recorded only when somebody asks.
//!
//! The fast path records nothing. When a solve found errors, or a caller asks to explain a value, the
//! solve runs again with a trace: a list of facts, each "these two values share a type, says this
//! rule" or "this value was given its type, says this rule or declaration". A shortest path through
//! these facts, found breadth first, is a minimal chain of causes.
//!
//! **Invariant:** a trace never affects the solution.

use std::collections::{BTreeMap, VecDeque};

use crate::map::Set;
use crate::program::{DeclarationKind, StepId, ValueId};

/// A value has one type with this one, says the rule of that name at that step.
pub(crate) type Tie = (ValueId, StepId, &'static str);

/// The facts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    equal: BTreeMap<(u32, ValueId), Vec<Tie>>,
    fixed: BTreeMap<(u32, ValueId), Cause>,
    /// What is in `equal`: steps run again, and a value can have very many facts.
    known: Set<(u32, ValueId, ValueId, StepId)>,
}

/// What gave a value its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A rule of a node, whatever its inputs are.
    Rule {
        /// The node's step.
        step: StepId,
        /// The rule's name, or the declared port's.
        rule: &'static str,
    },
    /// A declaration in the model.
    Declared(DeclarationKind),
    /// The value is an initializer.
    Initializer,
    /// The caller said so.
    Seed,
    /// The value is an argument of the function that is being typed.
    Argument,
}

/// One link of a chain: the value, and how it is tied to the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// The value.
    pub(crate) value: ValueId,
    /// The node and rule that give it and the next value of the chain one type; `None` at the end.
    pub(crate) by: Option<(StepId, &'static str)>,
}

/// A chain of causes, from a value to what gave it its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    /// The values on the way; the first is the one that was asked about.
    pub(crate) links: Vec<Link>,
    /// What gave the last of them its type.
    pub(crate) cause: Cause,
}

impl Trace {
    pub(crate) fn equal(&mut self, frame: u32, a: ValueId, b: ValueId, step: StepId, rule: &'static str) {
        if !self.known.insert((frame, a, b, step)) {
            return;
        }
        for (from, to) in [(a, b), (b, a)] {
            self.equal.entry((frame, from)).or_default().push((to, step, rule));
        }
    }

    pub(crate) fn fixed(&mut self, frame: u32, value: ValueId, step: StepId, rule: &'static str) {
        self.fixed.entry((frame, value)).or_insert(Cause::Rule { step, rule });
    }

    pub(crate) fn given(&mut self, frame: u32, value: ValueId, cause: Cause) {
        self.fixed.insert((frame, value), cause);
    }

    /// The shortest chain from `value` to something that gave it its type, not passing through the
    /// node at `not_by` (the one where two chains meet in a contradiction).
    #[must_use]
    pub(crate) fn explain(&self, frame: u32, value: ValueId, not_by: Option<StepId>) -> Option<Chain> {
        let mut budget = usize::MAX;
        self.search(frame, value, |step| Some(step) != not_by, |_, _| true, |_, _| None, &mut budget)
    }

    /// As [`Trace::explain`], through the nodes that `follow` accepts, to a recorded cause that `accept`
    /// accepts. `end` is asked about values without one, with the facts about them. Every value that is
    /// looked at costs one of `budget`.
    pub(crate) fn search(
        &self,
        frame: u32,
        value: ValueId,
        follow: impl Fn(StepId) -> bool,
        accept: impl Fn(ValueId, &Cause) -> bool,
        end: impl Fn(ValueId, &[Tie]) -> Option<Cause>,
        budget: &mut usize,
    ) -> Option<Chain> {
        let mut came_from: BTreeMap<ValueId, Option<Tie>> = BTreeMap::new();
        let mut queue = VecDeque::from([value]);
        came_from.insert(value, None);
        while let Some(at) = queue.pop_front() {
            *budget = budget.checked_sub(1)?;
            let recorded = self.fixed.get(&(frame, at)).filter(|cause| accept(at, cause));
            let ties = self.equal.get(&(frame, at)).map_or(&[][..], Vec::as_slice);
            if let Some(cause) = recorded.cloned().or_else(|| end(at, ties)) {
                return Some(Chain { links: links(&came_from, at), cause });
            }
            for (next, step, rule) in ties {
                if follow(*step) && !came_from.contains_key(next) {
                    came_from.insert(*next, Some((at, *step, *rule)));
                    queue.push_back(*next);
                }
            }
        }
        None
    }
}

/// Walks back from the end of a search, and gives the chain in the order in which it was searched.
fn links(came_from: &BTreeMap<ValueId, Option<Tie>>, end: ValueId) -> Vec<Link> {
    let mut links = vec![Link { value: end, by: None }];
    let mut at = end;
    while let Some(Some((before, step, rule))) = came_from.get(&at) {
        links.push(Link { value: *before, by: Some((*step, rule)) });
        at = *before;
    }
    links.reverse();
    links
}
