//! Recursive types: one id and one digest for all equivalent descriptions, compared with coinductive
//! equality.

use std::collections::{HashMap, HashSet};

use crate::support::{self, random_node};
use typeloom_pool::{Descriptor, GraphRef, Idx, Pool, PoolError, Sort, Tag};
use typeloom_testing::Random;

type Node = Descriptor<GraphRef<Idx>>;

/// A node without its children, and its children: the representation of the slow reference.
type Level = (Descriptor<()>, Vec<GraphRef<Idx>>);

fn level_of(node: Node) -> Level {
    let mut children = Vec::new();
    let holes = support::map_children(node, &mut |child| children.push(child));
    (holes, children)
}

/// The levels of a graph and of the types of a pool.
struct Levels {
    graph: Vec<Level>,
    pool: HashMap<Idx, Level>,
}

impl Levels {
    fn of(&mut self, pool: &Pool, at: GraphRef<Idx>) -> Level {
        match at {
            GraphRef::Member(node) => self.graph[node as usize].clone(),
            GraphRef::Outer(ty) => {
                let level = || level_of(support::map_children(pool.get(ty), &mut GraphRef::Outer));
                self.pool.entry(ty).or_insert_with(level).clone()
            }
        }
    }

    /// Equality as the greatest bisimulation: assume that the pair is equal, compare one level, continue with
    /// the children.
    fn equal(&mut self, pool: &Pool, a: GraphRef<Idx>, b: GraphRef<Idx>) -> bool {
        let mut assumed = HashSet::new();
        let mut todo = vec![(a, b)];
        while let Some((a, b)) = todo.pop() {
            if !assumed.insert((a, b)) {
                continue;
            }
            let (holes_a, children_a) = self.of(pool, a);
            let (holes_b, children_b) = self.of(pool, b);
            if holes_a != holes_b || children_a.len() != children_b.len() {
                return false;
            }
            todo.extend(children_a.into_iter().zip(children_b));
        }
        true
    }
}

#[test]
fn ids_of_30000_random_graphs_agree_with_coinductive_equality() {
    let mut rng = Random(11);
    let mut compared = [0usize; 2];
    for round in 0..300 {
        // The pool fills up, so that graphs meet earlier groups and their unfoldings.
        let mut pool = Pool::new();
        let int = pool.primitive(Tag::Int).unwrap();
        let mut outer = vec![int];
        let mut levels = Levels { graph: Vec::new(), pool: HashMap::new() };
        for _ in 0..100 {
            let nodes = 1 + rng.below(6) as u32;
            let graph: Vec<Node> = (0..nodes).map(|_| random_node(&mut rng, &outer, nodes)).collect();
            let ids = pool.intern_graph(&graph).unwrap();
            levels.graph = graph.iter().cloned().map(level_of).collect();
            let (a, b) = (rng.below(ids.len()), rng.below(ids.len()));
            let member = GraphRef::Member(a as u32);
            let equal = levels.equal(&pool, member, GraphRef::Member(b as u32));
            assert_eq!(equal, ids[a] == ids[b], "round {round}: {graph:#?}");
            compared[usize::from(equal)] += 1;
            let other = *rng.pick(&outer);
            let equal = levels.equal(&pool, member, GraphRef::Outer(other));
            assert_eq!(equal, ids[a] == other, "round {round}: {graph:#?}");
            // A node equals its interned type.
            assert!(levels.equal(&pool, member, GraphRef::Outer(ids[a])));
            if outer.len() < 12 {
                outer.extend(ids);
            }
        }
    }
    assert!(compared[0] > 8_000 && compared[1] > 8_000, "{compared:?}");
}

