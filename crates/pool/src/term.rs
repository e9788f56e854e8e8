//! Terms into pool types, and back.
//!
//! A term says how types relate; a pool type travels. [`Pool::intern_term`] and [`Pool::term`] turn the one into the
//! other. Where a pool has a kind of type for something (primitives, tuples, references, functions, tensors, lifetimes), it
//! is used; everything else is an application of a name in braces that says which kind of term it is.
//!
//! [`Pool::intern_term`] has the table.
//!
//! **Invariant:** for every portable term `t`, `term(intern_term(t))` is the normal form of `t`; the dims of tensors are
//! equal as polynomials. Terms that are equal have one id, and so one digest.
//!
//! Not portable, and a typed error: inference variables, placeholders of inner universes, terms in error. Without a term,
//! and an error in the other direction: types that carry a definition (structs, enums, declarations and what is recursive):
//! a term names its definitions, it does not contain them. It could name them by digest, with the definitions as knowledge
//! of the [`Program`](typeloom_term::program::Program); but a program says how names vary and what aliases are, and nothing
//! that relates terms asks what is inside a definition, so such a term would be an opaque name: the id of the pool is one.

mod decode;
mod encode;
mod names;

use typeloom_term::{Name, Symbols, TermError, Ty, TypeFamily};

use crate::error::TypeError;
use crate::pool::{Idx, Pool};
use crate::tag::Tag;

/// Why a term is not a pool type, or the other way round.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// A variable of an inference, or a stand-in that one made. Resolve the term first.
    #[error("a type under inference cannot leave it: it contains a variable")]
    Inference,
    /// A term in error.
    #[error("a type in error cannot be carried elsewhere")]
    Error,
    /// A parameter whose name is not that of a parameter.
    #[error("a parameter has the name of something that is no parameter")]
    Parameter,
    /// The pool does not take a part of the type.
    #[error(transparent)]
    Pool(#[from] TypeError),
    /// The term cannot be built.
    #[error(transparent)]
    Term(#[from] TermError),
    /// Types of this kind have no term.
    #[error("a `{}` has no term: terms name definitions and do not contain them", .0.name())]
    NoTerm(Tag),
    /// A name in braces that no term has.
    #[error("`{0}` is not how a term is written in a pool")]
    UnknownName(String),
}

impl Pool {
    /// Interns a term. Its names are found in `symbols`.
    ///
    /// What a pool has no kind of type for becomes an application of a name in braces:
    ///
    /// | term | pool type |
    /// |---|---|
    /// | `u8`, `(A, B)`, `&'a A`, `fn(A) -> B` | primitive, tuple, borrowed, function |
    /// | `path::Name<A>` | applied `path::Name` |
    /// | any other name applied | applied `{kind path}` |
    /// | a binder with variables | a scheme, around whatever binds |
    /// | a parameter; a lifetime; a constant | named; lifetime; constant |
    /// | `Tensor<f32, [N + 1]>` | tensor; its dims are polynomials there |
    /// | `<T as Trait>::Item`, other aliases | applied `{=kind path}` |
    /// | `dyn ..` | applied `{dyn}` of the lifetime and the bounds `{+kind path}` |
    /// | constants that are no integers or symbols | applied `{#..}` |
    ///
    /// ```
    /// use typeloom_pool::Pool;
    /// use typeloom_term::parse::{Scope, parse_ty};
    /// use typeloom_term::{Boxed, Symbols};
    /// let (cx, mut symbols, mut pool) = (Boxed::new(), Symbols::new(), Pool::new());
    /// let term = parse_ty(&cx, &mut symbols, &Scope::new(), "for<'a> fn(&'a str, Vec<*const u8>) -> &'a str")?;
    /// let id = pool.intern_term(&cx, &symbols, &term)?;
    /// assert_eq!(pool.signature(id), "forall 'a. (&'a str, Vec<{ptr}<u8>>) -> &'a str");
    /// assert_eq!(pool.term(&cx, &mut symbols, id)?, term);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the term is not portable, or a name in it is not one for a pool.
    pub fn intern_term<F: TypeFamily<Name = Name>>(
        &mut self,
        cx: &F,
        symbols: &Symbols,
        ty: &Ty<F>,
    ) -> Result<Idx, ConvertError> {
        let normal = typeloom_term::normal::normal_form(cx, ty)?;
        let checkpoint = self.checkpoint();
        let encoded = encode::Encoder::new(self, symbols).ty(&normal);
        if encoded.is_err() {
            self.rollback(checkpoint);
        }
        encoded
    }

    /// The term of a type. Names are interned into `symbols`.
    ///
    /// # Errors
    /// If the type carries a definition, is too deep for a term, or uses a name in braces that no term has.
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
