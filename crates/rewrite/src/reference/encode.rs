//! Types in wire format.
//!
//! Nearly all values are dense tensors, whose few records are written directly; other types take the way through the
//! messages. Both ways write the same bytes.

use typeloom_onnx::prost::Message as _;
use typeloom_onnx::prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};
use typeloom_onnx::splice::put_header;
use typeloom_solver::dim::{DimId, Dims};
use typeloom_solver::elem::Elem;
use typeloom_solver::model::Checked;
use typeloom_solver::solution::Type;

use super::write::VALUE_TYPE;
use super::{Names, number};

// Field numbers of `TypeProto`, `TypeProto.Tensor`, `TensorShapeProto` and `TensorShapeProto.Dimension`.
pub(super) const TENSOR_TYPE: u32 = 1;
pub(super) const ELEM_TYPE: u32 = 1;
pub(super) const SHAPE: u32 = 2;
pub(super) const DIM: u32 = 1;
pub(super) const DIM_VALUE: u32 = 1;
pub(super) const DIM_PARAM: u32 = 2;

/// The longest headers of a tensor type: those of the record, the type, the element type and the shape.
const MAX_HEADERS: usize = 4 * 6;

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
    pub(super) fn encode(
        &mut self,
        names: &mut Names<'_>,
        checked: &mut Checked<'_>,
        ty: &Type,
    ) -> Option<TypeRecord> {
        match ty {
            Type::Tensor(tensor) => {
                self.encode_tensor(names, checked.dims(), tensor.elem.single()?, tensor.shape.as_deref())
            }
            other => {
                let ty = names.message_of(checked, other)?.encode_to_vec();
                let start = self.bytes.len();
                put_header(VALUE_TYPE, ty.len(), &mut self.bytes);
                let ty_start = self.bytes.len();
                self.bytes.extend_from_slice(&ty);
                Some(TypeRecord { start, ty: ty_start, end: self.bytes.len() })
            }
        }
    }

    /// Encodes the type of a dense tensor. The extents are written first, and the headers before them from the inside out.
    pub(super) fn encode_tensor(
        &mut self,
        names: &mut Names<'_>,
        dims: &Dims,
        elem: Elem,
        shape: Option<&[DimId]>,
    ) -> Option<TypeRecord> {
        let elem = u64::try_from(number(elem)?).ok()?;
        let bytes = &mut self.bytes;
        if bytes.is_empty() {
            // The usual types of a small model fit.
            *bytes = Vec::with_capacity(128);
        }
        let gap = bytes.len() + MAX_HEADERS;
        bytes.resize(gap, 0);
        for dim in shape.into_iter().flatten() {
            encode_dim(names, dims, *dim, bytes);
        }
        let end = bytes.len();
        let mut headers = Headers { bytes, start: gap };
        if shape.is_some() {
            headers.put(SHAPE, WireType::LengthDelimited, (end - gap) as u64);
        }
        headers.put(ELEM_TYPE, WireType::Varint, elem);
        let body = end - headers.start;
        headers.put(TENSOR_TYPE, WireType::LengthDelimited, body as u64);
        let ty = headers.start;
        headers.put(VALUE_TYPE, WireType::LengthDelimited, (end - ty) as u64);
        Some(TypeRecord { start: headers.start, ty, end })
    }
}

/// Writes keys with varints from back to front.
struct Headers<'b> {
    bytes: &'b mut [u8],
    start: usize,
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
    use typeloom_onnx::prost::Message as _;
    use typeloom_onnx::splice::Records;
    use typeloom_ops::described::Operators;
    use typeloom_solver::dim::DimId;
    use typeloom_solver::elem::{Elem, ElemSet};
    use typeloom_solver::model::{self, Options};
    use typeloom_solver::solution::{TensorType, Type};
    use typeloom_solver::universe::Universe;

    use super::{Names, TypeRecords, VALUE_TYPE};
    use crate::reference::UnknownExtents;

    #[test]
    fn tensors_are_encoded_as_their_messages() {
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
        for form in [UnknownExtents::Named, UnknownExtents::Unset] {
            let names = || Names { form, ..Names::default() };
            let (mut direct, mut by_message) = (names(), names());
            let mut records = TypeRecords::default();
            for elem in (0..64).filter_map(Elem::from_onnx) {
                for shape in &shapes {
                    let shape = shape.as_deref().map(Into::into);
                    let ty = Type::Tensor(TensorType { elem: ElemSet::of(elem), shape });
                    let expected = by_message.message_of(&mut checked, &ty);
                    let expected = expected.map(|message| message.encode_to_vec());
                    let record = records.encode(&mut direct, &mut checked, &ty);
                    let expected_record = expected.as_ref().map(|ty| Records::new().bytes(VALUE_TYPE, ty));
                    assert_eq!(record.map(|record| records.ty(record)), expected.as_deref(), "{ty:?}");
                    let record = record.map(|record| records.as_wire(record));
                    assert_eq!(record, expected_record.as_ref().map(Records::as_wire), "{ty:?}");
                }
            }
        }
    }
}
