//! `typeloom link`.

use clap::{Args, ValueEnum};

use super::{Color, ReadArgs, TextFormat};

/// Permitted casts between connected tensors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum LinkCasts {
    /// None: different element types are an error
    #[default]
    Never,
    /// Casts that keep every value
    Lossless,
    /// All casts, also those that can lose values
    Any,
}

/// Treatment of files with tensors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum ExternalData {
    /// The result refers to the files of the models, which must be in its folder or below
    #[default]
    Keep,
    /// The files are copied next to the result, under its name
    Copy,
}

/// `typeloom link`
#[derive(Debug, Args)]
pub(crate) struct LinkArgs {
    /// The model that runs first
    #[arg(value_name = "A")]
    pub(crate) first: String,
    /// The model that runs on outputs of the first one
    #[arg(value_name = "B")]
    pub(crate) second: String,
    /// Connect an output of A with an input of B; can be repeated (default: outputs and inputs of equal
    /// names)
    #[arg(long = "map", value_name = "OUTPUT=INPUT")]
    pub(crate) map: Vec<String>,
    /// Write the result
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: String,
    /// Insert casts where element types differ
    #[arg(long, value_enum, default_value_t, value_name = "CASTS")]
    pub(crate) cast: LinkCasts,
    /// Replace a symbol of A by the only value that B accepts
    #[arg(long)]
    pub(crate) narrow: bool,
    /// Accept types that are not proved to fit; a run can then fail
    #[arg(long)]
    pub(crate) accept_unproven: bool,
    /// Keep this output, by its name in the result; can be repeated (default: the outputs of A that are not
    /// connected, and all outputs of B)
    #[arg(long = "keep", value_name = "NAME", conflicts_with = "keep_all")]
    pub(crate) keep: Vec<String>,
    /// Keep all outputs of both models
    #[arg(long)]
    pub(crate) keep_all: bool,
    /// Begin all names of values and nodes of A with this text
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) prefix_a: String,
    /// Begin all names of values and nodes of B with this text
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) prefix_b: String,
    /// Treatment of files with tensors
    #[arg(long, value_enum, default_value_t, value_name = "TREATMENT")]
    pub(crate) external: ExternalData,
    /// The format of the output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: TextFormat,
    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}
