//! The budget of `typeloom run`: limits in the arguments, or the defaults.

use std::path::Path;

use typeloom_project::budget::{Budget, Size};
use typeloom_project::parts::runtime::options::RunLimits;
use typeloom_project::parts::solver::model::Checked;

use super::store;
use crate::args::RunArgs;

/// The limits of a run. `file` is the length of the model.
pub(crate) fn limits(args: &RunArgs, checked: &Checked<'_>, file: usize, folder: Option<&Path>) -> RunLimits {
    let length = |path: &Path| path.metadata().map_or(0, |meta| meta.len());
    let given = args.inputs.iter().filter_map(|input| store::file_of(input.rsplit_once('=')?.1));
    let external = typeloom_project::parts::io::files::used(checked, folder);
    let size = Size { model: file as u64, external, inputs: given.map(length).sum() };
    let budget = Budget {
        iterations: args.max_iterations,
        steps: args.max_steps,
        memory: args.max_memory,
        work: args.max_work,
    };
    budget.limits(size)
}
