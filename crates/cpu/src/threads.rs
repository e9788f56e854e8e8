//! Large work on several threads, those of `rayon`'s pool.
//!
//! Kernels ask `worth` whether a piece of work is large enough to be split. To hand work to a pool from outside of it puts
//! the caller to sleep and wakes two threads, for every kernel anew; so who runs many kernels in a row moves into the pool
//! with all of them by [`within`], where [`split_any`] says that it pays. Work is large where a share takes a tenth of a
//! millisecond or so: less is done before the other thread is awake.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

thread_local! {
    static SPLIT: Cell<bool> = const { Cell::new(false) };
}

/// Whether work of this size is done by several threads: there are several, and it is at least as large as `least`.
pub(crate) fn worth(work: usize, least: usize) -> bool {
    let several = work >= least && rayon::current_num_threads() > 1;
    if several {
        SPLIT.set(true);
    }
    several
}

/// Has every element of `out` written by `each`, which is given the place of a part and the part: all of it at once, or parts of
/// `part` elements by several threads where there are at least two.
#[inline]
pub(crate) fn in_parts<T: Send>(out: &mut [T], part: usize, each: &(dyn Fn(usize, &mut [T]) + Sync)) {
    if worth(out.len(), 2 * part) {
        split(out, part, each);
    } else {
        each(0, out);
    }
}

/// A call is nothing beside a part, and for functions that are known by their address the pool's machinery is compiled once.
#[inline(never)]
fn split<T: Send>(out: &mut [T], part: usize, each: &(dyn Fn(usize, &mut [T]) + Sync)) {
    out.par_chunks_mut(part).enumerate().for_each(|(at, out)| each(at * part, out));
}

/// Whether a kernel on this thread split its work since this was asked last.
pub fn split_any() -> bool {
    SPLIT.take()
}

/// Whether somebody is [`within`].
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Gives the pool back, after a panic too.
struct Taken;

impl Drop for Taken {
    fn drop(&mut self) {
        TAKEN.store(false, Ordering::Release);
    }
}

/// Does `work` on a thread of the pool, so that what its kernels split is handed to threads beside it; where it is, if there
/// is one thread only or somebody else is within. A panic of the work is passed on.
///
/// One at a time: a thread that waits for a part of its work takes up whatever is handed to the pool, and a whole piece of
/// other work on top of its own would keep the first one waiting and its stack growing.
pub fn within<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    if rayon::current_num_threads() == 1 || TAKEN.swap(true, Ordering::Acquire) {
        return work();
    }
    let _taken = Taken;
    rayon::scope(|_| work())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_is_split_is_noted_where_it_was() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
        pool.install(|| {
            assert!(!worth(9, 10) && !split_any());
            assert!(worth(10, 10) && split_any() && !split_any());
        });
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
        one.install(|| assert!(!worth(10, 10) && !split_any()));
    }

    #[test]
    fn one_piece_of_work_is_within_at_a_time_and_a_panic_makes_room() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
        let here = || std::thread::current().id();
        pool.install(|| {
            let inner = within(|| {
                assert!(TAKEN.load(Ordering::Relaxed));
                within(|| TAKEN.load(Ordering::Relaxed) && here() == within(here))
            });
            assert!(inner && !TAKEN.load(Ordering::Relaxed));
            let fails = std::panic::catch_unwind(|| within::<()>(|| panic!("as it should")));
            assert!(fails.is_err() && !TAKEN.load(Ordering::Relaxed));
        });
    }
}
