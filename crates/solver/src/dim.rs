//! Dims: the extents of shapes, as polynomials over the symbols of a model, hash-consed in normal form.
//!
//! # What a dim is
//!
//! A dim is an integer that is computed from *symbols*. Its normal form is a sum of terms, each an `i64` coefficient
//! times a product of *atoms*:
//!
//! | atom | values |
//! |---|---|
//! | named symbol | an integer from 0 on; rigid: never bound, never merged with another one |
//! | anonymous extent | one definite integer from 0 on that nobody named; can be bound to a dim |
//! | anonymous integer | one definite integer of any sign: the answer of an operation that gave up |
//! | floor of a quotient | in lowest form (`a//b`); also carries rounding up and remainders |
//! | minimum | of two or more dims, in lowest form; also carries maxima |
//!
//! Equal polynomials over these atoms are the same [`DimId`], so equality is one comparison of numbers. The
//! rules that bring floors and minima to a lowest form are listed in the modules `divide` and `extremum`.
//!
//! # What every statement means
//!
//! A decision, a bound, a quotient, a solution holds *for all values of the atoms* above: symbols and anonymous
//! extents from 0 on (an empty axis is an axis), anonymous integers of any sign, wherever no divisor is zero.
//! Arithmetic is that of the integers: a model whose own shape arithmetic wraps around 64 bits is not described.
//!
//! **Invariant:** a wrong statement is never made; a statement that is not found is "undecided". Everything that is
//! too large or undefined (a division by zero) is an unknown: a fresh anonymous variable, which equals nothing else.
//!
//! # What is decided
//!
//! - Equality of polynomials: always. Equality of expressions with floors and minima: where the lowest forms
//!   agree, or the bounds of the difference leave only zero (`(a + 1)//2 + a//2 = a`). This is not complete.
//! - Inequality for all values: by bounds, by divisibility, by residues of polynomials in one atom.
//! - Bounds: interval arithmetic, with floors and minima relaxed to the linear bounds they satisfy.
//! - Equations: one symbol or variable at a time, see [`Solved`].
//!
//! - Conditions on symbols, over bindings in which named symbols are at least 1 by default: see [`Dims::examine`]. There
//!   proofs by cases, exact solutions in one symbol, and counterexamples are added.
//!
//! [`Dims::compare`] does not decide which of several cases holds (`n*(n + 1)` is even), systems of equations, assumptions
//! between symbols.
//!
//! # Cost and limits
//!
//! Constants of 31 bits live in the id and touch no memory. A sum or product of small polynomials is one merge and
//! one probe of a hash table. All work on one dim is bounded, because all of these are: 64 terms, 8 factors per
//! monomial, 8 levels of floors and minima in each other, 512 leaves when written out, 8 arguments of a minimum.
//! What would be larger is an unknown. Walks over bindings of variables, which can form chains of any length,
//! use an explicit stack. The work on a condition is bounded too: proofs by the terms they visit, exact solutions by the period
//! of floors, searches by the steps they evaluate. What is beyond these limits is undecided.
//!
//! ```
//! use typeloom_solver::dim::{Decision, Dims, Solved};
//!
//! let mut dims = Dims::new();
//! let (seq, past) = (dims.symbol("seq"), dims.symbol("past"));
//! let total = dims.add(seq, past);
//! assert_eq!(dims.display(total).to_string(), "seq + past");
//! assert_eq!(dims.parse("past + seq"), Ok(total));
//!
//! let (padded, two) = (dims.add(seq, total), dims.constant(2));
//! let half = dims.floor_div(padded, two);
//! assert_eq!(dims.display(half).to_string(), "seq + past//2");
//! assert_eq!(dims.compare(half, total), Decision::Undecided);
//!
//! let (odd, nine) = (dims.parse("2*seq + 1")?, dims.constant(9));
//! let four = dims.constant(4);
//! assert_eq!(dims.solve_for(odd, nine), Solved::Symbol { symbol: seq, value: four });
//! # Ok::<(), typeloom_solver::dim::DimParseError>(())
//! ```
//!
//! A condition is examined over a domain, and refuted by a smallest binding:
//!
//! ```
//! use typeloom_solver::dim::{Condition, Dims, Domain, Relation, Verdict};
//!
//! let mut dims = Dims::new();
//! let (seq, table) = (dims.symbol("seq"), dims.parse("min(seq, 64)")?);
//! let condition = Condition::new(Relation::Broadcast, seq, table);
//! let domain = Domain::nonempty();
//! let Verdict::Restricted { conditions } = dims.examine(condition, &domain) else { panic!() };
//! assert_eq!(dims.display_condition(conditions[0]).to_string(), "seq <= 64");
//! assert_eq!(dims.counterexample(condition, &domain), Some(vec![(seq, 65)]));
//! # Ok::<(), typeloom_solver::dim::DimParseError>(())
//! ```
//!
//! Not for: element types, ranks, and the equations that a graph leaves open; those are the solver's.

mod arena;
mod bind;
mod bounds;
mod condition;
#[cfg(test)]
mod condition_laws;
mod decide;
mod display;
mod divide;
mod domain;
mod evaluate;
mod examine;
#[cfg(test)]
mod examine_tests;
mod expression;
mod extremum;
mod facts;
mod finite;
mod id;
mod intern;
#[cfg(test)]
mod laws;
mod ops;
mod parse;
mod piecewise;
mod poly;
mod prove;
mod reduce;
pub mod shape;
mod shifted;
mod solutions;
mod solve;
#[cfg(test)]
mod tests;
mod view;
mod witness;

pub use arena::Dims;
pub use bind::Bind;
pub use condition::{Condition, DisplayCondition, Relation};
pub use decide::Decision;
pub use display::DisplayDim;
pub use domain::Domain;
pub(crate) use domain::symbols_of;
pub use examine::Verdict;
pub use expression::DimExpression;
pub(crate) use facts::Facts;
pub use id::DimId;
pub use parse::DimParseError;
pub use solve::Solved;
pub use view::DimView;

/// Whether a dim's name is a mark for an unknown extent, such as `?` or `-1`: it names nothing, and two axes with it need
/// not be equal.
#[must_use]
pub fn is_placeholder(name: &str) -> bool {
    let name = name.trim();
    let is_word = name.chars().any(|letter| letter.is_alphanumeric() || letter == '_');
    let is_negative = name.strip_prefix('-').is_some_and(|rest| rest.bytes().all(|it| it.is_ascii_digit()));
    !name.is_empty() && (!is_word || is_negative)
}
