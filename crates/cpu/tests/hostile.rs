//! Robustness: operators on unchecked inputs return a result or an error and do not panic.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use typeloom_contracts::datum::Datum;
use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::ops;
use typeloom_cpu::ops::generate::Random;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

const ROUNDS: usize = 400;

const LISTS: &[&str] =
    &["axes", "pads", "strides", "dilations", "kernel_shape", "perm", "shape", "output_shape"];

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

#[test]
fn no_operator_panics_on_inputs_of_other_shapes_and_types() {
    let mut random = Random::new(Some(5.0));
    let mut panicked = BTreeSet::new();
    for operator in ops::all() {
        let name = operator.name();
        for _ in 0..ROUNDS {
            let mut attributes = Attributes::default();
            for name in LISTS.iter().filter(|_| random.bits().is_multiple_of(4)).collect::<Vec<_>>() {
                let list = (0..below(&mut random, 5)).map(|_| number(&mut random)).collect();
                attributes = attributes.with(name, Attribute::Ints(list));
            }
            for name in NUMBERS.iter().filter(|_| random.bits().is_multiple_of(4)).collect::<Vec<_>>() {
                attributes = attributes.with(name, Attribute::Int(number(&mut random)));
            }
            let inputs: Vec<Option<Datum>> = (0..below(&mut random, 6))
                .map(|_| if random.bits().is_multiple_of(8) { None } else { Some(value(&mut random)) })
                .collect();
            let version = [1, 7, 11, 13, 21][below(&mut random, 5)];
            let shown = format!("{name} {version} {attributes:?} {inputs:?}");
            let call = Call { version, attributes: &attributes, inputs, outputs: 1 + below(&mut random, 3) };
            if catch_unwind(AssertUnwindSafe(|| drop(operator.run(call)))).is_err() && panicked.insert(name) {
                show(&shown);
            }
        }
    }
    assert!(panicked.is_empty(), "these panicked: {panicked:?}");
}

#[expect(clippy::print_stderr, reason = "prints the call that panicked")]
fn show(shown: &str) {
    eprintln!("{}", shown.chars().take(600).collect::<String>());
}
