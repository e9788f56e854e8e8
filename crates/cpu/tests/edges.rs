//! Edge cases of operators, one rule per test, on which the ONNX specification, its reference implementation
//! and ONNX Runtime agree.

use half::f16;
use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::ops;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::element::Element;

fn tensor<T: Element>(shape: &[usize], elements: &[T]) -> AnyTensor {
    AnyTensor::from_slice(shape, elements).expect("as many elements as the shape requires")
}

fn run(version: i64, op: &str, attributes: &Attributes, inputs: &[AnyTensor]) -> AnyTensor {
    let inputs = inputs.iter().map(|input| Some(input.clone().into())).collect();
    let call = Call { version, attributes, inputs, outputs: 1 };
    let results = ops::find("", op).expect("the operator is known").run(call).expect("the call is right");
    results[0].as_tensor().expect("the result is a tensor").clone()
}

fn none() -> Attributes {
    Attributes::default()
}

fn slice(x: &AnyTensor, start: i64, end: i64, step: i64) -> Vec<i32> {
    let one = |value| tensor(&[1], &[value]);
    run(13, "Slice", &none(), &[x.clone(), one(start), one(end), one(0_i64), one(step)])
        .to_vec()
        .expect("they are `int32`")
}

#[test]
fn a_slice_backwards_from_in_front_of_the_first_element_begins_with_it() {
    let x = tensor(&[3], &[1, 2, 3]);
    assert_eq!(slice(&x, -9, -99, -1), [1]);
    assert_eq!(slice(&x, 9, -99, -2), [3, 1]);
    assert_eq!(slice(&x, 0, 0, -1), [0; 0]);
    assert_eq!(slice(&tensor::<i32>(&[0], &[]), 5, -99, -1), [0; 0]);
}

#[test]
fn batch_normalization_returns_the_type_of_its_input_for_parameters_of_any_type() {
    let wide = |value: f32| tensor(&[1], &[value]);
    let half = |value: f32| tensor(&[1], &[f16::from_f32(value)]);
    let x = tensor(&[1, 1, 2], &[1.0_f32, 3.0]);
    let y = run(15, "BatchNormalization", &none(), &[x, wide(2.0), wide(1.0), half(1.0), half(1.0)]);
    assert_eq!(y.to_vec::<f32>().unwrap().iter().map(|y| y.round()).collect::<Vec<_>>(), [1.0, 5.0]);
    let x = tensor(&[1, 1, 1], &[f16::from_f32(3.0)]);
    let y = run(15, "BatchNormalization", &none(), &[x, wide(2.0), wide(1.0), wide(1.0), wide(1.0)]);
    assert_eq!(y.as_slice::<f16>().unwrap()[0].to_f32().round(), 5.0);
}

#[test]
fn running_statistics_keep_their_own_type() {
    let half = |value: f32| tensor(&[1], &[f16::from_f32(value)]);
    let x = tensor(&[2, 1], &[1.0_f32, 3.0]);
    let inputs = [x, tensor(&[1], &[1.0_f32]), tensor(&[1], &[0.0_f32]), half(0.0), half(0.0)];
    let attributes = none().with("training_mode", Attribute::Int(1)).with("momentum", Attribute::Float(0.5));
    let inputs = inputs.iter().map(|input| Some(input.clone().into())).collect();
    let call = Call { version: 15, attributes: &attributes, inputs, outputs: 3 };
    let results = ops::find("", "BatchNormalization").unwrap().run(call).unwrap();
    let mean = results[1].as_tensor().unwrap();
    assert_eq!(mean.as_slice::<f16>().unwrap()[0].to_f32(), 1.0);
}

#[test]
fn a_logarithm_of_exponentials_with_nan_and_an_infinity_is_nan() {
    let sum =
        |x: &[f32]| run(13, "ReduceLogSumExp", &none(), &[tensor(&[x.len()], x)]).to_vec::<f32>().unwrap()[0];
    assert!(sum(&[f32::INFINITY, f32::NAN]).is_nan());
    assert!(sum(&[f32::NAN, f32::NEG_INFINITY]).is_nan());
    assert_eq!(sum(&[f32::INFINITY, 1.0]), f32::INFINITY);
    assert_eq!(sum(&[f32::NEG_INFINITY]), f32::NEG_INFINITY);
}

