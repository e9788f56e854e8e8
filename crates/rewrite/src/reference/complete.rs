//! Completion of declared tensor types in wire format.
//!
//! A declaration of a dense tensor, or of sequences and optionals of one, has few records, which are read and
//! written here without the messages of [`super::merge`]. Both ways complete the same extents and write the
//! same bytes. Declarations with other contents (denotations, documentation, maps, repeated records) are left
//! to the messages.

use smallvec::SmallVec;
use typeloom_onnx::prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};
use typeloom_onnx::splice::put_header;
use typeloom_onnx::wire::{Fields, WireValue};

use super::encode::{DIM, DIM_PARAM, DIM_VALUE, ELEM_TYPE, SHAPE, TENSOR_TYPE};
use super::encode::{ELEMENT, OPTIONAL_TYPE, SEQUENCE_TYPE};
use super::write::{VALUE_NAME, VALUE_TYPE};

/// A declaration with a name and at most one type, and no other records.
pub(super) struct Named<'a> {
    pub(super) name: &'a [u8],
    /// The encoded type; empty if there is none.
    pub(super) ty: &'a [u8],
}

impl<'a> Named<'a> {
    /// Reads an encoded `ValueInfoProto`; `None` for other contents.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut fields = Fields::new(bytes, 0);
        let (VALUE_NAME, name) = fields.next_bytes()? else { return None };
        std::str::from_utf8(name).ok()?;
        if fields.offset() == bytes.len() {
            return Some(Self { name, ty: &[] });
        }
        let (VALUE_TYPE, ty) = fields.next_bytes()? else { return None };
        (fields.offset() == bytes.len()).then_some(Self { name, ty })
    }
}

/// An extent in wire format.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent<'a> {
    Unset,
    Value(u64),
    Param(&'a [u8]),
}

/// The type of a dense tensor, or of sequences and optionals of one.
pub(super) struct Tensor<'a> {
    /// The types around the tensor from the outside in, by their field numbers in `TypeProto`.
    containers: SmallVec<[u32; 4]>,
    elem: Option<u64>,
    shape: Option<SmallVec<[Extent<'a>; 4]>>,
}

