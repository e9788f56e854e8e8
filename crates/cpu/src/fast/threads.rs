//! Parallel execution of large kernels on the `rayon` pool.
//!
//! Plain form: the same work on one thread; `tests/threads.rs` compares the bits.
//!
//! Kernels call `should_split` to decide whether to split their work. A share takes about ten microseconds or
//! more: in less time, one thread completes the work before another notices it.
//!
//! A caller with many kernels announces them with [`within`], if [`split_any`] shows that kernels were split.
//! Inside, the other threads wait for tasks without sleeping.
//!
//! Tasks are scheduled dynamically: each thread has a range of the tasks, and takes some of the others after
//! its own. The thread of the caller takes tasks too, so the pool of helpers has one thread less than `rayon`
//! counts. If all work moved to threads of a pool, the first would start on the one processor, and the
//! second, started while the caller still occupies the other, could start on the same one, and both would
//! share it. A caller that is a thread of a `rayon` pool uses that pool.
//!
//! A fork copies the pool without its threads, so in the child of a process that used the pool no work is
//! split.

use std::cell::Cell;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rayon::{Scope, ThreadPool, ThreadPoolBuilder};
use typeloom_tensor::any_tensor::budget;

use crate::error::KernelErrorKind;

mod assist;

thread_local! {
    static SPLIT: Cell<bool> = const { Cell::new(false) };
}

/// Whether the pool has several threads, and they belong to this process.
fn has_several_threads() -> bool {
    static OWNER: OnceLock<u32> = OnceLock::new();
    rayon::current_num_threads() > 1 && *OWNER.get_or_init(process::id) == process::id()
}

/// The threads that compute tasks together with a caller from outside of all pools; `None` for a thread of a
/// pool, or if threads cannot start.
fn helpers() -> Option<&'static ThreadPool> {
    static HELPERS: OnceLock<Option<ThreadPool>> = OnceLock::new();
    if rayon::current_thread_index().is_some() {
        return None;
    }
    let start = || {
        let number = rayon::current_num_threads().saturating_sub(1).max(1);
        let name = |at| format!("typeloom-kernel-{at}");
        ThreadPoolBuilder::new().num_threads(number).thread_name(name).build().ok()
    };
    HELPERS.get_or_init(start).as_ref()
}

/// Whether to split work of this size: it is at least `min_work`, and the pool has several threads.
pub(crate) fn should_split(work: usize, min_work: usize) -> bool {
    let several = work >= min_work && has_several_threads();
    if several {
        SPLIT.set(true);
    }
    several
}

/// Fills `out` with `each`, which receives a part and its offset. If there are at least two parts of `part`
/// elements, they are filled in parallel; otherwise all of `out` is one part.
#[inline]
pub(crate) fn in_parts<T: Send>(out: &mut [T], part: usize, each: &(dyn Fn(usize, &mut [T]) + Sync)) {
    if should_split(out.len(), 2 * part) {
        split(out, part, each);
    } else {
        each(0, out);
    }
}

#[inline(never)]
fn split<T: Send>(out: &mut [T], part: usize, each: &(dyn Fn(usize, &mut [T]) + Sync)) {
    run_all(out.chunks_mut(part).enumerate().collect(), &|(at, out)| each(at * part, out));
}

/// Calls `each` with the number and the elements of every part of `size` elements, in parallel.
#[inline(never)]
pub(crate) fn split_rows<T: Send>(out: &mut [T], size: usize, each: &(dyn Fn(usize, &mut [T]) + Sync)) {
    run_all(out.chunks_mut(size).enumerate().collect(), &|(at, out)| each(at, out));
}

/// Calls `each` with the number and the elements of every chunk of `size` elements, in parallel if there is
/// enough work; a task has at least `least` chunks.
#[inline(never)]
pub(crate) fn each_chunk<T: Send>(
    out: &mut [T],
    size: usize,
    is_parallel: bool,
    least: usize,
    each: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    // Without elements, `size` can be 0.
    if out.is_empty() {
        return;
    }
    let part = if is_parallel { least.max(1) } else { usize::MAX };
    let work = |(at, out): (usize, &mut [T])| {
        for (inner, out) in out.chunks_mut(size).enumerate() {
            each(at * part + inner, out);
        }
    };
    if is_parallel {
        run_all(out.chunks_mut(size.saturating_mul(part)).enumerate().collect(), &work);
    } else {
        work((0, out));
    }
}

/// Computes tasks in parallel. Each thread has a range of the tasks, so that neighbours are computed on one
/// processor, whose caches have their data. A thread that has completed its range takes tasks from the ends
/// of the others.
pub(crate) fn run_all<T: Send>(mut tasks: Vec<T>, compute: &(dyn Fn(T) + Sync)) {
    let threads = rayon::current_num_threads().min(tasks.len()).max(1);
    let mut ranges = Vec::with_capacity(threads);
    for thread in (1..threads).rev() {
        ranges.push(Mutex::new(tasks.split_off(tasks.len() * thread / (thread + 1)).into_iter()));
    }
    ranges.push(Mutex::new(tasks.into_iter()));
    share(threads, &|thread| {
        let own = ranges.len() - 1 - thread;
        let take = |at: usize| {
            let mut range = ranges[at].lock().unwrap_or_else(PoisonError::into_inner);
            if at == own { range.next() } else { range.next_back() }
        };
        let task = (0..ranges.len()).find_map(|next| take((own + next) % ranges.len()));
        task.map(compute).is_some()
    });
}

