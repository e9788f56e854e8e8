//! Predicates as terms.
//!
//! | predicate | term |
//! |---|---|
//! | `for<'x> T: Trait<A>` | `{forall for<'x> fn() -> {trait Trait<T, A>}}` |
//! | `for<'x> <T as Trait<A>>::Item == V` | `{forall for<'x> fn() -> {projection Trait::Item<T, A, V>}}` |
//! | `T: 'a`, `'b: 'a` | `{trait outlives<T, 'a>}`, `{trait outlives<'b, 'a>}` |
//!
//! Entailment between higher-ranked predicates is therefore subtyping of terms: arguments of traits are
//! invariant, and a binder can be instantiated.

use typeloom_term::{Arity, Boxed, FnTy, GenericArg, Name, Region, Symbol, Symbols, TermError, Ty, TyData};

use crate::item::{Arg, Type};

/// Path of the trait of types with a known size.
pub const SIZED: &str = "core::marker::Sized";

/// Path of the trait of types whose values can move after they are pinned.
pub(crate) const UNPIN: &str = "core::marker::Unpin";

/// Whether a predicate is `T: Sized`; printed signatures omit such predicates.
pub(crate) fn is_sized(predicate: &Type, symbols: &Symbols) -> bool {
    match view(symbols, predicate) {
        Some((_, Predicate::Trait(of, _))) => symbols.resolve(of) == SIZED,
        Some((_, Predicate::Projection(..) | Predicate::Outlives(..))) | None => false,
    }
}

/// Name of the list of parameters that precedes a type under a binder. No type has it, because it is not a
/// path.
pub(crate) const LIST: &str = "'list";

/// Prefix of the lifetime parameters for the captures of `impl Trait` in a result.
pub(crate) const CAPTURED: &str = "'_captured";

/// Whether a predicate states a capture of an `impl Trait` in a result.
pub(crate) fn is_capture(symbols: &Symbols, predicate: &Type) -> bool {
    let Some((_, Predicate::Outlives(_, shorter))) = view(symbols, predicate) else { return false };
    crate::terms::param(&shorter.into()).is_some_and(|symbol| is_capture_param(symbols, symbol))
}

/// Whether a lifetime parameter represents the captures of an `impl Trait` in a result.
pub(crate) fn is_capture_param(symbols: &Symbols, param: Symbol) -> bool {
    symbols.resolve(param).starts_with(CAPTURED)
}

/// Name of outlives predicates. No trait has it, because it is not a path.
pub(crate) const OUTLIVES: &str = "'outlives";

/// The components of a predicate.
#[derive(Clone, Debug)]
pub enum Predicate<'t> {
    /// A type implements a trait: the trait, and its arguments with the self type first.
    Trait(Symbol, &'t [Arg]),
    /// An associated type has a value: the item, its arguments, the value.
    Projection(Symbol, &'t [Arg], &'t Arg),
    /// A type or lifetime outlives a lifetime.
    Outlives(&'t Arg, Region<Boxed>),
}

/// Creates `args[0]: of<args[1..]>` under a binder.
pub fn implements(cx: &Boxed, arity: Arity, of: Symbol, args: &[Arg]) -> Result<Type, TermError> {
    let inner = Ty::apply(cx, Name::Trait(of), args)?;
    Ty::function(cx, Name::Forall, arity, &[inner.into()])
}

/// Creates `<args[0] as of<..>>::item == value` under a binder; the value is the last argument.
pub fn projects(cx: &Boxed, arity: Arity, item: Symbol, args: &[Arg]) -> Result<Type, TermError> {
    let inner = Ty::apply(cx, Name::Projection(item), args)?;
    Ty::function(cx, Name::Forall, arity, &[inner.into()])
}

/// Creates `longer: shorter`.
pub fn outlives(
    cx: &Boxed,
    symbols: &mut Symbols,
    longer: Arg,
    shorter: Region<Boxed>,
) -> Result<Type, TermError> {
    Ty::apply(cx, Name::Trait(symbols.intern(OUTLIVES)), &[longer, shorter.into()])
}

/// Creates `longer: shorter`, if some predicate of this kind exists: without one, none is a goal.
pub(crate) fn outlives_if_known(
    cx: &Boxed,
    symbols: &Symbols,
    longer: Arg,
    shorter: Region<Boxed>,
) -> Result<Option<Type>, TermError> {
    let Some(name) = symbols.get(OUTLIVES) else { return Ok(None) };
    Ty::apply(cx, Name::Trait(name), &[longer, shorter.into()]).map(Some)
}

/// Returns the components of a predicate, which are under its binder.
#[must_use]
pub fn view<'t>(symbols: &Symbols, predicate: &'t Type) -> Option<(Arity, Predicate<'t>)> {
    match predicate.data() {
        TyData::Fn(FnTy { name: Name::Forall, arity, signature: [GenericArg::Ty(inner)] }) => {
            let TyData::Apply(app) = inner.data() else { return None };
            match (app.name, app.args) {
                (Name::Trait(of), args) => Some((arity, Predicate::Trait(of, args))),
                (Name::Projection(item), [args @ .., value]) => {
                    Some((arity, Predicate::Projection(item, args, value)))
                }
                _ => None,
            }
        }
        TyData::Apply(app) => match (app.name, app.args) {
            (Name::Trait(of), [longer, GenericArg::Region(shorter)]) if symbols.resolve(of) == OUTLIVES => {
                Some((Arity::NONE, Predicate::Outlives(longer, *shorter)))
            }
            _ => None,
        },
        _ => None,
    }
}
