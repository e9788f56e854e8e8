//! Laws of terms and relations, on both families.
//!
//! Every law is written as a statement about all types; the types are random, from a fixed sequence.

use crate::ast::Declarations;
use crate::shape::{Build, Shape, Style, check, shapes};
use proptest::prelude::*;
use typeloom_term::fold::FoldState;
use typeloom_term::infer::RegionFacts;
use typeloom_term::normal::normal_form;
use typeloom_term::subst::{Instantiation, instantiate, replace_params, shift_in, shift_out};
use typeloom_term::ty::{PlaceholderId, Reporter};
use typeloom_term::{
    Arena, BoundVar, Boxed, Fold, Folder, GenericArg, InferenceTable, Interned, Meta, Name, Placeholder,
    Region, RelationError, TermError, Ty, TyData, TypeFamily, Universe, Variance, convert,
};

const CASES: u32 = 160;

/// The facts `'static: 'b: 'a`; `'c` is unrelated.
fn facts<F: TypeFamily<Name = Name>>(program: &mut Declarations) -> RegionFacts<F> {
    let [a, b] = ["'a", "'b"].map(|name| Region::param(Name::Param(program.symbols.intern(name))));
    let mut facts = RegionFacts::new();
    facts.assume(b, a);
    facts
}

fn holds<F: TypeFamily<Name = Name>>(
    cx: &F,
    program: &Declarations,
    facts: &RegionFacts<F>,
    variance: Variance,
    a: &Ty<F>,
    b: &Ty<F>,
) -> bool {
    let mut table = InferenceTable::new(cx.clone());
    let open = table.relate(program, variance, a, b);
    open.is_ok_and(|open| open.is_empty()) && table.regions().check(facts).is_ok()
}

fn build<F: TypeFamily<Name = Name>>(
    cx: &F,
    program: &mut Declarations,
    shape: &Shape,
    style: Style,
) -> Ty<F> {
    Build::new(cx, &mut program.symbols, style).ty(shape)
}

/// for all s: building s twice gives equal terms with equal hashes, and one node in an interned family
fn interning<F: TypeFamily<Name = Name>>(cx: &F) {
    use std::hash::{BuildHasher, RandomState};
    check(CASES, &(shapes(), shapes()), |(s, t)| {
        let mut program = Declarations::new();
        let [x, y] = [&s, &s].map(|s| build(cx, &mut program, s, Style::Plain));
        let z = build(cx, &mut program, &t, Style::Plain);
        let state = RandomState::new();
        prop_assert_eq!(&x, &y);
        prop_assert_eq!(state.hash_one(&x), state.hash_one(&y));
        prop_assert_eq!(x.same(&y), F::IDENTITY || x.address() == y.address());
        prop_assert_eq!(x == z, x.data() == z.data());
        prop_assert_eq!(x.data().meta().unwrap(), x.meta());
        Ok(())
    });
}

/// a == a; a == b implies b == a; a == b and b == c imply a == c; a <: a; <: is transitive
fn equivalence_and_preorder<F: TypeFamily<Name = Name>>(cx: &F) {
    check(CASES, &(shapes(), any::<[u8; 2]>()), |(s, turns)| {
        let mut program = Declarations::new();
        let facts = facts(&mut program);
        let a = build(cx, &mut program, &s, Style::Plain);
        // Random types are rarely related, but types that differ only in lifetimes often are.
        let mut rotate_lifetimes = |ty: &Ty<F>, by: u8| {
            let names = ["'a", "'b", "'c"].map(|name| Name::Param(program.symbols.intern(name)));
            let to = [Region::param(names[0]), Region::param(names[1]), Region::Static];
            let lookup = |name| {
                let at = names.iter().position(|known| *known == name)?;
                Some(GenericArg::Region(to[(at + usize::from(by >> at)) % 3]))
            };
            replace_params(cx, ty, lookup).unwrap()
        };
        let b = rotate_lifetimes(&a, turns[0]);
        let c = rotate_lifetimes(&b, turns[1]);
        for variance in [Variance::Invariant, Variance::Covariant] {
            let related = |x: &Ty<F>, y: &Ty<F>| holds(cx, &program, &facts, variance, x, y);
            prop_assert!(related(&a, &a));
            prop_assert!(!(related(&a, &b) && related(&b, &c)) || related(&a, &c));
            if variance == Variance::Invariant {
                prop_assert_eq!(related(&a, &b), related(&b, &a));
            }
        }
        let sub = |x: &Ty<F>, y: &Ty<F>| holds(cx, &program, &facts, Variance::Covariant, x, y);
        let eq = holds(cx, &program, &facts, Variance::Invariant, &a, &b);
        prop_assert!(!eq || (sub(&a, &b) && sub(&b, &a)), "equal types are subtypes of each other");
        prop_assert_eq!(sub(&a, &b), holds(cx, &program, &facts, Variance::Contravariant, &b, &a));
        Ok(())
    });
}

