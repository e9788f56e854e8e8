//! Invalid trees: all violations are reported, in a fixed order.

use std::collections::BTreeMap;

use proptest::prelude::*;
use typeloom_types::lattice::Lattice;
use typeloom_types::lattice::build::{MAX_NODES, NodeSpec};
use typeloom_types::lattice::error::LatticeViolation;
use typeloom_types::tree::TypeKind;
use typeloom_types::tree::builtin::TYPE_ANY;

use crate::support::{build, config, id, parents, specs};

fn violations(specs: &[NodeSpec]) -> Vec<LatticeViolation> {
    build(specs).map_or_else(|error| error.violations().to_vec(), |_| Vec::new())
}

/// Slow reference: compares all nodes with each other.
fn slow_violations(specs: &[NodeSpec]) -> Vec<LatticeViolation> {
    let mut sorted = specs.to_vec();
    sorted.sort();
    sorted.dedup();
    let mut first: BTreeMap<&str, &NodeSpec> = BTreeMap::new();
    for spec in &sorted {
        first.entry(&spec.id).or_insert(spec);
    }
    let mut violations = Vec::new();
    let roots: Vec<String> = first
        .keys()
        .filter(|id| sorted.iter().any(|s| s.id == **id && s.parent.is_none()))
        .map(|id| (*id).into())
        .collect();
    if roots.len() > 1 {
        violations.push(LatticeViolation::SeveralRoots { ids: roots });
    }
    for id in first.keys() {
        let count = sorted.iter().filter(|other| other.id == *id).count();
        if count > 1 {
            violations.push(LatticeViolation::DuplicateId { id: (*id).into(), count });
        }
        if id.is_empty() || id.chars().any(char::is_whitespace) {
            violations.push(LatticeViolation::MalformedId { id: (*id).into() });
        }
        // A node is on a cycle if a walk of at most as many steps as there are nodes returns to it.
        let up = |id: &str| first.get(id).and_then(|spec| spec.parent.as_deref());
        let walk: Vec<&str> =
            std::iter::successors(Some(*id), |id| up(id).filter(|id| first.contains_key(id)))
                .take(first.len() + 1)
                .collect();
        if let Some(period) = walk.iter().skip(1).position(|other| other == id) {
            let cycle = &walk[..=period];
            if cycle.iter().min() == Some(id) {
                violations
                    .push(LatticeViolation::Cycle { ids: cycle.iter().map(|id| (*id).into()).collect() });
            }
        }
    }
    for spec in &sorted {
        let sharing = |same: &dyn Fn(&NodeSpec) -> bool| {
            let mut ids: Vec<String> =
                sorted.iter().filter(|other| same(other)).map(|other| other.id.to_string()).collect();
            ids.dedup();
            (ids.len() > 1).then_some(ids)
        };
        let wire_hash = spec.wire_tag();
        if let Some(ids) = sharing(&|other| wire_hash != 0 && other.wire_tag() == wire_hash) {
            violations.push(LatticeViolation::DuplicateWireHash { wire_hash, ids });
        }
        let denotation = spec.denotation.to_string();
        if let Some(ids) = sharing(&|other| !denotation.is_empty() && other.denotation == denotation) {
            violations.push(LatticeViolation::DuplicateDenotation { denotation, ids });
        }
    }
    for spec in &sorted {
        let id = spec.id.to_string();
        match spec.parent.as_deref().map(|parent| (parent, first.get(parent))) {
            Some((parent, None)) => {
                violations.push(LatticeViolation::UnknownParent { id, parent: parent.into() });
            }
            Some((leaf, Some(parent))) if parent.kind == TypeKind::Concrete => {
                violations.push(LatticeViolation::ChildOfLeaf { id, leaf: leaf.into() });
            }
            Some((_, Some(_))) | None => {}
        }
    }
    violations.sort();
    violations.dedup();
    violations
}

/// A random modification that makes a tree invalid.
#[derive(Clone, Debug)]
enum Damage {
    Rename,
    Reparent,
    LoseParent,
    MissingParent,
    MakeConcrete,
    ShareTag,
    ShareDenotation,
    BlankId,
}

