//! `AnyTensor`: round trips through every representation, and rejection of inconsistent parts.

use std::hash::{DefaultHasher, Hash, Hasher};

use half::{bf16, f16};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;
use typeloom_types::element::Element;

/// A bounded, deterministic configuration.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x7970_6c6f),
        ..Default::default()
    }
}

/// A tensor of any element type, from packed bytes or strings.
fn tensors() -> impl Strategy<Value = AnyTensor> {
    let shape = proptest::collection::vec(0..4_usize, 0..4);
    (
        0..28_usize,
        shape,
        proptest::collection::vec(any::<u8>(), 1024),
        proptest::collection::vec(".{0,6}", 27),
    )
        .prop_map(|(dtype, shape, noise, texts)| {
            let dtype = Dtype::ALL[dtype];
            let count: usize = shape.iter().product();
            match dtype.packed_len(count) {
                None => AnyTensor::from_strings(&shape, &texts[..count]).unwrap(),
                Some(len) => {
                    let limit = if dtype == Dtype::Bool { 1 } else { u8::MAX };
                    let bytes: Vec<u8> = noise[..len].iter().map(|byte| byte & limit).collect();
                    AnyTensor::from_le_bytes(dtype, &shape, &bytes).unwrap()
                }
            }
        })
}

fn hash(tensor: &AnyTensor) -> u64 {
    let mut hasher = DefaultHasher::new();
    tensor.hash(&mut hasher);
    hasher.finish()
}

