//! Robustness: operators on unchecked inputs return a result or an error and do not panic.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::ops;
use typeloom_cpu::ops::generate::Random;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

/// The number of random calls of a test.
fn rounds() -> usize {
    typeloom_testing::number(60, 400)
}

const LISTS: &[&str] = &[
    "axes",
    "pads",
    "strides",
    "dilations",
    "kernel_shape",
    "perm",
    "shape",
    "output_shape",
    "qkv_hidden_sizes",
    "inputdimensions",
];

/// Lists of integers that describe the same nodes, leaves or classes, so that some calls have equal lengths.
const PARALLEL_LISTS: &[&str] = &[
    "nodes_treeids",
    "nodes_nodeids",
    "nodes_featureids",
    "nodes_truenodeids",
    "nodes_falsenodeids",
    "nodes_trueleafs",
    "nodes_falseleafs",
    "nodes_missing_value_tracks_true",
    "tree_roots",
    "leaf_targetids",
    "target_ids",
    "target_nodeids",
    "target_treeids",
    "class_ids",
    "class_nodeids",
    "class_treeids",
    "classlabels_int64s",
    "classlabels_ints",
    "vectors_per_class",
    "cats_int64s",
    "keys_int64s",
    "values_int64s",
    "imputed_value_int64s",
];

const FLOATS: &[&str] = &[
    "nodes_values",
    "target_weights",
    "class_weights",
    "base_values",
    "coefficients",
    "intercepts",
    "rho",
    "prob_a",
    "prob_b",
    "support_vectors",
    "kernel_params",
    "scale",
    "offset",
    "imputed_value_floats",
    "keys_floats",
    "values_floats",
    "activation_params",
];

/// Attributes with a text, and a valid one for each.
const TEXTS: &[(&str, &str)] = &[
    ("kernel_type", "RBF"),
    ("post_transform", "SOFTMAX"),
    ("aggregate_function", "MIN"),
    ("norm", "L1"),
    ("activation", "Clip"),
    ("direction", "bidirectional"),
    ("mode", "nearest"),
    ("update_rule", "delta"),
];

const NAMES: &[&str] =
    &["cats_strings", "keys_strings", "values_strings", "classlabels_strings", "classes_strings"];

const NUMBERS: &[&str] = &[
    "axis",
    "to",
    "group",
    "k",
    "ceil_mode",
    "keepdims",
    "num_groups",
    "size",
    "blocksize",
    "q_num_heads",
    "kv_num_heads",
    "is_causal",
    "layout",
    "sampling_ratio",
    "batch_dims",
    "block_size",
    "allowzero",
    "onesided",
    "num_heads",
    "kv_num_heads",
    "n_targets",
    "n_supports",
    "targets",
    "K",
    "N",
    "bits",
    "quant_type",
    "opset",
    "hidden_size",
    "ngram_size",
    "step",
    "local_window_size",
    "do_rotary",
    "rotary_embedding_dim",
    "channels_last",
    "unidirectional",
    "transA",
    "transBatchA",
    "post_transform",
    "aggregate_function",
    "gather_axis",
    "quantize_axis",
    "input_forget",
    "sparse_block_size",
    "past_present_share_buffer",
    "state_window",
];

fn below(random: &mut Random, limit: usize) -> usize {
    usize::try_from(random.bits() % limit as u64).expect("the limit is small")
}

fn number(random: &mut Random) -> i64 {
    [-3, -1, 0, 1, 2, 3, 7, i64::MAX, i64::MIN][below(random, 9)]
}

