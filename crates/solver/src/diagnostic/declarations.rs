//! Declared types that contradict what is inferred, or each other.

use super::extents::{Align, Row};
use super::location::Role;
use super::node::{Mark, declaration};
use super::scope::Scope;
use super::words::tick;
use super::{Code, Diagnostic};
use crate::program::{DeclarationKind, Origin, ValueId};
use crate::solution::Type;
use crate::solve_error::ErrorSite;

impl Scope<'_, '_> {
    /// A declared type contradicts the inferred one.
    pub(super) fn contradiction(
        &mut self,
        site: ErrorSite,
        value: Option<ValueId>,
        kind: DeclarationKind,
        (declared, inferred): (&Type, &Type),
        axis: Option<usize>,
    ) -> Diagnostic {
        let at = self.location(site);
        let (expected, found) = (self.show(declared), self.show(inferred));
        let Some(value) = value else {
            let message = format!("a value is declared as {expected}, but it is {found}");
            return Diagnostic::new(Code::DeclaredTypeContradiction, message, at);
        };
        if self.frame.seeded.contains(&value) {
            return self.seed_contradicts(site, Some(value), (inferred, declared));
        }
        if let Origin::InputWithDefault(_) = self.body().value(value).origin
            && kind == DeclarationKind::Input
        {
            return self.default_contradicts(site, Some(value), (declared, inferred));
        }
        if let Some(other) = self.other_declaration(value, kind) {
            return self.declared_twice(at, value, (other, inferred), (kind, declared));
        }
        let list = self.list_word(kind, self.body().value(value).graph);
        let name = self.name(value);
        let nested = self.body().graph(self.body().value(value).graph).owner;
        let message = match kind {
            DeclarationKind::Output => match nested {
                Some(owner) => {
                    format!(
                        "output {name} of {} is declared as {expected}, but it is {found}",
                        tick(owner.attribute)
                    )
                }
                None => format!("graph output {name} is declared as {expected}, but it is {found}"),
            },
            DeclarationKind::Input => {
                format!("{} is declared as {expected}, but it is {found}", self.value_word(value))
            }
            DeclarationKind::Value => format!("{name} is declared as {expected}, but it is {found}"),
        };
        let differing = axis.and_then(|axis| inferred.tensor()?.shape.as_ref()?.get(axis).copied());
        let words = if let Some(dim) = differing {
            match self.lineage(value, dim).through.is_empty() {
                true => format!("inferred as {found}"),
                false => format!("inferred as {found}, {}", self.lineage_words(value, dim)),
            }
        } else if axis.is_none() && self.show_elem(declared) != self.show_elem(inferred) {
            self.inferred_words(value, &found)
        } else {
            format!("inferred as {found}")
        };
        let mut snippets = Vec::new();
        match (site, self.body().value(value).origin) {
            (ErrorSite::Step(step), Origin::Step(_)) => {
                let mark = Mark::primary(self.output_part(step, value), words);
                snippets.extend(self.snippet(step, &[mark]));
            }
            (_, _) => snippets.push(declaration(&found, self.body().value_name(value), words, true)),
        }
        let role = match kind {
            DeclarationKind::Output => Role::Output,
            DeclarationKind::Input => Role::Input,
            DeclarationKind::Value => Role::Value,
        };
        let mut other =
            declaration(&expected, self.body().value_name(value), format!("declared {list}"), false);
        other.location = Some(self.location_of_value(value, role));
        snippets.push(other);
        Diagnostic::new(Code::DeclaredTypeContradiction, message, at)
            .with_snippets(snippets)
            .with_notes(self.two_shapes(("declared", declared), ("inferred", inferred)))
    }

    /// The other list that declares a value which only declarations give a type.
    fn other_declaration(&self, value: ValueId, kind: DeclarationKind) -> Option<DeclarationKind> {
        match self.body().value(value).origin {
            Origin::Input => self
                .body()
                .declarations(value)
                .map(|declaration| declaration.kind)
                .find(|other| *other != kind),
            Origin::InputWithDefault(_) | Origin::Initializer(_) | Origin::Step(_) | Origin::Undefined => {
                None
            }
        }
    }

