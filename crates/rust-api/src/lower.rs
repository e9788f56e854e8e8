//! Conversion of rustdoc JSON to items with terms.
//!
//! The conversion removes differences of notation, so that a comparison need not handle them. Aliases are
//! expanded, `Self` is replaced, and default arguments are filled in (or omitted, for the standard library).
//! Elided lifetimes and `impl Trait` in parameters become parameters. Every bound becomes a separate
//! predicate.
//!
//! | module | content |
//! |---|---|
//! | `paths` | public paths, and the name of each definition |
//! | `ty` | types, constants and generic arguments |
//! | `bounds` | bounds, where clauses, trait objects, `impl Trait` |
//! | `generics` | parameters; the scope for name resolution |
//! | `items`, `traits` | items with their parts |
//! | `objects` | default lifetimes of trait objects |
//! | `unresolved` | names that cannot be resolved |
//! | `regions` | the lifetimes in types, for elision |
//!
//! **Invariant:** recursion follows the nesting of the JSON, which its parser bounds, and chains of aliases,
//! which `MAX_ALIASES` bounds.

mod bounds;
mod generics;
mod items;
mod objects;
pub(crate) mod paths;
pub(crate) mod regions;
mod traits;
mod ty;
pub(crate) mod unresolved;

use std::collections::{BTreeMap, HashMap, HashSet};

use rustdoc_types::{Crate, Id, Item as JsonItem, ItemEnum, Type as JsonType};
use typeloom_term::{Boxed, Symbol, Symbols, TermError};

use crate::edition::Edition;
use crate::item::{Arg, Item, ParamKind, Type};
use paths::Paths;

use generics::Sig;
pub use unresolved::Unresolved;

/// Maximum length of a chain of aliases.
pub(crate) const MAX_ALIASES: usize = 64;

/// Maximum nesting of types, including those in defaults and aliases.
const MAX_LEVEL: usize = 128;

/// Average number of types per item, including those in defaults and aliases, above which a crate is
/// rejected.
const MAX_PER_ITEM: usize = 1000;

/// Error of the conversion of a crate to terms.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LowerError {
    /// A type exceeds the limits of terms.
    #[error("the type of `{item}` cannot be represented: {source}")]
    Term {
        /// Path of the item that contains the type.
        item: String,
        /// The exceeded limit.
        source: TermError,
    },
    /// Aliases that form a cycle, or a chain that is too long.
    #[error("the alias `{name}` is recursive, or begins a chain of more than {MAX_ALIASES} aliases")]
    Aliases {
        /// Path of one of the aliases.
        name: String,
    },
    /// The types of the crate are too large after aliases and default arguments are expanded.
    #[error(
        "the types of the crate are too large after aliases and default arguments are expanded, at `{name}`"
    )]
    TooLarge {
        /// Path of the item at which the limit was exceeded.
        name: String,
    },
    /// The crate has too many public paths.
    #[error("the crate has more than {limit} public paths")]
    TooManyPaths {
        /// The limit.
        limit: usize,
    },
}

/// Error of the conversion of one item.
#[derive(Debug)]
pub(crate) enum ItemError {
    Term(TermError),
    Aliases { name: String },
    TooLarge,
}

impl From<TermError> for ItemError {
    fn from(source: TermError) -> Self {
        Self::Term(source)
    }
}

impl ItemError {
    fn at(self, path: &str) -> LowerError {
        match self {
            Self::Term(source) => LowerError::Term { item: path.to_owned(), source },
            Self::Aliases { name } => LowerError::Aliases { name },
            Self::TooLarge => LowerError::TooLarge { name: path.to_owned() },
        }
    }
}

/// Numbers of items and types in a crate.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Number of items by kind.
    pub items: BTreeMap<&'static str, usize>,
    /// Number of occurrences of types, lifetimes and constants by kind.
    pub types: BTreeMap<&'static str, usize>,
    /// Number of occurrences of types.
    pub occurrences: usize,
    /// Number of different types.
    pub distinct: usize,
    /// Number of occurrences of each name that cannot be resolved.
    pub unknown: BTreeMap<String, usize>,
}

