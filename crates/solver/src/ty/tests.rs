//! Laws of the table, and a model that is obviously right: all tuples of ground types that satisfy the
//! equations so far.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseResult, TestRng, TestRunner};
use typeloom_types::lattice::NodeNo;

use super::{Constructor, Copier, Head, Numbering, Ty, Types, Waiter};
use crate::elem::{Elem, ElemSet};
use crate::signature::AllowedTypes;
use crate::universe::Universe;

/// Number of types in each random program.
const HANDLES: usize = 4;

/// One step of a random program. Positions are taken modulo the number of items.
#[derive(Clone, Debug)]
enum Op {
    Unify(usize, usize),
    /// The first is a sequence of the second.
    Sequence(usize, usize),
    Optional(usize, usize),
    Map(usize, usize),
    Tensor(usize, usize),
    Sparse(usize, usize),
    Node(usize, usize),
    Share(usize, usize),
    Allow(usize, usize),
    Error(usize),
}

fn any_op() -> impl Strategy<Value = Op> {
    let two = (0..HANDLES, 0..HANDLES);
    let set = (0..HANDLES, 0..SETS.len());
    prop_oneof![
        4 => two.clone().prop_map(|(a, b)| Op::Unify(a, b)),
        2 => two.clone().prop_map(|(a, b)| Op::Sequence(a, b)),
        1 => two.clone().prop_map(|(a, b)| Op::Optional(a, b)),
        1 => two.clone().prop_map(|(a, b)| Op::Map(a, b)),
        3 => set.clone().prop_map(|(a, set)| Op::Tensor(a, set)),
        1 => set.clone().prop_map(|(a, set)| Op::Sparse(a, set)),
        3 => (0..HANDLES, 0..NODES.len()).prop_map(|(a, node)| Op::Node(a, node)),
        2 => two.prop_map(|(a, b)| Op::Share(a, b)),
        2 => set.prop_map(|(a, set)| Op::Allow(a, set)),
        1 => (0..HANDLES).prop_map(Op::Error),
    ]
}

const SETS: [ElemSet; 6] = [
    ElemSet::of(Elem::FLOAT),
    ElemSet::of(Elem::INT32),
    ElemSet::of_all(&[Elem::FLOAT, Elem::INT32]),
    ElemSet::of_all(&[Elem::FLOAT, Elem::DOUBLE]),
    ElemSet::of_all(&[Elem::INT32, Elem::INT64, Elem::BOOL]),
    ElemSet::ALL,
];

const NODES: [&str; 8] =
    ["any", "tensor", "scalar", "tensor.f32", "tensor.i32", "scalar.f32", "scalar.i32", "peer_id"];

fn run<S: Strategy>(cases: u32, strategy: &S, test: impl Fn(S::Value) -> TestCaseResult) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(config, rng).run(strategy, test).unwrap();
}

fn programs() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(any_op(), 1..14)
}

struct Table {
    types: Types,
    handles: Vec<Ty>,
}

impl Table {
    fn new() -> Self {
        let mut types = Types::new(Universe::standard().clone());
        let handles = (0..HANDLES).map(|_| types.fresh()).collect();
        Self { types, handles }
    }

    fn node(&self, at: usize) -> NodeNo {
        self.types.universe().lattice().lookup(NODES[at]).unwrap().no
    }

