//! A pool that no longer changes, for many readers at once.

use std::ops::Deref;

use crate::digest::Digest;
use crate::pool::{Idx, Pool};

/// A pool with all digests computed that cannot change any more.
///
/// It is `Send + Sync` and holds neither locks nor cells: put it in an `Arc` and read it from any number of threads.
/// Everything that reads a [`Pool`] works on it.
#[derive(Clone, Debug)]
pub struct FrozenPool {
    pool: Pool,
}

impl Pool {
    /// Computes all digests and ends all changes.
    #[must_use]
    pub fn freeze(mut self) -> FrozenPool {
        self.compute_all_digests();
        FrozenPool { pool: self }
    }
}

impl FrozenPool {
    /// The digest of a type, `None` if it contains inference variables.
    #[must_use]
    pub fn digest(&self, ty: Idx) -> Option<Digest> {
        self.pool.known_digest(ty)
    }

    /// The portable description of a type, `None` if it contains inference variables.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    pub fn describe(&self, ty: Idx) -> Option<crate::TypeDescriptor> {
        let known = !self.pool.has_inference_variables(ty);
        known.then(|| self.pool.describe_known(ty.number(), &mut std::collections::HashMap::new()))
    }

    /// The pool, to change it again.
    #[must_use]
    pub fn thaw(self) -> Pool {
        self.pool
    }
}

impl Deref for FrozenPool {
    type Target = Pool;

    fn deref(&self) -> &Pool {
        &self.pool
    }
}
