//! Constants in other files that the loader needs to infer shapes.
//!
//! The loader infers shapes before it has the files of a model, and fails if it has to read elements from one
//! of them. Whether it reads them depends on the other constants of the node and, for most operators, on what
//! is known about the shapes of the other inputs. It infers shapes again after it has removed nodes that pass
//! a value on, and it infers the body of a function with the constants of the call.

use std::collections::{BTreeMap, BTreeSet};

use typeloom_onnx::domain::canonical;
use typeloom_onnx::view::TensorView;
use typeloom_solver::diagnostic::TargetIssue;
use typeloom_solver::model::Checked;
use typeloom_solver::program::{Body, BodySource, Initializer, Origin, StepId, ValueId};

use crate::facts::{Needs, Signature};
use crate::node::{NodeCx, operator, undecided};
use crate::rules::{REMOVABLE, attribute};

/// The maximum number of nodes that pass a value on one after the other.
const MAX_PASSES: usize = 64;

/// The inputs of model-local functions to which a call may give a tensor in another file, by domain and name
/// of the function.
pub(crate) type SideArguments<'a> = BTreeMap<(&'a str, &'a str), BTreeSet<usize>>;

/// The storage of the elements of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Storage {
    /// Not in another file.
    Here,
    /// In another file.
    OtherFile,
    /// In another file if the loader removes a node, or in a call of the function.
    MaybeOtherFile,
}

/// The inputs of functions to which a call may give a tensor in another file.
pub(crate) fn arguments<'a>(checked: &Checked<'a>) -> SideArguments<'a> {
    let mut found = SideArguments::new();
    let bodies = checked.bodies();
    // A function passes its inputs on to others.
    loop {
        let before: usize = found.values().map(BTreeSet::len).sum();
        for body in bodies.iter().map(|solved| &solved.body) {
            let (from, to) = body.graph(body.root()).steps;
            for step in (from..to).map(StepId::new).filter(|step| checked.is_call(body, *step)) {
                let key = (checked.domain_of(body, step), body.op_name(step));
                for (at, value) in body.inputs(step).iter().enumerate() {
                    if value.is_some_and(|value| storage(body, value, &found) != Storage::Here) {
                        found.entry(key).or_default().insert(at);
                    }
                }
            }
        }
        if found.values().map(BTreeSet::len).sum::<usize>() == before {
            return found;
        }
    }
}

/// The issue of a node whose shape depends on a constant in another file.
pub(crate) fn issue(cx: &mut NodeCx<'_, '_>, signature: &Signature<'_>) -> Option<TargetIssue> {
    let reads = signature.reads.as_ref()?;
    let body = std::sync::Arc::clone(&cx.body.body);
    let inputs = body.inputs(cx.step);
    let is_read =
        |at: usize| signature.inputs.get(at).is_some_and(|formal| reads.inputs.contains(&formal.name));
    let (read, others): (Vec<usize>, Vec<usize>) = (0..inputs.len()).partition(|at| is_read(*at));
    let values = |places: &[usize]| places.iter().filter_map(|at| inputs[*at]).collect::<Vec<ValueId>>();
    let (read, others) = (values(&read), values(&others));
    let storages: Vec<Storage> = read.iter().map(|value| storage(&body, *value, cx.side)).collect();
    let at = storages.iter().position(|storage| *storage != Storage::Here)?;
    let name = body.value_name(read[at]);
    let needed = match reads.needs {
        Needs::Nothing => Vec::new(),
        Needs::Rank => inputs.first().copied().flatten().into_iter().collect(),
        Needs::Extents => others,
    };
    let is_graph_input =
        |value: ValueId| body.value(value).origin == Origin::Input && body.value(value).graph == body.root();
    let axis = match body.op_name(cx.step) {
        "Split" => Some(0),
        "TopK" => Some(-1),
        _ => None,
    };
    let axis = axis.map(|default| attribute(cx, "axis").and_then(|axis| axis.i).unwrap_or(default));
    let mut is_known = true;
    for value in needed {
        let known = known(cx, value, axis);
        // The loader knows no more about an input of the graph than its declaration.
        if known == Needs::Nothing && cx.body.is_main() && is_graph_input(value) {
            return None;
        }
        is_known &= known >= reads.needs;
    }
    let mut read = read.iter().zip(&storages);
    let are_constants = read.all(|(value, storage)| body.is_stored(*value) || *storage == Storage::OtherFile);
    let is_certain = cx.body.is_main() && storages.contains(&Storage::OtherFile) && are_constants && is_known;
    Some(match is_certain {
        true => operator(format!(
            "the loader infers its shape, and does not read `{name}` from another file for that"
        )),
        false => {
            undecided(&format!("the loader may need `{name}` to infer a shape, and it is in another file"))
        }
    })
}

