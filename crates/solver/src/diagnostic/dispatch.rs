//! Which words say which fault.

use super::scope::Scope;
use super::{Code, Diagnostic, Severity, files, source};
use crate::catalogue::OpKind;
use crate::fault::{Fault, FaultKind, Place as FaultPlace};
use crate::model::Mode;
use crate::program::{StepId, ValueId};
use crate::rule::{Failure, Port};

impl<'a> Scope<'_, 'a> {
    /// The words of one fault. `value` is the value that a fault about a declaration is about.
    pub(super) fn words(&mut self, fault: &Fault<'a>, value: Option<ValueId>, mode: Mode) -> Diagnostic {
        let Fault { place, kind } = fault;
        let of_node = match place {
            FaultPlace::Step(step) => self.about_node(*step, kind, mode),
            FaultPlace::Body | FaultPlace::Graph(_) | FaultPlace::Value(_) => None,
        };
        let said = match of_node {
            Some(diagnostic) => Some(diagnostic),
            None => self.about_declaration(*place, kind, value, mode),
        };
        let bare = || {
            let code = code_of(kind);
            Diagnostic::new(code, code.summary().to_owned(), self.place(*place))
        };
        let mut diagnostic = said.unwrap_or_else(bare);
        if !fault.is_error(mode) {
            diagnostic.severity = Severity::Warning;
        }
        self.with_source(diagnostic, *place)
    }

    /// The warning about an operator that nobody knows and that permissive mode lets pass.
    pub(super) fn permitted(&mut self, step: StepId) -> Diagnostic {
        let known = match &self.op(step).kind {
            OpKind::Missing(kind) => self.about_node(step, kind, Mode::Permissive),
            OpKind::Schema(_) | OpKind::Declared(_) | OpKind::Function(_) => None,
        };
        let diagnostic = known.unwrap_or_else(|| self.unknown_operator(step, &[], false, Mode::Permissive));
        self.with_source(diagnostic, FaultPlace::Step(step))
    }

    fn with_source(&self, mut diagnostic: Diagnostic, place: FaultPlace) -> Diagnostic {
        if let FaultPlace::Step(step) = place {
            diagnostic.source = source::of_node(self.body().step(step).node);
        }
        diagnostic
    }

    /// The words of a fault about a node.
    fn about_node(&mut self, step: StepId, kind: &FaultKind<'a>, mode: Mode) -> Option<Diagnostic> {
        Some(match kind {
            FaultKind::UndefinedValue { value, input } => self.undefined_value(step, *value, *input),
            FaultKind::UsedBeforeMade { value, input, maker, others } => {
                self.node_order(step, (*value, *input), *maker, *others)
            }
            FaultKind::Cycle { steps } => self.cycle(steps),
            FaultKind::UnknownOperator { near, domain_unknown } => {
                self.unknown_operator(step, near, *domain_unknown, mode)
            }
            FaultKind::NewerOperator { since, imported } => self.newer_operator(step, *since, *imported),
            FaultKind::MissingOpset => self.missing_opset(step),
            FaultKind::DeprecatedOperator { since } => self.deprecated_operator(step, *since),
            FaultKind::SurplusPorts { side, given, most } => self.surplus_ports(step, *side, *given, *most),
            FaultKind::MissingPort { port, name } => self.missing_port(step, *port, name),
            FaultKind::MissingAttribute { name, kind } => self.missing_attribute(step, name, *kind),
            FaultKind::UnknownAttribute { name, near } => self.unknown_attribute(step, name, near),
            FaultKind::AttributeKind { name, found, expected } => {
                self.attribute_kind(step, name, *found, *expected)
            }
            FaultKind::AttributeChoice { name, found, choices } => {
                self.attribute_choice(step, name, found, *choices)
            }
            FaultKind::Disagree { variable: _, left, right } => {
                let notes = self.signature_note(step);
                self.types_differ(step, (left.0, &left.1), (right.0, &right.1), notes)
            }
            FaultKind::NotAllowed { port, found, allowed } => {
                let notes = self.signature_note(step);
                self.not_allowed(step, *port, found, allowed, notes)
            }
            FaultKind::Rule { rule, failure } => self.rule_failed(step, rule, failure),
            FaultKind::Relation { relation, failure } => self.relation_failed(step, relation, failure),
            FaultKind::CallArity { side, given, most } => self.call_arity(step, *side, *given, *most),
            FaultKind::RecursiveFunction { path, hidden } => self.recursive_function(step, path, *hidden),
            FaultKind::CallOutputs { given, has } => self.call_outputs(step, *given, *has),
            FaultKind::CallInput { input, name, reader } => self.call_input(step, *input, name, *reader),
            FaultKind::TooManyInstances { most } => self.too_many_instances(step, *most, mode),
            FaultKind::DuplicateNodeName { name, count, first } => {
                self.duplicate_node_name(step, name, *count, *first)
            }
            FaultKind::Malformed(_)
            | FaultKind::IrVersion { .. }
            | FaultKind::NewerOpset { .. }
            | FaultKind::ExtentOverflow { .. }
            | FaultKind::LimitReached { .. }
            | FaultKind::NestingTooDeep
            | FaultKind::UndefinedOutput { .. }
            | FaultKind::DuplicateValue { .. }
            | FaultKind::Contradiction { .. }
            | FaultKind::DefaultContradicts { .. }
            | FaultKind::NegativeDim { .. }
            | FaultKind::EmptyShape { .. }
            | FaultKind::PlaceholderDim { .. }
            | FaultKind::SeedContradicts { .. }
            | FaultKind::ForcedSymbol { .. }
            | FaultKind::ForcedEquality { .. }
            | FaultKind::Restricted { .. }
            | FaultKind::NarrowedInput { .. }
            | FaultKind::RefutedClaim(_)
            | FaultKind::Assumed { .. }
            | FaultKind::Unresolved { .. }
            | FaultKind::InCase { .. }
            | FaultKind::MissingExternalData { .. } => return None,
        })
    }

    /// The words of a rule that says no.
    fn rule_failed(&mut self, step: StepId, rule: &str, failure: &Failure) -> Diagnostic {
        let notes = self.rule_note(step, rule);
        match failure {
            Failure::Types { left, right } => match self.branches(step, *left, *right) {
                Some(ports) => self.branches_differ(step, ports, notes),
                None => {
                    let types = [*left, *right].map(|port: Port| self.port_type(step, port));
                    self.types_differ(step, (*left, &types[0]), (*right, &types[1]), notes)
                }
            },
            Failure::Element { port, allowed } => self.wrong_element(step, *port, *allowed, notes),
            Failure::Kind { port, expected } => self.wrong_kind(step, *port, expected, notes),
            Failure::Rank { port, found, least, most } => {
                self.wrong_rank(step, *port, (*found, *least, *most), notes)
            }
            Failure::Dims { left, right, relation } => self.dims_differ(step, left, right, relation, notes),
            // What was an attribute in older operator sets can be an input in this one.
            Failure::Attribute { name, message } => match self.input_named(step, name) {
                Some(port) => self.input_value(step, port, message, notes),
                None => self.attribute_value(step, name, message, notes),
            },
            Failure::Value { port, message } => self.input_value(step, *port, message, notes),
            Failure::Shapes { ports, message } => self.shapes_differ(step, ports, message, notes),
            Failure::Contradiction { port, known, computed, message } => {
                self.shape_contradicts(step, *port, (known, computed), message, notes)
            }
            Failure::Body { graph, message } => self.body_differs(step, *graph, message, notes),
            Failure::Relation(failure) => self.relation_failed(step, rule, failure),
            Failure::Malformed(error) => files::malformed(error, self.place_of_step(step)),
        }
    }

    /// The words of a fault about a declaration, a name or the file.
    fn about_declaration(
        &mut self,
        place: FaultPlace,
        kind: &FaultKind<'a>,
        value: Option<ValueId>,
        mode: Mode,
    ) -> Option<Diagnostic> {
        Some(match kind {
            FaultKind::IrVersion { found, newest } => files::ir_version(*found, *newest, mode),
            FaultKind::NewerOpset { function, domain, imported, newest } => {
                files::newer_opset(function.as_deref(), domain, (*imported, *newest), mode)
            }
            FaultKind::LimitReached { value, limit } => self.limit_reached(place, *value, *limit),
            FaultKind::ExtentOverflow { value } => self.extent_overflow(place, *value),
            FaultKind::Malformed(error) => files::malformed(error, self.place(place)),
            FaultKind::NestingTooDeep => files::too_deep(self.place(place)),
            FaultKind::UndefinedOutput { value } => {
                let graph = match place {
                    FaultPlace::Graph(graph) => graph,
                    FaultPlace::Body | FaultPlace::Step(_) | FaultPlace::Value(_) => self.body().root(),
                };
                self.undefined_output(graph, *value)
            }
            FaultKind::DuplicateValue { first, output } => self.duplicate_value(place, *first, *output),
            FaultKind::Contradiction { declared_in, declared, inferred, axis } => {
                self.contradiction(place, value, *declared_in, (declared, inferred), *axis)
            }
            FaultKind::DefaultContradicts { declared, found } => {
                self.default_contradicts(place, value, (declared, found))
            }
            FaultKind::NegativeDim { declared_in, axis, extent } => {
                self.negative_dim(place, value, *declared_in, *axis, *extent)
            }
            FaultKind::EmptyShape { value, declared_in, shown } => {
                self.empty_shape(place, *value, *declared_in, shown)
            }
            FaultKind::PlaceholderDim { value, axis, mark, others } => {
                self.placeholder_dim(place, *value, *axis, mark, *others)
            }
            FaultKind::SeedContradicts { seed, found } => self.seed_contradicts(place, value, (seed, found)),
            FaultKind::ForcedSymbol { symbol, values, equation, baked } => {
                self.forced_symbol(place, (*symbol, values), equation, *baked)
            }
            FaultKind::Restricted { condition, equation, binding } => {
                self.restricted_symbol(place, *condition, equation, binding)
            }
            FaultKind::NarrowedInput { value, axis, extent } => {
                self.narrowed_input(place, *value, *axis, *extent)
            }
            FaultKind::ForcedEquality { left, right, equation } => {
                self.forced_equality(place, *left, *right, equation)
            }
            FaultKind::RefutedClaim(claim) => self.refuted_claim(place, claim),
            FaultKind::Assumed { value, declared, derived } => {
                self.assumed_type(place, *value, (declared, derived))
            }
            FaultKind::Unresolved { value, known, possible } => {
                self.unresolved(place, *value, known, *possible)
            }
            FaultKind::MissingExternalData { reason } => {
                let name = value.map(|value| self.value_word(value));
                files::missing_external_data(name, reason, self.place(place))
            }
            FaultKind::UndefinedValue { .. }
            | FaultKind::UsedBeforeMade { .. }
            | FaultKind::Cycle { .. }
            | FaultKind::UnknownOperator { .. }
            | FaultKind::NewerOperator { .. }
            | FaultKind::MissingOpset
            | FaultKind::DeprecatedOperator { .. }
            | FaultKind::SurplusPorts { .. }
            | FaultKind::MissingPort { .. }
            | FaultKind::MissingAttribute { .. }
            | FaultKind::UnknownAttribute { .. }
            | FaultKind::AttributeKind { .. }
            | FaultKind::Disagree { .. }
            | FaultKind::NotAllowed { .. }
            | FaultKind::Rule { .. }
            | FaultKind::Relation { .. }
            | FaultKind::AttributeChoice { .. }
            | FaultKind::CallArity { .. }
            | FaultKind::CallOutputs { .. }
            | FaultKind::CallInput { .. }
            | FaultKind::TooManyInstances { .. }
            | FaultKind::DuplicateNodeName { .. }
            | FaultKind::RecursiveFunction { .. }
            | FaultKind::InCase { .. } => return None,
        })
    }
}

