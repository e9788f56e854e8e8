//! Registries of interfaces, for `typeloom.registry`.
//!
//! Results are JSON objects of `typeloom_project::parts::registry::json`. An error of the registry is a part of the result,
//! because its exception is a class of the Python package; an error of the store is an `OSError`.
//!
//! **Invariant:** a call holds the interpreter only to convert arguments and results. Its work owns all that
//! it uses: an interrupted call leaves it to a thread in the background.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use typeloom::check::Diagnostic;
use typeloom_project::folder::{self, Ignored};
use typeloom_project::interfaces;
use typeloom_project::parts::io::stores::{Missing, Stores};
use typeloom_project::parts::pool::Bundle;
use typeloom_project::parts::registry::entry::{Hash, Ports, SourceFile};
use typeloom_project::parts::registry::gc::{Collection, Effect};
use typeloom_project::parts::registry::log::Located;
use typeloom_project::parts::registry::names::{NameError, Named};
use typeloom_project::parts::registry::push::{Novelty, Push, Pushed};
use typeloom_project::parts::registry::settings::{Current, Settings as Changes};
use typeloom_project::parts::registry::verify::Checkpoint;
use typeloom_project::parts::registry::{
    Alias, Reference, RegistryError, Selector, Subject, Timestamp, json as objects,
};

use crate::convert;
use crate::error::{core_error, project_error};
use crate::fleet::store_error;
use crate::interrupt::{interruptible, interruptible_by};
use crate::model::Model;
use crate::report::{Against, Report};
use crate::settings::Settings;

/// Name, size and digest of a source file.
type Source = (String, u64, String);

/// Mode, identity of ports by name, aliases to set, aliases to remove.
type ChangesOf = (Option<String>, Option<bool>, Vec<(String, String)>, Vec<String>);

/// `(kind, message, detail)` of an error of the registry.
type Failure<'py> = (&'static str, String, Bound<'py, PyAny>);

/// A result or an error.
type Answer<'py, T> = (Option<T>, Option<Failure<'py>>);

/// A bundle with the size and the digest of the file that it describes.
type Content<'py> = (Bound<'py, PyBytes>, u64, String);

/// A registry at a URL or path, which is opened when it is first used.
#[pyclass(frozen, module = "typeloom._core")]
pub(crate) struct Registry(Arc<Opener>);

struct Opener {
    stores: Stores,
    url: String,
    opened: Mutex<Option<Arc<typeloom_project::parts::registry::Registry>>>,
}

impl Opener {
    fn open(
        &self,
        missing: Missing,
    ) -> Result<Arc<typeloom_project::parts::registry::Registry>, RegistryError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(registry) = &*opened {
            return Ok(Arc::clone(registry));
        }
        let registry =
            Arc::new(typeloom_project::parts::registry::Registry::open(&self.stores, &self.url, missing)?);
        *opened = Some(Arc::clone(&registry));
        Ok(registry)
    }
}

#[pymethods]
impl Registry {
    #[new]
    fn new(url: String, options: Vec<(String, String)>) -> PyResult<Self> {
        let stores = Stores::new(options).map_err(|error| store_error(&error))?;
        Ok(Self(Arc::new(Opener { stores, url, opened: Mutex::default() })))
    }

