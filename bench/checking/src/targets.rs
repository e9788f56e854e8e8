//! Performance targets of the project, compared with the measurements.

use crate::contender::Contender;
use crate::measure::{METHODS, Method, Row, Start, ours};
use crate::report::{Measured, Table, median, memory, new_process, over_file, ratio, time, times_of};

/// Formats the section of the report; empty if no target applies to the measurements.
pub fn section(measured: &[Measured]) -> String {
    let promises = [
        small_speed(measured),
        small_sum(measured),
        speed(measured),
        new_process_speed(measured),
        linearity(measured),
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

/// Families that the reference checks in linear time too.
const LARGE: [&str; 4] = ["chain", "wide", "fan", "transformer"];

/// Promises about large graphs apply from this number of nodes.
const MIN_NODES: u64 = 5_000;

fn small_speed(measured: &[Measured]) -> Option<Promise> {
    let text = "3 times as fast as the reference's call in memory, for each network";
    at_least(small(measured), text, 3.0)
}

/// The sum of the medians of all networks.
fn small_sum(measured: &[Measured]) -> Option<Promise> {
    let total = |method: usize| -> Option<f64> {
        small(measured).map(|(_, row)| median(&row.times[method]).map(|time| time.as_secs_f64())).sum()
    };
    let own = total(ours(Start::Memory))?;
    let least = in_memory().filter_map(total).min_by(f64::total_cmp)?;
    let (text, times) = ("5 times as fast for all networks together", least / own);
    Some(Promise { text, worst: format!("{times:.2} times"), place: "sum".to_owned(), kept: times >= 5.0 })
}

/// The networks of the ONNX test suite and of the repository.
fn small(measured: &[Measured]) -> impl Iterator<Item = (String, &Row)> {
    rows(measured, &["light", "models"])
}

/// The promise about the greatest of some values.
fn at_most<T: Ord + Copy>(
    values: impl Iterator<Item = (Option<T>, String)>,
    text: &'static str,
    show: impl Fn(T) -> String,
    is_kept: impl Fn(T) -> bool,
) -> Option<Promise> {
    let (worst, place) = values.filter_map(present).max_by_key(|it| it.0)?;
    Some(Promise { text, worst: show(worst), place, kept: is_kept(worst) })
}

fn speed(measured: &[Measured]) -> Option<Promise> {
    let large = rows(measured, &LARGE).filter(|(_, row)| row.nodes >= MIN_NODES);
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

/// Both times are of new processes: the cost of new pages depends on the machine, for the reference too.
fn new_process_speed(measured: &[Measured]) -> Option<Promise> {
    let large = rows(measured, &LARGE).filter(|(_, row)| row.nodes >= MIN_NODES);
    let ratios = large.map(|(place, row)| {
        let ours = new_process(row, Contender::Typeloom);
        let theirs = new_process(row, Contender::Reference);
        (theirs.zip(ours).map(|(theirs, ours)| theirs.as_secs_f64() / ours.as_secs_f64()), place)
    });
    let (worst, place) = ratios.filter_map(present).min_by(|a, b| a.0.total_cmp(&b.0))?;
    let text = "the same, each call in a new process";
    Some(Promise { text, worst: format!("{worst:.2} times"), place, kept: worst >= 10.0 })
}

/// The work is linear, see `guards`. The time for a unit of size also depends on the caches.
fn linearity(measured: &[Measured]) -> Option<Promise> {
    let file = |row: &Row| median(&row.times[ours(Start::File)]);
    let families = measured.iter().filter(|(family, _)| GROWING.contains(&family.name));
    let ratios = families.flat_map(|(family, rows)| {
        far_pairs(rows).map(move |(small, large)| {
            let ratio = times_of(small, large, file).map(|(time, size)| time / size);
            (ratio, format!("{} {}", family.name, large.name))
        })
    });
    let (worst, place) = ratios.filter_map(present).max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Promise {
        text: "at most twice the time per node of any smaller size",
        worst: format!("{worst:.2} times"),
        place,
        kept: worst <= 2.0,
    })
}

/// All pairs of rows of a family in which the larger one has at least four times the size. For smaller
/// ratios, noise hides growth.
fn far_pairs(rows: &[Row]) -> impl Iterator<Item = (&Row, &Row)> {
    rows.iter().flat_map(|small| {
        rows.iter()
            .filter(|large| large.size >= small.size.map(|size| 4 * size))
            .map(move |large| (small, large))
    })
}

fn bytes_a_node(measured: &[Measured]) -> Option<Promise> {
    // In smaller models, the pages of the program itself outweigh the graph.
    let large = rows(measured, &GROWING).filter(|(_, row)| row.nodes >= MIN_NODES);
    let bytes = large.map(|(place, row)| (over_file(row), place));
    let text = "at most 400 bytes a node over the file, from 5,000 nodes";
    at_most(bytes, text, |worst| format!("{worst} bytes"), |worst| worst <= 400)
}

fn heavy_time(measured: &[Measured]) -> Option<Promise> {
    let times = heavy(measured).map(|(place, row)| (median(&row.times[ours(Start::File)]), place));
    at_most(times, "2 GB of weights in under 100 ms", time, |worst| worst.as_millis() < 100)
}

fn heavy_memory(measured: &[Measured]) -> Option<Promise> {
    let peaks = heavy(measured).map(|(place, row)| (row.fresh[0].map(|fresh| fresh.held), place));
    at_most(peaks, "2 GB of weights in under 100 MB of memory", memory, |worst| worst < 100_000_000)
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
