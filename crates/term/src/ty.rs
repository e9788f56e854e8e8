//! Types: [`Ty`], its content ([`TyData`]), and the parts of the content.
//!
//! `TyData` is a *view*: it borrows argument lists from a node or, when a term is built, from the caller. The
//! family decides how to store them. Construction and inspection use the same type, and inspection needs no
//! context.
//!
//! | variant | equal to another type if |
//! |---|---|
//! | `Apply` | names and arguments are equal |
//! | `Placeholder` | it is the same placeholder; in a negative goal, for some value of it ([`crate::infer::Negation`]) |
//! | `InferenceVar` | the inference table binds it to an equal type |
//! | `Dyn` | the sets of bounds are equal, each under its own binder; a frontend adds what a supertrait determines |
//! | `Fn` | the signatures are equal under their binders; the only variant with contravariant parts |
//! | `GeneratorWitness` | the types are equal under the witness's own binder, which is existential |
//! | `Alias` | it evaluates to an equal type, or both are rigid with equal arguments |
//! | `BoundVariable` | never compared: relations instantiate binders first |
//! | `Error` | always |

use crate::arg::GenericArg;
use crate::binder::{Arity, BoundVar, Universe, VarKind};
use crate::constant::ConstData;
use crate::family::boxed::Boxed;
use crate::family::{Node, TypeFamily};
use crate::leaf::Leaf;
use crate::meta::{Flags, Meta, MetaBuilder, TermError};
use crate::region::Region;

/// Defines the handle of a stored term.
macro_rules! term_handle {
    ($(#[$doc:meta])* $name:ident, $data:ident: $interned:ident, $intern:ident, $content:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash)]
        pub struct $name<F: TypeFamily = Boxed>(F::$interned);

        impl<F: TypeFamily> Copy for $name<F> where F::$interned: Copy {}

        /// Requires an order of the handles of the family. Those of the families of this crate have none: the
        /// order of addresses differs from run to run, and [`normal`](crate::normal) orders by names.
        impl<F: TypeFamily> PartialOrd for $name<F>
        where
            F::$interned: Ord,
        {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl<F: TypeFamily> Ord for $name<F>
        where
            F::$interned: Ord,
        {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                self.0.cmp(&other.0)
            }
        }

        impl<F: TypeFamily> $name<F> {
            /// Stores a term with this content.
            #[inline]
            pub fn new(cx: &F, data: $data<'_, F>) -> Result<Self, TermError> {
                cx.$intern(data).map(Self)
            }

            /// Wraps a handle of the family.
            #[inline]
            #[must_use]
            pub fn from_interned(interned: F::$interned) -> Self {
                Self(interned)
            }

            /// Returns the handle of the family.
            #[inline]
            #[must_use]
            pub fn interned(&self) -> &F::$interned {
                &self.0
            }

            /// Returns the content.
            #[inline]
            #[must_use]
            pub fn data(&self) -> $data<'_, F> {
                F::$content(&self.0)
            }

            /// Returns the cached metadata.
            #[inline]
            #[must_use]
            pub fn meta(&self) -> Meta {
                self.0.meta()
            }

            /// Whether both handles refer to the same node. Equal terms of the interned family always do.
            #[inline]
            #[must_use]
            pub fn same(&self, other: &Self) -> bool {
                self.address() == other.address()
            }

            /// Address of the node: an identity as long as a handle exists.
            #[inline]
            #[must_use]
            pub fn address(&self) -> usize {
                self.0.address()
            }
        }

        impl<F: TypeFamily> std::fmt::Debug for $name<F> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                if self.meta().weight > 1000 {
                    return f.debug_struct(stringify!($name)).field("meta", &self.meta()).finish_non_exhaustive();
                }
                self.data().fmt(f)
            }
        }
    };
}

pub(crate) use term_handle;

term_handle! {
    /// A type.
    Ty, TyData: InternedTy, intern_ty, ty_data
}