impl<'a> Tensor<'a> {
    /// Reads an encoded `TypeProto`; `None` for other contents.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (mut containers, mut inner) = (SmallVec::new(), bytes);
        let tensor = loop {
            match only_record(inner)? {
                (TENSOR_TYPE, tensor) => break tensor,
                (container @ (SEQUENCE_TYPE | OPTIONAL_TYPE), body) => {
                    containers.push(container);
                    let (ELEMENT, element) = only_record(body)? else { return None };
                    inner = element;
                }
                _ => return None,
            }
        };
        let (mut elem, mut shape) = (None, None);
        for field in Fields::new(tensor, 0) {
            let field = field.ok()?;
            match (field.number, field.value) {
                // Other numbers are encoded in a different way than they are written.
                (ELEM_TYPE, WireValue::Varint(number @ 0..0x8000_0000))
                    if elem.is_none() && shape.is_none() =>
                {
                    elem = Some(number);
                }
                (SHAPE, WireValue::Len(bytes, _)) if shape.is_none() => shape = Some(extents(bytes)?),
                _ => return None,
            }
        }
        Some(Self { containers, elem, shape })
    }

    /// Takes what an inferred type knows better. Returns whether the type has changed.
    pub(super) fn complete(&mut self, inferred: Self) -> bool {
        let mut has_changed = false;
        if self.containers != inferred.containers {
            return false;
        }
        if self.elem.is_none_or(|elem| elem == 0) && self.elem != inferred.elem {
            self.elem = inferred.elem;
            has_changed = true;
        }
        match (&mut self.shape, inferred.shape) {
            (_, None) => {}
            (shape @ None, inferred) => {
                *shape = inferred;
                has_changed = true;
            }
            (Some(shape), Some(inferred)) if shape.len() == inferred.len() => {
                for (declared, inferred) in shape.iter_mut().zip(inferred) {
                    let is_better = match (&declared, inferred) {
                        (Extent::Unset, inferred) => inferred != Extent::Unset,
                        (Extent::Param(_), Extent::Value(_)) => true,
                        (Extent::Param(_) | Extent::Value(_), _) => false,
                    };
                    if is_better {
                        *declared = inferred;
                        has_changed = true;
                    }
                }
            }
            (Some(_), Some(_)) => {}
        }
        has_changed
    }

    /// The encoded `TypeProto`.
    pub(super) fn to_wire(&self) -> Vec<u8> {
        let dims: usize = self.shape.iter().flatten().map(|extent| with_header(extent.wire_len())).sum();
        let mut body = self.elem.map_or(0, |elem| 1 + encoded_len_varint(elem));
        if self.shape.is_some() {
            body += with_header(dims);
        }
        let mut encoded = Vec::with_capacity(with_header(body));
        put_header(TENSOR_TYPE, body, &mut encoded);
        if let Some(elem) = self.elem {
            encode_key(ELEM_TYPE, WireType::Varint, &mut encoded);
            encode_varint(elem, &mut encoded);
        }
        if self.shape.is_some() {
            put_header(SHAPE, dims, &mut encoded);
        }
        for extent in self.shape.iter().flatten() {
            put_header(DIM, extent.wire_len(), &mut encoded);
            match extent {
                Extent::Unset => {}
                Extent::Value(size) => {
                    encode_key(DIM_VALUE, WireType::Varint, &mut encoded);
                    encode_varint(*size, &mut encoded);
                }
                Extent::Param(name) => {
                    put_header(DIM_PARAM, name.len(), &mut encoded);
                    encoded.extend_from_slice(name);
                }
            }
        }
        for container in self.containers.iter().rev() {
            let body = with_header(encoded.len());
            let mut outer = Vec::with_capacity(with_header(body));
            put_header(*container, body, &mut outer);
            put_header(ELEMENT, encoded.len(), &mut outer);
            outer.extend_from_slice(&encoded);
            encoded = outer;
        }
        encoded
    }
}

/// The field number and the body of the only record of a message, if that is a message.
fn only_record(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let mut fields = Fields::new(bytes, 0);
    fields.next_bytes().filter(|_| fields.offset() == bytes.len())
}

impl Extent<'_> {
    /// The length of the encoded `Dimension`.
    fn wire_len(&self) -> usize {
        match self {
            Self::Unset => 0,
            Self::Value(size) => 1 + encoded_len_varint(*size),
            Self::Param(name) => with_header(name.len()),
        }
    }
}

/// The length of a record with a field number below 16, a length and `length` bytes.
fn with_header(length: usize) -> usize {
    1 + encoded_len_varint(length as u64) + length
}

/// Reads an encoded `TensorShapeProto`; `None` for other contents.
fn extents(bytes: &[u8]) -> Option<SmallVec<[Extent<'_>; 4]>> {
    let mut shape = SmallVec::new();
    let mut dims = Fields::new(bytes, 0);
    while let Some((DIM, dim)) = dims.next_bytes() {
        let mut fields = Fields::new(dim, 0);
        shape.push(match fields.next() {
            None => Extent::Unset,
            Some(field) => {
                let field = field.ok()?;
                match (field.number, field.value) {
                    (DIM_VALUE, WireValue::Varint(size)) => Extent::Value(size),
                    (DIM_PARAM, WireValue::Len(name, _)) => {
                        Extent::Param(std::str::from_utf8(name).ok()?.as_bytes())
                    }
                    _ => return None,
                }
            }
        });
        if fields.offset() != dim.len() {
            return None;
        }
    }
    (dims.offset() == bytes.len()).then_some(shape)
}

#[cfg(test)]
mod tests {
    use typeloom_onnx::messages::tensor_shape_proto::{Dimension, dimension};
    use typeloom_onnx::messages::{TensorShapeProto, TypeProto, ValueInfoProto, type_proto};
    use typeloom_onnx::prost::Message as _;

