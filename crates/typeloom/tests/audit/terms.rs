//! Promises about the shared type library, and about the types of Rust crates as terms.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use typeloom::TypeFamily;
use typeloom::pool::Pool;
use typeloom::rust::{Edition, compare, describe, render};
use typeloom::term::build::{Arena, Arity, BoundVar, Interned};
use typeloom::term::goals::{Answer, Goal, GoalFamily, Impl, TraitRef, print as print_goal};
use typeloom::term::infer::{
    AliasTy, ConstEquation, InferenceTable, Negation, NoProgram, Normalized, Program, Variance,
};
use typeloom::term::{Boxed, Const, Name, Reason, Scope, Symbols, Ty, TyData, is_subtype, parse_ty, print};

use super::{Outcome, json, message};

struct Terms<F: TypeFamily<Name = Name>> {
    cx: F,
    symbols: Symbols,
}

impl<F: TypeFamily<Name = Name>> Terms<F> {
    fn new(cx: F) -> Self {
        Self { cx, symbols: Symbols::new() }
    }

    /// A type over the parameters `P`, `Q` and the constant `N`.
    fn ty(&mut self, text: &str) -> Ty<F> {
        let scope = Scope::new().types(["P", "Q"]).consts(["N"]);
        parse_ty(&self.cx, &mut self.symbols, &scope, text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn pair(&mut self, a: &str, b: &str) -> (Ty<F>, Ty<F>) {
        (self.ty(a), self.ty(b))
    }

    /// Whether two types without variables are equal.
    fn equal(&mut self, a: &str, b: &str) -> bool {
        let (a, b) = self.pair(a, b);
        let mut table = InferenceTable::new(self.cx.clone());
        let open = table.relate(&NoProgram, Variance::Invariant, &a, &b);
        open.is_ok_and(|open| open.is_empty()) && table.regions().check(&Default::default()).is_ok()
    }

    fn never(&mut self, a: &str, b: &str) -> &'static str {
        let (a, b) = self.pair(a, b);
        let mut table = InferenceTable::new(self.cx.clone());
        let answer = table.never(&NoProgram, Variance::Invariant, &a, &b).expect("the terms are small");
        assert!(table.is_empty(), "a question leaves no variables");
        match answer {
            Negation::Holds => "Holds",
            Negation::Fails => "Fails",
            Negation::Undecided(_) => "Undecided",
        }
    }
}

fn boxed() -> Terms<Boxed> {
    Terms::new(Boxed::new())
}

/// Every kind of Rust type, with the variant that represents it.
const KINDS: [(&str, &str); 34] = [
    ("bool", "Apply"),
    ("char", "Apply"),
    ("i128", "Apply"),
    ("usize", "Apply"),
    ("f16", "Apply"),
    ("std::Vec<P>", "Apply"),
    ("{extern ffi::Handle}", "Apply"),
    ("str", "Apply"),
    ("[(P, Q); N]", "Apply"),
    ("[P]", "Apply"),
    ("{pattern range<u8, 1, 9>}", "Apply"),
    ("*mut Q", "Apply"),
    ("&'static mut P", "Apply"),
    ("{fn a::b<P, Q>}", "Apply"),
    ("unsafe extern \"C\" fn(*const P, ...) -> u8", "Fn"),
    ("for<'x> fn(&'x P) -> &'x Q", "Fn"),
    ("unsafe<'x> &'x Q", "Fn"),
    ("dyn for<'x> Tr<&'x P, Out = Q> + Send + 'a", "Dyn"),
    ("{closure a::c<P>}", "Apply"),
    ("{coroutine-closure a::c<P>}", "Apply"),
    ("{coroutine a::c<P>}", "Apply"),
    ("{witness a::c for<'x> (&'x P, Q)}", "GeneratorWitness"),
    ("!", "Apply"),
    ("(P,)", "Apply"),
    ("()", "Apply"),
    ("<P as Tr<Q>>::Out", "Alias"),
    ("{inherent S::Out<P>}", "Alias"),
    ("{opaque a::f<P>}", "Alias"),
    ("{type A<P>}", "Alias"),
    ("P", "Placeholder"),
    ("^3.1", "BoundVariable"),
    ("!2.1", "Placeholder"),
    ("?5", "InferenceVar"),
    ("?c5", "InferenceVar"),
];

fn variant<F: TypeFamily>(ty: &Ty<F>) -> &'static str {
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

fn maps_every_kind<F: TypeFamily<Name = Name>>(cx: F) {
    let mut terms = Terms::new(cx);
    for (text, expected) in KINDS {
        let ty = terms.ty(text);
        assert_eq!(variant(&ty), expected, "{text}");
        assert_eq!(print(&ty, &terms.symbols), text);
        // The content stores the same type again; lookup needs no context.
        let stored = Ty::from_interned(terms.cx.intern_ty(ty.data()).expect("it exists"));
        assert!(stored == ty && ty.data().intern(&terms.cx).expect("it exists") == ty, "{text}");
    }
}

#[test]
fn every_kind_of_rust_type_maps_onto_the_variants_in_both_families() {
    maps_every_kind(Boxed::new());
    let arena = Arena::new();
    maps_every_kind(Interned::new(&arena));
}

#[test]
fn the_families_are_as_published() {
    fn shared<T: Send + Sync + Clone>() {}
    fn copied<T: Copy + Eq>() {}
    shared::<Ty<Boxed>>();
    copied::<Ty<Interned<'_>>>();
    // Hashes are not cached in nodes, and equal terms have equal hashes in the boxed family too.
    let mut terms = boxed();
    let (a, b) = terms.pair("Map<P, [u8; 3]>", "Map<P, [u8; 3]>");
    let hash = |ty: &Ty| {
        let mut hasher = DefaultHasher::new();
        ty.hash(&mut hasher);
        hasher.finish()
    };
    assert!(!a.same(&b) && a == b && hash(&a) == hash(&b));
}

#[test]
fn applications_placeholders_and_functions_are_equal_as_published() {
    let mut terms = boxed();
    for (a, b, equal) in [
        ("Pair<P, u8>", "Pair<P, u8>", true),
        ("Pair<P, u8>", "Pair<u8, P>", false),
        ("Pair<P, u8>", "Other<P, u8>", false),
        ("P", "P", true),
        ("P", "Q", false),
        ("P", "u8", false),
        // Under binders, the names and the order of variables do not matter, and equality is not mutual
        // subtyping.
        ("for<'x, 'y> fn(&'x u8, &'y u16)", "for<'q, 'p> fn(&'p u8, &'q u16)", true),
        ("for<'x, 'y> fn(&'x u8, &'y u8)", "for<'x> fn(&'x u8, &'x u8)", false),
        ("dyn A + Sync + Send + 'static", "dyn A + Send + Sync + Send + 'static", true),
        ("dyn A + 'static", "dyn A + Send + 'static", false),
        // The bounds are a set.
        ("dyn A + B + 'static", "dyn B + A + 'static", true),
        ("dyn A + A + 'static", "dyn A + 'static", true),
        ("dyn A + B + 'static", "dyn A + 'static", false),
        ("dyn A<P> + B + A<Q> + 'static", "dyn A<Q> + A<P> + A<Q> + B + 'static", true),
        ("dyn A<P> + A<P> + 'static", "dyn A<P> + A<Q> + 'static", false),
        ("dyn for<'x> A<&'x P> + for<'x> A<&'x Q>", "dyn for<'y, 'z> A<&'z Q> + for<'y> A<&'y P>", true),
        ("dyn for<'x> A<&'x u8> + 'static", "dyn for<'y> A<&'y u8> + 'static", true),
        ("dyn for<'x> A<&'x u8> + 'static", "dyn A<&'static u8> + 'static", false),
        ("<P as Tr>::Out", "<P as Tr>::Out", true),
        ("<P as Tr>::Out", "<Q as Tr>::Out", false),
        ("<P as Tr>::Out", "u8", false),
    ] {
        assert_eq!(terms.equal(a, b), equal, "{a} | {b}");
        assert_eq!(terms.equal(b, a), equal, "{b} | {a}");
    }
    let (both, one) = terms.pair("for<'x, 'y> fn(&'x u8, &'y u8)", "for<'x> fn(&'x u8, &'x u8)");
    assert!(is_subtype(&both, &one).is_ok() && is_subtype(&one, &both).is_ok());
}

#[test]
fn lifetimes_are_ordered_as_published() {
    let mut terms = boxed();
    for (sub, sup, holds) in [
        ("&'static P", "&'a P", true),
        ("&'a P", "&'static P", false),
        ("fn(&'a P)", "fn(&'static P)", true),
        ("&'a mut &'static P", "&'a mut &'b P", false),
        ("for<'x> fn(&'x P) -> &'x P", "fn(&'a P) -> &'a P", true),
        ("fn(&'a P) -> &'a P", "for<'x> fn(&'x P) -> &'x P", false),
        ("{witness w (&'a P)}", "{witness w for<'x> (&'x P)}", true),
        ("{witness w for<'x> (&'x P)}", "{witness w (&'a P)}", false),
        ("dyn A + 'static", "dyn A + 'static", true),
    ] {
        let (a, b) = terms.pair(sub, sup);
        assert_eq!(is_subtype(&a, &b).is_ok(), holds, "{sub} <: {sup}");
    }
    let all = [Variance::Covariant, Variance::Contravariant, Variance::Invariant, Variance::Bivariant];
    for one in all {
        assert_eq!(Variance::Bivariant.compose(one), Variance::Bivariant);
        assert_eq!(one.compose(Variance::Covariant), one);
    }
    assert_eq!(Variance::Contravariant.compose(Variance::Contravariant), Variance::Covariant);
}

#[test]
fn inference_variables_are_bound_outside_of_the_type() -> Outcome {
    let mut terms = boxed();
    let mut table = InferenceTable::new(Boxed::new());
    let var = table.new_ty_var()?;
    let list = Ty::apply(&terms.cx, Name::Slice, &[var.clone().into()])?;
    let known = terms.ty("[Pair<P, u8>]");
    let snapshot = table.snapshot();
    assert!(table.eq(&NoProgram, &list, &known)?.is_empty());
    assert!(matches!(var.data(), TyData::InferenceVar(_)), "the term does not change");
    assert_eq!(table.resolve(&list)?, known);
    table.rollback_to(snapshot);
    assert_eq!(table.resolve(&list)?, list);
    // The occurs check, and placeholders of binders that must not escape.
    let reason = |error| Reason::Types(error).describe(&terms.symbols);
    let occurs = table.eq(&NoProgram, &var, &list).map_err(reason).unwrap_err();
    assert_eq!(occurs, "`?0` would have to contain itself, as `[?0]`");
    Ok(())
}

#[test]
fn variables_do_not_capture_bound_variables() -> Outcome {
    let mut terms = boxed();
    let mut table = InferenceTable::new(Boxed::new());
    table.new_ty_var()?;
    let (open, bound) = terms.pair("for<'x> fn(Cell<?0>)", "for<'x> fn(Cell<&'x u8>)");
    assert!(table.eq(&NoProgram, &open, &bound).is_err(), "`?0` exists outside of the binder");
    let canonical = terms.ty("for<'x> fn(&'x u8, ?c0)");
    let TyData::Fn(function) = canonical.data() else { panic!("a function") };
    assert_eq!(print(function.signature[1].as_ty().expect("a type"), &terms.symbols), "?c0");
    Ok(())
}

/// A program in which `<Vec<X> as Tr>::Out` is `X`, `<&'l X as Tr>::Out` is `X`, and other aliases are rigid.
struct Items(Name);

impl<F: TypeFamily<Name = Name>> Program<F> for Items {
    fn variance(&self, _: &F, name: Name, index: usize) -> Variance {
        name.builtin_variance(index).unwrap_or(Variance::Invariant)
    }

