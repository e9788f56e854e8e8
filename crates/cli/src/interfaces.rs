//! Reads interfaces from models and bundles.

use anyhow::Context as _;
use typeloom_compiler::artifact::Artifact;
use typeloom_interface::Interface;
use typeloom_interface::MAIN;
use typeloom_interface::bundle::{BundleError, Exported, export_interfaces};
use typeloom_interface::exports::{self, Types};
use typeloom_onnx::view::ModelView;
use typeloom_pool::Bundle;
use typeloom_solver::diagnostic::Diagnostic;
use typeloom_solver::model::Checked;

use crate::input::{Checker, Source};

/// The content of a file.
pub(crate) enum Content {
    Interfaces(Interfaces),
    /// A bundle with types that are not interfaces.
    Types(Types),
}

impl Content {
    /// The content for comparisons.
    pub(crate) fn into_exports(self) -> exports::Content {
        match self {
            Self::Interfaces(interfaces) => exports::Content::Interfaces(interfaces.functions),
            Self::Types(types) => exports::Content::Types(types),
        }
    }

    /// The content as a bundle; a bundle is returned as it is.
    pub(crate) fn bundle(&self) -> Result<Bundle, BundleError> {
        match self {
            Self::Interfaces(Interfaces { bundle: Some(bundle), .. }) => Ok(bundle.clone()),
            Self::Interfaces(interfaces) => export_interfaces(&interfaces.functions),
            Self::Types(types) => Ok(types.bundle.clone()),
        }
    }
}

/// Interfaces, the main one first.
pub(crate) struct Interfaces {
    /// The name of the program: of the graph of a model, or the first label of a bundle.
    pub(crate) program: String,
    pub(crate) functions: Vec<Exported>,
    /// The file, if it is a bundle.
    pub(crate) bundle: Option<Bundle>,
}

/// The content of a file, or the diagnostics of a model with errors, which has no interface.
pub(crate) type ReadResult = Result<Content, Vec<Diagnostic>>;

/// Reads a model or a bundle.
pub(crate) fn read(source: &Source, checker: &Checker) -> anyhow::Result<ReadResult> {
    let bytes = source.open()?;
    if Bundle::is_like(&bytes) {
        return match exports::Content::import(&bytes) {
            Ok(exports::Content::Interfaces(functions)) => {
                let program = functions.first().map(|first| first.label.clone()).unwrap_or_default();
                let bundle = Some(Bundle::from_bytes(bytes.to_vec()));
                Ok(Ok(Content::Interfaces(Interfaces { program, functions, bundle })))
            }
            Ok(exports::Content::Types(types)) => Ok(Ok(Content::Types(types))),
            Err(error) => Err(anyhow::Error::new(error).context(format!("cannot read `{}`", source.name))),
        };
    }
    if let Some(content) = recorded(source, &bytes)? {
        return Ok(Ok(content));
    }
    let mut checked = match checker.well_typed(&bytes, checker.check(source, &bytes)?) {
        Ok(checked) => checked,
        Err(diagnostics) => return Ok(Err(diagnostics)),
    };
    of_checked(source, &mut checked).map(Ok)
}

/// The interfaces that a compiled model records; `None` for another model.
pub(crate) fn recorded(source: &Source, bytes: &[u8]) -> anyhow::Result<Option<Content>> {
    let recorded = Artifact::recorded(bytes)
        .with_context(|| format!("cannot read the interface of `{}`", source.name))?;
    Ok(recorded.map(|mut recorded| {
        let program = std::mem::replace(&mut recorded.main.label, MAIN.to_owned());
        let functions = recorded.exports().cloned().collect();
        Content::Interfaces(Interfaces { program, functions, bundle: None })
    }))
}

/// The interface of a checked model.
pub(crate) fn of_checked(source: &Source, checked: &mut Checked<'_>) -> anyhow::Result<Content> {
    let exported = Exported::new(MAIN, Interface::of_checked(checked))
        .with_context(|| format!("cannot describe `{}`", source.name))?;
    let graph = checked.model().and_then(ModelView::graph);
    let program = graph.and_then(|graph| graph.name().ok()).unwrap_or_default().to_owned();
    Ok(Content::Interfaces(Interfaces { program, functions: vec![exported], bundle: None }))
}
