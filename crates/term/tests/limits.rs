//! No term makes an algorithm overflow the stack, hang, or use unbounded memory.

use typeloom_term::meta::{Flags, MAX_DEPTH};
use typeloom_term::normal::normal_form;
use typeloom_term::parse::{ParseErrorKind, Scope, parse_ty};
use typeloom_term::print::{self, Printer};
use typeloom_term::program::NoProgram;
use typeloom_term::subst::{Instantiation, instantiate, replace_params, shift_in};
use typeloom_term::ty::{DynBound, DynBoundKind, DynTy};
use typeloom_term::{
    Arena, Arity, BoundVar, Boxed, GenericArg, InferenceTable, Interned, Name, Region, RelationError,
    Symbols, TermError, Ty, TyData, TypeFamily, Variance, convert,
};

fn leaf<F: TypeFamily<Name = Name>>(cx: &F) -> Ty<F> {
    Ty::apply(cx, Name::Bool, &[]).unwrap()
}

/// Wraps `ty` in functions under binders up to the depth limit.
fn as_deep_as_possible<F: TypeFamily<Name = Name>>(cx: &F, mut ty: Ty<F>) -> Ty<F> {
    let reference = |inner: &Ty<F>| {
        let region = Region::Bound(BoundVar::innermost(0));
        Ty::apply(
            cx,
            Name::Ref(typeloom_term::name::Mutability::Shared),
            &[region.into(), inner.clone().into()],
        )
    };
    loop {
        let next =
            reference(&ty).and_then(|inner| Ty::function(cx, Name::FN, Arity::regions(1), &[inner.into()]));
        match next {
            Ok(next) => ty = next,
            Err(error) => {
                assert_eq!(error, TermError::TooDeep);
                return ty;
            }
        }
    }
}

/// `(x, x)` sixty-four times over: 2^64 leaves as a tree, sixty-five nodes as a graph.
fn doubled<F: TypeFamily<Name = Name>>(cx: &F, mut ty: Ty<F>) -> Ty<F> {
    for _ in 0..64 {
        ty = Ty::apply(cx, Name::Tuple, &[ty.clone().into(), ty.clone().into()]).unwrap();
    }
    ty
}

fn deep_terms_are_handled_or_refused<F: TypeFamily<Name = Name>>(cx: &F) {
    let mut symbols = Symbols::new();
    let param = Name::Param(symbols.intern("T"));
    let a = as_deep_as_possible(cx, Ty::param(cx, param).unwrap());
    let b = as_deep_as_possible(cx, leaf(cx));
    assert!(a.meta().depth >= MAX_DEPTH - 1);
    let mut table = InferenceTable::new(cx.clone());
    for variance in [Variance::Invariant, Variance::Covariant, Variance::Contravariant] {
        assert_eq!(table.relate(&NoProgram, variance, &a, &a), Ok(vec![]));
        assert!(table.relate(&NoProgram, variance, &a, &b).is_err());
        let other = as_deep_as_possible(cx, Ty::param(cx, param).unwrap());
        assert_eq!(table.relate(&NoProgram, variance, &a, &other), Ok(vec![]));
        let var = table.new_ty_var().unwrap();
        assert_eq!(table.relate(&NoProgram, variance, &var, &a), Ok(vec![]));
        assert_eq!(table.resolve(&var).unwrap(), a);
    }
    assert!(shift_in(cx, &a, 3).unwrap().same(&a));
    assert_eq!(normal_form(cx, &a).unwrap(), a);
    let text = print::rust(&a, &symbols);
    assert!(text.starts_with("for<'x> fn() -> &'x (for<'y> fn()"));
    let arena = Arena::new();
    let there = convert::convert_ty(&Interned::new(&arena), &a).unwrap();
    assert_eq!(convert::convert_ty(cx, &there).unwrap(), a);
    let replaced = replace_params(cx, &a, |_| Some(GenericArg::Ty(b.clone())));
    assert_eq!(replaced.unwrap_err(), TermError::TooDeep);
}

