//! The changes to try, in groups that are tried together.

use std::collections::BTreeMap;

use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::{AttributeProto, NodeProto, TensorProto, read};
use typeloom_solver::diagnostic::graph_path;
use typeloom_solver::diagnostic::text::quote;
use typeloom_solver::elem::Elem;
use typeloom_solver::model::bodies::SolvedBody;
use typeloom_solver::model::{Checked, Options};
use typeloom_solver::program::{GraphId, StepId, StepKind, ValueId};
use typeloom_solver::signature::{AttributeDefault, FormalType, Schema};

use super::Standing;
use crate::proven::tensor;

/// The first IR version whose additions [`needed_ir`] knows.
const OLDEST_IR: i64 = 8;
/// The first version of operators in which a negative axis is allowed everywhere.
const FIRST_NEGATIVE_AXIS: u32 = 11;

/// One change of one node, or of the file.
pub(super) struct Candidate {
    /// The graph and the position of the node; `None` for the file.
    pub(super) node: Option<(GraphId, usize)>,
    /// The path of the graph, for messages.
    pub(super) graph: String,
    pub(super) change: Change,
    /// The change with its reason, for messages.
    pub(super) reason: String,
}

pub(super) enum Change {
    /// Inputs that read new initializers.
    Inputs(Vec<(usize, TensorProto)>),
    /// An attribute that is written, or replaces one of its name.
    SetAttribute(Box<AttributeProto>),
    RemoveAttribute(String),
    IrVersion(i64),
}

/// A node with an issue.
struct Node<'c, 'a> {
    checked: &'c mut Checked<'a>,
    solved: &'c SolvedBody<'a>,
    step: StepId,
    schema: &'a Schema,
}

/// The changes for the nodes with an issue, by operator and kind of change.
pub(super) fn candidates(
    checked: &mut Checked<'_>,
    standing: &Standing,
    options: &Options,
) -> Vec<Vec<Candidate>> {
    let mut groups: BTreeMap<(usize, String, String), Vec<Candidate>> = BTreeMap::new();
    let Some(main) = checked.bodies().into_iter().next() else { return Vec::new() };
    if let Some(newest) = standing.newest_ir
        && needed_ir(checked) <= newest
    {
        let reason = format!("lowered the IR version to {newest}: nothing in the file needs a newer one");
        let change = Change::IrVersion(newest);
        let candidate = Candidate { node: None, graph: String::new(), change, reason };
        groups.insert((0, String::new(), String::new()), vec![candidate]);
    }
    let body = std::sync::Arc::clone(&main.body);
    let (from, to) = body.graph(body.root()).steps;
    for step in (from..to).map(StepId::new) {
        let own = body.step(step);
        let node = (own.graph, own.position as usize);
        if matches!(own.kind, StepKind::Exit(_)) || !standing.nodes.contains(&node) {
            continue;
        }
        let Some(schema) = checked.schema_of(&body, step) else { continue };
        let shown = match own.node.name() {
            Ok(name) if !name.is_empty() => quote(name),
            _ => format!("{} (#{})", quote(&schema.name), own.position),
        };
        let graph = graph_path(&body, own.graph).to_string();
        let mut subject = Node { checked, solved: &main, step, schema };
        let mut found = Vec::new();
        // A seed is not in the file, so values that follow from one are not proved for every run.
        if options.seeds.is_empty() {
            found.extend(subject.constants());
            found.extend(subject.indices());
        }
        found.extend(subject.attributes());
        for (order, kind, change, text) in found {
            let candidate = Candidate {
                node: Some(node),
                graph: graph.clone(),
                change,
                reason: format!("{shown}: {text}"),
            };
            let key = (order, format!("{}::{}", schema.domain, schema.name), kind);
            groups.entry(key).or_default().push(candidate);
        }
    }
    groups.into_values().collect()
}

/// The order of a change, its kind, the change, and its text.
type Found = (usize, String, Change, String);

impl Node<'_, '_> {
    /// The computed inputs with proved integers, as initializers.
    fn constants(&mut self) -> Option<Found> {
        let body = std::sync::Arc::clone(&self.solved.body);
        let mut inputs = Vec::new();
        let mut names = Vec::new();
        for (at, value) in body.inputs(self.step).iter().enumerate() {
            let Some(value) = value.filter(|value| !body.is_stored(*value)) else { continue };
            let Some(tensor) = self.integers(value, None) else { continue };
            names.push(format!("{} = {}", quote(body.value_name(value)), listed(&tensor)));
            inputs.push((at, tensor));
        }
        let is = if names.len() == 1 { "is a constant" } else { "are constants" };
        let text = format!("{} {is}, which the types prove", names.join(", "));
        (!inputs.is_empty()).then(|| (1, "constants".to_owned(), Change::Inputs(inputs), text))
    }

