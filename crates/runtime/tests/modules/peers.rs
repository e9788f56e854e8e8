//! Programs that run on several peers within one process.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use typeloom_compiler::artifact::Artifact;
use typeloom_compiler::compiler::Compiler;
use typeloom_contracts::aggregator::Aggregator;
use typeloom_contracts::model::Model;
use typeloom_module::bindings::Bindings;
use typeloom_module::graph::Graph;
use typeloom_runtime::components::Components;
use typeloom_runtime::error::{LinkError, NodeError, PrepareError, RunError, WireError};
use typeloom_runtime::executor::Executor;
use typeloom_runtime::executor::part::answers::AnswerError;
use typeloom_runtime::executor::part::{Part, PartOutcome};
use typeloom_runtime::options::Verify;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::peer::PeerId;
use typeloom_types::tree::builtin::TYPE_TRIGGER;
use typeloom_wire::clock::Clock;
use typeloom_wire::endpoint::{Endpoint, EndpointConfig, EndpointParts};
use typeloom_wire::envelope::RunId;
use typeloom_wire::journal::MemoryJournal;
use typeloom_wire::memory::LocalNetwork;
use typeloom_wire::port::PortType;

use crate::modules::support::{Body, Outcome, TestError, floats};

struct Wall(Instant);

impl Clock for Wall {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

const LONG: Duration = Duration::from_secs(120);
const SOON: Duration = Duration::from_millis(50);

pub(crate) fn peer(name: &str) -> PeerId {
    PeerId(name.as_bytes().to_vec())
}

pub(crate) fn peers(names: &[&str]) -> Datum {
    Datum::Peers(names.iter().map(|name| peer(name)).collect())
}

/// An endpoint of a peer that accepts the ports of a part.
pub(crate) fn endpoint(network: &LocalNetwork, name: &str, part: &Part) -> Endpoint {
    let parts = EndpointParts {
        transport: Arc::new(network.join(peer(name))),
        clock: Arc::new(Wall(Instant::now())),
        journal: Box::new(MemoryJournal::new()),
        ports: part.ports(),
        peers: ["home", "a", "b", "c", "first", "second", "other"].map(peer).to_vec(),
    };
    Endpoint::open(parts, EndpointConfig::new(1)).expect("there is no journal that could fail")
}

/// Multiplies by a number; panics if the number is zero.
pub(crate) struct Times(pub(crate) f32);

impl Model for Times {
    type Tensor = [f32];
    type Error = TestError;

    fn forward(&self, input: &[f32]) -> Result<Box<[f32]>, TestError> {
        assert!(self.0 != 0.0, "times nothing");
        Ok(input.iter().map(|x| x * self.0).collect())
    }

    fn load_parameters(&mut self, _: &[f32]) -> Result<(), TestError> {
        Ok(())
    }

    fn backward(&mut self, gradient: &[f32]) -> Result<Box<[f32]>, TestError> {
        Ok(gradient.into())
    }

    fn apply_delta(&mut self, _: &[f32]) -> Result<(), TestError> {
        Ok(())
    }

    fn compute_loss(&self, prediction: &[f32], _: &[f32]) -> Result<Box<[f32]>, TestError> {
        Ok(prediction.into())
    }

    fn params(&self) -> &[f32] {
        std::slice::from_ref(&self.0)
    }
}

/// The mean of the contributions, and their senders in order.
#[derive(Default)]
struct Mean(Vec<(String, Vec<f32>)>);

impl Aggregator for Mean {
    type Element = [f32];
    type Metadata = ();
    type Error = TestError;

    fn contribute(&mut self, source: &str, element: &[f32], (): ()) -> Result<(), TestError> {
        self.0.push((source.to_owned(), element.to_vec()));
        Ok(())
    }

