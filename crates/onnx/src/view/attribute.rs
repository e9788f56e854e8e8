//! Views of attributes.

use super::payload::FixedBits;
use super::{GraphView, Ints, SparseTensorView, TensorView, TypeView};
use super::{Select, getters, name, set_once, views};
use crate::error::DecodeError;
use crate::messages::attribute_proto::AttributeType;
use crate::wire::{Field, Fields};

views! {
    /// A view of one `AttributeProto`.
    AttributeView,
}

/// A decoded attribute: its name, kind and singular values. Lists are decoded on access.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attribute<'a> {
    pub view: AttributeView<'a>,
    pub name: &'a str,
    /// The attribute of the enclosing function that provides the value, if any.
    pub ref_attr_name: Option<&'a str>,
    /// The number of an [`AttributeType`]: the field `type`, or if that is absent or zero (as in the oldest
    /// files) the kind implied by the values that are present. Not compared with the values; may be an
    /// unknown number.
    pub kind: i32,
    /// The float value.
    pub f: Option<f32>,
    /// The integer value.
    pub i: Option<i64>,
    /// The string value, not necessarily UTF-8.
    pub s: Option<&'a [u8]>,
    /// The tensor value.
    pub t: Option<TensorView<'a>>,
    /// The graph value.
    pub g: Option<GraphView<'a>>,
    /// The type value.
    pub tp: Option<TypeView<'a>>,
    pub sparse_tensor: Option<SparseTensorView<'a>>,
}

getters! {
    AttributeView of "AttributeProto";
    /// The attribute's name.
    1 "name" last str name;
}

impl<'a> AttributeView<'a> {
    /// Whether the attribute has this name. Reads no other field.
    pub fn has_name(&self, name: &str) -> Result<bool, DecodeError> {
        let mut found: &[u8] = &[];
        for field in self.wire_fields() {
            let field = field?;
            if field.number == 1 {
                (found, _) = field.bytes(name!("AttributeProto", "name"))?;
            }
        }
        Ok(found == name.as_bytes())
    }

    /// Decodes the attribute.
    pub fn parse(&self) -> Result<Attribute<'a>, DecodeError> {
        let mut attribute = Attribute { view: *self, ..Attribute::default() };
        let mut implied = 0;
        for field in self.wire_fields() {
            let field = field?;
            attribute.read(&field)?;
            if let Some(kind) = implied_kind(field.number) {
                implied = kind as i32;
            }
        }
        if attribute.kind == 0 {
            attribute.kind = implied;
        }
        Ok(attribute)
    }
}

/// The kind implied by the presence of a value.
fn implied_kind(number: u32) -> Option<AttributeType> {
    Some(match number {
        2 => AttributeType::Float,
        3 => AttributeType::Int,
        4 => AttributeType::String,
        5 => AttributeType::Tensor,
        6 => AttributeType::Graph,
        7 => AttributeType::Floats,
        8 => AttributeType::Ints,
        9 => AttributeType::Strings,
        10 => AttributeType::Tensors,
        11 => AttributeType::Graphs,
        14 => AttributeType::TypeProto,
        15 => AttributeType::TypeProtos,
        22 => AttributeType::SparseTensor,
        23 => AttributeType::SparseTensors,
        _ => return None,
    })
}

impl<'a> Attribute<'a> {
    #[inline]
    fn read(&mut self, field: &Field<'a>) -> Result<(), DecodeError> {
        match field.number {
            1 => self.name = field.string(name!("AttributeProto", "name"))?,
            2 => self.f = Some(field.float(name!("AttributeProto", "f"))?),
            3 => self.i = Some(field.int64(name!("AttributeProto", "i"))?),
            4 => self.s = Some(field.bytes(name!("AttributeProto", "s"))?.0),
            5 => set_once(&mut self.t, field, name!("AttributeProto", "t"), TensorView::from_body)?,
            6 => set_once(&mut self.g, field, name!("AttributeProto", "g"), GraphView::from_body)?,
            14 => set_once(&mut self.tp, field, name!("AttributeProto", "tp"), TypeView::from_body)?,
            20 => self.kind = field.int32(name!("AttributeProto", "type"))?,
            21 => self.ref_attr_name = Some(field.string(name!("AttributeProto", "ref_attr_name"))?),
            22 => {
                let name = name!("AttributeProto", "sparse_tensor");
                set_once(&mut self.sparse_tensor, field, name, SparseTensorView::from_body)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The kind; `None` for an unknown number.
    pub fn attribute_type(&self) -> Option<AttributeType> {
        AttributeType::try_from(self.kind).ok()
    }

    /// The list of floats.
    pub fn floats(&self) -> impl Iterator<Item = Result<f32, DecodeError>> + Clone + use<'a> {
        let bits = FixedBits::<4>::new(self.wire_fields(), 7, name!("AttributeProto", "floats"));
        bits.map(|bits| bits.map(|bits| f32::from_bits(bits as u32)))
    }

    /// The list of integers.
    pub fn ints(&self) -> Ints<'a> {
        Ints::new(self.wire_fields(), 8, name!("AttributeProto", "ints"))
    }

    /// The list of strings, not necessarily UTF-8.
    pub fn strings(&self) -> impl Iterator<Item = Result<&'a [u8], DecodeError>> + Clone + use<'a> {
        Select {
            fields: self.wire_fields(),
            number: 9,
            read: |field: &Field<'a>| field.bytes(name!("AttributeProto", "strings")).map(|(bytes, _)| bytes),
        }
    }

    const fn wire_fields(&self) -> Fields<'a> {
        self.view.wire_fields()
    }
}

getters! {
    Attribute of "AttributeProto";
    /// The list of tensors.
    10 "tensors" all TensorView tensors;
    /// The list of graphs.
    11 "graphs" all GraphView graphs;
    /// The list of types.
    15 "type_protos" all TypeView type_protos;
    /// The list of sparse tensors.
    23 "sparse_tensors" all SparseTensorView sparse_tensors;
}
