//! Interruption by Ctrl-C and SIGTERM.
//!
//! By default, a signal ends the process at once. That is right if there is nothing to clean up. Otherwise
//! the command calls [`watch`], which starts a thread. Every [`POLL`], the thread checks whether a signal has
//! arrived. If so, it removes the temporary files and ends the process.
//!
//! A command that reports its results after a signal [listens](Interrupt::listen). It has [`GRACE`] to end by
//! itself before the thread ends the process.
//!
//! A command that runs until a signal is watched too. The reason is a shell without job control: it starts
//! background processes with SIGINT ignored, so only SIGTERM would end them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::register;

use crate::exit::Outcome;

/// Time between two checks for a signal.
const POLL: Duration = Duration::from_millis(50);

/// Time in which a listening command can end by itself after a signal.
const GRACE: Duration = Duration::from_millis(500);

/// Whether a signal has arrived; set by the handlers.
static SIGNAL: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Whether the command ends by itself after a signal.
static IS_LISTENING: AtomicBool = AtomicBool::new(false);

/// The files to remove at a signal.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Starts the thread that checks for signals, once. From then on, SIGINT and SIGTERM end the process, even if
/// it was started with these signals ignored.
///
/// If the system does not start the thread, signals keep their previous effect.
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
                // If the system does not accept the handler, the signal keeps its previous effect.
                let _ = register(number, Arc::clone(&signal));
            }
        }
    });
}

/// Removes the temporary files and ends the process.
fn end() -> ! {
    // The list stays locked until the process ends, so no further file is created.
    let files = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner);
    for path in &*files {
        // Other programs write files into a folder, so it is removed with its contents.
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
    signal_hook::low_level::exit(i32::from(Outcome::Interrupted.code()))
}

/// A file or folder that is removed if a signal ends the process while this value exists.
#[derive(Debug)]
pub(crate) struct Removal(PathBuf);

impl Removal {
    /// Creates a file or folder with `make`, which returns its path, and records the path. The thread handles
    /// a signal only after that, because both hold the lock of the list.
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

/// While this value exists, the command ends by itself after a signal.
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