    /// Pushes a bundle. The result has the record of the version, its aliases, and whether it is `new`.
    fn push<'py>(
        &self,
        py: Python<'py>,
        subject: &str,
        bundle: &[u8],
        source: Source,
        changes: ChangesOf,
        time: i64,
    ) -> PyResult<Answer<'py, Bound<'py, PyAny>>> {
        let (subject, push) = (parsed::<Subject>(subject)?, push_of(bundle, source, changes, time)?);
        self.run(py, Missing::Create, move |registry| {
            let pushed = registry.push(&subject, &push)?;
            let Pushed { subject, version, novelty, head } = pushed;
            let mut object = match novelty {
                Novelty::New => version_of(&head, version, &head),
                Novelty::Existing => {
                    let selector = Selector::Version(version);
                    let reference = Reference { subject: subject.clone(), selector, version: Named::Yes };
                    version_of(&registry.pull(&reference)?.entry, version, &head)
                }
            };
            object["subject"] = json!(subject.as_str());
            object["new"] = json!(novelty == Novelty::New);
            Ok(object)
        })
    }

    /// The number that a push would have, and whether the version would be `new`. Writes nothing.
    fn preview<'py>(
        &self,
        py: Python<'py>,
        subject: &str,
        bundle: &[u8],
        source: Source,
        changes: ChangesOf,
    ) -> PyResult<Answer<'py, Bound<'py, PyAny>>> {
        let (subject, push) = (parsed::<Subject>(subject)?, push_of(bundle, source, changes, 0)?);
        self.run(py, Missing::Refuse, move |registry| {
            Ok(objects::preview(&subject, registry.preview(&subject, &push)?))
        })
    }

    /// The record of a version, and its verified bundle.
    fn pull<'py>(
        &self,
        py: Python<'py>,
        reference: &str,
    ) -> PyResult<Answer<'py, (Bound<'py, PyAny>, Bound<'py, PyBytes>)>> {
        let reference = parsed::<Reference>(reference)?;
        let opener = Arc::clone(&self.0);
        let pulled = interruptible_by(py, || (), move || opener.open(Missing::Refuse)?.pull(&reference))?;
        match pulled {
            Ok(pulled) => {
                let mut object = objects::entry(&pulled.entry);
                object["subject"] = json!(pulled.subject.as_str());
                object["aliases"] = pulled.aliases.iter().map(Alias::as_str).collect();
                let bundle = PyBytes::new(py, &pulled.bundle);
                Ok((Some((convert::json(py, &object)?, bundle)), None))
            }
            Err(error) => Ok((None, Some(failure(py, error)?))),
        }
    }

    /// The state of each subject below a prefix.
    fn subjects<'py>(
        &self,
        py: Python<'py>,
        prefix: Option<&str>,
    ) -> PyResult<Answer<'py, Bound<'py, PyAny>>> {
        let prefix = prefix.map(parsed::<Subject>).transpose()?;
        self.run(py, Missing::Refuse, move |registry| {
            Ok(registry.list(prefix.as_ref())?.iter().map(objects::current).collect())
        })
    }

    /// The state of a subject, and the versions in its last entries, the earliest one first.
    fn show<'py>(
        &self,
        py: Python<'py>,
        subject: &str,
        limit: usize,
    ) -> PyResult<Answer<'py, Bound<'py, PyAny>>> {
        let subject = parsed::<Subject>(subject)?;
        self.run(py, Missing::Refuse, move |registry| {
            let history = registry.show(&subject, limit)?;
            let Current { subject, head } = &history.current;
            let version = |located: &Located| {
                located.entry.version()?;
                let mut object = version_of(located, located.entry.versions, head);
                object["subject"] = json!(subject.as_str());
                Some(object)
            };
            let versions: Value = history.entries.iter().rev().filter_map(version).collect();
            Ok(json!({"subject": objects::current(&history.current), "versions": versions}))
        })
    }

    /// Compares a bundle as a push does, or with one version.
    fn check<'py>(
        &self,
        py: Python<'py>,
        reference: &str,
        bundle: &[u8],
        mode: Option<&str>,
    ) -> PyResult<Answer<'py, Bound<'py, PyAny>>> {
        let (reference, bundle) = (parsed::<Reference>(reference)?, Bytes::copy_from_slice(bundle));
        let mode = mode.map(str::parse).transpose().map_err(core_error)?;
        self.run(py, Missing::Refuse, move |registry| {
            Ok(objects::verdict(&registry.check(&reference, &bundle, mode)?))
        })
    }

    /// Compares the interface that a report keeps, and adds the differences to the report.
    fn against<'py>(
        &self,
        py: Python<'py>,
        report: &Report,
        reference: &str,
    ) -> PyResult<Answer<'py, Bound<'py, PyAny>>> {
        let reference = parsed::<Reference>(reference)?;
        let bundle = report.interface().cloned().ok_or_else(|| core_error("the report has no interface"))?;
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let answer = self.run(py, Missing::Refuse, move |registry| {
            let verdict = registry.check(&reference, &bundle, None)?;
            let against = Against { differences: verdict.differences(), clause: verdict.clause(&reference) };
            // The receiver is gone only if the call was interrupted.
            drop(sender.send(against));
            Ok(objects::verdict(&verdict))
        })?;
        if let Ok(against) = receiver.try_recv() {
            report.compared(against);
        }
        Ok(answer)
    }

    /// Changes the state of a subject.
    fn set<'py>(
        &self,
        py: Python<'py>,
        subject: &str,
        changes: ChangesOf,
        time: i64,
    ) -> PyResult<Answer<'py, Bound<'py, PyAny>>> {
        let (subject, changes) = (parsed::<Subject>(subject)?, settings_of(changes)?);
        self.run(py, Missing::Refuse, move |registry| {
            Ok(objects::current(&registry.set(&subject, &changes, Timestamp::from_unix(time))?))
        })
    }

    /// Verifies a subject or all; the report has the checkpoint as text.
    fn verify<'py>(
        &self,
        py: Python<'py>,
        subject: Option<&str>,
        checkpoint: Option<&[u8]>,
    ) -> PyResult<Answer<'py, Bound<'py, PyAny>>> {
        let subject = subject.map(parsed::<Subject>).transpose()?;
        let checkpoint = checkpoint.map(Checkpoint::decode).transpose().map_err(core_error)?;
        self.run(py, Missing::Refuse, move |registry| {
            let report = registry.verify(subject.as_ref(), checkpoint.as_ref())?;
            let mut object = objects::report(&report);
            let checkpoint =
                report.checkpoint().encode().ok().and_then(|bytes| String::from_utf8(bytes).ok());
            object["checkpoint"] = json!(checkpoint);
            Ok(object)
        })
    }

    /// Collects unreferenced bundles.
    fn gc<'py>(
        &self,
        py: Python<'py>,
        subject: Option<&str>,
        grace: u32,
        dry_run: bool,
        time: i64,
    ) -> PyResult<Answer<'py, Bound<'py, PyAny>>> {
        let subject = subject.map(parsed::<Subject>).transpose()?;
        let effect = if dry_run { Effect::DryRun } else { Effect::Delete };
        let collection = Collection { grace, time: Timestamp::from_unix(time), effect };
        self.run(py, Missing::Refuse, move |registry| {
            Ok(registry.gc(subject.as_ref(), collection)?.iter().map(objects::collected).collect())
        })
    }
}