fn the_cost_of_shared_graphs_is_proportional_to_their_size<F: TypeFamily<Name = Name>>(cx: &F) {
    let mut symbols = Symbols::new();
    let param = Name::Param(symbols.intern("T"));
    let a = doubled(cx, Ty::param(cx, param).unwrap());
    let same = doubled(cx, Ty::param(cx, param).unwrap());
    let other = doubled(cx, leaf(cx));
    assert_eq!(a, same);
    assert_ne!(a, other);
    let replaced = replace_params(cx, &a, |_| Some(GenericArg::Ty(leaf(cx)))).unwrap();
    assert_eq!(replaced, other);
    assert_eq!(normal_form(cx, &a).unwrap(), a);
    let region = doubled(
        cx,
        Ty::apply(
            cx,
            Name::Ref(typeloom_term::name::Mutability::Shared),
            &[Region::Bound(BoundVar::innermost(0)).into(), leaf(cx).into()],
        )
        .unwrap(),
    );
    let with = Instantiation { regions: vec![Region::Static], ..Instantiation::default() };
    assert!(instantiate(cx, &region, &with).unwrap().meta().is_closed());
    let higher = Ty::function(cx, Name::FN, Arity::regions(1), &[region.clone().into()]).unwrap();
    let twin = Ty::function(cx, Name::FN, Arity::regions(2), &[region.into()]).unwrap();
    for variance in [Variance::Invariant, Variance::Covariant] {
        let mut table = InferenceTable::new(cx.clone());
        assert_eq!(table.relate(&NoProgram, variance, &a, &same), Ok(vec![]));
        assert!(table.relate(&NoProgram, variance, &a, &other).is_err());
        assert_eq!(table.relate(&NoProgram, variance, &higher, &twin), Ok(vec![]));
        let var = table.new_ty_var().unwrap();
        let open = doubled(cx, var.clone());
        let result = table.relate(&NoProgram, variance, &open, &other);
        assert_eq!(result, Ok(vec![]));
        assert_eq!(table.resolve(&open).unwrap(), other);
        let fresh = table.new_ty_var().unwrap();
        assert_eq!(table.relate(&NoProgram, variance, &fresh, &higher), Ok(vec![]));
        assert_eq!(table.canonicalize(&open).unwrap().canonical.value, other);
    }
    assert!(print::rust(&a, &symbols).len() < 200_000);
    assert!(Printer::new(&symbols).limit(100).ty(&a).len() < 1000);
    assert!(format!("{a:?}").len() < 1000);
}

/// `?0 = [?1]`, `?1 = [?2]`, ...: a type whose depth no term may have, which the table must still handle.
/// `(dyn P = x, dyn P = x)` forty times over, where the two bounds share one list and the list holds the only
/// handle of `x`.
fn doubled_through_lists<F: TypeFamily<Name = Name>>(cx: &F, name: Name, mut ty: Ty<F>) -> Ty<F> {
    for _ in 0..40 {
        let args = cx.intern_args(&[std::mem::replace(&mut ty, leaf(cx)).into()]);
        let bound = DynBound { arity: Arity::NONE, kind: DynBoundKind::Projection, name, args };
        let of = || {
            let region = Region::Static;
            Ty::new(cx, TyData::Dyn(DynTy { bounds: std::slice::from_ref(&bound), region })).unwrap()
        };
        ty = Ty::pair(cx, Name::Tuple, of(), of()).unwrap();
    }
    ty
}

fn shared_lists_are_folded_once<F: TypeFamily<Name = Name>>(cx: &F) {
    let mut symbols = Symbols::new();
    let (param, name) = (Name::Param(symbols.intern("T")), Name::Projection(symbols.intern("P")));
    let a = doubled_through_lists(cx, name, Ty::param(cx, param).unwrap());
    let replaced = replace_params(cx, &a, |_| Some(GenericArg::Ty(leaf(cx)))).unwrap();
    assert!(!replaced.meta().flags.intersects(Flags::TY_PLACEHOLDER));
    assert_eq!(replaced.meta().depth, a.meta().depth);
}

fn long_chains_of_bindings_need_no_stack<F: TypeFamily<Name = Name>>(cx: &F) {
    const LENGTH: usize = 20_000;
    let mut table = InferenceTable::new(cx.clone());
    let mut chain = || {
        let vars: Vec<Ty<F>> = (0..LENGTH).map(|_| table.new_ty_var().unwrap()).collect();
        for pair in vars.windows(2) {
            let slice = Ty::apply(cx, Name::Slice, &[pair[1].clone().into()]).unwrap();
            assert_eq!(table.eq(&NoProgram, &pair[0], &slice), Ok(vec![]));
        }
        (vars[0].clone(), vars[LENGTH - 1].clone())
    };
    let (first, first_end) = chain();
    let (second, second_end) = chain();
    assert_eq!(table.resolve(&first), Err(TermError::TooDeep));
    assert_eq!(table.eq(&NoProgram, &first, &second), Ok(vec![]));
    // The ends are now one variable, so it cannot contain the beginning.
    let around = Ty::apply(cx, Name::Slice, &[second.into()]).unwrap();
    let closed = table.eq(&NoProgram, &first_end, &around);
    let occurs = matches!(closed, Err(RelationError::Occurs { .. }));
    assert!(occurs, "a cycle through all variables is found");
    assert_eq!(table.eq(&NoProgram, &second_end, &leaf(cx)), Ok(vec![]));
    assert_eq!(table.resolve(&first_end), Ok(leaf(cx)));
}

