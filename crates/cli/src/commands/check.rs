//! `typeloom check FILE...`: proves the type of every value.

#[cfg(feature = "registry")]
mod against;
#[cfg(not(feature = "registry"))]
#[path = "check/against/absent.rs"]
mod against;
mod repair;

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};

use typeloom_project::baselines::{BaselineMode, Baselines};
use typeloom_project::file::File;
use typeloom_project::findings::Findings;
use typeloom_project::parts::onnx::text::escape;
use typeloom_project::parts::report::list::{Checked, Content, FileReport, ListedFiles, Statistics};
use typeloom_project::parts::settings::effective::{Settings, Sourced};
use typeloom_project::parts::solver::diagnostic::Safety;
use typeloom_project::parts::types::plural::counted;
use typeloom_project::plan::Plan;
use typeloom_project::settings::Resolver;

use against::Against;
use repair::Repaired;

use crate::args::CheckArgs;
use crate::barrier;
use crate::baselines;
use crate::exit::Outcome;
use crate::input::{Source, read};
use crate::interrupt::Interrupt;
use crate::ordered::{Next, Pool};
use crate::output::{complain, note};
use crate::progress::{ProgressBar, progress};
use crate::reports::Reports;
use crate::settings::{self, current};
use crate::sources::{Sources, ignored, sources};
use crate::worker::{self, Worker};

/// The problems of one file after its repair, and its comparison with a version.
struct Found {
    repaired: Option<Repaired>,
    findings: Findings,
    against: Option<against::Result>,
}

/// A model with its settings.
type Item = (Source, Arc<Plan>);

/// A model with its settings and its problems.
type Answer = (Source, Arc<Plan>, anyhow::Result<Found>);

/// The number of models that a thread takes at once, at most: passing one on takes longer than the check of a
/// small one.
const MAX_BATCH: usize = 16;

/// The greatest file that is checked without other threads if it is the only one, in bytes. Starting a thread
/// takes longer than the check of a small model.
const MAX_ALONE: u64 = 1 << 20;

/// Time between two questions whether the command is interrupted.
const POLL: Duration = Duration::from_millis(50);

thread_local! {
    /// The worker of this thread, with `--max-memory`.
    static WORKER: RefCell<Option<Worker>> = const { RefCell::new(None) };
}

/// The command; `arguments` are those of the process.
pub(crate) fn run(args: &CheckArgs, arguments: &[OsString]) -> anyhow::Result<Outcome> {
    let settings = settings::resolver(&args.solve, command_line(args))?;
    let mut settings = settings::excluding(settings, &args.inputs.folders.exclude)?;
    if let Some(limit) = args.max_memory.filter(|_| worker::is_worker()) {
        worker::work(limit, |source| {
            // This process reports nothing.
            if let Ok(plan) = settings.plan(source) {
                let _ = guarded(source, &plan, &Barrier::default());
            }
        })?;
        return Ok(Outcome::Typed);
    }
    let limit = args.max_memory.map(|limit| worker::Plan::new(arguments, limit)).transpose()?;
    let sources = sources(&args.inputs.files, ignored(&args.inputs.folders), &mut settings)?;
    let mode = if args.update_baseline { BaselineMode::Update } else { BaselineMode::Compare };
    let listed = if args.quiet { ListedFiles::WithFindings } else { ListedFiles::All };
    let against = Against::open(&args.against, &mut settings)?;
    let fix = repair::requested(args);
    if fix.is_some() && sources.has_input() {
        bail!("--fix replaces files, and standard input is none");
    }
    let barrier = Arc::new(Barrier { against, limit, fix });
    let is_alone = sources.len() == 1 && sources.iter().all(|source| is_small(&source));
    let progress = match is_alone {
        true => ProgressBar::hidden(),
        false => progress(u64::try_from(sources.len()).ok(), "{bar:30} {pos}/{len} {wide_msg}"),
    };
    let mut reports = Reports::open(&args.report, args.color, listed)?;
    reports.totals.statistics = args.statistics.then(Statistics::new);
    let is_terminal = std::io::stdout().is_terminal();
    let baselines = Baselines::new(mode, current(), read);
    let is_for_people = args.report.is_for_people();
    let mut run = Run { mode, baselines, reports, progress, is_terminal, is_for_people };
    let interrupt;
    let ended = if is_alone {
        // A signal ends the process: nothing has been reported that a summary could follow.
        run.check_each(&sources, &mut settings, &barrier)?
    } else {
        interrupt = Interrupt::listen();
        run.check_all(args.jobs, &sources, &mut settings, barrier, &interrupt)?
    };
    match ended {
        Ended::Completely => run.finish(),
        Ended::Interrupted => run.interrupt(sources.len()),
    }
}

