//! Laws of the pool: interning, alpha-equivalence, constants, rendering, threads.

use std::sync::Arc;

use crate::support::random_types;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use typeloom_pool::{Descriptor, Idx, Pool, PoolError, RenderLimits, Sort, Tag};
use typeloom_testing::Random;

fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]))
}

#[test]
fn interning_a_returned_descriptor_gives_the_same_id() {
    let mut pool = Pool::new();
    let types = random_types(&mut Random(1), &mut pool, 200);
    for ty in types {
        let node = pool.get(ty);
        assert_eq!(pool.intern(&node), Ok(ty));
    }
}

#[test]
fn alpha_equivalent_schemes_are_one_type() {
    // A body over four variables, bound under a random permutation of positions, some of which stay unused.
    let strategy = (proptest::collection::vec(0..4usize, 1..6), Just([0u32, 1, 2, 3, 4, 5]).prop_shuffle());
    runner(300)
        .run(&strategy, |(uses, places)| {
            let mut pool = Pool::new();
            let mut build = |place: &dyn Fn(usize) -> u32, count: usize| {
                let params: Vec<Idx> =
                    uses.iter().map(|&at| pool.bound(0, place(at), Sort::Type).unwrap()).collect();
                let body = pool.function(&params, params[0]).unwrap();
                pool.scheme(&vec![Sort::Type; count], body).unwrap()
            };
            let straight = build(&|at| at as u32, 4);
            let renamed = build(&|at| places[at], 6);
            prop_assert_eq!(straight, renamed);
            Ok(())
        })
        .unwrap();
}

#[test]
fn schemes_over_sums_do_not_depend_on_the_names_of_their_variables() {
    let mut pool = Pool::new();
    let f32 = pool.primitive(Tag::F32).unwrap();
    let mut build = |n: u32, m: u32| {
        let [n, m] = [n, m].map(|place| pool.bound(0, place, Sort::Const).unwrap());
        let sum = pool.dim_add(&[n, m, m]).unwrap();
        let product = pool.dim_mul(&[n, m]).unwrap();
        let tensor = pool.tensor(f32, &[sum, product]).unwrap();
        pool.scheme(&[Sort::Const, Sort::Const], tensor).unwrap()
    };
    assert_eq!(build(0, 1), build(1, 0));
}

#[test]
fn a_scheme_without_uses_is_its_body_and_nested_binders_keep_their_variables() {
    let mut pool = Pool::new();
    let int = pool.primitive(Tag::Int).unwrap();
    assert_eq!(pool.scheme(&[Sort::Type], int), Ok(int));
    // forall T. list<forall U. T> is forall T. list<T>.
    let outer = pool.bound(1, 0, Sort::Type).unwrap();
    let inner = pool.scheme(&[Sort::Type], outer).unwrap();
    let list = pool.list(inner).unwrap();
    let scheme = pool.scheme(&[Sort::Type], list).unwrap();
    assert_eq!(pool.signature(scheme), "forall T. list<T>");
    let wrong = pool.scheme(&[Sort::Const], list);
    assert_eq!(wrong, Err(PoolError::VariableSort { expected: Sort::Const, found: Sort::Type }));
}

/// A constant as an expression tree, and its value under an assignment.
#[derive(Clone, Debug)]
enum Expr {
    Int(i64),
    Symbol(usize),
    Add(Box<Expr>, Box<Expr>),
    Mul(Box<Expr>, Box<Expr>),
    Div(Box<Expr>, i64),
    Mod(Box<Expr>, i64),
    Min(Box<Expr>, Box<Expr>),
    Max(Box<Expr>, Box<Expr>),
}

fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![(-9i64..9).prop_map(Expr::Int), (0..3usize).prop_map(Expr::Symbol)];
    leaf.prop_recursive(4, 24, 2, |inner| {
        let two = (inner.clone(), inner.clone()).prop_map(|(a, b)| (Box::new(a), Box::new(b)));
        let divisor = prop_oneof![-4i64..=-1, 1i64..=4];
        prop_oneof![
            two.clone().prop_map(|(a, b)| Expr::Add(a, b)),
            two.clone().prop_map(|(a, b)| Expr::Mul(a, b)),
            two.clone().prop_map(|(a, b)| Expr::Min(a, b)),
            two.prop_map(|(a, b)| Expr::Max(a, b)),
            (inner.clone(), divisor.clone()).prop_map(|(a, d)| Expr::Div(Box::new(a), d)),
            (inner, divisor).prop_map(|(a, d)| Expr::Mod(Box::new(a), d)),
        ]
    })
}

const SYMBOLS: [&str; 3] = ["N", "M", "K"];

fn build(pool: &mut Pool, expr: &Expr, flip: bool) -> Result<Idx, PoolError> {
    let two = |pool: &mut Pool, a: &Expr, b: &Expr| -> Result<[Idx; 2], PoolError> {
        let (a, b) = if flip { (b, a) } else { (a, b) };
        Ok([build(pool, a, flip)?, build(pool, b, flip)?])
    };
    match expr {
        Expr::Int(value) => pool.dim_const(*value),
        Expr::Symbol(at) => pool.dim_symbol(SYMBOLS[*at]),
        Expr::Add(a, b) => two(pool, a, b).and_then(|two| pool.dim_add(&two)),
        Expr::Mul(a, b) => two(pool, a, b).and_then(|two| pool.dim_mul(&two)),
        Expr::Min(a, b) => two(pool, a, b).and_then(|two| pool.dim_min(&two)),
        Expr::Max(a, b) => two(pool, a, b).and_then(|two| pool.dim_max(&two)),
        Expr::Div(a, d) => {
            let (a, d) = (build(pool, a, flip)?, pool.dim_const(*d)?);
            pool.dim_floor_div(a, d)
        }
        Expr::Mod(a, d) => {
            let (a, d) = (build(pool, a, flip)?, pool.dim_const(*d)?);
            pool.dim_mod(a, d)
        }
    }
}

fn value(expr: &Expr, symbols: &[i128; 3]) -> i128 {
    let floor = |a: i128, d: i64| (a - a.rem_euclid(i128::from(d).abs())) / i128::from(d).abs();
    match expr {
        Expr::Int(value) => i128::from(*value),
        Expr::Symbol(at) => symbols[*at],
        Expr::Add(a, b) => value(a, symbols) + value(b, symbols),
        Expr::Mul(a, b) => value(a, symbols) * value(b, symbols),
        Expr::Min(a, b) => value(a, symbols).min(value(b, symbols)),
        Expr::Max(a, b) => value(a, symbols).max(value(b, symbols)),
        Expr::Div(a, d) => floor(if *d < 0 { -value(a, symbols) } else { value(a, symbols) }, *d),
        Expr::Mod(a, d) => {
            let a = value(a, symbols);
            let quotient = floor(if *d < 0 { -a } else { a }, *d);
            a - quotient * i128::from(*d)
        }
    }
}

/// Value of an interned constant, computed from its description.
fn value_of(pool: &Pool, dim: Idx, symbols: &[i128; 3]) -> i128 {
    use typeloom_pool::ConstDescriptor as C;
    let Descriptor::Const(constant) = pool.get(dim) else { panic!("not a constant") };
    let of = |dim: Idx| value_of(pool, dim, symbols);
    let floor = |a: i128, b: i128| a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0);
    match constant {
        C::Int(value) => i128::from(value),
        C::Symbol(name) => symbols[SYMBOLS.iter().position(|symbol| *symbol == name).unwrap()],
        C::Sum { constant, terms } => {
            i128::from(constant) + terms.into_iter().map(|(c, m)| i128::from(c) * of(m)).sum::<i128>()
        }
        C::Product(factors) => factors.into_iter().map(of).product(),
        C::FloorDiv(a, b) => floor(of(a), of(b)),
        C::Mod(a, b) => of(a) - floor(of(a), of(b)) * of(b),
        C::Min(of_them) => of_them.into_iter().map(of).min().unwrap(),
        C::Max(of_them) => of_them.into_iter().map(of).max().unwrap(),
        C::Unknown => panic!("nothing is unknown here"),
    }
}

