//! Declared types, as a message states them.
//!
//! A file can declare what no [`ValueType`] holds, such as an element type of a newer version of ONNX. The
//! solver reports it, so a declaration stays as it was read.

use std::fmt;

use typeloom_onnx::messages::{AttributeProto, IntoAttribute, TypeProto, type_proto};
use typeloom_tensor::value_type::ValueType;

/// A declared type.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeclaredType(pub(crate) TypeProto);

impl DeclaredType {
    /// The declared type as far as it is known.
    #[must_use]
    pub fn value_type(&self) -> ValueType {
        ValueType::from_message(&self.0)
    }

    /// The declared type; what it leaves open is as in a solved one.
    #[must_use]
    pub fn with_shape_of(&self, solved: Option<&ValueType>) -> ValueType {
        let mut declared = self.0.clone();
        if let Some(solved) = solved {
            solved.fill(&mut declared.value);
        }
        ValueType::from_message(&declared)
    }

    /// Whether a tensor is declared, with or without an element type.
    #[must_use]
    pub fn is_tensor(&self) -> bool {
        matches!(self.0.value, Some(type_proto::Value::TensorType(_)))
    }

    /// Whether more than a shape is declared.
    #[must_use]
    pub fn has_element(&self) -> bool {
        self.0.denotation.as_deref().is_some_and(|denotation| !denotation.is_empty())
            || matches!(&self.0.value, Some(type_proto::Value::TensorType(tensor)) if tensor.elem_type() != 0)
    }

    /// Whether the denotation and the element type are those of another type, as far as both have them.
    #[must_use]
    pub fn agrees(&self, other: &Self) -> bool {
        let denotation = |ty: &TypeProto| Some(ty.denotation.clone()).filter(|text| !text.is_empty());
        let elem = |ty: &TypeProto| match &ty.value {
            Some(type_proto::Value::TensorType(tensor)) => tensor.elem_type.filter(|elem| *elem != 0),
            _ => None,
        };
        let denotes = denotation(&self.0).zip(denotation(&other.0)).is_none_or(|(own, other)| own == other);
        denotes && elem(&self.0).zip(elem(&other.0)).is_none_or(|(own, other)| own == other)
    }

    /// The name of the type in the type tree; empty if it is not declared.
    #[must_use]
    pub fn denotation(&self) -> &str {
        self.0.denotation()
    }

    /// An attribute that holds types.
    #[must_use]
    pub fn attribute(name: &str, types: impl IntoIterator<Item = Self>) -> AttributeProto {
        types.into_iter().map(|ty| ty.0).collect::<Vec<_>>().into_attribute(name)
    }

    /// The declaration as a message.
    #[must_use]
    pub fn message(&self) -> &TypeProto {
        &self.0
    }

    /// A declaration, completed by the solved type.
    pub(crate) fn completed(declared: Option<&Self>, solved: Option<&TypeProto>) -> Option<Self> {
        match (declared, solved) {
            (declared, None) => declared.cloned(),
            (None, Some(found)) => Some(Self(found.clone())),
            (Some(declared), Some(found)) => {
                let mut filled = declared.clone();
                filled.fill(found);
                Some(filled)
            }
        }
    }

    fn fill(&mut self, found: &TypeProto) {
        let declared = &mut self.0;
        if found.denotation.is_some() {
            declared.denotation.clone_from(&found.denotation);
        }
        match (&mut declared.value, &found.value) {
            (Some(type_proto::Value::TensorType(old)), Some(type_proto::Value::TensorType(new))) => {
                if old.elem_type.is_none_or(|elem| elem == 0) {
                    old.elem_type = new.elem_type;
                }
                match (&mut old.shape, &new.shape) {
                    (shape @ None, found) => shape.clone_from(found),
                    (Some(shape), Some(found)) if shape.dim.len() == found.dim.len() => {
                        let open =
                            shape.dim.iter_mut().zip(&found.dim).filter(|(dim, _)| dim.value.is_none());
                        open.for_each(|(dim, found)| dim.value.clone_from(&found.value));
                    }
                    (Some(_), Some(_) | None) => {}
                }
            }
            // The solved composite has the declared children with all that is known about them.
            (value @ (None | Some(type_proto::Value::OpaqueType(_))), Some(_)) => {
                value.clone_from(&found.value);
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }
}

impl From<TypeProto> for DeclaredType {
    fn from(message: TypeProto) -> Self {
        Self(message)
    }
}

impl From<&ValueType> for DeclaredType {
    fn from(ty: &ValueType) -> Self {
        Self(ty.to_message())
    }
}

/// In ONNX's textual syntax, or the id of the type node if ONNX has no syntax for the type.
impl fmt::Display for DeclaredType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0.value, self.0.denotation.as_deref()) {
            (None, Some(denotation)) => {
                let lattice = typeloom_types::lattice::Lattice::try_get().ok();
                let node = lattice.and_then(|lattice| lattice.lookup_denotation(denotation));
                f.write_str(node.map_or(denotation, |node| node.id))
            }
            (Some(_), _) | (None, None) => f.write_str(&typeloom_onnx::text::print_type(&self.0)),
        }
    }
}
