//! External inputs of components: encoded messages and sample files.

use typeloom_components::codec::deflated::Deflated;
use typeloom_components::codec::int8::Int8;
use typeloom_components::model::{Network, Parameter, Settings};
use typeloom_components::source::csv::{FirstLine, Table};
use typeloom_components::source::{Batches, Samples, npy};
use typeloom_contracts::codec::Codec;
use typeloom_contracts::data_source::DataSource;
use typeloom_contracts::model::Model as _;
use typeloom_tensor::any_tensor::AnyTensor;

/// Maximum decoded size of a message in bytes.
const LIMIT: usize = 1 << 20;

/// Decodes the bytes with each codec and encodes the result again. `Deflated` must reproduce the value.
pub fn codecs(bytes: &[u8]) {
    let (deflated, int8): (Deflated, Int8) = (Deflated::up_to(LIMIT), Int8::default());
    if let Ok(tensor) = deflated.decode(bytes) {
        let again = deflated.encode(&tensor).and_then(|message| deflated.decode(&message));
        assert_eq!(again, Ok(tensor), "a decoded tensor is encoded without loss");
    }
    if let Ok(tensor) = int8.decode(bytes) {
        assert!(int8.encode(&tensor).is_ok(), "a decoded tensor is finite");
    }
}

/// Reads the bytes as each kind of file and draws a few batches from the samples.
pub fn samples(bytes: &[u8]) {
    if let Ok(array) = npy::read(bytes) {
        let again = npy::written(&array).map(|file| npy::read(&file));
        assert_eq!(again, Some(Ok(array)), "an array is written as it was read");
    }
    let numbers = Table { first_line: FirstLine::Numbers, ..Table::default() };
    let read = [
        Samples::from_npy(bytes, Batches::of(3)),
        Samples::from_safetensors(bytes, "x", Batches::of(3)),
        Samples::from_csv(bytes, &Table::default(), Batches::of(3)),
        Samples::from_csv(bytes, &numbers, Batches::of(3)),
    ];
    for mut samples in read.into_iter().flatten() {
        draw_all(&mut samples);
    }
}

/// Builds a network from the bytes, if they are a model: parameters, a loss, a gradient graph that
/// type-checks.
pub fn network(bytes: &[u8]) {
    if let Ok(network) = Network::<AnyTensor>::from_bytes(bytes, &Settings::default()) {
        let count: usize = network.parameters().iter().map(Parameter::len).sum();
        assert_eq!(network.params().len(), count, "the parameters are one after the other");
    }
}

fn draw_all(samples: &mut Samples<AnyTensor>) {
    let mut count = 0;
    while let Ok(Some(batch)) = samples.next_batch() {
        count += batch.shape().first().copied().unwrap_or(0);
        assert!(samples.on_data_loaded(&batch).is_ok(), "a batch that was returned can be added");
    }
    assert_eq!(count, samples.len(), "each sample comes once");
}
