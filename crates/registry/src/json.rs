//! Results for programs, as the command and the Python package return them.

use serde_json::{Map, Value, json};

use crate::entry::{Change, Entry, Version};
use crate::gc::Collected;
use crate::log::Located;
use crate::names::Subject;
use crate::pull::{History, Pulled, Rest};
use crate::push::{Novelty, Preview, Pushed};
use crate::settings::Current;
use crate::verdict::{Compared, Nearest, Verdict};
use crate::verify::{Finding, Report, Severity, Verified};

/// A subject: its name, state, and last entry.
#[must_use]
pub fn current(current: &Current) -> Value {
    let Current { subject, head } = current;
    let Entry { state, versions, entry, time, .. } = &head.entry;
    json!({
        "subject": subject.as_str(),
        "versions": versions,
        "mode": state.mode.name(),
        "ports": state.ports.name(),
        "aliases": aliases(&head.entry),
        "entry": entry,
        "digest": head.digest.to_string(),
        "time": time.to_string(),
    })
}

fn aliases(entry: &Entry) -> Value {
    let aliases = entry.state.aliases.iter();
    Value::Object(aliases.map(|(alias, version)| (alias.to_string(), json!(version))).collect())
}

/// The record of a version.
#[must_use]
pub fn version(number: u64, version: &Version) -> Map<String, Value> {
    let Version { bundle, roots, size, source, tool } = version;
    let types = roots.iter().map(|root| json!({"label": root.label, "digest": root.digest.to_string()}));
    let source = json!({"name": source.name, "size": source.size, "digest": source.digest.to_string()});
    let mut object = Map::new();
    object.insert("version".to_owned(), json!(number));
    object.insert("bundle".to_owned(), json!(bundle.digest.to_string()));
    object.insert("size".to_owned(), json!(size));
    object.insert("types".to_owned(), types.collect());
    object.insert("source".to_owned(), source);
    object.insert("tool".to_owned(), json!(tool));
    object
}

/// An entry.
#[must_use]
pub fn entry(located: &Located) -> Value {
    let Entry { change, entry, state, time, versions, .. } = &located.entry;
    let mut object = Map::new();
    object.insert("entry".to_owned(), json!(entry));
    object.insert("digest".to_owned(), json!(located.digest.to_string()));
    object.insert("time".to_owned(), json!(time.to_string()));
    let (kind, detail) = match change {
        Change::Push(record) => ("push", version(*versions, record)),
        Change::Set {} => ("set", Map::new()),
        Change::Sweep { bundles } => {
            ("sweep", Map::from_iter([("bundles".to_owned(), json!(bundles.len()))]))
        }
    };
    object.insert("change".to_owned(), json!(kind));
    object.extend(detail);
    object.insert("mode".to_owned(), json!(state.mode.name()));
    object.insert("ports".to_owned(), json!(state.ports.name()));
    object.insert("aliases".to_owned(), aliases(&located.entry));
    Value::Object(object)
}

/// A subject with its entries.
#[must_use]
pub fn history(history: &History) -> Value {
    let mut object = current(&history.current);
    object["entries"] = history.entries.iter().map(entry).collect();
    object["earlier"] = match history.rest {
        Rest::None => json!(0),
        Rest::Entries(number) => json!(number),
    };
    object
}

/// The result of a push.
#[must_use]
pub fn pushed(pushed: &Pushed) -> Value {
    let Pushed { subject, version, novelty, head } = pushed;
    json!({
        "subject": subject.as_str(),
        "version": version,
        "new": *novelty == Novelty::New,
        "aliases": aliases(&head.entry),
        "mode": head.entry.state.mode.name(),
        "entry": head.entry.entry,
        "digest": head.digest.to_string(),
    })
}

/// The result that a push would have.
#[must_use]
pub fn preview(subject: &Subject, preview: Preview) -> Value {
    let Preview { version, novelty } = preview;
    json!({
        "subject": subject.as_str(),
        "version": version,
        "new": novelty == Novelty::New,
        "dry_run": true,
    })
}

/// A version without its bundle.
#[must_use]
pub fn pulled(pulled: &Pulled) -> Value {
    let mut object = version(pulled.version, &pulled.record);
    object.insert("subject".to_owned(), json!(pulled.subject.as_str()));
    let aliases: Vec<&str> = pulled.aliases.iter().map(crate::Alias::as_str).collect();
    object.insert("aliases".to_owned(), json!(aliases));
    object.insert("entry".to_owned(), json!(pulled.entry.entry.entry));
    object.insert("time".to_owned(), json!(pulled.entry.entry.time.to_string()));
    Value::Object(object)
}

/// A comparison with earlier versions. The differences are those of `typeloom diff`.
#[must_use]
pub fn verdict(verdict: &Verdict) -> Value {
    let Verdict { subject, mode, ports, entry, compared, violated, versions, nearest } = verdict;
    let one = |Compared { version, outcome }: &Compared| match outcome {
        Ok(comparison) => json!({
            "version": version,
            "compatible": comparison.is_compatible(),
            "equal": comparison.equal,
            "removed": comparison.removed,
            "added": comparison.added,
            "differences": typeloom_report::exports::objects(comparison),
        }),
        Err(error) => json!({"version": version, "compatible": false, "error": error.to_string()}),
    };
    let nearest = match nearest {
        Nearest::NotNeeded => Value::Null,
        Nearest::Version(version) => json!({"version": version}),
        Nearest::NoneOf(searched) => json!({"none_of_latest": searched}),
    };
    json!({
        "subject": subject.as_str(),
        "mode": mode.name(),
        "ports": ports.name(),
        "entry": entry,
        "compatible": verdict.is_compatible(),
        "compared": compared,
        "violated": violated,
        "versions": versions.iter().map(one).collect::<Vec<_>>(),
        "nearest": nearest,
    })
}

/// The result of a collection.
#[must_use]
pub fn collected(collected: &Collected) -> Value {
    let Collected { subject, bundles, bytes, interrupted } = collected;
    let bundles: Vec<String> = bundles.iter().map(ToString::to_string).collect();
    json!({"subject": subject.as_str(), "bundles": bundles, "bytes": bytes, "interrupted": interrupted})
}

/// The result of a verification.
#[must_use]
pub fn report(report: &Report) -> Value {
    let finding = |Finding { severity, corruption }: &Finding| {
        let severity = match severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        json!({
            "severity": severity,
            "object": corruption.object,
            "problem": corruption.problem.to_string(),
        })
    };
    let findings = |list: &[Finding]| -> Value { list.iter().map(finding).collect() };
    let subject = |it: &Verified| {
        json!({
            "subject": it.subject.as_str(),
            "entry": it.head.map(|link| link.entry),
            "digest": it.head.map(|link| link.digest.to_string()),
            "versions": it.head.map_or(0, |link| link.versions),
            "findings": findings(&it.findings),
            "unreferenced": {"bundles": it.unreferenced.bundles, "bytes": it.unreferenced.bytes},
        })
    };
    json!({
        "valid": report.is_valid(),
        "findings": findings(&report.findings),
        "subjects": report.subjects.iter().map(subject).collect::<Vec<_>>(),
    })
}
