//! Type-independent copying of elements.
//!
//! An operator that only moves elements (such as a transpose, slice or gather) lists the runs of input
//! elements that make up the result. Runs are copied as bytes. Strings, and elements that share a byte, are
//! unpacked first.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use crate::element::check_size;
use crate::error::{KernelErrorKind, invalid};
use crate::fast::threads;
use crate::memory;
use crate::shape::count;

mod orthogonal;

mod transpose;

pub(crate) use orthogonal::{Selection, select};
pub(crate) use transpose::strided;

/// Minimum number of bytes that a thread copies.
const MIN_COPIED: usize = 1 << 15;

/// A run of consecutive elements of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Index of the input.
    pub(crate) input: usize,
    /// Offset of the first element.
    pub(crate) start: usize,
    /// Number of elements.
    pub(crate) len: usize,
}

impl Run {
    /// A run of one element of the first input.
    pub(crate) fn one(start: usize) -> Self {
        Self { input: 0, start, len: 1 }
    }

    /// A run of elements of the first input.
    pub(crate) fn of(start: usize, len: usize) -> Self {
        Self { input: 0, start, len }
    }
}

/// Concatenates runs into a tensor. There must be at least one input, and all have one element type.
pub(crate) fn assemble(
    inputs: &[&AnyTensor],
    shape: &[usize],
    mut runs: impl Iterator<Item = Run>,
) -> Result<AnyTensor, KernelErrorKind> {
    assemble_batches(inputs, shape, &mut |batch| {
        let mut count = 0;
        for (to, run) in batch.iter_mut().zip(runs.by_ref()) {
            *to = run;
            count += 1;
        }
        count
    })
}

/// Number of runs that are listed at once.
const BATCH: usize = 64;

/// Lists the next runs at the front of a batch, and returns their number: 0 after the last run.
///
/// The copies are not generic over the iterator of the runs, so that they are compiled once for each width of
/// elements.
type Batches<'a> = &'a mut dyn FnMut(&mut [Run; BATCH]) -> usize;

fn assemble_batches(
    inputs: &[&AnyTensor],
    shape: &[usize],
    next: Batches<'_>,
) -> Result<AnyTensor, KernelErrorKind> {
    let Some(first) = inputs.first() else { return invalid("there is no input") };
    let dtype = first.dtype();
    if let Some(other) = inputs.iter().find(|input| input.dtype() != dtype) {
        return Err(KernelErrorKind::DtypeMismatch(dtype, other.dtype()));
    }
    check_size(shape, dtype.size_bytes().unwrap_or(8))?;
    if shape.contains(&0) {
        return Ok(AnyTensor::zeros(dtype, shape)?);
    }
    match dtype.size_bytes() {
        Some(1) => bytes::<1>(inputs, dtype, shape, next),
        Some(2) => bytes::<2>(inputs, dtype, shape, next),
        Some(4) => bytes::<4>(inputs, dtype, shape, next),
        Some(8) => bytes::<8>(inputs, dtype, shape, next),
        Some(16) => bytes::<16>(inputs, dtype, shape, next),
        Some(_) => Err(KernelErrorKind::Dtype(dtype)),
        None if dtype == Dtype::String => {
            let texts = inputs.iter().map(|input| input.strings().map(Iterator::collect));
            let texts: Vec<Vec<&str>> = texts.collect::<Result<_, _>>()?;
            Ok(AnyTensor::from_strings(shape, &listed(&texts, next)?)?)
        }
        None => {
            let codes = inputs.iter().map(|input| input.codes().map(Iterator::collect));
            let codes: Vec<Vec<u8>> = codes.collect::<Result<_, _>>()?;
            Ok(AnyTensor::from_codes(dtype, shape, &listed(&codes, next)?)?)
        }
    }
}

/// The elements of runs.
fn listed<T: Clone>(sources: &[Vec<T>], next: Batches<'_>) -> Result<Vec<T>, KernelErrorKind> {
    let (mut out, mut batch) = (Vec::new(), [Run::one(0); BATCH]);
    loop {
        let count = next(&mut batch);
        if count == 0 {
            return Ok(out);
        }
        for run in &batch[..count] {
            out.extend_from_slice(part(&sources[run.input], *run)?);
        }
    }
}

/// Alternates between the inputs: takes `lengths[i]` elements of input `i`, then of the next one, until none
/// are left. All inputs have one element type and fill the shape.
pub(crate) fn interleave(
    inputs: &[&AnyTensor],
    shape: &[usize],
    lengths: &[usize],
) -> Result<AnyTensor, KernelErrorKind> {
    let block: usize = lengths.iter().sum();
    let dtype = inputs.first().map(|input| input.dtype());
    let size = dtype.and_then(Dtype::size_bytes).filter(|_| block > 0);
    match (dtype, size) {
        (Some(dtype), Some(size)) if inputs.iter().all(|input| input.dtype() == dtype) => {
            check_size(shape, size)?;
            interleave_bytes(inputs, dtype, shape, lengths.iter().map(|len| len * size).collect())
        }
        _ => {
            let blocks = 0..count(shape).checked_div(block).unwrap_or(0);
            let runs = blocks.flat_map(|block| {
                let each = lengths.iter().enumerate();
                each.map(move |(input, len)| Run { input, start: block * len, len: *len })
            });
            assemble(inputs, shape, runs)
        }
    }
}

