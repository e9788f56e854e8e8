//! The operator catalogue: what every standard operator declares, and the rules that declarations
//! cannot express.
//!
//! [`table`] holds the declarations as facts: ports, type variables, attributes, versions. `rules`
//! holds what the table cannot say, one file per operator family. [`catalogue`] joins the two into what
//! the solver asks.
//!
//! **Invariant:** a fact about an operator stands once: in the table if it is part of the signature,
//! in its family's file otherwise.

pub mod catalogue;
pub mod check;
pub mod described;
pub mod table;

mod rules;
