//! The result of a check: the problems to report, and what was left out.

use typeloom::check::Diagnostic;
use typeloom::targets::{Assignment, Outcome, Placement, Target};
use typeloom_report::list::{TargetOutcome, TargetPlacement, TargetVerdict};
use typeloom_settings::exceptions::{Excepted, Exceptions};
use typeloom_solver::model::Coverage;

/// The problems of a file that are reported, after levels, exceptions and baseline.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The problems of the model itself.
    pub of_model: Vec<Diagnostic>,
    /// A verdict for each target.
    pub verdicts: Vec<Verdict>,
    /// If the list of problems of the model was cut, its last entry: the number of problems that follow.
    pub(crate) cut: Vec<Diagnostic>,
    /// Whether the model has no errors of its own, before levels and exceptions.
    pub is_valid: bool,
    /// Counts of values by what is known of them.
    pub coverage: Coverage,
    /// The problems that the model excepts.
    pub excepted: Excepted,
    /// The number of problems that the baseline contains.
    pub known: usize,
}

/// The verdict of a target.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The target.
    pub target: Target,
    /// Whether it loads the model.
    pub outcome: Outcome,
    /// An error for each reason of a rejection, and a warning for each node that is undecided.
    pub reasons: Vec<Diagnostic>,
    /// The assignment of the nodes, for a measured target.
    pub placement: Option<Placement>,
}

impl Findings {
    /// The finding about a file that is not a model.
    pub(crate) fn of_problem(problem: Diagnostic) -> Self {
        Self { of_model: vec![problem], ..Self::default() }
    }

    /// All problems: those of the model, the reasons of each target, and the number of those that are left
    /// out.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let reasons = self.verdicts.iter().flat_map(|verdict| &verdict.reasons);
        self.of_model.iter().chain(reasons).chain(&self.cut)
    }

    /// All problems as a list.
    #[must_use]
    pub fn to_vec(&self) -> Vec<Diagnostic> {
        self.diagnostics().cloned().collect()
    }

    /// The target that a problem concerns, for each problem of [`Findings::diagnostics`].
    pub fn targets(&self) -> impl Iterator<Item = Option<Target>> {
        let of_model = self.of_model.iter().map(|_| None);
        let reasons =
            self.verdicts.iter().flat_map(|verdict| verdict.reasons.iter().map(|_| Some(verdict.target)));
        of_model.chain(reasons).chain(self.cut.iter().map(|_| None))
    }

    /// The verdicts that are reported. A model with errors of its own runs nowhere, so for such a model only
    /// rejections are listed.
    #[must_use]
    pub fn shown_verdicts(&self) -> Vec<TargetVerdict> {
        let outcome = |verdict| match verdict {
            Outcome::Runs => TargetOutcome::Runs,
            Outcome::RunsWithFallback => TargetOutcome::RunsWithFallback,
            Outcome::Rejected => TargetOutcome::Rejected,
            Outcome::Undecided => TargetOutcome::Undecided,
        };
        let verdicts = self.verdicts.iter().filter(|it| self.is_valid || it.outcome == Outcome::Rejected);
        verdicts
            .map(|it| TargetVerdict {
                target: it.target.name().to_owned(),
                outcome: outcome(it.outcome),
                placement: it.placement.as_ref().map(placement),
            })
            .collect()
    }

    /// Whether there are no problems.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.diagnostics().next().is_none()
    }

    /// Whether no problem is an error.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        !self.diagnostics().any(Diagnostic::is_error)
    }

    /// The lists of problems that have a code of their own.
    pub(crate) fn lists_mut(&mut self) -> impl Iterator<Item = &mut Vec<Diagnostic>> {
        std::iter::once(&mut self.of_model)
            .chain(self.verdicts.iter_mut().map(|verdict| &mut verdict.reasons))
    }

    /// All lists of problems.
    pub(crate) fn all_lists_mut(&mut self) -> impl Iterator<Item = &mut Vec<Diagnostic>> {
        let Self { of_model, verdicts, cut, .. } = self;
        let reasons = verdicts.iter_mut().map(|verdict| &mut verdict.reasons);
        std::iter::once(of_model).chain(reasons).chain(std::iter::once(cut))
    }

    /// Removes the problems that the model excepts.
    pub(crate) fn except(&mut self, exceptions: &Exceptions) {
        let mut excepted = Excepted::default();
        for list in self.lists_mut() {
            let Excepted { codes, unknown } = exceptions.apply(list);
            for (code, count) in codes {
                *excepted.codes.entry(code).or_insert(0) += count;
            }
            excepted.unknown = unknown;
        }
        self.excepted = excepted;
    }
}

/// A placement in a report.
#[must_use]
pub fn placement(placement: &Placement) -> TargetPlacement {
    let Placement { nodes: _, partitions, crossing, conditions, fixed } = placement;
    TargetPlacement {
        device: placement.count(Assignment::Device),
        cpu: placement.count(Assignment::Cpu),
        rejected: placement.count(Assignment::Nowhere),
        undecided: placement.count(Assignment::Unknown),
        partitions: *partitions,
        crossing: crossing.clone(),
        conditions: conditions.clone(),
        fixed: fixed.clone(),
    }
}