fn damage() -> impl Strategy<Value = Vec<(Damage, prop::sample::Index, prop::sample::Index)>> {
    let kind = prop::sample::select(vec![
        Damage::Rename,
        Damage::Reparent,
        Damage::LoseParent,
        Damage::MissingParent,
        Damage::MakeConcrete,
        Damage::ShareTag,
        Damage::ShareDenotation,
        Damage::BlankId,
    ]);
    proptest::collection::vec((kind, any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..6)
}

fn apply(specs: &mut [NodeSpec], damage: &[(Damage, prop::sample::Index, prop::sample::Index)]) {
    let count = specs.len();
    for (kind, at, other) in damage {
        let (at, other) = (at.index(count), other.index(count));
        match kind {
            Damage::Rename => specs[at].id = specs[other].id.clone(),
            Damage::Reparent => specs[at].parent = Some(specs[other].id.clone()),
            Damage::LoseParent => specs[at].parent = None,
            Damage::MissingParent => specs[at].parent = Some(format!("missing{other}").into()),
            Damage::MakeConcrete => specs[at].kind = TypeKind::Concrete,
            Damage::ShareTag => {
                specs[at].wire_hash = 5;
                specs[other].wire_hash = 5;
            }
            Damage::ShareDenotation => {
                specs[at].denotation = "org.example.shared".into();
                specs[other].denotation = "org.example.shared".into();
            }
            Damage::BlankId => specs[at].id = format!("blank {other}").into(),
        }
    }
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn exactly_the_violations_of_a_damaged_tree_are_reported(parents in parents(10), damage in damage()) {
        let mut specs = specs(&parents);
        apply(&mut specs, &damage);
        prop_assert_eq!(violations(&specs), slow_violations(&specs));
    }

    #[test]
    fn violations_do_not_depend_on_the_order_of_declaration(parents in parents(10), damage in damage()) {
        let mut specs = specs(&parents);
        apply(&mut specs, &damage);
        let before = violations(&specs);
        specs.reverse();
        prop_assert_eq!(before, violations(&specs));
    }
}

#[test]
fn all_violations_are_reported_with_readable_messages() {
    let error = build(&[
        NodeSpec::root("any"),
        NodeSpec::root("top"),
        NodeSpec::concrete("leaf", "any").with_wire_hash(1).with_denotation("d"),
        NodeSpec::concrete("twig", "leaf").with_wire_hash(1).with_denotation("d"),
        NodeSpec::concrete("lost", "nowhere"),
        NodeSpec::bound("c", "b"),
        NodeSpec::bound("b", "a"),
        NodeSpec::bound("a", "c"),
        NodeSpec::bound("self", "self"),
        NodeSpec::bound("twice", "any"),
        NodeSpec::bound("twice", "any").with_ffi_name("other"),
        NodeSpec::bound("again", "any"),
        NodeSpec::bound("again", "any"),
        NodeSpec::bound("", "any"),
    ])
    .unwrap_err();
    let lines: Vec<String> = error.violations().iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "\"\" is not an id: it must not be empty or contain white space",
            "id `twice` is declared 2 times, with different contents",
            "`lost` has the unknown parent `nowhere`",
            "`twig` is declared under `leaf`, which is concrete and cannot have children",
            "the parents of `a` -> `c` -> `b` -> `a` form a cycle",
            "the parents of `self` -> `self` form a cycle",
            "there must be one root, but `any` and `top` have no parent",
            "wire hash 0x1 belongs to `leaf` and `twig`",
            "denotation `d` belongs to `leaf` and `twig`",
        ]
    );
    assert_eq!(error.to_string(), lines.join("; "));
}

#[test]
fn no_nodes_and_too_many_nodes_are_violations() {
    assert_eq!(violations(&[]), [LatticeViolation::Empty]);
    let crowd = (0..=MAX_NODES).fold(Lattice::builder(), |builder, _| builder.with_node(&TYPE_ANY));
    let error = crowd.build().unwrap_err();
    assert_eq!(
        error.violations(),
        [LatticeViolation::TooManyNodes { found: MAX_NODES + 1, limit: MAX_NODES }]
    );
}

#[test]
fn a_registered_node_that_is_added_again_is_one_node() {
    let again = NodeSpec::from(&TYPE_ANY);
    let registered = || Lattice::builder().with_registered();
    let lattice = registered().with_spec(again.clone()).with_node(&TYPE_ANY).build().unwrap();
    assert_eq!(lattice.len(), Lattice::get().len());
    assert_eq!(lattice.lookup("any").unwrap().as_static(), Some(&TYPE_ANY));

    let error = registered().with_spec(again.with_denotation("org.example.any")).build().unwrap_err();
    assert_eq!(error.violations(), [LatticeViolation::DuplicateId { id: "any".into(), count: 2 }]);
}

#[test]
fn a_cycle_of_a_hundred_thousand_nodes_is_one_violation() {
    let mut specs = specs(&(0..100_000).collect::<Vec<_>>());
    let last = specs.len() - 1;
    specs[last].kind = TypeKind::Abstract;
    specs[0].parent = Some(id(last).into());
    match violations(&specs).as_slice() {
        [LatticeViolation::Cycle { ids }] => assert_eq!(ids.len(), 100_001),
        other => panic!("expected one cycle, found {} violations", other.len()),
    }
}