/// The target of an alias, over its parameters.
#[derive(Clone)]
struct Alias {
    params: Vec<Symbol>,
    body: Type,
    /// The unresolved names in the body.
    errors: Vec<Unresolved>,
}

/// The requirements of a trait of the crate, in terms of its parameters, `Self` first.
#[derive(Clone, Debug)]
pub(crate) struct TraitDef {
    pub(crate) params: Vec<Symbol>,
    /// Bounds of the trait.
    pub(crate) supertraits: Vec<Type>,
    /// Bounds of its associated types.
    pub(crate) promises: Vec<Type>,
    /// Associated types with `?Sized`.
    pub(crate) unsized_items: Vec<Symbol>,
}

/// Definition of a type of the crate, for variances and implied bounds.
#[derive(Clone, Debug)]
pub(crate) struct AdtDef {
    pub(crate) params: Vec<(Symbol, ParamKind)>,
    pub(crate) fields: Vec<Type>,
    /// Restriction of the fields that the JSON omits, if there are any.
    pub(crate) hidden: Option<HiddenFields>,
    pub(crate) predicates: Vec<Type>,
}

/// Restriction of the fields that the JSON omits, by the auto traits of the type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HiddenFields {
    /// No field makes a parameter invariant.
    Plain,
    /// Only pointers can make a parameter invariant.
    Pointers,
    /// Any field can make a parameter invariant.
    Unknown,
}

/// An impl of the crate, for proofs and for the evaluation of associated types.
#[derive(Clone, Debug)]
pub(crate) struct ImplDef {
    pub(crate) params: Vec<Symbol>,
    pub(crate) of: Symbol,
    /// The arguments of the trait, the self type first.
    pub(crate) args: Vec<Arg>,
    pub(crate) predicates: Vec<Type>,
    /// The associated types and their values.
    pub(crate) types: Vec<(Symbol, Type)>,
}

/// A crate with its public items as terms.
#[derive(Debug)]
pub struct Api {
    /// The name of the crate.
    pub name: String,
    /// The version, if the JSON contains it.
    pub version: Option<String>,
    /// Every public item, sorted by path.
    pub items: Vec<Item>,
    /// Numbers of items and types.
    pub counts: Counts,
    /// Whether the captures of some `impl Trait` depend on the edition.
    pub by_edition: bool,
    pub(crate) paths: Paths,
    pub(crate) traits: HashMap<Symbol, TraitDef>,
    pub(crate) adts: BTreeMap<Symbol, AdtDef>,
    pub(crate) impls: Vec<ImplDef>,
}

impl Api {
    /// Returns the public items at a path, such as `my_crate::module::Type::method`. There may be several: a
    /// path can name a type, a function and a macro, and impls for different arguments can have methods of
    /// one name.
    pub fn items_at<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Item> {
        self.items.iter().filter(move |item| item.path == path)
    }
}

pub(crate) struct Lower<'a> {
    krate: &'a Crate,
    edition: Edition,
    by_edition: bool,
    paths: &'a Paths,
    cx: Boxed,
    symbols: &'a mut Symbols,
    counts: Counts,
    distinct: HashSet<Type>,
    aliases: HashMap<Id, Alias>,
    expanding: Vec<Id>,
    /// The module of the current item.
    here: Option<Id>,
    /// The module of each item.
    modules: HashMap<Id, Id>,
    level: usize,
    /// Number of types that may still be lowered.
    budget: usize,
    fresh: usize,
    /// Whether an associated type was lowered without the arguments of its trait, which no bound so far
    /// contains.
    has_later_bound: bool,
    traits: HashMap<Symbol, TraitDef>,
    adts: BTreeMap<Symbol, AdtDef>,
    impls: Vec<ImplDef>,
    /// Types and traits of the crate without a public path.
    unnamed: HashMap<Symbol, Id>,
    /// The names of the traits of the crate.
    trait_symbols: HashMap<Id, Symbol>,
    /// The paths of the items of the older version.
    earlier: Option<HashSet<&'a str>>,
    items: Vec<Item>,
    /// The unresolved names so far.
    errors: Vec<Unresolved>,
}

