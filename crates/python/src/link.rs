//! `link`: one model from two.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use typeloom::link::{
    Casts, Connection, LinkError, LinkOptions, Linked, Narrowing, Outputs, Part, Unproven, link_with,
};
use typeloom_project::check;
use typeloom_project::parts::io::files::relocate::{Copied, Model as Located, Placement, relocate};
use typeloom_project::parts::report;

use crate::convert;
use crate::error::{core_error, file_error};
use crate::interrupt::interruptible;
use crate::model::{Model, ModelBytes};
use crate::settings::Settings;

/// New bytes, or `None`; the changes or the reasons why the models do not fit as an object, and as text; and
/// diagnostics.
type Answer<'py> = (Option<Bound<'py, PyBytes>>, Bound<'py, PyAny>, String, Vec<Bound<'py, PyAny>>);

/// The outputs of the result.
#[derive(FromPyObject)]
pub(crate) enum Kept {
    /// All of them, or those that are not connected.
    All(bool),
    Named(Vec<String>),
}

/// Options as Python passes them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    map: Vec<(String, String)>,
    cast: String,
    narrow: bool,
    accept_unproven: bool,
    outputs: Kept,
    prefixes: [String; 2],
    output: Option<PathBuf>,
    copy_external_data: bool,
}

impl Options {
    fn read(&self, settings: &Settings) -> PyResult<LinkOptions> {
        let casts = match self.cast.as_str() {
            "never" => Casts::Never,
            "lossless" => Casts::Lossless,
            "any" => Casts::Any,
            other => {
                let message = format!("there are no casts `{other}`; there are never, lossless and any");
                return Err(core_error(message));
            }
        };
        Ok(LinkOptions {
            map: self.map.iter().map(|(output, input)| Connection::new(output, input)).collect(),
            casts,
            narrowing: if self.narrow { Narrowing::Allow } else { Narrowing::Reject },
            unproven: if self.accept_unproven { Unproven::Accept } else { Unproven::Reject },
            outputs: match &self.outputs {
                Kept::All(true) => Outputs::All,
                Kept::All(false) => Outputs::Unconsumed,
                Kept::Named(names) => Outputs::Named(names.clone()),
            },
            prefixes: self.prefixes.clone(),
            mode: settings.plan.options.mode,
            ..LinkOptions::default()
        })
    }
}

/// Joins two models by their types. The files of tensors are copied next to `output` on request.
#[pyfunction]
pub(crate) fn link<'py>(
    py: Python<'py>,
    models: [Model; 2],
    names: [String; 2],
    settings: &Settings,
    options: Options,
) -> PyResult<Answer<'py>> {
    let mut linking = options.read(settings)?;
    let [first, second] = models;
    let models = [first.open()?, second.open()?];
    let size = models.iter().map(|model| model.len()).sum();
    let copies = place(&models, &names, &options, &mut linking)?;
    let operators = settings.plan.operators.clone();
    let own_names = names.clone();
    let plan = Arc::clone(&settings.plan);
    let files = [0, 1].map(|at| settings.file(&models[at], &names[at]));
    let result = interruptible(py, size, move || -> Result<(Vec<u8>, Linked), LinkError> {
        for (file, name) in files.iter().zip(&own_names) {
            // A malformed model is an error of the link too.
            if let Ok(Err(diagnostics)) = plan.well_typed(file, check::SideFiles::InFolder) {
                return Err(LinkError::IllTyped { file: name.clone(), diagnostics });
            }
        }
        let part = |at: usize| Part { name: &own_names[at], bytes: models[at].shared() };
        let linked = link_with(&[part(0), part(1)], &linking, &operators)?;
        Ok((linked.to_vec([&models[0], &models[1]]), linked))
    })?;
    match result {
        Ok((file, linked)) => {
            for copied in copies {
                let mut from = copied.open().map_err(core_error)?;
                let copy = File::create(&copied.to).and_then(|mut to| std::io::copy(&mut from, &mut to));
                copy.map_err(|error| file_error(error, &copied.to))?;
            }
            let object = convert::json(py, &report::link::value(&linked).into())?;
            Ok((Some(PyBytes::new(py, &file)), object, report::link::summary(&linked), Vec::new()))
        }
        Err(error) => {
            let object = convert::json(py, &report::link::error_value(&error).into())?;
            let diagnostics = match &error {
                LinkError::IllTyped { file, diagnostics } => convert::diagnostics(py, file, diagnostics)?,
                LinkError::IllTypedResult { diagnostics } => {
                    convert::diagnostics(py, "<linked>", diagnostics)?
                }
                _ => Vec::new(),
            };
            Ok((None, object, report::link::error(&error), diagnostics))
        }
    }
}

/// Sets the new locations of files with tensors; returns the files to copy.
fn place(
    models: &[ModelBytes; 2],
    names: &[String; 2],
    options: &Options,
    linking: &mut LinkOptions,
) -> PyResult<Vec<Copied>> {
    let folders: Vec<Option<PathBuf>> = models.iter().map(ModelBytes::folder).collect();
    let mut located = Vec::new();
    for at in 0..2 {
        // The check of the model reports malformed bytes.
        let mut locations =
            typeloom_project::parts::link::external_locations(models[at].shared()).unwrap_or_default();
        if folders[at].is_none() && options.output.is_none() && !options.copy_external_data {
            // The caller knows the folder of a model in memory.
            locations.clear();
        }
        located.push(Located { name: &names[at], folder: folders[at].as_deref(), locations });
    }
    let placement = if options.copy_external_data { Placement::Copy } else { Placement::Keep };
    let relocated = relocate(&located, options.output.as_deref(), placement).map_err(core_error)?;
    linking.locations = relocated.locations.try_into().unwrap_or_default();
    Ok(relocated.copies)
}
