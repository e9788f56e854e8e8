//! Scan: a loop over one axis of its inputs, with one iteration per element of that axis.

use typeloom_dim::DimId;
use typeloom_dim::shape::DimVec;
use typeloom_solver::elem::ElemSet;
use typeloom_solver::program::GraphId;
use typeloom_solver::rule::Port::{BodyIn, BodyOut, In, Out};
use typeloom_solver::rule::{
    Control, Exit, ExitRule, GraphTypes, Knowledge, Rule, RuleCx, RuleError, RuleResult, Trips,
};
use typeloom_types::plural::counted;

use super::{graph, last_value, require_count, set_last};

/// Scan from version 9 on.
pub(super) const SCAN: Control = Control {
    enter: Rule { name: "scan.state", run: |cx| enter(cx, Form::Plain) },
    exit: ExitRule { name: "scan.iterations", run: |cx| exit(cx, Form::Plain) },
    graphs: GraphTypes::Decide,
};

/// Scan of version 8: a leading batch axis everywhere, and an optional first input of sequence lengths.
pub(super) const BATCHED: Control = Control {
    enter: Rule { name: "scan.state", run: |cx| enter(cx, Form::Batched) },
    exit: ExitRule { name: "scan.iterations", run: |cx| exit(cx, Form::Batched) },
    graphs: GraphTypes::Decide,
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Batched,
}

impl Form {
    /// Number of inputs before the state variables, and of axes before those of the body.
    fn leading(self) -> usize {
        match self {
            Self::Plain => 0,
            Self::Batched => 1,
        }
    }

    /// The scanned axis of each scanned input, or of each collected output; `batched` in version 8.
    fn axes(
        self,
        cx: &RuleCx<'_, '_>,
        name: &'static str,
        count: usize,
        batched: i64,
    ) -> RuleResult<Vec<i64>> {
        if self == Self::Batched {
            return Ok(vec![batched; count]);
        }
        let axes = cx.attr_ints(name)?.unwrap_or_else(|| vec![0; count]);
        if axes.len() != count {
            let message = format!("has {}, but {count} are needed", counted(axes.len(), "item"));
            return Err(RuleError::attribute(name, message));
        }
        Ok(axes)
    }
}

struct Ports {
    body: GraphId,
    /// Number of state variables.
    state: usize,
    /// Number of scanned inputs.
    scanned: usize,
    /// Number of collected outputs.
    collected: usize,
}

fn ports(cx: &RuleCx<'_, '_>, form: Form) -> RuleResult<Ports> {
    let body = graph(cx, "body")?;
    let given = cx.input_count().saturating_sub(form.leading());
    let scanned = cx.attr_int("num_scan_inputs")?.unwrap_or(0);
    let in_range = usize::try_from(scanned).ok().filter(|scanned| (1..=given).contains(scanned));
    let Some(scanned) = in_range else {
        let message = format!(
            "is {scanned}, but the node has {} for loop state variables and scanned values",
            counted(given, "input")
        );
        return Err(RuleError::attribute("num_scan_inputs", message));
    };
    let state = given - scanned;
    require_count(body, "inputs", cx.body_inputs(body), given)?;
    require_count(body, "outputs", cx.body_outputs(body), cx.output_count())?;
    let outputs = cx.output_count();
    if outputs < state {
        let message = format!(
            "the graph has {}, but there are {state} loop state variables",
            counted(outputs, "output")
        );
        return Err(RuleError::Body { graph: body, message });
    }
    Ok(Ports { body, state, scanned, collected: outputs - state })
}

/// `scan.state`: the inputs of the body are the state variables and one element of each scanned input.
/// Source: Scan, "Inputs", `body` and `scan_input_axes`.
fn enter(cx: &mut RuleCx<'_, '_>, form: Form) -> RuleResult {
    let Ports { body, state, scanned, .. } = ports(cx, form)?;
    let (skip, batch) = (form.leading(), form.leading());
    cx.repeats(body);
    for at in 0..state {
        cx.same_type(In(at + skip), BodyIn(body, at))?;
        cx.same_type(BodyIn(body, at), BodyOut(body, at))?;
        let shape = cx.shape(In(at + skip));
        let inner = shape.filter(|shape| shape.len() >= batch).map(|shape| DimVec::from(&shape[batch..]));
        cx.assume_shape(BodyIn(body, at), inner);
    }
    let axes = form.axes(cx, "scan_input_axes", scanned, 1)?;
    let mut length: Option<(usize, usize, DimId)> = None;
    for (at, axis) in axes.into_iter().enumerate() {
        let (outer, inner) = (In(at + skip + state), BodyIn(body, at + state));
        cx.same_type(outer, inner)?;
        let Some(mut shape) = cx.shape(outer) else {
            cx.assume_shape(inner, None);
            continue;
        };
        let axis = cx.axis("scan_input_axes", axis, shape.len())?;
        let current = (at + skip + state, axis, shape.remove(axis));
        if let Some((port, axis, dim)) = length {
            cx.require_equal(
                (In(port), axis, dim),
                (In(current.0), current.1, current.2),
                "are scanned together",
            )?;
        }
        length = Some(current);
        cx.assume_shape(inner, Some(DimVec::from(&shape[batch.min(shape.len())..])));
    }
    Ok(())
}

