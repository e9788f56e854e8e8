//! Public items of a crate, with the parts of their signatures as terms.
//!
//! *Describing* prints an item and adds it to a bundle. *Comparing* decides whether everything that is
//! possible with an old item is possible with the new one. The [`Variance`] of a part states in which
//! direction it is used; [`Attribute::allows`] defines the same for properties that are not types.
//!
//! **Invariant:** every generic parameter in the parts of an item is a named placeholder of the root universe
//! and one of [`Item::params`]; its symbol is unique within the item. **Invariant:** a predicate is a term:
//! `{forall for<..> fn() -> {trait Clone<T>}}`, see [`crate::predicate`].

use typeloom_term::{Boxed, GenericArg, Name, Symbol, Ty, TyData, Variance};

use crate::lower::Unresolved;
use crate::terms::with_self;

/// A term of the family that this crate uses.
pub type Type = Ty<Boxed>;

/// An argument of that family.
pub type Arg = GenericArg<Boxed>;

/// Defines the kinds with their names in reports.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $word:literal;)*) => {
        /// Kind of an item.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// The name in reports, such as `trait method`.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$kind => $word,)* }
            }
        }
    };
}

kinds! {
    /// A struct.
    Struct "struct";
    /// An enum.
    Enum "enum";
    /// A union.
    Union "union";
    /// A field of a struct, union or variant.
    Field "field";
    /// A variant of an enum.
    Variant "variant";
    /// A function outside of impls and traits.
    Function "function";
    /// A function of an inherent impl.
    Method "method";
    /// A constant of an inherent impl.
    AssocConst "associated constant";
    /// A trait.
    Trait "trait";
    /// A function of a trait.
    TraitMethod "trait method";
    /// An associated type of a trait.
    TraitType "associated type";
    /// An associated constant of a trait.
    TraitConst "trait constant";
    /// An implementation of a trait.
    Impl "impl";
    /// A type alias.
    TypeAlias "type alias";
    /// A trait alias.
    TraitAlias "trait alias";
    /// A constant.
    Const "constant";
    /// A static.
    Static "static";
    /// An opaque type behind a C interface.
    ExternType "extern type";
    /// Another path of an item of this or another crate.
    ReExport "re-export";
    /// A macro, which has no type.
    Macro "macro";
}

impl Kind {
    /// Whether the item is a struct, an enum or a union.
    pub(crate) const fn is_adt(self) -> bool {
        matches!(self, Self::Struct | Self::Enum | Self::Union)
    }
}

/// Source of the value of a generic parameter at uses of the item.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// The user writes it, by position.
    Explicit,
    /// The compiler infers it: lifetimes of functions, parameters of the impl around a method, `impl Trait`
    /// in parameters.
    Inferred,
    /// The item chooses it and the user knows its bounds: `impl Trait` in results.
    Existential,
}

/// Kind of a generic parameter.
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
    /// The name, unique within the item.
    pub symbol: Symbol,
    /// Lifetime, type or constant.
    pub kind: ParamKind,
    /// Source of the value.
    pub role: Role,
    /// Default value.
    pub default: Option<Arg>,
}

/// A part of a signature.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignaturePart {
    /// Position in the signature.
    pub label: PartLabel,
    /// The type at that position.
    pub ty: Type,
}

/// Position of a type in a signature.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PartLabel {
    /// The self type of a method or impl.
    SelfType,
    /// The trait of an impl, with its arguments.
    TraitRef,
    /// A parameter, from 0, with its name.
    Input(usize, String),
    /// The result of a function.
    Output,
    /// The type of a field, constant or static, or the target of an alias.
    Type,
    /// The value of an associated type in an impl.
    Assoc(String),
}

impl PartLabel {
    /// Direction in which a part of an item of this kind is used.
    #[must_use]
    pub fn variance(&self, kind: Kind) -> Variance {
        match self {
            Self::SelfType | Self::TraitRef | Self::Assoc(_) => Variance::Invariant,
            Self::Input(..) => Variance::Contravariant,
            Self::Output => Variance::Covariant,
            Self::Type
                if matches!(kind, Kind::Const | Kind::AssocConst | Kind::TraitConst | Kind::Static) =>
            {
                Variance::Covariant
            }
            Self::Type => Variance::Invariant,
        }
    }

    /// Whether both are the same position; names of parameters do not matter.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Input(a, _), Self::Input(b, _)) => a == b,
            _ => self == other,
        }
    }
}

impl std::fmt::Display for PartLabel {
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

/// Syntax of the fields of a struct or variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldForm {
    /// No fields.
    Unit,
    /// Fields by position.
    Tuple,
    /// Fields by name.
    Named,
}

