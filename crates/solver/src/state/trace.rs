//! The causes of types.
//!
//! A solve without a trace records nothing. If it finds errors, or the caller wants an explanation, the model
//! is solved again with a trace: a list of facts. A fact is that a rule equates the types of two values, or
//! that a rule or declaration gives a value its type. A shortest path through the facts, found by
//! breadth-first search, is a minimal chain of causes.
//!
//! **Invariant:** a trace never affects the solution.

use std::collections::{BTreeMap, VecDeque};

use crate::map::Set;
use crate::program::id::{DeclarationKind, StepId, ValueId};

/// Another value of the same type, with the step and rule that equate the two.
pub(crate) type Tie = (ValueId, StepId, &'static str);

/// The facts of a solve.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    equal: BTreeMap<(u32, ValueId), Vec<Tie>>,
    fixed: BTreeMap<(u32, ValueId), Cause>,
    /// The contents of `equal`. Steps run repeatedly, and a value can have many facts.
    known: Set<(u32, ValueId, ValueId, StepId)>,
}

/// The source of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A rule of a node, independently of its inputs.
    Rule {
        /// The first step of the node.
        step: StepId,
        /// The name of the rule, or of the declared port.
        rule: &'static str,
    },
    /// A declaration in the model.
    Declared(DeclarationKind),
    /// The value is an initializer.
    Initializer,
    /// A seed.
    Seed,
    /// The argument of a call, for a parameter of the function.
    Argument,
}

/// One link of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// The value of the link.
    pub(crate) value: ValueId,
    /// The node and rule that equate it with the next value of the chain; `None` at the end.
    pub(crate) by: Option<(StepId, &'static str)>,
}

/// A chain of causes, from a value to the source of its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    /// The values of the chain, starting with the explained one.
    pub(crate) links: Vec<Link>,
    /// The source of the last value's type.
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

    /// Records that a value is given a type. A declaration is not the cause of a type that a rule gives as
    /// well.
    pub(crate) fn given(&mut self, frame: u32, value: ValueId, cause: Cause) {
        let is_known = matches!(self.fixed.get(&(frame, value)), Some(Cause::Rule { .. }));
        if !(is_known && matches!(cause, Cause::Declared(_))) {
            self.fixed.insert((frame, value), cause);
        }
    }

    /// The shortest chain from `value` to a source of its type that avoids the node `not_by`, where two
    /// chains meet in a contradiction.
    #[must_use]
    pub(crate) fn explain(&self, frame: u32, value: ValueId, not_by: Option<StepId>) -> Option<Chain> {
        let mut budget = usize::MAX;
        self.search(frame, value, |step| Some(step) != not_by, |_, _| true, |_, _| None, &mut budget)
    }

    /// As [`Trace::explain`], through the nodes that `follow` accepts, to a recorded cause that `accept`
    /// accepts. `end` decides values without a recorded cause, from their facts. Each visited value costs one
    /// of `budget`.
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

impl Trace {
    /// The first links of the shortest chains of the values 0 to `count`, as [`Trace::search`] finds them.
    /// `end` is whether a value has a cause of its own.
    ///
    /// **Cost:** linear in the facts.
    pub(crate) fn first_links(
        &self,
        frame: u32,
        count: usize,
        follow: impl Fn(StepId) -> bool,
        end: impl Fn(ValueId) -> bool,
    ) -> Vec<Option<Tie>> {
        let ties = |value: ValueId| self.equal.get(&(frame, value)).map_or(&[][..], Vec::as_slice);
        // The lengths of the chains, breadth first from their ends. Facts are recorded in both directions.
        let mut lengths: Vec<Option<u32>> = vec![None; count];
        let mut queue: Vec<ValueId> = (0..count).map(ValueId::new).filter(|value| end(*value)).collect();
        queue.iter().for_each(|value| lengths[value.index()] = Some(0));
        let mut at = 0;
        while let Some(value) = queue.get(at).copied() {
            at += 1;
            let length = lengths[value.index()].map(|length| length + 1);
            for (next, step, _) in ties(value) {
                if lengths[next.index()].is_none() && follow(*step) {
                    lengths[next.index()] = length;
                    queue.push(*next);
                }
            }
        }
        let first = |value: usize| {
            let before = lengths[value]?.checked_sub(1)?;
            let mut ties = ties(ValueId::new(value)).iter();
            ties.find(|(next, step, _)| lengths[next.index()] == Some(before) && follow(*step)).copied()
        };
        (0..count).map(first).collect()
    }

    /// The recorded cause of a value.
    pub(crate) fn recorded(&self, frame: u32, value: ValueId) -> Option<&Cause> {
        self.fixed.get(&(frame, value))
    }
}

/// Reconstructs the chain from the end of a search.
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
