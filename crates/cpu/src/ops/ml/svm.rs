//! Support vector machines.
//!
//! A classifier with support vectors compares each pair of classes (one against one, as in LIBSVM): a pair's
//! decision is a weighted sum of kernel values, and each decision is a vote. With `prob_a` and `prob_b`, the
//! decisions become pairwise probabilities, which are coupled by the second method of Wu, Lin and Weng
//! (2004).

use typeloom_types::plural::counted;

use super::linear::products;
use super::scores::{Opposite, Transform, logistic};
use super::{Labels, argmax, numbers, table};
use crate::attributes::Attributes;
use crate::call::{Call, Outcome, one};
use crate::element::{check_size, from_slice};
use crate::error::{KernelErrorKind, invalid};
use crate::ops::{ML_DOMAIN, Operator, native};
use crate::shape::extents;
use crate::work;

pub(in crate::ops) const OPERATORS: &[Operator] =
    &[native("SVMClassifier", classify).of(ML_DOMAIN), native("SVMRegressor", regress).of(ML_DOMAIN)];

/// Most classes of a classifier. There is one decision for each pair.
const MAX_CLASSES: usize = 1 << 12;

/// A kernel function of a row and a support vector.
struct KernelFunction<'a> {
    kind: &'a str,
    gamma: f32,
    coef0: f32,
    degree: f32,
}

impl<'a> KernelFunction<'a> {
    fn of(attributes: &'a Attributes) -> Result<Self, KernelErrorKind> {
        let kind = attributes.text("kernel_type")?.unwrap_or("LINEAR");
        let [gamma, coef0, degree] = match attributes.floats("kernel_params")?.unwrap_or_default() {
            [] => [0.0; 3],
            [gamma, coef0, degree, ..] => [*gamma, *coef0, *degree],
            _ => return invalid("`kernel_params` has fewer than 3 elements"),
        };
        if !matches!(kind, "LINEAR" | "POLY" | "RBF" | "SIGMOID") {
            return invalid(format!("`kernel_type` = `{kind}` is not known"));
        }
        Ok(Self { kind, gamma, coef0, degree })
    }

    /// The values of all rows with all vectors.
    fn values(
        &self,
        x: &[f32],
        (rows, columns): (usize, usize),
        vectors: &[f32],
        count: usize,
    ) -> Result<Vec<f32>, KernelErrorKind> {
        check_size(&[rows, count], size_of::<f32>())?;
        work::spend_each(&[rows, count, columns.saturating_add(4)])?;
        if columns.checked_mul(count) != Some(vectors.len()) {
            return invalid(format!(
                "{} in {} of {columns}",
                counted(vectors.len(), "element"),
                counted(count, "vector")
            ));
        }
        if self.kind == "RBF" {
            let mut values = Vec::with_capacity(rows * count);
            for row in x.chunks_exact(columns.max(1)) {
                for vector in vectors.chunks_exact(columns.max(1)) {
                    let squares = row.iter().zip(vector).map(|(a, b)| (a - b) * (a - b));
                    values.push((-self.gamma * squares.sum::<f32>()).exp());
                }
            }
            return Ok(values);
        }
        let (factor, constant) = if self.kind == "LINEAR" { (1.0, 0.0) } else { (self.gamma, self.coef0) };
        let mut values = products(x, (rows, columns), vectors, &vec![constant; count], factor)?;
        match (self.kind, self.degree) {
            ("POLY", 2.0) => values.iter_mut().for_each(|value| *value *= *value),
            ("POLY", 3.0) => values.iter_mut().for_each(|value| *value = *value * *value * *value),
            ("POLY", degree) => values.iter_mut().for_each(|value| *value = value.powf(degree)),
            ("SIGMOID", _) => values.iter_mut().for_each(|value| *value = value.tanh()),
            _ => {}
        }
        Ok(values)
    }
}

fn required<'a>(attributes: &'a Attributes, name: &'static str) -> Result<&'a [f32], KernelErrorKind> {
    attributes.floats(name)?.ok_or(KernelErrorKind::MissingAttribute(name))
}

