//! Ends the work on one file at a panic, so that the others are processed, and shows a panic of a command as
//! an error.
//!
//! The hook of the process prints nothing: a panic that is caught, here or in a run of a model, is shown as
//! the error that it becomes.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};

thread_local! {
    /// The place of the last panic of this thread.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Replaces the hook that prints panics. With `RUST_BACKTRACE`, it is called too.
pub(crate) fn install() {
    let previous = std::panic::take_hook();
    let is_traced = std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
    std::panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
        let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        // A thread that ends has no such value any more.
        let _ = PLACE.try_with(|last| last.try_borrow_mut().map(|mut last| *last = place));
        if is_traced {
            previous(info);
        }
    }));
}

/// Does some work. A panic is an error that names `what`.
pub(crate) fn guard<R>(what: &str, work: impl FnOnce() -> anyhow::Result<R>) -> anyhow::Result<R> {
    // The state that a panic leaves is not used: each file has its own, and caches are locked by mutexes that
    // ignore poison.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(error(what, &*panic)))
}

fn error(what: &str, panic: &(dyn Any + Send)) -> anyhow::Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    let place = PLACE.with(RefCell::take);
    anyhow::anyhow!(
        "{what}: internal error: {text}{place}; please report it: {}/issues",
        env!("CARGO_PKG_REPOSITORY")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_of_its_file() {
        let found = guard("m.onnx", || -> anyhow::Result<()> { panic!("this panic is expected") });
        let message = found.map_err(|error| error.to_string()).expect_err("it panics");
        assert!(message.starts_with("m.onnx: internal error: this panic is expected"), "{message}");
        assert_eq!(guard("m.onnx", || Ok(1)).ok(), Some(1));
    }
}
