//! Types: [`Ty`], what it looks like inside ([`TyData`]), and its parts.
//!
//! `TyData` is a *view*: it borrows lists from the node, or, when a term is built, from wherever the builder has
//! them. The family decides how to keep them. Building and looking have one shape, looking needs no context.
//!
//! | variant | equal to another one when |
//! |---|---|
//! | `Apply` | names and arguments are equal |
//! | `Placeholder` | it is the same placeholder |
//! | `InferenceVar` | it is bound, outside the type, to an equal type |
//! | `Dyn` | the sets of bounds are equal, each under its own binder |
//! | `Fn` | the signatures are equal under their binders; the only variant with a contravariant part |
//! | `GeneratorWitness` | the types are equal under the witness's own binder |
//! | `Alias` | it evaluates to an equal type, or is rigid and so is the other one, with equal arguments |
//! | `BoundVariable` | never asked: relations instantiate binders first |
//! | `Error` | always |

use crate::arg::GenericArg;
use crate::binder::{Arity, BoundVar, Universe};
use crate::family::{Node, TypeFamily};
use crate::meta::{Flags, Meta, MetaBuilder, TermError};
use crate::region::Region;

/// A type.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Ty<F: TypeFamily>(F::InternedTy);

impl<F: TypeFamily> Copy for Ty<F> where F::InternedTy: Copy {}

impl<F: TypeFamily> Ty<F> {
    /// The type that looks like `data`.
    #[inline]
    pub fn new(cx: &F, data: TyData<'_, F>) -> Result<Self, TermError> {
        cx.intern_ty(data).map(Self)
    }

    /// The type behind a handle of the family.
    #[inline]
    #[must_use]
    pub fn from_interned(interned: F::InternedTy) -> Self {
        Self(interned)
    }

    /// The handle of the family.
    #[inline]
    #[must_use]
    pub fn interned(&self) -> &F::InternedTy {
        &self.0
    }

    /// What the type looks like.
    #[inline]
    #[must_use]
    pub fn data(&self) -> TyData<'_, F> {
        F::ty_data(&self.0)
    }

    /// The cached metadata.
    #[inline]
    #[must_use]
    pub fn meta(&self) -> Meta {
        self.0.meta()
    }

    /// Whether both handles are the same node. Equal types of the interned family always are.
    #[inline]
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        self.address() == other.address()
    }

    /// Where the node lives: an identity for as long as a handle exists.
    #[inline]
    #[must_use]
    pub fn address(&self) -> usize {
        self.0.address()
    }

    /// Whether there may be another handle of the node.
    #[inline]
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.0.is_shared()
    }

    /// `name<args>`
    pub fn apply(cx: &F, name: F::Name, args: &[GenericArg<F>]) -> Result<Self, TermError> {
        Self::new(cx, TyData::Apply(ApplicationTy { name, args }))
    }

    /// `name<a, b>`
    #[inline]
    pub fn pair(cx: &F, name: F::Name, a: Self, b: Self) -> Result<Self, TermError> {
        Self::apply(cx, name, &[a.into(), b.into()])
    }

    /// The placeholder `name` of the root universe: a generic parameter.
    pub fn param(cx: &F, name: F::Name) -> Result<Self, TermError> {
        Self::new(cx, TyData::Placeholder(Placeholder::named(name)))
    }

    /// The function `for<arity> name(inputs) -> output`, given inputs and then the output.
    pub fn function(
        cx: &F,
        name: F::Name,
        arity: Arity,
        signature: &[GenericArg<F>],
    ) -> Result<Self, TermError> {
        Self::new(cx, TyData::Fn(FnTy { name, arity, signature }))
    }

    /// `<args[0] as name><args[1..]>`
    pub fn alias(cx: &F, name: F::Name, args: &[GenericArg<F>]) -> Result<Self, TermError> {
        Self::new(cx, TyData::Alias(AliasTy { name, args }))
    }

    /// A type in error.
    pub fn error(cx: &F, proof: ErrorProof) -> Self {
        Self(cx.intern_ty(TyData::Error(proof)).expect("an error is a term of depth one"))
    }
}

impl<F: TypeFamily> std::fmt::Debug for Ty<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.meta().weight > 1000 {
            return f.debug_struct("Ty").field("meta", &self.meta()).finish_non_exhaustive();
        }
        self.data().fmt(f)
    }
}

