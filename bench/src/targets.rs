//! Performance targets of the project, compared with the measurements.

use std::time::Duration;

use crate::contender::Contender;
use crate::measure::{METHODS, Method, Row, Start, ours};
use crate::report::{Measured, Table, growth, median, memory, new_process, over_file, ratio, time};

/// Formats the section of the report; empty if no target applies to the measurements.
pub fn section(measured: &[Measured]) -> String {
    let promises = [
        small_speed(measured),
        speed(measured),
        linearity(measured, "at most 13 times the time at 10 times the size", |row| {
            median(&row.times[ours(Start::File)])
        }),
        linearity(measured, "the same, each time in a new process", new_process),
        bytes_a_node(measured),
        heavy_time(measured),
        heavy_memory(measured),
    ];
    let mut table = Table::new(["promise", "worst", "where", "kept"]);
    let mut any = false;
    for promise in promises.into_iter().flatten() {
        let kept = if promise.kept { "yes" } else { "no" };
        table.row(vec![promise.text.to_owned(), promise.worst, promise.place, kept.to_owned()]);
        any = true;
    }
    if any { format!("\n## Promises\n\n{}", table.markdown()) } else { String::new() }
}

struct Promise {
    text: &'static str,
    worst: String,
    place: String,
    kept: bool,
}

/// Families whose times must grow about linearly with their size.
const GROWING: [&str; 6] = ["chain", "wide", "fan", "if", "functions", "transformer"];

fn small_speed(measured: &[Measured]) -> Option<Promise> {
    let text = "5 times as fast as the reference's call in memory, for each network";
    at_least(rows(measured, &["light", "models"]), text, 5.0)
}

fn speed(measured: &[Measured]) -> Option<Promise> {
    let large =
        rows(measured, &["chain", "wide", "fan", "transformer"]).filter(|(_, row)| row.nodes >= 5_000);
    at_least(large, "10 times as fast as the reference's call in memory, from 5,000 nodes", 10.0)
}

/// The promise that both columns of [`in_memory`] take at least `times` as long as typeloom.
fn at_least<'a>(
    rows: impl Iterator<Item = (String, &'a Row)>,
    text: &'static str,
    times: f64,
) -> Option<Promise> {
    let ratios =
        rows.flat_map(|(place, row)| in_memory().map(move |method| (ratio(row, method), place.clone())));
    let (worst, place) = ratios.filter_map(present).min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Promise { text, worst: format!("{worst:.2} times"), place, kept: worst >= times })
}

/// The columns of the reference that start from memory.
fn in_memory() -> impl Iterator<Item = usize> {
    let is_compared =
        |method: &Method| method.contender == Contender::Reference && method.start == Start::Memory;
    (0..METHODS.len()).filter(move |at| is_compared(&METHODS[*at]))
}

fn linearity(
    measured: &[Measured],
    text: &'static str,
    time: impl Fn(&Row) -> Option<Duration> + Copy,
) -> Option<Promise> {
    let families = measured.iter().filter(|(family, _)| GROWING.contains(&family.name));
    let growths = families.flat_map(|(family, rows)| {
        far_pairs(rows).map(move |(small, large)| {
            (growth(small, large, time), format!("{} {}", family.name, large.name))
        })
    });
    let (worst, place) = growths.filter_map(present).max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Promise { text, worst: format!("{worst:.1} times"), place, kept: worst <= 13.0 })
}

/// Pairs each row with the next one of at least four times its size. For smaller ratios, noise hides growth.
fn far_pairs(rows: &[Row]) -> impl Iterator<Item = (&Row, &Row)> {
    rows.iter().filter_map(|small| {
        let large = rows.iter().find(|large| large.size >= small.size.map(|size| 4 * size))?;
        Some((small, large))
    })
}

fn bytes_a_node(measured: &[Measured]) -> Option<Promise> {
    // In smaller models, the pages of the program itself outweigh the graph.
    let bytes = rows(measured, &GROWING).filter(|(_, row)| row.nodes >= 5_000);
    let (worst, place) =
        bytes.map(|(place, row)| (over_file(row), place)).filter_map(present).max_by_key(|it| it.0)?;
    Some(Promise {
        text: "at most 400 bytes a node over the file, from 5,000 nodes",
        worst: format!("{worst} bytes"),
        place,
        kept: worst <= 400,
    })
}

fn heavy_time(measured: &[Measured]) -> Option<Promise> {
    let times = heavy(measured).map(|(place, row)| (median(&row.times[ours(Start::File)]), place));
    let (worst, place) = times.filter_map(present).max_by_key(|it| it.0)?;
    Some(Promise {
        text: "2 GB of weights in under 100 ms",
        worst: time(worst),
        place,
        kept: worst.as_millis() < 100,
    })
}

fn heavy_memory(measured: &[Measured]) -> Option<Promise> {
    let peaks = heavy(measured).map(|(place, row)| (row.fresh[0].map(|fresh| fresh.held), place));
    let (worst, place) = peaks.filter_map(present).max_by_key(|it| it.0)?;
    Some(Promise {
        text: "2 GB of weights in under 100 MB of memory",
        worst: memory(worst),
        place,
        kept: worst < 100_000_000,
    })
}

/// The models with weights to which targets apply, without their small variants.
fn heavy(measured: &[Measured]) -> impl Iterator<Item = (String, &Row)> {
    rows(measured, &["heavy"]).filter(|(_, row)| row.file >= 2_000_000_000)
}

fn rows<'a>(measured: &'a [Measured], families: &'a [&str]) -> impl Iterator<Item = (String, &'a Row)> {
    measured
        .iter()
        .filter(|(family, _)| families.contains(&family.name))
        .flat_map(|(family, rows)| rows.iter().map(|row| (format!("{} {}", family.name, row.name), row)))
}

fn present<T>((value, place): (Option<T>, String)) -> Option<(T, String)> {
    value.map(|value| (value, place))
}
