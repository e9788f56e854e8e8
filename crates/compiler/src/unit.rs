//! A program on its way through the passes.

use std::sync::Arc;

use indexmap::IndexMap;
use typeloom_contracts::role::Role;
use typeloom_onnx::messages::{GraphProto, ModelProto};
use typeloom_pool::TypedModule;
use typeloom_solver::model::Mode;
use typeloom_solver::value_type::ValueTypes;

use crate::bindings::Bindings;
use crate::ir::Map;
use crate::passes::insert_cast_ops::PlannedCast;
use crate::place::Place;
use crate::report::CompileReport;

/// What may be done about an edge whose two ends are declared and differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Coercion {
    /// Nothing: it is an error.
    #[default]
    Never,
    /// A cast that keeps every value; one that would not is an error.
    Lossless,
    /// A cast, whatever it loses.
    AsDeclared,
}

/// A slot of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotInfo {
    /// The contract that it asks for.
    pub role: Role,
    /// Where the module uses it first; nothing for a program that is not recorded here.
    pub place: Option<Place>,
}

/// A program on its way through the passes: the IR, and what passes found out.
#[derive(Clone)]
pub struct Unit {
    /// The IR: an ONNX model.
    pub model: ModelProto,
    /// The program's slots, by name.
    pub slots: IndexMap<String, SlotInfo>,
    /// Where the author's program makes ports and declares types, by value.
    pub places: IndexMap<String, Place>,
    /// What is bound to which slot.
    pub bindings: Bindings,
    /// Whether a value whose type is not settled is an error.
    pub mode: Mode,
    /// What may be done about edges whose ends differ.
    pub coercion: Coercion,
    /// Whether the pass that inserts casts runs.
    pub(crate) casts_run: bool,
    /// The types of all values, once the solver ran.
    pub types: Option<ValueTypes>,
    /// The inputs and outputs of the program with their types.
    pub exported: Option<Interface>,
    /// Casts to be inserted.
    pub(crate) planned: Vec<PlannedCast>,
    /// Why nodes have no form in primitives, by the names of their outputs.
    pub(crate) refused: Map<String, String>,
    /// Which component runs which node.
    pub dispatch: Vec<Dispatch>,
    /// The types of the program's exports.
    pub interface: Option<TypedModule>,
    /// What was done.
    pub report: CompileReport,
}

impl Unit {
    /// The main graph.
    #[must_use]
    pub fn graph(&self) -> &GraphProto {
        static EMPTY: std::sync::OnceLock<GraphProto> = std::sync::OnceLock::new();
        self.model.graph.as_ref().unwrap_or_else(|| EMPTY.get_or_init(GraphProto::default))
    }

    /// The main graph, to be changed.
    pub fn graph_mut(&mut self) -> &mut GraphProto {
        self.model.graph.get_or_insert_default()
    }

    /// The program's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.graph().name()
    }
}

/// Which component runs a node, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// The first output of the node, which names it.
    pub node: String,
    /// The slot.
    pub slot: Arc<str>,
    /// The contract.
    pub role: Role,
    /// The method of the contract that runs it; `execute` for a backend's extension operator.
    pub method: Arc<str>,
    /// The operator.
    pub operator: Arc<str>,
}
