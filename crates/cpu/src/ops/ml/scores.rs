//! Transformation of scores to probabilities (`post_transform`).

use crate::attributes::Attributes;
use crate::element::Real;
use crate::error::{KernelErrorKind, invalid};
use crate::ops::activation::softmax_row;

/// A function of the scores of one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Transform {
    None,
    Logistic,
    Softmax,
    /// Softmax over the scores that are not zero.
    SoftmaxZero,
    /// Quantile function of the normal distribution.
    Probit,
}

/// The score of the first of two classes, derived from the score of the second one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Opposite {
    /// There is one score.
    Absent,
    /// `1 - score`, for probabilities.
    Complement,
    /// `-score`.
    Negative,
}

impl Transform {
    pub(super) fn of(attributes: &Attributes) -> Result<Self, KernelErrorKind> {
        match attributes.text("post_transform")? {
            None | Some("NONE") => Ok(Self::None),
            Some("LOGISTIC") => Ok(Self::Logistic),
            Some("SOFTMAX") => Ok(Self::Softmax),
            Some("SOFTMAX_ZERO") => Ok(Self::SoftmaxZero),
            Some("PROBIT") => Ok(Self::Probit),
            Some(other) => invalid(format!("`post_transform` = `{other}` is not known")),
        }
    }

    /// Transforms one row of at least two scores.
    pub(super) fn apply<T: Real>(self, row: &mut [T]) {
        match self {
            Self::None => {}
            Self::Logistic => row.iter_mut().for_each(|score| *score = logistic(*score)),
            Self::Softmax => softmax_row(row),
            Self::SoftmaxZero => softmax_zero(row),
            Self::Probit => row.iter_mut().for_each(|score| *score = probit(*score)),
        }
    }

    /// Transforms a single score, and adds the score of the other class if there is one.
    pub(super) fn apply_single<T: Real>(self, score: T, opposite: Opposite) -> [T; 2] {
        match (self, opposite) {
            (Self::Probit, _) => [probit(score); 2],
            (_, Opposite::Absent) => [score; 2],
            (Self::Logistic, _) => [logistic(-score), logistic(score)],
            (_, Opposite::Complement) => [T::ONE - score, score],
            (_, Opposite::Negative) => [-score, score],
        }
    }
}

pub(super) fn logistic<T: Real>(score: T) -> T {
    let positive = T::ONE / (T::ONE + (-score.abs()).exp());
    if score < T::ZERO { T::ONE - positive } else { positive }
}

/// `sqrt(2) * erfinv(2 * p - 1)`, with the approximation of the inverse error function by Winitzki (2008)
/// that ONNX Runtime uses.
fn probit<T: Real>(p: T) -> T {
    let x = 2.0 * p.to_f64() - 1.0;
    let log = ((1.0 - x) * (1.0 + x)).ln();
    let half = 2.0 / (std::f64::consts::PI * 0.147) + 0.5 * log;
    let root = ((half * half - log / 0.147).sqrt() - half).sqrt();
    T::of(std::f64::consts::SQRT_2 * if x < 0.0 { -root } else { root })
}

fn softmax_zero<T: Real>(row: &mut [T]) {
    let most = row.iter().copied().fold(T::LOWEST, |most, score| if score > most { score } else { most });
    let mut sum = T::ZERO;
    for score in row.iter_mut() {
        if score.abs() > T::of(1e-7) {
            *score = (*score - most).exp();
            sum += *score;
        } else {
            *score = *score * (-most).exp();
        }
    }
    row.iter_mut().for_each(|score| *score = *score / sum);
}
