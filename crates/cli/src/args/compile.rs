//! The arguments of `typeloom compile`.

use clap::Args as ClapArgs;

use super::{CastPolicy, Color};

/// `typeloom compile`
#[derive(Debug, ClapArgs)]
pub(crate) struct CompileArgs {
    /// The model
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// Write the compiled model
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Show the model after a pass, in ONNX's textual syntax
    #[arg(long, value_name = "PASS")]
    pub(crate) after: Vec<String>,
    /// Write a page with the changes up to the pass of `--after` into FILE, as `typeloom view FILE NEW` does
    #[arg(long, value_name = "FILE", requires = "after")]
    pub(crate) view: Option<String>,
    /// Leave a pass out
    #[arg(long, value_name = "PASS")]
    pub(crate) without: Vec<String>,
    /// Conversion of an edge whose two ends are declared with different types
    #[arg(long, value_enum, default_value_t)]
    pub(crate) cast: CastPolicy,
    /// Accept values without a proven type
    #[arg(long)]
    pub(crate) permissive: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    pub(crate) color: Color,
}
