//! Every operator at its newest version, with attributes and arguments chosen to break its rule.

use typeloom_onnx::messages::{AttributeProto, ModelProto, NodeProto};
use typeloom_onnx::prost::Message as _;
use typeloom_onnx::text::parse_model;
use typeloom_ops::table::Table;
use typeloom_solver::signature::{Arity, AttributeKind, FormalType, Schema};
use typeloom_testing::Random;

/// Values defined in every model.
const WORLD: &str = r#"<ir_version: 10, opset_import: ["" : 21]>
g (float f0, float[N] f1, float[3] f1k, float[N, 3] f2, float[N, 3, H, W] f4, float[0, 9223372036854775807, 4] f3,
   float[4611686018427387904, 4611686018427387904] fh, float[N, 3, H, W, 9223372036854775807] f5, float[] fu,
   int64[K] i1, int64 i0, int64[N, N] i2, string[N] s1, bool b0, bool[N, 3] b2, uint8[N, 3] u2,
   seq(float[N]) q, optional(float[N]) o, seq(optional(float)) bad) => ()
<int64 zero = {0}, int64 one = {1}, int64 minus = {-1}, int64 most = {9223372036854775807},
 int64 least = {-9223372036854775808}, int64 tera = {1099511627776}, int64[0] none = {},
 int64[1] v0 = {0}, int64[1] vm = {-1}, int64[1] vmost = {9223372036854775807}, int64[1] vleast = {-9223372036854775808},
 int64[2] pair = {4611686018427387904, 4}, int64[2] wild = {-9223372036854775808, 9223372036854775807},
 int64[4] four = {1099511627776, 1099511627776, 1099511627776, 1099511627776}, int64[8] eight = {9223372036854775807, 9223372036854775807, 9223372036854775807, 9223372036854775807, 9223372036854775807, 9223372036854775807, 9223372036854775807, 9223372036854775807},
 int64[3] dup = {1, 1, -1}, int64[2, 2] square = {1, -1, 9223372036854775807, 0},
 float[1] fz = {0}, float[4] scales = {1e30, -1, 0, 1}, float fone = {1}, float fbig = {1e30}>
{ a = Identity(f0) }"#;

const FLOATS: &[&str] =
    &["f0", "f1", "f1k", "f2", "f4", "f4", "f3", "fh", "f5", "fu", "fz", "scales", "fone", "fbig"];
const INTS: &[&str] = &[
    "i1", "i0", "i2", "zero", "one", "minus", "most", "least", "tera", "none", "v0", "vm", "vmost", "vleast",
    "pair", "wild", "four", "eight", "dup", "square",
];
const OTHERS: &[&str] = &["s1", "b0", "b2", "u2", "q", "o", "bad", "", "nothing"];
const NUMBERS: &[i64] =
    &[0, 1, -1, 2, 3, 4, 7, 65, i64::MAX, i64::MIN, i64::MIN + 1, 1 << 40, 1 << 62, -(1 << 62)];

/// Models by the name of the operator that they use.
pub(crate) fn models() -> Vec<(String, Vec<Vec<u8>>)> {
    let world = parse_model(WORLD).expect("the values can be parsed");
    let table = Table::get();
    let mut models = Vec::new();
    for domain in table.domains() {
        for name in table.names(&domain.name) {
            let Some(schema) = table.versions(&domain.name, name).max_by_key(|schema| schema.since_version)
            else {
                continue;
            };
            let mut rng = Random(models.len() as u64);
            models.push((name.to_owned(), vec![model(&world, schema, &mut rng, 8)]));
        }
    }
    assert!(models.len() > 200, "the table is whole");
    models
}

fn model(world: &ModelProto, schema: &Schema, rng: &mut Random, nodes: usize) -> Vec<u8> {
    let mut model = world.clone();
    for import in &mut model.opset_import {
        import.domain = schema.domain.to_string().into();
        import.version = Some(i64::from(schema.since_version));
    }
    let graph = model.graph.as_mut().expect("the model has a graph");
    graph.node.clear();
    for index in 0..nodes {
        let inputs = schema.inputs.iter().flat_map(|formal| {
            let times = match formal.arity {
                Arity::Required => 1,
                Arity::Optional => rng.below(4).min(1),
                Arity::Variadic { min, .. } => min as usize + rng.below(3),
            };
            let pool = match (formal.ty, rng.below(8)) {
                (_, 0) => OTHERS,
                (FormalType::Var(_), 1 | 2) | (FormalType::Tensor(_), _) => INTS,
                (FormalType::Var(_), _) => FLOATS,
            };
            (0..times).map(|_| (*rng.pick(pool)).to_owned()).collect::<Vec<_>>()
        });
        let input = inputs.collect();
        let outputs = schema.outputs.len().max(1) + rng.below(2);
        let mut attributes = Vec::new();
        for decl in &schema.attributes {
            if decl.required || rng.below(3) > 0 {
                attributes.push(attribute(&decl.name, decl.kind, rng));
            }
        }
        graph.node.push(NodeProto {
            attribute: attributes,
            op_type: schema.name.to_string().into(),
            domain: schema.domain.to_string().into(),
            input,
            output: (0..outputs).map(|output| format!("y{index}_{output}")).collect(),
            ..NodeProto::default()
        });
    }
    model.encode_to_vec()
}

fn attribute(name: &str, kind: AttributeKind, rng: &mut Random) -> AttributeProto {
    let mut attribute = AttributeProto { name: name.into(), ..AttributeProto::default() };
    let world = || parse_model(WORLD).expect("the values can be parsed").graph.unwrap_or_default();
    match kind {
        AttributeKind::Float => attribute.f = Some(*rng.pick(&[0.0, -1.0, f32::NAN, f32::INFINITY, 1e30])),
        AttributeKind::Int => attribute.i = Some(*rng.pick(NUMBERS)),
        AttributeKind::String => {
            let text = *rng.pick(&[
                "",
                "SAME_UPPER",
                "VALID",
                "ij,jk->ik",
                "...i,i...->",
                "->",
                "\u{fffd},",
                "linear",
            ]);
            attribute.s = Some(text.as_bytes().to_vec().into());
        }
        AttributeKind::Floats => {
            attribute.floats = (0..rng.below(9)).map(|_| *rng.pick(&[0.0, 1e30, -1.0])).collect();
        }
        AttributeKind::Ints => attribute.ints = (0..rng.below(9)).map(|_| *rng.pick(NUMBERS)).collect(),
        AttributeKind::Strings => attribute.strings = vec!["x".into(); rng.below(4)],
        AttributeKind::Tensor => {
            let constants = world().initializer;
            let mut tensor = constants[rng.below(constants.len())].clone();
            if rng.below(2) == 0 {
                tensor.dims = (0..rng.below(4)).map(|_| *rng.pick(NUMBERS)).collect();
            }
            attribute.t = Some(Box::new(tensor));
        }
        AttributeKind::Graph => attribute.g = Some(Box::new(world())),
        AttributeKind::Type => {
            attribute.tp = world().input.pop().and_then(|input| input.r#type).map(Box::new);
        }
        AttributeKind::Tensors
        | AttributeKind::Graphs
        | AttributeKind::SparseTensor
        | AttributeKind::SparseTensors
        | AttributeKind::Types => {}
    }
    attribute.r#type = Some(kind as i32);
    attribute
}
