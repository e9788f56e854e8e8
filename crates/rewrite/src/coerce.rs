//! Repairs of element types: the fewest conversions that make a model type-check.
//!
//! # The question
//!
//! Two nodes disagree about the element type of a value. Which casts repair the model?
//!
//! A cast in front of each input that is in error is the obvious repair. In
//!
//! ```text
//! g (float[N] score, int64[N] id, float[N] weight) => (y, z) {
//!   a = Mul (score, id)
//!   y = Add (a, weight)
//!   z = Mul (id, weight)
//! }
//! ```
//!
//! it casts `id` twice. Casting `score` to `int64` looks as good at the first node, and then `a` is an
//! integer and `weight` has to be cast as well. The choice at one node decides what is in error at others, so
//! local choices add up to more casts than needed, or to a loss of values that another choice avoids. Here
//! one cast is enough:
//!
//! ```text
//! id_as_float = Cast <to = 1> (id)
//! a = Mul (score, id_as_float)
//! z = Mul (id_as_float, weight)
//! ```
//!
//! # Problem
//!
//! [`ports`](typeloom_solver::model::ports) separates a model into classes of ports that one node ties
//! together, each with the element types that it can have. A repair chooses an element type per class so that
//! the conversions between the classes cost least under a [`Policy`]. The conversions become `Cast` nodes in
//! front of the first node that reads them. One `Cast` of a value into an element type serves all readers,
//! those in nested graphs included.
//!
//! A conversion in the body of a function counts once, however often the function is called.
//!
//! # Algorithm
//!
//! Bucket elimination, exact on problems of bounded width; `choose::eliminate` states the complexity. The
//! steps exchange plain data:
//!
//! | module | step |
//! |---|---|
//! | `layout`, `flatten` | the bodies of the model; all calls inlined into one graph to check them separately |
//! | `find` | from a checked model to a `problem::Problem` |
//! | `choose` | from a problem to a `problem::Solution`, under the costs of `policy` and `number_format` |
//! | `write` | from a solution to the edited file, with the nodes of `cast_operator` |
//!
//! # Invariants
//!
//! - A model without diagnostics is left as it is, byte for byte. A repair with [`Repair::is_ok`]
//!   type-checks.
//! - The interface of a model does not change: inputs and outputs keep their names and types. Declared types
//!   of other values follow the repair.
//! - The repairs of [`mend`](crate::mend) come first.

pub(crate) mod cast_operator;
pub(crate) mod choose;
pub(crate) mod find;
pub(crate) mod flatten;
pub(crate) mod layout;
pub(crate) mod loss;
pub(crate) mod number_format;
pub(crate) mod policy;
pub(crate) mod problem;
pub(crate) mod write;

use std::sync::Arc;

use typeloom_onnx::messages::{ModelProto, read};
use typeloom_onnx::view::ModelView;
use typeloom_solver::catalogue::Catalogue;
use typeloom_solver::diagnostic::{GraphPath, Safety};
use typeloom_solver::elem::Elem;
use typeloom_solver::model::{CheckError, Checked, Options};
use typeloom_solver::program::ValueId;
use typeloom_solver::universe::Universe;

use crate::mend::{AppliedFix, CorrectedShape, Mended, MovedNode, Repairs, mend};
use crate::safety::Withheld;
use crate::{Settings, declared};
use cast_operator::CastOperator;
use choose::choose;
use find::{Origins, find};
use flatten::Flattened;
use layout::Layout;
use policy::{Support, Usage};
use problem::{Refusal, RefusedConversion};
use write::write;

pub use cast_operator::{NewNode, cast};
pub use loss::{LossKind, LossOfKind, TensorLoss};
pub use number_format::keeps_values;
pub use policy::{Policy, PolicyError};
pub use write::WriteError;

/// The maximum number of rounds. Where a rule reads an element type, a conversion can reveal another error.
const MAX_ROUNDS: usize = 4;

