//! The direct paths compared with the general ones, which widen elements to `f64` or to 32-bit integers.

use super::requantize::{Lanes, Requantizer};
use super::*;
use crate::attributes::{Attribute, Attributes};
use crate::ops::conv::convolve;
use crate::ops::generate::Random;
use crate::ops::matmul::{centred, multiply};
use crate::ops::{conv, matmul, named};

fn below(random: &mut Random, limit: usize) -> usize {
    usize::try_from(random.bits() % limit as u64).expect("the limit is small")
}

/// Floats, of which some are ties, infinite or NaN.
fn floats(random: &mut Random, len: usize) -> Vec<f32> {
    let mut float = || match random.bits() % 16 {
        0 => [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e30, -1e30][below(random, 6)],
        1..=5 => (below(random, 600) as f32 - 300.0) / 2.0,
        _ => (below(random, 1 << 20) as f32 - f32::from(1_u16 << 15) * 16.0) / 3000.0,
    };
    (0..len).map(|_| float()).collect()
}

fn scales(random: &mut Random, len: usize) -> Vec<f32> {
    let mut scale = || match random.bits() % 8 {
        0 => 1.0,
        1 => 0.5,
        2 => [0.0, f32::NAN, f32::INFINITY, 1e-40][below(random, 4)],
        _ => (below(random, 1 << 16) + 1) as f32 / 100_000.0,
    };
    (0..len).map(|_| scale()).collect()
}

fn bytes(dtype: Dtype, shape: &[usize], random: &mut Random) -> AnyTensor {
    let len = shape.iter().product();
    let data: Vec<u8> = (0..len)
        .map(|_| match random.bits() % 4 {
            0 => [0, 127, 128, 255][below(random, 4)],
            _ => below(random, 256) as u8,
        })
        .collect();
    AnyTensor::from_le_bytes(dtype, shape, &data).expect("as many bytes as the shape requires")
}

fn tensor<T: typeloom_types::element::Element>(shape: &[usize], elements: &[T]) -> AnyTensor {
    AnyTensor::from_slice(shape, elements).expect("as many elements as the shape requires")
}

fn call<'a>(attributes: &'a Attributes, inputs: &[Option<&AnyTensor>]) -> Call<'a> {
    let inputs = inputs.iter().map(|input| input.map(|it| it.clone().into())).collect();
    Call { version: 21, attributes, inputs, outputs: 1 }
}

fn run(op: &str, attributes: &Attributes, inputs: &[Option<&AnyTensor>]) -> AnyTensor {
    let results = named(&[OPERATORS, conv::OPERATORS, matmul::OPERATORS], op).run(call(attributes, inputs));
    results.expect("the call is right")[0].as_tensor().expect("the result is a tensor").clone()
}

fn ints(list: &[usize]) -> Attribute {
    Attribute::Ints(list.iter().map(|it| *it as i64).collect())
}

/// Bits of the elements, with one NaN.
fn bits(tensor: &AnyTensor) -> Vec<u32> {
    match tensor.as_slice::<f32>() {
        Ok(values) => values.iter().map(|it| if it.is_nan() { u32::MAX } else { it.to_bits() }).collect(),
        Err(_) => tensor.bytes().iter().map(|byte| u32::from(*byte)).collect(),
    }
}

/// Shape of scales and attributes of one of the layouts.
fn layouts(shape: &[usize], random: &mut Random) -> (Vec<usize>, Attributes) {
    let axis = below(random, shape.len());
    let attributes = Attributes::default().with("axis", Attribute::Int(axis as i64));
    match below(random, 3) {
        0 => (vec![], attributes),
        1 => (vec![shape[axis]], attributes),
        _ => {
            let block = below(random, 3) + 1;
            let mut scales = shape.to_vec();
            scales[axis] = shape[axis].div_ceil(block);
            (scales, attributes.with("block_size", Attribute::Int(block as i64)))
        }
    }
}

#[test]
fn direct_quantisation_equals_the_general_path() {
    let mut random = Random::new(Some(31.0));
    for case in 0..400 {
        let shape: Vec<usize> = (0..1 + below(&mut random, 3)).map(|_| 1 + below(&mut random, 7)).collect();
        let (scale_shape, attributes) = layouts(&shape, &mut random);
        let dtype = [Dtype::U8, Dtype::I8][case % 2];
        let len = scale_shape.iter().product();
        let x = tensor(&shape, &floats(&mut random, shape.iter().product()));
        let scale = tensor(&scale_shape, &scales(&mut random, len));
        let zero = bytes(dtype, &scale_shape, &mut random);
        let inputs = [Some(&x), Some(&scale), Some(&zero)];
        let fast = run("QuantizeLinear", &attributes, &inputs);
        let call = call(&attributes, &inputs);
        let layout = layout(&call, &x, &scale).expect("the scales fit");
        let general = quantize_any(&call, layout, dtype, Dtype::F32).expect("the call is right");
        assert_eq!(fast.dtype(), dtype);
        assert_eq!(fast.bytes(), general.bytes(), "case {case}: {shape:?} by {scale_shape:?}");
    }
}

