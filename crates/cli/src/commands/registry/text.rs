//! Results of `typeloom registry` for people.

use serde_json::{Value, json};
use typeloom_project::parts::interface::exports::Content;
use typeloom_project::parts::onnx::text::escape;
use typeloom_project::parts::registry::Subject;
use typeloom_project::parts::registry::entry::{Change, Entry, Ports};
use typeloom_project::parts::registry::gc::{Collected, Effect};
use typeloom_project::parts::registry::log::Located;
use typeloom_project::parts::registry::pull::{History, Pulled, Rest};
use typeloom_project::parts::registry::push::{Novelty, Preview, Pushed};
use typeloom_project::parts::registry::settings::Current;
use typeloom_project::parts::registry::verdict::{Compared, Nearest, Verdict};
use typeloom_project::parts::registry::verify::{Finding, Report, Severity};
use typeloom_project::parts::report::finding::Finding as Reported;
use typeloom_project::parts::report::interface;
use typeloom_project::parts::solver::diagnostic::text::count;

/// Number of digits of a digest that people see.
const SHORT: usize = 12;

fn short(digest: impl ToString) -> String {
    digest.to_string().chars().take(SHORT).collect()
}

pub(super) fn pushed(file: &str, pushed: &Pushed) -> String {
    let Pushed { subject, version, novelty, head } = pushed;
    let aliases = aliases_of(&head.entry, *version);
    let text = match novelty {
        Novelty::New => format!("{file} -> {subject}@{version}{aliases}"),
        Novelty::Existing => format!("{file}: {subject}@{version} has this interface{aliases}"),
    };
    format!("{}\n", escape(&text))
}

/// ` (production, stable)`
fn aliases_of(entry: &Entry, version: u64) -> String {
    let aliases = entry.state.aliases.iter().filter(|(_, of)| **of == version);
    let names: Vec<&str> = aliases.map(|(alias, _)| alias.as_str()).collect();
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

/// The effect of a push that was not made.
pub(super) fn preview(file: &str, subject: &Subject, preview: Preview) -> String {
    let Preview { version, novelty } = preview;
    let text = match novelty {
        Novelty::New => format!("would push {file} -> {subject}@{version}"),
        Novelty::Existing => format!("{file}: {subject}@{version} has this interface"),
    };
    format!("{}\n", escape(&text))
}

/// The differences of a verdict, one text each, and whether each breaks the mode.
fn differences(verdict: &Verdict) -> Vec<(bool, String)> {
    let Verdict { subject, versions, .. } = verdict;
    let mut texts = Vec::new();
    for Compared { version, outcome } in versions {
        match outcome {
            Ok(comparison) => {
                for difference in typeloom_project::parts::report::exports::differences(comparison) {
                    let at = Reported::Difference(&difference).at();
                    let text = format!("{subject}@{version}: {at}: {}", difference.message);
                    texts.push((difference.breaking, text));
                }
            }
            Err(error) => texts.push((true, format!("{subject}@{version}: {error}"))),
        }
    }
    texts
}

/// A rejection on one line: the first difference that breaks the mode.
pub(super) fn reason(verdict: &Verdict) -> String {
    let mut breaking = differences(verdict).into_iter().filter(|(breaks, _)| *breaks).map(|(_, text)| text);
    let first = breaking.next().unwrap_or_default();
    let more = match breaking.count() {
        0 => String::new(),
        others => format!(", and {}", count(others, "more difference")),
    };
    format!("not {} compatible with {first}{more}", verdict.mode)
}

/// The differences of a verdict, one line each, and the result.
pub(super) fn verdict(file: &str, verdict: &Verdict) -> String {
    let Verdict { subject, mode, ports: _, entry: _, compared, violated, versions, nearest } = verdict;
    let mut lines: Vec<String> = differences(verdict).into_iter().map(|(_, text)| text).collect();
    let hidden = violated.saturating_sub(versions.len() as u64);
    if hidden > 0 {
        lines.push(format!("{subject}: {hidden} other versions are violated too"));
    }
    lines.push(match (*compared, *violated) {
        (0, _) => format!("{file}: nothing to compare with in `{subject}` ({mode})"),
        (_, 0) => format!("{file}: compatible with `{subject}` ({mode})"),
        _ => format!("{file}: not compatible with `{subject}` ({mode})"),
    });
    match nearest {
        Nearest::NotNeeded => {}
        Nearest::Version(version) => lines.push(format!("nearest compatible version: {subject}@{version}")),
        Nearest::NoneOf(searched) => {
            let searched = count(usize::try_from(*searched).unwrap_or(usize::MAX), "version");
            lines.push(format!("nearest compatible version: none of {searched}"));
        }
    }
    lines.iter().map(|line| format!("{}\n", escape(line))).collect()
}

pub(super) fn pulled(pulled: &Pulled, output: Option<&str>) -> String {
    let Pulled { subject, version, record, bundle, entry, .. } = pulled;
    let target = output.map(|output| format!(" -> {output}")).unwrap_or_default();
    let (size, source, time) = (bundle.len(), &record.source.name, entry.entry.time);
    let text = format!("{subject}@{version}{target}: verified, {size} bytes, from {source} at {time}");
    format!("{}\n", escape(&text))
}

pub(super) fn list(subjects: &[Current]) -> String {
    let row = |Current { subject, head }: &Current| {
        let Entry { state, versions, time, .. } = &head.entry;
        let mut text =
            format!("{subject}: {}", count(usize::try_from(*versions).unwrap_or(usize::MAX), "version"));
        text.push_str(&format!(", {}{}, changed at {time}", state.mode, ports(state.ports)));
        for (alias, version) in &state.aliases {
            text.push_str(&format!(", {alias}={version}"));
        }
        format!("{}\n", escape(&text))
    };
    subjects.iter().map(row).collect()
}

fn ports(ports: Ports) -> &'static str {
    match ports {
        Ports::NameAndPosition => "",
        Ports::Name => " by name",
    }
}