/// Knowledge about the shape of a value. If the node has an axis, only its extent counts.
fn known(cx: &mut NodeCx<'_, '_>, value: ValueId, axis: Option<i64>) -> Needs {
    let ty = cx.checked.type_within(cx.body, value);
    let Some(shape) = ty.tensor().and_then(|tensor| tensor.shape.as_deref()) else { return Needs::Nothing };
    let dims = cx.checked.dims();
    let mut is_number = shape.iter().map(|dim| dims.as_constant(*dim).is_some());
    let Some(axis) = axis else {
        return if is_number.all(|is_number| is_number) { Needs::Extents } else { Needs::Rank };
    };
    let rank = i64::try_from(shape.len()).unwrap_or_default();
    let at = if axis < 0 { axis.saturating_add(rank) } else { axis };
    match usize::try_from(at).ok().and_then(|at| is_number.nth(at)) {
        Some(true) => Needs::Extents,
        Some(false) | None => Needs::Nothing,
    }
}

/// The storage of the elements of a value.
fn storage(body: &Body<'_>, value: ValueId, side: &SideArguments<'_>) -> Storage {
    let mut current = value;
    let mut found = Storage::OtherFile;
    for _ in 0..MAX_PASSES {
        if let Origin::Input = body.value(current).origin {
            let BodySource::Function(function) = body.source() else { return Storage::Here };
            let key = (function.domain().map(canonical), function.name());
            let (Ok(domain), Ok(name)) = key else { return Storage::Here };
            let place = body.graph(body.root()).inputs.iter().position(|input| *input == current);
            let passed = side.get(&(domain, name));
            let is_passed = place.zip(passed).is_some_and(|(place, passed)| passed.contains(&place));
            return if is_passed { Storage::MaybeOtherFile } else { Storage::Here };
        }
        if tensor(body, current).and_then(|tensor| tensor.header().ok()).is_some_and(|it| it.is_external()) {
            return found;
        }
        let Some(maker) = body.maker(current) else { return Storage::Here };
        let name = body.op_name(maker);
        match body.inputs(maker) {
            [Some(data), ..] if name == "Identity" || REMOVABLE.contains(&name) => {
                // The loader keeps the nodes that write outputs of a graph.
                let root = body.graph(body.root());
                let is_kept = root.outputs.contains(&current) || body.step(maker).graph != body.root();
                if name != "Identity" || is_kept {
                    found = Storage::MaybeOtherFile;
                }
                current = *data;
            }
            _ => return Storage::Here,
        }
    }
    Storage::MaybeOtherFile
}

/// The dense tensor of an initializer or constant.
pub(crate) fn tensor<'a>(body: &Body<'a>, value: ValueId) -> Option<TensorView<'a>> {
    match body.value(value).origin {
        Origin::Initializer(initializer) => match body.initializer(initializer) {
            Initializer::Dense(tensor) => Some(tensor),
            Initializer::Sparse(_) => None,
        },
        Origin::Step(step) if body.op_name(step) == "Constant" => {
            let attributes = body.step(step).node.attributes().flatten();
            attributes.filter_map(|attribute| attribute.parse().ok()).find_map(|attribute| attribute.t)
        }
        Origin::Step(_) | Origin::Input | Origin::InputWithDefault(_) | Origin::Undefined => None,
    }
}
