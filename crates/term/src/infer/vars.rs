//! Union-find with an undo log.
//!
//! Union by rank without path compression: finding a root takes at most log₂ n steps, and lookups never
//! write, so the log contains only unions and bindings.
//!
//! **Invariant:** a snapshot is two lengths. A rollback restores every entry that was written after the
//! snapshot.

use crate::binder::Universe;

/// State of one variable.
#[derive(Clone, Debug)]
enum Entry<T> {
    /// Unbound; represents its class.
    Root { rank: u32, universe: Universe },
    /// In the class of another variable.
    Link(u32),
    /// Bound to a value.
    Value(T),
}

/// State of a variable's class.
pub(super) enum Probe<'a, T> {
    /// Unbound, with this representative.
    Root(u32),
    /// Bound, with this representative.
    Value(u32, &'a T),
}

/// Variables of one kind.
#[derive(Clone, Debug)]
pub(super) struct Variables<T> {
    entries: Vec<Entry<T>>,
    log: Vec<(u32, Entry<T>)>,
    recording: bool,
}

/// A point to roll back to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct VariablesSnapshot {
    entries: usize,
    log: usize,
}

impl<T> Default for Variables<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), log: Vec::new(), recording: false }
    }
}

impl<T> Variables<T> {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Creates a variable, or returns `None` after the last number.
    pub(super) fn push(&mut self, universe: Universe) -> Option<u32> {
        let id = u32::try_from(self.entries.len()).ok()?;
        self.entries.push(Entry::Root { rank: 0, universe });
        Some(id)
    }

    #[inline]
    fn root(&self, mut var: u32) -> u32 {
        while let Some(Entry::Link(next)) = self.entries.get(var as usize) {
            var = *next;
        }
        var
    }

    /// Returns the state of a variable's class. An unknown number represents itself.
    #[inline]
    pub(super) fn probe(&self, var: u32) -> Probe<'_, T> {
        let root = self.root(var);
        match self.entries.get(root as usize) {
            Some(Entry::Value(value)) => Probe::Value(root, value),
            Some(Entry::Root { .. } | Entry::Link(_)) | None => Probe::Root(root),
        }
    }

    /// Returns the universe of an unbound class.
    pub(super) fn universe(&self, root: u32) -> Universe {
        match self.entries.get(root as usize) {
            Some(Entry::Root { universe, .. }) => *universe,
            Some(Entry::Link(_) | Entry::Value(_)) | None => Universe::ROOT,
        }
    }

    #[inline]
    fn write(&mut self, var: u32, entry: Entry<T>) {
        let Some(slot) = self.entries.get_mut(var as usize) else { return };
        let old = std::mem::replace(slot, entry);
        if self.recording {
            self.log.push((var, old));
        }
    }

    /// Binds an unbound class.
    #[inline]
    pub(super) fn bind(&mut self, root: u32, value: T) {
        self.write(root, Entry::Value(value));
    }

    /// Lowers the universe of an unbound class.
    pub(super) fn lower(&mut self, root: u32, to: Universe) {
        if let Some(Entry::Root { rank, universe }) = self.entries.get(root as usize)
            && *universe > to
        {
            let rank = *rank;
            self.write(root, Entry::Root { rank, universe: to });
        }
    }

    /// Merges two unbound classes; the lower universe remains.
    pub(super) fn union(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return;
        }
        let (
            Some(&Entry::Root { rank: rank_a, universe: in_a }),
            Some(&Entry::Root { rank: rank_b, universe: in_b }),
        ) = (self.entries.get(a as usize), self.entries.get(b as usize))
        else {
            return;
        };
        let universe = in_a.min(in_b);
        let (child, parent, rank) = match rank_a.cmp(&rank_b) {
            std::cmp::Ordering::Less => (a, b, rank_b),
            std::cmp::Ordering::Greater => (b, a, rank_a),
            std::cmp::Ordering::Equal => (a, b, rank_b + 1),
        };
        self.write(child, Entry::Link(parent));
        self.write(parent, Entry::Root { rank, universe });
    }

    /// Whether two variables are in one class.
    pub(super) fn same(&self, a: u32, b: u32) -> bool {
        self.root(a) == self.root(b)
    }

    #[inline]
    pub(super) fn snapshot(&mut self) -> VariablesSnapshot {
        self.recording = true;
        VariablesSnapshot { entries: self.entries.len(), log: self.log.len() }
    }

    pub(super) fn rollback(&mut self, snapshot: VariablesSnapshot) {
        while self.log.len() > snapshot.log {
            if let Some((var, old)) = self.log.pop()
                && let Some(slot) = self.entries.get_mut(var as usize)
            {
                *slot = old;
            }
        }
        self.entries.truncate(snapshot.entries);
    }

    /// Clears the log after the last snapshot is closed.
    pub(super) fn stop_recording(&mut self) {
        self.recording = false;
        self.log.clear();
    }
}
