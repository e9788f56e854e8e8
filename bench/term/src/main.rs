//! Compares terms with `chalk-ir` and `polytype` on the same operations in one run. Ratios are meaningful,
//! absolute times are not.
//!
//! Promises: the boxed family takes at most the time of `chalk-ir`, the interned family at most the time of
//! the faster of both libraries.

mod chalk;

use chalk::Reference;
use chalk_ir::fold::Shift;
use polytype::Type;
use std::hint::black_box;
use std::time::Instant;
use typeloom_bench_families::term::{bound, leaf, pair, tree};
use typeloom_term::program::NoProgram;
use typeloom_term::subst::{Instantiation, instantiate, shift_in};
use typeloom_term::{Arena, Boxed, InferenceTable, Interned, Name, Symbol, Symbols, TypeFamily};

/// Nanoseconds per call: the best of several samples of `repeat` calls, each on a fresh `prepare`.
fn best<S, R>(repeat: usize, mut prepare: impl FnMut() -> S, mut run: impl FnMut(&mut S, usize) -> R) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..15 {
        let mut state = prepare();
        let start = Instant::now();
        for i in 0..repeat {
            black_box(run(&mut state, i));
        }
        best = best.min(start.elapsed().as_nanos() as f64 / repeat as f64);
    }
    best
}

struct Row {
    what: &'static str,
    boxed: Option<f64>,
    interned: Option<f64>,
    chalk: Option<f64>,
    polytype: Option<f64>,
}

const LEAVES: usize = 1024;

#[derive(Default)]
struct Times {
    repeated: f64,
    fresh: f64,
    equal: f64,
    shift: f64,
    substitute: f64,
    substitute_shared: f64,
    unify_pair: f64,
    unify_tree: f64,
}

fn measure<F: TypeFamily<Name = Name>>(cx: &F, symbols: &mut Symbols) -> Times {
    let name = symbols.intern("Pair");
    let names: Vec<Symbol> = (0..20_000).map(|i| symbols.intern(&format!("P{i}"))).collect();
    let unit = leaf(cx);
    let repeated = best(10_000, || pair(cx, name, &unit, &unit), |_, _| pair(cx, name, &unit, &unit));
    let mut times = Times { repeated, ..Times::default() };
    let mut round = 0;
    times.fresh = best(
        20_000,
        || {
            // Different children in every sample, so that every node is new. The first sample has the
            // children that the other libraries get.
            round += 1;
            let mut ty = leaf(cx);
            for _ in 0..round {
                ty = pair(cx, name, &ty, &unit);
            }
            ty
        },
        |ty, i| pair(cx, names[i], ty, ty),
    );
    let wide =
        || tree((0..LEAVES).map(|i| pair(cx, names[i], &unit, &unit)).collect(), |a, b| pair(cx, name, a, b));
    let (a, b) = (wide(), wide());
    times.equal = best(1000, || (), |(), _| black_box(&a) == black_box(&b));
    times.shift = best(10_000, || (), |(), _| shift_in(cx, black_box(&a), 1).is_ok());
    let open = tree((0..LEAVES).map(|i| bound(cx, i as u32 % 2)).collect(), |a, b| pair(cx, name, a, b));
    let shared = (0..10).fold(bound(cx, 0), |ty, _| pair(cx, name, &ty, &ty));
    let with = Instantiation { types: vec![unit.clone(), unit.clone()], ..Instantiation::default() };
    times.substitute = best(50, || (), |(), _| instantiate(cx, black_box(&open), &with).is_ok());
    times.substitute_shared = best(1000, || (), |(), _| instantiate(cx, black_box(&shared), &with).is_ok());
    times.unify_pair = best(
        1000,
        || {
            let mut table = InferenceTable::new(cx.clone());
            let vars: Vec<_> = (0..100_000).filter_map(|_| table.new_ty_var().ok()).collect();
            let both = |i: usize| (pair(cx, name, &vars[i], &unit), pair(cx, name, &unit, &vars[50_000 + i]));
            (table, (0..1000).map(both).collect::<Vec<_>>())
        },
        |(table, pairs), i| table.eq(&NoProgram, &pairs[i].0, &pairs[i].1).is_ok(),
    );
    times.unify_tree = best(
        1,
        || {
            let mut table = InferenceTable::new(cx.clone());
            let vars: Vec<_> = (0..LEAVES).filter_map(|_| table.new_ty_var().ok()).collect();
            let ground = tree(vec![unit.clone(); LEAVES], |a, b| pair(cx, name, a, b));
            (table, tree(vars, |a, b| pair(cx, name, a, b)), ground)
        },
        |(table, open, ground), _| table.eq(&NoProgram, open, ground).is_ok(),
    );
    times
}

