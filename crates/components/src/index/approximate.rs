//! Approximate nearest-vector search.
//!
//! A navigable small-world graph (HNSW: Malkov and Yashunin, 2016; implemented by the crate
//! `instant-distance`) proposes candidates, and an [`Exact`] index compares them. Distances and their order
//! are exact; the result may lack a nearest neighbour that the graph did not propose.
//!
//! The graph is immutable. Vectors added later are compared one by one, and removed vectors are skipped. The
//! graph is rebuilt when the number of changes reaches half its size, so the amortized cost of a change is a
//! constant number of insertions. If the graph yields too few candidates, the search falls back to the exact
//! index.
//!
//! `instant-distance` was chosen over `hnsw_rs` because its levels are derived from a seed, it has no
//! `unsafe` file interface, and it has few dependencies other than `rayon`. The graph is built on one thread,
//! because it depends on the order of insertion.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use instant_distance::{Builder, HnswMap, Point, Search};
use typeloom_contracts::backend::Backend;
use typeloom_contracts::index::Index;
use typeloom_tensor::any_tensor::AnyTensor;

use super::{Exact, Found, IndexError, Metric};
use crate::dense::{Dense, Floats};

/// Parameters of the graph and its search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Number of candidates kept during a search.
    pub candidates: usize,
    /// Number of candidates kept during an insertion into the graph.
    pub building: usize,
    /// Seed of the graph levels.
    pub seed: u64,
    /// Minimum number of vectors for which a graph is built.
    pub least: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { candidates: 100, building: 100, seed: 0, least: 256 }
    }
}

/// A vector in the graph. The graph only compares distances, so monotone substitutes are used.
#[derive(Clone)]
struct GraphPoint {
    at: Arc<[f32]>,
    metric: Metric,
}

impl Point for GraphPoint {
    fn distance(&self, other: &Self) -> f32 {
        let pairs = self.at.iter().zip(&*other.at);
        match self.metric {
            Metric::Euclidean => pairs.map(|(a, b)| (a - b) * (a - b)).sum(),
            Metric::InnerProduct | Metric::Cosine => -pairs.map(|(a, b)| a * b).sum::<f32>(),
        }
    }
}

/// Approximate nearest-vector index; see the [module](self).
pub struct Approximate<B, V: ?Sized = AnyTensor> {
    exact: Exact<B, V>,
    settings: Settings,
    graph: Option<HnswMap<GraphPoint, u64>>,
    /// Ids in the graph whose vector was removed or replaced.
    stale: BTreeSet<u64>,
    /// Ids of stored vectors that are not in the graph.
    fresh: BTreeSet<u64>,
}

impl<B: Default, V: ?Sized> Default for Approximate<B, V> {
    fn default() -> Self {
        Self::new(Exact::default(), Settings::default())
    }
}

impl<B, V: ?Sized> fmt::Debug for Approximate<B, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Approximate");
        shown.field("exact", &self.exact).field("settings", &self.settings);
        shown.field("in_graph", &self.in_graph()).field("stale", &self.stale.len());
        shown.field("fresh", &self.fresh.len()).finish_non_exhaustive()
    }
}

impl<B, V: ?Sized> Approximate<B, V> {
    /// Creates an index on top of an exact one. Its vectors enter the graph once there are enough of them, or
    /// on `train`.
    #[must_use]
    pub fn new(exact: Exact<B, V>, settings: Settings) -> Self {
        let fresh = exact.ids.iter().copied().collect();
        Self { exact, settings, graph: None, stale: BTreeSet::new(), fresh }
    }

    /// The underlying exact index.
    #[must_use]
    pub fn exact(&self) -> &Exact<B, V> {
        &self.exact
    }

    fn in_graph(&self) -> usize {
        self.graph.as_ref().map_or(0, |graph| graph.values.len())
    }
}

