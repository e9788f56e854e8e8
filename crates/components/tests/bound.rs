//! A module with a component of each contract, executed.

use std::collections::HashMap;

use bytes::Bytes;
use typeloom_components::aggregator::{Contribution, FederatedAverage, Trim, TrimmedMean};
use typeloom_components::codec::deflated::Deflated;
use typeloom_components::codec::int8::Int8;
use typeloom_components::index::{Exact, Metric};
use typeloom_components::model::{Network, Settings};
use typeloom_components::peers::{PeerTable, Preference};
use typeloom_components::source::csv::Table;
use typeloom_components::source::{Batches, Samples};
use typeloom_contracts::backend::by_execution::ByExecution;
use typeloom_module::graph::Graph;
use typeloom_module::module::Module;
use typeloom_onnx::text::parse_model;
use typeloom_runtime::backend::Cpu;
use typeloom_runtime::components::Components;
use typeloom_runtime::executor::Executor;
use typeloom_runtime::options::Verify;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::peer::PeerId;

struct Everything;

impl Module for Everything {
    fn name(&self) -> &str {
        "everything"
    }

    fn body(&self, g: &mut Graph) {
        let (ids, query) = (g.input("ids").of("uint64[B]"), g.input("query").of("float[2]"));
        let (source, said) = (g.input("source").of("peer_id"), g.input("said").of("bytes"));
        let samples = g.data_source("samples");
        let rows = samples.next_batch(None).of("float[B, 2]");
        samples.on_data_loaded(&rows);

        let near = g.index("near");
        near.add(&ids, &rows);
        let (found, distances) = near.search(&query, 2);
        g.output("found", &found);
        g.output("distances", &distances);

        let predicted = g.model("network").forward(&rows).of("float[B, 1]");
        let packed = g.codec("exactly").encode(&predicted);
        g.output("predicted", &g.codec("exactly").decode(&packed).of("float[B, 1]"));
        let quantised = g.codec("roughly").encode(&rows);
        g.output("roughly", &g.codec("roughly").decode(&quantised).of("float[B, 2]"));

        for slot in ["mean", "middle"] {
            let aggregator = g.aggregator(slot);
            let done = aggregator.contribute(&source, &predicted, Some(&said));
            g.output(slot, &aggregator.aggregate(Some(&done)).of("float[B, 1]"));
        }
        g.output("best", &g.peer_selector("peers").select(None, 1));
    }
}

const LINE: &str = r#"<ir_version: 10, opset_import: ["" : 21]>
line (float[N, 2] x) => (y) <float[2, 1] w = {1, 10}> { y = MatMul(x, w) }"#;

#[test]
fn a_module_runs_with_a_component_of_each_contract() -> Result<(), Box<dyn std::error::Error>> {
    let peer = |name: &str| PeerId(name.as_bytes().to_vec());
    let mut peers = PeerTable::new(Preference::Score, 1);
    peers.observe(peer("slow"), 0.1, 5)?;
    peers.observe(peer("quick"), 0.9, 1)?;
    let file = "x,y\n0,0\n1,0\n0,2\n";
    let samples: Samples<[f32]> = Samples::from_csv(file.as_bytes(), &Table::default(), Batches::of(3))?;
    let near: Exact<ByExecution<Cpu>> = Exact::new(ByExecution(Cpu), Metric::Euclidean);
    let network: Network<[f32]> = Network::new(parse_model(LINE)?, &Settings::default())?;
    let components = Components::new()
        .data_source("samples", samples)
        .index("near", near)
        .model("network", network)
        .codec("exactly", Deflated::<[f32]>::default())
        .codec("roughly", Int8::<AnyTensor>::along(1))
        .aggregator("mean", FederatedAverage::<[f32]>::default())
        .aggregator("middle", TrimmedMean::<AnyTensor>::new(Trim::ToMedian))
        .peer_selector("peers", peers);
    let artifact = components.compiler().compile(Everything)?;
    let executor = Executor::new(&artifact, &components)?;
    let said = Contribution { samples: 7 }.to_bytes();
    let inputs = HashMap::from([
        ("ids".to_owned(), AnyTensor::from([10_u64, 11, 12]).into()),
        ("query".to_owned(), AnyTensor::from([0.0_f32, 1.9]).into()),
        ("source".to_owned(), Datum::Peer(peer("quick"))),
        ("said".to_owned(), Datum::Bytes(Bytes::copy_from_slice(&said))),
    ]);
    let outcome = executor.run(inputs, Verify::EveryValue)?;
    let of = |name: &str| outcome.get(name).cloned().ok_or_else(|| format!("there is no `{name}`"));
    let column = |values: &[f32]| AnyTensor::from_slice(&[3, 1], values).map(Datum::from);
    assert_eq!(of("found")?, AnyTensor::from([12_u64, 10]).into());
    assert_eq!(of("predicted")?, column(&[0.0, 1.0, 20.0])?);
    assert_eq!(of("mean")?, column(&[0.0, 1.0, 20.0])?);
    assert_eq!(of("middle")?, column(&[0.0, 1.0, 20.0])?);
    assert_eq!(of("best")?, Datum::Peers(vec![peer("quick")]));
    let rough = of("roughly")?;
    let rough = rough.as_tensor().ok_or("`rough` is not a tensor")?.to_vec::<f32>()?;
    let off = rough.iter().zip([0.0, 0.0, 1.0, 0.0, 0.0, 2.0]).map(|(a, b): (&f32, f32)| (a - b).abs());
    assert!(off.fold(0.0, f32::max) < 0.01, "{rough:?}");
    Ok(())
}
