//! Types in wire format.
//!
//! A type has a few nested records. They are written into one buffer from the inside out, so no length is
//! computed twice and no message is built. The bytes are those of the messages.

use smallvec::SmallVec;
use typeloom_dim::{DimId, Dims};
use typeloom_onnx::prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};
use typeloom_onnx::splice::put_header;
use typeloom_solver::elem::Elem;
use typeloom_solver::solution::Type;
use typeloom_solver::ty::Constructor;

use super::Names;
use super::write::VALUE_TYPE;

// Field numbers of `TypeProto`, `TypeProto.Tensor`, `TensorShapeProto` and `TensorShapeProto.Dimension`.
pub(super) const TENSOR_TYPE: u32 = 1;
pub(super) const SEQUENCE_TYPE: u32 = 4;
const MAP_TYPE: u32 = 5;
const SPARSE_TENSOR_TYPE: u32 = 8;
pub(super) const OPTIONAL_TYPE: u32 = 9;
/// Field number of the element in `TypeProto.Sequence` and `TypeProto.Optional`.
pub(super) const ELEMENT: u32 = 1;
pub(super) const ELEM_TYPE: u32 = 1;
pub(super) const SHAPE: u32 = 2;
pub(super) const DIM: u32 = 1;
pub(super) const DIM_VALUE: u32 = 1;
pub(super) const DIM_PARAM: u32 = 2;
// Field numbers of `TypeProto.Map`.
const MAP_KEY: u32 = 1;
const MAP_VALUE: u32 = 2;

/// Maximum length of a key with a length or with the number of an element type.
const MAX_HEADER: usize = 6;
/// The headers of the record, the tensor, its element type and its shape.
const MAX_TENSOR_HEADERS: usize = 4 * MAX_HEADER;
/// The headers of a container, the type in it, and the keys of a map.
const MAX_CONTAINER_HEADERS: usize = 3 * MAX_HEADER;

/// Encoded types in one buffer. Each is the record of a type in a `ValueInfoProto`.
#[derive(Default)]
pub(super) struct TypeRecords {
    bytes: Vec<u8>,
}

/// The position of an encoded type in [`TypeRecords`].
#[derive(Clone, Copy, Debug)]
pub(super) struct TypeRecord {
    start: usize,
    /// Start of the encoded `TypeProto`.
    ty: usize,
    end: usize,
}

impl TypeRecords {
    /// The record with its key and length.
    pub(super) fn as_wire(&self, record: TypeRecord) -> &[u8] {
        &self.bytes[record.start..record.end]
    }

    /// The encoded `TypeProto`.
    pub(super) fn ty(&self, record: TypeRecord) -> &[u8] {
        &self.bytes[record.ty..record.end]
    }

    /// Encodes a type; `None` if the reference writes none.
    pub(super) fn encode(&mut self, names: &mut Names<'_>, dims: &Dims, ty: &Type) -> Option<TypeRecord> {
        let mut containers: SmallVec<[Container; 2]> = SmallVec::new();
        let mut inner = ty;
        while let Type::Container(constructor, element) = inner {
            containers.push(Container::of(*constructor)?);
            inner = element;
        }
        let (member, tensor) = match inner {
            Type::Tensor(tensor) => (TENSOR_TYPE, tensor),
            Type::Sparse(tensor) => (SPARSE_TENSOR_TYPE, tensor),
            Type::Container(..)
            | Type::Unknown(_)
            | Type::Scalar(_)
            | Type::Composite(_)
            | Type::Leaf(_)
            | Type::Error => return None,
        };
        let elem = tensor.elem.single()?;
        self.encode_within(&containers, names, dims, (member, elem, tensor.shape.as_deref()))
    }

    /// Encodes the type of a dense tensor.
    pub(super) fn encode_tensor(
        &mut self,
        names: &mut Names<'_>,
        dims: &Dims,
        elem: Elem,
        shape: Option<&[DimId]>,
    ) -> Option<TypeRecord> {
        self.encode_within(&[], names, dims, (TENSOR_TYPE, elem, shape))
    }

    /// Encodes a tensor in containers, given from the outside in. The extents are written first, and the
    /// headers before them from the inside out.
    fn encode_within(
        &mut self,
        containers: &[Container],
        names: &mut Names<'_>,
        dims: &Dims,
        (member, elem, shape): (u32, Elem, Option<&[DimId]>),
    ) -> Option<TypeRecord> {
        let elem = encoded_number(elem)?;
        let bytes = &mut self.bytes;
        if bytes.is_empty() {
            // The usual types of a small model fit.
            *bytes = Vec::with_capacity(128);
        }
        let gap = bytes.len() + MAX_TENSOR_HEADERS + containers.len() * MAX_CONTAINER_HEADERS;
        bytes.resize(gap, 0);
        for dim in shape.into_iter().flatten() {
            encode_dim(names, dims, *dim, bytes);
        }
        let end = bytes.len();
        let mut headers = Headers { bytes, start: gap, end };
        if shape.is_some() {
            headers.put_length(SHAPE);
        }
        headers.put(ELEM_TYPE, WireType::Varint, elem);
        headers.put_length(member);
        for Container { member, element, key } in containers.iter().rev() {
            headers.put_length(*element);
            if let Some(key) = key {
                headers.put(MAP_KEY, WireType::Varint, *key);
            }
            headers.put_length(*member);
        }
        let ty = headers.start;
        headers.put_length(VALUE_TYPE);
        Some(TypeRecord { start: headers.start, ty, end })
    }
}

