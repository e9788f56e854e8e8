//! Register tiles over pairs of steps, on each instruction set.
//!
//! The innermost loops of a product keep a tile of sums in registers for all steps of the inner axis (Goto
//! and van de Geijn, *Anatomy of high-performance matrix multiplication*, 2008). A step here is a pair of
//! steps: one instruction (`madd`) multiplies two elements of each lane and adds both products.
//!
//! ```text
//! one pair of steps with AVX-512: 8 rows by 3 vectors of 16 columns
//!   right    3 vectors of 16 pairs of 8 bits, widened to 16 bits
//!   left     8 pairs, each repeated in all lanes of a vector
//!   sums     24 vectors: sum += l0 * r0 + l1 * r1
//! ```
//!
//! With AVX2 a tile has 4 rows by 3 vectors of 8 columns. Both tiles fit in the registers together with their
//! operands. A tile takes `rows * vectors` multiply-adds for each pair of steps, and loads each operand once.
//!
//! [`Pairs`] lists the operations that differ between instruction sets. A new set implements it, and gets an
//! arm in [`kernel`] and in [`sums`]. [`Portable`] serves all other processors with arrays.
//!
//! **Invariant:** all implementations give equal sums, which wrap at 32 bits; `tests.rs` compares them.
//!
//! **Invariant:** callers pass a power of two of rows, at most [`Kernel::rows`], and a result whose rows are
//! whole vectors.

use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};

use super::ACROSS;
use super::pack::{Left, Panels};

/// Multiply-add of pairs on an instruction set.
trait Pairs: Copy {
    /// A vector of 32-bit sums.
    type Sums: Copy;
    /// A vector of pairs of 16 bits.
    type Words: Copy;
    /// A vector of pairs of 8 bits.
    type Packed: Copy;

    /// The whole vectors at the front of a slice.
    fn packed(bytes: &[i8]) -> &[Self::Packed];

    fn zero(self) -> Self::Sums;

    fn widen(self, packed: Self::Packed) -> Self::Words;

    /// A vector of equal pairs.
    fn splat(self, pair: [i16; 2]) -> Self::Words;

    /// Adds the two products of each pair to the sums.
    fn add_products(self, sums: Self::Sums, a: Self::Words, b: Self::Words) -> Self::Sums;

    /// Stores a vector at the front of `to`.
    fn store(self, sums: Self::Sums, to: &mut [i32]);
}

/// Size of the register tile of an instruction set.
#[derive(Clone, Copy)]
pub(super) struct Kernel {
    /// Maximum number of rows.
    pub(super) rows: usize,
    /// Number of sums in a vector.
    pub(super) lanes: usize,
}

/// The tile size of an instruction set.
pub(super) fn kernel(arch: Arch) -> Kernel {
    match arch {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(_) => Kernel { rows: 8, lanes: 16 },
        _ => Kernel { rows: 4, lanes: 8 },
    }
}

/// Computes the sums of at most [`Kernel::rows`] rows and of the columns of panels. The number of rows is a
/// power of two; `out` is row-major with whole vectors in a row.
pub(super) fn sums(arch: Arch, left: &Left, rows: Range<usize>, right: Panels<'_>, out: &mut [i32]) {
    match arch {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(simd) => simd.vectorize(Band { simd, left, rows, right, out }),
        #[cfg(target_arch = "x86_64")]
        Arch::V3(simd) => simd.vectorize(Band { simd, left, rows, right, out }),
        _ => arch.dispatch(Band { simd: Portable, left, rows, right, out }),
    }
}

/// The sums without instructions for pairs.
#[cfg(test)]
pub(super) fn portable_sums(left: &Left, rows: Range<usize>, right: Panels<'_>, out: &mut [i32]) {
    Band { simd: Portable, left, rows, right, out }.call();
}

struct Band<'a, P> {
    simd: P,
    left: &'a Left,
    rows: Range<usize>,
    right: Panels<'a>,
    out: &'a mut [i32],
}

impl<P: Pairs> NullaryFnOnce for Band<'_, P> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        match self.rows.len() {
            8 => band::<P, 8>(self),
            4 => band::<P, 4>(self),
            2 => band::<P, 2>(self),
            _ => band::<P, 1>(self),
        }
    }
}

#[inline(always)]
fn band<P: Pairs, const R: usize>(band: Band<'_, P>) {
    let Band { simd, left, rows, right, out } = band;
    let lanes = size_of::<P::Packed>() / 2;
    let stride = out.len() / R;
    let mut lines: [&[[i16; 2]]; R] = [&[]; R];
    for (line, row) in lines.iter_mut().zip(rows) {
        *line = left.row(row);
    }
    for (at, column) in (0..stride).step_by(ACROSS * lanes).enumerate() {
        let right = &right.data[at * right.size..][..right.size];
        let out = &mut out[column..];
        match ((stride - column) / lanes).min(ACROSS) {
            1 => tile::<P, R, 1>(simd, lines, right, out, stride),
            2 => tile::<P, R, 2>(simd, lines, right, out, stride),
            _ => tile::<P, R, ACROSS>(simd, lines, right, out, stride),
        }
    }
}

