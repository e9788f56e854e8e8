//! Artifacts with one altered stamp, name, type or digest: each is rejected, or runs as it states.
//!
//! The reference is [`interpret`], which calls components directly, by the stamps of the altered file.
//! `TYPELOOM_SEED=N` chooses the alterations.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use typeloom_compiler::artifact::Artifact;
use typeloom_compiler::compiler::Compiler;
use typeloom_contracts::backend::Backend;
use typeloom_contracts::datum::Datum;
use typeloom_contracts::index::Index;
use typeloom_contracts::model::Model;
use typeloom_module::graph::Graph;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_module::ir::metadata;
use typeloom_module::module::imports::Imported;
use typeloom_module::names;
use typeloom_onnx::messages::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, StringStringEntryProto, Text,
    TypeProto, ValueInfoProto, tensor_shape_proto, type_proto,
};
use typeloom_onnx::prost::Message as _;
use typeloom_runtime::backend::Cpu;
use typeloom_runtime::components::Components;
use typeloom_runtime::executor::Executor;
use typeloom_runtime::executor::part::Part;
use typeloom_runtime::options::Verify;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::lattice::Lattice;
use typeloom_wire::envelope::RunId;
use typeloom_wire::memory::LocalNetwork;

use crate::peers::{endpoint, peers};
use crate::roles::Flat;
use crate::support::{Body, Outcome, TestError, floats};

/// Alterations of each artifact.
const EACH: usize = 2_100;

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

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// Another text: one of `known`, or with one changed letter.
    fn other(&mut self, text: &str, known: &[String]) -> String {
        if self.below(2) == 0 && !known.is_empty() {
            let found = self.pick(known);
            if found != text {
                return found.clone();
            }
        }
        let mut letters: Vec<char> = text.chars().collect();
        let at = self.below(letters.len() + 1);
        let letter = char::from(b'a' + u8::try_from(self.below(26)).unwrap_or(0));
        match letters.get_mut(at) {
            Some(found) if *found != letter => *found = letter,
            _ => letters.push('q'),
        }
        letters.into_iter().collect()
    }
}

/// A model with a different result for every method.
struct Net(Vec<f32>);

impl Model for Net {
    type Tensor = [f32];
    type Error = TestError;

    fn forward(&self, input: &[f32]) -> Result<Box<[f32]>, TestError> {
        Ok(input.iter().zip(&self.0).map(|(x, weight)| x * weight).collect())
    }

    fn load_parameters(&mut self, parameters: &[f32]) -> Result<(), TestError> {
        self.0 = parameters.to_vec();
        Ok(())
    }

    fn backward(&mut self, gradient: &[f32]) -> Result<Box<[f32]>, TestError> {
        self.0.iter_mut().for_each(|weight| *weight += 0.5);
        Ok(gradient.iter().map(|x| x - 1.0).collect())
    }

    fn apply_delta(&mut self, delta: &[f32]) -> Result<(), TestError> {
        self.0.iter_mut().zip(delta).for_each(|(weight, delta)| *weight += delta);
        Ok(())
    }

    fn compute_loss(&self, prediction: &[f32], target: &[f32]) -> Result<Box<[f32]>, TestError> {
        Ok(prediction.iter().zip(target).map(|(a, b)| a - b).collect())
    }

    fn params(&self) -> &[f32] {
        &self.0
    }
}

fn backend(g: &mut Graph) {
    let x = g.input("x").of("float[2]");
    let y = g.input("y").of("float[2]");
    let compute = g.backend("compute");
    let (sum, product) = (compute.add(&x, &y), compute.mul(&x, &y));
    let last = compute.sub(&compute.neg(&sum), &compute.exp(&product));
    g.output("sum", &sum);
    g.output("last", &last);
}

fn model(g: &mut Graph) {
    let x = g.input("x").of("float[2]");
    let net = g.model("net");
    let worked = net.forward(&x);
    let back = net.backward(&worked);
    let done = net.apply_delta(&back);
    g.output("done", &done);
    g.output("worked", &net.forward(&back));
    g.output("loss", &net.compute_loss(&worked, &back));
    g.output("weights", &net.params(Some(&done)));
}

