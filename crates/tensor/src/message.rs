//! Tensors as messages of ONNX.

use bytes::Bytes;
use typeloom_onnx::messages::TensorProto;

use crate::any_tensor::AnyTensor;

/// A tensor without a name. Strings are stored one by one, other elements as bytes.
impl From<&AnyTensor> for TensorProto {
    fn from(tensor: &AnyTensor) -> Self {
        let message = Self {
            dims: tensor.shape().iter().map(|extent| i64::try_from(*extent).unwrap_or(i64::MAX)).collect(),
            data_type: Some(tensor.dtype().onnx_number()),
            ..Self::default()
        };
        match tensor.strings() {
            Ok(strings) => {
                let string_data = strings.map(|text| Bytes::copy_from_slice(text.as_bytes())).collect();
                Self { string_data, ..message }
            }
            Err(_) => Self { raw_data: Some(Bytes::copy_from_slice(tensor.bytes())), ..message },
        }
    }
}