fn interleave_bytes(
    inputs: &[&AnyTensor],
    dtype: Dtype,
    shape: &[usize],
    lengths: Vec<usize>,
) -> Result<AnyTensor, KernelErrorKind> {
    let block: usize = lengths.iter().sum();
    let sources: Vec<(&[u8], usize)> = inputs.iter().map(|input| input.bytes()).zip(lengths).collect();
    write_chunks::<1>(dtype, shape, |out| {
        threads::in_parts(out.as_flattened_mut(), MIN_COPIED, &|start, out| {
            let (mut number, mut skipped, mut rest) = (start / block, start % block, out);
            while !rest.is_empty() {
                for (source, len) in &sources {
                    let first = skipped.min(*len);
                    skipped -= first;
                    let from = &source[number * len + first..][..(len - first).min(rest.len())];
                    let (to, tail) = rest.split_at_mut(from.len());
                    to.copy_from_slice(from);
                    rest = tail;
                }
                number += 1;
            }
        });
    })
}

fn part<T>(elements: &[T], run: Run) -> Result<&[T], KernelErrorKind> {
    match elements.get(run.start..).and_then(|rest| rest.get(..run.len)) {
        Some(part) => Ok(part),
        None => invalid("an element outside of its tensor is requested"),
    }
}

fn bytes<const N: usize>(
    inputs: &[&AnyTensor],
    dtype: Dtype,
    shape: &[usize],
    next: Batches<'_>,
) -> Result<AnyTensor, KernelErrorKind> {
    let sources: Vec<&[[u8; N]]> = inputs.iter().map(|input| input.bytes().as_chunks::<N>().0).collect();
    let mut complete = Ok(());
    let tensor = write_chunks::<N>(dtype, shape, |out| complete = copy_runs(&sources, next, out))?;
    complete.map(|()| tensor)
}

fn copy_runs<const N: usize>(
    sources: &[&[[u8; N]]],
    next: Batches<'_>,
    mut out: &mut [[u8; N]],
) -> Result<(), KernelErrorKind> {
    let mut batch = [Run::one(0); BATCH];
    loop {
        let count = next(&mut batch);
        if count == 0 {
            break;
        }
        for run in &batch[..count] {
            let source = part(sources[run.input], *run)?;
            if source.len() > out.len() {
                return invalid("there are more elements than the shape has");
            }
            let (head, tail) = std::mem::take(&mut out).split_at_mut(source.len());
            if let ([to], [from]) = (&mut *head, source) {
                *to = *from;
            } else {
                head.copy_from_slice(source);
            }
            out = tail;
        }
    }
    if out.is_empty() { Ok(()) } else { invalid("there are fewer elements than the shape has") }
}

/// Elements by offset.
pub(crate) fn picked(
    x: &AnyTensor,
    offsets: &[usize],
    shape: &[usize],
) -> Result<AnyTensor, KernelErrorKind> {
    let len = x.len();
    let complete = count(shape) == offsets.len() && offsets.iter().all(|offset| *offset < len);
    match x.dtype().size_bytes().filter(|_| complete) {
        Some(1) => picked_bytes::<1>(x, offsets, shape),
        Some(2) => picked_bytes::<2>(x, offsets, shape),
        Some(4) => picked_bytes::<4>(x, offsets, shape),
        Some(8) => picked_bytes::<8>(x, offsets, shape),
        Some(_) | None => assemble(&[x], shape, offsets.iter().map(|offset| Run::one(*offset))),
    }
}

fn picked_bytes<const N: usize>(
    x: &AnyTensor,
    offsets: &[usize],
    shape: &[usize],
) -> Result<AnyTensor, KernelErrorKind> {
    check_size(shape, N)?;
    let source = x.bytes().as_chunks::<N>().0;
    write_chunks::<N>(x.dtype(), shape, |out| {
        out.iter_mut().zip(offsets).for_each(|(out, offset)| *out = source[*offset]);
    })
}

/// Builds a tensor of elements of `N` bytes with `fill`, which must write all elements.
pub(crate) fn write_chunks<const N: usize>(
    dtype: Dtype,
    shape: &[usize],
    mut fill: impl FnMut(&mut [[u8; N]]),
) -> Result<AnyTensor, KernelErrorKind> {
    write_bytes(dtype, shape, &mut |out| fill(out.as_chunks_mut::<N>().0))
}

/// Builds a tensor with `fill`, which must write all bytes. Not generic, so that it is compiled once.
#[inline(never)]
fn write_bytes(
    dtype: Dtype,
    shape: &[usize],
    fill: &mut dyn FnMut(&mut [u8]),
) -> Result<AnyTensor, KernelErrorKind> {
    // `fill` can iterate over the other axes.
    if shape.contains(&0) {
        return Ok(AnyTensor::zeros(dtype, shape)?);
    }
    Ok(match memory::used(AnyTensor::byte_len(dtype, shape)?) {
        Some(memory) => AnyTensor::from_memory_with(dtype, shape, memory, fill)?,
        None => AnyTensor::from_bytes_with(dtype, shape, fill)?,
    })
}

/// Selects entries along the middle axis of a tensor that is viewed with three axes of these extents.
pub(crate) fn slices(
    x: &AnyTensor,
    (outer, extent, inner): (usize, usize, usize),
    indices: &[usize],
    shape: &[usize],
) -> Result<AnyTensor, KernelErrorKind> {
    let lists = [Selection::All, Selection::Listed(indices.to_vec()), Selection::All];
    reshape(select(&reshape(x.clone(), &[outer, extent, inner])?, &lists)?, shape)
}

/// Reinterprets the elements in another shape.
pub(crate) fn reshape(tensor: AnyTensor, shape: &[usize]) -> Result<AnyTensor, KernelErrorKind> {
    Ok(tensor.reshape(shape)?)
}