fn index(g: &mut Graph) {
    let (near, far) = (g.index("near"), g.index("far"));
    let (ids, vectors) = (g.input("ids").of("uint64[2]"), g.input("vectors").of("float[2, 2]"));
    g.output("trained", &near.train(&vectors));
    g.output("added", &near.add(&ids, &vectors));
    g.output("kept", &far.add(&ids, &vectors));
    g.output("removed", &far.remove(&ids));
    let (found, distances) = near.search(&g.input("x").of("float[2]"), 2);
    g.output("found", &found);
    g.output("distances", &distances);
}

fn sends(g: &mut Graph) {
    let x = g.input("x").of("float[2]");
    let (there, _) = g.send(&x, &g.input("workers").of("peer_id_vec"));
    let (payload, sender) = g.receive(&there);
    let (back, _) = g.send(&g.model("net").forward(&payload), &sender);
    let (answer, _) = g.receive(&back);
    g.output("y", &g.model("own").forward(&answer));
}

fn doubled(g: &mut Graph) {
    let x = g.input("x").of("float[2]");
    g.output("doubled", &g.backend("compute").add(&x, &x));
}

fn negated(g: &mut Graph) {
    let x = g.input("x").of("float[2]");
    g.output("negated", &g.backend("compute").neg(&x));
}

fn imported(name: &'static str, body: fn(&mut Graph)) -> (Artifact, Executor) {
    let components = Components::new().backend("compute", Cpu);
    let artifact = Compiler::new().with_bindings(components.bindings().clone()).compile(Body(name, body));
    let artifact = artifact.expect("the module compiles");
    let executor = Executor::new(&artifact, &components).expect("its components are bound");
    (artifact, executor)
}

fn imports(g: &mut Graph) {
    let x = g.input("x").of("float[2]");
    let call = |name, body, x| {
        let exports = Imported::new(&imported(name, body).0.interface).expect("it has an interface");
        g.call_import(&exports, name, &[x]).remove(0)
    };
    let twice = call("twice", doubled, &x);
    let minus = call("minus", negated, &twice);
    g.output("minus", &g.model("net").forward(&minus));
}

/// A program with its components and inputs.
struct Base {
    name: &'static str,
    body: fn(&mut Graph),
    inputs: Vec<(&'static str, Datum)>,
}

fn bases() -> Vec<Base> {
    let x = || ("x", floats(&[2], &[2.0, 3.0]));
    let ids: Datum = AnyTensor::from([7_u64, 8]).into();
    let vectors = floats(&[2, 2], &[0.0, 0.0, 3.0, 4.0]);
    vec![
        Base { name: "backend", body: backend, inputs: vec![x(), ("y", floats(&[2], &[0.5, -1.0]))] },
        Base { name: "model", body: model, inputs: vec![x()] },
        Base { name: "index", body: index, inputs: vec![x(), ("ids", ids), ("vectors", vectors)] },
        Base { name: "sends", body: sends, inputs: vec![x(), ("workers", peers(&["a"]))] },
        Base { name: "imports", body: imports, inputs: vec![x()] },
    ]
}

fn net() -> Net {
    Net(vec![2.0, 3.0])
}

/// Fresh components for a program.
fn components(name: &str, twice: &Executor, minus: &Executor) -> Components {
    let all = Components::new();
    match name {
        "backend" => all.backend("compute", Cpu),
        "index" => all.index("near", Flat::default()).index("far", Flat::default()),
        "sends" => all.model("net", net()).model("own", net()),
        _ => all.model("net", net()).function("twice", twice.clone()).function("minus", minus.clone()),
    }
}

type Values = Result<Vec<Datum>, (String, usize)>;

/// The message of an error and the number of its diagnostics.
macro_rules! rejected {
    ($error:expr) => {{
        let error = $error;
        (error.to_string(), error.diagnostics().len())
    }};
}

/// Loads, links and runs a file.
fn run(base: &Base, file: &[u8], components: &Components) -> Values {
    let artifact = Artifact::load(file, components.bindings()).map_err(|error| rejected!(error))?;
    if base.name == "sends" {
        return run_parts(base, &artifact, components);
    }
    let executor = Executor::new(&artifact, components).map_err(|error| rejected!(error))?;
    let names = executor.inputs().iter().map(|port| port.name.clone());
    // The inputs are given by position: the name of an input can be altered.
    let order: Vec<&str> = base_inputs(base);
    let given = |at: usize| base.inputs.iter().find(|(name, _)| *name == order[at]).map(|it| it.1.clone());
    let inputs = names.enumerate().filter_map(|(at, name)| Some((name, given(at)?))).collect();
    let outcome = executor.run(inputs, Verify::Inputs).map_err(|error| rejected!(error))?;
    Ok(outcome.outputs.into_iter().map(|(_, value)| value).collect())
}

/// The inputs of a program in the order of their declaration.
fn base_inputs(base: &Base) -> Vec<&'static str> {
    match base.name {
        "backend" => vec!["x", "y"],
        "index" => vec!["ids", "vectors", "x"],
        _ => vec!["x"],
    }
}