fn value(random: &mut Random) -> Datum {
    let shape: Vec<usize> = (0..below(random, 5)).map(|_| below(random, 4)).collect();
    let dtypes = [
        Dtype::F32,
        Dtype::F32,
        Dtype::F32,
        Dtype::I64,
        Dtype::I64,
        Dtype::F16,
        Dtype::U8,
        Dtype::Bool,
        Dtype::String,
    ];
    let dtype = dtypes[below(random, dtypes.len())];
    let count: usize = shape.iter().product();
    let tensor = match dtype {
        Dtype::I64 => {
            let elements: Vec<i64> = (0..count).map(|_| number(random)).collect();
            AnyTensor::from_slice(&shape, &elements)
        }
        Dtype::F32 => {
            let elements: Vec<f32> = (0..count)
                .map(|_| [0.0, -1.5, 2.0, f32::NAN, f32::INFINITY, 1e30][below(random, 6)])
                .collect();
            AnyTensor::from_slice(&shape, &elements)
        }
        other => AnyTensor::zeros(other, &shape),
    };
    let tensor = Datum::Tensor(tensor.expect("the shape is small"));
    if random.bits().is_multiple_of(8) { Datum::Sequence(vec![tensor.clone(), tensor]) } else { tensor }
}

/// Adds attributes of models. Half of the calls have lists of one length, with small indices.
fn learned(random: &mut Random, mut attributes: Attributes) -> Attributes {
    let length = random.bits().is_multiple_of(2).then(|| below(random, 4));
    for name in PARALLEL_LISTS.iter().filter(|_| !random.bits().is_multiple_of(8)).collect::<Vec<_>>() {
        let count = length.unwrap_or_else(|| below(random, 4));
        let item =
            |random: &mut Random| if length.is_some() { below(random, 3) as i64 } else { number(random) };
        let list = (0..count).map(|_| item(random)).collect();
        attributes = attributes.with(name, Attribute::Ints(list));
    }
    for name in FLOATS.iter().filter(|_| !random.bits().is_multiple_of(4)).collect::<Vec<_>>() {
        let count = length.unwrap_or_else(|| below(random, 7));
        let list = (0..count).map(|_| [0.0, -1.5, 2.0, f32::NAN, f32::INFINITY][below(random, 5)]).collect();
        attributes = attributes.with(name, Attribute::Floats(list));
    }
    let modes = ["BRANCH_LEQ", "BRANCH_GT", "BRANCH_EQ", "LEAF", "LEAF", "?"];
    let list = (0..length.unwrap_or(2)).map(|_| modes[below(random, modes.len())].into()).collect();
    attributes = attributes.with("nodes_modes", Attribute::Strings(list));
    if random.bits().is_multiple_of(2) {
        let modes: Vec<u8> = (0..length.unwrap_or(2)).map(|_| below(random, 8) as u8).collect();
        attributes = attributes.with("nodes_modes", Attribute::Tensor(AnyTensor::from(modes)));
        for name in ["nodes_splits", "leaf_weights", "membership_values"] {
            let list = AnyTensor::from(vec![1.0_f32; length.unwrap_or(2)]);
            attributes = attributes.with(name, Attribute::Tensor(list));
        }
    }
    for (name, text) in TEXTS.iter().filter(|_| random.bits().is_multiple_of(3)).collect::<Vec<_>>() {
        attributes = attributes.with(name, Attribute::Bytes((*text).into()));
    }
    for name in NAMES.iter().filter(|_| random.bits().is_multiple_of(3)).collect::<Vec<_>>() {
        let list = (0..length.unwrap_or(2)).map(|at| format!("c{at}").into_bytes()).collect();
        attributes = attributes.with(name, Attribute::Strings(list));
    }
    attributes
}

