//! Diagnostic code `declared-type-contradiction`.

use crate::diagnostic::{Code, Diagnostic, Doubt, Location, Scope, declaration, quote};
use crate::program::{DeclarationKind, Origin, ValueId};
use crate::solution::{Difference, Type};
use crate::solve_error::{ErrorSite, RefutedClaim};

super::code!("declared-type-contradiction", Error, "a declared type contradicts the inferred one");

impl Scope<'_, '_> {
    /// A declared type contradicts the inferred one.
    pub(crate) fn contradiction(
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
        if self.frame.rare.seeded.contains(&value) {
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
        let name = self.name(value);
        let nested = self.body().graph(self.body().value(value).graph).owner;
        let subject = match kind {
            DeclarationKind::Output => match nested {
                Some(owner) => format!("output {name} of {}", quote(owner.attribute)),
                None => format!("graph output {name}"),
            },
            DeclarationKind::Input => self.value_text(value),
            DeclarationKind::Value => name,
        };
        let message = format!("{subject} is declared as {expected}, but it is {found}");
        let differing = axis.and_then(|axis| inferred.tensor()?.shape.as_ref()?.get(axis).copied());
        let text = if let Some(dim) = differing {
            match self.lineage(value, dim).through.is_empty() {
                true => format!("inferred as {found}"),
                false => format!("inferred as {found}, {}", self.lineage_text(value, dim)),
            }
        } else if axis.is_none() && self.show_elem(declared) != self.show_elem(inferred) {
            self.inferred_text(value, &found)
        } else {
            format!("inferred as {found}")
        };
        let inferred_snippet = match self.maker(value) {
            Some(_) if site.step().is_some() => self.output_snippet(site, value, text),
            Some(_) | None => Some(declaration(&found, self.body().value_name(value), text, true)),
        };
        Diagnostic::new(Code::DeclaredTypeContradiction, message, at)
            .with_snippets(inferred_snippet)
            .with_snippets([self.declaration_in(kind, value, &expected)])
            .with_notes(self.child_note(value, declared, inferred))
            .with_notes(self.two_shapes(("declared", declared), ("inferred", inferred)))
    }

    /// The child of a composite that a contradiction is about.
    fn child_note(&self, value: ValueId, declared: &Type, inferred: &Type) -> Option<String> {
        let name = self.name(value);
        let difference = Difference::between(inferred, declared);
        if difference.is_inside() {
            let (is, declared) = difference.sides;
            let message = difference.message(&format!("the declaration of {name}"));
            return Some(format!("{message}: {}, not {}", self.show(declared), self.show(is)));
        }
        let child = self.frame.rare.children.get(&value)?;
        Some(format!("{name} is child `{child}` of a bundle, which is {}", self.show(inferred)))
    }

    /// The other list that declares an input. Other values have a type that does not come from declarations.
    fn other_declaration(&self, value: ValueId, kind: DeclarationKind) -> Option<DeclarationKind> {
        let is_input = self.body().value(value).origin == Origin::Input;
        if is_input { self.declared_kind(value, |other| other != kind) } else { None }
    }

    /// Two declarations of a value contradict each other.
    fn declared_twice(
        &mut self,
        at: Location,
        value: ValueId,
        (first_kind, first): (DeclarationKind, &Type),
        (second_kind, second): (DeclarationKind, &Type),
    ) -> Diagnostic {
        let graph = self.body().value(value).graph;
        let lists = [self.list_text(first_kind, graph), self.list_text(second_kind, graph)];
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

    /// A declared extent that the graph refutes with a counterexample.
    pub(crate) fn refuted_claim(&mut self, site: ErrorSite, claim: &RefutedClaim) -> Diagnostic {
        let RefutedClaim { value, declared_in, axis, declared, derived, broadcast_with, binding, extents } =
            claim;
        let (name, claimed, found) =
            (self.name(*value), self.dim_quoted(*declared), self.dim_quoted(*derived));
        let noun = match declared_in {
            DeclarationKind::Output => "graph output ",
            DeclarationKind::Input | DeclarationKind::Value => "",
        };
        let found = match broadcast_with {
            Some(other) => format!("{found} broadcast with {}", self.dim_quoted(*other)),
            None => found,
        };
        let message = format!("{noun}{name} is declared with {claimed} on axis {axis}, but it is {found}");
        let (derived_extent, declared_extent) = extents;
        let example = if binding.is_empty() {
            format!("the extent is {derived_extent}, declared {declared_extent}")
        } else {
            format!("{} gives {derived_extent}, declared {declared_extent}", self.binding(binding))
        };
        let origins: Vec<String> =
            binding.iter().filter_map(|(symbol, _)| self.declared_note(*symbol)).collect();
        Diagnostic::new(Code::DeclaredTypeContradiction, message, self.location(site))
            .with_snippets(self.output_snippet(site, *value, format!("axis {axis} is {found}")))
            .with_snippets(self.declared_snippet(*value))
            .with_notes([example])
            .with_notes(origins)
            .with_help("correct the declared type, or give the axis a name that no input has")
    }

    /// The inferred type of a value that a declaration contradicts, and the origin of its element type.
    pub(crate) fn inferred_text(&mut self, value: ValueId, shown: &str) -> String {
        let cause = self.cause(value, Doubt::Declaration);
        match self.maker(value) {
            // The label is at that node already.
            Some(step) if cause == self.made_by(step) => format!("inferred as {shown}"),
            Some(_) | None => format!("inferred as {shown}, {cause}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_declared_element_type_is_the_inferred_one() {
        let model = "g (float[3] x) => (int64[3] y) { y = Relu(x) }";
        let expected = [
            "error[declared-type-contradiction]: graph output `y` is declared as int64[3], but it is float[3]",
        ];
        assert_eq!(reports(model), expected);
    }
}
