//! Report of the measurements as Markdown tables, the same on the screen and in the file.

use std::collections::BTreeSet;
use std::fmt::Write;

use typeloom_bench_process::machine;

use crate::cases::Kind;
use crate::contender::Contender;
use crate::measure::{Measured, Plan, Row};
use crate::promises;

pub fn document(command: &str, plan: &Plan, rows: &[Row]) -> String {
    let mut text = String::from(INTRODUCTION);
    let _ = writeln!(text, "\n- Machine: {}", machine::describe());
    let _ = writeln!(text, "- Command: `{command}` in `bench/`");
    text.push_str(VERSIONS);
    text.push_str(&promises::section(rows));
    for (title, about, kind) in SECTIONS {
        let rows: Vec<&Row> = rows.iter().filter(|row| kind(row.kind)).collect();
        if rows.is_empty() {
            continue;
        }
        let _ = write!(text, "\n## {title}\n\n{about}\n\n{}", times(plan, &rows).markdown());
        let _ = write!(text, "\n{}", memory_and_loading(plan, &rows).markdown());
        // A model has the same problem with any number of threads.
        let mut problems = BTreeSet::new();
        for (row, contender, problem) in rows.iter().flat_map(|row| missing(row)) {
            let problem = problem.replace('`', "'");
            let line = format!("{}, {}: not measured, `{problem}`", row.name, contender.title());
            if problems.insert(line.clone()) {
                let _ = writeln!(text, "\n{line}");
            }
        }
    }
    text
}

const INTRODUCTION: &str = "\
# Performance of running models

Written by the benchmark in `bench/runtime/`; see its README. Times are medians over batches of runs, interleaved on one machine:
only ratios are comparable between machines. Each contender runs in five separate processes, because the memory layout of a process changes
times by a tenth; figures are medians over the five. All contenders use the number of threads in the tables except tract, which uses one
unless it is built otherwise: compare with tract only in rows of one thread. A time covers one run from prepared inputs to complete
outputs; for typeloom it includes verifying inputs and outputs against their solved types. In brackets: the time relative to tract's.
*peak* is the process's maximum memory minus its memory before loading the model; *load* is the time from a path to a prepared model, for
typeloom including the type check. *differs* marks an output that differs from that of ONNX Runtime by more than 1e-3.
";

const VERSIONS: &str = "\
- tract: tract-onnx 0.23.9
- ONNX Runtime: 1.31.1, by `ort` 2.0.0-rc.15
- candle: candle-onnx 0.11.1
";

/// Selects the rows of a section.
type Of = fn(Kind) -> bool;

const SECTIONS: [(&str, &str, Of); 3] = [
    (
        "Networks with weights",
        "The architecture of the light network with weights of full size, which are random: no package registry has\n\
         pretrained ones, and speed does not depend on them. Batch 1.",
        |kind| kind == Kind::Full,
    ),
    (
        "Light networks",
        "The recorded light networks at batch 1. They compute their weights from constants at run time; with constant folding this\n\
         happens once.",
        |kind| kind == Kind::Light,
    ),
    (
        "Dispatch",
        "A chain of 1,000 additions of four elements: the overhead per operator. In brackets: time per operator.",
        |kind| matches!(kind, Kind::Chain(_)),
    ),
];

fn times(plan: &Plan, rows: &[&Row]) -> Table {
    let heads = plan.contenders.iter().map(|contender| contender.title());
    let mut table = Table::new(["model", "file", "threads"].into_iter().chain(heads));
    for row in rows {
        let cells = plan.contenders.iter().map(|contender| cell(row, *contender));
        let about = [row.name.to_owned(), bytes(row.file), row.threads.count().to_string()];
        table.row(about.into_iter().chain(cells).collect());
    }
    table
}

fn cell(row: &Row, contender: Contender) -> String {
    let Some(measured) = row.of(contender) else { return "-".to_owned() };
    let mut text = time(measured.time);
    let note = match row.kind {
        Kind::Chain(_) => promises::per_operator(row, contender).map(|it| format!("{} ns", three_digits(it))),
        Kind::Light | Kind::Full => row
            .ratio(contender, Contender::Tract)
            .filter(|_| contender != Contender::Tract)
            .map(|ratio| format!("{}x", three_digits(ratio))),
    };
    if let Some(note) = note {
        let _ = write!(text, " ({note})");
    }
    if measured.differs {
        text.push_str(" *differs*");
    }
    text
}

