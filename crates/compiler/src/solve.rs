//! The solver on the IR.
//!
//! The IR is encoded and checked as every ONNX model is, with the operators of modules beside ONNX's; what comes back
//! is a stamp for every value, or diagnostics.

use std::sync::{Arc, OnceLock};

use typeloom_onnx::messages::{ModelProto, TypeProto, type_proto};
use typeloom_onnx::prost::Message as _;
use typeloom_solver::diagnostic::{Code, Diagnostic, SourceLine, diagnose};
use typeloom_solver::dim::{DimId, Dims};
use typeloom_solver::elem::ElemSet;
use typeloom_solver::message;
use typeloom_solver::model::{self, Checked, Mode, Options};
use typeloom_solver::program::{Body, GraphId, ValueId};
use typeloom_solver::solution::{TensorType, Type};
use typeloom_solver::universe::Universe;
use typeloom_types::lattice::Lattice;

use crate::bindings::Bindings;
use crate::catalogue::Operators;
use crate::error::BuildError;
use crate::ir::Map;
use crate::stamps::{Solved, Stamp, StampId};
use crate::unit::Unit;
use typeloom_interface::Interface;

/// The element types of the default type tree.
pub(crate) fn universe() -> Result<&'static Arc<Universe>, BuildError> {
    static UNIVERSE: OnceLock<Result<Arc<Universe>, String>> = OnceLock::new();
    let built = UNIVERSE.get_or_init(|| {
        Lattice::try_get().map_err(ToString::to_string)?;
        Universe::of_default_lattice().map_err(|error| error.to_string())
    });
    built.as_ref().map_err(|message| BuildError::InvalidProgram { message: message.clone() })
}

/// What the solver makes of a program.
pub(crate) struct Outcome {
    pub(crate) solved: Solved,
    /// Warnings, or what is wrong.
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) interface: Interface,
}

