//! Compatibility of what two modules export.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::compat::{Compat, CompatCache, Direction};
use crate::hashing::NotPortable;
use crate::pool::{Idx, Pool};

/// The compatibility of two modules' exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleCompat {
    /// Exports that only the old module has.
    pub removed: Vec<String>,
    /// Exports that only the new module has.
    pub added: Vec<String>,
    /// The exports that both have and whose types differ.
    pub changed: Vec<(String, Arc<Compat>)>,
    /// Which way was asked for.
    pub direction: Direction,
}

impl ModuleCompat {
    /// Whether users of the one module can use the other, in the direction that was asked for.
    #[must_use]
    pub fn is_compatible(&self) -> bool {
        let exports = match self.direction {
            Direction::Backward => self.removed.is_empty(),
            Direction::Forward => self.added.is_empty(),
            Direction::Full => self.removed.is_empty() && self.added.is_empty(),
        };
        exports && self.changed.iter().all(|(_, compat)| compat.is_compatible())
    }
}

impl Pool {
    /// Compares two lists of exports by name. An export is used by its importers, so backward compatible means that
    /// nothing was removed and that each export's new type fits where the old one was expected: a function may take more
    /// than before and give something more special.
    ///
    /// For the types this is the question that [`Direction`] calls the other way, and the answers in
    /// [`ModuleCompat::changed`] are answers to it: what breaks the users of a module `Backward` *breaks forward* there.
    ///
    /// # Errors
    /// If a type contains inference variables.
    ///
    /// # Panics
    /// If an id is not of this pool.
    pub fn compat_exports(
        &mut self,
        cache: &mut CompatCache,
        old: &BTreeMap<String, Idx>,
        new: &BTreeMap<String, Idx>,
        direction: Direction,
    ) -> Result<ModuleCompat, NotPortable> {
        // The new export stands where the old one was expected: that is the types' forward direction.
        let of_types = match direction {
            Direction::Backward => Direction::Forward,
            Direction::Forward => Direction::Backward,
            Direction::Full => Direction::Full,
        };
        let removed = old.keys().filter(|name| !new.contains_key(*name)).cloned().collect();
        let added = new.keys().filter(|name| !old.contains_key(*name)).cloned().collect();
        let mut changed = Vec::new();
        for (name, &before) in old {
            if let Some(&after) = new.get(name)
                && before != after
            {
                changed.push((name.clone(), self.compat_cached(cache, before, after, of_types)?));
            }
        }
        Ok(ModuleCompat { removed, added, changed, direction })
    }
}