    fn normalize(&self, _: &F, alias: AliasTy<'_, F>) -> Normalized<Ty<F>> {
        let this = alias.args.first().and_then(|arg| arg.as_ty());
        match this.map(Ty::data) {
            Some(TyData::Apply(of)) if of.name == self.0 || matches!(of.name, Name::Ref(_)) => {
                of.args.last().and_then(|arg| arg.as_ty()).cloned().map_or(Normalized::Rigid, Normalized::To)
            }
            Some(TyData::InferenceVar(_)) => Normalized::Ambiguous,
            _ => Normalized::Rigid,
        }
    }

    fn equate(&self, _: &F, _: &Const<F>, _: &Const<F>) -> ConstEquation {
        ConstEquation::Unknown
    }
}

#[test]
fn an_alias_equals_its_value_also_under_a_binder() -> Outcome {
    let mut terms = boxed();
    let items = Items(Name::Adt(terms.symbols.intern("Vec")));
    for (alias, value, equal) in [
        ("<Vec<Q> as Tr>::Out", "Q", true),
        ("<Vec<Vec<Q>> as Tr>::Out", "Vec<Q>", true),
        ("<P as Tr>::Out", "Q", false),
        // The self type mentions a bound lifetime.
        ("for<'x> fn(&'x u8) -> <&'x P as Tr>::Out", "for<'y> fn(&'y u8) -> P", true),
        ("for<'x> fn(<Vec<&'x u8> as Tr>::Out) -> &'x u8", "for<'y> fn(&'y u8) -> &'y u8", true),
        ("for<'x> fn(<Vec<&'x u8> as Tr>::Out) -> &'x u8", "for<'y, 'z> fn(&'z u8) -> &'y u8", false),
        ("dyn for<'x> Tr<<Vec<&'x u8> as Tr>::Out> + 'static", "dyn for<'x> Tr<&'x u8> + 'static", true),
    ] {
        let (a, b) = terms.pair(alias, value);
        let mut table = InferenceTable::new(Boxed::new());
        let open = table.relate(&items, Variance::Invariant, &a, &b);
        let holds =
            open.is_ok_and(|open| open.is_empty()) && table.regions().check(&Default::default()).is_ok();
        assert_eq!(holds, equal, "{alias} | {value}");
    }
    // Undecided relations are handed back, and decided when the variable is known.
    let mut table = InferenceTable::new(Boxed::new());
    let var = table.new_ty_var()?;
    let (open, value) = terms.pair("(<?0 as Tr>::Out, u8)", "(u16, u8)");
    let obligations = table.eq(&items, &open, &value)?;
    assert_eq!(obligations.len(), 1);
    let known = terms.ty("Vec<u32>");
    table.eq(&items, &var, &known)?;
    assert!(table.retry(&items, obligations).is_err(), "`u32` is not `u16`");
    Ok(())
}

#[test]
fn negative_goals_hold_for_no_substitution() {
    let mut terms = boxed();
    for (a, b, answer) in [
        ("(P, P)", "(u8, u16)", "Holds"),
        ("(P, P)", "(u8, u8)", "Fails"),
        ("(P, Vec<P>)", "(Vec<Q>, Vec<Vec<u8>>)", "Fails"),
        ("P", "Vec<P>", "Holds"),
        ("[u8; N]", "[u8; 3]", "Fails"),
        ("[P; 2]", "[Q; 3]", "Holds"),
        ("&'a P", "Box<Q>", "Holds"),
        ("&'a mut P", "&'a Q", "Holds"),
        ("fn(P) -> P", "fn(u8) -> Q", "Fails"),
        ("dyn A<P> + 'static", "dyn A<u8> + 'static", "Fails"),
        ("<P as Tr>::Out", "u8", "Undecided"),
        ("(u8, <P as Tr>::Out)", "(u16, u8)", "Holds"),
    ] {
        assert_eq!(terms.never(a, b), answer, "never {a} = {b}");
        assert_eq!(terms.never(b, a), answer, "never {b} = {a}");
    }
}

/// `not { Implemented(T: Trait) }` and the goals around it, in any family that stores goals.
fn negates_goals<F: GoalFamily<Name = Name>>(cx: F) -> Result<(), typeloom::term::build::TermError> {
    let mut terms = Terms::new(cx.clone());
    let show = Name::Trait(terms.symbols.intern("Show"));
    let shown = |ty: Ty<F>| Goal::implemented(&cx, TraitRef::new(show, [ty.into()]));
    let element = Ty::new(&cx, TyData::BoundVariable(BoundVar::innermost(0)))?;
    let slice = Ty::apply(&cx, Name::Slice, &[element.clone().into()])?;
    let impls = vec![
        Impl::fact(TraitRef::new(show, [terms.ty("u8").into()])),
        Impl {
            arity: Arity { types: 1, ..Arity::NONE },
            of: TraitRef::new(show, [slice.into()]),
            conditions: vec![shown(element)?],
        },
    ];
    let mut table = InferenceTable::new(cx.clone());
    let variable = table.new_ty_var()?;
    for (ty, holds, fails) in [
        ("[[u8]]", Answer::Holds, Answer::Fails),
        ("[[str]]", Answer::Fails, Answer::Holds),
        // `forall<X> { X: Show }` is false, and so is `forall<X> { not { X: Show } }`.
        ("P", Answer::Fails, Answer::Fails),
        ("[(P, P)]", Answer::Fails, Answer::Holds),
        ("[?0]", Answer::Ambiguous, Answer::Ambiguous),
    ] {
        let goal = shown(terms.ty(ty))?;
        let not = Goal::not(&cx, goal.clone())?;
        assert_eq!(print_goal(&not, &terms.symbols), format!("not {{ Implemented({ty}: Show) }}"));
        assert_eq!(table.prove(&NoProgram, &impls, &goal), holds, "{ty}");
        assert_eq!(table.prove(&NoProgram, &impls, &not), fails, "{ty}");
    }
    let byte = terms.ty("u8");
    assert!(table.eq(&NoProgram, &variable, &byte).is_ok_and(|open| open.is_empty()));
    let goal = Goal::not(&cx, shown(terms.ty("[?0]"))?)?;
    assert_eq!(table.prove(&NoProgram, &impls, &goal), Answer::Fails);
    // `forall<X> { X = i32 }` and `forall<X> { not { X = i32 } }`.
    let equal = Goal::equal(&cx, terms.ty("P"), terms.ty("i32"))?;
    let never = Goal::not(&cx, equal.clone())?;
    assert_eq!([equal, never].map(|goal| table.prove(&NoProgram, &impls, &goal)), [Answer::Fails; 2]);
    Ok(())
}

#[test]
fn negative_goals_hold_if_no_type_implements_the_trait() -> Outcome {
    negates_goals(Boxed::new())?;
    let arena = Arena::new();
    Ok(negates_goals(Interned::new(&arena))?)
}

#[test]
fn names_of_the_type_library_are_at_the_root() -> Outcome {
    use typeloom::{AliasTy, Canonical, DynTy, FnTy, InternedTy, Reporter};

    /// The handle, the contents and the canonical form of a type in any family.
    fn parts<F: TypeFamily>(
        cx: &F,
        ty: &Ty<F>,
    ) -> Result<Canonical<Ty<F>>, typeloom::term::build::TermError> {
        let handle: InternedTy<F> = cx.intern_ty(ty.data())?;
        let same = Ty::<F>::from_interned(handle);
        let kind = match same.data() {
            TyData::Fn(FnTy { signature, .. }) => signature.len(),
            TyData::Dyn(DynTy { bounds, .. }) => bounds.len(),
            TyData::Alias(AliasTy { args, .. }) => args.len(),
            _ => 0,
        };
        assert_eq!(kind, 2);
        Ok(InferenceTable::new(cx.clone()).canonicalize(ty)?.canonical)
    }
    let mut terms = boxed();
    for text in ["fn(P) -> Q", "dyn A + B", "<P as Tr<Q>>::Out"] {
        let ty = terms.ty(text);
        assert_eq!(parts(&terms.cx, &ty)?.value, ty);
    }
    let mut errors = Vec::new();
    let error = Ty::error(&terms.cx, errors.report("a name is not declared"));
    assert!(matches!(error.data(), TyData::Error(_)) && errors.len() == 1);
    Ok(())
}

#[test]
fn the_normal_form_is_that_of_digests() -> Outcome {
    let mut terms = boxed();
    let mut pool = Pool::new();
    let mut digest = |text: &str| -> Result<_, Box<dyn std::error::Error>> {
        let ty = terms.ty(text);
        let id = pool.intern_term(&terms.cx, &terms.symbols, &ty)?;
        Ok(pool.digest(id)?)
    };
    for (a, b) in [
        ("for<'x, 'y> fn(&'y u8, &'x u16)", "for<'p, 'q> fn(&'p u8, &'q u16)"),
        ("for<'x, 'unused> fn(&'x u8)", "for<'x> fn(&'x u8)"),
        ("dyn A + Sync + Send + 'static", "dyn A + Send + Sync + Send + 'static"),
        ("dyn A + B + 'static", "dyn B + A + 'static"),
        ("dyn A + A + 'static", "dyn A + 'static"),
        ("dyn A<P> + A<u8>", "dyn A<u8> + A<P> + A<u8>"),
        ("[u8; { 2 * 3 + 1 }]", "[u8; 7]"),
        ("Vec<[P; { 2 * 3 }]>", "Vec<[P; { 7 - 1 }]>"),
    ] {
        assert_eq!(digest(a)?, digest(b)?, "{a} | {b}");
    }
    assert_ne!(digest("dyn A + Send + 'static")?, digest("dyn A + Sync + 'static")?);
    assert_ne!(digest("[u8; { N + 1 }]")?, digest("[u8; { N + 2 }]")?);
    Ok(())
}

#[test]
fn deep_types_are_errors() {
    let mut symbols = Symbols::new();
    let text = format!("{}u8{}", "Box<".repeat(50_000), ">".repeat(50_000));
    let error = message(parse_ty(&Boxed::new(), &mut symbols, &Scope::new(), &text));
    assert!(error.contains("nested more than 256 levels"), "{error}");
}

#[test]
fn names_of_bound_variables_are_generated_and_avoid_the_names_in_use() {
    let mut terms = boxed();
    for (text, printed) in [
        ("for<'b> fn(&'b P, &'x u8)", "for<'y> fn(&'y P, &'x u8)"),
        ("for<'b> fn(&'b u8, for<'c> fn(&'b u8, &'c u8))", "for<'x> fn(&'x u8, for<'y> fn(&'x u8, &'y u8))"),
    ] {
        let ty = terms.ty(text);
        assert_eq!(print(&ty, &terms.symbols), printed);
    }
    let (general, special) = terms.pair("for<'b> fn(&'b u8)", "fn(&'a u8)");
    let reason = is_subtype(&special, &general).unwrap_err().describe(&terms.symbols);
    assert_eq!(reason, "one type is more general than the other: `'x` is not known to outlive `'a`");
}

/// Versions of a crate, and the names in changed items with their weights.
const OLD: &str = "
pub trait Named { fn name(&self) -> u8; }
pub trait Above<A>: Named { fn above(&self, _: A) {} }
pub trait Middle<B>: Above<Vec<B>> + Iterator<Item = B> {}
pub trait Below<'l>: Middle<&'l u8> + Send {}
pub trait Other {}
pub fn twice_removed(_: &dyn Below<'static>) {}
pub fn with_lifetime<'a>(_: &dyn Below<'a>) {}
pub fn of_std(_: &mut dyn Below<'static>) {}
pub fn unrelated(_: &dyn Below<'static>) {}
pub fn other_argument(_: &dyn Below<'static>) {}
pub struct SameByEntailment { pub f: Box<dyn Below<'static>> }
pub struct DifferentAuto { pub f: Box<dyn Below<'static>> }
pub trait Lent { type Out; }
impl<'l, T> Lent for &'l Vec<T> { type Out = &'l T; }
pub fn under_a_binder(_: for<'x> fn(&'x Vec<u8>) -> <&'x Vec<u8> as Lent>::Out) {}
pub fn in_a_bound<F: for<'x> Fn(&'x Vec<u8>) -> <&'x Vec<u8> as Lent>::Out>(_: F) {}
pub fn other_lifetime(_: for<'x> fn(&'x Vec<u8>) -> <&'x Vec<u8> as Lent>::Out) {}
pub trait Get<A> {}
impl<T> Get<u8> for Vec<T> {}
impl Get<u16> for Option<u32> {}
pub fn determined(_: Vec<u32>) {}
pub async fn lent(text: &str, cell: std::cell::Cell<u8>) {}
pub async fn owned(text: String) {}
pub fn resolved(_: u128) {}
pub fn also_resolved(_: Vec<u8>) {}
";

const NEW: [(&str, &str); 11] = [
    (
        "pub fn twice_removed(_: &dyn Below<'static>) {}",
        "pub fn twice_removed<T: Above<Vec<&'static u8>> + ?Sized>(_: &T) {}",
    ),
    (
        "pub fn with_lifetime<'a>(_: &dyn Below<'a>) {}",
        "pub fn with_lifetime<'a, T: Above<Vec<&'a u8>> + Named + ?Sized>(_: &T) {}",
    ),
    (
        "pub fn of_std(_: &mut dyn Below<'static>) {}",
        "pub fn of_std<T: Iterator<Item = &'static u8> + Send + ?Sized>(_: &mut T) {}",
    ),
    ("pub fn unrelated(_: &dyn Below<'static>) {}", "pub fn unrelated<T: Other + ?Sized>(_: &T) {}"),
    (
        "pub fn other_argument(_: &dyn Below<'static>) {}",
        "pub fn other_argument<T: Above<Vec<u8>> + ?Sized>(_: &T) {}",
    ),
    (
        "SameByEntailment { pub f: Box<dyn Below<'static>> }",
        "SameByEntailment { pub f: Box<dyn Below<'static, Item = &'static u8>> }",
    ),
    (
        "DifferentAuto { pub f: Box<dyn Below<'static>> }",
        "DifferentAuto { pub f: Box<dyn Below<'static> + Send> }",
    ),
    (
        "pub fn under_a_binder(_: for<'x> fn(&'x Vec<u8>) -> <&'x Vec<u8> as Lent>::Out) {}",
        "pub fn under_a_binder(_: for<'y> fn(&'y Vec<u8>) -> &'y u8) {}",
    ),
    (
        "pub fn in_a_bound<F: for<'x> Fn(&'x Vec<u8>) -> <&'x Vec<u8> as Lent>::Out>(_: F) {}",
        "pub fn in_a_bound<F: for<'y> Fn(&'y Vec<u8>) -> &'y u8>(_: F) {}",
    ),
    (
        "pub fn other_lifetime(_: for<'x> fn(&'x Vec<u8>) -> <&'x Vec<u8> as Lent>::Out) {}",
        "pub fn other_lifetime(_: for<'y> fn(&'y Vec<u8>) -> &'static u8) {}",
    ),
    ("pub fn determined(_: Vec<u32>) {}", "pub fn determined<A, T: Get<A>>(_: T) {}"),
];

/// The names of the items of which a change is a break.
fn broken(old: &[u8], new: &[u8]) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let changes = compare(old, new, Edition::E2024.into())?.changes;
    let breaks = changes.into_iter().filter(|change| change.breaking).map(|change| change.item);
    Ok(breaks.map(|item| item.rsplit("probe::").next().unwrap_or_default().to_owned()).collect())
}

#[test]
fn objects_aliases_and_negative_goals_in_crates_are_decided_as_promised() -> Outcome {
    let old = json::of("probe", OLD);
    let new = NEW.iter().fold(OLD.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    let breaks = broken(&old, &json::of("probe", &new))?;
    // A trait object implements the supertraits that the crate declares. Equality of trait objects is
    // equality of the bounds with what they determine, as in the compiler; auto traits of supertraits do not
    // count.
    assert_eq!(breaks, ["DifferentAuto::f", "other_argument", "other_lifetime", "unrelated"]);
    // The negative goal: another impl can apply for some type that a caller chooses.
    let ambiguous = new.replace("for Option<u32>", "for Vec<u32>");
    let breaks = broken(
        &json::of("probe", &OLD.replace("for Option<u32>", "for Vec<u32>")),
        &json::of("probe", &ambiguous),
    )?;
    assert!(breaks.contains(&"determined".to_owned()), "{breaks:?}");
    Ok(())
}

#[test]
fn futures_of_async_functions_have_witnesses() -> Outcome {
    let mut symbols = Symbols::new();
    let api = describe(&json::of("probe", OLD), Edition::E2024, &mut symbols)?;
    let text = render(&api, &mut symbols);
    let future =
        |name: &str| text.lines().find(|line| line.trim_start().starts_with("future") && line.contains(name));
    let lent = "future {witness probe::lent for<'x> (&'x str, core::cell::Cell<u8>)}: Send";
    let owned = "future {witness probe::owned (alloc::string::String)}: Send + Sync";
    assert_eq!(future("probe::lent").map(str::trim), Some(lent), "{text}");
    assert!(future("probe::owned").is_some_and(|line| line.trim().starts_with(owned)), "{text}");
    Ok(())
}

#[test]
fn an_unresolved_type_is_an_error_with_a_reason() -> Outcome {
    let old = json::of("probe", OLD);
    let bad = String::from_utf8(old.clone())?
        .replace(r#"{"primitive":"u128"}"#, r#"{"primitive":"u777"}"#)
        .into_bytes();
    let mut symbols = Symbols::new();
    let api = describe(&bad, Edition::E2024, &mut symbols)?;
    let item = api.items_at("probe::resolved").next().ok_or("the item is there")?;
    let reasons: Vec<String> = item.unresolved.iter().map(ToString::to_string).collect();
    assert!(reasons.len() == 1 && reasons[0].contains("u777"), "{reasons:?}");
    assert!(item.parts.iter().any(|part| matches!(part.ty.data(), TyData::Error(_))));
    // It is never compared as a name: the item is not even compatible with itself, and no other item is
    // affected.
    assert_eq!(broken(&bad, &bad)?, ["resolved"]);
    assert_eq!(broken(&old, &bad)?, ["resolved"]);
    assert_eq!(broken(&old, &old)?, [""; 0]);
    // An error absorbs: it relates to any type.
    let error =
        item.parts.iter().find(|part| matches!(part.ty.data(), TyData::Error(_))).ok_or("an error")?;
    let mut terms = boxed();
    let known = terms.ty("Pair<P, u8>");
    let mut table = InferenceTable::new(Boxed::new());
    assert!(table.eq(&NoProgram, &error.ty, &known)?.is_empty());
    assert!(table.tainted().is_some(), "the table records that an error was involved");
    Ok(())
}
