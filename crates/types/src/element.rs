//! The Rust types that can be viewed as the elements of a tensor.
//!
//! The set is closed: each of them has the size, the byte order and the meaning of exactly one
//! [`Dtype`], so that packed bytes and a slice are the same memory. Element types of ONNX without a
//! Rust type (complex numbers, 8-bit floats, types of fewer than 8 bits) are read through their
//! codes, see [`any_tensor`](crate::any_tensor).

use std::fmt::Debug;

use crate::dtype::Dtype;
use crate::storage::ElementStorage;

/// A Rust type that is the element type of a tensor: `f32 f64 f16 bf16 u8 u16 u32 u64 i8 i16 i32 i64 bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of tensors",
    label = "tensors cannot be viewed as `[{Self}]`",
    note = "element types are f32, f64, half::f16, half::bf16, u8, u16, u32, u64, i8, i16, i32, i64 and bool"
)]
pub trait Element:
    ElementStorage + Copy + PartialEq + Debug + bytemuck::NoUninit + bytemuck::CheckedBitPattern + sealed::Sealed
{
    /// The element type.
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
