//! Conversion of a model to another floating-point precision.
//!
//! # The question
//!
//! Which values change their element type, and where do casts remain?
//!
//! Changing every `float` to `float16` gives a model that does not load: the scales of `Resize` are always
//! float, a schema may not list float16, and a `Cast` states its type in an attribute. Casts around each node
//! that stays in float give more casts than needed. In
//!
//! ```text
//! g (float[N, 4] x, float[4, 4] w) => (y) {
//!   s = Shape (x)
//!   c = Cast <to = 1> (s)
//!   m = Floor (c)
//!   i = Cast <to = 7> (m)
//!   p = MatMul (x, w)
//!   y = Expand (p, i)
//! }
//! ```
//!
//! `MatMul` computes in float16, `Floor` stays in float because it counts, and no cast is needed.
//!
//! # Method
//!
//! The problem is that of [`coerce`](crate::coerce) with other element types for each class of ports
//! (`roles`): the old one, the new one, or both. The planner chooses among both so that the casts are fewest.
//! Then
//!
//! 1. `edit` changes the types that the file states: attributes, stored tensors, inputs and outputs;
//! 2. the writer of [`coerce`](crate::coerce) inserts the casts, changes declarations, and copies functions
//!    whose calls need different casts;
//! 3. casts of the model that no longer change a type are removed.
//!
//! A stored tensor that is read in both types is stored in both, if it has at most [`MAX_COPIED`] elements.
//! A larger one keeps its type, and is cast.
//!
//! # Invariants
//!
//! - The result has no errors, and the shape of each value is known as well as before.
//! - An inserted cast does not read the result of another cast, and no cast reads its result.
//!
//! Limits: the calls of functions keep their types if the model cannot be inlined for the analysis: beyond
//! 32,768 nodes with all calls inlined, or 1,024 calls.

mod adjust;
mod edit;
mod elements;
mod keep;
mod roles;
mod sources;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use typeloom_onnx::messages::{ModelProto, TensorProto, read};
use typeloom_onnx::view::ModelView;
use typeloom_solver::catalogue::Catalogue;
use typeloom_solver::diagnostic::{Diagnostic, Safety, diagnose};
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::model::ports::{ClassId, ports};
use typeloom_solver::model::{CheckError, Checked, Options};
use typeloom_solver::program::{GraphId, StepId};
use typeloom_solver::solve_error::ErrorSite;
use typeloom_solver::universe::Universe;

use crate::Settings;
use crate::coerce::cast_operator::CastOperator;
use crate::coerce::choose::choose;
use crate::coerce::find::{Origins, collect};
use crate::coerce::flatten::Flattened;
use crate::coerce::layout::{BodyId, Layout, NodeId};
use crate::coerce::loss::StoredTensor;
use crate::coerce::policy::{Policy, Support, Usage};
use crate::coerce::problem::{CallId, LocalValue, Problem, Solution, Uses};
use crate::coerce::write::{WriteError, write};
use crate::coerce::{Cast, FunctionCopy, Repair, TensorLoss};
use adjust::{bypass, copy_small, keep_large, settle};
use edit::{Restated, without_casts};
use keep::Kept;
use roles::{Roles, Wanted, roles};

pub use keep::{KeptNode, Reason};

/// The largest number of elements of a tensor that is stored in both types.
pub const MAX_COPIED: u64 = 1024;

/// The largest number of conversions that are tried.
const MAX_TRIALS: usize = 16;

/// The element types of conversions.
pub const TYPES: [Elem; 3] = [Elem::FLOAT16, Elem::BFLOAT16, Elem::FLOAT];

/// A value of a body, by graph and name.
type ValueKey = (BodyId, GraphId, String);

/// Judges a converted model: the nodes of the main graph and of graphs nested in it that a target rejects.
pub type Judge<'j> = dyn FnMut(&mut Checked<'_>) -> BTreeSet<(GraphId, usize)> + 'j;

/// Reads the elements of a tensor in another file. The error is a clause.
pub type ReadSide<'s> = dyn Fn(&TensorProto) -> Result<bytes::Bytes, String> + 's;

/// The parameters of a conversion.
#[derive(Clone, Default)]
pub struct Request<'r> {
    /// The new element type.
    pub to: Option<Elem>,
    /// Whether inputs and outputs of the model keep their types.
    pub keep_io: bool,
    /// Operators, names of nodes and values, and globs of names, that keep their types.
    pub keep: &'r [String],
    /// Reads a tensor in another file.
    pub side: Option<&'r ReadSide<'r>>,
}

