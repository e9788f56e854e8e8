//! The laws of matchings, on random programs with random edits. Seeds are printed with a violation.

use typeloom_testing::number;

use super::testing::{Map, Names, Program, Random, cost, minimum, of_keys, of_matching};
use super::{Matching, matching};
use crate::scene::{NodeId, Scene, ValueId};

/// A random program.
fn program(seed: u64, nodes: usize, operators: usize) -> Program {
    Program::random(&mut Random::new(seed), nodes, operators)
}

/// A program with edits.
fn edited(old: &Program, seed: u64, edits: usize) -> Program {
    let (mut new, mut random) = (old.clone(), Random::new(!seed));
    (0..edits).for_each(|_| new.edit(&mut random));
    new
}

/// The matching of two programs, by positions.
fn matched(old: &Program, new: &Program, names: [Names; 2]) -> (Map, Matching) {
    let scenes = (old.scene(names[0]), new.scene(names[1]));
    let found = matching(&scenes.0, &scenes.1);
    (of_matching(&found, &scenes.0, &scenes.1), found)
}

/// Hundredths of changes that few programs may have above the share that is asserted of the changes of many.
fn slack() -> usize {
    number(500, 0)
}

/// The number of random programs of a law.
fn seeds() -> u64 {
    number(8, 40)
}

const NAMES: [Names; 2] = [Names::Own, Names::Numbered];

#[test]
fn a_model_matches_itself_completely() {
    for (seed, names) in (0..seeds()).flat_map(|seed| NAMES.map(|names| (seed, names))) {
        let program = program(seed, 60, 1 + seed as usize % 5);
        let scene = program.scene(names);
        let found = matching(&scene, &scene);
        assert_eq!(found.nodes.iter().count(), scene.nodes.len(), "seed {seed}");
        let identity = (0..scene.nodes.len()).all(|at| found.nodes.are(NodeId::new(at), NodeId::new(at)));
        assert!(identity, "seed {seed}");
        let values = (0..scene.values.len()).all(|at| found.values.are(ValueId::new(at), ValueId::new(at)));
        assert!(values, "seed {seed}");
    }
}

#[test]
fn other_names_change_nothing() {
    for seed in 0..seeds() {
        let program = program(seed, 60, 1 + seed as usize % 5);
        let (map, _) = matched(&program, &program, [Names::Own, Names::Numbered]);
        assert_eq!(cost(&program, &program, &map), 0, "seed {seed}");
    }
}

#[test]
fn the_matching_of_new_and_old_is_the_inverse() {
    for (seed, names) in (0..seeds()).flat_map(|seed| NAMES.map(|names| (seed, names))) {
        let old = program(seed, 40, 1 + seed as usize % 5);
        let new = edited(&old, seed, 5);
        let scenes: [Scene; 2] = [old.scene(names), new.scene(names)];
        let (there, back) = (matching(&scenes[0], &scenes[1]), matching(&scenes[1], &scenes[0]));
        let swapped = |it: Matching| (it.nodes.swapped(), it.values.swapped(), it.graphs.swapped());
        assert_eq!(
            (there.nodes.clone(), there.values.clone(), there.graphs.clone()),
            swapped(back),
            "seed {seed}"
        );
    }
}

#[test]
fn another_order_in_the_file_changes_nothing() {
    for (seed, names) in (0..seeds()).flat_map(|seed| NAMES.map(|names| (seed, names))) {
        let old = program(seed, 40, 1 + seed as usize % 5);
        let mut new = old.clone();
        new.reorder(&mut Random::new(seed));
        let (map, _) = matched(&old, &new, [names, names]);
        assert_eq!(cost(&old, &new, &map), 0, "seed {seed}, {names:?}");
    }
}

/// The sums of the costs of the matching and of the edits themselves, for many seeds.
fn sums(nodes: usize, operators: usize, edits: usize, names: Names, reorder: Option<u64>) -> (usize, usize) {
    let (mut found, mut truth) = (0, 0);
    for seed in 0..seeds() {
        let old = program(seed, nodes, operators);
        let mut new = edited(&old, seed, edits);
        if let Some(other) = reorder {
            new.reorder(&mut Random::new(seed + other));
        }
        let (map, _) = matched(&old, &new, [names, names]);
        let (own, best) = (cost(&old, &new, &map), cost(&old, &new, &of_keys(&old, &new)));
        assert!(
            own <= best + 2 + edits / 2,
            "seed {seed}: {own} changes for {best}, {nodes} nodes, {names:?}"
        );
        (found, truth) = (found + own, truth + best);
    }
    (found, truth)
}

#[test]
fn edits_are_reported_with_about_as_many_changes() {
    for names in NAMES {
        for (nodes, operators, edits) in [(12, 5, 1), (40, 5, 3), (40, 1, 3), (200, 3, 10)] {
            let (found, truth) = sums(nodes, operators, edits, names, None);
            assert!(
                100 * found <= 103 * truth + slack(),
                "{found} changes for {truth}, {nodes} nodes, {names:?}"
            );
        }
    }
}

#[test]
fn edits_with_another_order_in_the_file_are_reported_with_about_as_many_changes() {
    for names in NAMES {
        let (found, truth) = sums(40, 3, 3, names, Some(100));
        assert!(100 * found <= 105 * truth + slack(), "{found} changes for {truth}, {names:?}");
    }
}

#[test]
fn matchings_of_small_programs_are_close_to_the_best() {
    let (mut found, mut best) = (0, 0);
    for (seed, names) in (0..number(12, 60)).flat_map(|seed| NAMES.map(|names| (seed, names))) {
        let old = program(seed, 5, 2);
        let new = edited(&old, seed, 2);
        let (map, _) = matched(&old, &new, [names, names]);
        let (own, least) = (cost(&old, &new, &map), minimum(&old, &new));
        assert!(
            (least..=least + 3).contains(&own),
            "seed {seed}, {names:?}: {own} changes, at least {least}"
        );
        (found, best) = (found + own, best + least);
    }
    // The search also pairs nodes that have nothing in common.
    assert!(100 * found <= 120 * best + slack(), "{found} changes, at least {best}");
}

/// The work for a chain with edits, and its size.
fn chain(nodes: usize, edits: usize) -> (usize, usize) {
    let old = Program::chain(nodes, 7);
    let mut new = old.clone();
    for edit in 0..edits {
        let at = (2 * edit + 1) * nodes / (2 * edits);
        match edit % 3 {
            0 => new.insert(&mut Random::new(edit as u64), at),
            1 => new.delete(at),
            _ => new.steps[at].attribute += 2,
        }
    }
    let (map, found) = matched(&old, &new, [Names::Numbered; 2]);
    let (own, truth) = (cost(&old, &new, &map), cost(&old, &new, &of_keys(&old, &new)));
    assert!(own <= truth + edits / 10, "{own} changes for {truth}");
    (found.work.total(), old.steps.len() + new.steps.len())
}

#[test]
fn a_long_chain_with_edits_is_matched_with_linear_work() {
    for (nodes, edits) in [(number(2_000, 10_000), 10), (number(6_000, 100_000), number(30, 100))] {
        let (work, size) = chain(nodes, edits);
        println!("{nodes} nodes: {work} steps, {} for each node", work / size);
        assert!(work <= 150 * size, "{} steps for each node", work / size);
    }
}