    fn aggregate(&mut self) -> Result<Box<[f32]>, TestError> {
        let came = std::mem::take(&mut self.0);
        let [(_, first), ..] = &came[..] else { return Err(TestError("nothing came".into())) };
        let sum = |at: usize| came.iter().map(|(_, it)| it[at]).sum::<f32>();
        #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
        Ok((0..first.len()).map(|at| sum(at) / came.len() as f32).collect())
    }
}

/// Sends a value to workers and averages their answers.
fn averaging(g: &mut Graph) {
    let x = g.input("x").of("float[N]");
    let workers = g.input("workers").of("peer_id_vec");
    let (there, handle) = g.send(&x, &workers);
    let (payload, sender) = g.receive(&there);
    let worked = g.model("net").forward(&payload);
    let (back, _) = g.send(&worked, &sender);
    let (update, from) = g.receive(&back);
    let mean = g.aggregator("mean");
    let done = mean.contribute(&from, &update, None);
    g.output("mean", &mean.aggregate(Some(&done)));
    g.output("doubled", &(&update + &update));
    g.output("from", &from);
    g.output("sent", &handle);
}

fn compiled() -> Result<Artifact, Box<dyn std::error::Error>> {
    let bindings = Bindings::new().bind_model::<Times>("net").bind_aggregator::<Mean>("mean");
    Ok(Compiler::new().with_bindings(bindings).compile(Body("averaging", averaging))?)
}

struct Home {
    network: LocalNetwork,
    artifact: Artifact,
    part: Part,
    endpoint: Endpoint,
}

fn home() -> Result<Home, Box<dyn std::error::Error>> {
    let artifact = compiled()?;
    let network = LocalNetwork::new();
    let part = Part::new(&artifact, "self", &Components::new().aggregator("mean", Mean::default()))?;
    let endpoint = endpoint(&network, "home", &part);
    Ok(Home { network, artifact, part, endpoint })
}

impl Home {
    fn worker(&self, name: &str, factor: f32) -> Result<(Part, Endpoint), PrepareError> {
        let part = Part::new(&self.artifact, "workers", &Components::new().model("net", Times(factor)))?;
        let endpoint = endpoint(&self.network, name, &part);
        Ok((part, endpoint))
    }

    fn run(&self, run: u64, workers: &[&str], timeout: Duration) -> Result<PartOutcome, RunError> {
        let inputs = HashMap::from([
            ("x".to_owned(), floats(&[2], &[1.0, 2.0])),
            ("workers".to_owned(), peers(workers)),
        ]);
        self.part.run(&self.endpoint, RunId(run), inputs, timeout, Verify::EveryValue)
    }
}

#[test]
fn steps_run_once_per_message_and_triggers_join() -> Outcome {
    let home = home()?;
    let workers = [home.worker("a", 2.0)?, home.worker("b", 4.0)?];
    let outcome = std::thread::scope(|scope| {
        let serving = workers
            .each_ref()
            .map(|(part, endpoint)| scope.spawn(move || part.serve(endpoint, LONG, Verify::EveryValue)));
        // The list repeats `b`, which receives the value once.
        let outcome = home.run(7, &["b", "a", "b"], LONG);
        for served in serving {
            let served = served.join().expect("it does not panic")?.ok_or("nothing came")?;
            assert_eq!((served.run, served.from), (RunId(7), Some(peer("home"))));
        }
        Ok::<_, Box<dyn std::error::Error>>(outcome?)
    })?;
    assert_eq!(outcome.get("mean"), Some(&floats(&[2], &[3.0, 6.0])));
    assert!(matches!(outcome.get("sent"), Some(Datum::Request(_))));
    // One value per peer, in send order.
    let names: Vec<&str> = outcome.each.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["doubled", "from"]);
    let doubled = [(peer("b"), floats(&[2], &[8.0, 16.0])), (peer("a"), floats(&[2], &[4.0, 8.0]))];
    assert_eq!(outcome.each[0].1, doubled);
    assert_eq!(home.endpoint.pending() + workers[0].1.held(), 0);
    Ok(())
}

