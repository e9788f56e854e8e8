//! Reads interfaces from models, bundles and contracts for serving.

use anyhow::Context as _;
use typeloom_interface::Interface;
use typeloom_interface::MAIN;
use typeloom_interface::bundle::{BundleError, Exported};
use typeloom_interface::exports::{self, Types};
use typeloom_interface::recorded::Recorded;
use typeloom_onnx::view::ModelView;
use typeloom_pool::Bundle;
use typeloom_serving::Contract;
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
    #[cfg(feature = "registry")]
    pub(crate) fn bundle(&self) -> Result<Bundle, BundleError> {
        match self {
            Self::Interfaces(Interfaces { origin: Origin::Bundle(bundle), .. }) => Ok(bundle.clone()),
            Self::Interfaces(interfaces) => {
                typeloom_interface::bundle::export_interfaces(&interfaces.functions)
            }
            Self::Types(types) => Ok(types.bundle.clone()),
        }
    }
}

/// Interfaces, the main one first.
pub(crate) struct Interfaces {
    /// The name of the program: of the graph of a model, or the first label of a bundle.
    pub(crate) program: String,
    pub(crate) functions: Vec<Exported>,
    pub(crate) origin: Origin,
}

/// The file of interfaces.
pub(crate) enum Origin {
    Model,
    #[cfg_attr(not(feature = "registry"), expect(dead_code, reason = "registries store bundles as they are"))]
    Bundle(Bundle),
    /// A contract states the interface of one function, the main one.
    Contract(Box<Contract>),
}

impl Interfaces {
    /// The contract that states the interface.
    pub(crate) fn contract(&self) -> Option<&Contract> {
        match &self.origin {
            Origin::Contract(contract) => Some(contract),
            Origin::Model | Origin::Bundle(_) => None,
        }
    }

    /// Reduces the interface to the part that a contract can express. Returns a note for each fact that is
    /// left out.
    fn project(&mut self, contract: &Contract) -> Result<Vec<String>, BundleError> {
        self.functions.truncate(1);
        let mut notes = Vec::new();
        for function in &mut self.functions {
            let projection = contract.project(&function.interface);
            notes.extend(projection.notes);
            *function = Exported::new(MAIN, projection.interface)?;
        }
        Ok(notes)
    }
}

/// The content of a file, or the diagnostics of a model with errors, which has no interface.
pub(crate) type ReadResult = Result<Content, Vec<Diagnostic>>;

/// Reads a model, a bundle or a contract.
pub(crate) fn read(source: &Source, checker: &Checker) -> anyhow::Result<ReadResult> {
    let bytes = source.open()?;
    if Bundle::is_like(&bytes) {
        return match exports::Content::import(&bytes) {
            Ok(exports::Content::Interfaces(functions)) => {
                let program = functions.first().map(|first| first.label.clone()).unwrap_or_default();
                let origin = Origin::Bundle(Bundle::from_bytes(bytes.to_vec()));
                Ok(Ok(Content::Interfaces(Interfaces { program, functions, origin })))
            }
            Ok(exports::Content::Types(types)) => Ok(Ok(Content::Types(types))),
            Err(error) => Err(anyhow::Error::new(error).context(format!("cannot read `{}`", source.name))),
        };
    }
    let file = source.path().and_then(|path| path.file_name()?.to_str());
    if Contract::format_of(&bytes, file).is_some() {
        return of_contract(source, &bytes, file).map(Ok);
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
    let recorded =
        Recorded::read(bytes).with_context(|| format!("cannot read the interface of `{}`", source.name))?;
    Ok(recorded.map(|mut recorded| {
        let program = std::mem::replace(&mut recorded.main.label, MAIN.to_owned());
        let functions = recorded.exports().cloned().collect();
        Content::Interfaces(Interfaces { program, functions, origin: Origin::Model })
    }))
}

/// The interface of a checked model.
pub(crate) fn of_checked(source: &Source, checked: &mut Checked<'_>) -> anyhow::Result<Content> {
    let exported = Exported::new(MAIN, Interface::of_checked(checked))
        .with_context(|| format!("cannot describe `{}`", source.name))?;
    let graph = checked.model().and_then(ModelView::graph);
    let program = graph.and_then(|graph| graph.name().ok()).unwrap_or_default().to_owned();
    Ok(Content::Interfaces(Interfaces { program, functions: vec![exported], origin: Origin::Model }))
}

/// The interface that a contract states.
fn of_contract(source: &Source, bytes: &[u8], file: Option<&str>) -> anyhow::Result<Content> {
    let contract = Contract::read(bytes, file).with_context(|| format!("cannot read `{}`", source.name))?;
    let exported = Exported::new(MAIN, contract.interface())
        .with_context(|| format!("cannot describe `{}`", source.name))?;
    let program = contract.name().unwrap_or(MAIN).to_owned();
    let origin = Origin::Contract(Box::new(contract));
    Ok(Content::Interfaces(Interfaces { program, functions: vec![exported], origin }))
}

/// Reduces each side to the part that a contract on the other side can express. Returns a note for each fact
/// that is left out; `None` if no side is a contract.
pub(crate) fn project(old: &mut Content, new: &mut Content) -> Result<Option<Vec<String>>, BundleError> {
    let (Content::Interfaces(old), Content::Interfaces(new)) = (old, new) else { return Ok(None) };
    let (before, after) = (old.contract().cloned(), new.contract().cloned());
    if before.is_none() && after.is_none() {
        return Ok(None);
    }
    let mut notes = before.map(|contract| new.project(&contract)).transpose()?.unwrap_or_default();
    notes.extend(after.map(|contract| old.project(&contract)).transpose()?.unwrap_or_default());
    Ok(Some(notes))
}
