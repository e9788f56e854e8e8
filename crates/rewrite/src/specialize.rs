//! A model for given sizes: symbols become numbers, and what is constant then is removed.
//!
//! ```text
//! g (float[batch, seq, 8] x) => (float[batch, m] y) {     with batch = 1 and seq = 16:
//!   shape = Shape (x)
//!   first = Gather (shape, zero)
//!   rows = Unsqueeze (first, zero)                        g (float[1, 16, 8] x) => (float[1, 128] y)
//!   to = Concat <axis = 0> (rows, rest)                   <int64[2] to = {1, -1}> {
//!   y = Reshape (x, to)                                     y = Reshape (x, to)
//! }                                                       }
//! ```
//!
//! The caller gives the sizes as [assumptions](Options::assume). The solver substitutes them before it solves,
//! so each value that it proves holds for the sizes. The steps:
//!
//! | module | step |
//! |---|---|
//! | `branches` | an `If` whose condition is proven becomes the nodes of its branch; repeated, because a branch can contain another `If` |
//! | `constants` | a node whose outputs are proven becomes initializers of the same names |
//! | `evaluate` | a node that reads such constants only is computed, if the caller can run nodes |
//! | `crate::unused` | nodes and constants without a reader are removed |
//! | `declarations` | proven extents are written into the declarations that exist |
//! | `dynamic` | the extents that remain open, with their causes |
//!
//! **Invariant:** with inputs of these sizes, the result computes what the model computes, to the last bit.
//! Integers and booleans are replaced if they are proven without assumed declarations, and floats if they are
//! whole numbers that their type represents, or results of operators without a choice of rounding.
//!
//! **Invariant:** the result is checked. It has no errors, except that a number can require another one: with
//! `batch = 4`, a `Reshape` of `float[rows, 8]` to `[4, -1]` can require that `rows` is even.
//!
//! Limits: loops are not unrolled, and the bodies of functions stay as they are. A constant that the solver
//! proves has at most 4,096 elements, and one that is computed at most 65,536.
//!
//! **Cost:** a check of the model for each level of nested branches that are taken, and two more.

mod branches;
mod constants;
mod declarations;
mod dynamic;
mod evaluate;

use std::collections::HashMap;
use std::sync::Arc;

use typeloom_onnx::messages::ModelProto;
use typeloom_onnx::splice::Splice;
use typeloom_onnx::view::ModelView;
use typeloom_solver::catalogue::Catalogue;
use typeloom_solver::diagnostic::{Code, Diagnostic, diagnose};
use typeloom_solver::model::{CheckError, Checked, Options};
use typeloom_solver::program::{GraphId, StepId, StepKind, ValueId};
use typeloom_solver::universe::Universe;

use crate::Settings;
use crate::coerce::WriteError;
use crate::coerce::layout::{Layout, NodeId};
use crate::fields::GRAPH_VALUE_INFO;
use crate::unused::{unused_records, used};
use branches::Taken;
use constants::Constants;
use declarations::Extents;

pub use dynamic::{Cause, Open};
pub use evaluate::Evaluate;

/// The largest number of rounds in which branches are taken.
const MAX_ROUNDS: usize = 64;

/// Result of [`specialize`].
#[derive(Clone, Debug, Default)]
pub struct Specialized {
    /// The new model.
    pub file: Vec<u8>,
    /// The branches that were taken.
    pub branches: Vec<TakenBranch>,
    /// The values that became initializers or `Constant` nodes.
    pub constants: usize,
    /// The numbers of nodes of the main graph and of graphs nested in it, before and after.
    pub nodes: [usize; 2],
    /// The number of removed initializers.
    pub removed_initializers: usize,
    /// The extents that are no numbers.
    pub open: Vec<Open>,
    /// The conditions that the numbers set for the symbols that stay. A check of the new model reports them as
    /// errors.
    pub conditions: Vec<String>,
}

/// An `If` with a proven condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TakenBranch {
    /// The name of the node, or of its first output if it has none.
    pub node: String,
    /// The proven condition.
    pub condition: bool,
}

/// Error of [`specialize`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecializeError {
    /// The model cannot be checked, or an assumption is wrong for it.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The edits cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The model has errors for these sizes. The diagnostics of its check say which.
    #[error("the model has errors for these sizes")]
    Errors,
    /// The changed model has errors that the model does not have. The cause is in this crate.
    #[error("the specialized model has an error that the model does not have; please report this: {0}")]
    Unsound(String),
}

impl From<typeloom_onnx::DecodeError> for SpecializeError {
    fn from(error: typeloom_onnx::DecodeError) -> Self {
        Self::Write(WriteError::Malformed(error))
    }
}