/// A stored tensor in its new type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConvertedTensor {
    /// The path of the graph; empty for the main graph.
    pub graph: String,
    /// The name of the value.
    pub name: String,
    /// The new element type.
    pub to: Elem,
    /// The effect on the elements.
    pub loss: TensorLoss,
}

/// A changed type of an input or output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangedPort {
    /// The name.
    pub name: String,
    /// Whether it is an output.
    pub is_output: bool,
    /// The old element type.
    pub from: Elem,
    /// The new element type.
    pub to: Elem,
}

/// Result of [`convert`].
#[derive(Clone, Debug, Default)]
pub struct Converted {
    /// The new model.
    pub file: Vec<u8>,
    /// The number of nodes that have the new type.
    pub converted: usize,
    /// The nodes that keep the old type.
    pub kept: Vec<KeptNode>,
    /// The inserted casts.
    pub casts: Vec<Cast>,
    /// The number of casts of the model that had no effect any more.
    pub removed: usize,
    /// The converted tensors.
    pub tensors: Vec<ConvertedTensor>,
    /// The changed inputs and outputs.
    pub interface: Vec<ChangedPort>,
    /// Copies of functions whose calls need different types.
    pub copies: Vec<FunctionCopy>,
    /// Whether fewer casts are impossible.
    pub is_minimal: bool,
}

/// Error of [`convert`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// The model cannot be checked.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The edits cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The model has errors.
    #[error("the model has type errors; repair it first, see `typeloom check` and `typeloom fix`")]
    HasErrors,
    /// There is no conversion into the element type.
    #[error("there is no conversion to {0}; there are float16, bfloat16 and float")]
    NoConversion(String),
    /// The operator set has no cast into the element type.
    #[error("`Cast` of operator set {version} does not support {to}; update the operator set of the model")]
    NoCast {
        /// The element type.
        to: &'static str,
        /// The version of the operator set.
        version: i64,
    },
    /// No value changes.
    #[error("nothing to convert to {to}: {reason}")]
    Nothing {
        /// The element type.
        to: &'static str,
        /// The reason.
        reason: &'static str,
    },
    /// A pattern matches nothing.
    #[error("`{0}` is no operator, node or value of the model")]
    UnknownKeep(String),
    /// The elements of a tensor cannot be read.
    #[error("the elements of `{tensor}` cannot be read: {reason}")]
    Unread {
        /// The name of the tensor.
        tensor: String,
        /// The reason.
        reason: String,
    },
    /// The new file would be too large.
    #[error("the converted model would have {bytes} bytes in one file, and at most {} are possible", (1_u64 << 31) - 1)]
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// No assignment of element types fits.
    #[error("the value `{0}` is needed in both types, and it cannot be cast")]
    Unsolved(String),
    /// The converted model has errors.
    #[error("the converted model is not well typed: {0}")]
    Rejected(String),
}

/// Converts the floating-point values of a model without errors into another type.
///
/// # Errors
/// [`ConvertError`]
pub fn convert(
    bytes: &[u8],
    catalogue: &dyn Catalogue,
    universe: &Arc<Universe>,
    options: &Options,
    request: &Request<'_>,
    judge: Option<&mut Judge<'_>>,
) -> Result<Converted, ConvertError> {
    let settings = Settings { catalogue, universe, options };
    let to = request.to.filter(|to| TYPES.contains(to));
    let to = to.ok_or_else(|| {
        ConvertError::NoConversion(request.to.and_then(Elem::onnx_name).unwrap_or("this type").to_owned())
    })?;
    let mut checked = settings.check(bytes)?;
    if !checked.is_ok() {
        return Err(ConvertError::HasErrors);
    }
    let model = ModelView::new(bytes).map_err(CheckError::from)?;
    let Some(operator) = CastOperator::of_model(&model, catalogue)?.filter(|it| it.to.contains(to)) else {
        let version = CastOperator::of_model(&model, catalogue)?.map_or(0, |it| it.version);
        return Err(ConvertError::NoCast { to: to.onnx_name().unwrap_or_default(), version });
    };
    let layouts = Layout::of_model(&model).map_err(WriteError::from)?;
    let mut converter = Converter {
        bytes,
        settings,
        to,
        request,
        operator,
        layouts: &layouts,
        kept: Kept::of_patterns(request.keep, &layouts)?,
    };
    let flattened = converter.flatten()?;
    let before = known(&mut checked);
    converter.converge(&mut checked, flattened.as_ref(), &before, judge)
}

/// The known parts of the shapes of values, by graph and name.
type Known = HashMap<(GraphId, String), usize>;

