//! Options of a check.

use std::sync::Arc;

use pyo3::prelude::*;
use typeloom::check::{Mode, Options, Seed};
use typeloom::targets::Target;

use crate::error::core_error;
use crate::operators::Operators;

/// Options of a check with its operators.
#[pyclass(frozen, module = "typeloom._core")]
pub(crate) struct Settings {
    pub(crate) options: Options,
    pub(crate) operators: Arc<typeloom::check::Operators>,
    pub(crate) targets: Vec<Target>,
}

#[pymethods]
impl Settings {
    #[new]
    #[pyo3(signature = (
        *, strict=true, seeds=Vec::new(), assume=Vec::new(), merge_symbols=false, operators=None, targets=Vec::new()
    ))]
    fn new(
        strict: bool,
        seeds: Vec<(String, String)>,
        assume: Vec<(String, String)>,
        merge_symbols: bool,
        operators: Option<&Operators>,
        targets: Vec<String>,
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
        Ok(Self { options, operators, targets })
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
    /// The options with the causes of types recorded.
    pub(crate) fn traced(&self) -> Options {
        Options { trace: true, ..self.options.clone() }
    }

    /// The options with the types inside functions.
    pub(crate) fn with_functions(&self) -> Options {
        Options { functions: true, ..self.options.clone() }
    }
}
