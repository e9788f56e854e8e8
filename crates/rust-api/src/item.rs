//! What a crate offers: items, each with the parts of its signature as terms.
//!
//! An item is data for two readers. *Describing* prints it and puts it into a bundle. *Comparing* asks, of an old and a
//! new item, whether everything that could be done with the one can be done with the other; a part says by its
//! [`Variance`] in which direction it is used, a [`Mark`] says the same for what is not a type.
//!
//! **Invariant:** every generic parameter in the parts of an item is a named placeholder of the root universe, and one
//! of [`Item::params`]; its symbol is unique within the item.
//! **Invariant:** a predicate is a term: `{forall for<..> fn() -> {trait Clone<T>}}`, see [`crate::predicate`].

use typeloom_term::{Boxed, GenericArg, Symbol, Ty, Variance};

/// A type of the family that this crate uses.
pub type Type = Ty<Boxed>;

/// What kind of thing an item is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A struct.
    Struct,
    /// An enum.
    Enum,
    /// A union.
    Union,
    /// A field of a struct, union or variant.
    Field,
    /// A variant of an enum.
    Variant,
    /// A function on its own.
    Function,
    /// A function of an inherent impl.
    Method,
    /// A constant of an inherent impl.
    AssocConst,
    /// A trait.
    Trait,
    /// A function of a trait.
    TraitMethod,
    /// An associated type of a trait.
    TraitType,
    /// An associated constant of a trait.
    TraitConst,
    /// An implementation of a trait.
    Impl,
    /// A type alias.
    TypeAlias,
    /// A trait alias.
    TraitAlias,
    /// A constant.
    Const,
    /// A static.
    Static,
    /// A type that is defined elsewhere, behind a C interface.
    ExternType,
    /// Another name for an item, of this crate or of another one.
    ReExport,
    /// A macro; it has no type.
    Macro,
}

impl Kind {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Struct => "struct",
            Self::Enum => "enum",
            Self::Union => "union",
            Self::Field => "field",
            Self::Variant => "variant",
            Self::Function => "function",
            Self::Method => "method",
            Self::AssocConst => "associated constant",
            Self::Trait => "trait",
            Self::TraitMethod => "trait method",
            Self::TraitType => "associated type",
            Self::TraitConst => "trait constant",
            Self::Impl => "impl",
            Self::TypeAlias => "type alias",
            Self::TraitAlias => "trait alias",
            Self::Const => "constant",
            Self::Static => "static",
            Self::ExternType => "extern type",
            Self::ReExport => "re-export",
            Self::Macro => "macro",
        }
    }
}

/// How a generic parameter gets its value where the item is used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// It is written, by position.
    Explicit,
    /// It is inferred: lifetimes of functions, parameters of the impl around a method, `impl Trait` in parameters.
    Inferred,
    /// The item chooses it and the user knows its bounds: `impl Trait` in results.
    Existential,
}

/// The kinds of generic parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParamKind {
    /// A lifetime.
    Region,
    /// A type.
    Type,
    /// A constant of a type.
    Const(Type),
}

/// A generic parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    /// Its name, unique within the item.
    pub symbol: Symbol,
    /// What it stands for.
    pub kind: ParamKind,
    /// How it gets its value.
    pub role: Role,
    /// What it is where nothing is written.
    pub default: Option<GenericArg<Boxed>>,
}

/// A part of a signature.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Which part; parts of one label belong together.
    pub label: Label,
    /// Its type.
    pub ty: Type,
}

/// The places of a signature.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Label {
    /// The type that a method or impl is for.
    SelfType,
    /// The trait that an impl implements, applied.
    TraitRef,
    /// A parameter, from 0, with its name.
    Input(usize, String),
    /// The result of a function.
    Output,
    /// The type of a field, constant or static, or what an alias stands for.
    Type,
    /// The value that an impl gives to an associated type.
    Assoc(String),
}

