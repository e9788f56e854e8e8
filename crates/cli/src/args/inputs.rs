//! The models of commands that accept several.

use clap::Args;

/// The models of a command.
#[derive(Debug, Args)]
pub(crate) struct InputArgs {
    /// Models, folders with models, globs (`models/**/*.onnx`), `@LIST` for a file with one of these on each
    /// line, or `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    #[command(flatten)]
    pub(crate) exclude: ExcludeArgs,
}

/// The models that are left out.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files")]
pub(crate) struct ExcludeArgs {
    /// Leave out the models that match a glob relative to the current folder, in the notation of `exclude` in
    /// the settings; can be repeated
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
}