fn round_trip<T: Element>(elements: Vec<T>) -> Result<(), TestCaseError> {
    let rows = elements.len();
    let tensor = AnyTensor::from_vec(&[rows, 1], elements.clone()).unwrap();
    prop_assert_eq!(tensor.dtype(), T::DTYPE);
    prop_assert_eq!(tensor.type_node(), T::DTYPE.type_node());
    prop_assert_eq!(tensor.len(), rows);
    let bytes: &[u8] = bytemuck::cast_slice(&elements);
    prop_assert_eq!(tensor.bytes(), bytes);
    prop_assert_eq!(bytemuck::cast_slice::<T, u8>(tensor.as_slice::<T>().unwrap()), bytes);
    let copy = tensor.to_vec::<T>().unwrap();
    prop_assert_eq!(bytemuck::cast_slice::<T, u8>(&copy), bytes);
    prop_assert_eq!(&AnyTensor::from_le_bytes(T::DTYPE, &[rows, 1], bytes).unwrap(), &tensor);
    prop_assert_eq!(AnyTensor::from(elements), tensor.reshape(&[rows]).unwrap());
    Ok(())
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn typed_elements_round_trip_bit_for_bit(words in proptest::collection::vec(any::<u64>(), 0..20)) {
        let bytes = || words.iter().flat_map(|word| word.to_le_bytes());
        round_trip(words.iter().map(|w| f64::from_bits(*w)).collect())?;
        round_trip(words.iter().map(|w| f32::from_bits(*w as u32)).collect())?;
        round_trip(words.iter().map(|w| f16::from_bits(*w as u16)).collect())?;
        round_trip(words.iter().map(|w| bf16::from_bits(*w as u16)).collect())?;
        round_trip(bytes().collect::<Vec<u8>>())?;
        round_trip(bytes().map(|b| b as i8).collect())?;
        round_trip(words.iter().map(|w| *w as u16).collect())?;
        round_trip(words.iter().map(|w| *w as i16).collect())?;
        round_trip(words.iter().map(|w| *w as u32).collect())?;
        round_trip(words.iter().map(|w| *w as i32).collect())?;
        round_trip(words.iter().map(|w| *w as i64).collect())?;
        round_trip(words.clone())?;
        round_trip(words.iter().map(|w| w % 2 == 1).collect())?;
    }

    #[test]
    fn bytes_and_serde_round_trip_for_every_dtype(tensor in tensors()) {
        let again = AnyTensor::from_le_bytes(tensor.dtype(), tensor.shape(), tensor.bytes()).unwrap();
        prop_assert_eq!(&again, &tensor);
        prop_assert_eq!(hash(&again), hash(&tensor));
        let json = serde_json::to_string(&tensor).unwrap();
        prop_assert_eq!(&serde_json::from_str::<AnyTensor>(&json).unwrap(), &tensor);
        let binary = postcard::to_allocvec(&tensor).unwrap();
        prop_assert_eq!(&postcard::from_bytes::<AnyTensor>(&binary).unwrap(), &tensor);
        let shown = format!("{tensor:?}");
        prop_assert!(shown.len() < 4000);
    }

    #[test]
    fn damaged_binary_input_is_rejected_or_a_valid_tensor(
        tensor in tensors(),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut binary = postcard::to_allocvec(&tensor).unwrap();
        for (at, byte) in flips {
            let at = at.index(binary.len());
            binary[at] ^= byte;
        }
        let cut = cut.index(binary.len() * 2);
        binary.truncate(cut);
        if let Ok(tensor) = postcard::from_bytes::<AnyTensor>(&binary) {
            let again = AnyTensor::from_le_bytes(tensor.dtype(), tensor.shape(), tensor.bytes());
            prop_assert_eq!(again, Ok(tensor));
        }
    }

    #[test]
    fn codes_round_trip_and_are_packed_from_the_lowest_bit(
        position in 0..28_usize,
        noise in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let dtype = Dtype::ALL[position];
        let Some(bits) = dtype.size_bits().filter(|bits| *bits <= 8) else {
            prop_assert_eq!(AnyTensor::from_codes(dtype, &[0], &[]), Err(TensorError::NoCodes { dtype }));
            return Ok(());
        };
        let limit = if dtype == Dtype::Bool { 1 } else { u8::MAX >> (8 - bits) };
        let codes: Vec<u8> = noise.iter().map(|byte| byte & limit).collect();
        let tensor = AnyTensor::from_codes(dtype, &[codes.len()], &codes).unwrap();
        prop_assert_eq!(tensor.codes().unwrap().collect::<Vec<_>>(), codes.clone());
        // Slow reference: bit by bit.
        let mut stream = vec![false; tensor.bytes().len() * 8];
        for (at, code) in codes.iter().enumerate() {
            for bit in 0..bits as usize {
                stream[at * bits as usize + bit] = code >> bit & 1 == 1;
            }
        }
        let packed: Vec<u8> =
            stream.chunks(8).map(|byte| byte.iter().rev().fold(0, |sum, bit| sum << 1 | u8::from(*bit))).collect();
        prop_assert_eq!(tensor.bytes(), packed);
    }

    #[test]
    fn strings_round_trip(texts in proptest::collection::vec(".{0,9}", 0..9)) {
        let tensor = AnyTensor::from_strings(&[texts.len()], &texts).unwrap();
        let strings = tensor.strings().unwrap();
        prop_assert_eq!(strings.len(), texts.len());
        prop_assert_eq!(strings.collect::<Vec<_>>(), texts);
    }

    #[test]
    fn arbitrary_bytes_as_strings_are_rejected_or_round_trip(
        count in 0..3_usize,
        offsets in proptest::collection::vec(0..9_u64, 0..5),
        text in proptest::collection::vec(any::<u8>(), 0..9),
    ) {
        let mut bytes: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
        bytes.extend(text);
        if let Ok(tensor) = AnyTensor::from_le_bytes(Dtype::String, &[count], &bytes) {
            let strings: Vec<&str> = tensor.strings().unwrap().collect();
            prop_assert_eq!(strings.len(), count);
            prop_assert_eq!(AnyTensor::from_strings(&[count], &strings), Ok(tensor.clone()));
        }
    }
}

/// Recorded from the reference implementation: `from_array` of 1, 0, -1, 1, 1, 0, 1.
#[test]
fn packing_equals_onnx_raw_data() {
    let cases: [(Dtype, [u8; 7], &[u8]); 3] = [
        (Dtype::Int4, [1, 0, 15, 1, 1, 0, 1], &[0x01, 0x1f, 0x01, 0x01]),
        (Dtype::Int2, [1, 0, 3, 1, 1, 0, 1], &[0x71, 0x11]),
        (Dtype::Float6E2M3, [8, 0, 40, 8, 8, 0, 8], &[0x08, 0x80, 0x22, 0x08, 0x80, 0x00]),
    ];
    for (dtype, codes, bytes) in cases {
        assert_eq!(AnyTensor::from_codes(dtype, &[7], &codes).unwrap().bytes(), bytes);
    }
}

