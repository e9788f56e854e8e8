//! The laws of conditions: every verdict is compared with brute force over a grid of bindings.
//!
//! [`Dims::examine`] answers for infinitely many bindings. The test draws two random expressions and a
//! relation, and computes both sides with 128-bit integers for each binding of three symbols in a small grid
//! ([`obeys`]):
//!
//! - *always* must hold at each point, *never* at none, and the listed values of a symbol must be those at
//!   which it holds;
//! - a counterexample must fail, with a sum no greater than that of any failing point in the grid;
//! - an example must hold.
//!
//! An undecided verdict agrees with everything, so separate tests demand that certain classes of conditions
//! are decided: windows over one symbol, joined conditions, products of quotients.
//!
//! Cases are drawn from a fixed seed, and a failing one is printed in its smallest form. `TYPELOOM_TESTS=all`
//! runs five times as many.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::laws::{ALL, Expr, LINEAR, NAMES, Op, RING, Values, check, expect, expr};
use crate::{Condition, DimId, Dims, Domain, Relation, Verdict};

const RELATIONS: [Relation; 5] =
    [Relation::Equal, Relation::AtMost, Relation::OneOrEqual, Relation::Broadcast, Relation::Divides];

/// A condition between two random expressions, and the least values of the symbols.
#[derive(Clone, Debug)]
struct Case {
    relation: Relation,
    left: Expr,
    right: Expr,
    least: [i64; 3],
    /// The greatest value of the first symbol.
    most: Option<i64>,
}

impl Case {
    fn holds(&self, values: &Values) -> Option<bool> {
        self.relation.holds(self.left.value(values)?, self.right.value(values)?)
    }

    /// `None` if a side has no dim.
    fn build(&self, dims: &mut Dims) -> Option<(Condition, Domain)> {
        let symbols = NAMES.map(|name| dims.symbol(name));
        let (left, right) = (self.left.build(dims), self.right.build(dims));
        if dims.is_anonymous(left) || dims.is_anonymous(right) {
            return None;
        }
        let mut domain = Domain::nonempty();
        for (symbol, least) in symbols.into_iter().zip(self.least) {
            domain = domain.from(symbol, least);
        }
        if let Some(most) = self.most {
            domain = domain.at_most(symbols[0], most);
        }
        Some((Condition::new(self.relation, left, right), domain))
    }

    /// All admissible bindings whose offsets from the least values are less than `size`.
    fn grid(&self, size: i64) -> Vec<Values> {
        let mut grid = Vec::new();
        for a in (0..size).filter(|a| self.most.is_none_or(|most| self.least[0] + a <= most)) {
            for b in 0..size {
                for c in 0..size {
                    let values = [self.least[0] + a, self.least[1] + b, self.least[2] + c];
                    grid.push(values.map(i128::from));
                }
            }
        }
        grid
    }
}

fn cases(
    left: impl Strategy<Value = Expr>,
    right: impl Strategy<Value = Expr>,
) -> impl Strategy<Value = Case> {
    let least = proptest::sample::select(&[0i64, 1, 1, 1, 2, 4]);
    let bound = proptest::sample::select(&[None, None, None, Some(5i64), Some(64)]);
    (proptest::sample::select(&RELATIONS), left, right, [least.clone(), least.clone(), least], bound)
        .prop_map(|(relation, left, right, least, most)| Case { relation, left, right, least, most })
}

fn value_at(dims: &Dims, dim: DimId, values: &Values) -> Option<i64> {
    let bindings: Vec<(DimId, i64)> = dims
        .symbols_of(dim)
        .into_iter()
        .filter_map(|symbol| {
            let at = NAMES.iter().position(|&name| dims.as_symbol(symbol) == Some(name))?;
            Some((symbol, i64::try_from(values[at]).ok()?))
        })
        .collect();
    dims.evaluate(dim, &bindings)
}

fn holds_at(dims: &Dims, condition: Condition, values: &Values) -> Option<bool> {
    let (left, right) = (value_at(dims, condition.left, values)?, value_at(dims, condition.right, values)?);
    condition.relation.holds(i128::from(left), i128::from(right))
}

