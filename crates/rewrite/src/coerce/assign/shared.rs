//! Values of functions that are called more than once: one conversion in the body stands in every call.
//!
//! In each *instance* of the function the value has a maker and readers with element types of their own. What is chosen once
//! for all of them is where each reader reads: from the value itself, from its conversion into one element type, or from its
//! conversion into the type that another value has in the same instance. A conversion counts once, what it loses for each
//! reader in each instance: so the variable for the conversions knows no classes, and the groups stay small.
//!
//! There is a variable for the conversions that there are, and one for each reader; costs tie them to the classes of one
//! instance at a time, so that instances are as far apart as the rest of the problem leaves them.

use typeloom_solver::elem::Elem;
use typeloom_solver::model::ports::ClassId;

use super::super::policy::{CONVERSION, Cost, IMPOSSIBLE, plus};
use super::{Component, Factor};

/// The most conversions of which every subset is tried, and the largest subsets of more.
const MAX_IN_SETS: usize = 6;
const LARGEST_SMALL: u32 = 2;

/// A value with those who read it in all instances of its function. Where an instance has none, it says nothing.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    /// By instance.
    pub(crate) makers: Vec<Option<ClassId>>,
    /// Each reader by instance.
    pub(crate) readers: Vec<Vec<Option<ClassId>>>,
    /// Other values, by instance, into whose type the value can be converted, each for some of the readers.
    pub(crate) likes: Vec<(Vec<Option<ClassId>>, Vec<usize>)>,
    /// Whether there can be conversions at all.
    pub(crate) converts: bool,
    /// Whether there are no other values that it could be converted like.
    pub(crate) is_complete: bool,
}

impl Shared {
    pub(super) fn classes(&self) -> impl Iterator<Item = ClassId> {
        let likes = self.likes.iter().flat_map(|(like, _)| like);
        self.makers.iter().chain(self.readers.iter().flatten()).chain(likes).copied().flatten()
    }
}

/// Where a reader reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Source {
    /// The value itself.
    Direct,
    /// Its conversion into an element type.
    To(Elem),
    /// Its conversion into the type of another value.
    Like(usize),
}

/// What was made of a shared group.
pub(super) struct Variables {
    conversions: Vec<Source>,
    readers: Vec<usize>,
}

impl Variables {
    /// Where each reader reads: value 0 is the value itself, the others are conversions.
    pub(super) fn sources(&self, values: &[usize]) -> Vec<Source> {
        let source = |reader: &usize| match values[*reader].checked_sub(1) {
            Some(conversion) => self.conversions[conversion],
            None => Source::Direct,
        };
        self.readers.iter().map(source).collect()
    }
}

impl Component<'_> {
    /// The costs of a shared group.
    pub(super) fn share(&mut self, group: &Shared) -> Variables {
        let conversions = self.candidates(group);
        let small_only = conversions.len() > MAX_IN_SETS;
        let largest = if small_only { LARGEST_SMALL } else { u32::MAX };
        if small_only {
            self.untried = self.untried.min(Cost::from(LARGEST_SMALL + 1) * CONVERSION);
        }
        if !group.is_complete {
            self.untried = 0;
        }
        let sets = (0_u32..1 << conversions.len()).filter(|set| set.count_ones() <= largest);
        let sets: Vec<u32> = sets.collect();
        let made = self.variable(sets.len());
        self.constrain(&[made], &[], |_, own, _| match sets[own[0]].count_ones() {
            0 => 0,
            count if group.converts => Cost::from(count) * CONVERSION,
            _ => IMPOSSIBLE,
        });
        let mut readers = Vec::new();
        for (at, reader) in group.readers.iter().enumerate() {
            let reads = self.variable(1 + conversions.len());
            readers.push(reads);
            self.constrain(&[made, reads], &[], |_, own, _| match own[1].checked_sub(1) {
                Some(conversion) if sets[own[0]] >> conversion & 1 == 0 => IMPOSSIBLE,
                Some(_) | None => 0,
            });
            for (instance, (maker, reader)) in group.makers.iter().zip(reader).enumerate() {
                let (Some(maker), Some(reader)) = (*maker, *reader) else { continue };
                let same = |equal: bool| if equal { 0 } else { IMPOSSIBLE };
                self.constrain(&[reads], &[maker, reader], |this, own, elems| match own[0].checked_sub(1) {
                    None => same(elems[0] == elems[1]),
                    Some(conversion) => match conversions[conversion] {
                        Source::To(elem) if elem != elems[1] => IMPOSSIBLE,
                        Source::Direct | Source::To(_) | Source::Like(_) => this.loss(elems[0], elems[1]),
                    },
                });
                for (like, (makers, usable)) in group.likes.iter().enumerate() {
                    let Some(other) = makers[instance] else { continue };
                    let position = conversions.iter().position(|it| *it == Source::Like(like));
                    self.constrain(&[reads], &[other, reader], |_, own, elems| {
                        if own[0].checked_sub(1) == position && position.is_some() {
                            same(usable.contains(&at) && elems[0] == elems[1])
                        } else {
                            0
                        }
                    });
                }
            }
        }
        Variables { conversions, readers }
    }

    /// The conversions that are worth considering: into what a reader can have, and into the types of other values.
    fn candidates(&self, group: &Shared) -> Vec<Source> {
        if !group.converts {
            return Vec::new();
        }
        let mut elems: Vec<Elem> = Vec::new();
        for reader in group.readers.iter().flatten().copied().flatten() {
            match self.fixed.get(&reader) {
                Some(elem) => elems.push(*elem),
                None => {
                    elems.extend(self.domains[self.variables[&reader]].iter().filter_map(|set| set.single()));
                }
            }
        }
        elems.sort_unstable();
        elems.dedup();
        let into = elems.into_iter().filter(|elem| self.support.to.contains(*elem)).map(Source::To);
        // Sets of them are numbers.
        into.chain((0..group.likes.len()).map(Source::Like)).take(12).collect()
    }

    /// What a conversion costs in one instance beside being there.
    fn loss(&self, from: Elem, to: Elem) -> Cost {
        match self.cost(from, to) {
            0 => 0,
            IMPOSSIBLE => IMPOSSIBLE,
            cost => cost - CONVERSION,
        }
    }

    /// A variable that is no class.
    fn variable(&mut self, values: usize) -> usize {
        self.domains.push(vec![typeloom_solver::elem::ElemSet::EMPTY; values]);
        self.domains.len() - 1
    }

    /// A cost that depends on variables of one's own and on the element types of classes.
    fn constrain(
        &mut self,
        own: &[usize],
        classes: &[ClassId],
        cost: impl Fn(&Self, &[usize], &[Elem]) -> Cost,
    ) {
        let mut scope = own.to_vec();
        let mut places: Vec<Result<usize, Elem>> = Vec::new();
        for class in classes {
            places.push(match self.fixed.get(class) {
                Some(elem) => Err(*elem),
                None => {
                    let variable = self.variables[class];
                    Ok(scope.iter().position(|it| *it == variable).unwrap_or_else(|| {
                        scope.push(variable);
                        scope.len() - 1
                    }))
                }
            });
        }
        let costs = self.combinations(&scope).map(|values| {
            let elem = |place: &Result<usize, Elem>| match *place {
                Err(elem) => Some(elem),
                Ok(at) => self.domains[scope[at]][values[at]].single(),
            };
            let elems: Option<Vec<Elem>> = places.iter().map(elem).collect();
            elems.map_or(IMPOSSIBLE, |elems| plus(cost(self, &values[..own.len()], &elems), 0))
        });
        let costs = costs.collect();
        self.factors.push(Factor { scope, costs });
    }
}