/// A property of an item that is not a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Attribute {
    /// Path of the item that a re-export leads to.
    Target(String),
    /// Whether the path of the item is public; an older version can have another path for it.
    PublicPath(bool),
    /// Whether a struct, variant or enum is exhaustive.
    Exhaustive(bool),
    /// Whether all fields of a struct or union are public.
    AllFieldsPublic(bool),
    /// Whether all variants of an enum are public.
    AllVariantsPublic(bool),
    /// Syntax of a struct or variant that users can build.
    Form(FieldForm),
    /// Value of a variant of an enum without fields, which `as` yields.
    Discriminant(i128),
    /// Whether a function is `const`.
    Const(bool),
    /// Whether a function, trait or static is used without `unsafe`.
    Safe(bool),
    /// Name of a calling convention other than that of Rust.
    Extern(Option<String>),
    /// Whether a function has C-variadic parameters.
    CVariadic(bool),
    /// Whether a function has a receiver.
    CallableAsMethod(bool),
    /// Whether a trait is dyn-compatible.
    UsableAsDyn(bool),
    /// Whether other crates can implement a trait.
    Implementable(bool),
    /// Whether a trait is an auto trait.
    Auto(bool),
    /// Whether a static is mutable.
    Mutable(bool),
    /// Whether an item of a trait has a default.
    Default {
        /// Whether the trait provides the item.
        provided: bool,
        /// Whether other crates must provide the item otherwise.
        open: bool,
    },
    /// Variance of a parameter of a type.
    Variance {
        /// Position among the explicit parameters.
        param: usize,
        /// Variance by the fields of the type.
        variance: Variance,
    },
}

impl Attribute {
    /// The name in reports, such as `usable as dyn`.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Target(_) => "of",
            Self::PublicPath(_) => "public path",
            Self::Exhaustive(_) => "exhaustive",
            Self::AllFieldsPublic(_) => "all fields public",
            Self::AllVariantsPublic(_) => "all variants public",
            Self::Form(_) => "form",
            Self::Discriminant(_) => "discriminant",
            Self::Const(_) => "const",
            Self::Safe(_) => "safe",
            Self::Extern(_) => "extern",
            Self::CVariadic(_) => "variadic",
            Self::CallableAsMethod(_) => "callable as a method",
            Self::UsableAsDyn(_) => "usable as dyn",
            Self::Implementable(_) => "implementable by other crates",
            Self::Auto(_) => "auto",
            Self::Mutable(_) => "mutability",
            Self::Default { .. } => "default",
            Self::Variance { .. } => "variance",
        }
    }

    /// The value in reports; empty if the value needs no text.
    #[must_use]
    pub fn text(&self) -> String {
        let text = match self {
            Self::Target(path) => path,
            Self::PublicPath(false) => "not public under this path",
            Self::Form(FieldForm::Unit) => "unit",
            Self::Form(FieldForm::Tuple) => "tuple",
            Self::Form(FieldForm::Named) => "named",
            Self::Extern(name) => name.as_deref().unwrap_or_default(),
            Self::CVariadic(true) => "...",
            Self::Auto(true) => "auto",
            Self::Mutable(true) => "mut",
            Self::PublicPath(true) | Self::CVariadic(false) | Self::Auto(false) | Self::Mutable(false) => "",
            Self::Default { provided: true, open: _ } => "provided",
            Self::Default { provided: false, open: _ } => "required",
            Self::Discriminant(value) => return value.to_string(),
            Self::Variance { param, variance } => {
                return format!("{variance} in parameter {param}");
            }
            Self::Exhaustive(holds)
            | Self::AllFieldsPublic(holds)
            | Self::AllVariantsPublic(holds)
            | Self::Const(holds)
            | Self::Safe(holds)
            | Self::CallableAsMethod(holds)
            | Self::UsableAsDyn(holds)
            | Self::Implementable(holds) => {
                return format!("{}{}", if *holds { "" } else { "not " }, self.label());
            }
        };
        text.to_owned()
    }

    /// Whether both are the same property of the same subject, which may differ in their values.
    #[must_use]
    pub fn is_about_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Variance { param: a, .. }, Self::Variance { param: b, .. }) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    /// The truth value of a property that may become true, and must not become false.
    fn gain(&self) -> Option<bool> {
        match self {
            Self::PublicPath(holds)
            | Self::Exhaustive(holds)
            | Self::AllFieldsPublic(holds)
            | Self::AllVariantsPublic(holds)
            | Self::Const(holds)
            | Self::Safe(holds)
            | Self::CallableAsMethod(holds)
            | Self::UsableAsDyn(holds)
            | Self::Implementable(holds) => Some(*holds),
            Self::Default { .. }
            | Self::Target(_)
            | Self::Form(_)
            | Self::Discriminant(_)
            | Self::Extern(_)
            | Self::CVariadic(_)
            | Self::Auto(_)
            | Self::Mutable(_)
            | Self::Variance { .. } => None,
        }
    }

    /// Whether an item with this property can replace one with the other property, which is about the same
    /// subject.
    #[must_use]
    pub fn allows(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Variance { variance: sub, .. }, Self::Variance { variance: sup, .. }) => {
                sub == sup || *sub == Variance::Bivariant || *sup == Variance::Invariant
            }
            (Self::Default { provided, open: _ }, Self::Default { provided: expected, open }) => {
                *provided || !expected || !open
            }
            _ => match (self.gain(), other.gain()) {
                (Some(sub), Some(sup)) => sub >= sup,
                _ => self == other,
            },
        }
    }

    /// Whether an item without the property can replace one with it.
    #[must_use]
    pub fn may_be_lost(&self) -> bool {
        matches!(self, Self::Variance { .. } | Self::Form(_) | Self::Discriminant(_))
            || self.gain() == Some(false)
    }
}

