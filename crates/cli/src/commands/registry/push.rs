//! `typeloom registry push`: the interface of a file, or those of all models in a folder.
//!
//! The models of a folder are independent: one that cannot be pushed does not stop the others.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use serde_json::{Value, json};
use typeloom::check::Diagnostic;
use typeloom_project::folder::name_in;
use typeloom_project::parts::io::files;
use typeloom_project::parts::io::stores::Missing;
use typeloom_project::parts::onnx::text::escape;
use typeloom_project::parts::registry::entry::{Hash, SourceFile};
use typeloom_project::parts::registry::push::{Novelty, Preview, Push, Pushed};
use typeloom_project::parts::registry::settings::Settings as Changes;
use typeloom_project::parts::registry::verdict::Verdict;
use typeloom_project::parts::registry::{
    Registry, RegistryError, Selector, Subject, Timestamp, json as objects,
};
use typeloom_project::parts::report::json;
use typeloom_project::parts::settings::effective::Settings;
use typeloom_project::parts::solver::diagnostic::text::count;
use typeloom_project::settings::Resolver;

use super::{changes, now, open, read, show, text};
use crate::args::registry::{PushArgs, RegistryLocation};
use crate::args::{Color, TextFormat};
use crate::barrier;
use crate::exit::Outcome;
use crate::input::{self, Source};
use crate::output::{refuse, write};
use crate::settings;
use crate::sources::{ignored, sources};

pub(super) fn run(args: &PushArgs, at: &RegistryLocation) -> anyhow::Result<Outcome> {
    let is_folder = Path::new(&args.file).is_dir();
    match (&args.subject, is_folder) {
        (Some(subject), false) => one(args, subject, at),
        (None, true) => folder(args, at),
        (Some(subject), true) => {
            bail!("`{}` is a folder, whose models have a subject each: use `--prefix {subject}`", args.file)
        }
        (None, false) => bail!("`{}` is not a folder: the push of a file needs a SUBJECT", args.file),
    }
}

/// The common part of pushes.
struct Pusher<'a> {
    args: &'a PushArgs,
    /// `None` for a preview without a registry.
    registry: Option<Registry>,
    changes: Changes,
    time: Timestamp,
}

/// The result of a push.
enum Answer {
    Pushed(Box<Pushed>),
    /// Of `--dry-run`.
    Preview(Preview),
    Rejected(Box<Verdict>),
}

impl<'a> Pusher<'a> {
    fn new(
        args: &'a PushArgs,
        at: &RegistryLocation,
        source: &Source,
        settings: &mut Resolver,
    ) -> anyhow::Result<Self> {
        let mut changes = changes(&args.state);
        changes.aliases = args.aliases.iter().map(|alias| (alias.clone(), Selector::Latest)).collect();
        let missing = if args.dry_run { Missing::Refuse } else { Missing::Create };
        let setting = settings.settings(source)?;
        let registry = match open(at.registry.as_deref(), setting.registry.as_ref(), missing) {
            Ok(registry) => Some(registry),
            // The first push would create the registry.
            Err(error) if args.dry_run && is_no_registry(&error) => None,
            Err(error) => return Err(error),
        };
        Ok(Self { args, registry, changes, time: now()? })
    }

    fn push(&self, source: &Source, subject: &Subject, bundle: Vec<u8>) -> anyhow::Result<Answer> {
        let source = match source.path() {
            Some(path) => {
                let bytes = files::open(path).with_context(|| format!("cannot read `{}`", source.name))?;
                let (digest, size) = (Hash::of(&bytes), bytes.len() as u64);
                SourceFile { digest, name: source.name.clone(), size }
            }
            // Standard input is read once, so the record describes the interface.
            None => {
                let (digest, size) = (Hash::of(&bundle), bundle.len() as u64);
                SourceFile { digest, name: "-".to_owned(), size }
            }
        };
        let push = Push {
            bundle: bundle.into(),
            source,
            tool: concat!("typeloom ", env!("CARGO_PKG_VERSION")).to_owned(),
            settings: self.changes.clone(),
            time: self.time,
        };
        let answer = match &self.registry {
            None => Ok(Answer::Preview(Preview { version: 1, novelty: Novelty::New })),
            Some(registry) if self.args.dry_run => registry.preview(subject, &push).map(Answer::Preview),
            Some(registry) => registry.push(subject, &push).map(|pushed| Answer::Pushed(Box::new(pushed))),
        };
        match answer {
            Err(RegistryError::Rejected(verdict)) => Ok(Answer::Rejected(verdict)),
            answer => Ok(answer?),
        }
    }
}

fn is_no_registry(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(RegistryError::NoRegistry(_)))
}

