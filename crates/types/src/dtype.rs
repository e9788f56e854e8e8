//! The table of element types.
//!
//! One row describes one element type of ONNX: its number in `TensorProto.DataType`, its short name (used in
//! ids and in Rust), its ONNX name, its size in bits, its class, and the leaf of the type tree for tensors of
//! it. Names, sizes and numbers of element types elsewhere in the workspace come from this table.
//!
//! **Invariant:** the id of an element type's leaf is `tensor.` followed by the short name.
//!
//! **Invariant:** in packed bytes, element `i` of a fixed-width type occupies the bits `i * width ..` of a
//! stream that starts at the least significant bit of the first byte. For whole bytes this is little-endian;
//! for 4-bit types the first of two elements is in the low nibble.
//!
//! The enumeration is closed because ONNX's is. A leaf that another crate adds under `tensor` is a node of a
//! lattice without a `Dtype`.

use crate::suggest::nearest;
use crate::tree::TypeNode;
use crate::tree::{builtin, onnx};

/// Kind of number or value that an element type represents.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DtypeClass {
    /// Floating-point numbers of any format.
    Float,
    /// Two's complement integers.
    SignedInt,
    /// Unsigned integers.
    UnsignedInt,
    /// Truth values.
    Bool,
    /// Complex numbers.
    Complex,
    /// Strings, which have no fixed size.
    String,
}

/// One row of the table.
struct Facts {
    name: &'static str,
    onnx_name: &'static str,
    bits: Option<u32>,
    class: DtypeClass,
    node: &'static TypeNode,
}

