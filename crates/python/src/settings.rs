//! Options of a check.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use serde_json::{Value, json};
use typeloom::check::Seed;
use typeloom::targets::Target;
use typeloom_project::baselines::{BaselineMode, Baselines};
use typeloom_project::check::SideFiles;
use typeloom_project::file::{File, Source};
use typeloom_project::findings::Findings;
use typeloom_project::parts::io::files::{self, Bytes};
use typeloom_project::parts::settings::effective::{SeedText, Settings as Effective, Sourced};
use typeloom_project::parts::settings::levels::{Level, Rule, Selector};
use typeloom_project::plan::Plan;
use typeloom_project::settings::{Resolver, SettingsFiles, operators as described, target_files};
use typeloom_project::targets::{details, named};

use crate::convert;
use crate::error::{core_error, project_error};
use crate::model::ModelBytes;
use crate::operators::Operators;

/// Options of a check with its operators. A list of models is checked with one object.
#[pyclass(frozen, module = "typeloom._core")]
pub(crate) struct Settings {
    /// The plan of the arguments, without a settings file.
    pub(crate) plan: Arc<Plan>,
    /// The settings files; `None` if they do not count.
    files: Option<Mutex<Resolver>>,
    /// The operators of the arguments.
    operators: Option<Py<Operators>>,
    baselines: Arc<Mutex<Baselines>>,
    /// The folder of files with tensors; that of the model by default.
    external_data_dir: Option<PathBuf>,
}

/// A target of an argument: a name, or a file with facts. A text that is no known name can be a path.
#[derive(FromPyObject)]
enum TargetArg {
    Text(String),
    File(PathBuf),
}

impl TargetArg {
    /// The file, or the name.
    fn file(self) -> Result<PathBuf, String> {
        match self {
            Self::Text(text) if Target::group(&text).is_empty() && Path::new(&text).is_file() => {
                Ok(PathBuf::from(text))
            }
            Self::Text(name) => Err(name),
            Self::File(path) => Ok(path),
        }
    }
}

/// The settings file of an argument: none, the nearest one above each model, or one for all models.
#[derive(FromPyObject)]
enum Config {
    Nearest(bool),
    File(PathBuf),
}

#[pymethods]
impl Settings {
    #[new]
    #[pyo3(signature = (
        *, strict=None, seeds=Vec::new(), assume=Vec::new(), merge_symbols=None, operators=None, targets=Vec::new(),
        external_data=None, external_data_dir=None, severities=Vec::new(), inline=None, config=Config::Nearest(false),
        baseline=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "the caller is one Python function with keyword arguments")]
    fn new(
        strict: Option<bool>,
        seeds: Vec<(String, String)>,
        assume: Vec<(String, String)>,
        merge_symbols: Option<bool>,
        operators: Option<Py<Operators>>,
        targets: Vec<TargetArg>,
        external_data: Option<bool>,
        external_data_dir: Option<PathBuf>,
        severities: Vec<(String, String)>,
        inline: Option<bool>,
        config: Config,
        baseline: Option<PathBuf>,
    ) -> PyResult<Self> {
        let seed = |(name, text): (String, String)| match Seed::parse(&text) {
            Ok(seed) => Ok((name, Sourced::of_command_line(SeedText { text, seed }))),
            Err(error) => Err(core_error(format!("`{text}` is no type: {error}"))),
        };
        let rule = |(selector, level): (String, String)| {
            let selector = Selector::parse(&selector).map_err(core_error)?;
            let level = Level::from_name(&level).ok_or_else(|| {
                core_error(format!("there is no level `{level}`; there are allow, warn and deny"))
            })?;
            Ok(Sourced::of_command_line(Rule { selector, level }))
        };
        let assume = assume.into_iter().map(|(symbol, dim)| (symbol, Sourced::of_command_line(dim)));
        let (mut names, mut paths) = (Vec::new(), Vec::new());
        for target in targets {
            match target.file() {
                Ok(path) => paths.push(Sourced::of_command_line(path)),
                Err(name) => names.push(Sourced::of_command_line(name)),
            }
        }
        let settings = Effective {
            severities: severities.into_iter().map(rule).collect::<PyResult<_>>()?,
            seeds: seeds.into_iter().map(seed).collect::<PyResult<_>>()?,
            assume: assume.collect(),
            targets: names,
            target_files: paths,
            permissive: strict.map(|strict| Sourced::of_command_line(!strict)),
            merge_symbols: merge_symbols.map(Sourced::of_command_line),
            inline: inline.map(Sourced::of_command_line),
            external_data: external_data.map(Sourced::of_command_line),
            baseline: baseline.map(Sourced::of_command_line),
            ..Effective::default()
        };
        let current = std::env::current_dir().unwrap_or_default();
        let files = match config {
            Config::Nearest(false) => None,
            Config::Nearest(true) => Some(SettingsFiles::Nearest),
            Config::File(path) => Some(SettingsFiles::One(path)),
        };
        let files = files.map(|files| Resolver::new(&files, settings.clone(), current.clone(), files::read));
        let all = match &operators {
            Some(operators) => Arc::clone(&operators.get().all),
            None => Arc::new(typeloom::check::Operators::standard()),
        };
        let own = own_targets(&settings)?;
        Ok(Self {
            plan: Arc::new(Plan::new(settings, all, own).map_err(project_error)?),
            files: files.transpose().map_err(project_error)?.map(Mutex::new),
            operators,
            baselines: Arc::new(Mutex::new(Baselines::new(BaselineMode::Compare, current, files::read))),
            external_data_dir,
        })
    }

    /// The registry of the settings file: that of the current folder, unless the call names one.
    fn registry(&self) -> PyResult<Option<String>> {
        let Some(files) = &self.files else { return Ok(None) };
        let mut files = files.lock().unwrap_or_else(PoisonError::into_inner);
        let settings = files.settings(&Source::stdin()).map_err(project_error)?;
        Ok(settings.registry.map(|registry| registry.value))
    }
}