/// a == b exactly if nf(a) and nf(b) are one term; nf(nf(a)) = nf(a); different spellings have one normal
/// form
fn equality_is_syntactic_on_normal_forms<F: TypeFamily<Name = Name>>(cx: &F) {
    let facts = RegionFacts::new();
    check(CASES, &(shapes(), shapes()), |(s, t)| {
        let mut program = Declarations::new();
        let a = build(cx, &mut program, &s, Style::Plain);
        let same = build(cx, &mut program, &s, Style::Roundabout);
        let other = build(cx, &mut program, &t, Style::Roundabout);
        let normal = |ty: &Ty<F>| normal_form(cx, ty).unwrap();
        prop_assert_eq!(normal(&normal(&a)), normal(&a));
        prop_assert_eq!(normal(&a), normal(&same));
        for b in [&same, &other] {
            let equal = holds(cx, &program, &facts, Variance::Invariant, &a, b);
            prop_assert_eq!(equal, normal(&a) == normal(b), "{:?} and {:?}", a, b);
        }
        Ok(())
    });
}

/// A type with free bound variables: the result of a function, without its binder.
fn opened<F: TypeFamily<Name = Name>>(cx: &F, program: &mut Declarations, shape: &Shape) -> Ty<F> {
    let wrapped = Shape::Fn(3, 2, vec![], Box::new(shape.clone()));
    output(&build(cx, program, &wrapped, Style::Plain))
}

fn output<F: TypeFamily<Name = Name>>(function: &Ty<F>) -> Ty<F> {
    match function.data() {
        TyData::Fn(function) => function.output().unwrap().clone(),
        other => panic!("a function is a function, not {other:?}"),
    }
}

/// Arguments for the binder that [`opened`] removes.
fn arguments<F: TypeFamily<Name = Name>>(
    cx: &F,
    program: &mut Declarations,
    shape: &Shape,
) -> Instantiation<F> {
    let ty = build(cx, program, shape, Style::Plain);
    let name = Name::Param(program.symbols.intern("'a"));
    Instantiation {
        regions: vec![Region::Static, Region::param(name), Region::Bound(BoundVar::new(0, 0))],
        types: vec![ty.clone(), ty],
        consts: vec![],
    }
}

/// t shifted by 0 is t; by m and n is by m + n; in and out again is t; t shifted by 1 and instantiated is t;
/// instantiating and shifting commute
fn shifting_and_substitution<F: TypeFamily<Name = Name>>(cx: &F) {
    check(CASES, &(shapes(), shapes(), 0..4u32, 0..4u32), |(s, arg, m, n)| {
        let mut program = Declarations::new();
        let t = opened(cx, &mut program, &s);
        let with = arguments(cx, &mut program, &arg);
        let shift = |t: &Ty<F>, by| shift_in(cx, t, by).unwrap();
        prop_assert_eq!(shift(&t, 0), t.clone());
        prop_assert_eq!(shift(&shift(&t, m), n), shift(&t, m + n));
        prop_assert_eq!(shift_out(cx, &shift(&t, n), n).unwrap(), t.clone());
        prop_assert_eq!(instantiate(cx, &shift(&t, 1), &with).unwrap(), t.clone());
        let shifted = Instantiation {
            regions: with.regions.iter().map(|r| shift_in(cx, r, n).unwrap()).collect(),
            types: with.types.iter().map(|t| shift(t, n)).collect(),
            consts: vec![],
        };
        // t has variables of one binder only, so shifting its surroundings is instantiating with shifted
        // arguments.
        prop_assert_eq!(
            shift(&instantiate(cx, &t, &with).unwrap(), n),
            instantiate(cx, &t, &shifted).unwrap()
        );
        if t.meta().is_closed() {
            prop_assert!(shift(&t, m).same(&t), "a closed term is not copied");
            prop_assert!(instantiate(cx, &t, &with).unwrap().same(&t), "a closed term is not copied");
        }
        Ok(())
    });
}

