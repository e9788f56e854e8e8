//! Limit of the memory that tensors hold.
//!
//! A process-wide counter contains the memory of all live tensors: an allocation adds to it, dropping the
//! last owner subtracts. Clones and views of foreign bytes add nothing. [`within`] sets a limit for a closure
//! on the current thread. Every fallible constructor compares with the limit *before* it allocates, so a
//! shape from a file cannot exhaust the memory. Scratch memory of kernels is counted while its [`Reserved`]
//! exists.
//!
//! **Invariant:** without a limit every request is admitted.
//!
//! [`failing_after`] refuses requests by their number, so that tests reach every error of an allocation.
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
    /// Bytes of tensors since the start of [`peak`], and the most so far; `None` outside of it.
    static PEAK: Cell<Option<(i64, i64)>> = const { Cell::new(None) };
    /// Number of requests that are still admitted; `None` if they are not counted.
    static REQUESTS: Cell<Option<u64>> = const { Cell::new(None) };
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

/// Runs a closure in which the first `requests` requests are admitted and all later ones are refused. Returns
/// whether one was refused.
pub fn failing_after<T>(requests: u64, run: impl FnOnce() -> T) -> (T, bool) {
    // A request is only counted if there is a limit.
    within(usize::MAX - 1, || {
        let before = REQUESTS.replace(Some(requests + 1));
        let result = run();
        let is_refused = REQUESTS.replace(before) == Some(0);
        (result, is_refused)
    })
}

/// The most bytes that tensors hold at a time while a closure runs, in addition to those at its start. Only
/// tensors of this thread count, and no scratch memory of kernels. Meanwhile, memory of dead tensors is not
/// kept for later ones.
pub fn peak<T>(run: impl FnOnce() -> T) -> (T, u64) {
    let before = PEAK.replace(Some((0, 0)));
    let result = run();
    let (_, most) = PEAK.replace(before).unwrap_or_default();
    (result, most.unsigned_abs())
}

/// Whether [`peak`] is running on this thread.
#[must_use]
pub fn is_measuring() -> bool {
    PEAK.get().is_some()
}

/// Counts bytes of tensors that are created or dropped.
fn measure(bytes: usize, sign: i64) {
    if let Some((held, most)) = PEAK.get() {
        let held = held + sign * i64::try_from(bytes).unwrap_or(i64::MAX);
        PEAK.set(Some((held, most.max(held))));
    }
}

/// Checks that `bytes` more bytes are within the limit.
///
/// # Errors
/// [`TensorError::OverBudget`]; nothing was allocated.
#[inline]
pub fn admit(bytes: usize) -> Result<(), TensorError> {
    if LIMIT.get() == usize::MAX { Ok(()) } else { admit_within(LIMIT.get(), bytes) }
}

fn admit_within(limit: usize, bytes: usize) -> Result<(), TensorError> {
    let left = REQUESTS.get().map(|left| left.saturating_sub(1));
    REQUESTS.set(left);
    if left != Some(0) && held().saturating_add(bytes) <= limit {
        return Ok(());
    }
    Err(TensorError::OverBudget { limit, held: held(), requested: bytes })
}

/// Memory that counts as held until this is dropped.
#[derive(Debug)]
pub struct Reserved(usize);

/// Counts `bytes` bytes of memory that no tensor holds.
///
/// # Errors
/// As [`admit`].
pub fn reserve(bytes: usize) -> Result<Reserved, TensorError> {
    admit(bytes)?;
    HELD.fetch_add(bytes, Ordering::Relaxed);
    Ok(Reserved(bytes))
}

impl Drop for Reserved {
    fn drop(&mut self) {
        HELD.fetch_sub(self.0, Ordering::Relaxed);
    }
}

pub(super) fn add(bytes: usize) {
    HELD.fetch_add(bytes, Ordering::Relaxed);
    CREATED.set(CREATED.get().wrapping_add(bytes as u64));
    measure(bytes, 1);
}

/// Counts a tensor that reuses the memory of another one.
pub(super) fn reuse(bytes: usize) {
    CREATED.set(CREATED.get().wrapping_add(bytes as u64));
}

pub(super) fn subtract(bytes: usize) {
    HELD.fetch_sub(bytes, Ordering::Relaxed);
    measure(bytes, -1);
}

#[cfg(test)]
mod tests {
    use super::super::AnyTensor;
    use super::*;
    use typeloom_types::dtype::Dtype;

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
    fn requests_are_refused_by_their_number() {
        let make = || AnyTensor::zeros(Dtype::F32, &[1 << 10]);
        for number in 0..3 {
            let (made, is_refused) = failing_after(number, || [make(), make()].map(|made| made.is_ok()));
            assert_eq!((made, is_refused), ([number > 0, number > 1], number < 2));
        }
        assert!(make().is_ok());
    }

    #[test]
    fn the_peak_is_that_of_live_tensors() {
        let make = |len: usize| AnyTensor::zeros(Dtype::U8, &[len]);
        let (_, most) = peak(|| {
            drop(make(1 << 12));
            let (small, large) = (make(1 << 10), make(1 << 11));
            let shared = large.clone();
            drop((small, large, shared, reserve(1 << 20)));
            make(1 << 8)
        });
        assert_eq!(most, 1 << 12);
        let ((_, inner), outer) = peak(|| peak(|| make(64)));
        assert_eq!((inner, outer), (64, 0));
        assert!(!is_measuring());
    }

    #[test]
    fn reserved_memory_counts_until_it_is_dropped() {
        const LEN: usize = 1 << 40;
        let before = held();
        let reserved = reserve(LEN);
        assert!(reserved.is_ok() && held() >= before + LEN);
        within(LEN, || assert!(reserve(1).is_err()));
        drop(reserved);
        assert!(held() < LEN);
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
