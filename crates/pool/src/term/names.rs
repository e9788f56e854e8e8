//! Encoding of the names of terms, operators and dim operations as strings.
//!
//! A name is encoded as a keyword for its kind, followed by its path. All strings in braces that the
//! conversion uses are defined here.
//!
//! **Invariant:** [`parse`] is the inverse of [`text`], and the other pairs of functions are inverses too.

use typeloom_term::name::{Abi, Mutability, Safety, Variadic};
use typeloom_term::ty::DynBoundKind;
use typeloom_term::{ConstOp, ConstValue, Name, Symbols};

use crate::tag::{Tag, TagClass};

/// Application of a name in braces, by the kind of term that it encodes.
///
/// [`EncodedName::text`] and [`EncodedName::parse`] define the encoding.
#[derive(Clone, Copy)]
pub(super) enum EncodedName<'a> {
    /// `{dyn}`: an existential type.
    Dyn,
    /// `{+trait ..}`, `{+item ..}`, `{+auto ..}`: a bound of an existential type.
    Bound(DynBoundKind, Name),
    /// `{?..}`: a parameter whose name starts with a brace.
    Param(&'a str),
    /// `{=..}`: an alias.
    Alias(Name),
    /// `{fn:..}`: a function of another name than [`Name::FN`].
    Function(Name),
    /// `{~..}`: the witness of a coroutine.
    Witness(Name),
    /// `{#..}`: a constant.
    Const(EncodedConst),
    /// `{..}`: an application.
    Apply(Name),
}

/// Constant without an equivalent in the pool.
#[derive(Clone, Copy)]
pub(super) enum EncodedConst {
    /// `{#int ..}`, `{#bool ..}`, `{#char ..}`: a value.
    Value(ConstValue),
    /// `{#op ..}`: an operator applied to operands.
    Operator(ConstOp),
    /// `{#=..}`: an alias.
    Alias(Name),
}

/// Prefixes of names that own the binder around them.
const BINDING_PREFIXES: [&str; 3] = ["{fn:", "{~", "{+"];

/// Whether a name in braces encodes a term that owns the binder around it.
pub(super) fn is_binding(text: &str) -> bool {
    BINDING_PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}

/// Whether a name in braces encodes a constant.
pub(super) fn is_const(text: &str) -> bool {
    text.starts_with("{#")
}

impl<'a> EncodedName<'a> {
    /// Encodes the name.
    pub(super) fn text(self, symbols: &Symbols) -> String {
        let name = |name| text(name, symbols);
        match self {
            Self::Dyn => "{dyn}".to_owned(),
            Self::Bound(DynBoundKind::Trait, of) => format!("{{+trait {}}}", name(of)),
            Self::Bound(DynBoundKind::Projection, of) => format!("{{+item {}}}", name(of)),
            Self::Bound(DynBoundKind::AutoTrait, of) => format!("{{+auto {}}}", name(of)),
            Self::Param(param) => format!("{{?{param}}}"),
            Self::Alias(of) => format!("{{={}}}", name(of)),
            Self::Function(of) => format!("{{fn:{}}}", name(of)),
            Self::Witness(of) => format!("{{~{}}}", name(of)),
            Self::Const(EncodedConst::Value(ConstValue::Int(value))) => format!("{{#int {value}}}"),
            Self::Const(EncodedConst::Value(ConstValue::Bool(value))) => format!("{{#bool {value}}}"),
            Self::Const(EncodedConst::Value(ConstValue::Char(value))) => {
                format!("{{#char {}}}", u32::from(value))
            }
            Self::Const(EncodedConst::Operator(op)) => format!("{{#op {}}}", op.word()),
            Self::Const(EncodedConst::Alias(of)) => format!("{{#={}}}", name(of)),
            Self::Apply(of) => format!("{{{}}}", name(of)),
        }
    }

