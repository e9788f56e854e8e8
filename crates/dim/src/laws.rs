//! The laws of dims, compared with plain integer arithmetic.
//!
//! A random expression is built twice: as a dim, and as a tree that is evaluated with 128-bit integers. Every
//! claim about the dim (its value, its bounds, a comparison, a solution) is then checked on a grid of values
//! of the symbols.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use typeloom_testing::number;

use crate::arena::{Dims, Kind};
use crate::id::DimId;
use crate::{Bind, Decision, Solved};

pub(crate) const NAMES: [&str; 3] = ["a", "b", "c"];

/// Values of the three symbols.
pub(crate) type Values = [i128; 3];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Add,
    Sub,
    Mul,
    FloorDiv,
    CeilDiv,
    Modulo,
    Min,
    Max,
}

#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Constant(i64),
    Symbol(usize),
    Binary(Op, Box<Expr>, Box<Expr>),
}

impl Expr {
    /// The value; `None` if a divisor is zero.
    pub(crate) fn value(&self, values: &Values) -> Option<i128> {
        match self {
            Self::Constant(value) => Some(i128::from(*value)),
            Self::Symbol(symbol) => Some(values[*symbol]),
            Self::Binary(op, a, b) => apply(*op, a.value(values)?, b.value(values)?),
        }
    }

    /// The expression with all symbols replaced by the first one.
    pub(crate) fn in_one_symbol(self) -> Self {
        match self {
            Self::Constant(value) => Self::Constant(value),
            Self::Symbol(_) => Self::Symbol(0),
            Self::Binary(op, a, b) => {
                Self::Binary(op, Box::new(a.in_one_symbol()), Box::new(b.in_one_symbol()))
            }
        }
    }

    pub(crate) fn build(&self, dims: &mut Dims) -> DimId {
        self.build_with(dims, |dims, symbol| dims.symbol(NAMES[symbol]))
    }

    fn build_with(&self, dims: &mut Dims, leaf: impl Fn(&mut Dims, usize) -> DimId + Copy) -> DimId {
        match self {
            Self::Constant(value) => dims.constant(*value),
            Self::Symbol(symbol) => leaf(dims, *symbol),
            Self::Binary(op, a, b) => {
                let (a, b) = (a.build_with(dims, leaf), b.build_with(dims, leaf));
                match op {
                    Op::Add => dims.add(a, b),
                    Op::Sub => dims.sub(a, b),
                    Op::Mul => dims.mul(a, b),
                    Op::FloorDiv => dims.floor_div(a, b),
                    Op::CeilDiv => dims.ceil_div(a, b),
                    Op::Modulo => dims.modulo(a, b),
                    Op::Min => dims.min(a, b),
                    Op::Max => dims.max(a, b),
                }
            }
        }
    }
}

fn floor(a: i128, b: i128) -> i128 {
    let quotient = a / b;
    if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
}

fn apply(op: Op, a: i128, b: i128) -> Option<i128> {
    Some(match op {
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::Mul => a.checked_mul(b)?,
        Op::Min => a.min(b),
        Op::Max => a.max(b),
        Op::FloorDiv | Op::CeilDiv | Op::Modulo if b == 0 => return None,
        Op::FloorDiv => floor(a, b),
        Op::CeilDiv => -floor(-a, b),
        Op::Modulo => a - b * floor(a, b),
    })
}

/// The value of a dim, computed from its nodes. `None` for unknowns and for a divisor of zero.
fn value_of(dims: &Dims, dim: DimId, values: &Values) -> Option<i128> {
    if let Some(value) = dims.as_constant(dim) {
        return Some(i128::from(value));
    }
    match dims.kind(dim)? {
        Kind::Constant(value) => Some(i128::from(value)),
        Kind::Symbol(_) => {
            NAMES.iter().position(|&name| dims.as_symbol(dim) == Some(name)).map(|at| values[at])
        }
        Kind::Variable(_) => dims.binding(dim).and_then(|bound| value_of(dims, bound, values)),
        Kind::Floor { numerator, denominator } => {
            apply(Op::FloorDiv, value_of(dims, numerator, values)?, value_of(dims, denominator, values)?)
        }
        Kind::Min(span) => {
            let values: Option<Vec<i128>> =
                dims.list(span).iter().map(|&part| value_of(dims, part, values)).collect();
            values?.into_iter().min()
        }
        Kind::Product(span) => dims
            .list(span)
            .iter()
            .try_fold(1i128, |product, &part| product.checked_mul(value_of(dims, part, values)?)),
        Kind::Sum(span) => dims.sum_terms(span).iter().try_fold(0i128, |sum, term| {
            Some(sum + value_of(dims, term.monomial, values)?.checked_mul(i128::from(term.coefficient))?)
        }),
    }
}