#[test]
fn powers_of_integers_wrap_for_exponents_of_any_type() {
    let base = || tensor(&[1], &[-862_628_741_i32]);
    let exact = [(-862_628_741_i32).wrapping_pow(5)];
    assert_eq!(run(15, "Pow", &none(), &[base(), tensor(&[1], &[5_u8])]).to_vec::<i32>().unwrap(), exact);
    assert_eq!(run(15, "Pow", &none(), &[base(), tensor(&[1], &[5_i64])]).to_vec::<i32>().unwrap(), exact);
    let odd = run(15, "Pow", &none(), &[tensor(&[1], &[-1_i64]), tensor(&[1], &[u64::MAX])]);
    assert_eq!(odd.to_vec::<i64>().unwrap(), [-1]);
    let fraction = run(15, "Pow", &none(), &[tensor(&[3], &[-1_i64, 1, 7]), tensor(&[1], &[-3_i8])]);
    assert_eq!(fraction.to_vec::<i64>().unwrap(), [-1, 1, 0]);
}

#[test]
fn whole_numbers_have_an_error_function() {
    let y = run(13, "Erf", &none(), &[tensor(&[4], &[-4_i8, -1, 0, 7])]);
    assert_eq!(y.to_vec::<i8>().unwrap(), [-1, 0, 0, 1]);
}

#[test]
fn columns_of_whole_numbers_are_added_up_and_wrap() {
    let columns = tensor(&[1, 2, 3], &[200_u8, 1, 2, 100, 3, 4]);
    let y = run(18, "Col2Im", &none(), &[columns, tensor(&[1], &[4_i64]), tensor(&[1], &[2_i64])]);
    assert_eq!(y.to_vec::<u8>().unwrap(), [200, 101, 5, 4]);
}

#[test]
fn a_window_that_ends_less_than_a_step_outside_counts_if_extents_are_rounded_up() {
    let x = tensor(&[1, 1, 4], &[1.0_f32, 2.0, 3.0, 4.0]);
    let attributes = none()
        .with("kernel_shape", Attribute::Ints(vec![5]))
        .with("strides", Attribute::Ints(vec![3]))
        .with("ceil_mode", Attribute::Int(1));
    assert_eq!(run(22, "AveragePool", &attributes, std::slice::from_ref(&x)).to_vec::<f32>().unwrap(), [2.5]);
    assert_eq!(run(22, "MaxPool", &attributes, &[x]).to_vec::<f32>().unwrap(), [4.0]);
}

#[test]
fn a_crop_has_the_length_of_its_scale_and_not_of_its_region() {
    let x = tensor(&[4], &[1.0_f32, 2.0, 3.0, 4.0]);
    let region = tensor(&[2], &[0.0_f32, 0.5]);
    let attributes = none()
        .with("coordinate_transformation_mode", Attribute::Bytes("tf_crop_and_resize".into()))
        .with("mode", Attribute::Bytes("linear".into()));
    let y = run(13, "Resize", &attributes, &[x, region, tensor(&[1], &[1.0_f32])]);
    assert_eq!(y.to_vec::<f32>().unwrap(), [1.0, 1.5, 2.0, 2.5]);
}

#[test]
fn nearest_in_old_versions_selects_the_next_element_on_an_axis_that_shrinks() {
    let x = tensor(&[4], &[1.0_f32, 2.0, 3.0, 4.0]);
    let shorter = run(10, "Resize", &none(), &[x.clone(), tensor(&[1], &[0.6_f32])]);
    assert_eq!(shorter.to_vec::<f32>().unwrap(), [1.0, 3.0]);
    let longer = run(10, "Resize", &none(), &[x, tensor(&[1], &[1.5_f32])]);
    assert_eq!(longer.to_vec::<f32>().unwrap(), [1.0, 1.0, 2.0, 3.0, 3.0, 4.0]);
}

