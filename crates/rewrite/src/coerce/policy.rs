//! Policies of repairs, and the cost of conversions under each.
//!
//! Costs are compared lexicographically by these components:
//!
//! 1. the conversions that the policy avoids (`widest`: conversions that lose values), and unsafe
//!    conversions, if they are permitted;
//! 2. the number of conversions;
//! 3. `minority`: the number of conversions of floats to integers;
//! 4. the number of conversions that lose values (`to`: those into other types);
//! 5. `minority`: the number of conversions of computed values, rather than of stored tensors;
//! 6. `minority`: the rarity of the new types in the model, so that the rare type is converted and not the
//!    common one;
//! 7. the number of readers that get a converted value;
//! 8. the number of declarations that have to change;
//! 9. the narrowness of the new types.
//!
//! A cost is one integer with a range of bits per component, so costs are added componentwise.

use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_types::dtype::{Dtype, UnknownDtype};

use super::loss::StoredTensor;
use super::number_format::{is_float, width};
use typeloom_solver::diagnostic::Safety;

/// Permitted conversions, and the preference between repairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// Only conversions that keep every value.
    Lossless,
    /// As few conversions as possible; among equally many, those from rare types of the model to common ones.
    #[default]
    Minority,
    /// Conversions that keep every value if possible, otherwise conversions to the widest type.
    Widest,
    /// As few conversions as possible, regardless of loss.
    Fewest,
    /// As few conversions as possible: into one element type regardless of loss, or conversions that keep
    /// every value.
    To(Dtype),
}

/// The error of a text that is not a policy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PolicyError {
    /// There is no policy with this name.
    #[error("there is no policy `{0}`; there are minority, lossless, widest, fewest and to=TYPE")]
    Unknown(String),
    /// The type of `to=TYPE` is not an element type.
    #[error(transparent)]
    Type(#[from] UnknownDtype),
}

impl Policy {
    /// The policy with a name: `minority`, `lossless`, `widest`, `fewest` or `to=TYPE`.
    ///
    /// # Errors
    /// If there is none.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        Ok(match text {
            "minority" => Self::Minority,
            "lossless" => Self::Lossless,
            "widest" => Self::Widest,
            "fewest" => Self::Fewest,
            _ => {
                let name = text.strip_prefix("to=").ok_or_else(|| PolicyError::Unknown(text.to_owned()))?;
                Self::To(name.parse()?)
            }
        })
    }
}

/// The cost of a repair, see the module documentation.
pub(crate) type Cost = u128;

/// An upper bound of all sums of costs.
pub(crate) const IMPOSSIBLE: Cost = Cost::MAX >> 1;

const AVOIDED: Cost = 1 << 114;
/// One conversion.
pub(crate) const CONVERSION: Cost = 1 << 100;
/// A conversion that drops fractions.
const TRUNCATION: Cost = 1 << 87;
/// A conversion that loses values. Element types are compared by the components from this one on.
pub(crate) const LOSS: Cost = 1 << 74;
/// A conversion of a computed value.
const COMPUTED: Cost = 1 << 61;
/// One rank of [`Usage`].
const RARITY: Cost = 1 << 44;
/// A reader of a converted value.
pub(crate) const REROUTED: Cost = 1 << 31;
/// A declaration that has to change.
pub(crate) const DECLARATION: Cost = 1 << 18;

/// Adds two costs.
pub(crate) fn plus(a: Cost, b: Cost) -> Cost {
    a.saturating_add(b).min(IMPOSSIBLE)
}

/// The element types of the conversion operator in the operator set of a model, and the usage of element
/// types in the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Support {
    pub(crate) from: ElemSet,
    pub(crate) to: ElemSet,
    pub(crate) usage: Usage,
    /// The greatest safety class of the conversions.
    pub(crate) applied: Safety,
}

/// The number of element types of ONNX, plus one.
const ELEMS: usize = Elem::LAST_ONNX as usize + 1;

/// The rarity of each element type in a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Usage {
    /// By number of the element type: the number of types that are more common, [`ELEMS`] for unused types.
    rarity: [u8; ELEMS],
}

