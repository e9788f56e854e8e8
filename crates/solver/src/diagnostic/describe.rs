//! The severity and the diagnostic of each kind of solve error.
//!
//! A [`SolveError`] consists of a site and a kind with ids of values and nodes. [`Scope::describe`] selects
//! the function of `codes` that makes the message, and adds the parts that all diagnostics have:
//!
//! ```text
//! site: step 1, kind: Disagree { left: (In(0), float), right: (In(1), int64), .. }
//! error[element-type-mismatch]: `Add` needs one element type, but `h` is float and `mask` is int64
//! ```
//!
//! The match over kinds is exhaustive, so a new kind does not compile without a message. The match over
//! severities is not: it lists the kinds that differ from the level of their code, such as a false name of an
//! inner axis, which is a warning although the code is an error.
//!
//! **Invariant:** the severity is a function of the kind and the mode. [`SolveError::is_error`] and the
//! printed severity come from this function, so they agree.
//!
//! The functions `diagnose_*` are for inputs that cannot be checked at all: malformed bytes or text, a file
//! without a graph, or external data that cannot be read. A wrong argument of the caller, such as an unknown
//! seed, has no diagnostic.

use std::cell::RefCell;

use typeloom_onnx::DecodeError;
use typeloom_onnx::text::ParseError;

use super::codes::Level;
use super::codes::ir_version::ir_version;
use super::codes::lfs_pointer::lfs_pointer;
use super::codes::malformed_file::{malformed, malformed_text, no_graph};
use super::codes::missing_external_data::missing_external_data;
use super::codes::nesting_too_deep::too_deep;
use super::codes::newer_opset::newer_opset;
use super::scope::Content;
use super::{Diagnostic, Location, Scope, Severity, quote, source};
use crate::model::{CheckError, Checked, Mode};
use crate::program::{StepId, ValueId};
use crate::rule::{Port, RuleError};
use crate::solve_error::{ClaimWeight, ErrorSite, Reach, SolveError, SolveErrorKind};

impl SolveError<'_> {
    /// Whether the model cannot be used as it is. Otherwise the problem is a warning.
    #[must_use]
    pub fn is_error(&self, mode: Mode) -> bool {
        self.kind.severity(mode) == Severity::Error
    }
}

impl SolveErrorKind<'_> {
    /// The severity in a mode. Some kinds differ from their code.
    pub(crate) fn severity(&self, mode: Mode) -> Severity {
        let level = match self {
            // Two declarations that contradict each other: a caller can choose a symbol that is broadcast
            // against the declared extent of another input, or that only one input of an operator of ONNX
            // declares.
            Self::ForcedSymbol { by_constant: false, values, is_certain, .. }
                if values.len() > 1 || !is_certain =>
            {
                Level::Warning
            }
            // Two declarations that contradict each other; no constant of the graph restricts the symbols.
            Self::ForcedSymbols { by_constant: false, .. } => Level::Warning,
            // ONNX defines it as a name.
            Self::RefutedClaim(claim) if claim.weight == ClaimWeight::Label => Level::Warning,
            // Some exporters declare -1 for an unknown extent; a stored tensor cannot have one.
            Self::NegativeDim { declared_in: Some(_), .. } => Level::StrictError,
            Self::InCase { error, reach: Reach::Free, .. } => return error.severity(mode),
            Self::InCase { reach: Reach::Doubtful, .. } => Level::Warning,
            kind => kind.code().level(),
        };
        level.severity(mode)
    }
}

/// The diagnostic of bytes that are not a model, or of the malformed data of a tensor.
#[must_use]
pub fn diagnose_bytes(error: &DecodeError) -> Diagnostic {
    malformed(error, Location::default())
}

/// The diagnostic of a text that is not a model in the textual syntax.
#[must_use]
pub fn diagnose_text(error: &ParseError) -> Diagnostic {
    malformed_text(error)
}

/// The diagnostic of a tensor whose data is in a file that cannot be used.
#[must_use]
pub fn diagnose_external_data(tensor: &str, reason: &str) -> Diagnostic {
    missing_external_data(Some(quote(tensor)), reason, Location::default())
}

