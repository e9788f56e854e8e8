//! The command in continuous integration: severities, settings files, baselines, exceptions, reports.

mod adoption;
mod baselines;
mod diff;
mod exceptions;
mod inputs;
#[cfg(unix)]
mod interruption;
mod jobs;
mod registry;
mod repairs;
mod reports;
pub(crate) mod schemas;
mod settings;
pub(crate) mod support;
mod targets;
