//! Attributes of nodes.

use std::ops::Range;

use typeloom_onnx::view::Attribute;
use typeloom_solver::program::{Body, StepId};

/// An attribute; `None` inside if it is absent, and `None` if the caller of the function gives it.
pub(crate) fn attribute<'a>(body: &Body<'a>, step: StepId, name: &str) -> Option<Option<Attribute<'a>>> {
    let attributes = body.step(step).node.attributes().flatten();
    let mut parsed = attributes.filter_map(|attribute| attribute.parse().ok());
    match parsed.find(|attribute| attribute.name == name) {
        Some(attribute) if attribute.ref_attr_name.is_some_and(|name| !name.is_empty()) => None,
        found => Some(found),
    }
}

/// An integer attribute that is given.
pub(crate) fn int(body: &Body<'_>, step: StepId, name: &str) -> Option<i64> {
    attribute(body, step, name)??.i
}

/// A list of integers that is given.
pub(crate) fn ints(body: &Body<'_>, step: StepId, name: &str) -> Option<Vec<i64>> {
    Some(attribute(body, step, name)??.ints().flatten().collect())
}

/// The inputs of a loop that are initial states, by position; empty for other nodes.
pub(crate) fn states(body: &Body<'_>, step: StepId) -> Range<usize> {
    let inputs = body.inputs(step).len();
    match body.op_name(step) {
        "Loop" => 2.min(inputs)..inputs,
        "Scan" => {
            let scanned = int(body, step, "num_scan_inputs").and_then(|count| usize::try_from(count).ok());
            0..inputs.saturating_sub(scanned.unwrap_or(inputs))
        }
        _ => 0..0,
    }
}
