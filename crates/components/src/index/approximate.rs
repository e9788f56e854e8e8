//! An index that does not look at every vector.
//!
//! A graph of small worlds (HNSW: Malkov and Yashunin, 2016; by the crate `instant-distance`) proposes candidates, and an
//! [`Exact`] index compares them, so that distances and their order are exact among what was found; what may be missing is
//! a neighbour that was not proposed.
//!
//! The graph is built once and never changed. Vectors that came later are compared one by one, vectors that went are passed
//! over, and when there are many of either the graph is built anew; the work of that is constant for each change, on average.
//! A search that the graph cannot answer in full is exact instead.
//!
//! `instant-distance` was chosen over `hnsw_rs` because its levels follow from a seed, it has no `unsafe` interface to files,
//! and it needs little beside `rayon`. It is built on one thread, because the order in which threads insert shows in the graph.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use instant_distance::{Builder, HnswMap, Point, Search};
use typeloom_contracts::backend::Backend;
use typeloom_contracts::index::Index;
use typeloom_types::any_tensor::AnyTensor;

use super::{Exact, Found, IndexError, Metric};
use crate::dense::{Dense, Floats};

/// How well and how long the graph is searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How many candidates a search keeps.
    pub candidates: usize,
    /// How many candidates are kept where a vector is put into the graph.
    pub building: usize,
    /// What the levels of the graph follow from.
    pub seed: u64,
    /// The fewest vectors for which there is a graph.
    pub least: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { candidates: 100, building: 100, seed: 0, least: 256 }
    }
}

/// A vector in the graph. Distances need only be in the right order here.
#[derive(Clone)]
struct Placed {
    at: Arc<[f32]>,
    metric: Metric,
}

impl Point for Placed {
    fn distance(&self, other: &Self) -> f32 {
        let pairs = self.at.iter().zip(&*other.at);
        match self.metric {
            Metric::Euclidean => pairs.map(|(a, b)| (a - b) * (a - b)).sum(),
            Metric::InnerProduct | Metric::Cosine => -pairs.map(|(a, b)| a * b).sum::<f32>(),
        }
    }
}

/// Finds near vectors, most of the nearest among them; see the [module](self).
pub struct Approximate<B, V: ?Sized = AnyTensor> {
    exact: Exact<B, V>,
    settings: Settings,
    graph: Option<HnswMap<Placed, u64>>,
    /// In the graph, but no longer stored as they are there.
    stale: BTreeSet<u64>,
    /// Stored, but not in the graph.
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
    /// An index that compares by an exact one; its vectors enter the graph when there are enough, or by `train`.
    #[must_use]
    pub fn new(exact: Exact<B, V>, settings: Settings) -> Self {
        let fresh = exact.ids.iter().copied().collect();
        Self { exact, settings, graph: None, stale: BTreeSet::new(), fresh }
    }

    /// The index that compares.
    #[must_use]
    pub fn exact(&self) -> &Exact<B, V> {
        &self.exact
    }

    fn in_graph(&self) -> usize {
        self.graph.as_ref().map_or(0, |graph| graph.values.len())
    }
}

impl<B: Backend<Tensor = AnyTensor>, V: ?Sized + Dense> Approximate<B, V> {
    fn placed(&self, vector: Floats<'_>) -> Placed {
        let metric = self.exact.metric;
        let scale = match metric {
            Metric::Euclidean | Metric::InnerProduct => 1.0,
            Metric::Cosine => match super::norm(vector) {
                0.0 => 1.0,
                norm => norm,
            },
        };
        Placed { at: vector.iter().map(|value| (value / scale) as f32).collect(), metric }
    }

    fn rebuild_where_it_pays(&mut self) -> Result<(), IndexError<B::Error>> {
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
        // By id, so that the graph does not depend on the order in which vectors came.
        let ids: Vec<u64> = std::mem::take(&mut self.fresh).into_iter().collect();
        let points = ids.iter().map(|id| {
            let from = self.exact.rows[id] * kind.length;
            self.placed(all.part(from, kind.length))
        });
        let points: Vec<Placed> = points.collect();
        let builder = Builder::default()
            .ef_construction(self.settings.building)
            .ef_search(self.settings.candidates)
            .seed(self.settings.seed);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        match pool {
            Ok(pool) => self.graph = Some(pool.install(|| builder.build(points, ids))),
            // Without a thread there is no graph, and searches stay exact.
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
        self.rebuild_where_it_pays()
    }

    fn search(&self, query: &V, k: usize) -> Result<Found, Self::Error> {
        let tensor = self.exact.accept(query)?;
        let wanted = k.min(self.exact.len());
        let Some(graph) = &self.graph else { return self.exact.search(query, k) };
        let mut search = Search::default();
        let proposed = graph.search(&self.placed(Floats::of(&tensor)?), &mut search);
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
        self.rebuild_where_it_pays()?;
        Ok(was_there)
    }

    /// Builds the graph of what is stored; the vectors have only to fit.
    fn train(&mut self, vectors: &[&V]) -> Result<(), Self::Error> {
        self.exact.train(vectors)?;
        self.rebuild()
    }
}
