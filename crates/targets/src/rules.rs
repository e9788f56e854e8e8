//! Rules of the loader that are not about types: values of attributes, constants, the machine, and casts.
//!
//! A node with a kernel can still be rejected: by the constructor of the kernel, by the shape inference of
//! the loader, or by its optimizations. Facts describe such nodes by conditions, and [`issue`] evaluates
//! them:
//!
//! ```text
//! rejects scale<=0              the kernel rejects these nodes: a rejection
//! doubts size<=0                the loader accepts some of these nodes: undecided
//! machine locale mode=LOWER     needs a locale: undecided, except for `C`
//! ```
//!
//! The first issue that is found is the one of the node. Facts come first, `rejects` before `doubts`, except
//! that a `BatchNormalization` without one of its outputs is undecided. Then follow properties that no table
//! of facts can express: those in [`quirks`], [`packed`], [`side`] and [`tables`], and the flags of [`FLAGS`],
//! for which kernels read numbers other than 0 and 1 differently.
//!
//! [`hold`] evaluates the conditions of a fact ([`Condition`]): on attributes, on the number of ports, on the
//! rank and the constancy of inputs. The types of a fact are compared with the solved ones ([`Ports::fits`]).
//!
//! Two functions answer questions of [`node`](crate::node) about operators without a kernel: [`folded`] (the
//! loader computes it from extents) and [`may_be_removed`] (an optimization removes it).
//!
//! **Invariant:** a rejection comes from a fact about the runtime. Properties that no fact states, those of
//! [`quirks`], [`tables`] and [`FLAGS`], give undecided verdicts.
//!
//! The time for a node is linear in its facts times its attributes.
//!
//! **Limit:** a condition on a list of numbers holds if one of its elements fulfils it.

use typeloom_onnx::view::Attribute;
use typeloom_solver::diagnostic::TargetIssue;
use typeloom_solver::program::{Origin, ValueId};

use crate::facts::{Comparison, Condition, Rule, Signature};
use crate::fold::is_foldable;
use crate::node::{Match, NodeCx, PortType, Ports, undecided};
use crate::{packed, quirks, side, tables};

/// Attributes that are 0 or 1. Kernels and the loader's own inference read other values differently.
const FLAGS: &[&str] = &[
    "keepdims",
    "new_axis",
    "exclusive",
    "reverse",
    "fmod",
    "inverse",
    "onesided",
    "training_mode",
    "is_causal",
    "ceil_mode",
    "center_point_box",
    "count_include_pad",
    "storage_order",
    "layout",
    "align_corners",
    "interleaved",
    "noop_with_empty_axes",
    "select_last_index",
    "sorted",
    "largest",
    "transA",
    "transB",
    "periodic",
    "is_case_sensitive",
    "linear_before_reset",
    "upper",
];

