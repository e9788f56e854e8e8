//! Construction of terms beyond applications: binders, and terms in an arena.
//!
//! A bound variable is numbered from the innermost binder. Terms in an arena are `Copy`, and equal terms are
//! the same handle.
//!
//! ```
//! use typeloom::term::build::{Arena, Arity, Binder, BoundVar, Interned};
//! use typeloom::term::{Boxed, Name, Region, Ty};
//!
//! let _: Binder<Region<Boxed>> = Binder::new(Arity::regions(1), Region::Bound(BoundVar::innermost(0)));
//!
//! let arena = Arena::new();
//! let cx = Interned::new(&arena);
//! let (a, b) = (Ty::apply(&cx, Name::Bool, &[])?, Ty::apply(&cx, Name::Bool, &[])?);
//! assert!(a.same(&b));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(inline)]
pub use typeloom_term::{Arena, Arity, Binder, BoundVar, Interned};
