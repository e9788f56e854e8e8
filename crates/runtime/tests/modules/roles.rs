//! A component for every contract, and modules that call all of its operators.

use std::collections::BTreeMap;

use bytes::Bytes;
use typeloom_contracts::aggregator::Aggregator;
use typeloom_contracts::codec::Codec;
use typeloom_contracts::data_source::DataSource;
use typeloom_contracts::index::Index;
use typeloom_contracts::model::Model;
use typeloom_contracts::peer_selector::PeerSelector;
use typeloom_contracts::protocol::Protocol;
use typeloom_onnx::messages::AttributeProto;
use typeloom_program::domain::PEERS as PEERS_DOMAIN;
use typeloom_runtime::components::{Components, RunProtocol};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::peer::PeerId;
use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, PortDecl};
use typeloom_types::relation::NO_RELATIONS;
use typeloom_types::tree::builtin::{TYPE_PEER_ID_VEC, TYPE_TRIGGER};

use crate::modules::support::{Outcome, TestError, floats, linked, run};

#[derive(Default)]
pub(crate) struct Flat(BTreeMap<u64, Vec<f32>>);

impl Index for Flat {
    type Vector = [f32];
    type Error = TestError;

    fn add(&mut self, id: u64, vector: &[f32]) -> Result<(), TestError> {
        self.0.insert(id, vector.to_vec());
        Ok(())
    }

    fn search(&self, query: &[f32], k: usize) -> Result<Vec<(u64, f32)>, TestError> {
        let distance =
            |vector: &Vec<f32>| query.iter().zip(vector).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt();
        let mut found: Vec<(u64, f32)> = self.0.iter().map(|(id, it)| (*id, distance(it))).collect();
        found.sort_by(|a, b| a.1.total_cmp(&b.1));
        found.truncate(k);
        Ok(found)
    }

    fn remove(&mut self, id: u64) -> Result<bool, TestError> {
        Ok(self.0.remove(&id).is_some())
    }

    fn train(&mut self, vectors: &[&[f32]]) -> Result<(), TestError> {
        if vectors.iter().any(|vector| vector.len() != 2) {
            Err(TestError("two by two".into()))
        } else {
            Ok(())
        }
    }
}

#[test]
fn an_index_keeps_added_vectors_between_runs() -> Outcome {
    let components = Components::new().index("near", Flat::default());
    let fill = linked(&components, |g| {
        let near = g.index("near");
        let vectors = g.input("vectors");
        near.train(&vectors);
        let done = near.add(&g.input("ids"), &vectors);
        g.output("done", &done);
    })?;
    let find = linked(&components, |g| {
        let (ids, distances) = g.index("near").search(&g.input("query"), 2);
        g.output("ids", &ids);
        g.output("distances", &distances);
    })?;
    let forget = linked(&components, |g| g.output("done", &g.index("near").remove(&g.input("ids"))))?;

    let vectors = floats(&[3, 2], &[0.0, 0.0, 3.0, 4.0, 1.0, 0.0]);
    let ids: Datum = AnyTensor::from([7_u64, 8, 9]).into();
    let done = run(&fill, [("ids", ids.clone()), ("vectors", vectors)])?;
    assert_eq!(done.get("done"), Some(&Datum::Trigger));
    let found = run(&find, [("query", floats(&[2], &[0.0, 0.0]))])?;
    assert_eq!(found.get("ids"), Some(&AnyTensor::from([7_u64, 9]).into()));
    assert_eq!(found.get("distances"), Some(&floats(&[2], &[0.0, 1.0])));
    // Several queries return one row each.
    let found = run(&find, [("query", floats(&[2, 2], &[3.0, 4.0, 1.0, 0.0]))])?;
    assert_eq!(found.get("ids"), Some(&AnyTensor::from_slice(&[2, 2], &[8_u64, 9, 9, 7])?.into()));

    run(&forget, [("ids", AnyTensor::from([7_u64]).into())])?;
    let found = run(&find, [("query", floats(&[2], &[0.0, 0.0]))])?;
    assert_eq!(found.get("ids"), Some(&AnyTensor::from([9_u64, 8]).into()));

    let uneven = run(&fill, [("ids", ids), ("vectors", floats(&[2, 2], &[0.0; 4]))]);
    assert!(uneven.is_err_and(|error| error.to_string().contains("3 ids for 2 vectors")));
    Ok(())
}

/// `y = w * x`, element by element.
struct Linear(Vec<f64>);

