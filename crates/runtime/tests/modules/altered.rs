//! Artifacts with one altered stamp, name, type or digest: each is rejected, or runs as it states.
//!
//! The reference is [`interpret`], which calls components directly, by the stamps of the altered file.
//! `TYPELOOM_SEED=N` chooses the alterations, `TYPELOOM_SEEDS=N` runs that number of seeds.

#[path = "altered/bases.rs"]
mod bases;
#[path = "altered/reference.rs"]
mod reference;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use typeloom_compiler::artifact::Artifact;
use typeloom_interface::recorded::INTERFACE;
use typeloom_onnx::messages::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, StringStringEntryProto, Text,
    TypeProto, ValueInfoProto, tensor_shape_proto, type_proto,
};
use typeloom_onnx::prost::Message as _;
use typeloom_program::keys;
use typeloom_runtime::components::Components;
use typeloom_runtime::executor::Executor;
use typeloom_runtime::executor::part::Part;
use typeloom_runtime::options::Verify;
use typeloom_tensor::datum::Datum;
use typeloom_testing::{Random, is_all, number};
use typeloom_types::lattice::Lattice;
use typeloom_wire::envelope::RunId;
use typeloom_wire::memory::LocalNetwork;

use crate::modules::peers::endpoint;
use crate::modules::support::{metadata, seeds};
use bases::{Base, Functions, bases, compiled};
use reference::interpret;

/// Number of alterations of each artifact: with `TYPELOOM_TESTS=all`, which makes 10,800 together, and
/// without it.
const EACH: usize = 1_200;
const FEW_OF_EACH: usize = 20;

/// Another text: one of `known`, or with one changed letter.
fn other(random: &mut Random, text: &str, known: &[String]) -> String {
    if random.below(2) == 0 && !known.is_empty() {
        let found = random.pick(known);
        if found != text {
            return found.clone();
        }
    }
    let mut letters: Vec<char> = text.chars().collect();
    let at = random.below(letters.len() + 1);
    let letter = char::from(b'a' + u8::try_from(random.below(26)).unwrap_or(0));
    match letters.get_mut(at) {
        Some(found) if *found != letter => *found = letter,
        _ => letters.push('q'),
    }
    letters.into_iter().collect()
}

/// The outputs by name, in the order of names, or the message of an error and the number of its diagnostics.
type Values = Result<Vec<(String, Datum)>, (String, usize)>;

macro_rules! rejected {
    ($error:expr) => {{
        let error = $error;
        (error.to_string(), error.diagnostics().len())
    }};
}

/// Loads, links and runs a file.
fn run(base: &Base, file: &[u8], components: &Components) -> Values {
    let artifact = Artifact::load(file, components.bindings()).map_err(|error| rejected!(error))?;
    let mut outputs = match base.sends {
        true => run_parts(base, &artifact, components)?,
        false => run_whole(base, &artifact, components)?,
    };
    outputs.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(outputs)
}

fn run_whole(base: &Base, artifact: &Artifact, components: &Components) -> Values {
    let executor = Executor::new(artifact, components).map_err(|error| rejected!(error))?;
    // The inputs are given by position: the name of an input can be altered.
    let names = executor.inputs().iter().map(|port| port.name.clone());
    let inputs: Vec<_> = names.zip(base.inputs.iter().map(|(_, value)| value.clone())).collect();
    Ok(executor.run(inputs, Verify::Inputs).map_err(|error| rejected!(error))?.outputs)
}

fn run_parts(base: &Base, artifact: &Artifact, components: &Components) -> Values {
    let part = |name: &str| Part::new(artifact, name, components).map_err(|error| rejected!(error));
    let (home, worker) = (part("self")?, part("workers")?);
    let network = LocalNetwork::new();
    let (at_home, at_a) = (endpoint(&network, "home", &home), endpoint(&network, "a", &worker));
    let soon = Duration::from_secs(5);
    let is_done = AtomicBool::new(false);
    // Home can fail before it sends.
    let serve = || {
        while at_a.held() == 0 && !is_done.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_micros(100));
        }
        if at_a.held() == 0 { Ok(None) } else { worker.serve(&at_a, soon, Verify::Inputs) }
    };
    std::thread::scope(|scope| {
        let serving = scope.spawn(serve);
        let inputs: HashMap<String, Datum> =
            base.inputs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let outcome = home.run(&at_home, RunId::default(), inputs, soon, Verify::Inputs);
        is_done.store(true, Ordering::Release);
        let outcome = outcome.map_err(|error| rejected!(error))?;
        let served = serving.join().expect("it does not panic").map_err(|error| rejected!(error))?;
        let all = [Some(outcome), served].into_iter().flatten();
        Ok(all.flat_map(|outcome| outcome.outputs).collect())
    })
}

