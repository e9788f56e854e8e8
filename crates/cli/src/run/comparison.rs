//! Comparisons of the outputs of a run with those of ONNX Runtime or of another model.

use std::collections::HashMap;

use anyhow::bail;
use typeloom_project::parts::onnx::text::escape;
use typeloom_project::parts::runtime::session::Port;
use typeloom_project::parts::tensor::datum::Datum;
use typeloom_project::parts::tensor::value_check::SymbolBindings;
use typeloom_project::parts::tensor::value_type::{Element, ValueType};
use typeloom_project::parts::types::dtype::Dtype;
use typeloom_project::run::difference::{self, Comparison, Precision};
use typeloom_project::run::precision::narrower;

use super::loaded::Loaded;
use super::reference::{self, Reference};
use crate::args::RunArgs;
use crate::exit::Outcome;
use crate::output::MAX_COLUMN;

/// Maximum number of differences of interfaces in a message.
const MAX_DIFFERENCES: usize = 5;

/// Compares the outputs with those of ONNX Runtime. Returns a table and the outcome.
pub(crate) fn with_ort(
    args: &RunArgs,
    model: &Loaded,
    inputs: &HashMap<String, Datum>,
    outputs: &[(String, Datum)],
) -> anyhow::Result<(String, Outcome)> {
    let names: Vec<String> = outputs.iter().map(|(name, _)| name.clone()).collect();
    let (version, others) = match reference::run(&model.model()?, inputs, &names)? {
        Reference::Outputs { version, outputs } => (version, outputs),
        Reference::Rejected(message) => return Ok((format!("{}\n", escape(&message)), Outcome::Problems)),
    };
    let rows = outputs.iter().zip(others).map(|((name, value), other)| match other {
        Ok(other) => (name, Ok(difference::compare(value, &other, precision(args, &[model], name)))),
        Err(reason) => (name, Err(format!("not compared, because ONNX Runtime gives {reason}"))),
    });
    Ok(table(&format!("ONNX Runtime {version}"), rows))
}

/// Compares the outputs of two models with the same interface. Returns a table and the outcome.
pub(crate) fn with_model(
    args: &RunArgs,
    models: [&Loaded; 2],
    [own, other]: [Vec<(String, Datum)>; 2],
) -> (String, Outcome) {
    let other: HashMap<String, Datum> = other.into_iter().collect();
    let rows = own.iter().map(|(name, value)| match other.get(name) {
        Some(other) => (name, Ok(difference::compare(value, other, precision(args, &models, name)))),
        None => (name, Err("not compared, because the other model has no such output".to_owned())),
    });
    table(&models[1].source.name, rows)
}

/// The precision of an output that each of these models computes.
fn precision(args: &RunArgs, models: &[&Loaded], output: &str) -> Precision {
    let narrowest = models.iter().map(|model| model.narrowest.get(output).copied()).fold(None, narrower);
    Precision { given: args.tolerance, narrowest }
}

/// The differences of outputs by name, or the reason why an output is not compared.
fn table<'o>(
    reference: &str,
    outputs: impl Iterator<Item = (&'o String, Result<Comparison, String>)>,
) -> (String, Outcome) {
    let mut is_close = true;
    let mut rows = Vec::new();
    for (name, comparison) in outputs {
        is_close &= comparison.as_ref().is_ok_and(Comparison::is_close);
        let text = comparison.map_or_else(|reason| reason, |comparison| comparison.to_string());
        rows.push([escape(name).into_owned(), escape(&text).into_owned()]);
    }
    let width = rows.iter().map(|[name, _]| name.chars().count()).max().unwrap_or(0).min(MAX_COLUMN);
    let rows = rows.iter().map(|[name, text]| format!("  {name:<width$}  {text}\n"));
    let table = format!("differences from {}\n{}", escape(reference), rows.collect::<String>());
    (table, if is_close { Outcome::Typed } else { Outcome::Problems })
}