impl<F: TypeFamily> Ty<F> {
    /// Whether other handles of the node may exist.
    #[inline]
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.0.is_shared()
    }

    /// Builds `name<args>`.
    pub fn apply(cx: &F, name: F::Name, args: &[GenericArg<F>]) -> Result<Self, TermError> {
        Self::new(cx, TyData::Apply(ApplicationTy { name, args }))
    }

    /// Builds `name<a, b>`.
    #[inline]
    pub fn pair(cx: &F, name: F::Name, a: Self, b: Self) -> Result<Self, TermError> {
        Self::apply(cx, name, &[a.into(), b.into()])
    }

    /// Builds the generic parameter `name`: a placeholder of the root universe.
    pub fn param(cx: &F, name: F::Name) -> Result<Self, TermError> {
        Self::new(cx, TyData::Placeholder(Placeholder::named(name)))
    }

    /// Builds the function `for<arity> name(inputs) -> output`. `signature` contains the inputs and then the
    /// output.
    pub fn function(
        cx: &F,
        name: F::Name,
        arity: Arity,
        signature: &[GenericArg<F>],
    ) -> Result<Self, TermError> {
        Self::new(cx, TyData::Fn(FnTy { name, arity, signature }))
    }

    /// Builds the witness of a coroutine: the types that it holds while it is suspended. The lifetimes
    /// `inside` exist only inside the coroutine; the witness binds them existentially.
    ///
    /// Laws: the names of `inside` and those that no type mentions do not matter; a witness with other
    /// lifetimes in their positions is a subtype, because it holds the types for some lifetimes.
    ///
    /// ```
    /// use typeloom_term::parse::{Scope, parse_ty};
    /// use typeloom_term::{Boxed, Name, Symbols, Ty, is_subtype};
    ///
    /// let cx = Boxed::new();
    /// let mut symbols = Symbols::new();
    /// let held = parse_ty(&cx, &mut symbols, &Scope::new(), "&'a str")?;
    /// let (future, a) = (Name::Adt(symbols.intern("work")), Name::Param(symbols.intern("'a")));
    /// let some_lifetime = Ty::witness(&cx, future, &[a], &[held.clone()])?;
    /// let one_lifetime = Ty::witness(&cx, future, &[], &[held])?;
    /// assert!(is_subtype(&one_lifetime, &some_lifetime).is_ok());
    /// assert!(is_subtype(&some_lifetime, &one_lifetime).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn witness(cx: &F, name: F::Name, inside: &[F::Name], types: &[Self]) -> Result<Self, TermError> {
        let regions = u16::try_from(inside.len()).map_err(|_| TermError::TooMany)?;
        let bound = |name| {
            let index = inside.iter().position(|own| *own == name)?;
            Some(Region::Bound(BoundVar::innermost(u32::try_from(index).ok()?)).into())
        };
        let types: Vec<GenericArg<F>> = types.iter().cloned().map(GenericArg::Ty).collect();
        let types = crate::subst::replace_params(cx, &types, bound)?;
        let witness =
            TyData::GeneratorWitness(WitnessTy { name, arity: Arity::regions(regions), types: &types });
        crate::normal::normal_form(cx, &Self::new(cx, witness)?)
    }

    /// Builds `<args[0] as name><args[1..]>`.
    pub fn alias(cx: &F, name: F::Name, args: &[GenericArg<F>]) -> Result<Self, TermError> {
        Self::new(cx, TyData::Alias(AliasTy { name, args }))
    }

    /// Builds the error type.
    pub fn error(cx: &F, proof: ErrorProof) -> Self {
        Self(cx.intern_ty(TyData::Error(proof)).expect("an error is a term of depth one"))
    }
}

/// Content of a type.
#[derive(PartialEq, Eq, Hash, Debug)]
pub enum TyData<'a, F: TypeFamily> {
    /// A name applied to arguments.
    Apply(ApplicationTy<'a, F>),
    /// A type known only by its identity, such as a generic parameter.
    Placeholder(Placeholder<F::Name>),
    /// A variable of an inference table, or of a canonical form.
    InferenceVar(InferVar),
    /// An existential type: some type that satisfies the bounds.
    Dyn(DynTy<'a, F>),
    /// A function type, possibly higher-ranked.
    Fn(FnTy<'a, F>),
    /// The types that a coroutine holds across suspension points.
    GeneratorWitness(WitnessTy<'a, F>),
    /// An alias of another type: a projection, an opaque type, a type alias.
    Alias(AliasTy<'a, F>),
    /// A variable of an enclosing binder.
    BoundVariable(BoundVar),
    /// The error type.
    Error(ErrorProof),
}

impl<F: TypeFamily> TyData<'_, F> {
    /// Stores the type with this content; inverse of [`Ty::data`].
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

    /// Computes the metadata of the node, or the error if the node must not exist.
    #[inline]
    pub fn meta(&self) -> Result<Meta, TermError> {
        match self {
            Self::Apply(ApplicationTy { name: _, args }) => args_meta(args, 0, Flags::NONE),
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
            Self::Placeholder(placeholder) => Leaf::Placeholder(*placeholder).meta(VarKind::Ty),
            Self::InferenceVar(var) => Leaf::<F::Name>::Infer(*var).meta(VarKind::Ty),
            Self::BoundVariable(var) => Leaf::<F::Name>::Bound(*var).meta(VarKind::Ty),
            Self::Error(proof) => Leaf::<F::Name>::Error(*proof).meta(VarKind::Ty),
        }
    }
}

/// Computes the metadata of a node over `args`, which are under `binders` binders of the node.
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
borrowed_view!(TyData, ConstData, ApplicationTy, DynTy, FnTy, WitnessTy, AliasTy);

/// Name of a type constructor, opaque to this crate.
pub type TypeName<F> = <F as TypeFamily>::Name;

/// Arguments of a type constructor: types, regions and constants.
pub type GenericArguments<'a, F> = &'a [GenericArg<F>];

/// A name applied to arguments: `Vec<T>`, `&'a T`, `[T; N]`, `(A, B)`, a tensor.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct ApplicationTy<'a, F: TypeFamily> {
    /// The type constructor.
    pub name: TypeName<F>,
    /// Arguments of the type constructor.
    pub args: GenericArguments<'a, F>,
}

/// An existential type: some type that satisfies all bounds and outlives the region.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct DynTy<'a, F: TypeFamily> {
    /// The bounds, each under its own binder.
    pub bounds: &'a [DynBound<F>],
    /// The region that the hidden type outlives.
    pub region: Region<F>,
}

/// One bound of an existential type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DynBound<F: TypeFamily> {
    /// Binder of the bound: `for<'x> Trait<'x>`.
    pub arity: Arity,
    /// Kind of the bound.
    pub kind: DynBoundKind,
    /// The trait, or the associated item.
    pub name: F::Name,
    /// The arguments without the self type; for a projection, the value comes last.
    pub args: F::InternedArgs,
}

