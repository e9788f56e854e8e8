//! Repairs of what exporters write wrongly beside the element types: the order of nodes and false shapes.
//!
//! | habit | repair |
//! |---|---|
//! | nodes that are not in topological order | they are sorted; as few as possible move |
//! | an empty `shape {}` for a value with axes | the shape is dropped; an output of the model gets the shape that is proved |
//! | negative extents | the extent is left unknown |
//! | dims named `?` | an axis of an input of the model gets a name of its own, every other extent is left unknown |
//!
//! [`mend`] needs no proof beyond the errors of a check, and changes nothing in a model without them. Bytes that are
//! not part of a repair stay as they are.

mod declarations;
mod order;

use std::borrow::Cow;
use std::sync::Arc;

use typeloom_solver::catalogue::Catalogue;
use typeloom_solver::diagnostic::{Code, Severity};
use typeloom_solver::model::{Checked, Options, check};
use typeloom_solver::solve_error::SolveErrorKind;
use typeloom_solver::universe::Universe;

use crate::coerce::{RepairError, WriteError};

/// A node that was moved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moved {
    /// The function or graph.
    pub graph: String,
    /// The node's name, or its operator.
    pub node: String,
    /// Its position as it was.
    pub from: usize,
    /// Its position now.
    pub to: usize,
}

/// A declared shape that was corrected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reshaped {
    /// The path of the graph.
    pub graph: String,
    /// The value.
    pub name: String,
    /// The declared type as it was.
    pub from: String,
    /// The declared type now.
    pub to: String,
}

/// What was repaired.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mended {
    /// The new model; `None` where nothing had to change.
    pub file: Option<Vec<u8>>,
    /// The nodes that were moved.
    pub moved: Vec<Moved>,
    /// The declarations that were corrected.
    pub reshaped: Vec<Reshaped>,
}

/// Which repairs are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repairs {
    /// All of them.
    All,
    /// Those of errors: dims keep their names.
    Errors,
    /// The repair of one kind of diagnostic.
    Only(Code),
}

impl Repairs {
    fn has(self, code: Code) -> bool {
        match self {
            Self::All => true,
            Self::Errors => code.severity() == Severity::Error,
            Self::Only(only) => only == code,
        }
    }
}

/// Repairs the order of nodes and false declared shapes of a serialized model.
///
/// # Errors
/// [`RepairError`] where the model cannot be read.
pub fn mend(
    bytes: &[u8],
    catalogue: &dyn Catalogue,
    universe: &Arc<Universe>,
    options: &Options,
    repairs: Repairs,
) -> Result<Mended, RepairError> {
    let mut mended = Mended::default();
    let mut current = Cow::Borrowed(bytes);
    let needs = |checked: &Checked<'_>| {
        let is_unsorted = |kind: &SolveErrorKind<'_>| matches!(kind, SolveErrorKind::UsedBeforeMade { .. });
        checked.all_errors().any(|error| is_unsorted(&error.kind))
    };
    let checked = check(bytes, catalogue, universe, options)?;
    let is_unsorted = repairs.has(Code::NodeOrder) && needs(&checked);

    drop(checked);
    if is_unsorted {
        while let Some(sorted) = order::sort(&current, &mut mended.moved)? {
            current = Cow::Owned(sorted);
        }
    }
    let mut checked = check(&current, catalogue, universe, options)?;
    let changed = declarations::correct(
        &mut checked,
        &current,
        (catalogue, universe, options),
        repairs,
        &mut mended.reshaped,
    )?;
    drop(checked);
    mended.file = match (changed, current) {
        (Some(changed), _) => Some(changed),
        (None, Cow::Owned(sorted)) => Some(sorted),
        (None, Cow::Borrowed(_)) => None,
    };
    Ok(mended)
}

/// A malformed message or a failed edit.
fn write_error(error: impl Into<WriteError>) -> RepairError {
    RepairError::Write(error.into())
}
