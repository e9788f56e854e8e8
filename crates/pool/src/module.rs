//! Exports of a compiled module with their types.

use std::collections::BTreeMap;

use crate::describe::ReconstructError;
use crate::descriptor::TypeDescriptor;
use crate::digest::Digest;
use crate::hashing::NotPortable;
use crate::pool::{Idx, Pool};

/// An item of a module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModuleItem<'a> {
    /// Name of the item.
    pub name: &'a str,
    /// Type of the item.
    pub ty: Idx,
    /// Visibility of the item to other modules.
    pub visibility: Visibility,
}

/// Visibility of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Visibility {
    /// Visible to every module.
    Public,
    /// Visible only inside its module.
    Private,
}

/// Types of a module's public items, with everything that they reach.
///
/// **Invariant:** the descriptors are exactly the types reachable from the exports, each once, in the order
/// of [`Pool::describe_transitive`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TypedModule {
    /// Digests of the types of public items, by name.
    pub exports: BTreeMap<String, Digest>,
    /// Digests and descriptors of all types reachable from the exports.
    pub type_descriptors: Vec<(Digest, TypeDescriptor)>,
}

impl TypedModule {
    /// Describes the public items. Of several items with one name, the last one is used.
    ///
    /// # Errors
    /// If a public item's type contains inference variables.
    pub fn new(pool: &mut Pool, items: &[ModuleItem<'_>]) -> Result<TypedModule, NotPortable> {
        let public: BTreeMap<&str, Idx> = items
            .iter()
            .filter(|item| item.visibility == Visibility::Public)
            .map(|item| (item.name, item.ty))
            .collect();
        let mut exports = BTreeMap::new();
        for (&name, &ty) in &public {
            exports.insert(name.to_owned(), pool.digest(ty)?);
        }
        let types: Vec<Idx> = public.into_values().collect();
        let type_descriptors = pool.describe_all(&types)?;
        Ok(TypedModule { exports, type_descriptors })
    }

    /// Reconstructs the module's types and returns the type of each export. Requires neither source nor the
    /// original pool.
    ///
    /// # Errors
    /// If the descriptors are incomplete or not well formed. The pool is then unchanged.
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
