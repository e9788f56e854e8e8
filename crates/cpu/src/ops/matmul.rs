//! Matrix products, batched and quantised.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::layout::broadcast_to;
use super::quantize::product::matmul_integer;
use super::{Operator, native, widened};
use crate::call::{Call, Outcome, one};
use crate::element::{Number, build_over, on_numbers};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::product::{self, Matrix};
use crate::fast::threads;
use crate::memory;
use crate::shape::{broadcast, broadcast_strides, count, each_index, offset};
use crate::work;

pub(super) const OPERATORS: &[Operator] =
    &[widened("MatMul", matmul), widened("Gemm", gemm), native("MatMulInteger", matmul_integer)];

/// Shapes of a batched product with broadcast outer axes; a vector is a row or a column.
pub(crate) struct Batches {
    /// Shape of the result.
    pub(crate) shape: Vec<usize>,
    /// Broadcast outer axes.
    pub(crate) outer: Vec<usize>,
    pub(crate) m: usize,
    pub(crate) k: usize,
    pub(crate) n: usize,
    /// Strides of the outer axes of both sides, in matrices.
    strides: [Vec<usize>; 2],
    shares_right: bool,
}

impl Batches {
    pub(crate) fn of(a: &[usize], b: &[usize]) -> Result<Self, KernelErrorKind> {
        if a.is_empty() || b.is_empty() {
            return invalid("a tensor of rank 0 is not a matrix");
        }
        let full_a = if a.len() == 1 { vec![1, a[0]] } else { a.to_vec() };
        let full_b = if b.len() == 1 { vec![b[0], 1] } else { b.to_vec() };
        let (outer_a, matrix_a) = full_a.split_at(full_a.len() - 2);
        let (outer_b, matrix_b) = full_b.split_at(full_b.len() - 2);
        let (m, k, n) = (matrix_a[0], matrix_a[1], matrix_b[1]);
        if k != matrix_b[0] {
            return invalid(format!("the inner extents of {a:?} and {b:?} differ"));
        }
        let outer = broadcast(&[outer_a, outer_b])?;
        let mut shape = outer.clone();
        if a.len() > 1 {
            shape.push(m);
        }
        if b.len() > 1 {
            shape.push(n);
        }
        let strides = [broadcast_strides(outer_a, &outer), broadcast_strides(outer_b, &outer)];
        Ok(Self { shape, outer, m, k, n, strides, shares_right: outer_b.is_empty() })
    }

    /// Whether all products have the same right side.
    pub(crate) fn shares_right(&self) -> bool {
        self.shares_right
    }

    /// Visits the products: the number, and the offsets of both matrices.
    pub(crate) fn each(&self, mut visit: impl FnMut(usize, usize, usize)) {
        let [a, b] = &self.strides;
        each_index(&self.outer, |flat, index| {
            visit(flat, offset(index, a) * self.m * self.k, offset(index, b) * self.k * self.n);
        });
    }
}

/// Minimum number of multiplications of all products for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 21;

/// Batched matrix product.
pub(crate) fn multiply(a: &AnyTensor, b: &AnyTensor) -> Result<AnyTensor, KernelErrorKind> {
    let batches = Batches::of(a.shape(), b.shape())?;
    let (m, k, n) = (batches.m, batches.k, batches.n);
    work::spend_products(a.dtype(), &[&batches.outer[..], &[m, k, n]].concat())?;
    let mut outcome = Ok(());
    let product = on_numbers!(a.dtype(), T => {
        let (left, right) = (a.as_slice::<T>()?, b.as_slice::<T>()?);
        build_over::<T>(&batches.shape, |out| {
            if out.is_empty() {
                return;
            }
            // If all products share the right side, one large product replaces them.
            if batches.shares_right() {
                let rows = count(&batches.outer) * m;
                outcome = product::multiply(
                    Matrix::new(left, rows, k), Matrix::new(right, k, n), out, T::ONE, None,
                );
                return;
            }
            let mut starts = Vec::with_capacity(count(&batches.outer));
            batches.each(|_, a, b| starts.push((a, b)));
            let tasks: Vec<_> = starts.into_iter().zip(out.chunks_exact_mut(m * n)).collect();
            let each = |((at_a, at_b), out): ((usize, usize), &mut [T])| {
                let a = Matrix::new(&left[at_a..][..m * k], m, k);
                let b = Matrix::new(&right[at_b..][..k * n], k, n);
                product::multiply(a, b, out, T::ONE, None)
            };
            outcome = if threads::should_split(tasks.len() * m * k * n, MIN_PARALLEL) {
                threads::try_run_all(tasks, &each)
            } else {
                tasks.into_iter().try_for_each(each)
            };
        })
    })?;
    outcome.map(|()| product)
}

