//! Every method of every contract, called through a compiled module, for every storage type.
//!
//! One component implements five contracts for a storage type `S` and records its calls. One module calls all
//! methods on values of `S`; a second one sends such a value to a peer, which computes on it and returns it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use typeloom as bb;
use typeloom::half::{bf16, f16};
use typeloom::module::{Compiler, Graph, PeerSelector as _, ValueRef};
use typeloom::run::components::{PeerTable, Preference};
use typeloom::run::values::{FromDatum, FromMetadata, IntoDatum, LeafDatum, Scalar};
use typeloom::run::{Components, Datum, Executor, RunOutcome, Verify};

use super::support::{Body, Failed, Outcome, Pair, peer};

/// A storage type of the test: a value can be put into a box.
pub(crate) trait Stored: bb::Storage + FromDatum + IntoDatum {
    fn boxed(&self) -> Box<Self>;
}

macro_rules! stored {
    ($([$($of:tt)*] $stored:ty;)*) => {
        $(impl<$($of)*> Stored for $stored {
            fn boxed(&self) -> Box<Self> {
                Box::new(self.clone())
            }
        })*
    };
}

stored! {
    [T: typeloom::run::values::DatumElement] Vec<T>;
    [T: typeloom::run::values::DatumElement] Box<[T]>;
    [T: typeloom::run::values::DatumElement] Arc<[T]>;
    [T: typeloom::run::values::DatumElement, const N: usize] [T; N];
    [] f32;
    [] f64;
    [] f16;
    [] u8;
    [] i32;
    [] bb::AnyTensor;
    [] Sketch;
}

impl<T: typeloom::run::values::DatumElement> Stored for [T] {
    fn boxed(&self) -> Box<Self> {
        self.into()
    }
}

/// A custom element type, and a custom leaf that is no tensor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Nibbles(u8);

static TYPE_TENSOR_NIBBLES: bb::TypeNode = bb::TypeNode {
    id: "tensor.nibbles",
    parent: Some("tensor"),
    kind: bb::TypeKind::Concrete,
    ffi_name: "audit_nibbles_t",
    wire_hash: 0,
    denotation: "org.example.audit.nibbles",
};
bb::register_type_node!(TYPE_TENSOR_NIBBLES);

impl typeloom::types::ElementStorage for Nibbles {
    const SLICE: &'static bb::TypeNode = &TYPE_TENSOR_NIBBLES;
}

impl typeloom::run::values::DatumElement for Nibbles {
    const BYTES: usize = 2;

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend([self.0 >> 4, self.0 & 15]);
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        if let [high @ ..16, low @ ..16] = bytes { Some(Self(high << 4 | low)) } else { None }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sketch(String);

static TYPE_SKETCH: bb::TypeNode = bb::TypeNode {
    id: "audit.sketch",
    parent: Some("any"),
    kind: bb::TypeKind::Concrete,
    ffi_name: "audit_sketch_t",
    wire_hash: 0,
    denotation: "org.example.audit.sketch",
};
bb::register_type_node!(TYPE_SKETCH);

impl bb::Storage for Sketch {
    const TYPE: &'static bb::TypeNode = &TYPE_SKETCH;
}

impl FromDatum for Sketch {
    fn from_datum(datum: &Datum) -> Option<Cow<'_, Self>> {
        let Datum::Leaf(LeafDatum { node, bytes }) = datum else { return None };
        let text = String::from_utf8(bytes.to_vec()).ok().filter(|_| node.id == TYPE_SKETCH.id)?;
        Some(Cow::Owned(Self(text)))
    }
}

impl IntoDatum for Sketch {
    fn to_datum(&self, _: Option<&[Option<usize>]>) -> Datum {
        Datum::Leaf(LeafDatum { node: &TYPE_SKETCH, bytes: self.0.clone().into_bytes().into() })
    }
}

type Log = Arc<Mutex<Vec<String>>>;

/// A component of five contracts, which keeps the last value.
struct Keeper<S: ?Sized> {
    kept: Mutex<Box<S>>,
    shown: Box<S>,
    batches: usize,
    log: Log,
}

