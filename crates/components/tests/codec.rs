//! Laws of the codecs, and malformed messages.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use typeloom_components::codec::deflated::{Deflated, DeflatedError};
use typeloom_components::codec::int8::{Int8, Int8Error};
use typeloom_components::codec::message::MessageError;
use typeloom_contracts::codec::Codec;
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Session;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

fn runner() -> TestRunner {
    TestRunner::new_with_rng(Config::with_cases(128), TestRng::from_seed(RngAlgorithm::ChaCha, &[9; 32]))
}

#[test]
fn int8_errors_are_at_most_half_a_step_and_zero_is_exact() {
    let magnitude = -30..30_i32;
    let cases = (prop::collection::vec(-1.0_f32..1.0, 1..200), magnitude);
    let law = |(values, magnitude): (Vec<f32>, i32)| {
        let mut values: Vec<f32> = values.iter().map(|value| value * 10_f32.powi(magnitude)).collect();
        values.push(0.0);
        let codec: Int8<[f32]> = Int8::default();
        let decoded = codec.decode(&codec.encode(&values).expect("they are finite")).expect("it was encoded");
        let least = values.iter().copied().fold(0.0, f32::min);
        let greatest = values.iter().copied().fold(0.0, f32::max);
        let scale = (f64::from(greatest) - f64::from(least)) / 255.0;
        prop_assert_eq!(decoded.len(), values.len());
        for (value, decoded) in values.iter().zip(&decoded) {
            let off = (f64::from(*value) - f64::from(*decoded)).abs();
            // Half a step, plus the rounding of the result to 32 bits.
            prop_assert!(
                off <= scale * 0.5 + f64::from(decoded.abs()) * 1e-7 + 1e-44,
                "{} {}",
                value,
                decoded
            );
        }
        prop_assert_eq!(decoded.last(), Some(&0.0));
        Ok(())
    };
    runner().run(&cases, law).expect("the law holds");
}

#[test]
fn int8_along_an_axis_keeps_small_entries_next_to_large_ones() {
    let tensor =
        AnyTensor::from_slice(&[2, 3], &[0.001_f32, -0.002, 0.0015, 1_000.0, -500.0, 1.0]).expect("fits");
    let by_tensor: Int8 = Int8::default();
    let by_row: Int8 = Int8::along(0);
    let off = |codec: &Int8| {
        let decoded = codec.decode(&codec.encode(&tensor).expect("finite")).expect("it was encoded");
        assert_eq!(decoded.shape(), [2, 3]);
        let (a, b) = (tensor.as_slice::<f32>().expect("floats"), decoded.as_slice::<f32>().expect("floats"));
        (a[0] - b[0]).abs()
    };
    assert!(off(&by_tensor) >= 0.001 && off(&by_row) <= 0.003 / 255.0);
}

#[test]
fn int8_saturates_outside_of_the_range_that_it_learned() {
    let mut codec: Int8<[f64]> = Int8::default();
    codec.train(&[&[-1.0, 0.5], &[1.0]]).expect("there are samples");
    let decoded = codec.decode(&codec.encode(&[7.0, -7.0, 0.25]).expect("finite")).expect("it was encoded");
    let scale = codec.scales().expect("it has learned")[0];
    assert!((decoded[0] - 1.0).abs() <= scale && (decoded[1] + 1.0).abs() <= scale);
    assert!((decoded[2] - 0.25).abs() <= scale / 2.0);
    assert_eq!(codec.train(&[]), Err(Int8Error::NoSamples));
}

#[test]
fn int8_stays_finite_at_the_ends_of_a_type() {
    let values = [f32::MAX, -f32::MAX, 0.0];
    let codec: Int8<[f32]> = Int8::default();
    let decoded = codec.decode(&codec.encode(&values).expect("finite")).expect("it was encoded");
    assert!(decoded.iter().all(|value| value.is_finite()));
    let values = [f64::MAX, -f64::MAX];
    let codec: Int8<[f64]> = Int8::default();
    let decoded = codec.decode(&codec.encode(&values).expect("finite")).expect("it was encoded");
    assert!(decoded.iter().all(|value| value.is_finite()));
    assert_eq!(codec.encode(&[0.0, f64::NAN]), Err(Int8Error::NotFinite { at: 1 }));
}

#[test]
fn int8_gives_the_codes_of_quantize_linear() {
    // The scale is a power of two, so it is exact in the 32 bits of the operator.
    let mut values: Vec<f32> = (-1024..=1020).map(|at| at as f32 / 1024.0).collect();
    values.extend([-1.0, 127.0 / 128.0]);
    values.retain(|value| *value <= 127.0 / 128.0);
    let message = Int8::<[f32]>::default().encode(&values).expect("finite");
    let codes: Vec<i8> =
        message[message.len() - values.len()..].iter().map(|code| code.cast_signed()).collect();
    let text = r#"<ir_version: 10, opset_import: ["" : 18]> g (float[N] x) => (int8[N] y)
        <float scale = {0.0078125}, int8 zero = {0}> { y = QuantizeLinear(x, scale, zero) }"#;
    let model = typeloom_onnx::text::parse_model(text).expect("it is a model");
    let session = Session::new(&model, &|_| Err("there are no other files".to_owned())).expect("it can run");
    let inputs = HashMap::from([("x".to_owned(), Datum::Tensor(AnyTensor::from(values)))]);
    let outcome = session.run(inputs, Verify::EveryValue).expect("it runs");
    assert_eq!(outcome.outputs[0].1, Datum::Tensor(AnyTensor::from(codes)));
}