/// t[s][r] = t[r][s[r]]: a body under two binders, instantiated from the inside out or from the outside in
fn substitutions_compose<F: TypeFamily<Name = Name>>(cx: &F) {
    check(CASES, &(shapes(), shapes(), shapes()), |(s, inner, outer)| {
        let mut program = Declarations::new();
        let function = opened(cx, &mut program, &Shape::Fn(3, 2, vec![], Box::new(s)));
        let r = arguments(cx, &mut program, &outer);
        // The inner arguments may mention the outer binder's variables.
        let ty = opened(cx, &mut program, &inner);
        let regions =
            vec![Region::Bound(BoundVar::new(0, 2)), Region::Static, Region::Bound(BoundVar::new(0, 1))];
        let s = Instantiation { regions, types: vec![ty.clone(), ty], consts: vec![] };
        let s_of_r = Instantiation {
            regions: s.regions.iter().map(|region| instantiate(cx, region, &r).unwrap()).collect(),
            types: s.types.iter().map(|ty| instantiate(cx, ty, &r).unwrap()).collect(),
            consts: vec![],
        };
        let inside_out = instantiate(cx, &instantiate(cx, &output(&function), &s).unwrap(), &r).unwrap();
        let outside_in = instantiate(cx, &output(&instantiate(cx, &function, &r).unwrap()), &s_of_r).unwrap();
        prop_assert_eq!(inside_out, outside_in);
        Ok(())
    });
}

/// A fold that visits every part and changes nothing.
struct Identity<'c, F: TypeFamily>(&'c F, FoldState<F>);

impl<F: TypeFamily> Folder<F> for Identity<'_, F> {
    type Error = TermError;

    fn cx(&self) -> &F {
        self.0
    }

    fn state(&mut self) -> &mut FoldState<F> {
        &mut self.1
    }

    fn skip(&self, _meta: Meta) -> bool {
        false
    }
}

/// fold(id) gives the same node; fold(g) after fold(f) is fold(g after f)
fn folding<F: TypeFamily<Name = Name>>(cx: &F) {
    check(CASES, &(shapes(), shapes(), shapes()), |(s, f, g)| {
        let mut program = Declarations::new();
        let t = build(cx, &mut program, &s, Style::Plain);
        prop_assert!(t.try_fold_with(&mut Identity(cx, FoldState::default())).unwrap().same(&t));
        let [for_t, for_u] = [&f, &g].map(|shape| build(cx, &mut program, shape, Style::Plain));
        let [t_name, u_name] = ["T", "U"].map(|name| Name::Param(program.symbols.intern(name)));
        let first = |name| (name == t_name).then(|| GenericArg::Ty(for_t.clone()));
        let second = |name| (name == u_name).then(|| GenericArg::Ty(for_u.clone()));
        let after = |ty: &Ty<F>| replace_params(cx, ty, second).unwrap();
        let fused = |name| match first(name) {
            Some(GenericArg::Ty(ty)) => Some(GenericArg::Ty(after(&ty))),
            Some(GenericArg::Region(_) | GenericArg::Const(_)) | None => second(name),
        };
        prop_assert_eq!(
            after(&replace_params(cx, &t, first).unwrap()),
            replace_params(cx, &t, fused).unwrap()
        );
        Ok(())
    });
}

