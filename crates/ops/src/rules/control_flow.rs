//! Operators with nested graphs: If, Loop, Scan, SequenceMap.
//!
//! Types flow in both directions between a node and its graphs by unification. Shapes flow in before the
//! graphs are solved and out afterwards. If the branches of an If differ, each is a separate case, see
//! `RuleCx::ask`. The state variables of a Loop or Scan are assumed to keep the shape of the first iteration;
//! the assumption is widened until it holds for every iteration (see `RuleCx::assume_shape`). The number of
//! iterations can be 0, so an output has the shape of the initial value or of the body's result.

use typeloom_dim::DimId;
use typeloom_dim::shape::DimVec;
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::program::GraphId;
use typeloom_solver::rule::Port::{BodyIn, BodyOut, In, Out};
use typeloom_solver::rule::{
    Control, Exit, ExitRule, GraphTypes, Ints, Kind, Knowledge, Port, Rule, RuleCx, RuleError, RuleResult,
    Trips, Unroll,
};
use typeloom_types::plural::counted;

use super::Entry;
use super::common::{require_one_element, require_single};

mod scan;

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("If", &[]).with_control(&IF),
    Entry::of("Loop", &[]).with_control(&LOOP),
    Entry::of("Scan", &[]).until(9).with_control(&scan::BATCHED),
    Entry::of("Scan", &[]).since(9).with_control(&scan::SCAN),
    Entry::of("SequenceMap", &[]).with_control(&SEQUENCE_MAP),
];

const IF: Control = Control {
    enter: Rule { name: "if.branches", run: if_enter },
    exit: ExitRule { name: "if.join", run: if_exit },
    graphs: GraphTypes::Decide,
};

const LOOP: Control = Control {
    enter: Rule { name: "loop.state", run: loop_enter },
    exit: ExitRule { name: "loop.iterations", run: loop_exit },
    graphs: GraphTypes::Decide,
};

const SEQUENCE_MAP: Control = Control {
    enter: Rule { name: "sequencemap.elements", run: sequence_map_enter },
    exit: ExitRule { name: "sequencemap.collect", run: sequence_map_exit },
    graphs: GraphTypes::Decide,
};

/// The graph in an attribute; the signature has checked its presence.
fn graph(cx: &RuleCx<'_, '_>, name: &'static str) -> RuleResult<GraphId> {
    cx.body(name).ok_or_else(|| RuleError::attribute(name, "must be a graph"))
}

/// Requires a graph to have a given number of inputs or outputs.
pub(super) fn require_count(graph: GraphId, what: &str, found: usize, expected: usize) -> RuleResult {
    if found == expected {
        return Ok(());
    }
    let message = format!("the graph has {found} {what}, but the node needs {expected}");
    Err(RuleError::Body { graph, message })
}

/// `if.branches`: the condition has one element; both branches have no inputs and as many outputs as the node.
/// Source: If, `cond` and `then_branch`.
fn if_enter(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    require_one_element(cx, In(0), "a condition must have one element")?;
    for name in ["then_branch", "else_branch"] {
        let branch = graph(cx, name)?;
        require_count(branch, "inputs", cx.body_inputs(branch), 0)?;
        require_count(branch, "outputs", cx.body_outputs(branch), cx.output_count())?;
    }
    Ok(())
}

/// Whether two shapes have different ranks, or an axis with different numbers.
fn are_unequal(cx: &mut RuleCx<'_, '_>, a: Port, b: Port) -> bool {
    let (Some(a), Some(b)) = (cx.shape(a), cx.shape(b)) else { return false };
    let dims = cx.dims();
    let mut numbers = a.iter().zip(&b).filter_map(|(a, b)| dims.as_constant(*a).zip(dims.as_constant(*b)));
    a.len() != b.len() || numbers.any(|(a, b)| a != b)
}

