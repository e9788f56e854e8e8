//! The arguments of `typeloom graph`.

use std::path::Path;

use clap::{ArgGroup, Args as ClapArgs};

use super::SolveArgs;

/// The format of a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GraphFormat {
    Dot,
    Mermaid,
    Svg,
}

/// `typeloom graph`
#[derive(Debug, ClapArgs)]
#[command(group(ArgGroup::new("format").args(["dot", "mermaid", "svg"])))]
pub(crate) struct GraphArgs {
    /// A model, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    /// Write DOT, the language of Graphviz (default for `.dot` and `.gv`)
    #[arg(long)]
    dot: bool,
    /// Write Mermaid, which code hosts draw in Markdown (default)
    #[arg(long)]
    mermaid: bool,
    /// Write an SVG picture, complete in itself (default for `.svg`)
    #[arg(long)]
    svg: bool,
    /// Write the picture into FILE instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Expand groups, nested graphs and functions up to this depth, up to 5,000 boxes; 0: none (default: as
    /// many as fit into 150 boxes, from the outside in)
    #[arg(long, value_name = "NUMBER")]
    pub(crate) depth: Option<usize>,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
}

impl GraphArgs {
    /// The chosen format, or that of the name of the output.
    pub(crate) fn format(&self) -> GraphFormat {
        let extension = self.output.as_deref().and_then(|name| Path::new(name).extension()?.to_str());
        match (self.dot, self.svg, self.mermaid) {
            (true, _, _) => GraphFormat::Dot,
            (_, true, _) => GraphFormat::Svg,
            (_, _, true) => GraphFormat::Mermaid,
            (false, false, false) => match extension {
                Some("dot" | "gv") => GraphFormat::Dot,
                Some("svg") => GraphFormat::Svg,
                Some(_) | None => GraphFormat::Mermaid,
            },
        }
    }
}
