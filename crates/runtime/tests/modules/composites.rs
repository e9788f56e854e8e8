//! Random modules with bundles, sends and casts on two and three peers: every value that arrives is of the type of its
//! stamp.
//!
//! The generator computes the type of each value by itself, as [`Ty`]. A run compares the stamps with these types, and
//! the values with them too; it verifies inputs only.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use typeloom_compiler::artifact::Artifact;
use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::error::BuildError;
use typeloom_compiler::unit::Coercion;
use typeloom_contracts::datum::{Datum, Scalar};
use typeloom_contracts::peer_selector::PeerId;
use typeloom_module::graph::Graph;
use typeloom_module::graph::value::ValueRef;
use typeloom_module::module::Module;
use typeloom_runtime::components::Components;
use typeloom_runtime::executor::part::Part;
use typeloom_runtime::options::Verify;
use typeloom_solver::value_type::ValueType;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_wire::clock::Clock;
use typeloom_wire::endpoint::{Endpoint, EndpointConfig, EndpointParts};
use typeloom_wire::envelope::RunId;
use typeloom_wire::journal::NoJournal;
use typeloom_wire::memory::LocalNetwork;

use crate::support::Outcome;

/// Number of modules of a plain test run; `TYPELOOM_SEED` runs one seed.
const MODULES: u64 = 40;

/// The value of the symbol `N` in all runs.
const N: usize = 3;

const LONG: Duration = Duration::from_secs(20);
const NAMES: [&str; 4] = ["a", "b", "long name", "\u{e9}"];
const PEERS: [&str; 2] = ["first", "second"];

/// Deterministic random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % limit.max(1) as u64).unwrap_or(0)
    }
}

/// The type of a value, independently of the solver.
#[derive(Clone, PartialEq)]
enum Ty {
    /// An element type, and whether the shape is `[N]` instead of `[2]`.
    Tensor(Dtype, bool),
    Scalar,
    Peer,
    Composite(BTreeMap<&'static str, Ty>),
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor(dtype, is_symbolic) => {
                write!(f, "{}[{}]", dtype.onnx_name(), if *is_symbolic { "N" } else { "2" })
            }
            Self::Scalar => f.write_str("scalar.i32"),
            Self::Peer => f.write_str("peer_id"),
            Self::Composite(children) => {
                let name = |name: &str| match name.bytes().all(|byte| byte.is_ascii_alphabetic()) {
                    true => name.to_owned(),
                    false => format!("\"{name}\""),
                };
                let child = |(child, ty): (&&str, &Self)| format!("{}: {ty}", name(child));
                let children: Vec<String> = children.iter().map(child).collect();
                write!(f, "composite{{{}}}", children.join(", "))
            }
        }
    }
}

impl Ty {
    /// Whether a value is of the type.
    fn contains(&self, value: &Datum) -> bool {
        match (self, value) {
            (Self::Tensor(dtype, is_symbolic), Datum::Tensor(tensor)) => {
                tensor.dtype() == *dtype && tensor.shape() == [if *is_symbolic { N } else { 2 }]
            }
            (Self::Scalar, Datum::Scalar(Scalar::I32(_))) | (Self::Peer, Datum::Peer(_)) => true,
            (Self::Composite(children), Datum::Composite(values)) => {
                let fits = |(name, value): &(String, Datum)| {
                    children.get(name.as_str()).is_some_and(|child| child.contains(value))
                };
                children.len() == values.len() && values.iter().all(fits)
            }
            _ => false,
        }
    }

    /// A type of the other width, to which a value can be cast.
    fn cast(&self) -> Option<Self> {
        match self {
            Self::Tensor(Dtype::F32, n) => Some(Self::Tensor(Dtype::F64, *n)),
            Self::Tensor(Dtype::F64, n) => Some(Self::Tensor(Dtype::F32, *n)),
            Self::Tensor(Dtype::I64, n) => Some(Self::Tensor(Dtype::F64, *n)),
            Self::Tensor(..) | Self::Scalar | Self::Peer | Self::Composite(_) => None,
        }
    }
}

type Typed = (ValueRef, Ty);

/// A random module. The first classes of peers receive bundles from home and answer.
struct Generated {
    seed: u64,
    classes: usize,
    /// Declares an unbundled tensor as another type than that of the child.
    is_wrong: bool,
    types: RefCell<Vec<(String, Ty)>>,
    /// The name of the child that is declared wrongly.
    wrong: RefCell<Option<&'static str>>,
}

impl Generated {
    fn new(seed: u64, is_wrong: bool) -> Self {
        let classes = 1 + usize::try_from(seed % 2).unwrap_or(0);
        Self { seed, classes, is_wrong, types: RefCell::default(), wrong: RefCell::default() }
    }