    use super::{Named, Tensor};
    use crate::reference::merge;

    fn types() -> Vec<TypeProto> {
        let value = |value| Dimension { value, ..Dimension::default() };
        let dims = [
            value(None),
            value(Some(dimension::Value::DimValue(0))),
            value(Some(dimension::Value::DimValue(300))),
            value(Some(dimension::Value::DimValue(-1))),
            value(Some(dimension::Value::DimParam("batch".into()))),
            value(Some(dimension::Value::DimParam("n".repeat(200)))),
        ];
        let mut shapes = vec![None, Some(Vec::new())];
        for first in &dims {
            shapes.extend(dims.iter().map(|second| Some(vec![first.clone(), second.clone()])));
        }
        let mut types = vec![TypeProto::default()];
        for elem_type in [None, Some(0), Some(1), Some(16), Some(-1)] {
            for shape in &shapes {
                let shape = shape.clone().map(|dim| TensorShapeProto { dim, ..TensorShapeProto::default() });
                let tensor = type_proto::Tensor { elem_type, shape, ..Default::default() };
                let value = Some(type_proto::Value::TensorType(tensor));
                types.push(TypeProto { value, ..TypeProto::default() });
            }
        }
        types
    }

    /// Some types, and all sequences and optionals of types in up to two levels.
    fn nested() -> Vec<TypeProto> {
        let mut types: Vec<TypeProto> = types().into_iter().step_by(7).collect();
        let mut last = types.clone();
        for _ in 0..2 {
            last = last.iter().flat_map(|ty| [sequence(ty), optional(ty)]).collect();
            types.extend(last.iter().cloned());
        }
        types
    }

    fn sequence(ty: &TypeProto) -> TypeProto {
        let elem_type = Some(Box::new(ty.clone()));
        let value = type_proto::Value::SequenceType(type_proto::Sequence { elem_type, ..Default::default() });
        TypeProto { value: Some(value), ..TypeProto::default() }
    }

    fn optional(ty: &TypeProto) -> TypeProto {
        let elem_type = Some(Box::new(ty.clone()));
        let value = type_proto::Value::OptionalType(type_proto::Optional { elem_type, ..Default::default() });
        TypeProto { value: Some(value), ..TypeProto::default() }
    }

    #[test]
    fn completed_types_are_encoded_as_their_messages() {
        assert!(compare(&types()) > 20_000, "only some pairs were compared");
        assert!(compare(&nested()) > 20_000, "only some pairs were compared");
    }

    fn compare(types: &[TypeProto]) -> usize {
        let mut compared = 0;
        for declared in types {
            for inferred in types {
                let (old, new) = (declared.encode_to_vec(), inferred.encode_to_vec());
                let (Some(mut tensor), Some(known)) = (Tensor::read(&old), Tensor::read(&new)) else {
                    continue;
                };
                let mut expected = declared.clone();
                merge(&mut expected, inferred.clone());
                assert_eq!(tensor.complete(known), expected != *declared, "{declared:?} {inferred:?}");
                assert_eq!(tensor.to_wire(), expected.encode_to_vec(), "{declared:?} {inferred:?}");
                compared += 1;
            }
        }
        compared
    }

    #[test]
    fn other_contents_are_left_to_the_messages() {
        let mut ty = types().pop().expect("a type");
        ty.denotation = "IMAGE".into();
        assert!(Tensor::read(&ty.encode_to_vec()).is_none());
        let shape = [0x0a, 0x06, 0x12, 0x04, 0x0a, 0x02, 0x18, 0x01];
        assert!(Tensor::read(&shape).is_none(), "an unknown field of a dimension");
        let info = ValueInfoProto { name: "x".into(), ..ValueInfoProto::default() };
        assert!(
            Named::read(&info.encode_to_vec()).is_some_and(|named| named.name == b"x" && named.ty.is_empty())
        );
        let documented = ValueInfoProto { doc_string: "text".into(), ..info };
        assert!(Named::read(&documented.encode_to_vec()).is_none());
    }
}
