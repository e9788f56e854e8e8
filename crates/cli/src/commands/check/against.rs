//! `typeloom check --against SUBJECT[@VERSION]`: differences from a version of a registry.

use serde_json::{Value, json};
use typeloom::check::Checked;
use typeloom_project::file::File;
use typeloom_project::interfaces;
use typeloom_project::parts::io::stores::Missing;
use typeloom_project::parts::registry::{Reference, Registry, json as objects};
use typeloom_project::parts::report::finding::Difference;
use typeloom_project::parts::report::list;
use typeloom_project::settings::Resolver;

use crate::args::registry::AgainstArgs;
use crate::commands::registry::open;
use crate::input::source;

/// The version to compare with.
pub(super) struct Against {
    registry: Registry,
    reference: Reference,
}

/// The result for one model.
pub(super) struct Result {
    differences: Vec<Difference>,
    verdict: String,
    object: Value,
}

impl Against {
    /// The version of the arguments. It is read once here, so a wrong reference ends the command before the
    /// first model.
    pub(super) fn open(args: &AgainstArgs, settings: &mut Resolver) -> anyhow::Result<Option<Self>> {
        let Some(reference) = args.against.clone() else { return Ok(None) };
        let settings = settings.settings(&source("-"))?;
        let registry = open(args.registry.as_deref(), settings.registry.as_ref(), Missing::Refuse)?;
        registry.pull(&reference)?;
        Ok(Some(Self { registry, reference }))
    }

    /// Compares a model without errors.
    pub(super) fn compare(&self, file: &File, checked: &mut Checked<'_>) -> anyhow::Result<Result> {
        let bundle = interfaces::of_checked(file, checked)?.bundle()?;
        let verdict = self.registry.check(&self.reference, bundle.as_bytes(), None)?;
        let mut object = objects::verdict(&verdict);
        object["reference"] = json!(self.reference.to_string());
        Ok(Result { differences: verdict.differences(), verdict: verdict.clause(&self.reference), object })
    }
}

impl Result {
    /// The part of a report.
    pub(super) fn report(&self) -> list::Against<'_> {
        let Self { differences, verdict, object } = self;
        list::Against { differences, verdict: verdict.clone(), object: object.clone() }
    }
}
