//! Conversion of terms to pool types and back.

use proptest::prelude::*;
use typeloom_pool::compat::Direction;
use typeloom_pool::{ConvertError, Descriptor, GraphRef, Idx, Pool, Sort, Tag};
use typeloom_term::normal::normal_form;
use typeloom_term::parse::{Scope, parse_ty};
use typeloom_term::ty::{InferVar, PlaceholderId, Reporter};
use typeloom_term::{
    Arena, Boxed, Const, ConstData, ConstOp, ConstValue, Interned, Name, Placeholder, Region, Symbols,
    TermError, Ty, TyData, TypeFamily, Universe, print,
};
use typeloom_testing::Random;

use crate::shape::{Build, Style, check, shapes};
use crate::support::random_types;

fn round_trip<F: TypeFamily<Name = Name>>(
    cx: &F,
    symbols: &mut Symbols,
    pool: &mut Pool,
    ty: &Ty<F>,
) -> (Idx, Ty<F>) {
    let id = pool.intern_term(cx, symbols, ty).unwrap();
    (id, pool.term(cx, symbols, id).unwrap())
}

/// for all t: term(intern(t)) = nf(t); equal terms have one id; the digest does not depend on the pool
fn comes_back<F: TypeFamily<Name = Name>>(cx: &F) {
    check(400, &(shapes(), shapes()), |(s, t)| {
        let mut symbols = Symbols::new();
        let plain = Build::new(cx, &mut symbols, Style::Plain).ty(&s);
        let roundabout = Build::new(cx, &mut symbols, Style::Roundabout).ty(&s);
        let other = Build::new(cx, &mut symbols, Style::Plain).ty(&t);
        let mut pool = Pool::new();
        let (id, back) = round_trip(cx, &mut symbols, &mut pool, &plain);
        let (other_id, other_back) = round_trip(cx, &mut symbols, &mut pool, &other);
        let normal = normal_form(cx, &plain).unwrap();
        prop_assert_eq!(&back, &normal);
        prop_assert_eq!(pool.intern_term(cx, &symbols, &roundabout).unwrap(), id);
        prop_assert_eq!(id == other_id, back == other_back);
        let mut elsewhere = Pool::new();
        elsewhere.intern_term(cx, &symbols, &other).unwrap();
        let copy = elsewhere.intern_term(cx, &symbols, &roundabout).unwrap();
        prop_assert_eq!(pool.digest(id).unwrap(), elsewhere.digest(copy).unwrap());
        Ok(())
    });
}

#[test]
fn random_boxed_terms_come_back_equal() {
    comes_back(&Boxed::new());
}

#[test]
fn random_interned_terms_come_back_equal() {
    let arena = Arena::new();
    comes_back(&Interned::new(&arena));
}

/// One portable type of every kind.
const KINDS: &[&str] = &[
    "bool",
    "i128",
    "f16",
    "!",
    "()",
    "(T,)",
    "(T, u8)",
    "std::collections::HashMap<T, Vec<u8>>",
    "{extern libc::FILE}",
    "[T; N]",
    "[T; { 2 * N + 1 }]",
    "[T; { N / 2 - -3 }]",
    "[T; 170141183460469231731687303715884105727]",
    "S<true, 'x', 3>",
    "[T]",
    "{pattern range<u32, 1, 5>}",
    "*const T",
    "*mut T",
    "&'a T",
    "&'static mut T",
    "&'_ T",
    "{fn std::mem::swap<T>}",
    "fn(&'a u8)",
    "for<'x> fn(&'x T) -> &'x u8",
    "for<'x, T, const A> fn(&'x T, [T; A])",
    "for<'x> fn(for<'y> fn(&'x u8, &'y u8), fn(&'x u8))",
    "unsafe extern \"C\" fn(*const i8, ...) -> i32",
    "unsafe<'x> &'x T",
    "{forall for<'x, T> fn({trait Clone<T>}) -> &'x T}",
    "{forall for<T> fn() -> T}",
    "{forall for<T> fn() -> fn(T) -> T}",
    "{forall for<T> fn() -> for<U> fn(T) -> U}",
    "{forall fn() -> u8}",
    "dyn for<'x> Handler<&'x u8, Output = T> + Send + 'a",
    "dyn Send + 'static",
    "{closure main::closure_0<T>}",
    "{coroutine-closure main::closure_1<T>}",
    "{coroutine main::block_0<T>}",
    "{coroutine-witness main::block_0<T>}",
    "{witness main::block_0 for<'x> (&'x T, u8)}",
    "<T as Iterator>::Item",
    "<T as Lend<'a>>::Item",
    "{inherent Matrix::Row<T>}",
    "{opaque main::future_0<'a, T>}",
    "{type Result<T>}",
    "Tensor<f32, [N, 3, 224, 224]>",
    "Tensor<my.own, []>",
    "Tensor<float16>",
    "for<const A> fn(Tensor<f32, [A, 3]>)",
];