fn run_parts(base: &Base, artifact: &Artifact, components: &Components) -> Values {
    let part = |name: &str| Part::new(artifact, name, components).map_err(|error| rejected!(error));
    let (home, worker) = (part("self")?, part("workers")?);
    let network = LocalNetwork::new();
    let (at_home, at_a) = (endpoint(&network, "home", &home), endpoint(&network, "a", &worker));
    let soon = Duration::from_secs(2);
    std::thread::scope(|scope| {
        scope.spawn(|| worker.serve(&at_a, soon, Verify::Inputs));
        let inputs: HashMap<String, Datum> =
            base.inputs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let outcome = home.run(&at_home, RunId::default(), inputs, soon, Verify::Inputs);
        let outcome = outcome.map_err(|error| rejected!(error))?;
        let one = outcome.outputs.into_iter().map(|(_, value)| value);
        Ok(one
            .chain(outcome.each.into_iter().flat_map(|(_, each)| each.into_iter().map(|it| it.1)))
            .collect())
    })
}

/// Runs the main graph of a file by its stamps, without the compiler and the runtime.
fn interpret(base: &Base, graph: &GraphProto) -> Option<Vec<Datum>> {
    let order = base_inputs(base);
    let mut values: BTreeMap<String, Datum> = BTreeMap::new();
    for (info, name) in graph.input.iter().zip(order) {
        let given = base.inputs.iter().find(|(input, _)| *input == name)?;
        values.insert(info.name().to_owned(), given.1.clone());
    }
    let mut net = net();
    let mut indices = BTreeMap::from([("near", Flat::default()), ("far", Flat::default())]);
    for node in &graph.node {
        let given: Vec<Datum> =
            node.input.iter().map(|name| values.get(name).cloned()).collect::<Option<_>>()?;
        let results = match metadata(node, names::DISPATCH).and_then(|stamp| stamp.rsplit_once('.')) {
            Some(("compute", method)) => vec![computed(method, node, &given)?],
            Some(("net", method)) => vec![modelled(&mut net, method, &given)?],
            Some((slot, method)) => indexed(indices.get_mut(slot)?, method, &given)?,
            None if node.op_type() == "Call" => {
                let function = node.find_attribute("function")?.s.as_deref()?;
                let x = slice(&given[0])?;
                let sign = if function == b"twice" { 2.0 } else { -1.0 };
                vec![floats(&[2], &x.iter().map(|x| x * sign).collect::<Vec<_>>())]
            }
            None => given,
        };
        values.extend(node.output.iter().cloned().zip(results));
    }
    graph.output.iter().map(|info| values.get(info.name()).cloned()).collect()
}

fn slice(datum: &Datum) -> Option<&[f32]> {
    datum.as_tensor()?.as_slice().ok()
}

