//! The part of a compilation that all stages share: the IR with its slots, bindings and policies.

use indexmap::IndexMap;
use typeloom_module::Set;
use typeloom_module::bindings::Bindings;
use typeloom_module::location::SourceLocation;
use typeloom_module::program::SlotInfo;
use typeloom_onnx::messages::ModelProto;
use typeloom_program::domain::Domain;
use typeloom_program::facts::Facts;
use typeloom_program::program::{Graph, Node, NodeId, Program, ValueId};
use typeloom_program::write::write;
use typeloom_solver::model::Mode;
use typeloom_tensor::value_type::ValueType;

use crate::report::CompileReport;

/// Policy for edges whose two ends are declared with different types.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Coercion {
    /// Such an edge is an error.
    #[default]
    Never,
    /// Casts that keep every value are inserted; other edges are errors.
    Lossless,
    /// All casts are inserted, including lossy ones.
    AsDeclared,
}

/// The IR of a program, and everything about it that does not depend on the stage.
#[derive(Clone)]
pub struct Unit {
    pub program: Program,
    /// Facts about nodes and values.
    pub facts: Facts,
    /// Slots of the program, by name.
    pub slots: IndexMap<String, SlotInfo>,
    /// Source locations of ports and declared types, by value.
    pub locations: IndexMap<String, SourceLocation>,
    pub bindings: Bindings,
    /// The nodes that `run_on_backend` assigned to a slot.
    pub(crate) assigned: Set<NodeId>,
    /// Whether a value of an unresolved type is an error.
    pub mode: Mode,
    /// Policy for edges whose two ends are declared with different types.
    pub coercion: Coercion,
    /// The effects of the passes so far.
    pub report: CompileReport,
}

impl Unit {
    /// The main graph.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.program[self.program.main()]
    }

    /// The main graph, mutable.
    pub fn graph_mut(&mut self) -> &mut Graph {
        let main = self.program.main();
        &mut self.program[main]
    }

    /// Name of the program.
    #[must_use]
    pub fn name(&self) -> &str {
        self.program.name()
    }

    /// The program as an ONNX message.
    #[must_use]
    pub fn model(&self) -> ModelProto {
        write(&self.program, &self.facts)
    }

    /// Adds a node because of another, which has the same source line. A graph then lists it.
    pub fn add_node(&mut self, node: Node, origin: NodeId) -> NodeId {
        let id = self.program.add_node(node);
        self.facts.is_made_by(id, origin);
        id
    }

    /// Adds a node that copies a value under another id.
    pub(crate) fn add_identity(&mut self, from: Option<ValueId>, to: ValueId, origin: NodeId) -> NodeId {
        self.add_node(Node::new(Domain::Types, "Identity", vec![from], vec![Some(to)]), origin)
    }

    /// The solved type of a value of the main graph, by name.
    #[must_use]
    pub fn type_of(&self, value: &str) -> Option<&ValueType> {
        self.facts.types.get(self.program.value_named(value)?)
    }
}