/// `if.join`: each output has the type of both branches, and the dims on which they agree. Before version 11,
/// the shapes must be equal, too; runtimes reject those that cannot be. Source: If, `outputs`.
fn if_exit(cx: &mut RuleCx<'_, '_>) -> RuleResult<Exit> {
    let (then, other) = (graph(cx, "then_branch")?, graph(cx, "else_branch")?);
    let allows_equal_only = cx.since_version() < 11;
    for at in 0..cx.output_count() {
        let (a, b) = (BodyOut(then, at), BodyOut(other, at));
        if allows_equal_only && are_unequal(cx, a, b) {
            let message = "branches may give different shapes since opset 11";
            return Err(RuleError::shapes(&[a, b], message));
        }
    }
    // A constant condition selects one branch, whose shapes are those of the node.
    let live = match cx.truth(In(0)) {
        Some(false) => {
            cx.never_runs(then);
            Some(other)
        }
        Some(true) => {
            cx.never_runs(other);
            Some(then)
        }
        None => None,
    };
    let mut lossy = live.is_none() && (cx.is_wrong_inside(then) || cx.is_wrong_inside(other));
    for at in 0..cx.output_count() {
        let (a, b) = (BodyOut(then, at), BodyOut(other, at));
        cx.same_type(a, b)?;
        cx.same_type(a, Out(at))?;
        let shape = match live {
            Some(live) => cx.shape(BodyOut(live, at)),
            None => {
                lossy |= cx.differ(a, b);
                cx.join_shapes(&[a, b])
            }
        };
        if let Some(shape) = shape {
            cx.set_shape(Out(at), &shape)?;
        }
        match live {
            Some(live) => cx.copy_data(BodyOut(live, at), Out(at)),
            // Elements on which both branches agree are known for either branch.
            None => match (cx.ints(a), cx.ints(b)) {
                (Some(x), Some(y)) if x == y => cx.copy_data(a, Out(at)),
                (None, None) => {}
                (Some(_) | None, Some(_) | None) => lossy = true,
            },
        }
    }
    if lossy {
        cx.request_cases(In(0));
    }
    Ok(Exit::Done)
}

/// The correspondence of inputs and outputs of a Loop and its body.
struct LoopPorts {
    body: GraphId,
    /// Number of state variables.
    state: usize,
    /// Number of scan outputs, which collect one element per iteration.
    scans: usize,
}

fn loop_ports(cx: &RuleCx<'_, '_>) -> RuleResult<LoopPorts> {
    let body = graph(cx, "body")?;
    let state = cx.input_count().saturating_sub(2);
    require_count(body, "inputs", cx.body_inputs(body), state + 2)?;
    let outputs = cx.body_outputs(body);
    if outputs < state + 1 {
        let needed = state + 1;
        let message = format!(
            "the graph has {}, but the condition and {state} state variables need {needed}",
            counted(outputs, "output")
        );
        return Err(RuleError::Body { graph: body, message });
    }
    let scans = outputs - 1 - state;
    if cx.output_count() > state + scans {
        let (found, needed) = (state + scans, cx.output_count());
        let message = format!(
            "the graph has {} besides the condition, but the node has {needed}",
            counted(found, "output")
        );
        return Err(RuleError::Body { graph: body, message });
    }
    Ok(LoopPorts { body, state, scans })
}

/// `loop.state`: the number of iterations and the condition are single numbers; the inputs of the body are the
/// iteration number, the condition and the state variables; its outputs are the next condition, the state
/// variables and the collected values. Source: Loop, "Inputs" and `body`.
fn loop_enter(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let LoopPorts { body, state, .. } = loop_ports(cx)?;
    for (port, elem) in
        [(BodyIn(body, 0), Elem::INT64), (BodyIn(body, 1), Elem::BOOL), (BodyOut(body, 0), Elem::BOOL)]
    {
        cx.set_elem(port, elem)?;
    }
    // Iteration number and condition are single numbers of the same rank as those of the node.
    for (port, outer) in [(BodyIn(body, 0), In(0)), (BodyIn(body, 1), In(1))] {
        if cx.rank(port).is_none() {
            // Runtimes give the iteration number and the condition the rank that the body declares.
            let shape = match cx.declared_shape(port) {
                Some(declared) if declared.is_empty() => declared,
                Some(declared) if declared.len() == 1 => DimVec::from_slice(&[DimId::ONE]),
                Some(_) | None => cx.shape(outer).unwrap_or_default(),
            };
            cx.assume_shape(port, Some(shape));
        }
    }
    // An iteration starts only if the condition is true.
    match cx.rank(BodyIn(body, 1)).or_else(|| cx.declared_rank(BodyIn(body, 1))) {
        Some(0) => cx.set_ints(BodyIn(body, 1), Ints::scalar(DimId::ONE)),
        Some(1) => cx.set_ints(BodyIn(body, 1), Ints::vector([DimId::ONE])),
        Some(_) | None => {}
    }
    cx.repeats(body);
    cx.count_iterations(body, BodyIn(body, 0));
    for at in 0..state {
        cx.same_type(In(at + 2), BodyIn(body, at + 2))?;
        cx.assume_shape_of(BodyIn(body, at + 2), In(at + 2));
    }
    // The body has types even if the node is wrong.
    [In(0), In(1)].into_iter().try_for_each(|port| require_single(cx, port))
}

