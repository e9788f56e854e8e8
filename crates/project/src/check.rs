//! The check of one file. The [crate] documentation explains the steps and their order.

use std::sync::Arc;

use typeloom::check::{CheckError, Checked, Diagnostic, check_with};
use typeloom_io::files::{SmallTensors, report_missing_by, size};
use typeloom_settings::exceptions::Exceptions;
use typeloom_solver::diagnostic::{MAX_LISTED, diagnose_error};

use crate::error::Error;
use crate::file::File;
use crate::findings::{Findings, Verdict};
use crate::plan::Plan;

/// The size of a file with tensors, or the reason why it cannot be used, as a clause.
pub type SizeOf<'s> = dyn FnMut(&str) -> Result<u64, String> + 's;

/// The place of the files with tensors, for the step "external data". The step is left out if the settings
/// turn it off.
pub enum SideFiles<'s> {
    /// In the folder of the file; a model without a folder has none of its files.
    InFolder,
    /// The caller knows their sizes: it asks an object store, or records which files are used.
    By(&'s mut SizeOf<'s>),
    /// Nowhere: the caller needs types only, or a model in memory has no folder.
    Unchecked,
}

/// A file that was checked.
pub struct Examined<'a> {
    /// The types of all values; the problem of a file that is not a model is the only one of the findings.
    pub checked: Option<Checked<'a>>,
    /// The problems to report.
    pub findings: Findings,
}

impl Plan {
    /// Checks a file. This is the sequence of the [crate] documentation without the baseline, which compares
    /// several files: [`Baselines::apply`](crate::baselines::Baselines::apply).
    ///
    /// # Errors
    /// If an option is wrong for the model. Problems of the file are findings.
    pub fn check<'a>(&'a self, file: &'a File, side: SideFiles<'_>) -> Result<Examined<'a>, Error> {
        let tensors = self.small_tensors(file);
        let mut solved = self.solve_with(file, tensors.as_ref(), side)?;
        let mut findings = match &mut solved {
            Ok(checked) => self.found(file, checked)?,
            Err(problem) => Findings::of_problem(Diagnostic::clone(problem)),
        };
        for list in findings.lists_mut() {
            self.levels.apply(list);
        }
        if self.uses_exceptions()
            && !findings.is_empty()
            && let Some(model) = solved.as_mut().ok().and_then(|checked| checked.solved().model())
        {
            findings.except(&Exceptions::of_model(model));
        }
        if let Some(tensors) = tensors {
            // The result can be kept for long, and many of them. A question that needs a file opens it again.
            tensors.close();
        }
        Ok(Examined { checked: solved.ok(), findings })
    }

    /// The first two steps, `check` and `external data`: the types of a file, with an error for each tensor
    /// whose data is not there. `Err` in the result is the problem of a file that is not a model.
    ///
    /// # Errors
    /// If an option is wrong for the model.
    pub fn solve<'a>(
        &'a self,
        file: &'a File,
        side: SideFiles<'_>,
    ) -> Result<Result<Checked<'a>, Box<Diagnostic>>, Error> {
        self.solve_with(file, self.small_tensors(file).as_ref(), side)
    }

    fn solve_with<'a>(
        &'a self,
        file: &'a File,
        tensors: Option<&Arc<SmallTensors>>,
        side: SideFiles<'_>,
    ) -> Result<Result<Checked<'a>, Box<Diagnostic>>, Error> {
        if let Some(problem) = file.problem() {
            return Ok(Err(Box::new(problem.clone())));
        }
        let mut checked = match check_with(file.model(), &self.options_of(tensors), &self.operators) {
            Ok(checked) => checked,
            Err(error) => return problem(file, error).map(|problem| Err(Box::new(problem))),
        };
        if self.uses_side_files() {
            match side {
                SideFiles::InFolder => {
                    report_missing_by(checked.solved(), |location| size(file.folder(), location));
                }
                SideFiles::By(size_of) => report_missing_by(checked.solved(), size_of),
                SideFiles::Unchecked => {}
            }
        }
        Ok(Ok(checked))
    }

    /// The types of a file that a command or function works on, or the problems of a file with errors. These
    /// are all of them: levels and exceptions decide what a report contains, and not whether a model runs.
    ///
    /// # Errors
    /// If an option is wrong for the model.
    pub fn well_typed<'a>(
        &'a self,
        file: &'a File,
        side: SideFiles<'_>,
    ) -> Result<Result<Checked<'a>, Vec<Diagnostic>>, Error> {
        Ok(match self.solve(file, side)? {
            Ok(checked) if checked.is_ok() => Ok(checked),
            Ok(mut checked) => Err(checked.diagnostics()),
            Err(problem) => Err(vec![*problem]),
        })
    }

    /// All problems of a file, without levels and exceptions.
    ///
    /// # Errors
    /// If an option is wrong for the model.
    pub fn problems(&self, file: &File) -> Result<Vec<Diagnostic>, Error> {
        Ok(match self.solve(file, SideFiles::Unchecked)? {
            Ok(mut checked) => checked.diagnostics(),
            Err(problem) => vec![*problem],
        })
    }

    /// The steps `diagnose` and `targets`.
    fn found(&self, file: &File, checked: &mut Checked<'_>) -> Result<Findings, Error> {
        let (coverage, is_valid) = (checked.coverage(), checked.is_ok());
        let mut of_model = checked.diagnostics();
        // The last one of a list that was cut states how many follow, which may be of any code, so it is not
        // removed.
        let cut = if of_model.len() >= MAX_LISTED { of_model.pop() } else { None };
        let cut = cut.into_iter().collect();
        let mut verdicts = Vec::with_capacity(self.targets.len());
        for target in &self.targets {
            let verdict = target.check(checked).map_err(|source| wrong_option(file, source))?;
            let typeloom::targets::Verdict { outcome, diagnostics: reasons, placement } = verdict;
            verdicts.push(Verdict { target: *target, outcome, reasons, placement });
        }
        Ok(Findings { of_model, verdicts, cut, is_valid, coverage, ..Findings::default() })
    }
}

/// The diagnostic of a file that cannot be checked.
///
/// # Errors
/// If an option is wrong for the model.
pub fn problem(file: &File, error: CheckError) -> Result<Diagnostic, Error> {
    diagnose_error(&error).ok_or_else(|| wrong_option(file, error))
}

fn wrong_option(file: &File, source: CheckError) -> Error {
    Error::Check { name: file.name.clone(), source }
}
