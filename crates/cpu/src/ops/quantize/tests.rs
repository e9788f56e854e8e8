//! The direct paths compared with the general ones, which widen elements to `f64` or to 32-bit integers.

use super::*;
use crate::attributes::{Attribute, Attributes};
use crate::fast::quantised::requantize::{Lanes, Requantizer};
use crate::ops::generate::Random;
use random::{below, bytes};

mod random;

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

fn tensor<T: typeloom_types::element::Element>(shape: &[usize], elements: &[T]) -> AnyTensor {
    AnyTensor::from_slice(shape, elements).expect("as many elements as the shape requires")
}

fn call<'a>(attributes: &'a Attributes, inputs: &[Option<&AnyTensor>]) -> Call<'a> {
    let inputs = inputs.iter().map(|input| input.map(|it| it.clone().into())).collect();
    Call { version: 21, attributes, inputs, outputs: 1 }
}

/// Calls a kernel of this module directly, because the table of its operators contains products, which the
/// tests would compile too.
fn run(
    kernel: fn(&mut Call<'_>) -> Outcome,
    attributes: &Attributes,
    inputs: &[Option<&AnyTensor>],
) -> Vec<AnyTensor> {
    let results = kernel(&mut call(attributes, inputs)).expect("the call is right");
    results.iter().map(|result| result.as_tensor().expect("the result is a tensor").clone()).collect()
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
        let fast = &run(quantize_linear, &attributes, &inputs)[0];
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
        let fast = &run(dequantize_linear, &attributes, &inputs)[0];
        let call = call(&attributes, &inputs);
        let layout = layout(&call, &x, &scale).expect("the scales fit");
        let general = dequantize_any(&call, layout, Dtype::F32).expect("the call is right");
        assert_eq!(bits(fast), bits(&general), "case {case}: {shape:?} by {scale_shape:?}");
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
        let results = run(dynamic_quantize_linear, &attributes, &[Some(&input)]);
        let (y, scale, zero) = dynamic(&x);
        assert_eq!(results[0].bytes(), y, "case {case}");
        assert_eq!(bits(&results[1]), bits(&AnyTensor::from_scalar(scale)), "case {case}");
        assert_eq!(results[2].bytes(), [zero], "case {case}");
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
