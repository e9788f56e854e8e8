//! Options of a check.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use typeloom::check::Seed;
use typeloom::targets::Target;
use typeloom_project::check::SideFiles;
use typeloom_project::file::File;
use typeloom_project::parts::io::files::Bytes;
use typeloom_project::parts::settings::effective::{SeedText, Settings as Effective, Sourced};
use typeloom_project::parts::settings::levels::{Level, Rule, Selector};
use typeloom_project::plan::Plan;

use crate::error::{core_error, project_error};
use crate::model::ModelBytes;
use crate::operators::Operators;

/// Options of a check with its operators.
#[pyclass(frozen, module = "typeloom._core")]
pub(crate) struct Settings {
    pub(crate) plan: Arc<Plan>,
    /// The folder of files with tensors; that of the model by default.
    external_data_dir: Option<PathBuf>,
}

#[pymethods]
impl Settings {
    #[new]
    #[pyo3(signature = (
        *, strict=true, seeds=Vec::new(), assume=Vec::new(), merge_symbols=false, operators=None, targets=Vec::new(),
        external_data=true, external_data_dir=None, severities=Vec::new(), inline=true
    ))]
    #[expect(clippy::too_many_arguments, reason = "the caller is one Python function with keyword arguments")]
    fn new(
        strict: bool,
        seeds: Vec<(String, String)>,
        assume: Vec<(String, String)>,
        merge_symbols: bool,
        operators: Option<&Operators>,
        targets: Vec<String>,
        external_data: bool,
        external_data_dir: Option<PathBuf>,
        severities: Vec<(String, String)>,
        inline: bool,
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
        let settings = Effective {
            severities: severities.into_iter().map(rule).collect::<PyResult<_>>()?,
            seeds: seeds.into_iter().map(seed).collect::<PyResult<_>>()?,
            assume: assume.collect(),
            targets: targets.into_iter().map(Sourced::of_command_line).collect(),
            permissive: Some(Sourced::of_command_line(!strict)),
            merge_symbols: Some(Sourced::of_command_line(merge_symbols)),
            inline: Some(Sourced::of_command_line(inline)),
            external_data: Some(Sourced::of_command_line(external_data)),
            ..Effective::default()
        };
        let operators =
            operators.map_or_else(|| Arc::new(typeloom::check::Operators::standard()), |it| it.0.clone());
        let plan = Plan::new(settings, operators).map_err(project_error)?;
        Ok(Self { plan: Arc::new(plan), external_data_dir })
    }
}

/// The names of all targets, newest first.
#[pyfunction]
pub(crate) fn targets() -> Vec<&'static str> {
    Target::all().map(Target::name).collect()
}

impl Settings {
    /// A model as a file of the project, with its name in texts.
    pub(crate) fn file(&self, model: &ModelBytes, name: &str) -> File {
        let file = File::new(name.to_owned(), model.path(), Bytes::Read(model.shared().clone()));
        match &self.external_data_dir {
            Some(folder) => file.in_folder(folder.clone()),
            None => file,
        }
    }
}

/// The place of the files with tensors, for a report: a model in memory has no folder, so nothing is looked
/// for.
pub(crate) fn side_files(file: &File) -> SideFiles<'static> {
    if file.folder().is_some() { SideFiles::InFolder } else { SideFiles::Unchecked }
}