#[test]
fn a_wrong_number_of_elements_or_bytes_is_rejected() {
    assert_eq!(
        AnyTensor::from_slice(&[2, 3], &[0_i64; 5]),
        Err(TensorError::ElementCount { shape: [2, 3].into(), expected: 6, found: 5 })
    );
    let error = AnyTensor::from_le_bytes(Dtype::F32, &[2], &[0; 7]).unwrap_err();
    assert_eq!(
        error,
        TensorError::ByteLength { dtype: Dtype::F32, shape: [2].into(), expected: 8, found: 7 }
    );
    assert_eq!(error.to_string(), "f32 elements in shape [2] take 8 bytes, not 7");
    assert!(AnyTensor::from_le_bytes(Dtype::Uint4, &[3], &[0; 1]).is_err());
    assert!(AnyTensor::from_slice(&[2], &[1_u8, 2]).unwrap().reshape(&[3]).is_err());
}

#[test]
fn overflowing_shapes_are_rejected_before_allocation() {
    for shape in [&[usize::MAX, 2][..], &[1 << 40, 1 << 40], &[usize::MAX]] {
        let overflow = Err(TensorError::ShapeOverflow { shape: shape.into() });
        for dtype in Dtype::ALL {
            assert!(AnyTensor::from_le_bytes(dtype, shape, &[]).is_err());
        }
        assert_eq!(AnyTensor::zeros(Dtype::F32, shape), overflow);
        assert_eq!(AnyTensor::zeros(Dtype::String, shape), overflow);
    }
    let empty = AnyTensor::zeros(Dtype::F32, &[usize::MAX, 0, usize::MAX]).unwrap();
    assert!(empty.is_empty());
    assert!(empty.bytes().is_empty());
}

#[test]
fn a_view_of_another_element_type_is_an_error() {
    let tensor = AnyTensor::from_scalar(1.5_f32);
    let error = TensorError::DtypeMismatch { expected: Dtype::I32, found: Dtype::F32 };
    assert_eq!(tensor.as_slice::<i32>(), Err(error.clone()));
    assert_eq!(<&[i32]>::try_from(&tensor), Err(error.clone()));
    assert_eq!(Vec::<i32>::try_from(&tensor), Err(error));
    assert_eq!(Vec::<f32>::try_from(tensor), Ok(vec![1.5]));
}

#[test]
fn a_bool_is_zero_or_one() {
    let error = AnyTensor::from_le_bytes(Dtype::Bool, &[3], &[0, 1, 2]).unwrap_err();
    assert_eq!(error, TensorError::NotBool { index: 2, byte: 2 });
    assert_eq!(
        AnyTensor::from_codes(Dtype::Bool, &[1], &[7]).unwrap_err(),
        TensorError::NotBool { index: 0, byte: 7 }
    );
    let mut tensor = AnyTensor::from_le_bytes(Dtype::Bool, &[2], &[0, 1]).unwrap();
    tensor.as_mut_slice::<bool>().unwrap()[0] = true;
    assert_eq!(tensor.bytes(), [1, 1]);
}

#[test]
fn a_code_that_is_too_large_is_rejected() {
    let error = AnyTensor::from_codes(Dtype::Int2, &[2], &[3, 4]).unwrap_err();
    assert_eq!(error, TensorError::CodeTooLarge { dtype: Dtype::Int2, index: 1, code: 4 });
}

#[test]
fn unused_bits_are_ignored() {
    let clean = AnyTensor::from_le_bytes(Dtype::Uint4, &[1], &[0x05]).unwrap();
    let noisy = AnyTensor::from_le_bytes(Dtype::Uint4, &[1], &[0xa5]).unwrap();
    assert_eq!(clean, noisy);
    assert_eq!(noisy.bytes(), [0x05]);
}

