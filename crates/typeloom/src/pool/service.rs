//! Pools of long-running programs: shared by threads, with cached comparisons and limits for the input of
//! others.
//!
//! ```
//! use typeloom::interface::Direction;
//! use typeloom::pool::service::{CompatCache, FrozenPool, ImportLimits, ReconstructError, SharedPool};
//! use typeloom::pool::{Descriptor, Pool, Tag};
//!
//! // Several threads fill a shared pool.
//! let pool = SharedPool::new(Pool::new());
//! let int = || pool.intern(&Descriptor::Primitive(Tag::Int));
//! let (a, b) = std::thread::scope(|scope| {
//!     let (a, b) = (scope.spawn(int), scope.spawn(int));
//!     (a.join().unwrap(), b.join().unwrap())
//! });
//! let int = a?;
//! assert_eq!(int, b?);
//!
//! // Comparisons are cached.
//! let mut pool = pool.into_inner();
//! let mut cache = CompatCache::new();
//! assert!(pool.compat_cached(&mut cache, int, int, Direction::Backward)?.is_compatible());
//!
//! // Input of others is limited, and a descriptor without its children is an error.
//! let bytes = pool.export(&[("count", int)])?.into_bytes();
//! let limits = ImportLimits { bytes: 8, ..ImportLimits::default() };
//! assert!(Pool::new().import_within(&bytes, &limits).is_err());
//! let list = pool.list(int)?;
//! let descriptors = pool.describe_transitive(list)?;
//! let error = Pool::new().reconstruct(&descriptors[1..]).unwrap_err();
//! assert!(matches!(error, ReconstructError::NotFound { .. }));
//!
//! // A frozen pool is read without a lock.
//! let digest = pool.digest(list)?;
//! let frozen: FrozenPool = pool.freeze();
//! assert_eq!(frozen.digest(list), Some(digest));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(inline)]
pub use typeloom_pool::{FrozenPool, ImportLimits, ReconstructError, SharedPool, compat::CompatCache};
