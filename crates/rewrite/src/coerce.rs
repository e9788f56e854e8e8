//! Repairs: the fewest conversions that make a model type-check.
//!
//! The faults that a conversion can repair are those of element types. The model is [taken apart](typeloom_solver::model::ports)
//! into classes of ports that one node ties together; every class gets an element type so that the conversions between
//! the classes cost least under a [`Policy`]; and the conversions are written into the file as standard `Cast` nodes, in
//! front of the first node that reads them. One Cast of a value into a type serves all who read it, nested graphs
//! included.
//!
//! | module | what it does |
//! |---|---|
//! | `policy` | which conversions keep every value, which may be made, which is better |
//! | `assign` | classes and values as variables and costs |
//! | `eliminate` | the assignment of least cost, exactly |
//! | `plan` | conversions with names and places |
//! | `write` | the edits of the file |
//! | `flatten`, `functions`, `bodies` | the same for models with functions, whose bodies stand in every call |
//!
//! The interface of a model does not change: inputs and outputs keep names and types. What is declared of other values
//! is derived from them, and follows. A conversion in the body of a function counts once, however often it is called.
//!
//! The repairs of [`mend`](crate::mend) come first.
//!
//! **Invariant:** a model without diagnostics is left as it is, byte for byte. What comes out of a repair that says so checks.

mod assign;
mod bodies;
mod eliminate;
mod flatten;
mod functions;
mod plan;
mod policy;
mod write;

use std::sync::Arc;

use typeloom_onnx::view::ModelView;
use typeloom_solver::catalogue::{Catalogue, Lookup};
use typeloom_solver::diagnostic::GraphPath;
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::model::{CheckError, Checked, Options, check};
use typeloom_solver::program::ValueId;
use typeloom_solver::signature::FormalType;
use typeloom_solver::universe::Universe;

use crate::mend::{Mended, Moved, Repairs, Reshaped, mend};

use policy::{Support, Usage};

pub use policy::{Policy, keeps_values};
pub use write::WriteError;

/// How often a repaired model is repaired again: where a rule looks at an element type, a conversion can bring out a
/// fault that nobody saw before.
const MAX_ROUNDS: usize = 4;

/// The first version of the operator set whose Cast takes its type as a number.
const NUMBERED: i64 = 6;

/// A conversion that was inserted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cast {
    /// The path of the graph that it stands in; empty for the main graph.
    pub graph: String,
    /// In front of which node of that graph it stands, by position in the model as it was.
    pub before: usize,
    /// The node's name.
    pub name: String,
    /// The value that it converts.
    pub input: String,
    /// The value that it gives.
    pub output: String,
    /// The element type that comes in.
    pub from: Elem,
    /// The element type that goes out; in a function, where it is called with several types, that of one call.
    pub to: Elem,
    /// The value whose type goes out, for a conversion in a function that depends on the call.
    pub like: Option<String>,
    /// Who reads it.
    pub readings: Vec<Reading>,
}

impl Cast {
    /// Whether values can be lost.
    #[must_use]
    pub fn is_lossy(&self) -> bool {
        !keeps_values(self.from, self.to)
    }
}

/// A place that reads a conversion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// The function that contains the graph; `None` for the model itself.
    pub function: Option<String>,
    /// The path of the graph.
    pub graph: GraphPath,
    /// The node's position in the graph as it was; `None` for an output of the graph.
    pub node: Option<usize>,
    /// The node's operator.
    pub operator: String,
    /// The position of the input or output.
    pub at: usize,
}

impl Reading {
    /// The function and the path of the graph as text; empty for the main graph.
    #[must_use]
    pub fn graph_text(&self) -> String {
        graph_text(self.function.as_deref(), &self.graph)
    }
}

fn graph_text(function: Option<&str>, graph: &GraphPath) -> String {
    match function {
        None => graph.to_string(),
        Some(name) if graph.is_empty() => format!("function {name}"),
        Some(name) => format!("function {name} {graph}"),
    }
}

/// A declared element type that was corrected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declaration {
    /// The path of the graph.
    pub graph: String,
    /// The value.
    pub name: String,
    /// What was declared.
    pub from: Elem,
    /// What is now.
    pub to: Elem,
}

/// A changed place of a graph, for a diff.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hunk {
    /// The path of the graph.
    pub graph: String,
    /// The node's position in the graph as it was; the number of nodes for the end.
    pub position: usize,
    /// The node as it was, where it changed.
    pub before: Option<String>,
    /// What stands there now.
    pub after: Vec<String>,
}

/// A conversion that would be needed and may not be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The value.
    pub value: String,
    /// The element type that it has.
    pub from: Elem,
    /// The element type that is needed.
    pub to: Elem,
    /// The calls of the function that the value is of; empty for values of the model's own graphs.
    pub calls: Vec<String>,
}

/// A copy of a function for some of its calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Copied {
    /// The function's name.
    pub function: String,
    /// The name of the copy.
    pub name: String,
    /// The calls that are redirected to it.
    pub calls: Vec<String>,
}

/// What a repair came to.
#[derive(Clone, Debug, Default)]
pub struct Repair {
    /// The new model; `None` where nothing had to change, or nothing could.
    pub file: Option<Vec<u8>>,
    /// Whether the model, changed or not, has no errors.
    pub is_ok: bool,
    /// The conversions.
    pub casts: Vec<Cast>,
    /// The corrected declarations.
    pub declarations: Vec<Declaration>,
    /// The changed places.
    pub hunks: Vec<Hunk>,
    /// Functions that no one set of conversions suits, copied.
    pub copies: Vec<Copied>,
    /// Nodes that were moved, so that every value is made before it is read.
    pub moved: Vec<Moved>,
    /// Declared shapes that were corrected.
    pub reshaped: Vec<Reshaped>,
    /// What the policy does not allow.
    pub refused: Vec<Refused>,
    /// Whether fewer conversions are impossible.
    pub is_minimal: bool,
}

