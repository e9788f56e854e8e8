//! Symbols of dims that are declared free but are not.

use super::extents::Align;
use super::node::{Mark, Part, declaration};
use super::place::Role;
use super::scope::Scope;
use super::words::tick;
use super::{Code, Diagnostic, Severity};
use crate::constants::Data;
use crate::dim::DimId;
use crate::fault;
use crate::program::{Origin, StepId, ValueId};
use crate::rule::{Extent, Port};
use crate::solution::{Equation, EquationSource, Need};

/// How far back the origin of a constant is looked for.
const MOST_STEPS: usize = 64;

impl<'a> Scope<'_, 'a> {
    /// A symbol can only be one number.
    pub(super) fn forced_symbol(
        &mut self,
        place: fault::Place,
        (symbol, value): (DimId, i64),
        equation: &Equation,
        baked: bool,
    ) -> Diagnostic {
        let name = self.dim(symbol);
        let message = format!("{name} is declared free, but it can only be {value}");
        let mut diagnostic = Diagnostic::new(Code::ForcedSymbol, message, self.place(place));
        if !baked {
            diagnostic.severity = Severity::Warning;
        }
        let origin = self.constant_note(equation, value);
        let diagnostic = self.forced(diagnostic, place, equation, &format!("makes {name} {value}"));
        diagnostic
            .with_notes(origin)
            .with_notes(self.declared_note(symbol))
            .with_notes(self.rule_of(place, equation))
            .with_help(match baked {
                _ if value == 0 => "no other extent satisfies this: one of the two sides is wrong".to_owned(),
                true => format!("declare the dim as {value}, or export the model without the constant"),
                false => format!("declare the dim as {value}, or both with the symbol"),
            })
    }

    /// Two symbols can only be equal.
    pub(super) fn forced_equality(
        &mut self,
        place: fault::Place,
        left: DimId,
        right: DimId,
        equation: &Equation,
    ) -> Diagnostic {
        let (a, b) = (self.dim(left), self.dim(right));
        let message = format!("{a} and {b} are declared apart, but they can only be equal");
        let diagnostic = Diagnostic::new(Code::ForcedEquality, message, self.place(place));
        let diagnostic = self.forced(diagnostic, place, equation, &format!("makes {a} equal to {b}"));
        diagnostic
            .with_notes(self.declared_note(left))
            .with_notes(self.declared_note(right))
            .with_notes(self.rule_of(place, equation))
            .with_help("give both dims one name, if that is what is meant")
    }

    /// A graph output is declared with one symbol of the inputs, and is another or can be.
    pub(super) fn declared_symbol(
        &mut self,
        place: fault::Place,
        (value, axis): (ValueId, usize),
        declared: DimId,
        other: DimId,
        broadcast: bool,
    ) -> Diagnostic {
        let (name, symbol, second) = (self.name(value), self.dim(declared), self.dim(other));
        let head = format!("graph output {name} is declared with {symbol} on axis {axis}");
        let (message, label) = if broadcast {
            let found = format!("{symbol} broadcast with {second}");
            (format!("{head}, but it is {found}"), format!("axis {axis} is {found}"))
        } else {
            (format!("{head}, but it is {second}"), format!("axis {axis} is {second}"))
        };
        let mut snippets = Vec::new();
        if let fault::Place::Step(step) = place {
            let mark = Mark::primary(self.output_part(step, value), label);
            snippets.extend(self.snippet(step, &[mark]));
        }
        if let Some(text) = self.declared_text(value) {
            let words = "declared as graph output".to_owned();
            let mut shown = declaration(&text, self.body().value_name(value), words, false);
            shown.place = Some(self.place_of_value(value, Role::Output));
            snippets.push(shown);
        }
        let condition = if broadcast {
            format!("the declaration holds only where {second} is 1 or equal to {symbol}")
        } else {
            format!("the declaration holds only where {second} is equal to {symbol}")
        };
        Diagnostic::new(Code::DeclaredTypeContradiction, message, self.place(place))
            .with_snippets(snippets)
            .with_notes([condition])
            .with_notes(self.declared_note(declared))
            .with_notes(self.declared_note(other))
            .with_help(
                "give dims that are always equal one name at the inputs, or the output a name of its own",
            )
    }

    /// The node with the two sides of an equation, and the equation itself.
    fn forced(
        &mut self,
        diagnostic: Diagnostic,
        place: fault::Place,
        equation: &Equation,
        words: &str,
    ) -> Diagnostic {
        let fault::Place::Step(step) = place else { return diagnostic };
        let op = self.op_word(step);
        let text = match equation.need {
            Need::Equal => format!("{} = {}", self.bare(equation.left), self.bare(equation.right)),
            Need::OneOrEqual => {
                format!("{} = 1 or {}", self.bare(equation.left), self.bare(equation.right))
            }
        };
        let text = tick(&text);
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

    fn rule_of(&self, place: fault::Place, equation: &Equation) -> Vec<String> {
        match (place, equation.source) {
            (fault::Place::Step(_), EquationSource::Call) => vec![format!("rule {}", equation.rule)],
            (fault::Place::Step(step), EquationSource::Ports { .. } | EquationSource::Declared(_)) => {
                self.rule_note(step, equation.rule)
            }
            (fault::Place::Body | fault::Place::Graph(_) | fault::Place::Value(_), _) => Vec::new(),
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
        for _ in 0..MOST_STEPS {
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
        match self.core.data_of(self.frame, value) {
            Some(Data::Ints(ints)) => {
                ints.items.iter().any(|item| self.core.dims.as_constant(*item) == Some(number))
            }
            Some(Data::Floats(_) | Data::Opaque) | None => false,
        }
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
