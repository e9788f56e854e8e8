//! The cost of a model, for people and programs.
//!
//! For people, an amount without symbols has a unit, and another one is an expression. For programs, an
//! amount is an object with its `text`, and with its `number` if no symbol decides it.

use std::cmp::Reverse;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use typeloom_cost::amount::{Amount, Magnitudes};
use typeloom_cost::executor::Executor;
use typeloom_cost::fit::Fit;
use typeloom_cost::maximum::Maximum;
use typeloom_cost::weights::Stored;
use typeloom_cost::work::{Operator, OperatorWork, Work};
use typeloom_cost::{Cost, NodeWork, label};
use typeloom_dim::Dims;
use typeloom_onnx::domain::shown;
use typeloom_onnx::text::escape;
use typeloom_solver::diagnostic::text::count;
use typeloom_solver::model::Checked;
use typeloom_solver::program::StepId;

use crate::list::aligned;

/// The parts of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CostOptions {
    /// The number of nodes that are listed.
    pub nodes: usize,
}

/// A question about memory, with the answers for both executors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Solved {
    /// The symbol.
    pub symbol: String,
    /// The bytes of memory.
    pub memory: u64,
    /// For a plain executor.
    pub plain: Fit,
    /// For the embedded runtime.
    pub embedded: Fit,
}

const EXECUTORS: [(Executor, &str, &str); 2] =
    [(Executor::Plain, "plain", "plain executor"), (Executor::Embedded, "embedded", "embedded runtime")];

/// The operators, those with the most operations first.
fn operators<'c, 'a>(cost: &'c Cost<'a>, dims: &Dims) -> Vec<(Operator<'a>, &'c OperatorWork)> {
    let mut operators: Vec<_> = cost.operators.iter().map(|(operator, work)| (*operator, work)).collect();
    let mut magnitudes = Magnitudes::default();
    operators.sort_by_cached_key(|(operator, found)| {
        (Reverse(rank(&mut magnitudes, &found.work, dims)), *operator)
    });
    operators
}

/// The nodes with the most operations.
fn largest<'c>(cost: &'c Cost<'_>, dims: &Dims, most: usize) -> Vec<&'c NodeWork> {
    if most == 0 {
        return Vec::new();
    }
    let mut magnitudes = Magnitudes::default();
    let rank = |node: &'c NodeWork| (rank(&mut magnitudes, &node.work, dims), node);
    let mut nodes: Vec<_> = cost.nodes.iter().map(rank).collect();
    nodes.sort_by_key(|(rank, node)| (Reverse(*rank), node.step));
    let is_costly = |(rank, _): &((u128, u128), &NodeWork)| *rank > (0, 0);
    nodes.into_iter().filter(is_costly).take(most).map(|(_, node)| node).collect()
}

fn rank(magnitudes: &mut Magnitudes, work: &Work, dims: &Dims) -> (u128, u128) {
    let moved = work.read.plus(&work.written);
    (magnitudes.of(dims, &work.flops), magnitudes.of(dims, &moved))
}

/// The cost as text for people.
pub fn human(
    checked: &mut Checked<'_>,
    cost: &Cost<'_>,
    solved: Option<&Solved>,
    options: CostOptions,
) -> String {
    let body = checked.shared_body();
    let dims = checked.dims_mut();
    let mut text = String::new();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    row("weights", weights(cost));
    row("inputs", bytes(&cost.inputs, dims));
    row("outputs", bytes(&cost.outputs, dims));
    for (executor, _, name) in EXECUTORS {
        let peak = cost.peak(executor);
        let bound = if peak.is_bound { "at most " } else { "" };
        row(&format!("peak, {name}"), format!("{bound}{}", peak_text(peak, dims)));
    }
    row("multiply-accumulates", operations(&cost.work.macs, dims));
    row("operations (FLOPs)", operations(&cost.work.flops, dims));
    row("bytes read", bytes(&cost.work.read, dims));
    row("bytes written", bytes(&cost.work.written, dims));
    if let Some(first) = cost.caches.first() {
        let pairs = count(cost.caches.len(), "cache");
        let names = format!("{pairs}, first `{}` -> `{}`", escape(&first.input), escape(&first.output));
        row("cache per token", format!("{} ({names})", bytes(&cost.cache_bytes(), dims)));
    }
    if let Some(Solved { symbol, memory, plain, embedded }) = solved {
        for (fit, (.., name)) in [plain, embedded].into_iter().zip(EXECUTORS) {
            row(
                &format!("fits {}", unit(i128::from(*memory))),
                format!("{} ({name})", fit_text(symbol, *fit)),
            );
        }
    }
    let _ = text.write_str(&aligned(&rows));
    let head = |first: &str| {
        [first, "runs", "MACs", "FLOPs", "bytes read", "bytes written"].map(str::to_owned).to_vec()
    };
    let work = |work: &Work, dims: &mut Dims| {
        [
            operations(&work.macs, dims),
            operations(&work.flops, dims),
            bytes(&work.read, dims),
            bytes(&work.written, dims),
        ]
    };
    let work = |found: &Work, dims: &mut Dims| work(found, dims).map(short);
    let mut rows = vec![head("operator")];
    for (operator, found) in operators(cost, dims) {
        let mut cells = vec![name_of(operator), escape(&found.runs.text(dims)).into_owned()];
        cells.extend(work(&found.work, dims));
        rows.push(cells);
    }
    let _ = write!(text, "\n{}", aligned(&rows));
    let nodes = largest(cost, dims, options.nodes);
    if !nodes.is_empty() {
        let mut rows = vec![head("largest nodes")];
        rows[0][1] = "operator".to_owned();
        for node in nodes {
            let name = escape(&label(&body, node.step)).into_owned();
            let mut cells = vec![name, escape(body.op_name(node.step)).into_owned()];
            cells.extend(work(&node.work, dims));
            rows.push(cells);
        }
        let _ = write!(text, "\n{}", aligned(&rows));
    }
    if !cost.undecided.nodes.is_empty() {
        text.push_str("\nundecided:\n");
        for ((operator, why), found) in &cost.undecided.nodes {
            let nodes = count(found.nodes, "node");
            let (name, first) = (name_of(*operator), escape(&found.first));
            let _ = writeln!(text, "  {name} ({nodes}, first `{first}`): {}", why.text());
        }
    }
    text
}

