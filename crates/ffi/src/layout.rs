//! The structures of the interface, with the layout of C.
//!
//! **Invariant:** a structure with the name of a tensor's leaf in a generated header has the fields of
//! [`Tensor`], with another element type behind `data`. A test compares the layouts with those of a C
//! compiler.

use std::ffi::{c_char, c_void};

/// A tensor. `data` are `length` bytes: the elements in row-major order, in little-endian order and without
/// gaps; elements of fewer than 8 bits share bytes, the first one in the lowest bits. A tensor of n strings
/// is n + 1 offsets (64 bits each, starting at 0), followed by the text of all strings.
///
/// An input is borrowed during the call. A tensor of a result belongs to the result.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Tensor {
    /// The elements; it may be null if `length` is 0.
    pub data: *const c_void,
    /// The number of bytes.
    pub length: usize,
    /// The extents of the axes; it may be null if `rank` is 0.
    pub dims: *const u64,
    /// The number of axes.
    pub rank: u32,
    /// The element type, TYPELOOM_DTYPE_...
    pub dtype: i32,
}

/// Bytes. Those of an input are borrowed during the call, those of a result belong to the result.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    /// The bytes; it may be null if `length` is 0.
    pub data: *const u8,
    /// The number of bytes.
    pub length: usize,
}

/// A list of byte strings, for example of peers. Ownership is that of typeloom_bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct List {
    /// The items; it may be null if `count` is 0.
    pub items: *const Bytes,
    /// The number of items.
    pub count: usize,
}

/// A value: the wire hash of its leaf of the type tree, and a pointer to the structure of that leaf. Both are
/// 0 for an input that is left out.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// The wire hash of a leaf.
    pub wire_hash: u64,
    /// The structure that the header declares for the leaf.
    pub value: *const c_void,
}

/// A named part of a composite value.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name, in UTF-8.
    pub name: Bytes,
    /// The value.
    pub value: Value,
}

/// The parts of a composite value. Ownership is that of typeloom_bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Fields {
    /// The parts; it may be null if `count` is 0.
    pub items: *const Field,
    /// The number of parts.
    pub count: usize,
}

/// An input or output of a program. Everything it points to belongs to the program.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Port {
    /// The name, in UTF-8. A zero byte in it is written as a backslash and the digit 0.
    pub name: *const c_char,
    /// The type in the notation of models, for example float[N, 4].
    pub type_text: *const c_char,
    /// The wire hash of the leaf of the type tree; 0 if the type is not a leaf.
    pub wire_hash: u64,
    /// The extents of the axes; -1 for those that a call chooses. Null if the rank is unknown, 0, or does not
    /// apply.
    pub dims: *const i64,
    /// The number of axes; -1 if it is unknown or does not apply.
    pub rank: i32,
    /// The element type, TYPELOOM_DTYPE_...; 0 if it is unknown or does not apply.
    pub dtype: i32,
    /// 1 if an input has a default and may be left out, otherwise 0.
    pub has_default: i32,
}

/// Limits of one run; 0 is the default.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of iterations of all loops together.
    pub iterations: u64,
    /// The maximum number of nodes and iterations that are executed.
    pub steps: u64,
    /// The maximum number of bytes of all tensors of the process during the run.
    pub memory: usize,
}
