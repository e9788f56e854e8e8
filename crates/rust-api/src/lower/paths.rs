//! Public paths of items, and the name of each definition.
//!
//! An item is reachable by its own path, re-exports and globs. Paths with a hidden part (`#[doc(hidden)]`) do
//! not count, unless an older version documents them. Its name is the shortest path; ties go to the
//! lexicographically first. The name of a definition of another crate is the path of its definition.
//!
//! **Invariant:** all paths of the crate start with one crate name, the name of the older version, so that
//! versions of a renamed crate can be compared.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use indexmap::IndexMap;
use rustdoc_types::{
    Attribute, Crate, GenericArg, GenericArgs, GenericParamDef, GenericParamDefKind, Generics, Id, Item,
    ItemEnum, ItemKind, StructKind, Type, Visibility,
};

use crate::lower::LowerError;

/// Maximum number of paths of a crate.
const MAX_PATHS: usize = 1 << 20;

/// Maximum number of steps of the search for paths.
const MAX_VISITS: usize = 1 << 22;

/// Maximum number of moved definitions with one name that are matched with each other.
const MAX_MOVED: usize = 64;

/// Maximum nesting of modules.
const MAX_MODULES: usize = 128;

/// The crates of the standard library.
const STD: &[&str] = &["core", "alloc", "std"];

/// Namespaces: one path can name an item in each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Namespace {
    Types,
    Values,
    Macros,
}

/// The public paths of a crate.
#[derive(Debug)]
pub(crate) struct Paths {
    /// Every public path, and its definition.
    pub(crate) public: IndexMap<(Namespace, String), Id>,
    /// Names of public definitions.
    names: HashMap<Id, String>,
    /// Names of private definitions that differ from their paths.
    hidden_names: HashMap<Id, String>,
    /// Paths of private definitions.
    hidden: BTreeSet<String>,
    /// Public paths that the documentation omits now, and that an older version documents.
    undocumented: HashSet<(Namespace, String)>,
    /// Types with a public path.
    types: HashSet<Id>,
    /// The first segment of every path of the crate.
    pub(crate) root: String,
}

struct Found {
    id: Id,
    by_glob: bool,
    hidden: bool,
}

/// The path to a module or item, and how it was reached.
#[derive(Clone, Copy)]
struct Route<'r> {
    path: &'r str,
    by_glob: bool,
    /// Whether a part of the path is hidden from the documentation.
    hidden: bool,
}

/// Whether `#[doc(hidden)]` removes an item from the public API. Deprecated items are often hidden to keep
/// the documentation short, and remain public.
pub(crate) fn is_hidden(item: &Item) -> bool {
    let hides = |attribute: &Attribute| match attribute {
        Attribute::Other(text) => text
            .strip_prefix("#[doc(")
            .and_then(|rest| rest.strip_suffix(")]"))
            .is_some_and(|list| list.split(',').any(|word| word.trim() == "hidden")),
        _ => false,
    };
    item.deprecation.is_none() && item.attrs.iter().any(hides)
}

struct Walk<'c> {
    krate: &'c Crate,
    found: BTreeMap<(Namespace, String), Found>,
    /// Number of visited items: modules that import each other by globs have exponentially many paths.
    visits: usize,
}

/// The name of a crate in its JSON.
pub(crate) fn crate_name(krate: &Crate) -> String {
    krate.index.get(&krate.root).and_then(|root| root.name.clone()).unwrap_or_else(|| "crate".to_owned())
}

