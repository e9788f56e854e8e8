//! `check` and `explain`.
//!
//! A [`Report`] answers questions about values on demand. It keeps the solved model, which borrows the bytes
//! of the file; if these are mapped, it keeps the list of all values instead.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use self_cell::self_cell;
use serde_json::{Value, json};
use typeloom::check::{CheckError, Checked, Code, Color, Diagnostic, Dim, Element, Origin, TypedValue};
use typeloom::targets::{Assignment, Outcome, Placement, Target};
use typeloom::types::Dtype;
use typeloom_project::check::SideFiles;
use typeloom_project::file::File;
use typeloom_project::findings::{Findings, placement};
use typeloom_project::interfaces;
use typeloom_project::parts::report;
use typeloom_project::parts::report::finding::{Difference, Finding};
use typeloom_project::parts::report::list;
use typeloom_project::parts::solver::diagnostic::{diagnose_error, text::suggestion};
use typeloom_project::parts::solver::model::Coverage;
use typeloom_project::parts::types::suggest::nearest;
use typeloom_project::plan::Plan;

use crate::convert;
use crate::error::{core_error, project_error};
use crate::interrupt::interruptible;
use crate::model::Model;
use crate::settings::{Settings, side_files, source};
use crate::types::type_tuple;

struct Owned {
    file: File,
    plan: Arc<Plan>,
}

self_cell! {
    struct Solved {
        owner: Owned,
        #[not_covariant]
        dependent: Checked,
    }
}

/// The values of a model.
enum Values {
    Solved(Box<Solved>),
    Listed { values: Vec<TypedValue>, by_name: HashMap<String, usize> },
}

/// The outcome of a check.
#[pyclass(frozen, module = "typeloom._core")]
pub(crate) struct Report {
    name: String,
    diagnostics: Vec<Diagnostic>,
    /// The target that each diagnostic is about.
    targets: Vec<Option<&'static str>>,
    values: Mutex<Values>,
    conditions: Vec<String>,
    /// The number of diagnostics in texts.
    shown: usize,
    coverage: Coverage,
    verdicts: Vec<(&'static str, Outcome)>,
    /// The assignment of the nodes, for each target whose nodes were measured.
    placements: Vec<(&'static str, Placement)>,
    /// The verdicts in texts.
    shown_verdicts: Vec<list::TargetVerdict>,
    /// The number of excepted problems of each code.
    excepted: BTreeMap<Code, usize>,
    unknown_exceptions: Vec<String>,
    /// The number of problems that the baseline contains.
    known: usize,
    interface: Option<Bytes>,
    against: OnceLock<Against>,
}

/// The comparison with a version of a registry.
pub(crate) struct Against {
    pub(crate) differences: Vec<Difference>,
    /// The result in a summary.
    pub(crate) clause: String,
}

/// Whether a report keeps the interface of the model.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Nothing,
    Interface,
}

/// The time at which a report lists the values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    /// When it is asked for: the report keeps the file.
    OnDemand,
    /// At once: the file is mapped, and must be released.
    AtOnce,
}

/// Checks a model. `name` is its name in texts.
#[pyfunction]
#[pyo3(signature = (model, settings, name, interface=false))]
pub(crate) fn check(
    py: Python<'_>,
    model: Model,
    settings: &Settings,
    name: String,
    interface: bool,
) -> PyResult<Report> {
    let keep = if interface { Keep::Interface } else { Keep::Nothing };
    let bytes = model.open()?;
    let (size, listing) = (bytes.len(), bytes.listing());
    let source = source(&bytes, &name);
    let (file, plan) = (settings.file(&bytes, &name), settings.plan_of(py, &source)?);
    drop(bytes);
    let known = settings.known(source);
    interruptible(py, size, move || {
        let side = side_files(&file);
        Report::new(file, plan, side, listing, keep, known)
    })?
}