/// The code of a fault, as far as its kind alone decides it.
pub(super) fn code_of(kind: &FaultKind<'_>) -> Code {
    match kind {
        FaultKind::Malformed(error) => files::code_of_bytes(error),
        FaultKind::IrVersion { .. } => Code::IrVersion,
        FaultKind::NewerOpset { .. } => Code::NewerOpset,
        FaultKind::DuplicateNodeName { .. } => Code::DuplicateNodeName,
        FaultKind::ExtentOverflow { .. } => Code::ExtentOverflow,
        FaultKind::LimitReached { .. } => Code::LimitReached,
        FaultKind::AttributeChoice { .. } => Code::AttributeValue,
        FaultKind::CallOutputs { .. } | FaultKind::CallInput { .. } => Code::CallArity,
        FaultKind::TooManyInstances { .. } => Code::TooManyInstances,
        FaultKind::NestingTooDeep => Code::NestingTooDeep,
        FaultKind::UndefinedValue { .. } => Code::UndefinedValue,
        FaultKind::UsedBeforeMade { .. } => Code::NodeOrder,
        FaultKind::Cycle { .. } => Code::Cycle,
        FaultKind::DuplicateValue { .. } => Code::DuplicateValue,
        FaultKind::UndefinedOutput { .. } => Code::UndefinedOutput,
        FaultKind::UnknownOperator { .. } => Code::UnknownOperator,
        FaultKind::NewerOperator { .. } => Code::NewerOperator,
        FaultKind::MissingOpset => Code::MissingOpset,
        FaultKind::DeprecatedOperator { .. } => Code::DeprecatedOperator,
        FaultKind::SurplusPorts { .. } => Code::SurplusPorts,
        FaultKind::MissingPort { port: Port::In(_) | Port::BodyIn(..), .. } => Code::MissingInput,
        FaultKind::MissingPort { port: Port::Out(_) | Port::BodyOut(..), .. } => Code::MissingOutput,
        FaultKind::MissingAttribute { .. } => Code::MissingAttribute,
        FaultKind::UnknownAttribute { .. } => Code::UnknownAttribute,
        FaultKind::AttributeKind { .. } => Code::AttributeKind,
        FaultKind::Disagree { .. } => Code::ElementTypeMismatch,
        FaultKind::NotAllowed { .. } => Code::ElementTypeNotAllowed,
        FaultKind::Rule { failure, .. } => match failure {
            Failure::Types { .. } => Code::ElementTypeMismatch,
            Failure::Element { .. } => Code::ElementTypeNotAllowed,
            Failure::Kind { .. } => Code::TypeMismatch,
            Failure::Rank { .. } => Code::WrongRank,
            Failure::Dims { .. } => Code::DimMismatch,
            Failure::Attribute { .. } => Code::AttributeValue,
            Failure::Value { .. } => Code::InputValue,
            Failure::Shapes { .. } | Failure::Contradiction { .. } => Code::ShapeMismatch,
            Failure::Body { .. } => Code::BodyMismatch,
            Failure::Relation(_) => Code::RelationFailed,
            Failure::Malformed(error) => files::code_of_bytes(error),
        },
        FaultKind::Relation { .. } => Code::RelationFailed,
        FaultKind::Contradiction { .. } | FaultKind::RefutedClaim(_) => Code::DeclaredTypeContradiction,
        FaultKind::DefaultContradicts { .. } => Code::DefaultContradiction,
        FaultKind::NegativeDim { .. } => Code::NegativeDim,
        FaultKind::EmptyShape { .. } => Code::EmptyShape,
        FaultKind::PlaceholderDim { .. } => Code::PlaceholderDim,
        FaultKind::SeedContradicts { .. } => Code::SeedContradiction,
        FaultKind::CallArity { .. } => Code::CallArity,
        FaultKind::RecursiveFunction { .. } => Code::RecursiveFunction,
        FaultKind::ForcedSymbol { .. } => Code::ForcedSymbol,
        FaultKind::ForcedEquality { .. } => Code::ForcedEquality,
        FaultKind::Restricted { .. } | FaultKind::NarrowedInput { .. } => Code::RestrictedSymbol,
        FaultKind::Assumed { .. } => Code::AssumedType,
        FaultKind::Unresolved { .. } => Code::UnresolvedType,
        FaultKind::InCase { .. } => Code::BranchMismatch,
        FaultKind::MissingExternalData { .. } => Code::MissingExternalData,
    }
}