/// Invokes `$then!` with the rows of the table. The three names are those of the variant of [`Dtype`], of the
/// constant of the solver, and of the tag in pools. In braces: ONNX's number, the short name, ONNX's name in
/// lower case, the size in bits, the class, and the leaf.
#[doc(hidden)]
#[macro_export]
macro_rules! dtypes {
    ($then:ident) => {
        $then! {
            /// 32-bit floats.
            F32 / FLOAT / F32 { 1, "f32", "float", Some(32), Float, builtin::TYPE_TENSOR_F32 }
            /// 8-bit unsigned integers.
            U8 / UINT8 / U8 { 2, "u8", "uint8", Some(8), UnsignedInt, builtin::TYPE_TENSOR_U8 }
            /// 8-bit signed integers.
            I8 / INT8 / I8 { 3, "i8", "int8", Some(8), SignedInt, builtin::TYPE_TENSOR_I8 }
            /// 16-bit unsigned integers.
            U16 / UINT16 / U16 { 4, "u16", "uint16", Some(16), UnsignedInt, builtin::TYPE_TENSOR_U16 }
            /// 16-bit signed integers.
            I16 / INT16 / I16 { 5, "i16", "int16", Some(16), SignedInt, builtin::TYPE_TENSOR_I16 }
            /// 32-bit signed integers.
            I32 / INT32 / I32 { 6, "i32", "int32", Some(32), SignedInt, builtin::TYPE_TENSOR_I32 }
            /// 64-bit signed integers.
            I64 / INT64 / I64 { 7, "i64", "int64", Some(64), SignedInt, builtin::TYPE_TENSOR_I64 }
            /// UTF-8 strings.
            String / STRING / Str { 8, "string", "string", None, String, onnx::TYPE_TENSOR_STRING }
            /// Truth values, one byte each.
            Bool / BOOL / Bool { 9, "bool", "bool", Some(8), Bool, builtin::TYPE_TENSOR_BOOL }
            /// IEEE 754 half-precision floats.
            F16 / FLOAT16 / F16 { 10, "f16", "float16", Some(16), Float, builtin::TYPE_TENSOR_F16 }
            /// 64-bit floats.
            F64 / DOUBLE / F64 { 11, "f64", "double", Some(64), Float, builtin::TYPE_TENSOR_F64 }
            /// 32-bit unsigned integers.
            U32 / UINT32 / U32 { 12, "u32", "uint32", Some(32), UnsignedInt, builtin::TYPE_TENSOR_U32 }
            /// 64-bit unsigned integers.
            U64 / UINT64 / U64 { 13, "u64", "uint64", Some(64), UnsignedInt, builtin::TYPE_TENSOR_U64 }
            /// Complex numbers of two 32-bit floats, the real part first.
            Complex64 / COMPLEX64 / Complex64 { 14, "complex64", "complex64", Some(64), Complex, onnx::TYPE_TENSOR_COMPLEX64 }
            /// Complex numbers of two 64-bit floats, the real part first.
            Complex128 / COMPLEX128 / Complex128 { 15, "complex128", "complex128", Some(128), Complex, onnx::TYPE_TENSOR_COMPLEX128 }
            /// bfloat16 floats.
            BF16 / BFLOAT16 / Bf16 { 16, "bf16", "bfloat16", Some(16), Float, builtin::TYPE_TENSOR_BF16 }
            /// 8-bit floats with 4 bits of exponent and 3 of mantissa; finite, with NaN.
            Float8E4M3Fn / FLOAT8E4M3FN / F8E4M3Fn { 17, "float8e4m3fn", "float8e4m3fn", Some(8), Float, onnx::TYPE_TENSOR_FLOAT8E4M3FN }
            /// 8-bit floats with 4 bits of exponent and 3 of mantissa; finite, one NaN, no negative zero.
            Float8E4M3Fnuz / FLOAT8E4M3FNUZ / F8E4M3FnUz { 18, "float8e4m3fnuz", "float8e4m3fnuz", Some(8), Float, onnx::TYPE_TENSOR_FLOAT8E4M3FNUZ }
            /// 8-bit floats with 5 bits of exponent and 2 of mantissa; with infinities.
            Float8E5M2 / FLOAT8E5M2 / F8E5M2 { 19, "float8e5m2", "float8e5m2", Some(8), Float, onnx::TYPE_TENSOR_FLOAT8E5M2 }
            /// 8-bit floats with 5 bits of exponent and 2 of mantissa; finite, one NaN, no negative zero.
            Float8E5M2Fnuz / FLOAT8E5M2FNUZ / F8E5M2FnUz { 20, "float8e5m2fnuz", "float8e5m2fnuz", Some(8), Float, onnx::TYPE_TENSOR_FLOAT8E5M2FNUZ }
            /// 4-bit unsigned integers.
            Uint4 / UINT4 / U4 { 21, "uint4", "uint4", Some(4), UnsignedInt, onnx::TYPE_TENSOR_UINT4 }
            /// 4-bit signed integers.
            Int4 / INT4 / I4 { 22, "int4", "int4", Some(4), SignedInt, onnx::TYPE_TENSOR_INT4 }
            /// 4-bit floats with 2 bits of exponent and 1 of mantissa.
            Float4E2M1 / FLOAT4E2M1 / F4E2M1 { 23, "float4e2m1", "float4e2m1", Some(4), Float, onnx::TYPE_TENSOR_FLOAT4E2M1 }
            /// 8-bit powers of two.
            Float8E8M0 / FLOAT8E8M0 / F8E8M0 { 24, "float8e8m0", "float8e8m0", Some(8), Float, onnx::TYPE_TENSOR_FLOAT8E8M0 }
            /// 2-bit unsigned integers.
            Uint2 / UINT2 / U2 { 25, "uint2", "uint2", Some(2), UnsignedInt, onnx::TYPE_TENSOR_UINT2 }
            /// 2-bit signed integers.
            Int2 / INT2 / I2 { 26, "int2", "int2", Some(2), SignedInt, onnx::TYPE_TENSOR_INT2 }
            /// 6-bit floats with 2 bits of exponent and 3 of mantissa.
            Float6E2M3 / FLOAT6E2M3 / F6E2M3 { 27, "float6e2m3", "float6e2m3", Some(6), Float, onnx::TYPE_TENSOR_FLOAT6E2M3 }
            /// 6-bit floats with 3 bits of exponent and 2 of mantissa.
            Float6E3M2 / FLOAT6E3M2 / F6E3M2 { 28, "float6e3m2", "float6e3m2", Some(6), Float, onnx::TYPE_TENSOR_FLOAT6E3M2 }
        }
    };
}