/// All small values of the symbols, and a few large ones.
fn grid() -> Vec<Values> {
    let mut grid = vec![[1000, 999, 7], [12345, 2, 100], [1, 64, 4096], [30, 1, 29]];
    for a in 0..6 {
        for b in 0..6 {
            for c in [0, 1, 2, 5] {
                grid.push([a, b, c]);
            }
        }
    }
    grid
}

pub(crate) fn expr(ops: &'static [Op]) -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        (-4i64..9).prop_map(Expr::Constant),
        (0usize..3).prop_map(Expr::Symbol),
        (0usize..3).prop_map(Expr::Symbol),
    ];
    leaf.prop_recursive(4, 12, 2, move |inner| {
        (proptest::sample::select(ops), inner.clone(), inner)
            .prop_map(|(op, a, b)| Expr::Binary(op, Box::new(a), Box::new(b)))
    })
}

pub(crate) const RING: &[Op] = &[Op::Add, Op::Sub, Op::Mul];
pub(crate) const LINEAR: &[Op] = &[Op::Add, Op::Sub, Op::Add];
pub(crate) const ALL: &[Op] =
    &[Op::Add, Op::Sub, Op::Mul, Op::Add, Op::Sub, Op::FloorDiv, Op::CeilDiv, Op::Modulo, Op::Min, Op::Max];

/// Runs a law on `cases` random cases, and on a fifth of them in a plain run.
pub(crate) fn check<S: Strategy>(
    cases: u32,
    strategy: &S,
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let cases = number(cases.div_ceil(5), cases);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    if let Err(error) = runner.run(strategy, test) {
        panic!("{error}");
    }
}

pub(crate) fn expect(condition: bool, message: impl FnOnce() -> String) -> Result<(), TestCaseError> {
    if condition { Ok(()) } else { Err(TestCaseError::fail(message())) }
}

/// Every value of `expr` that is defined is the value of `dim`, unless `dim` is unknown.
fn same_values(dims: &Dims, dim: DimId, expr: &Expr) -> Result<(), TestCaseError> {
    if dims.is_anonymous(dim) {
        return Ok(());
    }
    for values in grid() {
        if let Some(expected) = expr.value(&values) {
            let found = value_of(dims, dim, &values);
            expect(found == Some(expected), || {
                format!("{} at {values:?} is {found:?}, not {expected}", dims.display(dim))
            })?;
        }
    }
    Ok(())
}

#[test]
fn every_operation_agrees_with_integer_arithmetic() {
    check(1000, &expr(ALL), |expr| {
        let mut dims = Dims::new();
        let dim = expr.build(&mut dims);
        same_values(&dims, dim, &expr)
    });
}

#[test]
fn bounds_hold_for_all_values() {
    check(1000, &expr(ALL), |expr| {
        let mut dims = Dims::new();
        let dim = expr.build(&mut dims);
        let (low, high) = dims.bounds(dim);
        for values in grid() {
            if let Some(value) = expr.value(&values) {
                let inside = low.is_none_or(|low| i128::from(low) <= value)
                    && high.is_none_or(|high| value <= i128::from(high));
                expect(inside, || format!("{} is {value} outside {low:?}..{high:?}", dims.display(dim)))?;
            }
        }
        Ok(())
    });
}

#[test]
fn a_decision_holds_for_all_values() {
    check(1000, &(expr(ALL), expr(ALL)), |(a, b)| {
        let mut dims = Dims::new();
        let (left, right) = (a.build(&mut dims), b.build(&mut dims));
        let decision = dims.compare(left, right);
        expect(dims.compare(right, left) == decision, || "the decision depends on the order".into())?;
        for values in grid() {
            if let (Some(a), Some(b)) = (a.value(&values), b.value(&values)) {
                let wrong = match decision {
                    Decision::Equal => a != b,
                    Decision::Different => a == b,
                    Decision::Undecided => false,
                };
                expect(!wrong, || {
                    format!("{} and {}: {decision:?} at {values:?}", dims.display(left), dims.display(right))
                })?;
            }
        }
        Ok(())
    });
}

