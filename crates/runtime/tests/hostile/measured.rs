//! The peak memory of calls, and the end of calls that do not return.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Seconds after which a call counts as endless.
const PATIENCE: u64 = 600;

/// Seconds after which a call is shown.
const SLOW: u64 = 2;

type Current = Arc<Mutex<Option<(Instant, String)>>>;

/// Watches calls.
pub(crate) struct Watch(Current);

impl Watch {
    /// Starts the thread that ends the process if a call does not return.
    pub(crate) fn start() -> Self {
        let patience = std::env::var("TYPELOOM_PATIENCE").ok().and_then(|text| text.parse().ok());
        let patience = Duration::from_secs(patience.unwrap_or(PATIENCE));
        let current = Current::default();
        let watched = Arc::downgrade(&current);
        std::thread::spawn(move || {
            while let Some(current) = watched.upgrade() {
                if let Some((since, shown)) = &*current.lock().unwrap_or_else(PoisonError::into_inner)
                    && since.elapsed() > patience
                {
                    show(&format!("does not return: {shown}"));
                    std::process::abort();
                }
                drop(current);
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        Self(current)
    }

    /// Begins a call. Returns the resident memory of the process.
    pub(crate) fn begin(&self, shown: &dyn Fn() -> String) -> Option<u64> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), shown()));
        // Resets the peak to the current size.
        std::fs::write("/proc/self/clear_refs", "5").ok()?;
        status("VmRSS:")
    }

    /// Ends a call. Returns the memory that it took at its peak.
    pub(crate) fn end(&self, before: Option<u64>, shown: &dyn Fn() -> String) -> Option<u64> {
        let call = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if call.is_some_and(|(since, _)| since.elapsed() > Duration::from_secs(SLOW)) {
            show(&format!("is slow: {}", shown()));
        }
        Some(status("VmHWM:")?.saturating_sub(before?))
    }
}

/// An entry of the status of the process, in bytes.
fn status(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let number = status.lines().find_map(|line| line.strip_prefix(key))?.split_whitespace().next()?;
    number.parse::<u64>().ok().map(|kib| kib << 10)
}

#[expect(clippy::print_stderr, reason = "shows the call")]
pub(crate) fn show(shown: &str) {
    eprintln!("{}", shown.chars().take(700).collect::<String>());
}