    /// The inputs of a type variable that only constant integers have, in the other width.
    fn indices(&mut self) -> Vec<Found> {
        let schema = self.schema;
        // The result depends on the bits.
        if !schema.domain.is_empty() || &*schema.name == "BitCast" {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (number, variable) in schema.type_vars.iter().enumerate() {
            let uses = |ty: &FormalType| matches!(ty, FormalType::Var(own) if usize::from(*own) == number);
            let allowed = variable.allowed.tensor;
            if schema.outputs.iter().any(|output| uses(&output.ty))
                || !allowed.contains(Elem::INT32)
                || !allowed.contains(Elem::INT64)
            {
                continue;
            }
            if let Some((inputs, to)) = self.converted(&uses) {
                let text = format!("stored the inputs of type `{}` as {to}: all values fit", variable.name);
                found.push((2, format!("type {}", variable.name), Change::Inputs(inputs), text));
            }
        }
        found
    }

    /// The inputs of a type variable in the other width; `None` if one of them is not known or does not fit.
    fn converted(
        &mut self,
        uses: &dyn Fn(&FormalType) -> bool,
    ) -> Option<(Vec<(usize, TensorProto)>, &'static str)> {
        let body = std::sync::Arc::clone(&self.solved.body);
        let mut inputs = Vec::new();
        let mut new = None;
        for (at, value) in body.inputs(self.step).iter().enumerate() {
            let Some(value) = *value else { continue };
            if !self.schema.input(at).is_some_and(|formal| uses(&formal.ty)) {
                continue;
            }
            let to = match self.element(value)? {
                Elem::INT32 => Elem::INT64,
                Elem::INT64 => Elem::INT32,
                _ => return None,
            };
            new = Some(to);
            inputs.push((at, self.integers(value, Some(to))?));
        }
        Some((inputs, new?.onnx_name()?))
    }

    fn element(&mut self, value: ValueId) -> Option<Elem> {
        self.checked.type_within(self.solved, value).tensor()?.elem.single()
    }

    /// The tensor of a value whose integers are proved, in its own type or another one.
    fn integers(&mut self, value: ValueId, to: Option<Elem>) -> Option<TensorProto> {
        let elem = to.or_else(|| self.element(value))?;
        let tensor = tensor(self.checked, value, to).filter(|_| matches!(elem, Elem::INT64 | Elem::INT32))?;
        Some(TensorProto { name: self.solved.body.value_name(value).into(), ..tensor })
    }

    /// Other ways to write the same attributes.
    fn attributes(&mut self) -> Vec<Found> {
        let view = self.solved.body.step(self.step).node;
        let Ok(node) = read::<NodeProto>(bytes::Bytes::copy_from_slice(view.bytes())) else {
            return Vec::new();
        };
        let own: BTreeMap<&str, &AttributeProto> =
            node.attribute.iter().map(|attribute| (attribute.name(), attribute)).collect();
        let mut found = Vec::new();
        for declared in &self.schema.attributes {
            let name = &*declared.name;
            let shown = quote(name);
            let default = declared.default.as_ref().and_then(|default| proto(name, default));
            let default = default.or_else(|| self.of_window(name));
            match (own.get(name), default) {
                (Some(given), Some(default)) if is_same(given, &default) => found.push((
                    3,
                    format!("remove {name}"),
                    Change::RemoveAttribute(name.to_owned()),
                    format!("removed {shown}, which has its default"),
                )),
                (None, Some(default)) => found.push((
                    4,
                    format!("write {name}"),
                    Change::SetAttribute(Box::new(default)),
                    format!("wrote out the default of {shown}"),
                )),
                _ => {}
            }
        }
        found.extend(self.axis(own.get("axis").copied()));
        found
    }

    /// The axis counted from the other end.
    fn axis(&mut self, given: Option<&AttributeProto>) -> Option<Found> {
        const OF_FIRST_INPUT: &[&str] = &[
            "ArgMax",
            "ArgMin",
            "Concat",
            "Flatten",
            "Gather",
            "GatherElements",
            "Hardmax",
            "LayerNormalization",
            "LogSoftmax",
            "LpNormalization",
            "ScatterElements",
            "Softmax",
            "Split",
            "TopK",
        ];
        if !OF_FIRST_INPUT.contains(&&*self.schema.name) || self.schema.since_version < FIRST_NEGATIVE_AXIS {
            return None;
        }
        let rank = i64::try_from(self.rank(0)?).ok()?;
        let axis = match given {
            Some(attribute) => attribute.i?,
            None => match self.schema.attribute("axis")?.default {
                Some(AttributeDefault::Int(axis)) => axis,
                _ => return None,
            },
        };
        let other = if axis < 0 { axis + rank } else { axis - rank };
        // The end of the axes, which `Flatten` allows, has no other name.
        if axis < -rank || axis >= rank {
            return None;
        }
        let text = format!("wrote `axis` = {axis} as {other}, the same axis");
        let attribute = proto("axis", &AttributeDefault::Int(other))?;
        Some((5, "axis".to_owned(), Change::SetAttribute(Box::new(attribute)), text))
    }

    fn rank(&mut self, input: usize) -> Option<usize> {
        let value = self.solved.body.inputs(self.step).get(input).copied().flatten()?;
        let ty = self.checked.type_within(self.solved, value);
        Some(ty.tensor()?.shape.as_ref()?.len())
    }

    /// The default of a list of a window, which the specification gives as text.
    fn of_window(&mut self, name: &str) -> Option<AttributeProto> {
        if !matches!(&*self.schema.name, "Conv" | "ConvTranspose" | "MaxPool" | "AveragePool" | "LpPool") {
            return None;
        }
        let axes = self.rank(0)?.checked_sub(2)?;
        let items = match name {
            "strides" | "dilations" => vec![1; axes],
            "pads" if self.has_no_auto_pad() => vec![0; 2 * axes],
            _ => return None,
        };
        proto(name, &AttributeDefault::Ints(items.into()))
    }

    /// Whether the node gives its padding by numbers.
    fn has_no_auto_pad(&self) -> bool {
        let node = self.solved.body.step(self.step).node;
        let mut given = node.attributes().flatten().filter_map(|attribute| attribute.parse().ok());
        given.all(|attribute| {
            !matches!(attribute.name, "auto_pad" | "output_shape") || attribute.s == Some(b"NOTSET")
        })
    }
}

/// The elements of a tensor for messages.
fn listed(tensor: &TensorProto) -> String {
    const SHOWN: usize = 8;
    let all = tensor.int64_data.iter().copied().chain(tensor.int32_data.iter().map(|item| i64::from(*item)));
    let items: Vec<String> = all.clone().take(SHOWN).map(|item| item.to_string()).collect();
    let rest = if all.count() > SHOWN { ", ..." } else { "" };
    if tensor.dims.is_empty() { items.concat() } else { format!("[{}{rest}]", items.join(", ")) }
}

/// A default as an attribute.
fn proto(name: &str, default: &AttributeDefault) -> Option<AttributeProto> {
    let mut attribute = AttributeProto { name: name.into(), ..AttributeProto::default() };
    let ty = match default {
        AttributeDefault::Int(value) => {
            attribute.i = Some(*value);
            AttributeType::Int
        }
        AttributeDefault::Float(value) => {
            attribute.f = Some(*value);
            AttributeType::Float
        }
        AttributeDefault::String(value) => {
            attribute.s = Some(value.as_bytes().to_vec().into());
            AttributeType::String
        }
        AttributeDefault::Ints(items) => {
            attribute.ints = items.to_vec();
            AttributeType::Ints
        }
        AttributeDefault::Floats(_) | AttributeDefault::Strings(_) => return None,
    };
    attribute.r#type = Some(ty as i32);
    Some(attribute)
}

/// Whether two attributes have the same value. A number that is not written is zero.
fn is_same(given: &AttributeProto, default: &AttributeProto) -> bool {
    given.ref_attr_name.is_empty()
        && given.i.unwrap_or_default() == default.i.unwrap_or_default()
        && given.f.unwrap_or_default().to_bits() == default.f.unwrap_or_default().to_bits()
        && given.s.as_deref().unwrap_or_default() == default.s.as_deref().unwrap_or_default()
        && given.ints == default.ints
}

/// The oldest IR version that has everything in the file, as far as newer ones than [`OLDEST_IR`] go.
fn needed_ir(checked: &mut Checked<'_>) -> i64 {
    let mut needed = OLDEST_IR;
    for body in checked.bodies() {
        for value in body.body.values() {
            let ty = checked.type_within(&body, value);
            for elem in ty.tensors().flat_map(|tensor| tensor.elem.single()) {
                needed = needed.max(match elem.onnx_name().unwrap_or_default() {
                    "float8e4m3fn" | "float8e4m3fnuz" | "float8e5m2" | "float8e5m2fnuz" => 9,
                    "int4" | "uint4" => 10,
                    "float4e2m1" => 11,
                    "float8e8m0" => 12,
                    "int2" | "uint2" => 13,
                    _ => OLDEST_IR,
                });
            }
        }
    }
    needed
}
