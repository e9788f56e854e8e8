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

use typeloom_onnx::text::escape;
use typeloom_solver::diagnostic::graph_path;
use typeloom_solver::dim::Condition;
use typeloom_solver::model::Checked;
use typeloom_solver::program::{Body, GraphId, Origin, StepId, StepKind, ValueId};
use typeloom_solver::solution::{Equation, EquationSource};

/// Maximum width of a column, in characters; wider entries are not aligned.
const MAX_WIDTH: usize = 48;

/// The name, type and note of a value.
pub(crate) type Row = [String; 3];

/// Adds rows under their titles, with names and types aligned.
pub(crate) fn push_sections(text: &mut String, indent: &str, sections: &[(&str, Vec<Row>)]) {
    let width = |column: usize| {
        let all = sections.iter().flat_map(|(_, rows)| rows);
        all.map(|row| row[column].chars().count()).filter(|width| *width <= MAX_WIDTH).max().unwrap_or(0)
    };
    let (names, types) = (width(0), width(1));
    for (title, rows) in sections {
        text.push_str(&format!("{indent}{title}\n"));
        for [name, ty, note] in rows {
            let line = format!("{indent}  {name:names$}  {ty:types$}  {note}");
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
}

/// The table of a checked model, ending in a line break.
#[must_use]
pub fn render(checked: &mut Checked<'_>) -> String {
    let mut text = String::new();
    let mut initializers = initializers(checked);
    for (graph, path) in graphs(checked.body()) {
        if !path.is_empty() {
            text.push_str(&format!("\n{}\n", escape(&path)));
        }
        let sections = sections(checked, graph, initializers.remove(&graph).unwrap_or_default());
        push_sections(&mut text, "", &sections);
    }
    let equations = equations(checked);
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
fn initializers(checked: &Checked<'_>) -> HashMap<GraphId, Vec<ValueId>> {
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
) -> Vec<(&'static str, Vec<Row>)> {
    let body = checked.body();
    let listed = body.graph(graph);
    let (inputs, outputs) = (listed.inputs.clone(), listed.outputs.clone());
    let known: BTreeSet<ValueId> = inputs.iter().chain(&outputs).copied().collect();
    let initializers = initializers.into_iter().filter(|value| !known.contains(value)).collect();
    let node_outputs = node_outputs(body, graph).filter(|value| !known.contains(value)).collect();
    [("inputs", inputs), ("initializers", initializers), ("values", node_outputs), ("outputs", outputs)]
        .into_iter()
        .filter(|(_, values)| !values.is_empty())
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
