//! Limit of the memory that tensors hold.
//!
//! A process-wide counter contains the memory of all live tensors: an allocation adds to it, dropping the
//! last owner subtracts. Clones and views of foreign bytes add nothing. [`within`] sets a limit for a closure
//! on the current thread. Every fallible constructor compares with the limit *before* it allocates, so a
//! shape from a file cannot exhaust the memory. Kernels request scratch memory with [`admit`].
//!
//! **Invariant:** without a limit every request is admitted.
//!
//! Exceptions: tensors of at most one word are stored inline and not counted. Infallible constructors
//! (`From<&[T]>`, writing to a shared tensor) are counted but never rejected.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::error::TensorError;

/// Bytes held by the tensors of the process.
static HELD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static LIMIT: Cell<usize> = const { Cell::new(usize::MAX) };
    static CREATED: Cell<u64> = const { Cell::new(0) };
}

/// Number of bytes that the tensors of this process hold.
#[must_use]
pub fn held() -> usize {
    HELD.load(Ordering::Relaxed)
}

/// The limit of this thread in bytes; `usize::MAX` if none is set.
#[must_use]
pub fn limit() -> usize {
    LIMIT.get()
}

/// Total size in bytes of all tensors created on this thread, including dropped ones.
#[must_use]
pub fn created() -> u64 {
    CREATED.get()
}

/// Runs a closure with a limit in bytes; a nested limit can only lower the current one.
pub fn within<T>(limit: usize, run: impl FnOnce() -> T) -> T {
    struct Restore(usize);
    impl Drop for Restore {
        fn drop(&mut self) {
            LIMIT.set(self.0);
        }
    }
    let restore = Restore(LIMIT.get());
    LIMIT.set(limit.min(restore.0));
    let result = run();
    drop(restore);
    result
}

/// Checks that `bytes` more bytes are within the limit.
///
/// # Errors
/// [`TensorError::OverBudget`]; nothing was allocated.
#[inline]
pub fn admit(bytes: usize) -> Result<(), TensorError> {
    let limit = LIMIT.get();
    if limit == usize::MAX || held().saturating_add(bytes) <= limit {
        return Ok(());
    }
    Err(TensorError::OverBudget { limit, held: held(), requested: bytes })
}

pub(super) fn add(bytes: usize) {
    HELD.fetch_add(bytes, Ordering::Relaxed);
    CREATED.set(CREATED.get().wrapping_add(bytes as u64));
}

/// Counts a tensor that reuses the memory of another one.
pub(super) fn reuse(bytes: usize) {
    CREATED.set(CREATED.get().wrapping_add(bytes as u64));
}

pub(super) fn subtract(bytes: usize) {
    HELD.fetch_sub(bytes, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::super::AnyTensor;
    use super::*;
    use crate::dtype::Dtype;

    #[test]
    fn a_request_above_the_limit_is_refused_before_allocation() {
        let limit = held() + (1 << 30);
        within(limit, || {
            // The allocation would abort the process: no machine has this much memory.
            let huge = AnyTensor::zeros(Dtype::F32, &[1 << 44]);
            assert!(matches!(huge, Err(TensorError::OverBudget { limit: known, .. }) if known == limit));
            assert!(AnyTensor::zeros(Dtype::F32, &[1 << 10]).is_ok());
            // A nested limit does not raise the current one.
            within(usize::MAX, || assert_eq!(super::limit(), limit));
        });
        assert_eq!(super::limit(), usize::MAX);
    }

    #[test]
    fn memory_is_counted_until_its_last_owner_is_dropped() {
        const LEN: usize = 1 << 28;
        let before = created();
        let tensor = AnyTensor::zeros(Dtype::U8, &[LEN]);
        assert!(created() - before >= LEN as u64);
        let Ok(tensor) = tensor else { panic!("there is no limit") };
        // Other tests of this process hold far less.
        assert!(held() >= LEN);
        let other = tensor.clone();
        assert!(held() < 2 * LEN);
        drop(tensor);
        assert!(held() >= LEN);
        let Some(memory) = other.into_memory() else { panic!("one owner is left") };
        assert!(held() >= LEN);
        drop(memory);
        assert!(held() < LEN);
    }

    #[test]
    fn strings_count_with_their_text() {
        let text = "x".repeat(1 << 20);
        let strings: Vec<&str> = std::iter::repeat_n(text.as_str(), 1 << 12).collect();
        let made = within(held() + (1 << 30), || AnyTensor::from_strings(&[strings.len()], &strings));
        assert!(matches!(made, Err(TensorError::OverBudget { .. })));
    }
}
