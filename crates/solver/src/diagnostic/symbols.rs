//! Conditions on the symbols of inputs, and declared extents that they refute.

use super::extents::Align;
use super::location::Role;
use super::node::{Mark, Part, declaration};
use super::scope::Scope;
use super::words::{list, tick};
use super::{Code, Diagnostic, Severity, Snippet};
use crate::dim::{Condition, DimId};
use crate::program::{DeclarationKind, Origin, StepId, ValueId};
use crate::rule::{Extent, Port};
use crate::solution::{Equation, EquationSource, Type};
use crate::solve_error::{ErrorSite, RefutedClaim};
use crate::state::constants::Data;

/// How far back the origin of a constant is looked for.
const MAX_STEPS: usize = 64;

impl<'a> Scope<'_, 'a> {
    /// A symbol has finitely many admissible values.
    pub(super) fn forced_symbol(
        &mut self,
        site: ErrorSite,
        (symbol, values): (DimId, &[i64]),
        equation: &Equation,
        baked: bool,
    ) -> Diagnostic {
        let name = self.dim(symbol);
        let numbers: Vec<String> = values.iter().map(ToString::to_string).collect();
        let numbers = list(&numbers, "or");
        let message = format!("{name} is declared free, but it can only be {numbers}");
        let last = values.last().copied().unwrap_or_default();
        if let EquationSource::Declared(value) = equation.source {
            return self.forced_by_declaration(site, message, value, symbol, last);
        }
        let mut diagnostic = Diagnostic::new(Code::ForcedSymbol, message, self.location(site));
        if !baked {
            diagnostic.severity = Severity::Warning;
        }
        let origin = self.constant_note(equation, last);
        let diagnostic = self.forced(diagnostic, site, equation, &format!("makes {name} {numbers}"));
        diagnostic
            .with_notes(origin)
            .with_notes(self.declared_note(symbol))
            .with_notes(self.rule_of(site, equation))
            .with_help(match baked {
                _ if last == 0 => "no other extent satisfies this: one of the two sides is wrong".to_owned(),
                true => format!("declare the dim as {last}, or export the model without the constant"),
                false => format!("declare the dim as {last}, or both with the symbol"),
            })
    }

    /// A declared extent that holds for one value of a symbol only.
    fn forced_by_declaration(
        &mut self,
        site: ErrorSite,
        message: String,
        value: ValueId,
        symbol: DimId,
        extent: i64,
    ) -> Diagnostic {
        let found = self.type_of(value);
        let found = self.show(&found);
        let mut snippets = Vec::new();
        if let ErrorSite::Step(step) = site {
            let mark = Mark::primary(self.output_part(step, value), format!("inferred as {found}"));
            snippets.extend(self.snippet(step, &[mark]));
        }
        snippets.extend(self.declared_snippet(value));
        let name = self.dim(symbol);
        Diagnostic::new(Code::ForcedSymbol, message, self.location(site))
            .with_snippets(snippets)
            .with_notes([format!(
                "the declared type of {} holds only where {name} is {extent}",
                self.name(value)
            )])
            .with_notes(self.declared_note(symbol))
            .with_help(format!("correct the declared type, or declare the dim as {extent}"))
    }

    /// The graph runs for some bindings of symbols only.
    pub(super) fn restricted_symbol(
        &mut self,
        site: ErrorSite,
        condition: Condition,
        equation: &Equation,
        binding: &[(DimId, i64)],
    ) -> Diagnostic {
        let text = self.core.dims.display_condition(condition).to_string();
        let message = format!("the model runs only where {}", tick(&text));
        let diagnostic = Diagnostic::new(Code::RestrictedSymbol, message, self.location(site));
        let symbols: Vec<DimId> = binding.iter().map(|(symbol, _)| *symbol).collect();
        let declared: Vec<String> = symbols.iter().filter_map(|symbol| self.declared_note(*symbol)).collect();
        let failing = format!("it fails with {}", self.binding(binding));
        self.forced(diagnostic, site, equation, "restricts the symbols")
            .with_notes([failing])
            .with_notes(declared)
            .with_notes(self.rule_of(site, equation))
    }

    /// An unknown extent of an input has one admissible value.
    pub(super) fn narrowed_input(
        &mut self,
        site: ErrorSite,
        value: ValueId,
        axis: usize,
        extent: i64,
    ) -> Diagnostic {
        let name = self.value_word(value);
        let message = format!("axis {axis} of {name} has no declared extent, but it can only be {extent}");
        let snippet = self.declared_text(value).map(|text| {
            let words = format!("axis {axis} can only be {extent}");
            declaration(&text, self.body().value_name(value), words, true)
        });
        Diagnostic::new(Code::RestrictedSymbol, message, self.location(site))
            .with_snippets(snippet)
            .with_help(format!("declare the extent as {extent}"))
    }

    /// A binding as text: `batch = 2 and seq = 3`.
    fn binding(&self, binding: &[(DimId, i64)]) -> String {
        let parts: Vec<String> = binding
            .iter()
            .map(|(symbol, value)| tick(&format!("{} = {value}", self.bare(*symbol))))
            .collect();
        list(&parts, "and")
    }

    /// Two symbols can only be equal.
    pub(super) fn forced_equality(
        &mut self,
        site: ErrorSite,
        left: DimId,
        right: DimId,
        equation: &Equation,
    ) -> Diagnostic {
        let (a, b) = (self.dim(left), self.dim(right));
        let message = format!("{a} and {b} are declared apart, but they can only be equal");
        let diagnostic = Diagnostic::new(Code::ForcedEquality, message, self.location(site));
        let diagnostic = self.forced(diagnostic, site, equation, &format!("makes {a} equal to {b}"));
        diagnostic
            .with_notes(self.declared_note(left))
            .with_notes(self.declared_note(right))
            .with_notes(self.rule_of(site, equation))
            .with_help("give both dims one name, if that is what is meant")
    }

    /// A declared extent that the graph refutes with a counterexample.
    pub(super) fn refuted_claim(&mut self, site: ErrorSite, claim: &RefutedClaim) -> Diagnostic {
        let RefutedClaim { value, declared_in, axis, declared, derived, broadcast_with, binding, extents } =
            claim;
        let (name, claimed, found) = (self.name(*value), self.dim(*declared), self.dim(*derived));
        let noun = match declared_in {
            DeclarationKind::Output => "graph output ",
            DeclarationKind::Input | DeclarationKind::Value => "",
        };
        let found = match broadcast_with {
            Some(other) => format!("{found} broadcast with {}", self.dim(*other)),
            None => found,
        };
        let message = format!("{noun}{name} is declared with {claimed} on axis {axis}, but it is {found}");
        let mut snippets = Vec::new();
        if let ErrorSite::Step(step) = site {
            let mark = Mark::primary(self.output_part(step, *value), format!("axis {axis} is {found}"));
            snippets.extend(self.snippet(step, &[mark]));
        }
        snippets.extend(self.declared_snippet(*value));
        let (derived_extent, declared_extent) = extents;
        let example = if binding.is_empty() {
            format!("the extent is {derived_extent}, declared {declared_extent}")
        } else {
            format!("{} gives {derived_extent}, declared {declared_extent}", self.binding(binding))
        };
        let symbols: Vec<DimId> = binding.iter().map(|(symbol, _)| *symbol).collect();
        let origins: Vec<String> = symbols.iter().filter_map(|symbol| self.declared_note(*symbol)).collect();
        Diagnostic::new(Code::DeclaredTypeContradiction, message, self.location(site))
            .with_snippets(snippets)
            .with_notes([example])
            .with_notes(origins)
            .with_help("correct the declared type, or give the axis a name that no input has")
    }

    /// A declared shape that the graph neither confirms nor refutes.
    pub(super) fn assumed_type(
        &mut self,
        site: ErrorSite,
        value: ValueId,
        (declared, derived): (&Type, &Type),
    ) -> Diagnostic {
        let (name, claimed, found) = (self.name(value), self.show(declared), self.show(derived));
        let message =
            format!("the declared type of {name} is assumed: {claimed} is declared, {found} is proven");
        let mut snippets = Vec::new();
        if let ErrorSite::Step(step) = site {
            let mark = Mark::primary(self.output_part(step, value), format!("{found} is proven"));
            snippets.extend(self.snippet(step, &[mark]));
        }
        snippets.extend(self.declared_snippet(value));
        Diagnostic::new(Code::AssumedType, message, self.location(site)).with_snippets(snippets)
    }

    /// The declaration of a value as a snippet.
    fn declared_snippet(&mut self, value: ValueId) -> Option<Snippet> {
        let body = self.body();
        let kind = body.declarations(value).map(|declaration| declaration.kind).find(|kind| match kind {
            DeclarationKind::Output | DeclarationKind::Value => true,
            DeclarationKind::Input => false,
        })?;
        let text = self.declared_text(value)?;
        let role = match kind {
            DeclarationKind::Output => Role::Output,
            DeclarationKind::Input => Role::Input,
            DeclarationKind::Value => Role::Value,
        };
        let list = self.list_word(kind, body.value(value).graph);
        let mut shown = declaration(&text, body.value_name(value), format!("declared {list}"), false);
        shown.location = Some(self.location_of_value(value, role));
        Some(shown)
    }

    /// The node with the two sides of an equation, and the equation itself.
    fn forced(
        &mut self,
        diagnostic: Diagnostic,
        site: ErrorSite,
        equation: &Equation,
        words: &str,
    ) -> Diagnostic {
        let ErrorSite::Step(step) = site else { return diagnostic };
        let op = self.op_word(step);
        let text = tick(
            &self
                .core
                .dims
                .display_condition(Condition::new(equation.need, equation.left, equation.right))
                .to_string(),
        );
        let EquationSource::Ports { left, right, relation } = equation.source else {
            let inside = match equation.source {
                EquationSource::Call => format!("a node inside {op} needs {text}"),
                EquationSource::Ports { .. } | EquationSource::Declared(_) => format!("{op} needs {text}"),
            };
            return diagnostic
                .with_snippets(self.snippet(step, &[Mark::primary(Part::Operator, words)]))
                .with_notes([inside]);
        };
        let ports: Vec<Port> =
            if left.port == right.port { vec![right.port] } else { vec![left.port, right.port] };
        let mut marks = vec![Mark::primary(Part::Operator, words)];
        marks.extend(self.shape_marks(step, &ports).into_iter().map(|mark| Mark { primary: false, ..mark }));
        let align = if relation.contains("broadcast") { Align::Last } else { Align::None };
        let need = match self.shapes_note(step, &[&left, &right], align) {
            Some(shapes) => format!("{op} needs {text}, because these dims {relation}:\n{shapes}"),
            None => format!("{op} needs {text}, because these {relation}"),
        };
        diagnostic.with_snippets(self.snippet(step, &marks)).with_notes([need])
    }

    fn rule_of(&self, site: ErrorSite, equation: &Equation) -> Vec<String> {
        match (site, equation.source) {
            (ErrorSite::Step(_), EquationSource::Call) => vec![format!("rule {}", equation.rule)],
            (ErrorSite::Step(step), EquationSource::Ports { .. } | EquationSource::Declared(_)) => {
                self.rule_note(step, equation.rule)
            }
            (ErrorSite::Body | ErrorSite::Graph(_) | ErrorSite::Value(_), _) => Vec::new(),
        }
    }

    fn bare(&self, dim: DimId) -> String {
        self.core.dims.display(dim).to_string()
    }

    /// Where an input declares a symbol first.
    fn declared_note(&mut self, symbol: DimId) -> Option<String> {
        if !self.explains {
            return None;
        }
        let body = self.body();
        for input in &body.graph(body.root()).inputs {
            for declaration in body.declarations(*input) {
                let Some(shape) = self.core.read_type(declaration.ty).ok().and_then(|read| read.shape) else {
                    continue;
                };
                let dims = self.core.shapes.get(shape);
                let Some(axis) =
                    dims.iter().position(|dim| self.core.dims.symbols_of(*dim).contains(&symbol))
                else {
                    continue;
                };
                let (name, input) = (self.dim(symbol), self.name(*input));
                return Some(format!("{name} is declared at axis {axis} of graph input {input}"));
            }
        }
        None
    }

    /// Where the number that a symbol is forced to stands in the model.
    fn constant_note(&self, equation: &Equation, wanted: i64) -> Option<String> {
        let EquationSource::Ports { left, right, .. } = equation.source else { return None };
        if !self.explains {
            return None;
        }
        let direct = [left, right].into_iter().filter_map(|side| self.core.dims.as_constant(side.dim));
        let numbers: Vec<i64> = std::iter::once(wanted).chain(direct).collect();
        for number in numbers {
            for side in [right, left] {
                if let Some(note) = self.origin_of(equation.step, side, number) {
                    return Some(note);
                }
            }
        }
        None
    }

    fn origin_of(&self, step: StepId, side: Extent, number: i64) -> Option<String> {
        let value = self.value(step, side.port)?;
        if let Some(axis) = side.axis {
            let is_it = self.core.dims.as_constant(side.dim) == Some(number);
            return is_it.then(|| format!("the {number} is axis {axis} of {}", self.source_word(value)));
        }
        if !self.holds(value, number) {
            return None;
        }
        let body = self.body();
        let mut at = value;
        for _ in 0..MAX_STEPS {
            let Origin::Step(maker) = body.value(at).origin else { break };
            let inputs = body.inputs(body.first_step(maker)).iter().flatten().copied();
            match inputs.into_iter().find(|input| self.holds(*input, number)) {
                Some(input) => at = input,
                None => break,
            }
        }
        Some(format!("the {number} is in {}", self.source_word(at)))
    }

    /// Whether a value is known to have the number among its elements.
    fn holds(&self, value: ValueId, number: i64) -> bool {
        let ints = self.core.data_of(self.frame, value).and_then(Data::as_ints);
        ints.is_some_and(|ints| {
            ints.items.iter().any(|item| self.core.dims.as_constant(*item) == Some(number))
        })
    }

    /// A value by what makes it.
    fn source_word(&self, value: ValueId) -> String {
        match self.body().value(value).origin {
            Origin::Step(step) => format!("{}, {}", self.name(value), self.made_by(step)),
            Origin::Input | Origin::InputWithDefault(_) | Origin::Initializer(_) | Origin::Undefined => {
                self.value_word(value)
            }
        }
    }
}
