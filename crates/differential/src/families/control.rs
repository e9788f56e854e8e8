//! `If`, `Loop`, `Scan` and calls of functions.

use typeloom_cpu::value::Value;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::shapes::{Vector, one_extent};
use super::{Builder, choose, int, is_int, signed, tensor};
use crate::build::{Surroundings, Var};
use crate::program::{LOCAL, Node};

/// Maximum nesting of graphs.
const MAX_DEPTH: usize = 3;

/// Adds some nodes to a nested graph.
fn fill(b: &mut Builder<'_>, count: i64) {
    for _ in 0..count {
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
    let extent = one_extent(b, &x, axis, Vector::Scalar)?;
    let bound = b.choices.between(1, 6);
    let bound = b.int(bound);
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

pub(super) fn branch(b: &mut Builder<'_>) -> Option<()> {
    if b.depth() >= MAX_DEPTH {
        return None;
    }
    let condition = condition(b)?;
    let mut graphs = Vec::new();
    let mut dtypes: Vec<Option<Dtype>> = Vec::new();
    let outputs = b.choices.between(1, 2);
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
        let count = b.choices.between(1, 3);
        fill(b, count);
        let mut names = Vec::new();
        for at in 0..outputs {
            let dtype = dtypes.get(usize::try_from(at).unwrap_or(0)).copied().flatten();
            let fits = |var: &Var| var.dtype().is_some() && (dtype.is_none() || var.dtype() == dtype);
            let name = result(b, fits)?;
            if branch {
                dtypes.push(b.var(&name)?.dtype());
            }
            // A graph lists an output once only.
            let name = if names.contains(&name) { b.simple("Identity", &[&name])?.name } else { name };
            names.push(name);
        }
        graphs.push(b.leave(&names));
    }
    let names = (0..outputs).map(|_| b.name("v")).collect();
    let attributes = ["then_branch", "else_branch"];
    b.add(Node {
        op: "If".to_owned(),
        domain: "",
        inputs: vec![condition.name],
        outputs: names,
        attributes: Vec::new(),
        graphs: attributes.into_iter().zip(graphs).collect(),
    })
    .map(|_| ())
}

/// A parameter of a nested graph with the values of an argument.
fn parameter(b: &mut Builder<'_>, values: Vec<Option<Value>>) -> Var {
    Var { name: b.name("p"), values }
}

fn everywhere(b: &Builder<'_>, tensor: AnyTensor) -> Vec<Option<Value>> {
    vec![Some(Value::Tensor(tensor)); b.active().len()]
}

pub(super) fn repeat(b: &mut Builder<'_>) -> Option<()> {
    if b.depth() >= MAX_DEPTH {
        return None;
    }
    let trips = match b.choices.below(3) {
        0 => {
            let x = tensor(b, 1, 4)?;
            let axis = signed(b.choices.below(x.rank()?));
            one_extent(b, &x, axis, Vector::Scalar)?
        }
        1 => b.any(|var| is_int(var) && var.rank() == Some(0))?.name,
        _ => {
            let trips = b.choices.between(1, 4);
            b.int(trips)
        }
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
    let count = b.choices.between(1, 3);
    fill(b, count);
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
        let name = if outputs.contains(&name) { b.simple("Identity", &[&name])?.name } else { name };
        outputs.push(name);
    }
    if b.choices.percent(50) {
        let scanned = result(b, |var| var.dtype().is_some())?;
        let name = if outputs.contains(&scanned) { b.simple("Identity", &[&scanned])?.name } else { scanned };
        outputs.push(name);
    }
    let body = b.leave(&outputs);
    let names = outputs[1..].iter().map(|_| b.name("v")).collect();
    b.add(Node {
        op: "Loop".to_owned(),
        domain: "",
        inputs,
        outputs: names,
        attributes: Vec::new(),
        graphs: vec![("body", body)],
    })
    .map(|_| ())
}

pub(super) fn scan(b: &mut Builder<'_>) -> Option<()> {
    if b.depth() >= MAX_DEPTH {
        return None;
    }
    let state = tensor(b, 0, 2)?;
    let scanned = tensor(b, 1, 3)?;
    let mut rows = Vec::new();
    for value in &scanned.values {
        let row = value.as_ref().and_then(Value::as_tensor).map(|tensor| {
            crate::world::tensor(tensor.dtype(), tensor.shape().get(1..).unwrap_or_default(), b.choices)
        });
        rows.push(row.map(Value::Tensor));
    }
    let parameters = vec![parameter(b, state.values.clone()), parameter(b, rows)];
    b.enter(parameters, 0, b.active().to_vec(), Surroundings::Visible);
    let count = b.choices.between(1, 3);
    fill(b, count);
    // The state of a scan keeps its shape.
    let is_state = |var: &Var| {
        let same = |(own, state): (&Option<Value>, &Option<Value>)| match (own, state) {
            (Some(Value::Tensor(own)), Some(Value::Tensor(state))) => {
                own.dtype() == state.dtype() && own.shape() == state.shape()
            }
            (own, _) => own.is_none(),
        };
        var.values.iter().zip(&state.values).all(same)
    };
    let first = result(b, is_state)?;
    let mut outputs = vec![first.clone()];
    let second = result(b, |var| var.dtype().is_some())?;
    outputs.push(if second == first { b.simple("Identity", &[&second])?.name } else { second });
    let body = b.leave(&outputs);
    let names = outputs.iter().map(|_| b.name("v")).collect();
    b.add(Node {
        op: "Scan".to_owned(),
        domain: "",
        inputs: vec![state.name, scanned.name],
        outputs: names,
        attributes: vec![int("num_scan_inputs", 1)],
        graphs: vec![("body", body)],
    })
    .map(|_| ())
}

/// Adds a function and calls it once or twice.
pub(super) fn call(b: &mut Builder<'_>) -> Option<()> {
    if b.depth() >= 2 {
        return None;
    }
    let arguments = [tensor(b, 0, 4)?, tensor(b, 0, 4)?];
    let parameters = arguments.iter().map(|it| parameter(b, it.values.clone())).collect();
    b.enter(parameters, 0, b.active().to_vec(), Surroundings::Hidden);
    let count = b.choices.between(2, 4);
    fill(b, count);
    let output = result(b, |var| var.dtype().is_some())?;
    let graph = b.leave(&[output]);
    let name = b.function(graph);
    let call = |b: &mut Builder<'_>, inputs: [&Var; 2]| {
        let outputs = vec![b.name("v")];
        let inputs = inputs.map(|it| it.name.clone()).to_vec();
        let (attributes, graphs) = (Vec::new(), Vec::new());
        b.add(Node { op: name.clone(), domain: LOCAL, inputs, outputs, attributes, graphs })
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
