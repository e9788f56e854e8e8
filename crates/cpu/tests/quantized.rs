//! Products and convolutions of 8-bit integers compared with those of widened elements, which are exact in
//! `f64`.

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::ops;
use typeloom_cpu::ops::generate::Random;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::element::Element;

#[path = "../src/ops/quantize/tests/random.rs"]
mod random;

use random::{below, bytes};

fn tensor<T: Element>(shape: &[usize], elements: &[T]) -> AnyTensor {
    AnyTensor::from_slice(shape, elements).expect("as many elements as the shape requires")
}

/// The multiples of a scale.
fn rising(count: usize, scale: f32) -> AnyTensor {
    tensor(&[count], &(1..=count).map(|at| scale * at as f32).collect::<Vec<f32>>())
}

fn run(op: &str, attributes: &Attributes, inputs: &[Option<&AnyTensor>]) -> AnyTensor {
    let inputs = inputs.iter().map(|input| input.map(|it| it.clone().into())).collect();
    let call = Call { version: 21, attributes, inputs, outputs: 1 };
    let results = ops::find("", op).expect("the operator is known").run(call);
    results.expect("the call is right")[0].as_tensor().expect("the result is a tensor").clone()
}

fn ints(list: &[usize]) -> Attribute {
    Attribute::Ints(list.iter().map(|it| *it as i64).collect())
}

fn cast(x: &AnyTensor, to: &str) -> AnyTensor {
    let to = Attribute::Bytes(to.as_bytes().to_vec());
    run("Cast", &Attributes::default().with("to", to), &[Some(x)])
}

/// The differences of elements and zero points in `f64`. There is one zero point, or one per index of `axis`.
fn centred(x: &AnyTensor, zero: Option<&AnyTensor>, axis: usize) -> AnyTensor {
    let wide = cast(x, "double");
    let Some(zero) = zero else { return wide };
    let mut shape = vec![1; x.rank()];
    shape[axis] = zero.len();
    let zero = cast(zero, "double").reshape(&shape).expect("as many elements");
    run("Sub", &Attributes::default(), &[Some(&wide), Some(&zero)])
}

/// The definition of requantisation: sums in units of the product of two scales, of which the second is one,
/// or one per index of `axis`, in units of the scale and the zero point of the result.
fn requantised(
    sums: &AnyTensor,
    (scale, scales): (f32, &AnyTensor),
    axis: usize,
    out_scale: f32,
    zero: &AnyTensor,
) -> AnyTensor {
    let inner: usize = sums.shape()[axis + 1..].iter().product();
    let scales = scales.to_vec::<f32>().expect("floats");
    let offset = cast(zero, "double").to_vec::<f64>().expect("doubles")[0];
    let (low, high) = if zero.dtype() == Dtype::I8 { (-128.0, 127.0) } else { (0.0, 255.0) };
    let unit = |(at, sum): (usize, f64)| {
        let scale = f64::from(scale) * f64::from(scales[at / inner % scales.len()]);
        ((sum * scale / f64::from(out_scale)).round_ties_even() + offset).clamp(low, high)
    };
    let units: Vec<f64> = sums.to_vec::<f64>().expect("doubles").into_iter().enumerate().map(unit).collect();
    cast(&tensor(sums.shape(), &units), if zero.dtype() == Dtype::I8 { "int8" } else { "uint8" })
}

/// A zero point that is omitted, a scalar, or one per index of an axis.
fn zero_point(random: &mut Random, x: &AnyTensor, axis: usize) -> Option<AnyTensor> {
    match below(random, 4) {
        0 => None,
        1 => Some(bytes(x.dtype(), &[], random)),
        2 => Some(bytes(x.dtype(), &[x.shape()[axis]], random)),
        _ => {
            let mut shape = vec![1; x.rank()];
            shape[axis] = x.shape()[axis];
            Some(bytes(x.dtype(), &shape, random))
        }
    }
}

#[test]
fn integer_products_equal_products_of_widened_elements() {
    let mut random = Random::new(Some(35.0));
    for case in 0..200 {
        let [m, k, n] = [0; 3].map(|_| 1 + below(&mut random, 40));
        let (a_outer, b_outer): (&[usize], &[usize]) =
            [(&[][..], &[][..]), (&[2, 3], &[]), (&[2, 1], &[3]), (&[3], &[3])][case % 4];
        let types = [Dtype::U8, Dtype::I8];
        let a = bytes(types[below(&mut random, 2)], &[a_outer, &[m, k]].concat(), &mut random);
        let b = bytes(types[below(&mut random, 2)], &[b_outer, &[k, n]].concat(), &mut random);
        let a_zero = zero_point(&mut random, &a, a.rank() - 2);
        let b_zero = zero_point(&mut random, &b, b.rank() - 1);
        let attributes = Attributes::default();
        let inputs = [Some(&a), Some(&b), a_zero.as_ref(), b_zero.as_ref()];
        let sums = run("MatMulInteger", &attributes, &inputs);
        let left = centred(&a, a_zero.as_ref(), a.rank() - 2);
        let right = centred(&b, b_zero.as_ref(), b.rank() - 1);
        let expected = run("MatMul", &attributes, &[Some(&left), Some(&right)]);
        assert_eq!(sums, cast(&expected, "int32"), "case {case}");

        let scale = tensor(&[], &[0.02_f32]);
        let b_scale = if case % 2 == 0 { tensor(&[], &[0.5_f32]) } else { rising(n, 0.003) };
        let zero = bytes(types[below(&mut random, 2)], &[], &mut random);
        let inputs = [
            Some(&a),
            Some(&scale),
            a_zero.as_ref(),
            Some(&b),
            Some(&b_scale),
            b_zero.as_ref(),
            Some(&scale),
            Some(&zero),
        ];
        let quantised = run("QLinearMatMul", &attributes, &inputs);
        let last = expected.rank() - 1;
        assert_eq!(quantised, requantised(&expected, (0.02, &b_scale), last, 0.02, &zero), "case {case}");
    }
}

