//! Reuse of the memory of dead tensors.
//!
//! Fresh memory costs one page fault per page, which is more than the run time of many kernels. Each run
//! therefore has a [`Store`] that receives the memory of dead tensors and supplies new ones. A store is
//! thread-local while a run is active, so it needs no lock. Between runs the owner of the model keeps it.
//! The memory of results comes back when their last owner drops them, see [`Store::begin`].

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use typeloom_tensor::any_tensor::{AnyTensor, Memory, budget};
use typeloom_tensor::datum::Datum;

use crate::element::MAX_BYTES;
use crate::error::KernelErrorKind;
use crate::work;

/// Minimum size in bytes of a tensor whose memory is kept. The allocator caches smaller blocks itself.
const MIN_KEPT: usize = 1 << 12;

/// The unit of the memory of tensors, in bytes.
const ALIGNED: usize = 16;

/// Maximum number of bytes that a store keeps.
const MAX_KEPT: usize = 1 << 27;

/// A store keeps at most this fraction (one in `PART`) of the memory limit.
const PART: usize = 8;

/// Free memory blocks by size.
#[derive(Debug, Default)]
pub struct Store {
    free: BTreeMap<usize, Vec<Memory>>,
    held: usize,
    /// Bytes that tensors asked for in the current run.
    asked: usize,
    /// Bytes of tensors that died in the current run.
    dead: usize,
}

impl Store {
    /// Begins a run with the memory of results of earlier ones. Keeps as much as left the store in the run
    /// before: not all kernels use kept memory for their results, and it would accumulate.
    pub fn begin(&mut self, returned: Vec<Memory>) {
        let mut missing = self.asked.saturating_sub(self.dead);
        (self.asked, self.dead) = (0, 0);
        for memory in returned {
            if let Some(rest) = missing.checked_sub(memory.capacity()) {
                missing = rest;
                self.keep(memory);
            }
        }
    }

    /// Keeps memory within the limits.
    fn keep(&mut self, memory: Memory) {
        let size = memory.capacity();
        if self.held + size <= MAX_KEPT.min(budget::limit() / PART) && !budget::is_measuring() {
            self.held += size;
            self.free.entry(size).or_default().push(memory);
        }
    }
}

thread_local! {
    static STORE: RefCell<Option<Store>> = const { RefCell::new(None) };
}

/// Installs a store on this thread for the duration of `run`, and returns it with the result.
///
/// Restores the previously installed store afterwards.
pub fn with<T>(store: Store, run: impl FnOnce() -> T) -> (T, Store) {
    struct Restore(Option<Store>);
    impl Drop for Restore {
        fn drop(&mut self) {
            STORE.with_borrow_mut(|current| *current = self.0.take());
        }
    }
    let restore = Restore(STORE.replace(Some(store)));
    let result = run();
    let store = STORE.take().unwrap_or_default();
    drop(restore);
    (result, store)
}

/// Recycles the memory of dead values and clears the vector, keeping its capacity.
pub fn recycle_all(values: &mut Vec<Option<Datum>>) {
    // Most values are too small to keep, and need not be moved.
    for value in &mut *values {
        if let Some(value) = value.take_if(|value| value.as_tensor().is_none_or(is_reusable)) {
            recycle(value);
        }
    }
    values.clear();
}

/// Whether the memory of a tensor is large enough to keep.
#[must_use]
pub fn is_reusable(tensor: &AnyTensor) -> bool {
    tensor.bytes().len() >= MIN_KEPT
}

/// Recycles the memory of a dead value.
pub fn recycle(value: Datum) {
    match value {
        Datum::Tensor(tensor) => recycle_tensor(tensor),
        Datum::Sequence(values) => values.into_iter().for_each(recycle),
        Datum::Optional(Some(held)) => recycle(*held),
        _ => {}
    }
}

pub(crate) fn recycle_tensor(tensor: AnyTensor) {
    if !is_reusable(&tensor) {
        return;
    }
    let Some(memory) = tensor.into_memory() else { return };
    STORE.with_borrow_mut(|store| {
        if let Some(store) = store {
            store.dead += memory.capacity();
            store.keep(memory);
        }
    });
}

/// Checks that tensors may hold this many bytes more, see [`budget`]. Frees the store first if necessary.
pub(crate) fn admit(bytes: usize) -> Result<(), KernelErrorKind> {
    if budget::admit(bytes).is_ok() {
        return Ok(());
    }
    STORE.with_borrow_mut(|store| {
        if let Some(store) = store {
            *store = Store::default();
        }
    });
    Ok(budget::admit(bytes)?)
}

