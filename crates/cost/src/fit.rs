//! The largest value of a symbol for which a model fits into memory.
//!
//! Needed are the constants and the peak. Both do not decrease with a symbol, so the value is found by binary
//! search on the polynomial, in a number of evaluations that is logarithmic in the value.

use typeloom_dim::{DimId, Dims};
use typeloom_solver::model::Checked;

use crate::Cost;
use crate::executor::Executor;
use crate::maximum::Maximum;

/// The largest value that is tried.
const MAX_VALUE: i64 = 1 << 40;

/// The result of [`fit`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// The largest value.
    Most(i64),
    /// The memory does not depend on the symbol, and suffices.
    Always,
    /// The memory does not suffice for 1: the number of bytes that are needed.
    Never(i128),
}

/// The reason why there is no largest value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FitError {
    /// The inputs have no symbol with this name.
    #[error("the memory of the model has no symbol `{name}`; {}", known(symbols))]
    UnknownSymbol {
        /// The name.
        name: String,
        /// The symbols that there are.
        symbols: Vec<String>,
    },
    /// Other symbols decide the memory too.
    #[error("the memory also depends on {}: give {} a value with --assume", quoted(symbols), them(symbols))]
    OtherSymbols {
        /// The symbols.
        symbols: Vec<String>,
    },
    /// A value of the model has no known size.
    #[error("the memory depends on extents that data decides, so it is not known before a run")]
    Unknown,
    /// The number of bytes does not fit into 127 bits.
    #[error("the number of bytes overflows")]
    Overflow,
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn them(names: &[String]) -> &'static str {
    if names.len() == 1 { "it" } else { "them" }
}

fn known(symbols: &[String]) -> String {
    match symbols {
        [] => "it depends on no symbol".to_owned(),
        symbols => format!("it depends on {}", quoted(symbols)),
    }
}

/// The largest value of a symbol for which constants and activations need at most `limit` bytes.
///
/// # Errors
/// [`FitError`] if the memory is no function of this symbol alone.
pub fn fit(
    checked: &Checked<'_>,
    cost: &Cost<'_>,
    executor: Executor,
    symbol: &str,
    limit: u64,
) -> Result<Fit, FitError> {
    let dims = checked.dims();
    let peak = cost.peak(executor);
    if peak.candidates.iter().any(|candidate| candidate.amount.is_unknown(dims)) {
        return Err(FitError::Unknown);
    }
    let mut symbols: Vec<DimId> = peak.candidates.iter().flat_map(|it| it.amount.symbols(dims)).collect();
    symbols.sort_unstable();
    symbols.dedup();
    let name = |dim: &DimId| dims.as_symbol(*dim).unwrap_or_default().to_owned();
    let own = symbols.iter().position(|dim| dims.as_symbol(*dim) == Some(symbol));
    let own = own.map(|at| symbols.remove(at));
    let others: Vec<String> = symbols.iter().map(name).collect();
    let Some(own) = own else {
        return Err(FitError::UnknownSymbol { name: symbol.to_owned(), symbols: others });
    };
    if !others.is_empty() {
        return Err(FitError::OtherSymbols { symbols: others });
    }
    let weights = i128::try_from(cost.weights.total().bytes).map_err(|_| FitError::Overflow)?;
    let needed = |value: i64| needed(dims, peak, own, value).and_then(|bytes| bytes.checked_add(weights));
    let fits = |value: i64| needed(value).is_some_and(|bytes| bytes <= i128::from(limit));
    if !fits(1) {
        return needed(1).map(Fit::Never).ok_or(FitError::Overflow);
    }
    if fits(MAX_VALUE) {
        return Ok(Fit::Always);
    }
    let (mut most, mut least) = (1, MAX_VALUE);
    while most + 1 < least {
        let middle = most + (least - most) / 2;
        if fits(middle) { most = middle } else { least = middle }
    }
    Ok(Fit::Most(most))
}

fn needed(
    dims: &Dims,
    peak: &Maximum<typeloom_solver::program::StepId>,
    symbol: DimId,
    value: i64,
) -> Option<i128> {
    peak.evaluate(dims, &[(symbol, value)])
}
