//! What a compiled module says about its types to those who import it.

use std::collections::BTreeMap;

use crate::describe::ReconstructError;
use crate::descriptor::TypeDescriptor;
use crate::digest::Digest;
use crate::hashing::NotPortable;
use crate::pool::{Idx, Pool};

/// One item of a module, as its author wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Item<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub ty: Idx,
    /// Whether other modules see it.
    pub visibility: Visibility,
}

/// Who sees an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Visibility {
    /// Every module.
    Public,
    /// Its own module only.
    Private,
}

/// The types of a module's public items, complete in themselves.
///
/// **Invariant:** the descriptors are exactly what the exported signatures reach, each once, children before parents.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TypedModule {
    /// Public items by name, with the digests of their types.
    pub exports: BTreeMap<String, Digest>,
    /// Every type reachable from the exports.
    pub type_descriptors: Vec<TypeDescriptor>,
}

impl TypedModule {
    /// Describes the public items. Where two have one name, the last counts.
    ///
    /// # Errors
    /// If a public item's type contains inference variables.
    pub fn new(pool: &mut Pool, items: &[Item<'_>]) -> Result<TypedModule, NotPortable> {
        let public: BTreeMap<&str, Idx> = items
            .iter()
            .filter(|item| item.visibility == Visibility::Public)
            .map(|item| (item.name, item.ty))
            .collect();
        let types: Vec<Idx> = public.values().copied().collect();
        let type_descriptors = pool.describe_all(&types)?;
        let mut exports = BTreeMap::new();
        for (name, ty) in public {
            exports.insert(name.to_owned(), pool.digest(ty)?);
        }
        Ok(TypedModule { exports, type_descriptors })
    }

    /// Rebuilds the module's types and gives the type of each export. Needs neither source nor the original pool.
    ///
    /// # Errors
    /// If the descriptors are incomplete or not well formed. The pool is then as it was.
    pub fn import(&self, pool: &mut Pool) -> Result<BTreeMap<String, Idx>, ReconstructError> {
        let types = pool.reconstruct(&self.type_descriptors)?;
        let mut exports = BTreeMap::new();
        let mut missing = Vec::new();
        for (name, digest) in &self.exports {
            match types.get(digest).copied().or_else(|| pool.find_digest(digest)) {
                Some(ty) => {
                    exports.insert(name.clone(), ty);
                }
                None => missing.push(*digest),
            }
        }
        if missing.is_empty() {
            Ok(exports)
        } else {
            missing.sort_unstable();
            Err(ReconstructError::NotFound { missing })
        }
    }
}