/// Whether a verdict agrees with the condition at one binding.
fn agrees(dims: &Dims, verdict: &Verdict, values: &Values, holds: bool) -> bool {
    match verdict {
        Verdict::Always => holds,
        Verdict::Never => !holds,
        Verdict::Only { symbol, values: listed } => {
            !holds || value_at(dims, *symbol, values).is_some_and(|value| listed.contains(&value))
        }
        Verdict::Equals { symbol, value } => value_at(dims, *value, values)
            .is_none_or(|value| (value_at(dims, *symbol, values) == Some(value)) == holds),
        Verdict::Restricted { conditions } => {
            let all = conditions.iter().map(|condition| holds_at(dims, *condition, values));
            all.collect::<Option<Vec<bool>>>().is_none_or(|all| all.iter().all(|one| *one) == holds)
        }
        Verdict::Undecided => true,
    }
}

fn obeys(case: &Case, size: i64) -> Result<Option<Verdict>, TestCaseError> {
    let mut dims = Dims::new();
    let Some((condition, domain)) = case.build(&mut dims) else { return Ok(None) };
    let verdict = dims.examine(condition, &domain);
    let shown = dims.display_condition(condition).to_string();
    let mut smallest: Option<(i128, Values)> = None;
    let mut defined = true;
    for values in case.grid(size) {
        let Some(holds) = case.holds(&values) else {
            defined = false;
            continue;
        };
        expect(agrees(&dims, &verdict, &values, holds), || {
            format!("{shown}: {verdict:?} is wrong at {values:?}")
        })?;
        let mentioned = [condition.left, condition.right].map(|dim| dims.symbols_of(dim)).concat();
        let counted = |at: &usize| mentioned.iter().any(|&symbol| dims.as_symbol(symbol) == Some(NAMES[*at]));
        let mut values = values;
        (0..3).filter(|at| !counted(at)).for_each(|at| values[at] = 0);
        let key = (values.iter().sum(), values);
        if !holds && smallest.is_none_or(|smallest| key < smallest) {
            smallest = Some(key);
        }
    }
    let counterexample = dims.counterexample(condition, &domain);
    match (&counterexample, smallest) {
        (Some(found), smallest) => {
            expect(dims.holds(condition, found) == Some(false), || format!("{shown} holds at {found:?}"))?;
            let sum: i128 = found.iter().map(|(_, value)| i128::from(*value)).sum();
            expect(smallest.is_none_or(|(least, _)| sum <= least), || {
                format!("{shown}: {found:?} is not smaller than {smallest:?}")
            })?;
        }
        (None, Some(smallest)) => return Err(TestCaseError::fail(format!("{shown} fails at {smallest:?}"))),
        (None, None) => {}
    }
    if let Verdict::Only { symbol, values } = &verdict {
        expect(!values.is_empty() && values.is_sorted(), || format!("{shown}: {values:?}"))?;
        for &value in values.iter().filter(|_| defined) {
            let fixed = domain.clone().at_least(*symbol, value).at_most(*symbol, value);
            expect(dims.example(condition, &fixed).is_some(), || format!("{shown}: no example for {value}"))?;
        }
    }
    if let Some(example) = dims.example(condition, &domain) {
        expect(dims.holds(condition, &example) == Some(true), || format!("{shown} fails at {example:?}"))?;
    }
    Ok(Some(verdict))
}

#[test]
fn verdicts_on_three_symbols_agree_with_brute_force() {
    check(300, &cases(expr(ALL), expr(ALL)), |case| obeys(&case, 4).map(|_| ()));
    check(200, &cases(expr(RING), expr(LINEAR)), |case| obeys(&case, 4).map(|_| ()));
}

