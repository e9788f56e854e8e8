//! Search of the exact index: one matrix product bounds all distances, and the candidates are compared in
//! `f64`.

use typeloom_contracts::backend::Backend;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;

use super::{Exact, Found, IndexError, Kind, Metric, norm};
use crate::dense::{Dense, Floats, shown};

/// Interval that contains a distance despite rounding.
#[derive(Clone, Copy)]
struct Range {
    least: f64,
    greatest: f64,
}

/// Error bound of an inner product: relative to the product of both norms, and absolute.
#[derive(Clone, Copy)]
struct Off {
    relative: f64,
    absolute: f64,
}

impl<B: Backend<Tensor = AnyTensor>, V: ?Sized + Dense> Exact<B, V> {
    /// Returns the `k` vectors nearest to each query, nearest first.
    pub(super) fn nearest(
        &self,
        queries: &[AnyTensor],
        k: usize,
    ) -> Result<Vec<Found>, IndexError<B::Error>> {
        let k = k.min(self.ids.len());
        let (Some(kind), Some(first)) = (self.kind, queries.first()) else {
            return Ok(vec![Vec::new(); queries.len()]);
        };
        if k == 0 {
            return Ok(vec![Vec::new(); queries.len()]);
        }
        let products = self.products(kind, queries)?;
        let products = Floats::of(&products)?;
        // Bound on the rounding error of the product, with a margin for other orders of summation.
        let (terms, first) = (kind.length as f64 + 4.0, Floats::of(first)?);
        let off = Off { relative: terms * first.epsilon(), absolute: terms * first.underflow() };
        queries
            .iter()
            .enumerate()
            .map(|(column, query)| {
                let length = norm(Floats::of(query)?);
                let ranges: Vec<Range> = self
                    .norms
                    .iter()
                    .enumerate()
                    .map(|(row, norm)| {
                        let product = products.get(row * queries.len() + column);
                        self.metric.range(product, *norm, length, off)
                    })
                    .collect();
                let mut greatest: Vec<f64> = ranges.iter().map(|range| range.greatest).collect();
                let (_, bound, _) = greatest.select_nth_unstable_by(k - 1, f64::total_cmp);
                let rows: Vec<usize> = (0..ranges.len()).filter(|row| ranges[*row].least <= *bound).collect();
                let mut found = self.compared(kind, query, &rows)?;
                found.truncate(k);
                Ok(found.into_iter().map(|(id, distance)| (id, distance as f32)).collect())
            })
            .collect()
    }

    /// Returns the vectors with these ids and their distances, nearest first. Unknown ids are omitted.
    #[cfg(feature = "approximate")]
    pub(super) fn compared_ids(
        &self,
        query: &AnyTensor,
        ids: impl Iterator<Item = u64>,
    ) -> Result<Found, IndexError<B::Error>> {
        let rows: Vec<usize> = ids.filter_map(|id| self.rows.get(&id).copied()).collect();
        let Some(kind) = self.kind else { return Ok(Vec::new()) };
        let found = self.compared(kind, query, &rows)?;
        Ok(found.into_iter().map(|(id, distance)| (id, distance as f32)).collect())
    }

    /// Inner products of every vector (rows) with every query (columns).
    fn products(&self, kind: Kind, queries: &[AnyTensor]) -> Result<AnyTensor, IndexError<B::Error>> {
        let shape = [self.ids.len(), kind.length];
        let matrix = match self.matrix.get() {
            Some(matrix) => matrix,
            None => {
                let made = AnyTensor::from_le_bytes(kind.dtype, &shape, &self.packed)?;
                self.matrix.get_or_init(|| made)
            }
        };
        let columns = across(kind, queries)?;
        let products = self.backend.matmul(matrix, &columns).map_err(IndexError::Backend)?;
        expect(&products, kind.dtype, &[self.ids.len(), queries.len()])?;
        Ok(products)
    }

