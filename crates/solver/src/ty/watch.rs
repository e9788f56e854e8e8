//! Waiters of variables: singly linked lists in one vector, joined in constant time.
//!
//! A list is a pair of positions, its first and last entry, so unifying two variables joins their lists
//! without visiting them. Entries of woken lists are not reused. A run of a rule adds a bounded number of
//! entries, so their total is bounded by the number of runs.

/// A step that waits for a type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Waiter {
    /// The frame of the step.
    pub frame: u32,
    /// The step in its frame.
    pub step: u32,
}

/// The first and last entry of a list; 0 for none.
#[derive(Clone, Copy, Debug)]
pub(super) struct WatchList {
    first: u32,
    /// Nothing follows the last entry until the list is joined.
    last: u32,
}

impl WatchList {
    pub(super) const EMPTY: Self = Self { first: 0, last: 0 };
}

/// All lists, and the woken waiters.
#[derive(Clone, Debug, Default)]
pub(super) struct Watchers {
    /// Entry `n` of this vector has number `n + 1`.
    entries: Vec<(Waiter, u32)>,
    woken: Vec<Waiter>,
}

impl Watchers {
    pub(super) fn add(&mut self, list: WatchList, waiter: Waiter) -> WatchList {
        if list.first != 0 && self.entries[list.first as usize - 1].0 == waiter {
            return list;
        }
        let number = u32::try_from(self.entries.len() + 1).expect("memory ends before 2^32 watches");
        self.entries.push((waiter, list.first));
        WatchList { first: number, last: if list.last == 0 { number } else { list.last } }
    }

    pub(super) fn join(&mut self, left: WatchList, right: WatchList) -> WatchList {
        if left.first == 0 {
            return right;
        }
        if right.first == 0 {
            return left;
        }
        self.entries[left.last as usize - 1].1 = right.first;
        WatchList { first: left.first, last: right.last }
    }

    /// The last entry of the list that a join continues; `None` if one of the lists is empty.
    pub(super) fn continued(left: WatchList, right: WatchList) -> Option<u32> {
        (left.first != 0 && right.first != 0).then_some(left.last)
    }

    /// Takes back a join.
    pub(super) fn end_at(&mut self, last: u32) {
        self.entries[last as usize - 1].1 = 0;
    }

    pub(super) fn wake(&mut self, list: WatchList) {
        let mut at = list.first;
        while at != 0 {
            let (waiter, next) = self.entries[at as usize - 1];
            self.woken.push(waiter);
            at = next;
        }
    }

    pub(super) fn take_woken(&mut self, into: &mut Vec<Waiter>) {
        into.append(&mut self.woken);
    }

    pub(super) fn forget_woken(&mut self, waiter: Waiter) {
        self.woken.retain(|woken| *woken != waiter);
    }

    pub(super) fn has_woken(&self) -> bool {
        !self.woken.is_empty()
    }
}
