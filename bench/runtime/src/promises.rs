//! Performance targets of running models, compared with the measurements.

use crate::cases::Kind;
use crate::contender::{Contender, Threads};
use crate::measure::Row;
use crate::report::{Table, three_digits};

/// A target with its worst measurement.
struct Promise {
    text: &'static str,
    most: f64,
    unit: &'static str,
    worst: Option<(f64, String)>,
}

/// Formats the section of the report; empty if no target applies to the measurements.
pub fn section(rows: &[Row]) -> String {
    let promises = [
        Promise {
            text: "typeloom over tract takes at most 1.1 times as long as tract",
            most: 1.1,
            unit: "times",
            worst: worst(rows, is_network, |row| row.ratio(Contender::OverTract, Contender::Tract)),
        },
        Promise {
            text: "typeloom over ONNX Runtime takes at most 1.1 times as long as ONNX Runtime",
            most: 1.1,
            unit: "times",
            worst: worst(rows, is_network, |row| row.ratio(Contender::OverOrt, Contender::Ort)),
        },
        Promise {
            text: "`cpu` takes at most twice as long as tract on networks with weights of full size, one thread each",
            most: 2.0,
            unit: "times",
            worst: worst(rows, is_full, |row| {
                // tract has one thread in all rows, so only rows with one thread are comparable.
                (row.threads == Threads::One).then_some(row.ratio(Contender::Cpu, Contender::Tract)?)
            }),
        },
        Promise {
            text: "an operator on `cpu` costs less than 200 ns, a chain of additions of four elements over its length",
            most: 200.0,
            unit: "ns",
            worst: worst(rows, is_chain, |row| per_operator(row, Contender::Cpu)),
        },
        Promise {
            text: "`cpu` uses at most 1.5 times the memory of tract",
            most: 1.5,
            unit: "times",
            worst: worst(rows, is_network, |row| row.memory_ratio(Contender::Cpu, Contender::Tract)),
        },
    ];
    let mut table = Table::new(["promise", "worst", "where", "kept"]);
    let mut any = false;
    for Promise { text, most, unit, worst } in promises {
        let Some((worst, place)) = worst else { continue };
        let kept = if worst <= most { "yes" } else { "no" };
        let shown = format!("{} {unit}", three_digits(worst));
        table.row(vec![text.to_owned(), shown, place, kept.to_owned()]);
        any = true;
    }
    if any { format!("\n## Promises\n\n{}", table.markdown()) } else { String::new() }
}

/// Nanoseconds per operator of a chain.
pub fn per_operator(row: &Row, contender: Contender) -> Option<f64> {
    match row.kind {
        Kind::Chain(nodes) => Some(row.of(contender)?.time as f64 / nodes as f64),
        Kind::Light | Kind::Full => None,
    }
}

fn worst(
    rows: &[Row],
    concerned: impl Fn(Kind) -> bool,
    of: impl Fn(&Row) -> Option<f64>,
) -> Option<(f64, String)> {
    let found = rows.iter().filter(|row| concerned(row.kind));
    let found = found.filter_map(|row| Some((of(row)?, row.name.to_owned())));
    found.max_by(|(a, _), (b, _)| a.total_cmp(b))
}

fn is_network(kind: Kind) -> bool {
    matches!(kind, Kind::Light | Kind::Full)
}

fn is_full(kind: Kind) -> bool {
    kind == Kind::Full
}

fn is_chain(kind: Kind) -> bool {
    matches!(kind, Kind::Chain(_))
}
