//! Conditions on the symbols of a model: relations between two dims.
//!
//! An operator may accept its inputs only under such a condition: a broadcast needs extents that are equal or
//! 1, a slice needs a minimum length, a reshape needs divisibility. [`Dims::examine`] decides a condition
//! over a [`Domain`](crate::Domain).

use std::fmt;

use crate::arena::Dims;
use crate::id::DimId;
use crate::poly::{Term, Terms, constant_term, merge, without_constant};

/// The relation between the two sides of a [`Condition`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Relation {
    /// `left = right`.
    Equal,
    /// `left <= right`.
    AtMost,
    /// `left = 1` or `left = right`: the left side broadcasts to the right one.
    OneOrEqual,
    /// `left = 1` or `right = 1` or `left = right`: both sides broadcast to each other.
    Broadcast,
    /// `left` divides `right`. Undefined where `left` is 0.
    Divides,
}

impl Relation {
    /// All relations.
    pub const ALL: [Self; 5] = [Self::Equal, Self::AtMost, Self::OneOrEqual, Self::Broadcast, Self::Divides];

    /// The name in files and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::AtMost => "at-most",
            Self::OneOrEqual => "one-or-equal",
            Self::Broadcast => "broadcast",
            Self::Divides => "divides",
        }
    }
}

/// A relation between two dims of one arena.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Condition {
    /// The relation between the sides.
    pub relation: Relation,
    /// The left side; the divisor of [`Relation::Divides`].
    pub left: DimId,
    /// The right side; the dividend of [`Relation::Divides`].
    pub right: DimId,
}

impl Condition {
    /// The condition that `relation` holds between two dims.
    #[must_use]
    pub const fn new(relation: Relation, left: DimId, right: DimId) -> Self {
        Self { relation, left, right }
    }

    /// The condition with both sides replaced.
    pub fn map(self, mut replace: impl FnMut(DimId) -> DimId) -> Self {
        Self { relation: self.relation, left: replace(self.left), right: replace(self.right) }
    }
}

impl Relation {
    /// Whether the relation holds between two numbers; `None` if it is undefined.
    pub(crate) fn holds(self, left: i128, right: i128) -> Option<bool> {
        Some(match self {
            Self::Equal => left == right,
            Self::AtMost => left <= right,
            Self::OneOrEqual => left == 1 || left == right,
            Self::Broadcast => left == 1 || right == 1 || left == right,
            Self::Divides => right.checked_rem(left)? == 0,
        })
    }
}

/// An elementary statement about one dim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Goal {
    /// The dim is 0.
    Zero(DimId),
    /// The dim is at most 0.
    NotPositive(DimId),
}

impl Goal {
    pub(crate) fn dim(self) -> DimId {
        match self {
            Self::Zero(dim) | Self::NotPositive(dim) => dim,
        }
    }

    pub(crate) fn with(self, dim: DimId) -> Self {
        match self {
            Self::Zero(_) => Self::Zero(dim),
            Self::NotPositive(_) => Self::NotPositive(dim),
        }
    }
}

/// A condition as text: see [`Dims::display_condition`].
#[derive(Clone)]
pub struct DisplayCondition<'a> {
    dims: &'a Dims,
    condition: Condition,
}

