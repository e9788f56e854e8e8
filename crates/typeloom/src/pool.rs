//! Portable types: interned, content-addressed, and exchanged as verified bundles.
//!
//! ```
//! use typeloom::pool::{Pool, Tag};
//!
//! let mut pool = Pool::new();
//! let key = pool.primitive(Tag::Str)?;
//! let value = pool.primitive(Tag::Int)?;
//! let map = pool.map(key, value)?;
//!
//! let bundle = pool.export(&[("scores", map)])?;
//! let mut other = Pool::new();
//! let roots = other.import(bundle.as_bytes())?;
//! assert_eq!(other.digest(roots[0].ty)?, pool.digest(map)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(inline)]
pub use typeloom_pool::compat;
#[doc(inline)]
pub use typeloom_pool::{
    Bundle, Descriptor, Digest, ExportError, FrozenPool, Idx, ImportError, ImportLimits, ImportedRoot,
    ModuleItem, NotPortable, Pool, ReconstructError, SharedPool, Tag, TypeDescriptor, TypedModule,
    VariantDescriptor, Visibility,
};