#[test]
fn an_answer_of_one_peer_is_one_value() -> Outcome {
    let home = home()?;
    let (part, worker) = home.worker("c", 0.5)?;
    let outcome = std::thread::scope(|scope| {
        let serving = scope.spawn(|| part.serve(&worker, LONG, Verify::EveryValue));
        let outcome = home.run(1, &["c"], LONG);
        serving.join().expect("it does not panic")?.ok_or("nothing came")?;
        Ok::<_, Box<dyn std::error::Error>>(outcome?)
    })?;
    assert_eq!(outcome.get("doubled"), Some(&floats(&[2], &[1.0, 2.0])));
    assert_eq!(outcome.get("from"), Some(&Datum::Peer(peer("c"))));
    assert_eq!(outcome.symbols.get("N"), Some(2));
    assert!(outcome.each.is_empty());
    Ok(())
}

#[test]
fn a_failing_or_silent_peer_is_named_at_the_deadline_and_both_sides_continue() -> Outcome {
    let home = home()?;
    let (broken, endpoint_a) = home.worker("a", 0.0)?;
    let (part, endpoint_b) = home.worker("b", 3.0)?;
    let outcome = std::thread::scope(|scope| {
        let failing = scope.spawn(|| broken.serve(&endpoint_a, LONG, Verify::EveryValue));
        let outcome = home.run(1, &["a", "b"], SOON);
        let failed = failing.join().expect("the panic stays inside").expect_err("it panicked");
        assert!(failed.to_string().contains("slot `net`: the component panicked: times nothing"), "{failed}");
        outcome
    });
    let error = outcome.expect_err("no peer answers");
    let RunError::Node { error: NodeError::Wire(WireError::NoAnswer { peers, .. }), .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(peers, &[peer("a"), peer("b")]);
    assert!(error.to_string().contains("peer `a`, peer `b`"), "{error}");
    // The message on which the part failed is not delivered again.
    assert!(broken.serve(&endpoint_a, Duration::ZERO, Verify::Inputs)?.is_none());
    // The pending message is answered later, and that answer is discarded.
    assert!(part.serve(&endpoint_b, LONG, Verify::Inputs)?.is_some());
    let outcome = std::thread::scope(|scope| {
        let serving = scope.spawn(|| part.serve(&endpoint_b, LONG, Verify::EveryValue));
        let outcome = home.run(2, &["b"], LONG);
        serving.join().expect("it does not panic")?.ok_or("nothing came")?;
        Ok::<_, Box<dyn std::error::Error>>(outcome?)
    })?;
    assert_eq!(outcome.get("mean"), Some(&floats(&[2], &[3.0, 6.0])));
    Ok(())
}

#[test]
fn unknown_peers_and_programs_of_other_types_are_refused() -> Outcome {
    let home = home()?;
    let unknown = home.run(1, &["nobody"], SOON).expect_err("there is no such peer");
    assert!(unknown.to_string().contains("peer `nobody` cannot be sent to"), "{unknown}");
    // A worker of another program of the same name, which expects a matrix.
    let other = Compiler::new().compile(Body("averaging", |g| {
        let x = g.input("x").of("float[N, 2]");
        let (there, _) = g.send(&x, &g.input("workers").of("peer_id_vec"));
        g.output("y", &there.neg());
    }))?;
    let other = Part::new(&other, "workers", &Components::new())?;
    let _a = endpoint(&home.network, "a", &other);
    let refused = home.run(2, &["a"], SOON).expect_err("it takes something else");
    assert!(refused.to_string().contains("peer `a` refused"), "{refused}");
    Ok(())
}

#[test]
fn a_program_with_sends_is_run_by_its_parts() -> Outcome {
    let artifact = compiled()?;
    let components = Components::new().model("net", Times(1.0)).aggregator("mean", Mean::default());
    let whole = Executor::new(&artifact, &components).expect_err("it sends");
    assert!(whole.to_string().contains("only as parts"), "{whole}");
    let nobody = Part::new(&artifact, "nobody", &components).expect_err("there is no such part");
    assert_eq!(nobody.to_string(), "the program has no part `nobody`; it has self, workers");
    // Only the slots that a part uses need a component.
    assert!(Part::new(&artifact, "workers", &Components::new().model("net", Times(1.0))).is_ok());
    let bare = Part::new(&artifact, "workers", &Components::new()).expect_err("it uses `net`");
    assert!(matches!(bare, PrepareError::Link(LinkError::NoComponent { .. })), "{bare}");
    // A part of a saved and reloaded program behaves the same.
    let loaded = Artifact::load(&artifact.to_bytes()?, components.bindings())?;
    assert_eq!(Part::new(&loaded, "workers", &components)?.ports().len(), 1);
    let x: Datum = AnyTensor::from([1_i64]).into();
    let home = home()?;
    let inputs = HashMap::from([("x".to_owned(), x), ("workers".to_owned(), peers(&[]))]);
    let odd = home.part.run(&home.endpoint, RunId(1), inputs, SOON, Verify::Inputs).expect_err("an integer");
    assert!(matches!(odd, RunError::Input { .. }), "{odd}");
    let nobody = home.run(2, &[], SOON).expect_err("an aggregate of nothing");
    assert!(nobody.to_string().contains("nothing came"), "{nobody}");
    Ok(())
}

/// Sends two values to each worker, the second after the first answer; the worker waits for both.
fn conversation(g: &mut Graph) {
    let x = g.input("x").of("float[N]");
    let workers = g.input("workers").of("peer_id_vec");
    let (there, _) = g.send(&x, &workers);
    let (payload, sender) = g.receive(&there);
    let (half, _) = g.send(&g.model("net").forward(&payload), &sender);
    let (first, worker) = g.receive(&half);
    let (again, _) = g.send(&(&first + &x), &worker);
    let (back, _) = g.send(&(&again * &payload), &sender);
    g.output("y", &back);
    // Recorded last but sent first, because it depends on no answer.
    g.output("early", &g.aggregator("mean").contribute(&g.input("me").of("peer_id"), &x, None));
}

#[test]
fn a_part_answers_several_times_in_one_run() -> Outcome {
    let bindings = Bindings::new().bind_model::<Times>("net").bind_aggregator::<Mean>("mean");
    let artifact = Compiler::new().with_bindings(bindings).compile(Body("averaging", conversation))?;
    let network = LocalNetwork::new();
    let part = Part::new(&artifact, "self", &Components::new().aggregator("mean", Mean::default()))?;
    let home = Home { endpoint: endpoint(&network, "home", &part), network, artifact, part };
    let workers = [home.worker("a", 2.0)?, home.worker("b", 4.0)?];
    let outcome = std::thread::scope(|scope| {
        let serving = workers
            .each_ref()
            .map(|(part, endpoint)| scope.spawn(move || part.serve(endpoint, LONG, Verify::EveryValue)));
        let inputs = HashMap::from([
            ("x".to_owned(), floats(&[2], &[1.0, 2.0])),
            ("workers".to_owned(), peers(&["a", "b"])),
            ("me".to_owned(), Datum::Peer(peer("home"))),
        ]);
        let outcome = home.part.run(&home.endpoint, RunId(1), inputs, LONG, Verify::EveryValue);
        for served in serving {
            served.join().expect("it does not panic")?.ok_or("nothing came")?;
        }
        Ok::<_, Box<dyn std::error::Error>>(outcome?)
    })?;
    // (2x + x) * x of `a`, (4x + x) * x of `b`.
    let expected = [(peer("a"), floats(&[2], &[3.0, 12.0])), (peer("b"), floats(&[2], &[5.0, 20.0]))];
    assert_eq!(outcome.each, [("y".to_owned(), expected.to_vec())]);
    assert_eq!(outcome.get("early"), Some(&Datum::Trigger));
    Ok(())
}

/// Sends its input to undeclared peers as a network output.
fn publishing(g: &mut Graph) {
    let x = g.input("x").of("float[N]");
    let request = g.net_out("update", &x.neg(), &g.input("workers"));
    g.output("request", &request);
}

#[test]
fn a_network_output_arrives_at_its_peers_and_their_answers_can_be_awaited() -> Outcome {
    let artifact = Compiler::new().compile(Body("publishing", publishing))?;
    assert_eq!(artifact.type_of("request"), Some("wire_req_id"));
    assert_eq!(artifact.type_of("workers"), Some("peer_id_vec"));
    let trigger = || PortType::of_node(&TYPE_TRIGGER);
    let part = |name| Part::new(&artifact, name, &Components::new());
    let (home, worker) = (part("self")?.with_answer("update", trigger()?)?, part("workers")?);
    let worker = worker.with_answer("update", trigger()?)?;
    let network = LocalNetwork::new();
    let at_home = endpoint(&network, "home", &home);
    let (a, b) = (endpoint(&network, "a", &worker), endpoint(&network, "b", &worker));
    let inputs = || {
        let x = floats(&[2], &[1.0, -2.0]);
        HashMap::from([("x".to_owned(), x), ("workers".to_owned(), peers(&["b", "a"]))])
    };
    let outcome = home.run(&at_home, RunId(1), inputs(), LONG, Verify::EveryValue)?;
    let [request] = &outcome.requests[..] else { panic!("it has one network output") };
    assert_eq!((request.output.as_str(), &request.peers[..]), ("update", &[peer("b"), peer("a")][..]));
    assert_eq!(outcome.get("request"), Some(&Datum::Request(request.id)));
    for (endpoint, answers) in [(&a, true), (&b, false)] {
        let served = worker.serve(endpoint, LONG, Verify::EveryValue)?.ok_or("nothing came")?;
        assert_eq!(served.get("update"), Some(&floats(&[2], &[-1.0, 2.0])));
        let wrong = worker.answer(endpoint, &served, "update", &floats(&[1], &[0.0]), LONG);
        assert!(matches!(wrong, Err(AnswerError::Send(_))), "{wrong:?}");
        if answers {
            worker.answer(endpoint, &served, "update", &Datum::Trigger, LONG)?;
        } else {
            let missing = home.await_answers(&at_home, request, SOON).expect_err("one peer is silent");
            assert!(
                matches!(&missing, AnswerError::Missing { peers, .. } if *peers == [peer("b")]),
                "{missing}"
            );
            worker.answer(endpoint, &served, "update", &Datum::Trigger, LONG)?;
        }
    }
    let answers = home.await_answers(&at_home, request, LONG)?;
    assert_eq!(answers, [(peer("b"), Datum::Trigger), (peer("a"), Datum::Trigger)]);
    // An answer belongs to its run.
    let next = home.run(&at_home, RunId(2), inputs(), LONG, Verify::Inputs)?;
    let none = home.await_answers(&at_home, &next.requests[0], SOON).expect_err("there is no answer yet");
    assert!(matches!(none, AnswerError::Missing { .. }), "{none}");
    Ok(())
}

#[test]
fn answers_need_an_output_and_a_type() -> Outcome {
    let artifact = Compiler::new().compile(Body("publishing", publishing))?;
    let home = Part::new(&artifact, "self", &Components::new())?;
    let error =
        home.clone().with_answer("nothing", PortType::of_node(&TYPE_TRIGGER)?).expect_err("no output");
    assert_eq!(error.to_string(), "part `self` has no network output `nothing`");
    let network = LocalNetwork::new();
    let at_home = endpoint(&network, "home", &home);
    let inputs = HashMap::from([("x".to_owned(), floats(&[1], &[1.0])), ("workers".to_owned(), peers(&[]))]);
    let outcome = home.run(&at_home, RunId(1), inputs, LONG, Verify::Inputs)?;
    let error = home.await_answers(&at_home, &outcome.requests[0], SOON).expect_err("no type");
    assert!(matches!(error, AnswerError::NoType { .. }), "{error}");
    let error = home.answer(&at_home, &outcome, "update", &Datum::Trigger, SOON).expect_err("it is sent");
    assert!(matches!(error, AnswerError::NoOutput { .. }), "{error}");
    Ok(())
}