/// An inserted conversion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cast {
    /// The path of the graph with the new node; empty for the main graph.
    pub graph: String,
    /// The position of the next node in the original graph.
    pub before: usize,
    /// The name of the new node.
    pub name: String,
    /// The converted value.
    pub input: String,
    /// The result.
    pub output: String,
    /// The element type of the input.
    pub from: Elem,
    /// The element type of the result; in a function that is called with several types, that of one call.
    pub to: Elem,
    /// The value that determines the type of the result, for a `CastLike` in a function.
    pub like: Option<String>,
    /// The uses of the result.
    pub uses: Vec<CastUse>,
    /// The effect on a stored tensor; `None` for a computed value, and if the elements are not read.
    pub loss: Option<TensorLoss>,
}

impl Cast {
    /// Whether the conversion loses values, or can lose values that are not known.
    #[must_use]
    pub fn is_lossy(&self) -> bool {
        match &self.loss {
            Some(loss) => loss.changed() > 0,
            None => !keeps_values(self.from, self.to),
        }
    }
}

/// A cast whose input is read instead of its result, which would be converted back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BypassedCast {
    /// The path of the graph.
    pub graph: String,
    /// The result of the cast.
    pub value: String,
    /// The input of the cast.
    pub source: String,
    /// The uses that read the input.
    pub uses: Vec<CastUse>,
}

/// A use of a conversion: an input of a node, or an output of a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CastUse {
    /// The function that contains the graph; `None` for the model itself.
    pub function: Option<String>,
    /// The path of the graph.
    pub graph: GraphPath,
    /// The position of the node in the original graph; `None` for an output of the graph.
    pub node: Option<usize>,
    /// The operator of the node.
    pub operator: String,
    /// The position of the input or output.
    pub at: usize,
}

impl CastUse {
    /// The function and the path of the graph as text; empty for the main graph.
    #[must_use]
    pub fn graph_text(&self) -> String {
        graph_text(self.function.as_deref(), &self.graph)
    }
}

pub(crate) fn graph_text(function: Option<&str>, graph: &GraphPath) -> String {
    match function {
        None => graph.to_string(),
        Some(name) if graph.is_empty() => format!("function {name}"),
        Some(name) => format!("function {name} {graph}"),
    }
}

/// A corrected element type of a declaration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CorrectedDeclaration {
    /// The path of the graph.
    pub graph: String,
    /// The declared value.
    pub name: String,
    /// The old element type.
    pub from: Elem,
    /// The new element type.
    pub to: Elem,
}

/// A change of a graph, for a diff.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hunk {
    /// The path of the graph.
    pub graph: String,
    /// The position of the node in the original graph; the number of nodes for the end.
    pub position: usize,
    /// The original node, if it changed.
    pub before: Option<String>,
    /// The new and changed nodes.
    pub after: Vec<String>,
}

/// A conversion that is necessary and that the policy forbids.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefusedCast {
    /// The value to convert.
    pub value: String,
    /// The element type of the value.
    pub from: Elem,
    /// The required element type.
    pub to: Elem,
    /// The calls of the function that contains the value; empty for the main graph.
    pub calls: Vec<String>,
}

/// A copy of a function for some of its calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionCopy {
    /// The name of the copied function.
    pub function: String,
    /// The name of the copy.
    pub name: String,
    /// The calls that are redirected to it.
    pub calls: Vec<String>,
}

/// The permitted repairs, and the preference between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Preferences {
    /// The permitted conversions.
    pub policy: Policy,
    /// The greatest safety class of applied repairs: with [`Safety::Unsafe`], all repairs are applied.
    pub applied: Safety,
}

impl From<Policy> for Preferences {
    /// Only safe repairs.
    fn from(policy: Policy) -> Self {
        Self { policy, applied: Safety::Safe }
    }
}

