//! What can be wrong with the text of a table.

use typeloom_solver::signature::AttributeKind;

/// The first fault in a table's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("operator table, line {line}: {kind}")]
pub struct TableError {
    /// The line, counted from 1; for a text that ends too early, the one at which it ends.
    pub line: usize,
    /// What is wrong there.
    pub kind: TableErrorKind,
}

/// The ways in which a line can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableErrorKind {
    /// Another word was expected.
    #[error("expected {expected}, found `{found}`")]
    Unexpected {
        /// What belongs there.
        expected: &'static str,
        /// What is there.
        found: Box<str>,
    },
    /// The line ends too early.
    #[error("expected {expected}, found the end of the line")]
    Missing {
        /// What belongs there.
        expected: &'static str,
    },
    /// An element type or group that was not declared.
    #[error("unknown element type or group `{0}`")]
    UnknownElem(Box<str>),
    /// A port whose type is neither a type variable of the operator nor a tensor of one element type.
    #[error("`{0}` is neither a type variable of the operator nor a tensor of one element type")]
    UnknownType(Box<str>),
    /// A name, or a constructor in a type variable's set, that appears twice.
    #[error("`{0}` appears twice")]
    Repeated(Box<str>),
    /// A domain, operator or attribute that does not come after the one before it.
    #[error("`{0}` is out of order")]
    OutOfOrder(Box<str>),
    /// A port after a variadic one.
    #[error("only the last port can be variadic")]
    VariadicNotLast,
    /// More type variables than a port can name.
    #[error("too many type variables")]
    TooManyTypeVars,
    /// A default for a kind of attribute that has none.
    #[error("an attribute of kind {} has no default", .0.name())]
    NoDefault(AttributeKind),
    /// The counts at the top differ from what follows.
    #[error("{declared} {what} declared at the top, {found} found")]
    Count {
        /// What is counted.
        what: &'static str,
        /// The number at the top.
        declared: u32,
        /// The number in the table.
        found: usize,
    },
}