    /// Whether the step succeeded.
    fn apply(&mut self, op: &Op) -> bool {
        let handle = |at: usize| self.handles[at];
        match *op {
            Op::Unify(a, b) => self.types.unify(handle(a), handle(b)).is_ok(),
            Op::Sequence(a, b) => {
                let (a, b) = (handle(a), handle(b));
                let outer = self.types.sequence(b);
                self.types.unify(a, outer).is_ok()
            }
            Op::Optional(a, b) => {
                let (a, b) = (handle(a), handle(b));
                let outer = self.types.container(Constructor::Optional, b);
                self.types.unify(outer, a).is_ok()
            }
            Op::Map(a, b) => {
                let (a, b) = (handle(a), handle(b));
                let outer = self.types.map(Elem::STRING, b);
                self.types.unify(a, outer).is_ok()
            }
            Op::Tensor(a, set) => {
                let a = handle(a);
                self.types.narrow_tensor(a, SETS[set]).is_ok()
            }
            Op::Sparse(a, set) => {
                let a = handle(a);
                let sparse = self.types.sparse_of(SETS[set]);
                self.types.unify(a, sparse).is_ok()
            }
            Op::Node(a, node) => {
                let (a, node) = (handle(a), self.node(node));
                self.types.narrow_to_node(a, node).is_ok()
            }
            Op::Share(a, b) => {
                let (a, b) = (handle(a), handle(b));
                self.types.unify_element(a, b).is_ok()
            }
            Op::Allow(a, set) => {
                let a = handle(a);
                let allowed =
                    AllowedTypes { tensor: SETS[set], seq_tensor: SETS[set], ..AllowedTypes::default() };
                self.types.narrow_to_allowed(a, &allowed).is_ok()
            }
            Op::Error(a) => {
                let a = handle(a);
                self.types.unify(a, Types::ERROR).is_ok()
            }
        }
    }

