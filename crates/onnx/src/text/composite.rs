//! The notation of composite types.
//!
//! ONNX has no type with named parts. A composite is the opaque type of the domain [`COMPOSITE_DOMAIN`] whose
//! name is the list of its children, each a type in the textual syntax:
//!
//! ```text
//! composite{a: float[N], "my part": ?@"ai.bytesandbrains.peer_id", inner: composite{b: int64}}
//! composite{a: float[N], ..}
//! ```
//!
//! Two dots at the end mean that further children are possible. The text of a model contains a composite in
//! this form, without `opaque(...)`; the type of a child may also be the id of a registered type node, such
//! as `scalar.i32`.
//!
//! **Invariant:** names of children are distinct; nesting is at most [`MAX_NESTING`](super::MAX_NESTING).

use std::borrow::Cow;

use super::escape::escape;
use super::names::is_plain;
use crate::messages::TypeProto;
use crate::messages::type_proto::Opaque;

/// The domain of opaque types that are composites.
pub const COMPOSITE_DOMAIN: &str = "ai.bytesandbrains";

/// The first word of a composite.
pub(super) const COMPOSITE: &str = "composite";

/// The children of a composite type, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompositeText {
    pub children: Vec<(String, TypeProto)>,
    /// Whether further children are possible.
    pub is_open: bool,
}

impl CompositeText {
    /// Reads the children of an opaque type; `None` if it is another type or its name is malformed.
    #[must_use]
    pub fn of_opaque(domain: &str, name: &str) -> Option<Self> {
        if domain != COMPOSITE_DOMAIN || !name.starts_with(COMPOSITE) {
            return None;
        }
        super::parse::parse_composite(name, 0).ok()
    }

    /// The opaque type with these children.
    ///
    /// ```
    /// use typeloom_onnx::text::{CompositeText, parse_type};
    ///
    /// let children = vec![("a".to_owned(), parse_type("float[N]")?), ("b c".to_owned(), parse_type("int64")?)];
    /// let composite = CompositeText { children, is_open: false };
    /// let opaque = composite.to_opaque();
    /// assert_eq!(opaque.name.as_str(), r#"composite{a: float[N], "b c": int64}"#);
    /// assert_eq!(CompositeText::of_opaque(opaque.domain(), opaque.name()), Some(composite));
    /// # Ok::<(), typeloom_onnx::text::ParseError>(())
    /// ```
    #[must_use]
    pub fn to_opaque(&self) -> Opaque {
        opaque(super::print::composite_text(self))
    }
}

/// The name of a child on one line: in quotes unless it is an identifier, with unsafe characters escaped.
#[must_use]
pub fn child_name(name: &str) -> Cow<'_, str> {
    match is_plain(name) {
        true => Cow::Borrowed(name),
        false => {
            let quoted = name.replace('\\', "\\\\").replace('"', "\\\"");
            Cow::Owned(format!("\"{}\"", escape(&quoted)))
        }
    }
}

/// The opaque type with a text as its name.
pub(super) fn opaque(text: String) -> Opaque {
    Opaque { domain: COMPOSITE_DOMAIN.into(), name: text.into(), ..Opaque::default() }
}
