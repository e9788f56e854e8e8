//! Conversion of tensors. Inputs are copied because tract's tensors own their memory; results are not copied.

use bytes::Bytes;
use tract_onnx::prelude::{DatumType, IntoTValue as _, IntoTensor as _, TValue, Tensor, f16};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

/// Calls `$then!` with the element types that tract shares with ONNX. Strings are excluded because they are
/// not one contiguous block of memory.
macro_rules! plain {
    ($then:ident) => {
        $then! {
            Bool => bool, U8 => u8, U16 => u16, U32 => u32, U64 => u64,
            I8 => i8, I16 => i16, I32 => i32, I64 => i64, F16 => f16, F32 => f32, F64 => f64
        }
    };
}

macro_rules! dtypes {
    ($($dtype:ident => $ty:ty),*) => {
        pub(crate) const DTYPES: &[Dtype] = &[$(Dtype::$dtype),*];

        /// ONNX element type of a tract type.
        pub(crate) fn dtype(datum_type: DatumType) -> Option<Dtype> {
            match datum_type {
                $(DatumType::$dtype => Some(Dtype::$dtype),)*
                DatumType::QU8(_) => Some(Dtype::U8),
                DatumType::QI8(_) => Some(Dtype::I8),
                DatumType::QI32(_) => Some(Dtype::I32),
                DatumType::TDim => Some(Dtype::I64),
                // Features of tract can add others.
                _ => None,
            }
        }
    };
}

plain!(dtypes);

/// Copies a tensor to tract.
pub(crate) fn to_tract(tensor: &AnyTensor) -> Result<TValue, String> {
    macro_rules! copied {
        ($($dtype:ident => $ty:ty),*) => {
            match tensor.dtype() {
                $(Dtype::$dtype => tensor.as_slice::<$ty>().map(|it| Tensor::from_shape(tensor.shape(), it)),)*
                other => return Err(format!("it has no {}", other.onnx_name())),
            }
        };
    }
    let made = plain!(copied).map_err(|error| error.to_string())?;
    Ok(made.map_err(|error| format!("{error:#}"))?.into_tvalue())
}

/// Wraps a tensor of tract without copying it.
pub(crate) fn from_tract(value: TValue) -> Result<AnyTensor, String> {
    let mut tensor = value.into_tensor();
    if tensor.datum_type() == DatumType::TDim {
        tensor = tensor.cast_to::<i64>().map_err(|error| format!("{error:#}"))?.into_owned();
    }
    let datum_type = tensor.datum_type();
    let Some(dtype) = dtype(datum_type) else {
        return Err(format!("a result is of tract's type {datum_type:?}"));
    };
    let shape = tensor.shape().to_vec();
    let bytes = Bytes::from_owner(Held(tensor));
    AnyTensor::from_shared(dtype, &shape, bytes).map_err(|error| error.to_string())
}

/// Owner of the memory of a tract tensor.
struct Held(Tensor);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}
