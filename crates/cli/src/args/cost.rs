//! The arguments of `typeloom cost`.

use clap::Args as ClapArgs;

use super::{Color, SolveArgs, TextFormat, size};

/// `typeloom cost`
#[derive(Debug, ClapArgs)]
pub(crate) struct CostArgs {
    /// The model
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// Find the largest value of a symbol for which weights and activations fit into --memory. Other symbols
    /// get a value with --assume
    #[arg(long = "solve", value_name = "SYMBOL", requires = "memory")]
    pub(crate) symbol: Option<String>,
    /// The memory for --solve, in bytes or with a unit (`4GB`, of 1024³ bytes each)
    #[arg(long, value_name = "SIZE", value_parser = size::size, requires = "symbol")]
    pub(crate) memory: Option<u64>,
    /// List this many nodes, those with the most operations first
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    pub(crate) nodes: usize,
    /// The format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextFormat,
    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
}