/// Lowers the public items of a crate and interns names into `symbols`. A definition with a public path that
/// `like` also contains gets the name of that definition in `like`. Items with `#[doc(hidden)]` are not
/// public, except those that `like` documents, which have [`Item::hidden`].
///
/// # Errors
/// [`LowerError`] if a type is too large or aliases form a cycle.
pub fn lower(
    krate: &Crate,
    edition: Edition,
    symbols: &mut Symbols,
    like: Option<&Api>,
) -> Result<Api, LowerError> {
    let paths = Paths::of(krate, like.map(|api| &api.paths))?;
    let mut lower = Lower {
        krate,
        edition,
        by_edition: false,
        paths: &paths,
        cx: Boxed::new(),
        symbols,
        counts: Counts::default(),
        distinct: HashSet::new(),
        aliases: HashMap::new(),
        expanding: Vec::new(),
        here: None,
        modules: modules(krate),
        level: 0,
        budget: MAX_PER_ITEM.saturating_mul(krate.index.len() + 100),
        fresh: 0,
        has_later_bound: false,
        traits: HashMap::new(),
        adts: BTreeMap::new(),
        impls: Vec::new(),
        unnamed: HashMap::new(),
        trait_symbols: HashMap::new(),
        earlier: like.map(|api| api.items.iter().map(|item| item.path.as_str()).collect()),
        items: Vec::new(),
        errors: Vec::new(),
    };
    lower.all()?;
    let Lower { mut counts, distinct, by_edition, traits, adts, impls, mut items, .. } = lower;
    counts.distinct = distinct.len();
    for item in &items {
        *counts.items.entry(item.kind.word()).or_default() += 1;
    }
    items.sort_by(|a, b| (&a.path, a.kind).cmp(&(&b.path, b.kind)));
    Ok(Api {
        name: paths::crate_name(krate),
        version: krate.crate_version.clone(),
        items,
        counts,
        by_edition,
        paths,
        traits,
        adts,
        impls,
    })
}

/// The module of each item.
fn modules(krate: &Crate) -> HashMap<Id, Id> {
    let mut modules = HashMap::new();
    for (id, item) in &krate.index {
        if let ItemEnum::Module(module) = &item.inner {
            modules.extend(module.items.iter().map(|item| (*item, *id)));
        }
    }
    modules
}

impl<'a> Lower<'a> {
    /// Sets the module of the current item. The module of an impl is that of its self type.
    fn enter_module(&mut self, item: &JsonItem) {
        let id = match &item.inner {
            ItemEnum::Impl(of) => match &of.for_ {
                JsonType::ResolvedPath(path) => path.id,
                _ => item.id,
            },
            _ => item.id,
        };
        self.here = self.modules.get(&id).copied();
    }

    fn get(&self, id: Id) -> Option<&'a JsonItem> {
        self.krate.index.get(&id)
    }

    /// Whether an item inside another one is not public because the documentation omits it.
    fn is_omitted(&self, item: &JsonItem, path: &str) -> bool {
        paths::is_hidden(item) && self.earlier.as_ref().is_none_or(|earlier| !earlier.contains(path))
    }

    fn name(&self, id: Id, written: &str) -> String {
        self.paths.name(self.krate, id, written)
    }

    /// A new unique symbol.
    fn fresh(&mut self, text: &str) -> Symbol {
        self.fresh += 1;
        let text = format!("{text}#{}", self.fresh);
        self.symbols.intern(&text)
    }

    fn note(&mut self, kind: &'static str) {
        *self.counts.types.entry(kind).or_default() += 1;
    }
}
