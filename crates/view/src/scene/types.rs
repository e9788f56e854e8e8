//! Types and small tensors as data, and their texts.
//!
//! ```text
//! g (seq(float[N, 4]) x) => (s) { h = SequenceAt (x, zero)  s = Shape (h) }
//!
//! extents     N, 4, 2
//! types       x: texts "seq(float" and ")", shape [N, 4];  s: texts "int64" and "", shape [2]
//! previews    s: the elements N and 4
//! ```
//!
//! Extents are listed once in [`Scene::extents`], so two axes have the same extent if they have the same id:
//! the origin of an extent is found by ids (`engine/causes.rs`). Elements of small tensors of integers are
//! extents too, because shapes are computed from them.
//!
//! **Invariant:** the text of a type or of a small tensor is derived here only, once for each distinct one,
//! when a scene is completed ([`derive_texts`]).
//!
//! **Invariant:** the text of an extent has at most [`MAX_EXTENT`] bytes. A longer one has its middle left
//! out, by so little that no shortened text of a type changes.

use std::borrow::Cow;

use super::{ExtentId, PreviewId, Scene, TypeId, ValueId};
use crate::map::Table;
use crate::text::{ceil, floor, short};

/// Maximum length of the text of an extent, in bytes.
pub const MAX_EXTENT: usize = 1 << 10;

/// Maximum number of listed elements of a small tensor.
pub const MAX_ELEMENTS: usize = 8;

/// Maximum length of the text of a small tensor, in characters.
pub(super) const MAX_TEXT: usize = 64;

/// An extent of a shape, or an element of a tensor that a shape can come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// A number.
    Number(i64),
    /// A symbol.
    Symbol(String),
    /// An expression of symbols, or the extents in all cases: `2*N`, `2|4`.
    Expression(String),
    /// An extent with an unknown part: `?`, `? + 1`.
    Unknown(String),
    /// Any number of extents, if the rank is unknown.
    Rest,
}

impl Extent {
    /// The text.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Number(number) => Cow::Owned(number.to_string()),
            Self::Symbol(text) | Self::Expression(text) | Self::Unknown(text) => Cow::Borrowed(text),
            Self::Rest => Cow::Borrowed("..."),
        }
    }

    /// Whether all of it is known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        match self {
            Self::Number(_) | Self::Symbol(_) | Self::Expression(_) => true,
            Self::Unknown(_) | Self::Rest => false,
        }
    }
}

/// The text of an extent that a scene stores.
pub(super) fn stored_text(text: String) -> String {
    const HALF: usize = (MAX_EXTENT - '\u{2026}'.len_utf8()) / 2;
    if text.len() <= MAX_EXTENT {
        return text;
    }
    format!("{}\u{2026}{}", &text[..floor(&text, HALF)], &text[ceil(&text, text.len() - HALF)..])
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// The texts before, between and after the shapes: one more than shapes.
    pub texts: Vec<String>,
    /// The shapes of the tensors in it, in the order of the text. Most types have one, composites and types
    /// with several cases can have more, and types without tensors have none.
    pub shapes: Vec<Vec<ExtentId>>,
}

impl Type {
    /// The shape, if it has one shape.
    #[must_use]
    pub fn shape(&self) -> Option<&[ExtentId]> {
        if let [only] = &self.shapes[..] { Some(only) } else { None }
    }

    /// The text, with the extents as they are shown.
    pub(crate) fn text<'t>(&self, mut show: impl FnMut(ExtentId) -> Cow<'t, str>) -> String {
        let Self { texts, shapes } = self;
        let mut out = String::new();
        for (at, text) in texts.iter().enumerate() {
            out.push_str(text);
            let Some(shape) = shapes.get(at) else { continue };
            // As in ONNX's textual syntax, rank 0 has no brackets.
            for (axis, extent) in shape.iter().enumerate() {
                out.push_str(if axis == 0 { "[" } else { ", " });
                out.push_str(&show(*extent));
            }
            out.push_str(if shape.is_empty() { "" } else { "]" });
        }
        out
    }
}

/// The elements of a small tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Preview {
    /// Elements that a shape can come from.
    Extents {
        /// The elements.
        elements: Vec<ExtentId>,
        /// The form of their text.
        form: Form,
    },
    /// Other elements, as short text.
    Text(String),
}

/// The form of the text of a small tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// The only element.
    Scalar,
    /// All elements in brackets.
    List,
    /// The first elements in brackets.
    Beginning,
}

/// Elements as short text.
pub(super) fn elements_text<T: AsRef<str>>(elements: impl IntoIterator<Item = T>, form: Form) -> String {
    let mut out = String::from(if form == Form::Scalar { "" } else { "[" });
    for (at, element) in elements.into_iter().enumerate() {
        out.push_str(if at == 0 { "" } else { ", " });
        out.push_str(element.as_ref());
    }
    out.push_str(match form {
        Form::Scalar => "",
        Form::List => "]",
        Form::Beginning => ", \u{2026}]",
    });
    short(&out, MAX_TEXT)
}

impl Preview {
    fn text(&self, extents: &[Extent]) -> String {
        match self {
            Self::Extents { elements, form } => {
                elements_text(elements.iter().map(|it| extents[it.index()].text()), *form)
            }
            Self::Text(text) => text.clone(),
        }
    }
}

/// Derives the texts of the types and small tensors of a scene.
pub(super) fn derive_texts(scene: &mut Scene) {
    let Scene { extents, types, previews, .. } = scene;
    scene.type_texts = types.iter().map(|ty| ty.text(|extent| extents[extent.index()].text())).collect();
    scene.preview_texts = previews.iter().map(|preview| preview.text(extents)).collect();
}

