//! The part of a compilation that all stages share: the IR with its slots, bindings and policies.

use indexmap::IndexMap;
use typeloom_module::bindings::Bindings;
use typeloom_module::location::SourceLocation;
use typeloom_module::program::SlotInfo;
use typeloom_onnx::messages::{GraphProto, ModelProto};
use typeloom_solver::model::Mode;

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
    pub model: ModelProto,
    /// Slots of the program, by name.
    pub slots: IndexMap<String, SlotInfo>,
    /// Source locations of ports and declared types, by value.
    pub locations: IndexMap<String, SourceLocation>,
    pub bindings: Bindings,
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
    pub fn graph(&self) -> &GraphProto {
        static EMPTY: std::sync::OnceLock<GraphProto> = std::sync::OnceLock::new();
        self.model.graph.as_ref().unwrap_or_else(|| EMPTY.get_or_init(GraphProto::default))
    }

    /// The main graph, mutable.
    pub fn graph_mut(&mut self) -> &mut GraphProto {
        self.model.graph.get_or_insert_default()
    }

    /// Name of the program.
    #[must_use]
    pub fn name(&self) -> &str {
        self.graph().name()
    }
}