/// Replaces parts of a ground type by variables: the parts that the bits of `mask` select, in order of the
/// walk.
fn with_holes<F: TypeFamily<Name = Name>>(
    cx: &F,
    vars: &[Ty<F>],
    ty: &Ty<F>,
    mask: u64,
    seen: &mut Vec<(Ty<F>, usize)>,
    position: &mut u32,
) -> Ty<F> {
    *position += 1;
    let selected = mask.rotate_right(*position) & 7 == 0;
    if selected && ty.meta().is_closed() {
        // One variable per part, so that a solution exists.
        let known = seen.iter().find(|(part, _)| part == ty).map(|(_, var)| *var);
        let next = seen.len();
        let var = known.or((next < vars.len()).then_some(next));
        if let Some(var) = var {
            if known.is_none() {
                seen.push((ty.clone(), var));
            }
            return vars[var].clone();
        }
    }
    match ty.data() {
        TyData::Apply(app) => {
            let args: Vec<_> = app
                .args
                .iter()
                .map(|arg| match arg {
                    GenericArg::Ty(ty) => with_holes(cx, vars, ty, mask, seen, position).into(),
                    GenericArg::Region(_) | GenericArg::Const(_) => arg.clone(),
                })
                .collect();
            Ty::apply(cx, app.name, &args).unwrap()
        }
        _ => ty.clone(),
    }
}

/// eq(a, b) makes resolve(a) and resolve(b) one type (soundness); every common instance of a and b is an
/// instance of it (generality); resolving twice, and equating again, changes nothing (idempotence)
fn unification<F: TypeFamily<Name = Name>>(cx: &F) {
    check(CASES, &(shapes(), any::<[u64; 2]>()), |(s, masks)| {
        let mut program = Declarations::new();
        let ground = build(cx, &mut program, &Shape::Tuple(vec![s.clone(), s]), Style::Plain);
        let mut table = InferenceTable::new(cx.clone());
        let vars: Vec<Ty<F>> = (0..12).map(|_| table.new_ty_var().unwrap()).collect();
        let a = with_holes(cx, &vars[..6], &ground, masks[0], &mut vec![], &mut 0);
        let b = with_holes(cx, &vars[6..], &ground, masks[1], &mut vec![], &mut 0);
        let open = table.eq(&program, &a, &b);
        prop_assert_eq!(open, Ok(vec![]), "{:?} and {:?} have a common instance", a, b);
        let [x, y] = [&a, &b].map(|ty| table.resolve(ty).unwrap());
        prop_assert_eq!(normal_form(cx, &x).unwrap(), normal_form(cx, &y).unwrap());
        prop_assert_eq!(table.resolve(&x).unwrap(), x.clone());
        let before = table.canonicalize(&vars).unwrap().canonical;
        prop_assert_eq!(table.eq(&program, &a, &b), Ok(vec![]));
        prop_assert_eq!(table.canonicalize(&vars).unwrap().canonical, before);
        prop_assert_eq!(table.eq(&program, &x, &ground), Ok(vec![]), "the unifier is the most general one");
        Ok(())
    });
}

/// A rollback restores the table exactly after any operations; a failed relation rolls
/// back too
fn snapshots<F: TypeFamily<Name = Name>>(cx: &F) {
    check(CASES, &(shapes(), shapes(), any::<[u64; 2]>()), |(s, t, masks)| {
        let mut program = Declarations::new();
        let [s, t] = [s, t].map(|shape| build(cx, &mut program, &shape, Style::Plain));
        let mut table = InferenceTable::new(cx.clone());
        let vars: Vec<Ty<F>> = (0..8).map(|_| table.new_ty_var().unwrap()).collect();
        let _ = table.sub(&program, &vars[0], &vars[1]);
        let [a, b] = [(&s, masks[0]), (&t, masks[1])]
            .map(|(ty, mask)| with_holes(cx, &vars, ty, mask, &mut vec![], &mut 0));
        let before = format!("{table:?}");
        let snapshot = table.snapshot();
        let related = table.sub(&program, &a, &b).is_ok();
        table.new_region_var().unwrap();
        table.new_const_var().unwrap();
        let inner = table.snapshot();
        let _ = table.eq(&program, &vars[2], &s);
        table.commit(inner);
        table.rollback_to(snapshot);
        prop_assert_eq!(format!("{table:?}"), before.clone());
        if !related {
            prop_assert!(table.sub(&program, &a, &b).is_err());
            prop_assert_eq!(format!("{table:?}"), before);
        }
        Ok(())
    });
}