impl Usage {
    /// Counts the occurrences of each element type.
    pub(crate) fn of(elems: impl Iterator<Item = Elem>) -> Self {
        let mut counts = [0_usize; ELEMS];
        for elem in elems {
            if let Some(count) = counts.get_mut(usize::from(elem.number())) {
                *count += 1;
            }
        }
        let rarity = counts.map(|count| match count {
            0 => ELEMS,
            count => counts.iter().filter(|other| **other > count).count(),
        });
        Self { rarity: rarity.map(|rarity| u8::try_from(rarity).unwrap_or(u8::MAX)) }
    }

    fn rarity(&self, elem: Elem) -> u8 {
        self.rarity.get(usize::from(elem.number())).copied().unwrap_or(u8::MAX)
    }
}

/// The elements after a conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Elements {
    /// Every element has the same value.
    Kept,
    /// Elements can change.
    Changed,
}

impl Policy {
    /// The cost of a conversion; `None` if the policy or the operator forbids it.
    pub(crate) fn cost(self, from: Elem, to: Elem, elements: Elements, support: Support) -> Option<Cost> {
        if !support.from.contains(from) || !support.to.contains(to) {
            return None;
        }
        let keeps = elements == Elements::Kept;
        let narrowness = Cost::from(255 - width(to));
        let base = CONVERSION + if keeps { 0 } else { LOSS } + narrowness;
        // A text need not be a number, so a run can fail.
        let is_unsafe = from == Elem::STRING;
        let base = match (is_unsafe, support.applied) {
            (true, Safety::Safe) => return None,
            (true, Safety::Unsafe) => AVOIDED + base,
            (false, Safety::Safe | Safety::Unsafe) => base,
        };
        match self {
            Self::Minority => {
                // Networks compute with fractions.
                let truncates = !keeps && is_float(from) && !is_float(to);
                let truncation = if truncates { TRUNCATION } else { 0 };
                Some(truncation + base + RARITY * Cost::from(support.usage.rarity(to)))
            }
            Self::Lossless => keeps.then_some(base),
            Self::Widest => Some(if keeps { base } else { AVOIDED + base }),
            Self::Fewest => Some(base),
            Self::To(target) if Elem::of(target) == to => Some(CONVERSION + narrowness),
            Self::To(_) => keeps.then_some(base + LOSS),
        }
    }

    /// The cost of a conversion in front of a comparison; `None` if it is forbidden. Different values must
    /// stay different.
    pub(crate) fn of_comparison(to: Elem, elements: Elements, support: Support) -> Option<Cost> {
        match (elements, support.applied) {
            (Elements::Kept, Safety::Safe | Safety::Unsafe) => Some(0),
            (Elements::Changed, Safety::Unsafe) if to != Elem::BOOL => Some(AVOIDED),
            (Elements::Changed, Safety::Safe | Safety::Unsafe) => None,
        }
    }

    /// The additional cost of converting a computed value.
    pub(super) fn of_source(self, stored: Option<&StoredTensor<'_>>) -> Cost {
        if self == Self::Minority && stored.is_none() { COMPUTED } else { 0 }
    }

    /// The element types to consider for open classes, the best first.
    pub(crate) fn candidates(self, support: Support) -> impl Iterator<Item = Elem> {
        let target = match self {
            Self::To(target) => Some(Elem::of(target)),
            Self::Lossless | Self::Minority | Self::Widest | Self::Fewest => None,
        };
        let others = (1..=Elem::LAST_ONNX).filter_map(Elem::new);
        let mut others: Vec<Elem> = others.filter(|elem| Some(*elem) != target).collect();
        // Doubles and 64-bit integers represent most numbers; most operators accept single floats.
        let rank = |elem: &Elem| match *elem {
            Elem::DOUBLE => 0,
            Elem::INT64 => 1,
            Elem::FLOAT => 2,
            other => 255 - u32::from(width(other)) + 3,
        };
        let rarity = |elem: &Elem| if self == Self::Minority { support.usage.rarity(*elem) } else { 0 };
        others.sort_by_key(|elem| (rarity(elem), rank(elem)));
        target.into_iter().chain(others)
    }
}
