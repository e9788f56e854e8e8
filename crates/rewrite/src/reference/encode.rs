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

use super::{Names, number};

// Field numbers of `TypeProto`, `TypeProto.Tensor`, `TensorShapeProto` and `TensorShapeProto.Dimension`.
const TENSOR_TYPE: u32 = 1;
const ELEM_TYPE: u32 = 1;
const SHAPE: u32 = 2;
const DIM: u32 = 1;
const DIM_VALUE: u32 = 1;
const DIM_PARAM: u32 = 2;

/// The encoded type; `None` if the reference writes none.
pub(super) fn encode(names: &mut Names, checked: &mut Checked<'_>, ty: &Type) -> Option<Vec<u8>> {
    match ty {
        Type::Tensor(tensor) => encode_tensor(names, checked.dims(), tensor),
        other => names.message_of(checked, other).map(|message| message.encode_to_vec()),
    }
}

fn encode_tensor(names: &mut Names, dims: &Dims, tensor: &TensorType) -> Option<Vec<u8>> {
    let elem = u64::try_from(number(tensor.elem.single()?)?).ok()?;
    let mut shape = std::mem::take(&mut names.scratch);
    shape.clear();
    for dim in tensor.shape.iter().flatten() {
        encode_dim(names, dims, *dim, &mut shape);
    }
    let mut body = 1 + encoded_len_varint(elem);
    if tensor.shape.is_some() {
        body += 1 + encoded_len_varint(shape.len() as u64) + shape.len();
    }
    let mut encoded = Vec::with_capacity(1 + encoded_len_varint(body as u64) + body);
    put_header(TENSOR_TYPE, body, &mut encoded);
    encode_key(ELEM_TYPE, WireType::Varint, &mut encoded);
    encode_varint(elem, &mut encoded);
    if tensor.shape.is_some() {
        put_header(SHAPE, shape.len(), &mut encoded);
        encoded.extend_from_slice(&shape);
    }
    names.scratch = shape;
    Some(encoded)
}

fn encode_dim(names: &mut Names, dims: &Dims, dim: DimId, to: &mut Vec<u8>) {
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
    use typeloom_ops::described::Operators;
    use typeloom_solver::dim::DimId;
    use typeloom_solver::elem::{Elem, ElemSet};
    use typeloom_solver::model::{self, Options};
    use typeloom_solver::solution::{TensorType, Type};
    use typeloom_solver::universe::Universe;

    use super::{Names, encode};
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
                    assert_eq!(encode(&mut direct, &mut checked, &ty), expected, "{ty:?}");
                }
            }
        }
    }
}