/// A variable of universe u is equal to a placeholder of universe v exactly when v <= u, directly or through
/// others
fn universes<F: TypeFamily<Name = Name>>(cx: &F) {
    check(64, &(0..4u32, 0..4u32, any::<bool>()), |(u, v, through)| {
        let program = Declarations::new();
        let mut table = InferenceTable::new(cx.clone());
        let universes: Vec<Universe> =
            (0..4).map(|i| if i == 0 { Universe::ROOT } else { table.new_universe().unwrap() }).collect();
        let var = table.new_ty_var_in(universes[u as usize]).unwrap();
        let placeholder = Placeholder { universe: universes[v as usize], id: PlaceholderId::Fresh(0) };
        let placeholder = Ty::new(cx, TyData::Placeholder(placeholder)).unwrap();
        let boxed = Ty::apply(cx, Name::Slice, &[placeholder.into()]).unwrap();
        let result = if through {
            let other = table.new_ty_var().unwrap();
            prop_assert_eq!(table.eq(&program, &var, &other), Ok(vec![]));
            table.eq(&program, &other, &boxed)
        } else {
            table.eq(&program, &var, &boxed)
        };
        prop_assert_eq!(result.is_ok(), v <= u);
        let escapes = matches!(result, Err(RelationError::Universe { .. }));
        prop_assert!(v <= u || escapes);
        Ok(())
    });
}

/// The canonical form does not depend on how variables are numbered; instantiating it and making it canonical
/// again gives it back
fn canonical_forms<F: TypeFamily<Name = Name>>(cx: &F) {
    check(CASES, &(shapes(), any::<u64>(), 1..6usize), |(s, mask, skip)| {
        let mut program = Declarations::new();
        let ty = build(cx, &mut program, &Shape::Tuple(vec![s.clone(), s]), Style::Plain);
        let mut table = InferenceTable::new(cx.clone());
        let mut vars = |skip: usize| -> Vec<Ty<F>> {
            (0..8 * skip).map(|_| table.new_ty_var().unwrap()).step_by(skip).collect()
        };
        let (first, mut second) = (vars(1), vars(skip));
        second.reverse();
        let [a, b] = [&first, &second].map(|vars| with_holes(cx, vars, &ty, mask, &mut vec![], &mut 0));
        let [x, y] = [&a, &b].map(|ty| table.canonicalize(ty).unwrap().canonical);
        prop_assert_eq!(&x, &y);
        let (again, fresh) = table.instantiate_canonical(&x).unwrap();
        prop_assert_eq!(fresh.len(), x.vars.len());
        prop_assert_eq!(table.canonicalize(&again).unwrap().canonical, x);
        prop_assert_eq!(table.eq(&program, &again, &a), Ok(vec![]));
        Ok(())
    });
}

/// An error relates to every type in both directions and taints the table; it causes no further error
fn errors_absorb<F: TypeFamily<Name = Name>>(cx: &F) {
    check(CASES, &shapes(), |s| {
        let mut program = Declarations::new();
        let ty = build(cx, &mut program, &s, Style::Plain);
        let mut reports: Vec<&str> = Vec::new();
        let proof = reports.report("there is something wrong");
        prop_assert_eq!(reports.len(), 1);
        let error = Ty::error(cx, proof);
        let list = Ty::apply(cx, Name::Slice, &[error.clone().into()]).unwrap();
        let other = Ty::apply(cx, Name::Slice, &[ty.clone().into()]).unwrap();
        for (a, b) in [(&error, &ty), (&ty, &error), (&list, &other), (&error, &error), (&list, &list)] {
            for variance in [Variance::Covariant, Variance::Contravariant, Variance::Invariant] {
                let mut table = InferenceTable::new(cx.clone());
                prop_assert_eq!(table.relate(&program, variance, a, b), Ok(vec![]));
                prop_assert_eq!(table.tainted(), Some(proof));
            }
        }
        let mut table = InferenceTable::new(cx.clone());
        let var = table.new_ty_var().unwrap();
        prop_assert_eq!(table.eq(&program, &var, &list), Ok(vec![]));
        prop_assert_eq!(table.tainted(), Some(proof));
        prop_assert_eq!(table.eq(&program, &var, &other), Ok(vec![]));
        Ok(())
    });
}