/// The end of a run.
enum Ended {
    Completely,
    Interrupted,
}

/// The open outputs of a run.
struct Run {
    mode: BaselineMode,
    baselines: Baselines,
    reports: Reports,
    progress: ProgressBar,
    /// Whether standard output is a terminal.
    is_terminal: bool,
    /// Whether standard output has a report for people.
    is_for_people: bool,
}

/// Whether a model is in a small file.
fn is_small(source: &Source) -> bool {
    let meta = source.path().and_then(|path| path.metadata().ok());
    meta.is_some_and(|meta| meta.is_file() && meta.len() <= MAX_ALONE)
}

impl Run {
    /// Checks models one after the other on this thread.
    fn check_each(
        &mut self,
        sources: &Sources,
        settings: &mut Resolver,
        barrier: &Barrier,
    ) -> anyhow::Result<Ended> {
        for source in sources.iter() {
            let plan = settings.plan(&source)?;
            let found = guarded(&source, &plan, barrier);
            self.report_all(vec![(source, plan, found)])?;
        }
        Ok(Ended::Completely)
    }

    /// Checks models on several threads, and reports them in order.
    fn check_all(
        &mut self,
        jobs: Option<NonZeroUsize>,
        sources: &Sources,
        settings: &mut Resolver,
        barrier: Arc<Barrier>,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Ended> {
        let jobs = jobs.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
        let jobs = jobs.min(NonZeroUsize::new(sources.len()).unwrap_or(NonZeroUsize::MIN));
        let one = move |(source, plan): Item| -> Answer {
            let found = guarded(&source, &plan, &barrier);
            (source, plan, found)
        };
        let work = move |batch: Vec<Item>| -> Vec<Answer> { batch.into_iter().map(&one).collect() };
        let mut pool = Pool::start(jobs, work).context("cannot start a thread")?;
        let length = (sources.len() / jobs.get() / 8).clamp(1, MAX_BATCH);
        let mut rest = sources.iter();
        // An error in the settings of a model ends the run after the models before it.
        let mut failed = None;
        loop {
            while !pool.is_full() && failed.is_none() {
                let mut batch = Vec::with_capacity(length);
                for source in rest.by_ref().take(length) {
                    match settings.plan(&source) {
                        Ok(plan) => batch.push((source, plan)),
                        Err(error) => {
                            failed = Some(error.into());
                            break;
                        }
                    }
                }
                if batch.is_empty() {
                    break;
                }
                pool.submit(batch);
            }
            let next = pool.next(POLL);
            if interrupt.has_arrived() {
                return Ok(Ended::Interrupted);
            }
            match next {
                Next::Waiting => {}
                Next::Result(answers) => self.report_all(answers)?,
                Next::Done => return failed.map_or(Ok(Ended::Completely), Err),
            }
        }
    }

    /// Reports models. The progress bar is hidden meanwhile if both are on a terminal, once for all models,
    /// because drawing it takes longer than a report.
    fn report_all(&mut self, answers: Vec<Answer>) -> anyhow::Result<()> {
        let progress = self.progress.clone();
        let number = answers.len() as u64;
        let last = answers.last().map(|(source, ..)| source.name.clone());
        let is_shown = self.is_terminal || answers.iter().any(|(.., found)| found.is_err());
        let report = || answers.into_iter().try_for_each(|answer| self.report(answer));
        if progress.is_hidden() || !is_shown {
            report()?;
        } else {
            progress.suspend(report)?;
        }
        progress.set_message(last.unwrap_or_default());
        progress.inc(number);
        Ok(())
    }

    /// Reports a model.
    fn report(&mut self, (source, plan, found): Answer) -> anyhow::Result<()> {
        let written = found.and_then(|found| {
            let repaired = found.repaired.iter();
            repaired.into_iter().try_for_each(|it| it.write(&source, self.is_for_people))?;
            Ok(found)
        });
        let found = match written {
            Ok(mut found) => {
                match &plan.settings.baseline {
                    Some(path) => {
                        self.baselines.apply(&path.value, &source, &mut found.findings)?;
                    }
                    None if self.mode == BaselineMode::Update => {
                        bail!(
                            "--update-baseline needs a baseline: --baseline FILE, or `baseline` in the settings"
                        );
                    }
                    None => {}
                }
                Ok(found)
            }
            Err(error) => {
                complain(&error);
                Err(escape(&format!("{error:#}")).into_owned())
            }
        };
        let diagnostics = found.as_ref().map(|found| found.findings.to_vec()).unwrap_or_default();
        let content = match &found {
            Ok(Found { findings, against, repaired: _ }) => {
                let max = plan.settings.max_problems.as_ref().map_or(usize::MAX, |max| max.value);
                Content::Checked(Checked {
                    diagnostics: &diagnostics,
                    shown: max.min(diagnostics.len()),
                    known: findings.known,
                    excepted: findings.excepted.codes.clone(),
                    unknown_exceptions: findings.excepted.unknown.clone(),
                    coverage: findings.coverage,
                    targets: findings.shown_verdicts(),
                    against: against.as_ref().map(against::Result::report),
                })
            }
            Err(error) => Content::Unusable { error },
        };
        self.reports.file(&FileReport { file: &source.name, content })
    }

    /// Ends the reports and writes the baselines.
    fn finish(mut self) -> anyhow::Result<Outcome> {
        self.progress.finish_and_clear();
        self.reports.totals.fixed = self.baselines.fixed();
        let totals = self.reports.totals.clone();
        self.reports.finish()?;
        baselines::write(self.baselines)?;
        Ok(match totals.unusable {
            0 if totals.errors == 0 => Outcome::Typed,
            0 => Outcome::Problems,
            _ => Outcome::Unusable,
        })
    }

    /// Ends the reports of an interrupted run; baselines stay as they are.
    fn interrupt(self, files: usize) -> anyhow::Result<Outcome> {
        self.progress.finish_and_clear();
        let checked = self.reports.totals.files;
        self.reports.interrupt(files.saturating_sub(checked))?;
        note(&format!(
            "interrupted after {checked} of {}; no report file and no baseline is written",
            counted(files, "file")
        ));
        Ok(Outcome::Interrupted)
    }
}

/// The settings of the command line, except for those of the solver.
fn command_line(args: &CheckArgs) -> Settings {
    let off = |flag: bool| flag.then(|| Sourced::of_command_line(false));
    Settings {
        severities: args.levels.settings(),
        targets: args.targets.iter().cloned().map(Sourced::of_command_line).collect(),
        target_files: args.target_files.iter().cloned().map(Sourced::of_command_line).collect(),
        inline: off(args.no_inline),
        external_data: off(args.no_external_data),
        max_problems: args.max_problems.map(Sourced::of_command_line),
        baseline: args.baseline.clone().map(Sourced::of_command_line),
        ..Settings::default()
    }
}

/// The versions that a check compares with, its limit on memory, and the repairs that it applies.
#[derive(Default)]
struct Barrier {
    against: Option<Against>,
    limit: Option<worker::Plan>,
    fix: Option<Safety>,
}

/// Checks a model so that it does not end a run of many.
fn guarded(source: &Source, plan: &Plan, barrier: &Barrier) -> anyhow::Result<Found> {
    if let Some(limit) = &barrier.limit {
        WORKER.with_borrow_mut(|worker| worker::test(limit, worker, source))?;
    }
    barrier::guard(&source.name, || check(source, plan, barrier))
}

fn check(source: &Source, plan: &Plan, barrier: &Barrier) -> anyhow::Result<Found> {
    let file = source.read()?;
    let found = examine(source, plan, &file, barrier)?;
    let Some(applied) = barrier.fix.filter(|_| repair::is_needed(&found.findings)) else { return Ok(found) };
    let repaired = repair::repair(source, &file, plan, &found.findings, applied)?;
    let found = match &repaired.file {
        Some(new) => examine(source, plan, new, barrier)?,
        None => found,
    };
    Ok(Found { repaired: Some(repaired), ..found })
}

/// The problems of a file, which is that of the source or its repair.
fn examine(source: &Source, plan: &Plan, file: &File, barrier: &Barrier) -> anyhow::Result<Found> {
    let mut examined = source.with_side_files(|side| plan.check(file, side))?;
    // A model with errors has no interface.
    let against = match (&mut examined.checked, &barrier.against) {
        (Some(checked), Some(against)) if checked.is_ok() => Some(against.compare(file, checked)?),
        (_, _) => None,
    };
    Ok(Found { repaired: None, findings: examined.findings, against })
}
