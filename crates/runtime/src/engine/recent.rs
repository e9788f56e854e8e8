//! Bounded cache of the most recently loaded programs.

use std::sync::{Arc, PoisonError, RwLock};

/// Maximum number of values that a cache keeps.
const MAX_LOADED: usize = 16;

/// The most recently loaded values, in order.
pub(super) struct Recent<T>(RwLock<Vec<Arc<T>>>);

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<T> Recent<T> {
    /// Returns the most recent value that fits, or loads one.
    pub(super) fn get_or_load<E>(
        &self,
        fits: impl Fn(&T) -> bool,
        load: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        // The list is consistent after a panic: it is written in one step.
        let list = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let known = list.iter().rev().find(|value| fits(value)).cloned();
        drop(list);
        if let Some(known) = known {
            return Ok(known);
        }
        let loaded = Arc::new(load()?);
        let mut list = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if list.len() == MAX_LOADED {
            list.remove(0);
        }
        list.push(Arc::clone(&loaded));
        Ok(loaded)
    }
}
