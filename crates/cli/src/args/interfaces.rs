//! `typeloom describe` and `typeloom diff`.

use clap::{Args as ClapArgs, ValueEnum};

#[cfg(feature = "registry")]
use super::registry::RegistryLocation;
use super::{Color, ContractArgs, ExcludeArgs, ReportArgs, SolveArgs, TextFormat};

/// `typeloom describe`
#[derive(Debug, ClapArgs)]
pub(crate) struct DescribeArgs {
    /// A model, a bundle, or a contract for serving
    #[arg(value_name = "FILE", required_unless_present = "contract")]
    pub(crate) file: Option<String>,
    /// Write the interface into a bundle, or the contract or code into a file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextFormat,
    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) contract: ContractArgs,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
}

/// Direction of compatibility.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum DiffMode {
    /// The new program can replace the old one for existing callers
    #[default]
    Backward,
    /// The old program can be used where the new one is expected
    Forward,
    /// Both
    Full,
}

/// `typeloom diff`
#[derive(Debug, ClapArgs)]
pub(crate) struct DiffArgs {
    /// A model, a bundle, a contract for serving, a folder with models, or `SUBJECT@VERSION` in a registry if
    /// there is no file of this name
    #[arg(value_name = "OLD")]
    pub(crate) old: String,
    /// The same; the models of two folders are compared by name
    #[arg(value_name = "NEW")]
    pub(crate) new: String,
    /// The direction of compatibility
    #[arg(long, value_enum, default_value_t)]
    pub(crate) mode: DiffMode,
    /// Callers bind inputs and outputs by name alone, so that their order does not matter
    #[arg(long)]
    pub(crate) by_name: bool,
    #[cfg(feature = "registry")]
    #[command(flatten)]
    pub(crate) at: RegistryLocation,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
    #[command(flatten)]
    pub(crate) exclude: ExcludeArgs,
}
