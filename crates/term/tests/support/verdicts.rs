//! Relations of the recorded cases in an inference table.

use super::ast::Declarations;
use typeloom_term::infer::RegionFacts;
use typeloom_term::{InferenceTable, Name, Ty, TypeFamily, Variance};

/// `(sub_ab, sub_ba, eq)`
pub(crate) fn pair<F: TypeFamily<Name = Name>>(
    cx: &F,
    program: &Declarations,
    facts: &RegionFacts<F>,
    a: &Ty<F>,
    b: &Ty<F>,
) -> [bool; 3] {
    [Variance::Covariant, Variance::Contravariant, Variance::Invariant].map(|variance| {
        let mut table = InferenceTable::new(cx.clone());
        let related = table.relate(program, variance, a, b).is_ok_and(|open| open.is_empty());
        related && table.regions().check(facts).is_ok()
    })
}

/// Whether a type exists that relates to both, where the first is related first.
pub(crate) fn bounded_by_both<F: TypeFamily<Name = Name>>(
    cx: &F,
    program: &Declarations,
    facts: &RegionFacts<F>,
    variance: Variance,
    first: &Ty<F>,
    second: &Ty<F>,
) -> bool {
    let mut table = InferenceTable::new(cx.clone());
    let var = table.new_ty_var().unwrap();
    let related =
        [first, second].into_iter().all(|bound| table.relate(program, variance, bound, &var).is_ok());
    related && table.regions().check(facts).is_ok()
}
