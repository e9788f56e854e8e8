//! The arguments of `typeloom run`.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args as ClapArgs;

use super::size::size;
use super::{Color, SolveArgs};

/// The built-in backend.
pub(crate) const CPU: &str = "cpu";

/// The reference of a comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ReferenceArg {
    /// The same model in ONNX Runtime.
    Ort,
    /// Another model.
    Model(String),
}

impl FromStr for ReferenceArg {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(if text == "ort" { Self::Ort } else { Self::Model(text.to_owned()) })
    }
}

/// `typeloom run`
#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// The model
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// An input: a file with an array (`.npy`) or a stored tensor, sequence, optional or map (`.pb`), or a
    /// value such as `4`, `[[1, 0.5]]`, `true`, `"text"` or `{"key": 1}`
    #[arg(long = "input", short, value_name = "NAME=VALUE", help_heading = "Inputs")]
    pub(crate) inputs: Vec<String>,
    /// The extent of a symbol in generated inputs
    #[arg(long = "size", value_name = "SYMBOL=NUMBER", help_heading = "Inputs")]
    pub(crate) sizes: Vec<String>,
    /// The seed of generated inputs; equal seeds give equal inputs (`--seed` gives a value a type)
    #[arg(long, default_value_t = 0, value_name = "NUMBER", help_heading = "Inputs")]
    pub(crate) random_seed: u64,
    /// Compare every computed value with its solved type
    #[arg(long, help_heading = "Comparisons")]
    pub(crate) verify: bool,
    /// Run the same inputs in another model with the same interface, or in ONNX Runtime, and show the largest
    /// difference of each output. `ort` is ONNX Runtime, as the package of Python (`python3`, or the
    /// interpreter that TYPELOOM_PYTHON names). The exit code is 1 if a difference exceeds the tolerance
    #[arg(long, value_name = "FILE|ort", help_heading = "Comparisons")]
    pub(crate) compare: Option<ReferenceArg>,
    /// The tolerance of numbers in outputs, absolute for numbers up to 1 and relative above (default: 1e-4
    /// for float and double, eight steps of the narrowest float that one of the models computes the output
    /// from, 0 for integers)
    #[arg(long, value_name = "NUMBER", requires = "compare", value_parser = tolerance, help_heading = "Comparisons")]
    pub(crate) tolerance: Option<f64>,
    /// The maximum number of iterations of all loops of the model together, on the embedded backend
    #[arg(long, value_name = "NUMBER", help_heading = "Limits")]
    pub(crate) max_iterations: Option<u64>,
    /// The maximum number of steps that the run may take, on the embedded backend: each node counts as one
    /// each time it runs, and in loops and functions so does each 4 KiB of tensors (default: 1,048,576 plus
    /// one for each 16 bytes of the model)
    #[arg(long, value_name = "NUMBER", help_heading = "Limits")]
    pub(crate) max_steps: Option<u64>,
    /// The maximum work of the run, on the embedded backend, in units of about a nanosecond of one core,
    /// which are estimated from the shapes before a node runs (default: 2,147,483,648 plus 1,024 for each
    /// byte of the model, its external data and the given inputs)
    #[arg(long, value_name = "NUMBER", help_heading = "Limits")]
    pub(crate) max_work: Option<u64>,
    /// The maximum memory that tensors may take, in bytes or with a unit: `512M`, `4G` (default: 192 MiB plus
    /// eight times the size of the model, the used parts of its external data, and the given inputs); weights
    /// that are used directly from the mapped file do not count
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Limits")]
    pub(crate) max_memory: Option<u64>,
    /// Save the outputs in this folder: as `.npy`, or as `.pb` if NumPy has no such type
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// The backend: `cpu`, which is built in, or an engine that is installed separately (`ort`, `tract`)
    #[arg(long, value_name = "NAME", default_value = CPU, help_heading = "Backend")]
    pub(crate) backend: String,
    /// The shared library that the backend loads (`ort`; default: ORT_DYLIB_PATH)
    #[arg(long, value_name = "FILE", help_heading = "Backend")]
    pub(crate) library: Option<PathBuf>,
    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
}

/// Parses a tolerance.
fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "a tolerance is a number that is not negative".to_owned())
}
