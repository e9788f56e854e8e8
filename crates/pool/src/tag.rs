//! Kinds of types, numbered as in bundles and hashed messages.
//!
//! **Invariant:** a number is never reused for another meaning. `docs/bundle-format.md` lists all numbers and
//! a test compares both lists.

macro_rules! tags {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal, $class:ident;)*) => {
        /// Kind of a type: one number for each primitive and each constructor.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Tag {
            $($(#[$doc])* $name = $number,)*
        }

        impl Tag {
            /// All tags in ascending order of their numbers.
            pub const ALL: &'static [Tag] = &[$(Tag::$name,)*];

            /// Returns the tag with this number.
            #[inline]
            #[must_use]
            pub const fn from_number(number: u8) -> Option<Tag> {
                match number {
                    $($number => Some(Tag::$name),)*
                    _ => None,
                }
            }

            /// Returns the keyword used in renderings and in the JSON view.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Tag::$name => $text,)* }
            }

            /// Returns the class of the tag.
            #[inline]
            #[must_use]
            pub const fn class(self) -> TagClass {
                match self { $(Tag::$name => TagClass::$class,)* }
            }
        }
    };
}

/// Classes of tags with the same construction and description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TagClass {
    /// A tag without words.
    Primitive,
    /// One child.
    Container,
    /// Two children.
    TwoChild,
    /// A constructor with an individual layout.
    Constructor,
    /// A lifetime.
    Region,
    /// A constant expression, such as a dim of a tensor.
    Const,
}

/// Sort of a pool entry. Generic arguments may be of any sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Sort {
    /// A type.
    Type = 0,
    /// A lifetime.
    Region = 1,
    /// A constant.
    Const = 2,
}

impl Sort {
    /// Returns the sort with this number.
    #[inline]
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Sort> {
        match number {
            0 => Some(Sort::Type),
            1 => Some(Sort::Region),
            2 => Some(Sort::Const),
            _ => None,
        }
    }

    /// Returns the name used in renderings and in the JSON view.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Sort::Type => "type",
            Sort::Region => "region",
            Sort::Const => "const",
        }
    }
}

