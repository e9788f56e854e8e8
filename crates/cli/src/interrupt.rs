//! Interruption by Ctrl-C and SIGTERM.
//!
//! A signal ends a process at once by default, which is right as long as nothing has to be cleaned up. A
//! command that writes a temporary file, or that reports the results before an interruption, is watched: a
//! thread looks for a signal every [`POLL`]. It removes the temporary files and ends the process; a command
//! that [listens](Interrupt::listen) has [`GRACE`] to end by itself before.
//!
//! A command that runs until a signal is watched too: a shell without job control starts processes in the
//! background with SIGINT ignored, and they could be ended by SIGTERM only.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::register;

use crate::exit::Outcome;

/// Time between two questions whether a signal has arrived.
const POLL: Duration = Duration::from_millis(50);

/// Time for a command that listens to end by itself.
const GRACE: Duration = Duration::from_millis(500);

/// Set by a signal.
static SIGNAL: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Whether the command ends by itself after a signal.
static IS_LISTENING: AtomicBool = AtomicBool::new(false);

/// The files to remove at a signal.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Starts the thread that looks for signals: from now on they end the process, even if it was started with
/// signals ignored.
///
/// If the system starts no thread, a signal has the effect that it had before.
pub(crate) fn watch() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let signal = Arc::clone(SIGNAL.get_or_init(Arc::default));
        let started = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let has_arrived = || SIGNAL.get().is_some_and(|signal| signal.load(Ordering::SeqCst));
            while !has_arrived() {
                std::thread::sleep(POLL);
            }
            let start = Instant::now();
            while IS_LISTENING.load(Ordering::SeqCst) && start.elapsed() < GRACE {
                std::thread::sleep(POLL);
            }
            end();
        });
        if started.is_ok() {
            for number in [SIGINT, SIGTERM] {
                // If the system accepts no handler, the signal ends the process as before.
                let _ = register(number, Arc::clone(&signal));
            }
        }
    });
}

/// Removes the temporary files and ends the process.
fn end() -> ! {
    // The list stays locked, so that no further file is made.
    let files = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner);
    for path in &*files {
        // A folder has the files of another program.
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
    signal_hook::low_level::exit(i32::from(Outcome::Interrupted.code()))
}

/// A file or folder that is removed if a signal ends the process while this value exists.
#[derive(Debug)]
pub(crate) struct Removal(PathBuf);

impl Removal {
    /// Makes a file with `make`, which returns its path. Signals wait until it is recorded.
    pub(crate) fn of<T>(make: impl FnOnce() -> std::io::Result<(PathBuf, T)>) -> std::io::Result<(Self, T)> {
        watch();
        let mut files = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner);
        let (path, made) = make()?;
        files.push(path.clone());
        Ok((Self(path), made))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Removal {
    fn drop(&mut self) {
        TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).retain(|path| *path != self.0);
    }
}

/// Listens for signals while it exists.
pub(crate) struct Interrupt(());

impl Interrupt {
    /// Begins to listen.
    pub(crate) fn listen() -> Self {
        IS_LISTENING.store(true, Ordering::SeqCst);
        watch();
        Self(())
    }

    /// Whether a signal has arrived.
    pub(crate) fn has_arrived(&self) -> bool {
        SIGNAL.get().is_some_and(|signal| signal.load(Ordering::SeqCst))
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        IS_LISTENING.store(false, Ordering::SeqCst);
    }
}
