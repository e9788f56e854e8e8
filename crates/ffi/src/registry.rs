//! Handles: numbers that C code has instead of pointers.
//!
//! **Invariant:** a number is never used twice, so a call with a freed handle is detected.
//!
//! Entries are shared: an entry that one thread frees during a call of another lives until that call ends.
//! The lock is held during lookups only.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::program::Program;
use crate::status::{Error, Result, Status};
use crate::value::Results;

/// The object that a handle denotes.
enum Entry {
    Program(Arc<Program>),
    Results(Arc<Results>),
}

impl Entry {
    fn kind(&self) -> &'static str {
        match self {
            Self::Program(_) => "program",
            Self::Results(_) => "result",
        }
    }
}

struct Registry {
    /// The last number that was used.
    last: u64,
    entries: BTreeMap<u64, Entry>,
}

fn registry() -> MutexGuard<'static, Registry> {
    static REGISTRY: Mutex<Registry> = Mutex::new(Registry { last: 0, entries: BTreeMap::new() });
    // An insertion or a removal leaves the map usable even if the drop of an entry panics.
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

fn insert(entry: Entry) -> u64 {
    let mut registry = registry();
    registry.last += 1;
    let handle = registry.last;
    registry.entries.insert(handle, entry);
    handle
}

/// The error of a handle that does not denote an object of the kind `asked`.
fn bad(registry: &Registry, handle: u64, asked: &str) -> Error {
    let reason = match registry.entries.get(&handle) {
        Some(entry) => format!("handle {handle} is a {}, not a {asked}", entry.kind()),
        None if handle == 0 => format!("handle 0 is not a {asked}"),
        None if handle <= registry.last => format!("the {asked} of handle {handle} was freed"),
        None => format!("handle {handle} was never returned"),
    };
    Error::new(Status::BadHandle, reason)
}

pub(crate) fn insert_program(program: Program) -> u64 {
    insert(Entry::Program(Arc::new(program)))
}

pub(crate) fn insert_results(results: Results) -> u64 {
    insert(Entry::Results(Arc::new(results)))
}

pub(crate) fn program(handle: u64) -> Result<Arc<Program>> {
    let registry = registry();
    match registry.entries.get(&handle) {
        Some(Entry::Program(program)) => Ok(Arc::clone(program)),
        Some(Entry::Results(_)) | None => Err(bad(&registry, handle, "program")),
    }
}

pub(crate) fn results(handle: u64) -> Result<Arc<Results>> {
    let registry = registry();
    match registry.entries.get(&handle) {
        Some(Entry::Results(results)) => Ok(Arc::clone(results)),
        Some(Entry::Program(_)) | None => Err(bad(&registry, handle, "result")),
    }
}

pub(crate) fn free_program(handle: u64) -> Result<()> {
    program(handle)?;
    remove(handle, "program")
}

pub(crate) fn free_results(handle: u64) -> Result<()> {
    results(handle)?;
    remove(handle, "result")
}

/// Removes an entry. It is dropped without the lock, because the drop of a program can be long.
fn remove(handle: u64, asked: &str) -> Result<()> {
    let mut registry = registry();
    let Some(entry) = registry.entries.remove(&handle) else {
        // Another thread freed it after the lookup.
        return Err(bad(&registry, handle, asked));
    };
    drop(registry);
    drop(entry);
    Ok(())
}

/// The number of handles that are not freed.
pub(crate) fn live() -> usize {
    registry().entries.len()
}

#[cfg(test)]
mod tests {
    use typeloom_project::file::File;

    use super::*;

    fn loaded() -> u64 {
        let text = r#"<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Relu(x) }"#;
        let model = typeloom::onnx::model_from_text(text).expect("the text is a model");
        insert_program(Program::load(&File::of_bytes("<model>", model)).expect("the model is well typed"))
    }

    #[test]
    fn of_several_threads_one_frees_a_program() {
        for _ in 0..20 {
            let handle = loaded();
            let freed = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| free_program(handle))).collect();
                threads.into_iter().filter_map(|thread| thread.join().ok()?.ok()).count()
            });
            assert_eq!(freed, 1);
            let error = free_program(handle).expect_err("the program is freed");
            assert_eq!(error.text, format!("the program of handle {handle} was freed"));
        }
    }

    #[test]
    fn a_program_in_use_outlives_its_handle() {
        let handle = loaded();
        let program = program(handle).expect("the program is loaded");
        assert_eq!(free_program(handle), Ok(()));
        assert_eq!(program.inputs.len(), 1);
    }

    #[test]
    fn a_number_is_not_used_again() {
        let first = loaded();
        assert_eq!(free_program(first), Ok(()));
        let second = loaded();
        assert!(second > first);
        assert!(program(first).is_err() && results(second).is_err());
        assert_eq!(free_program(second), Ok(()));
    }
}