impl<S: Stored + ?Sized> Keeper<S> {
    fn new(datum: &Datum, log: &Log) -> Self {
        let first = || S::from_datum(datum).expect("a value of the storage type").boxed();
        Self { kept: Mutex::new(first()), shown: first(), batches: 0, log: Arc::clone(log) }
    }

    fn call(&self, method: &str, value: &S) -> Result<(), Failed> {
        self.log.lock().expect("no holder panics").push(format!("{method} {}", value.to_datum(None)));
        *self.kept.lock().expect("no holder panics") = value.boxed();
        Ok(())
    }

    fn same(&self, method: &str, value: &S) -> Result<Box<S>, Failed> {
        self.call(method, value).map(|()| value.boxed())
    }

    fn last(&self) -> Box<S> {
        self.kept.lock().expect("no holder panics").boxed()
    }
}

impl<S: Stored + ?Sized> bb::Index for Keeper<S> {
    type Vector = S;
    type Error = Failed;

    fn add(&mut self, id: u64, vector: &S) -> Result<(), Failed> {
        self.call(&format!("add {id}"), vector)
    }

    fn search(&self, query: &S, k: usize) -> Result<Vec<(u64, f32)>, Failed> {
        self.call(&format!("search {k}"), query)?;
        Ok((0..k as u64).map(|at| (u64::MAX - at, -0.5)).collect())
    }

    fn remove(&mut self, id: u64) -> Result<bool, Failed> {
        self.log.lock().expect("no holder panics").push(format!("remove {id}"));
        Ok(id == 8)
    }

    fn train(&mut self, vectors: &[&S]) -> Result<(), Failed> {
        vectors.iter().try_for_each(|vector| self.call("train", vector))
    }
}

impl<S: Stored + ?Sized> bb::Model for Keeper<S> {
    type Tensor = S;
    type Error = Failed;

    fn forward(&self, input: &S) -> Result<Box<S>, Failed> {
        self.same("forward", input)
    }

    fn load_parameters(&mut self, parameters: &S) -> Result<(), Failed> {
        self.shown = parameters.boxed();
        self.call("load_parameters", parameters)
    }

    fn backward(&mut self, gradient: &S) -> Result<Box<S>, Failed> {
        self.same("backward", gradient)
    }

    fn apply_delta(&mut self, delta: &S) -> Result<(), Failed> {
        self.call("apply_delta", delta)
    }

    fn compute_loss(&self, prediction: &S, target: &S) -> Result<Box<S>, Failed> {
        self.call("compute_loss", prediction)?;
        self.same("of", target)
    }

    fn params(&self) -> &S {
        &self.shown
    }
}

/// Metadata that only its own crate knows.
struct Round(u32);

impl FromMetadata for Round {
    fn from_metadata(bytes: Option<&[u8]>) -> Result<Self, String> {
        u32::from_metadata(bytes).map(Self)
    }
}

impl<S: Stored + ?Sized> bb::Aggregator for Keeper<S> {
    type Element = S;
    type Metadata = Round;
    type Error = Failed;

    fn contribute(&mut self, source: &str, element: &S, Round(round): Round) -> Result<(), Failed> {
        self.call(&format!("contribute {source} {round}"), element)
    }

    fn aggregate(&mut self) -> Result<Box<S>, Failed> {
        Ok(self.last())
    }
}

impl<S: Stored + ?Sized> bb::Codec for Keeper<S> {
    type In = S;
    type Out = [u16];
    type Error = Failed;

    fn train(&mut self, samples: &[&S]) -> Result<(), Failed> {
        samples.iter().try_for_each(|sample| self.call("codec.train", sample))
    }

    fn encode(&self, value: &S) -> Result<Box<[u16]>, Failed> {
        self.call("encode", value)?;
        Ok(Box::new([7, 65_535]))
    }

    fn decode(&self, value: &[u16]) -> Result<Box<S>, Failed> {
        if value == [7, 65_535] { Ok(self.last()) } else { Err(Failed(format!("{value:?}"))) }
    }
}

impl<S: Stored + ?Sized> bb::DataSource for Keeper<S> {
    type Sample = S;
    type Error = Failed;