impl Paths {
    /// Finds the paths of a crate. A definition with a path that `like` also contains gets its name from
    /// `like`, so that a type has one name in both versions.
    pub(crate) fn of(krate: &Crate, like: Option<&Self>) -> Result<Self, LowerError> {
        let root = like.map_or_else(|| crate_name(krate), |like| like.root.clone());
        let mut walk = Walk { krate, found: BTreeMap::new(), visits: 0 };
        walk.module(krate.root, Route { path: &root, by_glob: false, hidden: false }, &mut Vec::new())?;
        // An item with only hidden paths is private, unless it was public before.
        let was_public = |key: &(Namespace, String)| like.is_some_and(|like| like.public.contains_key(key));
        let found = walk.found.into_iter().filter(|(key, found)| !found.hidden || was_public(key));
        let mut undocumented = HashSet::new();
        let mut public = IndexMap::new();
        for (key, found) in found {
            if found.hidden {
                undocumented.insert(key.clone());
            }
            public.insert(key, found.id);
        }
        if let Some(like) = like {
            follow_renames(krate, &mut public, like);
        }
        let types = public.values().copied().filter(|id| definition(krate, *id).is_some()).collect();
        let mut names: HashMap<Id, String> = HashMap::new();
        let better = |new: &str, old: &str| {
            let parts = |path: &str| path.matches("::").count();
            (parts(new), new) < (parts(old), old)
        };
        // A re-export does not rename a definition of another crate.
        let own = |id: &Id| krate.index.contains_key(id);
        for ((_, path), id) in public.iter().filter(|(_, id)| own(id)) {
            if names.get(id).is_none_or(|name| better(path, name)) {
                names.insert(*id, path.clone());
            }
        }
        if let Some(like) = like {
            for (key, id) in &public {
                let Some(name) = like.public.get(key).and_then(|old| like.names.get(old)) else { continue };
                let keeps_name = if own(id) {
                    // In this version, the name may belong to another definition.
                    public.get(&(key.0, name.clone())).is_none_or(|holder| holder == id)
                } else {
                    // A definition that moved to another crate keeps its name, unless it moved to the
                    // standard library, because the table of facts contains the names there.
                    let root = krate.paths.get(id).and_then(|found| found.path.first());
                    *name == key.1 && root.is_some_and(|root| !STD.contains(&root.as_str()))
                };
                if keeps_name {
                    names.insert(*id, name.clone());
                }
            }
        }
        let mut found = Self {
            public,
            names,
            hidden_names: HashMap::new(),
            hidden: BTreeSet::new(),
            undocumented,
            types,
            root,
        };
        found.hide(krate, like);
        Ok(found)
    }

    /// Finds the private definitions. A definition that was private in `like` keeps its name. It is
    /// recognized by the same path or, if it moved, by the nearest path with the same last segment.
    fn hide(&mut self, krate: &Crate, like: Option<&Self>) {
        let is_type = |kind: ItemKind| {
            matches!(kind, ItemKind::Struct | ItemKind::Enum | ItemKind::Union | ItemKind::Trait)
        };
        let mut places: Vec<(String, Id)> = Vec::new();
        for (id, summary) in &krate.paths {
            if summary.crate_id == 0 && is_type(summary.kind) && krate.index.contains_key(id) {
                let inner = summary.path.get(1..).unwrap_or_default();
                let path: Vec<&str> =
                    std::iter::once(self.root.as_str()).chain(inner.iter().map(String::as_str)).collect();
                places.push((path.join("::"), *id));
            }
        }
        places.sort_unstable();
        if let Some(like) = like {
            for (id, name) in self.old_names(&places, like) {
                if self.names.remove(&id).is_some() {
                    self.names.insert(id, name);
                } else {
                    self.hidden_names.insert(id, name);
                }
            }
        }
        self.hidden =
            places.into_iter().filter(|(_, id)| !self.names.contains_key(id)).map(|(path, _)| path).collect();
    }

    /// The old names of definitions that were private before.
    fn old_names(&self, places: &[(String, Id)], like: &Self) -> Vec<(Id, String)> {
        let mut found: Vec<(Id, String)> = Vec::new();
        let here: HashSet<&str> = places.iter().map(|(path, _)| path.as_str()).collect();
        let known: HashSet<&str> = like.names.values().map(String::as_str).collect();
        let last = |path: &str| path.rsplit("::").next().unwrap_or_default().to_owned();
        let mut gone: HashMap<String, Vec<&String>> = HashMap::new();
        for old in like.hidden.iter().filter(|old| !here.contains(old.as_str())) {
            gone.entry(last(old)).or_default().push(old);
        }
        // Number of common segments, the two paths, and the definition.
        let mut moved: Vec<(usize, &String, &String, Id)> = Vec::new();
        for (path, id) in places {
            // A public name in both versions does not change.
            if self.names.get(id).is_some_and(|own| known.contains(own.as_str())) {
                continue;
            }
            if like.hidden.contains(path) {
                found.push((*id, path.clone()));
            } else if !self.names.contains_key(id) {
                let candidates = gone.get(&last(path)).filter(|list| list.len() <= MAX_MOVED);
                for old in candidates.into_iter().flatten() {
                    let parts = path.split("::").zip(old.split("::"));
                    moved.push((parts.take_while(|(new, old)| new == old).count(), old, path, *id));
                }
            }
        }
        // Nearest paths first. Each old and each new path is used once.
        moved.sort_unstable_by(|a, b| (b.0, a.1, a.2).cmp(&(a.0, b.1, b.2)));
        let mut used: HashSet<(bool, &str)> = HashSet::new();
        for (_, old, new, id) in moved {
            if !used.contains(&(false, old.as_str())) && !used.contains(&(true, new.as_str())) {
                used.extend([(false, old.as_str()), (true, new.as_str())]);
                found.push((id, old.clone()));
            }
        }
        found
    }