#[test]
fn equal_polynomials_are_one_id() {
    check(700, &(expr(RING), expr(RING), expr(RING)), |(a, b, c)| {
        let mut dims = Dims::new();
        let (a, b, c) = (a.build(&mut dims), b.build(&mut dims), c.build(&mut dims));
        let sums = (dims.add(a, b), dims.add(b, a));
        expect(sums.0 == sums.1, || "a + b = b + a".into())?;
        let products = (dims.mul(a, b), dims.mul(b, a));
        expect(dims.is_anonymous(products.0) || products.0 == products.1, || "a * b = b * a".into())?;
        let (ab, bc) = (dims.add(a, b), dims.add(b, c));
        expect(dims.add(ab, c) == dims.add(a, bc), || "(a + b) + c = a + (b + c)".into())?;
        let difference = dims.sub(ab, b);
        expect(difference == a, || "(a + b) - b = a".into())?;
        let (ab, bc) = (dims.mul(a, b), dims.mul(b, c));
        let (left, right) = (dims.mul(ab, c), dims.mul(a, bc));
        let known = !dims.is_anonymous(left) && !dims.is_anonymous(right);
        expect(!known || left == right, || "(a * b) * c = a * (b * c)".into())?;
        let sum = dims.add(a, b);
        let (whole, first, second) = (dims.mul(sum, c), dims.mul(a, c), dims.mul(b, c));
        let parts = dims.add(first, second);
        let known = !dims.is_anonymous(whole) && !dims.is_anonymous(parts);
        expect(!known || whole == parts, || "(a + b) * c = a*c + b*c".into())
    });
}

#[test]
fn quotient_and_remainder_make_up_the_dividend() {
    check(700, &(expr(ALL), expr(ALL)), |(a, b)| {
        let mut dims = Dims::new();
        let (a, b) = (a.build(&mut dims), b.build(&mut dims));
        let (quotient, remainder) = (dims.floor_div(a, b), dims.modulo(a, b));
        let whole = dims.mul(b, quotient);
        let sum = dims.add(whole, remainder);
        expect(dims.is_anonymous(sum) || sum == a, || {
            format!("{} is not {}", dims.display(sum), dims.display(a))
        })
    });
}

#[test]
fn the_smaller_and_the_larger_make_up_the_sum() {
    check(700, &(expr(ALL), expr(ALL)), |(a, b)| {
        let mut dims = Dims::new();
        let (a, b) = (a.build(&mut dims), b.build(&mut dims));
        let (least, most) = (dims.min(a, b), dims.max(a, b));
        expect(dims.min(b, a) == least && dims.max(b, a) == most, || "min and max commute".into())?;
        let (extremes, sum) = (dims.add(least, most), dims.add(a, b));
        let known = !dims.is_anonymous(extremes) && !dims.is_anonymous(sum);
        expect(!known || extremes == sum, || {
            format!("{} is not {}", dims.display(extremes), dims.display(sum))
        })
    });
}

#[test]
fn minima_are_associative_and_idempotent() {
    check(400, &(expr(LINEAR), expr(LINEAR), expr(LINEAR)), |(a, b, c)| {
        let mut dims = Dims::new();
        let (a, b, c) = (a.build(&mut dims), b.build(&mut dims), c.build(&mut dims));
        let (ab, bc) = (dims.min(a, b), dims.min(b, c));
        let (left, right) = (dims.min(ab, c), dims.min(a, bc));
        expect(left == right, || format!("{} is not {}", dims.display(left), dims.display(right)))?;
        expect(dims.min(left, a) == left, || format!("min({}, {})", dims.display(left), dims.display(a)))
    });
}

#[test]
fn exact_division_undoes_multiplication() {
    check(700, &(expr(RING), expr(RING)), |(a, b)| {
        let mut dims = Dims::new();
        let (a, b) = (a.build(&mut dims), b.build(&mut dims));
        let product = dims.mul(a, b);
        if b == DimId::ZERO || dims.is_anonymous(product) {
            return Ok(());
        }
        let quotient = dims.div_exact(product, b);
        expect(quotient == Some(a), || format!("{} / {}", dims.display(product), dims.display(b)))?;
        expect(dims.floor_div(product, b) == a && dims.ceil_div(product, b) == a, || {
            "rounding is idle".into()
        })
    });
}

