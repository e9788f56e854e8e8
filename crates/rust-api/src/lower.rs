//! From rustdoc JSON to items with terms.
//!
//! What two ways of writing have in common is decided here, so that comparing does not have to: aliases are expanded,
//! `Self` is replaced, default arguments are filled in (or left out, for the standard library), elided lifetimes are
//! made parameters, `impl Trait` in parameters becomes a parameter, and every bound a predicate on its own, wherever it
//! was written.
//!
//! | module | what it lowers |
//! |---|---|
//! | `ty` | types, constants and generic arguments |
//! | `bounds` | bounds, where clauses, trait objects, `impl Trait` |
//! | `generics` | parameters; the scope that names are looked up in |
//! | `items`, `traits` | items with their parts |
//! | `objects` | what trait objects outlive where nothing is written |
//! | `regions` | the lifetimes in types, for elision |
//!
//! **Invariant:** recursion follows the nesting of the JSON, which its reader bounds, and chains of aliases, which
//! `MAX_ALIASES` bounds.

mod bounds;
mod generics;
mod items;
mod objects;
pub(crate) mod paths;
pub(crate) mod regions;
mod traits;
mod ty;

use std::collections::{BTreeMap, HashMap, HashSet};

use rustdoc_types::{Crate, Id, Item as JsonItem, ItemEnum, Type as JsonType};
use typeloom_term::{Boxed, GenericArg, Symbol, Symbols, TermError};

use crate::edition::Edition;
use crate::item::{Item, ParamKind, Type};
use paths::Paths;

use generics::Sig;

/// The longest chain of aliases that stand for each other.
pub(crate) const MAX_ALIASES: usize = 64;

/// How deep types may be nested, defaults and aliases included.
const MAX_LEVEL: usize = 128;

/// How many types there may be for each item, defaults and aliases included.
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
    #[error("the alias `{name}` stands for itself, or for a chain of more than {MAX_ALIASES} aliases")]
    Aliases {
        /// Path of one of the aliases.
        name: String,
    },
    /// The types of the crate are too large once aliases and defaults are filled in.
    #[error(
        "the types of the crate are too large once aliases and default arguments are filled in, at `{name}`"
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

/// How many types of each kind a crate mentions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Items by kind.
    pub items: BTreeMap<&'static str, usize>,
    /// Occurrences of types, lifetimes and constants by kind.
    pub types: BTreeMap<&'static str, usize>,
    /// Occurrences of types.
    pub occurrences: usize,
    /// Different types among them.
    pub distinct: usize,
    /// What could not be resolved, by the name that was written.
    pub unknown: BTreeMap<String, usize>,
}

/// The body of an alias, over its parameters.
#[derive(Clone)]
struct Alias {
    params: Vec<(Symbol, ParamKind, Option<GenericArg<Boxed>>)>,
    body: Type,
}

/// What a trait of the crate asks of those who implement it, in terms of its own parameters, `Self` first.
#[derive(Clone, Debug)]
pub(crate) struct TraitDef {
    pub(crate) params: Vec<Symbol>,
    /// Bounds of the trait itself.
    pub(crate) supertraits: Vec<Type>,
    /// Bounds of its associated types.
    pub(crate) promises: Vec<Type>,
    /// Its associated types whose size need not be known.
    pub(crate) unsized_items: Vec<Symbol>,
}

/// What a type of the crate consists of, for variances and for what its being well formed implies.
#[derive(Clone, Debug)]
pub(crate) struct AdtDef {
    pub(crate) params: Vec<(Symbol, ParamKind)>,
    pub(crate) fields: Vec<Type>,
    /// What is known of fields that the JSON leaves out, where there are some.
    pub(crate) hidden: Option<Hidden>,
    pub(crate) predicates: Vec<Type>,
}

/// What auto traits say of fields that the JSON leaves out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hidden {
    /// Nothing makes a parameter invariant.
    Plain,
    /// Nothing does, but for pointers.
    Pointers,
    /// Anything may.
    Unknown,
}

/// An impl of the crate, for proofs and for evaluating associated types.
#[derive(Clone, Debug)]
pub(crate) struct ImplDef {
    pub(crate) params: Vec<(Symbol, ParamKind)>,
    pub(crate) of: Symbol,
    /// The arguments of the trait, the self type first.
    pub(crate) args: Vec<GenericArg<Boxed>>,
    pub(crate) predicates: Vec<Type>,
    /// The associated types: item, value.
    pub(crate) types: Vec<(Symbol, Type)>,
}

/// A crate as terms.
#[derive(Debug)]
pub struct Api {
    /// The name of the crate.
    pub name: String,
    /// Its version, where the JSON has it.
    pub version: Option<String>,
    /// Every public item, in the order of paths.
    pub items: Vec<Item>,
    /// What was counted on the way.
    pub counts: Counts,
    /// Whether what some `impl Trait` borrows from is decided by the edition.
    pub by_edition: bool,
    pub(crate) paths: Paths,
    pub(crate) traits: HashMap<Symbol, TraitDef>,
    pub(crate) adts: BTreeMap<Symbol, AdtDef>,
    pub(crate) impls: Vec<ImplDef>,
}

impl Api {
    /// The public items at a path, such as `my_crate::module::Type::method`. There may be several: a path can name a type, a
    /// function and a macro, and methods of one name can be in impls for different arguments.
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
    /// The module of what is being lowered.
    here: Option<Id>,
    /// The modules of items.
    modules: HashMap<Id, Id>,
    level: usize,
    /// How many more types may be lowered.
    budget: usize,
    fresh: usize,
    traits: HashMap<Symbol, TraitDef>,
    adts: BTreeMap<Symbol, AdtDef>,
    impls: Vec<ImplDef>,
    items: Vec<Item>,
}

/// Lowers the public items of a crate. Names are interned into `symbols`; definitions are called what they are called in
/// `like`, where both have a path in common.
///
/// # Errors
/// [`LowerError`] where a type is too large, or aliases form a circle.
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
        traits: HashMap::new(),
        adts: BTreeMap::new(),
        impls: Vec::new(),
        items: Vec::new(),
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

/// The modules that items are written in.
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
    /// Remembers where an item is written; an impl counts as written where the type is that it is for.
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

    fn name(&self, id: Id, written: &str) -> String {
        self.paths.name(self.krate, id, written)
    }

    /// A symbol that nobody else has.
    fn fresh(&mut self, text: &str) -> Symbol {
        self.fresh += 1;
        let text = format!("{text}#{}", self.fresh);
        self.symbols.intern(&text)
    }

    fn note(&mut self, kind: &'static str) {
        *self.counts.types.entry(kind).or_default() += 1;
    }

    fn unknown(&mut self, written: &str) {
        *self.counts.unknown.entry(written.to_owned()).or_default() += 1;
    }
}
