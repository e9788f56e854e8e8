//! Work on several threads, with results in the order of the items.
//!
//! [`Pool::submit`] passes an item to the threads, [`Pool::next`] returns the result of the oldest one. The
//! number of items between the two is bounded, so that the memory for results does not grow with the number
//! of items: a caller submits items until the pool [is full](Pool::is_full).
//!
//! **Invariant:** the results and their order do not depend on the number of threads.
//!
//! **Invariant:** a panic of the work is a panic of [`Pool::next`], after the results of the items before.
//!
//! The threads own what they use. A pool that is dropped does not wait for them.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// The number of items for each thread that are submitted and whose results were not returned.
const WINDOW: usize = 8;

/// Stack of a thread, in bytes: that of a main thread on Linux.
const STACK: usize = 8 << 20;

/// Threads that work on items.
pub(crate) struct Pool<T, R> {
    /// Each item with the channel of its result. A thread that panics drops the channel.
    items: Sender<(T, SyncSender<R>)>,
    /// The results that were not returned, the oldest first.
    pending: VecDeque<Receiver<R>>,
    window: usize,
}

/// The answer of [`Pool::next`].
pub(crate) enum Next<R> {
    /// The result of the oldest item.
    Result(R),
    /// The result has not arrived in time.
    Waiting,
    /// Every submitted item has its result.
    Done,
}

impl<T: Send + 'static, R: Send + 'static> Pool<T, R> {
    /// Starts threads that do this work.
    pub(crate) fn start(
        jobs: NonZeroUsize,
        work: impl Fn(T) -> R + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let (items, receiver) = channel::<(T, SyncSender<R>)>();
        let (receiver, work) = (Arc::new(Mutex::new(receiver)), Arc::new(work));
        for _ in 0..jobs.get() {
            let (receiver, work) = (Arc::clone(&receiver), Arc::clone(&work));
            let run = move || {
                loop {
                    let item = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((item, result)) = item else { return };
                    if result.send(work(item)).is_err() {
                        // The pool was dropped.
                        return;
                    }
                }
            };
            Builder::new().name("check".to_owned()).stack_size(STACK).spawn(run)?;
        }
        let window = jobs.get().saturating_mul(WINDOW);
        Ok(Self { items, pending: VecDeque::new(), window })
    }

    /// Whether a result has to be taken before the next item is submitted.
    pub(crate) fn is_full(&self) -> bool {
        self.pending.len() >= self.window
    }

    /// Passes an item to the threads.
    pub(crate) fn submit(&mut self, item: T) {
        let (sender, receiver) = sync_channel(1);
        self.pending.push_back(receiver);
        // If all threads have panicked, the sender is dropped here, and `next` panics too.
        let _ = self.items.send((item, sender));
    }

    /// The result of the oldest item, if it arrives within this time.
    pub(crate) fn next(&mut self, patience: Duration) -> Next<R> {
        let Some(oldest) = self.pending.front() else { return Next::Done };
        match oldest.recv_timeout(patience) {
            Ok(result) => {
                self.pending.pop_front();
                Next::Result(result)
            }
            Err(RecvTimeoutError::Disconnected) => continue_panic(),
            Err(RecvTimeoutError::Timeout) => Next::Waiting,
        }
    }
}

/// Panics without a message, because the thread has written one.
fn continue_panic() -> ! {
    std::panic::resume_unwind(Box::new("the work on an item panicked"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bound for tests that fail by waiting.
    const BOUND: Duration = Duration::from_secs(60);

    fn jobs(number: usize) -> NonZeroUsize {
        NonZeroUsize::new(number).unwrap_or(NonZeroUsize::MIN)
    }

    /// The results for the items, submitted as the pool allows.
    fn all<R: Send + 'static>(
        items: std::ops::Range<usize>,
        threads: usize,
        work: impl Fn(usize) -> R + Send + Sync + 'static,
    ) -> Vec<R> {
        let mut pool = Pool::start(jobs(threads), work).expect("threads start");
        let mut items = items.peekable();
        let mut results = Vec::new();
        loop {
            while let Some(item) = items.next_if(|_| !pool.is_full()) {
                pool.submit(item);
            }
            match pool.next(BOUND) {
                Next::Result(result) => results.push(result),
                Next::Waiting => panic!("a result is missing"),
                Next::Done => return results,
            }
        }
    }

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let (sender, receiver) = channel::<()>();
        let receiver = Mutex::new(receiver);
        // The first item ends after the last one of the window.
        let work = move |at: usize| {
            match at {
                0 => drop(receiver.lock().expect("no panic").recv()),
                at if at == WINDOW => sender.send(()).expect("the first item waits"),
                _ => {}
            }
            at * at
        };
        let expected: Vec<usize> = (0..1000).map(|at| at * at).collect();
        assert_eq!(all(0..1000, 2, work), expected);
        assert_eq!(all(0..1000, 1, |at| at * at), expected);
    }

    #[test]
    fn the_number_of_pending_items_is_bounded() {
        let mut pool = Pool::start(jobs(3), |at: usize| at).expect("threads start");
        let mut submitted = 0;
        while !pool.is_full() {
            pool.submit(submitted);
            submitted += 1;
        }
        assert_eq!(submitted, 3 * WINDOW);
        assert!(matches!(pool.next(BOUND), Next::Result(0)));
        assert!(!pool.is_full());
    }

    #[test]
    fn a_panic_of_the_work_is_one_of_the_caller_after_the_results_before() {
        let mut pool = Pool::start(jobs(1), |at: usize| assert_ne!(at, 1, "this panic is expected"))
            .expect("threads start");
        for item in 0..3 {
            pool.submit(item);
        }
        assert!(matches!(pool.next(BOUND), Next::Result(())));
        let next = std::panic::AssertUnwindSafe(|| matches!(pool.next(BOUND), Next::Waiting));
        assert!(std::panic::catch_unwind(next).is_err());
    }

    #[test]
    fn a_result_that_is_late_is_waited_for_in_steps() {
        let (sender, receiver) = channel::<()>();
        let receiver = Mutex::new(receiver);
        let wait = move |()| receiver.lock().expect("no panic").recv().is_ok();
        let mut pool = Pool::start(jobs(1), wait).expect("the thread starts");
        pool.submit(());
        assert!(matches!(pool.next(Duration::ZERO), Next::Waiting));
        sender.send(()).expect("the thread waits");
        assert!(matches!(pool.next(BOUND), Next::Result(true)));
        assert!(matches!(pool.next(BOUND), Next::Done));
    }
}
