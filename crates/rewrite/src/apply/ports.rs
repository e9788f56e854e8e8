//! Edits of the ports of a node: attributes as constant inputs and the reverse, and an axis for a scalar.

use half::{bf16, f16};
use typeloom_onnx::domain::canonical;
use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::{AttributeProto, NodeProto, TensorProto, read};
use typeloom_onnx::prost::Message as _;
use typeloom_onnx::view::TensorView;
use typeloom_solver::diagnostic::{AttributeAsInput, InputAsAttribute};
use typeloom_solver::elem::Elem;
use typeloom_solver::program::GraphId;
use typeloom_solver::signature::AttributeKind;

use super::Site;
use crate::coerce::layout::Source;
use crate::names::Names;

/// The first operator set in which the axes of `Unsqueeze` are an input.
const FIRST_AXES_INPUT: i64 = 13;

/// The first operator set in which `Constant` has integers.
const FIRST_INTEGER_CONSTANT: i64 = 9;

/// The maximum number of elements of a constant that becomes an attribute.
const MAX_ITEMS: usize = 1 << 12;

/// The graph of the node that is edited.
pub(super) struct Context<'c, 'e, 'a> {
    pub(super) site: Site<'e, 'a>,
    /// The imported version of ONNX's operators.
    pub(super) version: Option<i64>,
    pub(super) names: &'c mut Names,
    /// New initializers of the graph.
    pub(super) initializers: Vec<TensorProto>,
}

impl Context<'_, '_, '_> {
    /// Replaces attributes by inputs, which new `Constant` nodes define.
    pub(super) fn pass_as_inputs(
        &mut self,
        node: &mut NodeProto,
        ports: &[AttributeAsInput],
    ) -> Option<Vec<NodeProto>> {
        let mut new = Vec::new();
        for AttributeAsInput { attribute, input, to, is_list } in ports {
            let at = node.attribute.iter().position(|own| own.name() == attribute)?;
            let value = tensor(&node.attribute[at], Elem::from_onnx_name(to)?, *is_list)?;
            node.attribute.remove(at);
            let length = node.input.len().max(*input + 1);
            node.input.resize(length, String::new());
            node.input[*input] = self.constant(attribute, value, &mut new);
        }
        Some(new)
    }

    /// Replaces constant inputs by attributes; `None` if an input is not constant.
    pub(super) fn pass_as_attributes(
        &self,
        node: &mut NodeProto,
        ports: &[InputAsAttribute],
    ) -> Option<Vec<NodeProto>> {
        for InputAsAttribute { input, attribute, kind } in ports {
            let value = self.constant_value(node.input.get(*input)?)?;
            node.attribute.push(attribute_of(attribute, *kind, &value)?);
            node.input[*input].clear();
        }
        while node.input.last().is_some_and(String::is_empty) {
            node.input.pop();
        }
        Some(Vec::new())
    }

    /// Gives a scalar input one axis.
    pub(super) fn unsqueeze(&mut self, node: &mut NodeProto, input: usize) -> Option<Vec<NodeProto>> {
        let value = node.input.get(input)?.clone();
        let output = self.names.fresh(&format!("{value}_as_vector"));
        let mut unsqueeze = NodeProto {
            name: self.names.fresh(&format!("Unsqueeze_{output}")).into(),
            op_type: "Unsqueeze".into(),
            input: vec![value.clone()],
            output: vec![output.clone()],
            ..NodeProto::default()
        };
        // A list of a single number twice, as in a Concat, is two scalars.
        for port in node.input.iter_mut().filter(|port| **port == value) {
            port.clone_from(&output);
        }
        let axes = AttributeProto {
            name: "axes".into(),
            ints: vec![0],
            r#type: Some(AttributeType::Ints as i32),
            ..AttributeProto::default()
        };
        if self.version? < FIRST_AXES_INPUT {
            unsqueeze.attribute.push(axes);
            return Some(vec![unsqueeze]);
        }
        let mut new = Vec::new();
        unsqueeze.input.push(self.constant("axes", tensor(&axes, Elem::INT64, true)?, &mut new));
        new.push(unsqueeze);
        Some(new)
    }

    /// Adds a constant and returns its name. It is the result of a new node, because a function has no
    /// initializers, unless the version has `Constant` for floats only.
    fn constant(&mut self, stem: &str, value: TensorProto, nodes: &mut Vec<NodeProto>) -> String {
        let output = self.names.fresh(stem);
        let is_graph = matches!(self.site.graph.source, Source::Graph(_));
        if is_graph && self.version.is_some_and(|version| version < FIRST_INTEGER_CONSTANT) {
            self.initializers.push(TensorProto { name: output.as_str().into(), ..value });
            return output;
        }
        let value = AttributeProto {
            name: "value".into(),
            t: Some(Box::new(value)),
            r#type: Some(AttributeType::Tensor as i32),
            ..AttributeProto::default()
        };
        nodes.push(NodeProto {
            name: self.names.fresh(&format!("Constant_{output}")).into(),
            op_type: "Constant".into(),
            output: vec![output.clone()],
            attribute: vec![value],
            ..NodeProto::default()
        });
        output
    }

    /// The tensor of an initializer or of a `Constant` node, as the graph sees it.
    fn constant_value(&self, name: &str) -> Option<TensorProto> {
        let mut next = Some(self.site.id);
        while let Some(id) = next {
            if self.site.layout.defines(id, name) {
                return self.value_in(id, name);
            }
            next = self.site.layout.outer(id);
        }
        None
    }

    fn value_in(&self, graph: GraphId, name: &str) -> Option<TensorProto> {
        let graph = self.site.layout.graph(graph)?;
        let own = |tensor: TensorView<'_>| read(bytes::Bytes::copy_from_slice(tensor.bytes())).ok();
        for node in &graph.nodes {
            if node.outputs().flatten().any(|output| output == name) {
                let is_constant =
                    node.op_type().ok()? == "Constant" && canonical(node.domain().ok()?).is_empty();
                let node: NodeProto = read(bytes::Bytes::copy_from_slice(node.bytes())).ok()?;
                let value = node.attribute.into_iter().next().filter(|_| is_constant)?;
                return match value.name() {
                    "value" => value.t.map(|tensor| *tensor),
                    "value_int" | "value_ints" => tensor(&value, Elem::INT64, value.name() == "value_ints"),
                    "value_float" | "value_floats" => {
                        tensor(&value, Elem::FLOAT, value.name() == "value_floats")
                    }
                    _ => None,
                };
            }
        }
        let Source::Graph(view) = graph.source else { return None };
        let mut tensors = view.initializers().flatten();
        own(tensors.find(|tensor| tensor.header().is_ok_and(|header| header.name() == name))?)
    }
}

