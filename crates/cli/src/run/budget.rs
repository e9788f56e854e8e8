//! The budget of `typeloom run`: limits in the arguments, or the defaults.
//!
//! A model is not trusted: a few bytes can request terabytes, or a loop without end. The default grows with
//! the size of the given files, so it suits ordinary models of any size, and a small model that requests much
//! more is rejected before anything is allocated.

use std::path::Path;

use typeloom_runtime::options::RunLimits;
use typeloom_solver::model::Checked;

use super::store;
use crate::args::RunArgs;

/// Memory limit for an empty model.
const BASE_MEMORY: u64 = 192 << 20;

/// Additional bytes of memory per byte of input.
const MEMORY_PER_BYTE: u64 = 8;

/// Work limit for an empty model.
const BASE_WORK: u64 = 1 << 31;

/// Additional units of work per byte of input. Convolutions of large images take up to some thousand products
/// per byte of weights.
const WORK_PER_BYTE: u64 = 1 << 10;

/// Step limit for an empty model.
const BASE_STEPS: u64 = 1 << 20;

/// Approximate minimum file size of a node, in bytes.
const BYTES_PER_STEP: u64 = 16;

/// The limits of a run. `file` is the length of the model.
pub(crate) fn limits(args: &RunArgs, checked: &Checked<'_>, file: usize, folder: Option<&Path>) -> RunLimits {
    let file = file as u64;
    let length = |path: &Path| path.metadata().map_or(0, |meta| meta.len());
    let external = typeloom_io::files::used(checked, folder);
    let given = args.inputs.iter().filter_map(|input| store::file_of(input.rsplit_once('=')?.1));
    let given: u64 = given.map(length).sum();
    let size = file.saturating_add(external).saturating_add(given);
    let memory = args.max_memory.unwrap_or(BASE_MEMORY.saturating_add(size.saturating_mul(MEMORY_PER_BYTE)));
    RunLimits {
        iterations: args.max_iterations.unwrap_or(RunLimits::default().iterations),
        steps: args.max_steps.unwrap_or(BASE_STEPS + file / BYTES_PER_STEP),
        memory: usize::try_from(memory).unwrap_or(usize::MAX),
        work: args.max_work.unwrap_or(BASE_WORK.saturating_add(size.saturating_mul(WORK_PER_BYTE))),
    }
}
