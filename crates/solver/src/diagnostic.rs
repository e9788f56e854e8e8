//! What is wrong with a model, in words: the one place where errors become sentences.
//!
//! The solver says what is wrong as [`SolveError`](crate::solve_error::SolveError)s, data about ids. [`diagnose`] turns
//! each into a [`Diagnostic`]: a code, a message that gives expected *and* found, the printed node with
//! labels that say where each side came from, notes, at most one help and a structured [`Fix`].
//! Nothing here decides whether a model is right, and nothing here lays out text: renderers do.
//!
//! One file per concept holds the words of its codes; each has a page in `docs/codes/`.
//!
//! | file | codes |
//! |---|---|
//! | `element` | `element-type-mismatch`, `element-type-not-allowed`, `type-mismatch` |
//! | `extents` | `dim-mismatch`, `shape-mismatch`, `wrong-rank`, `negative-dim`, `empty-shape`, `placeholder-dim`, `extent-overflow` |
//! | `operators` | `unknown-operator`, `newer-operator`, `deprecated-operator`, `missing-opset`, `duplicate-node-name` |
//! | `ports` | `missing-input`, `missing-output`, `surplus-ports`, `input-value` |
//! | `attributes` | `missing-attribute`, `unknown-attribute`, `attribute-kind`, `attribute-value` |
//! | `names` | `undefined-value`, `undefined-output`, `duplicate-value` |
//! | `order` | `node-order`, `cycle` |
//! | `declarations` | `declared-type-contradiction`, `default-contradiction`, `seed-contradiction` |
//! | `branches` | `branch-mismatch`, `body-mismatch` |
//! | `cases` | `branch-mismatch`, where one branch contradicts what uses its result |
//! | `relations` | `relation-failed` |
//! | `functions` | `call-arity`, `recursive-function`, `too-many-instances` |
//! | `symbols` | `forced-symbol`, `forced-equality` |
//! | `unresolved` | `unresolved-type`, `limit-reached` |
//! | `files` | `malformed-file`, `tensor-data`, `ir-version`, `newer-opset`, `nesting-too-deep`, `missing-external-data` |
//!
//! **Invariant:** messages are in lower case without final full stop, and show names of the model in
//! backticks, never an id of ours. Names are one line each, whatever the model calls its values.
//!
//! **Invariant:** the same model gives the same diagnostics in the same order: what no node makes,
//! then node by node, then what the graph promises; a function's stand where it is first called.
//!
//! **Invariant:** the cost is linear in the graph and in the number of diagnostics. Causes and
//! suggestions, which search the graph, are given for the first [`MAX_EXPLAINED`] only.

mod attributes;
mod branches;
mod cases;
mod cause;
mod code;
mod collect;
mod declarations;
mod dispatch;
mod element;
mod explain;
mod extents;
mod files;
mod fix;
mod functions;
mod group;
mod lineage;
mod location;
mod names;
mod node;
mod operators;
mod order;
mod ports;
mod relations;
mod scope;
mod source;
mod symbols;
mod unresolved;
mod words;

#[cfg(test)]
mod tests;

use std::ops::Range;

pub use code::{Code, Severity};
pub use collect::{MAX_EXPLAINED, MAX_LISTED, diagnose, diagnose_error};
pub use explain::{Explanation, Reason, explain_value};
pub use fix::{Fix, Reader};
pub use location::{Location, NodeLocation, Role, ValueLocation, graph_path};
pub use source::SourceLine;

/// One problem of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which kind of problem.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// The problem in one sentence.
    pub message: String,
    /// Where it is.
    pub location: Location,
    /// Other places with the same problem for the same cause.
    pub also: Vec<Location>,
    /// The nodes and declarations that show it; the first is the one at `place`.
    pub snippets: Vec<Snippet>,
    /// What else helps to understand it; a note can have several lines.
    pub notes: Vec<String>,
    /// What to do about it.
    pub help: Option<String>,
    /// The same as an edit that a tool can make, where there is one.
    pub fix: Option<Fix>,
    /// The line of the author's program that the node comes from, where the exporter noted it.
    pub source: Option<SourceLine>,
}

impl Diagnostic {
    /// Whether the model cannot be used as it is.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// A printed node or declaration with labels under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The text: one line.
    pub text: String,
    /// The node's position in its graph; a declaration has none.
    pub line: Option<usize>,
    /// Where it is, if not at the diagnostic's own place.
    pub location: Option<Location>,
    /// Labels, in the order of the text.
    pub labels: Vec<Label>,
}

/// Words under a part of a snippet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The bytes of the snippet's text; on character boundaries.
    pub span: Range<usize>,
    /// The words; may be empty.
    pub text: String,
    /// Whether this is the culprit, rather than context.
    pub primary: bool,
}
