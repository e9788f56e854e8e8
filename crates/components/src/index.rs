//! Indices: nearest-vector search.
//!
//! [`Exact`] compares a query with every vector. The matrix products and sums are computed by a bound backend
//! on `AnyTensor`, so the index works with any backend.
//!
//! A search has two steps. One matrix product yields all inner products, and from them every distance up to
//! the rounding of that product. The classical error bound (Higham, *Accuracy and Stability of Numerical
//! Algorithms*, 3.1) determines which vectors can be among the nearest. These candidates are then compared in
//! `f64`, without cancellation. The result equals that of a comparison with every vector in `f64`, with ties
//! broken by id, at the cost of a matrix product.
//!
//! **Invariant:** the result depends only on the stored vectors and their ids, not on the order of insertion.
//!
//! Example of [`Exact`]:
//!
//! ```
//! use typeloom_components::index::{Exact, Metric};
//! use typeloom_contracts::backend::by_execution::ByExecution;
//! use typeloom_contracts::index::Index;
//! use typeloom_runtime::backend::Cpu;
//!
//! let mut index: Exact<ByExecution<Cpu>, [f32]> = Exact::new(ByExecution(Cpu), Metric::Euclidean);
//! index.add(7, &[0.0, 0.0])?;
//! index.add(8, &[3.0, 4.0])?;
//! assert_eq!(index.search(&[0.0, 0.0], 2)?, [(7, 0.0), (8, 5.0)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;

use typeloom_contracts::backend::Backend;
use typeloom_contracts::index::Index;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

use crate::dense::{Dense, Floats, NotFloats, shown};

#[cfg(feature = "approximate")]
pub mod approximate;

mod search;

/// Distance between two vectors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Metric {
    /// Length of the difference.
    #[default]
    Euclidean,
    /// Negated inner product, so that the greatest product is the nearest.
    InnerProduct,
    /// 1 minus the cosine of the angle: from 0 to 2. A zero vector has distance 1 from every vector.
    Cosine,
}

/// Error of an index operation.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum IndexError<E: Error + 'static> {
    #[error("the backend could not compare vectors: {0}")]
    Backend(#[source] E),
    /// The backend returned a result of another type or shape.
    #[error("the backend returned {found} instead of {expected}")]
    BackendResult { expected: String, found: String },
    /// The tensor does not have rank 1.
    #[error("a vector has one axis, but this tensor has shape {}", shown(.shape))]
    NotAVector { shape: Vec<usize> },
    /// The vector has another length than the stored vectors.
    #[error("the vectors of the index have {}, but this vector has {found}", counted(*expected, "element"))]
    Length { expected: usize, found: usize },
    /// The vector has another element type than the stored vectors.
    #[error("the vectors of the index are {expected}, but this vector is {found}")]
    ElementType { expected: Dtype, found: Dtype },
    /// The elements are not floats.
    #[error(transparent)]
    NotFloats(#[from] NotFloats),
    /// The vector contains an infinity or NaN, so its distances are undefined.
    #[error("element {at} of the vector is not finite")]
    NotFinite { at: usize },
    /// The vectors do not fit in one matrix.
    #[error(transparent)]
    TooLarge(#[from] TensorError),
}

/// Search result: ids with distances, nearest first.
pub type Found = Vec<(u64, f32)>;

/// Compares a query with every vector; see the [module](self).
///
/// The backend must support `MatMul`, `Cast`, `Sub`, `Mul` and `ReduceSum`.
pub struct Exact<B, V: ?Sized = AnyTensor> {
    backend: B,
    metric: Metric,
    /// Length and element type of all vectors, set by the first.
    kind: Option<Kind>,
    ids: Vec<u64>,
    /// Row of each id; never iterated, because its order is not deterministic.
    rows: HashMap<u64, usize>,
    /// Euclidean norm of each row.
    norms: Vec<f64>,
    /// Rows of the matrix in row-major order.
    packed: Vec<u8>,
    /// Cached tensor of `packed`, cleared when a vector changes.
    matrix: OnceLock<AnyTensor>,
    vector: PhantomData<fn(&V)>,
}

/// Length and element type of the vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Kind {
    dtype: Dtype,
    length: usize,
}

impl Kind {
    fn of(vector: &AnyTensor) -> Self {
        Self { dtype: vector.dtype(), length: vector.len() }
    }

    /// Size of one vector in bytes.
    fn width(self) -> usize {
        self.dtype.packed_len(self.length).unwrap_or(0)
    }
}

impl<B: Default, V: ?Sized> Default for Exact<B, V> {
    fn default() -> Self {
        Self::new(B::default(), Metric::default())
    }
}

impl<B, V: ?Sized> fmt::Debug for Exact<B, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Exact");
        shown.field("metric", &self.metric).field("kind", &self.kind).field("len", &self.ids.len());
        shown.finish_non_exhaustive()
    }
}