/// A type around another type.
struct Container {
    /// Field number in `TypeProto`.
    member: u32,
    /// Field number of the inner type.
    element: u32,
    /// The number of the element type of the keys of a map.
    key: Option<u64>,
}

impl Container {
    fn of(constructor: Constructor) -> Option<Self> {
        Some(match constructor {
            Constructor::Sequence => Self { member: SEQUENCE_TYPE, element: ELEMENT, key: None },
            Constructor::Optional => Self { member: OPTIONAL_TYPE, element: ELEMENT, key: None },
            Constructor::Map(key) => {
                Self { member: MAP_TYPE, element: MAP_VALUE, key: Some(encoded_number(key)?) }
            }
        })
    }
}

/// ONNX's number of an element type, as it is encoded.
fn encoded_number(elem: Elem) -> Option<u64> {
    u64::try_from(elem.dtype()?.onnx_number()).ok()
}

/// Writes keys with varints from back to front.
struct Headers<'b> {
    bytes: &'b mut [u8],
    /// The bytes from here to `end` are written.
    start: usize,
    end: usize,
}

impl Headers<'_> {
    /// Puts a field number below 16 and a value before the bytes that are written already.
    fn put(&mut self, number: u32, wire_type: WireType, value: u64) {
        let length = encoded_len_varint(value);
        self.start -= length;
        encode_varint(value, &mut &mut self.bytes[self.start..self.start + length]);
        self.start -= 1;
        self.bytes[self.start] = (number << 3) as u8 | wire_type as u8;
    }

    /// Puts a field number and the length of what is written already before it.
    fn put_length(&mut self, number: u32) {
        self.put(number, WireType::LengthDelimited, (self.end - self.start) as u64);
    }
}

fn encode_dim(names: &mut Names<'_>, dims: &Dims, dim: DimId, to: &mut Vec<u8>) {
    if let Some(size) = dims.as_constant(dim) {
        let size = size.cast_unsigned();
        if let Ok(small @ ..0x80) = u8::try_from(size) {
            const KEYS: [u8; 3] = [(DIM << 3) as u8 | 2, 2, (DIM_VALUE << 3) as u8];
            to.extend_from_slice(&[KEYS[0], KEYS[1], KEYS[2], small]);
            return;
        }
        put_header(DIM, 1 + encoded_len_varint(size), to);
        encode_key(DIM_VALUE, WireType::Varint, to);
        encode_varint(size, to);
    } else if let Some(name) = names.name(dims, dim) {
        put_header(DIM, 1 + encoded_len_varint(name.len() as u64) + name.len(), to);
        put_header(DIM_PARAM, name.len(), to);
        to.extend_from_slice(name.as_bytes());
    } else {
        put_header(DIM, 0, to);
    }
}

#[cfg(test)]
mod tests {
    use typeloom_dim::{DimId, Dims};
    use typeloom_onnx::messages::tensor_shape_proto::{Dimension, dimension};
    use typeloom_onnx::messages::{TensorShapeProto, TypeProto, type_proto};
    use typeloom_onnx::prost::Message as _;
    use typeloom_onnx::splice::Records;
    use typeloom_ops::described::Operators;
    use typeloom_solver::elem::{Elem, ElemSet};
    use typeloom_solver::model::{self, Options};
    use typeloom_solver::solution::{TensorType, Type};
    use typeloom_solver::ty::Constructor;
    use typeloom_solver::universe::Universe;

    use super::{Names, TypeRecords, VALUE_TYPE};
    use crate::reference::UnknownExtents;

    fn number(elem: Elem) -> Option<i32> {
        elem.dtype().map(typeloom_types::dtype::Dtype::onnx_number)
    }