/// Checks that two models have inputs and outputs of the same names and element types. Defaults of inputs
/// that only one of them has are used.
pub(crate) fn same_interface(own: &mut Loaded, other: &Loaded) -> anyhow::Result<()> {
    let [here, there] = [own, other].map(|model| escape(&model.source.name).into_owned());
    let mut differences = Vec::new();
    for port in &mut own.inputs {
        match other.inputs.iter().find(|other| other.name == port.name) {
            Some(other) => {
                differences.extend(other_type("input", port, other, [&here, &there]));
                // The value is generated if one of the models needs it.
                port.has_default &= other.has_default;
            }
            None if port.has_default => {}
            None => differences.push(missing("input", port, [&here, &there])),
        }
    }
    let is_needed = |port: &&Port| !port.has_default && !own.inputs.iter().any(|own| own.name == port.name);
    differences
        .extend(other.inputs.iter().filter(is_needed).map(|port| missing("input", port, [&there, &here])));
    let [outputs, others] = [own, other].map(|model| model.prepared.outputs());
    for port in outputs {
        match others.iter().find(|other| other.name == port.name) {
            Some(other) => differences.extend(other_type("output", port, other, [&here, &there])),
            None => differences.push(missing("output", port, [&here, &there])),
        }
    }
    let is_new = |port: &&Port| !outputs.iter().any(|own| own.name == port.name);
    differences.extend(others.iter().filter(is_new).map(|port| missing("output", port, [&there, &here])));
    let hidden = differences.len().saturating_sub(MAX_DIFFERENCES);
    if hidden > 0 {
        differences.truncate(MAX_DIFFERENCES);
        differences.push(format!("and {hidden} more, which `typeloom diff` lists"));
    }
    if !differences.is_empty() {
        bail!("`{here}` and `{there}` have different interfaces: {}", differences.join("; "));
    }
    Ok(())
}

fn missing(what: &str, port: &Port, [of, without]: [&str; 2]) -> String {
    let [name, ty] = [port.name.clone(), port.ty.to_string()].map(|text| escape(&text).into_owned());
    format!("{what} `{name}`: {ty} in `{of}`, and no such {what} in `{without}`")
}

/// A difference of element types, of kinds of values or of ranks. Whether extents fit is known when there is
/// a value.
fn other_type(what: &str, own: &Port, other: &Port, [here, there]: [&str; 2]) -> Option<String> {
    if may_agree(&own.ty, &other.ty) {
        return None;
    }
    let [name, own, other] =
        [own.name.clone(), own.ty.to_string(), other.ty.to_string()].map(|text| escape(&text).into_owned());
    Some(format!("{what} `{name}`: {own} in `{here}`, {other} in `{there}`"))
}

/// Whether one value can have both types, as far as their element types and ranks decide it.
fn may_agree(a: &ValueType, b: &ValueType) -> bool {
    let may_equal = |a: Option<Dtype>, b: Option<Dtype>| a.is_none() || b.is_none() || a == b;
    let rank = |ty: &ValueType| ty.shape.as_ref().map(|shape| shape.len());
    let (mut pending, mut agree) = (vec![(a, b)], true);
    while let Some((a, b)) = pending.pop() {
        agree &= match (&a.element, &b.element) {
            (Element::Tensor(own), Element::Tensor(other))
            | (Element::Sparse(own), Element::Sparse(other)) => {
                may_equal(*own, *other) && (rank(a).is_none() || rank(b).is_none() || rank(a) == rank(b))
            }
            (Element::Scalar(own), Element::Scalar(other)) => may_equal(*own, *other),
            (Element::Sequence(a), Element::Sequence(b)) | (Element::Optional(a), Element::Optional(b)) => {
                pending.push((a, b));
                true
            }
            // An optional accepts a value of its inner type.
            (Element::Optional(a), _) => {
                pending.push((a, b));
                true
            }
            (_, Element::Optional(b)) => {
                pending.push((a, b));
                true
            }
            (Element::Map(key, a), Element::Map(other, b)) => {
                pending.push((a, b));
                key == other
            }
            (Element::Opaque, _) | (_, Element::Opaque) | (Element::Composite(_), Element::Composite(_)) => {
                true
            }
            (
                Element::Tensor(_)
                | Element::Sparse(_)
                | Element::Scalar(_)
                | Element::Sequence(_)
                | Element::Map(..)
                | Element::Composite(_),
                _,
            ) => false,
        };
    }
    agree
}

/// Checks the inputs, which are made for one model, against the types of another one.
pub(crate) fn inputs_fit(other: &Loaded, inputs: &HashMap<String, Datum>) -> anyhow::Result<()> {
    let mut symbols = SymbolBindings::default();
    for port in &other.inputs {
        let Some(value) = inputs.get(&port.name) else { continue };
        if let Err(mismatch) = symbols.check(value, &port.ty) {
            bail!(
                "input `{}`: {mismatch} in `{}`; --size and --input choose other extents",
                escape(&port.name),
                escape(&other.source.name)
            );
        }
    }
    Ok(())
}
