//! Reads interfaces from models and bundles.

use anyhow::Context as _;
use typeloom_interface::Interface;
use typeloom_interface::MAIN;
use typeloom_interface::bundle::{BundleError, Exported};
use typeloom_pool::Bundle;
use typeloom_solver::diagnostic::Diagnostic;

use crate::input::{Checker, Source};

/// The content of a file.
pub(crate) enum Content {
    Interfaces(Vec<Exported>),
    /// A bundle with types that are not interfaces.
    Types(Vec<u8>),
}

/// The content of a file, or the diagnostics of a model with errors, which has no interface.
pub(crate) type ReadResult = Result<Content, Vec<Diagnostic>>;

/// Reads a model or a bundle.
pub(crate) fn read(source: &Source, checker: &Checker) -> anyhow::Result<ReadResult> {
    let bytes = source.open()?;
    if Bundle::is_like(&bytes) {
        return match typeloom_interface::bundle::import_interfaces(&bytes) {
            Ok(interfaces) => Ok(Ok(Content::Interfaces(interfaces))),
            Err(BundleError::NotAnInterface { .. }) => Ok(Ok(Content::Types(bytes.to_vec()))),
            Err(error) => Err(anyhow::Error::new(error).context(format!("cannot read `{}`", source.name))),
        };
    }
    if let Some(interfaces) = typeloom_compiler::artifact::interfaces(&bytes)
        .with_context(|| format!("cannot read the interface of `{}`", source.name))?
    {
        return Ok(Ok(Content::Interfaces(interfaces)));
    }
    let mut checked = match checker.well_typed(&bytes, checker.check(source, &bytes)?) {
        Ok(checked) => checked,
        Err(diagnostics) => return Ok(Err(diagnostics)),
    };
    let exported = Exported::new(MAIN, Interface::of_checked(&mut checked))
        .with_context(|| format!("cannot describe `{}`", source.name))?;
    Ok(Ok(Content::Interfaces(vec![exported])))
}
