//! For programs that embed the runtime: a clock, a persistent journal, the end of a run by another thread.
//!
//! The runtime itself reads no clock and writes no file; see [`wire`](super::wire) for the interfaces that
//! it uses.

mod journal;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A journal in a file of the embedded store `redb`.
///
/// An entry is durable when the call that writes it returns. A file with an error is reported and not
/// changed, and a file is compacted when it is four times as large as its entries.
///
/// ```
/// use typeloom::run::host::{Durability, FileJournal, OpenJournalError};
/// use typeloom::run::wire::{Change, Journal as _};
///
/// let path = std::env::temp_dir().join(format!("typeloom-example-{}", std::process::id()));
/// let mut journal = FileJournal::open(&path, Durability::Process)?;
/// journal.write(&[Change { key: b"key".to_vec(), value: Some("value".into()) }])?;
/// let second = FileJournal::open(&path, Durability::Machine);
/// assert!(matches!(second, Err(OpenJournalError::InUse { .. })));
/// drop((journal, second));
///
/// let journal = FileJournal::open(&path, Durability::Process)?;
/// assert_eq!(journal.read(b"key")?.as_deref(), Some(&b"value"[..]));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub use journal::FileJournal;
/// [`FileJournal`] has an example.
pub use journal::{Durability, OpenJournalError};
/// Ends runs of a session from another thread, see
/// [`Session::with_interrupt`](super::Session::with_interrupt).
///
/// ```
/// use typeloom::run::host::Interrupt;
///
/// let interrupt = Interrupt::default();
/// let clone = interrupt.clone();
/// std::thread::spawn(move || clone.trigger()).join().expect("the thread does not panic");
/// assert!(interrupt.is_triggered());
/// ```
#[doc(inline)]
pub use typeloom_runtime::options::Interrupt;
use typeloom_wire::clock::Clock;

/// The machine's clock.
///
/// ```
/// use typeloom::run::host::SystemClock;
/// use typeloom::run::wire::Clock as _;
///
/// let clock = SystemClock::new();
/// assert!(clock.now() <= clock.now());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SystemClock(Instant);

impl SystemClock {
    /// Creates a clock that starts at zero now.
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

/// Returns an incarnation number for a peer: nanoseconds since 1970. It is greater than earlier ones as long
/// as the machine's clock does not go back.
///
/// ```
/// assert!(typeloom::run::host::incarnation() > 0);
/// ```
#[must_use]
pub fn incarnation() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
