//! Scaled dot-product attention over heads, in `f32`.
//!
//! All attention operators of this domain convert their inputs to [`Heads`] and differ in the function that
//! turns scores into probabilities.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

use crate::element::{build_over, check_size};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::product::{Matrix, multiply};
use crate::memory;
use crate::ops::activation::softmax_row;
use crate::work;

/// Extents of an attention.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extents {
    pub(super) batches: usize,
    pub(super) heads: usize,
    /// Heads of keys and values. Several query heads share one.
    pub(super) key_heads: usize,
    pub(super) queries: usize,
    pub(super) keys: usize,
    /// Width of a query and of a key.
    pub(super) size: usize,
    /// Width of a value.
    pub(super) width: usize,
}

/// Queries, keys and values with an axis of heads: `[batch, head, token, element]`.
pub(super) struct Heads<'a> {
    pub(super) q: &'a [f32],
    pub(super) k: &'a [f32],
    pub(super) v: &'a [f32],
    pub(super) extents: Extents,
    /// Number of positions of a head in `k` and `v`, of which the first `extents.keys` are used.
    pub(super) space: usize,
    pub(super) scale: f32,
}

impl Heads<'_> {
    /// The results of all heads: `[batch, query, head * width]`. `probabilities` receives the batch, the head
    /// and the scaled scores (one row for each query), and replaces the scores.
    pub(super) fn attend(
        &self,
        probabilities: &mut dyn FnMut(usize, usize, &mut [f32]),
    ) -> Result<AnyTensor, KernelErrorKind> {
        let Extents { batches, heads, key_heads, queries, keys, size, width } = self.extents;
        let space = self.space;
        let fits = key_heads > 0
            && keys <= space
            && heads.is_multiple_of(key_heads)
            && self.q.len() == batches * heads * queries * size
            && self.k.len() == batches * key_heads * space * size
            && self.v.len() == batches * key_heads * space * width;
        if !fits {
            return invalid(format!("query, key and value do not fit {:?}", self.extents));
        }
        work::spend_products(Dtype::F32, &[batches, heads, queries, keys, size.saturating_add(width)])?;
        work::spend_each(&[batches, heads, queries, keys, 4])?;
        check_size(&[queries, keys], size_of::<f32>())?;
        let mut scores = vec![0.0; queries * keys];
        let mut result = vec![0.0; queries * width];
        let mut y = build_over::<f32>(&[batches, queries, heads * width], |_| {})?;
        let out = y.as_mut_slice::<f32>()?;
        for batch in 0..batches {
            for head in 0..heads {
                let lane = batch * heads + head;
                let source = batch * key_heads + head * key_heads / heads;
                let q = &self.q[lane * queries * size..][..queries * size];
                let k = &self.k[source * space * size..][..keys * size];
                let v = &self.v[source * space * width..][..keys * width];
                let (q, k) = (Matrix::new(q, queries, size), Matrix::transposed(k, size, keys));
                multiply(q, k, &mut scores, self.scale, None)?;
                probabilities(batch, head, &mut scores);
                let (p, v) = (Matrix::new(&scores, queries, keys), Matrix::new(v, keys, width));
                multiply(p, v, &mut result, 1.0, None)?;
                if width > 0 {
                    for (query, row) in result.chunks_exact(width).enumerate() {
                        let at = ((batch * queries + query) * heads + head) * width;
                        out[at..at + width].copy_from_slice(row);
                    }
                }
            }
        }
        Ok(y)
    }
}

/// Part of the last axis of `[batch, token, element]` that is split into heads.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// Number of elements of a token.
    pub(super) row: usize,
    /// First element of the first head.
    pub(super) start: usize,
    /// Distance of two heads.
    pub(super) step: usize,
    pub(super) heads: usize,
    pub(super) size: usize,
}

impl Part {
    /// All elements of a token, split evenly.
    pub(super) fn whole(row: usize, heads: usize) -> Self {
        let size = row / heads.max(1);
        Self { row, start: 0, step: size, heads, size }
    }

    /// Copies the part to `[batch, head, token, element]`, and adds a bias with one element for each head and
    /// element.
    pub(super) fn split(
        self,
        data: &[f32],
        (batches, tokens): (usize, usize),
        bias: Option<&[f32]>,
    ) -> Result<AnyTensor, KernelErrorKind> {
        let Self { row, start, step, heads, size } = self;
        let end = heads.checked_sub(1).map_or(0, |last| start + last * step + size);
        if data.len() != batches * tokens * row || end > row {
            return invalid(format!(
                "{} elements are not split into {} of {size}",
                data.len(),
                counted(heads, "head")
            ));
        }
        if bias.is_some_and(|bias| bias.len() != heads * size) {
            return invalid(format!("the bias has not {heads} * {}", counted(size, "element")));
        }
        build_over::<f32>(&[batches, heads, tokens, size], |out| {
            for (lane, out) in out.chunks_exact_mut((tokens * size).max(1)).enumerate() {
                let (batch, head) = (lane / heads, lane % heads);
                let bias = bias.map(|bias| &bias[head * size..(head + 1) * size]);
                for (token, out) in out.chunks_exact_mut(size.max(1)).enumerate() {
                    let from = &data[(batch * tokens + token) * row + start + head * step..][..size];
                    match bias {
                        None => out.copy_from_slice(from),
                        Some(bias) => {
                            for (out, (from, bias)) in out.iter_mut().zip(from.iter().zip(bias)) {
                                *out = from + bias;
                            }
                        }
                    }
                }
            }
        })
    }
}

/// Appends the tokens of `new` to those of `past`: `[batch, head, token, element]`.
pub(super) fn extended(past: Option<&[f32]>, new: AnyTensor) -> Result<AnyTensor, KernelErrorKind> {
    let Some(past) = past.filter(|past| !past.is_empty()) else { return Ok(new) };
    let &[batches, heads, tokens, size] = new.shape() else { return invalid("the keys are not of rank 4") };
    let lanes = batches * heads;
    if lanes == 0 || size == 0 {
        return invalid("the past keys have no elements in common with the new ones");
    }
    let before = past.len() / (lanes * size);
    let from = new.as_slice::<f32>()?;
    let all = build_over::<f32>(&[batches, heads, before + tokens, size], |out| {
        for (lane, out) in out.chunks_exact_mut((before + tokens) * size).enumerate() {
            let (old, fresh) = out.split_at_mut(before * size);
            old.copy_from_slice(&past[lane * before * size..][..before * size]);
            fresh.copy_from_slice(&from[lane * tokens * size..][..tokens * size]);
        }
    })?;
    memory::recycle_tensor(new);
    Ok(all)
}

/// Softmax of a row. A sink takes part in the sum, but has no result.
pub(super) fn softmax(row: &mut [f32], sink: Option<f32>) {
    let Some(sink) = sink else { return softmax_row(row) };
    let most = row.iter().copied().fold(sink, f32::max);
    let mut sum = (sink - most).exp();
    for score in row.iter_mut() {
        *score = (*score - most).exp();
        sum += *score;
    }
    row.iter_mut().for_each(|score| *score /= sum);
}
