//! The address book of a transport: addresses of peers, each with an optional expiry time.
//!
//! A program installs addresses that do not expire. A transport installs the addresses that peers report in
//! their messages, which expire unless they are reported again. A lookup returns the addresses of a peer that
//! have not expired.
//!
//! **Invariant:** a book has at most the entries that its limits permit. If it is full, a new entry replaces
//! the entry that expires first, if the new one expires later, so that reported addresses never replace
//! installed ones.
//!
//! **Invariant:** a book reads no clock. Times are those of the caller's clock.
//!
//! ```
//! use core::time::Duration;
//! use typeloom_contracts::peer_selector::PeerId;
//! use typeloom_wire::address_book::{AddressBook, BookLimits};
//!
//! let mut book = AddressBook::new(BookLimits::default());
//! let (peer, address) = (PeerId(vec![1]), "/ip4/127.0.0.1/tcp/4001".parse()?);
//! let second = Duration::from_secs(1);
//! assert!(book.install(&peer, [address], Some(60 * second), Duration::ZERO));
//! assert_eq!(book.look_up(&peer, 59 * second).len(), 1);
//! assert_eq!(book.look_up(&peer, 60 * second).len(), 0);
//! # Ok::<(), typeloom_contracts::address::AddressError>(())
//! ```

use core::cmp::Reverse;
use core::time::Duration;
use std::collections::BTreeMap;

use typeloom_contracts::address::Multiaddress;
use typeloom_contracts::peer_selector::PeerId;

use crate::limits::MAX_ADDRESSES;

/// Maximum numbers of entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BookLimits {
    pub peers: usize,
    /// Addresses of one peer.
    pub addresses: usize,
}

impl Default for BookLimits {
    fn default() -> Self {
        Self { peers: 1 << 12, addresses: MAX_ADDRESSES }
    }
}

/// Addresses of peers.
#[derive(Clone, Debug)]
pub struct AddressBook {
    limits: BookLimits,
    peers: BTreeMap<PeerId, Vec<Entry>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    address: Multiaddress,
    /// The first time at which the entry is no longer valid; the maximum for an entry that does not expire.
    ends: Duration,
}

impl AddressBook {
    /// An empty book.
    #[must_use]
    pub fn new(limits: BookLimits) -> Self {
        Self { limits, peers: BTreeMap::new() }
    }

    /// Adds addresses of a peer that expire after `lifetime`, or never. A known address keeps the later
    /// expiry time. Returns whether the book had the capacity for all of them.
    pub fn install(
        &mut self,
        peer: &PeerId,
        addresses: impl IntoIterator<Item = Multiaddress>,
        lifetime: Option<Duration>,
        now: Duration,
    ) -> bool {
        let ends = lifetime.map_or(Duration::MAX, |lifetime| now.saturating_add(lifetime));
        let mut addresses = addresses.into_iter().peekable();
        if ends <= now || addresses.peek().is_none() {
            return true;
        }
        if !self.has_capacity(peer, ends, now) {
            return false;
        }
        let entries = self.peers.entry(peer.clone()).or_default();
        let mut all = true;
        for address in addresses {
            all &= add(entries, Entry { address, ends }, self.limits.addresses, now);
        }
        all
    }

    /// The addresses of a peer that have not expired, in descending order of their expiry times.
    #[must_use]
    pub fn look_up(&self, peer: &PeerId, now: Duration) -> Vec<Multiaddress> {
        let entries = self.peers.get(peer).map_or(&[][..], Vec::as_slice);
        let mut present: Vec<&Entry> = entries.iter().filter(|entry| entry.ends > now).collect();
        present.sort_by_key(|entry| Reverse(entry.ends));
        present.into_iter().map(|entry| entry.address.clone()).collect()
    }

    /// Removes the addresses of a peer.
    pub fn remove(&mut self, peer: &PeerId) {
        self.peers.remove(peer);
    }

    /// Removes expired addresses. Returns the number of removed addresses.
    pub fn expire(&mut self, now: Duration) -> usize {
        let before = self.len();
        for entries in self.peers.values_mut() {
            entries.retain(|entry| entry.ends > now);
        }
        self.peers.retain(|_, entries| !entries.is_empty());
        before - self.len()
    }