pub(super) fn history(history: &History) -> String {
    let mut text = list(std::slice::from_ref(&history.current));
    let current = &history.current.head.entry;
    for located in &history.entries {
        text.push_str(&line_of(located, current));
    }
    if let Rest::Entries(number) = history.rest {
        text.push_str(&format!("  {number} earlier entries, see --limit\n"));
    }
    text
}

fn line_of(located: &Located, current: &Entry) -> String {
    let Entry { change, time, versions, state, .. } = &located.entry;
    let line = match change {
        Change::Push(record) => {
            let digest = record.roots.first().map(|root| format!(", {} {}", root.label, short(root.digest)));
            let aliases = aliases_of(current, *versions);
            format!("{versions}{aliases}: {time}, {}{}", record.source.name, digest.unwrap_or_default())
        }
        Change::Set {} => {
            let aliases = state.aliases.iter().map(|(alias, version)| format!(", {alias}={version}"));
            format!("set: {time}, {}{}{}", state.mode, ports(state.ports), aliases.collect::<String>())
        }
        Change::Sweep { bundles } => format!("gc: {time}, {}", count(bundles.len(), "bundle")),
    };
    format!("  {}\n", escape(&line))
}

/// A version with its interfaces or types.
pub(super) fn version(pulled: &Pulled) -> String {
    let Pulled { subject, version, aliases, entry, record, .. } = pulled;
    let mut text = format!("{subject}@{version}");
    if !aliases.is_empty() {
        let names: Vec<&str> = aliases.iter().map(typeloom_project::parts::registry::Alias::as_str).collect();
        text.push_str(&format!(" ({})", names.join(", ")));
    }
    let source = &record.source;
    let (time, name, digest, tool) = (entry.entry.time, &source.name, short(source.digest), &record.tool);
    let lines = [
        text,
        format!("  pushed at {time} by {tool}"),
        format!("  from {name}, {} bytes, BLAKE3 {digest}", source.size),
    ];
    let mut text: String = lines.iter().map(|line| format!("{}\n", escape(line))).collect();
    match &*pulled.content {
        Content::Interfaces(list) => {
            for exported in list {
                let digest = exported.digest.to_string();
                text.push_str(&interface::human(&exported.label, &exported.interface, &digest));
            }
        }
        Content::Types(types) => {
            for (label, digest) in &types.roots {
                text.push_str(&format!("{}\n  digest {digest}\n", escape(label)));
            }
        }
    }
    text
}

/// The interfaces of a version as JSON; of other types, the labels and digests.
pub(super) fn interfaces(pulled: &Pulled) -> Value {
    match &*pulled.content {
        Content::Interfaces(list) => {
            let one = |it: &typeloom_project::parts::interface::bundle::Exported| {
                let digest = it.digest.to_string();
                Value::Object(interface::value(&it.label, &it.interface, &digest, &it.signature))
            };
            list.iter().map(one).collect()
        }
        Content::Types(types) => {
            let one = |(label, digest): &(String, typeloom::pool::Digest)| json!({"name": label, "digest": digest.to_string()});
            types.roots.iter().map(one).collect()
        }
    }
}

pub(super) fn collected(collected: &[Collected], effect: Effect) -> String {
    let verb = match effect {
        Effect::Delete => "deleted",
        Effect::DryRun => "would delete",
    };
    let mut text = String::new();
    for Collected { subject, bundles, bytes, interrupted } in collected {
        if !(bundles.is_empty() && interrupted.is_empty()) {
            let parts = [(bundles.len(), "bundle"), (interrupted.len(), "interrupted write")];
            let parts: Vec<String> = parts
                .into_iter()
                .filter(|(number, _)| *number > 0)
                .map(|(number, noun)| count(number, noun))
                .collect();
            text.push_str(&format!("{subject}: {verb} {}, {bytes} bytes\n", parts.join(" and ")));
        }
    }
    if text.is_empty() { "nothing to delete\n".to_owned() } else { text }
}

pub(super) fn report(report: &Report) -> String {
    let line = |finding: &Finding| {
        let severity = match finding.severity {
            Severity::Warning => "warning: ",
            Severity::Error => "error: ",
        };
        format!("{}\n", escape(&format!("{severity}{}", finding.corruption)))
    };
    let mut text: String = report.findings.iter().map(line).collect();
    for subject in &report.subjects {
        text.extend(subject.findings.iter().map(line));
        let errors = subject.findings.iter().filter(|finding| finding.severity == Severity::Error).count();
        let verdict = if errors == 0 { "verified".to_owned() } else { count(errors, "error") };
        let head = subject.head.map_or_else(
            || "no entries".to_owned(),
            |link| {
                let versions = count(usize::try_from(link.versions).unwrap_or(usize::MAX), "version");
                format!("{versions}, entry {} {}", link.entry, link.digest)
            },
        );
        let unreferenced = match subject.unreferenced.bundles {
            0 => String::new(),
            bundles => {
                let bundles = count(usize::try_from(bundles).unwrap_or(usize::MAX), "unreferenced bundle");
                format!(", {bundles} (see `gc`)")
            }
        };
        text.push_str(&format!("{}: {verdict}, {head}{unreferenced}\n", subject.subject));
    }
    text
}
