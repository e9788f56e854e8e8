//! Runs the main graph of a file by its stamps, without the compiler and the runtime.

use std::collections::BTreeMap;

use typeloom_contracts::index::Index as _;
use typeloom_contracts::model::Model as _;
use typeloom_onnx::messages::{GraphProto, NodeProto};
use typeloom_program::{domain, keys};
use typeloom_runtime::backend::Cpu;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::{Datum, Scalar};
use typeloom_types::dtype::Dtype;

use super::bases::{Base, Counter, Extended, Net, net};
use crate::modules::peers::peer;
use crate::modules::roles::Flat;
use crate::modules::support::{floats, metadata};

/// The components of all bases.
struct World {
    /// The models of `net` and `own`.
    nets: BTreeMap<&'static str, Net>,
    indices: BTreeMap<&'static str, Flat>,
    extended: Extended,
    counter: Counter,
}

/// The outputs of a graph by name, in the order of names.
pub(super) fn interpret(base: &Base, graph: &GraphProto) -> Option<Vec<(String, Datum)>> {
    let mut world = World {
        nets: BTreeMap::from([("net", net()), ("own", net())]),
        indices: BTreeMap::from([("near", Flat::default()), ("far", Flat::default())]),
        extended: Extended::default(),
        counter: Counter::default(),
    };
    let names = graph.input.iter().map(|info| info.name().to_owned());
    let mut values: BTreeMap<String, Datum> =
        names.zip(base.inputs.iter().map(|(_, value)| value.clone())).collect();
    for node in &graph.node {
        let given: Vec<Datum> =
            node.input.iter().map(|name| values.get(name).cloned()).collect::<Option<_>>()?;
        values.extend(node.output.iter().cloned().zip(world.node(node, &given)?));
    }
    let output = |name: &str| Some((name.to_owned(), values.get(name)?.clone()));
    let mut outputs: Vec<_> = graph.output.iter().map(|info| output(info.name())).collect::<Option<_>>()?;
    outputs.sort_by(|a, b| a.0.cmp(&b.0));
    Some(outputs)
}

impl World {
    fn node(&mut self, node: &NodeProto, given: &[Datum]) -> Option<Vec<Datum>> {
        let stamp = metadata(node, keys::DISPATCH).and_then(|stamp| stamp.rsplit_once('.'));
        Some(match stamp {
            Some(("compute", method)) => vec![computed(method, node, given)?],
            Some(("extended", _)) => {
                vec![self.extended.apply(node.op_type(), given.first()?.as_tensor()?).ok()?.into()]
            }
            Some(("counter", method)) => vec![self.counter.apply(method)?],
            Some((slot @ ("net" | "own"), method)) => {
                vec![modelled(self.nets.get_mut(slot)?, method, given)?]
            }
            Some((slot, method)) => indexed(self.indices.get_mut(slot)?, method, given)?,
            None => structural(node, given)?,
        })
    }
}

fn strings(node: &NodeProto, name: &str) -> Vec<String> {
    let strings = node.find_attribute(name).map(|attribute| &attribute.strings[..]).unwrap_or_default();
    strings.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect()
}

fn string(node: &NodeProto, name: &str) -> Option<String> {
    let text = node.find_attribute(name)?.s.as_deref()?;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// Operators without a slot.
fn structural(node: &NodeProto, given: &[Datum]) -> Option<Vec<Datum>> {
    Some(match (node.domain(), node.op_type()) {
        (domain::IMPORT, "Call") => {
            let sign = if string(node, "function")? == "twice" { 2.0 } else { -1.0 };
            vec![floats(&[2], &slice(given.first()?)?.iter().map(|x| x * sign).collect::<Vec<_>>())]
        }
        (domain::COMPOSITE, "Bundle") => {
            vec![Datum::Composite(strings(node, "keys").into_iter().zip(given.iter().cloned()).collect())]
        }
        (domain::COMPOSITE, "Unbundle") => {
            let Some(Datum::Composite(children)) = given.first() else { return None };
            let child = |name: &String| children.iter().find(|(own, _)| own == name);
            let keys = strings(node, "keys");
            keys.iter().map(|key| Some(child(key)?.1.clone())).collect::<Option<_>>()?
        }
        // The request has no content that an output shows.
        (domain::WIRE, "Send") => vec![given.first()?.clone(), Datum::Trigger],
        (domain::WIRE, "Recv") => {
            let is_away = metadata(node, keys::PEER_CLASS).is_some();
            vec![given.first()?.clone(), Datum::Peer(peer(if is_away { "home" } else { "a" }))]
        }
        (domain::TYPES, "Cast") => {
            let to = string(node, "to")?;
            vec![match (given.first()?, &*to) {
                (Datum::Scalar(Scalar::I32(x)), "scalar.f32") =>
                {
                    #[expect(clippy::cast_precision_loss, reason = "the number is small")]
                    Datum::Scalar(Scalar::F32(*x as f32))
                }
                (value, _) => Cpu.cast(value.as_tensor()?, Dtype::from_node_id(&to)?).ok()?.into(),
            }]
        }
        ("" | "ai.onnx", op) => vec![computed(&op.to_lowercase(), node, given)?],
        (_, "Identity") => given.to_vec(),
        _ => return None,
    })
}

fn slice(datum: &Datum) -> Option<&[f32]> {
    datum.as_tensor()?.as_slice().ok()
}

/// Methods of the backend `compute`, and ONNX operators without a slot.
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
        "cast" => {
            let to = i32::try_from(node.find_attribute("to")?.i()).ok()?;
            Cpu.cast(a, Dtype::from_onnx_number(to)?)
        }
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