fn regress(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    let (size, data) = (table(x)?, numbers::<f32>(x)?);
    let (coefficients, rho) = (required(call.attributes, "coefficients")?, required(call.attributes, "rho")?);
    let [constant, ..] = rho else { return invalid("`rho` is empty") };
    let supports = usize::try_from(call.int("n_supports", 0)?).unwrap_or(0);
    let mut y = if supports > 0 {
        let vectors = required(call.attributes, "support_vectors")?;
        let values = KernelFunction::of(call.attributes)?.values(&data, size, vectors, supports)?;
        products(&values, (size.0, supports), coefficients, &[*constant], 1.0)?
    } else {
        products(&data, size, coefficients, &[*constant], 1.0)?
    };
    if call.flag("one_class", false)? {
        y.iter_mut().for_each(|y| *y = if *y > 0.0 { 1.0 } else { -1.0 });
    }
    one(from_slice(&[size.0, 1], &y)?)
}

/// Decisions between each pair of classes.
struct Pairs<'a> {
    classes: usize,
    /// Number of support vectors of each class.
    supports: Vec<usize>,
    /// One row for each class but one.
    coefficients: &'a [f32],
    rho: &'a [f32],
}

impl Pairs<'_> {
    fn count(&self) -> usize {
        self.classes * self.classes.saturating_sub(1) / 2
    }

    /// The decisions of one row and the votes for each class, from its kernel values.
    fn decide(&self, values: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let mut starts = vec![0; self.classes];
        for class in 1..self.classes {
            starts[class] = starts[class - 1] + self.supports[class - 1];
        }
        let part = |row: usize, class: usize| -> f64 {
            let range = starts[class]..starts[class] + self.supports[class];
            let coefficients = &self.coefficients[row * values.len()..][range.clone()];
            coefficients.iter().zip(&values[range]).map(|(a, b)| f64::from(a * b)).sum()
        };
        let mut votes = vec![0.0; self.classes];
        let mut decisions = Vec::with_capacity(self.count());
        for i in 0..self.classes {
            for j in i + 1..self.classes {
                let sum = part(j - 1, i) + part(i, j) + f64::from(self.rho[decisions.len()]);
                decisions.push(sum as f32);
                votes[if sum > 0.0 { i } else { j }] += 1.0;
            }
        }
        (decisions, votes)
    }
}

/// Probabilities of classes from pairwise ones; `pairwise[i * n + j]` is that of `i` against `j`.
fn couple(n: usize, pairwise: &[f32]) -> Vec<f32> {
    let mut q = vec![0.0_f32; n * n];
    for i in 0..n {
        for j in (0..n).filter(|j| *j != i) {
            q[i * n + i] += pairwise[j * n + i] * pairwise[j * n + i];
            q[i * n + j] = -pairwise[j * n + i] * pairwise[i * n + j];
        }
    }
    let mut p = vec![1.0 / n as f32; n];
    for _ in 0..100 {
        let mut qp: Vec<f32> =
            q.chunks_exact(n).map(|row| row.iter().zip(&p).map(|(q, p)| q * p).sum()).collect();
        let mut total: f32 = p.iter().zip(&qp).map(|(p, qp)| p * qp).sum();
        let error = qp.iter().map(|qp| (qp - total).abs()).fold(0.0, f32::max);
        if error < 0.005 / n as f32 {
            break;
        }
        for i in 0..n {
            let step = (total - qp[i]) / q[i * n + i];
            p[i] += step;
            let scale = 1.0 + step;
            total = (total + step * (step * q[i * n + i] + 2.0 * qp[i])) / scale / scale;
            for j in 0..n {
                qp[j] = (qp[j] + step * q[i * n + j]) / scale;
                p[j] /= scale;
            }
        }
    }
    p
}