/// Computes tasks in parallel. Returns the error of the first task that fails.
pub(crate) fn try_run_all<T: Send>(
    tasks: Vec<T>,
    compute: &(dyn Fn(T) -> Result<(), KernelErrorKind> + Sync),
) -> Result<(), KernelErrorKind> {
    let first: Mutex<Option<(usize, KernelErrorKind)>> = Mutex::new(None);
    run_all(tasks.into_iter().enumerate().collect(), &|(at, task)| {
        if let Err(kind) = compute(task) {
            let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
            if first.as_ref().is_none_or(|(before, _)| at < *before) {
                *first = Some((at, kind));
            }
        }
    });
    match first.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, kind)) => Err(kind),
        None => Ok(()),
    }
}

/// Calls `run_next` on this many threads until it returns false: no task is left. It receives the number of
/// the thread; that of the caller is 0.
///
/// Not generic, so that the code of `rayon` is compiled once.
fn share(threads: usize, run_next: &(dyn Fn(usize) -> bool + Sync)) {
    let busy = AtomicUsize::new(threads - 1);
    match helpers() {
        Some(pool) => {
            pool.in_place_scope(|scope| share_in(scope, Some(pool), threads, &busy, run_next));
        }
        None => rayon::scope(|scope| share_in(scope, None, threads, &busy, run_next)),
    }
}

fn share_in<'scope>(
    scope: &Scope<'scope>,
    pool: Option<&ThreadPool>,
    threads: usize,
    busy: &'scope AtomicUsize,
    run_next: &'scope (dyn Fn(usize) -> bool + Sync),
) {
    let _engaged = assist::engage();
    assist::call(pool);
    let limit = budget::limit();
    for thread in 1..threads {
        scope.spawn(move |_| {
            let _last = Countdown(busy);
            budget::within(limit, || while run_next(thread) {});
        });
    }
    while run_next(0) {}
    // A thread that sleeps here wakes up long after the last task, so it waits in a loop first.
    assist::while_busy(&|| busy.load(Ordering::Acquire) > 0);
}

/// Counts a thread as done on drop, so also after a panic.
struct Countdown<'a>(&'a AtomicUsize);

impl Drop for Countdown<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Whether a kernel on this thread split its work since the last call. Resets the flag.
pub fn split_any() -> bool {
    SPLIT.take()
}

/// Whether a thread is inside [`within`].
static IN_USE: AtomicBool = AtomicBool::new(false);

/// Releases the assistants on drop, so also after a panic.
struct PoolGuard;

impl Drop for PoolGuard {
    fn drop(&mut self) {
        IN_USE.store(false, Ordering::Release);
    }
}

/// Runs `work` on the current thread, and keeps the other threads awake for its kernels meanwhile. They only
/// assist one caller at a time, so this does nothing else while another caller is inside. Propagates panics.
pub fn within<R>(work: impl FnOnce() -> R) -> R {
    if !has_several_threads() || IN_USE.swap(true, Ordering::Acquire) {
        return work();
    }
    let _guard = PoolGuard;
    let _engaged = assist::engage();
    assist::call(helpers());
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Held by tests that enter the pool: they share [`IN_USE`].
    static ENTRY: Mutex<()> = Mutex::new(());

    #[test]
    fn split_work_is_recorded() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
        pool.install(|| {
            assert!(!should_split(9, 10) && !split_any());
            assert!(should_split(10, 10) && split_any() && !split_any());
        });
        let one = ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
        one.install(|| assert!(!should_split(10, 10) && !split_any()));
    }

    #[test]
    fn every_task_is_computed_once_also_by_nested_and_concurrent_callers() {
        let _entry = ENTRY.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = |scale: usize| {
            let total = AtomicUsize::new(0);
            run_all((1..=20).collect(), &|outer: usize| {
                run_all((1..=10).collect(), &|inner: usize| {
                    total.fetch_add(scale * outer * inner, Ordering::Relaxed);
                });
            });
            total.into_inner()
        };
        std::thread::scope(|scope| {
            let callers: Vec<_> = (1..=4).map(|scale| scope.spawn(move || within(|| sum(scale)))).collect();
            for (scale, caller) in (1..).zip(callers) {
                assert_eq!(caller.join().expect("no panic"), scale * 210 * 55);
            }
        });
    }

    #[test]
    fn a_panic_of_a_task_reaches_the_caller_and_leaves_the_pool_usable() {
        let _entry = ENTRY.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..20 {
            let failed = std::panic::catch_unwind(|| {
                within(|| run_all((0..8).collect(), &|task: usize| assert_ne!(task, 5, "as it should")));
            });
            assert!(failed.is_err());
        }
        let total = AtomicUsize::new(0);
        within(|| {
            run_all((0..8).collect(), &|task: usize| {
                total.fetch_add(task, Ordering::Relaxed);
            });
        });
        assert_eq!(total.into_inner(), 28);
    }

    #[test]
    fn one_caller_is_within_at_a_time_also_after_a_panic() {
        let _entry = ENTRY.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
        let here = || std::thread::current().id();
        pool.install(|| {
            let inner = within(|| {
                assert!(IN_USE.load(Ordering::Relaxed));
                within(|| IN_USE.load(Ordering::Relaxed) && here() == within(here))
            });
            assert!(inner && !IN_USE.load(Ordering::Relaxed));
            let fails = std::panic::catch_unwind(|| within::<()>(|| panic!("as it should")));
            assert!(fails.is_err() && !IN_USE.load(Ordering::Relaxed));
        });
    }
}
