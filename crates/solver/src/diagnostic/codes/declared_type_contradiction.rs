//! Diagnostic code `declared-type-contradiction`.
//!
//! A model declares types of outputs and of inner values. The solver derives them from the nodes, and the two
//! can differ. `pages/declared-type-contradiction.md` has the full report for
//!
//! ```text
//! activated (float[2, 3] x) => (float[3, 2] y) { y = Relu (x) }
//! graph output `y` is declared as float[3, 2], but it is float[2, 3]
//! ```
//!
//! Three errors of the solver have this code:
//!
//! | error | message |
//! |---|---|
//! | the types differ ([`Scope::contradiction`]) | both types, and the origin of the inferred one |
//! | two declarations of an input differ | both declarations; the graph has no part in it |
//! | an extent differs for a binding ([`Scope::refuted_claim`]) | both extents, and the binding |
//!
//! A seed and a default value can contradict a declaration, too. They have codes of their own, to which
//! [`Scope::contradiction`] delegates.
//!
//! **Invariant:** a fix corrects a declaration that the graph refutes. There is none for two declarations of
//! an input, nor for an output tensor whose element type or rank differs, because callers rely on these. The
//! help also proposes another value for an attribute of the node that chooses the element type
//! ([`Scope::correction`]).
//!
//! **Cost:** causes and lineages search the graph. The [`Scope`] bounds the search for all diagnostics
//! together.

use typeloom_dim::DimId;

use crate::diagnostic::{
    Code, Diagnostic, Doubt, Fix, Location, Safety, Scope, clip, declaration, list, quote,
};
use crate::program::{DeclarationKind, Origin, ValueId};
use crate::solution::{Difference, Type};
use crate::solve_error::{ClaimWeight, ErrorSite, RefutedClaim};

super::code!("declared-type-contradiction", Error, "a declared type contradicts the inferred one");

