//! Clock interface, implemented by the embedder.

use core::time::Duration;

/// Monotonic clock for deadlines. Tests implement it with simulated time.
///
/// **Law:** [`now`](Clock::now) never decreases, and has increased by at least `time` when
/// [`sleep`](Clock::sleep) returns.
pub trait Clock: Send + Sync {
    /// Time since a fixed origin, which does not change while the program runs.
    fn now(&self) -> Duration;

    /// Blocks for `time`.
    fn sleep(&self, time: Duration);
}
