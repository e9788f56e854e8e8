//! Verdicts of targets in reports: the clause of a summary, the object for programs, and the table of a run.

use serde_json::{Value, json};
use typeloom_solver::diagnostic::text::count;

use super::{Checked, Content, FileReport, Status};

/// Whether a target can run a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TargetVerdict {
    /// The name of the target.
    pub target: String,
    pub outcome: TargetOutcome,
    /// The assignment of the nodes, if the nodes of the target were measured.
    pub placement: Option<TargetPlacement>,
}

/// The outcomes of a check for a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TargetOutcome {
    /// The target runs the model.
    Runs,
    /// The target runs the model, with some nodes on the CPU instead of the device.
    RunsWithFallback,
    /// The target rejects the model.
    Rejected,
    /// The facts about the target do not decide it.
    Undecided,
}

/// The assignment of the nodes of a model.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TargetPlacement {
    /// The number of nodes that the device runs.
    pub device: usize,
    /// The number of nodes that the CPU runs instead.
    pub cpu: usize,
    /// The number of nodes that do not run.
    pub rejected: usize,
    /// The number of nodes whose place is unknown.
    pub undecided: usize,
    /// The number of parts of the model that the device runs without a stop.
    pub partitions: usize,
    /// The bytes that cross between the device and the CPU, as an expression in the symbols; `None` if the
    /// size of a value is unknown.
    pub crossing: Option<String>,
    /// The conditions on symbols under which the verdict holds.
    pub conditions: Vec<String>,
    /// The symbols that have to be numbers.
    pub fixed: Vec<String>,
}

impl TargetOutcome {
    /// The name in reports for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::RunsWithFallback => "fallback",
            Self::Rejected => "rejected",
            Self::Undecided => "undecided",
        }
    }

    /// The verb in front of the name of the target.
    fn verb(self) -> &'static str {
        match self {
            Self::Runs => "runs on",
            Self::RunsWithFallback => "runs with fallback on",
            Self::Rejected => "does not run on",
            Self::Undecided => "undecided on",
        }
    }
}

impl TargetPlacement {
    fn nodes(&self) -> usize {
        let Self { device, cpu, rejected, undecided, .. } = self;
        device + cpu + rejected + undecided
    }

    /// The nodes that decide an outcome: `3 of 210 nodes`; `None` if there are none.
    fn share(&self, outcome: TargetOutcome) -> Option<String> {
        let number = match outcome {
            TargetOutcome::Runs => 0,
            TargetOutcome::RunsWithFallback => self.cpu,
            TargetOutcome::Rejected => self.rejected,
            TargetOutcome::Undecided => self.undecided,
        };
        (number > 0).then(|| format!("{number} of {}", count(self.nodes(), "node")))
    }

    /// The details of an outcome, in parentheses in a summary.
    fn details(&self, outcome: TargetOutcome) -> Option<String> {
        let share = self.share(outcome)?;
        if outcome != TargetOutcome::RunsWithFallback {
            return Some(share);
        }
        let mut parts = vec![format!("{share} on the CPU")];
        if self.partitions == 0 {
            return parts.pop();
        }
        parts.push(count(self.partitions, "partition"));
        parts.extend(self.crossing.as_ref().map(|bytes| match bytes.as_str() {
            "1" => "1 byte crosses".to_owned(),
            bytes => format!("{bytes} bytes cross"),
        }));
        Some(parts.join(", "))
    }

    /// The conditions as a clause: `N != 1, and batch and seq are numbers`; `None` if there are none.
    fn requirements(&self) -> Option<String> {
        let mut parts = self.conditions.clone();
        match self.fixed.split_last() {
            None => {}
            Some((symbol, [])) => parts.push(format!("{symbol} is a number")),
            Some((last, others)) => parts.push(format!("{} and {last} are numbers", others.join(", "))),
        }
        (!parts.is_empty()).then(|| parts.join(", and "))
    }

    /// The object for programs.
    #[must_use]
    pub fn value(&self) -> Value {
        let Self { device, cpu, rejected, undecided, partitions, crossing, conditions, fixed } = self;
        json!({
            "device": device,
            "cpu": cpu,
            "rejected": rejected,
            "undecided": undecided,
            "partitions": partitions,
            "crossing": crossing,
            "conditions": conditions,
            "fixed": fixed,
        })
    }
}

impl TargetVerdict {
    /// The conditions of a verdict. They say nothing about a model that does not run.
    fn requirements(&self) -> Option<String> {
        match self.outcome {
            TargetOutcome::Runs | TargetOutcome::RunsWithFallback => self.placement.as_ref()?.requirements(),
            TargetOutcome::Rejected | TargetOutcome::Undecided => None,
        }
    }