impl Scene {
    /// An extent.
    #[must_use]
    pub fn extent(&self, extent: ExtentId) -> &Extent {
        &self.extents[extent.index()]
    }

    /// The type of a value.
    #[must_use]
    pub fn type_of(&self, value: ValueId) -> &Type {
        &self.types[self.value(value).ty.index()]
    }

    /// The type of a value as text.
    #[must_use]
    pub fn type_text(&self, value: ValueId) -> &str {
        self.text_of(self.value(value).ty)
    }

    /// A type as text.
    #[must_use]
    pub fn text_of(&self, ty: TypeId) -> &str {
        &self.type_texts[ty.index()]
    }

    /// The elements of a small tensor as text, if they are known.
    #[must_use]
    pub fn preview_text(&self, value: ValueId) -> Option<&str> {
        Some(&self.preview_texts[self.value(value).preview?.index()])
    }

    /// Whether a value has an extent in its shape or among its elements.
    #[must_use]
    pub fn has_extent(&self, value: ValueId, extent: ExtentId) -> bool {
        let of_shape = self.type_of(value).shape().is_some_and(|shape| shape.contains(&extent));
        let preview = || self.value(value).preview.map(|preview| &self.previews[preview.index()]);
        of_shape
            || match preview() {
                Some(Preview::Extents { elements, .. }) => elements.contains(&extent),
                Some(Preview::Text(_)) | None => false,
            }
    }
}

/// The extents, types and small tensors of a scene that is built, each once.
#[derive(Debug, Default)]
pub(super) struct Tables {
    extents: Table<Extent>,
    types: Table<Type>,
    previews: Table<Preview>,
}

impl Tables {
    /// The tables of a scene.
    pub(super) fn of(scene: &Scene) -> Self {
        let Scene { extents, types, previews, .. } = scene;
        Self {
            extents: Table::of(extents.clone()),
            types: Table::of(types.clone()),
            previews: Table::of(previews.clone()),
        }
    }

    pub(super) fn extent(&mut self, extent: Extent) -> ExtentId {
        ExtentId::new(self.extents.position(extent))
    }

    pub(super) fn ty(&mut self, ty: Type) -> TypeId {
        TypeId::new(self.types.position(ty))
    }

    pub(super) fn preview(&mut self, preview: Preview) -> PreviewId {
        PreviewId::new(self.previews.position(preview))
    }

    fn extents_of(&mut self, scene: &Scene, extents: &[ExtentId]) -> Vec<ExtentId> {
        extents.iter().map(|extent| self.extent(scene.extent(*extent).clone())).collect()
    }

    /// A type of another scene.
    pub(super) fn type_of(&mut self, scene: &Scene, ty: TypeId) -> TypeId {
        let Type { texts, shapes } = &scene.types[ty.index()];
        let shapes = shapes.iter().map(|shape| self.extents_of(scene, shape)).collect();
        self.ty(Type { texts: texts.clone(), shapes })
    }

    /// A small tensor of another scene.
    pub(super) fn preview_of(&mut self, scene: &Scene, preview: PreviewId) -> PreviewId {
        let preview = match &scene.previews[preview.index()] {
            Preview::Extents { elements, form } => {
                Preview::Extents { elements: self.extents_of(scene, elements), form: *form }
            }
            Preview::Text(text) => Preview::Text(text.clone()),
        };
        self.preview(preview)
    }

    /// Stores the tables in the scene.
    pub(super) fn finish(self, scene: &mut Scene) {
        let Self { extents, types, previews } = self;
        scene.extents = extents.into_items();
        scene.types = types.into_items();
        scene.previews = previews.into_items();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_long_extent_is_bounded() {
        assert_eq!(stored_text("N".repeat(MAX_EXTENT)), "N".repeat(MAX_EXTENT));
        for symbol in ["é", "模", "N", "x\u{301}"] {
            let long = symbol.repeat(2 * MAX_EXTENT);
            let (text, ty) = (stored_text(long.clone()), |text: &str| format!("float[{text}, 2]"));
            assert!(text.len() <= MAX_EXTENT, "{} bytes", text.len());
            for max in [crate::text::MAX_TYPE, crate::text::MAX_DETAIL] {
                assert_eq!(short(&ty(&text), max), short(&ty(&long), max));
            }
        }
    }

    #[test]
    fn texts_are_those_of_onnx() {
        let mut scene = Scene::default();
        let mut tables = Tables::default();
        let [n, four] = [Extent::Symbol("N".to_owned()), Extent::Number(4)].map(|it| tables.extent(it));
        let rest = tables.extent(Extent::Rest);
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        for (parts, shapes) in [
            (vec!["float", ""], vec![vec![n, four]]),
            (vec!["seq(float", ")"], vec![vec![]]),
            (vec!["int8", ""], vec![vec![rest]]),
            (vec!["float", " | float", ""], vec![vec![four], vec![n, n]]),
            (vec!["error"], vec![]),
        ] {
            tables.ty(Type { texts: texts(&parts), shapes });
        }
        for form in [Form::Scalar, Form::List, Form::Beginning] {
            tables.preview(Preview::Extents { elements: vec![four], form });
        }
        tables.finish(&mut scene);
        derive_texts(&mut scene);
        let expected = ["float[N, 4]", "seq(float)", "int8[...]", "float[4] | float[N, N]", "error"];
        assert_eq!(scene.type_texts, expected);
        assert_eq!(scene.preview_texts, ["4", "[4]", "[4, \u{2026}]"]);
    }
}
