//! A table of known peers.
//!
//! Callers report peers with a score and the time of the last contact ([`PeerTable::observe`]). The unit of
//! time is chosen by the caller (rounds, seconds), because the table does not read a clock. Peers are ordered
//! by id, so that equal tables make equal selections.
//!
//! Example of [`PeerTable`]:
//!
//! ```
//! use typeloom_components::peers::{PeerTable, Preference};
//! use typeloom_contracts::peer_selector::PeerSelector;
//! use typeloom_tensor::peer::PeerId;
//!
//! let mut table = PeerTable::new(Preference::Score, 42);
//! let peer = |name: &str| PeerId(name.as_bytes().to_vec());
//! table.observe(peer("a"), 0.5, 1)?;
//! table.observe(peer("b"), 0.9, 1)?;
//! table.observe(peer("c"), 0.5, 2)?;
//! assert_eq!(table.select(2)?, [peer("b"), peer("c")]);
//! assert_eq!(table.sample(3)?.len(), 3);
//! assert_eq!(table.current_view()?, [peer("a"), peer("b"), peer("c")]);
//! # Ok::<(), typeloom_components::peers::PeersError>(())
//! ```

use std::cmp::Ordering;
use std::collections::BTreeMap;

use typeloom_contracts::peer_selector::PeerSelector;
use typeloom_tensor::peer::PeerId;
use typeloom_types::plural::counted;

use crate::seeded::Seeded;

/// Score and last contact of a peer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Standing {
    /// Score; greater is better.
    pub score: f64,
    /// Time of the last contact.
    pub seen: u64,
}

/// Ranking of peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Preference {
    /// By score, then by last contact.
    #[default]
    Score,
    /// By last contact, then by score.
    Freshness,
}

/// Error of a table operation.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum PeersError {
    /// More peers were requested than are known.
    #[error("a request for {}, of which {known} are known", counted(*wanted, "peer"))]
    TooFew { wanted: usize, known: usize },
    /// The score is NaN and cannot be compared.
    #[error("a peer cannot have the score {score}")]
    NoScore { score: f64 },
}

/// Peers by score and freshness, or at random.
#[derive(Clone, Debug)]
pub struct PeerTable {
    peers: BTreeMap<PeerId, Standing>,
    preference: Preference,
    seeded: Seeded,
}

impl Default for PeerTable {
    fn default() -> Self {
        Self::new(Preference::default(), 0)
    }
}

impl PeerTable {
    /// Creates an empty table. The peers drawn by [`PeerSelector::sample`] depend on the seed and on the
    /// preceding draws.
    #[must_use]
    pub fn new(preference: Preference, seed: u64) -> Self {
        Self { peers: BTreeMap::new(), preference, seeded: Seeded::new(seed) }
    }

    /// Inserts or updates a peer. The score is replaced; the last contact is the later of both times, because
    /// reports may arrive out of order.
    ///
    /// # Errors
    /// [`PeersError::NoScore`] for NaN.
    pub fn observe(&mut self, peer: PeerId, score: f64, seen: u64) -> Result<(), PeersError> {
        if score.is_nan() {
            return Err(PeersError::NoScore { score });
        }
        // Adding 0.0 replaces -0.0 by 0.0, so that zero scores tie.
        let standing = self.peers.entry(peer).or_insert(Standing { score, seen });
        *standing = Standing { score: score + 0.0, seen: standing.seen.max(seen) };
        Ok(())
    }

    /// Score and last contact of a peer, if it is known.
    #[must_use]
    pub fn standing(&self, peer: &PeerId) -> Option<Standing> {
        self.peers.get(peer).copied()
    }

    /// Removes a peer. Returns whether it was known.
    pub fn forget(&mut self, peer: &PeerId) -> bool {
        self.peers.remove(peer).is_some()
    }

    /// Removes the peers whose last contact was before a time. Returns the number of removed peers.
    pub fn expire(&mut self, before: u64) -> usize {
        let known = self.peers.len();
        self.peers.retain(|_, standing| standing.seen >= before);
        known - self.peers.len()
    }

    /// Number of known peers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.peers.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    fn enough(&self, wanted: usize) -> Result<(), PeersError> {
        let known = self.peers.len();
        if wanted <= known { Ok(()) } else { Err(PeersError::TooFew { wanted, known }) }
    }
}

impl Preference {
    /// Compares two peers; the better one is less.
    fn order(self, a: Standing, b: Standing) -> Ordering {
        let by_score = b.score.total_cmp(&a.score);
        let by_freshness = b.seen.cmp(&a.seen);
        match self {
            Self::Score => by_score.then(by_freshness),
            Self::Freshness => by_freshness.then(by_score),
        }
    }
}

impl PeerSelector for PeerTable {
    type Error = PeersError;

    fn select(&mut self, count: usize) -> Result<Vec<PeerId>, PeersError> {
        self.enough(count)?;
        let mut ranked: Vec<(&PeerId, &Standing)> = self.peers.iter().collect();
        // The sort is stable, so peers of equal rank remain ordered by id.
        ranked.sort_by(|a, b| self.preference.order(*a.1, *b.1));
        Ok(ranked.into_iter().take(count).map(|(peer, _)| peer.clone()).collect())
    }

    fn sample(&mut self, count: usize) -> Result<Vec<PeerId>, PeersError> {
        self.enough(count)?;
        let mut peers: Vec<&PeerId> = self.peers.keys().collect();
        self.seeded.draw(&mut peers, count);
        Ok(peers.into_iter().take(count).cloned().collect())
    }

    fn current_view(&self) -> Result<Vec<PeerId>, PeersError> {
        Ok(self.peers.keys().cloned().collect())
    }
}
