//! The engine of the pages of `typeloom view`, as functions of a WebAssembly module.
//!
//! The page and the module exchange bytes in one buffer:
//!
//! 1. `page_reserve(size)` returns the address of a buffer of this size. The page writes its bytes there.
//! 2. `page_open()` takes the buffer as a scene; `page_answer()` takes it as a request in JSON. The buffer
//!    then contains the answer.
//! 3. `page_address()` and `page_length()` are the answer's position in the memory of the module.
//!
//! **Invariant:** no function reads memory through an address. Rust sees the buffer as a vector, and the page
//! writes only inside of it, between two calls: a WebAssembly module without threads runs nothing at that
//! time.
//!
//! **Limit:** one scene for each instance of the module.
//!
//! Only `tools/page/build.py` compiles this file.
#![expect(
    unsafe_code,
    reason = "names of exported functions are attributes that can collide, hence the prefix `page_`"
)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::session::Session;

static SESSION: Mutex<Session> = Mutex::new(Session::new());

fn session() -> MutexGuard<'static, Session> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Empties the buffer and gives it a size. Returns its address, or null if there is not enough memory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_reserve(size: usize) -> *mut u8 {
    session().reserve(size).map_or(std::ptr::null_mut(), <[u8]>::as_mut_ptr)
}

/// Decodes the scene in the buffer. Returns 1, or 0 with an error message in the buffer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_open() -> u32 {
    u32::from(session().open())
}

/// Answers the request in the buffer. Returns the length of the answer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_answer() -> usize {
    session().answer()
}

/// The address of the answer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_address() -> *const u8 {
    session().buffer().as_ptr()
}

/// The length of the answer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn page_length() -> usize {
    session().buffer().len()
}