#[test]
fn no_operator_panics_on_inputs_of_other_shapes_and_types() {
    let mut random = Random::new(Some(5.0));
    let mut panicked = BTreeSet::new();
    for operator in ops::all() {
        let name = operator.name();
        for _ in 0..rounds() {
            let mut attributes = Attributes::default();
            for name in LISTS.iter().filter(|_| random.bits().is_multiple_of(4)).collect::<Vec<_>>() {
                let list = (0..below(&mut random, 5)).map(|_| number(&mut random)).collect();
                attributes = attributes.with(name, Attribute::Ints(list));
            }
            for name in NUMBERS.iter().filter(|_| random.bits().is_multiple_of(4)).collect::<Vec<_>>() {
                attributes = attributes.with(name, Attribute::Int(number(&mut random)));
            }
            if random.bits().is_multiple_of(2) {
                attributes = learned(&mut random, attributes);
            }
            let most = if operator.domain().is_empty() { 6 } else { 13 };
            let inputs: Vec<Option<Datum>> = (0..below(&mut random, most))
                .map(|_| if random.bits().is_multiple_of(8) { None } else { Some(value(&mut random)) })
                .collect();
            let version = [1, 7, 11, 13, 21][below(&mut random, 5)];
            let shown = inputs.clone();
            let call = Call { version, attributes: &attributes, inputs, outputs: 1 + below(&mut random, 3) };
            if catch_unwind(AssertUnwindSafe(|| drop(operator.run(call)))).is_err() && panicked.insert(name) {
                show(&format!("{name} {version} {attributes:?} {shown:?}"));
            }
        }
    }
    assert!(panicked.is_empty(), "these panicked: {panicked:?}");
}

#[expect(clippy::print_stderr, reason = "prints the call that panicked")]
fn show(shown: &str) {
    eprintln!("{}", shown.chars().take(600).collect::<String>());
}

#[test]
fn unpooling_without_channels_and_to_an_impossible_extent_is_an_error() {
    let unpool = |shape: &[usize], kernel: Vec<i64>, stride: i64| {
        let strides = vec![stride; kernel.len()];
        let attributes = Attributes::default()
            .with("kernel_shape", Attribute::Ints(kernel))
            .with("strides", Attribute::Ints(strides));
        let count = shape.iter().product();
        let x = AnyTensor::from_slice(shape, &vec![0.0_f32; count])
            .expect("as many elements as the shape requires");
        let indices = AnyTensor::from_slice(shape, &vec![0_i64; count])
            .expect("as many elements as the shape requires");
        let call = Call {
            version: 11,
            attributes: &attributes,
            inputs: vec![Some(x.into()), Some(indices.into())],
            outputs: 1,
        };
        ops::find("", "MaxUnpool").expect("the operator is known").run(call).is_ok()
    };
    assert!(unpool(&[1, 1, 2], vec![2], 2));
    assert!(!unpool(&[], vec![], 1));
    assert!(!unpool(&[2], vec![], 1));
    assert!(!unpool(&[1, 0, 1 << 40], vec![i64::MAX], (1 << 31) - 1));
}

#[test]
fn more_groups_than_channels_are_an_error_without_channels_too() {
    for (outputs, group) in [(0, i64::MAX), (0, 2), (1 << 40, 1 << 40)] {
        let attributes = Attributes::default().with("group", Attribute::Int(group));
        for (name, dtype) in [("Conv", Dtype::F32), ("ConvInteger", Dtype::U8), ("ConvTranspose", Dtype::F32)]
        {
            let tensor = |shape: [usize; 3]| AnyTensor::zeros(dtype, &shape).expect("no elements");
            let inputs = vec![Some(tensor([1, 0, 1]).into()), Some(tensor([outputs, 0, 1]).into())];
            let call = Call { version: 21, attributes: &attributes, inputs, outputs: 1 };
            let result = ops::find("", name).expect("the operator is known").run(call);
            assert!(result.is_err(), "{name} {outputs} {group}");
        }
    }
}

/// Calls an operator of the newest version.
fn call(
    name: &str,
    attributes: &Attributes,
    inputs: Vec<AnyTensor>,
) -> Result<Vec<Datum>, typeloom_cpu::error::KernelErrorKind> {
    let inputs = inputs.into_iter().map(|tensor| Some(tensor.into())).collect();
    let call = Call { version: 21, attributes, inputs, outputs: 2 };
    ops::find("", name).expect("the operator is known").run(call).map_err(|error| error.kind)
}