impl Report {
    /// Checks a file. `known` removes the problems that a baseline contains.
    pub(crate) fn new(
        file: File,
        plan: Arc<Plan>,
        side: SideFiles<'_>,
        listing: Listing,
        keep: Keep,
        known: impl FnOnce(&Plan, &mut Findings) -> PyResult<()>,
    ) -> PyResult<Self> {
        let name = file.name.clone();
        let max = plan.settings.max_problems.as_ref().map_or(usize::MAX, |max| max.value);
        let mut findings = Findings::default();
        let solved = Solved::try_new(Owned { file, plan }, |owned| {
            let examined = owned.plan.check(&owned.file, side).map_err(|error| Some(project_error(error)))?;
            findings = examined.findings;
            known(&owned.plan, &mut findings).map_err(Some)?;
            examined.checked.ok_or(None)
        });
        let mut solved = match solved {
            Ok(solved) => solved,
            // The file is not a model, which is its only problem.
            Err(None) => return Ok(Self::of(name, findings, max, listed(Vec::new()), Vec::new(), None)),
            Err(Some(error)) => return Err(error),
        };
        let (conditions, interface) = solved.with_dependent_mut(|owned, checked| {
            // A model with errors has no interface.
            let interface = match keep {
                Keep::Interface if checked.is_ok() => Some(bundle_of(&owned.file, checked)),
                Keep::Interface | Keep::Nothing => None,
            };
            (checked.preconditions(), interface)
        });
        let values = if listing == Listing::AtOnce {
            listed(solved.with_dependent_mut(|_, checked| checked.values()))
        } else {
            Values::Solved(Box::new(solved))
        };
        Ok(Self::of(name, findings, max, values, conditions, interface.transpose()?))
    }

    fn of(
        name: String,
        findings: Findings,
        max: usize,
        values: Values,
        conditions: Vec<String>,
        interface: Option<Bytes>,
    ) -> Self {
        let diagnostics = findings.to_vec();
        Self {
            name,
            shown: max.min(diagnostics.len()),
            diagnostics,
            targets: findings.targets().map(|target| target.map(Target::name)).collect(),
            values: Mutex::new(values),
            conditions,
            coverage: findings.coverage,
            verdicts: findings.verdicts.iter().map(|it| (it.target.name(), it.outcome)).collect(),
            placements: findings
                .verdicts
                .iter()
                .filter_map(|it| Some((it.target.name(), it.placement.clone()?)))
                .collect(),
            shown_verdicts: findings.shown_verdicts(),
            excepted: findings.excepted.codes,
            unknown_exceptions: findings.excepted.unknown,
            known: findings.known,
            interface,
            against: OnceLock::new(),
        }
    }

    /// The interface as a bundle, if the report keeps it.
    pub(crate) fn interface(&self) -> Option<&Bytes> {
        self.interface.as_ref()
    }

    /// Adds the differences from a version. A report has those of one comparison, the first one.
    pub(crate) fn compared(&self, against: Against) {
        self.against.get_or_init(|| against);
    }

    fn differences(&self) -> &[Difference] {
        self.against.get().map_or(&[], |against| &against.differences)
    }

    fn find(&self, name: &str) -> Option<TypedValue> {
        match &mut *self.values.lock().unwrap_or_else(PoisonError::into_inner) {
            Values::Solved(solved) => solved.with_dependent_mut(|_, checked| checked.value(name)),
            Values::Listed { values, by_name } => values.get(*by_name.get(name)?).cloned(),
        }
    }

    fn all(&self) -> Vec<TypedValue> {
        match &mut *self.values.lock().unwrap_or_else(PoisonError::into_inner) {
            Values::Solved(solved) => solved.with_dependent_mut(|_, checked| checked.values()),
            Values::Listed { values, .. } => values.clone(),
        }
    }
}

fn listed(values: Vec<TypedValue>) -> Values {
    let mut by_name = HashMap::with_capacity(values.len());
    for (at, value) in values.iter().enumerate() {
        // The first value of a name counts: the main graph precedes nested ones.
        by_name.entry(value.name().to_owned()).or_insert(at);
    }
    Values::Listed { values, by_name }
}

/// The diagnostic of a file that cannot be checked, or the exception for a wrong option.
pub(crate) fn problem(error: &CheckError) -> PyResult<Diagnostic> {
    diagnose_error(error).ok_or_else(|| core_error(error))
}

#[pymethods]
impl Report {
    /// Whether the model has no errors.
    #[getter]
    fn is_ok(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
            && !self.differences().iter().any(|difference| difference.breaking)
    }