/// The cost as an object for programs.
pub fn object(
    checked: &mut Checked<'_>,
    cost: &Cost<'_>,
    solved: Option<&Solved>,
    options: CostOptions,
) -> Map<String, Value> {
    let body = checked.shared_body();
    let dims = checked.dims_mut();
    let work = |work: &Work, dims: &mut Dims| {
        let mut object = Map::new();
        let Work { macs, flops, read, written } = work;
        for (key, value) in [("macs", macs), ("flops", flops), ("read", read), ("written", written)] {
            object.insert(key.to_owned(), amount(value, dims));
        }
        object
    };
    let mut object = Map::new();
    let mut add = |key: &str, value: Value| object.insert(key.to_owned(), value);
    let by_type = cost.weights.by_type.iter().map(|(dtype, it)| (dtype.onnx_name().to_owned(), stored(*it)));
    let by_type: Map<String, Value> = by_type.collect();
    let mut weights = stored(cost.weights.total());
    if let Value::Object(weights) = &mut weights {
        weights.insert("by_type".to_owned(), Value::Object(by_type));
        weights.insert("external".to_owned(), stored(cost.weights.external));
        weights.insert("shared".to_owned(), json!(cost.weights.shared));
        weights.insert("unknown".to_owned(), json!(cost.weights.unknown));
    }
    add("weights", weights);
    add("inputs", amount(&cost.inputs, dims));
    add("outputs", amount(&cost.outputs, dims));
    let peaks = EXECUTORS.map(|(executor, key, _)| {
        let peak = cost.peak(executor);
        let candidates: Vec<Value> = peak
            .candidates
            .iter()
            .map(|it| json!({"amount": amount(&it.amount, dims), "node": label(&body, it.at)}))
            .collect();
        let value = json!({
            "text": peak.text(dims),
            "number": number(peak.as_number()),
            "is_bound": peak.is_bound,
            "candidates": candidates,
        });
        (key.to_owned(), value)
    });
    add("peak", Value::Object(peaks.into_iter().collect()));
    add("work", Value::Object(work(&cost.work, dims)));
    let caches: Vec<Value> = cost
        .caches
        .iter()
        .map(|it| json!({"input": it.input, "output": it.output, "axis": it.axis, "bytes": amount(&it.bytes, dims)}))
        .collect();
    add("cache", json!({"bytes_per_token": amount(&cost.cache_bytes(), dims), "caches": caches}));
    let operators: Vec<Value> = operators(cost, dims)
        .into_iter()
        .map(|((domain, name), found)| {
            let mut object = work(&found.work, dims);
            object.insert("domain".to_owned(), json!(shown(domain)));
            object.insert("operator".to_owned(), json!(name));
            object.insert("runs".to_owned(), amount(&found.runs, dims));
            Value::Object(object)
        })
        .collect();
    add("operators", Value::Array(operators));
    let nodes: Vec<Value> = largest(cost, dims, options.nodes)
        .into_iter()
        .map(|node| {
            let mut object = work(&node.work, dims);
            object.insert("name".to_owned(), json!(label(&body, node.step)));
            object.insert("operator".to_owned(), json!(body.op_name(node.step)));
            object.insert("index".to_owned(), json!(position(&body, node.step)));
            Value::Object(object)
        })
        .collect();
    add("nodes", Value::Array(nodes));
    let undecided = cost.undecided.nodes.iter().map(|(((domain, name), why), found)| {
        json!({
            "domain": shown(domain),
            "operator": name,
            "what": why.name(),
            "nodes": found.nodes,
            "first": found.first,
        })
    });
    add("undecided", undecided.collect());
    if let Some(Solved { symbol, memory, plain, embedded }) = solved {
        let fits: Map<String, Value> = [plain, embedded]
            .into_iter()
            .zip(EXECUTORS)
            .map(|(fit, (_, key, _))| (key.to_owned(), fit_value(*fit)))
            .collect();
        add("solve", json!({"symbol": symbol, "memory": memory, "most": fits}));
    }
    object
}

