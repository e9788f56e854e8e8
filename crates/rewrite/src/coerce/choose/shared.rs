//! Values of functions with several calls: one conversion in the body serves every call.
//!
//! The definition and the uses of the value can have different element types in each call. The source of each
//! use is chosen once for all calls: the value itself, its conversion into an element type, or its conversion
//! into the type of another value in the same call. A conversion counts once; its loss of precision counts
//! for each use in each call.
//!
//! One variable is the set of conversions, and one variable per use is its source. Each factor relates them
//! to the classes of one call, so calls depend on each other only through these variables.

use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::model::ports::ClassId;

use super::assign::{Component, Port};
use super::eliminate::Variable;
use crate::coerce::number_format::keeps_values;
use crate::coerce::policy::{CONVERSION, Cost, Elements, IMPOSSIBLE, plus};

/// Up to this number of conversions, all subsets are tried.
const MAX_ALL_SUBSETS: usize = 6;

/// The size of the largest subsets that are tried of more conversions.
const MAX_SUBSET: u32 = 2;

/// The maximum number of conversions; sets of them are bits of a `u32`.
const MAX_CONVERSIONS: usize = 12;

/// A value with its readers in all calls of its function. The entry of a call that does not reach a port is
/// `None`.
#[derive(Clone, Debug)]
pub(super) struct SharedGroup {
    /// The class of the value, by call.
    pub(super) makers: Vec<Option<ClassId>>,
    /// The class of each reader, by call.
    pub(super) readers: Vec<Vec<Option<ClassId>>>,
    pub(super) likes: Vec<Like>,
    /// Whether conversions are possible.
    pub(super) converts: bool,
    /// Whether `likes` contains every candidate.
    pub(super) is_complete: bool,
}

/// Another value whose type the value can be converted into.
#[derive(Clone, Debug)]
pub(super) struct Like {
    /// The class of the other value, by call.
    pub(super) classes: Vec<Option<ClassId>>,
    /// The readers that come after its definition.
    pub(super) readers: Vec<usize>,
}

impl SharedGroup {
    pub(super) fn classes(&self) -> impl Iterator<Item = ClassId> {
        let likes = self.likes.iter().flat_map(|like| &like.classes);
        self.makers.iter().chain(self.readers.iter().flatten()).chain(likes).copied().flatten()
    }
}

/// The source of a reader.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Source {
    /// The value itself.
    Direct,
    /// Its conversion into an element type.
    To(Elem),
    /// Its conversion into the type of another value, by position in [`SharedGroup::likes`].
    Like(usize),
}

/// The variables for the sources of a shared group.
pub(super) struct SourceVariables {
    /// The source for each value of a reader variable.
    sources: Vec<Source>,
    readers: Vec<Variable>,
}

impl SourceVariables {
    /// The source of each reader under an assignment.
    pub(super) fn sources(&self, values: &[usize]) -> Vec<Source> {
        self.readers.iter().map(|reader| self.sources[values[reader.index()]]).collect()
    }
}

impl Component<'_> {
    /// Adds the variables and factors of a shared group.
    pub(super) fn add_shared(&mut self, group: &SharedGroup) -> SourceVariables {
        let sources = self.sources(group);
        let conversions = sources.len() - 1;
        let is_limited = conversions > MAX_ALL_SUBSETS;
        let largest = if is_limited { MAX_SUBSET } else { u32::MAX };
        if is_limited {
            self.untried = self.untried.min(Cost::from(MAX_SUBSET + 1) * CONVERSION);
        }
        if !group.is_complete {
            self.untried = 0;
        }
        let sets: Vec<u32> = (0_u32..1 << conversions).filter(|set| set.count_ones() <= largest).collect();
        let inserted = self.auxiliary(sets.len());
        self.constrain(&[inserted], &[], |_, values, _| match sets[values[0]].count_ones() {
            0 => 0,
            count if group.converts => Cost::from(count) * CONVERSION,
            _ => IMPOSSIBLE,
        });
        let required = |holds: bool| if holds { 0 } else { IMPOSSIBLE };
        let mut readers = Vec::new();
        for (at, classes) in group.readers.iter().enumerate() {
            let source = self.auxiliary(sources.len());
            readers.push(source);
            self.constrain(&[inserted, source], &[], |_, values, _| match values[1].checked_sub(1) {
                Some(conversion) => required(sets[values[0]] >> conversion & 1 == 1),
                None => 0,
            });
            for (call, (maker, reader)) in group.makers.iter().zip(classes).enumerate() {
                let (Some(maker), Some(reader)) = (*maker, *reader) else { continue };
                self.constrain(&[source], &[maker, reader], |this, values, elems| match sources[values[0]] {
                    Source::Direct => required(elems[0] == elems[1]),
                    Source::To(elem) if elem != elems[1] => IMPOSSIBLE,
                    Source::To(_) | Source::Like(_) => this.loss(reader, elems[0], elems[1]),
                });
                for (position, like) in group.likes.iter().enumerate() {
                    let Some(other) = like.classes[call] else { continue };
                    self.constrain(&[source], &[other, reader], |_, values, elems| {
                        let is_like = sources[values[0]] == Source::Like(position);
                        required(!is_like || like.readers.contains(&at) && elems[0] == elems[1])
                    });
                }
            }
        }
        SourceVariables { sources, readers }
    }

    /// The value itself, and the conversions to consider: into a type that a reader accepts, or into the type
    /// of another value.
    fn sources(&self, group: &SharedGroup) -> Vec<Source> {
        let mut sources = vec![Source::Direct];
        if !group.converts {
            return sources;
        }
        let mut elems: Vec<Elem> = Vec::new();
        for reader in group.readers.iter().flatten().copied().flatten() {
            match self.port(reader) {
                Port::Fixed(elem) => elems.push(elem),
                Port::Open(variable) => {
                    elems.extend(self.domain(variable).iter().filter_map(|set| set.single()));
                }
            }
        }
        elems.sort_unstable();
        elems.dedup();
        let into = elems.into_iter().filter(|elem| self.support.to.contains(*elem)).map(Source::To);
        sources.extend(into.chain((0..group.likes.len()).map(Source::Like)).take(MAX_CONVERSIONS));
        sources
    }

    /// The cost of a conversion in one call, without the cost of the node.
    fn loss(&self, reader: ClassId, from: Elem, to: Elem) -> Cost {
        let elements = if keeps_values(from, to) { Elements::Kept } else { Elements::Changed };
        match self.cost(from, to, elements) {
            0 => 0,
            IMPOSSIBLE => IMPOSSIBLE,
            cost => plus(cost - CONVERSION, self.reader(reader, from, to, elements)),
        }
    }

    /// Adds a variable that is not a class.
    fn auxiliary(&mut self, values: usize) -> Variable {
        self.variable(vec![ElemSet::EMPTY; values])
    }
}