    /// Decodes a name in braces.
    pub(super) fn parse(encoded: &'a str, symbols: &mut Symbols) -> Option<Self> {
        let inner = encoded.strip_prefix('{')?.strip_suffix('}')?;
        let mut name = |text| parse(text, symbols);
        Some(if inner == "dyn" {
            Self::Dyn
        } else if let Some(bound) = inner.strip_prefix('+') {
            let (kind, of) = bound.split_once(' ')?;
            let kind = match kind {
                "trait" => DynBoundKind::Trait,
                "item" => DynBoundKind::Projection,
                "auto" => DynBoundKind::AutoTrait,
                _ => return None,
            };
            Self::Bound(kind, name(of)?)
        } else if let Some(param) = inner.strip_prefix('?') {
            Self::Param(param)
        } else if let Some(of) = inner.strip_prefix('=') {
            Self::Alias(name(of)?)
        } else if let Some(of) = inner.strip_prefix("fn:") {
            Self::Function(name(of)?)
        } else if let Some(of) = inner.strip_prefix('~') {
            Self::Witness(name(of)?)
        } else if let Some(of) = inner.strip_prefix("#=") {
            Self::Const(EncodedConst::Alias(name(of)?))
        } else if let Some(constant) = inner.strip_prefix('#') {
            let (kind, value) = constant.split_once(' ')?;
            Self::Const(match kind {
                "int" => EncodedConst::Value(ConstValue::Int(value.parse().ok()?)),
                "bool" => EncodedConst::Value(ConstValue::Bool(value.parse().ok()?)),
                "char" => EncodedConst::Value(ConstValue::Char(char::from_u32(value.parse().ok()?)?)),
                "op" => EncodedConst::Operator(ConstOp::ALL.into_iter().find(|op| op.word() == value)?),
                _ => return None,
            })
        } else {
            Self::Apply(name(inner)?)
        })
    }
}

/// Operation on dims that pools have and terms do not. A term contains it as an alias with the operands as
/// arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DimOperation {
    FloorDiv,
    Mod,
    Min,
    Max,
    Unknown,
}

impl DimOperation {
    const ALL: [Self; 5] = [Self::FloorDiv, Self::Mod, Self::Min, Self::Max, Self::Unknown];

    /// Returns the text of the alias's symbol.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::FloorDiv => "{floor_div}",
            Self::Mod => "{mod}",
            Self::Min => "{min}",
            Self::Max => "{max}",
            Self::Unknown => "{unknown}",
        }
    }

    /// Returns the operation of an alias with this name.
    pub(super) fn of_alias(name: Name, symbols: &Symbols) -> Option<Self> {
        let Name::ConstItem(symbol) = name else { return None };
        let text = symbols.resolve(symbol);
        Self::ALL.into_iter().find(|operation| operation.text() == text)
    }
}