impl Registry {
    fn run<'py>(
        &self,
        py: Python<'py>,
        missing: Missing,
        work: impl FnOnce(&typeloom_project::parts::registry::Registry) -> Result<Value, RegistryError>
        + Send
        + 'static,
    ) -> PyResult<Answer<'py, Bound<'py, PyAny>>> {
        let opener = Arc::clone(&self.0);
        // One instance of the code that waits serves all operations.
        type Work = Box<dyn FnOnce() -> Result<Value, RegistryError> + Send>;
        let work: Work = Box::new(move || work(&*opener.open(missing)?));
        match interruptible_by(py, || (), work)? {
            Ok(value) => Ok((Some(convert::json(py, &value)?), None)),
            Err(error) => Ok((None, Some(failure(py, error)?))),
        }
    }
}

fn push_of(bundle: &[u8], source: Source, changes: ChangesOf, time: i64) -> PyResult<Push> {
    let (name, size, digest) = source;
    let digest = digest.parse().map(Hash).map_err(core_error)?;
    Ok(Push {
        bundle: Bytes::copy_from_slice(bundle),
        source: SourceFile { digest, name, size },
        tool: concat!("typeloom ", env!("CARGO_PKG_VERSION")).to_owned(),
        settings: settings_of(changes)?,
        time: Timestamp::from_unix(time),
    })
}

/// Whether a text is a reference to a version; whether it names the version.
#[pyfunction]
pub(crate) fn registry_reference(text: &str) -> Option<bool> {
    let reference = text.parse::<Reference>().ok()?;
    Some(reference.version == Named::Yes)
}

/// The record of the version that an entry creates, with its aliases after the entry `head`.
fn version_of(located: &Located, version: u64, head: &Located) -> Value {
    let mut object = objects::entry(located);
    let aliases = head.entry.state.aliases.iter().filter(|(_, of)| **of == version);
    object["aliases"] = aliases.map(|(alias, _)| alias.as_str()).collect();
    object
}