/// Converting to another family and back returns the term
fn conversion<F: TypeFamily<Name = Name>>(cx: &F) {
    check(CASES, &shapes(), |s| {
        let mut program = Declarations::new();
        let ty = build(cx, &mut program, &s, Style::Plain);
        let arena = Arena::new();
        let pool: Interned<'_> = Interned::new(&arena);
        let there = convert::convert_ty(&pool, &ty).unwrap();
        prop_assert_eq!(there.meta(), ty.meta());
        prop_assert_eq!(convert::convert_ty(cx, &there).unwrap(), ty);
        Ok(())
    });
}

/// For all types ts and lifetimes ls: witness(ls, ts) mentions none of ls; it depends neither on their names
/// nor on their order; witness({}, ts[ls := rs]) <: witness(ls, ts) for all rs, and the reverse holds without
/// occurrences of ls; witness(ks, ts) <: witness(ls, ts) for ks within ls.
fn witnesses<F: TypeFamily<Name = Name>>(cx: &F) {
    check(CASES, &(shapes(), shapes(), any::<[u8; 2]>()), |(s, t, turns)| {
        let mut program = Declarations::new();
        let facts = RegionFacts::new();
        let types = [&s, &t].map(|shape| build(cx, &mut program, shape, Style::Plain));
        let [a, b, c] = ["'a", "'b", "'c"].map(|name| Name::Param(program.symbols.intern(name)));
        let others = ["'p", "'q", "'r"].map(|name| Name::Param(program.symbols.intern(name)));
        let work = Name::Coroutine(program.symbols.intern("work"));
        let witness = |inside: &[Name], types: &[Ty<F>]| Ty::witness(cx, work, inside, types).unwrap();
        let renamed = |with: [Region<F>; 3]| {
            let lookup = |name| {
                let at = [a, b, c].iter().position(|own| *own == name)?;
                Some(GenericArg::Region(with[at]))
            };
            types.clone().map(|ty| replace_params(cx, &ty, lookup).unwrap())
        };
        let sub = |x: &Ty<F>, y: &Ty<F>| holds(cx, &program, &facts, Variance::Covariant, x, y);
        let all = witness(&[a, b, c], &types);

        let mentions = |ty: &Ty<F>| {
            let gone =
                replace_params(cx, ty, |name| [a, b, c].contains(&name).then_some(Region::Static.into()));
            gone.unwrap() != *ty
        };
        prop_assert!(!mentions(&all) && all.meta().is_closed(), "{:?}", all);
        prop_assert_eq!(&all, &witness(&[c, a, b], &types));
        prop_assert_eq!(&all, &witness(&others, &renamed(others.map(Region::param))));
        prop_assert_eq!(&normal_form(cx, &all).unwrap(), &all);

        let choice =
            |turn: u8| [Region::Static, Region::param(others[0]), Region::param(a)][usize::from(turn) % 3];
        let one = witness(&[], &renamed([choice(turns[0]), choice(turns[1]), choice(turns[0] / 3)]));
        prop_assert!(sub(&one, &all), "{:?} <: {:?}", one, all);
        prop_assert!(types.iter().any(mentions) || sub(&all, &one));
        let some = witness(&[b], &types);
        prop_assert!(sub(&some, &all) && sub(&witness(&[], &types), &some));
        Ok(())
    });
}

macro_rules! laws {
    ($($test:ident: $law:ident;)*) => {
        mod boxed {
            $(#[test]
            fn $test() {
                super::$law(&super::Boxed::new());
            })*
        }
        mod interned {
            $(#[test]
            fn $test() {
                let arena = super::Arena::new();
                super::$law(&super::Interned::new(&arena));
            })*
        }
    };
}

laws! {
    equal_terms_are_equal_handles: interning;
    equality_is_an_equivalence_and_subtyping_a_preorder: equivalence_and_preorder;
    equality_is_syntactic_equality_of_normal_forms: equality_is_syntactic_on_normal_forms;
    shifts_add_up_and_substitution_undoes_them: shifting_and_substitution;
    substitutions_compose_in_either_order: substitutions_compose;
    folds_preserve_identity_and_fuse: folding;
    unification_is_sound_general_and_idempotent: unification;
    snapshots_restore_everything: snapshots;
    variables_name_their_own_universe_and_earlier_ones: universes;
    canonical_forms_do_not_depend_on_numbering: canonical_forms;
    errors_absorb_and_taint: errors_absorb;
    witnesses_bind_their_lifetimes: witnesses;
    conversion_is_the_identity: conversion;
}
