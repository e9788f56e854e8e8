//! Diagnostics: the problems of a model as messages.
//!
//! The solver reports problems as [`SolveError`](crate::solve_error::SolveError)s, which hold ids.
//! [`diagnose`] converts each into a [`Diagnostic`]: a code, a message with the expected and the found type,
//! the printed node with labels that name the origin of each side, notes, at most one help and a structured
//! [`Fix`]. This module neither decides whether a model is valid nor lays out text; renderers do the latter.
//!
//! Each code has one file in `codes`, with its severity, message and fix, and one page in `pages/`. The files
//! next to `codes` contain shared parts: `Scope` (names, types and printed nodes of one body), causes of
//! types, lineages of extents, tables of shapes, and the order and grouping of diagnostics.
//!
//! **Invariant:** messages are in lower case without a final full stop, and show names of the model in
//! backticks, never an internal id. Each name is on one line; unsafe characters are escaped.
//!
//! **Invariant:** the same model gives the same diagnostics in the same order: values without a node, then
//! node by node, then outputs of the graph. Those of a function are listed at its first call.
//!
//! **Invariant:** the cost is linear in the graph and in the number of diagnostics. Causes and suggestions,
//! which search the graph, are given for the first [`MAX_EXPLAINED`] only.

mod calls;
mod cases;
mod casts;
mod cause;
mod codes;
mod collect;
mod declared;
mod describe;
mod description;
mod equations;
mod explain;
mod fix;
mod group;
mod groups;
pub mod lineage;
mod location;
mod loss;
mod node;
mod ports;
mod pytorch;
mod scope;
mod shapes;
mod source;
mod subjects;
mod target;
pub mod text;
mod versions;

#[cfg(test)]
mod tests;

use std::ops::Range;

use serde::Serialize;

pub use crate::state::trace::Cause;
pub use cause::NextCause;
pub(crate) use codes::dim_mismatch::subject;
pub(crate) use codes::wrong_rank::axes_text;
pub use codes::{Code, Severity};
pub use collect::{MAX_EXPLAINED, MAX_LISTED, Selection, diagnose, messages_where};
pub(crate) use describe::diagnose_one;
pub use describe::{diagnose_bytes, diagnose_error, diagnose_external_data, diagnose_text};
pub use explain::{Explanation, Reason, explain_value, next_causes};
pub use fix::{AttributeAsInput, Fix, InputAsAttribute, Reader, Safety};
pub use groups::Group;
pub use location::{GraphPath, GraphPathStep, Location, NodeLocation, Role, ValueLocation, graph_path};
pub use node::input_starts;
pub use source::SourceLine;
pub use target::{TargetIssue, TargetSite, diagnose_target, same_kind};

// The vocabulary of the files below.
use casts::{best_cast, cast_into, drops_fractions, is_tensor};
use cause::Doubt;
use node::{Mark, Part, declaration, type_text};
use ports::surplus_marks;
use scope::Scope;
use shapes::{Align, Row};
use text::{
    allowed_types, arrow_list, article, clip, count, did_you_mean, element_types, list, opset_of, quote,
};

/// A problem of a model. It is serialized as in the reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    /// The problem in one sentence.
    pub message: String,
    #[serde(rename = "place")]
    pub location: Location,
    /// The value that the problem concerns, if any; for a problem of a node, one of its outputs.
    #[serde(skip)]
    pub value: Option<String>,
    /// Other locations of the same problem with the same cause.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Location>,
    /// The nodes and declarations that show the problem; the first is the one at `location`.
    pub snippets: Vec<Snippet>,
    /// Further explanation; a note can have several lines.
    pub notes: Vec<String>,
    /// A type that the value could be declared as, if its type is unresolved.
    #[serde(skip)]
    pub proposed_type: Option<String>,
    /// A proposed repair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The repair as an edit that a tool can make.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
    /// Whether the fix can be applied without a decision.
    #[serde(rename = "fix_safety", skip_serializing_if = "Safety::is_safe")]
    pub safety: Safety,
    /// The line of the source program that created the node, if the exporter recorded it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceLine>,
}

impl Diagnostic {
    /// Whether the model cannot be used as it is.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// `error[code]: message`; [`Diagnostic::location`] and the snippets are for renderers.
impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}[{}]: {}", self.severity.name(), self.code.name(), self.message)
    }
}

/// A printed node or declaration with labels below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Snippet {
    /// One line.
    pub text: String,
    /// The node's position in its graph; a declaration has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The location, if it differs from the diagnostic's.
    #[serde(rename = "place", skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// Labels, in the order of the text.
    pub labels: Vec<Label>,
}

impl Snippet {
    /// The texts of the labels that are not empty, each with its part of the snippet.
    pub fn labelled(&self) -> impl Iterator<Item = (&str, &str)> {
        let labels = self.labels.iter().filter(|label| !label.text.is_empty());
        labels.map(|label| (self.text.get(label.span.clone()).unwrap_or_default(), label.text.as_str()))
    }
}

/// A message below a part of a snippet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    /// The bytes of the snippet's text; on character boundaries.
    #[serde(flatten)]
    pub span: Range<usize>,
    /// May be empty.
    pub text: String,
    /// Whether this part is the cause of the problem, rather than context.
    pub primary: bool,
}
