//! Repairs of small random graphs: the checker rejects all repairs with fewer conversions that keep the
//! values that were right.

use std::collections::BTreeMap;

use prost::Message as _;
use typeloom_onnx::messages::{AttributeProto, ModelProto, NodeProto, ValueInfoProto};
use typeloom_rewrite::coerce::{Policy, keeps_values};
use typeloom_solver::elem::Elem;
use typeloom_solver::model::Mode;
use typeloom_testing::number;

use super::repaired;
use crate::support::{graph, solved};

/// The element types of generated graphs and of conversions.
const ELEMS: [Elem; 5] = [Elem::FLOAT16, Elem::FLOAT, Elem::DOUBLE, Elem::INT64, Elem::BOOL];

/// The maximum number of conversions of a repair that is compared with all repairs with fewer conversions.
const MAX_CONVERSIONS: usize = 3;

/// A seeded xorshift generator.
pub(super) struct Rng(pub(super) u64);

impl Rng {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit
    }
}

/// A graph of two to four inputs and nodes in the textual syntax.
fn random(rng: &mut Rng) -> String {
    let name = |elem: Elem| elem.onnx_name().unwrap_or("?");
    let mut values = Vec::new();
    let mut inputs = Vec::new();
    for at in 0..2 + rng.below(2) {
        inputs.push(format!("{}[2] x{at}", name(ELEMS[rng.below(4)])));
        values.push(format!("x{at}"));
    }
    let mut nodes = Vec::new();
    for at in 0..1 + rng.below(3) {
        let mut pick = || values[rng.below(values.len())].clone();
        let (a, b, c) = (pick(), pick(), pick());
        let call = match rng.below(8) {
            0 | 1 => format!("Add({a}, {b})"),
            2 => format!("Max({a}, {b}, {c})"),
            3 => format!("Gather({a}, {b})"),
            4 => format!("Relu({a})"),
            5 => format!("Where({a}, {b}, {c})"),
            6 => format!("MatMul({a}, {b})"),
            _ => format!("Cast <to = {}> ({a})", ELEMS[rng.below(4)].number()),
        };
        nodes.push(format!("v{at} = {call}"));
        values.push(format!("v{at}"));
    }
    let last = format!("v{}", nodes.len() - 1);
    let declared = name(ELEMS[rng.below(3)]);
    format!("g ({}) => ({declared}[] {last}) {{ {} }}", inputs.join(", "), nodes.join(" "))
}

/// A use of a value: an input of a node, or the output of the graph.
#[derive(Clone, Copy)]
enum Reader {
    Input(usize, usize),
    Output,
}

/// The values of a graph with their uses.
fn readers(model: &ModelProto) -> BTreeMap<String, Vec<Reader>> {
    let graph = model.graph.as_ref().expect("there is a graph");
    let mut found: BTreeMap<String, Vec<Reader>> = BTreeMap::new();
    for (node, it) in graph.node.iter().enumerate() {
        for (at, name) in it.input.iter().enumerate() {
            found.entry(name.clone()).or_default().push(Reader::Input(node, at));
        }
    }
    found.entry(graph.output[0].name().to_owned()).or_default().push(Reader::Output);
    found
}

/// The nodes that the checker accepts with the nodes that they read: their values are right.
fn right_nodes(model: &ModelProto) -> Vec<bool> {
    let graph = model.graph.as_ref().expect("there is a graph");
    let mut right: Vec<bool> = Vec::new();
    for node in 0..graph.node.len() {
        let maker = |name: &String| graph.node.iter().position(|node| node.output.contains(name));
        let reads_right = graph.node[node].input.iter().filter_map(maker).all(|maker| right[maker]);
        let mut part = model.clone();
        let part_graph = part.graph.as_mut().expect("there is a graph");
        let kept = graph.node.iter().enumerate().filter(|(at, _)| *at == node || *at < node && right[*at]);
        part_graph.node = kept.map(|(_, node)| node.clone()).collect();
        part_graph.output = graph.node[node]
            .output
            .iter()
            .map(|name| ValueInfoProto { name: name.clone().into(), ..ValueInfoProto::default() })
            .collect();
        let bytes = part.encode_to_vec();
        right.push(reads_right && solved(&bytes, Mode::Strict).is_ok_and(|checked| checked.is_ok()));
    }
    right
}

