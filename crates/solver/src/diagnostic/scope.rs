//! Access to one body for messages: names, types, signatures and printed nodes.
//!
//! The functions of `codes` are methods of [`Scope`]. It combines the tables of the solve with one body, of
//! the main graph or of a function, and converts ids to text:
//!
//! ```text
//! name (value 3)            `h`
//! node_text (step 1)        `attn`, or `Softmax` (#1) for a node without a name
//! show (Tensor { .. })      float[N, 128]
//! snippet (step 1, marks)   h = Softmax <axis = -1> (x)     with labels under its parts
//! ```
//!
//! [`Content`] limits a scope. The later diagnostics of a long list have printed nodes, but no causes or
//! suggestions, and a caller that needs messages only gets neither. `budget` is shared by all scopes of a
//! list, so the searches of all its diagnostics are bounded together.
//!
//! **Invariant:** every text of the model is escaped on its way into a diagnostic: names by `quote`, types by
//! [`Scope::show`], and messages, notes and help by the constructors of [`Diagnostic`]. So a name with line
//! breaks or control characters cannot imitate output.
//!
//! **Invariant:** texts never contain an id of the solver.
//!
//! **Limits:** a type of more than [`MAX_SHOWN`] axes is shown with its first [`FEW`], and more than
//! [`MAX_ELEMS`] possible element types are not listed.

use std::borrow::Cow;
use std::cell::RefCell;

use typeloom_onnx::text::{escape, escape_lines};

use super::{
    Code, Diagnostic, Doubt, Location, Mark, NodeLocation, Part, Role, Safety, Snippet, ValueLocation,
    did_you_mean, graph_path, list, node, quote,
};
use crate::operators::{FunctionId, Op, OpKind, Operators};
use crate::program::{Body, DeclarationKind, GraphId, Origin, StepId, ValueId};
use crate::rule::Port;
use crate::signature::Schema;
use crate::solution::{TensorType, Type};
use crate::solve_error::ErrorSite;
use crate::state::Core;
use crate::state::frame::Frame;

/// The maximum number of element types that are listed.
const MAX_ELEMS: usize = 6;
/// Maximum rank of a type that is shown in full. No runtime has more axes.
const MAX_SHOWN: usize = 64;
/// Number of axes that are shown of a larger rank.
const FEW: usize = 8;

/// The parts of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Content {
    /// The code, the location and the message.
    Message,
    /// Also printed nodes, declarations and calls.
    Snippets,
    /// Also causes and suggestions, which are searched in the body.
    Causes,
}

/// A body, with the tables that messages about it need.
pub(super) struct Scope<'d, 'a> {
    pub(super) core: &'d mut Core<'a>,
    pub(super) frame: &'d Frame<'a>,
    pub(super) operators: &'d Operators<'a>,
    /// The function, if the body belongs to one.
    pub(super) function: Option<FunctionId>,
    pub(super) content: Content,
    /// The number of values that may still be visited in search of causes.
    pub(super) budget: &'d mut usize,
    /// Long expressions of the current message, with the names that it uses for them.
    pub(super) named: RefCell<Vec<(String, String)>>,
}

impl<'d, 'a> Scope<'d, 'a> {
    pub(super) fn body(&self) -> &'d Body<'a> {
        &self.frame.body
    }

    /// Whether causes and suggestions are searched.
    pub(super) fn explains(&self) -> bool {
        self.content >= Content::Causes
    }

    /// The operator of a step.
    pub(super) fn op(&self, step: StepId) -> &'d Op<'a> {
        self.operators.op(self.body().step(step).op)
    }

    /// The operator of a step, as a noun.
    pub(super) fn op_text(&self, step: StepId) -> String {
        let op = self.op(step);
        match op.kind {
            OpKind::Function(_) if !op.domain.is_empty() => quote(&format!("{}.{}", op.domain, op.name)),
            OpKind::Function(_) | OpKind::Schema(_) | OpKind::Declared(_) | OpKind::Missing(_) => {
                quote(op.name)
            }
        }
    }

