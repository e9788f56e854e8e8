//! The mapping from Rust types to type nodes.
//!
//! [`Storage`] gives the type node of the values that a component stores as a Rust type. Slices of elements
//! are tensors: `[f32]` and all its owners are `tensor.f32`. A single number is a scalar. `AnyTensor` maps
//! to the abstract `tensor`, because its element type is known only at run time.
//!
//! **Invariant:** ownership of a slice does not change the type: `Vec<T>`, `Box<[T]>`, `Arc<[T]>`, `[T; N]`
//! and `[T]` map to the same node.
//!
//! Example of [`Storage`]:
//!
//! ```
//! use typeloom_types::storage::Storage;
//! use typeloom_types::tree::builtin::{TYPE_SCALAR_F32, TYPE_TENSOR_F32};
//!
//! trait Index {
//!     type Vector: ?Sized + Storage;
//! }
//!
//! struct Flat;
//! impl Index for Flat {
//!     type Vector = [f32];
//! }
//!
//! assert_eq!(<Flat as Index>::Vector::TYPE, &TYPE_TENSOR_F32);
//! assert_eq!(<f32 as Storage>::TYPE, &TYPE_SCALAR_F32);
//! ```
//!
//! ```compile_fail,E0277
//! use typeloom_types::storage::Storage;
//! let _ = <[String] as Storage>::TYPE;
//! ```
//!
//! Example of [`ElementStorage`]:
//!
//! ```
//! use typeloom_types::storage::{ElementStorage, Storage};
//! use typeloom_types::tree::{TypeKind, TypeNode};
//!
//! struct Posit8(u8);
//!
//! static TYPE_TENSOR_POSIT8: TypeNode = TypeNode {
//!     id: "tensor.posit8",
//!     parent: Some("tensor"),
//!     kind: TypeKind::Concrete,
//!     ffi_name: "",
//!     wire_hash: 0,
//!     denotation: "",
//! };
//! typeloom_types::register_type_node!(TYPE_TENSOR_POSIT8);
//!
//! impl ElementStorage for Posit8 {
//!     const SLICE: &'static TypeNode = &TYPE_TENSOR_POSIT8;
//! }
//!
//! assert_eq!(<Vec<Posit8> as Storage>::TYPE.id, "tensor.posit8");
//! ```

use std::sync::Arc;

use crate::tree::TypeNode;
use crate::tree::builtin::{
    TYPE_SCALAR_F16, TYPE_SCALAR_F32, TYPE_SCALAR_F64, TYPE_SCALAR_I32, TYPE_SCALAR_U8,
};

/// A Rust type that stores values of one type node.
///
/// Associated types of components are bounded by `?Sized + Storage`, so that they can be slices.
///
/// A type without a node is rejected at compile time.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not store a type of the tree",
    label = "`{Self}` has no `Storage`",
    note = "slices `[T]` of element types, their owned forms (`Vec<T>`, `Box<[T]>`, `Arc<[T]>`, `[T; N]`), the scalars f32, f64, half::f16, u8 and i32, and `AnyTensor` have one",
    note = "a type of your own gets one by `impl Storage`, with a `TypeNode` that it registers"
)]
pub trait Storage: Send + Sync + 'static {
    /// The node of the stored values.
    const TYPE: &'static TypeNode;
}

/// A Rust type whose slices store tensors of one type node.
///
/// Implement it for a custom element type and declare a leaf under `tensor`; `[T]`, `Vec<T>` and the other
/// owners then implement [`Storage`].
#[diagnostic::on_unimplemented(
    message = "slices of `{Self}` do not store a type of the tree",
    label = "`{Self}` is not the element type of a tensor",
    note = "element types are f32, f64, half::f16, half::bf16, u8, u16, u32, u64, i8, i16, i32, i64 and bool",
    note = "an element type of your own becomes one by `impl ElementStorage`"
)]
pub trait ElementStorage: Sized + Send + Sync + 'static {
    /// The node of slices of this type.
    const SLICE: &'static TypeNode;
}

macro_rules! stored {
    ($([$($of:tt)*] $stored:ty => $node:expr;)*) => {
        $(impl<$($of)*> Storage for $stored {
            const TYPE: &'static TypeNode = $node;
        })*
    };
}

stored! {
    [T: ElementStorage] [T] => T::SLICE;
    [T: ElementStorage, const N: usize] [T; N] => T::SLICE;
    [T: ElementStorage] Vec<T> => T::SLICE;
    [T: ElementStorage] Box<[T]> => T::SLICE;
    [T: ElementStorage] Arc<[T]> => T::SLICE;
    [] f32 => &TYPE_SCALAR_F32;
    [] f64 => &TYPE_SCALAR_F64;
    [] half::f16 => &TYPE_SCALAR_F16;
    [] u8 => &TYPE_SCALAR_U8;
    [] i32 => &TYPE_SCALAR_I32;
}