/// The numbers of an attribute as a tensor; `is_list` gives a single number one axis.
fn tensor(attribute: &AttributeProto, elem: Elem, is_list: bool) -> Option<TensorProto> {
    if !attribute.ref_attr_name.is_empty() {
        return None;
    }
    let ints = || {
        let single = (attribute.r#type == Some(AttributeType::Int as i32)).then(|| attribute.i.unwrap_or(0));
        single.map_or_else(|| attribute.ints.clone(), |it| vec![it])
    };
    let floats = || {
        let single =
            (attribute.r#type == Some(AttributeType::Float as i32)).then(|| attribute.f.unwrap_or(0.0));
        single.map_or_else(|| attribute.floats.clone(), |it| vec![it])
    };
    let is_integral = attribute.r#type == Some(AttributeType::Int as i32)
        || attribute.r#type == Some(AttributeType::Ints as i32);
    let mut tensor = TensorProto { data_type: Some(i32::from(elem.number())), ..TensorProto::default() };
    let count = if is_integral { ints().len() } else { floats().len() };
    if is_list || count != 1 {
        tensor.dims.push(i64::try_from(count).ok()?);
    }
    match (is_integral, elem) {
        (true, Elem::INT64) => tensor.int64_data = ints(),
        (true, Elem::INT32) => {
            tensor.int32_data = ints().into_iter().map(i32::try_from).collect::<Result<_, _>>().ok()?;
        }
        (false, Elem::FLOAT) => tensor.float_data = floats(),
        (false, Elem::DOUBLE) => tensor.double_data = floats().into_iter().map(f64::from).collect(),
        (false, Elem::FLOAT16) => {
            tensor.int32_data =
                floats().into_iter().map(|it| i32::from(f16::from_f32(it).to_bits())).collect();
        }
        (false, Elem::BFLOAT16) => {
            tensor.int32_data =
                floats().into_iter().map(|it| i32::from(bf16::from_f32(it).to_bits())).collect();
        }
        _ => return None,
    }
    Some(tensor)
}

/// A constant as an attribute of a kind.
fn attribute_of(name: &str, kind: AttributeKind, value: &TensorProto) -> Option<AttributeProto> {
    let bytes = value.encode_to_vec();
    let header = TensorView::from_body(&bytes, 0);
    let ints = || header.header().ok()?.int_values(MAX_ITEMS).ok()?;
    let floats = || -> Option<Vec<f32>> {
        let values = header.header().ok()?.float_values(MAX_ITEMS).ok()??;
        // An attribute is a float of 32 bits.
        values.into_iter().map(|it| Some(it as f32).filter(|short| f64::from(*short) == it)).collect()
    };
    let single_int = || ints().and_then(|ints| <[i64; 1]>::try_from(ints).ok()).map(|[it]| it);
    let single_float = || floats().and_then(|floats| <[f32; 1]>::try_from(floats).ok()).map(|[it]| it);
    let attribute =
        AttributeProto { name: name.into(), r#type: Some(kind as i32), ..AttributeProto::default() };
    Some(match kind {
        AttributeKind::Int => AttributeProto { i: Some(single_int()?), ..attribute },
        AttributeKind::Ints => AttributeProto { ints: ints()?, ..attribute },
        AttributeKind::Float => AttributeProto { f: Some(single_float()?), ..attribute },
        AttributeKind::Floats => AttributeProto { floats: floats()?, ..attribute },
        _ => return None,
    })
}