/// What a type looks like.
#[derive(PartialEq, Eq, Hash, Debug)]
pub enum TyData<'a, F: TypeFamily> {
    /// A name applied to arguments.
    Apply(ApplicationTy<'a, F>),
    /// A type that is known only by name.
    Placeholder(Placeholder<F::Name>),
    /// A variable of an inference table, or of a canonical form.
    InferenceVar(InferVar),
    /// Some type that satisfies bounds.
    Dyn(DynTy<'a, F>),
    /// A function, maybe higher-ranked.
    Fn(FnTy<'a, F>),
    /// What a coroutine holds across suspension points, under lifetimes of its own.
    GeneratorWitness(WitnessTy<'a, F>),
    /// A type that stands for another one.
    Alias(AliasTy<'a, F>),
    /// A variable of an enclosing binder.
    BoundVariable(BoundVar),
    /// A type in error.
    Error(ErrorProof),
}

impl<F: TypeFamily> Clone for TyData<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<F: TypeFamily> Copy for TyData<'_, F> {}

impl<F: TypeFamily> TyData<'_, F> {
    /// The type that looks like this; [`Ty::data`] is the way back.
    ///
    /// ```
    /// use typeloom_term::{Boxed, Name, Ty, TyData, ty::ApplicationTy};
    /// let cx = Boxed::new();
    /// let unit = TyData::Apply(ApplicationTy { name: Name::Tuple, args: &[] }).intern(&cx)?;
    /// assert_eq!(unit.data().intern(&cx)?, unit);
    /// # Ok::<(), typeloom_term::TermError>(())
    /// ```
    pub fn intern(self, cx: &F) -> Result<Ty<F>, TermError> {
        Ty::new(cx, self)
    }

    /// Computes the metadata, or says why no such node may exist.
    #[inline]
    pub fn meta(&self) -> Result<Meta, TermError> {
        match self {
            Self::Apply(ApplicationTy { name: _, args }) => args_meta(args, 0, Flags::NONE),
            Self::Placeholder(placeholder) => {
                Ok(Meta::leaf(Flags::TY_PLACEHOLDER.union(placeholder.universe_flags())))
            }
            Self::InferenceVar(var) => Ok(Meta::leaf(var.flags(Flags::TY_INFER))),
            Self::Dyn(DynTy { bounds, region }) => {
                let mut meta = MetaBuilder::new(Flags::BINDER);
                meta.child(region.meta()?, 0);
                for DynBound { arity: _, kind: _, name: _, args } in *bounds {
                    for arg in args.iter() {
                        meta.child(arg.meta()?, 1);
                    }
                }
                meta.finish()
            }
            Self::Fn(FnTy { name: _, arity: _, signature }) => {
                if signature.is_empty() || signature.iter().any(|arg| arg.as_ty().is_none()) {
                    return Err(TermError::NotASignature);
                }
                args_meta(signature, 1, Flags::BINDER)
            }
            Self::GeneratorWitness(WitnessTy { name: _, arity: _, types }) => {
                args_meta(types, 1, Flags::BINDER)
            }
            Self::Alias(AliasTy { name: _, args }) => args_meta(args, 0, Flags::ALIAS),
            Self::BoundVariable(var) => {
                let mut meta = MetaBuilder::new(Flags::NONE);
                meta.bound(*var);
                meta.finish()
            }
            Self::Error(_) => Ok(Meta::leaf(Flags::ERROR)),
        }
    }
}

/// The metadata of a node over `args`, which lie under `binders` binders of the node.
#[inline]
pub(crate) fn args_meta<F: TypeFamily>(
    args: &[GenericArg<F>],
    binders: u32,
    own: Flags,
) -> Result<Meta, TermError> {
    let mut meta = MetaBuilder::new(own);
    for arg in args {
        match arg {
            GenericArg::Ty(ty) => meta.child(ty.meta(), binders),
            GenericArg::Const(constant) => meta.child(constant.meta(), binders),
            GenericArg::Region(region) => meta.child(region.meta()?, binders),
        }
    }
    meta.finish()
}

macro_rules! borrowed_view {
    ($($name:ident),*) => {$(
        impl<F: TypeFamily> Clone for $name<'_, F> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<F: TypeFamily> Copy for $name<'_, F> {}
    )*};
}
borrowed_view!(ApplicationTy, DynTy, FnTy, WitnessTy, AliasTy);

/// What is applied: a name that means nothing to this crate.
pub type TypeName<F> = <F as TypeFamily>::Name;

/// To what it is applied: types, regions and constants.
pub type GenericArguments<'a, F> = &'a [GenericArg<F>];

/// A name applied to arguments: `Vec<T>`, `&'a T`, `[T; N]`, `(A, B)`, a tensor.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct ApplicationTy<'a, F: TypeFamily> {
    /// What is applied.
    pub name: TypeName<F>,
    /// To what.
    pub args: GenericArguments<'a, F>,
}

/// An existential type: some type that satisfies all bounds and outlives the region.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct DynTy<'a, F: TypeFamily> {
    /// The bounds, each under a binder of its own.
    pub bounds: &'a [DynBound<F>],
    /// What the hidden type outlives.
    pub region: Region<F>,
}

/// One bound of an existential type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DynBound<F: TypeFamily> {
    /// The bound's own binder: `for<'x> Trait<'x>`.
    pub arity: Arity,
    /// What kind of bound it is.
    pub kind: DynBoundKind,
    /// The trait, or the associated item.
    pub name: F::Name,
    /// The arguments without the self type; for a projection, the value comes last.
    pub args: F::InternedArgs,
}

