//! Conversion of tensors without copies: the library borrows inputs, and results keep the library's memory.

use std::marker::PhantomData;

use bytemuck::NoUninit;
use bytes::Bytes;
use half::{bf16, f16};
use ort::session::SessionInputValue;
use ort::value::{DynValue, PrimitiveTensorElementType, Tensor, TensorElementType, TensorRef};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

/// Calls `$then!` with the element types that are plain memory on both sides: ours, the library's and Rust's.
/// The library's safe interface does not expose its 8-bit and 4-bit floats and integers.
macro_rules! plain {
    ($then:ident) => {
        $then! {
            Bool Bool bool, U8 Uint8 u8, U16 Uint16 u16, U32 Uint32 u32, U64 Uint64 u64, I8 Int8 i8, I16 Int16 i16,
            I32 Int32 i32, I64 Int64 i64, F16 Float16 f16, BF16 Bfloat16 bf16, F32 Float32 f32, F64 Float64 f64
        }
    };
}

macro_rules! dtypes {
    ($($dtype:ident $library:ident $ty:ty),*) => {
        /// Supported element types.
        pub(crate) const DTYPES: &[Dtype] = &[$(Dtype::$dtype,)* Dtype::String];

        /// ONNX element type of a library type.
        pub(crate) fn dtype(ty: TensorElementType) -> Option<Dtype> {
            match ty {
                $(TensorElementType::$library => Some(Dtype::$dtype),)*
                TensorElementType::String => Some(Dtype::String),
                _ => None,
            }
        }
    };
}

plain!(dtypes);

/// Lends a tensor to the library.
pub(crate) fn to_ort(tensor: &AnyTensor) -> Result<SessionInputValue<'_>, String> {
    let shape = tensor.shape().to_vec();
    macro_rules! lent {
        ($($dtype:ident $library:ident $ty:ty),*) => {
            match tensor.dtype() {
                $(Dtype::$dtype => {
                    let elements = tensor.as_slice::<$ty>().map_err(|error| error.to_string())?;
                    let lent = TensorRef::from_array_view((shape, elements));
                    lent.map(SessionInputValue::from).map_err(|error| error.to_string())
                })*
                Dtype::String => {
                    let strings = tensor.strings().map_err(|error| error.to_string())?;
                    let strings: Vec<String> = strings.map(str::to_owned).collect();
                    let made = Tensor::from_string_array((shape, &strings[..]));
                    made.map(SessionInputValue::from).map_err(|error| error.to_string())
                }
                other => Err(format!("it has no {}", other.onnx_name())),
            }
        };
    }
    plain!(lent)
}

/// Wraps a tensor of the library without copying it; strings are copied.
pub(crate) fn from_ort(value: DynValue) -> Result<AnyTensor, String> {
    let ty = value.dtype();
    let (Some(dtype), Some(shape)) = (ty.tensor_type().and_then(dtype), ty.tensor_shape()) else {
        return Err(format!("a result is of the type {ty}"));
    };
    let extents = shape.iter().map(|extent| usize::try_from(*extent)).collect::<Result<Vec<usize>, _>>();
    let extents = extents.map_err(|_| format!("a result has the extents {shape}"))?;
    macro_rules! kept {
        ($($dtype:ident $library:ident $ty:ty),*) => {
            match dtype {
                $(Dtype::$dtype => Bytes::from_owner(Held::<$ty>(value, PhantomData)),)*
                Dtype::String => {
                    let (_, strings) = value.try_extract_strings().map_err(|error| error.to_string())?;
                    return AnyTensor::from_strings(&extents, &strings).map_err(|error| error.to_string());
                }
                other => return Err(format!("it has no {}", other.onnx_name())),
            }
        };
    }
    AnyTensor::from_shared(dtype, &extents, plain!(kept)).map_err(|error| error.to_string())
}

/// Owner of the memory of a library tensor.
struct Held<T>(DynValue, PhantomData<T>);

impl<T: PrimitiveTensorElementType + NoUninit> AsRef<[u8]> for Held<T> {
    fn as_ref(&self) -> &[u8] {
        // `from_ort` has checked the type. An empty slice is too short for the extents and causes an error.
        self.0.try_extract_tensor::<T>().map_or(&[], |(_, elements)| bytemuck::cast_slice(elements))
    }
}
