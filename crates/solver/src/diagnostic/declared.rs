//! Declarations as the file contains them.

use typeloom_dim::{DimId, Dims};

use super::shapes::MAX_AXES;
use super::{Role, Scope, Snippet, declaration, type_text};
use crate::elem::Elem;
use crate::program::{DeclarationKind, ValueId};

impl Scope<'_, '_> {
    /// The declared type of a value or the type of its initializer, as the file contains it.
    pub(super) fn declared_text(&self, value: ValueId) -> Option<String> {
        let body = self.body();
        if let Some(declaration) = body.declarations(value).last() {
            return type_text(declaration.ty);
        }
        self.initializer_text(value)
    }

    /// The type of the initializer of a value, as the file contains it.
    pub(super) fn initializer_text(&self, value: ValueId) -> Option<String> {
        let body = self.body();
        let initializer = body.initializers[body.value(value).origin.initializer()?.index()];
        let (number, dims) = initializer.number_and_dims().ok()?;
        let elem = Elem::from_onnx(number).and_then(Elem::onnx_name).unwrap_or("undefined");
        let dims: Vec<String> = dims.iter().take(MAX_AXES).map(i64::to_string).collect();
        Some(if dims.is_empty() { elem.to_owned() } else { format!("{elem}[{}]", dims.join(", ")) })
    }

    /// The declaration of a value as a snippet.
    pub(super) fn declared_snippet(&self, value: ValueId) -> Option<Snippet> {
        let kind = self.declared_kind(value, |kind| kind != DeclarationKind::Input)?;
        let text = self.declared_text(value)?;
        Some(self.declaration_in(kind, value, &text))
    }

    /// The first list that declares a value and for which `accept` holds.
    pub(super) fn declared_kind(
        &self,
        value: ValueId,
        accept: impl Fn(DeclarationKind) -> bool,
    ) -> Option<DeclarationKind> {
        self.body().declarations(value).map(|declaration| declaration.kind).find(|kind| accept(*kind))
    }

    /// The declaration of a value in a list of its graph.
    pub(super) fn declaration_in(&self, kind: DeclarationKind, value: ValueId, ty: &str) -> Snippet {
        let body = self.body();
        let role = match kind {
            DeclarationKind::Output => Role::Output,
            DeclarationKind::Input => Role::Input,
            DeclarationKind::Value => Role::Value,
        };
        let label = format!("declared {}", self.list_text(kind, body.value(value).graph));
        let location = Some(self.location_of_value(value, role));
        Snippet { location, ..declaration(ty, body.value_name(value), label, false) }
    }

    /// The first input that declares a symbol.
    pub(super) fn declared_note(&mut self, symbol: DimId) -> Option<String> {
        let (axis, input, _) = self.declared_at(|dims, dim| dims.symbols_of(dim).contains(&symbol))?;
        let (name, input) = (self.dim_quoted(symbol), self.name(input));
        Some(format!("{name} is declared at axis {axis} of graph input {input}"))
    }

    /// The first axis of a graph input whose declared extent has a property, and that extent.
    pub(super) fn declared_at(
        &mut self,
        has_property: impl Fn(&Dims, DimId) -> bool,
    ) -> Option<(usize, ValueId, DimId)> {
        if !self.explains() {
            return None;
        }
        let body = self.body();
        for input in &body.graph(body.root()).inputs {
            for declaration in body.declarations(*input) {
                let Some(shape) = self.core.read_type(declaration.ty).ok().and_then(|read| read.shape) else {
                    continue;
                };
                let dims = self.core.shapes.get(shape);
                let found = dims.iter().enumerate().find(|(_, dim)| has_property(&self.core.dims, **dim));
                if let Some((axis, dim)) = found {
                    return Some((axis, *input, *dim));
                }
            }
        }
        None
    }
}