    /// Whether the report keeps the interface of the model.
    #[getter]
    fn has_interface(&self) -> bool {
        self.interface.is_some()
    }

    /// The number of problems that the baseline contains.
    #[getter]
    fn known(&self) -> usize {
        self.known
    }

    /// The result in one line, as the command prints it.
    fn summary(&self) -> String {
        let against = self.against.get().map(|against| list::Against {
            differences: &against.differences,
            verdict: against.clause.clone(),
            object: Value::Null,
        });
        let checked = list::Checked {
            diagnostics: &self.diagnostics,
            shown: self.shown,
            known: self.known,
            excepted: self.excepted.clone(),
            unknown_exceptions: self.unknown_exceptions.clone(),
            coverage: self.coverage,
            targets: self.shown_verdicts.clone(),
            against,
        };
        checked.summary()
    }

    /// The message about a value that the model does not have.
    fn missing(&self, name: &str) -> String {
        let near = match &mut *self.values.lock().unwrap_or_else(PoisonError::into_inner) {
            Values::Solved(solved) => {
                solved.with_dependent_mut(|_, checked| checked.solved().names_like(name))
            }
            Values::Listed { values, .. } => nearest(name, values.iter().map(TypedValue::name)),
        };
        no_value(&self.name, name, &near)
    }

    /// The diagnostics as dictionaries in the format of `typeloom check --format json`.
    ///
    /// Those of a target have its name as `target`. The differences from a version are the last ones.
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut found = convert::diagnostics(py, &self.name, &self.diagnostics)?;
        for (diagnostic, target) in found.iter().zip(&self.targets) {
            if let Some(name) = target {
                diagnostic.set_item("target", name)?;
            }
        }
        for difference in self.differences() {
            found.push(convert::json(py, &problem_of(&self.name, difference))?);
        }
        Ok(found)
    }

    /// The verdict of each target: `runs`, `fallback`, `rejected` or `undecided`.
    fn targets(&self) -> Vec<(&'static str, &'static str)> {
        let outcome = |outcome| match outcome {
            Outcome::Runs => "runs",
            Outcome::RunsWithFallback => "fallback",
            Outcome::Rejected => "rejected",
            Outcome::Undecided => "undecided",
        };
        self.verdicts.iter().map(|(name, verdict)| (*name, outcome(*verdict))).collect()
    }

    /// The assignment of the nodes, by target: the object of `typeloom check --format json`, with the nodes as
    /// `[position, place, partition]`.
    fn placements<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&'static str, Bound<'py, PyAny>)>> {
        let name = |place| match place {
            Assignment::Device => "device",
            Assignment::Cpu => "cpu",
            Assignment::Nowhere => "rejected",
            Assignment::Unknown => "undecided",
        };
        let one = |(target, found): &(&'static str, Placement)| {
            let mut value = placement(found).value();
            value["nodes"] =
                found.nodes.iter().map(|it| json!([it.position, name(it.place), it.partition])).collect();
            Ok((*target, convert::json(py, &value)?))
        };
        self.placements.iter().map(one).collect()
    }

    /// The number of problems of each code that the model excepts.
    #[getter]
    fn excepted(&self) -> Vec<(&'static str, usize)> {
        self.excepted.iter().map(|(code, count)| (code.name(), *count)).collect()
    }

    /// The diagnostics as the command prints them.
    fn text(&self, color: bool) -> String {
        let color = if color { Color::Always } else { Color::Never };
        let mut text = report::human::diagnostics(&self.name, &self.diagnostics[..self.shown], color);
        let differences = report::finding::differences(self.differences());
        if !(text.is_empty() || differences.is_empty()) {
            text.push('\n');
        }
        text + &differences
    }

    /// The conditions on symbols under which the model runs.
    #[getter]
    fn conditions(&self) -> Vec<String> {
        self.conditions.clone()
    }

    /// Counts of values: all, typed, with unknown extents, of unknown rank, assumed; open conditions.
    #[getter]
    fn coverage(&self) -> [usize; 6] {
        let Coverage { values, typed, unknown_extents, unknown_rank, assumed, open_conditions } =
            self.coverage;
        [values, typed, unknown_extents, unknown_rank, assumed, open_conditions]
    }

    /// The names of all values.
    fn names(&self) -> Vec<String> {
        self.all().iter().map(|value| value.name().to_owned()).collect()
    }

    /// A value: `(type, (origin, operator, node), assumed)`.
    fn value<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.find(name).map(|value| value_tuple(py, &value, type_tuple(py, value.ty())?)).transpose()
    }

    /// All values with their names, as of [`Report::value`].
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyTuple>)>> {
        let values = py.detach(|| self.all());
        // Many values have one type, which is created once. The list keeps the shapes, so their addresses are
        // identities.
        let mut types: HashMap<(*const Dim, usize, Dtype), Bound<'py, PyTuple>> = HashMap::new();
        let mut tuple = |value: &TypedValue| match (&value.ty().element, &value.ty().shape) {
            (Element::Tensor(Some(dtype)), Some(shape)) => {
                match types.entry((shape.as_ptr(), shape.len(), *dtype)) {
                    Entry::Occupied(known) => Ok(known.get().clone()),
                    Entry::Vacant(vacant) => type_tuple(py, value.ty()).map(|ty| vacant.insert(ty).clone()),
                }
            }
            _ => type_tuple(py, value.ty()),
        };
        let one = |value: &TypedValue| Ok((value.name().to_owned(), value_tuple(py, value, tuple(value)?)?));
        values.iter().map(one).collect()
    }
}