#[test]
fn verdicts_under_facts_agree_with_brute_force() {
    let strategy = (cases(expr(ALL), expr(LINEAR)), cases(expr(LINEAR), expr(LINEAR)), expr(ALL));
    check(300, &strategy, |(case, fact, whole)| {
        let mut dims = Dims::new();
        let Some((condition, mut domain)) = case.build(&mut dims) else { return Ok(()) };
        let Some((fact_condition, _)) = fact.build(&mut dims) else { return Ok(()) };
        domain.assume(&mut dims, fact_condition);
        let dim = whole.build(&mut dims);
        let simple = dims.simplify(dim, &domain);
        let verdict = dims.examine(condition, &domain);
        let counterexample = dims.counterexample(condition, &domain);
        let mut violated = false;
        for values in case.grid(4) {
            if fact.holds(&values) != Some(true) {
                continue;
            }
            let shown = || {
                let [fact, condition] =
                    [fact_condition, condition].map(|shown| dims.display_condition(shown));
                format!("{condition} where {fact}: {verdict:?}, {} at {values:?}", dims.display(simple))
            };
            if let Some(holds) = case.holds(&values) {
                violated |= !holds;
                expect(agrees(&dims, &verdict, &values, holds), shown)?;
            }
            let (value, simple) = (whole.value(&values), value_at(&dims, simple, &values));
            expect(value.is_none() || simple.is_none() || value == simple.map(i128::from), shown)?;
        }
        expect(!violated || counterexample.is_some(), || "a counterexample is not found".to_owned())?;
        if let Some(found) = counterexample {
            let bound = |condition: Condition| {
                let symbols: Vec<DimId> = found.iter().map(|(symbol, _)| *symbol).collect();
                let mut mentioned = dims.symbols_of(condition.left);
                mentioned.extend(dims.symbols_of(condition.right));
                !mentioned.iter().all(|symbol| symbols.contains(symbol)) || {
                    dims.holds(condition, &found) == Some(true)
                }
            };
            expect(bound(fact_condition), || format!("{found:?} is not admissible"))?;
            expect(dims.holds(condition, &found) == Some(false), || {
                format!("{found:?} is no counterexample")
            })?;
        }
        Ok(())
    });
}

const WINDOWS: &[Op] = &[Op::Add, Op::Sub, Op::Min, Op::Max, Op::FloorDiv, Op::CeilDiv, Op::Modulo];

#[test]
fn verdicts_on_one_symbol_are_exact() {
    let (decided, all) = (Cell::new(0), Cell::new(0));
    let one = |expr: Expr| expr.in_one_symbol();
    let strategy = cases(expr(WINDOWS).prop_map(one), expr(WINDOWS).prop_map(one));
    check(400, &strategy, |case| {
        let Some(verdict) = obeys(&case, 1)? else { return Ok(()) };
        let mut dims = Dims::new();
        let Some((condition, _)) = case.build(&mut dims) else { return Ok(()) };
        let mut found = Vec::new();
        let (mut defined, mut fails) = (true, false);
        for a in (case.least[0]..200).filter(|a| case.most.is_none_or(|most| *a <= most)) {
            match case.holds(&[i128::from(a), 1, 1]) {
                None => defined = false,
                Some(true) => found.push(a),
                Some(false) => fails = true,
            }
        }
        all.set(all.get() + 1);
        decided.set(decided.get() + u32::from(verdict != Verdict::Undecided));
        let shown = || format!("{}: {verdict:?}, found {found:?}", dims.display_condition(condition));
        match &verdict {
            Verdict::Always => expect(!fails, shown),
            Verdict::Never => expect(found.is_empty(), shown),
            Verdict::Only { values, .. } => expect(
                !defined
                    || *values.iter().filter(|value| **value < 200).copied().collect::<Vec<_>>() == found,
                shown,
            ),
            Verdict::Equals { .. } | Verdict::Restricted { .. } => expect(!defined || fails, shown),
            Verdict::Undecided => Ok(()),
        }
    });
    assert!(
        decided.get() * 10 > all.get() * typeloom_testing::number(8, 9),
        "{} of {}",
        decided.get(),
        all.get()
    );
}

/// Conditions on one symbol that exporters make: quotients that are multiples, and bounds.
fn restriction() -> impl Strategy<Value = (Relation, String, String)> {
    (0..3, proptest::sample::select(&[1i64, 1, 2, 3, 4]), 2..5i64, 1..40i64).prop_map(
        |(kind, by, times, bound)| match kind {
            0 => (Relation::AtMost, bound.to_string(), "a".to_owned()),
            1 => (Relation::Divides, times.to_string(), "a".to_owned()),
            _ => (Relation::Equal, format!("{times}*(a//{})", by * times), format!("a//{by}")),
        },
    )
}