#[test]
fn a_cubic_sample_beyond_the_border_is_the_border() {
    let x = tensor(&[1, 1, 3, 1], &[1.0_f32, 5.0, 2.0]);
    let grid = tensor(&[1, 1, 1, 2], &[0.0_f32, 1.5]);
    let attributes = none()
        .with("mode", Attribute::Bytes("cubic".into()))
        .with("padding_mode", Attribute::Bytes("border".into()));
    assert_eq!(run(20, "GridSample", &attributes, &[x, grid]).to_vec::<f32>().unwrap(), [2.0]);
}

#[test]
fn skipped_elements_are_on_both_sides_of_a_transposed_convolution() {
    let x = tensor(&[1, 1, 2], &[1.0_f32, 2.0]);
    let w = tensor(&[1, 1, 1], &[1.0_f32]);
    let with = |auto: &str| {
        let attributes =
            none().with("strides", Attribute::Ints(vec![3])).with("auto_pad", Attribute::Bytes(auto.into()));
        run(22, "ConvTranspose", &attributes, &[x.clone(), w.clone()]).to_vec::<f32>().unwrap()
    };
    assert_eq!(with("SAME_UPPER"), [0.0, 1.0, 0.0, 0.0, 2.0, 0.0]);
    assert_eq!(with("SAME_LOWER"), [0.0, 1.0, 0.0, 0.0, 2.0, 0.0]);
}

#[test]
fn a_crop_uses_the_length_of_its_scale_before_rounding() {
    let x = tensor(&[3], &[0.0_f32, 10.0, 20.0]);
    let attributes = none()
        .with("coordinate_transformation_mode", Attribute::Bytes("tf_crop_and_resize".into()))
        .with("mode", Attribute::Bytes("linear".into()));
    let whole = tensor(&[2], &[0.0_f32, 1.0]);
    let y = run(13, "Resize", &attributes, &[x, whole, tensor(&[1], &[1.5_f32])]);
    let rounded: Vec<i32> = y.to_vec::<f32>().unwrap().iter().map(|y| y.round() as i32).collect();
    assert_eq!(rounded, [0, 6, 11, 17]);
}

#[test]
fn a_split_into_more_parts_than_there_are_elements_fails() {
    let parts = |version, extent: usize, parts| {
        let attributes = none().with("num_outputs", Attribute::Int(parts));
        let x = tensor(&[extent], &vec![0_i32; extent]);
        let outputs = usize::try_from(parts).expect("a few parts");
        let call = Call { version, attributes: &attributes, inputs: vec![Some(x.into())], outputs };
        let parts = ops::find("", "Split").expect("the operator is known").run(call).ok()?;
        Some(parts.iter().map(|part| part.as_tensor().map_or(0, AnyTensor::len)).collect::<Vec<_>>())
    };
    assert_eq!(parts(18, 7, 3), Some(vec![3, 3, 1]));
    assert_eq!(parts(18, 5, 4), None);
    assert_eq!(parts(18, 1, 3), None);
    assert_eq!(parts(18, 1, 2), None);
    assert_eq!(parts(18, 4, 3), None);
    assert_eq!(parts(13, 6, 3), Some(vec![2, 2, 2]));
    assert_eq!(parts(13, 7, 3), None);
}

/// Whether the operator accepts these inputs.
fn accepts(op: &str, inputs: &[AnyTensor]) -> bool {
    let inputs = inputs.iter().map(|input| Some(input.clone().into())).collect();
    let call = Call { version: 21, attributes: &none(), inputs, outputs: 1 };
    ops::find("", op).expect("the operator is known").run(call).is_ok()
}

#[test]
fn a_shape_is_a_vector() {
    assert!(accepts("ConstantOfShape", &[tensor(&[1], &[3_i64])]));
    assert!(!accepts("ConstantOfShape", &[tensor(&[], &[3_i64])]));
}

