//! Assumptions of the caller about symbols of the model (`batch = 4`, `a = b`), and merging of equal symbols.
//!
//! An assumption is substituted when a declared type is decoded, before the solve, so every extent that is
//! computed from the symbol follows. Symbols are merged by another pass that assumes the equalities which the
//! equations imply (see [`crate::analysis::conditions`]).

use std::collections::BTreeSet;

use typeloom_dim::{Decision, DimId, is_placeholder};
use typeloom_onnx::view::DimValue;

use crate::analysis::conditions::declared_symbols;
use crate::model::CheckError;
use crate::program::Body;
use crate::state::Core;
use crate::state::assumptions::Assumptions;
use crate::state::declarations::dims_of;
use typeloom_types::suggest::nearest;

/// Maximum number of passes that merge symbols.
pub(crate) const MAX_ROUNDS: usize = 8;

/// Reads the assumptions of the caller.
pub(crate) fn read<'a>(
    core: &mut Core<'a>,
    body: &Body<'a>,
    pairs: &[(String, String)],
) -> Result<Assumptions, CheckError> {
    let mut assumed = Assumptions::default();
    let symbols: BTreeSet<DimId> =
        body.values().flat_map(|value| declared_symbols(core, body, value)).collect();
    for (name, text) in pairs {
        let (name, text) = (name.trim(), text.trim());
        let bad = |reason: &str| CheckError::BadAssumption {
            name: name.to_owned(),
            dim: text.to_owned(),
            reason: reason.to_owned(),
        };
        let symbol = core.dims.symbol(name);
        let is_unnamed = is_placeholder(name) && has_unnamed(body);
        if !is_unnamed && !symbols.contains(&symbol) {
            let names: Vec<String> =
                symbols.iter().filter_map(|symbol| core.dims.as_symbol(*symbol).map(str::to_owned)).collect();
            let near = nearest(name, names.iter().map(String::as_str));
            return Err(CheckError::UnknownSymbol { name: name.to_owned(), near });
        }
        let value = core.dims.parse(text).map_err(|error| bad(&error.to_string()))?;
        if core.dims.bounds(value).1.is_some_and(|most| most < 0) {
            return Err(bad("an extent cannot be negative"));
        }
        if core.dims.is_anonymous(value) {
            return Err(bad("its value must be known"));
        }
        let unknown = core.dims.symbols_of(value).iter().copied().find(|symbol| {
            !symbols.contains(symbol) && !core.dims.as_symbol(*symbol).is_some_and(is_plain_name)
        });
        if unknown.is_some() {
            return Err(bad("an extent is an integer, a name or an expression of them"));
        }
        if is_unnamed {
            if assumed.unnamed.is_some_and(|known| core.dims.compare(known, value) != Decision::Equal) {
                return Err(bad("it contradicts an earlier assumption"));
            }
            assumed.unnamed = Some(value);
            continue;
        }
        if assumed.add(&mut core.dims, symbol, value).is_none() {
            return Err(bad("it contradicts an earlier assumption"));
        }
    }
    Ok(assumed)
}

/// Whether a text can be a new name: letters, digits, `_`, `.` and `:`, not a digit first. The values of
/// other languages that are no extents, in any case, would be names too.
fn is_plain_name(text: &str) -> bool {
    const VALUES: [&str; 9] = ["none", "true", "false", "null", "nil", "nan", "inf", "infinity", "undefined"];
    let is_letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':');
    text.chars().all(is_letter)
        && text.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && !VALUES.iter().any(|value| text.eq_ignore_ascii_case(value))
}

/// Whether an input of a body has an unknown extent without a name.
fn has_unnamed(body: &Body<'_>) -> bool {
    let mut inputs = body.graph(body.root()).inputs.iter().flat_map(|input| body.declarations(*input));
    inputs.any(|declaration| {
        dims_of(declaration.ty).any(|dim| match dim {
            DimValue::Param(name) => name.trim().is_empty() || is_placeholder(name),
            DimValue::Unknown => true,
            DimValue::Value(_) => false,
        })
    })
}
