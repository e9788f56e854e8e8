//! A model that is checked and prepared for runs.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use bytes::Bytes;
use typeloom_project::parts::io::files::SideFiles;
use typeloom_project::parts::onnx::text::escape;
use typeloom_project::parts::runtime::engine::Engine;
use typeloom_project::parts::runtime::options::RunLimits;
use typeloom_project::parts::runtime::session::Port;
use typeloom_project::parts::solver::model::Checked;
use typeloom_project::parts::solver::program::ValueId;
use typeloom_project::parts::tensor::value_type::ValueType;
use typeloom_project::parts::types::dtype::Dtype;
use typeloom_project::run::precision;

use super::budget;
use super::prepared::{Prepared, RunFailure};
use super::reference::Model;
use crate::args::RunArgs;
use crate::exit::Outcome;
use crate::input::{self, Source};
use crate::output::{refuse, write};

/// The number of bytes by which a model and its file are compared.
const MAX_START: usize = 4096;

pub(crate) struct Loaded {
    pub(crate) source: Source,
    pub(crate) prepared: Prepared,
    pub(crate) limits: RunLimits,
    /// The inputs, with the types that `--seed` and `--assume` give them.
    pub(crate) inputs: Vec<Port>,
    /// The narrowest float type that each output is computed from; empty without a comparison.
    pub(crate) narrowest: HashMap<String, Dtype>,
    bytes: Bytes,
    /// Whether permissive mode changed the model.
    is_mended: bool,
}

impl Loaded {
    /// Checks and prepares a model; `Err` is the outcome of one that does not run, which is shown.
    pub(crate) fn new(
        args: &RunArgs,
        file: &str,
        engine: Option<Arc<dyn Engine>>,
    ) -> anyhow::Result<Result<Self, Outcome>> {
        let source = input::source(file);
        let mut plan = crate::settings::plan(&args.solve, &source)?;
        plan.options.functions |= args.compare.is_some();
        let mut file = source.open()?;
        let mended = plan.file_to_run(&file);
        let is_mended = mended.is_some();
        if let Some(mended) = mended {
            file = mended;
        }
        let bytes = file.model().shared();
        let mut checked = match source.with_side_files(|side| plan.well_typed(&file, side))? {
            Ok(checked) => checked,
            Err(diagnostics) => return refuse(&source.name, &diagnostics, args.color, "not run").map(Err),
        };
        let checked = checked.solved();
        let side_files = SideFiles::new(source.folder());
        let read = |tensor: &_| side_files.read(tensor);
        let limits = budget::limits(args, checked, bytes.len(), source.folder());
        let narrowed = narrowed(checked);
        let narrowest = args.compare.as_ref().map(|_| precision::narrowest(checked)).unwrap_or_default();
        let prepared = match engine {
            None => Prepared::embedded(checked, bytes, &read, limits, args.verify),
            Some(engine) => Prepared::hosted(engine, checked, &read, args.verify),
        };
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(failure) => return fail(args, &source, &failure, "not run").map(Err),
        };
        let mut inputs = prepared.inputs().to_vec();
        for port in &mut inputs {
            if let Some(ty) = narrowed.get(&port.name) {
                port.ty = ty.clone();
            }
        }
        let bytes = bytes.clone();
        Ok(Ok(Self { source, prepared, limits, inputs, narrowest, bytes, is_mended }))
    }

    /// The model, for another implementation.
    pub(crate) fn model(&self) -> anyhow::Result<Model<'_>> {
        Ok(match self.source.path() {
            Some(path) if !self.is_mended && is_content(path, &self.bytes)? => Model::File(path),
            _ => Model::Bytes(&self.bytes, self.source.folder()),
        })
    }
}

/// Whether these bytes are the content of a file: standard input and converted files are not.
fn is_content(path: &Path, bytes: &[u8]) -> anyhow::Result<bool> {
    let cannot = || format!("cannot read `{}`", path.display());
    let file = typeloom_project::parts::io::files::open(path).with_context(cannot)?;
    // A mapped file is not read as a whole: texts and models differ in length or at their beginnings.
    let start = |bytes: &[u8]| bytes.get(..bytes.len().min(MAX_START)).map(<[u8]>::to_vec);
    Ok(file.len() == bytes.len() && start(&file) == start(bytes))
}

/// The types of the inputs as the caller narrows them by `--seed` and `--assume`.
fn narrowed(checked: &mut Checked<'_>) -> HashMap<String, ValueType> {
    let inputs = checked.body().graph(checked.body().root()).inputs.clone();
    let narrowed = |input: ValueId| {
        let ty = checked.type_of(input);
        let ty = ty.value_type(checked.universe(), checked.dims());
        ty.is_concrete().then(|| (checked.body().value_name(input).to_owned(), ty))
    };
    inputs.into_iter().filter_map(narrowed).collect()
}

/// Shows why a model was not run to its end.
pub(crate) fn fail(
    args: &RunArgs,
    source: &Source,
    failure: &RunFailure,
    verdict: &str,
) -> anyhow::Result<Outcome> {
    if failure.diagnostics.is_empty() {
        write(&format!("{}: {}\n", source.name, escape(&failure.message)))?;
    } else {
        refuse(&source.name, &failure.diagnostics, args.color, verdict)?;
    }
    Ok(failure.outcome)
}