impl<B: Backend<Tensor = AnyTensor>, V: ?Sized + Dense> Approximate<B, V> {
    fn graph_point(&self, vector: Floats<'_>) -> GraphPoint {
        let metric = self.exact.metric;
        let scale = match metric {
            Metric::Euclidean | Metric::InnerProduct => 1.0,
            Metric::Cosine => match super::norm(vector) {
                0.0 => 1.0,
                norm => norm,
            },
        };
        GraphPoint { at: vector.iter().map(|value| (value / scale) as f32).collect(), metric }
    }

    fn rebuild_if_needed(&mut self) -> Result<(), IndexError<B::Error>> {
        let changed = self.fresh.len() + self.stale.len();
        if changed >= self.settings.least.max(self.in_graph() / 2) { self.rebuild() } else { Ok(()) }
    }

    fn rebuild(&mut self) -> Result<(), IndexError<B::Error>> {
        self.stale.clear();
        self.fresh = self.exact.ids.iter().copied().collect();
        self.graph = None;
        let Some(kind) = self.exact.kind else { return Ok(()) };
        if self.exact.len() < self.settings.least {
            return Ok(());
        }
        let shape = [self.exact.len(), kind.length];
        let matrix = AnyTensor::from_le_bytes(kind.dtype, &shape, &self.exact.packed)?;
        let all = Floats::of(&matrix)?;
        // Insert by id, so that the graph does not depend on the order of additions.
        let ids: Vec<u64> = std::mem::take(&mut self.fresh).into_iter().collect();
        let points = ids.iter().map(|id| {
            let from = self.exact.rows[id] * kind.length;
            self.graph_point(all.part(from, kind.length))
        });
        let points: Vec<GraphPoint> = points.collect();
        let builder = Builder::default()
            .ef_construction(self.settings.building)
            .ef_search(self.settings.candidates)
            .seed(self.settings.seed);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        match pool {
            Ok(pool) => self.graph = Some(pool.install(|| builder.build(points, ids))),
            // If the thread cannot be started, the graph is not built and searches remain exact.
            Err(_) => self.fresh = ids.into_iter().collect(),
        }
        Ok(())
    }
}

impl<B: Backend<Tensor = AnyTensor>, V: ?Sized + Dense> Index for Approximate<B, V> {
    type Vector = V;
    type Error = IndexError<B::Error>;

    fn add(&mut self, id: u64, vector: &V) -> Result<(), Self::Error> {
        let was_in_graph = self.exact.contains(id) && !self.fresh.contains(&id);
        self.exact.add(id, vector)?;
        if was_in_graph {
            self.stale.insert(id);
        }
        self.fresh.insert(id);
        self.rebuild_if_needed()
    }

    fn search(&self, query: &V, k: usize) -> Result<Found, Self::Error> {
        let tensor = self.exact.accept(query)?;
        let wanted = k.min(self.exact.len());
        let Some(graph) = &self.graph else { return self.exact.search(query, k) };
        let mut search = Search::default();
        let proposed = graph.search(&self.graph_point(Floats::of(&tensor)?), &mut search);
        let mut candidates: Vec<u64> =
            proposed.map(|item| *item.value).filter(|id| !self.stale.contains(id)).collect();
        candidates.extend(&self.fresh);
        if candidates.len() < wanted {
            return self.exact.search(query, k);
        }
        let mut found = self.exact.compared_ids(&tensor, candidates.into_iter())?;
        found.truncate(wanted);
        Ok(found)
    }

    fn remove(&mut self, id: u64) -> Result<bool, Self::Error> {
        let was_there = self.exact.remove(id)?;
        if was_there && !self.fresh.remove(&id) {
            self.stale.insert(id);
        }
        self.rebuild_if_needed()?;
        Ok(was_there)
    }

    /// Builds the graph of the stored vectors. The arguments are only validated.
    fn train(&mut self, vectors: &[&V]) -> Result<(), Self::Error> {
        self.exact.train(vectors)?;
        self.rebuild()
    }
}
