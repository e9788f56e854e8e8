//! A text table of the values of a model with their types, aligned and grouped by graph. The undecided
//! equations between dims follow.
//!
//! ```text
//! inputs
//!   query   float[batch, 4]
//! values
//!   x       float[batch, 4]  MatMul
//! outputs
//!   scores  float[batch, 4]  Add
//! ```

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use typeloom_dim::Condition;
use typeloom_onnx::text::escape;
use typeloom_solver::diagnostic::graph_path;
use typeloom_solver::model::Checked;
use typeloom_solver::program::{Body, GraphId, Origin, StepId, StepKind, ValueId};
use typeloom_solver::solution::{Equation, EquationSource};

use crate::selection::Selection;

/// Maximum width of a column, in characters; wider entries are not aligned.
const MAX_WIDTH: usize = 48;

/// Minimum width to which a column is shortened, in characters.
const MIN_WIDTH: usize = 8;

/// Character for the part of a text that is left out.
const ELLIPSIS: char = '\u{2026}';

/// The name, type and note of a value.
pub(crate) type Row = [String; 3];

/// Adds rows under their titles, with names and types aligned. If a width is given, long texts are shortened,
/// so that lines have at most this width.
pub(crate) fn push_sections(
    text: &mut String,
    indent: &str,
    sections: &[(&str, Vec<Row>)],
    width: Option<usize>,
) {
    let longest = |column: usize, max: usize| {
        let all = sections.iter().flat_map(|(_, rows)| rows);
        all.map(|row| row[column].chars().count()).filter(|width| *width <= max).max().unwrap_or(0)
    };
    // Widths of formats have 16 bits.
    let fitted = width.map(|width| width.min(u16::MAX.into())).map(|width| {
        let all = [longest(0, usize::MAX), longest(1, usize::MAX), longest(2, usize::MAX)];
        // The indents and two gaps of two characters.
        fit(all, width.saturating_sub(indent.len() + 6))
    });
    let (names, types) =
        fitted.map_or((longest(0, MAX_WIDTH), longest(1, MAX_WIDTH)), |[it, ty, _]| (it, ty));
    for (title, rows) in sections {
        text.push_str(&format!("{indent}{title}\n"));
        for row in rows {
            let cell = |column: usize| match fitted {
                Some(widths) => shorten(&row[column], widths[column]),
                None => Cow::Borrowed(row[column].as_str()),
            };
            let line = format!("{indent}  {:names$}  {:types$}  {}", cell(0), cell(1), cell(2));
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
}

/// Reduces the widest columns until all fit, but none below [`MIN_WIDTH`].
fn fit(widths: [usize; 3], available: usize) -> [usize; 3] {
    let mut widths = widths.map(|width| width.min(available.max(MIN_WIDTH)));
    while widths.iter().sum::<usize>() > available
        && let Some(widest) = widths.iter_mut().max()
        && *widest > MIN_WIDTH
    {
        *widest -= 1;
    }
    widths
}

/// The text with its middle left out if it is longer than `width` characters.
fn shorten(text: &str, width: usize) -> Cow<'_, str> {
    let length = text.chars().count();
    if length <= width {
        return Cow::Borrowed(text);
    }
    let kept = width.saturating_sub(1);
    let start = text.chars().take(kept.div_ceil(2));
    Cow::Owned(start.chain([ELLIPSIS]).chain(text.chars().skip(length - kept / 2)).collect())
}

/// Options for a table.
#[derive(Clone, Copy, Debug)]
pub struct TableOptions<'s> {
    /// The values to show. Undecided equations are shown if these are all.
    pub selection: &'s Selection,
    /// The maximum width of a line of a value, in characters. Long names and types are shortened in the
    /// middle.
    pub width: Option<usize>,
}

/// The table of a checked model, ending in a line break.
#[must_use]
pub fn render(checked: &mut Checked<'_>) -> String {
    render_with(checked, TableOptions { selection: &Selection::default(), width: None })
}

/// The table of some values of a checked model; empty if there are none.
#[must_use]
pub fn render_with(checked: &mut Checked<'_>, options: TableOptions<'_>) -> String {
    let TableOptions { selection, width } = options;
    let mut text = String::new();
    let mut initializers = initializers(checked);
    for (graph, path) in graphs(checked.body()) {
        let sections = sections(checked, graph, initializers.remove(&graph).unwrap_or_default(), selection);
        if sections.is_empty() && !selection.is_all() {
            continue;
        }
        if !path.is_empty() {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}{}\n", escape(&path)));
        }
        push_sections(&mut text, "", &sections, width);
    }
    let equations = if selection.is_all() { equations(checked) } else { Vec::new() };
    if !equations.is_empty() {
        text.push_str("\nundecided equations\n");
        for equation in equations {
            text.push_str(&format!("  {equation}\n"));
        }
    }
    text
}

