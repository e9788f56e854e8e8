//! Random programs over the tensor primitives.

use proptest::prelude::*;
use typeloom_onnx::messages::{AttributeProto, GraphProto, NodeProto};
use typeloom_types::op::PortArity;
use typeloom_types::op::primitives::TENSOR_PRIMITIVES;

/// A graph with the seeds of its values.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) graph: GraphProto,
    pub(crate) seeds: Vec<(String, String)>,
}

/// Random choices that determine a program. Every combination of choices is valid, so that shrinking works.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    flavour: Flavour,
    nodes: Vec<Choices>,
    seeds: Vec<(usize, usize)>,
}

/// The operators and seeds of a program. Three features of the primitives constrain ranks. A program has at
/// most one of them, so that only types can contradict each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flavour {
    /// Scalars, which have no axes, and few operators, so that scalars are often related to tensors.
    Scalars,
    /// Constants, which have one axis.
    Constants,
    /// Matrix products, whose operands have at least one axis.
    Products,
}

#[derive(Clone, Debug)]
struct Choices {
    op: usize,
    /// For each input an existing value, counted from the newest one, or a new value.
    inputs: Vec<usize>,
    more: usize,
}

/// Number of choices for an input.
const PICKS: usize = 12;

/// Choices below this number are existing values.
const OLD: usize = 9;

pub(crate) fn plans() -> impl Strategy<Value = Plan> {
    let flavour = prop::sample::select(vec![Flavour::Scalars, Flavour::Constants, Flavour::Products]);
    let node = (0..64_usize, prop::collection::vec(0..PICKS, 5), 0..16_usize);
    let node = node.prop_map(|(op, inputs, more)| Choices { op, inputs, more });
    let seeds = prop::collection::vec((0..720_usize, 0..64_usize), 0..6);
    (flavour, prop::collection::vec(node, 1..12), seeds).prop_map(|(flavour, nodes, seeds)| Plan {
        flavour,
        nodes,
        seeds,
    })
}

const TENSORS: [&str; 4] = ["tensor.f32", "tensor.f32", "tensor.i64", "tensor.i32"];
const OTHERS: [&str; 5] = ["tensor", "any", "tensor.bool", "tensor.f64", "peer_id"];
const SCALARS: [&str; 6] = ["scalar.f32", "tensor.f32", "scalar.f32", "tensor.f32", "scalar", "tensor"];

impl Plan {
    pub(crate) fn program(&self) -> Program {
        let ops: Vec<_> = TENSOR_PRIMITIVES
            .ops
            .iter()
            .filter(|op| match self.flavour {
                Flavour::Scalars => ["Add", "Neg", "Identity", "Mul", "Concat", "Sqrt"].contains(&op.name),
                Flavour::Constants => op.name != "MatMul",
                Flavour::Products => op.name != "Constant",
            })
            .collect();
        let mut names: Vec<String> = Vec::new();
        let fresh = |names: &mut Vec<String>, kind: &str| {
            let name = format!("{kind}{}", names.len());
            names.push(name.clone());
            name
        };
        let mut nodes = Vec::new();
        for Choices { op, inputs, more } in &self.nodes {
            let decl = ops[op % ops.len()];
            let mut picks = inputs.iter().copied();
            let mut input = Vec::new();
            for port in decl.inputs {
                let times = match port.arity {
                    PortArity::Required => 1,
                    PortArity::Optional => more % 2,
                    PortArity::Variadic => 1 + more % 3,
                };
                for _ in 0..times {
                    let pick = picks.next().unwrap_or(0);
                    // Newer values are more likely, so that graphs are connected.
                    let known = names.len().checked_sub(pick % names.len().max(1) + 1);
                    let known = known.filter(|_| pick < OLD).map(|at| names[at].clone());
                    input.push(known.unwrap_or_else(|| fresh(&mut names, "in")));
                }
            }
            let mut output = Vec::new();
            for port in decl.outputs {
                let times = if port.arity == PortArity::Variadic { 1 + more % 2 } else { 1 };
                output.extend((0..times).map(|_| fresh(&mut names, "out")));
            }
            let attribute = attribute(decl.name, *more).into_iter().collect();
            let op_type = decl.name.into();
            nodes.push(NodeProto { op_type, input, output, attribute, ..NodeProto::default() });
        }
        let seeds = self.seeds.iter().filter_map(|(value, id)| {
            let name = names.get(value % names.len().max(1))?;
            let ids = match self.flavour {
                Flavour::Scalars => SCALARS.to_vec(),
                Flavour::Constants | Flavour::Products => [&TENSORS[..], &OTHERS].concat(),
            };
            Some((name.clone(), ids[id % ids.len()].to_owned()))
        });
        let seeds = seeds.collect();
        Program { graph: GraphProto { node: nodes, ..GraphProto::default() }, seeds }
    }
}

fn attribute(op: &str, choice: usize) -> Option<AttributeProto> {
    const INT: i32 = 2;
    const FLOATS: i32 = 6;
    const INTS: i32 = 7;
    let named = |name: &str, kind| AttributeProto {
        name: name.into(),
        r#type: Some(kind),
        ..AttributeProto::default()
    };
    match (op, choice % 2) {
        // float, int64
        ("Cast", pick) => Some(AttributeProto { i: Some([1, 7][pick]), ..named("to", INT) }),
        ("Constant", 0) => Some(AttributeProto { ints: vec![1, 2], ..named("value_ints", INTS) }),
        ("Constant", _) => Some(AttributeProto { floats: vec![1.0, 2.0], ..named("value_floats", FLOATS) }),
        _ => None,
    }
}

impl Program {
    pub(crate) fn backward(&self) -> GraphProto {
        GraphProto { node: self.graph.node.iter().rev().cloned().collect(), ..GraphProto::default() }
    }

    /// Every other node, then the rest.
    pub(crate) fn interleaved(&self) -> GraphProto {
        let nodes = &self.graph.node;
        let node = nodes.iter().skip(1).step_by(2).chain(nodes.iter().step_by(2)).cloned().collect();
        GraphProto { node, ..GraphProto::default() }
    }

    pub(crate) fn renamed(&self, rename: impl Fn(&str) -> String) -> Self {
        let all = |names: &[String]| names.iter().map(|name| rename(name)).collect();
        let node = self.graph.node.iter().map(|node| NodeProto {
            input: all(&node.input),
            output: all(&node.output),
            ..node.clone()
        });
        Self {
            graph: GraphProto { node: node.collect(), ..GraphProto::default() },
            seeds: self.seeds.iter().map(|(value, id)| (rename(value), id.clone())).collect(),
        }
    }
}