fn memory_and_loading(plan: &Plan, rows: &[&Row]) -> Table {
    let titles = |what: &'static str| plan.contenders.iter().map(move |it| format!("{what} {}", it.title()));
    let about = ["model", "threads"].map(str::to_owned).into_iter();
    let mut table = Table::new(about.chain(titles("peak")).chain(titles("load")));
    for row in rows {
        let show = |shown: fn(&Measured) -> String| {
            plan.contenders.iter().map(move |it| row.of(*it).map_or_else(|| "-".to_owned(), shown))
        };
        let cells = show(|it| bytes(it.peak)).chain(show(|it| time(it.load)));
        let about = [row.name.to_owned(), row.threads.count().to_string()];
        table.row(about.into_iter().chain(cells).collect());
    }
    table
}

fn missing(row: &Row) -> impl Iterator<Item = (&Row, Contender, &str)> {
    row.cells
        .iter()
        .filter_map(move |(contender, cell)| Some((row, *contender, cell.as_ref().err()?.as_str())))
}

/// Formats a time in a unit that suits its magnitude.
fn time(nanoseconds: u64) -> String {
    let time = nanoseconds as f64;
    match nanoseconds {
        0..1_000 => format!("{nanoseconds} ns"),
        1_000..1_000_000 => format!("{} us", three_digits(time / 1e3)),
        1_000_000..1_000_000_000 => format!("{} ms", three_digits(time / 1e6)),
        _ => format!("{} s", three_digits(time / 1e9)),
    }
}

fn bytes(bytes: u64) -> String {
    let size = bytes as f64;
    match bytes {
        0..1_000_000 => format!("{} kB", three_digits(size / 1e3)),
        1_000_000..1_000_000_000 => format!("{} MB", three_digits(size / 1e6)),
        _ => format!("{} GB", three_digits(size / 1e9)),
    }
}

/// Formats a number with three significant digits.
pub fn three_digits(number: f64) -> String {
    match number {
        number if number >= 100.0 => format!("{number:.0}"),
        number if number >= 10.0 => format!("{number:.1}"),
        number => format!("{number:.2}"),
    }
}

/// A Markdown table with aligned columns.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new<S: Into<String>>(heads: impl IntoIterator<Item = S>) -> Self {
        Self { rows: vec![heads.into_iter().map(Into::into).collect()] }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Formats the table; the first column is aligned to the left, the others to the right.
    pub fn markdown(&self) -> String {
        let columns = self.rows[0].len();
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for (at, row) in self.rows.iter().enumerate() {
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let _ = if column == 0 {
                    write!(text, "| {cell:<width$} ")
                } else {
                    write!(text, "| {cell:>width$} ")
                };
            }
            text.push_str("|\n");
            if at == 0 {
                for (column, width) in widths.iter().enumerate() {
                    let dashes = "-".repeat(width + 1);
                    text.push_str(&if column == 0 { format!("|{dashes}-") } else { format!("|{dashes}:") });
                }
                text.push_str("|\n");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{INTRODUCTION, Table, bytes, three_digits, time};

    #[test]
    fn the_recorded_report_has_the_same_introduction() {
        assert!(include_str!("../../results/running.md").starts_with(INTRODUCTION));
    }

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!(["0.12", "1.23", "12.3", "123"], [0.1234, 1.234, 12.34, 123.4].map(three_digits)[..]);
        assert_eq!([time(999), time(1_500), time(2_000_000)], ["999 ns", "1.50 us", "2.00 ms"]);
        assert_eq!([bytes(500), bytes(102_000_000)], ["0.50 kB", "102 MB"]);
    }

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(["model", "x"]);
        table.row(vec!["m".to_owned(), "12".to_owned()]);
        assert_eq!(table.markdown(), "| model |  x |\n|-------|---:|\n| m     | 12 |\n");
    }
}