/// The diagnostic of a file that cannot be checked; `None` for a wrong argument of the caller.
#[must_use]
pub fn diagnose_error(error: &CheckError) -> Option<Diagnostic> {
    match error {
        CheckError::Malformed(error) => Some(diagnose_bytes(error)),
        CheckError::NestingTooDeep => Some(too_deep(Location::default())),
        CheckError::NoGraph => Some(no_graph()),
        CheckError::LfsPointer => Some(lfs_pointer()),
        CheckError::BadSeed { .. }
        | CheckError::UnknownSeed { .. }
        | CheckError::UnknownSymbol { .. }
        | CheckError::BadAssumption { .. } => None,
    }
}

/// The diagnostic of one error of the main body, without causes and suggestions.
pub(crate) fn diagnose_one<'a>(checked: &mut Checked<'a>, error: &SolveError<'a>) -> Diagnostic {
    let Checked { core, frame, operators, mode, .. } = checked;
    let mut budget = 0;
    let mut scope = Scope {
        core,
        frame,
        operators,
        function: None,
        content: Content::Snippets,
        budget: &mut budget,
        named: RefCell::default(),
    };
    scope.describe(error, None, *mode)
}

impl<'a> Scope<'_, 'a> {
    /// The diagnostic of an error. `value` is the value that an error of a declaration concerns.
    pub(crate) fn describe(
        &mut self,
        error: &SolveError<'a>,
        value: Option<ValueId>,
        mode: Mode,
    ) -> Diagnostic {
        let SolveError { site, kind } = error;
        let mut diagnostic = self.describe_kind(*site, kind, value).unwrap_or_else(|| {
            let code = kind.code();
            Diagnostic::new(code, code.summary().to_owned(), self.location(*site))
        });
        diagnostic = diagnostic.with_notes(self.named_texts());
        diagnostic.severity = kind.severity(mode);
        let unresolved =
            if let SolveErrorKind::Unresolved { value, .. } = kind { Some(*value) } else { None };
        diagnostic.value = unresolved.or(value).map(|value| self.body().value_name(value).to_owned());
        diagnostic.location.subjects = self.subjects(error, value);
        diagnostic.source = site.step().and_then(|step| source::of_node(self.body().step(step).node));
        diagnostic
    }

    /// `None` for an error of a node whose site is not a node, and for an error of a case.
    fn describe_kind(
        &mut self,
        site: ErrorSite,
        kind: &SolveErrorKind<'a>,
        value: Option<ValueId>,
    ) -> Option<Diagnostic> {
        let step = site.step();
        Some(match kind {
            SolveErrorKind::UndefinedValue { value, input } => self.undefined_value(step?, *value, *input),
            SolveErrorKind::UsedBeforeMade { value, input, maker, others } => {
                self.node_order(step?, (*value, *input), *maker, *others)
            }
            SolveErrorKind::Cycle { steps } => self.cycle(steps),
            SolveErrorKind::UnknownOperator { near, domain_unknown } => {
                self.unknown_operator(step?, near, *domain_unknown)
            }
            SolveErrorKind::NewerOperator { since, imported } => {
                self.newer_operator(step?, *since, *imported)
            }
            SolveErrorKind::MissingOpset => self.missing_opset(step?),
            SolveErrorKind::DeprecatedOperator { since } => self.deprecated_operator(step?, *since),
            SolveErrorKind::SurplusPorts { side, given, most } => {
                self.surplus_ports(step?, *side, *given, *most)
            }
            SolveErrorKind::MissingPort { port: Port::In(at) | Port::BodyIn(_, at), name } => {
                self.missing_input(step?, *at, name)
            }
            SolveErrorKind::MissingPort { port: Port::Out(at) | Port::BodyOut(_, at), name } => {
                self.missing_output(step?, *at, name)
            }
            SolveErrorKind::MissingAttribute { name, kind } => self.missing_attribute(step?, name, *kind),
            SolveErrorKind::UnknownAttribute { name, near } => self.unknown_attribute(step?, name, near),
            SolveErrorKind::AttributeKind { name, found, expected } => {
                self.attribute_kind(step?, name, *found, *expected)
            }
            SolveErrorKind::AttributeChoice { name, found, choices } => {
                self.attribute_choice(step?, name, found, *choices)
            }
            SolveErrorKind::Disagree { variable: _, left, right } => {
                let step = step?;
                self.types_differ(step, (left.0, &left.1), (right.0, &right.1))
                    .with_notes(self.signature_note(step))
            }
            SolveErrorKind::NotAllowed { port, found, allowed } => {
                let step = step?;
                self.not_allowed(step, *port, found, allowed).with_notes(self.signature_note(step))
            }
            SolveErrorKind::Rule { rule, failure } => self.rule_failed(step?, rule, failure),
            SolveErrorKind::Relation { relation, failure } => {
                let step = step?;
                self.relation_failed(step, failure).with_notes(self.rule_note(step, relation))
            }
            SolveErrorKind::CallArity { side, given, most } => self.call_arity(step?, *side, *given, *most),
            SolveErrorKind::RecursiveFunction { path, hidden } => {
                self.recursive_function(step?, path, *hidden)
            }
            SolveErrorKind::CallOutputs { given, has } => self.call_outputs(step?, *given, *has),
            SolveErrorKind::CallInput { input, name, reader } => {
                self.call_input(step?, *input, name, *reader)
            }
            SolveErrorKind::TooManyInstances { most } => self.too_many_instances(step?, *most),
            SolveErrorKind::DuplicateNodeName { name, count, first } => {
                self.duplicate_node_name(step?, name, *count, *first)
            }
            SolveErrorKind::IrVersion { found, newest } => ir_version(*found, *newest),
            SolveErrorKind::NewerOpset { function, domain, imported, newest } => {
                newer_opset(function.as_deref(), domain, *imported, *newest)
            }
            SolveErrorKind::LimitReached { value, limit } => self.limit_reached(site, *value, *limit),
            SolveErrorKind::ExtentOverflow { value } => self.extent_overflow(site, *value),
            SolveErrorKind::Malformed(error) => malformed(error, self.location(site)),
            SolveErrorKind::NestingTooDeep => too_deep(self.location(site)),
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
            SolveErrorKind::ForcedSymbol {
                symbol,
                values,
                fitting,
                equation,
                by_constant,
                is_certain: _,
            } => self.forced_symbol(site, *symbol, (values, fitting), equation, *by_constant),
            SolveErrorKind::ForcedSymbols { condition, fitting, equation, by_constant } => {
                self.forced_symbols(site, *condition, fitting, equation, *by_constant)
            }
            SolveErrorKind::Restricted { conditions, equation, binding } => {
                self.restricted_symbol(site, conditions, equation, binding)
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
                let name = value.map(|value| self.value_text(value));
                missing_external_data(name, reason, self.location(site))
            }
            SolveErrorKind::InCase { .. } => return None,
        })
    }

    /// A rule does not hold.
    fn rule_failed(&mut self, step: StepId, rule: &str, failure: &RuleError) -> Diagnostic {
        let diagnostic = match failure {
            RuleError::Types { left, right } => match self.branches(step, *left, *right) {
                Some(ports) => self.branches_differ(step, ports),
                None => {
                    let types = [*left, *right].map(|port: Port| self.port_type(step, port));
                    self.types_differ(step, (*left, &types[0]), (*right, &types[1]))
                }
            },
            RuleError::Element { port, allowed } => self.wrong_element(step, *port, *allowed),
            RuleError::Kind { port, expected } => self.wrong_kind(step, *port, expected),
            RuleError::Rank { port, found, least, most } => {
                self.wrong_rank(step, *port, (*found, *least, *most))
            }
            RuleError::Dims { left, right, relation } => self.dims_differ(step, left, right, *relation),
            // An attribute of older operator sets can be an input in this one.
            RuleError::Attribute { name, message } => match self.input_named(step, name) {
                Some(port) => self.input_value(step, port, message),
                None => self.attribute_value(step, name, message),
            },
            RuleError::Value { port, message } => self.input_value(step, *port, message),
            RuleError::Shapes { ports, message } => self.shapes_differ(step, ports, message),
            RuleError::Contradiction { port, known, computed, message } => {
                self.shape_contradicts(step, *port, (known, computed), message)
            }
            RuleError::Body { graph, message } => self.body_differs(step, *graph, message),
            RuleError::Relation(failure) => self.relation_failed(step, failure),
            RuleError::Malformed(error) => return malformed(error, self.location_of_step(step)),
        };
        diagnostic.with_notes(self.rule_note(step, rule))
    }
}
