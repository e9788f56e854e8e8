//! Reads interfaces from models, bundles and contracts for serving.
//!
//! | file | interfaces |
//! |---|---|
//! | bundle | those that it contains, or its types |
//! | contract for serving | the one that it states |
//! | compiled model | those that it records |
//! | other model | that of its graph, if the model has no errors |

use typeloom::check::{Checked, Diagnostic};
use typeloom_interface::MAIN;
use typeloom_interface::bundle::{BundleError, Exported};
use typeloom_interface::exports::{self, Types};
use typeloom_interface::recorded::Recorded;
use typeloom_onnx::view::ModelView;
use typeloom_pool::Bundle;
use typeloom_serving::Contract;

use crate::check::SideFiles;
use crate::error::Error;
use crate::file::File;
use crate::plan::Plan;

/// The content of a file.
pub enum Content {
    Interfaces(Interfaces),
    /// A bundle with types that are not interfaces.
    Types(Types),
}

impl Interfaces {
    /// The interfaces as a bundle; a bundle is returned as it is.
    ///
    /// # Errors
    /// If an interface is too large for a bundle.
    pub fn bundle(&self) -> Result<Bundle, BundleError> {
        match &self.origin {
            Origin::Bundle(bundle) => Ok(bundle.clone()),
            Origin::Model | Origin::Contract(_) => {
                typeloom_interface::bundle::export_interfaces(&self.functions)
            }
        }
    }
}

impl Content {
    /// The content for comparisons.
    #[must_use]
    pub fn into_exports(self) -> exports::Content {
        match self {
            Self::Interfaces(interfaces) => exports::Content::Interfaces(interfaces.functions),
            Self::Types(types) => exports::Content::Types(types),
        }
    }

    /// The content as a bundle; a bundle is returned as it is.
    ///
    /// # Errors
    /// If an interface is too large for a bundle.
    pub fn bundle(&self) -> Result<Bundle, BundleError> {
        match self {
            Self::Interfaces(interfaces) => interfaces.bundle(),
            Self::Types(types) => Ok(types.bundle.clone()),
        }
    }
}

/// Interfaces, the main one first.
pub struct Interfaces {
    /// The name of the program: of the graph of a model, or the first label of a bundle.
    pub program: String,
    pub functions: Vec<Exported>,
    pub origin: Origin,
}

/// The file of interfaces.
pub enum Origin {
    Model,
    Bundle(Bundle),
    /// A contract states the interface of one function, the main one.
    Contract(Box<Contract>),
}

impl Interfaces {
    /// The contract that states the interface.
    #[must_use]
    pub fn contract(&self) -> Option<&Contract> {
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
pub type ReadResult = Result<Content, Vec<Diagnostic>>;

/// Reads a model, a bundle or a contract.
///
/// # Errors
/// If the file cannot be read as what it begins like, or an option is wrong for the model.
pub fn read(file: &File, plan: &Plan) -> Result<ReadResult, Error> {
    let bytes = file.model();
    if Bundle::is_like(bytes) {
        return match exports::Content::import(bytes) {
            Ok(content) => Ok(Ok(of_bundle(content, Bundle::from_bytes(bytes.to_vec())))),
            Err(error) => Err(cannot("read", file)(error)),
        };
    }
    let name = file.path().and_then(|path| path.file_name()?.to_str());
    if Contract::format_of(bytes, name).is_some() {
        return of_contract(file, name).map(Ok);
    }
    of_model(file, plan).map(|read| read.map(Content::Interfaces))
}

/// The content of a bundle that was imported.
#[must_use]
pub fn of_bundle(content: exports::Content, bundle: Bundle) -> Content {
    match content {
        exports::Content::Interfaces(functions) => {
            let program = functions.first().map(|first| first.label.clone()).unwrap_or_default();
            Content::Interfaces(Interfaces { program, functions, origin: Origin::Bundle(bundle) })
        }
        exports::Content::Types(types) => Content::Types(types),
    }
}

/// The interfaces of a model: those that a compiled one records, or that of its graph.
///
/// # Errors
/// As of [`read`].
pub fn of_model(file: &File, plan: &Plan) -> Result<Result<Interfaces, Vec<Diagnostic>>, Error> {
    if let Some(recorded) = recorded(file)? {
        return Ok(Ok(recorded));
    }
    Ok(match plan.well_typed(file, SideFiles::Unchecked)? {
        Ok(mut checked) => Ok(of_graph(file, &mut checked)?),
        Err(diagnostics) => Err(diagnostics),
    })
}

/// The interfaces of a model without errors that was checked.
///
/// # Errors
/// If a type cannot be described.
pub fn of_checked(file: &File, checked: &mut Checked<'_>) -> Result<Interfaces, Error> {
    recorded(file)?.map_or_else(|| of_graph(file, checked), Ok)
}

/// The interfaces that a compiled model records; `None` for another model.
fn recorded(file: &File) -> Result<Option<Interfaces>, Error> {
    let recorded = Recorded::read(file.model()).map_err(cannot("read the interface of", file))?;
    Ok(recorded.map(|mut recorded| {
        let program = std::mem::replace(&mut recorded.main.label, MAIN.to_owned());
        let functions = recorded.exports().cloned().collect();
        Interfaces { program, functions, origin: Origin::Model }
    }))
}

/// The interface of the graph of a model.
fn of_graph(file: &File, checked: &mut Checked<'_>) -> Result<Interfaces, Error> {
    let exported = Exported::new(MAIN, checked.interface()).map_err(cannot("describe", file))?;
    let graph = checked.solved().model().and_then(ModelView::graph);
    let program = graph.and_then(|graph| graph.name().ok()).unwrap_or_default().to_owned();
    Ok(Interfaces { program, functions: vec![exported], origin: Origin::Model })
}

/// The interface that a contract states.
fn of_contract(file: &File, name: Option<&str>) -> Result<Content, Error> {
    let contract = Contract::read(file.model(), name).map_err(cannot("read", file))?;
    let exported = Exported::new(MAIN, contract.interface()).map_err(cannot("describe", file))?;
    let program = contract.name().unwrap_or(MAIN).to_owned();
    let origin = Origin::Contract(Box::new(contract));
    Ok(Content::Interfaces(Interfaces { program, functions: vec![exported], origin }))
}

fn cannot<E: std::error::Error + Send + Sync + 'static>(
    attempt: &'static str,
    file: &File,
) -> impl FnOnce(E) -> Error {
    let name = file.name.clone();
    move |error| Error::Interface { attempt, name, source: Box::new(error) }
}

/// Reduces each side to the part that a contract on the other side can express. Returns a note for each fact
/// that is left out; `None` if no side is a contract.
pub fn project(old: &mut Content, new: &mut Content) -> Result<Option<Vec<String>>, BundleError> {
    let (Content::Interfaces(old), Content::Interfaces(new)) = (old, new) else { return Ok(None) };
    let (before, after) = (old.contract().cloned(), new.contract().cloned());
    if before.is_none() && after.is_none() {
        return Ok(None);
    }
    let mut notes = before.map(|contract| new.project(&contract)).transpose()?.unwrap_or_default();
    notes.extend(after.map(|contract| old.project(&contract)).transpose()?.unwrap_or_default());
    Ok(Some(notes))
}
