//! Threads of the pool that wait for tasks without sleeping while a run is inside [`within`](super::within).
//!
//! A thread of `rayon` sleeps after some microseconds without work. To wake it takes about as long as a small
//! kernel, and a run of a model consists of short kernels. An assistant is a job that executes other jobs
//! until the run ends, or until it has found none for a while; the next divided kernel then calls it again.
//!
//! A thread that waits for a job can start an assistant meanwhile, and then notices the end of that job late.
//! An assistant therefore returns at once on the thread of a run, on a thread that waits for divided work,
//! and on one that already assists.

use std::cell::Cell;
use std::hint;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::{ThreadPool, Yield};

use super::IN_USE;

/// Maximum number of searches in a row that find no job.
const PATIENCE: usize = 1 << 13;

/// Number of pauses instead of a search on a thread that is in no pool; they take about as long.
const PAUSES: usize = 8;

/// Number of threads that assist.
static ASSISTANTS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread runs a model, waits for divided work, or assists.
    static ENGAGED: Cell<bool> = const { Cell::new(false) };
}

/// Marks a thread as engaged until drop.
pub(super) struct Engaged(bool);

/// Marks the current thread as engaged, so that no assistant starts on it.
pub(super) fn engage() -> Engaged {
    Engaged(ENGAGED.replace(true))
}

impl Drop for Engaged {
    fn drop(&mut self) {
        ENGAGED.set(self.0);
    }
}

/// Calls assistants if a run needs them and none is there: the threads of a pool, or of that of the current
/// thread.
pub(super) fn call(pool: Option<&ThreadPool>) {
    if IN_USE.load(Ordering::Relaxed) && ASSISTANTS.load(Ordering::Relaxed) == 0 {
        match pool {
            Some(pool) => pool.spawn_broadcast(|_| assist()),
            None => rayon::spawn_broadcast(|_| assist()),
        }
    }
}

fn assist() {
    if ENGAGED.get() {
        return;
    }
    let _engaged = engage();
    ASSISTANTS.fetch_add(1, Ordering::Relaxed);
    while_busy(&|| IN_USE.load(Ordering::Acquire));
    ASSISTANTS.fetch_sub(1, Ordering::Relaxed);
}

/// Waits while a condition holds, until [`PATIENCE`] searches for a job in a row have found none. A thread of
/// a pool executes the jobs that it finds.
pub(super) fn while_busy(condition: &dyn Fn() -> bool) {
    let mut idle = 0;
    while idle < PATIENCE && condition() {
        match rayon::yield_now() {
            Some(Yield::Executed) => idle = 0,
            Some(Yield::Idle) => {
                hint::spin_loop();
                idle += 1;
            }
            None => {
                (0..PAUSES).for_each(|_| hint::spin_loop());
                idle += 1;
            }
        }
    }
}
