//! Interned types, portable digests, bundles and compatibility.
//!
//! A [`Pool`] stores each type once under a dense [`Idx`]. A type's [`Digest`] means the same in every pool, process and
//! language; a [`Bundle`] carries types there. The format is specified in `docs/bundle-format.md`.
//!
//! # A service and its next version
//!
//! Types are built from the leaves up, a method of [`Pool`] for each kind ([`Pool::list`], [`Pool::structure`],
//! [`Pool::tensor`], ...). [`Pool::intern`] takes any type as a [`Descriptor`], [`Pool::intern_graph`] several that refer to
//! each other.
//!
//! ```
//! use std::collections::BTreeMap;
//! use typeloom_pool::{
//!     Descriptor, GraphRef, Idx, Pool, Sort, Tag, TypeError, VariantDescriptor,
//!     compat::{CompatCache, Direction},
//! };
//!
//! fn service(pool: &mut Pool) -> Result<Vec<(&'static str, Idx)>, TypeError> {
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
//!     // A generic function: its variable is place 0 of the nearest binder, the scheme.
//!     let item = pool.bound(0, 0, Sort::Type)?;
//!     let (items, maybe) = (pool.list(item)?, pool.option(item)?);
//!     let first = pool.function(&[items], maybe)?;
//!
//!     // The extents of tensors are polynomials: `2*N` is `N + N`.
//!     let (n, three) = (pool.dim_symbol("N")?, pool.dim_const(3)?);
//!     let double = pool.dim_scale(2, n)?;
//!     let image = pool.tensor(float, &[n, three, double])?;
//!     Ok(vec![
//!         ("draw", pool.function(&[tree], image)?),
//!         ("first", pool.scheme(&[Sort::Type], first)?),
//!     ])
//! }
//!
//! // A bundle carries the types to another process, which needs neither the source nor the pool.
//! let mut pool = Pool::new();
//! let exports = service(&mut pool)?;
//! let bundle = pool.export(&exports)?;
//! let mut here = Pool::new();
//! let roots = here.import(bundle.as_bytes())?;
//! assert_eq!(
//!     here.signature(roots[0].ty),
//!     "(rec0 = enum Tree { Leaf(i64), Node(children: list<rec0>) }) -> Tensor<f32, [N, 3, 2*N]>"
//! );
//! assert_eq!(here.signature(roots[1].ty), "forall a. (list<a>) -> option<a>");
//!
//! // The next version may give something more special, but not something more general.
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
//! | module | what it holds |
//! |---|---|
//! | `tag`, `layout`, `name` | the kinds of types, their words, their names |
//! | `hash`, `pool`, `intern`, `check`, `build` | hash-consing, what has to hold of a type, and a method for each kind |
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

#![deny(missing_docs)]

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
mod fault;
mod frozen;
mod graph;
mod hash;
mod hashing;
mod import;
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
mod wire;

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
pub use shared::SharedPool;
pub use tag::{Class, Sort, Tag};
pub use term::ConvertError;