/// Kinds of bounds of an existential type, in the order of the normal form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DynBoundKind {
    /// The hidden type implements a trait.
    Trait,
    /// An associated type or constant of the hidden type has a value.
    Projection,
    /// The hidden type implements an auto trait. Auto traits form a set.
    AutoTrait,
}

/// A function type.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct FnTy<'a, F: TypeFamily> {
    /// Calling convention and modifiers as one name. Functions of different names never relate.
    pub name: F::Name,
    /// Variables that each call instantiates.
    pub arity: Arity,
    /// Parameters and then the result, under the binder.
    pub signature: &'a [GenericArg<F>],
}

impl<'a, F: TypeFamily> FnTy<'a, F> {
    /// Returns the parameters.
    #[must_use]
    pub fn inputs(&self) -> &'a [GenericArg<F>] {
        self.signature.split_last().map_or(&[], |(_, inputs)| inputs)
    }

    /// Returns the result.
    #[must_use]
    pub fn output(&self) -> Option<&'a Ty<F>> {
        self.signature.last().and_then(GenericArg::as_ty)
    }
}

/// The types that a coroutine holds while it is suspended.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct WitnessTy<'a, F: TypeFamily> {
    /// Name of the coroutine.
    pub name: F::Name,
    /// Lifetimes that exist only inside the coroutine.
    pub arity: Arity,
    /// The types, under the binder.
    pub types: &'a [GenericArg<F>],
}

/// An alias of another type: a projection, an opaque type, a type alias.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct AliasTy<'a, F: TypeFamily> {
    /// Name of the alias.
    pub name: F::Name,
    /// Arguments; the self type of a projection comes first.
    pub args: &'a [GenericArg<F>],
}

/// A type, region or constant known only by its identity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Placeholder<N> {
    /// The universe that contains the placeholder.
    pub universe: Universe,
    /// Identity inside the universe.
    pub id: PlaceholderId<N>,
}

/// Identity of a placeholder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PlaceholderId<N> {
    /// A generic parameter of the program.
    Named(N),
    /// The replacement of a bound variable while a relation compares the bodies of binders.
    Fresh(u32),
}

impl<N> Placeholder<N> {
    /// Creates the placeholder of a generic parameter.
    #[must_use]
    pub fn named(name: N) -> Self {
        Self { universe: Universe::ROOT, id: PlaceholderId::Named(name) }
    }

    pub(crate) fn universe_flags(&self) -> Flags {
        if self.universe == Universe::ROOT { Flags::NONE } else { Flags::INNER_UNIVERSE }
    }
}

/// A variable for an unknown type, region or constant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum InferVar {
    /// A variable of an inference table.
    Var(u32),
    /// A variable of a canonical form. Not a de Bruijn index: crossing a binder does not change it.
    Canonical(u32),
}

/// Proof that an error was reported.
///
/// Only [`Reporter::report`] creates one, so code that finds an error term does not report it again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ErrorProof(());

/// Receiver of errors.
pub trait Reporter<E> {
    /// Records the error.
    fn note(&mut self, error: E);

    /// Records the error and returns the proof.
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

/// Returns the proof of an error inside the type, if it contains one.
pub(crate) fn find_error<F: TypeFamily>(ty: &Ty<F>) -> Option<ErrorProof> {
    // Only error terms set the flag, and each of them was built from a proof.
    ty.meta().flags.intersects(Flags::ERROR).then_some(ErrorProof(()))
}
