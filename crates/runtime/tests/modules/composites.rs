//! Random modules with bundles, sends, casts and calls on two and three peers: every value that arrives is of
//! the type of its stamp.
//!
//! The generator computes the type and the content of each value by itself. A run compares the stamps with
//! these types, and the values with both. A program that fails is reduced, and printed with its seed:
//! `TYPELOOM_SEED=N` runs one seed, `TYPELOOM_SEEDS=N` that number of seeds.

#[path = "composites/program.rs"]
mod program;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use typeloom_compiler::artifact::Artifact;
use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::error::BuildError;
use typeloom_compiler::unit::Coercion;
use typeloom_module::graph::Graph;
use typeloom_module::graph::value::ValueRef;
use typeloom_module::module::Module;
use typeloom_onnx::messages::FunctionProto;
use typeloom_runtime::components::Components;
use typeloom_runtime::error::RunError;
use typeloom_runtime::executor::part::{Part, PartOutcome};
use typeloom_runtime::options::Verify;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::{Datum, Scalar};
use typeloom_tensor::value_type::ValueType;
use typeloom_testing::number;
use typeloom_wire::endpoint::Endpoint;
use typeloom_wire::envelope::{Envelope, MessageId, RunId};
use typeloom_wire::limits::MessageLimits;
use typeloom_wire::memory::LocalNetwork;
use typeloom_wire::receipt::{Receipt, Verdict};
use typeloom_wire::transport::Transport as _;

use crate::modules::peers::{Times, endpoint, peer};
use crate::modules::support::{Body, Outcome, TestError, seeds};
use program::{Layout, N, Program, Ty, Variant, is_same};

/// Number of modules of a test.
fn modules() -> u64 {
    number(12, 60)
}

const LONG: Duration = Duration::from_secs(120);
const SOON: Duration = Duration::from_secs(1);

fn components(program: &Program) -> Components {
    let slots = program.slots.borrow();
    slots.iter().fold(Components::new(), |all, slot| all.model(slot, Times(2.0)))
}

/// Compiles a program with the components of the slots that it uses.
fn compile(program: &Program) -> Result<Artifact, BuildError> {
    let coercion =
        if program.variant == Variant::WrongChild { Coercion::Never } else { Coercion::AsDeclared };
    // The first recording finds the slots.
    drop(Compiler::new().compile(program));
    let bindings = components(program).bindings().clone();
    Compiler::new().with_bindings(bindings).with_coercion(coercion).compile(program)
}

/// A program that is compiled, written and loaded.
fn compiled(program: &Program) -> Result<Artifact, String> {
    let artifact = compile(program).map_err(|error| error.to_string())?;
    let bytes = artifact.to_bytes().map_err(|error| error.to_string())?;
    Artifact::load(&bytes, components(program).bindings()).map_err(|error| error.to_string())
}

fn joined(
    network: &LocalNetwork,
    (program, artifact): (&Program, &Artifact),
    name: &str,
    part: &str,
) -> Result<(Part, Endpoint), String> {
    let part = Part::new(artifact, part, &components(program)).map_err(|error| error.to_string())?;
    let endpoint = endpoint(network, name, &part);
    Ok((part, endpoint))
}

/// The results of one run: that of home, then those of the other peers.
type Results = Vec<Result<Option<PartOutcome>, RunError>>;

/// Runs the part of home of one program with the other parts of another one.
fn run_mixed(
    home: (&Program, &Artifact),
    away: (&Program, &Artifact),
    verify: Verify,
    wait: Duration,
) -> Result<Results, String> {
    let network = LocalNetwork::new();
    let program = home.0;
    let (own, at_home) = joined(&network, home, "home", "self")?;
    let mut others = Vec::new();
    for class in program.layout.classes() {
        if away.1.parts().any(|part| part.name() == *class) {
            for peer in program.layout.peers(class) {
                others.push(joined(&network, away, peer, class)?);
            }
        }
    }
    let inputs: HashMap<String, Datum> =
        program.inputs().into_iter().map(|(name, _, content)| (name.to_owned(), content)).collect();
    Ok(std::thread::scope(|scope| {
        let serve = |(part, endpoint)| scope.spawn(move || Part::serve(part, endpoint, wait, verify));
        let serving: Vec<_> = others.iter().map(|(part, endpoint)| serve((part, endpoint))).collect();
        let mut results = vec![own.run(&at_home, RunId(1), inputs, wait, verify).map(Some)];
        results.extend(serving.into_iter().map(|served| served.join().expect("it does not panic")));
        results
    }))
}