/// `?1 = (?0, ?0)`, `?2 = (?1, ?1)`, ...: the classic exponential unifier.
fn doubling_through_bindings_stays_small<F: TypeFamily<Name = Name>>(cx: &F) {
    let mut table = InferenceTable::new(cx.clone());
    let vars: Vec<[Ty<F>; 2]> =
        (0..60).map(|_| [table.new_ty_var().unwrap(), table.new_ty_var().unwrap()]).collect();
    for pair in vars.windows(2) {
        for (below, above) in pair[0].iter().zip(&pair[1]) {
            let double = Ty::apply(cx, Name::Tuple, &[below.clone().into(), below.clone().into()]).unwrap();
            assert_eq!(table.eq(&NoProgram, above, &double), Ok(vec![]));
        }
    }
    let [x, y] = vars.last().unwrap();
    assert_eq!(table.eq(&NoProgram, x, y), Ok(vec![]));
    assert_eq!(table.resolve(x).unwrap(), table.resolve(y).unwrap());
}

/// The deepest terms fit in half of the default thread stack, in an unoptimized build.
#[test]
fn the_deepest_terms_need_a_megabyte_of_stack_at_most() {
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(|| {
        deep_terms_are_handled_or_refused(&Boxed::new());
        let arena = Arena::new();
        deep_terms_are_handled_or_refused(&Interned::new(&arena));
        deeply_nested_text_is_refused();
    });
    assert!(thread.unwrap().join().is_ok());
}

#[test]
fn deeply_nested_text_is_refused() {
    let mut symbols = Symbols::new();
    let nested = |open: &str, close: &str, n: usize| format!("{}u8{}", open.repeat(n), close.repeat(n));
    for (open, close) in [("Vec<", ">"), ("[", "]"), ("(", ",)"), ("&'a ", ""), ("fn() -> ", ""), ("(", ")")]
    {
        let text = nested(open, close, 10_000);
        let error = parse_ty(&Boxed::new(), &mut symbols, &Scope::new(), &text).unwrap_err();
        assert_eq!(error.kind, ParseErrorKind::TooDeep);
    }
    for (open, close) in [("(", ")"), ("-", ""), ("1 + (", ")"), ("{", "}")] {
        let text = format!("[u8; {}1{}]", open.repeat(10_000), close.repeat(10_000));
        let error = parse_ty(&Boxed::new(), &mut symbols, &Scope::new(), &text).unwrap_err();
        assert!(
            matches!(error.kind, ParseErrorKind::TooDeep | ParseErrorKind::Expected(_)),
            "{open}: {error}"
        );
    }
    let sum = format!("[u8; 1{}]", " + 1".repeat(10_000));
    let error = parse_ty(&Boxed::new(), &mut symbols, &Scope::new(), &sum).unwrap_err();
    assert_eq!(error.kind, ParseErrorKind::Term(TermError::TooDeep));
    let fine = nested("Vec<", ">", usize::from(MAX_DEPTH) / 2);
    assert!(parse_ty(&Boxed::new(), &mut symbols, &Scope::new(), &fine).is_ok());
}

#[test]
fn bound_variables_that_refer_too_far_out_are_refused() {
    let cx: Boxed = Boxed::new();
    let far = |depth| Ty::new(&cx, TyData::BoundVariable(BoundVar::new(depth, 0)));
    assert_eq!(far(u32::MAX), Err(TermError::BinderTooFar));
    let ty = far(u32::from(u16::MAX) - 1).unwrap();
    assert_eq!(shift_in(&cx, &ty, 1), Err(TermError::BinderTooFar));
    assert_eq!(shift_in(&cx, &ty, u32::MAX), Err(TermError::BinderTooFar));
    let region = Region::Bound(BoundVar::new(u32::MAX, 0));
    let bound = Ty::apply(&cx, Name::Tuple, &[region.into()]);
    assert_eq!(bound, Err(TermError::BinderTooFar));
}

macro_rules! on_both_families {
    ($($name:ident),*) => {
        mod boxed {
            $(#[test]
            fn $name() {
                super::$name(&super::Boxed::new());
            })*
        }
        mod interned {
            $(#[test]
            fn $name() {
                let arena = super::Arena::new();
                super::$name(&super::Interned::new(&arena));
            })*
        }
    };
}
on_both_families!(
    deep_terms_are_handled_or_refused,
    the_cost_of_shared_graphs_is_proportional_to_their_size,
    shared_lists_are_folded_once,
    long_chains_of_bindings_need_no_stack,
    doubling_through_bindings_stays_small
);
