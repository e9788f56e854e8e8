//! Trees of terms.

use typeloom_term::{BoundVar, Name, Symbol, Ty, TyData, TypeFamily};

/// A type without children.
pub fn leaf<F: TypeFamily<Name = Name>>(cx: &F) -> Ty<F> {
    Ty::apply(cx, Name::Bool, &[]).expect("a leaf is not deep")
}

/// A type with two children.
pub fn pair<F: TypeFamily<Name = Name>>(cx: &F, name: Symbol, a: &Ty<F>, b: &Ty<F>) -> Ty<F> {
    Ty::pair(cx, Name::Adt(name), a.clone(), b.clone()).expect("the tree is not deep")
}

/// Builds a balanced tree over the given leaves.
pub fn tree<T: Clone>(mut level: Vec<T>, join: impl Fn(&T, &T) -> T) -> T {
    while level.len() > 1 {
        let joined = |pair: &[T]| match pair {
            [a, b] => join(a, b),
            odd => odd[0].clone(),
        };
        level = level.chunks(2).map(joined).collect();
    }
    level.swap_remove(0)
}

/// A variable of the innermost binder.
pub fn bound<F: TypeFamily<Name = Name>>(cx: &F, index: u32) -> Ty<F> {
    Ty::new(cx, TyData::BoundVariable(BoundVar::innermost(index))).expect("depth 0 is in range")
}
