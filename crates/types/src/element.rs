//! Rust element types. A tensor of one of them can be viewed as a slice.
//!
//! The set is closed: each member has the size, byte order and meaning of exactly one [`Dtype`], so packed
//! bytes and a slice of elements are the same memory. ONNX element types without a Rust type (complex
//! numbers, 8-bit floats, types of fewer than 8 bits) are accessed as codes, see
//! `typeloom_tensor::any_tensor`.

use std::fmt::Debug;

use crate::dtype::Dtype;
use crate::storage::ElementStorage;

/// An element type with a Rust type: `f32 f64 f16 bf16 u8 u16 u32 u64 i8 i16 i32 i64 bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of tensors",
    label = "tensors cannot be viewed as `[{Self}]`",
    note = "element types are f32, f64, half::f16, half::bf16, u8, u16, u32, u64, i8, i16, i32, i64 and bool"
)]
pub trait Element:
    ElementStorage + Copy + PartialEq + Debug + bytemuck::NoUninit + bytemuck::CheckedBitPattern + sealed::Sealed
{
    const DTYPE: Dtype;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($rust:ty => $dtype:ident;)*) => {
        $(
            impl sealed::Sealed for $rust {}
            impl Element for $rust {
                const DTYPE: Dtype = Dtype::$dtype;
            }
            impl ElementStorage for $rust {
                const SLICE: &'static crate::tree::TypeNode = Dtype::$dtype.type_node();
            }
        )*
    };
}

elements! {
    f32 => F32;
    f64 => F64;
    half::f16 => F16;
    half::bf16 => BF16;
    u8 => U8;
    u16 => U16;
    u32 => U32;
    u64 => U64;
    i8 => I8;
    i16 => I16;
    i32 => I32;
    i64 => I64;
    bool => Bool;
}