/// `scan.iterations`: state variables keep their type; collected values get an axis of the scanned extent.
/// Source: Scan, "Outputs" and `scan_output_axes`.
fn exit(cx: &mut RuleCx<'_, '_>, form: Form) -> RuleResult<Exit> {
    let Ports { body, state, scanned, collected } = ports(cx, form)?;
    let skip = form.leading();
    let inner = |cx: &mut RuleCx<'_, '_>, at: usize| {
        let shape = cx.shape(In(at + skip)).filter(|shape| shape.len() >= form.leading())?;
        Some(DimVec::from(&shape[form.leading()..]))
    };
    cx.keep_first_iteration(body, (0..state).map(|at| BodyIn(body, at)));
    let mut widened = false;
    for at in 0..state {
        let (first, next) = (inner(cx, at), cx.next_shape(BodyOut(body, at)));
        widened |= cx.assume_next(body, BodyIn(body, at), next, first.as_ref());
    }
    if widened {
        return Ok(Exit::Again);
    }
    let iterations = iterations(cx, form, state, scanned)?;
    // With sequence lengths, each batch element stops after its own number of iterations.
    let padded = form == Form::Batched && cx.has(In(0));
    let count = if padded { None } else { iterations };
    cx.enters(body, count);
    let trips = cx.trips(body, count);
    let batch = batch_extent(cx, form, state + scanned);
    for at in 0..state {
        cx.same_type(In(at + skip), Out(at))?;
        let (first, next) = (inner(cx, at), cx.next_shape(BodyOut(body, at)));
        if let Some(shape) = cx.after_iterations(trips, first, BodyIn(body, at), next) {
            let shape: DimVec = batch.into_iter().chain(shape).collect();
            set_last(cx, Out(at), &shape)?;
        }
        if form == Form::Plain {
            last_value(cx, trips, (In(at), BodyIn(body, at)), BodyOut(body, at), Out(at));
        }
    }
    let axes = form.axes(cx, "scan_output_axes", collected, 0)?;
    for (at, axis) in axes.into_iter().enumerate() {
        let (from, to) = (BodyOut(body, at + state), Out(at + state));
        cx.set_elems(from, ElemSet::ALL)?;
        cx.same_type(from, to)?;
        let (Some(shape), Some(iterations)) = (cx.shape(from), iterations) else { continue };
        // Runtimes reject a scan without iterations.
        let mut shape = cx.collected(Trips { known: Knowledge::Extents, ..trips }, shape);
        let axis = cx.axis("scan_output_axes", axis, shape.len() + 1)?;
        shape.insert(axis, iterations);
        let shape: DimVec = batch.into_iter().chain(shape).collect();
        set_last(cx, to, &shape)?;
    }
    Ok(Exit::Done)
}

/// The extent of the batch axis of version 8.
fn batch_extent(cx: &mut RuleCx<'_, '_>, form: Form, inputs: usize) -> Option<DimId> {
    match form {
        Form::Plain => None,
        Form::Batched => (0..inputs).find_map(|at| cx.shape(In(at + 1))?.first().copied()),
    }
}

/// Number of iterations: the extent of the scanned axis of any scanned input of known rank.
fn iterations(
    cx: &mut RuleCx<'_, '_>,
    form: Form,
    state: usize,
    scanned: usize,
) -> RuleResult<Option<DimId>> {
    let axes = form.axes(cx, "scan_input_axes", scanned, 1)?;
    let mut known: Option<DimId> = None;
    for (at, axis) in axes.into_iter().enumerate() {
        let Some(shape) = cx.shape(In(at + form.leading() + state)) else { continue };
        let dim = shape[cx.axis("scan_input_axes", axis, shape.len())?];
        known = Some(known.map_or(dim, |known| cx.better_known(known, dim)));
    }
    Ok(known)
}
