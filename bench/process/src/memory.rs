//! Memory of this process, as Linux reports it.

use std::fs;

/// Resets the peak and returns the present memory in bytes. If the system does not allow it, the peak covers
/// the lifetime of the process.
pub fn reset_peak() -> u64 {
    let _ = fs::write("/proc/self/clear_refs", "5");
    status("VmRSS")
}

/// The peak of resident memory in bytes; 0 if the system does not report it.
#[must_use]
pub fn peak() -> u64 {
    status("VmHWM")
}

fn status(key: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}
