//! Renders interfaces and their differences as text and as JSON.
//!
//! ```text
//! main (N, M)
//!   inputs
//!     x     float[N, M]
//!     bias  float[M]     optional
//!   outputs
//!     y     float[N, M]
//!   digest 5d1c...
//! ```

use serde_json::{Map, Value, json};
use typeloom_interface::{Interface, InterfaceChange, InterfaceComparison, InterfaceDifference, Parameter};
use typeloom_onnx::text::escape;

use crate::finding::Difference;
use crate::infer::type_value;
use crate::table::{Row, push_sections};

/// An interface as text, ending in a line break.
#[must_use]
pub fn human(label: &str, interface: &Interface, digest: &str) -> String {
    let symbols = interface.symbols();
    let symbols = if symbols.is_empty() { String::new() } else { format!(" ({})", symbols.join(", ")) };
    let mut text = format!("{}{}\n", escape(label), escape(&symbols));
    let rows = |parameters: &[Parameter]| -> Vec<Row> {
        let row = |it: &Parameter| {
            let note = match (it.optional, it.assumed) {
                (true, _) => "optional",
                (false, true) => "assumed",
                (false, false) => "",
            };
            [&it.name, &interface.show(&it.ty), note].map(|text| escape(text).into_owned())
        };
        parameters.iter().map(row).collect()
    };
    let sections = [("inputs", rows(&interface.inputs)), ("outputs", rows(&interface.outputs))];
    push_sections(&mut text, "  ", &sections, None);
    let conditions = interface.shown_conditions();
    if !conditions.is_empty() {
        text.push_str("  conditions\n");
    }
    for condition in conditions {
        text.push_str(&format!("    {}\n", escape(&condition)));
    }
    text.push_str(&format!("  digest {digest}\n"));
    text
}

/// An interface as JSON.
#[must_use]
pub fn value(label: &str, interface: &Interface, digest: &str, signature: &str) -> Map<String, Value> {
    let list = |parameters: &[Parameter]| -> Value {
        let one = |it: &Parameter| {
            let ty = type_value(&interface.universe, &interface.dims, &it.ty);
            let mut object =
                json!({"name": it.name, "type": ty, "text": interface.show(&it.ty), "optional": it.optional});
            if it.assumed {
                object["assumed"] = json!(true);
            }
            object
        };
        parameters.iter().map(one).collect()
    };
    let mut object = Map::new();
    object.insert("name".to_owned(), json!(label));
    object.insert("digest".to_owned(), json!(digest));
    object.insert("symbols".to_owned(), json!(interface.symbols()));
    object.insert("inputs".to_owned(), list(&interface.inputs));
    object.insert("outputs".to_owned(), list(&interface.outputs));
    if !interface.conditions.is_empty() {
        object.insert("conditions".to_owned(), json!(interface.shown_conditions()));
    }
    object.insert("signature".to_owned(), json!(signature));
    object
}

/// The directions of compatibility that a difference breaks.
#[must_use]
pub fn effect(backward: bool, forward: bool) -> &'static str {
    match (backward, forward) {
        (true, true) => "breaks both ways",
        (true, false) => "breaks backward",
        (false, true) => "breaks forward",
        (false, false) => "breaks nothing",
    }
}

/// The differences of a comparison. `export` precedes the paths; it is empty if there is one export only.
#[must_use]
pub fn differences(export: &str, comparison: &InterfaceComparison) -> Vec<Difference> {
    let one = |it: &InterfaceDifference| Difference {
        export: export.to_owned(),
        path: it.path.to_string(),
        code: it.change.code(),
        message: message(it),
        breaks_backward: it.breaks.backward,
        breaks_forward: it.breaks.forward,
        breaking: comparison.is_breaking(it),
    };
    comparison.differences.iter().map(one).collect()
}

/// The change and the broken direction.
fn message(difference: &InterfaceDifference) -> String {
    let InterfaceDifference { path: _, change, old, new, breaks } = difference;
    let effect = effect(breaks.backward, breaks.forward);
    let what = match change {
        InterfaceChange::InputAdded if breaks.backward => format!("added without a default, {new}"),
        InterfaceChange::InputAdded => format!("added with a default, {new}"),
        InterfaceChange::OutputAdded => format!("added, {new}"),
        InterfaceChange::InputRemoved | InterfaceChange::OutputRemoved => format!("removed, was {old}"),
        InterfaceChange::DefaultAdded => "may be left out now".to_owned(),
        InterfaceChange::DefaultRemoved => "may not be left out any more".to_owned(),
        InterfaceChange::InputOrder | InterfaceChange::OutputOrder => {
            format!("order changed from ({old}) to ({new})")
        }
        InterfaceChange::ConditionAdded => "needed now".to_owned(),
        InterfaceChange::ConditionRemoved => "not needed any more".to_owned(),
        InterfaceChange::Kind
        | InterfaceChange::Element
        | InterfaceChange::Rank
        | InterfaceChange::Extent => format!("{old} -> {new}"),
    };
    format!("{what} ({effect})")
}

/// A comparison as JSON, without the names of the files.
#[must_use]
pub fn comparison(export: &str, comparison: &InterfaceComparison) -> Vec<Value> {
    let one = |it: &InterfaceDifference| {
        json!({
            "export": export,
            "path": it.path.to_string(),
            "code": it.change.code(),
            "old": it.old,
            "new": it.new,
            "breaks": {"backward": it.breaks.backward, "forward": it.breaks.forward},
            "breaking": comparison.is_breaking(it),
            "message": escape(&format!("{}: {}", it.path, message(it))),
        })
    };
    comparison.differences.iter().map(one).collect()
}