/// The number of extents of each value that no symbol names; the largest number for an unknown rank.
fn known(checked: &mut Checked<'_>) -> Known {
    let body = checked.shared_body();
    let mut known = Known::new();
    for value in body.values() {
        let ty = checked.type_of(value);
        let Some(tensor) = ty.tensor() else { continue };
        let dims = checked.dims();
        let unknown = tensor
            .shape
            .as_ref()
            .map_or(usize::MAX, |shape| shape.iter().filter(|dim| dims.is_anonymous(**dim)).count());
        known.insert((body.value(value).graph, body.value_name(value).to_owned()), unknown);
    }
    known
}

struct Converter<'c> {
    bytes: &'c [u8],
    settings: Settings<'c>,
    to: Elem,
    request: &'c Request<'c>,
    operator: CastOperator,
    layouts: &'c [Layout<'c>],
    kept: Kept,
}

impl Converter<'_> {
    fn flatten(&self) -> Result<Option<Flattened>, WriteError> {
        if self.layouts.len() < 2 {
            return Ok(None);
        }
        let model: ModelProto = read(bytes::Bytes::copy_from_slice(self.bytes))?;
        Ok(Flattened::of(&model, self.layouts))
    }

    /// Converts, and keeps the nodes that the result of a trial has errors at, or that a target rejects.
    fn converge(
        &mut self,
        checked: &mut Checked<'_>,
        flattened: Option<&Flattened>,
        before: &Known,
        mut judge: Option<&mut Judge<'_>>,
    ) -> Result<Converted, ConvertError> {
        // What a target rejects in the original model is not a reason to keep a node.
        let rejected_before = judge.as_mut().map(|judge| judge(checked)).unwrap_or_default();
        let mut trials = 0;
        loop {
            trials += 1;
            let converted = match flattened {
                Some(flattened) => {
                    let catalogue = flattened.catalogue(self.settings.catalogue);
                    let settings = Settings { catalogue: &catalogue, ..self.settings };
                    let mut checked = settings.check(&flattened.bytes)?;
                    if !checked.is_ok() {
                        return Err(ConvertError::HasErrors);
                    }
                    self.trial(&mut checked, Origins(Some(flattened)))?
                }
                None => self.trial(checked, Origins(None))?,
            };
            let mut new = self.settings.check(&converted.file)?;
            let (nodes, reason) = if new.is_ok() {
                let rejected = judge.as_mut().map(|judge| judge(&mut new)).unwrap_or_default();
                (rejected, Reason::Target)
            } else {
                (error_nodes(&new), Reason::Operator)
            };
            let original = self.original(&converted, &nodes)?;
            let mut is_changed = false;
            for node in original {
                let is_new =
                    reason == Reason::Operator || !rejected_before.contains(&(node.graph, node.position));
                is_changed |= is_new && self.kept.add((BodyId::MAIN, node), reason);
            }
            if is_changed && trials < MAX_TRIALS {
                continue;
            }
            if !new.is_ok() {
                let problem = diagnose(&mut new).into_iter().find(Diagnostic::is_error);
                return Err(ConvertError::Rejected(problem.map_or_else(String::new, |it| it.message)));
            }
            let after = known(&mut new);
            let lost = before.iter().find(|(value, count)| after.get(*value).is_some_and(|it| it > *count));
            if let Some(((_, name), _)) = lost {
                let problem = format!("the shape of `{name}` is no longer known");
                return Err(ConvertError::Rejected(problem));
            }
            drop(new);
            return Ok(converted);
        }
    }

    /// The nodes of the original model for nodes of the converted one, by their outputs.
    fn original(
        &self,
        converted: &Converted,
        nodes: &BTreeSet<(GraphId, usize)>,
    ) -> Result<Vec<NodeId>, ConvertError> {
        if nodes.is_empty() {
            return Ok(Vec::new());
        }
        let renamed: HashMap<&str, &str> =
            converted.casts.iter().map(|cast| (cast.input.as_str(), cast.output.as_str())).collect();
        let inserted: HashSet<&str> = converted.casts.iter().map(|cast| cast.name.as_str()).collect();
        let mut defined: HashMap<(GraphId, &str), NodeId> = HashMap::new();
        for (graph, own) in self.layouts[0].graphs() {
            for (position, node) in own.nodes.iter().enumerate() {
                for output in node.outputs().flatten() {
                    defined.insert((graph, output), NodeId { graph, position });
                }
            }
        }
        let model = ModelView::new(&converted.file).map_err(CheckError::from)?;
        let layouts = Layout::of_model(&model).map_err(WriteError::from)?;
        let mut found = Vec::new();
        for (graph, position) in nodes {
            let Some(node) = layouts[0].node(NodeId { graph: *graph, position: *position }) else { continue };
            if inserted.contains(node.name().unwrap_or_default()) {
                continue;
            }
            found.extend(node.outputs().flatten().find_map(|output| {
                let own = defined.get(&(*graph, output));
                own.or_else(|| defined.get(&(*graph, *renamed.get(output)?))).copied()
            }));
        }
        Ok(found)
    }

    /// One conversion with the nodes that are kept so far.
    fn trial(&mut self, checked: &mut Checked<'_>, origins: Origins<'_>) -> Result<Converted, ConvertError> {
        let from: ElemSet = TYPES.into_iter().filter(|elem| *elem != self.to).collect();
        let analysed = ports(checked);
        // A source with different types in the calls of one function keeps its type.
        let mut shared: HashSet<ValueKey> = HashSet::new();
        loop {
            let kept_values: HashSet<ValueKey> = self.kept.values.union(&shared).cloned().collect();
            let wanted = Wanted {
                to: self.to,
                from,
                keep_io: self.request.keep_io,
                kept_nodes: &self.kept.nodes(),
                kept_values: &kept_values,
            };
            let malformed = || ConvertError::Rejected("the file is malformed".to_owned());
            let roles = roles(checked, analysed.clone(), origins, &wanted).ok_or_else(malformed)?;
            if !roles.old.iter().flatten().any(|elem| from.contains(*elem)) {
                let to = self.to.onnx_name().unwrap_or_default();
                return Err(ConvertError::Nothing {
                    to,
                    reason: "the model has no value of another float type",
                });
            }
            let problem = collect(checked, roles.ports.clone(), origins).ok_or_else(malformed)?;
            match self.solved(&roles, problem)? {
                Ok(converted) => return Ok(converted),
                Err(differing) => shared.extend(differing),
            }
        }
    }

    /// Solves and writes. Returns the sources whose types differ between the calls of a function, if there are
    /// some.
    fn solved(
        &self,
        roles: &Roles<'_>,
        mut problem: Problem<'_>,
    ) -> Result<Result<Converted, Vec<ValueKey>>, ConvertError> {
        problem.compared.clear();
        let old = |class: ClassId| roles.old[class.index()];
        problem.uses.retain(|uses| uses.makers.values().any(|class| old(*class).is_some()));
        for uses in &mut problem.uses {
            uses.declared = None;
        }
        settle(&mut problem, roles, self.to);
        let is_copied = |problem: &Problem<'_>, uses: &Uses<'_>| {
            let count = uses.stored.as_ref().and_then(StoredTensor::element_count);
            count.is_some_and(|count| count <= MAX_COPIED)
                && problem.calls_of(uses.body).len() == 1
                && uses.readers.keys().all(|site| site.node.is_some())
        };
        let uses = std::mem::take(&mut problem.uses);
        let (copied, uses): (Vec<Uses<'_>>, Vec<Uses<'_>>) =
            uses.into_iter().partition(|uses| is_copied(&problem, uses));
        problem.uses = uses;
        let stored = problem.uses.iter().enumerate().filter(|(_, uses)| uses.stored.is_some());
        problem.stored = stored.map(|(at, uses)| ((uses.body, uses.value), at)).collect();
        let usage = Usage::of(std::iter::empty());
        let support =
            Support { from: self.operator.from, to: self.operator.to, usage, applied: Safety::Unsafe };
        let mut solution = choose(&problem, self.layouts, Policy::Fewest, support);
        if let Some((at, _)) = solution.unsolved.iter().next() {
            return Err(ConvertError::Unsolved(problem.uses[*at].value.name.to_owned()));
        }
        for (at, elem) in solution.elems.iter_mut().enumerate() {
            *elem = elem.or(roles.old[at]);
        }
        keep_large(&mut solution, roles, self.to);
        let mut restated = Restated::default();
        copy_small(&copied, &mut solution, &mut restated, roles, self.to);
        let differing = self.restate(&solution, roles, &mut restated);
        if !differing.is_empty() {
            return Ok(Err(differing));
        }
        let removed = bypass(&mut solution, &mut restated);
        self.written(roles, solution, &restated, &removed).map(Ok)
    }

    /// Collects the types that the file has to state. Returns the sources whose types differ between calls.
    fn restate(
        &self,
        solution: &Solution<'_, '_>,
        roles: &Roles<'_>,
        restated: &mut Restated,
    ) -> Vec<ValueKey> {
        let mut elems: BTreeMap<ValueKey, BTreeSet<Option<Elem>>> = BTreeMap::new();
        for source in &roles.sources {
            let elem = solution.elems[source.class.index()];
            elems.entry(key(source.body, source.value)).or_default().insert(elem);
        }
        let mut differing = Vec::new();
        for (value, elems) in elems {
            if elems.len() > 1 {
                differing.push(value);
            } else if elems.contains(&Some(self.to)) {
                restated.sources.insert(value, self.to);
            }
        }
        for ((call, graph, port), (class, _)) in &solution.problem.outputs {
            if *call == CallId::MAIN && graph.index() == 0 {
                restated.outputs.extend(solution.elems[class.index()].map(|elem| (*port, elem)));
            }
        }
        differing
    }

    fn written(
        &self,
        roles: &Roles<'_>,
        mut solution: Solution<'_, '_>,
        restated: &Restated,
        removed: &HashSet<&str>,
    ) -> Result<Converted, ConvertError> {
        let read = self.request.side;
        let edited = edit::restated(self.bytes, self.layouts, restated, read)?;
        let mut copies = edited.copies;
        for conversion in solution.conversions.iter().flatten() {
            let found = self.layouts.iter().enumerate().find_map(|(at, _)| {
                let body = BodyId::new(at);
                Some((body, copies.remove(&key(body, conversion.value))?))
            });
            if let Some((body, tensor)) = found {
                solution.folded.insert((body, conversion.value), tensor);
            }
        }
        let model = ModelView::new(&edited.file).map_err(CheckError::from)?;
        let layouts = Layout::of_model(&model).map_err(WriteError::from)?;
        let mut repair = Repair::default();
        let written = write(&edited.file, &layouts, &solution, self.operator, &mut repair)?;
        drop(layouts);
        let mut file = written.unwrap_or(edited.file);
        let (shorter, removed) = without_casts(&file, removed)?;
        if let Some(shorter) = shorter {
            file = shorter;
        }
        let is_new =
            |classes: &[ClassId]| classes.iter().any(|class| solution.elems[class.index()] == Some(self.to));
        let (new, old): (Vec<_>, Vec<_>) = roles.nodes.iter().partition(|(_, classes)| is_new(classes));
        if new.is_empty() && restated.sources.is_empty() {
            let to = self.to.onnx_name().unwrap_or_default();
            let reason = "every node with a float keeps its type";
            return Err(ConvertError::Nothing { to, reason });
        }
        let kept = old.into_iter().filter_map(|(node, _)| self.kept.describe(self.layouts, *node, roles));
        let kept = kept.collect();
        Ok(Converted {
            converted: new.len(),
            kept,
            casts: repair.casts,
            removed,
            tensors: edited.tensors,
            interface: self.interface(restated),
            copies: repair.copies,
            is_minimal: solution.is_proved,
            file,
        })
    }

    /// The inputs and outputs with another type.
    fn interface(&self, restated: &Restated) -> Vec<ChangedPort> {
        let mut changed = Vec::new();
        let crate::coerce::layout::Source::Graph(graph) = self.layouts[0].source() else { return changed };
        let root = GraphId::new(0);
        let elem = |info: &typeloom_onnx::view::ValueInfoView<'_>| {
            let ty = info.parse().ok()?.ty?;
            crate::declared::elem_of(ty)
        };
        for info in graph.inputs().flatten() {
            let Ok(parsed) = info.parse() else { continue };
            let new = restated.sources.get(&(BodyId::MAIN, root, parsed.name.to_owned()));
            if let (Some(to), Some(from)) = (new, elem(&info)) {
                let name = parsed.name.to_owned();
                changed.push(ChangedPort { name, is_output: false, from, to: *to });
            }
        }
        for (port, info) in graph.outputs().flatten().enumerate() {
            let Ok(parsed) = info.parse() else { continue };
            if let (Some(to), Some(from)) = (restated.outputs.get(&port), elem(&info))
                && *to != from
            {
                changed.push(ChangedPort { name: parsed.name.to_owned(), is_output: true, from, to: *to });
            }
        }
        changed
    }
}

fn key(body: BodyId, value: LocalValue<'_>) -> ValueKey {
    (body, value.graph, value.name.to_owned())
}

/// The nodes with errors in the main graph and graphs nested in it.
fn error_nodes(checked: &Checked<'_>) -> BTreeSet<(GraphId, usize)> {
    let body = checked.body();
    let steps = checked.errors().iter().filter_map(|error| match error.site {
        ErrorSite::Step(step) => Some(step),
        ErrorSite::Value(value) => body.maker(value),
        ErrorSite::Body | ErrorSite::Graph(_) => None,
    });
    let position = |step: StepId| {
        let own = body.step(step);
        (own.graph, own.position as usize)
    };
    steps.map(position).collect()
}
