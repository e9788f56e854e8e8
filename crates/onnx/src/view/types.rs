//! Views of values, types and shapes.
//!
//! A declared type is a tree of messages. [`TypeView::parse`] decodes one level and returns the inner type
//! and the shape as views, so the caller decides how far it follows a type:
//!
//! ```text
//! seq(float[N, 3])     parse()   Sequence(Some(inner))
//! inner                parse()   Tensor { elem: 1, shape: Some(shape) }
//! shape                dims()    Param("N"), Value(3)
//! ```
//!
//! **Invariant:** a view has the contents of the decoded message. The members of `TypeProto` are a `oneof`,
//! of which the last one in the file is valid; two consecutive occurrences of one member would be merged, and
//! are an error (see [`super`]). `dim_value` and `dim_param` are a `oneof`, too.
//!
//! **Invariant:** nothing here recurses. An iterator over dims ends after its first error.
//!
//! **Limits:** the contents are not interpreted. Numbers of element types can be unknown, extents negative,
//! and names empty. The solver decides what a declaration with such contents means.

use super::{EntryView, decode, getters, name, set_once, views};
use crate::error::DecodeError;
use crate::wire::Fields;

views! {
    /// A view of one `ValueInfoProto`.
    ValueInfoView,
    /// A view of one `TypeProto`.
    TypeView,
    /// A view of one `TensorShapeProto`.
    ShapeView,
}

/// The name and type of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValueInfo<'a> {
    pub name: &'a str,
    /// The type; absent if it is unknown.
    pub ty: Option<TypeView<'a>>,
}

impl<'a> ValueInfoView<'a> {
    /// Decodes name and type.
    pub fn parse(&self) -> Result<ValueInfo<'a>, DecodeError> {
        let mut value = ValueInfo::default();
        decode! {
            self.wire_fields(), "ValueInfoProto";
            1 "name" string value.name;
            2 "type" (TypeView) value.ty;
        }
        Ok(value)
    }
}

getters! {
    ValueInfoView of "ValueInfoProto";
    /// Metadata entries.
    4 "metadata_props" all EntryView metadata_props;
}

/// A type, decoded one level deep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Type<'a> {
    pub kind: TypeKindView<'a>,
    /// The meaning of the type beyond its structure; may be empty.
    pub denotation: &'a str,
}

/// The structure of a type. Numbers of element types are not validated; zero if absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TypeKindView<'a> {
    /// Unspecified.
    #[default]
    None,
    /// A dense tensor.
    Tensor {
        /// The number of the element type.
        elem: i32,
        /// The shape; absent if the rank is unknown.
        shape: Option<ShapeView<'a>>,
    },
    Sparse {
        /// The number of the element type.
        elem: i32,
        /// The shape; absent if the rank is unknown.
        shape: Option<ShapeView<'a>>,
    },
    /// A sequence of values of one type.
    Sequence(Option<TypeView<'a>>),
    /// An optional value.
    Optional(Option<TypeView<'a>>),
    Map {
        /// The number of the element type of the keys.
        key: i32,
        value: Option<TypeView<'a>>,
    },
    /// A type defined by a domain, without structure in ONNX.
    Opaque {
        /// The domain; empty for ONNX.
        domain: &'a str,
        /// The name of the type in the domain.
        name: &'a str,
    },
}

impl<'a> TypeView<'a> {
    /// Decodes one level.
    pub fn parse(&self) -> Result<Type<'a>, DecodeError> {
        let mut ty = Type::default();
        // Of a `oneof`, the last member is valid; a repetition of the same member would be merged.
        let mut member: Option<(u32, Inner<'a>)> = None;
        for field in self.wire_fields() {
            let field = field?;
            let name = match field.number {
                1 => name!("TypeProto", "tensor_type"),
                4 => name!("TypeProto", "sequence_type"),
                5 => name!("TypeProto", "map_type"),
                6 => {
                    ty.denotation = field.string(name!("TypeProto", "denotation"))?;
                    continue;
                }
                7 => name!("TypeProto", "opaque_type"),
                8 => name!("TypeProto", "sparse_tensor_type"),
                9 => name!("TypeProto", "optional_type"),
                _ => continue,
            };
            let mut slot =
                member.take().filter(|(number, _)| *number == field.number).map(|(_, inner)| inner);
            set_once(&mut slot, &field, name, Inner::from_body)?;
            member = slot.map(|inner| (field.number, inner));
        }
        if let Some((number, inner)) = member {
            ty.kind = inner.parse(number)?;
        }
        Ok(ty)
    }
}

/// The body of a member of `TypeProto`'s `oneof`.
#[derive(Clone, Copy)]
struct Inner<'a>(Fields<'a>);

