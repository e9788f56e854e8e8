//! `If`, `Loop`, `Scan` and calls of functions.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

use super::shapes::one_extent;
use super::{Builder, choose, int, is_int, signed, tensor};
use crate::build::{Surroundings, Var};
use crate::program::{LOCAL, Node};

/// Maximum nesting of graphs.
const MAX_DEPTH: usize = 3;

/// Adds from `low` to `high` nodes to a nested graph.
fn fill(b: &mut Builder<'_>, low: i64, high: i64) {
    for _ in 0..b.choices.between(low, high) {
        let mark = b.mark();
        if choose(b)(b).is_none() {
            b.undo(mark);
        }
    }
}

fn truth(var: &Var, world: usize) -> Option<bool> {
    let tensor = var.values[world].as_ref()?.as_tensor()?;
    (tensor.dtype() == Dtype::Bool && tensor.rank() == 0).then(|| tensor.bytes() == [1])
}

/// A condition: an input, or a comparison of an extent with a constant.
fn condition(b: &mut Builder<'_>) -> Option<Var> {
    if b.choices.percent(40) {
        return b.any(|var| var.dtype() == Some(Dtype::Bool) && var.rank() == Some(0));
    }
    let x = tensor(b, 1, 4)?;
    let axis = signed(b.choices.below(x.rank()?));
    let extent = one_extent(b, &x, axis, &[])?;
    let bound = b.int_between(1, 6);
    let op = *b.choices.pick(&["Equal", "Less", "Greater"]);
    b.simple(op, &[&extent, &bound])
}

/// A result for a branch, preferably one that the branch computes.
fn result(b: &mut Builder<'_>, fits: impl Fn(&Var) -> bool) -> Option<String> {
    let own: Vec<String> = b.own_vars().into_iter().rev().map(|var| var.name).collect();
    for name in own {
        if b.var(&name).is_some_and(|var| fits(&var)) && b.choices.percent(70) {
            return Some(name);
        }
    }
    let outer = b.any(fits)?;
    Some(b.simple("Identity", &[&outer.name])?.name)
}

/// Adds an output to a nested graph, which lists an output once only.
fn push_output(b: &mut Builder<'_>, outputs: &mut Vec<String>, name: String) -> Option<()> {
    let name = if outputs.contains(&name) { b.simple("Identity", &[&name])?.name } else { name };
    outputs.push(name);
    Some(())
}

pub(super) fn branch(b: &mut Builder<'_>) -> Option<()> {
    if b.depth() >= MAX_DEPTH {
        return None;
    }
    let condition = condition(b)?;
    let mut graphs = Vec::new();
    let mut dtypes: Vec<Option<Dtype>> = Vec::new();
    let outputs = b.choices.below(2) + 1;
    for branch in [true, false] {
        let mut active = b.active().to_vec();
        for (world, active) in active.iter_mut().enumerate() {
            *active = *active && truth(&condition, world)? == branch;
        }
        if !active.contains(&true) {
            // A branch that no world enters can contain any well-typed nodes.
            active = b.active().to_vec();
        }
        b.enter(Vec::new(), 0, active, Surroundings::Visible);
        fill(b, 1, 3);
        let mut names = Vec::new();
        for at in 0..outputs {
            let dtype = dtypes.get(at).copied().flatten();
            let fits = |var: &Var| var.dtype().is_some() && (dtype.is_none() || var.dtype() == dtype);
            let name = result(b, fits)?;
            if branch {
                dtypes.push(b.var(&name)?.dtype());
            }
            push_output(b, &mut names, name)?;
        }
        graphs.push(b.leave(&names));
    }
    let graphs = ["then_branch", "else_branch"].into_iter().zip(graphs).collect();
    b.control("If", vec![condition.name], outputs, Vec::new(), graphs).map(|_| ())
}

/// A parameter of a nested graph with the values of an argument.
fn parameter(b: &mut Builder<'_>, values: Vec<Option<Datum>>) -> Var {
    Var { name: b.name("p"), values }
}

fn everywhere(b: &Builder<'_>, tensor: AnyTensor) -> Vec<Option<Datum>> {
    vec![Some(Datum::Tensor(tensor)); b.active().len()]
}