/// The kinds of bounds of an existential type, in the order in which a normal form lists them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DynBoundKind {
    /// The hidden type implements a trait.
    Trait,
    /// An associated type or constant of the hidden type has a value.
    Projection,
    /// The hidden type implements an auto trait; these form a set.
    AutoTrait,
}

/// A function type. `signature` lists the parameters and then the result, under the binder.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct FnTy<'a, F: TypeFamily> {
    /// Calling convention and the like, as one name: functions of different names never relate.
    pub name: F::Name,
    /// What the function is generic over at each call.
    pub arity: Arity,
    /// Parameters, then the result.
    pub signature: &'a [GenericArg<F>],
}

impl<'a, F: TypeFamily> FnTy<'a, F> {
    /// The parameters.
    #[must_use]
    pub fn inputs(&self) -> &'a [GenericArg<F>] {
        self.signature.split_last().map_or(&[], |(_, inputs)| inputs)
    }

    /// The result.
    #[must_use]
    pub fn output(&self) -> Option<&'a Ty<F>> {
        self.signature.last().and_then(GenericArg::as_ty)
    }
}

/// The types that a coroutine keeps while suspended.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct WitnessTy<'a, F: TypeFamily> {
    /// Which coroutine.
    pub name: F::Name,
    /// The lifetimes that exist only inside the coroutine.
    pub arity: Arity,
    /// The types, under the binder.
    pub types: &'a [GenericArg<F>],
}

/// A type that stands for another: a projection, an opaque type, a type alias.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct AliasTy<'a, F: TypeFamily> {
    /// Which alias.
    pub name: F::Name,
    /// Its arguments; the self type of a projection comes first.
    pub args: &'a [GenericArg<F>],
}

/// Something known only by its identity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Placeholder<N> {
    /// Who may name it.
    pub universe: Universe,
    /// Which one.
    pub id: PlaceholderId<N>,
}

/// The identity of a placeholder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PlaceholderId<N> {
    /// One that the program names: a generic parameter.
    Named(N),
    /// One that stands for a bound variable while a relation looks under a binder.
    Fresh(u32),
}

impl<N> Placeholder<N> {
    /// A parameter that the program names.
    #[must_use]
    pub fn named(name: N) -> Self {
        Self { universe: Universe::ROOT, id: PlaceholderId::Named(name) }
    }

    pub(crate) fn universe_flags(&self) -> Flags {
        if self.universe == Universe::ROOT { Flags::NONE } else { Flags::INNER_UNIVERSE }
    }
}

/// A variable that stands for something not yet known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum InferVar {
    /// A variable of an inference table.
    Var(u32),
    /// A variable of a canonical form. It is not a de Bruijn index: it does not move when binders are crossed.
    Canonical(u32),
}

impl InferVar {
    pub(crate) fn flags(self, table: Flags) -> Flags {
        match self {
            Self::Var(_) => table,
            Self::Canonical(_) => Flags::CANONICAL,
        }
    }
}

/// Proof that an error was reported to somebody.
///
/// There is one way to get one: report the error. Whoever meets a term in error can therefore stay silent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ErrorProof(());

/// Somebody to whom errors are reported.
pub trait Reporter<E> {
    /// Takes note of the error.
    fn note(&mut self, error: E);

    /// Takes note of the error and gives the proof.
    fn report(&mut self, error: E) -> ErrorProof {
        self.note(error);
        ErrorProof(())
    }
}

impl<E> Reporter<E> for Vec<E> {
    fn note(&mut self, error: E) {
        self.push(error);
    }
}

/// The proof that a term in error carries.
pub(crate) fn find_error<F: TypeFamily>(ty: &Ty<F>) -> Option<ErrorProof> {
    // The flag is set by error terms alone, and those exist only where an error was reported.
    ty.meta().flags.intersects(Flags::ERROR).then_some(ErrorProof(()))
}
