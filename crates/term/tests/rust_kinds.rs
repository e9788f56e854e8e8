//! Every kind of Rust type has a term.

use typeloom_term::infer::RegionFacts;
use typeloom_term::parse::{Scope, parse_ty};
use typeloom_term::program::NoProgram;
use typeloom_term::ty::Reporter;
use typeloom_term::{
    Arena, Boxed, InferenceTable, Interned, Name, Symbols, Ty, TyData, TypeFamily, convert, normal, print,
};

/// Variant of a term, by the compiler's list of kinds.
fn variant<F: TypeFamily<Name = Name>>(ty: &Ty<F>) -> &'static str {
    match ty.data() {
        TyData::Apply(_) => "Apply",
        TyData::Placeholder(_) => "Placeholder",
        TyData::InferenceVar(_) => "InferenceVar",
        TyData::Dyn(_) => "Dyn",
        TyData::Fn(_) => "Fn",
        TyData::GeneratorWitness(_) => "GeneratorWitness",
        TyData::Alias(_) => "Alias",
        TyData::BoundVariable(_) => "BoundVariable",
        TyData::Error(_) => "Error",
    }
}

/// Kind, a type of that kind, and the variant that represents it.
const KINDS: &[(&str, &str, &str)] = &[
    ("bool", "bool", "Apply"),
    ("char", "char", "Apply"),
    ("int", "i8", "Apply"),
    ("int", "i128", "Apply"),
    ("int", "isize", "Apply"),
    ("uint", "u16", "Apply"),
    ("uint", "usize", "Apply"),
    ("float", "f16", "Apply"),
    ("float", "f128", "Apply"),
    ("adt", "std::collections::HashMap<T, Vec<u8>>", "Apply"),
    ("foreign", "{extern libc::FILE}", "Apply"),
    ("str", "str", "Apply"),
    ("array", "[T; N]", "Apply"),
    ("array of an expression", "[T; { 2 * N + 1 }]", "Apply"),
    ("slice", "[T]", "Apply"),
    ("pattern type", "{pattern range<u32, 1, 5>}", "Apply"),
    ("raw pointer", "*const T", "Apply"),
    ("raw pointer", "*mut T", "Apply"),
    ("reference", "&'a T", "Apply"),
    ("reference", "&'a mut T", "Apply"),
    ("fn definition", "{fn std::mem::swap<T>}", "Apply"),
    ("fn pointer", "for<'x> fn(&'x T) -> &'x u8", "Fn"),
    ("fn pointer", "unsafe extern \"C\" fn(*const i8, ...) -> i32", "Fn"),
    ("unsafe binder", "unsafe<'x> &'x T", "Fn"),
    ("conditions", "{forall for<'x, T> fn({trait Clone<T>}) -> &'x T}", "Fn"),
    ("dynamic", "dyn for<'x> Handler<&'x u8, Output = T> + Send + 'a", "Dyn"),
    ("closure", "{closure main::closure_0<T>}", "Apply"),
    ("coroutine closure", "{coroutine-closure main::closure_1<T>}", "Apply"),
    ("coroutine", "{coroutine main::block_0<T>}", "Apply"),
    ("coroutine witness", "{coroutine-witness main::block_0<T>}", "Apply"),
    ("witness types", "{witness main::block_0 for<'x> (&'x T, u8)}", "GeneratorWitness"),
    ("never", "!", "Apply"),
    ("tuple", "()", "Apply"),
    ("tuple", "(T, u8)", "Apply"),
    ("projection", "<T as Iterator>::Item", "Alias"),
    ("generic projection", "<T as Lend<'a>>::Item", "Alias"),
    ("inherent alias", "{inherent Matrix::Row<T>}", "Alias"),
    ("opaque alias", "{opaque main::future_0<'a, T>}", "Alias"),
    ("free alias", "{type Result<T>}", "Alias"),
    ("param", "T", "Placeholder"),
    ("bound", "^0.0", "BoundVariable"),
    ("placeholder", "!1.0", "Placeholder"),
    ("infer", "?0", "InferenceVar"),
];

fn every_kind<F: TypeFamily<Name = Name>>(cx: &F) {
    let mut symbols = Symbols::new();
    let scope = Scope::new().types(["T"]).consts(["N"]);
    let mut terms: Vec<(&str, Ty<F>)> = Vec::new();
    for (kind, text, expected) in KINDS {
        let ty = parse_ty(cx, &mut symbols, &scope, text).unwrap_or_else(|e| panic!("{kind}: {text}: {e}"));
        assert_eq!(variant(&ty), *expected, "{kind}: {text}");
        assert_eq!(print::rust(&ty, &symbols), *text, "{kind}");
        let arena = Arena::new();
        let other = convert::convert_ty(&Interned::new(&arena), &ty).unwrap();
        assert_eq!(print::rust(&other, &symbols), *text, "{kind}, in the other family");
        let normal = normal::normal_form(cx, &ty).unwrap();
        assert_eq!(normal::normal_form(cx, &normal).unwrap(), normal, "{kind}");
        terms.push((kind, ty));
    }
    let mut reports: Vec<&str> = Vec::new();
    terms.push(("error", Ty::error(cx, reports.report("unknown type"))));
    // Each kind is equal to itself and to no other kind. Variables and errors are equal to every kind.
    for (i, (kind, a)) in terms.iter().enumerate() {
        for (j, (other, b)) in terms.iter().enumerate() {
            if ["infer", "error"].contains(kind) || ["infer", "error"].contains(other) {
                continue;
            }
            let mut table = InferenceTable::new(cx.clone());
            let equal = table.eq(&NoProgram, a, b).is_ok();
            let equal = equal && table.regions().check(&RegionFacts::new()).is_ok();
            assert_eq!(equal, i == j, "{kind} and {other}");
        }
    }
}

#[test]
fn every_kind_of_rust_type_has_a_boxed_term() {
    every_kind(&Boxed::new());
}

#[test]
fn every_kind_of_rust_type_has_an_interned_term() {
    let arena = Arena::new();
    every_kind(&Interned::new(&arena));
}

#[test]
fn boxed_terms_cross_threads_and_interned_handles_are_copied() {
    fn crosses<T: Send + Sync>() {}
    fn copied<T: Copy>() {}
    crosses::<Ty<Boxed>>();
    copied::<Ty<Interned<'static>>>();
    copied::<typeloom_term::Const<Interned<'static>>>();
    copied::<typeloom_term::GenericArg<Interned<'static>>>();
}

#[test]
fn terms_are_small() {
    use std::mem::size_of;
    assert_eq!(size_of::<Name>(), 8);
    assert_eq!(size_of::<Ty<Boxed>>(), 8);
    assert_eq!(size_of::<Ty<Interned<'static>>>(), 8);
    assert!(size_of::<typeloom_term::GenericArg<Interned<'static>>>() <= 24);
    assert_eq!(size_of::<typeloom_term::Meta>(), 8);
}
