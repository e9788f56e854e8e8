//! Repairs of exporter errors other than wrong element types: the order of nodes and false declared shapes.
//!
//! | error | repair |
//! |---|---|
//! | nodes are not in topological order | the nodes are sorted; most keep their order |
//! | an empty `shape {}` for a value with axes | the shape is removed; an output of the model gets the proved shape |
//! | negative extents | the extent becomes unknown |
//! | a declared type that the graph contradicts | it is replaced by the proved type; in a function, by the type of all calls |
//! | equal repetitions of an input or initializer | they are dropped |
//! | safe fixes of nodes and imports | see [`Fix`](typeloom_solver::diagnostic::Fix) |
//! | dims named `?` | an axis of a model input gets a unique name, every other extent becomes unknown |
//!
//! [`mend`] repairs only errors that a check reports. Bytes outside of a repair stay unchanged.

mod declarations;
mod functions;
mod nodes;
mod order;
mod repetitions;
mod types;

use std::sync::Arc;

use typeloom_onnx::messages::ValueInfoProto;
use typeloom_onnx::view::ValueInfoView;
use typeloom_solver::catalogue::Catalogue;
use typeloom_solver::diagnostic::{Code, Safety};
use typeloom_solver::model::Options;
use typeloom_solver::solve_error::{SolveError, SolveErrorKind};
use typeloom_solver::universe::Universe;

use crate::Settings;
use crate::annotate::{AnnotationForm, mark_filled};
use crate::coerce::{Hunk, RepairError};
use crate::safety::Withheld;

/// A moved node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MovedNode {
    /// The path of the function or graph.
    pub graph: String,
    /// The name of the node, or its operator if it has none.
    pub node: String,
    /// The old position.
    pub from: usize,
    /// The new position.
    pub to: usize,
}

/// A corrected declared shape.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CorrectedShape {
    /// The path of the graph.
    pub graph: String,
    /// The declared value.
    pub name: String,
    /// The old declared type.
    pub from: String,
    /// The new declared type.
    pub to: String,
}

/// An applied fix of a node or an import.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppliedFix {
    /// The path of the graph; empty for the main graph.
    pub graph: String,
    /// The change.
    pub change: String,
}

/// Result of [`mend`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mended {
    /// The new model; `None` if nothing changed.
    pub file: Option<Vec<u8>>,
    /// The moved nodes.
    pub moved: Vec<MovedNode>,
    /// The corrected declarations.
    pub reshaped: Vec<CorrectedShape>,
    /// The other applied fixes.
    pub fixed: Vec<AppliedFix>,
    /// The changed nodes.
    pub hunks: Vec<Hunk>,
    /// The unsafe repairs that were not applied.
    pub withheld: Vec<Withheld>,
}

/// Selection of repairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repairs {
    /// All repairs.
    All,
    /// Repairs of the order of nodes and of shapes that some exporters write for unknown ones.
    Exporters,
    /// Repairs of declared types, with tags by which [`strip`](crate::annotate::strip) restores them if the
    /// form has tags.
    Declarations(AnnotationForm),
    /// The repair of one kind of diagnostic.
    Only(Code),
}

impl Repairs {
    /// Whether declared types that the graph contradicts are corrected.
    fn contains_types(self) -> bool {
        self.contains(Code::DeclaredTypeContradiction) || self.contains(Code::DefaultContradiction)
    }

    fn contains(self, code: Code) -> bool {
        match self {
            Self::All => true,
            Self::Exporters => matches!(code, Code::NodeOrder | Code::EmptyShape | Code::NegativeDim),
            Self::Declarations(_) => matches!(
                code,
                Code::EmptyShape
                    | Code::NegativeDim
                    | Code::DeclaredTypeContradiction
                    | Code::DefaultContradiction
            ),
            Self::Only(only) => only == code,
        }
    }

    /// Adds the tag of a changed declaration, if the repairs have tags.
    fn mark(self, new: &mut ValueInfoProto, old: ValueInfoView<'_>) {
        if let Self::Declarations(AnnotationForm::Tagged) = self {
            mark_filled(new, old);
        }
    }
}

/// The maximum number of rounds. A repair can reveal other errors.
const MAX_ROUNDS: usize = 16;

/// Repairs the order of nodes, false declared types and, with [`Repairs::All`], nodes and imports of a
/// serialized model.
///
/// `applied` is the greatest safety class of repairs that are applied.
///
/// # Errors
/// [`RepairError`] if the model cannot be read.
pub fn mend(
    bytes: &[u8],
    catalogue: &dyn Catalogue,
    universe: &Arc<Universe>,
    options: &Options,
    repairs: Repairs,
    applied: Safety,
) -> Result<Mended, RepairError> {
    let settings = Settings { catalogue, universe, options };
    let mut mended = Mended::default();
    let is_unsorted = |error: &SolveError<'_>| matches!(error.kind, SolveErrorKind::UsedBeforeMade { .. });
    if repairs.contains(Code::NodeOrder) && settings.check(bytes)?.all_errors().any(is_unsorted) {
        while let Some(sorted) = order::sort(mended.file.as_deref().unwrap_or(bytes), &mut mended.moved)? {
            mended.file = Some(sorted);
        }
    }
    for _ in 0..MAX_ROUNDS {
        let current = mended.file.take();
        let changed = round(current.as_deref().unwrap_or(bytes), settings, (repairs, applied), &mut mended)?;
        let is_done = changed.is_none();
        mended.file = changed.or(current);
        if is_done {
            break;
        }
    }
    Ok(mended)
}

/// Repairs what one check reports; `None` if nothing changes.
fn round(
    bytes: &[u8],
    settings: Settings<'_>,
    (repairs, applied): (Repairs, Safety),
    mended: &mut Mended,
) -> Result<Option<Vec<u8>>, RepairError> {
    let mut file = None;
    if repairs.contains(Code::DuplicateValue) {
        file = repetitions::drop(bytes, settings, &mut mended.fixed)?;
    }
    if repairs == Repairs::All {
        let changed = nodes::repair(file.as_deref().unwrap_or(bytes), settings, applied, mended)?;
        file = changed.or(file);
    }
    for correct in [declarations::correct, types::correct, functions::correct] {
        let changed = correct(file.as_deref().unwrap_or(bytes), settings, repairs, &mut mended.reshaped)?;
        file = changed.or(file);
    }
    Ok(file)
}
