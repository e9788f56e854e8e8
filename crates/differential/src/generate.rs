//! Generator of whole cases: a program, its worlds, and the declared types of its values.

use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

use crate::build::{Builder, Var};
use crate::choices::Choices;
use crate::expression::{Binding, evaluate, names};
use crate::families;
use crate::program::{Declaration, Declared, Graph, Program};
use crate::world::{self, World};

/// A program with its worlds. Constants were chosen for the binding of the first world.
#[derive(Clone, Debug)]
pub struct Case {
    pub program: Program,
    pub worlds: Vec<World>,
}

/// The symbols that inputs declare.
const SYMBOLS: [&str; 3] = ["batch", "seq", "k"];

/// Declarations of values that nodes compute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Declarations {
    /// No declarations.
    None,
    /// True and false declarations.
    TrueAndFalse,
}

/// Generates a case.
pub fn generate(declarations: Declarations, choices: &mut Choices) -> Case {
    let count = choices.below(3) + 1;
    let ports = ports(&SYMBOLS[..count], choices);
    let is_declared = |symbol: &&str| {
        let extents = ports.iter().filter_map(|port| port.ty.as_ref()?.shape.as_ref()).flatten();
        extents.flat_map(|extent| names(extent)).any(|name| name == **symbol)
    };
    let symbols: Vec<&str> = SYMBOLS.into_iter().filter(is_declared).collect();
    let mut worlds = Vec::new();
    for binding in world::bindings(&symbols, choices) {
        let first = world::inputs(&ports, &binding, choices);
        let second = world::inputs(&ports, &binding, choices);
        if ports.iter().any(is_flag) {
            worlds.push(with_flags(&ports, first, &binding, Dtype::Bool, 0));
            worlds.push(with_flags(&ports, second, &binding, Dtype::Bool, 1));
        } else {
            worlds.push(World { symbols: binding, inputs: first });
        }
    }
    // Constants are chosen for the inputs of the leading world, so the same binding with the other flag is
    // kept separate.
    let base = worlds[0].symbols.clone();
    let is_base = worlds.iter().map(|world| world.symbols == base).collect::<Vec<_>>();
    let for_one_binding = choices.percent(35);
    let nodes = choices.between(3, 14);
    let mut builder = Builder::new(ports, &worlds, choices);
    for _ in 0..nodes {
        let others = builder.active().iter().zip(&is_base).any(|(active, base)| *active && !base);
        builder.permit = for_one_binding && others && builder.choices.percent(60);
        let mark = builder.mark();
        let family = families::choose(&mut builder);
        let lost_base = |builder: &Builder<'_>| {
            builder.active().iter().zip(&is_base).any(|(active, base)| !active && *base)
        };
        if family(&mut builder).is_none() || lost_base(&builder) {
            builder.undo(mark);
        }
    }
    let active = builder.active().to_vec();
    let vars = builder.own_vars();
    let (graph, functions) = builder.finish();
    let mut graph = declared(graph, &vars, &worlds, &active, choices);
    if declarations == Declarations::None {
        graph.values.clear();
        graph.outputs.iter_mut().for_each(|output| output.ty = None);
    }
    Case { program: Program { graph, functions }, worlds }
}

fn is_flag(port: &Declaration) -> bool {
    port.ty.as_ref().is_some_and(|ty| ty.dtype == Dtype::Bool)
}

fn with_flags(
    ports: &[Declaration],
    mut inputs: Vec<Datum>,
    symbols: &Binding,
    dtype: Dtype,
    flag: u8,
) -> World {
    for (port, input) in ports.iter().zip(&mut inputs) {
        if is_flag(port)
            && let Ok(tensor) = typeloom_tensor::any_tensor::AnyTensor::from_le_bytes(dtype, &[], &[flag])
        {
            *input = Datum::Tensor(tensor);
        }
    }
    World { symbols: symbols.clone(), inputs }
}

/// The inputs of a program.
fn ports(symbols: &[&str], choices: &mut Choices) -> Vec<Declaration> {
    let anonymous = choices.percent(20);
    let mut ports = Vec::new();
    let mut port = |name: &str, dtype, shape| {
        ports.push(Declaration { name: name.to_owned(), ty: Some(Declared { dtype, shape: Some(shape) }) });
    };
    for at in 0..choices.between(1, 3) {
        let rank = choices.between(1, 4);
        let shape = (0..rank).map(|axis| extent(symbols, axis, anonymous, choices)).collect();
        port(&format!("x{at}"), Dtype::F32, shape);
    }
    if choices.percent(50) {
        port("flag", Dtype::Bool, Vec::new());
    }
    if choices.percent(25) {
        let shape = vec![extent(symbols, 0, anonymous, choices)];
        port("ids", Dtype::I64, shape);
    }
    ports
}