impl Model for Linear {
    type Tensor = [f64];
    type Error = TestError;

    fn forward(&self, input: &[f64]) -> Result<Box<[f64]>, TestError> {
        Ok(input.iter().zip(&self.0).map(|(x, w)| x * w).collect())
    }

    fn load_parameters(&mut self, parameters: &[f64]) -> Result<(), TestError> {
        if parameters.len() != self.0.len() {
            return Err(TestError(format!("{} parameters", parameters.len())));
        }
        self.0 = parameters.to_vec();
        Ok(())
    }

    fn backward(&mut self, gradient: &[f64]) -> Result<Box<[f64]>, TestError> {
        Ok(gradient.iter().map(|g| -g).collect())
    }

    fn apply_delta(&mut self, delta: &[f64]) -> Result<(), TestError> {
        self.0.iter_mut().zip(delta).for_each(|(w, d)| *w += d);
        Ok(())
    }

    fn compute_loss(&self, prediction: &[f64], target: &[f64]) -> Result<Box<[f64]>, TestError> {
        Ok(Box::new([prediction.iter().zip(target).map(|(p, t)| (p - t).abs()).sum()]))
    }

    fn params(&self) -> &[f64] {
        &self.0
    }
}

#[test]
fn a_model_predicts_and_learns() -> Outcome {
    let components = Components::new().model("net", Linear(vec![0.0, 0.0]));
    let step = linked(&components, |g| {
        let net = g.model("net");
        let loaded = net.load_parameters(&g.input("start"));
        let prediction = net.forward(&g.input("x"));
        let target = g.input("target");
        g.output("loss", &net.compute_loss(&prediction, &target));
        let delta = net.backward(&(&prediction - &target));
        let applied = net.apply_delta(&delta);
        g.output("weights", &net.params(Some(&applied)));
        g.output("loaded", &loaded);
    })?;
    let doubles = |elements: [f64; 2]| -> Datum { AnyTensor::from(elements).into() };
    let outcome = run(
        &step,
        [("start", doubles([1.0, 2.0])), ("x", doubles([3.0, 4.0])), ("target", doubles([4.0, 4.0]))],
    )?;
    assert_eq!(outcome.get("loss"), Some(&AnyTensor::from([5.0_f64]).into()));
    assert_eq!(outcome.get("weights"), Some(&doubles([2.0, -2.0])));
    let start: Datum = AnyTensor::from([1.0_f64]).into();
    let refused =
        run(&step, [("start", start), ("x", doubles([0.0; 2])), ("target", doubles([0.0; 2]))]).unwrap_err();
    let text = refused.to_string();
    assert!(
        text.contains("`LoadParameters`") && text.contains("slot `net`") && text.contains("1 parameters"),
        "{text}"
    );
    Ok(())
}

#[derive(Default)]
struct Mean(Vec<(f32, Vec<f32>)>);

impl Aggregator for Mean {
    type Element = [f32];
    type Metadata = Option<f32>;
    type Error = TestError;

    fn contribute(&mut self, source: &str, element: &[f32], weight: Option<f32>) -> Result<(), TestError> {
        if source == "outsider" {
            return Err(TestError(format!("{source} is not one of us")));
        }
        self.0.push((weight.unwrap_or(1.0), element.to_vec()));
        Ok(())
    }

    fn aggregate(&mut self) -> Result<Box<[f32]>, TestError> {
        let contributions = std::mem::take(&mut self.0);
        let total: f32 = contributions.iter().map(|(weight, _)| weight).sum();
        let width = contributions.first().ok_or_else(|| TestError("nothing came".into()))?.1.len();
        let mean = |at: usize| contributions.iter().map(|(w, it)| w * it[at]).sum::<f32>() / total;
        Ok((0..width).map(mean).collect())
    }
}