#[test]
fn every_portable_kind_of_term_comes_back_as_it_was() {
    let cx = Boxed::new();
    let scope = Scope::new().types(["T"]).consts(["N"]);
    let mut pool = Pool::new();
    for text in KINDS {
        let mut symbols = Symbols::new();
        let ty = parse_ty(&cx, &mut symbols, &scope, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let (id, back) = round_trip(&cx, &mut symbols, &mut pool, &ty);
        assert_eq!(back, normal_form(&cx, &ty).unwrap(), "{text}: {}", print::rust(&back, &symbols));
        assert_eq!(pool.intern_term(&cx, &symbols, &back).unwrap(), id, "{text}");
    }
}

#[test]
fn a_bundle_transfers_terms_to_another_pool() {
    let cx = Boxed::new();
    let scope = Scope::new().types(["T"]).consts(["N"]);
    let mut pool = Pool::new();
    let mut symbols = Symbols::new();
    let mut roots = Vec::new();
    for text in KINDS {
        let ty = parse_ty(&cx, &mut symbols, &scope, text).unwrap();
        roots.push((*text, pool.intern_term(&cx, &symbols, &ty).unwrap()));
    }
    let bundle = pool.export(&roots).unwrap();
    let mut other = Pool::new();
    for root in other.import(bundle.as_bytes()).unwrap() {
        let mut names = Symbols::new();
        let ty = parse_ty(&cx, &mut names, &scope, &root.label).unwrap();
        assert_eq!(
            other.term(&cx, &mut names, root.ty).unwrap(),
            normal_form(&cx, &ty).unwrap(),
            "{}",
            root.label
        );
    }
}

#[test]
fn dims_of_tensors_are_polynomials_and_lengths_of_arrays_are_not() {
    let cx = Boxed::new();
    let scope = Scope::new().consts(["N", "M"]);
    let mut symbols = Symbols::new();
    let mut pool = Pool::new();
    let mut id = |text: &str| {
        let ty = parse_ty(&cx, &mut symbols, &scope, text).unwrap();
        let (id, back) = round_trip(&cx, &mut symbols, &mut pool, &ty);
        assert_eq!(pool.intern_term(&cx, &symbols, &back).unwrap(), id, "{text}");
        id
    };
    assert_eq!(id("Tensor<f32, [2 * N + M]>"), id("Tensor<f32, [M + N + N]>"));
    assert_eq!(id("Tensor<f32, [(N + 1) * (N - 1)]>"), id("Tensor<f32, [N * N - 1]>"));
    assert_ne!(id("Tensor<f32, [N]>"), id("Tensor<f32, [M]>"));
    assert_ne!(id("Tensor<f32, [N / 2]>"), id("Tensor<f32, [N]>"));
    assert_ne!(id("[u8; { N + 1 }]"), id("[u8; { 1 + N }]"));
}

#[test]
fn types_with_inference_variables_are_not_exported() {
    let cx = Boxed::new();
    let mut symbols = Symbols::new();
    let mut pool = Pool::new();
    let before = pool.len();
    let vec = Name::Adt(symbols.intern("Vec"));
    let fresh = Placeholder { universe: Universe(1), id: PlaceholderId::Fresh(0) };
    let wrapped = |arg| Ty::apply(&cx, vec, &[arg]).unwrap();
    let var = InferVar::Var(0);
    let canonical = InferVar::Canonical(0);
    let inference = [
        wrapped(Ty::new(&cx, TyData::InferenceVar(var)).unwrap().into()),
        wrapped(Ty::new(&cx, TyData::InferenceVar(canonical)).unwrap().into()),
        wrapped(Ty::new(&cx, TyData::Placeholder(fresh)).unwrap().into()),
        wrapped(Region::Infer(var).into()),
        wrapped(Region::Placeholder(fresh).into()),
        wrapped(Const::new(&cx, ConstData::Infer(var)).unwrap().into()),
    ];
    for ty in inference {
        assert_eq!(pool.intern_term(&cx, &symbols, &ty), Err(ConvertError::Inference), "{ty:?}");
    }
    let mut reports: Vec<&str> = Vec::new();
    let error = wrapped(Ty::error(&cx, reports.report("unknown")).into());
    assert_eq!(pool.intern_term(&cx, &symbols, &error), Err(ConvertError::Error));
    let odd = Ty::new(&cx, TyData::Placeholder(Placeholder::named(vec))).unwrap();
    assert_eq!(pool.intern_term(&cx, &symbols, &odd), Err(ConvertError::Parameter));
    assert_eq!(pool.len(), before, "a failed conversion leaves nothing behind");
    let infer = pool.infer(0, Sort::Type).unwrap();
    assert_eq!(pool.term(&cx, &mut symbols, infer), Err(ConvertError::Inference));
}

#[test]
fn a_type_that_contains_itself_has_no_term() {
    let mut pool = Pool::new();
    let list =
        pool.intern_graph(&[Descriptor::Container { tag: Tag::List, child: GraphRef::Member(0) }]).unwrap();
    let both = Descriptor::Tuple { elements: vec![GraphRef::Member(0), GraphRef::Member(0)] };
    let pair = pool.intern_graph(&[both]).unwrap();
    for ty in [list[0], pair[0]] {
        let term = pool.term(&Boxed::<Name>::new(), &mut Symbols::new(), ty);
        assert!(matches!(term, Err(ConvertError::NoTerm(_))), "{term:?}");
    }
    let sum = Descriptor::Applied {
        name: format!("{{#op {}}}", ConstOp::Add.word()),
        args: vec![GraphRef::Member(0), GraphRef::Member(0)],
    };
    let sum = pool.intern_graph(&[sum]).unwrap()[0];
    let array = Descriptor::Applied { name: "Array".to_owned(), args: vec![sum] };
    let array = pool.intern(&array).unwrap();
    let term = pool.term(&Boxed::<Name>::new(), &mut Symbols::new(), array);
    assert_eq!(term, Err(ConvertError::Term(TermError::TooDeep)));
}

/// for all pool types without definitions and constants in braces: intern(term(t)) = t
#[test]
fn pool_types_that_have_a_term_come_back_as_themselves() {
    let cx = Boxed::new();
    let mut rng = Random(7);
    let mut pool = Pool::new();
    let types = random_types(&mut rng, &mut pool, 3000);
    let (mut with, mut without) = (0, 0);
    for ty in types {
        let mut symbols = Symbols::new();
        match pool.term(&cx, &mut symbols, ty) {
            Ok(term) => {
                with += 1;
                let back = pool.intern_term(&cx, &symbols, &term).unwrap();
                assert_eq!(back, ty, "{} came back as {}", pool.signature(ty), pool.signature(back));
            }
            Err(ConvertError::NoTerm(_) | ConvertError::Inference | ConvertError::Term(_)) => without += 1,
            Err(error) => panic!("{}: {error}", pool.signature(ty)),
        }
    }
    assert!(with > 100 && without > 100, "{with} with, {without} without");
}

#[test]
fn a_type_that_doubles_64_times_is_converted_once_per_node() {
    let cx = Boxed::new();
    let mut symbols = Symbols::new();
    let mut pool = Pool::new();
    let mut ty = Ty::apply(&cx, Name::Bool, &[]).unwrap();
    for _ in 0..64 {
        ty = Ty::apply(&cx, Name::Tuple, &[ty.clone().into(), ty.clone().into()]).unwrap();
    }
    let (_, back) = round_trip(&cx, &mut symbols, &mut pool, &ty);
    assert_eq!(back, ty);
    let big = Const::new(&cx, ConstData::Value(ConstValue::Int(i128::MIN))).unwrap();
    let sized = Ty::apply(&cx, Name::Array, &[ty.into(), big.into()]).unwrap();
    assert_eq!(round_trip(&cx, &mut symbols, &mut pool, &sized).1, sized);
}

#[test]
fn a_length_that_doubles_64_times_is_converted_once_per_node() {
    let cx = Boxed::new();
    let mut symbols = Symbols::new();
    let mut pool = Pool::new();
    let mut length = Const::param(&cx, Name::Param(symbols.intern("N"))).unwrap();
    for _ in 0..64 {
        length = Const::expr(&cx, ConstOp::Add, &[length.clone().into(), length.into()]).unwrap();
    }
    let unit = Ty::apply(&cx, Name::Tuple, &[]).unwrap();
    let array = Ty::apply(&cx, Name::Array, &[unit.into(), length.into()]).unwrap();
    assert_eq!(round_trip(&cx, &mut symbols, &mut pool, &array).1, array);
}

#[test]
fn a_dim_that_doubles_64_times_is_converted_once_per_node() {
    let cx = Boxed::<Name>::new();
    let mut pool = Pool::new();
    let (mut dim, divisor) = (pool.dim_symbol("N").unwrap(), pool.dim_symbol("M").unwrap());
    for _ in 0..64 {
        let quotient = pool.dim_floor_div(dim, divisor).unwrap();
        dim = pool.dim_mod(quotient, dim).unwrap();
    }
    let element = pool.primitive(Tag::F32).unwrap();
    let tensor = pool.tensor(element, &[dim]).unwrap();
    let mut symbols = Symbols::new();
    let term = pool.term(&cx, &mut symbols, tensor).unwrap();
    assert_eq!(pool.intern_term(&cx, &symbols, &term).unwrap(), tensor);
}

#[test]
fn a_dim_that_is_deeper_than_a_term_has_none() {
    let cx = Boxed::<Name>::new();
    let mut pool = Pool::new();
    let element = pool.primitive(Tag::F32).unwrap();
    let divisor = pool.dim_symbol("M").unwrap();
    let term_of = |pool: &mut Pool, quotients: usize| {
        let mut dim = pool.dim_symbol("N").unwrap();
        for _ in 0..quotients {
            dim = pool.dim_floor_div(dim, divisor).unwrap();
        }
        let tensor = pool.tensor(element, &[dim]).unwrap();
        pool.term(&cx, &mut Symbols::new(), tensor)
    };
    // The tensor and the symbol are levels too.
    assert!(term_of(&mut pool, 254).is_ok());
    for quotients in [255, 256, 16_000] {
        assert_eq!(term_of(&mut pool, quotients), Err(ConvertError::Term(TermError::TooDeep)), "{quotients}");
    }
}

#[test]
fn a_rigid_variable_is_no_unresolved_name() {
    let (cx, mut symbols, mut pool) = (Boxed::new(), Symbols::new(), Pool::new());
    let scope = Scope::new().types(["T"]);
    let param = parse_ty(&cx, &mut symbols, &scope, "T").unwrap();
    let definition = parse_ty(&cx, &mut symbols, &Scope::new(), "T").unwrap();
    let rigid = pool.intern_term(&cx, &symbols, &param).unwrap();
    assert_eq!(pool.get(rigid), Descriptor::Rigid { name: "T".into() });
    let name = pool.name("T").unwrap();
    let others = [
        pool.named(name).unwrap(),
        pool.opaque(name).unwrap(),
        pool.intern_term(&cx, &symbols, &definition).unwrap(),
    ];
    for other in others {
        assert_ne!(pool.digest(rigid).unwrap(), pool.digest(other).unwrap(), "{}", pool.signature(other));
        assert!(!pool.compat(rigid, other, Direction::Backward).is_compatible());
        let term: Ty = pool.term(&cx, &mut symbols, other).unwrap();
        assert_ne!(term, param);
        assert_eq!(pool.intern_term(&cx, &symbols, &term).unwrap(), other);
    }
    assert_eq!(pool.term(&cx, &mut symbols, rigid).unwrap(), param);
    // Inside a scheme, the variables of the scheme are bound and the others are rigid.
    let function = parse_ty(&cx, &mut symbols, &scope, "for<'a> fn(&'a T) -> T").unwrap();
    let scheme = pool.intern_term(&cx, &symbols, &function).unwrap();
    assert_eq!(pool.signature(scheme), "forall 'x. (&'x !T) -> !T");
    let bundle = pool.export(&[("t", scheme)]).unwrap();
    let mut elsewhere = Pool::new();
    let root = elsewhere.import(bundle.as_bytes()).unwrap()[0].ty;
    assert_eq!(elsewhere.term(&cx, &mut symbols, root).unwrap(), function);
}
