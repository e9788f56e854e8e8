//! A pool that several threads fill.
//!
//! One reader-writer lock protects one pool. Interning first looks the type up under the read lock and takes
//! the write lock only for new types, so threads that mostly intern known types do not block each other.
//! Another thread may add the same type between the two locks; interning under the write lock looks it up
//! again, so both threads get the same id.
//!
//! **Invariant:** an id denotes the same type for the lifetime of the pool; ids of different threads are
//! interchangeable.
//!
//! Example of [`SharedPool`]:
//!
//! ```
//! use typeloom_pool::{Descriptor, Pool, SharedPool, Tag};
//! let pool = SharedPool::new(Pool::new());
//! let ids: Vec<_> = std::thread::scope(|scope| {
//!     let threads: Vec<_> =
//!         (0..2).map(|_| scope.spawn(|| pool.intern(&Descriptor::Primitive(Tag::Int)))).collect();
//!     threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
//! });
//! assert_eq!(ids[0], ids[1]);
//! ```

#[cfg(all(test, feature = "schedules"))]
use shuttle::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::sync::PoisonError;
#[cfg(not(all(test, feature = "schedules")))]
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::build::find_descriptor;
use crate::descriptor::Descriptor;
use crate::digest::Digest;
use crate::error::PoolError;
use crate::hashing::NotPortable;
use crate::pool::{Idx, Pool};

/// A pool that several threads fill.
#[derive(Debug)]
pub struct SharedPool {
    lock: RwLock<Pool>,
}

impl SharedPool {
    /// Shares a pool.
    #[must_use]
    pub fn new(pool: Pool) -> Self {
        SharedPool { lock: RwLock::new(pool) }
    }

    // Operations of a pool do not panic half-way. A thread that panics while it holds the lock therefore
    // leaves a valid pool, and poisoning is ignored.
    fn lock_read(&self) -> RwLockReadGuard<'_, Pool> {
        self.lock.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_write(&self) -> RwLockWriteGuard<'_, Pool> {
        self.lock.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Interns a type.
    ///
    /// # Errors
    /// If the type is not well formed.
    pub fn intern(&self, ty: &Descriptor<Idx>) -> Result<Idx, PoolError> {
        let known = find_descriptor(&self.lock_read(), ty);
        match known {
            Some(found) => Ok(found),
            None => self.lock_write().intern(ty),
        }
    }

    /// Returns the digest of a type.
    ///
    /// # Errors
    /// If the type contains inference variables.
    ///
    /// # Panics
    /// If the id is not of this pool.
    pub fn digest(&self, ty: Idx) -> Result<Digest, NotPortable> {
        let known = self.lock_read().known_digest(ty);
        match known {
            Some(found) => Ok(found),
            None => self.lock_write().digest(ty),
        }
    }

    /// Calls `f` with the pool under the read lock.
    pub fn read<T>(&self, f: impl FnOnce(&Pool) -> T) -> T {
        f(&self.lock_read())
    }

    /// Calls `f` with the pool under the write lock.
    pub fn write<T>(&self, f: impl FnOnce(&mut Pool) -> T) -> T {
        f(&mut self.lock_write())
    }

    /// Returns the pool.
    #[must_use]
    pub fn into_inner(self) -> Pool {
        self.lock.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tag::Tag;
    #[cfg(feature = "schedules")]
    use shuttle::{check_random, sync::Arc, thread};
    #[cfg(not(feature = "schedules"))]
    use std::{sync::Arc, thread};

    /// Repeats a run on the schedules of the system.
    #[cfg(not(feature = "schedules"))]
    fn check_random(run: impl Fn(), times: usize) {
        (0..times).for_each(|_| run());
    }

    #[test]
    fn every_interleaving_gives_one_id_and_one_digest_per_type() {
        check_random(
            || {
                let pool = Arc::new(SharedPool::new(Pool::new()));
                let threads: Vec<_> = (0..3u32)
                    .map(|thread| {
                        let pool = Arc::clone(&pool);
                        thread::spawn(move || {
                            let tags = [Tag::Int, Tag::Str, Tag::Bool];
                            let mut ids = vec![None; 3];
                            for step in 0..3 {
                                let which = (thread as usize + step) % 3;
                                let child =
                                    pool.intern(&Descriptor::Primitive(tags[which])).expect("a primitive");
                                let list = Descriptor::Container { tag: Tag::List, child };
                                let list = pool.intern(&list).expect("a list");
                                ids[which] = Some((child, list, pool.digest(list).expect("portable")));
                            }
                            ids
                        })
                    })
                    .collect();
                let results: Vec<_> =
                    threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
                assert_eq!(results[0], results[1]);
                assert_eq!(results[1], results[2]);
                assert_eq!(pool.read(Pool::len), 6);
            },
            200,
        );
    }
}