    fn next_batch(&mut self) -> Result<Option<Box<S>>, Failed> {
        self.batches += 1;
        Ok((self.batches <= 2).then(|| self.last()))
    }

    fn reset(&mut self) -> Result<(), Failed> {
        self.batches = 0;
        self.log.lock().expect("no holder panics").push("reset".to_owned());
        Ok(())
    }

    fn on_data_loaded(&mut self, batch: &S) -> Result<(), Failed> {
        self.call("on_data_loaded", batch)
    }
}

/// Calls every method of the five contracts, and of a peer selector.
fn everything(g: &mut Graph) {
    let x = g.input("x");
    everything_of(g, x);
}

fn everything_of(g: &mut Graph, x: ValueRef) {
    let ids = g.input("ids");
    let index = g.index("index");
    let trained = index.train(&x);
    let added = index.add(&ids, &x);
    let (found, distances) = index.search(&x, 3);
    let removed = index.remove(&g.input("forgotten"));

    let model = g.model("model");
    let loaded = model.load_parameters(&x);
    let prediction = model.forward(&x);
    let gradient = model.backward(&prediction);
    let applied = model.apply_delta(&gradient);
    let loss = model.compute_loss(&prediction, &gradient);
    let params = model.params(Some(&applied));

    let aggregator = g.aggregator("aggregator");
    let contributed = aggregator.contribute(&g.input("from"), &params, Some(&g.input("round")));
    let aggregate = aggregator.aggregate(Some(&contributed));

    let codec = g.codec("codec");
    let fitted = codec.train(&aggregate);
    let encoded = codec.encode(&loss);
    let decoded = codec.decode(&encoded);

    let source = g.data_source("source");
    let noticed = source.on_data_loaded(&decoded);
    let reset = source.reset(Some(&noticed));
    let (first, second) = (source.next_batch(Some(&reset)), source.next_batch(None));

    let selector = g.peer_selector("selector");
    for (name, value) in [
        ("found", &found),
        ("distances", &distances),
        ("loss", &loss),
        ("aggregate", &aggregate),
        ("encoded", &encoded),
        ("first", &first),
        ("second", &second),
        ("selected", &selector.select(None, 2)),
        ("sampled", &selector.sample(None, 3)),
        ("view", &selector.current_view(None)),
    ] {
        g.output(name, value);
    }
    for (at, trigger) in [trained, added, removed, loaded, fitted].into_iter().enumerate() {
        g.output(&format!("trigger{at}"), trigger);
    }
}

fn table() -> PeerTable {
    let mut table = PeerTable::new(Preference::Score, 5);
    for (score, name) in ["a", "b", "c"].into_iter().enumerate() {
        table.observe(peer(name), f64::from(score as u8), 1).expect("there is capacity");
    }
    table
}

fn components<S: Stored + ?Sized>(datum: &Datum, log: &Log) -> Components {
    Components::new()
        .index("index", Keeper::<S>::new(datum, log))
        .model("model", Keeper::<S>::new(datum, log))
        .aggregator("aggregator", Keeper::<S>::new(datum, log))
        .codec("codec", Keeper::<S>::new(datum, log))
        .data_source("source", Keeper::<S>::new(datum, log))
        .peer_selector("selector", table())
}

/// The calls that the components recorded, and the outcome.
fn run<S: Stored + ?Sized>(
    datum: &Datum,
    body: fn(&mut Graph),
) -> Result<(Vec<String>, RunOutcome), Box<dyn std::error::Error>> {
    let log = Log::default();
    let components = components::<S>(datum, &log);
    let artifact = components.compiler().compile(Body("everything", body))?;
    let executor = Executor::new(&artifact, &components)?;
    let inputs = HashMap::from([
        ("x".to_owned(), datum.clone()),
        ("ids".to_owned(), bb::AnyTensor::from([u64::MAX]).into()),
        ("forgotten".to_owned(), bb::AnyTensor::from([8_u64, 0]).into()),
        ("from".to_owned(), Datum::Peer(peer("zo\u{eb}"))),
        ("round".to_owned(), Datum::Bytes(70_000_u32.to_le_bytes().to_vec().into())),
    ]);
    let outcome = executor.run(inputs, Verify::EveryValue)?;
    let calls = std::mem::take(&mut *log.lock().expect("no holder panics"));
    Ok((calls, outcome))
}

