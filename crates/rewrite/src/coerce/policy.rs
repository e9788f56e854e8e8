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
use typeloom_types::dtype::DtypeClass;

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

/// What numbers of an element type can be told apart.
#[derive(Clone, Copy)]
enum Numbers {
    /// Integers of so many bits, the sign among them where there is one.
    Int { bits: i32, signed: bool },
    /// Floats: bits of the significand, the exponents of the least and of the greatest power of two.
    Float { significand: i32, least: i32, greatest: i32, signed: bool },
}

fn numbers(elem: Elem) -> Option<Numbers> {
    let dtype = elem.dtype()?;
    let bits = dtype.size_bits()?.cast_signed();
    match dtype.class() {
        DtypeClass::Bool => Some(Numbers::Int { bits: 1, signed: false }),
        DtypeClass::UnsignedInt => Some(Numbers::Int { bits, signed: false }),
        DtypeClass::SignedInt => Some(Numbers::Int { bits, signed: true }),
        DtypeClass::Float => float_numbers(elem),
        DtypeClass::Complex | DtypeClass::String => None,
    }
}

fn float_numbers(elem: Elem) -> Option<Numbers> {
    let float =
        |significand, least, greatest| Some(Numbers::Float { significand, least, greatest, signed: true });
    match elem {
        Elem::DOUBLE => float(53, -1074, 1023),
        Elem::FLOAT => float(24, -149, 127),
        Elem::FLOAT16 => float(11, -24, 15),
        Elem::BFLOAT16 => float(8, -133, 127),
        Elem::FLOAT8E4M3FN => float(4, -9, 8),
        Elem::FLOAT8E4M3FNUZ => float(4, -10, 7),
        Elem::FLOAT8E5M2 => float(3, -16, 15),
        Elem::FLOAT8E5M2FNUZ => float(3, -17, 15),
        Elem::FLOAT6E2M3 => float(4, -3, 2),
        Elem::FLOAT6E3M2 => float(3, -4, 4),
        Elem::FLOAT4E2M1 => float(2, -1, 2),
        Elem::FLOAT8E8M0 => {
            Some(Numbers::Float { significand: 1, least: -127, greatest: 127, signed: false })
        }
        _ => None,
    }
}

fn is_float(elem: Elem) -> bool {
    matches!(numbers(elem), Some(Numbers::Float { .. }))
}

/// Whether a conversion keeps every value.
#[must_use]
pub fn keeps_values(from: Elem, to: Elem) -> bool {
    if from == to {
        return true;
    }
    let (Some(from_numbers), Some(to_numbers)) = (numbers(from), numbers(to)) else { return false };
    match (from_numbers, to_numbers) {
        // What is not zero is true: all else is lost.
        (_, Numbers::Int { bits: 1, signed: false }) => false,
        (Numbers::Int { bits, signed }, Numbers::Int { bits: more, signed: to_signed }) => {
            match (signed, to_signed) {
                (true, false) => false,
                (false, true) => bits < more,
                (true, true) | (false, false) => bits <= more,
            }
        }
        (Numbers::Int { bits, signed }, Numbers::Float { significand, greatest, signed: to_signed, .. }) => {
            let magnitude = bits - i32::from(signed);
            (to_signed || !signed) && magnitude <= significand && magnitude <= greatest + 1
        }
        (Numbers::Float { .. }, Numbers::Int { .. }) => false,
        (
            Numbers::Float { significand, least, greatest, signed },
            Numbers::Float { significand: more, least: less, greatest: above, signed: to_signed },
        ) => {
            // Infinities and NaN have no counterpart in the narrow formats that go without them.
            let specials =
                !is_finite_only(to) || is_finite_only(from) && special_kind(from) == special_kind(to);
            significand <= more && least >= less && greatest <= above && (to_signed || !signed) && specials
        }
    }
}

/// Formats without infinities.
fn is_finite_only(elem: Elem) -> bool {
    special_kind(elem) != 0
}

/// Which special values a float format has: 0 both kinds, 1 NaN alone, 2 none.
fn special_kind(elem: Elem) -> u8 {
    match elem {
        Elem::FLOAT8E4M3FN | Elem::FLOAT8E4M3FNUZ | Elem::FLOAT8E5M2FNUZ | Elem::FLOAT8E8M0 => 1,
        Elem::FLOAT6E2M3 | Elem::FLOAT6E3M2 | Elem::FLOAT4E2M1 => 2,
        _ => 0,
    }
}

/// How much an element type holds, to prefer the wider of two.
fn width(elem: Elem) -> u8 {
    match numbers(elem) {
        None => 0,
        Some(Numbers::Int { bits, signed }) => u8::try_from(2 * bits + i32::from(signed)).unwrap_or(129),
        Some(Numbers::Float { significand, greatest, .. }) => {
            130 + u8::try_from(significand + i32::from(greatest > 100)).unwrap_or(60)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_keep_values_or_lose_some() {
        let keeps = [
            (Elem::FLOAT16, Elem::FLOAT),
            (Elem::BFLOAT16, Elem::FLOAT),
            (Elem::FLOAT, Elem::DOUBLE),
            (Elem::INT32, Elem::DOUBLE),
            (Elem::INT32, Elem::INT64),
            (Elem::UINT8, Elem::BFLOAT16),
            (Elem::INT16, Elem::FLOAT),
            (Elem::BOOL, Elem::INT8),
            (Elem::BOOL, Elem::FLOAT16),
            (Elem::UINT8, Elem::INT16),
            (Elem::FLOAT8E5M2, Elem::FLOAT16),
            (Elem::FLOAT8E8M0, Elem::BFLOAT16),
            (Elem::FLOAT4E2M1, Elem::FLOAT8E5M2),
        ];
        let loses = [
            (Elem::FLOAT, Elem::FLOAT16),
            (Elem::FLOAT16, Elem::BFLOAT16),
            (Elem::BFLOAT16, Elem::FLOAT16),
            (Elem::INT64, Elem::DOUBLE),
            (Elem::INT32, Elem::FLOAT),
            (Elem::FLOAT, Elem::INT64),
            (Elem::INT8, Elem::UINT64),
            (Elem::UINT64, Elem::INT64),
            (Elem::INT8, Elem::BOOL),
            (Elem::STRING, Elem::FLOAT),
            (Elem::INT8, Elem::STRING),
            (Elem::FLOAT8E5M2, Elem::FLOAT8E4M3FN),
            (Elem::INT8, Elem::FLOAT8E8M0),
        ];
        assert!(keeps.iter().all(|(from, to)| keeps_values(*from, *to)));
        assert!(loses.iter().all(|(from, to)| !keeps_values(*from, *to)));
    }

    #[test]
    fn keeping_values_is_a_partial_order() {
        let all: Vec<Elem> = (1..=Elem::LAST_ONNX).filter_map(Elem::new).collect();
        for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b))) {
            assert!(a == b || !(keeps_values(a, b) && keeps_values(b, a)), "{a:?} {b:?}");
            for c in &all {
                assert!(
                    !keeps_values(a, b) || !keeps_values(b, *c) || keeps_values(a, *c),
                    "{a:?} {b:?} {c:?}"
                );
            }
        }
    }
}
