//! Verdicts about random pairs of interfaces, compared with a slow model that enumerates calls.
//!
//! The model has numbers instead of symbols. A program can replace another if it accepts each call that the
//! other accepts, and if the other can return each result that it then returns. Random extents are numbers,
//! `times * symbol + plus`, and unknown extents. The numbers that are tried decide these, because they exceed
//! each random number.

use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use typeloom_dim::{Condition, DimId, Dims, Relation};
use typeloom_interface::{Interface, Parameter, PortIdentity, compare};
use typeloom_pool::compat::Direction;
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::solution::{TensorType, Type};
use typeloom_testing::number;

use crate::support::universe;

const PAIRS: usize = 100_000;
/// The number of pairs without `TYPELOOM_TESTS=all`.
const FEW_PAIRS: usize = 2_000;
const SEED: [u8; 32] = [20; 32];
/// The maximum of random numbers in extents and conditions.
const MAX_NUMBER: i64 = 3;
/// The values that a caller chooses for symbols of its interface, and a program for those of its outputs.
const CHOSEN: [i64; 5] = [0, 1, 2, 3, 6];
/// The values of symbols that must fit numbers of the other side, which are at most 2 * (6 + 1).
const FITTING: [i64; 15] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];

/// The extent of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Number(i64),
    /// `times * symbol + plus`.
    Of {
        symbol: usize,
        times: i64,
        plus: i64,
    },
    Unknown,
}

#[derive(Clone, Debug)]
struct Port {
    name: &'static str,
    elem: Elem,
    /// Absent if the rank is unknown.
    shape: Option<Vec<Extent>>,
    optional: bool,
}

/// A random interface. The symbols 0 and 1 occur in inputs and outputs, the symbol 2 in outputs only.
#[derive(Clone, Debug)]
struct Drawn {
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    /// The maximum of the symbol 0.
    limit: Option<i64>,
}

struct Random(TestRng);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.0.next_u32()).expect("32 bits fit") % count
    }

    fn percent(&mut self, probability: usize) -> bool {
        self.below(100) < probability
    }

    fn number(&mut self) -> i64 {
        i64::try_from(1 + self.below(3)).expect("a small number").min(MAX_NUMBER)
    }

    fn extent(&mut self, symbols: usize) -> Extent {
        match self.below(10) {
            0..3 => Extent::Number(self.number()),
            3 => Extent::Unknown,
            4 => Extent::Of { symbol: self.below(symbols), times: 2, plus: 0 },
            5 => Extent::Of { symbol: self.below(symbols), times: 1, plus: 1 },
            _ => Extent::Of { symbol: self.below(symbols), times: 1, plus: 0 },
        }
    }

    fn port(&mut self, name: &'static str, symbols: usize) -> Port {
        let rank = self.below(3);
        let shape = (!self.percent(8)).then(|| (0..rank).map(|_| self.extent(symbols)).collect());
        Port { name, elem: self.elem(), shape, optional: false }
    }

    fn elem(&mut self) -> Elem {
        let number = if self.percent(90) { 1 } else { 7 };
        Elem::from_onnx(number).expect("float and int64 are element types")
    }

    fn interface(&mut self) -> Drawn {
        let mut inputs: Vec<Port> = ["a", "b"].into_iter().map(|name| self.port(name, 2)).collect();
        inputs.truncate(1 + self.below(2));
        let mut outputs: Vec<Port> = ["y", "z"].into_iter().map(|name| self.port(name, 3)).collect();
        outputs.truncate(1 + self.below(2));
        let mut drawn = Drawn { inputs, outputs, limit: None };
        if self.percent(20) {
            self.change(&mut drawn);
        }
        drawn
    }

    /// Makes a change that keeps most of an interface, so that many pairs are compatible.
    fn change(&mut self, drawn: &mut Drawn) {
        let of_inputs = self.percent(50);
        let (list, symbols) = if of_inputs { (&mut drawn.inputs, 2) } else { (&mut drawn.outputs, 3) };
        let at = self.below(list.len());
        match self.below(10) {
            0 => list[at].elem = self.elem(),
            1 => list[at].shape = None,
            2 if of_inputs => list[at].optional ^= true,
            3 if list.len() == 1 => list.push(self.port(if of_inputs { "c" } else { "w" }, symbols)),
            4 if list.len() > 1 => drop(list.remove(at)),
            5 => list.reverse(),
            6 => drawn.limit = self.percent(70).then(|| self.number()),
            7 => {
                // Exchanges the two symbols, which changes no interface.
                for port in drawn.inputs.iter_mut().chain(&mut drawn.outputs) {
                    for extent in port.shape.iter_mut().flatten() {
                        if let Extent::Of { symbol: symbol @ (0 | 1), .. } = extent {
                            *symbol = 1 - *symbol;
                        }
                    }
                }
                drawn.limit = None;
            }
            _ => {
                if let Some(shape) = &mut list[at].shape
                    && !shape.is_empty()
                {
                    let axis = self.below(shape.len());
                    shape[axis] = self.extent(symbols);
                }
            }
        }
    }
}

