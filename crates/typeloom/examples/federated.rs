//! Federated learning, in which the samples stay with the peers: `cargo run --example federated`.
//!
//! `Local` takes weights, trains on the samples of its peer and returns the change of the weights. `Round`
//! sends weights to the peers, runs `Local` on each, and averages the returned changes, which are sent as
//! 8-bit messages. Ports have no declared type, except where a component needs a shape. The types of all
//! messages are inferred at compile time and checked on receipt.
//!
//! The task is to classify points of two concentric rings. Each of the three peers has the points of one arc.

use std::error::Error;
use std::fmt::Write as _;

use typeloom::module::{Artifact, Compiler, Graph, Model, Module, PeerId};
use typeloom::run::components::{
    Batches, CsvTable, FederatedAverage, Int8, Loss, Network, NetworkSettings, Samples, Seeded,
};
use typeloom::run::wire::LocalNetwork;
use typeloom::run::{Components, Datum, Peer, inputs};
use typeloom::types::AnyTensor;

const PEERS: [&str; 3] = ["ada", "ben", "cho"];
const ROUNDS: u64 = 60;
const STEPS: usize = 4;
const SAMPLES: usize = 40;
const RATE: f32 = 1.0;

/// The network: two inputs, a logit for each of two classes.
const NETWORK: &str = r#"<ir_version: 10, opset_import: ["" : 21]>
rings (float[N, 2] point) => (float[N, 2] logits)
<float[2, 8] w1 = {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, float[8] b1 = {0,0,0,0,0,0,0,0},
 float[8, 2] w2 = {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}, float[2] b2 = {0,0}>
{
    h = Gemm(point, w1, b1)
    t = Tanh(h)
    logits = Gemm(t, w2, b2)
}"#;

/// Trains for some steps, starting from the given weights, on the samples of the peer that runs it. Returns
/// the change of the weights.
struct Local;

impl Module for Local {
    fn name(&self) -> &str {
        "local"
    }

    fn body(&self, g: &mut Graph) {
        let weights = g.input("weights").of("float[W]");
        let (samples, network) = (g.data_source("samples"), g.model("network"));
        let columns = |from: i64, to: i64| (g.ints(&[from]), g.ints(&[to]), g.ints(&[1]));
        let step = g.constant(&AnyTensor::from_scalar(-RATE / SAMPLES as f32));
        let mut done = network.load_parameters(&weights);
        for _ in 0..STEPS {
            done = samples.reset(Some(&done));
            let rows = samples.next_batch(Some(&done)).of("float[B, 4]");
            let ((from, to, axis), (then, end, _)) = (columns(0, 2), columns(2, 4));
            let points = rows.slice(&from, &to, Some(&axis), None);
            let classes = rows.slice(&then, &end, Some(&axis), None);
            let logits = network.forward(&points).of("float[B, 2]");
            // The gradient of the cross-entropy with respect to the logits.
            let slope = logits.softmax(Default::default()) - classes;
            let gradient = network.backward(&slope).of("float[W]");
            done = network.apply_delta(&(&gradient * &step));
        }
        let learned = network.params(Some(&done)).of("float[W]");
        g.output("change", &(&learned - &weights));
    }
}

/// One round: sends the weights, receives the changes, applies their mean.
struct Round;

impl Module for Round {
    fn name(&self) -> &str {
        "round"
    }

    fn body(&self, g: &mut Graph) {
        let weights = g.input("weights").of("float[W]");
        let peers = g.input("peers").of("peer_id_vec");
        let (there, _) = g.send(&weights, &peers);
        let (received, sender) = g.receive(&there);
        let [change] = g.call(&Local, &[&received]).array();
        let (back, _) = g.send(&g.codec("packing").encode(&change), &sender);
        let (packed, from) = g.receive(&back);
        let change = g.codec("unpacking").decode(&packed);
        let average = g.aggregator("average");
        let done = average.contribute(&from, &change, None);
        g.output("averaged", &(&weights + &average.aggregate(Some(&done)).of("float[W]")));
    }
}

fn network() -> Result<Network<[f32]>, Box<dyn Error>> {
    let settings = NetworkSettings { loss: Loss::CrossEntropy, ..NetworkSettings::default() };
    Ok(Network::from_bytes(&typeloom::onnx::model_from_text(NETWORK)?, &settings)?)
}

/// Returns points of two rings in an arc, with their classes, as a CSV file.
fn file(arc: f64, seeded: &mut Seeded) -> Result<String, std::fmt::Error> {
    let mut text = "x,y,inner,outer\n".to_owned();
    for at in 0..SAMPLES {
        let is_inner = at % 2 == 0;
        let radius = if is_inner { 0.4 } else { 1.0 } + 0.2 * (seeded.unit() - 0.5);
        let angle = arc + seeded.unit() * std::f64::consts::PI;
        let (sin, cos) = angle.sin_cos();
        writeln!(
            text,
            "{:.4},{:.4},{},{}",
            radius * cos,
            radius * sin,
            u8::from(is_inner),
            u8::from(!is_inner)
        )?;
    }
    Ok(text)
}

/// Evaluates weights on all samples: the loss and the number of correctly classified points.
struct Judge {
    network: Network<[f32]>,
    points: Vec<f32>,
    classes: Vec<f32>,
}

impl Judge {
    fn of(files: &[String]) -> Result<Self, Box<dyn Error>> {
        let (mut points, mut classes) = (Vec::new(), Vec::new());
        for line in files.iter().flat_map(|file| file.lines().skip(1)) {
            let fields = line.split(',').map(str::parse).collect::<Result<Vec<f32>, _>>()?;
            points.extend(&fields[..2]);
            classes.extend(&fields[2..]);
        }
        Ok(Self { network: network()?, points, classes })
    }

    fn judge(&mut self, weights: &[f32]) -> Result<(f32, usize), Box<dyn Error>> {
        self.network.load_parameters(weights)?;
        let logits = self.network.forward(&self.points)?;
        let loss = self.network.compute_loss(&logits, &self.classes)?;
        let pairs = logits.chunks_exact(2).zip(self.classes.chunks_exact(2));
        let right = pairs.filter(|(logits, classes)| (logits[0] > logits[1]) == (classes[0] > classes[1]));
        Ok((loss[0], right.count()))
    }
}

/// Runs rounds from initial weights and returns the evaluation after each.
fn learn(artifact: &Artifact, files: &[String]) -> Result<Vec<(f32, usize)>, Box<dyn Error>> {
    let local = LocalNetwork::new();
    let average: FederatedAverage<[f32]> = FederatedAverage::of_at_least(PEERS.len());
    let components =
        Components::new().codec("unpacking", Int8::<[f32]>::default()).aggregator("average", average);
    let home = Peer::open(&local, "home")?.part(artifact, "self", &components)?;

    let mut others = Vec::new();
    for (name, file) in PEERS.iter().zip(files) {
        let samples: Samples<[f32]> =
            Samples::from_csv(file.as_bytes(), &CsvTable::default(), Batches::of(SAMPLES))?;
        let components = Components::new()
            .data_source("samples", samples)
            .model("network", network()?)
            .codec("packing", Int8::<[f32]>::default());
        others.push(Peer::open(&local, *name)?.part(artifact, "peers", &components)?);
    }

    let mut judge = Judge::of(files)?;
    let mut seeded = Seeded::new(3);
    let count = judge.network.params().len();
    let mut weights: Vec<f32> = (0..count).map(|_| (seeded.unit() - 0.5) as f32).collect();
    let mut history = vec![judge.judge(&weights)?];
    std::thread::scope(|scope| {
        for peer in &others {
            // The run that waits for a failed peer reports its name.
            scope.spawn(move || (0..ROUNDS).try_for_each(|_| peer.serve().map(|_| ())));
        }
        for _ in 0..ROUNDS {
            let peers = PEERS.map(PeerId::from);
            let outcome = home.run(inputs! { "weights" => &*weights, "peers" => peers })?;
            let next = outcome.get("averaged").and_then(Datum::as_tensor).ok_or("no tensor `averaged`")?;
            weights = next.to_vec()?;
            history.push(judge.judge(&weights)?);
        }
        Ok(history)
    })
}

pub(crate) struct Learned {
    pub(crate) types: Vec<String>,
    pub(crate) history: Vec<(f32, usize)>,
    pub(crate) samples: usize,
}

pub(crate) fn walk() -> Result<Learned, Box<dyn Error>> {
    let artifact = Compiler::new()
        .bind_data_source::<Samples<[f32]>>("samples")
        .bind_model::<Network<[f32]>>("network")
        .bind_codec::<Int8<[f32]>>("packing")
        .bind_codec::<Int8<[f32]>>("unpacking")
        .bind_aggregator::<FederatedAverage<[f32]>>("average")
        .compile(Round)?;
    let mut types = vec![format!("averaged: {}", artifact.type_of("averaged").unwrap_or("?"))];
    for part in artifact.parts() {
        let ops: Vec<_> = part.node.iter().map(typeloom::onnx::NodeProto::op_type).collect();
        types.push(format!(
            "on {}: {} nodes, {}, ...",
            part.name(),
            ops.len(),
            ops[..4.min(ops.len())].join(", ")
        ));
    }
    let mut seeded = Seeded::new(1);
    let arcs = [0.0, 2.0, 4.0].map(|arc| file(arc, &mut seeded));
    let files = arcs.into_iter().collect::<Result<Vec<String>, _>>()?;
    Ok(Learned { types, history: learn(&artifact, &files)?, samples: PEERS.len() * SAMPLES })
}

#[expect(clippy::print_stdout, reason = "an example prints its results")]
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let Learned { types, history, samples } = walk()?;
    types.iter().for_each(|line| println!("{line}"));
    for (round, (loss, right)) in history.iter().enumerate().step_by(5) {
        println!("after {round:2} rounds: loss {loss:.4}, {right} of {samples} classified correctly");
    }
    Ok(())
}
