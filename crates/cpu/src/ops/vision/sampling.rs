//! Weighted sums of a few elements of a plane, the same for all channels.
//!
//! Offsets and weights of a block of points are computed once and applied to every channel.

use crate::element::{Number, Real};

/// Maximum number of points whose offsets and weights are in memory at a time.
pub(super) const BLOCK: usize = 1 << 10;

/// Maximum number of elements and weights in memory at a time, unless one point has more.
pub(super) const MAX_TAPS: usize = 1 << 16;

/// Elements and weights of points.
#[derive(Default)]
pub(super) struct Samples {
    taps: Vec<(usize, f64)>,
    /// For each point, the end of its taps.
    ends: Vec<usize>,
}

impl Samples {
    pub(super) fn clear(&mut self) {
        self.taps.clear();
        self.ends.clear();
    }

    /// Adds an element to the current point.
    pub(super) fn add(&mut self, offset: usize, weight: f64) {
        self.taps.push((offset, weight));
    }

    /// Ends the current point.
    pub(super) fn end(&mut self) {
        self.ends.push(self.taps.len());
    }

    /// Taps of each point.
    fn points(&self) -> impl Iterator<Item = &[(usize, f64)]> {
        let mut start = 0;
        self.ends.iter().map(move |end| &self.taps[std::mem::replace(&mut start, *end)..*end])
    }

    /// The weighted sum of every point.
    pub(super) fn sum<T: Real>(&self, plane: &[T], out: &mut [T]) {
        for (out, taps) in out.iter_mut().zip(self.points()) {
            let sum = match taps {
                [a, b, c, d] => {
                    let of = |(offset, weight): &(usize, f64)| weight * Number::to_f64(plane[*offset]);
                    of(a) + of(b) + of(c) + of(d)
                }
                _ => taps
                    .iter()
                    .fold(0.0, |sum, (offset, weight)| sum + weight * Number::to_f64(plane[*offset])),
            };
            *out = T::from_f64(sum);
        }
    }

    /// The greatest weighted element of every point; 0 for a point without elements.
    pub(super) fn greatest<T: Real>(&self, plane: &[T], out: &mut [T]) {
        for (out, taps) in out.iter_mut().zip(self.points()) {
            let values = taps.iter().map(|(offset, weight)| weight * Number::to_f64(plane[*offset]));
            *out = T::from_f64(values.reduce(f64::max).unwrap_or(0.0));
        }
    }
}