/// Kind of pool type that terms do not have; a term contains it as an application of a nominal type.
#[derive(Clone, Copy)]
pub(super) enum PoolOnly<'a> {
    /// `{list}`, `{map}`, ...: a primitive, container, map or result.
    Tag(Tag),
    /// `{opaque} NAME`: an opaque type.
    Opaque(&'a str),
    /// `{named} NAME`: an unresolved name.
    Named(&'a str),
}

impl<'a> PoolOnly<'a> {
    /// Returns the path of the nominal type.
    pub(super) fn path(self) -> String {
        match self {
            Self::Tag(tag) => format!("{{{}}}", tag.name()),
            Self::Opaque(name) => format!("{{opaque}} {name}"),
            Self::Named(name) => format!("{{named}} {name}"),
        }
    }

    /// Returns the kind of pool type that a nominal type with this path encodes.
    pub(super) fn of_path(path: &'a str) -> Option<Self> {
        if let Some(name) = path.strip_prefix("{opaque} ") {
            return Some(Self::Opaque(name));
        }
        if let Some(name) = path.strip_prefix("{named} ") {
            return Some(Self::Named(name));
        }
        let inner = path.strip_prefix('{')?.strip_suffix('}')?;
        let is_pool_only = |tag: &Tag| match tag.class() {
            TagClass::Primitive => of_primitive(*tag).is_none(),
            TagClass::Container | TagClass::TwoChild => true,
            TagClass::Constructor | TagClass::Region | TagClass::Const => false,
        };
        Tag::ALL.iter().copied().find(|tag| tag.name() == inner && is_pool_only(tag)).map(Self::Tag)
    }
}

/// Returns the primitive that is equivalent to a named term.
pub(super) fn primitive(name: Name) -> Option<Tag> {
    match name {
        Name::Never => Some(Tag::Never),
        name => element(name.primitive_text()?),
    }
}

/// Returns the name of the term that is equivalent to a primitive.
pub(super) fn of_primitive(tag: Tag) -> Option<Name> {
    if tag == Tag::Never { Some(Name::Never) } else { Name::primitive(tag.name()) }
}

/// Returns the primitive for the element type of a tensor.
pub(super) fn element(text: &str) -> Option<Tag> {
    Tag::ALL.iter().copied().find(|tag| tag.class() == TagClass::Primitive && tag.name() == text)
}

/// Keywords of names without a path.
const PLAIN_NAMES: [(&str, Name); 9] = [
    ("tuple", Name::Tuple),
    ("array", Name::Array),
    ("slice", Name::Slice),
    ("ref", Name::Ref(Mutability::Shared)),
    ("ref-mut", Name::Ref(Mutability::Mutable)),
    ("ptr", Name::RawPtr(Mutability::Shared)),
    ("ptr-mut", Name::RawPtr(Mutability::Mutable)),
    ("unsafe", Name::UnsafeBinder),
    ("forall", Name::Forall),
];

/// Keyword of a function item; function pointers have the keyword `fn`.
const FN_DEF: &str = "fn-def";

/// Encodes a name as a keyword and a path.
fn text(name: Name, symbols: &Symbols) -> String {
    if let Some(primitive) = name.primitive_text() {
        return format!("primitive {primitive}");
    }
    if let Name::FnPtr(safety, variadic, abi) = name {
        let safety = if safety == Safety::Unsafe { "unsafe" } else { "safe" };
        let variadic = if variadic == Variadic::CVariadic { "variadic" } else { "fixed" };
        return match abi {
            Abi::Rust => format!("fn {safety} {variadic}"),
            Abi::Named(abi) => format!("fn {safety} {variadic} {}", symbols.resolve(abi)),
        };
    }
    if let Some((keyword, _)) = PLAIN_NAMES.iter().find(|(_, own)| *own == name) {
        return (*keyword).to_owned();
    }
    let keyword = if matches!(name, Name::FnDef(_)) { Some(FN_DEF) } else { name.keyword() };
    match (keyword, name.symbol()) {
        (Some(keyword), Some(path)) => format!("{keyword} {}", symbols.resolve(path)),
        _ => String::new(),
    }
}

/// Decodes a name.
fn parse(text: &str, symbols: &mut Symbols) -> Option<Name> {
    let Some((keyword, path)) = text.split_once(' ') else {
        return PLAIN_NAMES.iter().find(|(own, _)| *own == text).map(|(_, name)| *name);
    };
    match keyword {
        "primitive" => Name::primitive(path),
        "fn" => parse_fn(path, symbols),
        FN_DEF => Some(Name::FnDef(symbols.intern(path))),
        _ => {
            let (_, make) = Name::WITH_PATH.iter().find(|(own, _)| *own == keyword)?;
            Some(make(symbols.intern(path)))
        }
    }
}

/// Decodes a function pointer: safety, variadic and optional calling convention.
fn parse_fn(text: &str, symbols: &mut Symbols) -> Option<Name> {
    let mut parts = text.splitn(3, ' ');
    let safety = match parts.next()? {
        "safe" => Safety::Safe,
        "unsafe" => Safety::Unsafe,
        _ => return None,
    };
    let variadic = match parts.next()? {
        "fixed" => Variadic::Fixed,
        "variadic" => Variadic::CVariadic,
        _ => return None,
    };
    let abi = parts.next().map_or(Abi::Rust, |abi| Abi::Named(symbols.intern(abi)));
    Some(Name::FnPtr(safety, variadic, abi))
}