/// `loop.iterations`: state variables keep their type; collected values get a leading axis with one element
/// per iteration. Source: Loop, "Outputs".
fn loop_exit(cx: &mut RuleCx<'_, '_>) -> RuleResult<Exit> {
    let LoopPorts { body, state, scans } = loop_ports(cx)?;
    // Checked after solving, so that an error about the type of a state variable is reported at the loop, not
    // at a node in its body.
    for at in 0..state {
        let (before, next) = (BodyIn(body, at + 2), BodyOut(body, at + 1));
        match is_unwrapped(cx, before, next) {
            true => cx.optional_of(before, next)?,
            false => cx.same_type(before, next)?,
        }
    }
    if cx.is_unrolling(body) && !cx.is_wrong_inside(body) {
        let next = (0..state).map(|at| cx.next_shape(BodyOut(body, at + 1))).collect();
        cx.next_iteration(body, next);
        return Ok(Exit::Again);
    }
    cx.keep_first_iteration(body, (0..state).map(|at| BodyIn(body, at + 2)));
    let mut widened = false;
    for at in 0..state {
        let (first, next) = (cx.shape(In(at + 2)), cx.next_shape(BodyOut(body, at + 1)));
        widened |= cx.assume_next(body, BodyIn(body, at + 2), next, first.as_ref());
    }
    if widened {
        return Ok(Exit::Again);
    }
    let begun = iterations_begun(cx);
    cx.enters(body, begun);
    let count = trip_count(cx, body)?;
    let trips = cx.trips(body, count);
    if trips.known == Knowledge::Never {
        cx.never_runs(body);
    }
    let mut last: Vec<Option<DimVec>> = Vec::with_capacity(state);
    for at in 0..state.min(cx.output_count()) {
        let (first, next) = (cx.shape(In(at + 2)), cx.next_shape(BodyOut(body, at + 1)));
        let after = cx.after_iterations(trips, first, BodyIn(body, at + 2), next);
        last.push(cx.unrolled(body, at).or(after));
    }
    let unknown = |cx: &mut RuleCx<'_, '_>, shape: &Option<DimVec>| {
        shape.as_ref().is_none_or(|shape| shape.iter().any(|dim| cx.dims().is_variable(*dim)))
    };
    if last.iter().any(|shape| unknown(cx, shape))
        && let Some(count) = cx.const_dim(trips.count)
    {
        let first: Vec<_> = (0..state).map(|at| (BodyIn(body, at + 2), cx.shape(In(at + 2)))).collect();
        match cx.unroll(body, count, BodyIn(body, 0), &first) {
            Unroll::Again => return Ok(Exit::Again),
            Unroll::TooMany => cx.note_iterations((0..state).map(|at| BodyOut(body, at + 1))),
            Unroll::General => {}
        }
    }
    for (at, shape) in last.into_iter().enumerate() {
        match is_unwrapped(cx, BodyIn(body, at + 2), BodyOut(body, at + 1)) {
            true => cx.same_type(BodyOut(body, at + 1), Out(at))?,
            false => cx.same_type(In(at + 2), Out(at))?,
        }
        if let Some(shape) = shape {
            set_last(cx, Out(at), &shape)?;
        }
        last_value(cx, trips, (In(at + 2), BodyIn(body, at + 2)), BodyOut(body, at + 1), Out(at));
    }
    for at in 0..scans {
        let (from, to) = (BodyOut(body, at + 1 + state), Out(at + state));
        cx.set_elems(from, ElemSet::ALL)?;
        cx.same_type(from, to)?;
        // The type of a body that never runs depends on the inference of the runtime.
        let known = if trips.known == Knowledge::Never { None } else { cx.shape(from) };
        let Some(element) = known else { continue };
        let element = cx.collected(trips, element);
        let shape: DimVec = std::iter::once(trips.count).chain(element).collect();
        set_last(cx, to, &shape)?;
    }
    Ok(Exit::Done)
}