    /// Random computations on the values of one peer.
    fn steps(&self, g: &Graph, random: &mut Random, values: &mut Vec<Typed>) {
        for _ in 0..2 + random.below(4) {
            let (value, ty) = values[random.below(values.len())].clone();
            match (random.below(4), ty) {
                (0 | 1, ty) => {
                    let (other, of) = values[random.below(values.len())].clone();
                    let first = random.below(NAMES.len());
                    let second = (first + 1 + random.below(NAMES.len() - 1)) % NAMES.len();
                    let children = [(NAMES[first], &value), (NAMES[second], &other)];
                    let bundle = g.bundle(&children);
                    let ty = BTreeMap::from([(NAMES[first], ty), (NAMES[second], of)]);
                    values.push((bundle, Ty::Composite(ty)));
                }
                (2, ty @ Ty::Tensor(..)) => values.push((value.neg(), ty)),
                (_, Ty::Composite(children)) => self.unbundle(g, random, &value, &children, values),
                (_, ty) => {
                    let Some(cast) = ty.cast().filter(|_| !self.is_wrong) else { continue };
                    let same = g.node("", "Identity", &[&value], Vec::new(), 1).remove(0);
                    values.push((same.of(cast.to_string().as_str()), cast));
                }
            }
        }
    }

    /// Unbundles some of the children. A child can be declared, and cast by the declaration.
    fn unbundle(
        &self,
        g: &Graph,
        random: &mut Random,
        value: &ValueRef,
        children: &BTreeMap<&'static str, Ty>,
        values: &mut Vec<Typed>,
    ) {
        let mut names: Vec<&str> = children.keys().copied().filter(|_| random.below(2) == 0).collect();
        if names.is_empty() {
            names.extend(children.keys().next());
        }
        names.reverse();
        for (name, part) in names.iter().zip(g.unbundle(value, &names)) {
            let ty = &children[name];
            let other = ty.cast().filter(|_| random.below(3) == 0);
            match other {
                Some(other) if !self.is_wrong => values.push((part.of(other.to_string().as_str()), other)),
                Some(other) if self.wrong.borrow().is_none() => {
                    *self.wrong.borrow_mut() = children.keys().copied().find(|known| known == name);
                    values.push((part.of(other.to_string().as_str()), other));
                }
                _ if random.below(2) == 0 => values.push((part.of(ty.to_string().as_str()), ty.clone())),
                _ => values.push((part, ty.clone())),
            }
        }
    }

    /// Sends a bundle of two values; returns the value at the receivers.
    fn send(&self, g: &Graph, random: &mut Random, values: &[Typed], peers: &ValueRef) -> Typed {
        let (x, of_x) = &values[random.below(values.len())];
        let (y, of_y) = &values[random.below(values.len())];
        let ty = BTreeMap::from([("a", of_x.clone()), ("long name", of_y.clone())]);
        let (there, _) = g.send(&g.bundle(&[("long name", y), ("a", x)]), peers);
        (there, Ty::Composite(ty))
    }

    fn outputs(&self, g: &Graph, values: &[Typed]) {
        for (value, ty) in values {
            let name = format!("out{}", self.types.borrow().len());
            g.output(&name, value);
            self.types.borrow_mut().push((name, ty.clone()));
        }
    }
}

impl Module for Generated {
    fn name(&self) -> &str {
        "generated"
    }

    fn body(&self, g: &mut Graph) {
        let mut random = Random(self.seed);
        self.types.borrow_mut().clear();
        *self.wrong.borrow_mut() = None;
        let input = |name: &str, ty: Ty| (g.input(name).of(ty.to_string().as_str()), ty);
        let mut home = vec![
            input("f", Ty::Tensor(Dtype::F32, true)),
            input("i", Ty::Tensor(Dtype::I64, false)),
            input("s", Ty::Scalar),
            input("p", Ty::Peer),
            input("c", Ty::Composite([("a", Ty::Scalar), ("b", Ty::Tensor(Dtype::F64, true))].into())),
        ];
        // All inputs are read.
        let (f, i, s, p, c) = (&home[0], &home[1], &home[2], &home[3], &home[4]);
        let small = g.bundle(&[("b", &s.0), ("a", &p.0)]);
        let of_small = Ty::Composite([("a", p.1.clone()), ("b", s.1.clone())].into());
        let all = [("a", f), ("b", i), ("long name", c)];
        let children = all.map(|(name, (value, _))| (name, value));
        let all = (g.bundle(&children), Ty::Composite(all.map(|(name, (_, ty))| (name, ty.clone())).into()));
        home.extend([(small, of_small), all]);
        self.steps(g, &mut random, &mut home);
        for class in &PEERS[..self.classes] {
            let peers = g.input(class).of("peer_id_vec");
            let (there, ty) = self.send(g, &mut random, &home, &peers);
            let (payload, sender) = g.receive(&there);
            let mut away = vec![(payload, ty)];
            self.steps(g, &mut random, &mut away);
            let (back, ty) = self.send(g, &mut random, &away, &sender);
            let (answer, _) = g.receive(&back);
            self.outputs(g, &away[1..]);
            home.push((answer, ty));
            self.steps(g, &mut random, &mut home);
        }
        self.outputs(g, &home[5..]);
    }
}

struct Wall(Instant);

