//! Conversion between terms and pool types.
//!
//! Terms define how types relate; pool types are portable. [`Pool::intern_term`] and [`Pool::term`] convert
//! between them. Primitives, tuples, references, functions, tensors and lifetimes have equivalents in the
//! pool; every other term becomes an application of a name in braces that encodes the kind of term, so that
//! the format needs no further tags. [`Pool::intern_term`] lists the encodings, `names` defines them.
//!
//! The pool depends on terms and not the other way round: relations between terms need no digests.
//!
//! **Invariant:** for every portable term `t`, `term(intern_term(t))` is the normal form of `t`; dims of
//! tensors are equal as polynomials. Equal terms have one id and therefore one digest.
//!
//! Not portable: inference variables, placeholders of inner universes, and error terms. Types with a
//! definition (structs, enums, declarations and recursive types) have no term, because a term names its
//! definitions and does not contain them.
//!
//! Example of [`Pool::intern_term`]:
//!
//! ```
//! use typeloom_pool::Pool;
//! use typeloom_term::parse::{Scope, parse_ty};
//! use typeloom_term::{Boxed, Symbols};
//! let (cx, mut symbols, mut pool) = (Boxed::new(), Symbols::new(), Pool::new());
//! let term = parse_ty(&cx, &mut symbols, &Scope::new(), "for<'a> fn(&'a str, Vec<*const u8>) -> &'a str")?;
//! let id = pool.intern_term(&cx, &symbols, &term)?;
//! assert_eq!(pool.signature(id), "forall 'x. (&'x str, Vec<{ptr}<u8>>) -> &'x str");
//! assert_eq!(pool.term(&cx, &mut symbols, id)?, term);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod decode;
mod encode;
mod names;

use typeloom_term::{Name, Symbols, TermError, Ty, TypeFamily};

use crate::error::PoolError;
use crate::pool::{Idx, Pool};
use crate::tag::Tag;

/// Error of converting between terms and pool types.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// An inference variable, or a placeholder created by inference. Resolve the term first.
    #[error("a term with inference variables has no portable form")]
    Inference,
    /// An error term.
    #[error("an error term has no portable form")]
    Error,
    /// A placeholder whose name is not that of a parameter.
    #[error("a placeholder does not have the name of a parameter")]
    Parameter,
    /// The pool rejects a part of the type.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The term cannot be built.
    #[error(transparent)]
    Term(#[from] TermError),
    /// A kind of type without a term.
    #[error("a `{}` has no term: terms name definitions and do not contain them", .0.name())]
    NoTerm(Tag),
    /// A name in braces that encodes no term.
    #[error("`{0}` does not encode a term")]
    UnknownName(String),
}

impl Pool {
    /// Interns a term. `symbols` resolves its names.
    ///
    /// Terms without an equivalent in the pool become applications of a name in braces:
    ///
    /// | term | pool type |
    /// |---|---|
    /// | `u8`, `(A, B)`, `&'a A`, `fn(A) -> B` | primitive, tuple, borrowed, function |
    /// | `path::Name<A>` | applied `path::Name` |
    /// | any other name applied | applied `{kind path}` |
    /// | a binder with variables | a scheme around the binding type |
    /// | a parameter; a lifetime; a constant | rigid; lifetime; constant |
    /// | `{named} Name`, a name that is not resolved | named |
    /// | `Tensor<f32, [N + 1]>` | tensor; its dims are polynomials there |
    /// | `<T as Trait>::Item`, other aliases | applied `{=kind path}` |
    /// | `dyn ..` | applied `{dyn}` of the lifetime and the bounds `{+kind path}` |
    /// | constants other than integers and symbols | applied `{#..}` |
    ///
    /// # Errors
    /// If the term is not portable, or contains a name that is not a valid pool name.
    pub fn intern_term<F: TypeFamily<Name = Name>>(
        &mut self,
        cx: &F,
        symbols: &Symbols,
        ty: &Ty<F>,
    ) -> Result<Idx, ConvertError> {
        let normal = typeloom_term::normal::normal_form(cx, ty)?;
        self.transaction(|pool| encode::Encoder::new(pool, symbols).ty(&normal))
    }

    /// Returns the term of a type. Its names are interned into `symbols`.
    ///
    /// # Errors
    /// If the type has a definition, is too deep for a term, or contains a name in braces that encodes no
    /// term.
    pub fn term<F: TypeFamily<Name = Name>>(
        &self,
        cx: &F,
        symbols: &mut Symbols,
        ty: Idx,
    ) -> Result<Ty<F>, ConvertError> {
        let decoded = decode::Decoder::new(self, cx, symbols).ty(ty)?;
        Ok(typeloom_term::normal::normal_form(cx, &decoded)?)
    }
}