/// Fixes the symbols that `options` assume, and removes what is constant then. `evaluate` runs nodes on
/// constants; without it, they stay.
///
/// # Errors
/// [`SpecializeError`].
pub fn specialize(
    bytes: &[u8],
    catalogue: &dyn Catalogue,
    universe: &Arc<Universe>,
    options: &Options,
    evaluate: Option<&Evaluate<'_>>,
) -> Result<Specialized, SpecializeError> {
    let settings = Settings { catalogue, universe, options };
    let mut done = Specialized::default();
    let mut file: Option<Vec<u8>> = None;
    let mut round = 0;
    loop {
        let model = file.as_deref().unwrap_or(bytes);
        let mut checked = settings.check(model)?;
        if !checked.is_ok() {
            let error = diagnose(&mut checked).into_iter().find(Diagnostic::is_error);
            return Err(match error.filter(|_| round > 0) {
                Some(error) => SpecializeError::Unsound(error.message),
                None => SpecializeError::Errors,
            });
        }
        if round == 0 {
            done.nodes[0] = count_nodes(&checked);
        }
        if round < MAX_ROUNDS
            && let Some(Taken { file: changed, mut branches }) = branches::take(model, &mut checked)?
        {
            drop(checked);
            done.branches.append(&mut branches);
            file = Some(changed);
            round += 1;
            continue;
        }
        return match finished(model, &mut checked, evaluate, settings, Extents::Proven, &done) {
            // A number that a condition forces is proven, but a check that does not know the condition can
            // refute it.
            Err(SpecializeError::Unsound(_)) => {
                finished(model, &mut checked, evaluate, settings, Extents::Assumed, &done)
            }
            done => done,
        };
    }
}

/// Writes the last changes, and checks the result.
fn finished(
    bytes: &[u8],
    checked: &mut Checked<'_>,
    evaluate: Option<&Evaluate<'_>>,
    settings: Settings<'_>,
    extents: Extents,
    done: &Specialized,
) -> Result<Specialized, SpecializeError> {
    let mut done = done.clone();
    done.file = simplified(bytes, checked, evaluate, extents, &mut done)?;
    let options = Options { assume: Vec::new(), ..settings.options.clone() };
    let mut checked = Settings { options: &options, ..settings }.check(&done.file)?;
    if !checked.is_ok() {
        for error in diagnose(&mut checked).into_iter().filter(Diagnostic::is_error) {
            match error.code {
                Code::ForcedSymbol | Code::ForcedEquality => done.conditions.push(error.message),
                _ => return Err(SpecializeError::Unsound(error.message)),
            }
        }
    }
    done.nodes[1] = count_nodes(&checked);
    done.open = dynamic::open(&mut checked);
    drop(checked);
    Ok(done)
}

/// Replaces constants, removes what is not used, and completes declarations.
fn simplified(
    bytes: &[u8],
    checked: &mut Checked<'_>,
    evaluate: Option<&Evaluate<'_>>,
    extents: Extents,
    done: &mut Specialized,
) -> Result<Vec<u8>, SpecializeError> {
    let model = ModelView::new(bytes).map_err(CheckError::from)?;
    let layouts = Layout::of_model(&model)?;
    let Some(main) = layouts.first() else { return Ok(bytes.to_vec()) };
    let constants = Constants::of(checked, main, evaluate)?;
    let used = used(main, &constants)?;
    let body = checked.shared_body();
    let values: HashMap<(GraphId, &str), ValueId> =
        body.values().map(|value| ((body.value(value).graph, body.value_name(value)), value)).collect();
    let mut splice = Splice::new::<ModelProto>(bytes);
    done.constants = constants.write(&body, main, &used, &mut splice)?;
    for (id, graph) in main.graphs().filter(|(id, _)| used.graphs.contains(id)) {
        let message = graph.source.offset();
        for (position, record) in graph.records.iter().enumerate() {
            let node = NodeId { graph: id, position };
            if !used.nodes.contains(&node) && !constants.is_written(node) {
                splice.remove(message, record);
            }
        }
        for (record, _) in unused_records(graph.source, id, &used)? {
            done.removed_initializers += usize::from(record.number != GRAPH_VALUE_INFO);
            splice.remove(message, &record);
        }
        declarations::complete(checked, extents, (graph.source, id), &values, &used, &mut splice)?;
    }
    Ok(splice.changed().map_err(WriteError::from)?.unwrap_or_else(|| bytes.to_vec()))
}

/// The number of nodes of the main graph and of the graphs nested in it.
fn count_nodes(checked: &Checked<'_>) -> usize {
    let body = checked.body();
    let (from, to) = body.graph(GraphId::new(0)).steps;
    (from..to)
        .filter(|step| {
            let kind = body.step(StepId::new(*step)).kind;
            !matches!(kind, StepKind::Exit(_))
        })
        .count()
}