impl Drawn {
    fn interface(&self) -> Interface {
        let mut dims = Dims::new();
        let inputs = self.inputs.iter().map(|port| port.parameter(&mut dims)).collect();
        let outputs = self.outputs.iter().map(|port| port.parameter(&mut dims)).collect();
        let condition = |limit| {
            let (left, right) = (dims.symbol("s0"), dims.constant(limit));
            Condition::new(Relation::AtMost, left, right)
        };
        let conditions = self.limit.filter(|_| self.uses(0)).map(condition).into_iter().collect();
        Interface { inputs, outputs, conditions, dims, universe: universe().clone() }
    }

    /// Whether a symbol occurs in an input.
    fn uses(&self, symbol: usize) -> bool {
        let extents = self.inputs.iter().flat_map(|port| port.shape.iter().flatten());
        extents.into_iter().any(|extent| matches!(extent, Extent::Of { symbol: used, .. } if *used == symbol))
    }
}

impl Port {
    fn parameter(&self, dims: &mut Dims) -> Parameter {
        let extent = |extent: &Extent| -> DimId {
            match *extent {
                Extent::Number(number) => dims.constant(number),
                Extent::Unknown => dims.fresh(),
                Extent::Of { symbol, times, plus } => {
                    let symbol = dims.symbol(&format!("s{symbol}"));
                    let (times, plus) = (dims.constant(times), dims.constant(plus));
                    let product = dims.mul(times, symbol);
                    dims.add(product, plus)
                }
            }
        };
        let shape = self.shape.as_ref().map(|shape| shape.iter().map(extent).collect());
        let ty = Type::Tensor(TensorType { elem: ElemSet::of(self.elem), shape });
        Parameter { name: self.name.to_owned(), ty, optional: self.optional, assumed: false }
    }
}

/// The extents of all tensors in a call or in a result, in the order of the ports.
type Numbers = Vec<i64>;
/// The values of the symbols, where they are known.
type Values = [Option<i64>; 3];

impl Drawn {
    /// The values that this interface permits for a symbol, of those that are tried.
    fn values_of(&self, symbol: usize, tried: &[i64]) -> Vec<i64> {
        let limit = self.limit.filter(|_| symbol == 0 && self.uses(symbol));
        tried.iter().copied().filter(|value| limit.is_none_or(|limit| *value <= limit)).collect()
    }

    /// All numbers that axes can have, with the values of the symbols.
    fn choices(&self, axes: &[Extent], known: Values) -> Vec<(Numbers, Values)> {
        let mut choices = vec![(Numbers::new(), known)];
        for extent in axes {
            let mut longer = Vec::new();
            for (numbers, values) in choices {
                let mut add =
                    |number: i64, values: Values| longer.push(([&numbers[..], &[number]].concat(), values));
                match *extent {
                    Extent::Number(number) => add(number, values),
                    Extent::Unknown => CHOSEN.into_iter().for_each(|number| add(number, values)),
                    Extent::Of { symbol, times, plus } => match values[symbol] {
                        Some(value) => add(times * value + plus, values),
                        None => self.values_of(symbol, &CHOSEN).into_iter().for_each(|value| {
                            let mut values = values;
                            values[symbol] = Some(value);
                            add(times * value + plus, values);
                        }),
                    },
                }
            }
            choices = longer;
        }
        choices
    }

