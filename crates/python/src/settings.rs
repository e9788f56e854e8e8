//! Options of a check.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use typeloom::check::{Mode, Options, Seed};
use typeloom::targets::Target;
use typeloom_io::files::SmallTensors;

use crate::error::core_error;
use crate::model::ModelBytes;
use crate::operators::Operators;

/// Options of a check with its operators.
#[pyclass(frozen, module = "typeloom._core")]
pub(crate) struct Settings {
    pub(crate) options: Options,
    pub(crate) operators: Arc<typeloom::check::Operators>,
    pub(crate) targets: Vec<Target>,
    /// Whether files with tensors are looked for.
    pub(crate) external_data: bool,
    /// Their folder; that of the model by default.
    external_data_dir: Option<PathBuf>,
}

#[pymethods]
impl Settings {
    #[new]
    #[pyo3(signature = (
        *, strict=true, seeds=Vec::new(), assume=Vec::new(), merge_symbols=false, operators=None, targets=Vec::new(),
        external_data=true, external_data_dir=None
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
    ) -> PyResult<Self> {
        let seed = |(name, ty): (String, String)| match Seed::parse(&ty) {
            Ok(seed) => Ok((name, seed)),
            Err(error) => Err(core_error(format!("`{ty}` is no type: {error}"))),
        };
        let seeds = seeds.into_iter().map(seed).collect::<PyResult<_>>()?;
        let mode = if strict { Mode::Strict } else { Mode::Permissive };
        let targets = targets.iter().map(|name| target(name)).collect::<PyResult<Vec<_>>>()?;
        // Verdicts depend on the types inside functions.
        let functions = !targets.is_empty();
        let options = Options { mode, seeds, assume, merge_symbols, functions, ..Options::default() };
        let operators =
            operators.map_or_else(|| Arc::new(typeloom::check::Operators::standard()), |it| it.0.clone());
        Ok(Self { options, operators, targets, external_data, external_data_dir })
    }
}

fn target(name: &str) -> PyResult<Target> {
    Target::named(name).ok_or_else(|| {
        let names: Vec<&str> = Target::all().map(Target::name).collect();
        core_error(format!("there is no target `{name}`; there are {}", names.join(", ")))
    })
}

/// The names of all targets, newest first.
#[pyfunction]
pub(crate) fn targets() -> Vec<&'static str> {
    Target::all().map(Target::name).collect()
}

impl Settings {
    /// The folder of the files with tensors of a model; `None` if these are not looked for.
    pub(crate) fn folder(&self, model: &ModelBytes) -> Option<PathBuf> {
        if !self.external_data {
            return None;
        }
        self.external_data_dir.clone().or_else(|| model.folder())
    }

    /// The options for a model, whose small tensors in other files are read.
    pub(crate) fn options_of(&self, model: &ModelBytes) -> Options {
        let side_data = self.folder(model).map(|folder| Arc::new(SmallTensors::new(folder)) as _);
        Options { side_data, ..self.options.clone() }
    }
}
