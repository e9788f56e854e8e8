//! Storage whose writes are held back until its content is verified, so that a file with an error is not
//! changed.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

use super::Durability;

/// Clones share the same storage.
#[derive(Clone, Debug)]
pub(super) struct Storage(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    backend: Box<dyn StorageBackend>,
    durability: Durability,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// The operations are held back, in order.
    Closed(Vec<Operation>),
    /// Operations are executed.
    Open,
    /// An operation that was held back has failed. No other one is executed.
    Failed,
}

#[derive(Debug)]
enum Operation {
    Write { offset: u64, data: Vec<u8> },
    SetLen(u64),
    Sync,
}

impl State {
    fn held_back(&self) -> &[Operation] {
        match self {
            Self::Closed(operations) => operations,
            Self::Open | Self::Failed => &[],
        }
    }
}

impl Storage {
    pub(super) fn new(backend: impl StorageBackend, durability: Durability) -> Self {
        Self(Arc::new(Shared {
            backend: Box::new(backend),
            durability,
            state: Mutex::new(State::Closed(Vec::new())),
        }))
    }

    /// Executes the operations that were held back, and all later ones immediately.
    pub(super) fn release(&self) -> io::Result<()> {
        let mut state = self.0.state();
        let State::Closed(operations) = std::mem::replace(&mut *state, State::Failed) else { return Ok(()) };
        operations.into_iter().try_for_each(|operation| match operation {
            Operation::Write { offset, data } => self.0.backend.write(offset, &data),
            Operation::SetLen(len) => self.0.backend.set_len(len),
            Operation::Sync => self.0.sync(),
        })?;
        *state = State::Open;
        Ok(())
    }

    /// Holds an operation back, or executes it.
    fn apply(
        &self,
        operation: impl FnOnce() -> Operation,
        execute: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        match &mut *self.0.state() {
            State::Closed(operations) => operations.push(operation()),
            State::Open => execute()?,
            State::Failed => return Err(io::Error::other("an earlier operation has failed")),
        }
        Ok(())
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sync(&self) -> io::Result<()> {
        match self.durability {
            Durability::Machine => self.backend.sync_data(),
            // The operating system has the writes of a process that ends.
            Durability::Process => Ok(()),
        }
    }
}

impl StorageBackend for Storage {
    fn len(&self) -> io::Result<u64> {
        let state = self.0.state();
        let set = state.held_back().iter().rev().find_map(|operation| match operation {
            Operation::SetLen(len) => Some(*len),
            Operation::Write { .. } | Operation::Sync => None,
        });
        set.map_or_else(|| self.0.backend.len(), Ok)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.0.state();
        let operations = state.held_back();
        if operations.is_empty() {
            return self.0.backend.read(offset, out);
        }
        let len = self.0.backend.len()?;
        let stored = usize::try_from(len.saturating_sub(offset)).map_or(out.len(), |len| len.min(out.len()));
        let (present, added) = out.split_at_mut(stored);
        if !present.is_empty() {
            self.0.backend.read(offset, present)?;
        }
        added.fill(0);
        for operation in operations {
            match operation {
                Operation::Write { offset: at, data } => overlay(*at, data, offset, out),
                Operation::SetLen(len) => {
                    let kept = usize::try_from(len.saturating_sub(offset)).unwrap_or(usize::MAX);
                    out.iter_mut().skip(kept).for_each(|byte| *byte = 0);
                }
                Operation::Sync => {}
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.apply(|| Operation::SetLen(len), || self.0.backend.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.apply(|| Operation::Sync, || self.0.sync())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let held_back = || Operation::Write { offset, data: data.to_vec() };
        self.apply(held_back, || self.0.backend.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.0.backend.close()
    }
}

/// Copies the bytes at `at` to those of them that `out`, which begins at `offset`, contains.
fn overlay(at: u64, data: &[u8], offset: u64, out: &mut [u8]) {
    let start = at.max(offset);
    let end = (at + data.len() as u64).min(offset + out.len() as u64);
    if let (Ok(from), Ok(to), Some(len)) =
        (usize::try_from(start - at), usize::try_from(start - offset), end.checked_sub(start))
        && let Ok(len) = usize::try_from(len)
    {
        out[to..to + len].copy_from_slice(&data[from..from + len]);
    }
}