    /// All values of the symbols for which axes have these numbers.
    fn ways(&self, axes: &[Extent], numbers: &[i64], known: Values) -> Vec<Values> {
        let mut ways = vec![known];
        for (extent, number) in axes.iter().zip(numbers) {
            let mut left = Vec::new();
            for values in ways {
                match *extent {
                    Extent::Unknown => left.push(values),
                    Extent::Number(own) if own == *number => left.push(values),
                    Extent::Number(_) => {}
                    Extent::Of { symbol, times, plus } => {
                        let tried = values[symbol]
                            .map_or_else(|| self.values_of(symbol, &FITTING), |known| vec![known]);
                        for value in tried.into_iter().filter(|value| times * value + plus == *number) {
                            let mut values = values;
                            values[symbol] = Some(value);
                            left.push(values);
                        }
                    }
                }
            }
            ways = left;
        }
        ways
    }
}

/// The pairs of ports with the names of a list. `None` if a port is absent, or if a type of the wide list
/// does not contain that of the narrow one for any extents.
fn paired<'d>(wide: &'d [Port], narrow: &'d [Port], names: &'d [Port]) -> Option<Vec<(&'d Port, &'d Port)>> {
    let find = |list: &'d [Port], name: &str| list.iter().find(|port| port.name == name);
    let mut pairs = Vec::new();
    for Port { name, .. } in names {
        let (wide, narrow) = (find(wide, name)?, find(narrow, name)?);
        let ranks = (wide.shape.as_ref().map(Vec::len), narrow.shape.as_ref().map(Vec::len));
        if wide.elem != narrow.elem || ranks.0.is_some() && ranks.0 != ranks.1 {
            return None;
        }
        pairs.push((wide, narrow));
    }
    Some(pairs)
}

/// The axes of ports with known ranks.
fn axes<'d>(ports: impl Iterator<Item = &'d Port>) -> Vec<Extent> {
    ports.flat_map(|port| port.shape.iter().flatten().copied()).collect()
}

/// Whether a program can replace the one that callers expect.
fn replaces(given: &Drawn, expected: &Drawn) -> bool {
    let passes = |name: &str| expected.inputs.iter().any(|port| port.name == name);
    if given.inputs.iter().any(|port| !port.optional && !passes(port.name)) {
        return false;
    }
    let Some(inputs) = paired(&given.inputs, &expected.inputs, &expected.inputs) else { return false };
    let Some(outputs) = paired(&expected.outputs, &given.outputs, &expected.outputs) else { return false };
    if inputs.iter().any(|(given, expected)| expected.optional && !given.optional) {
        return false;
    }
    // The ports whose ranks the acceptor knows come first, so that numbers of other ports are at the end of a
    // call.
    let known = |pairs: &[(&Port, &Port)]| -> [Vec<Extent>; 3] {
        let (known, unknown): (Vec<_>, Vec<_>) =
            pairs.iter().copied().partition(|(wide, _)| wide.shape.is_some());
        let wide = axes(known.iter().map(|(wide, _)| *wide));
        let narrow = axes(known.iter().map(|(_, narrow)| *narrow));
        [wide, narrow, axes(unknown.iter().map(|(_, narrow)| *narrow))]
    };
    let [accepted, passed, ignored] = known(&inputs);
    let [received, returned, _] = known(&outputs);
    expected.choices(&[passed.clone(), ignored].concat(), Values::default()).iter().all(
        |(call, of_caller)| {
            let ways = given.ways(&accepted, &call[..passed.len()], Values::default());
            let suits = |result: &[i64]| !expected.ways(&received, result, *of_caller).is_empty();
            let replies =
                |way: &Values| given.choices(&returned, *way).iter().all(|(result, _)| suits(result));
            !ways.is_empty() && ways.iter().all(replies)
        },
    )
}

