//! How much memory tensors may take.
//!
//! The memory of all tensors of the process is counted while it is held: a tensor adds what it allocates and subtracts it
//! when its last owner is dropped; clones, and views of foreign bytes, add nothing. [`within`] sets a limit for what runs on
//! the current thread, and every constructor that reports errors compares with it *before* it allocates: a shape from a file
//! cannot ask for more. Kernels ask for scratch memory with [`admit`].
//!
//! **Invariant:** without a limit nothing is refused.
//!
//! Limits: tensors of at most one word are kept in place and not counted, and constructors without an error
//! (`From<&[T]>`, writing to a shared tensor) are counted and not refused.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::error::TensorError;

/// The bytes that tensors of the process hold.
static HELD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static LIMIT: Cell<usize> = const { Cell::new(usize::MAX) };
    static MADE: Cell<u64> = const { Cell::new(0) };
}

/// The bytes of memory that the tensors of this process hold.
#[must_use]
pub fn held() -> usize {
    HELD.load(Ordering::Relaxed)
}

/// The limit for this thread; `usize::MAX` without one.
#[must_use]
pub fn limit() -> usize {
    LIMIT.get()
}

/// The bytes of all tensors that were made on this thread, dropped ones included.
#[must_use]
pub fn made() -> u64 {
    MADE.get()
}

/// Runs with a limit for the bytes that tensors hold; a limit that is in force already is only lowered.
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

/// Whether this many bytes more may be held.
///
/// # Errors
/// [`TensorError::OverBudget`]; nothing was allocated.
#[inline]
pub fn admit(bytes: usize) -> Result<(), TensorError> {
    let limit = LIMIT.get();
    if limit == usize::MAX || held().saturating_add(bytes) <= limit {
        return Ok(());
    }
    Err(TensorError::OverBudget { limit, held: held(), asked: bytes })
}

pub(super) fn add(bytes: usize) {
    HELD.fetch_add(bytes, Ordering::Relaxed);
    MADE.set(MADE.get().wrapping_add(bytes as u64));
}

/// Memory that was held by another tensor was made into one.
pub(super) fn reuse(bytes: usize) {
    MADE.set(MADE.get().wrapping_add(bytes as u64));
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
    fn what_exceeds_the_limit_is_refused_before_it_is_allocated() {
        let limit = held() + (1 << 30);
        within(limit, || {
            // No machine has this much, so that allocating it would abort.
            let huge = AnyTensor::zeros(Dtype::F32, &[1 << 44]);
            assert!(matches!(huge, Err(TensorError::OverBudget { limit: known, .. }) if known == limit));
            assert!(AnyTensor::zeros(Dtype::F32, &[1 << 10]).is_ok());
            // A limit inside is only lower.
            within(usize::MAX, || assert_eq!(super::limit(), limit));
        });
        assert_eq!(super::limit(), usize::MAX);
    }

    #[test]
    fn memory_is_counted_until_its_last_owner_is_dropped() {
        const LEN: usize = 1 << 28;
        let before = made();
        let tensor = AnyTensor::zeros(Dtype::U8, &[LEN]);
        assert!(made() - before >= LEN as u64);
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