/// Computes `R` rows and `V` vectors of a panel.
#[inline(always)]
fn tile<P: Pairs, const R: usize, const V: usize>(
    simd: P,
    mut left: [&[[i16; 2]]; R],
    right: &[i8],
    out: &mut [i32],
    stride: usize,
) {
    let lanes = size_of::<P::Packed>() / 2;
    let mut sums = [[simd.zero(); V]; R];
    let steps = P::packed(right).as_chunks::<ACROSS>().0;
    for row in &mut left {
        *row = &row[..steps.len()];
    }
    for (at, right) in steps.iter().enumerate() {
        let right: [P::Words; V] = std::array::from_fn(
            #[inline(always)]
            |v| simd.widen(right[v]),
        );
        for (sums, left) in sums.iter_mut().zip(left) {
            let left = simd.splat(left[at]);
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = simd.add_products(*sum, left, right);
            }
        }
    }
    for (row, sums) in sums.into_iter().enumerate() {
        for (v, sum) in sums.into_iter().enumerate() {
            simd.store(sum, &mut out[row * stride + v * lanes..][..lanes]);
        }
    }
}

/// Arrays, which the compiler vectorises where it can.
#[derive(Clone, Copy)]
struct Portable;

impl Pairs for Portable {
    type Sums = [i32; 8];
    type Words = [[i16; 2]; 8];
    type Packed = [i8; 16];

    #[inline(always)]
    fn packed(bytes: &[i8]) -> &[[i8; 16]] {
        bytes.as_chunks().0
    }
    #[inline(always)]
    fn zero(self) -> [i32; 8] {
        [0; 8]
    }
    #[inline(always)]
    fn widen(self, packed: [i8; 16]) -> [[i16; 2]; 8] {
        std::array::from_fn(
            #[inline(always)]
            |at| [i16::from(packed[2 * at]), i16::from(packed[2 * at + 1])],
        )
    }
    #[inline(always)]
    fn splat(self, pair: [i16; 2]) -> [[i16; 2]; 8] {
        [pair; 8]
    }
    #[inline(always)]
    fn add_products(self, mut sums: [i32; 8], a: [[i16; 2]; 8], b: [[i16; 2]; 8]) -> [i32; 8] {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(&b)) {
            let product = i32::from(a[0]) * i32::from(b[0]) + i32::from(a[1]) * i32::from(b[1]);
            *sum = sum.wrapping_add(product);
        }
        sums
    }
    #[inline(always)]
    fn store(self, sums: [i32; 8], to: &mut [i32]) {
        to[..8].copy_from_slice(&sums);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256i, __m512i};

    use pulp::bytemuck::cast;
    use pulp::x86::{V3, V4};

    use super::Pairs;

    impl Pairs for V3 {
        type Sums = __m256i;
        type Words = __m256i;
        type Packed = [i8; 16];

        #[inline(always)]
        fn packed(bytes: &[i8]) -> &[[i8; 16]] {
            bytes.as_chunks().0
        }
        #[inline(always)]
        fn zero(self) -> __m256i {
            self.avx._mm256_setzero_si256()
        }
        #[inline(always)]
        fn widen(self, packed: [i8; 16]) -> __m256i {
            self.avx2._mm256_cvtepi8_epi16(cast(packed))
        }
        #[inline(always)]
        fn splat(self, pair: [i16; 2]) -> __m256i {
            self.avx._mm256_set1_epi32(cast(pair))
        }
        #[inline(always)]
        fn add_products(self, sums: __m256i, a: __m256i, b: __m256i) -> __m256i {
            self.avx2._mm256_add_epi32(sums, self.avx2._mm256_madd_epi16(a, b))
        }
        #[inline(always)]
        fn store(self, sums: __m256i, to: &mut [i32]) {
            to[..8].copy_from_slice(&cast::<_, [i32; 8]>(sums));
        }
    }

    impl Pairs for V4 {
        type Sums = __m512i;
        type Words = __m512i;
        type Packed = [i8; 32];

        #[inline(always)]
        fn packed(bytes: &[i8]) -> &[[i8; 32]] {
            bytes.as_chunks().0
        }
        #[inline(always)]
        fn zero(self) -> __m512i {
            self.avx512f._mm512_setzero_si512()
        }
        #[inline(always)]
        fn widen(self, packed: [i8; 32]) -> __m512i {
            self.avx512bw._mm512_cvtepi8_epi16(cast(packed))
        }
        #[inline(always)]
        fn splat(self, pair: [i16; 2]) -> __m512i {
            self.avx512f._mm512_set1_epi32(cast(pair))
        }
        #[inline(always)]
        fn add_products(self, sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
            self.avx512f._mm512_add_epi32(sums, self.avx512bw._mm512_madd_epi16(a, b))
        }
        #[inline(always)]
        fn store(self, sums: __m512i, to: &mut [i32]) {
            to[..16].copy_from_slice(&cast::<_, [i32; 16]>(sums));
        }
    }
}
