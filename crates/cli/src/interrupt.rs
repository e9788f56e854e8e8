//! Interruption by Ctrl-C and SIGTERM.
//!
//! The first signal sets a flag, which the command asks for between two results. The second one ends the process at once,
//! as does every signal while no command listens. Handlers of signals are global, so they are registered once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

use crate::exit::Outcome;

/// Whether the next signal ends the process.
static IS_LAST: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Listens for signals while it exists.
pub(crate) struct Interrupt {
    flag: Arc<AtomicBool>,
}

impl Interrupt {
    /// Begins to listen.
    pub(crate) fn listen() -> Self {
        let flag = Arc::clone(IS_LAST.get_or_init(|| {
            let flag = Arc::new(AtomicBool::new(true));
            for signal in [SIGINT, SIGTERM] {
                // Actions run in the order of their registration. If the system accepts no handler, the signal ends the
                // process as before.
                let code = i32::from(Outcome::Interrupted.code());
                if register_conditional_shutdown(signal, code, Arc::clone(&flag)).is_ok() {
                    let _ = register(signal, Arc::clone(&flag));
                }
            }
            flag
        }));
        flag.store(false, Ordering::SeqCst);
        Self { flag }
    }

    /// Whether a signal has arrived.
    pub(crate) fn has_arrived(&self) -> bool {
        self.flag.load(Ordering::SeqCst)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.flag.store(true, Ordering::SeqCst);
    }
}
