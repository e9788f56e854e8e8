//! The models of commands that accept several.

use clap::Args;

/// The models of a command.
#[derive(Debug, Args)]
pub(crate) struct InputArgs {
    /// Models, folders with models, globs (`models/**/*.onnx`), `@LIST` for a file with one of these on each
    /// line, or `-` for standard input (default: the current folder)
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<String>,
    #[command(flatten)]
    pub(crate) folders: FolderArgs,
}

/// The models of folders.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files")]
pub(crate) struct FolderArgs {
    #[command(flatten)]
    pub(crate) exclude: ExcludeArgs,
    /// Read all files in folders: also those that `.gitignore` ignores, hidden ones, and those in
    /// `node_modules`, `site-packages` and `venv`
    #[arg(long)]
    pub(crate) no_ignore: bool,
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
