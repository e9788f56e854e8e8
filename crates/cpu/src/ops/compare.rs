//! Comparisons and `Where`.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::element::Element;

use super::binary::{PairLoop, Pairs, aligned, fill_pairs, map2};
use super::{Operator, native, widened};
use crate::call::{Call, Outcome, one};
use crate::element::{check_size, dispatch, on_numbers, vectorised};
use crate::error::{KernelErrorKind, invalid};
use crate::movement::{Run, assemble, write_chunks};
use crate::shape::{Rows, broadcast, broadcast_strides, each_index, offset, strides};

/// A comparison of numbers.
macro_rules! comparison {
    ($operator:tt) => {
        |call| {
            let b = aligned(call)?;
            let a = call.take(0)?;
            one(on_numbers!(a.dtype(), T => compared::<T>(&a, &b, &Comparison(#[inline(always)] |a: T, b: T| a $operator b)))?)
        }
    };
}

pub(super) const OPERATORS: &[Operator] = &[
    widened("Equal", equal),
    widened("Greater", comparison!(>)),
    widened("Less", comparison!(<)),
    widened("GreaterOrEqual", comparison!(>=)),
    widened("LessOrEqual", comparison!(<=)),
    native("And", |call| logic(call, |a, b| a & b)),
    native("Or", |call| logic(call, |a, b| a | b)),
    native("Xor", |call| logic(call, |a, b| a ^ b)),
    native("Not", |call| {
        let x = call.take(0)?;
        if x.dtype() != Dtype::Bool {
            return Err(KernelErrorKind::Dtype(x.dtype()));
        }
        let flags = x.bytes().as_chunks::<1>().0;
        one(write_chunks::<1>(Dtype::Bool, x.shape(), |out| {
            out.iter_mut().zip(flags).for_each(|(out, [flag])| *out = [flag ^ 1]);
        })?)
    }),
    native("Where", choose),
];

/// The loops of a comparison.
struct Comparison<F>(F);

impl<T: Element, F: Fn(T, T) -> bool + Sync> PairLoop<T, T, [u8; 1]> for Comparison<F> {
    fn fill_equal(&self, left: &[T], right: &[T], out: &mut [[u8; 1]]) {
        vectorised::<T, _>(
            #[inline(always)]
            || {
                for (out, (left, right)) in out.iter_mut().zip(left.iter().zip(right)) {
                    *out = [u8::from(self.0(*left, *right))];
                }
            },
        );
    }

    fn fill_rows(&self, pairs: Pairs<'_, T, T>, out: &mut [[u8; 1]]) {
        let mut pairs = Some(pairs);
        vectorised::<T, _>(
            #[inline(always)]
            || {
                if let Some(pairs) = pairs.take() {
                    pairs.fill(
                        out,
                        #[inline(always)]
                        |left, right| [u8::from(self.0(left, right))],
                    );
                }
            },
        );
    }
}

/// Applies a comparison to the elements of two broadcast tensors. The results are written as bytes, because a
/// view of bools checks each of them.
fn compared<T: Element>(
    a: &AnyTensor,
    b: &AnyTensor,
    pairs: &dyn PairLoop<T, T, [u8; 1]>,
) -> Result<AnyTensor, KernelErrorKind> {
    let (left, right) = (a.as_slice::<T>()?, b.as_slice::<T>()?);
    let shape = broadcast(&[a.shape(), b.shape()])?;
    check_size(&shape, 1)?;
    write_chunks::<1>(Dtype::Bool, &shape, |out| {
        fill_pairs((a.shape(), left), (b.shape(), right), &shape, out, pairs);
    })
}

fn equal(call: &mut Call<'_>) -> Outcome {
    let b = aligned(call)?;
    let a = call.take(0)?;
    if a.dtype() == Dtype::String {
        let shape = broadcast(&[a.shape(), b.shape()])?;
        check_size(&shape, 1)?;
        let (left, right): (Vec<_>, Vec<_>) = (a.strings()?.collect(), b.strings()?.collect());
        let (sa, sb) = (broadcast_strides(a.shape(), &shape), broadcast_strides(b.shape(), &shape));
        let mut out = Vec::with_capacity(crate::shape::count(&shape));
        each_index(&shape, |_, index| out.push(left[offset(index, &sa)] == right[offset(index, &sb)]));
        return one(AnyTensor::from_slice(&shape, &out)?);
    }
    one(dispatch!(a.dtype(), T in [
        F32 f32, F64 f64, I64 i64, I32 i32, I16 i16, I8 i8, U8 u8, U16 u16, U32 u32, U64 u64, Bool bool,
    ] => compared::<T>(&a, &b, &Comparison(#[inline(always)] |a: T, b: T| a == b)))?)
}

fn logic(call: &mut Call<'_>, each: impl Fn(bool, bool) -> bool + Sync) -> Outcome {
    let b = aligned(call)?;
    let a = call.take(0)?;
    if a.dtype() == Dtype::Bool && b.dtype() == Dtype::Bool && a.shape() == b.shape() {
        // As bytes, because a view of bools checks each of them.
        let (left, right) = (a.bytes().as_chunks::<1>().0, b.bytes().as_chunks::<1>().0);
        return one(write_chunks::<1>(Dtype::Bool, a.shape(), |out| {
            for (out, ([left], [right])) in out.iter_mut().zip(left.iter().zip(right)) {
                *out = [u8::from(each(*left != 0, *right != 0))];
            }
        })?);
    }
    one(map2::<bool, bool, bool>(&a, &b, each)?)
}

fn choose(call: &mut Call<'_>) -> Outcome {
    let (condition, a, b) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let shape = broadcast(&[condition.shape(), a.shape(), b.shape()])?;
    let flags = condition.as_slice::<bool>()?;
    let strides = [condition, a, b].map(|tensor| broadcast_strides(tensor.shape(), &shape));
    if a.dtype() != b.dtype() {
        return Err(KernelErrorKind::DtypeMismatch(a.dtype(), b.dtype()));
    }
    if flags.is_empty() && crate::shape::count(&shape) > 0 {
        return invalid("the condition has fewer elements than its shape needs");
    }
    let choice = Choice { flags, strides: &strides, inputs: [a, b] };
    match a.dtype().size_bytes() {
        Some(1) => one(choice.made::<1>(&shape)?),
        Some(2) => one(choice.made::<2>(&shape)?),
        Some(4) => one(choice.made::<4>(&shape)?),
        Some(8) => one(choice.made::<8>(&shape)?),
        Some(16) => one(choice.made::<16>(&shape)?),
        Some(_) | None => {
            check_size(&shape, size_of::<Run>())?;
            let mut runs: Vec<Run> = Vec::with_capacity(crate::shape::count(&shape));
            each_index(&shape, |_, index| {
                let [flag, a, b] = [0, 1, 2].map(|which: usize| offset(index, &strides[which]));
                let (input, start) = if flags[flag] { (0, a) } else { (1, b) };
                runs.push(Run { input, start, len: 1 });
            });
            one(assemble(&[a, b], &shape, runs.into_iter())?)
        }
    }
}

/// Reads both values first, because a conditional read does not vectorise.
#[inline(always)]
fn chosen<T>(flag: bool, yes: T, no: T) -> T {
    if flag { yes } else { no }
}

/// The operands of `Where`: condition, and the values where it is true and false.
struct Choice<'a> {
    flags: &'a [bool],
    strides: &'a [Vec<usize>; 3],
    inputs: [&'a AnyTensor; 2],
}

impl Choice<'_> {
    fn made<const N: usize>(&self, shape: &[usize]) -> Result<AnyTensor, KernelErrorKind> {
        let dtype = self.inputs[0].dtype();
        let [yes, no] = self.inputs.map(|input| input.bytes().as_chunks::<N>().0);
        check_size(shape, N)?;
        // Equal shapes and scalars are one row.
        let is_flat =
            self.strides.iter().all(|own| own.iter().all(|step| *step == 0) || own[..] == strides(shape)[..]);
        let (shape_of_rows, own): (Vec<usize>, Vec<Vec<usize>>) = if is_flat && !shape.is_empty() {
            let step = |own: &Vec<usize>| vec![own.iter().copied().max().unwrap_or(0).min(1)];
            (vec![crate::shape::count(shape)], self.strides.iter().map(step).collect())
        } else {
            (shape.to_vec(), self.strides.to_vec())
        };
        let width = shape_of_rows.last().copied().unwrap_or(1);
        write_chunks::<N>(dtype, shape, |out| {
            if out.is_empty() {
                return;
            }
            let last = [0, 1, 2].map(|which: usize| own[which].last().copied().unwrap_or(0));
            let rows = Rows::new(&shape_of_rows, [&own[0], &own[1], &own[2]]);
            for (out, starts) in out.chunks_exact_mut(width).zip(rows) {
                let flags = &self.flags[starts[0]..];
                let (yes, no) = (&yes[starts[1]..], &no[starts[2]..]);
                match last {
                    [1, 1, 1] => {
                        for (out, (flag, (yes, no))) in
                            out.iter_mut().zip(flags.iter().zip(yes.iter().zip(no)))
                        {
                            *out = chosen(*flag, *yes, *no);
                        }
                    }
                    [1, 1, 0] => {
                        let no = no[0];
                        for (out, (flag, yes)) in out.iter_mut().zip(flags.iter().zip(yes)) {
                            *out = chosen(*flag, *yes, no);
                        }
                    }
                    [1, 0, 1] => {
                        let yes = yes[0];
                        for (out, (flag, no)) in out.iter_mut().zip(flags.iter().zip(no)) {
                            *out = chosen(*flag, yes, *no);
                        }
                    }
                    [flag, a, b] => {
                        for (at, out) in out.iter_mut().enumerate() {
                            *out = if flags[at * flag] { yes[at * a] } else { no[at * b] };
                        }
                    }
                }
            }
        })
    }
}
