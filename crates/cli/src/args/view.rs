//! The arguments of `typeloom view`.

use clap::Args as ClapArgs;

use super::SolveArgs;

/// `typeloom view`
#[derive(Debug, ClapArgs)]
pub(crate) struct ViewArgs {
    /// A model, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// Another version of the model: show the changes from FILE to NEW
    #[arg(value_name = "NEW", conflicts_with = "serve")]
    pub(crate) new: Option<String>,
    /// Write the page into FILE, or to standard output with `-` (default: the name of the model with `.html`,
    /// or of NEW with `.diff.html`, in the current folder; a file that is no page of this command is not
    /// replaced)
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Open the page in a browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Serve the page to browsers on this computer until Ctrl-C, and load it again when the model changes; no
    /// file is written
    #[arg(long, conflicts_with = "output")]
    pub(crate) serve: bool,
    /// The port of `--serve`; 0: a free one
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "serve")]
    pub(crate) port: u16,
    /// Write the picture of `typeloom graph --svg` instead of a page
    #[arg(long, conflicts_with_all = ["serve", "open"])]
    pub(crate) svg: bool,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
}