/// The model with conversions of values at some of their uses.
fn with_casts(model: &ModelProto, casts: &[(&str, Elem, Vec<Reader>)]) -> ModelProto {
    let mut changed = model.clone();
    let graph = changed.graph.as_mut().expect("there is a graph");
    let mut new = Vec::new();
    for (at, (value, to, readers)) in casts.iter().enumerate() {
        let output = format!("cast{at}");
        for reader in readers {
            match *reader {
                Reader::Input(node, input) => graph.node[node].input[input].clone_from(&output),
                Reader::Output => graph.output[0].name = output.clone().into(),
            }
        }
        let to = AttributeProto {
            name: "to".into(),
            i: Some(i64::from(to.number())),
            r#type: Some(2),
            ..AttributeProto::default()
        };
        let node = NodeProto {
            op_type: "Cast".into(),
            input: vec![(*value).to_owned()],
            output: vec![output],
            attribute: vec![to],
            ..NodeProto::default()
        };
        let maker = graph.node.iter().position(|node| node.output.iter().any(|name| name == value));
        new.push((maker.map_or(0, |maker| maker + 1), node));
    }
    // From the back, so that positions stay valid.
    new.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    for (at, node) in new {
        graph.node.insert(at, node);
    }
    changed
}

/// Whether the checker accepts the model and the policy allows its conversions.
fn is_repair(model: &ModelProto, casts: &[(&str, Elem, Vec<Reader>)], policy: Policy) -> bool {
    let bytes = with_casts(model, casts).encode_to_vec();
    let Ok(mut checked) = solved(&bytes, Mode::Strict) else { return false };
    if !checked.is_ok() {
        return false;
    }
    casts.iter().all(|(value, to, _)| {
        let Some(value) = checked.find(value) else { return false };
        let from = checked.type_of(value).tensor().and_then(|tensor| tensor.elem.single());
        match policy {
            Policy::Lossless => from.is_some_and(|from| keeps_values(from, *to)),
            Policy::Minority | Policy::Widest | Policy::Fewest | Policy::To(_) => true,
        }
    })
}

/// Whether some repair has exactly `count` conversions.
fn exists(model: &ModelProto, count: usize, policy: Policy) -> bool {
    let right = right_nodes(model);
    let mut readers = readers(model);
    // A conversion in front of a node with right values would change them.
    let is_free = |reader: &Reader| match reader {
        Reader::Input(node, _) => !right[*node],
        Reader::Output => true,
    };
    readers.values_mut().for_each(|readers| readers.retain(is_free));
    let pairs: Vec<(&str, Elem, &[Reader])> = readers
        .iter()
        .flat_map(|(value, by)| ELEMS.iter().map(move |elem| (value.as_str(), *elem, by.as_slice())))
        .collect();
    let mut chosen = Vec::new();
    extend(model, &pairs, 0, count, &mut chosen, policy)
}

fn extend<'m>(
    model: &ModelProto,
    pairs: &[(&'m str, Elem, &[Reader])],
    from: usize,
    count: usize,
    chosen: &mut Vec<(&'m str, Elem, Vec<Reader>)>,
    policy: Policy,
) -> bool {
    if count == 0 {
        return is_repair(model, chosen, policy);
    }
    for (at, (value, elem, readers)) in pairs.iter().enumerate().skip(from) {
        for subset in 1..1_usize << readers.len() {
            let inside = readers.iter().enumerate().filter(|(bit, _)| subset >> bit & 1 == 1);
            chosen.push((value, *elem, inside.map(|(_, reader)| *reader).collect()));
            let found = extend(model, pairs, at + 1, count - 1, chosen, policy);
            chosen.pop();
            if found {
                return true;
            }
        }
    }
    false
}

#[test]
fn no_repair_of_a_small_graph_has_fewer_casts() {
    let mut rng = Rng(2_026);
    let mut compared = [0; MAX_CONVERSIONS + 1];
    for _ in 0..number(16, 150) {
        let text = random(&mut rng);
        let bytes = graph(&text);
        let model = ModelProto::decode(&bytes[..]).expect("the text is a model");
        for policy in [Policy::Lossless, Policy::Fewest] {
            let repair = repaired(&bytes, policy);
            let found = if repair.is_ok { repair.casts.len() } else { MAX_CONVERSIONS };
            if found > MAX_CONVERSIONS {
                continue;
            }
            assert!(repair.is_minimal || !repair.is_ok, "{text}");
            compared[found] += usize::from(repair.is_ok);
            for count in 0..found.min(if repair.is_ok { MAX_CONVERSIONS } else { 2 }) {
                assert!(!exists(&model, count, policy), "{text}: {count} casts suffice for {policy:?}");
            }
        }
    }
    assert!(
        compared[1..].iter().all(|count| *count > number(0, 5)),
        "{compared:?} repairs of each size were compared"
    );
}
