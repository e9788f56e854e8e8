//! The interfaces in a file: of a model, or those in a bundle.

use anyhow::Context as _;
use typeloom::compiler::interface::MAIN;
use typeloom::pool::Bundle;
use typeloom::solver::diagnostic::{Diagnostic, diagnose, diagnose_error};
use typeloom::{Exported, Interface};

use crate::input::{Solve, Source};

/// What is in a file.
pub(crate) enum Found {
    Interfaces(Vec<Exported>),
    /// A model that is wrong somewhere has no interface.
    Problems(Vec<Diagnostic>),
}

/// Reads a model or a bundle.
pub(crate) fn read(source: &Source, solve: &Solve) -> anyhow::Result<Found> {
    let bytes = source.open()?;
    if Bundle::is_like(&bytes) {
        let interfaces =
            typeloom::import_interfaces(&bytes).with_context(|| format!("cannot read `{}`", source.name))?;
        return Ok(Found::Interfaces(interfaces));
    }
    if let Some(interfaces) = typeloom::artifact_interfaces(&bytes)
        .with_context(|| format!("cannot read the interface of `{}`", source.name))?
    {
        return Ok(Found::Interfaces(interfaces));
    }
    let mut checked = match solve.check(&bytes) {
        Ok(checked) => checked,
        Err(error) => match diagnose_error(&error) {
            Some(diagnostic) => return Ok(Found::Problems(vec![diagnostic])),
            None => return Err(anyhow::Error::new(error).context(format!("cannot check `{}`", source.name))),
        },
    };
    if !checked.is_ok() {
        return Ok(Found::Problems(diagnose(&mut checked)));
    }
    let exported = Exported::new(MAIN, Interface::of_checked(&mut checked))
        .with_context(|| format!("cannot describe `{}`", source.name))?;
    Ok(Found::Interfaces(vec![exported]))
}
