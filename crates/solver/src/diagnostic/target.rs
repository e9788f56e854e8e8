//! Diagnostics about a runtime that is to run a model.
//!
//! The facts about runtimes, and the decision whether one runs a node, are in another crate. It passes a
//! [`TargetIssue`] to [`diagnose_target`], which prints the node and locates it.

use std::cell::RefCell;

use super::codes::target_condition::target_condition;
use super::codes::target_element_type::target_element_type;
use super::codes::target_ir_version::target_ir_version;
use super::codes::target_opset::target_opset;
use super::scope::Content;
use super::{Code, Diagnostic, Location, Mark, Part, Scope, Severity, quote};
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
    Operator { reason: String, advice: Option<String> },
    /// The runtime has the operator, but no kernel for the types of this node. The first port has a type that
    /// none supports.
    Kernel {
        since: i64,
        port: Option<Port>,
        found: String,
        supported: Vec<String>,
        /// Another version of the operator that has a kernel for the types.
        version: Option<i64>,
    },
    /// The runtime rejects an attribute, or its value.
    Attribute { name: String, value: Option<String> },
    /// Nodes with these properties did not run when they were measured.
    Measured { reason: String, source: String, advice: Option<String> },
    /// The device does not take nodes with these properties; they run on the CPU.
    Fallback { reason: String, source: String, advice: Option<String> },
    /// The verdict holds under conditions on symbols, and for fixed values of others.
    Condition { conditions: Vec<String>, fixed: Vec<String> },
    /// The verdict depends on something that the model does not contain, or that is not modelled.
    Undecided { reason: String, advice: Option<String> },
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
            Self::Measured { .. } => Code::TargetNode,
            Self::Fallback { .. } => Code::TargetFallback,
            Self::Condition { .. } => Code::TargetCondition,
            Self::Undecided { .. } => Code::TargetUndecided,
        }
    }

    /// A change of the model that removes the issue.
    fn advice(&self) -> Option<String> {
        match self {
            Self::Measured { advice, .. }
            | Self::Fallback { advice, .. }
            | Self::Operator { advice, .. }
            | Self::Undecided { advice, .. } => advice.clone(),
            Self::ElementType { element: Some(element), .. } => {
                Some(format!("store and compute the values in another type than {element}"))
            }
            Self::ElementType { element: None, .. } => Some("declare the type of the value".to_owned()),
            Self::Attribute { name, value: None } => Some(format!(
                "remove {} if it has its default, or import an operator set that the target has it in",
                quote(name)
            )),
            Self::Kernel { found, supported, version, .. } => match same_kind(found, supported).as_slice() {
                [] => version.map(|version| format!("a kernel exists for version {version} of the operator")),
                [nearest, ..] => Some(format!("cast to {nearest}, the nearest type with a kernel")),
            },
            Self::Attribute { value: Some(_), .. }
            | Self::IrVersion { .. }
            | Self::Opset { .. }
            | Self::Condition { .. } => None,
        }
    }

    /// Whether it means that the runtime rejects the model.
    #[must_use]
    pub fn is_rejection(&self) -> bool {
        self.code().severity() == Severity::Error
    }
}

/// The element types of the kind of another one, by the names of ONNX, the nearest first: floats for a float,
/// integers for an integer. Names of other types have none.
#[must_use]
pub fn same_kind(found: &str, types: &[String]) -> Vec<String> {
    /// In the order in which they are tried.
    const KINDS: &[&[&str]] = &[
        &["float", "float16", "double", "bfloat16"],
        &["int32", "int64", "int16", "int8", "uint32", "uint64", "uint16", "uint8"],
    ];
    // A type without a sign comes before others for one without a sign.
    let is_near = |ty: &&str| ty.starts_with('u') == found.starts_with('u');
    let Some(kind) = KINDS.iter().find(|kind| kind.contains(&found)) else { return Vec::new() };
    let (near, far): (Vec<&str>, Vec<&str>) = kind.iter().copied().partition(is_near);
    let all = near.into_iter().chain(far).filter(|ty| *ty != found);
    all.filter(|ty| types.iter().any(|own| own == ty)).map(str::to_owned).collect()
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
        (TargetIssue::Operator { reason, advice: _ }, Some(step)) => {
            scope.target_operator(target, step, reason)
        }
        (TargetIssue::Kernel { since, port, found, supported, version: _ }, Some(step)) => {
            scope.target_kernel(target, step, *since, (*port, found), supported)
        }
        (TargetIssue::Attribute { name, value }, Some(step)) => {
            scope.target_attribute(target, step, name, value.as_deref())
        }
        (TargetIssue::Measured { reason, source, advice: _ }, Some(step)) => {
            scope.target_node(target, step, reason, source)
        }
        (TargetIssue::Fallback { reason, source, advice: _ }, Some(step)) => {
            scope.target_fallback(target, step, reason, source)
        }
        (TargetIssue::Condition { conditions, fixed }, _) => target_condition(target, conditions, fixed),
        (TargetIssue::Undecided { reason, advice: _ }, Some(step)) => {
            scope.target_undecided(target, step, reason)
        }
        (TargetIssue::Undecided { reason, advice: _ }, None) => {
            let message = format!("it is undecided whether {target} runs the model: {reason}");
            Diagnostic::new(Code::TargetUndecided, message, Location::default())
        }
        (TargetIssue::Operator { reason, advice: _ }, None) => {
            let message = format!("{target} does not load the model: {reason}");
            Diagnostic::new(Code::TargetOperator, message, Location::default())
        }
        (
            TargetIssue::Kernel { .. }
            | TargetIssue::Attribute { .. }
            | TargetIssue::Measured { .. }
            | TargetIssue::Fallback { .. },
            None,
        ) => {
            let code = issue.code();
            Diagnostic::new(code, format!("{target}: {}", code.summary()), Location::default())
        }
    };
    let diagnostic = match issue.advice() {
        Some(advice) => diagnostic.with_help(advice),
        None => diagnostic,
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