fn classify(call: &mut Call<'_>) -> Outcome {
    let transform = Transform::of(call.attributes)?;
    let labels = Labels::of(call.attributes, "classlabels_strings", "classlabels_ints")?;
    let (coefficients, rho) = (required(call.attributes, "coefficients")?, required(call.attributes, "rho")?);
    let supports = extents(call.attributes.ints("vectors_per_class")?.unwrap_or_default())?;
    let x = call.tensor(0)?;
    let (size, data) = (table(x)?, numbers::<f32>(x)?);
    let classes = labels.len();
    let total = supports.iter().try_fold(0_usize, |sum, count| sum.checked_add(*count));
    let (Some(total), 1..=MAX_CLASSES, [first, ..]) = (total, classes, rho) else {
        return invalid(format!("a machine with {}", counted(classes, "class")));
    };
    let all_positive = coefficients.iter().all(|value| *value >= 0.0);
    if total == 0 {
        let mut scores = products(&data, size, coefficients, &vec![*first; classes], 1.0)?;
        let chosen = scores.chunks_exact(classes).map(|row| {
            let best = argmax(row);
            if classes == 2 { second_of_two(row[best], all_positive).unwrap_or(best) } else { best }
        });
        let chosen: Vec<usize> = chosen.collect();
        if classes == 1 {
            scores
                .iter_mut()
                .for_each(|score| [*score, _] = transform.apply_single(*score, Opposite::Absent));
        } else {
            scores.chunks_exact_mut(classes).for_each(|row| transform.apply(row));
        }
        return Ok(vec![labels.column(&chosen)?.into(), from_slice(&[size.0, classes], &scores)?.into()]);
    }
    let vectors = required(call.attributes, "support_vectors")?;
    let pairs = Pairs { classes, supports, coefficients, rho };
    let (a, b) = (call.attributes.floats("prob_a")?, call.attributes.floats("prob_b")?);
    let (a, b) = (a.unwrap_or_default(), b.unwrap_or_default());
    let fits = pairs.supports.len() == classes
        && coefficients.len() / total >= classes - 1
        && rho.len() >= pairs.count()
        && (a.is_empty() || a.len() >= pairs.count())
        && a.len() == b.len();
    if !fits {
        return invalid("the attributes do not fit the numbers of classes and support vectors");
    }
    let values = KernelFunction::of(call.attributes)?.values(&data, size, vectors, total)?;
    check_size(&[size.0, pairs.count().max(classes)], size_of::<f32>())?;
    work::spend_each(&[size.0, classes, total])?;
    work::spend_each(&[size.0, classes, classes, if a.is_empty() { 1 } else { 100 }])?;
    let (mut chosen, mut scores) = (Vec::with_capacity(size.0), Vec::new());
    for values in values.chunks_exact(total) {
        let (mut decisions, votes) = pairs.decide(values);
        let best = argmax(&votes);
        let is_decided = a.is_empty() && classes == 2;
        chosen.push(if is_decided { second_of_two(0.0, all_positive).unwrap_or(best) } else { best });
        if is_decided {
            let opposite =
                if transform == Transform::None { Opposite::Negative } else { Opposite::Complement };
            let both = transform.apply_single(decisions[0], opposite);
            scores.extend(if transform == Transform::Probit { [both[0], 0.0] } else { both });
            continue;
        }
        if !a.is_empty() {
            let mut pairwise = vec![0.0; classes * classes];
            let mut at = 0;
            for i in 0..classes {
                for j in i + 1..classes {
                    let probability = 1.0 - logistic(decisions[at] * a[at] + b[at]);
                    let probability = probability.clamp(1e-7, 1.0 - 1e-7);
                    pairwise[i * classes + j] = probability;
                    pairwise[j * classes + i] = 1.0 - probability;
                    at += 1;
                }
            }
            decisions = couple(classes, &pairwise);
        }
        if decisions.len() > 1 {
            transform.apply(&mut decisions);
        }
        scores.extend(decisions);
    }
    let columns = scores.len() / size.0.max(1);
    let columns =
        if size.0 == 0 { if a.is_empty() { pairs.count().max(2) } else { classes } } else { columns };
    Ok(vec![labels.column(&chosen)?.into(), from_slice(&[size.0, columns], &scores)?.into()])
}

/// The second of two classes, if its score is above the threshold of ONNX Runtime, which depends on the signs
/// of the coefficients.
fn second_of_two(score: f32, all_positive: bool) -> Option<usize> {
    let is_second = if all_positive { score >= 0.5 } else { score > 0.0 };
    is_second.then_some(1)
}

#[cfg(test)]
mod tests {
    use super::couple;

    #[test]
    fn probabilities_of_two_classes_are_the_pairwise_ones() {
        let p = couple(2, &[0.0, 0.8, 0.2, 0.0]);
        assert!((p[0] - 0.8).abs() < 0.01 && (p[1] - 0.2).abs() < 0.01, "{p:?}");
    }
}
