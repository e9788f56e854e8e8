//! Families of a compiler: storage of its own types, constants and goals.
//!
//! A [`TypeFamily`](super::TypeFamily) stores [`TyData`](super::TyData) and
//! [`ConstData`](super::build::ConstData), and computes the [`Meta`] of each node when it is built. It can also
//! be a view of types that a compiler has. The example also stores goals and supplies impls ([`super::goals`]).
//!
//! ```
#![doc = include_str!("../../examples/own_family.rs")]
//! ```

/// Handles of stored terms, and the metadata of a node. The example of the module implements them.
#[doc(inline)]
pub use typeloom_term::family::Node;
/// Families of this crate: handles of boxed and of interned terms.
///
/// ```
/// use typeloom::term::family::BoxedTy;
/// use typeloom::term::{Boxed, Name, Ty};
///
/// let ty: Ty = Ty::apply(&Boxed::new(), Name::Bool, &[])?;
/// let handle: &BoxedTy<Name> = ty.interned();
/// assert_eq!(Ty::from_interned(handle.clone()), ty);
/// # Ok::<(), typeloom::term::build::TermError>(())
/// ```
#[doc(inline)]
pub use typeloom_term::family::boxed::{BoxedConst, BoxedTy};
/// [`Node`] has an example.
#[doc(inline)]
pub use typeloom_term::{Flags, Meta};