tags! {
    /// The type with one value.
    Unit = 1, "unit", Primitive;
    /// A truth value.
    Bool = 2, "bool", Primitive;
    /// A Unicode scalar value.
    Char = 3, "char", Primitive;
    /// Text.
    Str = 4, "str", Primitive;
    /// A sequence of bytes.
    Bytes = 5, "bytes", Primitive;
    /// An integer of the language's default width.
    Int = 6, "int", Primitive;
    /// A floating-point number of the language's default width.
    Float = 7, "float", Primitive;
    /// One byte as a unit of data, in contrast to a small number.
    Byte = 8, "byte", Primitive;
    /// The type without values; a subtype of every type.
    Never = 9, "never", Primitive;
    /// The type of all values; a supertype of every type.
    Any = 10, "any", Primitive;
    /// A span of time.
    Duration = 11, "duration", Primitive;
    /// An amount of memory.
    Size = 12, "size", Primitive;
    /// The result of a comparison.
    Ordering = 13, "ordering", Primitive;
    /// The built-in error value of a language that has one.
    Error = 14, "error", Primitive;
    /// 8-bit signed integer.
    I8 = 16, "i8", Primitive;
    /// 16-bit signed integer.
    I16 = 17, "i16", Primitive;
    /// 32-bit signed integer.
    I32 = 18, "i32", Primitive;
    /// 64-bit signed integer.
    I64 = 19, "i64", Primitive;
    /// 128-bit signed integer.
    I128 = 20, "i128", Primitive;
    /// Pointer-sized signed integer.
    Isize = 21, "isize", Primitive;
    /// 8-bit unsigned integer.
    U8 = 22, "u8", Primitive;
    /// 16-bit unsigned integer.
    U16 = 23, "u16", Primitive;
    /// 32-bit unsigned integer.
    U32 = 24, "u32", Primitive;
    /// 64-bit unsigned integer.
    U64 = 25, "u64", Primitive;
    /// 128-bit unsigned integer.
    U128 = 26, "u128", Primitive;
    /// Pointer-sized unsigned integer.
    Usize = 27, "usize", Primitive;
    /// 16-bit IEEE float.
    F16 = 28, "f16", Primitive;
    /// 16-bit brain float.
    Bf16 = 29, "bf16", Primitive;
    /// 32-bit IEEE float.
    F32 = 30, "f32", Primitive;
    /// 64-bit IEEE float.
    F64 = 31, "f64", Primitive;
    /// 128-bit IEEE float.
    F128 = 32, "f128", Primitive;
    /// Complex number of two `f32`.
    Complex64 = 33, "complex64", Primitive;
    /// Complex number of two `f64`.
    Complex128 = 34, "complex128", Primitive;
    /// 8-bit float, 4 exponent bits, finite.
    F8E4M3Fn = 35, "f8e4m3fn", Primitive;
    /// 8-bit float, 4 exponent bits, finite, no negative zero.
    F8E4M3FnUz = 36, "f8e4m3fnuz", Primitive;
    /// 8-bit float, 5 exponent bits.
    F8E5M2 = 37, "f8e5m2", Primitive;
    /// 8-bit float, 5 exponent bits, no negative zero.
    F8E5M2FnUz = 38, "f8e5m2fnuz", Primitive;
    /// 8-bit exponent-only float.
    F8E8M0 = 39, "f8e8m0", Primitive;
    /// 6-bit float, 2 exponent bits.
    F6E2M3 = 40, "f6e2m3", Primitive;
    /// 6-bit float, 3 exponent bits.
    F6E3M2 = 41, "f6e3m2", Primitive;
    /// 4-bit float.
    F4E2M1 = 42, "f4e2m1", Primitive;
    /// 4-bit signed integer.
    I4 = 43, "i4", Primitive;
    /// 4-bit unsigned integer.
    U4 = 44, "u4", Primitive;
    /// 2-bit signed integer.
    I2 = 45, "i2", Primitive;
    /// 2-bit unsigned integer.
    U2 = 46, "u2", Primitive;
    /// A list.
    List = 64, "list", Container;
    /// A value that may be absent.
    Option = 65, "option", Container;
    /// A set of distinct values.
    Set = 66, "set", Container;
    /// A channel for sending and receiving values.
    Channel = 67, "channel", Container;
    /// A range between two values.
    Range = 68, "range", Container;
    /// An iterator.
    Iterator = 69, "iterator", Container;
    /// An iterator that can also be advanced from the end.
    DoubleEndedIterator = 70, "double_ended_iterator", Container;
    /// A map from keys to values.
    Map = 72, "map", TwoChild;
    /// A value or an error.
    Result = 73, "result", TwoChild;
    /// A borrowed value with the lifetime of the borrow.
    Borrowed = 80, "borrowed", Constructor;
    /// A function.
    Function = 81, "function", Constructor;
    /// A product of unnamed elements.
    Tuple = 82, "tuple", Constructor;
    /// A named product.
    Struct = 83, "struct", Constructor;
    /// A named sum.
    Enum = 84, "enum", Constructor;
    /// An application of a type constructor known only by its name.
    Applied = 85, "applied", Constructor;
    /// A nominal type with a hidden definition.
    Opaque = 86, "opaque", Constructor;
    /// A nominal declaration with parameters and definition.
    Declared = 87, "declared", Constructor;
    /// A declaration applied to arguments.
    Instance = 88, "instance", Constructor;
    /// An unresolved name.
    Named = 89, "named", Constructor;
    /// A type that is generic over variables.
    Scheme = 90, "scheme", Constructor;
    /// A variable bound by a scheme or by a declaration.
    Bound = 91, "bound", Constructor;
    /// A variable of an unfinished inference. Never exported.
    Infer = 92, "infer", Constructor;
    /// A rigid variable: a type parameter that is known by its identity only. Its name is not that of a type.
    Rigid = 93, "rigid", Constructor;
    /// A lifetime with a name.
    Lifetime = 96, "lifetime", Region;
    /// A tensor of known rank.
    Tensor = 100, "tensor", Constructor;
    /// A tensor of unknown rank.
    TensorUnranked = 101, "tensor_unranked", Constructor;
    /// An integer.
    DimConst = 104, "const", Const;
    /// A symbolic constant with a name.
    DimSymbol = 105, "symbol", Const;
    /// An integer plus multiples of monomials.
    DimSum = 106, "sum", Const;
    /// A product of factors.
    DimProduct = 107, "product", Const;
    /// A quotient rounded down.
    DimFloorDiv = 108, "floor_div", Const;
    /// A remainder with the sign of the divisor.
    DimMod = 109, "mod", Const;
    /// The smallest of several constants.
    DimMin = 110, "min", Const;
    /// The largest of several constants.
    DimMax = 111, "max", Const;
    /// An unknown constant.
    DimUnknown = 112, "unknown", Const;
}

/// The number that announces a recursive group in a bundle; not the number of any tag.
pub(crate) const GROUP_NUMBER: u8 = 127;

impl Tag {
    /// Returns the number of the tag.
    #[inline]
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Whether the order of the children is irrelevant.
    pub(crate) const fn is_commutative(self) -> bool {
        matches!(self, Tag::DimSum | Tag::DimProduct | Tag::DimMin | Tag::DimMax)
    }
}

/// Formats types as their names.
macro_rules! display_name {
    ($($name:ident),*) => {$(
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    )*};
}
pub(crate) use display_name;

display_name!(Tag, Sort);
