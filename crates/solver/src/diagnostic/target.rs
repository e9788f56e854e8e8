//! Diagnostics about a runtime that is to run a model.
//!
//! The facts about runtimes, and the decision whether one runs a node, are in another crate. It passes a
//! [`TargetIssue`] to [`diagnose_target`], which prints the node and locates it.

use std::cell::RefCell;

use super::codes::target_element_type::target_element_type;
use super::codes::target_ir_version::target_ir_version;
use super::codes::target_opset::target_opset;
use super::scope::Content;
use super::{Code, Diagnostic, Location, Mark, Part, Scope, Severity};
use crate::model::Checked;
use crate::model::bodies::{BodyAt, SolvedBody};
use crate::program::{StepId, ValueId};
use crate::rule::Port;

/// A reason why a runtime does not run a model, or why that is undecided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetIssue {
    /// The file has a newer IR version than the runtime reads.
    IrVersion { found: i64, newest: i64 },
    /// The model, or a function of it, imports a newer version of a domain than the runtime accepts.
    Opset { domain: String, imported: i64, newest: i64 },
    /// The runtime does not know the element type of a value, or requires a type where the value has none.
    ElementType { value: ValueId, element: Option<String> },
    /// The runtime has no such operator in the imported version.
    Operator { reason: String },
    /// The runtime has the operator, but no kernel for the types of this node. The first port has a type that
    /// none supports.
    Kernel { since: i64, port: Option<Port>, found: String, supported: Vec<String> },
    /// The runtime rejects an attribute, or its value.
    Attribute { name: String, value: Option<String> },
    /// The verdict depends on something that the model does not contain, or that is not modelled.
    Undecided { reason: String },
}

/// The location of an issue.
#[derive(Clone)]
pub enum TargetSite<'a> {
    /// The model as a whole.
    Model,
    /// A body: the graph, or a function.
    Body(SolvedBody<'a>),
    /// A node.
    Node(SolvedBody<'a>, StepId),
}

impl TargetIssue {
    /// The diagnostic code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::IrVersion { .. } => Code::TargetIrVersion,
            Self::Opset { .. } => Code::TargetOpset,
            Self::ElementType { .. } => Code::TargetElementType,
            Self::Operator { .. } => Code::TargetOperator,
            Self::Kernel { .. } => Code::TargetKernel,
            Self::Attribute { .. } => Code::TargetAttribute,
            Self::Undecided { .. } => Code::TargetUndecided,
        }
    }

    /// Whether it means that the runtime rejects the model.
    #[must_use]
    pub fn is_rejection(&self) -> bool {
        self.code().severity() == Severity::Error
    }
}

/// The diagnostic of an issue with a runtime of this name.
#[must_use]
pub fn diagnose_target<'a>(
    checked: &mut Checked<'a>,
    target: &str,
    site: &TargetSite<'a>,
    issue: &TargetIssue,
) -> Diagnostic {
    let (body, step) = match site {
        TargetSite::Model => (None, None),
        TargetSite::Body(body) => (Some(body.at), None),
        TargetSite::Node(body, step) => (Some(body.at), Some(*step)),
    };
    let Checked { core, frame, rare, operators, .. } = checked;
    let instance = match body {
        None | Some(BodyAt::Main) => None,
        Some(BodyAt::Kept(at)) => rare.kept.get(at),
        Some(BodyAt::Erroneous(at)) => rare.instances.get(at),
    };
    let (frame, function) = match instance {
        Some(instance) => (&instance.frame, Some(instance.function)),
        None => (&*frame, None),
    };
    let mut budget = 0;
    let scope = Scope {
        core,
        frame,
        operators,
        function,
        content: Content::Snippets,
        budget: &mut budget,
        named: RefCell::default(),
    };
    let diagnostic = match (issue, step) {
        (TargetIssue::IrVersion { found, newest }, _) => target_ir_version(target, *found, *newest),
        (TargetIssue::Opset { domain, imported, newest }, _) => {
            target_opset(target, domain, *imported, *newest)
        }
        (TargetIssue::ElementType { value, element }, _) => {
            target_element_type(&scope, target, *value, element.as_deref())
        }
        (TargetIssue::Operator { reason }, Some(step)) => scope.target_operator(target, step, reason),
        (TargetIssue::Kernel { since, port, found, supported }, Some(step)) => {
            scope.target_kernel(target, step, *since, (*port, found), supported)
        }
        (TargetIssue::Attribute { name, value }, Some(step)) => {
            scope.target_attribute(target, step, name, value.as_deref())
        }
        (TargetIssue::Undecided { reason }, Some(step)) => scope.target_undecided(target, step, reason),
        (TargetIssue::Undecided { reason }, None) => {
            let message = format!("it is undecided whether {target} runs the model: {reason}");
            Diagnostic::new(Code::TargetUndecided, message, Location::default())
        }
        (TargetIssue::Operator { reason }, None) => {
            let message = format!("{target} does not load the model: {reason}");
            Diagnostic::new(Code::TargetOperator, message, Location::default())
        }
        (TargetIssue::Kernel { .. } | TargetIssue::Attribute { .. }, None) => {
            let code = issue.code();
            Diagnostic::new(code, format!("{target}: {}", code.summary()), Location::default())
        }
    };
    match instance {
        Some(instance) => {
            let notes = scope.call_notes(instance);
            diagnostic.with_notes(notes)
        }
        None => diagnostic,
    }
}

impl Scope<'_, '_> {
    /// A diagnostic at the operator of a node.
    pub(super) fn at_operator(&self, code: Code, step: StepId, message: String, label: String) -> Diagnostic {
        self.node_diagnostic(code, step, message, &[Mark::primary(Part::Operator, label)])
    }
}
