//! The budget of `typeloom run`: the limits of the arguments, and the defaults.
//!
//! A model is not trusted: a few bytes can request terabytes, or a loop without end. The default grows with
//! the size of the given files, so it suits ordinary models of any size, and a small model that requests much
//! more is rejected before anything is allocated.

use std::path::Path;

use typeloom_runtime::options::RunLimits;
use typeloom_solver::model::Checked;

use crate::args::RunArgs;
use crate::external;

/// Memory limit for an empty model.
const BASE_MEMORY: u64 = 192 << 20;

/// Additional bytes of memory per byte of input.
const MEMORY_PER_BYTE: u64 = 8;

/// Step limit for an empty model.
const BASE_STEPS: u64 = 1 << 20;

/// Approximate minimum file size of a node, in bytes.
const BYTES_PER_STEP: u64 = 16;

/// Parses a number of bytes with an optional unit of 1024, 1024² or 1024³ bytes.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return Err("a size is a number of bytes, or of K, M, G or T".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "a size begins with a number".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "it is too large".to_owned())
}

/// The limits of a run. `file` is the length of the model.
pub(crate) fn limits(args: &RunArgs, checked: &Checked<'_>, file: usize, folder: Option<&Path>) -> RunLimits {
    let file = file as u64;
    let length = |path: &Path| path.metadata().map_or(0, |meta| meta.len());
    let mut beside: Vec<&str> = checked.external_data().into_iter().map(|tensor| tensor.location).collect();
    beside.sort_unstable();
    beside.dedup();
    let external: u64 =
        folder.map_or(0, |folder| beside.iter().map(|location| external::length(folder, location)).sum());
    let given = args.inputs.iter().filter_map(|input| input.rsplit_once('='));
    let given: u64 = given.map(|(_, path)| length(Path::new(path))).sum();
    let size = file.saturating_add(external).saturating_add(given);
    let memory = args.max_memory.unwrap_or(BASE_MEMORY.saturating_add(size.saturating_mul(MEMORY_PER_BYTE)));
    RunLimits {
        iterations: args.max_iterations.unwrap_or(RunLimits::default().iterations),
        steps: args.max_steps.unwrap_or(BASE_STEPS + file / BYTES_PER_STEP),
        memory: usize::try_from(memory).unwrap_or(usize::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [("0", 0), ("17", 17), ("3k", 3 << 10), ("512M", 512 << 20), ("4GiB", 4 << 30)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "1.5G", "-1", "4 G", "99999999999999999999", "99999999T"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