#[test]
fn an_aggregator_reads_weights_from_bytes() -> Outcome {
    let components = Components::new().aggregator("mean", Mean::default());
    let contribute = linked(&components, |g| {
        let metadata = g.input("weight");
        let done = g.aggregator("mean").contribute(&g.input("from"), &g.input("update"), Some(&metadata));
        g.output("done", &done);
    })?;
    let aggregate = linked(&components, |g| g.output("mean", &g.aggregator("mean").aggregate(None)))?;
    let peer = |name: &str| Datum::Peer(PeerId(name.as_bytes().to_vec()));
    let weight = |weight: f32| Datum::Bytes(Bytes::copy_from_slice(&weight.to_le_bytes()));
    let one = [("from", peer("a")), ("update", floats(&[2], &[0.0, 4.0])), ("weight", weight(1.0))];
    let other = [("from", peer("b")), ("update", floats(&[2], &[4.0, 0.0])), ("weight", weight(3.0))];
    run(&contribute, one)?;
    run(&contribute, other)?;
    assert_eq!(run(&aggregate, [])?.get("mean"), Some(&floats(&[2], &[3.0, 1.0])));
    assert!(run(&aggregate, []).is_err_and(|error| error.to_string().contains("nothing came")));
    let outside = [("from", peer("outsider")), ("update", floats(&[2], &[0.0; 2])), ("weight", weight(1.0))];
    assert!(run(&contribute, outside).is_err_and(|error| error.to_string().contains("not one of us")));
    let short = Datum::Bytes(Bytes::from_static(&[1, 2]));
    let odd = [("from", peer("a")), ("update", floats(&[2], &[0.0; 2])), ("weight", short)];
    assert!(run(&contribute, odd).is_err_and(|error| error.to_string().contains("the bytes of a f32")));
    Ok(())
}

/// Encodes numbers as bytes, scaled by the maximum of the training data.
struct Scaled(f32);

impl Codec for Scaled {
    type In = [f32];
    type Out = [u8];
    type Error = TestError;

    fn train(&mut self, samples: &[&[f32]]) -> Result<(), TestError> {
        self.0 = samples.iter().flat_map(|sample| sample.iter()).fold(0.0, |most, it| most.max(*it));
        Ok(())
    }

    fn encode(&self, value: &[f32]) -> Result<Box<[u8]>, TestError> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 255")]
        Ok(value.iter().map(|it| (it / self.0 * 255.0).clamp(0.0, 255.0) as u8).collect())
    }

    fn decode(&self, value: &[u8]) -> Result<Box<[f32]>, TestError> {
        Ok(value.iter().map(|it| f32::from(*it) / 255.0 * self.0).collect())
    }
}

#[test]
fn a_codec_stores_two_types() -> Outcome {
    let components = Components::new().codec("bytes", Scaled(1.0));
    let there_and_back = linked(&components, |g| {
        let codec = g.codec("bytes");
        let samples = g.input("samples");
        codec.train(&samples);
        let encoded = codec.encode(&samples);
        g.output("encoded", &encoded);
        g.output("decoded", &codec.decode(&encoded));
    })?;
    let samples = floats(&[2, 2], &[0.0, 2.0, 4.0, 1.0]);
    let outcome = run(&there_and_back, [("samples", samples)])?;
    assert_eq!(outcome.get("encoded"), Some(&AnyTensor::from([0_u8, 127, 255, 63]).into()));
    assert_eq!(outcome.get("decoded").and_then(Datum::as_tensor).map(AnyTensor::len), Some(4));
    Ok(())
}

struct Counting(i32, Vec<i32>);

impl DataSource for Counting {
    type Sample = [i32];
    type Error = TestError;

    fn next_batch(&mut self) -> Result<Option<Box<[i32]>>, TestError> {
        self.0 += 1;
        Ok((self.0 < 3).then(|| Box::from([self.0, self.0 * 10])))
    }

    fn reset(&mut self) -> Result<(), TestError> {
        self.0 = 0;
        Ok(())
    }

    fn on_data_loaded(&mut self, batch: &[i32]) -> Result<(), TestError> {
        self.1.extend_from_slice(batch);
        if self.1.len() > 100 { Err(TestError("too much".into())) } else { Ok(()) }
    }
}

#[test]
fn a_data_source_ends_and_restarts() -> Outcome {
    let components = Components::new().data_source("data", Counting(0, Vec::new()));
    let next = linked(&components, |g| {
        let data = g.data_source("data");
        let batch = data.next_batch(None);
        data.on_data_loaded(&batch);
        g.output("batch", &batch);
    })?;
    let reset = linked(&components, |g| g.output("done", &g.data_source("data").reset(None)))?;
    let batch = |elements: [i32; 2]| -> Datum { AnyTensor::from(elements).into() };
    assert_eq!(run(&next, [])?.get("batch"), Some(&batch([1, 10])));
    assert_eq!(run(&next, [])?.get("batch"), Some(&batch([2, 20])));
    assert!(run(&next, []).is_err_and(|error| error.to_string().contains("no more batches")));
    run(&reset, [])?;
    assert_eq!(run(&next, [])?.get("batch"), Some(&batch([1, 10])));
    Ok(())
}

