//! Refinement between two answers: equal or more precise, without contradiction.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use typeloom_dim::Dims;

/// Description of the first difference.
#[derive(Debug)]
pub(crate) struct Difference(pub(crate) String);

/// Checks that `fine` is at least as precise as `coarse` after substituting numbers for symbols.
pub(crate) fn refines(
    fine: &Map<String, Value>,
    coarse: &Map<String, Value>,
    symbols: &BTreeMap<String, i64>,
) -> Result<(), Difference> {
    for list in ["inputs", "value_info", "outputs"] {
        for (name, coarse) in coarse.get(list).and_then(Value::as_object).into_iter().flatten() {
            let fine = fine.get(list).and_then(|list| list.get(name)).unwrap_or(&Value::Null);
            ty(fine, coarse, symbols).map_err(|words| {
                Difference(format!("`{name}`: {words}: {coarse} became {fine} with {symbols:?}"))
            })?;
        }
    }
    let nested = |types: &Map<String, Value>| types.get("sub").and_then(Value::as_array).cloned();
    for (fine, coarse) in nested(fine).iter().flatten().zip(nested(coarse).iter().flatten()) {
        if let (Some(fine), Some(coarse)) = (fine.as_object(), coarse.as_object()) {
            refines(fine, coarse, symbols)?;
        }
    }
    Ok(())
}

fn ty(fine: &Value, coarse: &Value, symbols: &BTreeMap<String, i64>) -> Result<(), &'static str> {
    if coarse["k"] == "none" {
        return Ok(());
    }
    if fine["k"] != coarse["k"] || fine.get("key") != coarse.get("key") {
        return Err("another constructor");
    }
    if let Some(elem) = coarse.get("e")
        && fine.get("e") != Some(elem)
    {
        return Err("another element type");
    }
    for inner in ["of", "val"] {
        if let Some(coarse) = coarse.get(inner) {
            ty(fine.get(inner).unwrap_or(&Value::Null), coarse, symbols)?;
        }
    }
    let Some(coarse) = coarse.get("s").and_then(Value::as_array) else { return Ok(()) };
    let Some(fine) = fine.get("s").and_then(Value::as_array) else { return Err("the rank is lost") };
    if fine.len() != coarse.len() {
        return Err("another rank");
    }
    for (fine, coarse) in fine.iter().zip(coarse) {
        let said = number(coarse, symbols);
        match (said, number(fine, symbols)) {
            (Some(said), Some(found)) if said != found => return Err("another extent"),
            (Some(_), None) => return Err("an extent is lost"),
            (Some(_) | None, _) => {}
        }
        // An expression over symbols without a number may remain or become a number.
        if said.is_none() && coarse.is_string() && fine.is_null() {
            return Err("an expression is lost");
        }
    }
    Ok(())
}

/// Evaluates a dim with these numbers for symbols, if possible.
fn number(dim: &Value, symbols: &BTreeMap<String, i64>) -> Option<i64> {
    let text = match dim {
        Value::Number(number) => return number.as_i64(),
        Value::String(text) => text,
        _ => return None,
    };
    let mut dims = Dims::new();
    let dim = dims.parse(text).ok()?;
    let values: Vec<_> =
        symbols.iter().map(|(name, number)| (dims.symbol(name), dims.constant(*number))).collect();
    let value = dims.substitute(dim, &values);
    dims.as_constant(value)
}