#[test]
fn joined_conditions_are_equivalent_to_their_parts() {
    let joins = Cell::new(0);
    check(400, &(restriction(), restriction(), restriction()), |(first, second, third)| {
        let mut dims = Dims::new();
        let symbol = dims.symbol("a");
        let mut conditions = Vec::new();
        for (relation, left, right) in [first, second, third] {
            let (Ok(left), Ok(right)) = (dims.parse(&left), dims.parse(&right)) else { return Ok(()) };
            conditions.push(Condition::new(relation, left, right));
        }
        let Some(joined) = dims.joined(&conditions, symbol, &Domain::nonempty()) else { return Ok(()) };
        joins.set(joins.get() + 1);
        for value in 1..200 {
            let values = [value, 1, 1];
            let hold = |conditions: &[Condition]| {
                conditions.iter().all(|condition| holds_at(&dims, *condition, &values) == Some(true))
            };
            expect(hold(&joined) == hold(&conditions), || format!("{joined:?} at {value}"))?;
        }
        Ok(())
    });
    assert!(joins.get() > 0, "no conditions were joined");
}

#[test]
fn a_condition_that_is_proved_to_fail_by_cases_fails_everywhere() {
    let strategy = (cases(expr(ALL), expr(LINEAR)), cases(expr(LINEAR), expr(LINEAR)));
    check(300, &strategy, |(case, fact)| {
        let mut dims = Dims::new();
        let Some((condition, mut domain)) = case.build(&mut dims) else { return Ok(()) };
        let Some((fact_condition, _)) = fact.build(&mut dims) else { return Ok(()) };
        domain.assume(&mut dims, fact_condition);
        if !dims.never(condition, &domain) {
            return Ok(());
        }
        for values in case.grid(4).iter().filter(|values| fact.holds(values) == Some(true)) {
            let shown = || format!("{} at {values:?}", dims.display_condition(condition));
            expect(case.holds(values) != Some(true), shown)?;
        }
        Ok(())
    });
}

/// Products of one symbol with quotients of the others by constants.
fn products() -> impl Strategy<Value = String> {
    let divisor = || proptest::sample::select(&[2i64, 3, 4, 7]);
    let factor = |name: &'static str| {
        (divisor(), 0..3i64).prop_map(move |(by, kind)| match kind {
            0 => format!("{name}//{by}"),
            1 => format!("min({name}//{by}, 1)"),
            _ => format!("({name}//{by} + 2*max(0, 1 - {name}//{by}))"),
        })
    };
    (1..16i64, factor("a"), factor("b")).prop_map(|(scale, a, b)| format!("{scale}*({a})*({b})"))
}

#[test]
fn divisibilities_implied_by_products_of_quotients_agree_with_brute_force() {
    check(200, &(1..4i64, products()), |(scale, product)| {
        let mut dims = Dims::new();
        let (left, right) = (dims.parse(&format!("{scale}*a*b")), dims.parse(&product));
        let (Ok(left), Ok(right)) = (left, right) else { return Ok(()) };
        let condition = Condition::new(Relation::Equal, left, right);
        let verdict = dims.examine(condition, &Domain::nonempty());
        for a in 1..30 {
            for b in 1..30 {
                let values = [a, b, 1];
                let Some(holds) = holds_at(&dims, condition, &values) else { continue };
                expect(agrees(&dims, &verdict, &values, holds), || {
                    format!("{}: {verdict:?} is wrong at {values:?}", dims.display_condition(condition))
                })?;
            }
        }
        Ok(())
    });
}

#[test]
fn evaluation_agrees_with_integer_arithmetic() {
    check(500, &expr(ALL), |expr| {
        let mut dims = Dims::new();
        let symbols = NAMES.map(|name| dims.symbol(name));
        let dim = expr.build(&mut dims);
        if dims.is_anonymous(dim) {
            return Ok(());
        }
        for values in [[0, 1, 2], [1, 1, 1], [5, 3, 2], [1000, 7, 64]] {
            let bindings: Vec<(DimId, i64)> = symbols.into_iter().zip(values).collect();
            let expected = expr.value(&values.map(i128::from)).and_then(|value| i64::try_from(value).ok());
            let found = dims.evaluate(dim, &bindings);
            expect(expected.is_none() || found == expected, || {
                format!("{} at {values:?}", dims.display(dim))
            })?;
        }
        Ok(())
    });
}