#[test]
fn invalid_strings_are_rejected() {
    let packed = |offsets: &[u64], text: &[u8]| {
        let bytes: Vec<u8> =
            offsets.iter().flat_map(|o| o.to_le_bytes()).chain(text.iter().copied()).collect();
        AnyTensor::from_le_bytes(Dtype::String, &[2], &bytes).map(|_| ())
    };
    assert_eq!(packed(&[0, 1, 2], b"ab"), Ok(()));
    assert_eq!(packed(&[0, 1], b""), Err(TensorError::StringOffsets { index: 0 }));
    assert_eq!(packed(&[1, 1, 2], b"ab"), Err(TensorError::StringOffsets { index: 0 }));
    assert_eq!(packed(&[0, 2, 1], b"ab"), Err(TensorError::StringOffsets { index: 1 }));
    assert_eq!(packed(&[0, 1, u64::MAX], b"ab"), Err(TensorError::StringOffsets { index: 1 }));
    assert_eq!(packed(&[0, 1, 2], b"abc"), Err(TensorError::StringOffsets { index: 1 }));
    assert_eq!(packed(&[0, 1, 3], "aé".as_bytes()), Ok(()));
    assert_eq!(packed(&[0, 2, 3], "aé".as_bytes()), Err(TensorError::NotUtf8 { index: 0 }));
}

#[test]
fn writing_to_a_clone_does_not_change_the_original() {
    let original = AnyTensor::from([1_i32, 2, 3]);
    let mut copy = original.clone();
    copy.as_mut_slice::<i32>().unwrap()[1] = 7;
    assert_eq!(original.as_slice::<i32>().unwrap(), [1, 2, 3]);
    assert_eq!(copy.as_slice::<i32>().unwrap(), [1, 7, 3]);
    assert_ne!(original, copy);
}

#[test]
fn equality_compares_dtype_shape_and_bits() {
    let nan = AnyTensor::from_scalar(f32::NAN);
    assert_eq!(nan, nan.clone());
    assert_eq!(AnyTensor::from([f32::NAN]), AnyTensor::from([f32::NAN]));
    assert_ne!(AnyTensor::from_scalar(0.0_f32), AnyTensor::from_scalar(-0.0_f32));
    assert_ne!(AnyTensor::from([0_u8; 4]), AnyTensor::from([0_u8; 4]).reshape(&[2, 2]).unwrap());
    assert_ne!(AnyTensor::from([0_u32]), AnyTensor::from([0_i32]));
    // Both take one word of storage.
    assert_ne!(AnyTensor::from([0_u8; 3]), AnyTensor::from([0_u8; 4]));
}

#[test]
fn debug_prints_a_bounded_number_of_elements() {
    assert_eq!(format!("{:?}", AnyTensor::from([1.5_f32, 2.0])), "f32[2] [1.5, 2.0]");
    let large = AnyTensor::zeros(Dtype::I64, &[1000, 1000]).unwrap();
    assert_eq!(format!("{large:?}"), "i64[1000, 1000] [0, 0, 0, 0, 0, 0, 0, 0, ..]");
    let strings = AnyTensor::from_strings(&[1], &["x".repeat(1000)]).unwrap();
    assert!(format!("{strings:?}").len() < 60);
    let deep = AnyTensor::zeros(Dtype::Uint4, &[1; 1000]).unwrap();
    assert_eq!(format!("{deep:?}"), "uint4[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ... 1000 dims] [0]");
}

#[test]
fn json_has_named_fields_and_is_validated_when_read() {
    let tensor = AnyTensor::from([1_u8, 255]);
    assert_eq!(serde_json::to_string(&tensor).unwrap(), r#"{"dtype":"u8","shape":[2],"data":"01ff"}"#);
    let read = |json: &str| serde_json::from_str::<AnyTensor>(json).map_err(|error| error.to_string());
    assert_eq!(read(r#"{"dtype":"uint8","shape":[2],"data":"01FF"}"#), Ok(tensor));
    let short = read(r#"{"dtype":"u8","shape":[2],"data":"01"}"#).unwrap_err();
    assert!(short.starts_with("u8 elements in shape [2] take 2 bytes, not 1"), "{short}");
    for wrong in [
        r#"{"dtype":"u8","shape":[1],"data":"0"}"#,
        r#"{"dtype":"u8","shape":[1],"data":"zz"}"#,
        r#"{"dtype":"u8","shape":[-1],"data":""}"#,
        r#"{"dtype":"u9","shape":[0],"data":""}"#,
        r#"{"dtype":"bool","shape":[1],"data":"02"}"#,
        r#"{"dtype":"u8","shape":[0],"data":"","more":1}"#,
        r#"{"dtype":"u8","shape":[0]}"#,
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn bytes_are_aligned_for_every_element_type() {
    for len in 0..40 {
        let tensor = AnyTensor::from(vec![0_u8; len]);
        assert_eq!(tensor.bytes().as_ptr().addr() % align_of::<f64>(), 0);
    }
}
