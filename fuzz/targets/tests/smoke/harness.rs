//! Runs inputs on a thread with a small stack and a time limit.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Fits the large frames of a debug build, but not recursion over the depth of an input.
const STACK: usize = 1 << 20;

/// Time limit for one input. It detects endless loops only: the slowest input takes about five seconds in a
/// debug build on an idle core, and the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(600);

/// Maximum resident memory of the whole test binary, in KiB.
const MAX_RESIDENT: u64 = 600 << 10;

/// Maximum address space, in KiB, including memory that is reserved but not touched.
const MAX_RESERVED: u64 = 4 << 20;

/// Runs `target` on every input. Fails with the input if it panics or does not return. A stack overflow
/// aborts the process; the runtime then prints the thread name, which identifies the case.
pub(crate) fn survive(name: &str, inputs: &[Vec<u8>], target: fn(&[u8])) {
    let (done, finished) = channel();
    let own = inputs.to_vec();
    let thread = std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(STACK)
        .spawn(move || {
            for input in &own {
                target(input);
                if done.send(()).is_err() {
                    return;
                }
            }
        })
        .expect("a thread can be started");
    for (index, input) in inputs.iter().enumerate() {
        match finished.recv_timeout(PATIENCE) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => {
                panic!("{name}, input {index} does not return: {}", show(input))
            }
            Err(RecvTimeoutError::Disconnected) => panic!("{name}, input {index} panics: {}", show(input)),
        }
    }
    thread.join().expect("every input returned");
}

/// The input as text or in hexadecimal, truncated.
fn show(input: &[u8]) -> String {
    match std::str::from_utf8(input) {
        Ok(text) if !text.contains('\0') => text.chars().take(4000).collect(),
        _ => input.iter().take(4000).map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// Asserts that the peak memory of the process stays below the limits. Linux only; other systems rely on the
/// allocator's limits.
pub(crate) fn memory_is_bounded() {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
    for (key, most) in [("VmHWM:", MAX_RESIDENT), ("VmPeak:", MAX_RESERVED)] {
        let used = status.lines().find_map(|line| line.strip_prefix(key)).and_then(|rest| {
            let number: Option<u64> = rest.split_whitespace().next()?.parse().ok();
            number
        });
        if let Some(used) = used {
            assert!(used <= most, "{key} {used} KiB");
        }
    }
}
