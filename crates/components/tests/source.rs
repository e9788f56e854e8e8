//! Data sources: batches, orders and invalid files.

use std::collections::HashMap;

use safetensors::tensor::{Dtype as Stored, TensorView};
use typeloom_components::source::csv::{Columns, CsvError, FirstLine, Table};
use typeloom_components::source::safetensors::SafeTensorsError;
use typeloom_components::source::{Batches, Order, Rest, Samples, SourceError, npy};
use typeloom_contracts::data_source::DataSource;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

fn counted(count: usize, batches: Batches) -> Samples {
    let elements: Vec<i64> = (0..count as i64).collect();
    let tensor = AnyTensor::from_slice(&[count, 1], &elements).expect("it fits");
    Samples::new(tensor, batches).expect("they are samples")
}

fn turn(samples: &mut Samples) -> Vec<Vec<i64>> {
    let mut all = Vec::new();
    while let Some(batch) = samples.next_batch().expect("it can be read") {
        assert_eq!(batch.shape()[1..], [1]);
        all.push(batch.to_vec().expect("they are integers"));
    }
    all
}

#[test]
fn batches_are_in_order_and_repeat_after_a_reset() {
    let mut samples = counted(5, Batches::of(2));
    assert_eq!(turn(&mut samples), [vec![0, 1], vec![2, 3], vec![4]]);
    assert_eq!(samples.next_batch().expect("it is over"), None);
    samples.reset().expect("it can start again");
    assert_eq!(turn(&mut samples), [vec![0, 1], vec![2, 3], vec![4]]);
    let mut samples = counted(5, Batches { rest: Rest::Dropped, ..Batches::of(2) });
    assert_eq!(turn(&mut samples), [[0, 1], [2, 3]]);
    assert!(turn(&mut counted(0, Batches::of(2))).is_empty());
}

#[test]
fn a_shuffled_turn_has_every_sample_once_and_follows_from_the_seed() {
    let batches = Batches { order: Order::Shuffled(11), ..Batches::of(7) };
    let (mut a, mut b) = (counted(100, batches), counted(100, batches));
    let mut orders = Vec::new();
    for _ in 0..3 {
        let order = turn(&mut a).concat();
        assert_eq!(order, turn(&mut b).concat());
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
        assert!(!orders.contains(&order));
        orders.push(order);
        a.reset().expect("it can start again");
        b.reset().expect("it can start again");
    }
}

#[test]
fn each_returned_batch_is_acknowledged_once() {
    let mut samples = counted(5, Batches::of(3));
    let first = samples.next_batch().expect("it can be read").expect("there is one");
    let second = samples.next_batch().expect("it can be read").expect("there is one");
    assert_eq!(samples.under_way(), 2);
    samples.on_data_loaded(&second).expect("it was given");
    assert!(matches!(samples.on_data_loaded(&second), Err(SourceError::UnknownBatch { .. })));
    samples.on_data_loaded(&first).expect("it was given");
    assert_eq!((samples.under_way(), samples.arrived()), (0, 2));
}

