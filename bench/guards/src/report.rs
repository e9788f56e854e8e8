//! The table of counts, and the verdict below it.

use std::fmt::Write as _;

use crate::FACTOR;
use crate::catalogue::Family;
use crate::counts::{Compiler, Counts};
use crate::verdict::{Finding, Row};

/// One line for each family and size.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut table = vec![
        ["family", "size", "unit", "instructions", "per unit", "growth", "recorded", "change"]
            .map(str::to_owned),
    ];
    for row in rows {
        for at in 0..2 {
            let (size, count) = row.counts()[at];
            table.push([
                if at == 0 { row.name.to_owned() } else { String::new() },
                size.to_string(),
                if at == 0 { row.unit.to_owned() } else { String::new() },
                count.to_string(),
                format!("{:.0}", count as f64 / size as f64),
                if at == 0 { String::new() } else { format!("{:.2}", row.growth()) },
                row.recorded.map_or_else(|| "-".to_owned(), |recorded| recorded[at].to_string()),
                row.changes().map_or_else(String::new, |changes| format!("{:+.1} %", changes[at])),
            ]);
        }
    }
    aligned(&table)
}

/// The findings, and the number of families that violate rules.
pub(crate) fn verdict(findings: &[Finding], recorded: &Counts, running: &Compiler) -> String {
    let mut text = String::new();
    if let Some(recorded) = recorded.compiler.as_ref().filter(|recorded| *recorded != running) {
        let Compiler(recorded) = recorded;
        let Compiler(running) = running;
        let _ = writeln!(text, "\nthe record is of {recorded}, this is {running}: changes are information");
    }
    let (errors, notes): (Vec<_>, Vec<_>) = findings.iter().partition(|finding| finding.is_error());
    for finding in notes.iter().chain(&errors) {
        let _ = writeln!(text, "{finding}");
    }
    let _ = match errors.len() {
        0 => writeln!(text, "every family is within its limits"),
        count => writeln!(text, "{count} violations"),
    };
    text
}

/// The spread of several counts of each family, in per cent of the smallest.
pub(crate) fn spread(families: &[&Family], runs: &[Vec<[u64; 2]>]) -> String {
    let mut table = vec![["family", "size", "smallest", "largest", "spread"].map(str::to_owned)];
    for (at, family) in families.iter().enumerate() {
        for (large, size) in [family.size, family.size * FACTOR].into_iter().enumerate() {
            let counts = || runs.iter().map(|run| run[at][large]);
            let (min, max) = (counts().min().unwrap_or_default(), counts().max().unwrap_or_default());
            let spread = (max as f64 / min as f64 - 1.0) * 100.0;
            table.push([
                family.name.to_owned(),
                size.to_string(),
                min.to_string(),
                max.to_string(),
                format!("{spread:.3} %"),
            ]);
        }
    }
    aligned(&table)
}

/// Columns as wide as their widest cell; texts to the left, numbers to the right.
fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let mut text = String::new();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            let is_text = rows[0][column] == "family" || rows[0][column] == "unit";
            let _ = if is_text { write!(line, "{cell:<width$}  ") } else { write!(line, "{cell:>width$}  ") };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}