fn measure_chalk() -> Times {
    let i = Reference;
    let unit = chalk::adt(0, &[]);
    let pair = |id: u32, a: &chalk_ir::Ty<Reference>, b: &chalk_ir::Ty<Reference>| {
        chalk::adt(id, &[a.clone(), b.clone()])
    };
    let wide = || tree((0..LEAVES).map(|i| pair(i as u32, &unit, &unit)).collect(), |a, b| pair(1, a, b));
    let (a, b) = (wide(), wide());
    let open = tree((0..LEAVES).map(|i| chalk::bound(i % 2)).collect(), |a, b| pair(1, a, b));
    let shared = (0..10).fold(chalk::bound(0), |ty, _| pair(1, &ty, &ty));
    let args = chalk_ir::Substitution::from_iter(
        i,
        [&unit, &unit].map(|ty| chalk_ir::GenericArgData::Ty(ty.clone()).intern(i)),
    );
    Times {
        repeated: best(10_000, || (), |(), _| pair(1, &unit, &unit)),
        fresh: best(10_000, || pair(1, &unit, &unit), |ty, i| pair(i as u32, ty, ty)),
        equal: best(100, || (), |(), _| black_box(&a) == black_box(&b)),
        shift: best(100, || (), |(), _| black_box(&a).clone().shifted_in(i)),
        substitute: best(50, || (), |(), _| args.apply(black_box(&open).clone(), i)),
        substitute_shared: best(50, || (), |(), _| args.apply(black_box(&shared).clone(), i)),
        ..Times::default()
    }
}

fn measure_polytype() -> Times {
    let unit: Type = Type::Constructed("bool", vec![]);
    let pair = |a: &Type, b: &Type| Type::Constructed("Pair", vec![a.clone(), b.clone()]);
    let wide = || tree(vec![unit.clone(); LEAVES], pair);
    let (a, b) = (wide(), wide());
    let open = tree((0..LEAVES).map(|i| Type::Variable(i % 2)).collect(), pair);
    let with: std::collections::HashMap<usize, Type> = (0..2).map(|i| (i, unit.clone())).collect();
    Times {
        repeated: best(10_000, || (), |(), _| pair(&unit, &unit)),
        fresh: best(10_000, || pair(&unit, &unit), |ty, _| pair(ty, ty)),
        equal: best(100, || (), |(), _| black_box(&a) == black_box(&b)),
        shift: 0.0,
        substitute: best(20, || (), |(), _| black_box(&open).substitute(&with)),
        substitute_shared: best(20, || (), |(), _| black_box(&open).substitute(&with)),
        unify_pair: best(
            1000,
            || {
                let mut context = polytype::Context::default();
                let vars: Vec<Type> = (0..100_000).map(|_| context.new_variable()).collect();
                let both = |i: usize| (pair(&vars[i], &unit), pair(&unit, &vars[50_000 + i]));
                (context, (0..1000).map(both).collect::<Vec<_>>())
            },
            |(context, pairs), i| context.unify(&pairs[i].0, &pairs[i].1).is_ok(),
        ),
        unify_tree: best(
            1,
            || {
                let mut context = polytype::Context::default();
                let vars: Vec<Type> = (0..LEAVES).map(|_| context.new_variable()).collect();
                (context, tree(vars, pair), tree(vec![unit.clone(); LEAVES], pair))
            },
            |(context, open, ground), _| context.unify(open, ground).is_ok(),
        ),
    }
}

/// Bytes per distinct pair in the interned family: arena and table together.
fn bytes_per_node(symbols: &mut Symbols) -> f64 {
    const NODES: usize = 200_000;
    let arena = Arena::new();
    let cx = Interned::new(&arena);
    let unit = leaf(&cx);
    let names: Vec<Symbol> = (0..NODES).map(|i| symbols.intern(&format!("P{i}"))).collect();
    let (arena_before, table_before) = (arena.used_bytes(), cx.table_bytes());
    for name in names {
        black_box(pair(&cx, name, &unit, &unit));
    }
    let used = arena.used_bytes() - arena_before + cx.table_bytes() - table_before;
    used as f64 / NODES as f64
}

