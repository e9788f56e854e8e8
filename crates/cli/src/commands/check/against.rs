//! `typeloom check --against SUBJECT[@VERSION]`: differences from a version of a registry.

use serde_json::{Value, json};
use typeloom_registry::verdict::{Compared, Nearest, Verdict};
use typeloom_registry::{Reference, Registry, json as objects};
use typeloom_report::exports::differences;
use typeloom_report::finding::Difference;
use typeloom_report::list;
use typeloom_stores::Missing;

use crate::args::registry::AgainstArgs;
use crate::commands::registry::open;
use crate::input::{Source, source};
use crate::interfaces;
use crate::settings::Resolver;

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
    /// The version of the arguments. It is read once here, so a wrong reference ends the command before the first model.
    pub(super) fn open(args: &AgainstArgs, settings: &mut Resolver) -> anyhow::Result<Option<Self>> {
        let Some(reference) = args.against.clone() else { return Ok(None) };
        let settings = settings.settings(&source("-"))?;
        let registry = open(args.registry.as_deref(), settings.registry.as_ref(), Missing::Refuse)?;
        registry.pull(&reference)?;
        Ok(Some(Self { registry, reference }))
    }

    /// Compares a model without errors.
    pub(super) fn compare(
        &self,
        source: &Source,
        bytes: &[u8],
        checked: &mut typeloom_solver::model::Checked<'_>,
    ) -> anyhow::Result<Result> {
        let content = match interfaces::recorded(source, bytes)? {
            Some(content) => content,
            None => interfaces::of_checked(source, checked)?,
        };
        let bundle = content.bundle()?;
        let verdict = self.registry.check(&self.reference, bundle.as_bytes(), None)?;
        let mut object = objects::verdict(&verdict);
        object["reference"] = json!(self.reference.to_string());
        Ok(Result { differences: findings(&verdict), verdict: self.clause(&verdict), object })
    }

    /// The result in a summary.
    fn clause(&self, verdict: &Verdict) -> String {
        let (mode, reference) = (verdict.mode, &self.reference);
        let nearest = match verdict.nearest {
            Nearest::Version(version) => format!(" (nearest compatible version: {version})"),
            Nearest::NotNeeded | Nearest::NoneOf(_) => String::new(),
        };
        match (verdict.compared, verdict.is_compatible()) {
            (0, _) => format!("not compared with {reference} ({mode})"),
            (_, true) => format!("{mode} compatible with {reference}"),
            (_, false) => format!("not {mode} compatible with {reference}{nearest}"),
        }
    }
}

/// The differences from all versions of a verdict; each message names its version.
fn findings(verdict: &Verdict) -> Vec<Difference> {
    let mut findings = Vec::new();
    for Compared { version, outcome } in &verdict.versions {
        let of = format!("compared with {}@{version}", verdict.subject);
        match outcome {
            Ok(comparison) => findings.extend(differences(comparison).into_iter().map(|mut difference| {
                difference.message = format!("{}, {of}", difference.message);
                difference
            })),
            Err(error) => findings.push(Difference {
                export: String::new(),
                path: String::new(),
                code: "content-changed",
                message: format!("{error}, {of}"),
                breaks_backward: true,
                breaks_forward: true,
                breaking: true,
            }),
        }
    }
    findings
}

impl Result {
    /// The part of a report.
    pub(super) fn report(&self) -> list::Against<'_> {
        let Self { differences, verdict, object } = self;
        list::Against { differences, verdict: verdict.clone(), object: object.clone() }
    }
}
