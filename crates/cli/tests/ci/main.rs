//! The command in continuous integration: severities, settings files, baselines, exceptions, reports.

mod adoption;
mod baselines;
mod diff;
mod exceptions;
mod reports;
mod schemas;
mod settings;
mod support;
