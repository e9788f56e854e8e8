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
//! use typeloom_tensor::peer::PeerId;
//! use typeloom_wire::address_book::{AddressBook, BookLimits};
//!
//! let mut book = AddressBook::new(BookLimits::default());
//! let (peer, address) = (PeerId(vec![1]), "/ip4/127.0.0.1/tcp/4001".parse()?);
//! let second = Duration::from_secs(1);
//! assert!(book.install(&peer, [address], Some(60 * second), Duration::ZERO));
//! assert_eq!(book.look_up(&peer, 59 * second).len(), 1);
//! assert_eq!(book.look_up(&peer, 60 * second).len(), 0);
//! # Ok::<(), typeloom_tensor::address::AddressError>(())
//! ```

use core::cmp::Reverse;
use core::time::Duration;
use std::collections::BTreeMap;

use typeloom_tensor::address::Multiaddress;
use typeloom_tensor::peer::PeerId;

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

    /// The reference: a list of all entries in the order of their installation.
    struct Reference {
        limits: BookLimits,
        entries: Vec<(u8, u16, Duration)>,
    }

    impl Reference {
        fn install(&mut self, who: u8, ports: &[u16], lifetime: Option<Duration>, now: Duration) -> bool {
            let ends = lifetime.map_or(Duration::MAX, |lifetime| now + lifetime);
            if ports.is_empty() || ends <= now {
                return true;
            }
            if !self.can_have(who, ends, now) {
                return false;
            }
            let stored = ports.iter().map(|port| self.store(who, *port, ends, now));
            stored.fold(true, |all, one| all & one)
        }

        /// The end of the last entry of each peer.
        fn peers(&self) -> BTreeMap<u8, Duration> {
            let mut peers = BTreeMap::new();
            for (who, _, ends) in &self.entries {
                let last: &mut Duration = peers.entry(*who).or_default();
                *last = ends.max(last).to_owned();
            }
            peers
        }

        fn can_have(&mut self, who: u8, ends: Duration, now: Duration) -> bool {
            if self.limits.addresses == 0 || self.limits.peers == 0 {
                return false;
            }
            let is_free =
                |peers: BTreeMap<u8, _>| peers.contains_key(&who) || peers.len() < self.limits.peers;
            if is_free(self.peers()) {
                return true;
            }
            self.entries.retain(|(_, _, ends)| *ends > now);
            let peers = self.peers();
            if peers.len() < self.limits.peers {
                return true;
            }
            let (first, peer) =
                peers.iter().map(|(who, last)| (*last, *who)).min().expect("the book is full");
            if first < ends {
                self.entries.retain(|(other, _, _)| *other != peer);
            }
            first < ends
        }

        fn store(&mut self, who: u8, port: u16, ends: Duration, now: Duration) -> bool {
            if let Some(known) = self.entries.iter_mut().find(|it| (it.0, it.1) == (who, port)) {
                known.2 = known.2.max(ends);
                return true;
            }
            self.entries.retain(|(other, _, ends)| *other != who || *ends > now);
            let own = |entry: &&mut (u8, u16, Duration)| entry.0 == who;
            if self.entries.iter_mut().filter(own).count() < self.limits.addresses {
                self.entries.push((who, port, ends));
                return true;
            }
            let first = self.entries.iter_mut().filter(own).min_by_key(|entry| entry.2);
            let first = first.expect("the peer has addresses");
            let is_earlier = first.2 < ends;
            if is_earlier {
                *first = (who, port, ends);
            }
            is_earlier
        }

        fn look_up(&self, who: u8, now: Duration) -> Vec<Multiaddress> {
            let present = self.entries.iter().filter(|(other, _, ends)| *other == who && *ends > now);
            let mut present: Vec<_> = present.collect();
            present.sort_by_key(|(_, _, ends)| Reverse(*ends));
            present.into_iter().map(|(_, port, _)| address(*port)).collect()
        }

        fn expire(&mut self, now: Duration) -> usize {
            let before = self.entries.len();
            self.entries.retain(|(_, _, ends)| *ends > now);
            before - self.entries.len()
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Install(u8, Vec<u16>, Option<u64>),
        Remove(u8),
        Expire,
        Pause(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let ports = proptest::collection::vec(1_u16..7, 0..4);
        let lifetime =
            prop_oneof![3 => (0_u64..20).prop_map(Some), 1 => Just(None), 1 => Just(Some(u64::MAX))];
        prop_oneof![
            6 => (0_u8..6, ports, lifetime).prop_map(|(who, ports, lifetime)| Step::Install(who, ports, lifetime)),
            1 => (0_u8..6).prop_map(Step::Remove),
            1 => Just(Step::Expire),
            3 => (0_u64..9).prop_map(Step::Pause),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn a_book_is_equal_to_a_list_of_entries(
            steps in proptest::collection::vec(step(), 0..60), peers in 0_usize..5, addresses in 0_usize..4,
        ) {
            let limits = BookLimits { peers, addresses };
            let (mut book, mut reference) =
                (AddressBook::new(limits), Reference { limits, entries: Vec::new() });
            let mut now = Duration::ZERO;
            for step in steps {
                match &step {
                    Step::Install(who, ports, lifetime) => {
                        let lifetime = lifetime.map(|seconds| at(seconds).min(Duration::MAX - now));
                        let listed = ports.iter().map(|port| address(*port));
                        let stored = book.install(&peer(*who), listed, lifetime, now);
                        prop_assert_eq!(stored, reference.install(*who, ports, lifetime, now), "{:?}", step);
                        // An address that the book had the capacity for is found.
                        if stored && lifetime != Some(Duration::ZERO) && ports.len() == 1 {
                            prop_assert!(book.look_up(&peer(*who), now).contains(&address(ports[0])));
                        }
                    }
                    Step::Remove(who) => {
                        book.remove(&peer(*who));
                        reference.entries.retain(|(other, _, _)| other != who);
                    }
                    Step::Expire => prop_assert_eq!(book.expire(now), reference.expire(now), "{:?}", step),
                    Step::Pause(seconds) => now += at(*seconds),
                }
                for who in 0..6 {
                    prop_assert_eq!(book.look_up(&peer(who), now), reference.look_up(who, now), "{:?}", step);
                    prop_assert!(book.look_up(&peer(who), now).len() <= addresses);
                }
                prop_assert_eq!(book.len(), reference.entries.len(), "{:?}", step);
                prop_assert_eq!(book.is_empty(), reference.entries.is_empty());
                prop_assert!(reference.peers().len() <= peers);
            }
            book.expire(Duration::MAX);
            prop_assert!(book.is_empty(), "all entries end");
        }
    }
}
