//! Means of one element over all contributions, in `f64`.
//!
//! Sums are compensated (Neumaier's variant of Kahan summation, 1974), so that the error does not grow with
//! the number of contributions. Terms are scaled before they are added, so that a sum cannot overflow unless
//! the mean does.

use crate::dense::Floats;

/// Compensated sum.
#[derive(Clone, Copy, Default)]
struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    fn add(&mut self, value: f64) {
        let next = self.sum + value;
        self.lost +=
            if self.sum.abs() >= value.abs() { (self.sum - next) + value } else { (value - next) + self.sum };
        self.sum = next;
    }

    fn total(self) -> f64 {
        self.sum + self.lost
    }
}

/// Weighted mean of the contributions with a nonzero weight. `shares` sum to 1.
pub(super) fn weighted(all: &[Floats<'_>], shares: &[f64], at: usize) -> f64 {
    let (mut sum, mut least, mut greatest) = (Sum::default(), f64::INFINITY, f64::NEG_INFINITY);
    for (floats, share) in all.iter().zip(shares).filter(|(_, share)| **share > 0.0) {
        let value = floats.get(at);
        sum.add(value * share);
        (least, greatest) = (least.min(value), greatest.max(value));
    }
    // The shares sum to 1 only up to rounding; clamping keeps the mean between the extremes.
    sum.total().max(least).min(greatest)
}

/// Mean without the `cut` least and the `cut` greatest values.
pub(super) fn trimmed(all: &[Floats<'_>], cut: usize, at: usize, sorted: &mut Vec<f64>) -> f64 {
    sorted.clear();
    sorted.extend(all.iter().map(|floats| floats.get(at)));
    sorted.sort_unstable_by(f64::total_cmp);
    let kept = &sorted[cut..sorted.len() - cut];
    let (Some(least), Some(greatest)) = (kept.first(), kept.last()) else { return f64::NAN };
    let (mut sum, count) = (Sum::default(), kept.len() as f64);
    kept.iter().for_each(|value| sum.add(value / count));
    sum.total().max(*least).min(*greatest)
}
