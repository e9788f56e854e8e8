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

use std::collections::{BTreeSet, HashMap};

use typeloom_dim::Condition;
use typeloom_onnx::text::escape;
use typeloom_solver::diagnostic::graph_path;
use typeloom_solver::model::Checked;
use typeloom_solver::program::{Body, GraphId, Origin, StepId, StepKind, ValueId};
use typeloom_solver::solution::{Equation, EquationSource};

use crate::selection::Selection;

mod columns;

pub(crate) use columns::{Row, push_sections};

/// Options for a table.
#[derive(Clone, Copy, Debug)]
pub struct TableOptions<'s> {
    /// The values to show. Undecided equations are shown if these are all.
    pub selection: &'s Selection,
    /// The columns that the lines of values should have. If they are longer, names of the same scopes have a
    /// heading, and long rows take two lines. Without it, every line has a whole name.
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
