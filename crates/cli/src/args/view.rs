//! The arguments of `typeloom view`.

use std::path::Path;

use clap::{ArgGroup, Args as ClapArgs};

use super::SolveArgs;

/// The format of a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Picture {
    Dot,
    Mermaid,
    Svg,
}

/// The options that select a picture.
const PICTURES: [&str; 3] = ["svg", "dot", "mermaid"];

/// `typeloom view`
#[derive(Debug, ClapArgs)]
#[command(group(ArgGroup::new("picture").args(PICTURES).conflicts_with_all(["serve", "open"])))]
pub(crate) struct ViewArgs {
    /// A model, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// Another version of the model: show the changes from FILE to NEW
    #[arg(value_name = "NEW", conflicts_with = "serve")]
    pub(crate) new: Option<String>,
    /// Write the page or the picture into FILE, or to standard output with `-` (default of a page: the name
    /// of the model with `.html`, or of NEW with `.diff.html`, in the current folder; a file that is no page
    /// of this command is not replaced)
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Show where the nodes run on a device or runtime, such as `qnn-npu`, or on those of a group; can be
    /// repeated. `typeloom targets` lists all
    #[arg(long = "target", value_name = "NAME", help_heading = "Comparisons")]
    pub(crate) targets: Vec<String>,
    /// Open the page in a browser
    #[arg(long, help_heading = "Browser")]
    pub(crate) open: bool,
    /// Serve the page to browsers on this computer until Ctrl-C, and load it again when the model changes; no
    /// file is written
    #[arg(long, conflicts_with = "output", help_heading = "Browser")]
    pub(crate) serve: bool,
    /// The port of `--serve`; 0: a free one
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "serve", help_heading = "Browser")]
    pub(crate) port: u16,
    /// Draw an SVG picture instead, complete in itself (default for `-o NAME.svg`)
    #[arg(long, help_heading = "Pictures")]
    svg: bool,
    /// Write DOT, the language of Graphviz (default for `-o NAME.dot` and `.gv`)
    #[arg(long, help_heading = "Pictures")]
    dot: bool,
    /// Write Mermaid, which code hosts draw in Markdown (default for `-o NAME.mmd`)
    #[arg(long, help_heading = "Pictures")]
    mermaid: bool,
    /// Expand groups, nested graphs and functions of a picture up to this depth, up to 5,000 boxes; 0: none
    /// (default: as many as fit into 150 boxes, from the outside in)
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["serve", "open"], help_heading = "Pictures")]
    pub(crate) depth: Option<usize>,
    /// A picture in any case: the command has its earlier name
    #[arg(long, hide = true)]
    graph: bool,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
}

impl ViewArgs {
    /// The chosen picture, or that of the name of the output; `None` is a page.
    pub(crate) fn picture(&self) -> Option<Picture> {
        let extension = self.output.as_deref().and_then(|name| Path::new(name).extension()?.to_str());
        match (self.dot, self.svg, self.mermaid) {
            (true, _, _) => Some(Picture::Dot),
            (_, true, _) => Some(Picture::Svg),
            (_, _, true) => Some(Picture::Mermaid),
            (false, false, false) => match extension {
                Some("dot" | "gv") => Some(Picture::Dot),
                Some("svg") => Some(Picture::Svg),
                Some("mmd" | "mermaid") => Some(Picture::Mermaid),
                Some(_) | None => self.graph.then_some(Picture::Mermaid),
            },
        }
    }
}
