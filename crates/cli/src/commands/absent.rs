//! Commands that this build does not have: each names the feature that it needs.
//!
//! A build without default features has the commands that check, explain and repair models. It compiles in a
//! fraction of the time.

/// Declares a module with the function of a command.
macro_rules! absent {
    ($($feature:literal: $module:ident, $function:ident($($argument:ty),*);)*) => {$(
        #[cfg(not(feature = $feature))]
        pub(crate) mod $module {
            use super::{Outcome, error};
            use crate::args;

            pub(crate) fn $function($(_: $argument),*) -> anyhow::Result<Outcome> {
                Err(error(concat!("`", stringify!($module), "`"), $feature))
            }
        }
    )*};
}

use crate::exit::Outcome;

absent! {
    "compile": compile, run(&args::CompileArgs);
    "interfaces": describe, run(&args::DescribeArgs);
    "interfaces": diff, run(&args::DiffArgs);
    "interfaces": link, run(&args::LinkArgs);
    "registry": registry, run(&args::RegistryArgs);
    "run": run, start(&args::RunArgs, &[std::ffi::OsString]);
    "rust": rust, run(&args::RustArgs);
    "shell": completions, run(&args::CompletionsArgs);
    "shell": man, run(&args::ManArgs);
    "view": view, run(&args::ViewArgs);
}

/// The error of a command or an option that needs a feature.
pub(crate) fn error(what: &str, feature: &str) -> anyhow::Error {
    anyhow::anyhow!("this build of typeloom has no {what}: it was compiled without the feature `{feature}`")
}