    /// Whether the documentation omits a public path.
    pub(crate) fn is_undocumented(&self, key: &(Namespace, String)) -> bool {
        self.undocumented.contains(key)
    }

    /// The name of a public definition.
    pub(crate) fn public_name(&self, id: Id) -> Option<&str> {
        self.names.get(&id).map(String::as_str)
    }

    /// The name of a definition: its public path, the path of the definition, or the text in the JSON.
    pub(crate) fn name(&self, krate: &Crate, id: Id, written: &str) -> String {
        if let Some(name) = self.names.get(&id).or_else(|| self.hidden_names.get(&id)) {
            return name.clone();
        }
        match krate.paths.get(&id) {
            Some(summary) if summary.crate_id == 0 => {
                let inner = summary.path.get(1..).unwrap_or_default();
                std::iter::once(&self.root).chain(inner).cloned().collect::<Vec<_>>().join("::")
            }
            Some(summary) => summary.path.join("::"),
            None => written.trim_start_matches("$crate::").to_owned(),
        }
    }
}

/// The generics of a type of the crate, and whether its name is also a constructor.
fn definition(krate: &Crate, id: Id) -> Option<(&Generics, bool)> {
    match &krate.index.get(&id)?.inner {
        ItemEnum::Struct(of) => Some((&of.generics, !matches!(of.kind, StructKind::Plain { .. }))),
        ItemEnum::Enum(of) => Some((&of.generics, false)),
        ItemEnum::Union(of) => Some((&of.generics, false)),
        _ => None,
    }
}

/// Redirects paths that led to a type and now lead to an alias of a renamed type. Users of the path are not
/// affected, unless the name is also a constructor.
fn follow_renames(krate: &Crate, public: &mut IndexMap<(Namespace, String), Id>, like: &Paths) {
    let before = |id: Id, public: &IndexMap<(Namespace, String), Id>| {
        public.iter().any(|(key, found)| *found == id && like.public.contains_key(key))
    };
    let mut renamed = Vec::new();
    for (at, (key, id)) in public.iter().enumerate() {
        if like.public.get(key).is_some_and(|old| like.types.contains(old))
            && let Some(target) = alias_of(krate, *id)
            && !before(target, public)
        {
            renamed.push((at, target));
        }
    }
    for (at, target) in renamed {
        if let Some((_, id)) = public.get_index_mut(at) {
            *id = target;
        }
    }
}

/// The target of an alias with the same parameters and defaults as its target.
fn alias_of(krate: &Crate, id: Id) -> Option<Id> {
    let ItemEnum::TypeAlias(alias) = &krate.index.get(&id)?.inner else { return None };
    let Type::ResolvedPath(path) = &alias.type_ else { return None };
    let (of, false) = definition(krate, path.id)? else { return None };
    let args: &[GenericArg] = match path.args.as_deref() {
        None => &[],
        Some(GenericArgs::AngleBracketed { args, constraints: _ }) => args,
        Some(GenericArgs::Parenthesized { .. } | GenericArgs::ReturnTypeNotation) => return None,
    };
    let own = &alias.generics.params;
    let same = |(param, arg): (&GenericParamDef, &GenericArg)| match arg {
        GenericArg::Lifetime(name) => *name == param.name,
        GenericArg::Type(Type::Generic(name)) => *name == param.name,
        GenericArg::Const(value) => value.expr == param.name,
        GenericArg::Type(_) | GenericArg::Infer => false,
    };
    let defaults = |params: &[GenericParamDef]| params.iter().map(default_text).collect::<Vec<_>>();
    let all = own.len() == args.len()
        && own.len() == of.params.len()
        && own.iter().zip(args).all(same)
        && defaults(own) == defaults(&of.params);
    all.then_some(path.id)
}