/// The value after the last iteration: the initial one if no iteration changes it, or one that every
/// iteration returns if there is at least one.
pub(super) fn last_value(
    cx: &mut RuleCx<'_, '_>,
    trips: Trips,
    (first, assumed): (Port, Port),
    next: Port,
    last: Port,
) {
    if cx.is_same_value(next, assumed) {
        cx.copy_data(first, last);
    } else if trips.known == Knowledge::Positive && cx.const_ints(next).is_some() {
        cx.copy_data(next, last);
    }
}

/// Whether a state variable is an optional before each iteration and its content afterwards. Runtimes accept
/// a value for an optional.
fn is_unwrapped(cx: &mut RuleCx<'_, '_>, before: Port, next: Port) -> bool {
    cx.kind(before) == Kind::Optional && matches!(cx.kind(next), Kind::Sequence | Kind::Other)
}

/// Sets the shape of an output; an extent that was unknown before keeps its unknown.
pub(super) fn set_last(cx: &mut RuleCx<'_, '_>, port: Port, shape: &[DimId]) -> RuleResult {
    let known = cx.shape(port).filter(|known| known.len() == shape.len());
    let dims: DimVec = shape
        .iter()
        .enumerate()
        .map(|(axis, dim)| match &known {
            Some(known) if cx.dims().is_variable(*dim) => known[axis],
            Some(_) | None => *dim,
        })
        .collect();
    cx.set_shape(port, &dims)
}

/// Number of iterations if the condition returned by the body never ends the loop; `None` if the first
/// iteration may not start or the trip count is unknown.
fn iterations_begun(cx: &mut RuleCx<'_, '_>) -> Option<DimId> {
    if cx.has(In(1)) && cx.truth(In(1)) != Some(true) {
        return None;
    }
    if !cx.has(In(0)) {
        return Some(DimId::ONE);
    }
    cx.ints(In(0))?.single()
}

/// Number of iterations, if the trip count is known and the condition never ends the loop early.
fn trip_count(cx: &mut RuleCx<'_, '_>, body: GraphId) -> RuleResult<Option<DimId>> {
    let starts = if cx.has(In(1)) { cx.truth(In(1)) } else { Some(true) };
    if starts == Some(false) {
        return Ok(Some(DimId::ZERO));
    }
    let count = if cx.has(In(0)) { cx.ints(In(0)) } else { None };
    let Some(count) = count.and_then(|count| count.single()) else { return Ok(None) };
    if cx.dims().bounds(count).1.is_some_and(|most| most <= 0) {
        return Ok(Some(DimId::ZERO));
    }
    let keeps_going =
        cx.const_int(BodyOut(body, 0)) == Some(1) || cx.is_same_value(BodyOut(body, 0), BodyIn(body, 1));
    if starts != Some(true) || !keeps_going {
        return Ok(None);
    }
    Ok(Some(cx.dims().max(count, DimId::ZERO)))
}

/// `sequencemap.elements`: the inputs of the body are one element of each sequence, and the other inputs.
/// Source: SequenceMap, "Inputs" and `body`.
fn sequence_map_enter(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let body = graph(cx, "body")?;
    cx.repeats(body);
    require_count(body, "inputs", cx.body_inputs(body), cx.input_count())?;
    require_count(body, "outputs", cx.body_outputs(body), cx.output_count())?;
    for at in 0..cx.input_count() {
        let (outer, inner) = (In(at), BodyIn(body, at));
        match cx.kind(outer) {
            Kind::Sequence => cx.sequence_of(outer, inner)?,
            Kind::Unknown => continue,
            Kind::Optional | Kind::Other | Kind::Error => cx.same_type(outer, inner)?,
        }
        cx.assume_shape_of(inner, outer);
    }
    Ok(())
}

/// `sequencemap.collect`: each output is the sequence of the body's results. Source: SequenceMap, "Outputs".
fn sequence_map_exit(cx: &mut RuleCx<'_, '_>) -> RuleResult<Exit> {
    let body = graph(cx, "body")?;
    for at in 0..cx.output_count() {
        cx.sequence_of(Out(at), BodyOut(body, at))?;
        if let Some(shape) = cx.shape(BodyOut(body, at)) {
            cx.set_element_shape(Out(at), &shape)?;
        }
    }
    Ok(Exit::Done)
}