#[test]
fn an_exact_quotient_times_the_divisor_is_the_dividend() {
    check(700, &(expr(ALL), expr(ALL)), |(a, b)| {
        let mut dims = Dims::new();
        let (left, right) = (a.build(&mut dims), b.build(&mut dims));
        if let Some(quotient) = dims.div_exact(left, right) {
            let product = dims.mul(quotient, right);
            expect(dims.is_anonymous(product) || product == left, || dims.display(product).to_string())?;
        }
        Ok(())
    });
}

#[test]
fn a_solution_is_forced_for_all_values() {
    let sides = prop_oneof![
        (expr(LINEAR), expr(LINEAR)).boxed(),
        (expr(RING), expr(LINEAR)).boxed(),
        (expr(ALL), expr(LINEAR)).boxed()
    ];
    check(1500, &sides, |(a, b)| {
        let mut dims = Dims::new();
        let (left, right) = (a.build(&mut dims), b.build(&mut dims));
        if dims.is_anonymous(left) || dims.is_anonymous(right) {
            return Ok(());
        }
        let solved = dims.solve_for(left, right);
        for values in grid() {
            let (Some(a), Some(b)) = (a.value(&values), b.value(&values)) else { continue };
            let holds = match solved {
                Solved::Always => a == b,
                Solved::Contradiction => a != b,
                Solved::Symbol { symbol, value } => {
                    a != b || value_of(&dims, symbol, &values) == value_of(&dims, value, &values)
                }
                Solved::Variable { .. } => false,
                Solved::Undecided => true,
            };
            expect(holds, || format!("{} = {}: {solved:?}", dims.display(left), dims.display(right)))?;
        }
        Ok(())
    });
}

#[test]
fn substitution_is_building_with_other_leaves() {
    check(700, &(expr(ALL), expr(LINEAR), expr(LINEAR)), |(whole, first, second)| {
        let mut dims = Dims::new();
        let dim = whole.build(&mut dims);
        let (a, b) = (dims.symbol("a"), dims.symbol("b"));
        let (first_dim, second_dim) = (first.build(&mut dims), second.build(&mut dims));
        let replaced = dims.substitute(dim, &[(a, first_dim), (b, second_dim)]);
        if dims.is_anonymous(replaced) {
            return Ok(());
        }
        for values in grid() {
            let (Some(x), Some(y)) = (first.value(&values), second.value(&values)) else { continue };
            // A symbol is an extent: a proof may have used that it is not negative.
            if x < 0 || y < 0 {
                continue;
            }
            if let Some(expected) = whole.value(&[x, y, values[2]]) {
                let found = value_of(&dims, replaced, &values);
                expect(found == Some(expected), || {
                    format!("{} at {values:?}: {found:?}, not {expected}", dims.display(replaced))
                })?;
            }
        }
        Ok(())
    });
}

#[test]
fn numbers_for_symbols_give_the_number() {
    check(700, &(expr(ALL), 0i64..9, 0i64..9, 0i64..9), |(expr, a, b, c)| {
        let mut dims = Dims::new();
        let dim = expr.build(&mut dims);
        let pairs: Vec<(DimId, DimId)> = NAMES
            .iter()
            .zip([a, b, c])
            .map(|(name, value)| (dims.symbol(name), dims.constant(value)))
            .collect();
        let number = dims.substitute(dim, &pairs);
        match expr.value(&[a, b, c].map(i128::from)) {
            Some(expected) if !dims.is_anonymous(dim) => {
                let found = dims.as_constant(number).map(i128::from);
                expect(found == Some(expected), || format!("{found:?}, not {expected}"))
            }
            _ => Ok(()),
        }
    });
}