#[test]
fn distinct_ids_of_one_pool_are_distinct_types_and_have_distinct_digests() {
    let mut rng = Random(5);
    for _ in 0..15 {
        let mut pool = Pool::new();
        let mut outer = vec![pool.primitive(Tag::Int).unwrap()];
        for _ in 0..8 {
            let nodes = 1 + rng.below(4) as u32;
            let graph: Vec<Node> = (0..nodes).map(|_| random_node(&mut rng, &outer, nodes)).collect();
            outer.extend(pool.intern_graph(&graph).unwrap());
        }
        pool.compute_all_digests();
        let ids: Vec<Idx> = pool.ids().collect();
        let digests: HashSet<_> = ids.iter().map(|&id| pool.known_digest(id).unwrap()).collect();
        assert_eq!(digests.len(), ids.len());
        let mut levels = Levels { graph: Vec::new(), pool: HashMap::new() };
        for &a in &ids {
            for &b in &ids {
                let equal = levels.equal(&pool, GraphRef::Outer(a), GraphRef::Outer(b));
                assert_eq!(equal, a == b);
            }
        }
    }
}

#[test]
fn a_graph_written_otherwise_in_a_pool_filled_otherwise_has_the_same_digests() {
    let mut rng = Random(77);
    for _ in 0..200 {
        let nodes = 1 + rng.below(8) as u32;
        let graph: Vec<Node> = (0..nodes).map(|_| random_node(&mut rng, &[], nodes)).collect();
        let mut pool = Pool::new();
        let ids = pool.intern_graph(&graph).unwrap();
        let mut other = Pool::new();
        let filler: Vec<Node> = (0..5).map(|_| random_node(&mut rng, &[], 5)).collect();
        other.intern_graph(&filler).unwrap();
        for id in ids {
            let copy = support::copy_shuffled(&mut rng, &pool, id, &mut other);
            assert_eq!(pool.digest(id), other.digest(copy), "{}", pool.signature(id));
            assert_eq!(pool.shape_digest(id), other.shape_digest(copy));
        }
    }
}

#[test]
fn an_unfolding_made_of_ordinary_types_is_the_recursive_type_itself() {
    let mut pool = Pool::new();
    let list = pool
        .intern_graph(&[Descriptor::Container { tag: Tag::List, child: GraphRef::Member(0) }])
        .unwrap()[0];
    assert_eq!(pool.list(list).unwrap(), list);
    assert_eq!(pool.signature(list), "rec0 = list<rec0>");
}

#[test]
fn a_cycle_that_unfolds_a_group_it_refers_to_is_that_group() {
    let mut pool = Pool::new();
    let pair = |a, b| Descriptor::Tuple { elements: vec![a, b] };
    let e = pool.intern_graph(&[pair(GraphRef::Member(0), GraphRef::Member(0))]).unwrap()[0];
    let a = pool.intern_graph(&[pair(GraphRef::Member(0), GraphRef::Outer(e))]).unwrap()[0];
    assert_eq!(a, e);
}

#[test]
fn names_decide_exact_digests_of_recursive_types_and_not_shape_digests() {
    let mut pool = Pool::new();
    let node = |name: &str, next: u32| -> Node {
        Descriptor::Struct {
            name: name.into(),
            field_names: vec!["next".into()],
            field_types: vec![GraphRef::Member(next)],
        }
    };
    let two = pool.intern_graph(&[node("A", 1), node("B", 0)]).unwrap();
    let one = pool.intern_graph(&[node("C", 0)]).unwrap();
    assert_ne!(pool.digest(two[0]), pool.digest(one[0]));
    assert_ne!(pool.digest(two[0]), pool.digest(two[1]));
    assert_eq!(pool.shape_digest(two[0]), pool.shape_digest(one[0]));
    assert_eq!(pool.shape_digest(two[0]), pool.shape_digest(two[1]));
    assert_ne!(pool.shape_digest(one[0]).unwrap(), pool.digest(one[0]).unwrap());
}