    /// The declared signature of a step's operator.
    pub(super) fn schema(&self, step: StepId) -> Option<&'a Schema> {
        self.op(step).kind.schema()
    }

    /// A node, as a noun: its name, or its operator and position.
    pub(super) fn node_text(&self, step: StepId) -> String {
        let record = self.body().step(step);
        match record.node.name().unwrap_or_default() {
            "" => format!("{} (#{})", quote(self.body().op_name(step)), record.position),
            name => quote(name),
        }
    }

    /// The value at a port of a node.
    pub(super) fn value(&self, step: StepId, port: Port) -> Option<ValueId> {
        self.body().at_port(step, port)
    }

    /// The node that defines a value.
    pub(super) fn maker(&self, value: ValueId) -> Option<StepId> {
        self.body().value(value).origin.step()
    }

    /// The output of a node that defines a value; the operator if there is none.
    pub(super) fn output_part<'n>(&self, step: StepId, value: ValueId) -> Part<'n> {
        let body = self.body();
        let at = body.outputs(body.last_step(step)).iter().position(|output| *output == Some(value));
        at.map_or(Part::Operator, Part::Output)
    }

    /// The input of a node that reads a value; the operator if there is none.
    pub(super) fn input_part<'n>(&self, step: StepId, value: ValueId) -> Part<'n> {
        let body = self.body();
        let at = body.inputs(body.first_step(step)).iter().position(|input| *input == Some(value));
        at.map_or(Part::Operator, Part::Input)
    }

    /// A value's name in backticks.
    pub(super) fn name(&self, value: ValueId) -> String {
        quote(self.body().value_name(value))
    }

    /// The value at a port, as a noun.
    pub(super) fn port_text(&self, step: StepId, port: Port) -> String {
        let (Port::In(at) | Port::Out(at) | Port::BodyIn(_, at) | Port::BodyOut(_, at)) = port;
        let value = self.value(step, port).map(|value| self.name(value));
        let is_named = value.is_some();
        let formal = || self.formal(step, port).map(quote);
        let name = value.or_else(formal).unwrap_or_else(|| format!("#{at}"));
        match port {
            Port::In(_) if is_named => name,
            Port::In(_) => format!("input {name}"),
            Port::Out(_) => format!("output {name}"),
            Port::BodyIn(graph, _) => format!("input {name} of {}", self.graph_text(graph)),
            Port::BodyOut(graph, _) => format!("output {name} of {}", self.graph_text(graph)),
        }
    }

    /// A graph, by the attribute that contains it.
    pub(super) fn graph_text(&self, graph: GraphId) -> String {
        match self.body().graph(graph).owner {
            Some(owner) => match owner.position {
                Some(at) => format!("{} #{at}", quote(owner.attribute)),
                None => quote(owner.attribute),
            },
            None => "the graph".to_owned(),
        }
    }

    /// The declared name of a port.
    pub(super) fn formal(&self, step: StepId, port: Port) -> Option<&'a str> {
        Some(&self.schema(step)?.formal(port)?.name)
    }

    /// The part of the printed node for a port.
    pub(super) fn part(&self, port: Port) -> Part<'a> {
        match port {
            Port::In(at) => Part::Input(at),
            Port::Out(at) => Part::Output(at),
            Port::BodyIn(graph, _) | Port::BodyOut(graph, _) => match self.body().graph(graph).owner {
                Some(owner) => Part::AttributeName(owner.attribute),
                None => Part::Operator,
            },
        }
    }

    /// The known type of a value.
    pub(super) fn type_of(&mut self, value: ValueId) -> Type {
        self.core.snapshot(self.frame, value)
    }

    /// The known type of the value at a port.
    pub(super) fn port_type(&mut self, step: StepId, port: Port) -> Type {
        self.value(step, port).map_or(Type::Unknown(None), |value| self.type_of(value))
    }

    /// A type in ONNX's syntax.
    pub(super) fn show(&self, ty: &Type) -> String {
        match ty {
            Type::Unknown(None) => "of unknown type".to_owned(),
            Type::Tensor(TensorType { elem, shape: Some(shape) }) if shape.len() > MAX_SHOWN => {
                let first = TensorType { elem: *elem, shape: Some(shape[..FEW].into()) };
                let shown = self.show(&Type::Tensor(first));
                format!("{}, {} more axes]", shown.trim_end_matches(']'), shape.len() - FEW)
            }
            ty => escaped(ty.display(self.core.types.universe(), &self.core.dims).to_string()),
        }
    }

    /// A tensor type without its shape; any other type in full.
    pub(super) fn show_elem(&self, ty: &Type) -> String {
        let Type::Tensor(tensor) = ty else { return self.show(ty) };
        if tensor.elem.len() as usize > MAX_ELEMS {
            return "of unknown element type".to_owned();
        }
        let universe = self.core.types.universe();
        let names: Vec<String> = tensor.elem.iter().map(|elem| universe.elem_name(elem).to_owned()).collect();
        list(&names, "or")
    }

    /// A mark on a port with its type and the origin of the type.
    pub(super) fn mark(&mut self, step: StepId, port: Port, shown: &str, primary: bool) -> Mark<'a> {
        let cause = self.value(step, port).map(|value| self.cause(value, Doubt::Node(step)));
        let text = match cause {
            Some(cause) => format!("{shown}, {cause}"),
            None => shown.to_owned(),
        };
        Mark { part: self.part(port), text, primary }
    }

    /// The printed node of a step with marks.
    pub(super) fn snippet(&self, step: StepId, marks: &[Mark<'_>]) -> Option<Snippet> {
        if self.content < Content::Snippets {
            return None;
        }
        let record = self.body().step(step);
        node::snippet(record.node, record.position as usize, marks)
    }

    /// A diagnostic at a node that is printed with marks.
    pub(super) fn node_diagnostic(
        &self,
        code: Code,
        step: StepId,
        message: String,
        marks: &[Mark<'_>],
    ) -> Diagnostic {
        Diagnostic::new(code, message, self.location_of_step(step)).with_snippets(self.snippet(step, marks))
    }

    /// The node at a site with a label at one of its outputs; `None` for another site.
    pub(super) fn output_snippet(
        &self,
        site: ErrorSite,
        value: ValueId,
        text: impl Into<String>,
    ) -> Option<Snippet> {
        let step = site.step()?;
        self.snippet(step, &[Mark::primary(self.output_part(step, value), text)])
    }

    /// The printed node of another step than the diagnostic's own.
    pub(super) fn other_snippet(&self, step: StepId, marks: &[Mark<'_>]) -> Option<Snippet> {
        let location = Some(self.location_of_step(step));
        self.snippet(step, marks).map(|snippet| Snippet { location, ..snippet })
    }

    /// The location of a node.
    pub(super) fn location_of_step(&self, step: StepId) -> Location {
        let record = self.body().step(step);
        let node = NodeLocation {
            index: record.position as usize,
            name: record.node.name().unwrap_or_default().to_owned(),
            operator: self.body().op_name(step).to_owned(),
            output: record.node.outputs().flatten().find(|name| !name.is_empty()).map(str::to_owned),
        };
        Location { node: Some(node), ..self.location_of_graph(record.graph) }
    }

    /// The location of a value that no node defines.
    pub(super) fn location_of_value(&self, value: ValueId, role: Role) -> Location {
        let name = self.body().value_name(value).to_owned();
        Location {
            value: Some(ValueLocation { name, role }),
            ..self.location_of_graph(self.body().value(value).graph)
        }
    }

    /// The location of a graph.
    pub(super) fn location_of_graph(&self, graph: GraphId) -> Location {
        let function = self.function.map(|function| self.function_name(function));
        Location { function, graph: graph_path(self.body(), graph), ..Location::default() }
    }

    /// The location of an error site.
    pub(super) fn location(&self, site: ErrorSite) -> Location {
        match site {
            ErrorSite::Body => self.location_of_graph(self.body().root()),
            ErrorSite::Graph(graph) => self.location_of_graph(graph),
            ErrorSite::Step(step) => self.location_of_step(step),
            ErrorSite::Value(value) => self.location_of_value(value, self.role(value)),
        }
    }

    /// The role of a value in its graph; outputs have the role of a plain value.
    pub(super) fn role(&self, value: ValueId) -> Role {
        match self.body().value(value).origin {
            Origin::Input | Origin::InputWithDefault(_) => Role::Input,
            Origin::Initializer(_) => Role::Initializer,
            Origin::Step(_) | Origin::Undefined => Role::Value,
        }
    }

    /// A value with its role, as a noun: ``graph input `x` ``.
    pub(super) fn value_text(&self, value: ValueId) -> String {
        let nested = self.body().graph(self.body().value(value).graph).owner;
        match (self.role(value), nested) {
            (Role::Value, _) => self.name(value),
            (Role::Input, Some(owner)) => format!("input {} of {}", self.name(value), quote(owner.attribute)),
            (role, _) => format!("{} {}", role.name(), self.name(value)),
        }
    }

    /// A function's name with its domain.
    pub(super) fn function_name(&self, function: FunctionId) -> String {
        let function = &self.operators.functions()[function.index()];
        if function.domain.is_empty() {
            function.name.to_owned()
        } else {
            format!("{}.{}", function.domain, function.name)
        }
    }

    /// The rule of a declared signature, as a note.
    pub(super) fn signature_note(&self, step: StepId) -> Vec<String> {
        let name = format!("{}.element", self.op(step).name.to_lowercase());
        self.rule_note(step, &name)
    }

    /// A rule, as a note: its name and the operator set that has it in this form.
    pub(super) fn rule_note(&self, step: StepId, rule: &str) -> Vec<String> {
        if rule.is_empty() {
            return Vec::new();
        }
        vec![match self.schema(step) {
            Some(schema) if schema.domain.is_empty() => {
                format!("rule {rule} (opset {})", schema.since_version)
            }
            Some(schema) => format!("rule {rule} ({} opset {})", schema.domain, schema.since_version),
            None => format!("rule {rule}"),
        }]
    }

    /// The list of the graph that declares a type, as text that follows "declared".
    pub(super) fn list_text(&self, kind: DeclarationKind, graph: GraphId) -> String {
        let owner = self.body().graph(graph).owner;
        match (kind, owner) {
            (DeclarationKind::Input, None) => "as graph input".to_owned(),
            (DeclarationKind::Output, None) => "as graph output".to_owned(),
            (DeclarationKind::Input, Some(owner)) => format!("as input of {}", quote(owner.attribute)),
            (DeclarationKind::Output, Some(owner)) => format!("as output of {}", quote(owner.attribute)),
            (DeclarationKind::Value, _) => "in value_info".to_owned(),
        }
    }
}

/// The text on one line, see [`escape`].
pub(super) fn escaped(text: String) -> String {
    match escape(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(escaped) => escaped,
    }
}

impl Diagnostic {
    /// A diagnostic with a message only, of the severity in strict mode.
    #[must_use]
    pub fn new(code: Code, message: String, location: Location) -> Self {
        Self {
            code,
            severity: code.severity(),
            // Types hold symbols with any name.
            message: escaped(message),
            location,
            value: None,
            also: Vec::new(),
            snippets: Vec::new(),
            notes: Vec::new(),
            proposed_type: None,
            help: None,
            fix: None,
            safety: Safety::Safe,
            source: None,
        }
    }

    pub(super) fn with_snippets(mut self, snippets: impl IntoIterator<Item = Snippet>) -> Self {
        self.snippets.extend(snippets);
        self
    }

    /// Adds notes.
    #[must_use]
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes.into_iter().map(|note| match escape_lines(&note) {
            Cow::Borrowed(_) => note,
            Cow::Owned(escaped) => escaped,
        }));
        self
    }

    /// Sets the proposed repair.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(escaped(help.into()));
        self
    }

    /// Adds lines to the proposed repair, such as a text to be copied.
    pub(super) fn with_help_lines(mut self, lines: &str) -> Self {
        let help = self.help.get_or_insert_default();
        help.push('\n');
        help.push_str(&escape_lines(lines));
        self
    }

    /// Adds the names that are close to a misspelt one, and the fix that uses the closest, which is a guess.
    pub(super) fn with_suggestion(self, near: &[String], fix: impl FnOnce(String) -> super::Fix) -> Self {
        match (did_you_mean(near), near) {
            (Some(help), [to, ..]) => self.with_help(help).with_fix(fix(to.clone()), Safety::Unsafe),
            (_, _) => self,
        }
    }

    pub(super) fn with_fix(mut self, fix: super::Fix, safety: Safety) -> Self {
        self.fix = Some(fix);
        self.safety = safety;
        self
    }
}
