//! The arguments of `typeloom run`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::{Color, SolveArgs};

/// The built-in backend.
pub(crate) const CPU: &str = "cpu";

/// An implementation to compare with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ReferenceArg {
    /// ONNX Runtime
    Ort,
}

/// `typeloom run`
#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// The model
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// An input: a file with an array (`.npy`) or a stored tensor, sequence, optional or map (`.pb`), or a value such as
    /// `4`, `[[1, 0.5]]`, `true`, `"text"` or `{"key": 1}`
    #[arg(long = "input", short, value_name = "NAME=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// The extent of a symbol in generated inputs
    #[arg(long = "size", value_name = "SYMBOL=NUMBER")]
    pub(crate) sizes: Vec<String>,
    /// The seed of generated inputs; equal seeds give equal inputs (`--seed` gives a value a type)
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    pub(crate) random_seed: u64,
    /// Compare every computed value with its solved type
    #[arg(long)]
    pub(crate) verify: bool,
    /// Run the same inputs in another implementation, and show the largest difference of each output: `ort` is ONNX Runtime, as the
    /// package of Python (`python3`, or the interpreter that TYPELOOM_PYTHON names). The exit code is 1 if a difference exceeds
    /// the tolerance
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) compare: Option<ReferenceArg>,
    /// The tolerance of numbers in outputs, absolute for numbers up to 1 and relative above (default: 1e-4 for float and double,
    /// eight steps of smaller floats, 0 for integers)
    #[arg(long, value_name = "NUMBER", requires = "compare", value_parser = tolerance)]
    pub(crate) tolerance: Option<f64>,
    /// The maximum number of iterations of all loops of the model together, on the embedded backend
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_iterations: Option<u64>,
    /// The maximum number of steps that the run may take, on the embedded backend: each node counts as one
    /// each time it runs, and in loops and functions so does each 4 KiB of tensors (default: 1,048,576 plus
    /// one for each 16 bytes of the model)
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_steps: Option<u64>,
    /// The maximum memory that tensors may take, in bytes or with a unit: `512M`, `4G` (default: 192 MiB plus
    /// eight times the size of the model, its external data and the given inputs); weights that are used
    /// directly from the mapped file do not count
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_memory: Option<u64>,
    /// Save the outputs in this folder: as `.npy`, or as `.pb` if NumPy has no such type
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// The backend: `cpu`, which is built in, or an engine that is installed separately (`ort`, `tract`)
    #[arg(long, value_name = "NAME", default_value = CPU)]
    pub(crate) backend: String,
    /// The shared library that the backend loads (`ort`; default: ORT_DYLIB_PATH)
    #[arg(long, value_name = "FILE")]
    pub(crate) library: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    pub(crate) color: Color,
}

/// Parses a tolerance.
fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "a tolerance is a number that is not negative".to_owned())
}

/// Parses a number of bytes with an optional unit of 1024, 1024² or 1024³ bytes.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return Err("a size is a number of bytes with an optional unit K, M, G or T".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "a size begins with a number".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "the size is too large".to_owned())
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