#[test]
fn a_failed_graph_leaves_the_pool_as_it_was() {
    let mut pool = Pool::new();
    let int = pool.primitive(Tag::Int).unwrap();
    let before = format!("{pool:?}").len();
    let graph = [
        Descriptor::Container { tag: Tag::List, child: GraphRef::Member(0) },
        Descriptor::Struct {
            name: "S".into(),
            field_names: vec!["x".into(), "x".into()],
            field_types: vec![GraphRef::Outer(int), GraphRef::Member(0)],
        },
    ];
    assert_eq!(pool.intern_graph(&graph), Err(PoolError::DuplicateField { name: "x".into() }));
    assert_eq!(pool.len(), 1);
    assert!(format!("{pool:?}").len() <= before + 2000);
    let graph = [Descriptor::Tuple { elements: vec![GraphRef::Member(1)] }];
    assert_eq!(pool.intern_graph(&graph), Err(PoolError::UnknownNode { node: 1 }));
}

#[test]
fn schemes_in_cycles_are_alpha_equivalent() {
    let mut pool = Pool::new();
    let build = |pool: &mut Pool, first: u32, second: u32, places: usize| {
        let a = pool.bound(0, first, Sort::Type).unwrap();
        let b = pool.bound(0, second, Sort::Type).unwrap();
        let graph = [
            Descriptor::Struct {
                name: "S".into(),
                field_names: vec!["f".into()],
                field_types: vec![GraphRef::Member(1)],
            },
            Descriptor::Scheme { vars: vec![Sort::Type; places], body: GraphRef::Member(2) },
            Descriptor::Function {
                params: vec![GraphRef::Outer(a), GraphRef::Member(0)],
                returns: GraphRef::Outer(b),
            },
        ];
        pool.intern_graph(&graph).unwrap()
    };
    let straight = build(&mut pool, 0, 1, 2);
    assert_eq!(build(&mut pool, 1, 0, 2)[..2], straight[..2]);
    assert_eq!(build(&mut pool, 3, 1, 5)[..2], straight[..2]);
    assert_eq!(pool.signature(straight[0]), "rec0 = struct S { f: forall T, U. (U, rec0) -> T }");
}

#[test]
fn a_cycle_of_schemes_that_bind_nothing_has_no_content() {
    let mut pool = Pool::new();
    let graph = [
        Descriptor::Scheme { vars: vec![Sort::Type], body: GraphRef::Member(1) },
        Descriptor::Scheme { vars: vec![Sort::Type], body: GraphRef::Member(0) },
    ];
    assert_eq!(pool.intern_graph(&graph), Err(PoolError::EmptyCycle));
    let graph = [
        Descriptor::Scheme { vars: vec![Sort::Type], body: GraphRef::Member(1) },
        Descriptor::Container { tag: Tag::List, child: GraphRef::Member(0) },
    ];
    let ids = pool.intern_graph(&graph).unwrap();
    assert_eq!(ids[0], ids[1]);
    assert_eq!(pool.signature(ids[0]), "rec0 = list<rec0>");
}

#[test]
fn a_ring_of_ten_thousand_equal_nodes_is_one_type_and_a_distinguished_ring_is_minimal() {
    let mut pool = Pool::new();
    let len = 10_000u32;
    let ring: Vec<Node> = (0..len)
        .map(|at| Descriptor::Container { tag: Tag::List, child: GraphRef::Member((at + 1) % len) })
        .collect();
    let ids = pool.intern_graph(&ring).unwrap();
    assert_eq!(pool.len(), 1);
    assert!(ids.iter().all(|&id| id == ids[0]));
    let len = 600;
    let ring: Vec<Node> = (0..len)
        .map(|at| {
            let tag = if at == 0 { Tag::Set } else { Tag::List };
            Descriptor::Container { tag, child: GraphRef::Member((at + 1) % len) }
        })
        .collect();
    let ids: HashSet<Idx> = pool.intern_graph(&ring).unwrap().into_iter().collect();
    assert_eq!(ids.len(), len as usize);
}