fn check_with<S: Stored + ?Sized>(datum: &Datum, body: fn(&mut Graph)) -> Outcome {
    let (calls, outcome) = run::<S>(datum, body)?;
    let shown = S::from_datum(datum).expect("a value of the storage type").to_datum(None).to_string();
    let expected = [
        "train",
        "add 18446744073709551615",
        "search 3",
        "remove 8",
        "remove 0",
        "load_parameters",
        "forward",
        "backward",
        "apply_delta",
        "compute_loss",
        "of",
        "contribute zo\u{eb} 70000",
        "codec.train",
        "encode",
        "on_data_loaded",
        "reset",
    ];
    let without_value = ["remove 8", "remove 0", "reset"];
    let expected = expected
        .map(|call| if without_value.contains(&call) { call.to_owned() } else { format!("{call} {shown}") });
    let mut calls_of_index = calls.clone();
    calls_of_index.sort();
    let mut sorted = expected.to_vec();
    sorted.sort();
    assert_eq!(calls_of_index, sorted, "{}", S::TYPE.id);
    for name in ["loss", "aggregate", "first", "second"] {
        assert_eq!(outcome.get(name).map(ToString::to_string), Some(shown.clone()), "{} {name}", S::TYPE.id);
    }
    let ids = [u64::MAX, u64::MAX - 1, u64::MAX - 2];
    assert_eq!(outcome.get("found"), Some(&bb::AnyTensor::from(ids).into()));
    assert_eq!(outcome.get("distances"), Some(&bb::AnyTensor::from([-0.5_f32; 3]).into()));
    assert_eq!(outcome.get("encoded"), Some(&bb::AnyTensor::from([7_u16, 65_535]).into()));
    assert_eq!(outcome.get("selected"), Some(&Datum::Peers(vec![peer("c"), peer("b")])));
    assert_eq!(outcome.get("sampled").and_then(Datum::as_peers).map(<[_]>::len), Some(3));
    let mut view = table().current_view()?;
    view.sort();
    let mut seen = outcome.get("view").and_then(Datum::as_peers).ok_or("no peers")?.to_vec();
    seen.sort();
    assert_eq!(seen, view);
    for at in 0..5 {
        assert_eq!(outcome.get(&format!("trigger{at}")), Some(&Datum::Trigger));
    }
    Ok(())
}

/// Sends a value to a peer, whose model computes on it, and receives the result.
fn journey(g: &mut Graph) {
    let x = g.input("x");
    journey_of(g, x);
}

fn journey_of(g: &mut Graph, x: ValueRef) {
    let (there, _) = g.send(x, g.input("peers"));
    let (received, sender) = g.receive(&there);
    let (back, _) = g.send(g.model("model").forward(&received), &sender);
    let (home, from) = g.receive(&back);
    let aggregator = g.aggregator("aggregator");
    let done = aggregator.contribute(&from, &home, Some(&g.input("round")));
    g.output("y", aggregator.aggregate(Some(&done)));
}

fn travel_with<S: Stored + ?Sized>(datum: &Datum, body: fn(&mut Graph)) -> Outcome {
    let log = Log::default();
    let all = components::<S>(datum, &log);
    let bindings = all.bindings().of_slots(|slot| ["model", "aggregator"].contains(&slot));
    let artifact = Compiler::new().with_bindings(bindings).compile(Body("journey", body))?;
    let own = Components::new().aggregator("aggregator", Keeper::<S>::new(datum, &log));
    let other = Components::new().model("model", Keeper::<S>::new(datum, &log));
    let pair = Pair::new(&artifact, "peers", &own, &other)?;
    let inputs = [
        ("x", datum.clone()),
        ("peers", Datum::Peers(vec![peer("there")])),
        ("round", Datum::Bytes(9_u32.to_le_bytes().to_vec().into())),
    ];
    let (outcome, _) = pair.run(inputs)?;
    assert_eq!(outcome.get("y"), Some(datum), "{}", S::TYPE.id);
    let calls = std::mem::take(&mut *log.lock().expect("no holder panics"));
    let shown = S::from_datum(datum).expect("a value of the storage type").to_datum(None);
    assert_eq!(calls, [format!("forward {shown}"), format!("contribute there 9 {shown}")]);
    Ok(())
}

