//! Time, as whoever embeds the runtime gives it.

use core::time::Duration;

/// Tells and passes time. Deadlines are reckoned by it; a test passes time itself.
///
/// **Law:** [`now`](Clock::now) never falls, and has risen by at least `time` when [`sleep`](Clock::sleep) returns.
pub trait Clock: Send + Sync {
    /// The time since some moment that stays the same while the program runs.
    fn now(&self) -> Duration;

    /// Lets time pass.
    fn sleep(&self, time: Duration);
}
