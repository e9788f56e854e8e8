//! Progress bars, in a build without the feature `terminal`: none is shown.

/// A progress bar that is never shown, with the methods that commands call.
#[derive(Clone, Debug)]
pub(crate) struct ProgressBar;

impl ProgressBar {
    pub(crate) fn hidden() -> Self {
        Self
    }

    pub(crate) fn is_hidden(&self) -> bool {
        true
    }

    pub(crate) fn suspend<T>(&self, work: impl FnOnce() -> T) -> T {
        work()
    }

    pub(crate) fn set_message(&self, _: String) {}

    pub(crate) fn inc(&self, _: u64) {}

    pub(crate) fn finish_and_clear(&self) {}
}

/// A hidden bar.
pub(crate) fn progress(_: Option<u64>, _: &str) -> ProgressBar {
    ProgressBar
}
