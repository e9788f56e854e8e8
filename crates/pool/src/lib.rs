//! Interned types, portable digests, bundles and compatibility.
//!
//! A [`Pool`] stores each type once under a dense [`Idx`]. A type's [`Digest`] is independent of pool,
//! process and language, and a [`Bundle`] transports types. `docs/bundle-format.md` specifies the format.
//!
//! # A service and its next version
//!
//! Types are built bottom-up with one method of [`Pool`] for each kind ([`Pool::list`], [`Pool::structure`],
//! [`Pool::tensor`], ...). [`Pool::intern`] accepts any type as a [`Descriptor`], and [`Pool::intern_graph`]
//! several that refer to each other.
//!
//! ```
//! use std::collections::BTreeMap;
//! use typeloom_pool::{
//!     Descriptor, GraphRef, Idx, Pool, Sort, Tag, PoolError, VariantDescriptor,
//!     compat::{CompatCache, Direction},
//! };
//!
//! fn service(pool: &mut Pool) -> Result<Vec<(&'static str, Idx)>, PoolError> {
//!     let (int, float) = (pool.primitive(Tag::I64)?, pool.primitive(Tag::F32)?);
//!
//!     // enum Tree { Leaf(i64), Node { children: list<Tree> } }, of two nodes that refer to each other.
//!     let tree = pool.intern_graph(&[
//!         Descriptor::Enum {
//!             name: "Tree".to_owned(),
//!             variants: vec![
//!                 VariantDescriptor {
//!                     name: "Leaf".to_owned(),
//!                     field_names: vec![],
//!                     field_types: vec![GraphRef::Outer(int)],
//!                 },
//!                 VariantDescriptor {
//!                     name: "Node".to_owned(),
//!                     field_names: vec!["children".to_owned()],
//!                     field_types: vec![GraphRef::Member(1)],
//!                 },
//!             ],
//!         },
//!         Descriptor::Container { tag: Tag::List, child: GraphRef::Member(0) },
//!     ])?[0];
//!
//!     // A generic function: its variable is variable 0 of the nearest binder, the scheme.
//!     let item = pool.bound(0, 0, Sort::Type)?;
//!     let (items, maybe) = (pool.list(item)?, pool.option(item)?);
//!     let first = pool.function(&[items], maybe)?;
//!
//!     // Dims of tensors are polynomials: `2*N` is `N + N`.
//!     let (n, three) = (pool.dim_symbol("N")?, pool.dim_const(3)?);
//!     let double = pool.dim_scale(2, n)?;
//!     let image = pool.tensor(float, &[n, three, double])?;
//!     Ok(vec![
//!         ("draw", pool.function(&[tree], image)?),
//!         ("first", pool.scheme(&[Sort::Type], first)?),
//!     ])
//! }
//!
//! // A bundle transports the types to another process, which needs neither the source nor the pool.
//! let mut pool = Pool::new();
//! let exports = service(&mut pool)?;
//! let bundle = pool.export(&exports)?;
//! let mut here = Pool::new();
//! let roots = here.import(bundle.as_bytes())?;
//! assert_eq!(
//!     here.signature(roots[0].ty),
//!     "(rec0 = enum Tree { Leaf(i64), Node(children: list<rec0>) }) -> Tensor<f32, [N, 3, 2*N]>"
//! );
//! assert_eq!(here.signature(roots[1].ty), "forall T. (list<T>) -> option<T>");
//!
//! // The next version may return a more specific type, but not a more general one.
//! let Descriptor::Function { params, returns } = here.get(roots[0].ty) else { unreachable!() };
//! let Descriptor::Tensor { element, .. } = here.get(returns) else { unreachable!() };
//! let any = here.tensor_unranked(element)?;
//! let next = here.function(&params, any)?;
//! let old = BTreeMap::from([("draw".to_owned(), roots[0].ty)]);
//! let new = BTreeMap::from([("draw".to_owned(), next)]);
//! let verdict = here.compat_exports(&mut CompatCache::new(), &old, &new, Direction::Backward)?;
//! assert!(!verdict.is_compatible());
//! let (_, draw) = &verdict.changed[0];
//! assert_eq!(draw.breaking[0].path.to_string(), "returns");
//! assert_eq!(draw.breaking[0].new, "Tensor<f32>");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Code map
//!
//! | module | content |
//! |---|---|
//! | `tag`, `layout`, `name` | kinds of types, their words, their names |
//! | `pool`, `intern`, `hash`, `check`, `build` | hash-consing, checks of new types, and a method for each kind |
//! | `dim`, `binder` | normal forms: constants as polynomials, schemes by first use |
//! | `graph`, `refine` | recursive types: components, partition refinement |
//! | `digest`, `hashing`, `shape` | exact and shape digests, in batches |
//! | `descriptor`, `describe`, `module` | portable descriptions and reconstruction; exports of modules |
//! | `export`, `import`, `json`, `wire`, `limits` | bundles, their limits and errors |
//! | `variables` | names of variables in bundles |
//! | [`compat`], `render` | subtyping with paths; signatures and trees |
//! | `term` | conversion from and to terms |
//! | `frozen`, `shared` | pools for concurrent readers or writers |
//!
//! **Invariant:** two ids of a pool are equal exactly if their types are equal, recursive ones coinductively;
//! two digests are equal exactly if the types are equal, as far as BLAKE3 is collision-free. Identity inside
//! a pool does not depend on hashes.
//!
//! **Invariant:** no recursion over the depth of a type, no clock, no I/O.
//!
//! Types under inference are terms. A pool type may contain inference variables but then cannot be exported.

#![deny(missing_docs, missing_debug_implementations)]

#[cfg(test)]
extern crate self as typeloom_pool;

mod binder;
mod build;
mod check;
pub mod compat;
mod describe;
mod descriptor;
mod digest;
mod dim;
mod error;
mod export;
mod frozen;
mod graph;
mod hash;
mod hashing;
mod import;
mod import_error;
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
mod tag;
mod term;
mod variables;
mod wire;

pub use describe::ReconstructError;
pub use descriptor::{
    ConstDescriptor, Descriptor, GraphRef, GroupDescriptor, TypeDescriptor, Variable, VariantDescriptor,
};
pub use digest::{Digest, DigestParseError};
pub use dim::MAX_TERMS;
pub use error::PoolError;
pub use export::{Bundle, ExportError};
pub use frozen::FrozenPool;
pub use graph::{MAX_GROUP, MAX_WORK};
pub use hashing::NotPortable;
pub use import::ImportedRoot;
pub use import_error::{Bounded, ImportError, ImportErrorKind};
pub use json::JsonError;
pub use limits::ImportLimits;
pub use module::{ModuleItem, TypedModule, Visibility};
pub use name::{MAX_NAME, NameError, NameId, check_name};
pub use pool::{Idx, MAX_BINDERS, Pool};
pub use render::RenderLimits;
pub use shape::ShapeError;
pub use shared::SharedPool;
pub use tag::{Sort, Tag, TagClass};
pub use term::ConvertError;
pub use variables::{MAX_VARIABLE_NAME, VariableNamesError, check_variable_name};
