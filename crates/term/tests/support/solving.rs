//! Unification problems, solved in the order of the compiler.

use typeloom_term::infer::RegionFacts;
use typeloom_term::{Flags, InferenceTable, Name, Program, Ty, TypeFamily, Variance};

/// Verdict of the compiler's procedure: `ok`, `fail`, or `ambiguous`. It infers all types first and then
/// checks regions, so an ambiguous type never reaches the region check. The terms use the first variables of
/// a new table.
pub(crate) fn verdict<F: TypeFamily<Name = Name>>(
    cx: &F,
    program: &impl Program<F>,
    count: usize,
    left: &Ty<F>,
    right: &Ty<F>,
) -> &'static str {
    let mut table = InferenceTable::new(cx.clone());
    let vars: Vec<Ty<F>> = (0..count).map(|_| table.new_ty_var().unwrap()).collect();
    let open = table.relate_types(program, Variance::Invariant, left, right);
    let Ok(open) = open.and_then(|open| table.retry(program, open)) else { return "fail" };
    let kinds = Flags::TY_INFER.union(Flags::CONST_INFER);
    let unknown = |var: &Ty<F>| table.resolve(var).unwrap().meta().flags.intersects(kinds);
    if !open.is_empty() || vars.iter().any(unknown) {
        "ambiguous"
    } else if table.regions().check(&RegionFacts::new()).is_err() {
        "fail"
    } else {
        "ok"
    }
}
