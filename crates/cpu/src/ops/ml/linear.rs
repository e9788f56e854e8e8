//! Linear models: products of the rows and a matrix of coefficients, computed in `f32`.

use std::borrow::Cow;

use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

use super::scores::{Opposite, Transform};
use super::{Labels, argmax, numbers, table};
use crate::call::{Call, Outcome, one};
use crate::element::{check_size, from_slice};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::product::{Matrix, multiply};
use crate::ops::{ML_DOMAIN, Operator, native};
use crate::work;

pub(in crate::ops) const OPERATORS: &[Operator] =
    &[native("LinearClassifier", classify).of(ML_DOMAIN), native("LinearRegressor", regress).of(ML_DOMAIN)];

/// Products of all rows of `x` with rows of coefficients, and a constant for each.
pub(super) fn products(
    x: &[f32],
    (rows, columns): (usize, usize),
    coefficients: &[f32],
    constants: &[f32],
    factor: f32,
) -> Result<Vec<f32>, KernelErrorKind> {
    let targets = constants.len();
    if columns.checked_mul(targets) != Some(coefficients.len()) {
        return invalid(format!(
            "{} for {} of {columns}",
            counted(coefficients.len(), "coefficient"),
            counted(targets, "row")
        ));
    }
    check_size(&[rows, targets], 2 * size_of::<f32>())?;
    work::spend_products(Dtype::F32, &[rows, columns, targets])?;
    let mut out = vec![0.0; rows * targets];
    let addend: Vec<f32> = constants.iter().copied().cycle().take(rows * targets).collect();
    let (left, right) = (Matrix::new(x, rows, columns), Matrix::transposed(coefficients, columns, targets));
    multiply(left, right, &mut out, factor, Some(&addend))?;
    Ok(out)
}

/// The scores of all rows: one per intercept, or one per target without intercepts.
fn scores(call: &Call<'_>, targets: usize) -> Result<(Vec<f32>, usize, usize), KernelErrorKind> {
    let coefficients =
        call.attributes.floats("coefficients")?.ok_or(KernelErrorKind::MissingAttribute("coefficients"))?;
    let x = call.tensor(0)?;
    let size = table(x)?;
    let intercepts = match call.attributes.floats("intercepts")? {
        None | Some([]) => vec![0.0; if targets <= coefficients.len() { targets } else { 0 }],
        Some(list) => list.to_vec(),
    };
    let floats = match x.as_slice::<f32>() {
        Ok(floats) => Cow::Borrowed(floats),
        Err(_) => Cow::Owned(numbers(x)?),
    };
    let scores = products(&floats, size, coefficients, &intercepts, 1.0)?;
    Ok((scores, size.0, intercepts.len()))
}

/// The class with the greatest score. A single score is that of the second of two classes.
fn classify(call: &mut Call<'_>) -> Outcome {
    let transform = Transform::of(call.attributes)?;
    let labels = Labels::of(call.attributes, "classlabels_strings", "classlabels_ints")?;
    let (mut scores, rows, targets) = scores(call, labels.len())?;
    if targets == 0 {
        return invalid("there are no classes");
    }
    if targets == 1 {
        let classes: Vec<usize> = scores.iter().map(|score| usize::from(*score > 0.0)).collect();
        let opposite = if labels.len() == 2 { Opposite::Complement } else { Opposite::Absent };
        let columns = if opposite == Opposite::Absent { 1 } else { 2 };
        let both = scores.iter().map(|score| transform.apply_single(*score, opposite));
        let scores: Vec<f32> = both.flat_map(|both| both.into_iter().take(columns)).collect();
        return Ok(vec![
            labels.pair().column(&classes)?.into(),
            from_slice(&[rows, columns], &scores)?.into(),
        ]);
    }
    let classes: Vec<usize> = scores.chunks_exact(targets).map(argmax).collect();
    scores.chunks_exact_mut(targets).for_each(|row| transform.apply(row));
    Ok(vec![labels.column(&classes)?.into(), from_slice(&[rows, targets], &scores)?.into()])
}

fn regress(call: &mut Call<'_>) -> Outcome {
    let transform = Transform::of(call.attributes)?;
    let targets = usize::try_from(call.int("targets", 1)?).unwrap_or(0);
    let (mut scores, rows, found) = scores(call, targets)?;
    if found != targets {
        return invalid(format!("{found} intercepts for {targets} targets"));
    }
    if targets == 1 {
        scores.iter_mut().for_each(|score| [*score, _] = transform.apply_single(*score, Opposite::Absent));
    } else {
        scores.chunks_exact_mut(targets.max(1)).for_each(|row| transform.apply(row));
    }
    one(from_slice(&[rows, targets], &scores)?)
}