/// A cell of a table. `--format json` has the whole text.
fn short(text: String) -> String {
    const MAX_CELL: usize = 40;
    match text.char_indices().nth(MAX_CELL) {
        Some((end, _)) => format!("{}...", &text[..end - 3]),
        None => text,
    }
}

fn position(body: &typeloom_solver::program::Body<'_>, step: StepId) -> u32 {
    body.step(step).position
}

fn name_of((domain, name): Operator<'_>) -> String {
    let name = escape(name);
    if domain.is_empty() { name.into_owned() } else { format!("{}.{name}", escape(domain)) }
}

fn amount(amount: &Amount, dims: &mut Dims) -> Value {
    json!({"text": amount.text(dims), "number": number(amount.as_number())})
}

/// A number that JSON can represent.
fn number(number: Option<i128>) -> Option<i64> {
    number.and_then(|number| i64::try_from(number).ok())
}

fn stored(stored: Stored) -> Value {
    let narrow = |number: u128| u64::try_from(number).unwrap_or(u64::MAX);
    json!({
        "tensors": stored.tensors,
        "elements": narrow(stored.elements),
        "bytes": narrow(stored.bytes),
    })
}

fn weights(cost: &Cost<'_>) -> String {
    let total = cost.weights.total();
    let types =
        cost.weights.by_type.iter().map(|(dtype, it)| format!("{} {}", it.elements, dtype.onnx_name()));
    let mut text = unit(i128::try_from(total.bytes).unwrap_or(i128::MAX));
    let types: Vec<String> = types.collect();
    if !types.is_empty() {
        let _ = write!(text, " ({})", types.join(", "));
    }
    if cost.weights.external.tensors > 0 {
        let bytes = unit(i128::try_from(cost.weights.external.bytes).unwrap_or(i128::MAX));
        let _ = write!(text, ", {bytes} in other files");
    }
    if cost.weights.unknown > 0 {
        let _ = write!(text, ", {} of unknown size", count(to_usize(cost.weights.unknown), "constant"));
    }
    text
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn bytes(amount: &Amount, dims: &mut Dims) -> String {
    amount.as_number().map_or_else(|| escape(&amount.text(dims)).into_owned(), unit)
}

fn peak_text<T: Copy>(peak: &Maximum<T>, dims: &mut Dims) -> String {
    peak.as_number().map_or_else(|| escape(&peak.text(dims)).into_owned(), unit)
}

/// A number of bytes with a unit.
fn unit(bytes: i128) -> String {
    scaled(bytes, 1024.0, &[" B", " KiB", " MiB", " GiB", " TiB"])
}

fn operations(amount: &Amount, dims: &mut Dims) -> String {
    let with_unit = |number| scaled(number, 1000.0, &["", " K", " M", " G", " T", " P"]);
    amount.as_number().map_or_else(|| escape(&amount.text(dims)).into_owned(), with_unit)
}

/// A number with three digits or more, and a unit.
fn scaled(number: i128, step: f64, units: &[&str]) -> String {
    let mut value = number as f64;
    let mut at = 0;
    while value.abs() >= 10.0 * step && at + 1 < units.len() {
        value /= step;
        at += 1;
    }
    let digits = usize::from(at > 0);
    format!("{value:.digits$}{}", units[at])
}

fn fit_text(symbol: &str, fit: Fit) -> String {
    let symbol = escape(symbol);
    match fit {
        Fit::Most(most) => format!("{symbol} <= {most}"),
        Fit::Always => format!("for every {symbol}"),
        Fit::Never(needed) => format!("not even {symbol} = 1, which needs {}", unit(needed)),
    }
}

fn fit_value(fit: Fit) -> Value {
    match fit {
        Fit::Most(most) => json!(most),
        Fit::Always => Value::Null,
        Fit::Never(_) => json!(0),
    }
}
