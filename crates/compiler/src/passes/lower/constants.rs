//! Reading and encoding of constants for the rules.

use half::{bf16, f16};
use typeloom_module::{Map, Set};
use typeloom_onnx::messages::TensorProto;
use typeloom_onnx::prost::Message as _;
use typeloom_onnx::view::TensorView;
use typeloom_program::program::{Graph, Node, Program, ValueId};
use typeloom_types::dtype::Dtype;

/// Maximum number of elements of a constant that rules read.
const MAX_NUMBERS: usize = 4096;

/// The small constants of a program.
#[derive(Default)]
pub(super) struct Constants {
    known: Map<ValueId, Vec<f64>>,
}

impl Constants {
    pub(super) fn of(program: &Program) -> Self {
        let mut constants = Self::default();
        for graph in program.graphs_in(program.main()) {
            let Graph { inputs, initializers, nodes, .. } = &program[graph];
            let inputs: Set<ValueId> = inputs.iter().map(|input| input.value).collect();
            for (value, tensor) in initializers.iter().filter(|(value, _)| !inputs.contains(value)) {
                constants.add(*value, numbers_of(tensor));
            }
            for node in nodes.iter().map(|node| &program[*node]).filter(|node| node.op == "Constant") {
                if let [Some(output)] = node.outputs[..] {
                    constants.add(output, of_node(node));
                }
            }
        }
        constants
    }

    fn add(&mut self, value: ValueId, numbers: Option<Vec<f64>>) {
        self.known.extend(numbers.map(|numbers| (value, numbers)));
    }

    pub(super) fn numbers(&self, value: ValueId) -> Option<Vec<f64>> {
        self.known.get(&value).cloned()
    }
}

fn of_node(node: &Node) -> Option<Vec<f64>> {
    let [attribute] = &node.attributes[..] else { return None };
    match attribute.name() {
        "value" => numbers_of(attribute.t.as_deref()?),
        "value_int" => Some(vec![attribute.i() as f64]),
        "value_ints" => Some(attribute.ints.iter().map(|value| *value as f64).collect()),
        "value_float" => Some(vec![f64::from(attribute.f())]),
        "value_floats" => Some(attribute.floats.iter().map(|value| f64::from(*value)).collect()),
        _ => None,
    }
}

/// Returns the numbers of a small tensor; `None` if a double cannot represent one of them.
pub(super) fn numbers_of(tensor: &TensorProto) -> Option<Vec<f64>> {
    let count = tensor
        .dims
        .iter()
        .try_fold(1_usize, |count, extent| count.checked_mul(usize::try_from(*extent).ok()?))?;
    if count > MAX_NUMBERS || !tensor.external_data.is_empty() {
        return None;
    }
    let bytes = tensor.encode_to_vec();
    let view = TensorView::from_body(&bytes, 0);
    let exact = |value: i64| (value.unsigned_abs() <= 1 << 53).then_some(value as f64);
    match view.int_values(MAX_NUMBERS).ok()? {
        Some(integers) => integers.into_iter().map(exact).collect(),
        None => view.float_values(MAX_NUMBERS).ok()?,
    }
}

/// Encodes numbers as the bytes of a tensor; `None` for element types that no rule uses.
pub(super) fn bytes_of(dtype: Dtype, values: &[f64]) -> Option<Vec<u8>> {
    fn encode<const N: usize>(values: &[f64], bytes: impl Fn(f64) -> [u8; N]) -> Vec<u8> {
        values.iter().flat_map(|value| bytes(*value)).collect()
    }
    Some(match dtype {
        Dtype::F32 => encode(values, |value| (value as f32).to_le_bytes()),
        Dtype::F64 => encode(values, f64::to_le_bytes),
        Dtype::F16 => encode(values, |value| f16::from_f64(value).to_le_bytes()),
        Dtype::BF16 => encode(values, |value| bf16::from_f64(value).to_le_bytes()),
        Dtype::I8 => encode(values, |value| (value as i8).to_le_bytes()),
        Dtype::I16 => encode(values, |value| (value as i16).to_le_bytes()),
        Dtype::I32 => encode(values, |value| (value as i32).to_le_bytes()),
        Dtype::I64 => encode(values, |value| (value as i64).to_le_bytes()),
        Dtype::U8 => encode(values, |value| (value as u8).to_le_bytes()),
        Dtype::U16 => encode(values, |value| (value as u16).to_le_bytes()),
        Dtype::U32 => encode(values, |value| (value as u32).to_le_bytes()),
        Dtype::U64 => encode(values, |value| (value as u64).to_le_bytes()),
        Dtype::Bool => encode(values, |value| [u8::from(value != 0.0)]),
        _ => return None,
    })
}