fn computed(method: &str, node: &NodeProto, given: &[Datum]) -> Option<Datum> {
    let method = match (method, node.op_type()) {
        ("execute", op) => op.to_lowercase(),
        (method, _) => method.to_owned(),
    };
    let tensor = |at: usize| given.get(at).and_then(Datum::as_tensor);
    let (a, b) = (tensor(0)?, tensor(1).or_else(|| tensor(0))?);
    let result = match &*method {
        "add" => Cpu.add(a, b),
        "sub" => Cpu.sub(a, b),
        "mul" => Cpu.mul(a, b),
        "div" => Cpu.div(a, b),
        "pow" => Cpu.pow(a, b),
        "neg" => Cpu.neg(a),
        "abs" => Cpu.abs(a),
        "sqrt" => Cpu.sqrt(a),
        "exp" => Cpu.exp(a),
        "log" => Cpu.log(a),
        // Of a vector of two elements.
        "identity" | "squeeze" | "transpose" | "split" | "concat" => Cpu.identity(a),
        _ => return None,
    };
    result.ok().map(Datum::from)
}

fn modelled(net: &mut Net, method: &str, given: &[Datum]) -> Option<Datum> {
    let vector = |elements: &[f32]| floats(&[elements.len()], elements);
    let input = |at: usize| given.get(at).and_then(slice);
    let result = match method {
        "forward" => vector(&net.forward(input(0)?).ok()?),
        "backward" => vector(&net.backward(input(0)?).ok()?),
        "compute_loss" => vector(&net.compute_loss(input(0)?, input(1)?).ok()?),
        "params" => vector(net.params()),
        "load_parameters" => net.load_parameters(input(0)?).map(|()| Datum::Trigger).ok()?,
        "apply_delta" => net.apply_delta(input(0)?).map(|()| Datum::Trigger).ok()?,
        _ => return None,
    };
    Some(result)
}

fn indexed(index: &mut Flat, method: &str, given: &[Datum]) -> Option<Vec<Datum>> {
    let ids = || given.first()?.as_tensor()?.as_slice::<u64>().ok();
    match method {
        "train" => index.train(&slice(&given[0])?.chunks(2).collect::<Vec<_>>()).ok()?,
        "add" => {
            let vectors = given[1].as_tensor()?;
            // One vector per entry of the first axis.
            let width = vectors.len() / vectors.shape().first()?;
            for (id, vector) in ids()?.iter().zip(slice(&given[1])?.chunks(width)) {
                index.add(*id, vector).ok()?;
            }
        }
        "remove" => ids()?.iter().try_for_each(|id| index.remove(*id).map(|_| ())).ok()?,
        "search" => {
            let (ids, distances): (Vec<u64>, Vec<f32>) =
                index.search(slice(&given[0])?, 2).ok()?.into_iter().unzip();
            return Some(vec![AnyTensor::from(&*ids).into(), floats(&[distances.len()], &distances)]);
        }
        _ => return None,
    }
    Some(vec![Datum::Trigger])
}