/// Every graph with its path, depth first, nested graphs in the order of nodes and attributes.
pub(crate) fn graphs(body: &Body<'_>) -> Vec<(GraphId, String)> {
    let mut found = Vec::new();
    let mut open = vec![body.root()];
    while let Some(graph) = open.pop() {
        let mut inner: Vec<GraphId> = body.children(graph).collect();
        inner.reverse();
        open.extend(inner);
        found.push((graph, graph_path(body, graph).to_string()));
    }
    found
}

/// The outputs of the nodes of a graph, in the order of the nodes.
pub(crate) fn node_outputs(body: &Body<'_>, graph: GraphId) -> impl Iterator<Item = ValueId> {
    let (from, to) = body.graph(graph).steps;
    (from..to)
        .map(StepId::new)
        .filter(move |step| {
            body.step(*step).graph == graph && !matches!(body.step(*step).kind, StepKind::Enter(_))
        })
        .flat_map(|step| body.outputs(step).iter().flatten().copied())
}

/// The initializers of each graph.
pub(crate) fn initializers(checked: &Checked<'_>) -> HashMap<GraphId, Vec<ValueId>> {
    let body = checked.body();
    let mut found: HashMap<GraphId, Vec<ValueId>> = HashMap::new();
    for value in body.values() {
        if matches!(body.value(value).origin, Origin::Initializer(_)) {
            found.entry(body.value(value).graph).or_default().push(value);
        }
    }
    found
}

/// The values of a graph by kind; kinds without values are left out.
fn sections(
    checked: &mut Checked<'_>,
    graph: GraphId,
    initializers: Vec<ValueId>,
    selection: &Selection,
) -> Vec<(&'static str, Vec<Row>)> {
    let body = checked.body();
    let listed = body.graph(graph);
    let (inputs, outputs) = (listed.inputs.to_vec(), listed.outputs.to_vec());
    let known: BTreeSet<ValueId> = inputs.iter().chain(&outputs).copied().collect();
    let initializers = initializers.into_iter().filter(|value| !known.contains(value)).collect();
    let node_outputs = node_outputs(body, graph).filter(|value| !known.contains(value)).collect();
    [("inputs", inputs), ("initializers", initializers), ("values", node_outputs), ("outputs", outputs)]
        .into_iter()
        .map(|(title, mut values): (_, Vec<ValueId>)| {
            values.retain(|value| selection.contains(checked, *value));
            (title, values)
        })
        .filter(|(_, values)| !values.is_empty())
        .collect::<Vec<_>>()
        .into_iter()
        .map(|(title, values)| (title, values.into_iter().map(|value| row(checked, value)).collect()))
        .collect()
}

fn row(checked: &mut Checked<'_>, value: ValueId) -> Row {
    let mut ty = checked.display_type(value);
    if checked.is_assumed(value) {
        ty.push_str(" (assumed)");
    }
    let body = checked.body();
    let by = match body.value(value).origin {
        Origin::Step(step) => body.op_name(step),
        Origin::Input | Origin::InputWithDefault(_) | Origin::Initializer(_) | Origin::Undefined => "",
    };
    [body.value_name(value), &ty, by].map(|text| escape(text).into_owned())
}

fn equations(checked: &Checked<'_>) -> Vec<String> {
    let (body, dims) = (checked.body(), checked.dims());
    checked
        .equations()
        .iter()
        .map(|equation| {
            let Equation { left, right, need, step, rule, source } = equation;
            let record = body.step(*step);
            let node = match record.node.name().unwrap_or_default() {
                "" => format!("{} (#{})", body.op_name(*step), record.position),
                name => name.to_owned(),
            };
            let text = dims.display_condition(Condition::new(*need, *left, *right));
            let text = match source {
                EquationSource::Ports { .. } => format!("{text}, needed by {node} ({rule})"),
                EquationSource::Call => format!("{text}, needed inside {node} ({rule})"),
                EquationSource::Declared(value) => {
                    format!("{text}, if the declared type of {} holds", body.value_name(*value))
                }
            };
            escape(&text).into_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_text_is_left_out() {
        assert_eq!(shorten("/layers.0/attention/MatMul", 11), "/laye\u{2026}atMul");
        assert_eq!(shorten("abc", 3), "abc");
        assert_eq!(shorten("äöüß", 3), "ä\u{2026}ß");
        assert_eq!([shorten("abc", 1), shorten("abc", 2)], ["\u{2026}", "a\u{2026}"]);
    }

    #[test]
    fn the_widest_columns_are_reduced_first() {
        assert_eq!(fit([10, 20, 5], 40), [10, 20, 5]);
        assert_eq!(fit([10, 40, 5], 40), [10, 25, 5]);
        assert_eq!(fit([100, 100, 5], 45), [20, 20, 5]);
        assert_eq!(fit([usize::MAX, 100, 5], 3), [MIN_WIDTH, MIN_WIDTH, 5]);
    }
}