macro_rules! declare_dtypes {
    ($(
        $(#[$doc:meta])* $variant:ident / $elem:ident / $tag:ident
        { $number:literal, $name:literal, $onnx:literal, $bits:expr, $class:ident, $node:path }
    )*) => {
        /// The type of one element of a tensor.
        ///
        /// The discriminant is the number in ONNX's `TensorProto.DataType`.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Dtype {
            $($(#[$doc])* $variant = $number,)*
        }

        impl Dtype {
            /// Every element type, by ONNX number.
            pub const ALL: [Self; 28] = [$(Self::$variant),*];

            const fn facts(self) -> &'static Facts {
                match self {
                    $(Self::$variant => const {
                        &Facts {
                            name: $name,
                            onnx_name: $onnx,
                            bits: $bits,
                            class: DtypeClass::$class,
                            node: &$node,
                        }
                    },)*
                }
            }
        }
    };
}
dtypes!(declare_dtypes);

impl Dtype {
    /// The leaf for tensors of this element type.
    #[must_use]
    pub const fn type_node(self) -> &'static TypeNode {
        self.facts().node
    }

    /// The short name, as in the leaf's id: `f32`, `bool`, `float8e5m2`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// ONNX's name in lower case: `float`, `int64`, `bfloat16`.
    #[must_use]
    pub const fn onnx_name(self) -> &'static str {
        self.facts().onnx_name
    }

    /// The number in ONNX's `TensorProto.DataType`.
    #[must_use]
    pub const fn onnx_number(self) -> i32 {
        self as i32
    }

    /// The class of the elements.
    #[must_use]
    pub const fn class(self) -> DtypeClass {
        self.facts().class
    }

    /// Size of one element in packed bytes, in bits; `None` for strings.
    #[must_use]
    pub const fn size_bits(self) -> Option<u32> {
        self.facts().bits
    }

    /// Size of one element in bytes; `None` for strings and for sizes that are not a whole number of bytes.
    #[must_use]
    pub const fn size_bytes(self) -> Option<usize> {
        match self.facts().bits {
            Some(bits) if bits.is_multiple_of(8) => Some((bits / 8) as usize),
            Some(_) | None => None,
        }
    }

    /// Whether several elements share a byte.
    #[must_use]
    pub const fn is_sub_byte(self) -> bool {
        matches!(self.facts().bits, Some(bits) if bits < 8)
    }

    /// Size in bytes of `elements` packed elements, rounded up from bits. `None` for strings and on overflow
    /// of `usize`.
    #[must_use]
    pub fn packed_len(self, elements: usize) -> Option<usize> {
        let bits = self.size_bits()? as usize;
        // Eight elements take `bits` bytes. Counting in groups of eight avoids an overflow of the number of
        // bits.
        let whole = (elements / 8).checked_mul(bits)?;
        whole.checked_add((elements % 8 * bits).div_ceil(8))
    }

    /// From a `TensorProto.DataType` number; `None` for 0 (undefined) and for unknown numbers.
    #[must_use]
    pub fn from_onnx_number(number: i32) -> Option<Self> {
        let position = usize::try_from(number).ok()?.checked_sub(1)?;
        Self::ALL.get(position).copied()
    }

    /// From the short name (`f32`).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// From ONNX's name in lower case (`float`).
    #[must_use]
    pub fn from_onnx_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.onnx_name() == name)
    }

    /// From the id of a leaf under `tensor` or `scalar`: `tensor.f32` and `scalar.f32` have the same element
    /// type.
    ///
    /// Returns `None` for other ids, including those of leaves that other crates add.
    #[must_use]
    pub fn from_node_id(id: &str) -> Option<Self> {
        Self::from_name(id.strip_prefix("tensor.").or_else(|| id.strip_prefix("scalar."))?)
    }
}

/// The thirteen published element types: those whose elements have a Rust type.
///
/// The set is closed, so a `match` on its variants is exhaustive. [`Dtype`] also has ONNX's other types, and
/// grows with the format.
///
/// ```
/// use typeloom_types::dtype::{CoreDtype, Dtype};
///
/// let is_float = |dtype: Dtype| match dtype.core() {
///     Some(CoreDtype::F32 | CoreDtype::F64 | CoreDtype::F16 | CoreDtype::BF16) => true,
///     Some(CoreDtype::U8 | CoreDtype::U16 | CoreDtype::U32 | CoreDtype::U64 | CoreDtype::Bool) => false,
///     Some(CoreDtype::I8 | CoreDtype::I16 | CoreDtype::I32 | CoreDtype::I64) => false,
///     None => false,
/// };
/// assert!(is_float(Dtype::BF16) && !is_float(Dtype::I64) && !is_float(Dtype::String));
/// assert_eq!(Dtype::from(CoreDtype::Bool), Dtype::Bool);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(missing_docs, reason = "the variants are those of `Dtype`")]
pub enum CoreDtype {
    F32,
    F64,
    F16,
    BF16,
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    Bool,
}

impl CoreDtype {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::F32,
        Self::F64,
        Self::F16,
        Self::BF16,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::Bool,
    ];
}

impl Dtype {
    /// The element type as one of the thirteen published ones; `None` for ONNX's other types.
    #[must_use]
    pub fn core(self) -> Option<CoreDtype> {
        CoreDtype::ALL.into_iter().find(|core| Self::from(*core) == self)
    }
}

