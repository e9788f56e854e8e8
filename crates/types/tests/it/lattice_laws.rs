//! Laws of subtype, join and meet on random trees, and agreement with a walk along the parents.

use proptest::prelude::*;
use typeloom_types::lattice::build::NodeSpec;
use typeloom_types::lattice::{Lattice, NodeNo};

use crate::support::{build, config, id, parents, specs};

/// Slow reference: the node and its ancestors.
fn ancestors(lattice: &Lattice, no: NodeNo) -> Vec<NodeNo> {
    std::iter::successors(Some(no), |no| lattice.parent(*no)).collect()
}

fn numbers(lattice: &Lattice) -> Vec<NodeNo> {
    lattice.nodes().map(|node| node.no).collect()
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn queries_agree_with_walking_up_parents(parents in parents(24)) {
        let lattice = build(&specs(&parents)).unwrap();
        for a in numbers(&lattice) {
            let above_a = ancestors(&lattice, a);
            for b in numbers(&lattice) {
                let above_b = ancestors(&lattice, b);
                prop_assert_eq!(lattice.is_subtype(a, b), above_a.contains(&b));
                let join = *above_a.iter().find(|no| above_b.contains(no)).unwrap();
                prop_assert_eq!(lattice.join(a, b), join);
                let meet = if above_a.contains(&b) { Some(a) } else { above_b.contains(&a).then_some(b) };
                prop_assert_eq!(lattice.meet(a, b), meet);
            }
        }
    }

    #[test]
    fn parents_and_children_are_those_declared(parents in parents(40)) {
        let specs = specs(&parents);
        let lattice = build(&specs).unwrap();
        prop_assert_eq!(lattice.len(), specs.len());
        for spec in &specs {
            let node = lattice.lookup(&spec.id).unwrap();
            prop_assert_eq!(node.id, &*spec.id);
            prop_assert_eq!(node.parent, spec.parent.as_deref());
            prop_assert_eq!(node.kind, spec.kind);
            prop_assert_eq!(lattice.number_at(node.no.index()), Some(node.no));
            prop_assert_eq!(lattice.parent(node.no), spec.parent.as_deref().and_then(|id| lattice.number_of(id)));

            let children: Vec<_> = lattice.children(node.no).iter().map(|no| lattice.node(*no).unwrap().id).collect();
            let mut expected: Vec<&str> =
                specs.iter().filter(|other| other.parent == Some(spec.id.clone())).map(|other| &*other.id).collect();
            expected.sort_unstable();
            prop_assert_eq!(children, expected);

            let leaves = lattice.leaves_under(node.no).to_vec();
            let concrete_under: Vec<_> =
                lattice.nodes().filter(|leaf| leaf.is_concrete() && leaf.is_subtype_of(node)).map(|leaf| leaf.no).collect();
            prop_assert_eq!(leaves, concrete_under);
        }
    }

    #[test]
    fn numbers_do_not_depend_on_the_order_of_declaration(
        parents in parents(30),
        order in any::<prop::sample::Index>(),
    ) {
        let mut specs = specs(&parents);
        let first = build(&specs).unwrap();
        let shift = order.index(specs.len());
        specs.rotate_left(shift);
        specs.reverse();
        let second = build(&specs).unwrap();
        let ids = |lattice: &Lattice| lattice.nodes().map(|node| node.id.to_owned()).collect::<Vec<_>>();
        prop_assert_eq!(ids(&first), ids(&second));
    }

    /// forall s, t, u: `<:` is a partial order, `join` the least upper bound, `meet` the greatest lower
    /// bound.
    #[test]
    fn the_laws_of_order_join_and_meet_hold(parents in parents(12)) {
        let lattice = build(&specs(&parents)).unwrap();
        let all = numbers(&lattice);
        let sub = |a, b| lattice.is_subtype(a, b);
        let meet = |a: Option<NodeNo>, b: Option<NodeNo>| lattice.meet(a?, b?);
        for &s in &all {
            prop_assert!(sub(s, s));
            prop_assert!(sub(s, lattice.root()));
            prop_assert_eq!(lattice.join(s, s), s);
            prop_assert_eq!(lattice.meet(s, s), Some(s));
            for &t in &all {
                prop_assert!(!(sub(s, t) && sub(t, s)) || s == t);
                prop_assert_eq!(lattice.join(s, t), lattice.join(t, s));
                prop_assert_eq!(lattice.meet(s, t), lattice.meet(t, s));
                prop_assert!(sub(s, lattice.join(s, t)));
                prop_assert!(lattice.meet(s, t).is_none_or(|m| sub(m, s) && sub(m, t)));
                prop_assert_eq!(sub(s, t), lattice.join(s, t) == t);
                prop_assert_eq!(sub(s, t), lattice.meet(s, t) == Some(s));
                // Absorption.
                prop_assert_eq!(lattice.meet(s, lattice.join(s, t)), Some(s));
                prop_assert!(lattice.meet(s, t).is_none_or(|m| lattice.join(s, m) == s));
                for &u in &all {
                    prop_assert!(!(sub(s, t) && sub(t, u)) || sub(s, u));
                    prop_assert!(!(sub(s, u) && sub(t, u)) || sub(lattice.join(s, t), u));
                    prop_assert!(!(sub(u, s) && sub(u, t)) || lattice.meet(s, t).is_some_and(|m| sub(u, m)));
                    prop_assert_eq!(
                        lattice.join(lattice.join(s, t), u),
                        lattice.join(s, lattice.join(t, u))
                    );
                    prop_assert_eq!(
                        meet(meet(Some(s), Some(t)), Some(u)),
                        meet(Some(s), meet(Some(t), Some(u)))
                    );
                }
            }
        }
    }
}

