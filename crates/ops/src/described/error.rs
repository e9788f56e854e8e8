//! Errors of texts that describe operators.

use crate::table::TableErrorKind;

/// The first error of a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct DescribeError {
    /// The line number, starting at 1.
    pub line: usize,
    pub kind: DescribeErrorKind,
}

/// Kind of a [`DescribeError`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DescribeErrorKind {
    /// An error in a signature.
    #[error(transparent)]
    Signature(#[from] TableErrorKind),
    /// The header is missing.
    #[error("the first line must be `typeloom-operators 1`, not `{0}`")]
    Header(Box<str>),
    /// A line of an operator or domain before the first one.
    #[error("`{line}` occurs before any {owner}")]
    Orphan {
        /// The first word of the line.
        line: Box<str>,
        /// The missing owner, `operator` or `domain`.
        owner: &'static str,
    },
    /// An unexpected token in an expression.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// The expected token.
        expected: &'static str,
        /// The actual token.
        found: Box<str>,
    },
    /// A name that is bound by no input shape, `let` or attribute.
    #[error("`{0}` is not bound by the shape of an input, a `let` or an attribute")]
    Unbound(Box<str>),
    /// A list of axes (`name...`) that is bound by no input shape.
    #[error("no input shape binds the axes `{0}...`")]
    UnboundAxes(Box<str>),
    /// An unknown port.
    #[error("the operator has no port `{0}`")]
    UnknownPort(Box<str>),
    /// An unknown attribute.
    #[error("the operator has no attribute `{0}`")]
    UnknownAttribute(Box<str>),
    /// An unknown ONNX operator.
    #[error("ONNX has no operator `{0}`")]
    UnknownOperator(Box<str>),
    /// An input shape with two lists of axes of unknown length.
    #[error("the shape of an input can have only one list of axes of unknown length")]
    TwoRuns,
    /// Several shapes of a port that its number of axes does not distinguish.
    #[error("several shapes are for an input only, and must differ in their number of axes")]
    SameRank,
    /// A duplicate operator version or attribute.
    #[error("`{0}` is described twice")]
    Repeated(Box<str>),
    /// An expression that is nested too deeply, or a line that is too long.
    #[error("the line is too long or nested too deeply")]
    TooLong,
}