impl Dims {
    /// The condition as text: `seq <= 64`, `batch*seq is divisible by 7`.
    ///
    /// Sides are printed as by [`Dims::display`] and should be resolved.
    #[must_use]
    pub fn display_condition(&self, condition: Condition) -> DisplayCondition<'_> {
        DisplayCondition { dims: self, condition }
    }

    /// The conjunction of conditions as text: `28 <= N <= 41 and N is divisible by 2`. `side` may replace the
    /// text of a side.
    pub fn conditions_text(&self, conditions: &[Condition], side: impl Fn(String) -> String) -> String {
        let text = |dim: DimId| side(self.display(dim).to_string());
        let mut parts: Vec<String> = Vec::with_capacity(conditions.len());
        let mut rest = conditions;
        while let [first, after @ ..] = rest {
            rest = after;
            let Condition { relation, left, right } = *first;
            if let [second, after @ ..] = after
                && [relation, second.relation] == [Relation::AtMost; 2]
                && right == second.left
            {
                parts.push(format!("{} <= {} <= {}", text(left), text(right), text(second.right)));
                rest = after;
                continue;
            }
            parts.push(self.condition_text(*first, &text(left), &text(right)));
        }
        parts.join(" and ")
    }

    /// A condition with the given texts of its sides.
    fn condition_text(&self, condition: Condition, left: &str, right: &str) -> String {
        let left_is_constant = self.as_constant(condition.left).is_some();
        match condition.relation {
            Relation::Equal if left_is_constant => format!("{right} = {left}"),
            Relation::Equal => format!("{left} = {right}"),
            Relation::AtMost if left_is_constant => format!("{right} >= {left}"),
            Relation::AtMost => format!("{left} <= {right}"),
            Relation::OneOrEqual => format!("{left} is 1 or equal to {right}"),
            Relation::Broadcast => format!("{left} and {right} are equal, or one of them is 1"),
            Relation::Divides => format!("{right} is divisible by {left}"),
        }
    }

    /// The number of leaves in the text of a condition.
    pub fn condition_size(&self, condition: Condition) -> usize {
        [condition.left, condition.right].iter().map(|side| usize::from(self.summary(*side).size)).sum()
    }

    /// Evaluates a condition at values of the leaves; `None` if a side is undefined or a leaf has no value.
    #[must_use]
    pub fn holds(&self, condition: Condition, values: &[(DimId, i64)]) -> Option<bool> {
        let Condition { relation, left, right } = condition;
        let (left, right) = (self.evaluate(left, values)?, self.evaluate(right, values)?);
        relation.holds(i128::from(left), i128::from(right))
    }

    /// The goals of a condition, at least one of which has to hold; `None` if a difference is beyond the
    /// limits.
    pub(crate) fn alternatives(&mut self, condition: Condition) -> Option<Vec<Goal>> {
        let Condition { relation, left, right } = condition;
        let (left, right) = (self.resolve(left), self.resolve(right));
        Some(match relation {
            Relation::Equal => vec![Goal::Zero(self.try_sub(left, right)?)],
            Relation::AtMost => vec![Goal::NotPositive(self.try_sub(left, right)?)],
            Relation::OneOrEqual => {
                vec![Goal::Zero(self.try_sub(left, DimId::ONE)?), Goal::Zero(self.try_sub(left, right)?)]
            }
            Relation::Broadcast => vec![
                Goal::Zero(self.try_sub(left, DimId::ONE)?),
                Goal::Zero(self.try_sub(right, DimId::ONE)?),
                Goal::Zero(self.try_sub(left, right)?),
            ],
            Relation::Divides => vec![Goal::Zero(self.try_modulo(right, left)?)],
        })
    }

    /// An equation with its symbols on one side: `a + b = 5` for `a = 5 - b`.
    pub fn plain_equation(&mut self, condition: Condition) -> Condition {
        let goals = self.alternatives(condition);
        let plain = goals.and_then(|goals| match goals[..] {
            [goal] => self.condition_of(goal),
            _ => None,
        });
        plain.unwrap_or(condition)
    }

    /// A readable condition that is equivalent to a goal.
    pub(crate) fn condition_of(&mut self, goal: Goal) -> Option<Condition> {
        let mut terms = self.terms(goal.dim());
        if let Goal::Zero(_) = goal {
            if let Some((divisor, dividend)) = self.divisibility(&terms) {
                return Some(Condition::new(Relation::Divides, divisor, dividend));
            }
            // Equations have no direction; older symbols come first.
            if terms.first().is_some_and(|term| term.coefficient < 0) {
                terms = merge(&[], &terms, -1)?;
            }
        }
        let part = |positive: bool| -> Terms {
            terms.iter().copied().filter(|term| (term.coefficient > 0) == positive).collect()
        };
        let (left, right) = (part(true), merge(&[], &part(false), -1)?);
        let (left, right) = (self.intern_sum(&left)?, self.intern_sum(&right)?);
        let relation = match goal {
            Goal::Zero(_) => Relation::Equal,
            Goal::NotPositive(_) => Relation::AtMost,
        };
        Some(Condition::new(relation, left, right))
    }

    /// The divisor and the dividend, if the terms are a multiple of `a - b*(a//b)`.
    fn divisibility(&mut self, terms: &[Term]) -> Option<(DimId, DimId)> {
        for term in terms {
            let factors = self.factors(term.monomial);
            let floor = factors.iter().find_map(|&factor| self.as_floor(factor));
            let Some((numerator, denominator)) = floor else { continue };
            let Some(remainder) = self.try_modulo(numerator, denominator) else { continue };
            let remainder = self.terms(remainder);
            let found = remainder.iter().find(|other| other.monomial == term.monomial);
            let Some(scale) = found.and_then(|other| term.coefficient.checked_div(other.coefficient)) else {
                continue;
            };
            if scale != 0 && merge(terms, &remainder, -scale).is_some_and(|rest| rest.is_empty()) {
                return Some((denominator, numerator));
            }
        }
        None
    }
}

impl fmt::Display for DisplayCondition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.dims.conditions_text(&[self.condition], |side| side))
    }
}

/// Divides a goal by the content of its terms. The result is equivalent.
pub(crate) fn without_content(goal: Goal, dims: &mut Dims) -> Goal {
    let mut terms = dims.terms(goal.dim());
    let constant = constant_term(&terms);
    let Ok(common) = i64::try_from(crate::poly::content(without_constant(&terms))) else { return goal };
    if common <= 1 || (matches!(goal, Goal::Zero(_)) && constant % common != 0) {
        return goal;
    }
    for term in &mut terms {
        // The constant of an inequality is rounded up; all other coefficients divide exactly.
        term.coefficient = -(-term.coefficient).div_euclid(common);
    }
    terms.retain(|term| term.coefficient != 0);
    dims.intern_sum(&terms).map_or(goal, |dim| goal.with(dim))
}
