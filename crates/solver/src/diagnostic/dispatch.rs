//! Which words say which error.

use super::scope::Scope;
use super::{Code, Diagnostic, Severity, files, source};
use crate::catalogue::OpKind;
use crate::model::Mode;
use crate::program::{StepId, ValueId};
use crate::rule::{Failure, Port};
use crate::solve_error::{ErrorSite, SolveError, SolveErrorKind};

impl<'a> Scope<'_, 'a> {
    /// The words of one error. `value` is the value that a error about a declaration is about.
    pub(super) fn words(&mut self, error: &SolveError<'a>, value: Option<ValueId>, mode: Mode) -> Diagnostic {
        let SolveError { site, kind } = error;
        let of_node = match site {
            ErrorSite::Step(step) => self.about_node(*step, kind, mode),
            ErrorSite::Body | ErrorSite::Graph(_) | ErrorSite::Value(_) => None,
        };
        let said = match of_node {
            Some(diagnostic) => Some(diagnostic),
            None => self.about_declaration(*site, kind, value, mode),
        };
        let bare = || {
            let code = code_of(kind);
            Diagnostic::new(code, code.summary().to_owned(), self.location(*site))
        };
        let mut diagnostic = said.unwrap_or_else(bare);
        if !error.is_error(mode) {
            diagnostic.severity = Severity::Warning;
        }
        self.with_source(diagnostic, *site)
    }

    /// The warning about an operator that nobody knows and that permissive mode lets pass.
    pub(super) fn permitted(&mut self, step: StepId) -> Diagnostic {
        let known = match &self.op(step).kind {
            OpKind::Missing(kind) => self.about_node(step, kind, Mode::Permissive),
            OpKind::Schema(_) | OpKind::Declared(_) | OpKind::Function(_) => None,
        };
        let diagnostic = known.unwrap_or_else(|| self.unknown_operator(step, &[], false, Mode::Permissive));
        self.with_source(diagnostic, ErrorSite::Step(step))
    }

    fn with_source(&self, mut diagnostic: Diagnostic, site: ErrorSite) -> Diagnostic {
        if let ErrorSite::Step(step) = site {
            diagnostic.source = source::of_node(self.body().step(step).node);
        }
        diagnostic
    }

    /// The words of a error about a node.
    fn about_node(&mut self, step: StepId, kind: &SolveErrorKind<'a>, mode: Mode) -> Option<Diagnostic> {
        Some(match kind {
            SolveErrorKind::UndefinedValue { value, input } => self.undefined_value(step, *value, *input),
            SolveErrorKind::UsedBeforeMade { value, input, maker, others } => {
                self.node_order(step, (*value, *input), *maker, *others)
            }
            SolveErrorKind::Cycle { steps } => self.cycle(steps),
            SolveErrorKind::UnknownOperator { near, domain_unknown } => {
                self.unknown_operator(step, near, *domain_unknown, mode)
            }
            SolveErrorKind::NewerOperator { since, imported } => self.newer_operator(step, *since, *imported),
            SolveErrorKind::MissingOpset => self.missing_opset(step),
            SolveErrorKind::DeprecatedOperator { since } => self.deprecated_operator(step, *since),
            SolveErrorKind::SurplusPorts { side, given, most } => {
                self.surplus_ports(step, *side, *given, *most)
            }
            SolveErrorKind::MissingPort { port, name } => self.missing_port(step, *port, name),
            SolveErrorKind::MissingAttribute { name, kind } => self.missing_attribute(step, name, *kind),
            SolveErrorKind::UnknownAttribute { name, near } => self.unknown_attribute(step, name, near),
            SolveErrorKind::AttributeKind { name, found, expected } => {
                self.attribute_kind(step, name, *found, *expected)
            }
            SolveErrorKind::AttributeChoice { name, found, choices } => {
                self.attribute_choice(step, name, found, *choices)
            }
            SolveErrorKind::Disagree { variable: _, left, right } => {
                let notes = self.signature_note(step);
                self.types_differ(step, (left.0, &left.1), (right.0, &right.1), notes)
            }
            SolveErrorKind::NotAllowed { port, found, allowed } => {
                let notes = self.signature_note(step);
                self.not_allowed(step, *port, found, allowed, notes)
            }
            SolveErrorKind::Rule { rule, failure } => self.rule_failed(step, rule, failure),
            SolveErrorKind::Relation { relation, failure } => self.relation_failed(step, relation, failure),
            SolveErrorKind::CallArity { side, given, most } => self.call_arity(step, *side, *given, *most),
            SolveErrorKind::RecursiveFunction { path, hidden } => {
                self.recursive_function(step, path, *hidden)
            }
            SolveErrorKind::CallOutputs { given, has } => self.call_outputs(step, *given, *has),
            SolveErrorKind::CallInput { input, name, reader } => self.call_input(step, *input, name, *reader),
            SolveErrorKind::TooManyInstances { most } => self.too_many_instances(step, *most, mode),
            SolveErrorKind::DuplicateNodeName { name, count, first } => {
                self.duplicate_node_name(step, name, *count, *first)
            }
            SolveErrorKind::Malformed(_)
            | SolveErrorKind::IrVersion { .. }
            | SolveErrorKind::NewerOpset { .. }
            | SolveErrorKind::ExtentOverflow { .. }
            | SolveErrorKind::LimitReached { .. }
            | SolveErrorKind::NestingTooDeep
            | SolveErrorKind::UndefinedOutput { .. }
            | SolveErrorKind::DuplicateValue { .. }
            | SolveErrorKind::Contradiction { .. }
            | SolveErrorKind::DefaultContradicts { .. }
            | SolveErrorKind::NegativeDim { .. }
            | SolveErrorKind::EmptyShape { .. }
            | SolveErrorKind::PlaceholderDim { .. }
            | SolveErrorKind::SeedContradicts { .. }
            | SolveErrorKind::ForcedSymbol { .. }
            | SolveErrorKind::ForcedEquality { .. }
            | SolveErrorKind::Restricted { .. }
            | SolveErrorKind::NarrowedInput { .. }
            | SolveErrorKind::RefutedClaim(_)
            | SolveErrorKind::Assumed { .. }
            | SolveErrorKind::Unresolved { .. }
            | SolveErrorKind::InCase { .. }
            | SolveErrorKind::MissingExternalData { .. } => return None,
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
            Failure::Malformed(error) => files::malformed(error, self.location_of_step(step)),
        }
    }

    /// The words of a error about a declaration, a name or the file.
    fn about_declaration(
        &mut self,
        site: ErrorSite,
        kind: &SolveErrorKind<'a>,
        value: Option<ValueId>,
        mode: Mode,
    ) -> Option<Diagnostic> {
        Some(match kind {
            SolveErrorKind::IrVersion { found, newest } => files::ir_version(*found, *newest, mode),
            SolveErrorKind::NewerOpset { function, domain, imported, newest } => {
                files::newer_opset(function.as_deref(), domain, (*imported, *newest), mode)
            }
            SolveErrorKind::LimitReached { value, limit } => self.limit_reached(site, *value, *limit),
            SolveErrorKind::ExtentOverflow { value } => self.extent_overflow(site, *value),
            SolveErrorKind::Malformed(error) => files::malformed(error, self.location(site)),
            SolveErrorKind::NestingTooDeep => files::too_deep(self.location(site)),
            SolveErrorKind::UndefinedOutput { value } => {
                let graph = match site {
                    ErrorSite::Graph(graph) => graph,
                    ErrorSite::Body | ErrorSite::Step(_) | ErrorSite::Value(_) => self.body().root(),
                };
                self.undefined_output(graph, *value)
            }
            SolveErrorKind::DuplicateValue { first, output } => self.duplicate_value(site, *first, *output),
            SolveErrorKind::Contradiction { declared_in, declared, inferred, axis } => {
                self.contradiction(site, value, *declared_in, (declared, inferred), *axis)
            }
            SolveErrorKind::DefaultContradicts { declared, found } => {
                self.default_contradicts(site, value, (declared, found))
            }
            SolveErrorKind::NegativeDim { declared_in, axis, extent } => {
                self.negative_dim(site, value, *declared_in, *axis, *extent)
            }
            SolveErrorKind::EmptyShape { value, declared_in, shown } => {
                self.empty_shape(site, *value, *declared_in, shown)
            }
            SolveErrorKind::PlaceholderDim { value, axis, mark, others } => {
                self.placeholder_dim(site, *value, *axis, mark, *others)
            }
            SolveErrorKind::SeedContradicts { seed, found } => {
                self.seed_contradicts(site, value, (seed, found))
            }
            SolveErrorKind::ForcedSymbol { symbol, values, equation, baked } => {
                self.forced_symbol(site, (*symbol, values), equation, *baked)
            }
            SolveErrorKind::Restricted { condition, equation, binding } => {
                self.restricted_symbol(site, *condition, equation, binding)
            }
            SolveErrorKind::NarrowedInput { value, axis, extent } => {
                self.narrowed_input(site, *value, *axis, *extent)
            }
            SolveErrorKind::ForcedEquality { left, right, equation } => {
                self.forced_equality(site, *left, *right, equation)
            }
            SolveErrorKind::RefutedClaim(claim) => self.refuted_claim(site, claim),
            SolveErrorKind::Assumed { value, declared, derived } => {
                self.assumed_type(site, *value, (declared, derived))
            }
            SolveErrorKind::Unresolved { value, known, possible } => {
                self.unresolved(site, *value, known, *possible)
            }
            SolveErrorKind::MissingExternalData { reason } => {
                let name = value.map(|value| self.value_word(value));
                files::missing_external_data(name, reason, self.location(site))
            }
            SolveErrorKind::UndefinedValue { .. }
            | SolveErrorKind::UsedBeforeMade { .. }
            | SolveErrorKind::Cycle { .. }
            | SolveErrorKind::UnknownOperator { .. }
            | SolveErrorKind::NewerOperator { .. }
            | SolveErrorKind::MissingOpset
            | SolveErrorKind::DeprecatedOperator { .. }
            | SolveErrorKind::SurplusPorts { .. }
            | SolveErrorKind::MissingPort { .. }
            | SolveErrorKind::MissingAttribute { .. }
            | SolveErrorKind::UnknownAttribute { .. }
            | SolveErrorKind::AttributeKind { .. }
            | SolveErrorKind::Disagree { .. }
            | SolveErrorKind::NotAllowed { .. }
            | SolveErrorKind::Rule { .. }
            | SolveErrorKind::Relation { .. }
            | SolveErrorKind::AttributeChoice { .. }
            | SolveErrorKind::CallArity { .. }
            | SolveErrorKind::CallOutputs { .. }
            | SolveErrorKind::CallInput { .. }
            | SolveErrorKind::TooManyInstances { .. }
            | SolveErrorKind::DuplicateNodeName { .. }
            | SolveErrorKind::RecursiveFunction { .. }
            | SolveErrorKind::InCase { .. } => return None,
        })
    }
}