/// The attributes that choose an element type by its number.
const TYPE_ATTRIBUTES: [&str; 3] = ["to", "dtype", "output_dtype"];

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
        let differing = match axis {
            Some(axis) => inferred.tensor().and_then(|tensor| tensor.shape.as_ref()?.get(axis).copied()),
            None => self.additional_extent(declared, inferred),
        };
        let text = if let Some(dim) = differing {
            self.inferred_extent_text(value, dim, &found)
        } else if axis.is_none() && self.show_elem(declared) != self.show_elem(inferred) {
            self.inferred_text(value, &found)
        } else {
            format!("inferred as {found}")
        };
        let inferred_snippet = match self.maker(value) {
            Some(_) if site.step().is_some() => self.output_snippet(site, value, text),
            Some(_) | None => Some(declaration(&found, self.body().value_name(value), text, true)),
        };
        let diagnostic = Diagnostic::new(Code::DeclaredTypeContradiction, message, at)
            .with_snippets(inferred_snippet)
            .with_snippets([self.declaration_in(kind, value, &expected)])
            .with_notes(self.child_note(value, declared, inferred))
            .with_notes(self.two_shapes(("declared", declared), ("inferred", inferred)))
            .with_help(self.correction(value, (declared, inferred), &[]));
        // Callers rely on the element type of an output, so its value is cast.
        let is_tensor = declared.tensor().is_some() && inferred.tensor().is_some();
        if kind == DeclarationKind::Output && is_tensor && axis.is_none() {
            return diagnostic;
        }
        diagnostic.with_fix(Fix::CorrectDeclarations, Safety::Safe)
    }

    /// The repair of a declared type, or of the attribute that chooses another element type. `readers` need
    /// the declared element type.
    pub(crate) fn correction(
        &self,
        value: ValueId,
        (declared, inferred): (&Type, &Type),
        readers: &[String],
    ) -> String {
        let correct = "correct the declared type";
        let (wanted, found) = (self.show_elem(declared), self.show_elem(inferred));
        let chooser = self.maker(value).filter(|_| wanted != found).and_then(|step| {
            let attributes = self.body().step(step).attribute_part().attributes();
            let mut names = attributes.filter_map(|it| Some(it.ok()?.parse().ok()?.name));
            Some((step, names.find(|name| TYPE_ATTRIBUTES.contains(name))?))
        });
        let set = chooser
            .map(|(step, name)| format!("set {} of {} to {wanted}", quote(name), self.node_text(step)));
        match (set, readers) {
            (Some(set), []) => format!("{correct}, or {set}"),
            (Some(set), _) => set,
            (None, []) => correct.to_owned(),
            (None, _) => {
                let name = self.body().value_name(value);
                let cast = format!("insert Cast({}, to={wanted})", clip(name, 64));
                format!("{correct}, and {cast} before {}", list(readers, "and"))
            }
        }
    }

    /// A number in the inferred shape that the declared one of another rank does not have.
    fn additional_extent(&self, declared: &Type, inferred: &Type) -> Option<DimId> {
        let (declared, inferred) = (declared.tensor()?, inferred.tensor()?);
        let (known, found) = (declared.shape.as_ref()?, inferred.shape.as_ref()?);
        let is_new = |dim: &&DimId| self.core.dims.as_constant(**dim).is_some() && !known.contains(dim);
        let differs = declared.elem == inferred.elem && known.len() != found.len();
        found.iter().find(is_new).filter(|_| differs).copied()
    }

    /// The inferred type of a value, with the origin of one of its extents.
    pub(crate) fn inferred_extent_text(&mut self, value: ValueId, dim: DimId, found: &str) -> String {
        match self.lineage(value, dim).through.is_empty() {
            true => format!("inferred as {found}"),
            false => format!("inferred as {found}, {}", self.lineage_text(value, dim)),
        }
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
        let RefutedClaim {
            value,
            declared_in,
            axis,
            declared,
            derived,
            broadcast_with,
            binding,
            extents,
            holds_where,
            assumption: _,
            named,
            weight: _,
        } = claim;
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
        let message = match named {
            None => format!("{noun}{name} is declared with {claimed} on axis {axis}, but it is {found}"),
            Some(first) if first.value == *value => format!(
                "{noun}{name} is declared with {} on axes {} and {axis}, but they are {claimed} and {found}",
                self.dim_quoted(first.name),
                first.axis
            ),
            Some(first) => format!(
                "{noun}{name} is declared with {symbol} on axis {axis}, but it is {found}, and {symbol} is {claimed} on axis {} \
                 of {}",
                first.axis,
                self.name(first.value),
                symbol = self.dim_quoted(first.name),
            ),
        };
        let (derived_extent, declared_extent) = extents;
        let example = if binding.is_empty() {
            format!("the extent is {derived_extent}, declared {declared_extent}")
        } else {
            format!("{} gives {derived_extent}, declared {declared_extent}", self.binding(binding))
        };
        let condition = holds_where.map(|condition| {
            let text = self.conditions_text(&[condition]);
            format!("the declared type of {name} holds only where {text}")
        });
        let origins: Vec<String> =
            binding.iter().filter_map(|(symbol, _)| self.declared_note(*symbol)).collect();
        let is_number = self.core.dims.as_constant(*derived).is_some();
        let label = match is_number && !self.lineage(*value, *derived).through.is_empty() {
            true => format!("axis {axis} is {found}, {}", self.lineage_text(*value, *derived)),
            false => format!("axis {axis} is {found}"),
        };
        Diagnostic::new(Code::DeclaredTypeContradiction, message, self.location(site))
            .with_snippets(self.output_snippet(site, *value, label))
            .with_snippets(self.declared_snippet(*value))
            .with_notes(condition)
            .with_notes([example])
            .with_notes(origins)
            .with_help(self.claim_help(claim))
            .with_fix(Fix::CorrectDeclarations, Safety::Safe)
    }

    /// The repairs of a false declared extent.
    fn claim_help(&self, claim: &RefutedClaim) -> String {
        let dims = &self.core.dims;
        match (claim.weight, claim.named) {
            (ClaimWeight::Label, _) => {
                return "correct the declared type, or leave it out: the name has no effect".to_owned();
            }
            (ClaimWeight::Promise, Some(_)) => return "give the axes different names".to_owned(),
            (ClaimWeight::Promise, None) => {}
        }
        let correct = match dims.as_constant(claim.declared) {
            Some(_) => "correct the declared type",
            None => "correct the declared type, or give the axis a name that no input has",
        };
        let Some((symbol, value)) = claim.assumption else { return correct.to_owned() };
        let relation = format!("{}={}", dims.display(symbol), dims.display(value)).replace(' ', "");
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.=+-".contains(c);
        let relation = if relation.chars().all(is_plain) { relation } else { format!("'{relation}'") };
        format!("if all callers keep this relation, state it with `--assume {relation}`; otherwise {correct}")
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
    fn outputs_with_one_false_extent_are_one_error() {
        let model = "g (float[b, past, 2] p, float[b, seq, 2] x, int64[b, total] m) => (float[b, total, 2] y, float[b, total, 2] z) {
            y = Concat <axis = 1> (p, x)  z = Concat <axis = 1> (p, x)
        }";
        let expected = "error[declared-type-contradiction]: graph output `y` is declared with `total` on axis 1, but it is \
                        `past + seq` (and 1 more output)";
        assert_eq!(reports(model), [expected]);
    }

    #[test]
    fn a_false_name_of_an_inner_axis_is_a_warning_and_a_false_number_is_an_error() {
        let model = |declared: &str| {
            format!(
                "g (float[N, 2] x, float[M] z) => (y) <float[{declared}, 2] a> {{ a = Relu(x)  y = Neg(a) }}"
            )
        };
        for label in ["M", "N + 1", "M*N"] {
            let text = model(&format!("\"{label}\""));
            let found = reports(&text);
            let expected = format!(
                "warning[declared-type-contradiction]: `a` is declared with `{label}` on axis 0, but it is `N`"
            );
            assert_eq!(found, [expected]);
        }
        let expected = ["error[forced-symbol]: `N` is declared free, but it can only be 3"];
        assert_eq!(reports(&model("3")), expected);
    }

    #[test]
    fn one_new_name_for_different_extents_is_reported_as_such() {
        let model = "g (float[N, M] x) => (float[k, k] y) { y = Relu(x) }";
        let expected = "error[declared-type-contradiction]: graph output `y` is declared with `k` on axes 0 and 1, but they are \
                        `N` and `M`";
        assert_eq!(reports(model), [expected]);
        let model = "g (float[N, M] x) => (float[k, M] y, float[M, k] z) { y = Relu(x)  z = Transpose(y) }";
        assert_eq!(reports(model), Vec::<String>::new());
        let model = "g (float[N, M] x) => (float[k, M] y, float[k, N] z) { y = Relu(x)  z = Transpose(y) }";
        let expected = "error[declared-type-contradiction]: graph output `z` is declared with `k` on axis 0, but it is `M`, and \
                        `k` is `N` on axis 0 of `y`";
        assert_eq!(reports(model), [expected]);
    }

    #[test]
    fn texts_of_a_tool_that_writes_false_ones_are_not_assumed() {
        let model = |label: &str| {
            format!(
                "g (float[n, 4] x) => (y) <float[\"{label}\", 4] q, float[\"n*2 + 1\", 2] t> {{
                    q = Relu(x)  a = NonZero(q)  b = Transpose(a)  t = Cast <to = 1> (b)  y = Neg(t)
                }}"
            )
        };
        let assumed = "warning[assumed-type]: the declared type of `t` is assumed: float[n*2 + 1, 2] is declared, \
                       float[?, 2] is proven";
        assert_eq!(reports(&model("n")), [assumed]);
        let refuted =
            ["warning[declared-type-contradiction]: `q` is declared with `n + 1` on axis 0, but it is `n`"];
        assert_eq!(reports(&model("n + 1")), refuted);
    }

    #[test]
    fn an_input_axis_without_a_name_is_free() {
        let model = "g (float[?, 2] x) => (float[1, 2] y) { y = Relu(x) }";
        let expected = [
            "error[declared-type-contradiction]: graph output `y` is declared with 1 on axis 0, but it is `axis 0 of x`",
        ];
        assert_eq!(reports(model), expected);
        let model = "g (float[?, 2] x, float[?, 2] z) => (float[1, 2] y) { y = Add(x, z) }";
        let expected = [
            "error[declared-type-contradiction]: graph output `y` is declared with 1 on axis 0, but it is `axis 0 of z` broadcast with `axis 0 of x`",
        ];
        assert_eq!(reports(model), expected);
        let model = "g (float[?, 2] x) => (float[n, 2] y) { y = Relu(x) }";
        assert_eq!(reports(model), Vec::<String>::new());
        // The model runs for this extent only.
        let model = "g (float[?, 2] x) => (float[3, 2] y) <float[1, 3] w = {1.0, 2.0, 3.0}> { z = MatMul(w, x)  y = Relu(x) }";
        assert_eq!(
            reports(model),
            [
                "warning[restricted-symbol]: axis 0 of graph input `x` has no declared extent, but it can only be 3"
            ]
        );
    }

    #[test]
    fn a_false_declaration_and_its_readers_are_one_error() {
        let model =
            "g (float16[2] x, int64[2] n) => (y) <float16[2] f> { f = Cast <to = 1> (n)  y = Mul(f, x) }";
        let expected =
            ["error[declared-type-contradiction]: `f` is declared as float16[2], but it is float[2]"];
        assert_eq!(reports(model), expected);
    }

    #[test]
    fn a_declared_element_type_is_the_inferred_one() {
        let model = "g (float[3] x) => (int64[3] y) { y = Relu(x) }";
        let expected = [
            "error[declared-type-contradiction]: graph output `y` is declared as int64[3], but it is float[3]",
        ];
        assert_eq!(reports(model), expected);
    }
}