    /// Number of addresses, including expired ones that are not removed yet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.peers.values().map(Vec::len).sum()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    /// Ensures that a peer has an entry or can get one, by removing the peer whose addresses expire first.
    fn has_capacity(&mut self, peer: &PeerId, ends: Duration, now: Duration) -> bool {
        if self.limits.addresses == 0 || self.limits.peers == 0 {
            return false;
        }
        if self.peers.contains_key(peer) || self.peers.len() < self.limits.peers {
            return true;
        }
        self.expire(now);
        if self.peers.len() < self.limits.peers {
            return true;
        }
        let last = |entries: &[Entry]| entries.iter().map(|entry| entry.ends).max().unwrap_or_default();
        let first = self.peers.iter().map(|(peer, entries)| (last(entries), peer)).min();
        match first {
            Some((first, other)) if first < ends => {
                let other = other.clone();
                self.peers.remove(&other);
                true
            }
            Some(_) | None => false,
        }
    }
}

/// Adds an entry of a peer, or replaces the one that expires first.
fn add(entries: &mut Vec<Entry>, new: Entry, limit: usize, now: Duration) -> bool {
    if let Some(known) = entries.iter_mut().find(|entry| entry.address == new.address) {
        known.ends = known.ends.max(new.ends);
        return true;
    }
    entries.retain(|entry| entry.ends > now);
    if entries.len() < limit {
        entries.push(new);
        return true;
    }
    match entries.iter_mut().min_by_key(|entry| entry.ends) {
        Some(first) if first.ends < new.ends => {
            *first = new;
            true
        }
        Some(_) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn peer(number: u8) -> PeerId {
        PeerId(vec![number])
    }

    fn address(port: u16) -> Multiaddress {
        format!("/ip4/127.0.0.1/tcp/{port}").parse().expect("an address")
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn an_address_that_is_reported_again_ends_later() {
        let mut book = AddressBook::new(BookLimits::default());
        assert!(book.install(&peer(1), [address(1), address(2)], Some(at(10)), at(0)));
        assert!(book.install(&peer(1), [address(2)], Some(at(10)), at(5)));
        assert_eq!(book.look_up(&peer(1), at(9)), [address(2), address(1)]);
        assert_eq!(book.look_up(&peer(1), at(14)), [address(2)]);
        assert_eq!((book.expire(at(14)), book.len()), (1, 1));
        assert_eq!((book.expire(at(15)), book.is_empty()), (1, true));
    }

    #[test]
    fn reported_addresses_do_not_replace_installed_ones() {
        let mut book = AddressBook::new(BookLimits { peers: 2, addresses: 2 });
        assert!(book.install(&peer(1), [address(1), address(2)], None, at(0)));
        assert!(!book.install(&peer(1), [address(3)], Some(at(10)), at(0)));
        assert!(book.install(&peer(2), [address(4)], Some(at(10)), at(0)));
        // The new peer replaces the one whose address expires first.
        assert!(book.install(&peer(3), [address(5)], Some(at(20)), at(0)));
        assert!(!book.install(&peer(4), [address(6)], Some(at(20)), at(0)));
        let ports = |number| book.look_up(&peer(number), at(1)).len();
        assert_eq!([1, 2, 3, 4].map(ports), [2, 0, 1, 0]);
    }

    proptest! {
        #[test]
        fn a_book_keeps_its_limits_and_returns_installed_present_addresses(
            steps in proptest::collection::vec((0_u8..6, 1_u16..6, 0_u64..20, 0_u64..5, any::<bool>()), 0..80),
        ) {
            let limits = BookLimits { peers: 3, addresses: 2 };
            let mut book = AddressBook::new(limits);
            let mut ends: BTreeMap<(u8, u16), Duration> = BTreeMap::new();
            let mut now = Duration::ZERO;
            for (who, port, lifetime, pause, lasts) in steps {
                now += at(pause);
                let lifetime = (!lasts).then_some(at(lifetime));
                let end = lifetime.map_or(Duration::MAX, |lifetime| now + lifetime);
                if book.install(&peer(who), [address(port)], lifetime, now) {
                    let known = ends.entry((who, port)).or_insert(end);
                    *known = end.max(*known);
                    prop_assert!(end <= now || book.look_up(&peer(who), now).contains(&address(port)));
                }
                prop_assert!(book.peers.len() <= limits.peers && book.len() <= limits.peers * limits.addresses);
                for who in 0..6 {
                    for found in book.look_up(&peer(who), now) {
                        let installed = (1..6).find(|port| address(*port) == found).and_then(|port| ends.get(&(who, port)));
                        prop_assert!(installed.is_some_and(|end| *end > now));
                    }
                }
            }
            book.expire(Duration::MAX);
            prop_assert!(book.is_empty());
        }
    }
}