#[test]
fn updates_have_the_shape_of_the_slices_that_they_replace() {
    let (data, index) = (tensor(&[2, 3, 2], &[0_f32; 12]), tensor(&[1, 1], &[0_i64]));
    assert!(accepts("ScatterND", &[data.clone(), index.clone(), tensor(&[1, 3, 2], &[1_f32; 6])]));
    assert!(!accepts("ScatterND", &[data, index.clone(), tensor(&[1, 2, 3], &[1_f32; 6])]));
    let empty = tensor::<f32>(&[2, 0, 2], &[]);
    assert!(!accepts("ScatterND", &[empty, index, tensor::<f32>(&[1, 0, 7], &[])]));
}

#[test]
fn calls_without_a_meaning_are_rejected() {
    let is_rejected = |op: &str, inputs: &[AnyTensor]| {
        let inputs = inputs.iter().map(|input| Some(input.clone().into())).collect();
        let call = Call { version: 13, attributes: &none(), inputs, outputs: 1 };
        ops::find("", op).expect("the operator is known").run(call).is_err()
    };
    let indices = tensor(&[2], &[0_i64, 1]);
    let values = tensor(&[2], &[0.0_f32, 1.0]);
    let one_hot = |depth: AnyTensor| is_rejected("OneHot", &[indices.clone(), depth, values.clone()]);
    assert!(!one_hot(tensor(&[1], &[2_i64])));
    assert!(one_hot(tensor(&[2], &[2_i64, 2])), "the depth has two elements");
    for op in ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"] {
        assert!(!is_rejected(op, &[tensor(&[1, 2], &[1.0_f32, 2.0])]), "{op} of a batch and channels");
        assert!(is_rejected(op, &[tensor(&[2], &[1.0_f32, 2.0])]), "{op} without channels");
    }
}

#[test]
fn normalizations_of_an_empty_space_are_empty() {
    let two = |value: f32| tensor(&[2], &[value, value]);
    let x = tensor::<f32>(&[1, 2, 0], &[]);
    let parameters = [x.clone(), two(1.0), two(0.0)];
    let groups = none().with("num_groups", Attribute::Int(1));
    assert_eq!(run(21, "GroupNormalization", &groups, &parameters).shape(), [1, 2, 0]);
    assert_eq!(run(6, "InstanceNormalization", &none(), &parameters).shape(), [1, 2, 0]);
    let training = none().with("training_mode", Attribute::Int(1));
    let statistics = [x.clone(), two(1.0), two(0.0), two(0.0), two(1.0)];
    assert_eq!(run(15, "BatchNormalization", &training, &statistics).shape(), [1, 2, 0]);
}

#[test]
fn the_statistics_of_empty_rows_have_one_entry_for_each() {
    let (x, scale) = (tensor::<f32>(&[3, 0], &[]), tensor::<f32>(&[0], &[]));
    let inputs = [x, scale].iter().map(|input| Some(input.clone().into())).collect();
    let call = Call { version: 17, attributes: &none(), inputs, outputs: 2 };
    let results = ops::find("", "LayerNormalization")
        .expect("the operator is known")
        .run(call)
        .expect("the call is right");
    assert_eq!(results[1].as_tensor().expect("the result is a tensor").shape(), [3, 1]);
}

/// The defining sum, for powers of two, primes whose predecessor has small factors, other primes and
/// products.
#[test]
fn a_fourier_transform_of_any_length_equals_its_defining_sum_and_its_inverse_restores_the_signal() {
    for length in [1_usize, 2, 3, 7, 8, 12, 17, 23, 47, 60, 64, 107, 210, 227] {
        let signal: Vec<f64> = (0..2 * length).map(|at| ((at * 37 + 11) % 101) as f64 / 50.0 - 1.0).collect();
        let x = tensor(&[1, length, 2], &signal);
        let spectrum = run(17, "DFT", &none(), std::slice::from_ref(&x));
        let found = spectrum.to_vec::<f64>().unwrap();
        for k in 0..length {
            let (mut real, mut imaginary) = (0.0, 0.0);
            for (n, value) in signal.chunks(2).enumerate() {
                let angle = -std::f64::consts::TAU * (k * n % length) as f64 / length as f64;
                real += value[0] * angle.cos() - value[1] * angle.sin();
                imaginary += value[0] * angle.sin() + value[1] * angle.cos();
            }
            assert!((found[2 * k] - real).abs() < 1e-10, "real part {k} of {length}");
            assert!((found[2 * k + 1] - imaginary).abs() < 1e-10, "imaginary part {k} of {length}");
        }
        let inverse = none().with("inverse", Attribute::Int(1));
        let back = run(17, "DFT", &inverse, &[spectrum]).to_vec::<f64>().unwrap();
        assert!(signal.iter().zip(&back).all(|(x, y)| (x - y).abs() < 1e-12), "length {length}");
    }
}

