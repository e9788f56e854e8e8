//! Values of associated types that no list of impls contains: those of trait objects, functions, iterators
//! and numbers.

use typeloom_term::name::Mutability;
use typeloom_term::ty::DynBoundKind;
use typeloom_term::{AliasTy, ApplicationTy, FnTy, GenericArg, Name, Symbol, Ty, TyData};

use crate::item::{Arg, Type};
use crate::prove::world::Knowledge;
use crate::std_facts::{is_std, std_facts};
use crate::terms::with_self;

const ITERATOR: &str = "core::iter::traits::iterator::Iterator";
const ITEM: &str = "core::iter::traits::iterator::Iterator::Item";

impl Knowledge<'_> {
    /// The value of an associated type by a rule of the compiler or a blanket impl.
    pub(crate) fn by_rule(&self, item: Symbol, args: &[Arg]) -> Option<Type> {
        let this = args.first()?.as_ty()?;
        if let Some(value) = self.of_object(item, this, args) {
            return Some(value);
        }
        if let Some(value) = self.of_item(item, this) {
            return Some(value);
        }
        match self.symbols.resolve(item) {
            "core::iter::traits::collect::IntoIterator::IntoIter" if self.is_iterator(this) => {
                Some(this.clone())
            }
            "core::iter::traits::collect::IntoIterator::Item" if self.is_iterator(this) => {
                self.same_item(ITEM, this, &[])
            }
            "core::ops::function::FnOnce::Output" => self.of_function(this, args.get(1)),
            "alloc::borrow::ToOwned::Owned" => self.is_own_owner(this).then(|| this.clone()),
            "core::convert::TryFrom::Error" => self.conversion_error(this, args.get(1)?.as_ty()?),
            path => of_arithmetic(path, this, args.get(1)),
        }
    }

    /// The value of an associated type in the bounds of a trait object. A bound under a binder is a pattern.
    fn of_object(&self, item: Symbol, this: &Type, args: &[Arg]) -> Option<Type> {
        let TyData::Dyn(dynamic) = this.data() else { return None };
        let rest = args.get(1..).unwrap_or_default();
        dynamic.bounds.iter().find_map(|bound| {
            let (value, args) = bound.args.split_last()?;
            if bound.kind != DynBoundKind::Projection || bound.name != Name::Projection(item) {
                return None;
            }
            if bound.arity.is_empty() {
                return (args == rest).then(|| value.as_ty().cloned()).flatten();
            }
            self.world.matched_value(&self.world.pattern(bound.arity, &bound.args)?, rest)
        })
    }

    /// The result of a function pointer that is called with a tuple of arguments.
    fn of_function(&self, this: &Type, inputs: Option<&Arg>) -> Option<Type> {
        let TyData::Fn(FnTy { name: Name::FnPtr(..), arity, signature }) = this.data() else { return None };
        let result = signature.last()?.as_ty()?;
        if arity.is_empty() || result.meta().outer == 0 {
            return Some(result.clone());
        }
        let TyData::Apply(ApplicationTy { name: Name::Tuple, args }) = inputs?.as_ty()?.data() else {
            return None;
        };
        self.world.matched_value(&self.world.pattern(arity, signature)?, args)
    }

    /// The value that a trait of the standard library declares for its associated types: `X::IntoIter` yields
    /// `X::Item`.
    fn of_item(&self, item: Symbol, this: &Type) -> Option<Type> {
        let TyData::Alias(AliasTy { name: Name::Projection(outer), args }) = this.data() else { return None };
        let value = std_facts().equal_item(self.symbols.resolve(outer), self.symbols.resolve(item))?;
        Ty::alias(&self.world.cx, Name::Projection(self.symbols.get(&value)?), args).ok()
    }

    /// Whether a type implements `ToOwned` through its `Clone`, so that its owned type is itself. Unsized
    /// types and types of other crates may not.
    fn is_own_owner(&self, this: &Type) -> bool {
        match this.data() {
            TyData::Apply(app) => match app.name {
                Name::Str | Name::Slice => false,
                // A type of another crate can be unsized and have another impl.
                Name::Adt(symbol) => {
                    is_std(self.symbols.resolve(symbol)) || self.world.adts.contains_key(&symbol)
                }
                _ => true,
            },
            TyData::Fn(_) => true,
            _ => self.clones.contains(this),
        }
    }

    /// Whether a type is known to be an iterator, which is its own `IntoIter`.
    fn is_iterator(&self, this: &Type) -> bool {
        match this.data() {
            TyData::InferenceVar(_) => return false,
            TyData::Alias(AliasTy { name: Name::Projection(item), .. })
                if std_facts().is_bounded(self.symbols.resolve(item), ITERATOR) =>
            {
                return true;
            }
            _ => {}
        }
        self.iterators.contains(this)
            || self.symbols.get(ITERATOR).is_some_and(|of| {
                let args = [GenericArg::Ty(this.clone())];
                self.world.rules(of).iter().any(|rule| self.world.apply(rule, of, &args).is_some())
            })
    }

    fn same_item(&self, path: &str, this: &Type, rest: &[Arg]) -> Option<Type> {
        let item = self.symbols.get(path)?;
        Ty::alias(&self.world.cx, Name::Projection(item), &with_self(this, rest)).ok()
    }

    /// The error of a conversion between integers: `Infallible` for lossless conversions.
    fn conversion_error(&self, this: &Type, from: &Type) -> Option<Type> {
        let is_integer = |ty: &Type| matches!(ty.data(), TyData::Apply(app) if matches!(app.name, Name::Int(_) | Name::Uint(_)));
        if !is_integer(this) || !is_integer(from) {
            return None;
        }
        let of = self.symbols.get("core::convert::From")?;
        let args = [GenericArg::Ty(this.clone()), GenericArg::Ty(from.clone())];
        let lossless = self.world.rules(of).iter().any(|rule| self.world.apply(rule, of, &args).is_some());
        let error = if lossless { "core::convert::Infallible" } else { "core::num::error::TryFromIntError" };
        Ty::apply(&self.world.cx, Name::Adt(self.symbols.get(error)?), &[]).ok()
    }
}

/// The result of arithmetic: `u8 + u8` and `&u8 + &u8` are `u8`; a shift keeps the type of its left side.
fn of_arithmetic(path: &str, this: &Type, other: Option<&Arg>) -> Option<Type> {
    let arithmetic = path.starts_with("core::ops::arith::") || path.starts_with("core::ops::bit::");
    let number = |ty: &Type| {
        let mut ty = ty.clone();
        if let TyData::Apply(ApplicationTy { name: Name::Ref(Mutability::Shared), args: [_, inner] }) =
            ty.data()
        {
            ty = inner.as_ty()?.clone();
        }
        let TyData::Apply(app) = ty.data() else { return None };
        let is_number = matches!(app.name, Name::Int(_) | Name::Uint(_) | Name::Float(_) | Name::Bool);
        is_number.then_some(ty)
    };
    if !arithmetic || !path.ends_with("::Output") {
        return None;
    }
    let own = number(this)?;
    let fits = match other {
        None => true,
        Some(other) => {
            let other = number(other.as_ty()?)?;
            let shift = path.contains("::Shl::") || path.contains("::Shr::");
            other == own || shift
        }
    };
    fits.then_some(own)
}