/// The message about a value that a model does not have, with similar names.
fn no_value(model: &str, value: &str, near: &[String]) -> String {
    format!("`{model}` has no value `{value}`{}", suggestion(near))
}

/// A difference in the form of a diagnostic.
fn problem_of(file: &str, difference: &Difference) -> Value {
    let finding = Finding::Difference(difference);
    json!({
        "file": file,
        "code": difference.code,
        "severity": finding.severity().name(),
        "message": format!("{}: {}", finding.at(), difference.message),
        "place": {"graph": ""},
        "snippets": [],
        "notes": [],
        "value": null,
        "text": report::finding::differences(std::slice::from_ref(difference)),
    })
}

/// The interfaces of a model without errors, or those that a compiled model records, as a bundle.
fn bundle_of(file: &File, checked: &mut Checked<'_>) -> PyResult<Bytes> {
    let interfaces = interfaces::of_checked(file, checked).map_err(project_error)?;
    Ok(interfaces.bundle().map_err(core_error)?.into_bytes().into())
}

fn value_tuple<'py>(
    py: Python<'py>,
    value: &TypedValue,
    ty: Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyTuple>> {
    let origin = match value.origin() {
        Origin::Input => ("input", None, None),
        Origin::Initializer => ("initializer", None, None),
        Origin::Node { operator, name } => ("node", Some(operator.as_str()), Some(name.as_str())),
        Origin::Undefined => ("undefined", None, None),
    };
    (ty, origin, value.is_assumed()).into_pyobject(py)
}

/// The reasons for the type of a value: a dictionary, and the text that the command prints.
#[pyfunction]
pub(crate) fn explain(
    py: Python<'_>,
    model: Model,
    settings: &Settings,
    name: String,
    value: String,
) -> PyResult<(Py<PyAny>, String)> {
    let bytes = model.open()?;
    let (file, mut plan) = (settings.file(&bytes, &name), Plan::clone(&settings.plan));
    plan.options.trace = true;
    let explained = interruptible(py, bytes.len(), move || {
        let solved = plan.solve(&file, SideFiles::Unchecked).map_err(project_error)?;
        let mut checked = solved.map_err(|problem| core_error(problem.message))?;
        let explanation = checked
            .explain(&value)
            .ok_or_else(|| core_error(no_value(&name, &value, &checked.solved().names_like(&value))))?;
        let text = report::human::explanation(&name, &explanation, Color::Never);
        PyResult::Ok((report::json::explanation(&name, &explanation), text))
    })??;
    Ok((convert::json(py, &explained.0)?.unbind(), explained.1))
}

/// The page of a diagnostic code; `None` if there is no such code.
#[pyfunction]
pub(crate) fn explain_code(name: &str) -> Option<&'static str> {
    Code::from_name(name).map(Code::page)
}
