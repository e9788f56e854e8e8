//! Error codes, and the text of the last error of each thread.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a call. The text of an error is returned by typeloom_last_error.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// The call succeeded.
    Ok = 0,
    /// A required pointer is null.
    NullPointer = 1,
    /// A handle is 0, was freed, was never returned, or is of the other kind.
    BadHandle = 2,
    /// The index of a port or of a result is too large.
    BadIndex = 3,
    /// Another argument is not usable: a misaligned pointer, a count that is out of range, text that is not
    /// UTF-8.
    BadArgument = 4,
    /// A value is inconsistent: its length, element type, shape or wire hash do not agree.
    BadValue = 5,
    /// A value is not of the type of its port, or a required input is missing.
    WrongType = 6,
    /// A file cannot be read.
    File = 7,
    /// The bytes are not a model or an artifact.
    Malformed = 8,
    /// The program has type errors, or its interface or a stamp of a node is not the recorded one.
    IllTyped = 9,
    /// A slot of the program needs a component that the C interface does not provide.
    Component = 10,
    /// The run failed.
    Run = 11,
    /// The value has no representation in C, for example a sequence.
    Unsupported = 12,
    /// The library panicked. The handles stay valid.
    Panic = 13,
}

/// An error of a call: its code and its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Error {
    pub status: Status,
    pub text: String,
}

impl Error {
    pub fn new(status: Status, text: impl ToString) -> Self {
        Self { status, text: text.to_string() }
    }

    /// The same error with the input that it concerns.
    pub(crate) fn at(self, input: &CStr) -> Self {
        Self { text: format!("input `{}`: {}", input.to_string_lossy(), self.text), ..self }
    }
}

/// The result of a function behind the interface.
pub type Result<T> = std::result::Result<T, Error>;

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs the body of an exported function: an error or a panic becomes a code, and its text is recorded.
pub(crate) fn guard(body: impl FnOnce() -> Result<()>) -> Status {
    let error = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return Status::Ok,
        Ok(Err(error)) => error,
        Err(panic) => Error::new(Status::Panic, panic_text(&*panic)),
    };
    record(&error.text);
    error.status
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("internal error: {}", text.unwrap_or("unknown panic"))
}

fn record(text: &str) {
    // Text of a model can contain NUL, at which C would end it.
    let text = CString::new(text.replace('\0', "\\0")).unwrap_or_default();
    // The thread ends if its storage is gone; then no caller reads the text.
    let _ = LAST.try_with(|last| *last.borrow_mut() = text);
}

/// The text of the last error of this thread; it is valid until the next error of the thread.
pub(crate) fn last() -> *const c_char {
    const EMPTY: &CStr = c"";
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(EMPTY.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_code_with_its_message() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let status = guard(|| panic!("index {}", 7));
        std::panic::set_hook(hook);
        assert_eq!(status, Status::Panic);
        let text = LAST.with(|last| last.borrow().clone());
        assert_eq!(text.to_str(), Ok("internal error: index 7"));
    }

    #[test]
    fn a_text_with_nul_is_kept_whole() {
        assert_eq!(guard(|| Err(Error::new(Status::Run, "a\0b"))), Status::Run);
        assert_eq!(LAST.with(|last| last.borrow().to_str().map(str::to_owned)), Ok("a\\0b".to_owned()));
        // A success keeps the text.
        assert_eq!(guard(|| Ok(())), Status::Ok);
        assert_eq!(LAST.with(|last| last.borrow().as_bytes().len()), 4);
    }
}