    /// Two declarations of a value contradict each other.
    fn declared_twice(
        &mut self,
        at: super::Location,
        value: ValueId,
        (first_kind, first): (DeclarationKind, &Type),
        (second_kind, second): (DeclarationKind, &Type),
    ) -> Diagnostic {
        let graph = self.body().value(value).graph;
        let lists = [self.list_word(first_kind, graph), self.list_word(second_kind, graph)];
        let types = [self.show(first), self.show(second)];
        let text = self.body().value_name(value);
        let message = format!(
            "{} is declared twice: {} as {}, but {} as {}",
            self.name(value),
            lists[0],
            types[0],
            lists[1],
            types[1]
        );
        let snippets = [
            declaration(&types[1], text, format!("declared {}", lists[1]), true),
            declaration(&types[0], text, format!("declared {}", lists[0]), false),
        ];
        Diagnostic::new(Code::DeclaredTypeContradiction, message, at)
            .with_snippets(snippets)
            .with_notes(self.two_shapes(("first", first), ("second", second)))
    }

    /// An initializer contradicts the declared type of its input.
    pub(super) fn default_contradicts(
        &mut self,
        site: ErrorSite,
        value: Option<ValueId>,
        (declared, found): (&Type, &Type),
    ) -> Diagnostic {
        let name = value.map_or_else(|| "a value".to_owned(), |value| self.name(value));
        // An input has the declared shape; what the initializer's is stands with the initializer.
        let own = value.and_then(|value| self.initializer_text(value));
        let (expected, shown) = (self.show(declared), own.unwrap_or_else(|| self.show(found)));
        let message =
            format!("initializer {name} is {shown}, but graph input {name} is declared as {expected}");
        let snippets = value.map(|value| {
            let text = self.body().value_name(value);
            let mut other = declaration(&expected, text, "declared as graph input".to_owned(), false);
            other.location = Some(self.location_of_value(value, Role::Input));
            [declaration(&shown, text, "the initializer, which is its default".to_owned(), true), other]
        });
        let mut at = self.location(site);
        if let Some(value) = value {
            at.value = self.location_of_value(value, Role::Initializer).value;
        }
        Diagnostic::new(Code::DefaultContradiction, message, at)
            .with_snippets(snippets.into_iter().flatten())
            .with_notes(self.two_shapes(("declared", declared), ("default", found)))
    }

    /// A type given by the caller contradicts the model.
    pub(super) fn seed_contradicts(
        &mut self,
        site: ErrorSite,
        value: Option<ValueId>,
        (seed, found): (&Type, &Type),
    ) -> Diagnostic {
        let (given, shown) = (self.show(seed), self.show(found));
        let word = value.map_or_else(|| "a value".to_owned(), |value| self.value_word(value));
        let message = format!("the caller says that {word} is {given}, but in the model it is {shown}");
        let snippet = value.map(|value| {
            declaration(&shown, self.body().value_name(value), format!("given as {given}"), true)
        });
        Diagnostic::new(Code::SeedContradiction, message, self.location(site))
            .with_snippets(snippet)
            .with_notes(self.two_shapes(("given", seed), ("model", found)))
    }

    /// Two shapes above each other, where both are known.
    fn two_shapes(&mut self, (a, first): (&str, &Type), (b, second): (&str, &Type)) -> Option<String> {
        let (Type::Tensor(first), Type::Tensor(second)) = (first, second) else { return None };
        let (Some(first), Some(second)) = (&first.shape, &second.shape) else { return None };
        if first == second || first.is_empty() || second.is_empty() {
            return None;
        }
        let mut rows = [(a, first), (b, second)].map(|(name, dims)| Row {
            name: name.to_owned(),
            dims: dims.clone(),
            marked: Vec::new(),
        });
        let [first, second] = &mut rows;
        self.mark_differences(first, second);
        self.rows(&rows, Align::First)
    }
}
