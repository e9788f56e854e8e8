//! The arguments of `typeloom infer`.

use clap::{Args as ClapArgs, ValueEnum};

use super::{Color, FolderArgs, SolveArgs};

/// How to show types.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum InferFormat {
    /// A table for people
    #[default]
    Table,
    /// One JSON object for each file
    Json,
}

/// `typeloom infer`
#[derive(Debug, ClapArgs)]
pub(crate) struct InferArgs {
    /// A model, a folder with models, a glob (`models/**/*.onnx`), `@LIST` for a file with one of these on
    /// each line, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// Show these values only; each model has to have them
    #[arg(value_name = "VALUE")]
    pub(crate) values: Vec<String>,
    /// Show values that match PATTERN only; with several patterns, those that match all. A printed type such
    /// as `float16`, `[*, seq, *]` or `float[batch, ...]` selects by type: `*` is any dim, `...` any number
    /// of dims. Another pattern is a glob of names and operators, such as `MatMul` or `*attention*`. The
    /// prefixes `type:`, `name:` and `op:` select one of the three
    #[arg(long = "filter", short, value_name = "PATTERN")]
    pub(crate) filters: Vec<String>,
    /// How to show types
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: InferFormat,
    /// Fit the table into this many columns: names that begin with the same scopes are printed under a
    /// heading with these scopes, and long rows take two lines. 0: one line with the whole name for each
    /// value (default: the columns of the terminal, or COLUMNS; without a terminal, 0)
    #[arg(long, value_name = "NUMBER")]
    pub(crate) width: Option<usize>,
    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) folders: FolderArgs,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
}