fn default_text(param: &GenericParamDef) -> Option<String> {
    match &param.kind {
        GenericParamDefKind::Lifetime { .. } => None,
        GenericParamDefKind::Type { default, .. } => default.as_ref().map(|ty| format!("{ty:?}")),
        GenericParamDefKind::Const { default, .. } => default.clone(),
    }
}

fn namespaces(kind: ItemKind) -> &'static [Namespace] {
    use Namespace::{Macros, Types, Values};
    match kind {
        ItemKind::Struct
        | ItemKind::Union
        | ItemKind::Enum
        | ItemKind::Trait
        | ItemKind::TraitAlias
        | ItemKind::TypeAlias
        | ItemKind::ExternType
        | ItemKind::Primitive => &[Types],
        ItemKind::Variant => &[Types],
        ItemKind::Function | ItemKind::Constant | ItemKind::Static => &[Values],
        ItemKind::Macro | ItemKind::ProcAttribute | ItemKind::ProcDerive => &[Macros],
        ItemKind::Module => &[Types],
        ItemKind::ExternCrate
        | ItemKind::Use
        | ItemKind::StructField
        | ItemKind::Impl
        | ItemKind::AssocConst
        | ItemKind::AssocType
        | ItemKind::Keyword
        | ItemKind::Attribute => &[],
    }
}

impl Walk<'_> {
    /// Adds an item under its name in the module of the route.
    fn add(&mut self, kind: ItemKind, name: &str, id: Id, route: Route<'_>) -> Result<(), LowerError> {
        let Route { path, by_glob, hidden } = route;
        for namespace in namespaces(kind) {
            // An explicit import has priority over a glob.
            let key = (*namespace, format!("{path}::{name}"));
            if self.found.get(&key).is_none_or(|found| found.by_glob && !by_glob) {
                self.found.insert(key, Found { id, by_glob, hidden });
            }
        }
        if self.found.len() > MAX_PATHS {
            return Err(LowerError::TooManyPaths { limit: MAX_PATHS });
        }
        Ok(())
    }

    /// Visits the items of a module at the end of a route. `chain` contains the enclosing modules, because
    /// globs can form cycles.
    fn module(&mut self, module: Id, route: Route<'_>, chain: &mut Vec<Id>) -> Result<(), LowerError> {
        if chain.contains(&module) || chain.len() >= MAX_MODULES {
            return Ok(());
        }
        let Some(item) = self.krate.index.get(&module) else { return Ok(()) };
        let items = match &item.inner {
            ItemEnum::Module(module) => &module.items,
            ItemEnum::Enum(of) => &of.variants,
            _ => return Ok(()),
        };
        chain.push(module);
        for id in items {
            self.item(*id, None, route, chain)?;
        }
        chain.pop();
        Ok(())
    }

    fn item(
        &mut self,
        id: Id,
        renamed: Option<&str>,
        route: Route<'_>,
        chain: &mut Vec<Id>,
    ) -> Result<(), LowerError> {
        self.visits += 1;
        if self.visits > MAX_VISITS {
            return Err(LowerError::TooManyPaths { limit: MAX_PATHS });
        }
        let Some(item) = self.krate.index.get(&id) else {
            // An item of another crate: only its name is known.
            if let (Some(name), Some(summary)) = (renamed, self.krate.paths.get(&id)) {
                self.add(summary.kind, name, id, route)?;
            }
            return Ok(());
        };
        if renamed.is_none() && !matches!(item.visibility, Visibility::Public | Visibility::Default) {
            return Ok(());
        }
        let route = Route { hidden: route.hidden || is_hidden(item), ..route };
        if let ItemEnum::Use(import) = &item.inner {
            let Some(target) = import.id else { return Ok(()) };
            if import.is_glob {
                // The documentation shows the items of a hidden module where a glob imports them.
                return self.module(target, Route { by_glob: true, ..route }, chain);
            }
            if chain.len() < MAX_MODULES && !chain.contains(&id) {
                chain.push(id);
                self.item(target, Some(&import.name), route, chain)?;
                chain.pop();
            }
            return Ok(());
        }
        let Some(name) = renamed.or(item.name.as_deref()) else { return Ok(()) };
        match &item.inner {
            ItemEnum::Module(_) => {
                self.module(id, Route { path: &format!("{}::{name}", route.path), ..route }, chain)
            }
            other => self.add(other.item_kind(), name, id, route),
        }
    }
}
