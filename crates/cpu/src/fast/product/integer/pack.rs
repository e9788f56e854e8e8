//! Packing of 8-bit integers for the kernel.
//!
//! The kernel multiplies pairs of adjacent steps of the inner axis. Packing puts each pair in one word, and
//! the columns that a vector computes next to each other:
//!
//! ```text
//! left, zero point 3       5 7 9              words (2, 4) (6, 0)            sum of the row 12
//! right, columns a and b   a0 a1 a2           panel a0 a1 b0 b1    steps 0 and 1
//!                          b0 b1 b2                 a2 a2 b2 b2    step 2 and its partner
//! ```
//!
//! The zero point of the left side ([`Left`]) is subtracted. An odd number of steps is padded with a zero
//! there, so the partner of the last step of the right side may be any element. So may columns past the end.
//! The right side keeps its bytes. Unsigned ones are converted to `i8` by inverting the highest bit, which
//! subtracts 128 ([`Signs::bias`]).
//!
//! **Invariant:** words of the left side are in `-255..=255` for zero points of the element type, and
//! elements of the right side are in `-128..=127`. So a sum of two products does not overflow 32 bits.
//!
//! **Invariant:** the width of a panel is the one of this processor, and a block of columns begins with a
//! panel.
//!
//! Packing is one pass over each side. It takes `2 * rows * depth` bytes for the left side and
//! `columns * depth` bytes for the right one, with `depth` and `columns` rounded up to pairs and panels. A
//! constant right side is packed once ([`PackedRight`]). The windows of a convolution ([`Windowed`]) are
//! packed block by block, without a matrix of all windows.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::super::operands::{Offsets, Steps};
use super::{Zeros, panel_width};
use crate::error::KernelErrorKind;
use crate::shape::each_strided;

/// Interpretation of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Signs {
    Signed,
    Unsigned,
}

impl Signs {
    /// Bits to flip to turn a byte into an `i8`, which is 128 less if the byte is unsigned.
    fn flip(self) -> u8 {
        match self {
            Self::Signed => 0,
            Self::Unsigned => 0x80,
        }
    }

    /// Difference between the value of a byte and the `i8` that represents it.
    pub(crate) fn bias(self) -> i32 {
        match self {
            Self::Signed => 0,
            Self::Unsigned => 128,
        }
    }

    /// Value of a byte.
    pub(crate) fn value(self, byte: u8) -> i32 {
        i32::from((byte ^ self.flip()).cast_signed()) + self.bias()
    }
}

/// Elements of a tensor of 8-bit integers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a> {
    pub(crate) data: &'a [u8],
    pub(crate) signs: Signs,
}

impl<'a> Bytes<'a> {
    pub(crate) fn of(tensor: &'a AnyTensor) -> Result<Self, KernelErrorKind> {
        match tensor.dtype() {
            Dtype::U8 => Ok(Self { data: tensor.bytes(), signs: Signs::Unsigned }),
            Dtype::I8 => Ok(Self { data: tensor.bytes(), signs: Signs::Signed }),
            other => Err(KernelErrorKind::Dtype(other)),
        }
    }

    /// The elements from `start` on.
    pub(crate) fn from(self, start: usize) -> Self {
        Self { data: &self.data[start..], ..self }
    }
}

/// The left side: elements minus zero points, in rows of pairs of 16 bits. An odd number of steps is padded
/// with a zero.
#[derive(Clone, Debug)]
pub(crate) struct Left {
    words: Vec<i16>,
    depth: usize,
    /// Sum of each row.
    sums: Vec<i32>,
}

impl Left {
    /// Packs a matrix with these strides into `memory`.
    pub(crate) fn pack(
        from: Bytes<'_>,
        (rows, depth): (usize, usize),
        (row_stride, stride): (usize, usize),
        zeros: &Zeros,
        mut memory: Vec<i16>,
    ) -> Self {
        let width = depth.next_multiple_of(2);
        memory.clear();
        memory.resize(rows * width, 0);
        let mut sums = vec![0; rows];
        let lines = memory.chunks_exact_mut(width.max(1)).zip(&mut sums).enumerate();
        for (row, (to, sum)) in lines {
            let from = from.from(row * row_stride);
            let zero = zeros.at(row) - from.signs.bias();
            *sum = Arch::new().dispatch(Centre { from, stride, zero, to: &mut to[..depth] });
        }
        Self { words: memory, depth, sums }
    }

    pub(crate) fn rows(&self) -> usize {
        self.sums.len()
    }

    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Sum of a row.
    pub(crate) fn sum(&self, row: usize) -> i32 {
        self.sums[row]
    }

