//! Runs inputs on a thread with a small stack, and waits only so long.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// A debug build's frames are large; recursion over the depth of an input still does not fit.
const STACK: usize = 1 << 20;

/// For one input in a debug build on a busy machine: what takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most resident memory of the whole test binary, in KiB.
const MAX_RESIDENT: u64 = 600 << 10;

/// The most address space, in KiB: memory that is asked for and never touched.
const MAX_RESERVED: u64 = 4 << 20;

/// Runs `target` on every input and fails, with the input, where it panics or does not return. (A stack overflow
/// aborts the process; the thread's name, which the runtime prints, then says which case it was.)
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

/// The input as text or in hexadecimal, cut off.
fn show(input: &[u8]) -> String {
    match std::str::from_utf8(input) {
        Ok(text) if !text.contains('\0') => text.chars().take(4000).collect(),
        _ => input.iter().take(4000).map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// The process has at no time used more memory than a few small models need. Knows only Linux; elsewhere the
/// allocator's own limits have to do.
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
