//! Progress bars.

use std::time::Duration;

use indicatif::{ProgressDrawTarget, ProgressStyle};

pub(crate) use indicatif::ProgressBar;

/// A progress bar on a terminal, shown if a command takes long.
pub(crate) fn progress(length: Option<u64>, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr_with_hz(5));
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}
