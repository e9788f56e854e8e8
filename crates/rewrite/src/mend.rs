//! Repairs of exporter errors other than wrong element types: the order of nodes and false declared shapes.
//!
//! | error | repair |
//! |---|---|
//! | nodes are not in topological order | the nodes are sorted; most keep their order |
//! | an empty `shape {}` for a value with axes | the shape is removed; an output of the model gets the proved shape |
//! | negative extents | the extent becomes unknown |
//! | dims named `?` | an axis of a model input gets a unique name, every other extent becomes unknown |
//!
//! [`mend`] repairs only errors that a check reports. Bytes outside of a repair stay unchanged.

mod declarations;
mod order;

use std::sync::Arc;

use typeloom_solver::catalogue::Catalogue;
use typeloom_solver::diagnostic::{Code, Severity};
use typeloom_solver::model::Options;
use typeloom_solver::solve_error::{SolveError, SolveErrorKind};
use typeloom_solver::universe::Universe;

use crate::Settings;
use crate::coerce::RepairError;
use crate::safety::{Safety, Withheld};

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

/// Result of [`mend`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mended {
    /// The new model; `None` if nothing changed.
    pub file: Option<Vec<u8>>,
    /// The moved nodes.
    pub moved: Vec<MovedNode>,
    /// The corrected declarations.
    pub reshaped: Vec<CorrectedShape>,
    /// The unsafe repairs that were not applied.
    pub withheld: Vec<Withheld>,
}

/// Selection of repairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repairs {
    /// All repairs.
    All,
    /// Repairs of errors. Names of dims are not repaired, because they are only warnings.
    Errors,
    /// The repair of one kind of diagnostic.
    Only(Code),
}

impl Repairs {
    fn contains(self, code: Code) -> bool {
        match self {
            Self::All => true,
            Self::Errors => code.severity() == Severity::Error,
            Self::Only(only) => only == code,
        }
    }
}

/// Repairs the order of nodes and false declared shapes of a serialized model. These repairs are safe.
///
/// `_applied` is the greatest safety class of repairs that are applied.
///
/// # Errors
/// [`RepairError`] if the model cannot be read.
pub fn mend(
    bytes: &[u8],
    catalogue: &dyn Catalogue,
    universe: &Arc<Universe>,
    options: &Options,
    repairs: Repairs,
    _applied: Safety,
) -> Result<Mended, RepairError> {
    let settings = Settings { catalogue, universe, options };
    let mut mended = Mended::default();
    let is_unsorted = |error: &SolveError<'_>| matches!(error.kind, SolveErrorKind::UsedBeforeMade { .. });
    if repairs.contains(Code::NodeOrder) && settings.check(bytes)?.all_errors().any(is_unsorted) {
        while let Some(sorted) = order::sort(mended.file.as_deref().unwrap_or(bytes), &mut mended.moved)? {
            mended.file = Some(sorted);
        }
    }
    let sorted = mended.file.as_deref().unwrap_or(bytes);
    let corrected = declarations::correct(sorted, settings, repairs, &mut mended.reshaped)?;
    mended.file = corrected.or(mended.file);
    Ok(mended)
}