fn extent(symbols: &[&str], axis: i64, anonymous: bool, choices: &mut Choices) -> String {
    let symbol = *choices.pick(symbols);
    match choices.below(20) {
        0..10 => symbols.get(usize::try_from(axis).unwrap_or(0)).copied().unwrap_or(symbol).to_owned(),
        10..12 => symbol.to_owned(),
        12 => format!("2*{symbol}"),
        13 => format!("{symbol} + 1"),
        14 | 15 if anonymous => "?".to_owned(),
        _ => choices.between(1, 8).to_string(),
    }
}

/// Adds outputs to the graph, and true and false declarations of some of its values.
fn declared(
    mut graph: Graph,
    vars: &[Var],
    worlds: &[World],
    active: &[bool],
    choices: &mut Choices,
) -> Graph {
    let made: Vec<&Var> = vars
        .iter()
        .filter(|var| {
            graph.nodes.iter().any(|node| node.op != "Constant" && node.outputs.contains(&var.name))
        })
        .collect();
    let mut left = made.clone();
    for at in 0..choices.between(1, 3) {
        if left.is_empty() {
            break;
        }
        let var = left.remove(if at == 0 { left.len() - 1 } else { choices.below(left.len()) });
        let ty = if choices.percent(40) { None } else { declaration(var, worlds, active, choices) };
        graph.outputs.push(Declaration { name: var.name.clone(), ty });
    }
    if choices.percent(25) && !left.is_empty() {
        let var = left[choices.below(left.len())];
        if let Some(ty) = declaration(var, worlds, active, choices) {
            graph.values.push(Declaration { name: var.name.clone(), ty: Some(ty) });
        }
    }
    graph
}

/// A declared type: one that holds in all worlds, or another one.
fn declaration(var: &Var, worlds: &[World], active: &[bool], choices: &mut Choices) -> Option<Declared> {
    let dtype = var.dtype()?;
    let Some(rank) = var.rank() else { return Some(Declared { dtype, shape: None }) };
    let shapes: Vec<(&Binding, &[usize])> = worlds
        .iter()
        .enumerate()
        .filter(|(at, _)| active[*at])
        .filter_map(|(at, world)| Some((&world.symbols, var.shape(at)?)))
        .collect();
    let mut shape: Vec<String> = Vec::new();
    for axis in 0..rank {
        let extents: Vec<(&Binding, i64)> =
            shapes.iter().map(|(symbols, shape)| (*symbols, families::signed(shape[axis]))).collect();
        shape.push(fitting(&extents).unwrap_or_else(|| "?".to_owned()));
    }
    if choices.percent(35) && rank > 0 {
        let axis = choices.below(rank);
        let extent = families::signed(shapes.first()?.1[axis]);
        match choices.below(7) {
            0 | 1 => shape[axis] = extent.to_string(),
            2 => shape[axis] = (extent + 1).to_string(),
            3 => shape[axis] = (*choices.pick(&SYMBOLS)).to_owned(),
            4 => shape[axis] = "fresh".to_owned(),
            5 => shape = vec!["fresh".to_owned(); rank],
            _ => drop(shape.remove(axis)),
        }
    }
    Some(Declared { dtype, shape: Some(shape) })
}

/// An expression with these values.
fn fitting(extents: &[(&Binding, i64)]) -> Option<String> {
    let (binding, first) = extents.first()?;
    if extents.iter().all(|(_, extent)| extent == first) {
        return Some(first.to_string());
    }
    let mut candidates = Vec::new();
    for one in binding.keys() {
        candidates.push(one.clone());
        for constant in 1..=4 {
            candidates.push(format!("{one} + {constant}"));
            candidates.push(format!("{one} - {constant}"));
            candidates.push(format!("{constant}*{one}"));
            candidates.push(format!("{one}//{constant}"));
            candidates.push(format!("min({one}, {constant})"));
        }
        for other in binding.keys() {
            candidates.push(format!("{one}*{other}"));
            candidates.push(format!("{one} + {other}"));
        }
    }
    let fits =
        |text: &String| extents.iter().all(|(binding, extent)| evaluate(text, binding) == Some(*extent));
    candidates.into_iter().find(fits)
}
