//! The names of terms as strings: a word for the kind, then the path.
//!
//! **Invariant:** [`parse`] undoes [`text`].

use typeloom_term::name::{Abi, Mutability, Safety, Variadic};
use typeloom_term::{Name, Symbols};

use crate::tag::{Class, Tag};

/// Primitives that pools and terms both have.
const PRIMITIVES: &[(Tag, &str)] = &[
    (Tag::Bool, "bool"),
    (Tag::Char, "char"),
    (Tag::Str, "str"),
    (Tag::Never, "!"),
    (Tag::I8, "i8"),
    (Tag::I16, "i16"),
    (Tag::I32, "i32"),
    (Tag::I64, "i64"),
    (Tag::I128, "i128"),
    (Tag::Isize, "isize"),
    (Tag::U8, "u8"),
    (Tag::U16, "u16"),
    (Tag::U32, "u32"),
    (Tag::U64, "u64"),
    (Tag::U128, "u128"),
    (Tag::Usize, "usize"),
    (Tag::F16, "f16"),
    (Tag::F32, "f32"),
    (Tag::F64, "f64"),
    (Tag::F128, "f128"),
];

/// The primitive with the name of a term.
pub(super) fn primitive(name: Name) -> Option<Tag> {
    let text = name.primitive_text()?;
    PRIMITIVES.iter().find(|(_, own)| *own == text).map(|(tag, _)| *tag)
}

/// The name of a primitive, if terms have it.
pub(super) fn of_primitive(tag: Tag) -> Option<Name> {
    let (_, text) = PRIMITIVES.iter().find(|(own, _)| *own == tag)?;
    Name::primitive(text)
}

/// The primitive that the elements of a tensor are.
pub(super) fn element(text: &str) -> Option<Tag> {
    Tag::ALL.iter().copied().find(|tag| tag.class() == Class::Primitive && tag.name() == text)
}

/// A name as a word and a path.
pub(super) fn text(name: Name, symbols: &Symbols) -> String {
    let with = |kind: &str, symbol| format!("{kind} {}", symbols.resolve(symbol));
    match name {
        Name::Bool | Name::Char | Name::Str | Name::Never | Name::Int(_) | Name::Uint(_) | Name::Float(_) => {
            format!("primitive {}", name.primitive_text().unwrap_or_default())
        }
        Name::Adt(symbol) => with("adt", symbol),
        Name::Foreign(symbol) => with("extern", symbol),
        Name::Tuple => "tuple".to_owned(),
        Name::Array => "array".to_owned(),
        Name::Slice => "slice".to_owned(),
        Name::Pattern(symbol) => with("pattern", symbol),
        Name::Ref(Mutability::Shared) => "ref".to_owned(),
        Name::Ref(Mutability::Mutable) => "ref-mut".to_owned(),
        Name::RawPtr(Mutability::Shared) => "ptr".to_owned(),
        Name::RawPtr(Mutability::Mutable) => "ptr-mut".to_owned(),
        Name::FnDef(symbol) => with("fn-def", symbol),
        Name::FnPtr(safety, variadic, abi) => {
            let safety = if safety == Safety::Unsafe { "unsafe" } else { "safe" };
            let variadic = if variadic == Variadic::CVariadic { "variadic" } else { "fixed" };
            match abi {
                Abi::Rust => format!("fn {safety} {variadic}"),
                Abi::Named(abi) => format!("fn {safety} {variadic} {}", symbols.resolve(abi)),
            }
        }
        Name::UnsafeBinder => "unsafe".to_owned(),
        Name::Forall => "forall".to_owned(),
        Name::Closure(symbol) => with("closure", symbol),
        Name::CoroutineClosure(symbol) => with("coroutine-closure", symbol),
        Name::Coroutine(symbol) => with("coroutine", symbol),
        Name::CoroutineWitness(symbol) => with("coroutine-witness", symbol),
        Name::Trait(symbol) => with("trait", symbol),
        Name::Projection(symbol) => with("projection", symbol),
        Name::Inherent(symbol) => with("inherent", symbol),
        Name::Opaque(symbol) => with("opaque", symbol),
        Name::Free(symbol) => with("type", symbol),
        Name::Param(symbol) => with("param", symbol),
        Name::ConstItem(symbol) => with("const", symbol),
        Name::Tensor(symbol) => with("tensor", symbol),
        Name::TensorAnyRank(symbol) => with("tensor-any-rank", symbol),
    }
}

/// The name with this text.
pub(super) fn parse(text: &str, symbols: &mut Symbols) -> Option<Name> {
    let (kind, path) = match text.split_once(' ') {
        Some((kind, path)) => (kind, Some(path)),
        None => (text, None),
    };
    let Some(path) = path else {
        return Some(match kind {
            "tuple" => Name::Tuple,
            "array" => Name::Array,
            "slice" => Name::Slice,
            "ref" => Name::Ref(Mutability::Shared),
            "ref-mut" => Name::Ref(Mutability::Mutable),
            "ptr" => Name::RawPtr(Mutability::Shared),
            "ptr-mut" => Name::RawPtr(Mutability::Mutable),
            "unsafe" => Name::UnsafeBinder,
            "forall" => Name::Forall,
            _ => return None,
        });
    };
    if kind == "primitive" {
        return Name::primitive(path);
    }
    if kind == "fn" {
        let mut words = path.splitn(3, ' ');
        let safety = match words.next()? {
            "safe" => Safety::Safe,
            "unsafe" => Safety::Unsafe,
            _ => return None,
        };
        let variadic = match words.next()? {
            "fixed" => Variadic::Fixed,
            "variadic" => Variadic::CVariadic,
            _ => return None,
        };
        let abi = words.next().map_or(Abi::Rust, |abi| Abi::Named(symbols.intern(abi)));
        return Some(Name::FnPtr(safety, variadic, abi));
    }
    let make = match kind {
        "adt" => Name::Adt,
        "extern" => Name::Foreign,
        "pattern" => Name::Pattern,
        "fn-def" => Name::FnDef,
        "closure" => Name::Closure,
        "coroutine-closure" => Name::CoroutineClosure,
        "coroutine" => Name::Coroutine,
        "coroutine-witness" => Name::CoroutineWitness,
        "trait" => Name::Trait,
        "projection" => Name::Projection,
        "inherent" => Name::Inherent,
        "opaque" => Name::Opaque,
        "type" => Name::Free,
        "param" => Name::Param,
        "const" => Name::ConstItem,
        "tensor" => Name::Tensor,
        "tensor-any-rank" => Name::TensorAnyRank,
        _ => return None,
    };
    Some(make(symbols.intern(path)))
}
