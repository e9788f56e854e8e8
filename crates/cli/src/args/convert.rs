//! The arguments of `typeloom convert`.

#[cfg(feature = "run")]
use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::{Color, NewTargetArgs, SolveArgs, TextFormat};

/// `typeloom convert`
#[derive(Debug, ClapArgs)]
pub(crate) struct ConvertArgs {
    /// The model
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) target: NewTargetArgs,
    /// Show the result, but write no file
    #[arg(long, group = "TargetArgs")]
    pub(crate) dry_run: bool,
    /// The new element type: `float16`, `bfloat16` or `float`
    #[arg(long, value_name = "TYPE")]
    pub(crate) to: String,
    /// Keep the types of the inputs and outputs of the model
    #[arg(long)]
    pub(crate) keep_io: bool,
    /// Keep the type of an operator, a node or a value; in names, `*` is any text. Can be repeated
    #[arg(long, value_name = "OP|NAME|PATTERN")]
    pub(crate) keep: Vec<String>,
    /// Keep the types of nodes whose converted form a runtime or device rejects; can be repeated.
    /// `typeloom targets` lists them
    #[arg(long = "target", value_name = "NAME")]
    pub(crate) targets: Vec<String>,
    /// Run both models on the embedded backend, and report the error of the new one. Inputs are generated
    /// unless `--data` gives them
    #[cfg(feature = "run")]
    #[arg(long)]
    pub(crate) measure: bool,
    /// The inputs of `--measure`: a `.npz` file with arrays named as the inputs
    #[cfg(feature = "run")]
    #[arg(long, value_name = "FILE.npz")]
    pub(crate) data: Option<PathBuf>,
    /// Keep as few nodes as a search finds so that the relative error of each output is at most this
    #[cfg(feature = "run")]
    #[arg(long, value_name = "ERROR")]
    pub(crate) tolerance: Option<f64>,
    /// The seed of generated inputs
    #[cfg(feature = "run")]
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    pub(crate) random_seed: u32,
    /// The format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextFormat,
    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
}
