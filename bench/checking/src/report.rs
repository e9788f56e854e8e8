//! Report of the measurements as Markdown tables, the same on the screen and in the file.

use std::fmt::Write;
use std::time::Duration;

use typeloom_bench_process::machine;

use crate::contender::Contender;
use crate::families::{Family, grouped};
use crate::measure::{METHODS, Row, Timing, ours, position};
use crate::targets;

pub type Measured = (&'static Family, Vec<Row>);

pub fn document(
    command: &str,
    versions: &[(Contender, Result<String, String>)],
    measured: &[Measured],
) -> String {
    let mut text = String::from(INTRODUCTION);
    let _ = writeln!(text, "\n- Machine: {}", machine::describe());
    let _ = writeln!(text, "- Command: `{command}` in `bench/`");
    for (contender, version) in versions {
        let _ = match version {
            Ok(version) => writeln!(text, "- {}: {version}", contender.name()),
            Err(problem) => writeln!(text, "- {}: not measured ({problem})", contender.name()),
        };
    }
    text.push_str(&targets::section(measured));
    for (family, rows) in measured {
        text.push_str(&section(family, rows));
    }
    text
}

const INTRODUCTION: &str = "\
# Performance

Written by the benchmark in `bench/`; see its README. Times are medians of interleaved runs on one machine:
only ratios are comparable between machines.
[python.md](python.md) has the figures of the Python package and of fleets of models.

- *file* starts from a path and ends with the result (the reference also writes the result to a file).
- *memory* starts from bytes in memory. For the reference it is the bare C++ call, strict and with type checks.
- A run repeats its call until two milliseconds have passed, for every column, and counts the mean.
- *values* adds the reference's propagation of shape-deciding values, which typeloom always does.
- The peer's time includes building its graph and reading the whole file.
- In brackets: the time relative to typeloom's with the same start, file or memory.
- *growth* is the time of a row divided by that of the row above, and the ratio of their sizes.
- *new process* is the first call of a process that has checked only a model of a few nodes, and includes
  mapping its pages; the reference starts from memory. In all other runs the allocator keeps its pages between requests.
- *peak* is the maximum memory of a new process during one request minus its memory before, including the
  model's bytes. For generated models the process has checked a model of a few nodes before, so that the
  program's own memory is excluded.
- *bytes a node* is typeloom's peak minus the size of the file, per node.
";

fn section(family: &Family, rows: &[Row]) -> String {
    let (first, rest) = family.about.split_at(1);
    let mut text = format!("\n## {}\n\n{}{rest}.\n\n", family.name, first.to_uppercase());
    text.push_str(&times(family, rows).markdown());
    text.push('\n');
    text.push_str(&growth_and_memory(family, rows).markdown());
    for (row, method, message) in rows.iter().flat_map(refusals) {
        let _ = writeln!(text, "\n{}, {method}: refused, `{}`", row.name, message.replace('`', "'"));
    }
    text
}

fn times(family: &Family, rows: &[Row]) -> Table {
    let heads = ["file", "nodes"].into_iter().chain(METHODS.iter().map(|method| method.title));
    let mut table = Table::new([family.size.unwrap_or("model")].into_iter().chain(heads));
    for row in rows {
        let mut cells = vec![row.name.clone(), memory(row.file), grouped(row.nodes)];
        for (index, timing) in row.times.iter().enumerate() {
            let times = ratio(row, index).filter(|_| METHODS[index].contender != Contender::Typeloom);
            let times = times.map_or_else(String::new, |times| format!(" ({}x)", three_digits(times)));
            cells.push(self::timing(timing) + &times);
        }
        table.row(cells);
    }
    table
}

fn growth_and_memory(family: &Family, rows: &[Row]) -> Table {
    let growing: Vec<usize> = if family.size.is_some() { (0..METHODS.len()).collect() } else { Vec::new() };
    let mut heads = vec![family.size.unwrap_or("model").to_owned()];
    heads.extend(growing.iter().map(|index| format!("growth {}", METHODS[*index].title)));
    heads.push("typeloom, new process".to_owned());
    heads.extend(growing.first().map(|_| "growth typeloom, new process".to_owned()));
    heads.push("reference, new process".to_owned());
    heads.extend(Contender::ALL.iter().map(|contender| format!("peak {}", contender.name())));
    heads.push("typeloom, bytes a node".to_owned());
    let mut table = Table::new(heads);
    for (index, row) in rows.iter().enumerate() {
        let before = index.checked_sub(1).map(|index| &rows[index]);
        let mut cells = vec![row.name.clone()];
        for method in &growing {
            let ratio = before.and_then(|before| times_of(before, row, |row| median(&row.times[*method])));
            cells.push(ratio.map_or_else(none, steps));
        }
        let ours = |row: &Row| new_process(row, Contender::Typeloom);
        cells.push(ours(row).map_or_else(none, time));
        cells.extend(growing.first().map(|_| {
            let ratio = before.and_then(|before| times_of(before, row, ours));
            ratio.map_or_else(none, steps)
        }));
        cells.push(new_process(row, Contender::Reference).map_or_else(none, time));
        cells.extend(row.fresh.iter().map(|fresh| fresh.map_or_else(none, |fresh| memory(fresh.held))));
        cells.push(over_file(row).map_or_else(none, |bytes| bytes.to_string()));
        table.row(cells);
    }
    table
}

/// Ratios of time and size between two rows of a family.
pub fn times_of(before: &Row, row: &Row, time: impl Fn(&Row) -> Option<Duration>) -> Option<(f64, f64)> {
    let ratio = time(row)?.as_secs_f64() / time(before)?.as_secs_f64();
    Some((ratio, row.size? as f64 / before.size? as f64))
}

fn steps((time, size): (f64, f64)) -> String {
    format!("{} at {}", three_digits(time), (size * 10.0).round() / 10.0)
}

/// Time of a contender's first answer to this model in a new process.
pub fn new_process(row: &Row, contender: Contender) -> Option<Duration> {
    Some(row.fresh[position(contender)]?.time)
}

/// The time of a method divided by that of typeloom with the same start.
pub fn ratio(row: &Row, method: usize) -> Option<f64> {
    let reference = &row.times[ours(METHODS[method].start)];
    Some(median(&row.times[method])?.as_secs_f64() / median(reference)?.as_secs_f64())
}

/// Memory of typeloom in excess of the file size, in bytes per node; `None` if it is less than the file.
pub fn over_file(row: &Row) -> Option<u64> {
    Some(row.fresh[0]?.held.saturating_sub(row.file) / row.nodes.max(1))
}

pub fn median(timing: &Timing) -> Option<Duration> {
    match timing {
        Timing::Median(time, _) => Some(*time),
        Timing::Refused(_) | Timing::TooSlow | Timing::Crashed | Timing::LeftOut | Timing::Absent => None,
    }
}

fn refusals(row: &Row) -> impl Iterator<Item = (&Row, &'static str, &str)> {
    METHODS.iter().zip(&row.times).filter_map(move |(method, timing)| match timing {
        Timing::Refused(message) => Some((row, method.title, message.as_str())),
        Timing::Median(..) | Timing::TooSlow | Timing::Crashed | Timing::LeftOut | Timing::Absent => None,
    })
}

fn timing(timing: &Timing) -> String {
    match timing {
        Timing::Median(time, 1) => format!("{} (one run)", self::time(*time)),
        Timing::Median(time, _) => self::time(*time),
        Timing::Refused(_) => "refused".to_owned(),
        Timing::TooSlow => "too slow".to_owned(),
        Timing::Crashed => "crashed".to_owned(),
        Timing::LeftOut => "left out".to_owned(),
        Timing::Absent => none(),
    }
}

fn none() -> String {
    "-".to_owned()
}

/// Formats a time with three significant digits.
pub fn time(time: Duration) -> String {
    let microseconds = time.as_secs_f64() * 1e6;
    match microseconds {
        m if m < 1e3 => format!("{} us", three_digits(m)),
        m if m < 1e6 => format!("{} ms", three_digits(m / 1e3)),
        m => format!("{} s", three_digits(m / 1e6)),
    }
}

/// Formats a size with three significant digits.
pub fn memory(bytes: u64) -> String {
    match bytes as f64 {
        b if b < 1e6 => format!("{} kB", three_digits(b / 1e3)),
        b if b < 1e9 => format!("{} MB", three_digits(b / 1e6)),
        b => format!("{} GB", three_digits(b / 1e9)),
    }
}

fn three_digits(number: f64) -> String {
    let decimals = match number {
        n if n < 9.995 => 2,
        n if n < 99.95 => 1,
        _ => 0,
    };
    format!("{number:.decimals$}")
}

/// A Markdown table with its columns aligned for the screen: the first to the left, the others to the right.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(heads: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { rows: vec![heads.into_iter().map(Into::into).collect()] }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub fn markdown(&self) -> String {
        let width =
            |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            text.push('|');
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let _ = match column {
                    0 => write!(text, " {cell:<width$} |"),
                    _ => write!(text, " {cell:>width$} |"),
                };
            }
            text.push('\n');
            if index == 0 {
                text.push('|');
                for (column, width) in widths.iter().enumerate() {
                    let dashes = "-".repeat(width + 1);
                    let _ = if column == 0 { write!(text, "{dashes}-|") } else { write!(text, "{dashes}:|") };
                }
                text.push('\n');
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Fresh;

    fn row(size: u64, milliseconds: u64) -> Row {
        Row {
            name: grouped(size),
            size: Some(size),
            file: 1_000,
            nodes: 10,
            times: vec![Timing::Median(Duration::from_millis(milliseconds), 3); METHODS.len()],
            fresh: vec![Some(Fresh { held: 5_000, time: Duration::from_millis(milliseconds) }), None, None],
        }
    }

    #[test]
    fn the_recorded_report_has_the_same_introduction() {
        assert!(include_str!("../../results/checking.md").starts_with(INTRODUCTION));
    }

    #[test]
    fn growth_is_a_ratio_of_times_and_of_sizes() {
        let ours = |row: &Row| new_process(row, Contender::Typeloom);
        assert_eq!(times_of(&row(1_000, 10), &row(4_000, 160), ours), Some((16.0, 4.0)));
        assert_eq!(new_process(&row(1_000, 10), Contender::Reference), None);
    }

    #[test]
    fn memory_of_a_node_does_not_count_the_file() {
        assert_eq!(over_file(&row(10, 1)), Some(400));
    }

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!([0.5, 12.34, 123.4].map(three_digits), ["0.50", "12.3", "123"]);
        assert_eq!(time(Duration::from_micros(1_234)), "1.23 ms");
        assert_eq!(memory(2_000_000_000), "2.00 GB");
    }

    #[test]
    fn tables_are_aligned() {
        let mut table = Table::new(["a", "time"]);
        table.row(vec!["long".to_owned(), "1".to_owned()]);
        assert_eq!(table.markdown(), "| a    | time |\n|------|-----:|\n| long |    1 |\n");
    }
}
