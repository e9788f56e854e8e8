//! Dims: the extents of shapes, as polynomials over the symbols of a model, hash-consed in normal form.
//!
//! # Question
//!
//! The extents of a model are integers computed from symbols: a window of 3 over `n` elements in steps of 2
//! has the extent `(n - 3)//2 + 1`. Are two extents equal for every input? A comparison of texts does not see
//! that `seq + past` and `past + seq` are equal. Trees with sorted operands still differ for `2*(a + b)` and
//! `2*a + 2*b`. An evaluation at some inputs refutes an equality and never proves one.
//!
//! # Idea
//!
//! A dim is an integer that is computed from *symbols*. It is stored in a canonical form (B. Buchberger and
//! R. Loos, *Algebraic Simplification*, 1982), the expanded polynomial: a sum of terms, each an `i64`
//! coefficient times a product of *atoms*. Operations that are no polynomial, such as quotients, are atoms:
//!
//! | atom | values |
//! |---|---|
//! | named symbol | an integer from 0 on; rigid: never bound, never merged with another one |
//! | anonymous extent | one definite integer from 0 on without a name; can be bound to a dim |
//! | anonymous integer | one definite integer of any sign: the result of an operation beyond the limits |
//! | floor of a quotient | in lowest form (`a//b`); also represents rounding up and remainders |
//! | minimum | of two or more dims, in lowest form; also represents maxima |
//!
//! Equal polynomials over these atoms are the same [`DimId`], so equality is one comparison of numbers. The
//! rules that bring floors and minima to a lowest form are listed in the modules `divide` and `extremum`.
//!
//! # Semantics
//!
//! A decision, bound, quotient or solution holds *for all values of the atoms*: symbols and anonymous extents
//! from 0 on (an axis may be empty), and anonymous integers of any sign, as long as no divisor is zero.
//! Arithmetic is that of the integers; shape arithmetic that wraps around 64 bits is not modelled.
//!
//! **Invariant:** decisions are sound but incomplete; unproved ones are "undecided". A result that is too
//! large or undefined (a division by zero) is an unknown: a fresh anonymous variable, which equals nothing
//! else.
//!
//! # Decision procedures
//!
//! - Equality of polynomials is decided completely. Equality of expressions with floors and minima is decided
//!   if the lowest forms agree, or the bounds of the difference leave only zero (`(a + 1)//2 + a//2 = a`).
//! - Inequality for all values is decided by bounds, by divisibility, and by residues of polynomials in one
//!   atom.
//! - Bounds come from interval arithmetic, with floors and minima relaxed to linear bounds.
//! - Equations are solved for one symbol or variable at a time, see [`Solved`].
//! - Conditions on symbols, over bindings in which named symbols are at least 1 by default, are decided by
//!   [`Dims::examine`]. It adds proofs by cases, exact solutions in one symbol, and counterexamples.
//!
//! [`Dims::compare`] uses no case distinctions (`n*(n + 1)` is even), systems of equations, or assumptions
//! between symbols.
//!
//! # Cost and limits
//!
//! Constants of 31 bits are stored in the id and need no memory access. A sum or product of small polynomials
//! costs one merge and one probe of a hash table. The work on one dim is bounded by limits: 64 terms, 8
//! factors of a monomial, 8 levels of nested floors and minima, 512 leaves in the text, 8 arguments of a
//! minimum. A larger result is an unknown. Traversals of bindings, which can form long chains, use an
//! explicit stack. The work on a condition is bounded too: proofs by the visited terms, exact solutions by
//! the period of floors, searches by the evaluated steps. Beyond these limits a condition is undecided.
//!
//! ```
//! use typeloom_dim::{Decision, Dims, Solved};
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
//! # Ok::<(), typeloom_dim::DimParseError>(())
//! ```
//!
//! A condition is examined over a domain, and refuted by a smallest binding:
//!
//! ```
//! use typeloom_dim::{Condition, Dims, Domain, Relation, Verdict};
//!
//! let mut dims = Dims::new();
//! let (seq, table) = (dims.symbol("seq"), dims.parse("min(seq, 64)")?);
//! let condition = Condition::new(Relation::Broadcast, seq, table);
//! let domain = Domain::nonempty();
//! let Verdict::Restricted { conditions } = dims.examine(condition, &domain) else { panic!() };
//! assert_eq!(dims.display_condition(conditions[0]).to_string(), "seq <= 64");
//! assert_eq!(dims.counterexample(condition, &domain), Some(vec![(seq, 65)]));
//! # Ok::<(), typeloom_dim::DimParseError>(())
//! ```
//!
//! Dims do not represent element types, ranks, or the equations of a graph.

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
mod join;
#[cfg(test)]
mod laws;
mod ops;
mod parse;
mod piecewise;
pub mod poly;
mod prove;
mod quotients;
mod reduce;
mod remainders;
pub mod shape;
mod shifted;
mod solutions;
mod solve;
#[cfg(test)]
mod tests;
mod view;
mod witness;
mod work;

pub use arena::Dims;
pub use bind::Bind;
pub use condition::{Condition, DisplayCondition, Relation};
pub use decide::Decision;
pub use display::DisplayDim;
pub use domain::Domain;
pub use domain::symbols_of;
pub use examine::Verdict;
pub use examine::progression;
pub use expression::DimExpression;
pub use extremum::drop_redundant;
pub use facts::Facts;
pub use id::DimId;
pub use parse::DimParseError;
pub use solve::Solved;
pub use view::DimView;

/// Whether the name of a dim is a placeholder for an unknown extent, such as `?` or `-1`. Two axes with a
/// placeholder need not be equal.
#[must_use]
pub fn is_placeholder(name: &str) -> bool {
    let name = name.trim();
    let is_word = name.chars().any(|letter| letter.is_alphanumeric() || letter == '_');
    let is_negative = name.strip_prefix('-').is_some_and(|rest| rest.bytes().all(|it| it.is_ascii_digit()));
    !name.is_empty() && (!is_word || is_negative)
}
