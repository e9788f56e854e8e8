//! Random programs, cut in two and linked again.
//!
//! A cut yields two models. All their values get names from one short list, so most names of one model also
//! occur in the other one. The linked model must have the types and the results of both models in sequence.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bytes::Bytes;
use prost::Message as _;
use typeloom_differential::choices::Choices;
use typeloom_differential::generate::{Declarations, generate};
use typeloom_differential::program::Program;
use typeloom_link::{Connection, LinkError, LinkOptions};
use typeloom_onnx::messages::tensor_shape_proto::dimension;
use typeloom_onnx::messages::{GraphProto, ModelProto, TypeProto, ValueInfoProto, read, type_proto};
use typeloom_onnx::nested;
use typeloom_onnx::text::PrintOptions;
use typeloom_ops::catalogue::Standard;
use typeloom_solver::model::{Options, check};
use typeloom_solver::universe::Universe;
use typeloom_tensor::datum::Datum;
use typeloom_testing::number;

use crate::support::{equal, join, run};

/// Two models that compute a program together.
struct Pair {
    first: ModelProto,
    second: ModelProto,
    /// The connections, in the names of the models.
    map: Vec<Connection>,
    /// The inputs of each model with their names in the program.
    inputs: [Vec<(String, String)>; 2],
    /// The outputs of each model that the program returns, with their names in the program.
    outputs: [Vec<(String, String)>; 2],
}

impl Pair {
    fn bytes(&self) -> [Bytes; 2] {
        [&self.first, &self.second].map(|model| Bytes::from(model.encode_to_vec()))
    }

    fn options(&self) -> LinkOptions {
        LinkOptions { map: self.map.clone(), ..LinkOptions::default() }
    }
}

/// The solved types of the values of a well-typed model.
fn types(model: &Bytes) -> Option<BTreeMap<String, TypeProto>> {
    let mut checked = check(model, &Standard, Universe::standard(), &Options::default()).ok()?;
    if !checked.is_ok() {
        return None;
    }
    let mut types = BTreeMap::new();
    let values: Vec<_> = checked.body().values().collect();
    for value in values {
        let name = checked.body().value_name(value).to_owned();
        let ty = checked.type_of(value);
        types.insert(name, ty.value_type(checked.universe(), checked.dims()).to_onnx()?);
    }
    Some(types)
}

/// The names that nodes read, in nested graphs too, without the names that nested graphs define.
fn reads(graph: &GraphProto, nodes: std::ops::Range<usize>) -> BTreeSet<String> {
    let mut read = BTreeSet::new();
    for node in &graph.node[nodes] {
        read.extend(node.input.iter().cloned());
        for inner in nested::graphs(node) {
            nested::each_graph(inner, |graph, _| {
                read.extend(graph.node.iter().flat_map(|node| node.input.iter().cloned()));
                read.extend(graph.output.iter().map(|output| output.name().to_owned()));
            });
        }
    }
    read
}

fn graph_of(model: &ModelProto) -> &GraphProto {
    model.graph.as_ref().expect("the model has a graph")
}