    /// The slow way to the same bytes.
    fn message_of(names: &mut Names<'_>, dims: &Dims, ty: &Type) -> Option<TypeProto> {
        let value = match ty {
            Type::Container(Constructor::Sequence, inner) => {
                let elem_type = Some(Box::new(message_of(names, dims, inner)?));
                type_proto::Value::SequenceType(type_proto::Sequence { elem_type, ..Default::default() })
            }
            Type::Container(Constructor::Optional, inner) => {
                let elem_type = Some(Box::new(message_of(names, dims, inner)?));
                type_proto::Value::OptionalType(type_proto::Optional { elem_type, ..Default::default() })
            }
            Type::Container(Constructor::Map(key), inner) => {
                let (key_type, inner) = (Some(number(*key)?), message_of(names, dims, inner)?);
                let value_type = Some(Box::new(inner));
                type_proto::Value::MapType(type_proto::Map { key_type, value_type, ..Default::default() })
            }
            Type::Tensor(tensor) => {
                let elem_type = Some(number(tensor.elem.single()?)?);
                let shape = shape_of(names, dims, tensor);
                type_proto::Value::TensorType(type_proto::Tensor { elem_type, shape, ..Default::default() })
            }
            Type::Sparse(tensor) => {
                let elem_type = Some(number(tensor.elem.single()?)?);
                let shape = shape_of(names, dims, tensor);
                let tensor = type_proto::SparseTensor { elem_type, shape, ..Default::default() };
                type_proto::Value::SparseTensorType(tensor)
            }
            Type::Unknown(_) | Type::Scalar(_) | Type::Composite(_) | Type::Leaf(_) | Type::Error => {
                return None;
            }
        };
        Some(TypeProto { value: Some(value), ..TypeProto::default() })
    }

    fn shape_of(names: &mut Names<'_>, dims: &Dims, tensor: &TensorType) -> Option<TensorShapeProto> {
        let dim = |dim: &DimId| {
            let value = match dims.as_constant(*dim) {
                Some(size) => Some(dimension::Value::DimValue(size)),
                None => names.name(dims, *dim).map(|name| dimension::Value::DimParam(name.into())),
            };
            Dimension { value, ..Dimension::default() }
        };
        let dim = tensor.shape.as_ref()?.iter().map(dim).collect();
        Some(TensorShapeProto { dim, ..TensorShapeProto::default() })
    }

    #[test]
    fn types_are_encoded_as_their_messages() {
        let sizes = "0, 1, 127, 128, 1048576, 9223372036854775807";
        let long = "n".repeat(200);
        let text = format!(
            "<ir_version: 10, opset_import: [\"\" : 21]> g (float[{sizes}, seq, {long}] x) => (y) {{ y = Relu(x) }}"
        );
        let bytes = typeloom_onnx::text::model_bytes(&text).expect("a model");
        let operators = Operators::standard();
        let checked = model::check(&bytes, &operators, Universe::standard(), &Options::default());
        let mut checked = checked.expect("a model that can be checked");
        let input = checked.body().values().next().expect("an input");
        let Type::Tensor(TensorType { shape: Some(shape), .. }) = checked.type_of(input) else {
            panic!("the input is declared as a tensor");
        };
        let mut dims = shape.to_vec();
        dims.push(checked.fresh_dim());
        let rank_64: Vec<DimId> = dims.iter().cycle().copied().take(64).collect();
        let mut shapes = vec![None, Some(Vec::new()), Some(rank_64)];
        shapes.extend(dims.iter().map(|dim| Some(vec![*dim])));
        let within = |constructor, ty: &Type| Type::Container(constructor, Box::new(ty.clone()));
        let dims = checked.dims();
        let mut compared = 0;
        for form in [UnknownExtents::Named, UnknownExtents::Unset] {
            let names = || Names { form, ..Names::default() };
            let (mut direct, mut by_message) = (names(), names());
            let mut records = TypeRecords::default();
            for elem in (0..64).filter_map(Elem::from_onnx) {
                for shape in &shapes {
                    let shape = shape.as_deref().map(Into::into);
                    let tensor = TensorType { elem: ElemSet::of(elem), shape };
                    let mut types = vec![Type::Tensor(tensor.clone()), Type::Sparse(tensor)];
                    for at in 0..6 {
                        let constructors =
                            [Constructor::Sequence, Constructor::Optional, Constructor::Map(elem)];
                        types.extend(constructors.map(|constructor| within(constructor, &types[at])));
                    }
                    types.push(within(Constructor::Sequence, &Type::Unknown(None)));
                    types.push((0..30).fold(types[0].clone(), |ty, _| within(Constructor::Map(elem), &ty)));
                    for ty in types {
                        let expected = message_of(&mut by_message, dims, &ty);
                        let expected = expected.map(|message| message.encode_to_vec());
                        let record = records.encode(&mut direct, dims, &ty);
                        let expected_record =
                            expected.as_ref().map(|ty| Records::new().bytes(VALUE_TYPE, ty));
                        assert_eq!(record.map(|record| records.ty(record)), expected.as_deref(), "{ty:?}");
                        let record = record.map(|record| records.as_wire(record));
                        assert_eq!(record, expected_record.as_ref().map(Records::as_wire), "{ty:?}");
                        compared += 1;
                    }
                }
            }
        }
        assert!(compared > 1000, "only {compared} types were compared");
    }
}