/// Operators that pass a value on for some attributes and inputs.
pub(crate) const REMOVABLE: &[&str] =
    &["Cast", "Dropout", "Expand", "Pad", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"];

/// Operators that pass a value on if the other input is a constant zero or one.
const NEUTRAL: &[&str] = &["Add", "Div", "Mul", "Sub"];

/// Precedes the name of an input in a condition on its rank.
const RANK: &str = "rank.";

/// A locale that every machine has.
const PLAIN_LOCALE: &[u8] = b"C";

/// The issue of a node with a kernel.
pub(crate) fn issue(
    cx: &mut NodeCx<'_, '_>,
    signature: &Signature<'_>,
    ports: &Ports,
) -> Option<TargetIssue> {
    if cx.body.body.op_name(cx.step) == "BatchNormalization" && ports.outputs.contains(&PortType::Absent) {
        return Some(undecided("it leaves out one of its outputs"));
    }
    let facts = cx.facts;
    let mut applies = |rule: &Rule<'_>| {
        hold(cx, signature, ports, &rule.conditions)
            && ports.fits(facts, signature, &rule.types) == Match::Yes
    };
    let rejecting = signature.rejects.iter().find(|rule| applies(rule));
    let doubt = signature.doubts.iter().find(|rule| applies(rule));
    let needs_locale = signature.locale.iter().any(applies);
    if let Some(rule) = rejecting {
        let values: Vec<String> = rule.conditions.iter().map(shown).collect();
        let name = rule.conditions.first().map_or("", |condition| condition.name).to_owned();
        return Some(TargetIssue::Attribute { name, value: Some(values.join(" and ")) });
    }
    if let Some(doubt) = doubt {
        let values: Vec<String> = doubt.conditions.iter().map(shown).collect();
        return Some(undecided(&match values.as_slice() {
            [always] if always.is_empty() => "the conditions of its kernel are unknown".to_owned(),
            values => format!("its kernel does not accept all nodes with {}", values.join(" and ")),
        }));
    }
    if needs_locale && string_attribute(cx, "locale") != Some(PLAIN_LOCALE) {
        return Some(undecided("the machine may not have its locale"));
    }
    for (small, large) in &signature.below {
        if !is_below(cx, small, large) {
            let value = Some(format!("`{small}` that are not smaller than `{large}`"));
            return Some(TargetIssue::Attribute { name: (*small).to_owned(), value });
        }
    }
    if signature.crashes_on_constants && inputs(cx).iter().all(|value| is_foldable(&cx.body.body, *value)) {
        return Some(undecided("the loader computes it, and crashes for some inputs"));
    }
    for (operator, types) in &signature.fuses {
        if ports.fits(cx.facts, signature, types) == Match::Yes
            && inputs(cx).into_iter().any(|input| quirks::is_fused(cx, input, operator))
        {
            let reason = format!("the loader fuses it with `{operator}`, and has no kernel for the result");
            return Some(crate::node::operator(reason));
        }
    }
    if let Some(issue) = side::issue(cx, signature) {
        return Some(issue);
    }
    if let Some(issue) = packed::issue(cx, ports) {
        return Some(issue);
    }
    if quirks::has_zero_divisor(cx, ports) {
        return Some(undecided("it divides by a constant zero"));
    }
    if quirks::has_open_sizes(cx) {
        return Some(undecided("the loader requires the number of its `sizes`"));
    }
    if quirks::has_huge_rank(cx) {
        return Some(undecided("the rank of its result is too large"));
    }
    if tables::has_repeated_nodes(cx) {
        return Some(undecided("its nodes are not those of a tree"));
    }
    if cx.body.body.op_name(cx.step) == "Split"
        && attribute(cx, "num_outputs").is_some()
        && ports.inputs.len() > 1
    {
        return Some(undecided("it has both `num_outputs` and `split`"));
    }
    if let Some(reason) = quirks::reason(cx, signature, ports) {
        return Some(undecided(reason));
    }
    if quirks::has_open_end(cx) {
        return Some(undecided("its list of inputs ends with an empty name"));
    }
    if quirks::has_assumed_loop(cx) {
        return Some(undecided(
            "the loader compares the declared types of its nested graph, which are not proven",
        ));
    }
    if cx.body.body.op_name(cx.step).to_ascii_lowercase().contains("pool")
        && (has_negative(cx, "pads") || !is_below(cx, "pads", "kernel_shape"))
    {
        return Some(undecided("it has `pads` that are negative or not smaller than `kernel_shape`"));
    }
    if tables::has_uneven_lists(cx) {
        return Some(undecided("the lists of its tree ensemble differ in length"));
    }
    if quirks::is_unknown_inference(cx) {
        return Some(undecided("the rank of its result is not known here, and may be to the loader"));
    }
    if tables::has_wrong_grams(cx) {
        return Some(undecided("its tables of n-grams do not fit together"));
    }
    let odd = FLAGS
        .iter()
        .find(|flag| attribute(cx, flag).and_then(|it| it.i).is_some_and(|value| !matches!(value, 0 | 1)));
    odd.map(|flag| undecided(&format!("`{flag}` is neither 0 nor 1")))
}

fn attributes<'a>(cx: &NodeCx<'_, 'a>) -> impl Iterator<Item = Attribute<'a>> + use<'a> {
    let attributes = cx.body.body.step(cx.step).node.attributes().flatten();
    attributes.filter_map(|attribute| attribute.parse().ok())
}

pub(crate) fn attribute<'a>(cx: &NodeCx<'_, 'a>, name: &str) -> Option<Attribute<'a>> {
    attributes(cx).find(|attribute| attribute.name == name)
}

fn string_attribute<'a>(cx: &NodeCx<'_, 'a>, name: &str) -> Option<&'a [u8]> {
    attribute(cx, name)?.s
}

