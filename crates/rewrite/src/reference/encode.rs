//! Types in wire format.
//!
//! Nearly all values are dense tensors, whose few records are written directly; other types take the way through the
//! messages. Both ways write the same bytes.

use typeloom_onnx::prost::Message as _;
use typeloom_onnx::prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};
use typeloom_onnx::splice::put_header;
use typeloom_solver::dim::{DimId, Dims};
use typeloom_solver::model::Checked;
use typeloom_solver::solution::{TensorType, Type};

use super::write::VALUE_TYPE;
use super::{Names, number};

// Field numbers of `TypeProto`, `TypeProto.Tensor`, `TensorShapeProto` and `TensorShapeProto.Dimension`.
pub(super) const TENSOR_TYPE: u32 = 1;
pub(super) const ELEM_TYPE: u32 = 1;
pub(super) const SHAPE: u32 = 2;
pub(super) const DIM: u32 = 1;
pub(super) const DIM_VALUE: u32 = 1;
pub(super) const DIM_PARAM: u32 = 2;

/// The record of the type in a `ValueInfoProto`.
#[derive(Debug)]
pub(super) struct TypeRecord {
    record: Vec<u8>,
    /// Start of the encoded `TypeProto`.
    start: usize,
}

impl TypeRecord {
    /// The record with its key and length.
    pub(super) fn as_wire(&self) -> &[u8] {
        &self.record
    }

    /// The encoded `TypeProto`.
    pub(super) fn ty(&self) -> &[u8] {
        &self.record[self.start..]
    }
}

/// The encoded type; `None` if the reference writes none.
pub(super) fn encode(names: &mut Names<'_>, checked: &mut Checked<'_>, ty: &Type) -> Option<TypeRecord> {
    match ty {
        Type::Tensor(tensor) => encode_tensor(names, checked.dims(), tensor),
        other => {
            let ty = names.message_of(checked, other)?.encode_to_vec();
            let mut record = Vec::new();
            put_header(VALUE_TYPE, ty.len(), &mut record);
            let start = record.len();
            record.extend_from_slice(&ty);
            Some(TypeRecord { record, start })
        }
    }
}

fn encode_tensor(names: &mut Names<'_>, dims: &Dims, tensor: &TensorType) -> Option<TypeRecord> {
    let elem = u64::try_from(number(tensor.elem.single()?)?).ok()?;
    let mut shape = std::mem::take(&mut names.scratch);
    shape.clear();
    shape.reserve(64);
    for dim in tensor.shape.iter().flatten() {
        encode_dim(names, dims, *dim, &mut shape);
    }
    let mut body = 1 + encoded_len_varint(elem);
    if tensor.shape.is_some() {
        body += 1 + encoded_len_varint(shape.len() as u64) + shape.len();
    }
    let ty = 1 + encoded_len_varint(body as u64) + body;
    let mut encoded = Vec::with_capacity(1 + encoded_len_varint(ty as u64) + ty);
    put_header(VALUE_TYPE, ty, &mut encoded);
    let start = encoded.len();
    put_header(TENSOR_TYPE, body, &mut encoded);
    encode_key(ELEM_TYPE, WireType::Varint, &mut encoded);
    encode_varint(elem, &mut encoded);
    if tensor.shape.is_some() {
        put_header(SHAPE, shape.len(), &mut encoded);
        encoded.extend_from_slice(&shape);
    }
    names.scratch = shape;
    Some(TypeRecord { record: encoded, start })
}

fn encode_dim(names: &mut Names<'_>, dims: &Dims, dim: DimId, to: &mut Vec<u8>) {
    if let Some(size) = dims.as_constant(dim) {
        let size = size.cast_unsigned();
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

    use super::{Names, TypeRecord, VALUE_TYPE, encode};
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
            for elem in (0..64).filter_map(Elem::from_onnx) {
                for shape in &shapes {
                    let shape = shape.as_deref().map(Into::into);
                    let ty = Type::Tensor(TensorType { elem: ElemSet::of(elem), shape });
                    let expected = by_message.message_of(&mut checked, &ty);
                    let expected = expected.map(|message| message.encode_to_vec());
                    let record = encode(&mut direct, &mut checked, &ty);
                    let expected_record = expected.as_ref().map(|ty| Records::new().bytes(VALUE_TYPE, ty));
                    assert_eq!(record.as_ref().map(TypeRecord::ty), expected.as_deref(), "{ty:?}");
                    let record = record.as_ref().map(TypeRecord::as_wire);
                    assert_eq!(record, expected_record.as_ref().map(Records::as_wire), "{ty:?}");
                }
            }
        }
    }
}