    /// Computes the distances of the vectors in some rows in `f64`, nearest first.
    fn compared(
        &self,
        kind: Kind,
        query: &AnyTensor,
        rows: &[usize],
    ) -> Result<Vec<(u64, f64)>, IndexError<B::Error>> {
        let width = kind.width();
        let bytes: Vec<u8> =
            rows.iter().flat_map(|row| &self.packed[row * width..][..width]).copied().collect();
        let vectors = AnyTensor::from_le_bytes(kind.dtype, &[rows.len(), kind.length], &bytes)?;
        let backend = &self.backend;
        let sums = || {
            let vectors = backend.cast(&vectors, Dtype::F64)?;
            let query = backend.cast(query, Dtype::F64)?;
            let terms = match self.metric {
                Metric::Euclidean => {
                    let difference = backend.sub(&vectors, &query)?;
                    backend.mul(&difference, &difference)?
                }
                Metric::InnerProduct | Metric::Cosine => backend.mul(&vectors, &query)?,
            };
            backend.reduce_sum(&terms, Some(&[1]), false)
        };
        let sums = sums().map_err(IndexError::Backend)?;
        expect(&sums, Dtype::F64, &[rows.len()])?;
        let length = norm(Floats::of(query)?);
        let distance = |(row, sum): (&usize, f64)| {
            let distance = match self.metric {
                Metric::Euclidean => sum.sqrt(),
                Metric::InnerProduct => -sum,
                Metric::Cosine => cosine_distance(sum, self.norms[*row], length),
            };
            (self.ids[*row], distance)
        };
        let mut found: Vec<(u64, f64)> = rows.iter().zip(Floats::of(&sums)?.iter()).map(distance).collect();
        // Adding 0.0 replaces -0.0 by 0.0, so that ties at zero are broken by id.
        found.sort_unstable_by(|a, b| (a.1 + 0.0).total_cmp(&(b.1 + 0.0)).then(a.0.cmp(&b.0)));
        Ok(found)
    }
}

impl Metric {
    /// Interval of the distance, from the inner product and its error bound.
    fn range(self, product: f64, norm: f64, length: f64, off: Off) -> Range {
        let slack = off.relative * norm * length + off.absolute;
        let (middle, slack) = match self {
            // Compare squared distances; the order is the same.
            Self::Euclidean => {
                let sum = norm + length;
                (norm * norm - 2.0 * product + length * length, 2.0 * slack + 1e-14 * sum * sum)
            }
            Self::InnerProduct => (-product, slack),
            Self::Cosine if norm == 0.0 || length == 0.0 => (1.0, 1e-14),
            Self::Cosine => (1.0 - product / norm / length, slack / norm / length + 1e-14),
        };
        let (least, greatest) = (middle - slack, middle + slack);
        // After an overflow the distance is unbounded.
        if least.is_finite() && greatest.is_finite() {
            Range { least, greatest }
        } else {
            Range { least: f64::NEG_INFINITY, greatest: f64::INFINITY }
        }
    }
}

fn cosine_distance(product: f64, norm: f64, length: f64) -> f64 {
    if norm == 0.0 || length == 0.0 { 1.0 } else { (1.0 - product / norm / length).clamp(0.0, 2.0) }
}

/// Builds a matrix with the queries as columns.
fn across(kind: Kind, queries: &[AnyTensor]) -> Result<AnyTensor, TensorError> {
    let size = kind.dtype.packed_len(1).unwrap_or(1);
    let mut bytes = Vec::with_capacity(queries.len() * kind.width());
    for at in 0..kind.length {
        for query in queries {
            bytes.extend_from_slice(&query.bytes()[at * size..][..size]);
        }
    }
    AnyTensor::from_le_bytes(kind.dtype, &[kind.length, queries.len()], &bytes)
}

/// Verifies the element type and shape of a result of the backend.
fn expect<E: std::error::Error>(
    result: &AnyTensor,
    dtype: Dtype,
    shape: &[usize],
) -> Result<(), IndexError<E>> {
    if result.dtype() == dtype && result.shape() == shape {
        return Ok(());
    }
    Err(IndexError::BackendResult {
        expected: format!("{dtype}{}", shown(shape)),
        found: format!("{}{}", result.dtype(), shown(result.shape())),
    })
}
