//! Payloads of wrong length, in the wrong field or in two fields, and sparse tensors with wrong indices.

use prost::Message;

use crate::messages::{SparseTensorProto, TensorProto};
use crate::view::{SparseTensorView, TensorView};

fn verdict(tensor: &TensorProto) -> Result<(), String> {
    let bytes = tensor.encode_to_vec();
    TensorView::from_body(&bytes, 0).check_payload().map_err(|error| error.kind.to_string())
}

fn tensor(data_type: i32, dims: &[i64]) -> TensorProto {
    TensorProto { data_type: Some(data_type), dims: dims.to_vec(), ..TensorProto::default() }
}

fn raw(data_type: i32, dims: &[i64], bytes: usize) -> TensorProto {
    TensorProto { raw_data: Some(vec![0; bytes].into()), ..tensor(data_type, dims) }
}

fn ints(data_type: i32, dims: &[i64], entries: usize) -> TensorProto {
    // Entries of one byte and of five bytes.
    let int32_data = (0..entries).map(|at| if at % 2 == 0 { 1 } else { 1 << 30 }).collect();
    TensorProto { int32_data, ..tensor(data_type, dims) }
}

#[test]
fn raw_data_has_exactly_the_bytes_of_the_dims() {
    // Element type, extent, bytes.
    let cases = [
        (1, 5, 20),
        (2, 5, 5),
        (7, 5, 40),
        (9, 5, 5),
        (10, 5, 10),
        (11, 5, 40),
        (14, 5, 40),
        (15, 5, 80),
        (17, 5, 5),
        (21, 5, 3),
        (22, 5, 3),
        (23, 5, 3),
        (24, 5, 5),
        (25, 5, 2),
        (26, 5, 2),
        (27, 5, 4),
        (28, 5, 4),
    ];
    for (data_type, extent, bytes) in cases {
        assert_eq!(verdict(&raw(data_type, &[extent], bytes)), Ok(()), "{data_type}");
        for wrong in [bytes - 1, bytes + 1, 0] {
            let found = verdict(&raw(data_type, &[extent], wrong));
            assert!(
                found.as_ref().is_err_and(|error| error.contains("raw_data")),
                "{data_type} {wrong}: {found:?}"
            );
        }
    }
}

#[test]
fn typed_fields_have_exactly_the_entries_of_the_dims() {
    for (data_type, extent, entries) in [(6, 3, 3), (9, 3, 3), (10, 3, 3), (22, 3, 2), (25, 5, 2), (27, 4, 4)]
    {
        assert_eq!(verdict(&ints(data_type, &[extent], entries)), Ok(()), "{data_type}");
        for wrong in [entries - 1, entries + 1] {
            let found = verdict(&ints(data_type, &[extent], wrong));
            assert!(
                found.as_ref().is_err_and(|error| error.contains("int32_data")),
                "{data_type} {wrong}: {found:?}"
            );
        }
    }
    let complex = |floats| TensorProto { float_data: vec![0.0; floats], ..tensor(14, &[2]) };
    assert_eq!(verdict(&complex(4)), Ok(()));
    assert!(verdict(&complex(2)).is_err());
    let strings = |count| TensorProto { string_data: vec!["".into(); count], ..tensor(8, &[2]) };
    assert_eq!(verdict(&strings(2)), Ok(()));
    assert!(verdict(&strings(1)).is_err());
    assert!(verdict(&strings(3)).is_err());
}

#[test]
fn there_is_one_payload_in_the_field_of_the_element_type() {
    assert!(verdict(&tensor(1, &[2])).is_err());
    assert!(verdict(&tensor(1, &[])).is_err());
    assert_eq!(verdict(&tensor(1, &[0])), Ok(()));
    assert_eq!(verdict(&raw(1, &[0], 0)), Ok(()));
    assert!(verdict(&raw(1, &[0], 4)).is_err());
    assert!(verdict(&ints(1, &[2], 2)).is_err_and(|error| error.contains("needs `TensorProto.float_data`")));
    assert!(verdict(&raw(8, &[2], 2)).is_err_and(|error| error.contains("needs `TensorProto.string_data`")));
    let both = TensorProto { float_data: vec![0.0; 2], ..raw(1, &[2], 8) };
    assert!(verdict(&both).is_err_and(|error| error.contains("another")));
}

#[test]
fn extents_that_overflow_are_an_error() {
    assert!(verdict(&raw(1, &[1 << 40, 1 << 40], 4)).is_err_and(|error| error.contains("can be counted")));
    assert!(verdict(&tensor(1, &[1 << 40, 1 << 40, 0])).is_err());
    assert_eq!(verdict(&tensor(1, &[0, 1 << 40, 1 << 40])), Ok(()));
    assert!(verdict(&raw(1, &[-2], 8)).is_err_and(|error| error.contains("negative")));
}

#[test]
fn sparse_tensors_have_sorted_indices_inside_their_dims() {
    let sparse = |stored: usize, dims: &[i64], shape: &[i64], indices: &[i64]| {
        let values = TensorProto { float_data: vec![1.0; stored], ..tensor(1, &[stored as i64]) };
        let indices = TensorProto { int64_data: indices.to_vec(), ..tensor(7, shape) };
        let (values, indices, dims) = (Some(values), Some(indices), dims.to_vec());
        let sparse = SparseTensorProto { values, indices, dims, ..SparseTensorProto::default() };
        let bytes = sparse.encode_to_vec();
        SparseTensorView::from_body(&bytes, 0).check_payload().map_err(|error| error.kind.to_string())
    };
    assert_eq!(sparse(2, &[4], &[2], &[0, 3]), Ok(()));
    assert_eq!(sparse(2, &[2, 2], &[2], &[0, 3]), Ok(()));
    assert_eq!(sparse(2, &[2, 2], &[2, 2], &[0, 1, 1, 0]), Ok(()));
    for (dims, shape, indices) in [
        (&[4][..], &[2][..], &[0, 4][..]),
        (&[4], &[2], &[-1, 3]),
        (&[4], &[2], &[3, 0]),
        (&[4], &[2], &[3, 3]),
        (&[4], &[1], &[3]),
        (&[2, 2], &[2, 2], &[0, 1, 1, 2]),
        (&[2, 2], &[2, 1], &[0, 1]),
        (&[2, 2], &[2, 2], &[1, 0, 0, 1]),
        (&[], &[2], &[0, 3]),
        (&[-4], &[2], &[0, 3]),
    ] {
        assert!(sparse(2, dims, shape, indices).is_err(), "{dims:?} {indices:?}");
    }
}