/// A part of a file that can be altered.
enum Site<'m> {
    Text(&'m mut String),
    Option(&'m mut Text),
    Entry(&'m mut StringStringEntryProto),
    /// A text in an attribute.
    Bytes(&'m mut Bytes),
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
        sites.extend(attribute.s.iter_mut().chain(&mut attribute.strings).map(Site::Bytes));
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
            Site::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            Site::Entry(_) | Site::Type(_) => None,
        })
        .collect();
    const METHODS: [&str; 27] = [
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
        "next",
        "back",
        "skip",
    ];
    for slot in ["compute", "net", "own", "near", "far", "extended", "counter"] {
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
            **text = other(random, &before, &known);
            format!("name {before} to {text}")
        }
        Site::Option(text) => {
            let before = text.as_str().to_owned();
            **text = other(random, &before, &known).into();
            format!("name {before} to {text:?}")
        }
        Site::Bytes(bytes) => {
            let before = String::from_utf8_lossy(bytes).into_owned();
            **bytes = other(random, &before, &known).into();
            format!("attribute {before} to {}", String::from_utf8_lossy(bytes))
        }
        Site::Entry(entry) if entry.key() == keys::SOURCE_LOCATION => "nothing".to_owned(),
        Site::Entry(entry) if entry.key() == INTERFACE => {
            let mut digits: Vec<char> = entry.value().chars().collect();
            let at = random.below(digits.len());
            let digit = char::from_digit(u32::try_from(random.below(16)).unwrap_or(0), 16).unwrap_or('0');
            digits[at] = digit;
            entry.value = digits.into_iter().collect::<String>().as_str().into();
            format!("digit {at} of the interface to {digit}")
        }
        Site::Entry(entry) if random.below(8) == 0 => {
            let before = entry.key().to_owned();
            entry.key = other(random, &before, &[]).as_str().into();
            format!("key {before} to {}", entry.key())
        }
        Site::Entry(entry) => {
            let before = entry.value().to_owned();
            entry.value = other(random, &before, &known).as_str().into();
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
fn an_altered_artifact_is_rejected_or_runs_as_it_states() {
    let functions = Functions::new();
    for seed in seeds(1) {
        println!("seed {seed}");
        let (bases, next) = (bases(), AtomicUsize::new(0));
        let work = || {
            let mut found = Found::default();
            while let Some(base) = bases.get(next.fetch_add(1, Ordering::Relaxed)) {
                alter_base(base, seed, &functions, &mut found);
            }
            found
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(bases.len());
        let mut all = Found::default();
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            for thread in running {
                let found = thread.join().expect("the reference agrees on each base");
                all.ran += found.ran;
                all.ran_other_methods += found.ran_other_methods;
                all.wrong.extend(found.wrong);
                all.lines.extend(found.lines);
            }
        });
        let Found { ran, ran_other_methods, wrong, lines } = all;
        println!("{}", lines.join("\n"));
        let shown = &wrong[..wrong.len().min(20)];
        assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), shown.join("\n"));
        assert!(ran > 0, "no altered file ran");
        // About one in thousands of alterations.
        if is_all() {
            assert!(ran_other_methods > 0, "no altered dispatch ran");
        }
    }
}

/// The results for some bases.
#[derive(Default)]
struct Found {
    ran: usize,
    ran_other_methods: usize,
    wrong: Vec<String>,
    lines: Vec<String>,
}

/// The dispatch stamps of a file.
fn stamps(file: &[u8]) -> Option<Vec<Option<String>>> {
    let graph = ModelProto::decode(file).ok()?.graph?;
    Some(graph.node.iter().map(|node| metadata(node, keys::DISPATCH).map(str::to_owned)).collect())
}

/// Alters the artifact of a program.
fn alter_base(base: &Base, seed: u64, functions: &Functions, results: &mut Found) {
    let mut random = Random(seed);
    let fresh = || functions.components(base.name);
    let file = compiled(base, &fresh()).to_bytes().expect("it can be written");
    let graph_of = |file: &[u8]| ModelProto::decode(file).expect("it is a model").graph.unwrap_or_default();
    let expected = run(base, &file, &fresh()).expect("the file is not altered");
    assert_eq!(interpret(base, &graph_of(&file)).as_ref(), Some(&expected), "the reference of {}", base.name);
    let original = stamps(&file);
    let (mut rejected, mut ran) = (0, 0);
    for at in 0..number(FEW_OF_EACH, EACH) {
        let (altered, change) = alter(&file, &mut random);
        let context = || format!("seed {seed}, {} {at}: {change}", base.name);
        match run(base, &altered, &fresh()) {
            Err((message, diagnostics)) => {
                rejected += 1;
                // The choice of inputs and parts is the caller's, and a component decides which operators it
                // has.
                let is_outside = message.starts_with("input `")
                    || ["has no input", "has no part", ": no operator `"]
                        .iter()
                        .any(|text| message.contains(text));
                if diagnostics == 0 && !is_outside {
                    results.wrong.push(format!("{}: {message}", context()));
                }
            }
            Ok(found) => {
                ran += 1;
                if found == expected && stamps(&altered) == original {
                    continue;
                }
                results.ran_other_methods += usize::from(stamps(&altered) != original);
                let stated = interpret(base, &graph_of(&altered));
                if stated.as_ref() != Some(&found) {
                    results.wrong.push(format!("{}: {found:?} instead of {stated:?}", context()));
                }
            }
        }
    }
    results.lines.push(format!("{}: {rejected} rejected, {ran} ran", base.name));
    results.ran += ran;
    // Few alterations of a base can all be rejected.
    assert!(rejected > 0 && (ran > 0 || !is_all()), "{}", base.name);
}
