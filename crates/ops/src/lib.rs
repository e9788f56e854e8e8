//! The operator catalogue: the declarations of all standard operators, and the rules that declarations cannot
//! express.
//!
//! [`table`] contains the declarations as data: ports, type variables, attributes, versions. `rules` contains
//! one file per operator family with rules beyond the declarations. [`catalogue`] joins both for the solver.
//!
//! **Invariant:** each fact about an operator is stored once: in the table if it is part of the signature,
//! otherwise in the file of its family.

pub mod catalogue;
pub mod check;
pub mod described;
pub mod table;

mod rules;