#[test]
fn direct_dequantisation_equals_the_general_path() {
    let mut random = Random::new(Some(32.0));
    for case in 0..400 {
        let shape: Vec<usize> = (0..1 + below(&mut random, 3)).map(|_| 1 + below(&mut random, 7)).collect();
        let (scale_shape, attributes) = layouts(&shape, &mut random);
        let len = scale_shape.iter().product();
        let scale = tensor(&scale_shape, &scales(&mut random, len));
        let (x, zero) = if case % 3 == 2 {
            let wide: Vec<i32> = (0..shape.iter().product()).map(|_| random.bits() as i32).collect();
            (tensor(&shape, &wide), tensor(&scale_shape, &vec![0_i32; len]))
        } else {
            let dtype = [Dtype::U8, Dtype::I8][case % 3];
            (bytes(dtype, &shape, &mut random), bytes(dtype, &scale_shape, &mut random))
        };
        let inputs = [Some(&x), Some(&scale), Some(&zero)];
        let fast = run("DequantizeLinear", &attributes, &inputs);
        let call = call(&attributes, &inputs);
        let layout = layout(&call, &x, &scale).expect("the scales fit");
        let general = dequantize_any(&call, layout, Dtype::F32).expect("the call is right");
        assert_eq!(bits(&fast), bits(&general), "case {case}: {shape:?} by {scale_shape:?}");
    }
}

/// The definition of `DynamicQuantizeLinear` in `f64`.
fn dynamic(x: &[f32]) -> (Vec<u8>, f32, u8) {
    let data: Vec<f64> = x.iter().map(|it| f64::from(*it)).collect();
    let least = data.iter().copied().fold(0.0, f64::min);
    let most = data.iter().copied().fold(0.0, f64::max);
    let scale = f64::from(((most - least) / 255.0) as f32);
    let zero = if scale == 0.0 { 0.0 } else { (-least / scale).round_ties_even().clamp(0.0, 255.0) };
    let quotient = |value: &f64| if scale == 0.0 { 0.0 } else { ((value / scale) as f32).round_ties_even() };
    let values = data.iter().map(|value| (f64::from(quotient(value)) + zero).clamp(0.0, 255.0) as u8);
    (values.collect(), scale as f32, zero as u8)
}

#[test]
fn dynamic_quantisation_equals_its_definition() {
    let mut random = Random::new(Some(33.0));
    for case in 0..200 {
        let mut x = floats(&mut random, case);
        if case % 4 != 0 {
            // Without infinities, whose scale is not a number.
            x.iter_mut().for_each(|x| *x = if x.is_infinite() { 0.25 } else { *x });
        }
        if case % 5 == 0 {
            x.iter_mut().for_each(|x| *x = if x.is_nan() { *x } else { 0.0 });
        }
        let attributes = Attributes::default();
        let input = tensor(&[x.len()], &x);
        let operator = named(&[OPERATORS], "DynamicQuantizeLinear");
        let results = operator.run(call(&attributes, &[Some(&input)])).expect("the call is right");
        let (y, scale, zero) = dynamic(&x);
        let result = |at: usize| results[at].as_tensor().expect("the result is a tensor");
        assert_eq!(result(0).bytes(), y, "case {case}");
        assert_eq!(bits(result(1)), bits(&AnyTensor::from_scalar(scale)), "case {case}");
        assert_eq!(result(2).bytes(), [zero], "case {case}");
    }
}

