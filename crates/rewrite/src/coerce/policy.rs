//! Which conversions may be made, and which of two is better.
//!
//! A cost is compared part by part, the first part first:
//!
//! 1. what the policy avoids (`widest`, `to`: conversions that lose values; `minority`: floats that become integers);
//! 2. how many conversions there are;
//! 3. `minority`: how many of them convert what a node computes, rather than a stored tensor;
//! 4. `minority`: how rare the new types are in the model, so that the odd type is converted and not the common one;
//! 5. how many conversions lose values;
//! 6. how many declarations have to change;
//! 7. how narrow the new types are.
//!
//! Sums of costs are sums of each part.

use typeloom_solver::elem::{Elem, ElemSet};

use super::number_format::{is_float, keeps_values, width};

/// Which conversions may be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// Only those that keep every value.
    Lossless,
    /// As few as possible, and of equally many those that convert the odd values of a model to the types that it uses.
    #[default]
    Minority,
    /// Those that keep every value wherever that is possible, and elsewhere those to the widest type.
    Widest,
    /// As few as possible, whatever they lose.
    Fewest,
    /// Those into one element type, whatever they lose, and elsewhere those that keep every value.
    To(Elem),
}

/// What a repair costs, see the module.
pub(crate) type Cost = u128;

/// More than any sum of costs.
pub(crate) const IMPOSSIBLE: Cost = Cost::MAX >> 1;

const AVOIDED: Cost = 1 << 108;
/// One conversion.
pub(crate) const CONVERSION: Cost = 1 << 90;
/// A conversion of what a node computes.
const COMPUTED: Cost = 1 << 72;
/// One rank of rarity.
const RARITY: Cost = 1 << 54;
const LOSS: Cost = 1 << 36;
/// A declaration that has to change.
pub(crate) const DECLARATION: Cost = 1 << 18;

/// The sum of two costs.
pub(crate) fn plus(a: Cost, b: Cost) -> Cost {
    a.saturating_add(b).min(IMPOSSIBLE)
}

/// What the operator that converts takes and gives in the model's operator set, and what the model uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Support {
    pub(crate) from: ElemSet,
    pub(crate) to: ElemSet,
    pub(crate) usage: Usage,
}

/// The number of element types of ONNX, and one more.
const ELEMS: usize = Elem::LAST_ONNX as usize + 1;

/// How common each element type is in a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Usage {
    /// By number: 0 for the most common type, more for each type that is more common, [`ELEMS`] for types that are not used.
    rarity: [u8; ELEMS],
}

impl Usage {
    /// From how often each element type occurs.
    pub(crate) fn of(elems: impl Iterator<Item = Elem>) -> Self {
        let mut counts = [0_usize; ELEMS];
        for elem in elems {
            if let Some(count) = counts.get_mut(usize::from(elem.number())) {
                *count += 1;
            }
        }
        let rarity = |count: &usize| match count {
            0 => ELEMS,
            count => counts.iter().filter(|other| *other > count).count(),
        };
        let mut ranks = [0; ELEMS];
        for (rank, count) in ranks.iter_mut().zip(&counts) {
            *rank = u8::try_from(rarity(count)).unwrap_or(u8::MAX);
        }
        Self { rarity: ranks }
    }

    fn rarity(&self, elem: Elem) -> u8 {
        self.rarity.get(usize::from(elem.number())).copied().unwrap_or(u8::MAX)
    }
}

/// Where the value that is converted comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stored {
    /// It is a tensor in the file.
    Yes,
    /// A node computes it, or the caller gives it.
    No,
}

impl Policy {
    /// What a conversion costs; `None` where it may not be made.
    pub(crate) fn cost(self, from: Elem, to: Elem, support: Support) -> Option<Cost> {
        if !support.from.contains(from) || !support.to.contains(to) {
            return None;
        }
        let keeps = keeps_values(from, to);
        let loss = if keeps { 0 } else { LOSS };
        let base = CONVERSION + loss + Cost::from(255 - width(to));
        match self {
            Self::Minority => {
                // Fractions are what a network computes; an index that must be an integer has no other repair.
                let truncates = is_float(from) && !is_float(to);
                let avoided = if truncates { AVOIDED } else { 0 };
                Some(avoided + base + RARITY * Cost::from(support.usage.rarity(to)))
            }
            Self::Lossless => keeps.then_some(base),
            Self::Widest => Some(if keeps { base } else { AVOIDED + base }),
            Self::Fewest => Some(base),
            Self::To(target) if target == to => Some(base),
            Self::To(_) => keeps.then_some(AVOIDED + base),
        }
    }

    /// What it costs in addition that the value is computed rather than stored.
    pub(crate) fn of_source(self, stored: Stored) -> Cost {
        match (self, stored) {
            (Self::Minority, Stored::No) => COMPUTED,
            (Self::Minority, Stored::Yes)
            | (Self::Lossless | Self::Widest | Self::Fewest | Self::To(_), Stored::Yes | Stored::No) => 0,
        }
    }

    /// Element types to consider beside those that a class has already, the best first.
    pub(crate) fn candidates(self, support: Support) -> impl Iterator<Item = Elem> {
        let target = match self {
            Self::To(target) => Some(target),
            Self::Lossless | Self::Minority | Self::Widest | Self::Fewest => None,
        };
        let others = (1..=Elem::LAST_ONNX).filter_map(Elem::new);
        let mut others: Vec<Elem> = others.filter(|elem| Some(*elem) != target).collect();
        // Doubles and long integers hold most of what there is; single floats are what most operators take.
        let rank = |elem: &Elem| match *elem {
            Elem::DOUBLE => 0,
            Elem::INT64 => 1,
            Elem::FLOAT => 2,
            other => 255 - u32::from(width(other)) + 3,
        };
        let rarity = |elem: &Elem| match self {
            Self::Minority => support.usage.rarity(*elem),
            Self::Lossless | Self::Widest | Self::Fewest | Self::To(_) => 0,
        };
        others.sort_by_key(|elem| (rarity(elem), rank(elem)));
        target.into_iter().chain(others)
    }
}
