//! Dims that are independent of an arena.

use std::sync::Arc;

use crate::arena::Dims;
use crate::evaluate::{DimProgram, Results};
use crate::id::DimId;

/// An expression over named symbols, compiled once and evaluated without its arena.
///
/// Two expressions are equal if their texts are.
///
/// ```
/// use typeloom_dim::Dims;
///
/// let mut dims = Dims::new();
/// let total = dims.parse("seq + past")?;
/// let total = dims.expression(total).expect("every leaf has a name");
/// assert_eq!(total.to_string(), "seq + past");
/// assert_eq!(total.evaluate(|symbol| Some(if symbol == "seq" { 5 } else { 7 })), Some(12));
/// assert_eq!(total.evaluate(|symbol| (symbol == "seq").then_some(5)), None);
/// # Ok::<(), typeloom_dim::DimParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DimExpression {
    text: Box<str>,
    program: DimProgram,
    /// Names of the leaves of `program`.
    symbols: Box<[Arc<str>]>,
}

impl DimExpression {
    /// Names of the symbols, each once.
    #[must_use]
    pub fn symbols(&self) -> &[Arc<str>] {
        &self.symbols
    }

    /// The expression in the syntax of [`Dims::parse`].
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the value of the expression, or `None` if a symbol has no value, a divisor is zero, or the
    /// value is not a `usize`.
    #[must_use]
    pub fn evaluate(&self, value_of: impl Fn(&str) -> Option<usize>) -> Option<usize> {
        let mut results = Results::default();
        self.program.run(&mut results, |leaf| i64::try_from(value_of(&self.symbols[leaf])?).ok());
        self.program.result(&results, 0).and_then(|value| usize::try_from(value).ok())
    }
}

impl PartialEq for DimExpression {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for DimExpression {}

impl std::fmt::Display for DimExpression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Dims {
    /// Compiles a dim for use outside of the arena; `None` if it mentions an anonymous variable.
    #[must_use]
    pub fn expression(&self, dim: DimId) -> Option<DimExpression> {
        let program = DimProgram::new(self, &[dim]);
        let symbols = program
            .leaves()
            .iter()
            .map(|leaf| self.as_symbol(*leaf).map(Arc::from))
            .collect::<Option<_>>()?;
        Some(DimExpression { text: self.display(dim).to_string().into(), program, symbols })
    }
}