fn zeros(dtype: Dtype, shape: &[usize]) -> AnyTensor {
    AnyTensor::zeros(dtype, shape).expect("the tensor is small")
}

#[test]
fn a_call_with_too_much_work_does_not_start() {
    let none = Attributes::default();
    let ints = |name: &str, list: &[i64]| Attributes::default().with(name, Attribute::Ints(list.to_vec()));
    let floats = |shape: &[usize]| zeros(Dtype::F32, shape);
    let calls = [
        ("MatMul", none.clone(), vec![floats(&[3000, 3000]), floats(&[3000, 3000])]),
        ("Conv", none.clone(), vec![floats(&[1, 1, 600, 600]), floats(&[1, 1, 300, 300])]),
        ("ConvTranspose", none.clone(), vec![floats(&[1, 1, 100, 100]), floats(&[1, 1, 100, 100])]),
        ("MaxPool", ints("kernel_shape", &[300, 300]), vec![floats(&[1, 1, 600, 600])]),
        ("AveragePool", ints("kernel_shape", &[300, 300]), vec![floats(&[1, 1, 600, 600])]),
        ("Det", none.clone(), vec![floats(&[700, 700])]),
        ("LRN", none.with("size", Attribute::Int(5000)), vec![floats(&[1, 5000, 100])]),
    ];
    for (name, attributes, inputs) in calls {
        let result = typeloom_cpu::work::within(1 << 23, || call(name, &attributes, inputs));
        let is_refused = matches!(result, Err(typeloom_cpu::error::KernelErrorKind::TooMuchWork { .. }));
        assert!(is_refused, "{name}: {result:?}");
    }
}

#[test]
fn tensors_without_elements_are_not_iterated() {
    let none = Attributes::default();
    let axis = |axis| Attributes::default().with("axis", Attribute::Int(axis));
    for shape in [[1 << 29, 0], [0, 1 << 29]] {
        let x = || zeros(Dtype::F32, &shape);
        assert_eq!(call("Add", &none, vec![x(), x()]).map(|all| all.len()), Ok(1), "{shape:?}");
        let order = Attributes::default().with("perm", Attribute::Ints(vec![1, 0]));
        assert!(call("Transpose", &order, vec![x()]).is_ok(), "{shape:?}");
        assert!(call("Concat", &axis(0), vec![x(), x()]).is_ok(), "{shape:?}");
        let indices = zeros(Dtype::I64, &shape);
        assert!(call("GatherElements", &axis(1), vec![x(), indices]).is_ok(), "{shape:?}");
        let wide = AnyTensor::from([0_i64, 1 << 28, 0, 1 << 28]);
        let mode = Attributes::default().with("mode", Attribute::Bytes(b"reflect".to_vec()));
        assert!(call("Pad", &mode, vec![zeros(Dtype::F32, &[0, 3]), wide]).is_ok());
        // Beyond the bound of extents next to a 0.
        assert!(call("Add", &none, vec![zeros(Dtype::F32, &[0, 1 << 40]), x()]).is_err());
    }
}

#[test]
fn extreme_numbers_of_mels_and_outputs_are_computed_or_refused() {
    let number = |value: f32| AnyTensor::from_scalar(value);
    let integer = |value: i64| AnyTensor::from_scalar(value);
    let inputs = vec![integer(10), integer(100), integer(1), number(-1e30), number(1e30)];
    assert!(call("MelWeightMatrix", &Attributes::default(), inputs).is_ok());
    let kernel = Attributes::default().with("kernel_shape", Attribute::Ints(vec![1, 1]));
    let shape = AnyTensor::from([1_i64, 1, 1 << 62, 1 << 62]);
    let inputs = vec![zeros(Dtype::F32, &[1, 1, 1, 1]), zeros(Dtype::I64, &[1, 1, 1, 1]), shape];
    assert!(call("MaxUnpool", &kernel, inputs).is_err());
}
