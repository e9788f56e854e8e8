//! Errors of the text of a table.

use typeloom_solver::signature::AttributeKind;

/// The first error of a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("operator table, line {line}: {kind}")]
pub struct TableError {
    /// The line number, starting at 1; the last line for a text that ends too early.
    pub line: usize,
    pub kind: TableErrorKind,
}

/// Kind of a [`TableError`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableErrorKind {
    /// An unexpected word.
    #[error("expected {expected}, found `{found}`")]
    Unexpected {
        /// The expected word.
        expected: &'static str,
        /// The actual word.
        found: Box<str>,
    },
    /// The line ends too early.
    #[error("expected {expected}, found the end of the line")]
    Missing {
        /// The missing word.
        expected: &'static str,
    },
    /// An undeclared element type or group.
    #[error("unknown element type or group `{0}`")]
    UnknownElem(Box<str>),
    /// A port type that is neither a type variable of the operator nor a tensor of one element type.
    #[error("`{0}` is neither a type variable of the operator nor a tensor of one element type")]
    UnknownType(Box<str>),
    /// A duplicate name, or a duplicate constructor in the set of a type variable.
    #[error("`{0}` appears twice")]
    Repeated(Box<str>),
    /// A domain, operator or attribute that is not in order.
    #[error("`{0}` is out of order")]
    OutOfOrder(Box<str>),
    /// A port after a variadic port.
    #[error("only the last port can be variadic")]
    VariadicNotLast,
    /// More type variables than the numbers of a port's type.
    #[error("too many type variables")]
    TooManyTypeVars,
    /// A default of an attribute kind without defaults.
    #[error("an attribute of kind {} has no default", .0.name())]
    NoDefault(AttributeKind),
    /// A wrong count in the header.
    #[error("{declared} {what} declared at the top, {found} found")]
    Count {
        /// The counted entity.
        what: &'static str,
        /// The count in the header.
        declared: u32,
        /// The actual count.
        found: usize,
    },
}
