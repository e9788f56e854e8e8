//! Types: terms of both families, and pools.

use std::hint::black_box;

use typeloom_bench_families::pool::{Calls, interface, names_in, plan, pool_calls, shuffled};
use typeloom_bench_families::term::{bound, leaf, pair, tree};
use typeloom_pool::{Bundle, Idx, ImportLimits, Pool};
use typeloom_term::program::NoProgram;
use typeloom_term::subst::{Instantiation, instantiate, shift_in};
use typeloom_term::{Arena, Boxed, InferenceTable, Interned, Name, Symbol, Symbols, Ty, TypeFamily};

use super::{Family, Work, linear};

pub(super) const FAMILIES: &[Family] = &[
    linear("term/build, boxed", "leaves", 200, |size| built(&Boxed::new(), size)),
    // The table of terms doubles once at this size, and once at ten times that.
    linear("term/build, interned", "leaves", 230, |size| built(&interned(), size)),
    linear("term/equal, boxed", "leaves", 200, |size| equal(&Boxed::new(), size)),
    linear("term/shift, boxed", "leaves", 200, |size| shifted(&Boxed::new(), size)),
    linear("term/substitute, boxed", "leaves", 200, |size| substituted(&Boxed::new(), size)),
    linear("term/substitute, interned", "leaves", 200, |size| substituted(&interned(), size)),
    linear("term/unify, boxed", "variables", 200, |size| unified(&Boxed::new(), size)),
    linear("term/unify, interned", "variables", 200, |size| unified(&interned(), size)),
    linear("pool/new", "types", 200, |size| {
        let plan = plan(size);
        let (calls, mut ids) = (pool_calls(&plan), Vec::with_capacity(size));
        Box::new(move || {
            let mut pool = Pool::new();
            names_in(&plan, &mut pool);
            calls.run(&mut pool, &mut ids);
            black_box(&ids);
        })
    }),
    linear("pool/known", "types", 200, |size| {
        let Filled { mut pool, calls, mut ids } = filled(size);
        Box::new(move || calls.run(&mut pool, &mut ids))
    }),
    linear("pool/known in any order", "types", 200, |size| {
        let Filled { mut pool, calls, mut ids } = filled(size);
        let order = shuffled(ids.len());
        Box::new(move || calls.run_in(&order, &mut pool, &mut ids))
    }),
    linear("pool/digests", "types", 200, |size| {
        let Filled { mut pool, .. } = filled(size);
        Box::new(move || pool.compute_all_digests())
    }),
    linear("pool/describe", "types", 200, |size| {
        let Filled { pool, ids, .. } = filled(size);
        Box::new(move || drop(black_box(pool.describe_all(&ids).expect("the types are portable"))))
    }),
    linear("bundle/encode", "types", 200, |size| {
        let mut filled = filled(size);
        let (labels, roots) = interface(&mut filled.pool, &filled.ids);
        Box::new(move || drop(black_box(exported(&mut filled.pool, &labels, &roots))))
    }),
    linear("bundle/verify and decode", "types", 200, |size| {
        let bundle = bundle(size);
        Box::new(move || drop(black_box(Pool::new().import(bundle.as_bytes()).expect(BUNDLE))))
    }),
    linear("bundle/decode known types", "types", 200, |size| {
        let (bundle, mut pool) = (bundle(size), filled(size).pool);
        Box::new(move || drop(black_box(pool.import(bundle.as_bytes()).expect(BUNDLE))))
    }),
    linear("bundle/to JSON", "types", 200, |size| {
        let bundle = bundle(size);
        Box::new(move || drop(black_box(bundle.to_json().expect(BUNDLE))))
    }),
    linear("bundle/from JSON", "types", 200, |size| {
        let json = bundle(size).to_json().expect(BUNDLE);
        Box::new(move || drop(black_box(Bundle::from_json(&json, &ImportLimits::default()).expect(BUNDLE))))
    }),
];

const BUNDLE: &str = "the bundle is valid";
const SHALLOW: &str = "the tree is not deep";