/// A part of a file that can be altered.
enum Site<'m> {
    Text(&'m mut String),
    Option(&'m mut Text),
    Entry(&'m mut StringStringEntryProto),
    Type(&'m mut TypeProto),
}

fn each_type<'m>(infos: impl Iterator<Item = &'m mut ValueInfoProto>, sites: &mut Vec<Site<'m>>) {
    for info in infos {
        sites.push(Site::Option(&mut info.name));
        sites.extend(info.r#type.as_mut().map(Site::Type));
        sites.extend(info.metadata_props.iter_mut().map(Site::Entry));
    }
}

fn each_attribute<'m>(attributes: &'m mut [AttributeProto], sites: &mut Vec<Site<'m>>) {
    for attribute in attributes {
        sites.push(Site::Option(&mut attribute.name));
        sites.extend(attribute.type_protos.iter_mut().map(Site::Type));
    }
}

fn each_node<'m>(nodes: &'m mut [NodeProto], sites: &mut Vec<Site<'m>>) {
    for node in nodes {
        sites.extend(node.input.iter_mut().chain(&mut node.output).map(Site::Text));
        sites.push(Site::Option(&mut node.op_type));
        sites.push(Site::Option(&mut node.domain));
        sites.extend(node.metadata_props.iter_mut().map(Site::Entry));
        each_attribute(&mut node.attribute, sites);
    }
}

fn sites(model: &mut ModelProto) -> Vec<Site<'_>> {
    let ModelProto { graph, functions, metadata_props, opset_import, .. } = model;
    let mut sites = Vec::new();
    let GraphProto { name, input, output, value_info, node, .. } = graph.get_or_insert_default();
    sites.push(Site::Option(name));
    each_type(input.iter_mut().chain(output).chain(value_info), &mut sites);
    each_node(node, &mut sites);
    for function in functions {
        let FunctionProto { name, domain, input, output, value_info, node, metadata_props, .. } = function;
        sites.extend([Site::Option(name), Site::Option(domain)]);
        sites.extend(input.iter_mut().chain(output).map(Site::Text));
        each_type(value_info.iter_mut(), &mut sites);
        each_node(node, &mut sites);
        sites.extend(metadata_props.iter_mut().map(Site::Entry));
    }
    sites.extend(opset_import.iter_mut().map(|import| Site::Option(&mut import.domain)));
    sites.extend(metadata_props.iter_mut().map(Site::Entry));
    sites
}

/// Texts that replace others: names and stamps of the file, and the methods of contracts.
fn texts(model: &mut ModelProto) -> Vec<String> {
    let mut texts: Vec<String> = sites(model)
        .iter()
        .filter_map(|site| match site {
            Site::Text(text) => Some((*text).clone()),
            Site::Option(text) => text.as_deref().map(str::to_owned),
            Site::Entry(entry) if entry.value().len() < 40 => Some(entry.value().to_owned()),
            Site::Entry(_) | Site::Type(_) => None,
        })
        .collect();
    const METHODS: [&str; 24] = [
        "forward",
        "backward",
        "params",
        "load_parameters",
        "apply_delta",
        "compute_loss",
        "add",
        "search",
        "remove",
        "train",
        "sub",
        "mul",
        "neg",
        "exp",
        "abs",
        "pow",
        "execute",
        "identity",
        "matmul",
        "cast",
        "reduce_sum",
        "squeeze",
        "transpose",
        "split",
    ];
    for slot in ["compute", "net", "own", "near", "far"] {
        texts.extend(METHODS.iter().map(|method| format!("{slot}.{method}")));
    }
    texts.extend(["Backend", "Index", "Model", "Codec", "tensor", "tensor.f64"].map(str::to_owned));
    texts.sort();
    texts.dedup();
    texts
}

fn alter_type(ty: &mut TypeProto, random: &mut Random) {
    let nodes: Vec<&str> = Lattice::get().nodes().map(|node| node.denotation).collect();
    let tensor = match &mut ty.value {
        Some(type_proto::Value::TensorType(tensor)) if random.below(3) > 0 => tensor,
        _ => {
            ty.denotation = (*random.pick(&nodes)).into();
            return;
        }
    };
    let dims = tensor.shape.as_mut().map(|shape| &mut shape.dim).filter(|dims| !dims.is_empty());
    match dims {
        Some(dims) if random.below(2) == 0 => {
            let at = random.below(dims.len());
            dims[at].value = Some(match random.below(2) {
                0 => tensor_shape_proto::dimension::Value::DimValue(3),
                _ => tensor_shape_proto::dimension::Value::DimParam("K".into()),
            });
        }
        _ => tensor.elem_type = Some(i32::try_from(1 + random.below(16)).unwrap_or(1)),
    }
}