    /// The pairs of a row.
    #[inline(always)]
    pub(super) fn row(&self, row: usize) -> &[[i16; 2]] {
        let width = self.depth.next_multiple_of(2);
        self.words[row * width..(row + 1) * width].as_chunks().0
    }

    /// Returns the buffer for reuse.
    pub(crate) fn into_memory(self) -> Vec<i16> {
        self.words
    }
}

/// Subtracts a zero point from a row, and returns the sum of the differences.
struct Centre<'a> {
    from: Bytes<'a>,
    stride: usize,
    /// Zero point of the bytes as `i8`.
    zero: i32,
    to: &'a mut [i16],
}

impl WithSimd for Centre<'_> {
    type Output = i32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> i32 {
        let Self { from, stride, zero, to } = self;
        let flip = from.signs.flip();
        // In -255..=255 for zero points of the element type.
        let zero = zero as i16;
        each_strided(
            to,
            from.data,
            stride,
            #[inline(always)]
            |to, byte| *to = i16::from((byte ^ flip).cast_signed()).wrapping_sub(zero),
        );
        to.iter().fold(0, |sum, value| sum.wrapping_add(i32::from(*value)))
    }
}

/// Panels of columns: for each pair of steps, the two elements of each column.
#[derive(Clone, Copy)]
pub(super) struct Panels<'a> {
    pub(super) data: &'a [i8],
    /// Number of bytes of a panel.
    pub(super) size: usize,
}

/// A packed right side.
#[derive(Clone, Debug)]
pub(crate) struct PackedRight {
    data: Vec<i8>,
    depth: usize,
    columns: usize,
    panel: usize,
}

impl PackedRight {
    /// Packs all columns of a matrix with `depth` steps.
    pub(crate) fn new(from: Windowed<'_>, depth: usize, columns: usize) -> Self {
        let (mut data, panel) = (Vec::new(), panel_width());
        from.pack(depth, 0..columns, panel, &mut data);
        Self { data, depth, columns, panel }
    }

    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// The panels from a column on, with which a panel begins.
    pub(super) fn panels(&self, first_column: usize) -> Panels<'_> {
        let size = self.panel * self.depth.next_multiple_of(2);
        Panels { data: &self.data[first_column / self.panel * size..], size }
    }
}

/// The right side as a view of memory: the offset of an element is the sum of the offset of its step and the
/// offset of its column.
#[derive(Clone, Copy)]
pub(crate) struct Windowed<'a> {
    pub(crate) bytes: Bytes<'a>,
    pub(crate) steps: Steps<'a>,
    pub(crate) columns: Offsets<'a>,
}

impl Windowed<'_> {
    /// Packs columns into panels. The elements of columns past the end are arbitrary.
    pub(super) fn pack<'s>(
        self,
        depth: usize,
        columns: Range<usize>,
        panel: usize,
        scratch: &'s mut Vec<i8>,
    ) -> Panels<'s> {
        let size = panel * depth.next_multiple_of(2);
        let needed = columns.len().div_ceil(panel) * size;
        if scratch.len() < needed {
            scratch.resize(needed, 0);
        }
        let starts = columns.clone().step_by(panel);
        for (start, to) in starts.zip(scratch.chunks_exact_mut(size.max(1))) {
            let columns = start..(start + panel).min(columns.end);
            Arch::new().dispatch(Interleave { from: self, depth, columns, panel, to });
        }
        Panels { data: &scratch[..needed], size }
    }
}

/// Packs a panel.
struct Interleave<'a, 's> {
    from: Windowed<'a>,
    depth: usize,
    columns: Range<usize>,
    panel: usize,
    to: &'s mut [i8],
}

impl WithSimd for Interleave<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { from, depth, columns, panel, to } = self;
        let flip = from.bytes.signs.flip();
        let data = from.bytes.data;
        let (runs, stride) = from.columns.runs(columns);
        for (step, to) in (0..depth).step_by(2).zip(to.chunks_exact_mut(2 * panel)) {
            let first = from.steps.at(step);
            // The partner of the last step is multiplied by the zero that pads the left side.
            let second = from.steps.at((step + 1).min(depth - 1));
            for run in &runs {
                let to = to[2 * run.at..2 * (run.at + run.len)].as_chunks_mut::<2>().0;
                let (a, b) = (&data[first + run.start..], &data[second + run.start..]);
                if stride == 1 {
                    for (to, (a, b)) in to.iter_mut().zip(a.iter().zip(b)) {
                        *to = [(a ^ flip).cast_signed(), (b ^ flip).cast_signed()];
                    }
                } else {
                    for (at, to) in to.iter_mut().enumerate() {
                        let at = at * stride;
                        *to = [(a[at] ^ flip).cast_signed(), (b[at] ^ flip).cast_signed()];
                    }
                }
            }
        }
    }
}
