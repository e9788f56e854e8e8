//! Interned types, portable digests, bundles and compatibility.
//!
//! A [`Pool`] stores each type once under a dense [`Idx`]. A type's [`Digest`] means the same in every pool, process and
//! language; a [`Bundle`] carries types there. The format is specified in `docs/bundle-format.md`.
//!
//! # Code map
//!
//! | module | what it holds |
//! |---|---|
//! | `tag`, `layout`, `name` | the kinds of types, their words, their names |
//! | `table`, `pool`, `check`, `build` | hash-consing, what has to hold of a type, and a method for each kind |
//! | `dim`, `binder` | normal forms: constants as polynomials, schemes by first use |
//! | `graph`, `refine` | recursive types: components, partition refinement |
//! | `digest`, `hashing`, `shape` | exact and shape digests, in batches |
//! | `descriptor`, `describe`, `module` | types one level at a time, and back; what a module exports |
//! | `export`, `import`, `json`, `wire`, `limits`, `fault` | bundles, and everything that can be wrong with one |
//! | `compat`, `render` | subtyping with paths; signatures and trees |
//! | `term` | terms into pool types, and back |
//! | `frozen`, `shared` | pools that many threads read, or fill |
//!
//! **Invariant:** two ids of a pool are equal exactly if their types are equal, recursive ones coinductively; the digests of
//! two types are equal exactly if the types are, as far as BLAKE3 is collision-free. Identity inside a pool rests on no
//! hash.
//! **Invariant:** nothing here recurses over the depth of a type, reads a clock or does I/O.
//!
//! Not for types under inference: those are terms. A pool type may contain inference variables, but then it stays where it is.

mod binder;
mod build;
mod check;
mod compat;
mod describe;
mod descriptor;
mod digest;
mod dim;
mod error;
mod export;
mod fault;
mod frozen;
mod graph;
mod hashing;
mod import;
mod index;
mod intern;
mod json;
mod layout;
mod limits;
mod module;
mod name;
mod pool;
mod refine;
mod render;
mod shape;
mod shared;
mod table;
mod tag;
mod term;
mod wire;

pub use compat::exports::ModuleCompat;
pub use compat::{
    Change, Compat, CompatCache, Difference, Direction, MAX_DIFFERENCES, MAX_PAIRS, Path, Step,
};
pub use describe::ReconstructError;
pub use descriptor::{
    ConstDescriptor, Descriptor, GraphRef, GroupDescriptor, TypeDescriptor, Variable, VariantDescriptor,
};
pub use digest::{Digest, DigestParseError};
pub use dim::MAX_TERMS;
pub use error::TypeError;
pub use export::{Bundle, ExportError};
pub use fault::{Bounded, Fault, ImportError};
pub use frozen::FrozenPool;
pub use graph::{MAX_GROUP, MAX_WORK};
pub use hashing::NotPortable;
pub use import::Root;
pub use json::JsonError;
pub use limits::Limits;
pub use module::{Item, TypedModule, Visibility};
pub use name::{MAX_NAME, Name, NameError, check_name};
pub use pool::{Idx, MAX_BINDERS, Pool};
pub use render::RenderLimits;
pub use shape::ShapeError;
pub use shared::{Lock, Shared, SharedPool};
pub use tag::{Class, Sort, Tag};
pub use term::ConvertError;