#[test]
fn constants_keep_their_value_and_do_not_depend_on_the_order_of_operands() {
    runner(400)
        .run(&(expr(), [1..9i64, 1..9i64, 1..9i64]), |(expr, symbols)| {
            let symbols = symbols.map(i128::from);
            let mut pool = Pool::new();
            match build(&mut pool, &expr, false) {
                Ok(dim) => {
                    prop_assert_eq!(value_of(&pool, dim, &symbols), value(&expr, &symbols));
                    prop_assert_eq!(build(&mut pool, &expr, true), Ok(dim));
                    let mut other = Pool::new();
                    let flipped = build(&mut other, &expr, true).unwrap();
                    prop_assert_eq!(other.digest(flipped), pool.digest(dim));
                    prop_assert_eq!(other.signature(flipped), pool.signature(dim));
                }
                Err(error) => {
                    prop_assert!(matches!(error, PoolError::ConstOverflow | PoolError::ConstTooLarge));
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn equal_polynomials_are_one_constant() {
    let mut pool = Pool::new();
    let [n, m] = SYMBOLS[..2].iter().map(|name| pool.dim_symbol(name).unwrap()).collect::<Vec<_>>()[..]
    else {
        panic!("two symbols")
    };
    let one = pool.dim_const(1).unwrap();
    let sum = pool.dim_add(&[n, m]).unwrap();
    let square = pool.dim_mul(&[sum, sum]).unwrap();
    let nn = pool.dim_mul(&[n, n]).unwrap();
    let mm = pool.dim_mul(&[m, m]).unwrap();
    let nm = pool.dim_mul(&[m, n]).unwrap();
    let twice = pool.dim_scale(2, nm).unwrap();
    assert_eq!(pool.dim_add(&[nn, mm, twice]), Ok(square));
    let back = pool.dim_scale(-1, n).unwrap();
    assert_eq!(pool.dim_add(&[sum, back]), Ok(m));
    let four = pool.dim_const(4).unwrap();
    let scaled = pool.dim_scale(4, sum).unwrap();
    assert_eq!(pool.dim_floor_div(scaled, four), Ok(sum));
    let zero = pool.dim_const(0).unwrap();
    assert_eq!(pool.dim_mod(scaled, four), Ok(zero));
    assert_eq!(pool.dim_floor_div(n, zero), Err(PoolError::DivisionByZero));
    let unknown = pool.dim_unknown().unwrap();
    let minus = pool.dim_scale(-1, unknown).unwrap();
    assert_eq!(pool.dim_add(&[unknown, minus]), Ok(unknown));
    let next = pool.dim_add(&[n, one]).unwrap();
    assert_eq!(pool.signature(next), "N + 1");
}

#[test]
fn ill_formed_types_are_refused() {
    let mut pool = Pool::new();
    let int = pool.primitive(Tag::Int).unwrap();
    let n = pool.dim_symbol("N").unwrap();
    let wrong = PoolError::WrongSort { tag: Tag::List, expected: Sort::Type, found: Sort::Const };
    assert_eq!(pool.list(n), Err(wrong));
    assert!(matches!(pool.primitive(Tag::List), Err(PoolError::WrongTag { .. })));
    assert!(matches!(pool.tensor(int, &[int]), Err(PoolError::WrongSort { .. })));
    assert!(matches!(pool.name(""), Err(PoolError::Name(_))));
    let mut larger = Pool::new();
    let mut last = larger.primitive(Tag::Int).unwrap();
    for _ in 0..10 {
        last = larger.list(last).unwrap();
    }
    assert_eq!(pool.list(last), Err(PoolError::UnknownType(last)));
    let name = pool.name("D").unwrap();
    let declared = pool.declared(name, &[Sort::Type], int).unwrap();
    let error = PoolError::ArgumentCount { expected: 1, found: 0 };
    assert_eq!(error.to_string(), "the declaration takes 1 argument and was given 0");
    assert_eq!(pool.instance(declared, &[]), Err(error));
    assert!(matches!(pool.instance(declared, &[n]), Err(PoolError::ArgumentSort { position: 0, .. })));
    assert!(matches!(pool.bound(200, 0, Sort::Type), Err(PoolError::TooManyBinders)));
}

#[test]
fn the_five_kinds_of_names_are_five_types() {
    let mut pool = Pool::new();
    let name = pool.name("Widget").unwrap();
    let unit = pool.primitive(Tag::Unit).unwrap();
    let types = [
        pool.opaque(name).unwrap(),
        pool.named(name).unwrap(),
        pool.rigid(name).unwrap(),
        pool.applied(name, &[]).unwrap(),
        pool.declared(name, &[], unit).unwrap(),
    ];
    let digests: std::collections::HashSet<_> = types.iter().map(|&ty| pool.digest(ty).unwrap()).collect();
    assert_eq!(digests.len(), 5);
}

#[test]
fn signatures_and_trees_stay_within_their_limits() {
    let mut pool = Pool::new();
    let types = random_types(&mut Random(12), &mut pool, 300);
    let limits = RenderLimits { bytes: 60, lines: 7, depth: 5 };
    for ty in types {
        let name_room = 200;
        assert!(pool.signature_within(ty, &limits).len() < limits.bytes + name_room);
        assert!(pool.tree_within(ty, &limits).lines().count() <= limits.lines + 2);
    }
}

#[test]
fn a_tree_shows_shared_types_once() {
    let mut pool = Pool::new();
    let int = pool.primitive(Tag::Int).unwrap();
    let list = pool.list(int).unwrap();
    let pair = pool.function(&[list, list], int).unwrap();
    assert_eq!(pool.tree(pair), "function\n  0: list\n    int\n  1: list (see line 2)\n  returns: int\n");
}

#[test]
fn a_frozen_pool_is_read_from_many_threads() {
    let mut pool = Pool::new();
    let types = random_types(&mut Random(9), &mut pool, 100);
    let expected: Vec<_> = types.iter().map(|&ty| (pool.signature(ty), pool.describe(ty).unwrap())).collect();
    let frozen = Arc::new(pool.freeze());
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (frozen, types) = (Arc::clone(&frozen), types.clone());
            std::thread::spawn(move || {
                types
                    .iter()
                    .map(|&ty| (frozen.signature(ty), frozen.describe(ty).unwrap()))
                    .collect::<Vec<_>>()
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), expected);
    }
}

#[test]
fn a_shared_pool_gives_all_threads_the_same_ids() {
    let shared = typeloom_pool::SharedPool::new(Pool::new());
    let results: Vec<Vec<Idx>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut ids = vec![shared.intern(&Descriptor::Primitive(Tag::Int)).unwrap()];
                    for _ in 0..200 {
                        let child = ids[ids.len() - 1];
                        ids.push(shared.intern(&Descriptor::Container { tag: Tag::List, child }).unwrap());
                    }
                    ids
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(shared.read(Pool::len), 201);
}

#[test]
fn quotients_and_remainders_at_the_ends_of_the_range_are_exact_or_refused() {
    let mut pool = Pool::new();
    let n = pool.dim_symbol("n").unwrap();
    let [least, minus_one, zero] = [i64::MIN, -1, 0].map(|value| pool.dim_const(value).unwrap());
    let lots = pool.dim_mul(&[least, n]).unwrap();
    for dividend in [least, lots] {
        assert_eq!(pool.dim_mod(dividend, minus_one), Ok(zero));
        assert_eq!(pool.dim_floor_div(dividend, minus_one), Err(PoolError::ConstOverflow));
    }
    for (value, by, rest) in [(7, -2, -1), (-7, 2, 1), (-7, -2, -1), (7, i64::MIN, i64::MIN + 7)] {
        let [value, by, rest] = [value, by, rest].map(|value| pool.dim_const(value).unwrap());
        assert_eq!(pool.dim_mod(value, by), Ok(rest));
    }
}
