//! Results do not depend on the number of threads, to the last bit. The operands are large enough to be
//! split.

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::ops;
use typeloom_cpu::ops::generate::Random;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_testing::number;

fn floats(shape: &[usize], random: &mut Random) -> AnyTensor {
    let elements: Vec<f32> =
        (0..shape.iter().product()).map(|_| (random.uniform() * 2.0 - 1.0) as f32).collect();
    AnyTensor::from_slice(shape, &elements).expect("as many elements as the shape requires")
}

fn run(op: &str, attributes: &Attributes, inputs: &[AnyTensor]) -> Vec<Vec<u8>> {
    let inputs = inputs.iter().map(|input| Some(input.clone().into())).collect();
    let call = Call { version: 23, attributes, inputs, outputs: 1 };
    let results = ops::find("", op).expect("the operator is known").run(call);
    let results = results.unwrap_or_else(|error| panic!("{op} with {attributes:?}: {error}"));
    results.iter().map(|result| result.as_tensor().expect("a tensor").bytes().to_vec()).collect()
}

/// An operator, its lists of integers, its other attributes, and the shapes of its inputs.
type Case<'a> = (&'a str, &'a [(&'a str, &'a [i64])], &'a [(&'a str, i64)], &'a [&'a [usize]]);

const CASES: &[Case<'_>] = &[
    ("Conv", &[("pads", &[1, 1, 1, 1])], &[], &[&[1, 32, 28, 28], &[32, 32, 3, 3]]),
    ("Conv", &[("strides", &[2, 2])], &[], &[&[1, 64, 40, 40], &[96, 64, 1, 1]]),
    ("Conv", &[], &[], &[&[1, 512, 7, 7], &[128, 512, 1, 1]]),
    ("Conv", &[("pads", &[1, 1, 1, 1])], &[("group", 64)], &[&[1, 64, 40, 40], &[64, 1, 3, 3]]),
    ("ConvTranspose", &[("strides", &[2, 2])], &[], &[&[1, 32, 24, 24], &[32, 32, 3, 3]]),
    ("MaxPool", &[("kernel_shape", &[3, 3]), ("strides", &[2, 2])], &[], &[&[1, 64, 57, 57]]),
    ("AveragePool", &[("kernel_shape", &[3, 3])], &[], &[&[1, 64, 40, 40]]),
    ("GlobalAveragePool", &[], &[], &[&[1, 64, 50, 50]]),
    ("Concat", &[], &[("axis", 1)], &[&[1, 64, 55, 55], &[1, 64, 55, 55]]),
    ("Concat", &[], &[("axis", 2)], &[&[30, 50, 33], &[30, 50, 19]]),
    ("MatMul", &[], &[], &[&[150, 150], &[150, 150]]),
    ("MatMul", &[], &[], &[&[12, 70, 64], &[12, 64, 70]]),
    ("MatMul", &[], &[], &[&[1, 1500], &[1500, 1500]]),
    ("Gemm", &[], &[("transB", 1)], &[&[1, 1500], &[1500, 1500], &[1500]]),
    ("Attention", &[], &[], &[&[1, 8, 96, 32], &[1, 8, 96, 32], &[1, 8, 96, 32]]),
    ("Softmax", &[], &[("axis", -1)], &[&[300, 300]]),
    ("LogSoftmax", &[], &[("axis", 1)], &[&[40, 50, 50]]),
    ("LayerNormalization", &[], &[("axis", -1)], &[&[700, 500], &[500], &[500]]),
    ("InstanceNormalization", &[], &[], &[&[2, 40, 60, 60], &[40], &[40]]),
    ("ReduceMean", &[("axes", &[1])], &[], &[&[50, 60, 50]]),
    ("ReduceSum", &[("axes", &[0])], &[], &[&[20, 10_000]]),
    ("ReduceMax", &[("axes", &[1])], &[], &[&[3, 40, 3001]]),
    ("ReduceLogSumExp", &[("axes", &[2])], &[], &[&[50, 60, 50]]),
    ("ArgMax", &[], &[("axis", 0)], &[&[20, 10_000]]),
    ("ArgMax", &[], &[("axis", 1)], &[&[50, 60, 50]]),
    ("Transpose", &[("perm", &[1, 0])], &[], &[&[600, 500]]),
    ("Tanh", &[], &[], &[&[300, 300]]),
    ("Atan", &[], &[], &[&[300, 300]]),
    ("Greater", &[], &[], &[&[300, 500], &[500]]),
    ("Less", &[], &[], &[&[300, 500], &[300, 500]]),
    ("Gelu", &[], &[], &[&[300, 300]]),
    ("Add", &[], &[], &[&[300, 500], &[500]]),
    ("Mul", &[], &[], &[&[300, 500], &[300, 1]]),
    ("Cast", &[], &[("to", 10)], &[&[600, 500]]),
    ("LSTM", &[], &[("hidden_size", 48)], &[&[60, 8, 64], &[1, 192, 64], &[1, 192, 48]]),
];

#[test]
fn results_are_the_same_bits_with_any_number_of_threads() {
    let mut random = Random::new(Some(1.0));
    for (op, lists, numbers, shapes) in CASES {
        let inputs: Vec<AnyTensor> = shapes.iter().map(|shape| floats(shape, &mut random)).collect();
        let mut attributes = Attributes::default();
        for (name, list) in *lists {
            attributes = attributes.with(name, Attribute::Ints(list.to_vec()));
        }
        for (name, number) in *numbers {
            attributes = attributes.with(name, Attribute::Int(*number));
        }
        let inputs = match lists.first() {
            Some(("axes", axes)) => [&inputs[..], &[AnyTensor::from(*axes)]].concat(),
            Some(_) | None => inputs,
        };
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
            pool.install(|| run(op, &attributes, &inputs))
        };
        let expected = with(1);
        // Outside of a pool, the caller computes tasks too.
        assert!(run(op, &attributes, &inputs) == expected, "{op} {lists:?} {shapes:?} outside of a pool");
        for &threads in number(&[3][..], &[2, 3, 5]) {
            assert!(with(threads) == expected, "{op} {lists:?} {shapes:?} with {threads} threads");
        }
    }
}
