//! Random 8-bit tensors, for the unit tests and for `tests/quantized.rs`.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::Random;

pub(crate) fn below(random: &mut Random, limit: usize) -> usize {
    usize::try_from(random.bits() % limit as u64).expect("the limit is small")
}

/// A tensor of bytes, of which a quarter are at the ends of the ranges of both types.
pub(crate) fn bytes(dtype: Dtype, shape: &[usize], random: &mut Random) -> AnyTensor {
    let len = shape.iter().product();
    let data: Vec<u8> = (0..len)
        .map(|_| match random.bits() % 4 {
            0 => [0, 127, 128, 255][below(random, 4)],
            _ => below(random, 256) as u8,
        })
        .collect();
    AnyTensor::from_le_bytes(dtype, shape, &data).expect("as many bytes as the shape requires")
}
