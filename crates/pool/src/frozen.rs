//! Immutable pools for many concurrent readers.

use std::ops::Deref;

use crate::digest::Digest;
use crate::pool::{Idx, Pool};

/// An immutable pool with all digests computed.
///
/// It is `Send + Sync` and contains neither locks nor cells: any number of threads can read it through an
/// `Arc`. All reading methods of [`Pool`] are available.
#[derive(Clone, Debug)]
pub struct FrozenPool {
    pool: Pool,
}

impl Pool {
    /// Computes all digests and makes the pool immutable.
    #[must_use]
    pub fn freeze(mut self) -> FrozenPool {
        self.compute_all_digests();
        FrozenPool { pool: self }
    }
}

impl FrozenPool {
    /// Returns the digest of a type, or `None` if it contains inference variables.
    #[must_use]
    pub fn digest(&self, ty: Idx) -> Option<Digest> {
        self.pool.known_digest(ty)
    }

    /// Returns the portable description of a type, or `None` if it contains inference variables.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    pub fn describe(&self, ty: Idx) -> Option<crate::TypeDescriptor> {
        self.pool.describe(ty).ok()
    }

    /// Returns the pool for further changes.
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