impl Outcome {
    pub(crate) fn is_ok(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Solves a program.
pub(crate) fn solve(model: &ModelProto, bindings: &Bindings, mode: Mode) -> Result<Outcome, BuildError> {
    let universe = universe()?;
    let bytes = model.encode_to_vec();
    let operators = Operators::of(model, bindings, universe);
    let options = Options { mode, ..Options::default() };
    let mut checked = model::check(&bytes, &operators, universe, &options)
        .map_err(|error| BuildError::InvalidProgram { message: error.to_string() })?;
    let diagnostics = if checked.is_ok() { Vec::new() } else { diagnose(&mut checked) };
    let interface = Interface::of_checked(&mut checked);
    Ok(Outcome { solved: stamps(&mut checked), diagnostics, interface })
}

/// The graphs of a body in the order in which the IR is walked.
fn graphs_in_order(body: &Body<'_>) -> Vec<GraphId> {
    let mut order = Vec::new();
    let mut open = vec![body.root()];
    while let Some(graph) = open.pop() {
        order.push(graph);
        let mut children: Vec<GraphId> = body.children(graph).collect();
        children.sort_by_key(|child| body.graph(*child).owner.map(|owner| body.step(owner.step).position));
        open.extend(children.into_iter().rev());
    }
    order
}

/// The element types and the shape of a tensor.
type Tensor = (ElemSet, Option<Box<[DimId]>>);

fn stamps(checked: &mut Checked<'_>) -> Solved {
    let order = graphs_in_order(checked.body());
    let place: Map<GraphId, usize> = order.iter().enumerate().map(|(at, graph)| (*graph, at)).collect();
    let mut solved = Solved::new(order.len());
    let turns = in_turns(checked.body(), &order);
    let mut known: Map<(bool, Tensor), StampId> = Map::default();
    solved.reserve(checked.value_count());
    for value in (0..checked.value_count()).map(ValueId::new) {
        let ty = checked.type_of(value);
        let body = checked.body();
        let Some(at) = place.get(&body.value(value).graph).copied() else { continue };
        let name = body.value_name(value);
        let many = turns[at];
        let fresh = |ty: &Type| {
            let mut stamp = stamp_of(ty, checked.universe(), checked.dims());
            if many {
                forget_symbols(&mut stamp.ty);
            }
            stamp
        };
        // Most values are tensors of few types.
        let stamp = match ty {
            Type::Tensor(TensorType { elem, shape }) => {
                let key = (many, (elem, shape));
                match known.get(&key) {
                    Some(stamp) => *stamp,
                    None => {
                        let ty = Type::Tensor(TensorType { elem, shape: key.1.1.clone() });
                        *known.entry(key).or_insert(solved.add_stamp(fresh(&ty)))
                    }
                }
            }
            other => solved.add_stamp(fresh(&other)),
        };
        solved.push(at, name, stamp);
    }
    solved
}

/// Which graphs run once for each turn of a loop.
fn in_turns(body: &Body<'_>, order: &[GraphId]) -> Vec<bool> {
    let mut turns: Map<GraphId, bool> = Map::default();
    for graph in order {
        let inside = body.graph(*graph).owner.is_some_and(|owner| {
            // Outer graphs come first.
            let around = body.step(owner.step).graph;
            body.op_name(owner.step) != "If" || turns.get(&around).copied().unwrap_or_default()
        });
        turns.insert(*graph, inside);
    }
    order.iter().map(|graph| turns.get(graph).copied().unwrap_or_default()).collect()
}

/// Leaves numbers alone in a shape. A symbol in the body of a loop stands for another number at every turn, and written
/// down it would be one symbol of the program.
fn forget_symbols(ty: &mut TypeProto) {
    use typeloom_onnx::messages::tensor_shape_proto::dimension;
    if let Some(type_proto::Value::TensorType(tensor)) = &mut ty.value {
        for dim in tensor.shape.iter_mut().flat_map(|shape| &mut shape.dim) {
            if matches!(dim.value, Some(dimension::Value::DimParam(_))) {
                dim.value = None;
            }
        }
    }
}

/// The stamp of a type.
pub(crate) fn stamp_of(ty: &Type, universe: &Universe, dims: &Dims) -> Stamp {
    let lattice = universe.lattice();
    let leaf = match ty {
        Type::Tensor(tensor) => tensor.elem.single().and_then(|elem| universe.tensor_leaf(elem)),
        Type::Scalar(set) => set.single().and_then(|elem| universe.scalar_leaf(elem)),
        Type::Leaf(node) => Some(*node),
        Type::Unknown(_)
        | Type::Sparse(_)
        | Type::Sequence(_)
        | Type::Optional(_)
        | Type::Map(..)
        | Type::Error => None,
    };
    let node = leaf.and_then(|leaf| lattice.node(leaf));
    let denotation = node.map(|node| node.denotation).filter(|denotation| !denotation.is_empty());
    let mut message = TypeProto { denotation: denotation.map(Into::into), ..TypeProto::default() };
    message::fill(&mut message.value, ty, dims);
    // A leaf that ONNX has no number for still has a shape.
    if let (None, Type::Tensor(tensor)) = (&message.value, ty)
        && tensor.shape.is_some()
    {
        let plain = Type::Tensor(TensorType {
            elem: ElemSet::of(typeloom_solver::elem::Elem::FLOAT),
            shape: tensor.shape.clone(),
        });
        message::fill(&mut message.value, &plain, dims);
        if let Some(type_proto::Value::TensorType(tensor)) = &mut message.value {
            tensor.elem_type = None;
        }
    }
    Stamp {
        ty: message,
        node: node.and_then(|node| node.as_static()).map(|node| node.id),
        concrete: ty.is_concrete(),
    }
}

/// What is wrong, as the error of a compilation, with the author's lines put in.
pub(crate) fn failed(unit: &Unit, mut diagnostics: Vec<Diagnostic>) -> BuildError {
    diagnostics.retain(Diagnostic::is_error);
    for diagnostic in &mut diagnostics {
        let value = diagnostic.location.value.as_ref().map(|value| value.name.clone());
        if let (None, Some(name)) = (&diagnostic.source, &value) {
            let place = unit.places.get(name);
            diagnostic.source = place.and_then(|place| SourceLine::at(&place.to_string()));
        }
        if diagnostic.code == Code::UnresolvedType
            && let Some(help) = crate::settle::help(unit, diagnostic)
        {
            diagnostic.help = Some(help);
        }
    }
    match diagnostics.iter().all(|diagnostic| diagnostic.code == Code::UnresolvedType) {
        true => BuildError::UnresolvedType(diagnostics),
        false => BuildError::TypeConstraintFailed(diagnostics),
    }
}
