//! Indices: the nearest of stored vectors.
//!
//! [`Exact`] compares a query with every vector. It computes nothing itself: products and sums are a bound backend's, asked
//! for through `AnyTensor`, so that the same index runs wherever a backend runs.
//!
//! A search has two steps. One matrix product gives all inner products at once, and with them every distance up to the
//! rounding of that product; the classical bound on it (Higham, *Accuracy and Stability of Numerical Algorithms*, 3.1)
//! says which vectors can be among the nearest at all. Those few are then compared in `f64`, without cancellation. So the
//! answer is that of comparing every vector in `f64`, ties broken by id, at the price of a matrix product.
//!
//! **Invariant:** the answer depends on which vectors are stored under which ids, and not on the order in which they came.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;

use typeloom_contracts::backend::Backend;
use typeloom_contracts::index::Index;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;

use crate::dense::{Dense, Floats, NotFloats, shown};

#[cfg(feature = "approximate")]
pub mod approximate;

mod search;

/// How far two vectors are from each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Metric {
    /// The length of their difference.
    #[default]
    Euclidean,
    /// Their inner product, negated, so that the greatest product is the nearest.
    InnerProduct,
    /// 1 less the cosine of the angle between them: from 0 to 2. A vector of zeros is at 1 from everything.
    Cosine,
}

/// What an index has to say against a vector, or its backend against a computation.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum IndexError<E: Error + 'static> {
    /// The backend failed.
    #[error("the backend could not compare vectors: {0}")]
    Backend(#[source] E),
    /// The backend gave something else than was asked for.
    #[error("the backend gave {found}, where {expected} was asked for")]
    BackendResult {
        /// What was asked for.
        expected: String,
        /// What came.
        found: String,
    },
    /// Something that is no vector.
    #[error("a vector has one axis, and this is of shape {}", shown(.shape))]
    NotAVector {
        /// Its shape.
        shape: Vec<usize>,
    },
    /// A vector of another length than those before it.
    #[error("the vectors of the index have {expected} elements, and this has {found}")]
    Length {
        /// The length of the others.
        expected: usize,
        /// Its length.
        found: usize,
    },
    /// A vector of another element type than those before it.
    #[error("the vectors of the index are of {expected}, and this is of {found}")]
    ElementType {
        /// The type of the others.
        expected: Dtype,
        /// Its type.
        found: Dtype,
    },
    /// A vector that cannot be computed with.
    #[error(transparent)]
    NotFloats(#[from] NotFloats),
    /// A vector that is at no distance from others.
    #[error("element {at} of the vector is not finite")]
    NotFinite {
        /// Which element.
        at: usize,
    },
    /// The vectors are too many to be one matrix.
    #[error(transparent)]
    TooLarge(#[from] TensorError),
}

/// Vectors that were found, by id, with their distances: the nearest first.
pub type Found = Vec<(u64, f32)>;

/// Compares a query with every vector; see the [module](self).
///
/// Of its backend it asks `MatMul`, `Cast`, `Sub`, `Mul` and `ReduceSum`.
///
/// ```
/// use typeloom_components::index::{Exact, Metric};
/// use typeloom_contracts::backend::by_execution::ByExecution;
/// use typeloom_contracts::index::Index;
/// use typeloom_runtime::backend::Cpu;
///
/// let mut index: Exact<ByExecution<Cpu>, [f32]> = Exact::new(ByExecution(Cpu), Metric::Euclidean);
/// index.add(7, &[0.0, 0.0])?;
/// index.add(8, &[3.0, 4.0])?;
/// assert_eq!(index.search(&[0.0, 0.0], 2)?, [(7, 0.0), (8, 5.0)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Exact<B, V: ?Sized = AnyTensor> {
    backend: B,
    metric: Metric,
    /// What the first vector was, and all others have to be.
    kind: Option<Kind>,
    ids: Vec<u64>,
    /// Where a vector is; for looking up alone.
    rows: HashMap<u64, usize>,
    /// The lengths of the vectors.
    norms: Vec<f64>,
    /// The vectors, packed, one after the other.
    packed: Vec<u8>,
    /// The same as a tensor, once it was asked for and until a vector changes.
    matrix: OnceLock<AnyTensor>,
    vector: PhantomData<fn(&V)>,
}

/// The type of vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Kind {
    dtype: Dtype,
    length: usize,
}

impl Kind {
    fn of(vector: &AnyTensor) -> Self {
        Self { dtype: vector.dtype(), length: vector.len() }
    }

    /// The bytes of one vector.
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
    /// An empty index that compares on a backend.
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

    /// How many vectors there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// How vectors are compared.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Whether a vector is stored under an id.
    #[must_use]
    pub fn contains(&self, id: u64) -> bool {
        self.rows.contains_key(&id)
    }
}

impl<B: Backend<Tensor = AnyTensor>, V: ?Sized + Dense> Exact<B, V> {
    /// A vector as a tensor that the index can work with.
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

    /// The vectors nearest to each of several queries; one matrix product serves all of them.
    ///
    /// # Errors
    /// As [`Index::search`].
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
        // The last vector takes the place of the one that goes; answers do not depend on places.
        self.packed.copy_within(last * width.., row * width);
        self.packed.truncate(last * width);
        self.norms.swap_remove(row);
        self.ids.swap_remove(row);
        if let Some(moved) = self.ids.get(row) {
            self.rows.insert(*moved, row);
        }
        Ok(true)
    }

    /// An exact index has nothing to learn; it says whether these are vectors that it could store.
    fn train(&mut self, vectors: &[&V]) -> Result<(), Self::Error> {
        vectors.iter().try_for_each(|vector| self.accept(vector).map(|_| ()))
    }
}

/// The length of a vector, without overflow on the way.
fn norm(vector: Floats<'_>) -> f64 {
    let greatest = vector.iter().fold(0.0_f64, |greatest, value| greatest.max(value.abs()));
    if greatest == 0.0 {
        return 0.0;
    }
    vector.iter().map(|value| (value / greatest).powi(2)).sum::<f64>().sqrt() * greatest
}