/// A public item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// The path, which is the name in reports.
    pub path: String,
    /// Kind of the item.
    pub kind: Kind,
    /// The path of the item that contains this one.
    pub parent: Option<String>,
    /// Generic parameters; those of an enclosing impl or trait come first.
    pub params: Vec<Param>,
    /// Late-bound lifetimes of a function: those that its function pointer is general over.
    pub late: Vec<Symbol>,
    /// Predicates that hold wherever the item is mentioned, because the definition or trait around it
    /// requires them.
    pub context: Vec<Type>,
    /// Predicates that a use of the item has to satisfy.
    pub predicates: Vec<Type>,
    /// Predicates that the item guarantees for associated types and existential parameters.
    pub promises: Vec<Type>,
    /// Types of the signature.
    pub parts: Vec<SignaturePart>,
    /// The witness of the future of an `async fn`: the arguments that the future holds from its creation,
    /// each for some lifetimes. As in the compiler, two occurrences of a lifetime, also of `'static`, are two
    /// unknown lifetimes. The JSON does not contain bodies, so the values that the future holds later are not
    /// known.
    pub witness: Option<Type>,
    /// Properties that are not types.
    pub attributes: Vec<Attribute>,
    /// Whether other crates implement the item too, so that every change is a break.
    pub implemented_by_others: bool,
    /// Whether a new part is a break: a variant of an exhaustive enum, a field of a struct that other crates
    /// build.
    pub closed: bool,
    /// Whether an impl of the parent must provide the item.
    pub required: bool,
    /// The names in the item that are not resolved. The terms in their positions are errors.
    pub unresolved: Vec<Unresolved>,
    /// Whether the documentation omits the item, which an older version documents.
    pub hidden: bool,
}

impl Item {
    /// The trait of an impl, and its arguments after the type that it is implemented for.
    pub(crate) fn implemented_trait(&self) -> Option<(Name, Vec<Arg>)> {
        let (of, this) = (self.part(&PartLabel::TraitRef)?, self.part(&PartLabel::SelfType)?);
        let TyData::Apply(of) = of.ty.data() else { return None };
        Some((of.name, with_self(&this.ty, of.args)))
    }

    /// All types of the item: parts, predicates, promises and context.
    pub(crate) fn types(&self) -> impl Iterator<Item = &Type> {
        let parts = self.parts.iter().map(|part| &part.ty);
        parts.chain(&self.predicates).chain(&self.promises).chain(&self.context)
    }

    /// Mutable references to all types of the item.
    pub(crate) fn types_mut(&mut self) -> impl Iterator<Item = &mut Type> {
        let parts = self.parts.iter_mut().map(|part| &mut part.ty);
        parts.chain(&mut self.predicates).chain(&mut self.promises).chain(&mut self.context)
    }

    /// Creates an item that has only a path and a kind.
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
            witness: None,
            attributes: Vec::new(),
            implemented_by_others: false,
            closed: false,
            required: false,
            unresolved: Vec::new(),
            hidden: false,
        }
    }

    /// The part at a position.
    #[must_use]
    pub fn part(&self, label: &PartLabel) -> Option<&SignaturePart> {
        self.parts.iter().find(|part| part.label.is_same(label))
    }

    /// Whether the item has a property with this value.
    #[must_use]
    pub fn has(&self, attribute: &Attribute) -> bool {
        self.attributes.contains(attribute)
    }

    /// The name of the calling convention, if it is not that of Rust.
    #[must_use]
    pub fn abi(&self) -> Option<&str> {
        self.attributes.iter().find_map(|attribute| match attribute {
            Attribute::Extern(name) => name.as_deref(),
            _ => None,
        })
    }

    /// The parameters that users write.
    pub(crate) fn explicit_params(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|param| param.role == Role::Explicit)
    }
}