/// The values of all outputs of all peers.
fn values(outcomes: Results) -> Result<Vec<(String, Datum)>, String> {
    let mut all = Vec::new();
    for outcome in outcomes {
        let outcome = outcome.map_err(|error| error.to_string())?.ok_or("nothing arrived at a peer")?;
        all.extend(outcome.outputs);
        let each = outcome.each.into_iter();
        all.extend(
            each.flat_map(|(name, each)| each.into_iter().map(move |(_, value)| (name.clone(), value))),
        );
    }
    Ok(all)
}

/// The stamps of all values of an artifact.
fn stamps(artifact: &Artifact) -> HashMap<String, String> {
    let graph = artifact.model().graph.as_ref().expect("it has a graph");
    let infos = graph.input.iter().chain(&graph.output).chain(&graph.value_info);
    infos
        .filter_map(|info| {
            Some((info.name().to_owned(), ValueType::from_message(info.r#type.as_ref()?).to_string()))
        })
        .collect()
}

/// Runs a program and checks all of its outputs; returns their number.
fn checked(program: &Program) -> Result<usize, String> {
    let artifact = compiled(program)?;
    let stamps = stamps(&artifact);
    let outputs: HashMap<String, (Ty, Datum)> = program
        .outputs
        .borrow()
        .iter()
        .map(|(name, ty, it)| (name.clone(), (ty.clone(), it.clone())))
        .collect();
    for (name, (ty, _)) in &outputs {
        let stamp = stamps.get(name).ok_or_else(|| format!("{name} has no stamp"))?;
        if *stamp != ty.to_string() {
            return Err(format!("{name} is {ty}, and its stamp is {stamp}"));
        }
    }
    let mut count = 0;
    for verify in [Verify::Inputs, Verify::EveryValue] {
        let found = values(run_mixed((program, &artifact), (program, &artifact), verify, LONG)?)?;
        for (name, value) in &found {
            let Some((ty, content)) = outputs.get(name) else { continue };
            if !ty.contains(value) {
                return Err(format!("{verify:?}: {name} is stamped {ty}, and {} arrived", value.describe()));
            }
            if !is_same(content, value) {
                return Err(format!("{verify:?}: {name} is {value:?} instead of {content:?}"));
            }
        }
        if let Some(name) = outputs.keys().find(|name| !found.iter().any(|(own, _)| own == *name)) {
            return Err(format!("{verify:?}: {name} has no value"));
        }
        count += found.len();
    }
    Ok(count)
}

/// The error of a program, also of one that panics.
fn failure(program: &Program) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(|| checked(program))) {
        Ok(result) => result.err(),
        Err(_) => Some("it panicked".to_owned()),
    }
}

/// Removes steps as long as the program still fails.
fn reduced(program: &Program) -> Program {
    let mut steps = program.steps.clone();
    let mut at = steps.len();
    while at > 0 {
        at -= 1;
        let mut fewer = steps.clone();
        fewer.remove(at);
        if failure(&Program::of(program.layout, fewer.clone(), program.variant)).is_some() {
            steps = fewer;
        }
    }
    Program::of(program.layout, steps, program.variant)
}

#[test]
fn every_value_arrives_with_the_type_of_its_stamp() {
    let (mut count, mut with_three) = (0, 0);
    let seeds = seeds(modules());
    for seed in seeds.clone() {
        let program = Program::random(seed, Variant::Casts);
        match checked(&program) {
            Ok(values) => count += values,
            Err(error) => {
                let small = reduced(&program);
                panic!("seed {seed}: {error}\nreduced: {:#?}\n{:?}", small.steps, failure(&small));
            }
        }
        with_three += u64::from(program.layout != Layout::Two);
    }
    println!("{count} values of seeds {seeds:?}, {with_three} of them on three peers");
    assert!(count > 0);
}

#[test]
fn a_wrong_declaration_of_a_child_does_not_compile() {
    let mut wrong = 0;
    let seeds = seeds(modules());
    for seed in seeds.clone() {
        let program = Program::random(seed, Variant::WrongChild);
        let compiled = compile(&program);
        let child = *program.wrong.borrow();
        match (child, compiled) {
            (None, Ok(_)) => {}
            (Some(child), Err(error)) => {
                let BuildError::TypeConstraintFailed(_) = &error else { panic!("seed {seed}: {error}") };
                let text = error.to_string();
                // A bundle that is unbundled at the same peer is replaced by its children before the solve.
                let is_local = !text.contains("(`Unbundle`)");
                assert!(is_local || text.contains("is child `"), "seed {seed}: {child}: {text}");
                wrong += 1;
            }
            (Some(child), Ok(_)) => panic!("seed {seed}: child `{child}` is declared as another type"),
            (None, Err(error)) => panic!("seed {seed}: {error}"),
        }
    }
    println!("{wrong} wrong declarations of seeds {seeds:?}");
    assert!(wrong > 0 || seeds.count() == 1);
}

/// Parts of two programs that differ in the type of an input: what arrives is of the type that its receiver
/// states, and a message with another type is refused.
#[test]
fn a_sender_with_another_type_is_refused() {
    let mut refused = 0;
    let seeds = seeds(number(3, 10));
    for seed in seeds.clone() {
        let [own, other] =
            [Variant::Casts, Variant::OtherInput].map(|variant| Program::random(seed, variant));
        let [home, away] = [&own, &other].map(|program| compiled(program).expect("it compiles"));
        let [sent, expected] = [&home, &away].map(stamps);
        let is_sent = |name: &&String| name.ends_with(".sent");
        let differs = sent.keys().filter(is_sent).any(|name| sent.get(name) != expected.get(name));
        let wait = if differs { SOON } else { LONG };
        let results =
            run_mixed((&own, &home), (&other, &away), Verify::Inputs, wait).expect("the parts link");
        let errors: Vec<String> =
            results.iter().filter_map(|result| Some(result.as_ref().err()?.to_string())).collect();
        let is_refused = errors.iter().any(|error| error.contains("refused"));
        assert_eq!(is_refused, differs, "seed {seed}: {errors:?}");
        assert!(differs || errors.is_empty(), "seed {seed}: {errors:?}");
        refused += u32::from(is_refused);
        for (at, outcome) in results.into_iter().enumerate().filter_map(|(at, it)| Some((at, it.ok()??))) {
            let stated = if at == 0 { &own } else { &other };
            for (name, value) in outcome.outputs {
                let outputs = stated.outputs.borrow();
                let ty = outputs.iter().find(|(own, ..)| *own == name).map(|(_, ty, _)| ty);
                assert!(ty.is_none_or(|ty| ty.contains(&value)), "seed {seed}: {name}: {}", value.describe());
            }
        }
    }
    println!("{refused} refused of seeds {seeds:?}");
    assert!(refused > 0 || seeds.count() == 1);
}

#[test]
fn an_argument_with_another_child_is_refused_with_its_name() -> Outcome {
    let program = Program::random(1, Variant::Casts);
    let artifact = compiled(&program)?;
    let network = LocalNetwork::new();
    let (home, endpoint) = joined(&network, (&program, &artifact), "home", "self")?;
    let mut inputs: HashMap<String, Datum> =
        program.inputs().into_iter().map(|(name, _, content)| (name.to_owned(), content)).collect();
    let wrong = Datum::Composite(vec![
        ("a".into(), Datum::Scalar(Scalar::I32(4))),
        ("b".into(), Datum::Tensor(AnyTensor::from([1.0_f32; N]))),
    ]);
    inputs.insert("c".to_owned(), wrong);
    let error =
        home.run(&endpoint, RunId(1), inputs, LONG, Verify::Inputs).expect_err("`b` is of another type");
    let text = error.to_string();
    assert!(text.contains("child `b`, float[3], is not double[N]"), "{text}");
    Ok(())
}

/// A list of peers that a peer receives in a bundle names the class of the input that it comes from.
#[test]
fn a_peer_sends_to_peers_that_it_received() -> Outcome {
    let artifact = Compiler::new().compile(Body("forwarding", |g| {
        let (x, second) = (g.input("x").of("float[N]"), g.input("second").of("peer_id_vec"));
        let bundle = g.bundle(&[("x", &x), ("to", &second)]);
        let (there, _) = g.send(&bundle, &g.input("first"));
        let parts = g.unbundle(&there, &["to", "x"]);
        let (forwarded, _) = g.send(&parts[1].neg(), &parts[0]);
        g.output("y", &forwarded.neg());
    }))?;
    let names: Vec<&str> = artifact.parts().map(FunctionProto::name).collect();
    assert_eq!(names, ["self", "first", "second"]);
    Ok(())
}

/// A message that is declared as the type of its port, and has another child.
fn lie(artifact: &Artifact, network: &LocalNetwork, part: &Part, value: Datum) -> Result<Verdict, TestError> {
    let failed = |error: &dyn std::fmt::Display| TestError(error.to_string());
    let (port, ty) = part.ports().remove(0);
    let ty = ty.tag(&value);
    assert!(artifact.parts().any(|part| part.name() == port.peer_class));
    let id = MessageId { incarnation: 1, number: 1 };
    let (sender, addresses) = (peer("home"), Vec::new());
    let message = Envelope { id, floor: 1, run: RunId(1), sender, addresses, port, ty, value };
    let bytes = message.to_bytes(&MessageLimits::default()).map_err(|error| failed(&error))?;
    let answer = network.join(peer("home")).exchange(&peer("a"), &bytes, LONG);
    let answer = answer.map_err(|error| failed(&error))?;
    Ok(Receipt::from_bytes(&answer).map_err(|error| failed(&error))?.verdict)
}

/// A bundle that is declared as the type of its port is accepted without a check of its children. A wrong
/// child is found where it is read.
#[test]
fn a_wrong_child_of_a_bundle_is_found_where_it_is_read() -> Outcome {
    let sends: [fn(&mut Graph, &ValueRef); 3] = [
        |g, there| g.output("y", &g.unbundle(there, &["x"])[0].neg()),
        |g, there| g.output("y", there),
        |g, there| {
            let (back, _) = g.send(there, &g.receive(there).1);
            g.output("y", &g.unbundle(&back, &["x"])[0]);
        },
    ];
    struct Sends(fn(&mut Graph, &ValueRef));
    impl Module for Sends {
        fn name(&self) -> &str {
            "sends"
        }

        fn body(&self, g: &mut Graph) {
            let bundle =
                g.bundle(&[("x", &g.input("x").of("float[2]")), ("s", &g.input("s").of("scalar.i32"))]);
            let (there, _) = g.send(&bundle, &g.input("workers"));
            (self.0)(g, &there);
        }
    }
    let right = ("s".to_owned(), Datum::Scalar(Scalar::I32(1)));
    let bundle = |x: AnyTensor| Datum::Composite(vec![right.clone(), ("x".to_owned(), x.into())]);
    for sends in sends {
        let artifact = Compiler::new().compile(Sends(sends))?;
        let network = LocalNetwork::new();
        let part = Part::new(&artifact, "workers", &Components::new())?;
        let at_a = endpoint(&network, "a", &part);
        assert_eq!(lie(&artifact, &network, &part, bundle(AnyTensor::from([1.0_f64, 2.0])))?, Verdict::Taken);
        let error = part.serve(&at_a, LONG, Verify::Inputs).expect_err("a child is of another type");
        assert!(error.to_string().contains("double[2]"), "{error}");
    }
    Ok(())
}