impl From<CoreDtype> for Dtype {
    fn from(core: CoreDtype) -> Self {
        match core {
            CoreDtype::F32 => Self::F32,
            CoreDtype::F64 => Self::F64,
            CoreDtype::F16 => Self::F16,
            CoreDtype::BF16 => Self::BF16,
            CoreDtype::U8 => Self::U8,
            CoreDtype::U16 => Self::U16,
            CoreDtype::U32 => Self::U32,
            CoreDtype::U64 => Self::U64,
            CoreDtype::I8 => Self::I8,
            CoreDtype::I16 => Self::I16,
            CoreDtype::I32 => Self::I32,
            CoreDtype::I64 => Self::I64,
            CoreDtype::Bool => Self::Bool,
        }
    }
}

impl std::fmt::Display for Dtype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// Names of element types in PyTorch, NumPy and other tools, in lower case. `int`, `uint` and `byte` are not
/// here: they have different widths in different tools.
const ALIASES: [(&str, Dtype); 23] = [
    ("half", Dtype::F16),
    ("fp16", Dtype::F16),
    ("float32", Dtype::F32),
    ("fp32", Dtype::F32),
    ("single", Dtype::F32),
    ("float64", Dtype::F64),
    ("fp64", Dtype::F64),
    ("bfloat", Dtype::BF16),
    ("short", Dtype::I16),
    ("long", Dtype::I64),
    ("boolean", Dtype::Bool),
    ("bool_", Dtype::Bool),
    ("str", Dtype::String),
    ("str_", Dtype::String),
    ("c64", Dtype::Complex64),
    ("c128", Dtype::Complex128),
    ("float8_e4m3fn", Dtype::Float8E4M3Fn),
    ("float8_e4m3fnuz", Dtype::Float8E4M3Fnuz),
    ("float8_e5m2", Dtype::Float8E5M2),
    ("float8_e5m2fnuz", Dtype::Float8E5M2Fnuz),
    ("float8_e8m0fnu", Dtype::Float8E8M0),
    ("float4_e2m1fn_x2", Dtype::Float4E2M1),
    ("float4_e2m1fn", Dtype::Float4E2M1),
];

/// Modules whose names precede those of their element types.
const MODULES: [&str; 6] = ["torch.", "np.", "numpy.", "jnp.", "tensorproto.", "onnx.tensorproto."];

/// Error for a name that no element type has. Its text lists similar names.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{name}` is not an element type{}", suggestion(name))]
pub struct UnknownDtype {
    /// The unknown name.
    pub name: String,
}

/// The similar names, as the end of a message.
#[must_use]
pub fn suggestion(name: &str) -> String {
    let own = Dtype::ALL.into_iter().flat_map(|dtype| [dtype.onnx_name(), dtype.name()]);
    let near = nearest(name, own.chain(ALIASES.iter().map(|(alias, _)| *alias)));
    let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    match &near[..] {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [others @ .., last] => format!("; did you mean {} or {last}?", others.join(", ")),
    }
}

impl std::str::FromStr for Dtype {
    type Err = UnknownDtype;

    /// Accepts the names that people know: short ones (`f32`), those of ONNX in any case (`float`, `FLOAT`,
    /// `tensor(float)`, `TensorProto.FLOAT`), and those of PyTorch and NumPy (`float32`, `torch.half`). No
    /// name belongs to two element types.
    ///
    /// ```
    /// use typeloom_types::dtype::Dtype;
    ///
    /// for name in ["f16", "float16", "FLOAT16", "tensor(float16)", "half", "fp16", "torch.half"] {
    ///     assert_eq!(name.parse(), Ok(Dtype::F16));
    /// }
    /// let error = "flaot".parse::<Dtype>().unwrap_err();
    /// assert_eq!(error.to_string(), "`flaot` is not an element type; did you mean `float` or `bfloat`?");
    /// ```
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let lower = name.trim().to_ascii_lowercase();
        let lower = lower.strip_prefix("tensor(").and_then(|it| it.strip_suffix(')')).unwrap_or(&lower);
        let lower = MODULES.iter().find_map(|module| lower.strip_prefix(module)).unwrap_or(lower);
        let alias = || ALIASES.iter().find(|(alias, _)| *alias == lower).map(|(_, dtype)| *dtype);
        let dtype = Self::from_name(lower).or_else(|| Self::from_onnx_name(lower)).or_else(alias);
        dtype.ok_or_else(|| UnknownDtype { name: name.into() })
    }
}

impl serde::Serialize for Dtype {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> serde::Deserialize<'de> for Dtype {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;

        impl serde::de::Visitor<'_> for Name {
            type Value = Dtype;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the name of an element type")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Dtype, E> {
                name.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Name)
    }
}
