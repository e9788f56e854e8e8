//! Long calls that Ctrl-C can end.
//!
//! Python handles signals on its main thread between two bytecodes, so a call into Rust delays them.
//! [`interruptible`] moves long work to a thread of its own and asks for signals while it waits. An
//! interrupted call raises `KeyboardInterrupt` at once; its thread finishes in the background, because it
//! owns all that it uses. Work without a bound stops on request, see [`interruptible_by`].

use std::cell::RefCell;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::core_error;

/// Models below this size, in bytes, are handled on the thread of the caller: starting a thread takes longer.
const INLINE: usize = 64 << 10;

/// Time between two questions for signals.
const POLL: Duration = Duration::from_millis(20);

/// Stack of the thread, in bytes: that of a main thread on Linux.
const STACK: usize = 8 << 20;

thread_local! {
    /// The exception that ends the current call.
    static PENDING: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Ends the current call with an exception, after the work on this thread has returned.
pub(crate) fn raise_later(exception: PyErr) {
    PENDING.set(Some(exception));
}

/// Whether an exception ends the current call: no more Python code is called.
pub(crate) fn is_ending() -> bool {
    PENDING.with_borrow(Option::is_some)
}

/// Runs work on this thread; an exception for later is its result.
pub(crate) fn run<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    PENDING.take();
    let result = work();
    PENDING.take().map_or(Ok(result), Err)
}

/// Runs work without the interpreter. `size` is the number of bytes that the work is about.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    size: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    if size < INLINE { py.detach(|| run(work)) } else { interruptible_by(py, || (), work) }
}

/// Runs work of any length without the interpreter; calls `stop` if an exception ends the call.
pub(crate) fn interruptible_by<T: Send + 'static>(
    py: Python<'_>,
    stop: impl FnOnce(),
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    if !is_main_thread(py)? {
        return py.detach(|| run(work));
    }
    let (sender, mut receiver) = sync_channel(1);
    let run = move || drop(sender.send(run(work)));
    let thread =
        Builder::new().name("typeloom".to_owned()).stack_size(STACK).spawn(run).map_err(core_error)?;
    loop {
        let answer;
        // The closure is sent across the release of the interpreter, and a receiver cannot be shared.
        (answer, receiver) = py.detach(move || (receiver.recv_timeout(POLL), receiver));
        match answer {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) => {
                if let Err(exception) = py.check_signals() {
                    stop();
                    return Err(exception);
                }
            }
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return Err(core_error("the thread of the call ended without a result")),
            },
        }
    }
}

/// Whether this is the thread that handles signals.
fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    threading.call_method0("current_thread")?.eq(threading.call_method0("main_thread")?)
}
