//! Runtime values of operators.

use typeloom_contracts::datum::Datum;

/// An input or result of an operator: a tensor, a sequence or an optional.
pub type Value = Datum;