impl<B, V: ?Sized> Exact<B, V> {
    /// Creates an empty index that computes on `backend`.
    #[must_use]
    pub fn new(backend: B, metric: Metric) -> Self {
        Self {
            backend,
            metric,
            kind: None,
            ids: Vec::new(),
            rows: HashMap::new(),
            norms: Vec::new(),
            packed: Vec::new(),
            matrix: OnceLock::new(),
            vector: PhantomData,
        }
    }

    /// Number of vectors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Whether a vector is stored under this id.
    #[must_use]
    pub fn contains(&self, id: u64) -> bool {
        self.rows.contains_key(&id)
    }
}

impl<B: Backend<Tensor = AnyTensor>, V: ?Sized + Dense> Exact<B, V> {
    /// Converts a vector to a tensor and validates it.
    fn accept(&self, vector: &V) -> Result<AnyTensor, IndexError<B::Error>> {
        let vector = vector.to_tensor();
        if !matches!(vector.shape(), [_] | [1, _]) {
            return Err(IndexError::NotAVector { shape: vector.shape().to_vec() });
        }
        if let Some(at) = Floats::of(&vector)?.first_not_finite() {
            return Err(IndexError::NotFinite { at });
        }
        let found = Kind::of(&vector);
        if let Some(expected) = self.kind {
            if expected.dtype != found.dtype {
                return Err(IndexError::ElementType { expected: expected.dtype, found: found.dtype });
            }
            if expected.length != found.length {
                return Err(IndexError::Length { expected: expected.length, found: found.length });
            }
        }
        Ok(vector)
    }

    /// Searches for the vectors nearest to each of several queries with one matrix product.
    ///
    /// # Errors
    /// See [`Index::search`].
    pub fn search_batch(&self, queries: &[&V], k: usize) -> Result<Vec<Found>, IndexError<B::Error>> {
        let queries: Vec<AnyTensor> =
            queries.iter().map(|query| self.accept(query)).collect::<Result<_, _>>()?;
        self.nearest(&queries, k)
    }
}

impl<B: Backend<Tensor = AnyTensor>, V: ?Sized + Dense> Index for Exact<B, V> {
    type Vector = V;
    type Error = IndexError<B::Error>;

    fn add(&mut self, id: u64, vector: &V) -> Result<(), Self::Error> {
        let vector = self.accept(vector)?;
        let norm = norm(Floats::of(&vector)?);
        self.kind = Some(Kind::of(&vector));
        self.matrix.take();
        if let Some(row) = self.rows.get(&id) {
            let width = vector.bytes().len();
            self.packed[row * width..][..width].copy_from_slice(vector.bytes());
            self.norms[*row] = norm;
        } else {
            self.rows.insert(id, self.ids.len());
            self.ids.push(id);
            self.norms.push(norm);
            self.packed.extend_from_slice(vector.bytes());
        }
        Ok(())
    }

    fn search(&self, query: &V, k: usize) -> Result<Found, Self::Error> {
        let query = self.accept(query)?;
        Ok(self.nearest(&[query], k)?.pop().unwrap_or_default())
    }

    fn remove(&mut self, id: u64) -> Result<bool, Self::Error> {
        let (Some(row), Some(kind)) = (self.rows.remove(&id), self.kind) else { return Ok(false) };
        let (width, last) = (kind.width(), self.ids.len() - 1);
        self.matrix.take();
        // Swap-remove: the last vector moves to the removed row. Results do not depend on the order of rows.
        self.packed.copy_within(last * width.., row * width);
        self.packed.truncate(last * width);
        self.norms.swap_remove(row);
        self.ids.swap_remove(row);
        if let Some(moved) = self.ids.get(row) {
            self.rows.insert(*moved, row);
        }
        Ok(true)
    }

    /// Only validates the vectors, because an exact index has no parameters to learn.
    fn train(&mut self, vectors: &[&V]) -> Result<(), Self::Error> {
        vectors.iter().try_for_each(|vector| self.accept(vector).map(|_| ()))
    }
}

/// Euclidean norm of a vector, without intermediate overflow.
fn norm(vector: Floats<'_>) -> f64 {
    let greatest = vector.iter().fold(0.0_f64, |greatest, value| greatest.max(value.abs()));
    if greatest == 0.0 {
        return 0.0;
    }
    vector.iter().map(|value| (value / greatest).powi(2)).sum::<f64>().sqrt() * greatest
}
