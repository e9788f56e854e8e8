//! The rules: growth with the size, and distance from the record.

use std::fmt;

use crate::FACTOR;
use crate::catalogue::Family;
use crate::counts::Counts;

/// The maximum distance from the record, in per cent. The compiler arranges the same code differently in
/// another folder, which moves counts by some per cent.
pub(crate) const TOLERANCE: f64 = 10.0;

/// The counts of a family, and its record.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) size: usize,
    /// The maximum growth.
    pub(crate) limit: f64,
    /// The counts at the size and at [`FACTOR`] times that.
    pub(crate) now: [u64; 2],
    /// The recorded counts of the same sizes.
    pub(crate) recorded: Option<[u64; 2]>,
}

impl Row {
    /// The row of a family.
    pub(crate) fn new(family: &Family, now: [u64; 2], recorded: &Counts) -> Self {
        let sizes = [family.size, family.size * FACTOR];
        let recorded = recorded.get(family.name).map(|recorded| recorded.counts);
        let recorded = recorded.filter(|counts| counts.map(|(size, _)| size) == sizes);
        Self {
            name: family.name,
            unit: family.unit,
            size: family.size,
            limit: family.growth.limit(),
            now,
            recorded: recorded.map(|counts| counts.map(|(_, count)| count)),
        }
    }

    /// The sizes with their counts.
    pub(crate) fn counts(&self) -> [(usize, u64); 2] {
        [(self.size, self.now[0]), (self.size * FACTOR, self.now[1])]
    }

    /// The instructions at [`FACTOR`] times the size, as a multiple.
    pub(crate) fn growth(&self) -> f64 {
        self.now[1] as f64 / self.now[0] as f64
    }

    /// The changes against the record, in per cent, for both sizes.
    pub(crate) fn changes(&self) -> Option<[f64; 2]> {
        let recorded = self.recorded?;
        let change = |now: u64, recorded: u64| (now as f64 - recorded as f64) * 100.0 / recorded as f64;
        Some([0, 1].map(|at| change(self.now[at], recorded[at])))
    }

    /// The greater change.
    pub(crate) fn rise(&self) -> Option<f64> {
        self.changes().map(|[small, large]| small.max(large))
    }

    /// The violations and notes. If the record is of another compiler, distances from it are information.
    pub(crate) fn findings(&self, is_same_compiler: bool) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut add = |kind| found.push(Finding { family: self.name, kind });
        if self.growth() > self.limit {
            add(Kind::Growth { times: self.growth(), limit: self.limit });
        }
        match self.changes() {
            None => add(Kind::Missing),
            Some(changes) => {
                let [low, high] = [changes[0].min(changes[1]), changes[0].max(changes[1])];
                if high > TOLERANCE {
                    add(if is_same_compiler { Kind::Above(high) } else { Kind::Other(high) });
                } else if low < -TOLERANCE {
                    add(if is_same_compiler { Kind::Below(low) } else { Kind::Other(low) });
                }
            }
        }
        found
    }
}

/// A finding about a family.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Finding {
    family: &'static str,
    kind: Kind,
}

/// Kinds of findings; changes are in per cent.
#[derive(Clone, PartialEq, Debug)]
enum Kind {
    Growth {
        times: f64,
        limit: f64,
    },
    Above(f64),
    Missing,
    /// The record can be lowered.
    Below(f64),
    /// The record is of another compiler.
    Other(f64),
}

impl Finding {
    /// Whether the family violates a rule.
    pub(crate) fn is_error(&self) -> bool {
        match self.kind {
            Kind::Growth { .. } | Kind::Above(_) | Kind::Missing => true,
            Kind::Below(_) | Kind::Other(_) => false,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, kind } = self;
        match kind {
            Kind::Growth { times, limit } => write!(
                f,
                "error: {family}: {times:.2} times the instructions at {FACTOR} times the size, at most {limit} are allowed"
            ),
            Kind::Above(change) => write!(
                f,
                "error: {family}: {change:+.1} % against the record, at most {TOLERANCE} % without a reason"
            ),
            Kind::Missing => write!(f, "error: {family}: no record for these sizes; `--bless` writes one"),
            Kind::Below(change) => {
                write!(f, "note: {family}: {change:+.1} % against the record; `--bless` lowers it")
            }
            Kind::Other(change) => {
                write!(f, "note: {family}: {change:+.1} % against the record of another compiler")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::LINEAR;

    fn row(now: [u64; 2], recorded: Option<[u64; 2]>) -> Row {
        Row { name: "family", unit: "nodes", size: 100, limit: LINEAR, now, recorded }
    }

    fn errors(row: &Row, is_same_compiler: bool) -> Vec<String> {
        let findings = row.findings(is_same_compiler);
        findings.iter().filter(|finding| finding.is_error()).map(ToString::to_string).collect()
    }

    #[test]
    fn a_rise_of_more_than_ten_per_cent_fails_at_either_size() {
        let recorded = Some([1000, 9000]);
        for now in [[1101, 9000], [1000, 9910]] {
            assert_eq!(
                errors(&row(now, recorded), true),
                ["error: family: +10.1 % against the record, at most 10 % without a reason"]
            );
        }
        assert_eq!(errors(&row([1090, 9800], recorded), true), [""; 0]);
    }

    #[test]
    fn more_than_eleven_times_the_instructions_fail() {
        let now = [1000, 11_500];
        assert_eq!(
            errors(&row(now, Some(now)), true),
            ["error: family: 11.50 times the instructions at 10 times the size, at most 11 are allowed"]
        );
        assert_eq!(errors(&row([1000, 11_000], Some([1000, 11_000])), true), [""; 0]);
    }

    #[test]
    fn a_family_without_a_record_fails() {
        let expected = ["error: family: no record for these sizes; `--bless` writes one"];
        assert_eq!(errors(&row([1000, 10_000], None), true), expected);
        assert_eq!(errors(&row([1000, 10_000], None), false), expected);
    }

    #[test]
    fn a_fall_is_reported_and_does_not_fail() {
        let findings = row([880, 9000], Some([1000, 9000])).findings(true);
        let texts: Vec<_> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["note: family: -12.0 % against the record; `--bless` lowers it"]);
        assert!(!findings[0].is_error());
        assert_eq!(row([910, 8200], Some([1000, 9000])).findings(true), []);
    }

    #[test]
    fn with_another_compiler_growth_fails_and_a_rise_does_not() {
        assert_eq!(errors(&row([2000, 20_000], Some([1000, 10_000])), false), [""; 0]);
        assert_eq!(row([2000, 20_000], Some([1000, 10_000])).findings(false).len(), 1);
        assert_eq!(errors(&row([1000, 11_500], Some([1000, 10_000])), false).len(), 1);
    }
}