/// Result of [`repair`].
#[derive(Clone, Debug, Default)]
pub struct Repair {
    /// The new model; `None` if nothing changed.
    pub file: Option<Vec<u8>>,
    /// Whether the model has no errors after the repair.
    pub is_ok: bool,
    /// The inserted conversions.
    pub casts: Vec<Cast>,
    /// The casts whose inputs are read instead.
    pub bypassed: Vec<BypassedCast>,
    /// The corrected declarations.
    pub declarations: Vec<CorrectedDeclaration>,
    /// The changes of graphs.
    pub hunks: Vec<Hunk>,
    /// Copies of functions whose calls need different conversions.
    pub copies: Vec<FunctionCopy>,
    /// The nodes that were moved into topological order.
    pub moved: Vec<MovedNode>,
    /// The corrected declared shapes.
    pub reshaped: Vec<CorrectedShape>,
    /// The other applied fixes of diagnostics.
    pub fixed: Vec<AppliedFix>,
    /// The necessary conversions that the policy forbids.
    pub refused: Vec<RefusedCast>,
    /// The unsafe repairs that were not applied.
    pub withheld: Vec<Withheld>,
    /// Whether fewer conversions are impossible.
    pub is_minimal: bool,
}

/// Error of [`repair`] and of [`mend`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RepairError {
    /// The model cannot be checked.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The edits cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Repairs a serialized model: first the order of nodes and declared shapes (see [`mend`](crate::mend)), then
/// element types.
///
/// # Errors
/// [`RepairError`] for a model that cannot be read. Errors that conversions cannot repair remain, see
/// [`Repair::is_ok`].
pub fn repair(
    bytes: &[u8],
    catalogue: &dyn Catalogue,
    universe: &Arc<Universe>,
    options: &Options,
    preferences: impl Into<Preferences>,
) -> Result<Repair, RepairError> {
    converted(bytes, Settings { catalogue, universe, options }, preferences.into(), Repairs::All)
}

/// Repairs the element types of a model after other repairs.
pub(crate) fn converted(
    bytes: &[u8],
    settings: Settings<'_>,
    preferences: Preferences,
    repairs: Repairs,
) -> Result<Repair, RepairError> {
    let Settings { catalogue, universe, options } = settings;
    let Mended { file, moved, reshaped, fixed, hunks, withheld } =
        mend(bytes, catalogue, universe, options, repairs, preferences.applied)?;
    let mut repair =
        Repair { is_minimal: true, file, moved, reshaped, fixed, hunks, withheld, ..Repair::default() };
    for round in 0..MAX_ROUNDS {
        let current = repair.file.take();
        let model = current.as_deref().unwrap_or(bytes);
        let mut checked = settings.check(model)?;
        repair.is_ok = checked.is_ok();
        let changed = if repair.is_ok {
            None
        } else {
            convert(&mut checked, model, settings, preferences, &mut repair)?
        };
        drop(checked);
        let Some(changed) = changed else {
            repair.file = current;
            return finished(repair, settings);
        };
        // Each round is minimal; the sum of several rounds need not be.
        repair.is_minimal &= round == 0;
        repair.file = Some(changed);
    }
    repair.is_ok = settings.check(repair.file.as_deref().unwrap_or(bytes))?.is_ok();
    finished(repair, settings)
}

/// Writes the assumptions of the caller into a changed model, because its types depend on them.
fn finished(mut repair: Repair, settings: Settings<'_>) -> Result<Repair, RepairError> {
    if let Some(file) = &repair.file
        && !settings.options.assume.is_empty()
    {
        let assumed = declared::assumed(file, &mut settings.check(file)?)?;
        repair.file = assumed.or(repair.file);
    }
    Ok(repair)
}

/// Inserts the conversions of one round; `None` if nothing changes.
fn convert(
    checked: &mut Checked<'_>,
    bytes: &[u8],
    settings: Settings<'_>,
    Preferences { policy, applied }: Preferences,
    repair: &mut Repair,
) -> Result<Option<Vec<u8>>, RepairError> {
    let model = ModelView::new(bytes).map_err(CheckError::from)?;
    let Some(operator) = CastOperator::of_model(&model, settings.catalogue)? else { return Ok(None) };
    let support = Support { from: operator.from, to: operator.to, usage: usage(checked), applied };
    let layouts = Layout::of_model(&model).map_err(WriteError::Malformed)?;
    let round = Round { bytes, layouts: &layouts, operator, support, policy };
    let mut attempt = None;
    if let Some(flattened) = round.flatten()?
        && let catalogue = flattened.catalogue(settings.catalogue)
        && let Ok(mut checked) = (Settings { catalogue: &catalogue, ..settings }).check(&flattened.bytes)
    {
        attempt = round.attempt(&mut checked, Some(&flattened))?;
        attempt = attempt.filter(|it| it.file.is_some() || !it.refused.is_empty() || !it.withheld.is_empty());
    }
    if attempt.is_none() {
        attempt = round.attempt(checked, None)?;
    }
    let Some(mut attempt) = attempt else { return Ok(None) };
    attempt.withheld.retain(|withheld| !repair.withheld.contains(withheld));
    repair.withheld.append(&mut attempt.withheld);
    repair.is_minimal &= attempt.is_minimal;
    repair.refused = attempt.refused;
    repair.casts.extend(attempt.casts);
    repair.bypassed.extend(attempt.bypassed);
    repair.declarations.extend(attempt.declarations);
    repair.hunks.extend(attempt.hunks);
    repair.copies.extend(attempt.copies);
    Ok(attempt.file)
}

