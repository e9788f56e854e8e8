//! A pool that several threads fill.
//!
//! One reader-writer lock around one pool. Interning looks the type up under the read lock first and takes the write lock
//! only for types that are new, so threads that mostly meet known types do not wait for each other. Between the two locks
//! another thread may add the same type; interning under the write lock looks again, so both get one id.
//!
//! **Invariant:** an id, once given out, means the same type for ever; ids of different threads are interchangeable.
//!
//! The lock is a parameter, so that the tests run the same code under a scheduler that tries interleavings.

use std::ops::{Deref, DerefMut};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::build::find_descriptor;
use crate::descriptor::Descriptor;
use crate::digest::Digest;
use crate::error::TypeError;
use crate::hashing::NotPortable;
use crate::pool::{Idx, Pool};

/// A reader-writer lock.
pub trait Lock<T> {
    /// Access for reading.
    type Read<'a>: Deref<Target = T>
    where
        Self: 'a;
    /// Access for writing.
    type Write<'a>: DerefMut<Target = T>
    where
        Self: 'a;

    /// A lock around a value.
    fn new(value: T) -> Self;
    /// Waits until no one writes.
    fn read(&self) -> Self::Read<'_>;
    /// Waits until no one reads or writes.
    fn write(&self) -> Self::Write<'_>;
    /// The value, when no one else has the lock.
    fn into_inner(self) -> T;
}

impl<T> Lock<T> for RwLock<T> {
    type Read<'a>
        = RwLockReadGuard<'a, T>
    where
        T: 'a;
    type Write<'a>
        = RwLockWriteGuard<'a, T>
    where
        T: 'a;

    fn new(value: T) -> Self {
        RwLock::new(value)
    }

    // A pool is in a valid state between any two of its operations, and those do not panic half-way; so a panic of a
    // thread that held the lock says nothing about the pool.
    fn read(&self) -> Self::Read<'_> {
        RwLock::read(self).unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> Self::Write<'_> {
        RwLock::write(self).unwrap_or_else(PoisonError::into_inner)
    }

    fn into_inner(self) -> T {
        RwLock::into_inner(self).unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pool behind a lock.
#[derive(Debug)]
pub struct Shared<L> {
    lock: L,
}

/// A pool that several threads fill.
///
/// ```
/// use typeloom_pool::{Descriptor, Pool, SharedPool, Tag};
/// let pool = SharedPool::new(Pool::new());
/// let ids: Vec<_> = std::thread::scope(|scope| {
///     let threads: Vec<_> =
///         (0..2).map(|_| scope.spawn(|| pool.intern(&Descriptor::Primitive(Tag::Int)))).collect();
///     threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
/// });
/// assert_eq!(ids[0], ids[1]);
/// ```
pub type SharedPool = Shared<RwLock<Pool>>;

impl<L: Lock<Pool>> Shared<L> {
    /// Shares a pool.
    pub fn new(pool: Pool) -> Self {
        Shared { lock: L::new(pool) }
    }

    /// Interns a type.
    ///
    /// # Errors
    /// If the type is not well formed.
    pub fn intern(&self, ty: &Descriptor<Idx>) -> Result<Idx, TypeError> {
        if let Some(found) = find_descriptor(&self.lock.read(), ty) {
            return Ok(found);
        }
        self.lock.write().intern(ty)
    }

    /// The digest of a type.
    ///
    /// # Errors
    /// If the type contains inference variables.
    ///
    /// # Panics
    /// If the id is not of this pool.
    pub fn digest(&self, ty: Idx) -> Result<Digest, NotPortable> {
        if let Some(found) = self.lock.read().known_digest(ty) {
            return Ok(found);
        }
        self.lock.write().digest(ty)
    }

    /// Reads the pool. Others can read meanwhile, and no one can write.
    pub fn read<T>(&self, f: impl FnOnce(&Pool) -> T) -> T {
        f(&self.lock.read())
    }

    /// Changes the pool. Everyone else waits.
    pub fn write<T>(&self, f: impl FnOnce(&mut Pool) -> T) -> T {
        f(&mut self.lock.write())
    }

    /// The pool, when no one else uses it.
    pub fn into_inner(self) -> Pool {
        self.lock.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tag::Tag;
    use shuttle::sync as scheduled;

    impl Lock<Pool> for scheduled::RwLock<Pool> {
        type Read<'a> = scheduled::RwLockReadGuard<'a, Pool>;
        type Write<'a> = scheduled::RwLockWriteGuard<'a, Pool>;

        fn new(value: Pool) -> Self {
            scheduled::RwLock::new(value)
        }

        fn read(&self) -> Self::Read<'_> {
            scheduled::RwLock::read(self).unwrap_or_else(PoisonError::into_inner)
        }

        fn write(&self) -> Self::Write<'_> {
            scheduled::RwLock::write(self).unwrap_or_else(PoisonError::into_inner)
        }

        fn into_inner(self) -> Pool {
            scheduled::RwLock::into_inner(self).unwrap_or_else(PoisonError::into_inner)
        }
    }

    #[test]
    fn every_interleaving_gives_one_id_and_one_digest_per_type() {
        shuttle::check_random(
            || {
                let pool: scheduled::Arc<Shared<scheduled::RwLock<Pool>>> =
                    scheduled::Arc::new(Shared::new(Pool::new()));
                let threads: Vec<_> = (0..3u32)
                    .map(|thread| {
                        let pool = scheduled::Arc::clone(&pool);
                        shuttle::thread::spawn(move || {
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
