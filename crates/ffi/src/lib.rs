//! The C interface of typeloom: loads models and artifacts, lists their ports, runs them, and returns their
//! outputs.
//!
//! `typeloom describe --as c-abi` prints the header for C and C++ programs; `docs/c-abi.md` is the manual. The crate is
//! built as a dynamic and as a static library.
//!
//! | module | content |
//! |---|---|
//! | [`abi`] | the exported functions; the only unsafe code |
//! | [`layout`] | the structures of the interface |
//! | [`status`] | error codes and texts |
//! | `program` | loading, ports, runs |
//! | `value` | conversion of values |
//! | `registry` | handles |
//!
//! Programs and results are referred to by numbers, which are never used twice: a freed or invalid handle is
//! an error, as are null and misaligned pointers, invalid indices, and values that do not agree with their
//! types. A panic is an error too. `tools/c_header` generates the declarations of the header from this crate,
//! and the CI compares them.
//!
//! A Rust program that links components of its own passes the program to its C code as a handle:
//!
//! ```
//! use typeloom::module::{Compiler, Graph, Module, OperatorMethods as _};
//! use typeloom::run::{Components, Executor};
//!
//! struct Twice;
//!
//! impl Module for Twice {
//!     fn name(&self) -> &str {
//!         "twice"
//!     }
//!
//!     fn body(&self, g: &mut Graph) {
//!         let x = g.input("x").of("float[N]");
//!         g.output("y", &x.add(&x));
//!     }
//! }
//!
//! let executor = Executor::new(&Compiler::new().compile(Twice)?, &Components::new())?;
//! let handle = typeloom_ffi::share(executor);
//! assert_ne!(handle, 0);
//! assert_eq!(typeloom_ffi::abi::typeloom_program_free(handle), typeloom_ffi::status::Status::Ok);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Limits: a program with sends is not run, because it needs a transport. Tensors in other files are not
//! read. Sequences and optionals have no representation in C.

pub mod abi;
pub mod layout;
mod program;
mod registry;
pub mod status;
mod value;

use typeloom::run::Executor;

/// The handle of a linked program. C code frees it by `typeloom_program_free`. Its digest is empty.
#[must_use]
pub fn share(executor: Executor) -> abi::ProgramHandle {
    registry::insert_program(program::Program::executor(executor))
}