#[test]
fn requantised_sums_equal_the_formula_near_ties() {
    let mut random = Random::new(Some(34.0));
    for case in 0..300 {
        let lanes = 1 + below(&mut random, 150);
        let one = case % 3 == 0;
        let factors: Vec<f64> = (0..if one { 1 } else { lanes })
            .map(|_| match random.bits() % 4 {
                0 => 0.5,
                1 => 1.0 / 6.0,
                2 => f64::from(scales(&mut random, 1)[0]),
                _ => (below(&mut random, 1000) + 1) as f64 / 65_536.0,
            })
            .collect();
        let scale = [1.0, 3.0, f64::from(0.1_f32), 0.25][below(&mut random, 4)];
        let sums: Vec<i32> = (0..lanes)
            .map(|_| match random.bits() % 8 {
                0 => random.bits() as i32,
                _ => below(&mut random, 2000) as i32 - 1000,
            })
            .collect();
        let bias: Vec<i32> = (0..lanes).map(|_| below(&mut random, 50) as i32).collect();
        let bias = (case % 2 == 0).then(|| tensor(&[lanes], &bias));
        let dtype = [Dtype::U8, Dtype::I8][below(&mut random, 2)];
        let zero = bytes(dtype, &[], &mut random);
        let with_bias: Vec<i32> = match &bias {
            Some(bias) => {
                let bias = bias.to_vec::<i32>().expect("32-bit integers");
                sums.iter().zip(&bias).map(|(sum, bias)| sum.wrapping_add(*bias)).collect()
            }
            None => sums.clone(),
        };
        let product = tensor(&[1, lanes], &with_bias);
        let expected = requantised(&product, &factors, 1, scale, &zero).expect("the call is right");
        let requantizer =
            Requantizer::new(factors, scale, &zero, bias.as_ref(), lanes).expect("the lists fit");
        let mut out = vec![0; lanes];
        requantizer.apply(Lanes::From(0), &sums, &mut out);
        assert_eq!(out, expected.bytes(), "case {case}");
        for lane in 0..lanes {
            requantizer.apply(Lanes::One(lane), &sums[lane..=lane], &mut out[lane..=lane]);
        }
        assert_eq!(out, expected.bytes(), "case {case} by lane");
    }
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
        let left = centred(&a, a_zero.as_ref(), a.rank() - 2).expect("the zero points fit");
        let right = centred(&b, b_zero.as_ref(), b.rank() - 1).expect("the zero points fit");
        let expected = multiply(&left, &right).expect("the shapes fit");
        assert_eq!(sums.shape(), expected.shape());
        assert_eq!(sums.bytes(), expected.bytes(), "case {case}");

        let scale = tensor(&[], &[0.02_f32]);
        let b_scale = if case % 2 == 0 {
            tensor(&[], &[0.5_f32])
        } else {
            tensor(&[n], &(0..n).map(|at| 0.003 * (at + 1) as f32).collect::<Vec<f32>>())
        };
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
        let factors =
            to_f64s(&b_scale).expect("floats").iter().map(|it| it * f64::from(0.02_f32)).collect::<Vec<_>>();
        let last = expected.rank() - 1;
        let expected =
            requantised(&expected, &factors, last, f64::from(0.02_f32), &zero).expect("the scales fit");
        assert_eq!(quantised.bytes(), expected.bytes(), "case {case}");
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
        let plain = call(&attributes, &[]);
        let wide_x = centred(&x, x_zero.as_ref(), 1).expect("the zero points fit");
        let wide_w = centred(&w, w_zero.as_ref(), 0).expect("the zero points fit");
        let expected = convolve(&plain, &wide_x, &wide_w, None).expect("the shapes fit");
        assert_eq!(sums.shape(), expected.shape());
        assert_eq!(sums.bytes(), expected.bytes(), "case {case}: {x_shape:?} by {w_shape:?}");

        let channels = w_shape[0];
        let bias: Vec<i32> = (0..channels).map(|_| below(&mut random, 4000) as i32 - 2000).collect();
        let bias = (case % 4 < 2).then(|| tensor(&[channels], &bias));
        let scale = tensor(&[], &[0.25_f32]);
        let w_scale = if case % 2 == 0 {
            tensor(&[], &[0.03_f32])
        } else {
            tensor(&[channels], &(0..channels).map(|at| 0.01 * (at + 1) as f32).collect::<Vec<f32>>())
        };
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
        let wide_x = centred(&x, Some(&x_zero), 1).expect("the zero points fit");
        let wide_w = centred(&w, Some(&w_zero), 0).expect("the zero points fit");
        let sums = convolve(&plain, &wide_x, &wide_w, bias.as_ref()).expect("the shapes fit");
        let factors: Vec<f64> = to_f64s(&w_scale).expect("floats").iter().map(|it| it * 0.25).collect();
        let expected = requantised(&sums, &factors, 1, 0.25, &zero).expect("the scales fit");
        assert_eq!(quantised.bytes(), expected.bytes(), "case {case}");
    }
}