pub(crate) fn ints(cx: &NodeCx<'_, '_>, name: &str) -> Option<Vec<i64>> {
    Some(attribute(cx, name)?.ints().flatten().collect())
}

/// A condition in a message.
fn shown(condition: &Condition<'_>) -> String {
    match condition.name {
        "always" => String::new(),
        "absent" => format!("no `{}`", condition.value),
        "missing" => format!("no input `{}`", condition.value),
        "present" => format!("an input `{}` of this type", condition.value),
        "constant" => format!("a constant `{}`", condition.value),
        "inputs" | "outputs" => {
            format!("{} {} {}", condition.name, condition.comparison.sign(), condition.value)
        }
        name => match name.strip_prefix(RANK) {
            Some(port) => format!("a `{port}` whose rank is not {}", condition.value.replace(',', " or ")),
            None => {
                format!("`{name}` {} {}", condition.comparison.sign(), condition.value.replace(',', ", "))
            }
        },
    }
}

/// The present inputs.
pub(crate) fn inputs(cx: &NodeCx<'_, '_>) -> Vec<ValueId> {
    cx.body.body.inputs(cx.step).iter().flatten().copied().collect()
}

/// Whether all conditions hold.
pub(crate) fn hold(
    cx: &mut NodeCx<'_, '_>,
    signature: &Signature<'_>,
    ports: &Ports,
    conditions: &[Condition<'_>],
) -> bool {
    let count = |types: &[PortType], condition: &Condition<'_>| {
        let present = types.iter().filter(|ty| **ty != PortType::Absent).count();
        fits(present as f64, condition.comparison, condition.value)
    };
    conditions.iter().all(|condition| match condition.name {
        "inputs" => count(&ports.inputs, condition),
        "outputs" => count(&ports.outputs, condition),
        "always" => true,
        "absent" => attribute(cx, condition.value).is_none(),
        "missing" => port(cx, signature, condition.value).is_none(),
        "present" => port(cx, signature, condition.value).is_some(),
        "constant" => {
            let input = port(cx, signature, condition.value);
            input.is_some_and(|input| is_foldable(&cx.body.body, input))
        }
        name => match name.strip_prefix(RANK) {
            Some(port) => has_rank(cx, signature, port, condition),
            None => attribute(cx, name).map_or(condition.is_default, |attribute| {
                compare(&attribute, condition.comparison, condition.value)
            }),
        },
    })
}

/// The value at the input of this name.
fn port(cx: &NodeCx<'_, '_>, signature: &Signature<'_>, name: &str) -> Option<ValueId> {
    let at = signature.inputs.iter().position(|formal| formal.name == name)?;
    cx.body.body.inputs(cx.step).get(at).copied().flatten()
}

/// Whether an input has the rank of a condition.
fn has_rank(
    cx: &mut NodeCx<'_, '_>,
    signature: &Signature<'_>,
    name: &str,
    condition: &Condition<'_>,
) -> bool {
    let Some(value) = port(cx, signature, name) else { return false };
    let ty = cx.checked.type_within(cx.body, value);
    let rank = ty.tensor().and_then(|tensor| tensor.shape.as_ref()).map(|shape| shape.len());
    let listed = || condition.value.split(',').any(|one| one.parse() == Ok(rank.unwrap_or_default()));
    rank.is_some() && listed() == (condition.comparison == Comparison::Equal)
}

fn fits(value: f64, comparison: Comparison, expected: &str) -> bool {
    let mut listed = expected.split(',').filter_map(|one| one.parse::<f64>().ok());
    match comparison {
        Comparison::NotIn => !listed.any(|one| value == one),
        Comparison::Equal => listed.any(|one| value == one),
        Comparison::AtMost => listed.any(|one| value <= one),
        Comparison::AtLeast => listed.any(|one| value >= one),
    }
}

/// Compares the value of an attribute.
fn compare(attribute: &Attribute<'_>, comparison: Comparison, expected: &str) -> bool {
    if let Some(string) = attribute.s {
        return match comparison {
            Comparison::Equal => string == expected.as_bytes(),
            Comparison::NotIn => !expected.split(',').any(|one| string == one.as_bytes()),
            Comparison::AtMost | Comparison::AtLeast => false,
        };
    }
    let fits = |value: f64| fits(value, comparison, expected);
    match (attribute.i, attribute.f) {
        (Some(int), _) => fits(int as f64),
        (None, Some(float)) => fits(f64::from(float)),
        (None, None) => {
            let mut floats = attribute.floats().flatten().map(f64::from);
            attribute.ints().flatten().any(|int| fits(int as f64)) || floats.any(fits)
        }
    }
}

