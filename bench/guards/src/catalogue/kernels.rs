//! Kernels of the embedded backend, one call each. The size is the first extent of the input.

use std::hint::black_box;

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::ops::find;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;

use super::{Family, Work, linear};

pub(super) const FAMILIES: &[Family] = &[
    linear("kernel/Add", "rows of 64", 50, |n| called("Add", vec![floats(&[n, 64]), floats(&[n, 64])], &[])),
    linear("kernel/Add, broadcast", "rows of 64", 50, |n| {
        called("Add", vec![floats(&[n, 64]), floats(&[64])], &[])
    }),
    linear("kernel/Exp", "rows of 64", 50, |n| called("Exp", vec![floats(&[n, 64])], &[])),
    linear("kernel/Softmax", "rows of 64", 50, |n| called("Softmax", vec![floats(&[n, 64])], &[])),
    linear("kernel/LayerNormalization", "rows of 64", 50, |n| {
        called("LayerNormalization", vec![floats(&[n, 64]), floats(&[64]), floats(&[64])], &[])
    }),
    linear("kernel/ReduceSum", "rows of 64", 50, |n| {
        called("ReduceSum", vec![floats(&[n, 64]), integers(&[1])], &[])
    }),
    linear("kernel/Transpose", "rows of 64", 50, |n| called("Transpose", vec![floats(&[n, 64])], &[])),
    linear("kernel/Gather", "rows of 64", 50, |n| {
        let rows: Vec<i64> = (0..n as i64).rev().collect();
        called("Gather", vec![floats(&[n, 64]), integers(&rows)], &[])
    }),
    linear("kernel/MatMul", "rows of 64 by 64", 48, |n| {
        called("MatMul", vec![floats(&[n, 64]), floats(&[64, 64])], &[])
    }),
    linear("kernel/MatMulInteger", "rows of 64 by 64", 48, |n| {
        called("MatMulInteger", vec![bytes(&[n, 64]), bytes(&[64, 64])], &[])
    }),
    linear("kernel/Conv", "images of 8 channels", 2, |n| {
        called("Conv", vec![floats(&[n, 8, 16, 16]), floats(&[8, 8, 3, 3])], PADDED)
    }),
    linear("kernel/Conv, depthwise", "images of 8 channels", 2, |n| {
        let grouped = [PADDED, &[("group", Ints::One(8))]].concat();
        called("Conv", vec![floats(&[n, 8, 16, 16]), floats(&[8, 1, 3, 3])], &grouped)
    }),
    linear("kernel/ConvTranspose", "images of 8 channels", 2, |n| {
        called("ConvTranspose", vec![floats(&[n, 8, 8, 8]), floats(&[8, 8, 3, 3])], &[])
    }),
    linear("kernel/ConvInteger", "images of 8 channels", 2, |n| {
        called("ConvInteger", vec![bytes(&[n, 8, 16, 16]), bytes(&[8, 8, 3, 3])], PADDED)
    }),
    linear("kernel/QuantizeLinear", "rows of 64", 50, |n| {
        let zero = AnyTensor::from_scalar(3_u8);
        called("QuantizeLinear", vec![floats(&[n, 64]), AnyTensor::from_scalar(0.5_f32), zero], &[])
    }),
    linear("kernel/MaxPool", "images of 8 channels", 2, |n| {
        called("MaxPool", vec![floats(&[n, 8, 16, 16])], &[("kernel_shape", Ints::Several(&[2, 2]))])
    }),
    linear("kernel/Resize", "images of 8 channels", 2, |n| {
        let sizes = integers(&[n as i64, 8, 32, 32]);
        let inputs = vec![Some(floats(&[n, 8, 16, 16])), None, None, Some(sizes)];
        with_omitted("Resize", inputs, &[])
    }),
    linear("kernel/LSTM", "steps", 4, |n| {
        let hidden = [("hidden_size", Ints::One(16))];
        called("LSTM", vec![floats(&[n, 1, 16]), floats(&[1, 64, 16]), floats(&[1, 64, 16])], &hidden)
    }),
];

/// Attributes of a convolution of 3 by 3 that keeps the extents.
const PADDED: &[(&str, Ints)] = &[("pads", Ints::Several(&[1, 1, 1, 1]))];

/// An attribute.
#[derive(Clone, Copy)]
enum Ints {
    One(i64),
    Several(&'static [i64]),
}

const FITS: &str = "the elements fill the shape";

fn floats(shape: &[usize]) -> AnyTensor {
    let elements = (0..shape.iter().product()).map(|at: usize| (at % 17) as f32 / 8.0 - 1.0).collect();
    AnyTensor::from_vec(shape, elements).expect(FITS)
}

fn bytes(shape: &[usize]) -> AnyTensor {
    let elements = (0..shape.iter().product()).map(|at: usize| (at % 251) as u8).collect();
    AnyTensor::from_vec(shape, elements).expect(FITS)
}

fn integers(values: &[i64]) -> AnyTensor {
    AnyTensor::from_slice(&[values.len()], values).expect(FITS)
}

fn called(op: &'static str, inputs: Vec<AnyTensor>, attributes: &[(&str, Ints)]) -> Work {
    with_omitted(op, inputs.into_iter().map(Some).collect(), attributes)
}

fn with_omitted(op: &'static str, inputs: Vec<Option<AnyTensor>>, attributes: &[(&str, Ints)]) -> Work {
    let operator = find("", op).expect("the operator has a kernel");
    let attributes = attributes.iter().fold(Attributes::default(), |all, (name, value)| match value {
        Ints::One(value) => all.with(name, Attribute::Int(*value)),
        Ints::Several(values) => all.with(name, Attribute::Ints(values.to_vec())),
    });
    Box::new(move || {
        let inputs = inputs.iter().map(|input| input.clone().map(Datum::Tensor)).collect();
        let call = Call { version: 21, attributes: &attributes, inputs, outputs: 1 };
        drop(black_box(operator.run(call).expect("the call is valid")));
    })
}
