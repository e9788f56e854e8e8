//! Compatibility of the exports of two modules.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::compat::{Breaks, Compat, CompatCache, Direction};
use crate::hashing::NotPortable;
use crate::pool::{Idx, Pool};

/// Result of comparing the exports of two modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleCompat {
    /// Exports that only the old module has.
    pub removed: Vec<String>,
    /// Exports that only the new module has.
    pub added: Vec<String>,
    /// Exports of both modules whose types differ. The comparison is for the [reversed](Direction::reversed)
    /// direction.
    pub changed: Vec<(String, Arc<Compat>)>,
    /// The direction that was checked.
    pub direction: Direction,
}

impl ModuleCompat {
    /// Whether users of one module can use the other one, in the checked direction.
    #[must_use]
    pub fn is_compatible(&self) -> bool {
        let breaks = Breaks { backward: !self.removed.is_empty(), forward: !self.added.is_empty() };
        !self.direction.is_broken_by(breaks) && self.changed.iter().all(|(_, compat)| compat.is_compatible())
    }
}

impl Pool {
    /// Compares two maps of exports by name. Exports are used by importers, so backward compatible means that
    /// nothing was removed and that each new type is a subtype of the old one: a function may accept more and
    /// return something more specific.
    ///
    /// Types are therefore compared in the [reversed](Direction::reversed) direction, and
    /// [`ModuleCompat::changed`] contains the results for that direction: a difference that breaks existing
    /// users of a module has `breaks.forward` there.
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
        let removed = old.keys().filter(|name| !new.contains_key(*name)).cloned().collect();
        let added = new.keys().filter(|name| !old.contains_key(*name)).cloned().collect();
        let mut changed = Vec::new();
        for (name, &before) in old {
            if let Some(&after) = new.get(name)
                && before != after
            {
                changed.push((name.clone(), self.compat_cached(cache, before, after, direction.reversed())?));
            }
        }
        Ok(ModuleCompat { removed, added, changed, direction })
    }
}