/// Scratch memory of a kernel. It counts as memory of tensors until it is dropped. A list does not grow
/// beyond its capacity.
#[derive(Debug)]
pub(crate) struct Scratch<T> {
    list: Vec<T>,
    _reserved: budget::Reserved,
}

impl<T> Deref for Scratch<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.list
    }
}

impl<T> DerefMut for Scratch<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.list
    }
}

/// A list of `len` equal elements.
pub(crate) fn scratch<T: Clone>(value: T, len: usize) -> Result<Scratch<T>, KernelErrorKind> {
    let reserved = reserve::<T>(len)?;
    Ok(Scratch { list: vec![value; len], _reserved: reserved })
}

/// An empty list for `capacity` elements.
pub(crate) fn scratch_list<T>(capacity: usize) -> Result<Scratch<T>, KernelErrorKind> {
    let reserved = reserve::<T>(capacity)?;
    Ok(Scratch { list: Vec::with_capacity(capacity), _reserved: reserved })
}

/// Counts the memory of `len` elements, and the work of writing them.
pub(crate) fn reserve<T>(len: usize) -> Result<budget::Reserved, KernelErrorKind> {
    let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| *bytes <= MAX_BYTES);
    let bytes = bytes.ok_or(KernelErrorKind::TooLarge { limit: MAX_BYTES })?;
    work::spend(len as u64)?;
    admit(bytes)?;
    Ok(budget::reserve(bytes)?)
}

/// Returns a kept block of at least `len` and at most three times as many bytes, with arbitrary contents. The
/// factor is a measured compromise: at 1.5, a network whose tensors grow from layer to layer keeps a fifth
/// more memory; at 4, small tensors take the blocks of large ones, which then need fresh pages.
pub(crate) fn used(len: usize) -> Option<Memory> {
    if len < MIN_KEPT {
        return None;
    }
    STORE.with_borrow_mut(|store| {
        let store = store.as_mut()?;
        let found = store.free.range(len..=3 * len).next().map(|(size, _)| *size);
        store.asked += found.unwrap_or(len.next_multiple_of(ALIGNED));
        let size = found?;
        let list = store.free.get_mut(&size)?;
        let memory = list.pop()?;
        if list.is_empty() {
            store.free.remove(&size);
        }
        store.held -= size;
        Some(memory)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_a_dead_tensor_is_used_for_the_next_of_about_its_size() {
        let make = || AnyTensor::from(vec![1.0_f32; 4096]);
        let (address, store) = with(Store::default(), || {
            let tensor = make();
            let address = tensor.bytes().as_ptr() as usize;
            recycle(tensor.into());
            assert!(used(1 << 20).is_none());
            address
        });
        let ((), store) = with(store, || {
            let Some(memory) = used(4000 * 4) else { panic!("nothing was kept") };
            let again = AnyTensor::from_elements_with::<f32>(&[4000], memory, |out| out.fill(2.0));
            let Ok(again) = again else { panic!("the shape fits") };
            assert_eq!(again.bytes().as_ptr() as usize, address);
            assert!(used(4000 * 4).is_none());
        });
        assert_eq!(store.held, 0);
    }

    #[test]
    fn results_come_back_to_the_kernels_that_asked_for_memory() {
        let make = |len: usize| AnyTensor::from(vec![1.0_f32; len]).into_memory().expect("it is allocated");
        let (found, mut store) = with(Store::default(), || used(4 * 4096).is_some());
        assert!(!found);
        store.begin(vec![make(8192), make(4096), make(4096)]);
        assert_eq!(store.held, 4 * 4096);
        let (found, mut store) = with(store, || used(4 * 4096).is_some());
        assert!(found);
        store.begin(vec![make(4096)]);
        assert_eq!(store.held, 4 * 4096);
        // A run that asks for nothing, and one whose tensors died, need no memory.
        store.begin(vec![make(4096)]);
        assert_eq!(store.held, 4 * 4096);
        let ((), mut store) = with(store, || {
            let tensor = AnyTensor::from_elements_with::<f32>(&[4096], used(4 * 4096).expect("kept"), |_| {});
            recycle(tensor.expect("the shape fits").into());
        });
        store.begin(vec![make(4096)]);
        assert_eq!(store.held, 4 * 4096);
    }

    #[test]
    fn memory_that_is_shared_is_not_taken() {
        let ((), store) = with(Store::default(), || {
            let tensor = AnyTensor::from(vec![1.0_f32; 4096]);
            let other = tensor.clone();
            recycle(tensor.into());
            assert_eq!(other.len(), 4096);
        });
        assert_eq!(store.held, 0);
    }
}
