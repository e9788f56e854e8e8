//! What can be wrong with a text that describes operators.

use crate::table::TableErrorKind;

/// The first fault in a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct DescribeError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub kind: DescribeErrorKind,
}

/// The ways in which a line can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DescribeErrorKind {
    /// A line of a signature.
    #[error(transparent)]
    Signature(#[from] TableErrorKind),
    /// The text does not begin as it should.
    #[error("the first line is `typeloom-operators 1`, not `{0}`")]
    Header(Box<str>),
    /// A line that belongs to an operator, or to a domain, before there is one.
    #[error("`{line}` stands before any {owner}")]
    Orphan {
        /// The first word of the line.
        line: Box<str>,
        /// What it belongs to.
        owner: &'static str,
    },
    /// Another token was expected in an expression.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What belongs there.
        expected: &'static str,
        /// What is there.
        found: Box<str>,
    },
    /// A name that no shape of an input, `let` or attribute binds.
    #[error("nothing gives `{0}` a value: neither the shape of an input, nor `let`, nor an attribute")]
    Unbound(Box<str>),
    /// A list of axes (`name...`) that no shape of an input binds.
    #[error("no shape of an input has the axes `{0}...`")]
    UnboundAxes(Box<str>),
    /// A port that the operator does not have.
    #[error("the operator has no port `{0}`")]
    UnknownPort(Box<str>),
    /// An attribute that the operator does not have.
    #[error("the operator has no attribute `{0}`")]
    UnknownAttribute(Box<str>),
    /// An operator of ONNX that does not exist.
    #[error("ONNX has no operator `{0}`")]
    UnknownOperator(Box<str>),
    /// A shape with two lists of axes of unknown length.
    #[error("a shape of an input has at most one list of axes of unknown length")]
    TwoRuns,
    /// The same operator in the same version, or the same attribute, twice.
    #[error("`{0}` is described twice")]
    Repeated(Box<str>),
    /// An expression that is too deep, or a line that is too long.
    #[error("this is too long or too deep")]
    TooLong,
}