fn has_negative(cx: &NodeCx<'_, '_>, name: &str) -> bool {
    ints(cx, name).unwrap_or_default().iter().any(|element| *element < 0)
}

/// Whether each element of one attribute is smaller than that of its axis in another. Lists of pads have two
/// elements per axis.
fn is_below(cx: &NodeCx<'_, '_>, small: &str, large: &str) -> bool {
    // Pads are computed if `auto_pad` is given.
    if string_attribute(cx, "auto_pad").is_some_and(|mode| mode != b"NOTSET") {
        return true;
    }
    let (Some(small), Some(large)) = (ints(cx, small), ints(cx, large)) else { return true };
    small.iter().zip(large.iter().cycle()).all(|(small, large)| small < large)
}

/// Whether the loader can cast `float16`: its casts are of the version that the model imports.
pub(crate) fn has_cast(cx: &NodeCx<'_, '_>) -> bool {
    let version = cx.versions.get("").copied().or_else(|| cx.facts.domains.get("").copied());
    let cast = version.and_then(|version| cx.facts.signature("", "Cast", version));
    cast.is_some_and(|cast| !cast.kernels.is_empty())
}

/// Whether the node has an attribute with elements of `float16`, which the loader does not cast.
pub(crate) fn has_half_attribute(cx: &NodeCx<'_, '_>) -> bool {
    let half = typeloom_solver::elem::Elem::FLOAT16;
    attributes(cx)
        .filter_map(|attribute| attribute.t?.header().ok())
        .any(|header| typeloom_solver::elem::Elem::from_onnx(header.data_type) == Some(half))
}

/// Whether an attribute of the node is a tensor without an element type.
pub(crate) fn has_undefined_tensor(cx: &NodeCx<'_, '_>) -> bool {
    attributes(cx).filter_map(|attribute| attribute.t?.header().ok()).any(|header| header.data_type == 0)
}

/// The verdict about an operator that the loader computes from the extents of its input; `None` for another
/// operator, or if an extent is unknown.
pub(crate) fn folded(cx: &mut NodeCx<'_, '_>) -> Option<Option<TargetIssue>> {
    let body = std::sync::Arc::clone(&cx.body.body);
    let [Some(input)] = body.inputs(cx.step) else { return None };
    if !cx.facts.folded.contains(&body.op_name(cx.step)) || !cx.checked.domain_of(&body, cx.step).is_empty() {
        return None;
    }
    let ty = cx.checked.type_within(cx.body, *input);
    let shape = ty.tensor()?.shape.as_ref()?;
    let known = shape.iter().filter(|dim| cx.checked.dims().as_constant(**dim).is_some()).count();
    let is_declared = matches!(body.value(*input).origin, Origin::Input) && cx.body.is_main();
    match (known == shape.len(), is_declared) {
        (true, true) => Some(None),
        (false, _) if known == 0 => None,
        (true, false) | (false, _) => Some(Some(undecided("the loader may compute it from extents"))),
    }
}

/// Whether the loader may remove the node although it has no kernel: optimizations remove nodes that pass a
/// value on.
pub(crate) fn may_be_removed(cx: &NodeCx<'_, '_>) -> bool {
    let body = &cx.body.body;
    let outputs = &body.graph(body.step(cx.step).graph).outputs;
    let mut results = body.outputs(body.last_step(cx.step)).iter().flatten();
    let name = body.op_name(cx.step);
    if quirks::is_read_for_extents(body, cx.step) {
        return true;
    }
    if name == "Identity" {
        // Another node can write the output of the graph.
        let is_made = matches!(body.inputs(cx.step), [Some(input)] if body.maker(*input).is_some());
        return is_made || !results.any(|result| outputs.contains(result));
    }
    let is_neutral = NEUTRAL.contains(&name) && inputs(cx).iter().any(|input| is_foldable(body, *input));
    (REMOVABLE.contains(&name) || is_neutral) && !results.any(|result| outputs.contains(result))
}