/// Whether callers that bind by position find the ports that they expect: inputs that they do not know are
/// omitted, and outputs that they do not know follow the others.
fn keeps_positions(given: &Drawn, expected: &Drawn) -> bool {
    let names = |list: &[Port]| list.iter().map(|port| port.name).collect::<Vec<_>>();
    let (before, after) = (names(&expected.inputs), names(&given.inputs));
    let passed: Vec<_> = after.into_iter().filter(|name| before.contains(name)).collect();
    passed == before && names(&given.outputs).starts_with(&names(&expected.outputs))
}

#[test]
fn verdicts_of_random_pairs_are_those_of_enumerated_calls() {
    let mut random = Random(TestRng::from_seed(RngAlgorithm::ChaCha, &SEED));
    let mut counts = [0; 4];
    let mut wrong = Vec::new();
    let pairs = number(FEW_PAIRS, PAIRS);
    for pair in 0..pairs {
        let old = random.interface();
        let mut new = old.clone();
        for _ in 0..1 + random.below(3) {
            random.change(&mut new);
        }
        let (first, second) = (old.interface(), new.interface());
        let (backward, forward) = (replaces(&new, &old), replaces(&old, &new));
        counts[usize::from(backward) + 2 * usize::from(forward)] += 1;
        let compared = compare(&first, &second, Direction::Full, PortIdentity::Name);
        let is_compatible = |direction: Direction| match direction {
            Direction::Full => compared.is_compatible(),
            // A comparison takes most of the time of this test, and the breaks of one answer all directions.
            _ if pair % 16 > 0 => !compared.differences.iter().any(|it| direction.is_broken_by(it.breaks)),
            _ => compare(&first, &second, direction, PortIdentity::Name).is_compatible(),
        };
        let enumerated = [
            (Direction::Backward, backward),
            (Direction::Forward, forward),
            (Direction::Full, backward && forward),
        ];
        if enumerated.into_iter().any(|(direction, expected)| is_compatible(direction) != expected) {
            wrong.push(format!("{first}\n{second}\nenumerated: backward {backward}, forward {forward}"));
        }
        if pair % 16 == 0 {
            let by_position = compare(&first, &second, Direction::Backward, PortIdentity::NameAndPosition);
            let expected = backward && keeps_positions(&new, &old);
            assert_eq!(by_position.is_compatible(), expected, "by position: {first}\n{second}");
        }
    }
    println!("seed {SEED:?}; neither, backward, forward, full: {counts:?}");
    assert!(
        wrong.is_empty(),
        "{} wrong verdicts:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(10)].join("\n\n")
    );
    assert!(counts.iter().all(|count| count * number(40, 20) >= pairs), "each verdict is common");
}

#[test]
fn callers_do_not_choose_the_size_of_an_added_optional_input() {
    let of = |symbol| Extent::Of { symbol, times: 1, plus: 0 };
    let port = |name, extent, optional| {
        let elem = Elem::from_onnx(1).expect("float is an element type");
        Port { name, elem, shape: Some(vec![extent]), optional }
    };
    let old = |result| Drawn {
        inputs: vec![port("a", of(0), false)],
        outputs: vec![port("y", of(result), false)],
        limit: None,
    };
    let mut new = old(1);
    new.inputs.push(port("c", of(1), true));
    let is_replaced_by = |old: &Drawn, new: &Drawn| {
        compare(&old.interface(), &new.interface(), Direction::Backward, PortIdentity::Name).is_compatible()
    };
    assert!(!is_replaced_by(&old(0), &new), "callers expect the size of `a`");
    assert!(is_replaced_by(&old(2), &new), "callers expect any size");
}
