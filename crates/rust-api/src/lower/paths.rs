//! Which items can be named from outside, by which paths, and what every definition is called.
//!
//! The public path of an item is the one by which it can be reached, through re-exports and globs; where there are
//! several, the shortest, then the first. Definitions of other crates are called by the path of their definition.
//!
//! **Invariant:** a path of the crate itself starts with one and the same crate name, whatever the crate is called, so
//! that two versions can be compared that are packaged under two names.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use indexmap::IndexMap;
use rustdoc_types::{
    Crate, GenericArg, GenericArgs, GenericParamDef, GenericParamDefKind, Generics, Id, ItemEnum, ItemKind,
    StructKind, Type, Visibility,
};

use crate::lower::LowerError;

/// The most paths that a crate may have.
const MAX_PATHS: usize = 1 << 20;

/// The most steps that finding them may take.
const MAX_VISITS: usize = 1 << 22;

/// How many definitions of one name may have moved, for the nearest ones to be taken for each other.
const MAX_MOVED: usize = 64;

/// How deep modules may lie.
const MAX_MODULES: usize = 128;

/// The crates of the standard library.
const STD: &[&str] = &["core", "alloc", "std"];

/// Types, or values and macros: one path can name one of each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Namespace {
    Types,
    Values,
    Macros,
}

/// Everything that a crate can be asked for by a path.
#[derive(Debug)]
pub(crate) struct Paths {
    /// Every public path, and what it leads to.
    pub(crate) public: IndexMap<(Namespace, String), Id>,
    /// What definitions are called.
    names: HashMap<Id, String>,
    /// What definitions are called that cannot be named, where it is not by where they are.
    hidden_names: HashMap<Id, String>,
    /// Where the definitions are that cannot be named.
    hidden: BTreeSet<String>,
    /// The types among what paths lead to.
    types: HashSet<Id>,
    /// The first part of every path of the crate itself.
    pub(crate) root: String,
}

struct Found {
    id: Id,
    by_glob: bool,
}

struct Walk<'c> {
    krate: &'c Crate,
    found: BTreeMap<(Namespace, String), Found>,
    /// How many items were looked at: modules that bring each other in by globs have very many ways through them.
    visits: usize,
}

/// The name of a crate in its JSON.
pub(crate) fn crate_name(krate: &Crate) -> String {
    krate.index.get(&krate.root).and_then(|root| root.name.clone()).unwrap_or_else(|| "crate".to_owned())
}

impl Paths {
    /// The paths of a crate. Where a definition can be reached by a path that `like` has too, it gets the name that it
    /// has there: so one type has one name in two versions of a crate.
    pub(crate) fn of(krate: &Crate, like: Option<&Self>) -> Result<Self, LowerError> {
        let root = like.map_or_else(|| crate_name(krate), |like| like.root.clone());
        let mut walk = Walk { krate, found: BTreeMap::new(), visits: 0 };
        walk.module(krate.root, &root, false, &mut Vec::new())?;
        let mut public: IndexMap<_, _> = walk.found.into_iter().map(|(key, found)| (key, found.id)).collect();
        if let Some(like) = like {
            follow_renames(krate, &mut public, like);
        }
        let types = public.values().copied().filter(|id| definition(krate, *id).is_some()).collect();
        let mut names: HashMap<Id, String> = HashMap::new();
        let better = |new: &str, old: &str| {
            let parts = |path: &str| path.matches("::").count();
            (parts(new), new) < (parts(old), old)
        };
        // Another name for something of another crate does not rename it: what it is called stays where it is defined.
        let own = |id: &Id| krate.index.contains_key(id);
        for ((_, path), id) in public.iter().filter(|(_, id)| own(id)) {
            match names.get_mut(id) {
                Some(name) if better(path, name) => name.clone_from(path),
                Some(_) => {}
                None => {
                    names.insert(*id, path.clone());
                }
            }
        }
        if let Some(like) = like {
            for (key, id) in public.iter().filter(|(_, id)| own(id)) {
                let Some(name) = like.public.get(key).and_then(|old| like.names.get(old)) else { continue };
                // The name may by now belong to another definition.
                let holder = public.get(&(key.0, name.clone()));
                if holder.is_none_or(|holder| holder == id) {
                    names.insert(*id, name.clone());
                }
            }
            // What was defined here and comes from another crate now is known by the name that it had here. (Of the
            // standard library more is known by its own name.)
            for (key, id) in public.iter().filter(|(_, id)| !own(id)) {
                let Some(name) = like.public.get(key).and_then(|old| like.names.get(old)) else { continue };
                let of_std = krate
                    .paths
                    .get(id)
                    .is_none_or(|found| found.path.first().is_none_or(|root| STD.contains(&root.as_str())));
                if !of_std && *name == key.1 {
                    names.insert(*id, name.clone());
                }
            }
        }
        let mut found =
            Self { public, names, hidden_names: HashMap::new(), hidden: BTreeSet::new(), types, root };
        found.hide(krate, like);
        Ok(found)
    }

