//! Comparison of the product with sums of single products.

use super::*;
use crate::fast::product::{Offsets, Steps};

/// Numbers of a fixed sequence (splitmix64).
struct Sequence(u64);

impl Sequence {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Bytes of which many are extremes.
    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let byte = |number: u64| match number % 4 {
            0 => [0, 127, 128, 255][(number >> 8) as usize % 4],
            _ => (number >> 16) as u8,
        };
        (0..len).map(|_| byte(self.next())).collect()
    }

    fn zeros(&mut self, signs: Signs, len: usize) -> Zeros {
        let bytes = self.bytes(len + 1);
        match self.next() % 3 {
            0 => Zeros::One(0),
            1 => Zeros::One(signs.value(bytes[0])),
            _ => Zeros::Each(bytes[..len].iter().map(|byte| signs.value(*byte)).collect()),
        }
    }
}

/// Zero points of the bytes as `i8`.
fn shifted(zeros: &Zeros, signs: Signs) -> Zeros {
    match zeros {
        Zeros::One(zero) => Zeros::One(zero - signs.bias()),
        Zeros::Each(zeros) => Zeros::Each(zeros.iter().map(|zero| zero - signs.bias()).collect()),
    }
}

fn expected(
    (a, b): (Bytes<'_>, Bytes<'_>),
    (m, k, n): (usize, usize, usize),
    (a_zeros, b_zeros): (&Zeros, &Zeros),
) -> Vec<i32> {
    let mut out = Vec::with_capacity(m * n);
    for row in 0..m {
        for column in 0..n {
            let each = |step: usize| {
                let left = a.signs.value(a.data[row * k + step]) - a_zeros.at(row);
                left * (b.signs.value(b.data[step * n + column]) - b_zeros.at(column))
            };
            out.push((0..k).map(each).fold(0, i32::wrapping_add));
        }
    }
    out
}

const SIZES: [usize; 14] = [1, 2, 3, 4, 5, 7, 8, 9, 15, 17, 31, 48, 49, 100];

#[test]
fn sums_equal_the_sums_of_single_products() {
    let mut sequence = Sequence(21);
    for case in 0..300 {
        let mut size = || SIZES[sequence.next() as usize % SIZES.len()];
        let (m, k, n) = (size(), size(), size());
        let signs = |bit: usize| if case >> bit & 1 == 0 { Signs::Signed } else { Signs::Unsigned };
        let (a, b) = (sequence.bytes(m * k), sequence.bytes(k * n));
        let (a, b) = (Bytes { data: &a, signs: signs(0) }, Bytes { data: &b, signs: signs(1) });
        let (a_zeros, b_zeros) = (sequence.zeros(a.signs, m), sequence.zeros(b.signs, n));
        let expected = expected((a, b), (m, k, n), (&a_zeros, &b_zeros));
        let left = Left::pack(a, (m, k), (k, 1), &a_zeros, Vec::new());
        let windowed = Windowed { bytes: b, steps: Steps::Even(n), columns: Offsets::Even(1) };
        let packed = PackedRight::new(windowed, k, n);
        let zeros = shifted(&b_zeros, b.signs);
        for right in [Right::Packed(&packed), Right::Windowed(windowed)] {
            let mut out = vec![i32::MIN; m * n];
            run(vec![Job {
                left: &left,
                right,
                zeros: &zeros,
                first_row: 0,
                out: &mut out,
                columns: n,
                sink: &store,
            }]);
            assert_eq!(out, expected, "case {case}: {m} x {k} x {n}");
        }
    }
}

#[test]
fn the_portable_tiles_equal_those_of_the_processor() {
    let mut sequence = Sequence(22);
    // Panels of the portable kernel are half as wide as those of AVX-512.
    let panel = 8 * ACROSS;
    for (rows, k, n) in [(1, 1, 1), (2, 3, 24), (4, 64, 25), (4, 33, 70)] {
        let (a, b) = (sequence.bytes(rows * k), sequence.bytes(k * n));
        let (a, b) = (Bytes { data: &a, signs: Signs::Unsigned }, Bytes { data: &b, signs: Signs::Signed });
        let zeros = Zeros::One(3);
        let left = Left::pack(a, (rows, k), (k, 1), &zeros, Vec::new());
        let windowed = Windowed { bytes: b, steps: Steps::Even(n), columns: Offsets::Even(1) };
        let mut scratch = Vec::new();
        let panels = windowed.pack(k, 0..n, panel, &mut scratch);
        let stride = n.next_multiple_of(8);
        let mut out = vec![0; rows * stride];
        pairs::portable_sums(&left, 0..rows, panels, &mut out);
        let out: Vec<i32> = out.chunks(stride).flat_map(|row| row[..n].to_vec()).collect();
        assert_eq!(out, expected((a, b), (rows, k, n), (&zeros, &Zeros::One(0))));
    }
}

#[test]
fn extreme_products_of_a_pair_do_not_saturate() {
    let (a, b) = (vec![255; 64], vec![0x80; 64 * 50]);
    let left =
        Left::pack(Bytes { data: &a, signs: Signs::Unsigned }, (1, 64), (64, 1), &Zeros::One(0), Vec::new());
    let bytes = Bytes { data: &b, signs: Signs::Signed };
    let windowed = Windowed { bytes, steps: Steps::Even(50), columns: Offsets::Even(1) };
    let mut out = vec![0; 50];
    let right = Right::Windowed(windowed);
    run(vec![Job {
        left: &left,
        right,
        zeros: &Zeros::One(0),
        first_row: 0,
        out: &mut out,
        columns: 50,
        sink: &store,
    }]);
    assert_eq!(out, vec![-128 * 255 * 64; 50]);
}

#[test]
fn an_empty_inner_axis_gives_zeros() {
    let left =
        Left::pack(Bytes { data: &[], signs: Signs::Signed }, (2, 0), (0, 1), &Zeros::One(0), Vec::new());
    let bytes = Bytes { data: &[], signs: Signs::Signed };
    let windowed = Windowed { bytes, steps: Steps::Even(3), columns: Offsets::Even(1) };
    let mut out = vec![1; 6];
    let right = Right::Windowed(windowed);
    run(vec![Job {
        left: &left,
        right,
        zeros: &Zeros::One(0),
        first_row: 0,
        out: &mut out,
        columns: 3,
        sink: &store,
    }]);
    assert_eq!(out, vec![0; 6]);
}