/// Why a model cannot be repaired at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RepairError {
    /// It cannot be checked.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The change cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Repairs a serialized model: what exporters write wrongly (see [`mend`](crate::mend)), and then the element types.
///
/// # Errors
/// [`RepairError`]; what conversions cannot repair is no error: see [`Repair::is_ok`].
pub fn repair(
    bytes: &[u8],
    catalogue: &dyn Catalogue,
    universe: &Arc<Universe>,
    options: &Options,
    policy: Policy,
) -> Result<Repair, RepairError> {
    let Mended { file, moved, reshaped } = mend(bytes, catalogue, universe, options, Repairs::All)?;
    let mut repair = Repair { is_minimal: true, file, moved, reshaped, ..Repair::default() };
    for round in 0..MAX_ROUNDS {
        let current = repair.file.take();
        let model = current.as_deref().unwrap_or(bytes);
        let mut checked = check(model, catalogue, universe, options)?;
        repair.is_ok = checked.is_ok();
        let changed = if repair.is_ok {
            None
        } else {
            step(&mut checked, model, (catalogue, universe, options), policy, &mut repair)?
        };
        let Some(changed) = changed else {
            drop(checked);
            repair.file = current;
            return Ok(repair);
        };
        // Each round is minimal for what it knows; together they need not be.
        repair.is_minimal &= round == 0;
        drop(checked);
        repair.file = Some(changed);
    }
    let last = repair.file.as_deref().unwrap_or(bytes);
    repair.is_ok = check(last, catalogue, universe, options)?.is_ok();
    Ok(repair)
}

/// One round; `None` where it changes nothing.
fn step<'a>(
    checked: &mut Checked<'a>,
    bytes: &'a [u8],
    (catalogue, universe, options): (&dyn Catalogue, &Arc<Universe>, &Options),
    policy: Policy,
    repair: &mut Repair,
) -> Result<Option<Vec<u8>>, RepairError> {
    let usage = usage(checked);
    let Some((support, target)) = support(bytes, catalogue, usage)? else { return Ok(None) };
    let settings = (catalogue, universe, options);
    if let Some(changed) = functions::step(bytes, settings, policy, (support, target), repair)? {
        return Ok(changed);
    }
    let plan = plan::plan(checked, policy, support);
    repair.is_minimal &= plan.is_proved;
    repair.refused.clear();
    for (value, from, to) in &plan.refused {
        let refused = Refused {
            value: checked.body().value_name(*value).to_owned(),
            from: *from,
            to: *to,
            calls: Vec::new(),
        };
        if !repair.refused.contains(&refused) {
            repair.refused.push(refused);
        }
    }
    let written = write::write(checked, bytes, &plan, target)?;
    if written.casts.is_empty() && written.declarations.is_empty() {
        return Ok(None);
    }
    repair.casts.extend(written.casts);
    repair.declarations.extend(written.declarations);
    repair.hunks.extend(written.hunks);
    Ok(Some(written.file.to_vec()))
}

/// How often a model uses each element type.
fn usage(checked: &mut Checked<'_>) -> Usage {
    let values: Vec<ValueId> = checked.body().values().collect();
    Usage::of(values.into_iter().filter_map(|value| checked.type_of(value).tensor()?.elem.single()))
}

/// The newest version of the operator set that each version of the format came with, from the oldest on.
const VERSIONS: [i64; 12] = [8, 9, 10, 11, 14, 18, 20, 22, 23, 24, 25, 26];

/// The first version of the format in [`VERSIONS`].
const FIRST_FORMAT: i64 = 3;

/// What the model's own Cast operator can do; `None` where there is none.
fn support(
    bytes: &[u8],
    catalogue: &dyn Catalogue,
    usage: Usage,
) -> Result<Option<(Support, write::Target)>, CheckError> {
    let model = ModelView::new(bytes)?;
    let mut imported = None;
    for import in model.opset_imports() {
        let import = import?;
        if matches!(import.domain, "" | "ai.onnx") {
            imported = Some(import.version);
        }
    }
    // A model of other domains alone gets the operator set that its format came with.
    let newest = || {
        let at = usize::try_from(model.ir_version() - FIRST_FORMAT).unwrap_or(0);
        VERSIONS[at.min(VERSIONS.len() - 1)]
    };
    let version = imported.unwrap_or_else(newest);
    let Lookup::Found(operator) = catalogue.lookup("", "Cast", version) else { return Ok(None) };
    let schema = operator.schema;
    let set = |ty: Option<FormalType>| match ty {
        Some(FormalType::Var(variable)) => schema.type_vars[usize::from(variable)].allowed.tensor,
        Some(FormalType::Tensor(elem)) => ElemSet::of(elem),
        None => ElemSet::EMPTY,
    };
    let support = Support {
        from: set(schema.input(0).map(|formal| formal.ty)),
        to: set(schema.output(0).map(|formal| formal.ty)),
        usage,
    };
    let attribute = if version < NUMBERED { write::Attribute::Word } else { write::Attribute::Number };
    let import = if imported.is_some() { None } else { Some(version) };
    Ok(Some((support, write::Target { attribute, import })))
}
