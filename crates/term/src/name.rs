//! Names: Rust's type constructors, and symbols for the declarations of a program.
//!
//! The algorithms of this crate treat names as opaque: a family can use any `Copy` type. [`Name`] is the
//! vocabulary of the printer and the parser; it covers every kind of Rust type and tensor types.
//!
//! **Invariant:** a [`Symbol`] is valid only with the [`Symbols`] that created it. Names leave the process as
//! strings.

use crate::variance::Variance;
use hashbrown::HashTable;
use std::num::NonZeroU32;

/// An interned string.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Symbol(NonZeroU32);

impl Symbol {
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Table of interned strings. Every string has one symbol.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    strings: Vec<Box<str>>,
    index: HashTable<Symbol>,
    hasher: foldhash::fast::FixedState,
}

impl Symbols {
    /// Creates an empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn hash(&self, text: &str) -> u64 {
        std::hash::BuildHasher::hash_one(&self.hasher, text)
    }

    /// Returns the symbol of `text`, created on first use.
    pub fn intern(&mut self, text: &str) -> Symbol {
        if let Some(symbol) = self.get(text) {
            return symbol;
        }
        self.strings.push(text.into());
        let id = u32::try_from(self.strings.len()).ok().and_then(NonZeroU32::new);
        let symbol = Symbol(id.expect("four billion distinct strings do not fit in memory"));
        let Self { strings, index, hasher } = self;
        let hash = |symbol: &Symbol| {
            let text: &str = strings.get(symbol.index()).map_or("", |s| s);
            std::hash::BuildHasher::hash_one(&*hasher, text)
        };
        index.insert_unique(hash(&symbol), symbol, hash);
        symbol
    }

    /// Returns the symbol of `text`, if it has one.
    #[must_use]
    pub fn get(&self, text: &str) -> Option<Symbol> {
        let same = |symbol: &Symbol| self.resolve(*symbol) == text;
        self.index.find(self.hash(text), same).copied()
    }

    /// Returns the string of `symbol`; empty for a symbol of another table.
    #[must_use]
    pub fn resolve(&self, symbol: Symbol) -> &str {
        self.strings.get(symbol.index()).map_or("", |s| s)
    }
}

/// Mutability of a pointer or reference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mutability {
    /// `&T`, `*const T`.
    Shared,
    /// `&mut T`, `*mut T`.
    Mutable,
}

/// Widths of integers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum IntWidth {
    /// 8 bits.
    W8,
    /// 16 bits.
    W16,
    /// 32 bits.
    W32,
    /// 64 bits.
    W64,
    /// 128 bits.
    W128,
    /// The width of a pointer.
    Size,
}

/// Widths of floating-point numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FloatWidth {
    /// `f16`.
    W16,
    /// `f32`.
    W32,
    /// `f64`.
    W64,
    /// `f128`.
    W128,
}

/// Whether a call needs an unsafe block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Safety {
    /// `fn`.
    Safe,
    /// `unsafe fn`.
    Unsafe,
}

/// Whether a function has C-style variadic parameters (`...`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Variadic {
    /// No variadic parameters.
    Fixed,
    /// Variadic parameters.
    CVariadic,
}

/// Type constructor, or name of a placeholder, bound or alias.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Name {
    /// `bool`
    Bool,
    /// `char`
    Char,
    /// `str`
    Str,
    /// `!`
    Never,
    /// A signed integer type such as `i32`.
    Int(IntWidth),
    /// An unsigned integer type such as `u32`.
    Uint(IntWidth),
    /// A floating-point type such as `f32`.
    Float(FloatWidth),
    /// A struct, enum or union.
    Adt(Symbol),
    /// An extern type.
    Foreign(Symbol),
    /// `(A, B)`
    Tuple,
    /// `[T; N]`: a type and a constant.
    Array,
    /// `[T]`
    Slice,
    /// A pattern type: the base type, then the constants of the pattern.
    Pattern(Symbol),
    /// `&'a T`: a region and a type.
    Ref(Mutability),
    /// `*const T`
    RawPtr(Mutability),
    /// The type of one function item.
    FnDef(Symbol),
    /// A function pointer; parameters and result are a function term.
    FnPtr(Safety, Variadic, Abi),
    /// `unsafe<'a> T`: a binder around one type.
    UnsafeBinder,
    /// `for<'a, T> P, Q => R`: a statement under conditions, as a function term, so that fewer conditions
    /// give a subtype. Represents signatures of generic items and higher-ranked predicates.
    Forall,
    /// The type of one closure.
    Closure(Symbol),
    /// The type of one async closure.
    CoroutineClosure(Symbol),
    /// The type of one coroutine, or of one async block.
    Coroutine(Symbol),
    /// The types that a coroutine holds across suspension points.
    CoroutineWitness(Symbol),
    /// A trait, as a bound of `dyn`.
    Trait(Symbol),
    /// An associated type or constant with the path `Trait::Item`; the first argument is the self type.
    Projection(Symbol),
    /// An associated type of an inherent impl.
    Inherent(Symbol),
    /// `impl Trait`
    Opaque(Symbol),
    /// An unexpanded type alias.
    Free(Symbol),
    /// A generic parameter of any kind, as a named placeholder.
    Param(Symbol),
    /// A named constant item.
    ConstItem(Symbol),
    /// A tensor of known rank; the symbol is its element type, the arguments are its dims.
    Tensor(Symbol),
    /// A tensor of unknown rank.
    TensorAnyRank(Symbol),
}

