//! What the program around the types knows.

use crate::constant::Const;
use crate::family::TypeFamily;
use crate::name::Name;
use crate::ty::{AliasTy, Ty};
use crate::variance::Variance;

/// How an alias evaluates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Normalized<T> {
    /// To this.
    To(T),
    /// It does not, and never will: it equals only itself.
    Rigid,
    /// Its arguments are not known well enough; ask again when they are.
    Ambiguous,
}

/// Whether two constants that are not the same term are equal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConstEquation {
    /// Always.
    Equal,
    /// Not always.
    Distinct,
    /// Nobody can tell yet: the equation is handed back.
    Unknown,
}

/// Knowledge about names. It is asked, never told; answers must not change while a table is in use.
///
/// # Laws
///
/// - `variance` is sound: it says `Covariant` only where covariance holds, and so on.
/// - `normalize` is a function of its argument, and repeating it comes to an end (the table stops after
///   [`crate::infer::MAX_NORMALIZATIONS`] steps and hands the question back).
/// - `equate` is symmetric and transitive where it says `Equal`.
pub trait Program<F: TypeFamily> {
    /// The variance of argument `index` of `name`. Asked for applications and for rigid aliases.
    fn variance(&self, cx: &F, name: F::Name, index: usize) -> Variance;

    /// What an alias evaluates to. Its arguments are resolved as far as the table knows them.
    fn normalize(&self, cx: &F, alias: AliasTy<'_, F>) -> Normalized<Ty<F>>;

    /// Whether two constants are equal that are closed, folded, of different form, and not both values.
    fn equate(&self, cx: &F, a: &Const<F>, b: &Const<F>) -> ConstEquation;
}

/// A program that declares nothing: Rust's own constructors, no aliases, no equations between symbols.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NoProgram;

impl<F: TypeFamily<Name = Name>> Program<F> for NoProgram {
    fn variance(&self, _cx: &F, name: Name, index: usize) -> Variance {
        name.builtin_variance(index).unwrap_or(Variance::Invariant)
    }

    fn normalize(&self, _cx: &F, _alias: AliasTy<'_, F>) -> Normalized<Ty<F>> {
        Normalized::Rigid
    }

    fn equate(&self, _cx: &F, _a: &Const<F>, _b: &Const<F>) -> ConstEquation {
        ConstEquation::Distinct
    }
}