/// Checks all methods, and the way to a peer and back, for a storage type.
fn check<S: Stored + ?Sized>(datum: impl Into<Datum>) -> Outcome {
    let datum = datum.into();
    let of_type = |error| format!("{}: {error}", std::any::type_name::<S>());
    check_with::<S>(&datum, everything).map_err(of_type)?;
    travel_with::<S>(&datum, journey).map_err(of_type)?;
    Ok(())
}

fn tensor<T: typeloom::run::values::DatumElement>(elements: &[T]) -> Datum {
    elements.to_datum(None)
}

#[test]
fn slices_of_all_thirteen_elements_are_stored_by_every_contract() -> Outcome {
    check::<[f32]>(tensor(&[-0.0_f32, f32::MAX]))?;
    check::<[f64]>(tensor(&[f64::MIN_POSITIVE, -1.5]))?;
    check::<[f16]>(tensor(&[f16::from_f32(0.1), f16::MAX]))?;
    check::<[bf16]>(tensor(&[bf16::from_f32(0.1), bf16::MIN]))?;
    check::<[u8]>(tensor(&[0_u8, 255]))?;
    check::<[u16]>(tensor(&[1_u16, 65_535]))?;
    check::<[u32]>(tensor(&[2_u32, u32::MAX]))?;
    check::<[u64]>(tensor(&[3_u64, u64::MAX]))?;
    check::<[i8]>(tensor(&[-128_i8, 127]))?;
    check::<[i16]>(tensor(&[i16::MIN, 4]))?;
    check::<[i32]>(tensor(&[i32::MIN, 5]))?;
    check::<[i64]>(tensor(&[i64::MIN, i64::MAX]))?;
    check::<[bool]>(tensor(&[true, false]))
}

#[test]
fn owners_of_slices_scalars_and_custom_types_are_stored_by_every_contract() -> Outcome {
    check::<Vec<i8>>(tensor(&[-3_i8, 3]))?;
    check::<Box<[bf16]>>(tensor(&[bf16::ONE]))?;
    check::<Arc<[bool]>>(tensor(&[false, true, true]))?;
    check::<[u64; 4]>(tensor(&[9_u64, 8, 7, 6]))?;
    check::<f32>(Datum::Scalar(Scalar::F32(0.25)))?;
    check::<f64>(Datum::Scalar(Scalar::F64(-1e300)))?;
    check::<f16>(Datum::Scalar(Scalar::F16(f16::from_f32(3.5))))?;
    check::<u8>(Datum::Scalar(Scalar::U8(200)))?;
    check::<i32>(Datum::Scalar(Scalar::I32(i32::MIN)))?;
    check::<[Nibbles]>(tensor(&[Nibbles(0xA7), Nibbles(0)]))?;
    check::<Vec<Nibbles>>(tensor(&[Nibbles(255)]))?;
    check::<Sketch>(Sketch("a sketch \u{e9}".to_owned()).to_datum(None))
}

/// No other port declares a type: those of one slot are related, and so are connected ones.
#[test]
fn any_tensor_is_stored_by_every_contract_with_one_declared_input() -> Outcome {
    let shorts = bb::AnyTensor::from([-7_i16, 7]).into();
    let declared = |g: &mut Graph| {
        let x = g.input("x").of("int16[2]");
        everything_of(g, x);
    };
    check_with::<bb::AnyTensor>(&shorts, declared)?;
    let strings = bb::AnyTensor::from_strings(&[2], &["a", "\u{e9}"])?.into();
    let declared = |g: &mut Graph| {
        let x = g.input("x").of("string[N]");
        everything_of(g, x);
    };
    check_with::<bb::AnyTensor>(&strings, declared)?;
    let travelling = |g: &mut Graph| {
        let x = g.input("x").of("string[N]");
        journey_of(g, x);
    };
    travel_with::<bb::AnyTensor>(&strings, travelling)
}