/// Calling convention of a function pointer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Abi {
    /// Rust's calling convention.
    Rust,
    /// A named calling convention, as in `extern "C"`.
    Named(Symbol),
}

/// Constructor of a name that consists of a path.
pub type PathName = fn(Symbol) -> Name;

macro_rules! names_with_path {
    ($($name:ident: $keyword:literal,)*) => {
        impl Name {
            /// The names that consist of a path, by keyword.
            pub const WITH_PATH: &[(&str, PathName)] = &[$(($keyword, Name::$name),)*];

            /// Returns the symbol that the name contains, except for the calling convention of a function
            /// pointer.
            #[must_use]
            pub fn symbol(self) -> Option<Symbol> {
                match self {
                    $(Self::$name(symbol) => Some(symbol),)*
                    _ => None,
                }
            }

            /// Returns the keyword of a name that consists of a path.
            #[must_use]
            pub fn keyword(self) -> Option<&'static str> {
                match self {
                    $(Self::$name(_) => Some($keyword),)*
                    _ => None,
                }
            }
        }
    };
}

names_with_path! {
    Adt: "adt",
    Foreign: "extern",
    Pattern: "pattern",
    FnDef: "fn",
    Closure: "closure",
    CoroutineClosure: "coroutine-closure",
    Coroutine: "coroutine",
    CoroutineWitness: "coroutine-witness",
    Trait: "trait",
    Projection: "projection",
    Inherent: "inherent",
    Opaque: "opaque",
    Free: "type",
    Param: "param",
    ConstItem: "const",
    Tensor: "tensor",
    TensorAnyRank: "tensor-any-rank",
}

impl Name {
    /// Returns the name with this keyword if it has no syntax in Rust: `{closure path}`.
    pub(crate) fn in_braces(keyword: &str) -> Option<PathName> {
        let has_syntax = matches!(keyword, "adt" | "param" | "const" | "tensor" | "tensor-any-rank");
        Self::WITH_PATH.iter().find(|(own, _)| *own == keyword && !has_syntax).map(|(_, name)| *name)
    }

    /// A safe function pointer with Rust's calling convention.
    pub const FN: Self = Self::FnPtr(Safety::Safe, Variadic::Fixed, Abi::Rust);

    /// Returns the variance of argument `index` if the language defines it, and `None` if the program
    /// declares it.
    #[must_use]
    pub fn builtin_variance(self, index: usize) -> Option<Variance> {
        match self {
            Self::Tuple
            | Self::Array
            | Self::Slice
            | Self::Pattern(_)
            | Self::RawPtr(Mutability::Shared)
            | Self::Ref(Mutability::Shared)
            | Self::FnPtr(..)
            | Self::UnsafeBinder
            | Self::Forall => Some(Variance::Covariant),
            Self::Ref(Mutability::Mutable) if index == 0 => Some(Variance::Covariant),
            Self::Ref(Mutability::Mutable) | Self::RawPtr(Mutability::Mutable) => Some(Variance::Invariant),
            Self::Bool
            | Self::Char
            | Self::Str
            | Self::Never
            | Self::Int(_)
            | Self::Uint(_)
            | Self::Float(_)
            | Self::Trait(_)
            | Self::Projection(_)
            | Self::Inherent(_)
            | Self::Free(_)
            | Self::Param(_)
            | Self::ConstItem(_)
            | Self::Foreign(_)
            | Self::Tensor(_)
            | Self::TensorAnyRank(_) => Some(Variance::Invariant),
            Self::Adt(_)
            | Self::FnDef(_)
            | Self::Closure(_)
            | Self::CoroutineClosure(_)
            | Self::Coroutine(_)
            | Self::CoroutineWitness(_)
            | Self::Opaque(_) => None,
        }
    }

    /// Returns the primitive type with this spelling in Rust.
    #[must_use]
    pub fn primitive(text: &str) -> Option<Self> {
        PRIMITIVES.iter().find(|(own, _)| *own == text).map(|(_, name)| *name)
    }

    /// Returns the spelling of a primitive type, and `None` for all other names.
    #[must_use]
    pub fn primitive_text(self) -> Option<&'static str> {
        PRIMITIVES.iter().find(|(_, own)| *own == self).map(|(text, _)| *text)
    }
}

/// Primitive types with their spellings in Rust.
const PRIMITIVES: [(&str, Name); 20] = [
    ("bool", Name::Bool),
    ("char", Name::Char),
    ("str", Name::Str),
    ("!", Name::Never),
    ("i8", Name::Int(IntWidth::W8)),
    ("i16", Name::Int(IntWidth::W16)),
    ("i32", Name::Int(IntWidth::W32)),
    ("i64", Name::Int(IntWidth::W64)),
    ("i128", Name::Int(IntWidth::W128)),
    ("isize", Name::Int(IntWidth::Size)),
    ("u8", Name::Uint(IntWidth::W8)),
    ("u16", Name::Uint(IntWidth::W16)),
    ("u32", Name::Uint(IntWidth::W32)),
    ("u64", Name::Uint(IntWidth::W64)),
    ("u128", Name::Uint(IntWidth::W128)),
    ("usize", Name::Uint(IntWidth::Size)),
    ("f16", Name::Float(FloatWidth::W16)),
    ("f32", Name::Float(FloatWidth::W32)),
    ("f64", Name::Float(FloatWidth::W64)),
    ("f128", Name::Float(FloatWidth::W128)),
];