/// The code of a error, as far as its kind alone decides it.
pub(super) fn code_of(kind: &SolveErrorKind<'_>) -> Code {
    match kind {
        SolveErrorKind::Malformed(error) => files::code_of_bytes(error),
        SolveErrorKind::IrVersion { .. } => Code::IrVersion,
        SolveErrorKind::NewerOpset { .. } => Code::NewerOpset,
        SolveErrorKind::DuplicateNodeName { .. } => Code::DuplicateNodeName,
        SolveErrorKind::ExtentOverflow { .. } => Code::ExtentOverflow,
        SolveErrorKind::LimitReached { .. } => Code::LimitReached,
        SolveErrorKind::AttributeChoice { .. } => Code::AttributeValue,
        SolveErrorKind::CallOutputs { .. } | SolveErrorKind::CallInput { .. } => Code::CallArity,
        SolveErrorKind::TooManyInstances { .. } => Code::TooManyInstances,
        SolveErrorKind::NestingTooDeep => Code::NestingTooDeep,
        SolveErrorKind::UndefinedValue { .. } => Code::UndefinedValue,
        SolveErrorKind::UsedBeforeMade { .. } => Code::NodeOrder,
        SolveErrorKind::Cycle { .. } => Code::Cycle,
        SolveErrorKind::DuplicateValue { .. } => Code::DuplicateValue,
        SolveErrorKind::UndefinedOutput { .. } => Code::UndefinedOutput,
        SolveErrorKind::UnknownOperator { .. } => Code::UnknownOperator,
        SolveErrorKind::NewerOperator { .. } => Code::NewerOperator,
        SolveErrorKind::MissingOpset => Code::MissingOpset,
        SolveErrorKind::DeprecatedOperator { .. } => Code::DeprecatedOperator,
        SolveErrorKind::SurplusPorts { .. } => Code::SurplusPorts,
        SolveErrorKind::MissingPort { port: Port::In(_) | Port::BodyIn(..), .. } => Code::MissingInput,
        SolveErrorKind::MissingPort { port: Port::Out(_) | Port::BodyOut(..), .. } => Code::MissingOutput,
        SolveErrorKind::MissingAttribute { .. } => Code::MissingAttribute,
        SolveErrorKind::UnknownAttribute { .. } => Code::UnknownAttribute,
        SolveErrorKind::AttributeKind { .. } => Code::AttributeKind,
        SolveErrorKind::Disagree { .. } => Code::ElementTypeMismatch,
        SolveErrorKind::NotAllowed { .. } => Code::ElementTypeNotAllowed,
        SolveErrorKind::Rule { failure, .. } => match failure {
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
        SolveErrorKind::Relation { .. } => Code::RelationFailed,
        SolveErrorKind::Contradiction { .. } | SolveErrorKind::RefutedClaim(_) => {
            Code::DeclaredTypeContradiction
        }
        SolveErrorKind::DefaultContradicts { .. } => Code::DefaultContradiction,
        SolveErrorKind::NegativeDim { .. } => Code::NegativeDim,
        SolveErrorKind::EmptyShape { .. } => Code::EmptyShape,
        SolveErrorKind::PlaceholderDim { .. } => Code::PlaceholderDim,
        SolveErrorKind::SeedContradicts { .. } => Code::SeedContradiction,
        SolveErrorKind::CallArity { .. } => Code::CallArity,
        SolveErrorKind::RecursiveFunction { .. } => Code::RecursiveFunction,
        SolveErrorKind::ForcedSymbol { .. } => Code::ForcedSymbol,
        SolveErrorKind::ForcedEquality { .. } => Code::ForcedEquality,
        SolveErrorKind::Restricted { .. } | SolveErrorKind::NarrowedInput { .. } => Code::RestrictedSymbol,
        SolveErrorKind::Assumed { .. } => Code::AssumedType,
        SolveErrorKind::Unresolved { .. } => Code::UnresolvedType,
        SolveErrorKind::InCase { .. } => Code::BranchMismatch,
        SolveErrorKind::MissingExternalData { .. } => Code::MissingExternalData,
    }
}