#[test]
fn a_chain_of_a_hundred_thousand_nodes_is_built_and_queried() {
    let parents: Vec<usize> = (0..100_000).collect();
    let lattice = build(&specs(&parents)).unwrap();
    let (top, middle, bottom) = (id(0), id(50_000), id(100_000));
    let number = |id: &str| lattice.number_of(id).unwrap();
    assert!(lattice.is_subtype(&*bottom, &*top));
    assert_eq!(lattice.join(number(&bottom), number(&middle)), number(&middle));
    assert_eq!(lattice.meet(number(&top), number(&bottom)), Some(number(&bottom)));
    assert_eq!(lattice.leaves_under(lattice.root()), [number(&bottom)]);
}

#[test]
fn queries_with_numbers_of_a_larger_lattice_do_not_panic() {
    let small = build(&specs(&[0])).unwrap();
    let large = build(&specs(&[0, 1, 2, 3])).unwrap();
    let foreign = large.nodes().last().unwrap().no;
    assert!(!small.is_subtype(foreign, small.root()));
    assert!(!small.is_subtype(small.root(), foreign));
    assert_eq!(small.join(foreign, small.root()), small.root());
    assert_eq!(small.meet(foreign, small.root()), None);
    assert!(small.node(foreign).is_none());
    assert_eq!(small.number_at(foreign.index()), None);
    assert_eq!(small.parent(foreign), None);
    assert!(small.children(foreign).is_empty());
    assert!(small.leaves_under(foreign).is_empty());
}

#[test]
fn a_node_of_another_lattice_is_found_by_its_id() {
    let extended = Lattice::builder()
        .with_registered()
        .with_spec(NodeSpec::bound("tensor.posit", "tensor"))
        .with_spec(
            NodeSpec::concrete("tensor.posit16", "tensor.posit").with_denotation("org.example.posit16"),
        )
        .build()
        .unwrap();
    let posit = extended.lookup_denotation("org.example.posit16").unwrap();
    assert_eq!(posit.as_static(), None);
    assert!(posit.is_subtype_of(Lattice::get().lookup("tensor").unwrap()));
    assert!(!Lattice::get().is_subtype(posit, "tensor"), "the default lattice does not have it");
    assert_eq!(extended.len(), Lattice::get().len() + 2);
}

#[test]
fn a_node_spec_round_trips_through_serde() {
    let spec: NodeSpec =
        serde_json::from_str(r#"{"id": "tensor.posit8", "parent": "tensor", "kind": "concrete"}"#).unwrap();
    assert_eq!(spec, NodeSpec::concrete("tensor.posit8", "tensor"));
    assert_eq!(serde_json::from_str::<NodeSpec>(&serde_json::to_string(&spec).unwrap()).unwrap(), spec);
    assert!(serde_json::from_str::<NodeSpec>(r#"{"id": "x", "kind": "concrete", "size": 3}"#).is_err());
}
