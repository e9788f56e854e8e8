//! Element types: names, numbers and sizes, and their inverses.

use std::collections::BTreeSet;

use proptest::prelude::*;
use typeloom_types::dtype::{Dtype, DtypeClass};

use crate::support::config;

/// ONNX names in order of their numbers, starting at 1, with the sizes in bits (0: none).
#[rustfmt::skip]
const ONNX: [(&str, u32); 28] = [
    ("float", 32), ("uint8", 8), ("int8", 8), ("uint16", 16), ("int16", 16), ("int32", 32), ("int64", 64),
    ("string", 0), ("bool", 8), ("float16", 16), ("double", 64), ("uint32", 32), ("uint64", 64),
    ("complex64", 64), ("complex128", 128), ("bfloat16", 16), ("float8e4m3fn", 8), ("float8e4m3fnuz", 8),
    ("float8e5m2", 8), ("float8e5m2fnuz", 8), ("uint4", 4), ("int4", 4), ("float4e2m1", 4), ("float8e8m0", 8),
    ("uint2", 2), ("int2", 2), ("float6e2m3", 6), ("float6e3m2", 6),
];

#[test]
fn numbers_names_and_sizes_equal_onnx() {
    for (dtype, (number, (name, bits))) in Dtype::ALL.into_iter().zip((1..).zip(ONNX)) {
        assert_eq!(dtype.onnx_number(), number);
        assert_eq!(dtype.onnx_name(), name);
        assert_eq!(dtype.size_bits().unwrap_or(0), bits);
        assert_eq!(dtype.size_bytes(), (bits > 0 && bits % 8 == 0).then_some((bits / 8) as usize));
        assert_eq!(dtype.is_sub_byte(), bits > 0 && bits < 8);
    }
}

#[test]
fn names_and_numbers_are_invertible() {
    for dtype in Dtype::ALL {
        assert_eq!(Dtype::from_onnx_number(dtype.onnx_number()), Some(dtype));
        assert_eq!(Dtype::from_onnx_name(dtype.onnx_name()), Some(dtype));
        assert_eq!(Dtype::from_name(dtype.name()), Some(dtype));
        assert_eq!(Dtype::from_node_id(dtype.type_node().id), Some(dtype));
        assert_eq!(dtype.name().parse(), Ok(dtype));
        assert_eq!(dtype.onnx_name().parse(), Ok(dtype));
        let json = serde_json::to_string(&dtype).unwrap();
        assert_eq!(json, format!("\"{dtype}\""));
        assert_eq!(serde_json::from_str::<Dtype>(&json).unwrap(), dtype);
    }
    let names: BTreeSet<_> = Dtype::ALL.iter().flat_map(|dtype| [dtype.name(), dtype.onnx_name()]).collect();
    let shared = Dtype::ALL.iter().filter(|dtype| dtype.name() == dtype.onnx_name()).count();
    assert_eq!(names.len() + shared, 56, "no name means two element types");
}

#[test]
fn unknown_names_and_numbers_are_rejected() {
    for number in [i32::MIN, -1, 0, 29, i32::MAX] {
        assert_eq!(Dtype::from_onnx_number(number), None);
    }
    for name in ["", "undefined", "tensor.f32", "tensor(f32", "int", "uint"] {
        let error = name.parse::<Dtype>().unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{name}` is not an element type")), "{error}");
    }
    let error = "flot16".parse::<Dtype>().unwrap_err().to_string();
    assert_eq!(error, "`flot16` is not an element type; did you mean `float16` or `bfloat16`?");
    assert!(serde_json::from_str::<Dtype>("1").is_err());
    assert_eq!(Dtype::from_node_id("scalar.f32"), Some(Dtype::F32));
    assert_eq!(Dtype::from_node_id("f32"), None);
    assert_eq!(Dtype::from_node_id("peer_id"), None);
}

#[test]
fn classes_cover_the_kinds_of_elements() {
    let of = |class| Dtype::ALL.iter().filter(|dtype| dtype.class() == class).count();
    let counts = [
        DtypeClass::Float,
        DtypeClass::SignedInt,
        DtypeClass::UnsignedInt,
        DtypeClass::Bool,
        DtypeClass::Complex,
        DtypeClass::String,
    ]
    .map(of);
    assert_eq!(counts, [12, 6, 6, 1, 2, 1]);
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn packed_bytes_are_the_bits_rounded_up(position in 0..28_usize, count in any::<usize>()) {
        let dtype = Dtype::ALL[position];
        let bits = dtype.size_bits().map(u128::from);
        let expected = bits.map(|bits| (bits * count as u128).div_ceil(8)).and_then(|len| usize::try_from(len).ok());
        prop_assert_eq!(dtype.packed_len(count), expected);
        let small = count % 100;
        prop_assert_eq!(dtype.packed_len(small), bits.map(|bits| (bits as usize * small).div_ceil(8)));
    }
}

#[test]
fn names_of_other_tools_are_read() {
    let names = [
        ("FLOAT", Dtype::F32),
        ("tensor(double)", Dtype::F64),
        ("torch.bfloat16", Dtype::BF16),
        ("np.int64", Dtype::I64),
        ("TensorProto.INT8", Dtype::I8),
        ("long", Dtype::I64),
        (" fp32 ", Dtype::F32),
        ("float8_e4m3fn", Dtype::Float8E4M3Fn),
    ];
    for (name, dtype) in names {
        assert_eq!(name.parse(), Ok(dtype), "{name}");
    }
}