impl<'a> Inner<'a> {
    const fn from_body(bytes: &'a [u8], offset: usize) -> Self {
        Self(Fields::new(bytes, offset))
    }

    fn parse(&self, member: u32) -> Result<TypeKindView<'a>, DecodeError> {
        Ok(match member {
            1 => {
                let (mut elem, mut shape) = (0, None);
                decode! {
                    self.0, "TypeProto.Tensor";
                    1 "elem_type" int32 elem;
                    2 "shape" (ShapeView) shape;
                }
                TypeKindView::Tensor { elem, shape }
            }
            8 => {
                let (mut elem, mut shape) = (0, None);
                decode! {
                    self.0, "TypeProto.SparseTensor";
                    1 "elem_type" int32 elem;
                    2 "shape" (ShapeView) shape;
                }
                TypeKindView::Sparse { elem, shape }
            }
            5 => {
                let (mut key, mut value) = (0, None);
                decode! {
                    self.0, "TypeProto.Map";
                    1 "key_type" int32 key;
                    2 "value_type" (TypeView) value;
                }
                TypeKindView::Map { key, value }
            }
            4 => {
                let mut element = None;
                decode! { self.0, "TypeProto.Sequence"; 1 "elem_type" (TypeView) element; }
                TypeKindView::Sequence(element)
            }
            9 => {
                let mut element = None;
                decode! { self.0, "TypeProto.Optional"; 1 "elem_type" (TypeView) element; }
                TypeKindView::Optional(element)
            }
            _ => {
                let (mut domain, mut name) = ("", "");
                decode! {
                    self.0, "TypeProto.Opaque";
                    1 "domain" string domain;
                    2 "name" string name;
                }
                TypeKindView::Opaque { domain, name }
            }
        })
    }
}

/// One axis of a shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DimView<'a> {
    /// The extent.
    pub value: DimValue<'a>,
    /// The meaning of the axis; may be empty.
    pub denotation: &'a str,
}

/// An extent of a shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DimValue<'a> {
    /// Unknown.
    #[default]
    Unknown,
    /// A number, possibly negative.
    Value(i64),
    /// A symbol or an expression over symbols; may be empty.
    Param(&'a str),
}

impl<'a> ShapeView<'a> {
    /// The extents, outermost first.
    #[inline]
    pub fn dims(&self) -> impl Iterator<Item = Result<DimView<'a>, DecodeError>> + Clone + use<'a> {
        Dims { fields: self.wire_fields() }
    }
}

/// Iterator over the extents of a shape.
#[derive(Clone)]
struct Dims<'a> {
    fields: Fields<'a>,
}

impl<'a> Iterator for Dims<'a> {
    type Item = Result<DimView<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        const DIM: u32 = 1;
        loop {
            let dim = match self.fields.next()? {
                Ok(field) if field.number != DIM => continue,
                Ok(field) => field
                    .bytes(name!("TensorShapeProto", "dim"))
                    .and_then(|(bytes, offset)| read_dim(bytes, offset)),
                Err(error) => return Some(Err(error)),
            };
            return Some(dim.inspect_err(|_| self.fields.stop()));
        }
    }
}

impl std::iter::FusedIterator for Dims<'_> {}

#[inline]
fn read_dim(bytes: &[u8], offset: usize) -> Result<DimView<'_>, DecodeError> {
    let mut dim = DimView::default();
    for field in Fields::new(bytes, offset) {
        let field = field?;
        match field.number {
            1 => dim.value = DimValue::Value(field.int64(name!("Dimension", "dim_value"))?),
            2 => dim.value = DimValue::Param(field.string(name!("Dimension", "dim_param"))?),
            3 => dim.denotation = field.string(name!("Dimension", "denotation"))?,
            _ => {}
        }
    }
    Ok(dim)
}