/// A family of interned terms. Its arena exists until the process ends.
fn interned() -> Interned<'static> {
    Interned::new(Box::leak(Box::new(Arena::new())))
}

/// Different leaves, and the name of their pairs.
fn leaves<F: TypeFamily<Name = Name>>(cx: &F, size: usize) -> (Vec<Ty<F>>, Symbol) {
    let mut symbols = Symbols::new();
    let name = symbols.intern("Pair");
    let unit = leaf(cx);
    let leaves = (0..size).map(|at| pair(cx, symbols.intern(&format!("P{at}")), &unit, &unit));
    (leaves.collect(), name)
}

fn wide<F: TypeFamily<Name = Name>>(cx: &F, size: usize) -> Ty<F> {
    let (leaves, name) = leaves(cx, size);
    tree(leaves, |a, b| pair(cx, name, a, b))
}

fn built<F: TypeFamily<Name = Name> + 'static>(cx: &F, size: usize) -> Work {
    let (leaves, name) = leaves(cx, size);
    let cx = cx.clone();
    Box::new(move || drop(black_box(tree(leaves.clone(), |a, b| pair(&cx, name, a, b)))))
}

fn equal<F: TypeFamily<Name = Name> + 'static>(cx: &F, size: usize) -> Work {
    let (a, b) = (wide(cx, size), wide(cx, size));
    Box::new(move || assert!(black_box(&a) == black_box(&b)))
}

fn shifted<F: TypeFamily<Name = Name> + 'static>(cx: &F, size: usize) -> Work {
    let (cx, open) = (cx.clone(), open(cx, size));
    Box::new(move || drop(black_box(shift_in(&cx, black_box(&open), 1).expect(SHALLOW))))
}

/// A tree of two bound variables.
fn open<F: TypeFamily<Name = Name>>(cx: &F, size: usize) -> Ty<F> {
    let name = Symbols::new().intern("Pair");
    tree((0..size).map(|at| bound(cx, at as u32 % 2)).collect(), |a, b| pair(cx, name, a, b))
}

fn substituted<F: TypeFamily<Name = Name> + 'static>(cx: &F, size: usize) -> Work {
    let (cx, open, unit) = (cx.clone(), open(cx, size), leaf(cx));
    let with = Instantiation { types: vec![unit.clone(), unit], ..Instantiation::default() };
    Box::new(move || drop(black_box(instantiate(&cx, black_box(&open), &with).expect(SHALLOW))))
}

fn unified<F: TypeFamily<Name = Name> + 'static>(cx: &F, size: usize) -> Work {
    let (name, unit) = (Symbols::new().intern("Pair"), leaf(cx));
    let mut table = InferenceTable::new(cx.clone());
    let variables = (0..size).map(|_| table.new_ty_var().expect("there are few variables")).collect();
    let variables = tree(variables, |a, b| pair(cx, name, a, b));
    let ground = tree(vec![unit; size], |a, b| pair(cx, name, a, b));
    Box::new(move || {
        let open = table.eq(&NoProgram, &variables, &ground).expect("variables are equal to any type");
        assert!(open.is_empty());
    })
}

/// A pool with all types of a plan.
struct Filled {
    pool: Pool,
    calls: Calls<Pool>,
    ids: Vec<Idx>,
}

fn filled(size: usize) -> Filled {
    let plan = plan(size);
    let (calls, mut pool, mut ids) = (pool_calls(&plan), Pool::new(), Vec::new());
    names_in(&plan, &mut pool);
    calls.run(&mut pool, &mut ids);
    Filled { pool, calls, ids }
}

fn exported(pool: &mut Pool, labels: &[String], roots: &[Idx]) -> Bundle {
    let labelled: Vec<(&str, Idx)> = labels.iter().map(String::as_str).zip(roots.iter().copied()).collect();
    pool.export(&labelled).expect("the types are portable")
}

fn bundle(size: usize) -> Bundle {
    let Filled { mut pool, ids, .. } = filled(size);
    let (labels, roots) = interface(&mut pool, &ids);
    exported(&mut pool, &labels, &roots)
}