fn matmul(call: &mut Call<'_>) -> Outcome {
    one(multiply(call.tensor(0)?, call.tensor(1)?)?)
}

fn gemm(call: &mut Call<'_>) -> Outcome {
    let (alpha, beta) = (call.float("alpha", 1.0)?, call.float("beta", 1.0)?);
    let (flip_a, flip_b) = (call.flag("transA", false)?, call.flag("transB", false)?);
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let (&[a0, a1], &[b0, b1]) = (a.shape(), b.shape()) else { return invalid("the inputs are no matrices") };
    let (m, k) = if flip_a { (a1, a0) } else { (a0, a1) };
    let (inner, n) = if flip_b { (b1, b0) } else { (b0, b1) };
    if k != inner {
        return invalid(format!("the inner extents of {:?} and {:?} differ", a.shape(), b.shape()));
    }
    work::spend_products(a.dtype(), &[m, k, n])?;
    let c = call.optional(2)?.map(|c| {
        if broadcast(&[c.shape(), &[m, n]])? != [m, n] {
            return invalid(format!("{:?} does not broadcast to [{m}, {n}]", c.shape()));
        }
        broadcast_to(c, &[m, n])
    });
    let c = c.transpose()?;
    on_numbers!(a.dtype(), T => {
        if !T::IS_FLOAT && (alpha.fract() != 0.0 || beta.fract() != 0.0) {
            return Err(KernelErrorKind::Unsupported("a fractional factor of whole numbers".to_owned()));
        }
        let (alpha, beta) = (T::from_f64(f64::from(alpha)), T::from_f64(f64::from(beta)));
        let c = match c {
            Some(c) if beta == T::ONE => Some(c),
            Some(c) => Some(super::unary::map_into(c, |value: T| beta.times(value))?),
            None => None,
        };
        let matrix = |data, rows, columns, flipped| {
            if flipped { Matrix::transposed(data, rows, columns) } else { Matrix::new(data, rows, columns) }
        };
        let left = matrix(a.as_slice::<T>()?, m, k, flip_a);
        let right = matrix(b.as_slice::<T>()?, k, n, flip_b);
        let addend = c.as_ref().map(AnyTensor::as_slice::<T>).transpose()?;
        let mut outcome = Ok(());
        let result = build_over::<T>(&[m, n], |out| {
            outcome = product::multiply(left, right, out, alpha, addend);
        })?;
        c.into_iter().for_each(memory::recycle_tensor);
        outcome?;
        one(result)
    })
}

/// Subtracts the zero point from a tensor of 8-bit integers, as `i32`. The zero point is a scalar, or one
/// value per index of `axis`.
pub(crate) fn centred(
    x: &AnyTensor,
    zero: Option<&AnyTensor>,
    axis: usize,
) -> Result<AnyTensor, KernelErrorKind> {
    if !matches!(x.dtype(), Dtype::U8 | Dtype::I8) {
        return Err(KernelErrorKind::Dtype(x.dtype()));
    }
    let wide = super::cast::convert(x, Dtype::I32)?;
    let Some(zero) = zero else { return Ok(wide) };
    let mut zero = super::cast::convert(zero, Dtype::I32)?;
    if zero.len() == 1 {
        zero = zero.reshape(&[])?;
    } else if axis >= x.rank() {
        return invalid(format!("zero points for axis {axis} of rank {}", x.rank()));
    } else if zero.rank() == 1 {
        let mut shape = vec![1; x.rank()];
        shape[axis] = zero.len();
        zero = zero.reshape(&shape)?;
    }
    super::binary::map2::<i32, i32, i32>(&wide, &zero, i32::wrapping_sub)
}