/// Alters one part of a file; returns its new bytes and a description.
fn alter(file: &[u8], random: &mut Random) -> (Vec<u8>, String) {
    let mut model = ModelProto::decode(file).expect("the file is a model");
    let known = texts(&mut model);
    let mut sites = sites(&mut model);
    let at = random.below(sites.len());
    let altered = match &mut sites[at] {
        Site::Text(text) => {
            let before = text.clone();
            **text = random.other(&before, &known);
            format!("name {before} to {text}")
        }
        Site::Option(text) => {
            let before = text.as_str().to_owned();
            **text = random.other(&before, &known).into();
            format!("name {before} to {text:?}")
        }
        Site::Entry(entry) if entry.key() == names::SOURCE_LOCATION => "nothing".to_owned(),
        Site::Entry(entry) if entry.key() == names::INTERFACE => {
            let mut digits: Vec<char> = entry.value().chars().collect();
            let at = random.below(digits.len());
            let digit = char::from_digit(u32::try_from(random.below(16)).unwrap_or(0), 16).unwrap_or('0');
            digits[at] = digit;
            entry.value = digits.into_iter().collect::<String>().as_str().into();
            format!("digit {at} of the interface to {digit}")
        }
        Site::Entry(entry) if random.below(8) == 0 => {
            let before = entry.key().to_owned();
            entry.key = random.other(&before, &[]).as_str().into();
            format!("key {before} to {}", entry.key())
        }
        Site::Entry(entry) => {
            let before = entry.value().to_owned();
            entry.value = random.other(&before, &known).as_str().into();
            format!("stamp {} from {before} to {}", entry.key(), entry.value())
        }
        Site::Type(ty) => {
            let before = format!("{ty:?}");
            alter_type(ty, random);
            format!("type {before} to {ty:?}")
        }
    };
    (model.encode_to_vec(), altered)
}

#[test]
fn an_altered_artifact_is_rejected_or_runs_as_it_states() -> Outcome {
    let seed = std::env::var("TYPELOOM_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    println!("seed {seed}");
    let (twice, minus) = (imported("twice", doubled).1, imported("minus", negated).1);
    let mut ran_other_methods = 0;
    let mut wrong: Vec<String> = Vec::new();
    for base in bases() {
        let mut random = Random(seed);
        let fresh = || components(base.name, &twice, &minus);
        let compiler = Compiler::new().with_bindings(fresh().bindings().clone());
        let file = compiler.compile(Body("altered", base.body))?.to_bytes()?;
        let expected = run(&base, &file, &fresh()).expect("the file is not altered");
        let stamps = |file: &[u8]| {
            let graph = ModelProto::decode(file).ok()?.graph?;
            Some(graph.node.iter().map(|node| metadata(node, names::DISPATCH).map(str::to_owned)).collect())
        };
        let original: Option<Vec<Option<String>>> = stamps(&file);
        let (mut rejected, mut ran) = (0, 0);
        for at in 0..EACH {
            let (altered, change) = alter(&file, &mut random);
            let context = || format!("seed {seed}, {} {at}: {change}", base.name);
            match run(&base, &altered, &fresh()) {
                Err((message, diagnostics)) => {
                    rejected += 1;
                    // The choice of inputs and parts is the caller's.
                    let of_caller = message.starts_with("input `")
                        || ["has no input", "has no part"].iter().any(|text| message.contains(text));
                    if diagnostics == 0 && !of_caller {
                        wrong.push(format!("{}: {message}", context()));
                    }
                }
                Ok(found) => {
                    ran += 1;
                    if found == expected && stamps(&altered) == original {
                        continue;
                    }
                    ran_other_methods += usize::from(stamps(&altered) != original);
                    let graph = ModelProto::decode(&*altered)?.graph.unwrap_or_default();
                    let stated = interpret(&base, &graph);
                    if stated.as_ref() != Some(&found) {
                        wrong.push(format!("{}: {found:?} instead of {stated:?}", context()));
                    }
                }
            }
        }
        println!("{}: {rejected} rejected, {ran} ran", base.name);
        assert!(rejected > 0 && ran > 0, "{}", base.name);
    }
    let shown = &wrong[..wrong.len().min(20)];
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), shown.join("\n"));
    assert!(ran_other_methods > 0, "no altered dispatch ran");
    Ok(())
}
