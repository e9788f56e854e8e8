//! The kinds of fences, and the checks of their statements.
//!
//! A kind's `truth` reads a fence and returns its corrected text. True statements are copied byte for byte,
//! with their elisions, so a fence is true if its text does not change.

use std::str::FromStr;

use typeloom_solver::model::{Mode, Options, Seed};
use typeloom_targets::Target;

use crate::spec::Suite;
use crate::spec::document::{Document, Fence, Malformed};

mod console;
mod facts;
pub(crate) mod graph;
mod primitives;
mod snapshot;
mod tree;

use snapshot::View;

/// The kind of a fence, given by the text after its backticks.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Facts about types and dims.
    Types,
    /// The type tree below a node; the whole tree without one.
    Tree(Option<String>),
    /// A model.
    Graph(Settings),
    /// Nodes of the tensor primitives.
    Primitives(Mode),
    /// A rendering of the preceding graph.
    Snapshot(View),
    /// Commands; continued ones find the registry of the fence of commands before.
    Console { continued: bool },
}

/// Options for completing and checking the model of a `graph` fence.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The version of ONNX's operator set, if the text does not contain one.
    pub opset: Option<i64>,
    /// The mode of the check.
    pub options: Options,
    /// The runtimes that are to run the model.
    pub targets: Vec<&'static Target>,
}

/// A fence with its context.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The suite that runs.
    pub suite: &'a Suite,
    /// The document.
    pub document: &'a Document,
    /// The fence's position in it.
    pub index: usize,
}

impl<'a> Context<'a> {
    /// The fence.
    #[must_use]
    pub fn fence(&self) -> &'a Fence {
        &self.document.fences[self.index]
    }

    /// A statement that cannot be checked, at a line of the fence (the first one below the backticks is 0).
    #[must_use]
    pub fn malformed(&self, line: usize, message: impl Into<String>) -> Malformed {
        let line = self.fence().line + 1 + line;
        Malformed { file: self.document.file.clone(), line, message: message.into() }
    }
}

impl Kind {
    /// The names of all kinds.
    pub const NAMES: [&'static str; 6] = ["types", "tree", "graph", "primitives", "snapshot", "console"];

    /// Parses the text after the backticks; `None` if its first word names no kind.
    ///
    /// # Errors
    /// The error in the text after a kind's name.
    pub fn parse(info: &str) -> Result<Option<Self>, String> {
        let mut words = info.split_whitespace();
        let kind = words.next().unwrap_or_default();
        let words: Vec<&str> = words.collect();
        match (kind, &words[..]) {
            ("types", []) => Ok(Some(Self::Types)),
            ("console", []) => Ok(Some(Self::Console { continued: false })),
            ("console", ["continued"]) => Ok(Some(Self::Console { continued: true })),
            ("tree", []) => Ok(Some(Self::Tree(None))),
            ("tree", [node]) => Ok(Some(Self::Tree(Some((*node).to_owned())))),
            ("primitives", []) => Ok(Some(Self::Primitives(Mode::Strict))),
            ("primitives", ["permissive"]) => Ok(Some(Self::Primitives(Mode::Permissive))),
            ("snapshot", [view]) => View::from_str(view).map(Self::Snapshot).map(Some),
            ("graph", words) => settings(words).map(Self::Graph).map(Some),
            (kind, _) if Self::NAMES.contains(&kind) => {
                Err(format!("`{info}` is not a valid start of a `{kind}` fence"))
            }
            _ => Ok(None),
        }
    }

    /// The corrected text of the fence.
    ///
    /// # Errors
    /// The text cannot be checked.
    pub fn truth(&self, cx: &Context<'_>) -> Result<String, Malformed> {
        match self {
            Self::Types => facts::truth(cx),
            Self::Tree(node) => tree::truth(cx, node.as_deref()),
            Self::Graph(settings) => graph::truth(cx, settings),
            Self::Primitives(mode) => primitives::truth(cx, *mode),
            Self::Snapshot(view) => snapshot::truth(cx, view),
            Self::Console { .. } => console::truth(cx),
        }
    }
}

/// Reads the options after the language of a model's fence.
pub(crate) fn settings(words: &[&str]) -> Result<Settings, String> {
    let mut settings = Settings::default();
    for word in words {
        match word.split_once('=') {
            None if *word == "permissive" => settings.options.mode = Mode::Permissive,
            Some(("opset", version)) => {
                settings.opset = Some(version.parse().map_err(|_| format!("`{version}` is no version"))?);
            }
            Some(("seed", seed)) => {
                let (name, ty) =
                    seed.split_once(':').ok_or("a seed is written `seed=NAME:TYPE`, without blanks")?;
                let ty = Seed::parse(ty).map_err(|error| error.to_string())?;
                settings.options.seeds.push((name.to_owned(), ty));
            }
            Some(("target", name)) => {
                let target = Target::named(name).ok_or_else(|| format!("`{name}` is no target"))?;
                settings.targets.push(target);
                settings.options.functions = true;
            }
            _ => {
                return Err(format!(
                    "a graph has no setting `{word}`; it has `permissive`, `opset=`, `seed=`, `target=`"
                ));
            }
        }
    }
    Ok(settings)
}
