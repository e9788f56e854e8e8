//! Laws of the solver over random graphs of the thirty tensor primitives, and a slow reference that is
//! obviously right about element types.

#[path = "relations/plan.rs"]
mod plan;
#[path = "relations/reference.rs"]
mod reference;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseResult, TestRng, TestRunner};
use typeloom_onnx::messages::GraphProto;
use typeloom_solver::type_solver::{TypeSolution, TypeSolver};
use typeloom_types::lattice::Lattice;
use typeloom_types::op::AtomicOpDecl;
use typeloom_types::op::primitives::TENSOR_PRIMITIVES;

use plan::{Plan, Program};

const CASES: u32 = 200;

fn hold(test: impl Fn(Program) -> TestCaseResult) {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let plans = plan::plans().prop_map(|plan: Plan| plan.program());
    TestRunner::new_with_rng(config, rng).run(&plans, test).unwrap();
}

fn primitive(_domain: &str, op: &str) -> Option<&'static AtomicOpDecl> {
    TENSOR_PRIMITIVES.op(op)
}

/// The result of a solve: the node above each value, and whether it is the type of the value; `None` for an
/// error.
type Answer = Option<BTreeMap<String, (String, bool)>>;

fn answer(solution: Option<&TypeSolution>) -> Answer {
    let lattice = Lattice::get();
    let bound = |no| lattice.node(no).unwrap().id.to_owned();
    let values = solution?.values().iter();
    Some(values.map(|value| (value.name.clone(), (bound(value.bound), value.is_resolved()))).collect())
}

fn solve(
    graph: &GraphProto,
    seeds: &[(String, String)],
    declaration: impl FnMut(&str, &str) -> Option<&'static AtomicOpDecl>,
) -> Option<TypeSolution> {
    let mut solver = TypeSolver::from_graph(graph, declaration).unwrap();
    for (value, id) in seeds {
        solver.seed(value.clone(), id.as_str());
    }
    solver.solve().ok()
}

#[test]
fn a_naive_iteration_over_sets_of_leaves_agrees() {
    let (mut right, mut wrong) = (0, 0);
    let counts = std::cell::RefCell::new((&mut right, &mut wrong));
    hold(|program| {
        let found = answer(solve(&program.graph, &program.seeds, primitive).as_ref());
        let counts = &mut *counts.borrow_mut();
        *(if found.is_some() { &mut *counts.0 } else { &mut *counts.1 }) += 1;
        prop_assert_eq!(found, reference::solve(&program));
        Ok(())
    });
    // Both outcomes must be common for a meaningful comparison.
    assert!(right > CASES / 5 && wrong > CASES / 10, "{right} solved, {wrong} not");
}

#[test]
fn the_order_of_nodes_does_not_affect_the_answer() {
    hold(|program| {
        let forward = answer(solve(&program.graph, &program.seeds, primitive).as_ref());
        for order in [program.backward(), program.interleaved()] {
            let other = answer(solve(&order, &program.seeds, primitive).as_ref());
            prop_assert_eq!(&other, &forward);
        }
        Ok(())
    });
}

#[test]
fn the_order_of_seeds_does_not_affect_the_answer() {
    hold(|program| {
        let forward = answer(solve(&program.graph, &program.seeds, primitive).as_ref());
        let seeds: Vec<_> = program.seeds.iter().rev().cloned().collect();
        prop_assert_eq!(answer(solve(&program.graph, &seeds, primitive).as_ref()), forward);
        Ok(())
    });
}

/// The primitives with their relations, and the ports inside relations, in reverse order.
fn backward_relations(_domain: &str, op: &str) -> Option<&'static AtomicOpDecl> {
    use typeloom_types::relation::TypeRelation::{self, SameElementType, SameType};
    static TABLE: OnceLock<Vec<AtomicOpDecl>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let turned = |relation: &TypeRelation| match *relation {
            SameType(ports) => SameType(Box::leak(ports.iter().rev().copied().collect())),
            SameElementType(ports) => SameElementType(Box::leak(ports.iter().rev().copied().collect())),
            other => other,
        };
        let backward = |decl: &AtomicOpDecl| {
            let relations: Box<[TypeRelation]> = decl.type_relations.iter().rev().map(turned).collect();
            AtomicOpDecl { type_relations: Box::leak(relations), ..*decl }
        };
        TENSOR_PRIMITIVES.ops.iter().map(backward).collect()
    });
    table.iter().find(|decl| decl.name == op)
}

#[test]
fn the_order_of_relations_does_not_affect_the_answer() {
    hold(|program| {
        let forward = answer(solve(&program.graph, &program.seeds, primitive).as_ref());
        let backward = answer(solve(&program.graph, &program.seeds, backward_relations).as_ref());
        prop_assert_eq!(backward, forward);
        Ok(())
    });
}

fn element(id: &str) -> &str {
    id.rsplit_once('.').map_or(id, |(_, element)| element)
}

#[test]
fn one_more_seed_proves_more_or_is_an_error() {
    hold(|program| {
        let Some((last, rest)) = program.seeds.split_last() else { return Ok(()) };
        let Some(before) = solve(&program.graph, rest, primitive) else {
            let after = solve(&program.graph, &program.seeds, primitive);
            prop_assert!(after.is_none(), "seed {:?} hides an error", last);
            return Ok(());
        };
        let Some(after) = solve(&program.graph, &program.seeds, primitive) else { return Ok(()) };
        for value in before.values().iter().filter(|value| value.is_resolved()) {
            let (old, new) = (before.type_of(&value.name).unwrap(), after.type_of(&value.name).unwrap());
            if value.assumed {
                prop_assert_eq!(element(old.id), element(new.id), "{}", &value.name);
            } else {
                prop_assert_eq!(old.id, new.id, "{}", &value.name);
            }
        }
        Ok(())
    });
}

#[test]
fn the_solution_as_seeds_is_solved_to_itself() {
    hold(|program| {
        let Some(solution) = solve(&program.graph, &program.seeds, primitive) else { return Ok(()) };
        let first = answer(Some(&solution));
        let seeds: Vec<_> =
            first.iter().flatten().map(|(value, (id, _))| (value.clone(), id.clone())).collect();
        prop_assert_eq!(answer(solve(&program.graph, &seeds, primitive).as_ref()), first);
        Ok(())
    });
}

#[test]
fn renaming_values_renames_the_answer() {
    hold(|program| {
        let rename = |name: &str| format!("other/{}", name.chars().rev().collect::<String>());
        let renamed = program.renamed(rename);
        let first = answer(solve(&program.graph, &program.seeds, primitive).as_ref());
        let first = first.map(|values| values.into_iter().map(|(name, ty)| (rename(&name), ty)).collect());
        prop_assert_eq!(answer(solve(&renamed.graph, &renamed.seeds, primitive).as_ref()), first);
        Ok(())
    });
}

#[test]
fn stamps_read_back_give_the_same_solution() {
    hold(|program| {
        let Some(solution) = solve(&program.graph, &program.seeds, primitive) else { return Ok(()) };
        let mut graph = program.graph.clone();
        typeloom_solver::type_solver::apply_solution_to_value_info(&mut graph, &solution);
        let mut again = TypeSolver::from_graph(&graph, primitive).unwrap();
        again.seed_from_value_info(&graph);
        // Bounds are not annotations: only resolved types are written.
        for (name, node) in solution.unresolved() {
            again.seed(name, node);
        }
        prop_assert_eq!(answer(again.solve().ok().as_ref()), answer(Some(&solution)));
        Ok(())
    });
}