fn info(name: &str, ty: &TypeProto) -> ValueInfoProto {
    ValueInfoProto { name: name.into(), r#type: Some(ty.clone()), ..ValueInfoProto::default() }
}

/// Replaces every name of a graph by another one.
fn rename(graph: &mut GraphProto, names: &HashMap<String, String>) {
    let new = |name: &str| names.get(name).cloned().unwrap_or_else(|| name.to_owned());
    nested::each_graph_mut(graph, |graph, _| {
        for node in &mut graph.node {
            node.input.iter_mut().chain(&mut node.output).for_each(|name| *name = new(name));
        }
        for info in graph.input.iter_mut().chain(&mut graph.output).chain(&mut graph.value_info) {
            info.name = new(info.name()).into();
        }
        for tensor in &mut graph.initializer {
            tensor.name = new(tensor.name()).into();
        }
    });
}

/// Short names for all values of a graph, starting at a number.
fn short_names(graph: &GraphProto, start: usize) -> HashMap<String, String> {
    let mut names = BTreeSet::new();
    nested::each_graph(graph, |graph, _| {
        names.extend(graph.input.iter().chain(&graph.output).map(|it| it.name().to_owned()));
        names.extend(graph.initializer.iter().map(|tensor| tensor.name().to_owned()));
        names.extend(graph.node.iter().flat_map(|node| node.input.iter().chain(&node.output)).cloned());
    });
    names.remove("");
    let count = names.len();
    names.into_iter().enumerate().map(|(at, name)| (name, format!("v{}", (at + start) % count))).collect()
}

/// Cuts a program before a node; `None` if a part is not well typed on its own.
fn cut(program: &Program, at: usize) -> Option<Pair> {
    let whole = typeloom_onnx::text::parse_model(&program.text()).ok()?;
    let types = types(&whole.encode_to_vec().into())?;
    let graph = whole.graph.clone()?;
    if at == 0 || at >= graph.node.len() {
        return None;
    }
    let (first_reads, second_reads) = (reads(&graph, 0..at), reads(&graph, at..graph.node.len()));
    let made: BTreeSet<String> = graph.node[..at].iter().flat_map(|node| node.output.clone()).collect();
    let returned: BTreeSet<String> = graph.output.iter().map(|output| output.name().to_owned()).collect();
    let crossing: Vec<String> =
        made.intersection(&second_reads).filter(|name| !name.is_empty()).cloned().collect();
    if crossing.is_empty() {
        return None;
    }
    let part =
        |nodes: std::ops::Range<usize>, reads: &BTreeSet<String>, outputs: &[String], extra: &[String]| {
            let is_read = |name: &str| reads.contains(name) || outputs.iter().any(|output| output == name);
            let mut graph = GraphProto {
                name: graph.name.clone(),
                node: graph.node[nodes].to_vec(),
                ..GraphProto::default()
            };
            graph.initializer =
                graph_of(&whole).initializer.iter().filter(|it| is_read(it.name())).cloned().collect();
            graph.input = graph_of(&whole).input.iter().filter(|it| is_read(it.name())).cloned().collect();
            graph.input.extend(extra.iter().map(|name| info(name, &types[name])));
            graph.output = outputs.iter().map(|name| info(name, &types[name])).collect();
            ModelProto { graph: Some(graph), ..whole.clone() }
        };
    let (in_first, in_second): (Vec<String>, Vec<String>) =
        returned.iter().cloned().partition(|name| made.contains(name) && !second_reads.contains(name));
    let mut first_outputs = crossing.clone();
    first_outputs.extend(in_first.iter().cloned());
    let mut first = part(0..at, &first_reads, &first_outputs, &[]);
    // Crossing values that are also returned are outputs of the second model, which passes them on.
    let mut second = part(at..graph.node.len(), &second_reads, &in_second, &crossing);

    let names = [&first, &second].map(|model| short_names(graph_of(model), 0));
    let second_names = short_names(graph_of(&second), 3);
    rename(first.graph.as_mut()?, &names[0]);
    rename(second.graph.as_mut()?, &second_names);
    // Interface names must be distinct.
    let prefix = |model: &mut ModelProto, text: &str, except: &[String]| -> HashMap<String, String> {
        let graph = graph_of(model);
        let ports = graph.input.iter().chain(&graph.output).map(|it| it.name().to_owned());
        let new: HashMap<String, String> = ports
            .filter(|name| !except.contains(name))
            .map(|name| (name.clone(), format!("{text}{name}")))
            .collect();
        new
    };
    let new = prefix(&mut second, "second_", &[]);
    rename(second.graph.as_mut()?, &new);
    let own = |model: usize, name: &str| -> String {
        if model == 0 {
            return names[0][name].clone();
        }
        let short = &second_names[name];
        new.get(short).cloned().unwrap_or_else(|| short.clone())
    };
    let listed =
        |model: usize, list: &[ValueInfoProto], table: &dyn Fn(&str) -> bool| -> Vec<(String, String)> {
            let all = types.keys().filter(|name| table(name));
            let of = |name: &String| {
                Some((list.iter().find(|it| it.name() == own(model, name))?.name().to_owned(), name.clone()))
            };
            all.filter_map(of).collect()
        };
    let is_input = |name: &str| graph.input.iter().any(|input| input.name() == name);
    let is_returned = |name: &str| returned.contains(name);
    Some(Pair {
        map: crossing.iter().map(|name| Connection::new(own(0, name), own(1, name))).collect(),
        inputs: [
            listed(0, &graph_of(&first).input, &|name| names[0].contains_key(name) && is_input(name)),
            listed(1, &graph_of(&second).input, &|name| second_names.contains_key(name) && is_input(name)),
        ],
        outputs: [
            listed(0, &graph_of(&first).output, &|name| {
                names[0].contains_key(name) && is_returned(name) && in_first.iter().any(|it| it == name)
            }),
            listed(1, &graph_of(&second).output, &|name| {
                second_names.contains_key(name) && is_returned(name)
            }),
        ],
        first,
        second,
    })
}

/// Runs both models one after the other.
fn in_sequence(
    pair: &Pair,
    [first, second]: &[Bytes; 2],
    world: &HashMap<String, Datum>,
) -> Result<HashMap<String, Datum>, String> {
    let given = |model: usize| -> HashMap<String, Datum> {
        pair.inputs[model].iter().map(|(own, name)| (own.clone(), world[name].clone())).collect()
    };
    let results = run(first, given(0))?;
    let mut inputs = given(1);
    for Connection { output, input } in &pair.map {
        inputs.insert(input.clone(), results[output].clone());
    }
    let mut outputs = run(second, inputs).map_err(|error| format!("second: {error}"))?;
    for (own, _) in &pair.outputs[0] {
        outputs.insert(own.clone(), results[own].clone());
    }
    Ok(outputs)
}

/// Counts of a run of pairs.
#[derive(Debug, Default)]
struct Counts {
    pairs: usize,
    linked: usize,
    unproven: usize,
    compared: usize,
    rejected: usize,
    ill_typed: usize,
}

fn compare(seed: u64, pair: &Pair, worlds: &[HashMap<String, Datum>], counts: &mut Counts) {
    let files = pair.bytes();
    let parts_are_typed = files.iter().all(|file| types(file).is_some());
    if !parts_are_typed {
        return;
    }
    counts.pairs += 1;
    let linked = match join(&files[0], &files[1], &pair.options()) {
        Ok(linked) => linked,
        Err(LinkError::Types(conflicts)) => {
            let is_unproven = |code| matches!(code, "unproven");
            assert!(
                conflicts.iter().all(|it| is_unproven(it.kind.code())),
                "seed {seed}: {}",
                LinkError::Types(conflicts)
            );
            counts.unproven += 1;
            return;
        }
        Err(error) => panic!("seed {seed}: {error}\n{}", text(pair)),
    };
    counts.linked += 1;
    let file = Bytes::from(linked.to_vec([&files[0], &files[1]]));
    for world in worlds {
        let Ok(expected) = in_sequence(pair, &files, world) else { continue };
        let inputs = pair.inputs.iter().flatten().map(|(own, name)| (own.clone(), world[name].clone()));
        let found = run(&file, inputs.collect())
            .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", text(pair)));
        for own in pair.outputs.iter().flatten().map(|(own, _)| own) {
            assert!(equal(&found[own], &expected[own]), "seed {seed}: output {own} differs\n{}", text(pair));
            counts.compared += 1;
        }
    }
}

fn text(pair: &Pair) -> String {
    let print = |model: &ModelProto| typeloom_onnx::text::print_model(model, &PrintOptions::display()).text;
    format!("{}\n{}", print(&pair.first), print(&pair.second))
}

/// Changes the declared type of an input of the second model.
fn damage(pair: &mut Pair, choices: &mut Choices) {
    let at = choices.below(pair.map.len());
    let name = pair.map[at].input.clone();
    let graph = pair.second.graph.as_mut().unwrap();
    let input = graph.input.iter_mut().find(|input| input.name() == name).unwrap();
    let Some(type_proto::Value::TensorType(tensor)) = input.r#type.as_mut().and_then(|ty| ty.value.as_mut())
    else {
        return;
    };
    let rank = tensor.shape.as_ref().map_or(0, |shape| shape.dim.len());
    match (choices.below(4), &mut tensor.shape) {
        (0, _) => tensor.elem_type = Some([1, 7, 11, 9][choices.below(4)]),
        (1, Some(shape)) => shape.dim.push(Default::default()),
        (2, Some(shape)) if rank > 0 => {
            let extent = choices.between(1, 6);
            shape.dim[choices.below(rank)].value = Some(dimension::Value::DimValue(extent));
        }
        (3, Some(shape)) if rank > 0 => {
            let symbol = ["batch", "seq", "k", "2*seq"][choices.below(4)];
            shape.dim[choices.below(rank)].value = Some(dimension::Value::DimParam(symbol.to_owned()));
        }
        _ => {}
    }
}

/// Links the changed pair; if it is accepted, the second model accepts what the first one returns.
fn check_damaged(seed: u64, pair: &Pair, worlds: &[HashMap<String, Datum>], counts: &mut Counts) {
    let files = pair.bytes();
    if files.iter().any(|file| types(file).is_none()) {
        return;
    }
    match join(&files[0], &files[1], &pair.options()) {
        Err(LinkError::Types(_) | LinkError::IllTypedResult { .. }) => counts.rejected += 1,
        Err(error) => panic!("seed {seed}: {error}\n{}", text(pair)),
        Ok(linked) => {
            counts.ill_typed += 1;
            let file = Bytes::from(linked.to_vec([&files[0], &files[1]]));
            for world in worlds {
                let inputs =
                    pair.inputs.iter().flatten().map(|(own, name)| (own.clone(), world[name].clone()));
                let Ok(_) = run(&file, inputs.collect()) else { continue };
                if let Err(error) = in_sequence(pair, &files, world) {
                    panic!("seed {seed}: accepted, but in sequence {error}\n{}", text(pair));
                }
            }
        }
    }
}

#[test]
fn cut_programs_have_the_results_of_their_sequence() {
    let mut counts = Counts::default();
    for seed in 1..=number(30, 180) {
        let declarations = if seed % 2 == 0 { Declarations::None } else { Declarations::TrueAndFalse };
        let mut choices = Choices::seeded(seed);
        let case = generate(declarations, &mut choices);
        let names = |world: &typeloom_differential::world::World| -> HashMap<String, Datum> {
            let ports = case.program.graph.inputs.iter().map(|port| port.name.clone());
            ports.zip(world.inputs.iter().cloned()).collect()
        };
        let worlds: Vec<_> = case.worlds.iter().map(names).collect();
        let at = 1 + choices.below(case.program.graph.nodes.len().max(1));
        let Some(mut pair) = cut(&case.program, at) else { continue };
        compare(seed, &pair, &worlds, &mut counts);
        damage(&mut pair, &mut choices);
        check_damaged(seed, &pair, &worlds, &mut counts);
    }
    println!("{counts:?}");
    assert!(counts.linked > number(2, 40), "{counts:?}");
    assert!(counts.compared > number(5, 100), "{counts:?}");
    assert!(counts.rejected > number(0, 20), "{counts:?}");
}

#[test]
fn linking_is_deterministic() {
    let case = generate(Declarations::None, &mut Choices::seeded(2));
    let pairs = (1..case.program.graph.nodes.len()).filter_map(|at| cut(&case.program, at));
    let mut count = 0;
    for pair in pairs {
        let files = pair.bytes();
        let link = || join(&files[0], &files[1], &pair.options()).map(|it| it.to_vec([&files[0], &files[1]]));
        let Ok(file) = link() else { continue };
        assert_eq!(Ok(&file), link().as_ref());
        read::<ModelProto>(file.into()).unwrap();
        count += 1;
    }
    assert!(count > 0);
}