#[test]
fn numpy_files_are_sources() {
    let tensor = AnyTensor::from_slice(&[3, 2], &[1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("it fits");
    let file = npy::written(&tensor).expect("NumPy has the type");
    let mut samples: Samples<[f64]> = Samples::from_npy(&*file, Batches::of(2)).expect("it is right");
    assert_eq!(samples.next_batch().expect("it can be read").as_deref(), Some(&[1.0, 2.0, 3.0, 4.0][..]));
    let scalar = npy::written(&AnyTensor::from_scalar(1.0_f32)).expect("NumPy has the type");
    assert!(matches!(Samples::<AnyTensor>::from_npy(&*scalar, Batches::of(1)), Err(SourceError::NoAxis)));
    assert!(matches!(Samples::<AnyTensor>::from_npy(&*file, Batches::of(0)), Err(SourceError::NoBatch)));
    let claims =
        b"\x93NUMPY\x01\x00\x47\x00{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999, 0)}\n";
    let claims = Samples::<AnyTensor>::from_npy(&claims[..], Batches::of(1));
    assert!(matches!(claims, Err(SourceError::NoElements { .. })), "{claims:?}");
    // A mismatch of the slice's element type is reported by the first batch.
    let mut samples: Samples<[f32]> = Samples::from_npy(&*file, Batches::of(2)).expect("it is right");
    assert!(matches!(samples.next_batch(), Err(SourceError::Storage(_))));
}

#[test]
fn safetensors_files_are_sources_and_are_not_trusted() {
    let bytes: Vec<u8> = [1.0_f32, 2.0, 3.0, 4.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    let view = TensorView::new(Stored::F32, vec![2, 2], &bytes).expect("it fits");
    let file = safetensors::serialize(HashMap::from([("x", view)]), None).expect("it can be written");
    let mut samples: Samples = Samples::from_safetensors(&*file, "x", Batches::of(1)).expect("it is right");
    let first = samples.next_batch().expect("it can be read").expect("there is one");
    assert_eq!(*first, AnyTensor::from_slice(&[1, 2], &[1.0_f32, 2.0]).expect("it fits"));
    let refused = |file: &[u8], name| Samples::<AnyTensor>::from_safetensors(file, name, Batches::of(1));
    let missing = refused(&file, "y").expect_err("there is no such tensor");
    assert_eq!(missing.to_string(), "the file has no tensor `y`; it has `x`");
    for end in 0..file.len() {
        let cut = refused(&file[..end], "x").expect_err("it is cut off");
        assert!(matches!(cut, SourceError::SafeTensors(SafeTensorsError::Malformed(_))), "{end}");
    }
    let mut hostile = u64::MAX.to_le_bytes().to_vec();
    hostile.extend(b"{}");
    assert!(refused(&hostile, "x").is_err());
}

#[test]
fn csv_columns_are_selected_by_name_or_position() {
    let text = "x, y,label\n1,2.5,0\n-3,4e2,1\n";
    let read = |columns, dtype| {
        let table = Table { columns, dtype, ..Table::default() };
        let mut samples: Samples =
            Samples::from_csv(text.as_bytes(), &table, Batches::of(9)).expect("it is right");
        *samples.next_batch().expect("it can be read").expect("there is one")
    };
    let named = read(Columns::Named(vec!["label".into(), "y".into()]), Dtype::F64);
    assert_eq!(named, AnyTensor::from_slice(&[2, 2], &[0.0, 2.5, 1.0, 400.0]).expect("it fits"));
    let at = read(Columns::At(vec![0]), Dtype::F32);
    assert_eq!(at, AnyTensor::from_slice(&[2, 1], &[1.0_f32, -3.0]).expect("it fits"));
}

#[test]
fn errors_of_csv_files_name_the_line() {
    let error = |text: &[u8], table: &Table| match Samples::<AnyTensor>::from_csv(text, table, Batches::of(1))
    {
        Err(SourceError::Csv(error)) => error,
        other => panic!("{other:?}"),
    };
    let table = Table::default();
    let ragged = error(b"x,y\n1,2\n3\n", &table);
    assert_eq!(ragged, CsvError::Ragged { line: 3, expected: 2, found: 1 });
    let no_number = error(b"x,y\n1,2\n3,four\n", &table);
    assert_eq!(no_number.to_string(), "line 3, column 2: `four` is not a number");
    assert_eq!(error(b"x\n\xff\n", &table), CsvError::NoText { line: 2 });
    let names = |names: &[&str]| Table {
        columns: Columns::Named(names.iter().map(|name| (*name).to_owned()).collect()),
        ..Table::default()
    };
    assert_eq!(error(b"x,x\n1,2\n", &names(&["x"])), CsvError::ColumnTwice { name: "x".into() });
    assert_eq!(error(b"x,y\n1,2\n", &names(&["z"])), CsvError::NoColumn { name: "z".into() });
    let at = Table { first_line: FirstLine::Numbers, columns: Columns::At(vec![2]), ..Table::default() };
    assert_eq!(error(b"1,2\n", &at), CsvError::NoPosition { position: 2, found: 2 });
    let integers = Table { dtype: Dtype::I32, ..Table::default() };
    assert!(matches!(error(b"x\n1\n", &integers), CsvError::ElementType(_)));
}