pub(super) fn repeat(b: &mut Builder<'_>) -> Option<()> {
    if b.depth() >= MAX_DEPTH {
        return None;
    }
    let trips = match b.choices.below(3) {
        0 => {
            let x = tensor(b, 1, 4)?;
            let axis = signed(b.choices.below(x.rank()?));
            one_extent(b, &x, axis, &[])?
        }
        1 => b.any(|var| is_int(var) && var.rank() == Some(0))?.name,
        _ => b.int_between(1, 4),
    };
    let mut inputs = vec![trips, String::new()];
    let mut parameters = vec![
        parameter(b, everywhere(b, AnyTensor::from_scalar(0_i64))),
        parameter(b, everywhere(b, AnyTensor::from_scalar(true))),
    ];
    let states = b.choices.below(2) + 1;
    for _ in 0..states {
        let state = tensor(b, 0, 3)?;
        parameters.push(parameter(b, state.values.clone()));
        inputs.push(state.name);
    }
    let carried = parameters[2..].to_vec();
    let goes_on = parameters[1].name.clone();
    b.enter(parameters, 2, b.active().to_vec(), Surroundings::Visible);
    fill(b, 1, 3);
    let mut outputs = vec![b.simple("Identity", &[&goes_on])?.name];
    for state in &carried {
        let dtype = state.dtype();
        let name = if b.choices.percent(30) {
            let other = b.any(|var| var.dtype() == dtype && var.rank().is_some())?;
            let rank = state.rank()?.min(other.rank()?);
            if rank == 0 {
                result(b, |var| var.dtype() == dtype)?
            } else {
                b.node("Concat", &[&state.name, &other.name], vec![int("axis", 0)], 1)?.pop()?.name
            }
        } else {
            result(b, |var| var.dtype() == dtype)?
        };
        push_output(b, &mut outputs, name)?;
    }
    if b.choices.percent(50) {
        let scanned = result(b, |var| var.dtype().is_some())?;
        push_output(b, &mut outputs, scanned)?;
    }
    let body = b.leave(&outputs);
    b.control("Loop", inputs, outputs.len() - 1, Vec::new(), vec![("body", body)]).map(|_| ())
}

pub(super) fn scan(b: &mut Builder<'_>) -> Option<()> {
    if b.depth() >= MAX_DEPTH {
        return None;
    }
    let state = tensor(b, 0, 2)?;
    let scanned = tensor(b, 1, 3)?;
    let mut rows = Vec::new();
    for value in &scanned.values {
        let row = value.as_ref().and_then(Datum::as_tensor).map(|tensor| {
            crate::world::tensor(tensor.dtype(), tensor.shape().get(1..).unwrap_or_default(), b.choices)
        });
        rows.push(row.map(Datum::Tensor));
    }
    let parameters = vec![parameter(b, state.values.clone()), parameter(b, rows)];
    b.enter(parameters, 0, b.active().to_vec(), Surroundings::Visible);
    fill(b, 1, 3);
    // The state of a scan keeps its shape.
    let is_state = |var: &Var| {
        let same = |(own, state): (&Option<Datum>, &Option<Datum>)| match (own, state) {
            (Some(Datum::Tensor(own)), Some(Datum::Tensor(state))) => {
                own.dtype() == state.dtype() && own.shape() == state.shape()
            }
            (own, _) => own.is_none(),
        };
        var.values.iter().zip(&state.values).all(same)
    };
    let mut outputs = vec![result(b, is_state)?];
    let second = result(b, |var| var.dtype().is_some())?;
    push_output(b, &mut outputs, second)?;
    let body = b.leave(&outputs);
    let attributes = vec![int("num_scan_inputs", 1)];
    b.control("Scan", vec![state.name, scanned.name], 2, attributes, vec![("body", body)]).map(|_| ())
}

/// Adds a function and calls it once or twice.
pub(super) fn call(b: &mut Builder<'_>) -> Option<()> {
    if b.depth() >= 2 {
        return None;
    }
    let arguments = [tensor(b, 0, 4)?, tensor(b, 0, 4)?];
    let parameters = arguments.iter().map(|it| parameter(b, it.values.clone())).collect();
    b.enter(parameters, 0, b.active().to_vec(), Surroundings::Hidden);
    fill(b, 2, 4);
    let output = result(b, |var| var.dtype().is_some())?;
    let graph = b.leave(&[output]);
    let name = b.function(graph);
    let call = |b: &mut Builder<'_>, inputs: [&Var; 2]| {
        let outputs = vec![b.name("v")];
        let inputs = inputs.map(|it| it.name.clone()).to_vec();
        b.add(Node { op: name.clone(), domain: LOCAL, inputs, outputs, ..Node::default() })
    };
    call(b, [&arguments[0], &arguments[1]])?;
    if b.choices.percent(40) {
        let dtype = arguments[0].dtype();
        if let Some(other) = b.any(|var| var.dtype() == dtype && var.rank().is_some()) {
            let mark = b.mark();
            if call(b, [&other, &arguments[1]]).is_none() {
                b.undo(mark);
            }
        }
    }
    Some(())
}