fn parsed<T: std::str::FromStr<Err = NameError>>(text: &str) -> PyResult<T> {
    text.parse().map_err(core_error)
}

fn settings_of(changes: ChangesOf) -> PyResult<Changes> {
    let (mode, by_name, aliases, removed) = changes;
    let mode = mode.as_deref().map(str::parse).transpose().map_err(core_error)?;
    let ports = by_name.map(|by_name| if by_name { Ports::Name } else { Ports::NameAndPosition });
    let alias = |(alias, version): (String, String)| Ok((parsed(&alias)?, parsed(&version)?));
    let aliases = aliases.into_iter().map(alias).collect::<PyResult<_>>()?;
    let removed = removed.iter().map(|alias| parsed(alias)).collect::<PyResult<_>>()?;
    Ok(Changes { mode, ports, aliases, removed })
}

/// The kind, the message and the details of an error; `Err` for one that is not of the registry.
fn failure(py: Python<'_>, error: RegistryError) -> PyResult<Failure<'_>> {
    let message = error.to_string();
    let (kind, detail) = match error {
        RegistryError::Store(error) => return Err(store_error(&error)),
        RegistryError::Rejected(verdict) => ("rejected", objects::verdict(&verdict)),
        RegistryError::Corrupt(corruption) => {
            ("corrupt", json!({"object": corruption.object, "problem": corruption.problem.to_string()}))
        }
        RegistryError::NoRegistry(_)
        | RegistryError::NoSubject { .. }
        | RegistryError::NoVersion { .. }
        | RegistryError::NoAlias { .. } => ("not-found", Value::Null),
        RegistryError::Unconfirmed { object, error: _ } => ("unconfirmed", json!({"object": object})),
        RegistryError::Name(_)
        | RegistryError::UnknownFormat { .. }
        | RegistryError::NoConditionalWrites(_)
        | RegistryError::NotABundle(_)
        | RegistryError::Limit { .. }
        | RegistryError::Contended { .. }
        | RegistryError::Random(_) => ("other", Value::Null),
    };
    Ok((kind, message, convert::json(py, &detail)?))
}

/// The interfaces of a model, a compiled model or a bundle as a bundle; or the diagnostics of a model with
/// errors.
#[pyfunction]
pub(crate) fn registry_content<'py>(
    py: Python<'py>,
    model: Model,
    settings: &Settings,
    name: &str,
) -> PyResult<(Option<Content<'py>>, Vec<Bound<'py, PyAny>>)> {
    let bytes = model.open()?;
    let (file, plan) = (settings.file(&bytes, name), Arc::clone(&settings.plan));
    type Read = PyResult<Result<(Bytes, u64, Hash), Vec<Diagnostic>>>;
    let read = interruptible(py, bytes.len(), move || -> Read {
        let of = |bundle: Bytes| (bundle, bytes.len() as u64, Hash::of(&bytes));
        if Bundle::is_like(&bytes) {
            return Ok(Ok(of(Bytes::copy_from_slice(&bytes))));
        }
        Ok(match interfaces::of_model(&file, &plan).map_err(project_error)? {
            Ok(interfaces) => Ok(of(interfaces.bundle().map_err(core_error)?.into_bytes().into())),
            Err(diagnostics) => Err(diagnostics),
        })
    })??;
    Ok(match read {
        Ok((bundle, size, digest)) => {
            (Some((PyBytes::new(py, &bundle), size, digest.to_string())), Vec::new())
        }
        Err(diagnostics) => (None, convert::diagnostics(py, name, &diagnostics)?),
    })
}

/// The paths of the models in a folder, without ignored ones, each with its name there.
#[pyfunction]
pub(crate) fn models_in(py: Python<'_>, folder: PathBuf) -> PyResult<Vec<(OsString, String)>> {
    let models = py.detach(|| folder::models_in(&folder, Ignored::LeftOut).collect::<Result<Vec<_>, _>>());
    let named = models?.into_iter().map(|path| {
        let name = folder::name_in(&folder, &path);
        (path.into_os_string(), name)
    });
    Ok(named.collect())
}

/// The BLAKE3 digest of bytes.
#[pyfunction]
pub(crate) fn registry_digest(bytes: &[u8]) -> String {
    Hash::of(bytes).to_string()
}
