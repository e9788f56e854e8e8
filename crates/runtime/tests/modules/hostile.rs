//! Corrupted programs, and executors shared by several threads.

use std::collections::HashMap;

use typeloom_compiler::artifact::Artifact;
use typeloom_module::graph::Graph;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_onnx::messages::{ModelProto, NodeProto, read};
use typeloom_onnx::prost::Message as _;
use typeloom_runtime::backend::Cpu;
use typeloom_runtime::components::Components;
use typeloom_runtime::executor::Executor;
use typeloom_runtime::executor::part::Part;
use typeloom_runtime::options::Verify;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_testing::{Random, number};

use crate::modules::support::{Body, Outcome, floats, linked, run};

fn everything(g: &mut Graph) {
    let x = g.input("x").of("float[2]");
    let compute = g.backend("compute");
    let sum = compute.add(&x, &x);
    let bundle = g.bundle(&[("sum", &sum), ("x", &x)]);
    let flag = g.constant(&AnyTensor::from_scalar(true));
    let chosen = g.if_(&flag, |g| vec![g.backend("compute").neg(&sum)], |_| vec![x.clone()]);
    let turns = g.constant(&AnyTensor::from_scalar(2_i64));
    let looped = g.loop_(Some(&turns), None, &[&chosen[0]], |g, _, go_on, carried| {
        let next = g.backend("compute").relu(&carried[0]);
        vec![go_on.clone(), next.clone(), next]
    });
    g.output("bundle", &bundle);
    g.output("last", &looped[0]);
    g.output("all", &looped[1]);
    g.output("flat", &compute.reshape(&sum, &g.ints(&[1, 2]), Default::default()));
}

fn sends(g: &mut Graph) {
    let x = g.input("x").of("float[2]");
    let (there, _) = g.send(&x, &g.input("workers").of("peer_id_vec"));
    let (payload, sender) = g.receive(&there);
    let (back, _) = g.send(&g.backend("compute").neg(&payload), &sender);
    g.output("y", &(&back + &x));
}

/// Changes one field of a node.
fn tamper(node: &mut NodeProto, random: &mut Random) {
    const OPS: [&str; 8] = ["Add", "Split", "Bundle", "Unbundle", "Cast", "Loop", "Reshape", "Nothing"];
    match random.below(9) {
        0 => node.metadata_props.clear(),
        1 => {
            let count = node.metadata_props.len();
            if let Some(entry) = node.metadata_props.get_mut(random.below(count)) {
                entry.value = ["compute", "Index", "near.search", ""][random.below(4)].into();
            }
        }
        2 => node.op_type = OPS[random.below(OPS.len())].into(),
        3 => {
            let domains =
                ["", "ai.bytesandbrains.types", "ai.bytesandbrains.wire", "ai.bytesandbrains.composite"];
            node.domain = domains[random.below(4)].into();
        }
        4 => drop(node.input.pop()),
        5 => node.input.push("x".to_owned()),
        6 => drop(node.output.pop()),
        7 => node.output.push("extra".to_owned()),
        _ => drop(node.attribute.pop()),
    }
}

#[test]
fn a_program_that_was_tampered_with_is_an_error_or_runs_and_never_panics() -> Outcome {
    let components = Components::new().backend("compute", Cpu);
    let compiler = components.compiler();
    let whole = compiler.compile(Body("whole", everything))?;
    let sending = compiler.compile(Body("sending", sends))?;
    let x = || HashMap::from([("x".to_owned(), floats(&[2], &[1.0, -2.0]))]);
    let (mut refused, mut ran) = (0, 0);
    for seed in 0..number(150, 600) {
        let random = &mut Random(seed);
        let mut model = whole.model().clone();
        let graph = model.graph.as_mut().ok_or("there is a graph")?;
        for _ in 0..=random.below(3) {
            let count = graph.node.len();
            let node = &mut graph.node[random.below(count)];
            let inner = node.attribute.iter_mut().find_map(|attribute| attribute.g.as_deref_mut());
            match inner.filter(|_| random.below(2) == 0) {
                Some(inner) => {
                    let count = inner.node.len();
                    if let Some(node) = inner.node.get_mut(random.below(count)) {
                        tamper(node, random);
                    }
                }
                None => tamper(node, random),
            }
        }
        let artifact = whole.clone().with_model(model)?;
        match Executor::new(&artifact, &components) {
            Ok(executor) if executor.run(x(), Verify::EveryValue).is_ok() => ran += 1,
            Ok(_) | Err(_) => refused += 1,
        }
        let mut model: ModelProto = read(sending.to_bytes()?.into())?;
        let nodes = &mut model.graph.as_mut().ok_or("there is a graph")?.node;
        let count = nodes.len();
        tamper(&mut nodes[random.below(count)], random);
        let Ok(artifact) = Artifact::load(&model.encode_to_vec(), components.bindings()) else { continue };
        for name in ["self", "workers"] {
            // The part has no peers to run with, so the test only requires that linking terminates.
            drop(Part::new(&artifact, name, &components));
        }
    }
    assert!(refused > number(25, 100) && ran > number(2, 10), "{refused} were refused, {ran} ran");
    Ok(())
}

#[test]
fn an_executor_is_run_by_several_threads_at_once() -> Outcome {
    let components = Components::new().backend("compute", Cpu);
    let executor = linked(&components, everything)?;
    std::thread::scope(|scope| {
        for number in 1..5_u8 {
            let executor = &executor;
            scope.spawn(move || {
                for _ in 0..50 {
                    let number = f32::from(number);
                    let outcome = run(executor, [("x", floats(&[2], &[number, -number]))]).expect("it runs");
                    assert_eq!(outcome.get("flat"), Some(&floats(&[1, 2], &[2.0 * number, -2.0 * number])));
                    assert_eq!(outcome.get("last"), Some(&floats(&[2], &[0.0, 2.0 * number])));
                    assert!(
                        matches!(outcome.get("bundle"), Some(Datum::Composite(parts)) if parts.len() == 2)
                    );
                }
            });
        }
    });
    Ok(())
}