impl Clock for Wall {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

fn peer(name: &str) -> PeerId {
    PeerId(name.as_bytes().to_vec())
}

fn joined(network: &LocalNetwork, artifact: &Artifact, name: &str, part: &str) -> (Part, Endpoint) {
    let part = Part::new(artifact, part, &Components::new()).expect("the part links");
    let parts = EndpointParts {
        transport: Arc::new(network.join(peer(name))),
        clock: Arc::new(Wall(Instant::now())),
        journal: Box::new(NoJournal),
        ports: part.ports(),
        peers: ["home", "first", "second"].map(peer).to_vec(),
    };
    let endpoint =
        Endpoint::open(parts, EndpointConfig::new(1)).expect("there is no journal that could fail");
    (part, endpoint)
}

fn inputs(module: &Generated) -> HashMap<String, Datum> {
    let tensor = |tensor: AnyTensor| Datum::Tensor(tensor);
    let part = Datum::Composite(vec![
        ("b".into(), tensor(AnyTensor::from([1.0_f64; N]))),
        ("a".into(), Datum::Scalar(Scalar::I32(4))),
    ]);
    let mut inputs = HashMap::from([
        ("f".to_owned(), tensor(AnyTensor::from([1.5_f32; N]))),
        ("i".to_owned(), tensor(AnyTensor::from([7_i64, 8]))),
        ("s".to_owned(), Datum::Scalar(Scalar::I32(-1))),
        ("p".to_owned(), Datum::Peer(peer("someone"))),
        ("c".to_owned(), part),
    ]);
    for class in &PEERS[..module.classes] {
        inputs.insert((*class).to_owned(), Datum::Peers(vec![peer(class)]));
    }
    inputs
}

/// Runs a module on its peers; returns all outputs of all peers.
fn run(module: &Generated, artifact: &Artifact) -> Vec<(String, Datum)> {
    let network = LocalNetwork::new();
    let (home, endpoint) = joined(&network, artifact, "home", "self");
    let away: Vec<_> =
        PEERS[..module.classes].iter().map(|class| joined(&network, artifact, class, class)).collect();
    std::thread::scope(|scope| {
        let serve = |(part, endpoint)| {
            let serve = move || Part::serve(part, endpoint, LONG, Verify::Inputs);
            scope.spawn(serve)
        };
        let serving: Vec<_> = away.iter().map(|(part, endpoint)| serve((part, endpoint))).collect();
        let outcome = home.run(&endpoint, RunId(1), inputs(module), LONG, Verify::Inputs);
        let mut outputs = match outcome {
            Ok(outcome) => outcome.outputs,
            Err(error) => panic!("seed {}: {error}", module.seed),
        };
        for served in serving {
            let served = served.join().expect("it does not panic");
            let served = served.unwrap_or_else(|error| panic!("seed {}: {error}", module.seed));
            outputs.extend(served.expect("a value came").outputs);
        }
        outputs
    })
}

/// The stamps of all values of an artifact.
fn stamps(artifact: &Artifact) -> HashMap<String, String> {
    let graph = artifact.model.graph.as_ref().expect("it has a graph");
    let infos = graph.input.iter().chain(&graph.output).chain(&graph.value_info);
    infos
        .filter_map(|info| {
            Some((info.name().to_owned(), ValueType::from_message(info.r#type.as_ref()?).to_string()))
        })
        .collect()
}

fn seeds() -> std::ops::Range<u64> {
    match std::env::var("TYPELOOM_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..MODULES,
    }
}

#[test]
fn every_value_arrives_with_the_type_of_its_stamp() {
    let mut checked = 0;
    for seed in seeds() {
        let module = Generated::new(seed, false);
        let compiled = Compiler::new().with_coercion(Coercion::AsDeclared).compile(&module);
        let artifact = compiled.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let bytes = artifact.to_bytes().expect("it has bytes");
        let artifact =
            Artifact::load(&bytes, Components::new().bindings()).expect("the bytes are the artifact");
        let stamps = stamps(&artifact);
        let types: HashMap<String, Ty> = module.types.borrow().iter().cloned().collect();
        let outputs = run(&module, &artifact);
        assert_eq!(outputs.len(), types.len(), "seed {seed}");
        for (name, value) in outputs {
            let ty = &types[&name];
            assert_eq!(stamps[&name], ty.to_string(), "seed {seed}: the stamp of {name}");
            assert!(
                ty.contains(&value),
                "seed {seed}: {name} is stamped {ty}, and {} came",
                value.describe()
            );
            checked += 1;
        }
    }
    println!("{checked} values of seeds {:?}", seeds());
    assert!(checked > 0);
}

#[test]
fn a_wrong_declaration_of_a_child_does_not_compile() {
    let mut wrong = 0;
    for seed in seeds() {
        let module = Generated::new(seed, true);
        let compiled = Compiler::new().compile(&module);
        let child = *module.wrong.borrow();
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
    println!("{wrong} wrong declarations of seeds {:?}", seeds());
    assert!(wrong > 0 || seeds().count() == 1);
}

#[test]
fn an_argument_with_another_child_is_refused_with_its_name() -> Outcome {
    let module = Generated::new(0, false);
    let artifact = Compiler::new().with_coercion(Coercion::AsDeclared).compile(&module)?;
    let network = LocalNetwork::new();
    let (home, endpoint) = joined(&network, &artifact, "home", "self");
    let mut inputs = inputs(&module);
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