/// Repeats one row of the boxed family for a profiler or for counting instructions: `-- substitute 1000`.
fn repeat(phase: &str, rounds: usize) {
    let cx = Boxed::new();
    let name = Symbols::new().intern("Pair");
    let open = tree((0..LEAVES).map(|i| bound(&cx, i as u32 % 2)).collect(), |a, b| pair(&cx, name, a, b));
    let unit = leaf(&cx);
    let with = Instantiation { types: vec![unit.clone(), unit.clone()], ..Instantiation::default() };
    let ground = tree(vec![unit.clone(); LEAVES], |a, b| pair(&cx, name, a, b));
    let mut table = InferenceTable::new(cx);
    let vars: Vec<_> = (0..LEAVES).filter_map(|_| table.new_ty_var().ok()).collect();
    let variables = tree(vars, |a, b| pair(&cx, name, a, b));
    for _ in 0..rounds {
        match phase {
            "substitute" => {
                black_box(instantiate(&cx, black_box(&open), &with).is_ok());
            }
            "unify" => {
                let snapshot = table.snapshot();
                black_box(table.eq(&NoProgram, &variables, &ground).is_ok());
                table.rollback_to(snapshot);
            }
            _ => panic!("phases: substitute unify repeated fresh"),
        }
    }
}

/// Repeats the construction of pairs in the interned family: `-- repeated 1000` or `-- fresh 1000`. A round
/// is 10,000 pairs.
fn repeat_pairs(phase: &str, rounds: usize) {
    const PAIRS: usize = 10_000;
    let mut symbols = Symbols::new();
    let names: Vec<Symbol> = (0..PAIRS).map(|i| symbols.intern(&format!("P{i}"))).collect();
    let arena = Arena::new();
    let cx = Interned::new(&arena);
    let unit = leaf(&cx);
    let mut ty = unit;
    for _ in 0..rounds {
        if phase == "fresh" {
            ty = pair(&cx, names[0], &ty, &ty);
        }
        for name in &names {
            black_box(pair(&cx, if phase == "fresh" { *name } else { names[0] }, &ty, &unit));
        }
    }
}

fn main() {
    if let Some(phase) = std::env::args().nth(1) {
        let rounds = std::env::args().nth(2).and_then(|rounds| rounds.parse().ok()).unwrap_or(20_000);
        return match &*phase {
            "fresh" | "repeated" => repeat_pairs(&phase, rounds),
            _ => repeat(&phase, rounds),
        };
    }
    let mut symbols = Symbols::new();
    let boxed = measure(&Boxed::new(), &mut symbols);
    let arena = Arena::new();
    let interned = measure(&Interned::new(&arena), &mut symbols);
    let chalk = measure_chalk();
    let polytype = measure_polytype();
    let row = |what, of: fn(&Times) -> f64| {
        let some = |time: f64| (time > 0.0).then_some(time);
        Row {
            what,
            boxed: some(of(&boxed)),
            interned: some(of(&interned)),
            chalk: some(of(&chalk)),
            polytype: some(of(&polytype)),
        }
    };
    let rows = [
        row("a repeated pair", |t| t.repeated),
        row("a new pair of pairs", |t| t.fresh),
        row("equality of two 1024-leaf trees", |t| t.equal),
        row("shifting a closed 1024-leaf tree", |t| t.shift),
        row("substitution in a 1024-leaf tree", |t| t.substitute),
        row("substitution in a shared 1024-leaf tree", |t| t.substitute_shared),
        row("unifying a small pair, 100k variables", |t| t.unify_pair),
        row("unifying a tree of 1024 variables", |t| t.unify_tree),
    ];
    let show = |time: Option<f64>| time.map_or("-".to_owned(), |ns| format!("{ns:.1}"));
    println!(
        "{:<42} {:>10} {:>10} {:>10} {:>10} {:>8}",
        "ns", "boxed", "interned", "chalk-ir", "polytype", "ratio"
    );
    let mut broken = Vec::new();
    for Row { what, boxed, interned, chalk, polytype } in rows {
        let ours = boxed.into_iter().chain(interned).fold(f64::INFINITY, f64::min);
        let theirs = chalk.into_iter().chain(polytype).fold(f64::INFINITY, f64::min);
        println!(
            "{what:<42} {:>10} {:>10} {:>10} {:>10} {:>7.1}x",
            show(boxed),
            show(interned),
            show(chalk),
            show(polytype),
            theirs / ours
        );
        let promise = |family: &str, time: Option<f64>, other: Option<f64>| match (time, other) {
            (Some(time), Some(other)) if time > other => {
                vec![format!("{what}, {family}: {time:.1} ns, at most {other:.1} promised")]
            }
            _ => vec![],
        };
        broken.extend(promise("boxed", boxed, chalk));
        broken.extend(promise("interned", interned, Some(theirs)));
    }
    println!("{} promises broken", broken.len());
    broken.iter().for_each(|promise| println!("  {promise}"));
    println!("bytes of a distinct pair, interned: {:.1} (target 80)", bytes_per_node(&mut symbols));
}