#[test]
fn binding_variables_is_building_with_their_values() {
    check(700, &(expr(RING), expr(LINEAR)), |(whole, value)| {
        let mut dims = Dims::new();
        let variable = dims.fresh_integer();
        let leaf = |dims: &mut Dims, symbol| if symbol == 0 { variable } else { dims.symbol(NAMES[symbol]) };
        let open = whole.build_with(&mut dims, leaf);
        let bound = value.build(&mut dims);
        expect(dims.bind(variable, bound) == Bind::Bound, || "a fresh variable can be bound".into())?;
        let resolved = dims.resolve(open);
        let leaf = |dims: &mut Dims, symbol| if symbol == 0 { bound } else { dims.symbol(NAMES[symbol]) };
        let closed = whole.build_with(&mut dims, leaf);
        let known = !dims.is_anonymous(resolved) && !dims.is_anonymous(closed);
        expect(!known || resolved == closed, || {
            format!("{} is not {}", dims.display(resolved), dims.display(closed))
        })?;
        expect(dims.resolve(resolved) == resolved, || "resolving is idempotent".into())
    });
}

#[test]
fn binding_inside_quotients_and_extremes_keeps_the_value() {
    check(700, &(expr(ALL), 0usize..3), |(whole, other)| {
        let mut dims = Dims::new();
        let variable = dims.fresh();
        let leaf = |dims: &mut Dims, symbol| if symbol == 0 { variable } else { dims.symbol(NAMES[symbol]) };
        let open = whole.build_with(&mut dims, leaf);
        let unknown = dims.variables_of(open).iter().any(|&mentioned| mentioned != variable);
        let bound = dims.symbol(NAMES[other]);
        expect(dims.bind(variable, bound) == Bind::Bound, || "a fresh variable can be bound".into())?;
        let resolved = dims.resolve(open);
        if unknown || dims.is_anonymous(resolved) {
            return Ok(());
        }
        for values in grid() {
            if let Some(expected) = whole.value(&[values[other], values[1], values[2]]) {
                let found = value_of(&dims, resolved, &values);
                expect(found == Some(expected), || format!("{} at {values:?}", dims.display(resolved)))?;
            }
        }
        Ok(())
    });
}

#[test]
fn random_expressions_are_mostly_within_limits() {
    let (known, all) = (Cell::new(0), Cell::new(0));
    check(500, &expr(ALL), |expr| {
        let mut dims = Dims::new();
        let dim = expr.build(&mut dims);
        all.set(all.get() + 1);
        known.set(known.get() + u32::from(!dims.is_anonymous(dim)));
        Ok(())
    });
    // An unknown answer passes most of the laws here, so it must not be the usual one.
    assert!(known.get() * 10 > all.get() * number(7, 8), "{} of {}", known.get(), all.get());
}

#[test]
fn printed_dims_parse_as_the_same_dim() {
    check(1000, &expr(ALL), |expr| {
        let mut dims = Dims::new();
        let dim = expr.build(&mut dims);
        if dims.is_anonymous(dim) {
            return Ok(());
        }
        let text = dims.display(dim).to_string();
        let again = dims.parse(&text);
        expect(again == Ok(dim), || {
            format!("`{text}` is read as {:?}", again.map(|dim| dims.display(dim).to_string()))
        })
    });
}

#[test]
fn any_text_is_read_without_harm() {
    let soup = proptest::collection::vec(
        proptest::sample::select(&[
            "a",
            "b",
            "-",
            "+",
            "*",
            "**",
            "/",
            "//",
            "%",
            "(",
            ")",
            "min(",
            "Max(",
            "floor(",
            "ceil(",
            "Mod(",
            ",",
            " ",
            "?",
            "\"",
            "3",
            "0",
            "9223372036854775808",
            "1.5",
            "batch-size",
            "é",
            "^",
            "2",
            ".",
            "\u{0}",
        ]),
        0..24,
    );
    check(1500, &soup, |words| {
        let mut dims = Dims::new();
        let text = words.concat();
        if let Ok(dim) = dims.parse(&text)
            && !dims.is_anonymous(dim)
        {
            let printed = dims.display(dim).to_string();
            expect(dims.parse(&printed) == Ok(dim), || format!("`{text}` is printed as `{printed}`"))?;
        }
        Ok(())
    });
    check(700, &".{0,40}", |text| {
        let mut dims = Dims::new();
        let parsed = dims.parse(&text);
        expect(parsed.is_ok() || text.is_empty() || text.contains(|c: char| c.is_ascii_digit()), || {
            format!("`{text}` is {parsed:?}")
        })
    });
}