/// Pushes one file.
fn one(args: &PushArgs, subject: &Subject, at: &RegistryLocation) -> anyhow::Result<Outcome> {
    let source = input::source(&args.file);
    let mut settings = settings::resolver(&args.solve, Settings::default())?;
    let bundle = match read(&source, &mut settings)? {
        Ok(bundle) => bundle,
        Err(diagnostics) => return refuse(&source.name, &diagnostics, Color::Auto, "not pushed"),
    };
    let pusher = Pusher::new(args, at, &source, &mut settings)?;
    let answer = pusher.push(&source, subject, bundle)?;
    let outcome = match &answer {
        Answer::Pushed(_) | Answer::Preview(_) => Outcome::Typed,
        Answer::Rejected(_) => Outcome::Problems,
    };
    let line = || match &answer {
        Answer::Pushed(pushed) => text::pushed(&source.name, pushed),
        Answer::Preview(preview) => text::preview(&source.name, subject, *preview),
        Answer::Rejected(verdict) => text::verdict(&source.name, verdict),
    };
    show(args.format, line, || object(&answer, subject))?;
    Ok(outcome)
}

fn object(answer: &Answer, subject: &Subject) -> Value {
    match answer {
        Answer::Pushed(pushed) => objects::pushed(pushed),
        Answer::Preview(preview) => objects::preview(subject, *preview),
        Answer::Rejected(verdict) => objects::verdict(verdict),
    }
}

/// Numbers of models by result.
#[derive(Default)]
struct Totals {
    new: usize,
    existing: usize,
    failed: usize,
}

/// Pushes each model of a folder to the subject of its path.
fn folder(args: &PushArgs, at: &RegistryLocation) -> anyhow::Result<Outcome> {
    let settings = settings::resolver(&args.solve, Settings::default())?;
    let mut settings = settings::excluding(settings, &args.folder.exclude)?;
    let models = sources(std::slice::from_ref(&args.file), ignored(&args.folder), &mut settings)?;
    let pusher = Pusher::new(args, at, &input::source("-"), &mut settings)?;
    let (mut totals, mut subjects) = (Totals::default(), HashMap::new());
    for source in models.iter() {
        let result = barrier::guard(&source.name, || {
            let subject = subject_of(args, &source, &mut subjects)?;
            let bundle = read(&source, &mut settings)?.map_err(|found| ill_typed(&source, &found))?;
            let answer = pusher.push(&source, &subject, bundle)?;
            Ok((subject, answer))
        });
        totals.add(&result);
        write(&match args.format {
            TextFormat::Human => line(&source, &result),
            TextFormat::Json => {
                let mut object = match &result {
                    Ok((subject, answer)) => object(answer, subject),
                    Err(error) => json!({"error": format!("{error:#}")}),
                };
                object["file"] = json!(source.name);
                json::text(&object) + "\n"
            }
        })?;
    }
    write(&match args.format {
        TextFormat::Human => totals.line(args.dry_run),
        TextFormat::Json => json::text(&totals.object(args.dry_run)) + "\n",
    })?;
    Ok(if totals.failed == 0 { Outcome::Typed } else { Outcome::Problems })
}

/// The subject of a model: its path in the folder without the extension, after the prefix. Two models cannot
/// have the same.
fn subject_of(
    args: &PushArgs,
    source: &Source,
    known: &mut HashMap<Subject, String>,
) -> anyhow::Result<Subject> {
    let path = source.path().unwrap_or(Path::new(""));
    let name = name_in(Path::new(&args.file), path);
    let subject = match &args.prefix {
        Some(prefix) => format!("{prefix}/{name}").parse(),
        None => name.parse::<Subject>(),
    };
    let subject = subject?;
    if let Some(other) = known.get(&subject) {
        bail!("`{other}` has the subject `{subject}` too");
    }
    known.insert(subject.clone(), source.name.clone());
    Ok(subject)
}

fn ill_typed(source: &Source, diagnostics: &[Diagnostic]) -> anyhow::Error {
    let problems = count(diagnostics.len(), "problem");
    anyhow!("it is not well typed, see `typeloom check {}`: {problems}", source.name)
}

/// The line of one model.
fn line(source: &Source, result: &anyhow::Result<(Subject, Answer)>) -> String {
    let reason = match result {
        Ok((_, Answer::Pushed(pushed))) => return text::pushed(&source.name, pushed),
        Ok((subject, Answer::Preview(preview))) => return text::preview(&source.name, subject, *preview),
        Ok((_, Answer::Rejected(verdict))) => text::reason(verdict),
        Err(error) => format!("{error:#}"),
    };
    format!("{}\n", escape(&format!("{}: not pushed: {reason}", source.name)))
}

impl Totals {
    fn add(&mut self, result: &anyhow::Result<(Subject, Answer)>) {
        let novelty = match result {
            Ok((_, Answer::Pushed(pushed))) => pushed.novelty,
            Ok((_, Answer::Preview(preview))) => preview.novelty,
            Ok((_, Answer::Rejected(_))) | Err(_) => return self.failed += 1,
        };
        match novelty {
            Novelty::New => self.new += 1,
            Novelty::Existing => self.existing += 1,
        }
    }

    fn models(&self) -> usize {
        self.new + self.existing + self.failed
    }

    fn line(&self, dry_run: bool) -> String {
        let Self { new, existing, failed } = self;
        let verb = if dry_run { "would be pushed" } else { "pushed" };
        let models = count(self.models(), "model");
        format!("{models}: {new} {verb}, {existing} unchanged, {failed} failed\n")
    }

    fn object(&self, dry_run: bool) -> Value {
        let Self { new, existing, failed } = self;
        json!({"models": self.models(), "new": new, "unchanged": existing, "failed": failed, "dry_run": dry_run})
    }
}
