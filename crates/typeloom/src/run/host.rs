//! What programs that embed the runtime give it of the world outside: time, and memory across restarts.
//!
//! The runtime itself reads no clock and writes no file; see [`wire`](typeloom_wire) for what it does with these.

mod journal;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use journal::{Durability, FileJournal, OpenJournalError};
use typeloom_wire::clock::Clock;

/// The machine's clock.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock(Instant);

impl SystemClock {
    /// A clock that begins now.
    #[must_use]
    pub fn new() -> Self {
        Self(Instant::now())
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// A number for this life of a peer, greater than those of earlier ones as long as the machine's date does not go back:
/// nanoseconds since 1970.
#[must_use]
pub fn incarnation() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