#[test]
fn integer_convolutions_equal_convolutions_of_widened_elements() {
    let mut random = Random::new(Some(36.0));
    for case in 0..120 {
        let rank = 1 + below(&mut random, 3);
        let group = 1 + below(&mut random, 3);
        let depthwise = case % 3 == 0;
        let group_channels = if depthwise { 1 } else { 1 + below(&mut random, 5) };
        let group_outputs = 1 + below(&mut random, if depthwise { 3 } else { 6 });
        let kernel: Vec<usize> = (0..rank).map(|_| 1 + below(&mut random, 3)).collect();
        let dilations: Vec<usize> = (0..rank).map(|_| 1 + below(&mut random, 2)).collect();
        let strides: Vec<usize> = (0..rank).map(|_| 1 + below(&mut random, 2)).collect();
        let pads: Vec<usize> = (0..2 * rank).map(|_| below(&mut random, 3)).collect();
        let largest = [140, 12, 6][rank - 1];
        let input: Vec<usize> = (0..rank).map(|_| 5 + below(&mut random, largest)).collect();
        let types = [Dtype::U8, Dtype::I8];
        let x_shape = [&[2, group * group_channels], &input[..]].concat();
        let w_shape = [&[group * group_outputs, group_channels], &kernel[..]].concat();
        let x = bytes(types[below(&mut random, 2)], &x_shape, &mut random);
        let w = bytes(types[below(&mut random, 2)], &w_shape, &mut random);
        let x_zero = (case % 2 == 0).then(|| bytes(x.dtype(), &[], &mut random));
        let w_zero = zero_point(&mut random, &w, 0).filter(|zero| zero.rank() < 2);
        let attributes = Attributes::default()
            .with("group", Attribute::Int(group as i64))
            .with("dilations", ints(&dilations))
            .with("strides", ints(&strides))
            .with("pads", ints(&pads));
        let inputs = [Some(&x), Some(&w), x_zero.as_ref(), w_zero.as_ref()];
        let sums = run("ConvInteger", &attributes, &inputs);
        let wide_x = centred(&x, x_zero.as_ref(), 1);
        let wide_w = centred(&w, w_zero.as_ref(), 0);
        let expected = run("Conv", &attributes, &[Some(&wide_x), Some(&wide_w)]);
        assert_eq!(sums, cast(&expected, "int32"), "case {case}: {x_shape:?} by {w_shape:?}");

        let channels = w_shape[0];
        let bias: Vec<i32> = (0..channels).map(|_| below(&mut random, 4000) as i32 - 2000).collect();
        let bias = (case % 4 < 2).then(|| tensor(&[channels], &bias));
        let scale = tensor(&[], &[0.25_f32]);
        let w_scale = if case % 2 == 0 { tensor(&[], &[0.03_f32]) } else { rising(channels, 0.01) };
        let zero = bytes(types[below(&mut random, 2)], &[], &mut random);
        let x_zero = x_zero.unwrap_or_else(|| bytes(x.dtype(), &[], &mut random));
        let w_zero = w_zero.unwrap_or_else(|| bytes(w.dtype(), &[], &mut random));
        let inputs = [
            Some(&x),
            Some(&scale),
            Some(&x_zero),
            Some(&w),
            Some(&w_scale),
            Some(&w_zero),
            Some(&scale),
            Some(&zero),
            bias.as_ref(),
        ];
        let quantised = run("QLinearConv", &attributes, &inputs);
        let wide_x = centred(&x, Some(&x_zero), 1);
        let wide_w = centred(&w, Some(&w_zero), 0);
        let wide_bias = bias.as_ref().map(|bias| cast(bias, "double"));
        let sums = run("Conv", &attributes, &[Some(&wide_x), Some(&wide_w), wide_bias.as_ref()]);
        assert_eq!(quantised, requantised(&sums, (0.25, &w_scale), 1, 0.25, &zero), "case {case}");
    }
}
