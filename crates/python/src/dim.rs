//! Arithmetic on dims, which Python holds as canonical text.
//!
//! Each call uses an arena of its own: a dim of Python belongs to no solve.

use pyo3::prelude::*;
use typeloom_project::parts::dim::{Decision, DimId, Dims};

use crate::error::core_error;

/// Maximum number of characters of a text in a message.
const MAX_SHOWN: usize = 100;

/// A dim as Python holds it: the number, if it is one, the canonical text, and the names of its symbols.
type Shown = (Option<i64>, String, Vec<String>);

fn read(dims: &mut Dims, text: &str) -> PyResult<DimId> {
    dims.parse(text).map_err(|error| {
        let shown: String = text.chars().take(MAX_SHOWN).collect();
        core_error(format!("`{shown}` is no dim: {error}"))
    })
}

/// The result of an operation; an error if it is beyond the limits of the arena or undefined.
fn show(dims: &Dims, dim: DimId) -> PyResult<Shown> {
    if !dims.variables_of(dim).is_empty() {
        return Err(core_error("the result is undefined, or too large to be represented"));
    }
    let symbols = dims.symbols_of(dim);
    let names = symbols.iter().map(|symbol| dims.as_symbol(*symbol).unwrap_or_default().to_owned());
    Ok((dims.as_constant(dim), dims.display(dim).to_string(), names.collect()))
}

/// Parses a dim: a number, a symbol or an expression.
#[pyfunction]
pub(crate) fn dim_parse(text: &str) -> PyResult<Shown> {
    let mut dims = Dims::new();
    let dim = read(&mut dims, text)?;
    show(&dims, dim)
}

/// `operation` is `+`, `-`, `*`, `//`, `ceil`, `%`, `min` or `max`.
#[pyfunction]
pub(crate) fn dim_binary(operation: &str, left: &str, right: &str) -> PyResult<Shown> {
    let mut dims = Dims::new();
    let (a, b) = (read(&mut dims, left)?, read(&mut dims, right)?);
    let result = match operation {
        "+" => dims.add(a, b),
        "-" => dims.sub(a, b),
        "*" => dims.mul(a, b),
        "//" => dims.floor_div(a, b),
        "ceil" => dims.ceil_div(a, b),
        "%" => dims.modulo(a, b),
        "min" => dims.min(a, b),
        "max" => dims.max(a, b),
        other => return Err(core_error(format!("there is no operation `{other}`"))),
    };
    show(&dims, result)
}

/// Whether two dims are equal for all values of the symbols: `True`, `False` (for none), or `None` (for some,
/// or unknown).
#[pyfunction]
pub(crate) fn dim_compare(left: &str, right: &str) -> PyResult<Option<bool>> {
    let mut dims = Dims::new();
    let (a, b) = (read(&mut dims, left)?, read(&mut dims, right)?);
    Ok(match dims.compare(a, b) {
        Decision::Equal => Some(true),
        Decision::Different => Some(false),
        Decision::Undecided => None,
    })
}

/// Replaces symbols by dims.
#[pyfunction]
pub(crate) fn dim_substitute(text: &str, values: Vec<(String, String)>) -> PyResult<Shown> {
    let mut dims = Dims::new();
    let dim = read(&mut dims, text)?;
    let values = values.iter().map(|(symbol, value)| Ok((dims.symbol(symbol), read(&mut dims, value)?)));
    let values = values.collect::<PyResult<Vec<_>>>()?;
    let result = dims.substitute(dim, &values);
    show(&dims, result)
}