    /// Finds the definitions that cannot be named. One that could not be named before either is called what it was
    /// called there: by the same place, or, where it moved, by the nearest place with the same last part.
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

    /// What the definitions at some places were called before, where they could not be named then.
    fn old_names(&self, places: &[(String, Id)], like: &Self) -> Vec<(Id, String)> {
        let mut found: Vec<(Id, String)> = Vec::new();
        let here: HashSet<&str> = places.iter().map(|(path, _)| path.as_str()).collect();
        let known: HashSet<&str> = like.names.values().map(String::as_str).collect();
        let last = |path: &str| path.rsplit("::").next().unwrap_or_default().to_owned();
        let mut gone: HashMap<String, Vec<&String>> = HashMap::new();
        for old in like.hidden.iter().filter(|old| !here.contains(old.as_str())) {
            gone.entry(last(old)).or_default().push(old);
        }
        // How much of the way two places have in common, and how they are called.
        let mut moved: Vec<(usize, &String, &String, Id)> = Vec::new();
        for (path, id) in places {
            // A public name that both versions have stays.
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
        // The nearest ones first; each place is left once and taken once.
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

    /// What a definition is called, if it can be reached.
    pub(crate) fn public_name(&self, id: Id) -> Option<&str> {
        self.names.get(&id).map(String::as_str)
    }

    /// What a definition is called: by its public path, or by where it is defined, or as it is written.
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

/// The parameters of a type of the crate, and whether its name is that of a value as well.
fn definition(krate: &Crate, id: Id) -> Option<(&Generics, bool)> {
    match &krate.index.get(&id)?.inner {
        ItemEnum::Struct(of) => Some((&of.generics, !matches!(of.kind, StructKind::Plain { .. }))),
        ItemEnum::Enum(of) => Some((&of.generics, false)),
        ItemEnum::Union(of) => Some((&of.generics, false)),
        _ => None,
    }
}

/// Lets paths that led to a type, and lead to an alias of a type with another name now, lead to that type: to whoever uses
/// the alias, it is the same. (Not where the name is a constructor too, which an alias is not.)
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

/// The type that an alias is another name of: with the same parameters, in the same order, with the same defaults.
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
    fn add(&mut self, kind: ItemKind, path: String, id: Id, by_glob: bool) -> Result<(), LowerError> {
        for namespace in namespaces(kind) {
            // A name that is written beats one that a glob brings in.
            let key = (*namespace, path.clone());
            match self.found.get(&key) {
                Some(found) if !found.by_glob || by_glob => {}
                _ => {
                    self.found.insert(key, Found { id, by_glob });
                }
            }
        }
        if self.found.len() > MAX_PATHS {
            return Err(LowerError::TooManyPaths { limit: MAX_PATHS });
        }
        Ok(())
    }

    /// Everything in a module, under `path`. `chain` holds the modules that are being walked: globs can form circles.
    fn module(
        &mut self,
        module: Id,
        path: &str,
        by_glob: bool,
        chain: &mut Vec<Id>,
    ) -> Result<(), LowerError> {
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
            self.item(*id, None, path, by_glob, chain)?;
        }
        chain.pop();
        Ok(())
    }

    fn item(
        &mut self,
        id: Id,
        renamed: Option<&str>,
        path: &str,
        by_glob: bool,
        chain: &mut Vec<Id>,
    ) -> Result<(), LowerError> {
        self.visits += 1;
        if self.visits > MAX_VISITS {
            return Err(LowerError::TooManyPaths { limit: MAX_PATHS });
        }
        let Some(item) = self.krate.index.get(&id) else {
            // Something of another crate: only its name is known.
            if let (Some(name), Some(summary)) = (renamed, self.krate.paths.get(&id)) {
                self.add(summary.kind, format!("{path}::{name}"), id, by_glob)?;
            }
            return Ok(());
        };
        if renamed.is_none() && !matches!(item.visibility, Visibility::Public | Visibility::Default) {
            return Ok(());
        }
        let name = renamed.or(item.name.as_deref());
        match &item.inner {
            ItemEnum::Use(import) => {
                let Some(target) = import.id else { return Ok(()) };
                if import.is_glob {
                    self.module(target, path, true, chain)
                } else if chain.len() >= MAX_MODULES || chain.contains(&id) {
                    Ok(())
                } else {
                    chain.push(id);
                    let done = self.item(target, Some(&import.name), path, by_glob, chain);
                    chain.pop();
                    done
                }
            }
            ItemEnum::Module(_) => match name {
                Some(name) => self.module(id, &format!("{path}::{name}"), by_glob, chain),
                None => Ok(()),
            },
            other => match name {
                Some(name) => self.add(other.item_kind(), format!("{path}::{name}"), id, by_glob),
                None => Ok(()),
            },
        }
    }
}