impl Label {
    /// In which direction the part is used.
    #[must_use]
    pub fn variance(&self, kind: Kind) -> Variance {
        match self {
            Self::SelfType | Self::TraitRef | Self::Assoc(_) => Variance::Invariant,
            Self::Input(..) => Variance::Contravariant,
            Self::Output => Variance::Covariant,
            Self::Type => match kind {
                Kind::Const | Kind::AssocConst | Kind::TraitConst | Kind::Static => Variance::Covariant,
                Kind::Struct
                | Kind::Enum
                | Kind::Union
                | Kind::Field
                | Kind::Variant
                | Kind::Function
                | Kind::Method
                | Kind::Trait
                | Kind::TraitMethod
                | Kind::TraitType
                | Kind::Impl
                | Kind::TypeAlias
                | Kind::TraitAlias
                | Kind::ExternType
                | Kind::ReExport
                | Kind::Macro => Variance::Invariant,
            },
        }
    }

    /// Whether both are the same place; the names of parameters do not matter.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Input(a, _), Self::Input(b, _)) => a == b,
            _ => self == other,
        }
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SelfType => f.write_str("self type"),
            Self::TraitRef => f.write_str("trait"),
            Self::Input(_, name) if name == "self" => f.write_str("receiver"),
            Self::Input(index, name) if name.is_empty() || name == "_" => write!(f, "parameter {index}"),
            Self::Input(_, name) => write!(f, "parameter `{name}`"),
            Self::Output => f.write_str("result"),
            Self::Type => f.write_str("type"),
            Self::Assoc(name) => write!(f, "type {name}"),
        }
    }
}

/// Something about an item that is not a type, and how it may change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    /// What it is about.
    pub label: &'static str,
    /// Its value in words; empty where the value need not be said.
    pub text: String,
    /// What may be used in place of what.
    pub order: Order,
}

/// When one mark may stand in place of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Only if the texts are equal.
    Fixed,
    /// If its level is at least as high.
    Level(u8),
    /// If it allows every use that the other one allows.
    Variance(Variance),
}

/// One public item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// Its path, the name that reports give it.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// The path of the item that it is a part of.
    pub parent: Option<String>,
    /// Generic parameters, those of an impl or trait around it first.
    pub params: Vec<Param>,
    /// The lifetimes of a function that it is general over as a value: `for<'a> fn(&'a u8)`.
    pub late: Vec<Symbol>,
    /// What is known wherever the item is mentioned, because the definition or trait around it asks for it.
    pub context: Vec<Type>,
    /// What has to hold where the item is used.
    pub predicates: Vec<Type>,
    /// What the item promises about associated types and existential parameters.
    pub promises: Vec<Type>,
    /// The parts of the signature.
    pub parts: Vec<Part>,
    /// What else there is to say.
    pub marks: Vec<Mark>,
    /// Whether others implement it too, so that no change at all is harmless.
    pub implemented_by_others: bool,
    /// Whether a new part of it is a break: a variant of an exhaustive enum, a field of a struct that others build.
    pub closed: bool,
    /// Whether it must be given by those who implement its parent.
    pub required: bool,
}

impl Item {
    /// All types of the item: its parts, what has to hold, what it promises, and what is known.
    pub(crate) fn types(&self) -> impl Iterator<Item = &Type> {
        let parts = self.parts.iter().map(|part| &part.ty);
        parts.chain(&self.predicates).chain(&self.promises).chain(&self.context)
    }

    /// The same, to be changed.
    pub(crate) fn types_mut(&mut self) -> impl Iterator<Item = &mut Type> {
        let parts = self.parts.iter_mut().map(|part| &mut part.ty);
        parts.chain(&mut self.predicates).chain(&mut self.promises).chain(&mut self.context)
    }

    /// An item with nothing but a name.
    #[must_use]
    pub fn new(path: String, kind: Kind) -> Self {
        Self {
            path,
            kind,
            parent: None,
            params: Vec::new(),
            late: Vec::new(),
            context: Vec::new(),
            predicates: Vec::new(),
            promises: Vec::new(),
            parts: Vec::new(),
            marks: Vec::new(),
            implemented_by_others: false,
            closed: false,
            required: false,
        }
    }

    /// The part at a place.
    #[must_use]
    pub fn part(&self, label: &Label) -> Option<&Part> {
        self.parts.iter().find(|part| part.label.same(label))
    }
}