    /// The verdict as a clause: `undecided on qnn-npu (7 of 210 nodes)`.
    pub(super) fn clause(&self) -> String {
        let mut text = format!("{} {}", self.outcome.verb(), self.target);
        if let Some(details) = self.placement.as_ref().and_then(|it| it.details(self.outcome)) {
            text.push_str(&format!(" ({details})"));
        }
        if let Some(requirements) = self.requirements() {
            text.push_str(&format!(" where {requirements}"));
        }
        text
    }

    /// The verdict in a cell of a table: `undecided: 7 of 210 nodes`.
    fn cell(&self) -> String {
        let mut text = self.outcome.name().to_owned();
        if let Some(share) = self.placement.as_ref().and_then(|it| it.share(self.outcome)) {
            text.push_str(&format!(": {share}"));
        }
        if self.requirements().is_some() {
            text.push_str(", conditional");
        }
        text
    }
}

/// The verdicts of a run: models by targets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TargetTable {
    /// The names of the targets, in the order in which they occur.
    targets: Vec<String>,
    /// The files, with a cell for each target that was asked for.
    rows: Vec<Row>,
}

/// A file with its verdicts.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    file: String,
    /// By the number of the target.
    cells: Vec<Option<String>>,
    /// The text of the other cells: a model with errors has no verdicts, and neither has an unusable file.
    rest: &'static str,
}

impl TargetTable {
    /// Adds a file.
    pub(super) fn add(&mut self, report: &FileReport<'_>) {
        let verdicts: &[TargetVerdict] = match &report.content {
            Content::Checked(Checked { targets, .. }) => targets,
            Content::Compared(_) | Content::Unusable { .. } => &[],
        };
        let mut cells = Vec::new();
        for verdict in verdicts {
            let at = self.targets.iter().position(|known| *known == verdict.target).unwrap_or_else(|| {
                self.targets.push(verdict.target.clone());
                self.targets.len() - 1
            });
            if cells.len() <= at {
                cells.resize(at + 1, None);
            }
            cells[at] = Some(verdict.cell());
        }
        let rest = match report.status() {
            Status::Errors => "errors",
            Status::Unusable => "unusable",
            Status::Clean | Status::Warnings => "",
        };
        self.rows.push(Row { file: report.file.to_owned(), cells, rest });
    }

    /// The head and the rows; `None` without verdicts.
    pub(crate) fn rows(&self) -> Option<Vec<Vec<String>>> {
        if self.targets.is_empty() {
            return None;
        }
        let head = std::iter::once("model".to_owned()).chain(self.targets.iter().cloned()).collect();
        let row = |row: &Row| {
            let cell = |at| row.cells.get(at).cloned().flatten().unwrap_or_else(|| row.rest.to_owned());
            std::iter::once(row.file.clone()).chain((0..self.targets.len()).map(cell)).collect()
        };
        Some(std::iter::once(head).chain(self.rows.iter().map(row)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(outcome: TargetOutcome, placement: TargetPlacement) -> TargetVerdict {
        TargetVerdict { target: "npu".to_owned(), outcome, placement: Some(placement) }
    }

    #[test]
    fn a_clause_states_the_cause() {
        let placement = TargetPlacement {
            device: 200,
            cpu: 3,
            undecided: 7,
            partitions: 4,
            crossing: Some("8*N".to_owned()),
            fixed: vec!["batch".to_owned(), "seq".to_owned()],
            ..TargetPlacement::default()
        };
        let clause = |outcome| verdict(outcome, placement.clone()).clause();
        assert_eq!(clause(TargetOutcome::Undecided), "undecided on npu (7 of 210 nodes)");
        assert_eq!(clause(TargetOutcome::Runs), "runs on npu where batch and seq are numbers");
        let fallback = TargetPlacement { undecided: 0, device: 207, fixed: Vec::new(), ..placement.clone() };
        assert_eq!(
            verdict(TargetOutcome::RunsWithFallback, fallback.clone()).clause(),
            "runs with fallback on npu (3 of 210 nodes on the CPU, 4 partitions, 8*N bytes cross)"
        );
        assert_eq!(verdict(TargetOutcome::RunsWithFallback, fallback).cell(), "fallback: 3 of 210 nodes");
        assert_eq!(verdict(TargetOutcome::Runs, placement).cell(), "runs, conditional");
    }

    #[test]
    fn a_model_without_nodes_on_the_device_has_no_partitions() {
        let placement = TargetPlacement { cpu: 2, ..TargetPlacement::default() };
        assert_eq!(
            verdict(TargetOutcome::RunsWithFallback, placement).clause(),
            "runs with fallback on npu (2 of 2 nodes on the CPU)"
        );
    }

    #[test]
    fn conditions_precede_the_symbols_that_are_numbers() {
        let one = TargetPlacement {
            conditions: vec!["N != 1".to_owned()],
            fixed: vec!["N".to_owned()],
            ..TargetPlacement::default()
        };
        assert_eq!(verdict(TargetOutcome::Runs, one).clause(), "runs on npu where N != 1, and N is a number");
    }
}
