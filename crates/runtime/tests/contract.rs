//! The method of every primitive on the embedded backend, compared with expected results.

use typeloom_contracts::backend::Backend;
use typeloom_contracts::backend::by_execution::ByExecution;
use typeloom_onnx::messages::TensorProto;
use typeloom_runtime::backend::{Cpu, CpuError};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

fn floats(shape: &[usize], elements: &[f32]) -> AnyTensor {
    AnyTensor::from_slice(shape, elements).expect("as many elements as the shape requires")
}

#[test]
fn every_primitive_has_the_semantics_of_onnx() -> Result<(), CpuError> {
    primitives(&Cpu)?;
    primitives(&ByExecution(Cpu))
}

fn primitives(b: &impl Backend<Tensor = AnyTensor, Error = CpuError>) -> Result<(), CpuError> {
    let a = floats(&[2, 2], &[1.0, -2.0, 3.0, 4.0]);
    let row = floats(&[2], &[2.0, 4.0]);
    assert_eq!(b.add(&a, &row)?, floats(&[2, 2], &[3.0, 2.0, 5.0, 8.0]));
    assert_eq!(b.sub(&a, &row)?, floats(&[2, 2], &[-1.0, -6.0, 1.0, 0.0]));
    assert_eq!(b.mul(&a, &row)?, floats(&[2, 2], &[2.0, -8.0, 6.0, 16.0]));
    assert_eq!(b.div(&a, &row)?, floats(&[2, 2], &[0.5, -0.5, 1.5, 1.0]));
    assert_eq!(b.neg(&row)?, floats(&[2], &[-2.0, -4.0]));
    assert_eq!(b.abs(&a)?, floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0]));
    assert_eq!(b.sqrt(&floats(&[2], &[4.0, 9.0]))?, floats(&[2], &[2.0, 3.0]));
    assert_eq!(b.pow(&row, &row)?, floats(&[2], &[4.0, 256.0]));
    assert_eq!(b.exp(&floats(&[1], &[0.0]))?, floats(&[1], &[1.0]));
    assert_eq!(b.log(&floats(&[1], &[1.0]))?, floats(&[1], &[0.0]));
    assert_eq!(b.matmul(&a, &row)?, floats(&[2], &[-6.0, 22.0]));
    assert_eq!(b.reduce_sum(&a, Some(&[0]), true)?, floats(&[1, 2], &[4.0, 2.0]));
    assert_eq!(b.reduce_mean(&a, Some(&[-1]), false)?, floats(&[2], &[-0.5, 3.5]));
    assert_eq!(b.reduce_max(&a, None, false)?, floats(&[], &[4.0]));
    assert_eq!(b.reduce_min(&a, None, true)?, floats(&[1, 1], &[-2.0]));
    assert_eq!(b.reshape(&a, &[4])?.shape(), [4]);
    assert_eq!(b.reshape(&a, &[0, -1])?.shape(), [2, 2]);
    assert_eq!(b.transpose(&a, &[1, 0])?, floats(&[2, 2], &[1.0, 3.0, -2.0, 4.0]));
    assert_eq!(b.concat(&[&row, &row], 0)?, floats(&[4], &[2.0, 4.0, 2.0, 4.0]));
    assert_eq!(b.slice(&row, &[-1], &[i64::MIN], &[0], &[-1])?, floats(&[2], &[4.0, 2.0]));
    assert_eq!(b.split(&a, &[1, 1], 0)?[1], floats(&[1, 2], &[3.0, 4.0]));
    assert_eq!(b.unsqueeze(&row, &[0, 2])?.shape(), [1, 2, 1]);
    assert_eq!(b.squeeze(&b.unsqueeze(&row, &[0])?, None)?, row);
    assert_eq!(b.identity(&a)?, a);
    assert_eq!(b.cast(&a, Dtype::I32)?, AnyTensor::from_slice(&[2, 2], &[1_i32, -2, 3, 4]).expect("four"));
    assert_eq!(b.equal(&row, &floats(&[], &[2.0]))?, AnyTensor::from([true, false]));
    let greater = b.greater(&a, &floats(&[], &[0.0]))?;
    assert_eq!(greater, AnyTensor::from_slice(&[2, 2], &[true, false, true, true]).expect("four"));
    assert_eq!(b.less(&row, &floats(&[1], &[3.0]))?, AnyTensor::from([true, false]));
    assert_eq!(b.where_(&greater, &a, &floats(&[], &[9.0]))?, floats(&[2, 2], &[1.0, 9.0, 3.0, 4.0]));
    let value =
        TensorProto { dims: vec![1], data_type: Some(7), int64_data: vec![5], ..TensorProto::default() };
    assert_eq!(b.constant(&value)?, AnyTensor::from([5_i64]));
    assert_eq!(b.gather(&a, &AnyTensor::from([-1_i64]), 0)?, floats(&[1, 2], &[3.0, 4.0]));
    Ok(())
}

#[test]
fn mismatched_values_are_errors_and_not_panics() {
    refusals(&Cpu);
    refusals(&ByExecution(Cpu));
}

fn refusals(b: &impl Backend<Tensor = AnyTensor, Error = CpuError>) {
    let (two, three) = (floats(&[2], &[0.0; 2]), floats(&[3], &[0.0; 3]));
    assert!(b.add(&two, &three).is_err());
    assert!(b.add(&two, &AnyTensor::from([1_i64, 2])).is_err());
    assert!(b.reshape(&two, &[3]).is_err());
    assert!(b.gather(&two, &AnyTensor::from([2_i64]), 0).is_err());
    assert!(b.transpose(&two, &[1]).is_err());
    assert!(b.split(&two, &[3], 0).is_err());
    assert!(b.sqrt(&AnyTensor::from([1_i32])).is_err());
    assert!(Datum::Tensor(two).as_sequence().is_none());
}