/// An unsafe conversion, with the stored integer that it does not keep, if there is one.
fn unsafe_conversion(value: &str, from: Elem, to: Elem, loss: Option<&TensorLoss>) -> Option<String> {
    let is_wrapped = |change: &&LossOfKind| change.kind == LossKind::Wrapped;
    let wrapped = loss.and_then(|loss| loss.changes.iter().find(is_wrapped));
    let effect = match (wrapped, from) {
        (Some(LossOfKind { from, to, .. }), _) => &format!("{from} becomes {to}"),
        (None, Elem::STRING) => "a text need not be a number",
        (None, _) => "different values of a comparison can become equal",
    };
    Some(format!("{value}: {} -> {}: {effect}", from.onnx_name()?, to.onnx_name()?))
}

/// The model of one round.
struct Round<'r> {
    bytes: &'r [u8],
    layouts: &'r [Layout<'r>],
    operator: CastOperator,
    support: Support,
    policy: Policy,
}

impl Round<'_> {
    fn flatten(&self) -> Result<Option<Flattened>, WriteError> {
        if self.layouts.len() < 2 {
            return Ok(None);
        }
        let model: ModelProto = read(bytes::Bytes::copy_from_slice(self.bytes))?;
        Ok(Flattened::of(&model, self.layouts))
    }

    fn attempt(
        &self,
        checked: &mut Checked<'_>,
        flattened: Option<&Flattened>,
    ) -> Result<Option<Repair>, WriteError> {
        let Some(problem) = find(checked, Origins(flattened)) else { return Ok(None) };
        let mut solution = choose(&problem, self.layouts, self.policy, self.support);
        if self.support.applied < Safety::Unsafe {
            solution.withhold_wrapping();
        }
        let mut attempt = Repair { is_minimal: solution.is_proved, ..Repair::default() };
        for RefusedConversion { reason, body, value, graph, from, to } in &solution.refused {
            if *reason == Refusal::Unsafe {
                let layout = &self.layouts[body.index()];
                let graph = graph_text(layout.is_function().then_some(layout.name), &layout.path(*graph));
                let loss = problem.loss(*body, *value, *from, *to);
                let repair = unsafe_conversion(value.name, *from, *to, loss.as_ref());
                let withheld = repair.map(|repair| Withheld { graph, repair });
                attempt.withheld.extend(withheld.filter(|withheld| !attempt.withheld.contains(withheld)));
                continue;
            }
            let calls = problem.calls_of(*body).iter();
            let mut calls: Vec<String> =
                calls.filter_map(|call| problem.call_site(self.layouts, *call)).collect();
            calls.dedup();
            let conversion = RefusedCast { value: value.name.to_owned(), from: *from, to: *to, calls };
            if !attempt.refused.contains(&conversion) {
                attempt.refused.push(conversion);
            }
        }
        attempt.file = write(self.bytes, self.layouts, &solution, self.operator, &mut attempt)?;
        Ok(Some(attempt))
    }
}

/// The number of values of each element type.
fn usage(checked: &mut Checked<'_>) -> Usage {
    let values: Vec<ValueId> = checked.body().values().collect();
    Usage::of(values.into_iter().filter_map(|value| checked.type_of(value).tensor()?.elem.single()))
}