#[test]
fn the_length_of_a_range_of_integers_is_exact() {
    let range = |start: i64, limit: i64, step: i64| {
        let inputs = [start, limit, step].map(AnyTensor::from_scalar);
        run(11, "Range", &none(), &inputs).to_vec::<i64>().unwrap()
    };
    let large = 1_i64 << 60;
    assert_eq!(range(large, large + 3, 1), [large, large + 1, large + 2]);
    assert_eq!(range(large + 4, large, -3), [large + 4, large + 1]);
    assert_eq!(range(large + 1, large, 1), [0; 0]);
    assert_eq!(range(i64::MIN, i64::MAX, i64::MAX), [i64::MIN, -1, i64::MAX - 1]);
    assert_eq!(range(0, 7, 3), [0, 3, 6]);
    assert_eq!(range(0, 0, i64::MIN), [0; 0]);
}

#[test]
fn a_crop_far_outside_the_input_has_the_extrapolation_value() {
    let x = tensor(&[4], &[1.0_f32, 2.0, 3.0, 4.0]);
    for mode in ["nearest", "linear", "cubic"] {
        for roi in [[1e30_f32, 2e30], [-2e30, -1e30], [1.0, f32::INFINITY], [f32::NEG_INFINITY, 0.0]] {
            let text = |text: &str| Attribute::Bytes(text.as_bytes().to_vec());
            let attributes = none()
                .with("mode", text(mode))
                .with("coordinate_transformation_mode", text("tf_crop_and_resize"))
                .with("extrapolation_value", Attribute::Float(7.0));
            let inputs = [&x, &tensor(&[2], &roi), &tensor::<f32>(&[0], &[]), &tensor(&[1], &[1_i64])];
            let y = run(13, "Resize", &attributes, &inputs.map(AnyTensor::clone));
            assert_eq!(y.to_vec::<f32>().unwrap(), [7.0], "{mode} {roi:?}");
        }
    }
}

#[test]
fn a_bin_of_a_region_has_a_sample_for_each_element() {
    let mut row = vec![0.0_f32; 10_000];
    row[1] = 10_000.0;
    let inputs = [
        tensor(&[1, 1, 1, 10_000], &row),
        tensor(&[1, 4], &[0.0_f32, 0.0, 10_000.0, 1.0]),
        tensor(&[1], &[0_i64]),
    ];
    assert_eq!(run(16, "RoiAlign", &none(), &inputs).to_vec::<f32>().unwrap(), [1.0]);
    let dense = none().with("sampling_ratio", Attribute::Int(4_100));
    let inputs = [
        tensor(&[1, 1, 1, 1], &[3.0_f32]),
        tensor(&[1, 4], &[0.0_f32, 0.0, 1.0, 1.0]),
        tensor(&[1], &[0_i64]),
    ];
    let inputs = inputs.iter().map(|input| Some(input.clone().into())).collect();
    let call = Call { version: 16, attributes: &dense, inputs, outputs: 1 };
    let error = ops::find("", "RoiAlign").unwrap().run(call).expect_err("there are too many samples");
    assert!(
        error
            .to_string()
            .ends_with("a bin of region 0 has 4100 x 4100 samples, more than the maximum of 16777216"),
        "{error}"
    );
}