    /// The type of each handle, with the classes of unknown parts numbered by first appearance.
    fn facts(&mut self) -> Vec<Fact> {
        facts(&mut self.types, &self.handles)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Fact {
    /// The constructors from the outside in.
    heads: Vec<&'static str>,
    innermost: Innermost,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Innermost {
    Unknown { bound: Option<NodeNo>, class: usize },
    Elements { set: ElemSet, class: Option<usize> },
    Leaf(NodeNo),
    Error,
}

fn facts(types: &mut Types, handles: &[Ty]) -> Vec<Fact> {
    let mut classes = Vec::new();
    let mut number = |class: (u8, u32)| {
        let known = classes.iter().position(|known| *known == class);
        known.unwrap_or_else(|| {
            classes.push(class);
            classes.len() - 1
        })
    };
    let mut facts = Vec::new();
    for handle in handles {
        let mut heads = Vec::new();
        let mut at = *handle;
        let innermost = loop {
            let (name, inner) = match types.head(at) {
                Head::Container(Constructor::Sequence, inner) => ("sequence", inner),
                Head::Container(Constructor::Optional, inner) => ("optional", inner),
                Head::Container(Constructor::Map(_), inner) => ("map", inner),
                Head::Leaf(node) => break Innermost::Leaf(node),
                Head::Composite => unreachable!("these types have no composites"),
                Head::Error => break Innermost::Error,
                Head::Unknown(bound) => {
                    let class = number(types.class(at));
                    break Innermost::Unknown { bound, class };
                }
                head @ (Head::Tensor | Head::Sparse | Head::Scalar) => {
                    heads.push(match head {
                        Head::Tensor => "tensor",
                        Head::Sparse => "sparse",
                        _ => "scalar",
                    });
                    let set = types.elems(at).unwrap();
                    let class = (set.len() > 1).then(|| number(types.class(at)));
                    break Innermost::Elements { set, class };
                }
            };
            heads.push(name);
            at = inner;
        };
        facts.push(Fact { heads, innermost });
    }
    facts
}

/// A fact without the identity of classes, which relates it to other facts.
fn seen(fact: &Fact) -> Fact {
    let innermost = match fact.innermost.clone() {
        Innermost::Unknown { bound, class: _ } => Innermost::Unknown { bound, class: 0 },
        Innermost::Elements { set, class: _ } => Innermost::Elements { set, class: None },
        known @ (Innermost::Leaf(_) | Innermost::Error) => known,
    };
    Fact { heads: fact.heads.clone(), innermost }
}

#[test]
fn a_failed_operation_changes_nothing() {
    run(600, &programs(), |program| {
        let mut table = Table::new();
        for op in &program {
            let before = table.facts();
            if !table.apply(op) {
                prop_assert_eq!(table.facts(), before, "{:?}", op);
            }
        }
        Ok(())
    });
}

#[test]
fn a_repeated_operation_changes_nothing() {
    run(400, &programs(), |program| {
        let mut table = Table::new();
        for op in &program {
            if table.apply(op) {
                let once = table.facts();
                prop_assert!(table.apply(op), "{:?}", op);
                prop_assert_eq!(table.facts(), once, "{:?}", op);
            }
        }
        Ok(())
    });
}

#[test]
fn knowledge_only_grows() {
    run(600, &programs(), |program| {
        let mut table = Table::new();
        for op in &program {
            let before = table.facts();
            table.apply(op);
            let lattice = std::sync::Arc::clone(table.types.universe());
            for (old, new) in before.iter().zip(table.facts()) {
                prop_assert!(new.heads.starts_with(&old.heads), "{:?}: {:?} -> {:?}", op, old, new);
                match (&old.innermost, &new.innermost) {
                    (Innermost::Unknown { bound: Some(old), .. }, Innermost::Unknown { bound, .. }) => {
                        prop_assert!(bound.is_some_and(|new| lattice.lattice().is_subtype(new, *old)));
                    }
                    (Innermost::Unknown { .. }, _) => {}
                    (Innermost::Elements { set: old, .. }, Innermost::Elements { set: new, .. }) => {
                        prop_assert_eq!(old.intersect(*new), *new);
                        prop_assert!(!new.is_empty());
                    }
                    (old, new) => prop_assert_eq!(old, new),
                }
            }
        }
        Ok(())
    });
}

#[test]
fn waiters_wake_exactly_when_more_is_known() {
    run(600, &programs(), |program| {
        let mut table = Table::new();
        let mut woken = Vec::new();
        for op in &program {
            for (step, handle) in (0..).zip(table.handles.clone()) {
                table.types.watch(handle, Waiter { frame: 0, step });
            }
            let before = table.facts();
            table.apply(op);
            let after = table.facts();
            let changed = before.iter().zip(&after).map(|(old, new)| seen(old) != seen(new));
            let changed: Vec<usize> =
                (0..).zip(changed).filter(|(_, changed)| *changed).map(|(at, _)| at).collect();
            table.types.take_woken(&mut woken);
            let told: BTreeSet<usize> = woken.drain(..).map(|waiter| waiter.step as usize).collect();
            prop_assert_eq!(told.into_iter().collect::<Vec<_>>(), changed, "{:?}", op);
        }
        Ok(())
    });
}

#[test]
fn a_waiter_that_is_forgotten_is_not_woken_and_others_are() {
    let mut table = Table::new();
    let (one, other) = (Waiter { frame: 0, step: 1 }, Waiter { frame: 0, step: 2 });
    for waiter in [one, other] {
        table.types.watch(table.handles[0], waiter);
    }
    table.types.narrow_tensor(table.handles[0], ElemSet::ALL).unwrap();
    table.types.forget_woken(one);
    let mut woken = Vec::new();
    table.types.take_woken(&mut woken);
    assert_eq!(woken, [other]);
    assert!(!table.types.has_woken());
}

#[test]
fn copies_are_equal_and_independent() {
    run(400, &(programs(), programs()), |(first, second)| {
        let mut table = Table::new();
        for op in &first {
            table.apply(op);
        }
        let before = table.facts();
        let mut copier = Copier::default();
        let originals = table.handles.clone();
        let copies: Vec<Ty> = originals.iter().map(|ty| table.types.copy(*ty, &mut copier)).collect();
        prop_assert_eq!(&facts(&mut table.types, &copies), &before);
        table.handles.clone_from(&copies);
        for op in &second {
            table.apply(op);
        }
        prop_assert_eq!(&facts(&mut table.types, &originals), &before);
        let narrowed = table.facts();
        table.handles = originals;
        for op in second.iter().rev() {
            table.apply(op);
        }
        prop_assert_eq!(&facts(&mut table.types, &copies), &narrowed);
        Ok(())
    });
}

#[test]
fn encodings_are_equal_iff_types_are_equal_up_to_their_variables() {
    let encode = |table: &mut Table| {
        let (mut numbering, mut words) = (Numbering::default(), Vec::new());
        for handle in table.handles.clone() {
            table.types.encode(handle, &mut numbering, &mut words);
        }
        words
    };
    let equal = std::cell::Cell::new(0);
    // Short programs, and often the second is the first with additional steps, so that equal outcomes are
    // common.
    let short = || prop::collection::vec(any_op(), 0..4);
    run(1500, &(short(), short(), any::<bool>()), |(first, second, same)| {
        let (mut one, mut other) = (Table::new(), Table::new());
        for op in &first {
            one.apply(op);
        }
        // Separate variables, so that the two tables number them differently.
        for _ in 0..3 {
            other.types.fresh();
            other.types.tensor_of(ElemSet::ALL);
        }
        for op in if same { first.iter() } else { second.iter() } {
            other.apply(op);
        }
        let alike = one.facts() == other.facts();
        equal.set(equal.get() + u32::from(alike));
        prop_assert_eq!(encode(&mut one) == encode(&mut other), alike);
        Ok(())
    });
    assert!((300..1400).contains(&equal.get()), "{} of 1500 are equal", equal.get());
}

/// The model: ground types, as a number of sequences around one of these.
const BASES: [(&str, Elem); 4] =
    [("tensor", Elem::FLOAT), ("tensor", Elem::INT32), ("scalar", Elem::FLOAT), ("scalar", Elem::INT32)];
/// A base that has no elements.
const PEER: usize = BASES.len();
/// Maximum nesting of sequences that equations between this number of handles can imply.
const DEPTH: usize = HANDLES - 1;
const GROUND: usize = (PEER + 1) * (DEPTH + 1);

fn depth_and_base(ground: usize) -> (usize, usize) {
    (ground / (PEER + 1), ground % (PEER + 1))
}

fn ground_under(ground: usize, node: &str) -> bool {
    let (depth, base) = depth_and_base(ground);
    let leaf = match base {
        0 => "tensor.f32",
        1 => "tensor.i32",
        2 => "scalar.f32",
        3 => "scalar.i32",
        _ => "peer_id",
    };
    node == "any"
        || depth == 0 && (leaf == node || leaf.split_once('.').is_some_and(|(kind, _)| kind == node))
}

/// Whether a tuple of ground types satisfies a step.
fn satisfies(tuple: &[usize; HANDLES], op: &Op) -> bool {
    match *op {
        Op::Unify(a, b) => tuple[a] == tuple[b],
        Op::Sequence(a, b) => {
            let ((outer, x), (inner, y)) = (depth_and_base(tuple[a]), depth_and_base(tuple[b]));
            outer == inner + 1 && x == y
        }
        Op::Node(a, node) => ground_under(tuple[a], NODES[node]),
        Op::Share(a, b) => {
            let element = |ground| match depth_and_base(ground) {
                (0, base) => BASES.get(base).map(|(_, elem)| *elem),
                (_, _) => None,
            };
            element(tuple[a]).is_some() && element(tuple[a]) == element(tuple[b])
        }
        Op::Optional(..) | Op::Map(..) | Op::Tensor(..) | Op::Sparse(..) | Op::Allow(..) | Op::Error(_) => {
            true
        }
    }
}

fn all_tuples() -> Vec<[usize; HANDLES]> {
    let count = GROUND.pow(u32::try_from(HANDLES).unwrap());
    let digit = |tuple: usize, at: usize| tuple / GROUND.pow(u32::try_from(at).unwrap()) % GROUND;
    (0..count).map(|tuple| std::array::from_fn(|at| digit(tuple, at))).collect()
}

#[test]
fn a_step_fails_iff_no_ground_types_satisfy_it_with_all_before_it() {
    let two = || (0..HANDLES, 0..HANDLES);
    let op = prop_oneof![
        3 => two().prop_map(|(a, b)| Op::Unify(a, b)),
        2 => two().prop_map(|(a, b)| Op::Sequence(a, b)),
        3 => (0..HANDLES, 0..NODES.len()).prop_map(|(a, node)| Op::Node(a, node)),
        2 => two().prop_map(|(a, b)| Op::Share(a, b)),
    ];
    let tuples = all_tuples();
    let (passed, failed) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    run(40, &prop::collection::vec(op, 1..9), |program| {
        let mut table = Table::new();
        let mut left = tuples.clone();
        for op in &program {
            // Elements are not unified while a kind is unknown: relations wait for the kind.
            if let Op::Share(a, b) = *op {
                let unknown = |ty| matches!(ty, Head::Unknown(_));
                let (a, b) = (table.handles[a], table.handles[b]);
                if unknown(table.types.head(a)) || unknown(table.types.head(b)) {
                    continue;
                }
            }
            let next: Vec<_> = left.iter().copied().filter(|tuple| satisfies(tuple, op)).collect();
            let applied = table.apply(op);
            prop_assert_eq!(applied, !next.is_empty(), "{:?}", op);
            let count = if applied { &passed } else { &failed };
            count.set(count.get() + 1);
            if applied {
                left = next;
            }
        }
        // If the table knows the type of a handle, every satisfying tuple has this type.
        for (at, fact) in table.facts().iter().enumerate() {
            let grounds: BTreeSet<usize> = left.iter().map(|tuple| tuple[at]).collect();
            let settled = match &fact.innermost {
                Innermost::Leaf(_) => Some(PEER),
                Innermost::Elements { set, .. } => set.single().and_then(|elem| {
                    BASES.iter().position(|base| *base == (fact.heads[fact.heads.len() - 1], elem))
                }),
                Innermost::Unknown { .. } | Innermost::Error => None,
            };
            if let Some(base) = settled {
                let depth = fact.heads.iter().filter(|head| **head == "sequence").count();
                prop_assert_eq!(grounds.into_iter().collect::<Vec<_>>(), [depth * (PEER + 1) + base]);
            }
        }
        Ok(())
    });
    assert!(passed.get() > 60 && failed.get() > 20, "{} passed, {} failed", passed.get(), failed.get());
}

#[test]
fn a_type_inside_itself_is_no_type() {
    let mut table = Table::new();
    assert!(table.apply(&Op::Sequence(0, 1)));
    assert!(table.apply(&Op::Optional(1, 2)));
    assert!(!table.apply(&Op::Unify(0, 2)));
    assert!(table.apply(&Op::Unify(2, 3)));
}

#[test]
fn a_type_in_error_unifies_with_every_type() {
    let mut table = Table::new();
    assert!(table.apply(&Op::Tensor(0, 0)));
    let before = table.facts();
    for at in 0..HANDLES {
        assert!(table.apply(&Op::Error(at)));
    }
    assert_eq!(table.facts(), before);
}

#[test]
fn long_chains_of_equations_cost_neither_stack_nor_squares() {
    const LONG: usize = 200_000;
    let mut types = Types::new(Universe::standard().clone());
    let chain: Vec<Ty> = (0..LONG).map(|_| types.fresh()).collect();
    for pair in chain.windows(2) {
        types.unify(pair[0], pair[1]).unwrap();
    }
    types.narrow_tensor(chain[LONG / 2], ElemSet::of(Elem::FLOAT)).unwrap();
    assert!(chain.iter().all(|ty| types.is_concrete(*ty)));
    let mut nested = types.fresh();
    for _ in 0..LONG {
        nested = types.sequence(nested);
    }
    let copy = types.copy(nested, &mut Copier::default());
    assert!(types.unify(nested, copy).is_ok());
    assert!(!types.is_concrete(nested));
}