struct Known(Vec<PeerId>);

impl PeerSelector for Known {
    type Error = TestError;

    fn select(&mut self, count: usize) -> Result<Vec<PeerId>, TestError> {
        self.0.get(..count).map(<[PeerId]>::to_vec).ok_or_else(|| TestError("too few peers".into()))
    }

    fn sample(&mut self, count: usize) -> Result<Vec<PeerId>, TestError> {
        Ok(self.0.iter().rev().take(count).cloned().collect())
    }

    fn current_view(&self) -> Result<Vec<PeerId>, TestError> {
        Ok(self.0.clone())
    }
}

fn peers(names: &[&str]) -> Vec<PeerId> {
    names.iter().map(|name| PeerId(name.as_bytes().to_vec())).collect()
}

#[test]
fn a_selector_returns_peers_and_lists_of_peers_are_indexed() -> Outcome {
    let components = Components::new().peer_selector("who", Known(peers(&["a", "b", "c"])));
    let choose = linked(&components, |g| {
        let who = g.peer_selector("who");
        let all = who.current_view(None);
        g.output("best", &who.select(None, 2));
        g.output("some", &who.sample(None, 1));
        let on_lists = |op: &str, inputs: &[&typeloom_module::graph::value::ValueRef]| {
            g.node(PEERS_DOMAIN, op, inputs, Vec::new(), 1).remove(0)
        };
        g.output("last", &on_lists("Gather", &[&all, &g.ints(&[2])]));
        g.output("from_the_second", &on_lists("Slice", &[&all, &g.ints(&[1]), &g.ints(&[9])]));
        g.output("all", &all);
    })?;
    let outcome = run(&choose, [])?;
    let expected =
        [("best", vec!["a", "b"]), ("some", vec!["c"]), ("last", vec!["c"]), ("all", vec!["a", "b", "c"])];
    for (name, expected) in expected {
        assert_eq!(outcome.get(name), Some(&Datum::Peers(peers(&expected))), "{name}");
    }
    assert_eq!(outcome.get("from_the_second"), Some(&Datum::Peers(peers(&["b", "c"]))));
    let too_many = linked(&components, |g| g.output("best", &g.peer_selector("who").select(None, 9)))?;
    assert!(run(&too_many, []).is_err_and(|error| error.to_string().contains("too few peers")));
    Ok(())
}

static GOSSIP_OPS: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: "org.example.gossip",
    version: 1,
    ops: &[AtomicOpDecl {
        name: "Round",
        inputs: &[PortDecl::required("start", &TYPE_TRIGGER)],
        outputs: &[PortDecl::required("heard_from", &TYPE_PEER_ID_VEC)],
        kind: AtomicOpKind::Stateful,
        type_relations: NO_RELATIONS,
    }],
};

struct Gossip(usize);

impl Protocol for Gossip {
    const OPSET: &'static AtomicOpsetDecl = &GOSSIP_OPS;
}
typeloom_contracts::register_protocol!(Gossip);

impl RunProtocol for Gossip {
    type Error = TestError;

    fn call(
        &mut self,
        operator: &str,
        inputs: &[Option<Datum>],
        _: &[AttributeProto],
    ) -> Result<Vec<Datum>, TestError> {
        self.0 += 1;
        match (operator, inputs, self.0) {
            ("Round", [Some(Datum::Trigger)], 1) => Ok(vec![Datum::Peers(peers(&["near"]))]),
            // The second call returns a value that contradicts the declaration.
            _ => Ok(vec![Datum::Trigger]),
        }
    }
}

#[test]
fn a_protocol_runs_its_own_operators_and_its_results_are_checked() -> Outcome {
    let components = Components::new().protocol("gossip", Gossip(0));
    let round = linked(&components, |g| {
        let start = g.input("start");
        let heard = g.protocol("gossip", "org.example.gossip").call("Round", &[&start], 1);
        g.output("heard", &heard[0]);
    })?;
    assert_eq!(run(&round, [("start", Datum::Trigger)])?.get("heard"), Some(&Datum::Peers(peers(&["near"]))));
    let text = run(&round, [("start", Datum::Trigger)]).unwrap_err().to_string();
    assert!(text.contains("trigger is not peer_id_vec") && text.contains("slot `gossip`"), "{text}");
    Ok(())
}
