//! A table of peers to select from.
//!
//! Whoever hears of a peer says so ([`PeerTable::observe`]) with how good it is and when it was heard of; time is whatever
//! the caller counts (rounds, seconds), because nothing here has a clock. Peers are kept in the order of their ids, so that
//! the same table gives the same choices.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use typeloom_contracts::peer_selector::{PeerId, PeerSelector};

use crate::seeded::Seeded;

/// What is known of a peer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Standing {
    /// How good it is; the greatest is the best.
    pub score: f64,
    /// When it was last heard of.
    pub seen: u64,
}

/// Which peers suit best.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Preference {
    /// Those of the greatest score, the later heard of among equals.
    #[default]
    Score,
    /// Those that were heard of last, the better among equals.
    Freshness,
}

/// What the table has to say against a request.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum PeersError {
    /// More peers were asked for than are known.
    #[error("{wanted} peers are asked for, and {known} are known")]
    TooFew {
        /// How many were asked for.
        wanted: usize,
        /// How many are known.
        known: usize,
    },
    /// A score that cannot be compared with others.
    #[error("a peer cannot have the score {score}")]
    NoScore {
        /// The score.
        score: f64,
    },
}

/// Peers by score and freshness, or at random.
///
/// ```
/// use typeloom_components::peers::{PeerTable, Preference};
/// use typeloom_contracts::peer_selector::{PeerId, PeerSelector};
///
/// let mut table = PeerTable::new(Preference::Score, 42);
/// let peer = |name: &str| PeerId(name.as_bytes().to_vec());
/// table.observe(peer("a"), 0.5, 1)?;
/// table.observe(peer("b"), 0.9, 1)?;
/// table.observe(peer("c"), 0.5, 2)?;
/// assert_eq!(table.select(2)?, [peer("b"), peer("c")]);
/// assert_eq!(table.sample(3)?.len(), 3);
/// assert_eq!(table.current_view()?, [peer("a"), peer("b"), peer("c")]);
/// # Ok::<(), typeloom_components::peers::PeersError>(())
/// ```
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
    /// An empty table; what [`PeerSelector::sample`] draws follows from the seed and from how often it was asked.
    #[must_use]
    pub fn new(preference: Preference, seed: u64) -> Self {
        Self { peers: BTreeMap::new(), preference, seeded: Seeded::new(seed) }
    }

    /// Takes note of a peer. Its score is the new one; it was last heard of at the later of both times, because news
    /// may overtake each other.
    ///
    /// # Errors
    /// [`PeersError::NoScore`] for NaN.
    pub fn observe(&mut self, peer: PeerId, score: f64, seen: u64) -> Result<(), PeersError> {
        if score.is_nan() {
            return Err(PeersError::NoScore { score });
        }
        // Zeros are one zero, or they would not tie.
        let standing = self.peers.entry(peer).or_insert(Standing { score, seen });
        *standing = Standing { score: score + 0.0, seen: standing.seen.max(seen) };
        Ok(())
    }

    /// What is known of a peer.
    #[must_use]
    pub fn standing(&self, peer: &PeerId) -> Option<Standing> {
        self.peers.get(peer).copied()
    }

    /// Forgets a peer; whether it was known.
    pub fn forget(&mut self, peer: &PeerId) -> bool {
        self.peers.remove(peer).is_some()
    }

    /// Forgets the peers that were last heard of before a time; how many they were.
    pub fn expire(&mut self, before: u64) -> usize {
        let known = self.peers.len();
        self.peers.retain(|_, standing| standing.seen >= before);
        known - self.peers.len()
    }

    /// How many peers are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.peers.len()
    }

    /// Whether none is.
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
    /// The better first.
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
        // The sort is stable, so that peers that are equal otherwise stay in the order of their ids.
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