#[test]
fn int8_takes_a_quarter_of_the_bytes() {
    let codec: Int8<[f32]> = Int8::default();
    let values: Vec<f32> = (0..1000).map(|at| (at as f32).sin()).collect();
    assert_eq!(codec.encode(&values).expect("finite").len(), 1000 + 22);
}

#[test]
fn deflating_is_lossless_for_every_type() {
    let dtypes = prop::sample::select(
        Dtype::ALL
            .into_iter()
            .filter(|dtype| ![Dtype::String, Dtype::Bool].contains(dtype))
            .collect::<Vec<_>>(),
    );
    let cases = (dtypes, prop::collection::vec(0..4_usize, 0..4), any::<u64>());
    let law = |(dtype, shape, seed): (Dtype, Vec<usize>, u64)| {
        let mut seeded = typeloom_components::seeded::Seeded::new(seed);
        let tensor = AnyTensor::from_bytes_with(dtype, &shape, |bytes| {
            bytes.iter_mut().for_each(|byte| *byte = seeded.bits() as u8);
        });
        let tensor = tensor.expect("any bits are numbers");
        let codec: Deflated = Deflated::default();
        let message = codec.encode(&tensor).expect("it can be encoded");
        prop_assert_eq!(*codec.decode(&message).expect("it was encoded"), tensor);
        Ok(())
    };
    runner().run(&cases, law).expect("the law holds");
    let text = AnyTensor::from_strings(&[2], &["loom", ""]).expect("two strings");
    let codec: Deflated = Deflated::default();
    assert_eq!(*codec.decode(&codec.encode(&text).expect("text")).expect("it was encoded"), text);
}

#[test]
fn shuffled_floats_deflate_better_than_zlib_alone_would_do() {
    let values: Vec<f32> = (0..4096).map(|at| 1.0 + (at as f32 * 0.01).sin() * 0.1).collect();
    let codec: Deflated<[f32]> = Deflated::default();
    let message = codec.encode(&values).expect("it can be encoded");
    let plain: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let alone = miniz_oxide::deflate::compress_to_vec_zlib(&plain, 6);
    assert!(message.len() * 10 < alone.len() * 9, "{} and {}", message.len(), alone.len());
}

#[test]
fn a_decompression_bomb_is_refused_before_it_is_unpacked() {
    let codec: Deflated<[u8]> = Deflated::up_to(1 << 20);
    let large = vec![0_u8; 8 << 20];
    let honest = codec.encode(&large).expect("it can be encoded");
    assert!(honest.len() < 10_000);
    let expected = MessageError::TooLarge { claimed: 8 << 20, limit: 1 << 20 };
    assert_eq!(codec.decode(&honest), Err(DeflatedError::Message(expected)));
    // The same message with a declared size of a thousand bytes.
    let mut lying = honest.to_vec();
    lying[4..12].copy_from_slice(&1000_u64.to_le_bytes());
    lying[12..20].copy_from_slice(&1000_u64.to_le_bytes());
    assert_eq!(codec.decode(&lying), Err(DeflatedError::Bomb { claimed: 1000 }));
}

#[test]
fn truncated_or_changed_messages_are_errors_and_never_panic() {
    let values: Vec<f32> = (0..100).map(|at| (at as f32).sqrt()).collect();
    let (int8, deflated): (Int8<[f32]>, Deflated<[f32]>) = (Int8::default(), Deflated::default());
    let quantised = int8.encode(&values).expect("finite").to_vec();
    let packed = deflated.encode(&values).expect("any").to_vec();
    for end in 0..quantised.len() {
        assert!(int8.decode(&quantised[..end]).is_err(), "{end}");
    }
    for end in 0..packed.len() {
        assert!(deflated.decode(&packed[..end]).is_err(), "{end}");
    }
    let mut longer = quantised.clone();
    longer.push(0);
    assert!(matches!(int8.decode(&longer), Err(Int8Error::Message(MessageError::Trailing { more: 1, .. }))));
    for at in 0..packed.len() {
        let mut changed = packed.clone();
        changed[at] ^= 0x55;
        // Every bit is checked: the header by the shape, the rest by the zlib checksum.
        assert!(deflated.decode(&changed).map_or(true, |decoded| *decoded != *values), "byte {at}");
        let mut changed = quantised.clone();
        let at = at % changed.len();
        changed[at] ^= 0x55;
        let _harmless = int8.decode(&changed);
    }
    assert_eq!(int8.decode(&packed), Err(Int8Error::Message(MessageError::Tag)));
    // One shape overflows when multiplied, the other exceeds the length of the message.
    for extents in [[u64::MAX, 2], [1 << 40, 1 << 20]] {
        let mut hostile = vec![b'q', 1, 1, 2];
        extents.iter().for_each(|extent| hostile.extend(extent.to_le_bytes()));
        hostile.push(0);
        assert!(int8.decode(&hostile).is_err());
    }
}