/// The targets that the files of settings describe.
fn own_targets(settings: &Effective) -> PyResult<Vec<Target>> {
    let files = settings.target_files.iter().map(|path| &*path.value);
    target_files(files, files::read).map_err(project_error)
}

/// The names of all targets, newest first.
#[pyfunction]
pub(crate) fn targets() -> Vec<&'static str> {
    Target::all().map(Target::name).collect()
}

/// The known facts about a target, or the names of the targets of a group.
#[pyfunction]
pub(crate) fn target<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let value = match Target::groups().iter().find(|(group, _)| *group == name) {
        Some((group, members)) => json!({"name": group, "targets": members}),
        None => {
            let targets = named(name).map_err(project_error)?;
            targets.first().map_or(Value::Null, |target| Value::Object(details(*target)))
        }
    };
    convert::json(py, &value)
}

impl Settings {
    /// The plan of a check of a model, with the settings file that applies to it.
    pub(crate) fn plan_of(&self, py: Python<'_>, source: &Source) -> PyResult<Arc<Plan>> {
        let Some(files) = &self.files else { return Ok(Arc::clone(&self.plan)) };
        let mut files = files.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(operators) = &self.operators else { return files.plan(source).map_err(project_error) };
        let settings = files.settings(source).map_err(project_error)?;
        let others = described(settings.ops.iter().map(|path| &*path.value), files::read);
        let operators = operators.get().over(py, others.map_err(project_error)?)?;
        let own = own_targets(&settings)?;
        Plan::new(settings, Arc::new(operators), own).map(Arc::new).map_err(project_error)
    }

    /// Removes the problems that the baseline of a plan contains.
    pub(crate) fn known(&self, source: Source) -> impl FnOnce(&Plan, &mut Findings) -> PyResult<()> + use<> {
        let baselines = Arc::clone(&self.baselines);
        move |plan, findings| {
            let Some(path) = &plan.settings.baseline else { return Ok(()) };
            let mut baselines = baselines.lock().unwrap_or_else(PoisonError::into_inner);
            baselines.apply(&path.value, &source, findings).map_err(project_error)
        }
    }

    /// A model as a file of the project, with its name in texts.
    pub(crate) fn file(&self, model: &ModelBytes, name: &str) -> File {
        let file = File::new(name.to_owned(), model.path(), Bytes::Read(model.shared().clone()));
        match &self.external_data_dir {
            Some(folder) => file.in_folder(folder.clone()),
            None => file,
        }
    }
}

/// The location of a model, with its name in texts.
pub(crate) fn source(model: &ModelBytes, name: &str) -> Source {
    let mut source = model.path().map_or_else(Source::stdin, Source::at);
    name.clone_into(&mut source.name);
    source
}

/// The place of the files with tensors, for a report: a model in memory has no folder, so nothing is looked
/// for.
pub(crate) fn side_files(file: &File) -> SideFiles<'static> {
    if file.folder().is_some() { SideFiles::InFolder } else { SideFiles::Unchecked }
}
