//! Facts about the model as a whole.

use super::Engine;
use super::answers::{
    ChangeEntry, ChangedItem, Changes, Coverage, Finding, OperatorCount, Port, Sizes, Summary, Symbol,
};
use super::groups::inner;
use super::item::Subject;
use crate::scene::{self, Comparison, Evidence, GroupKind, Mark, Operator, Scene, ValueId};
use crate::svg::interactive::item_label;
use crate::text::{MAX_DETAIL, MAX_NAME, counted, file_names, short};

/// Maximum number of listed diagnostics.
const MAX_FINDINGS: usize = 2000;

/// Maximum number of symbols, equations, inputs and outputs.
const MAX_LISTED: usize = 1000;

/// Maximum number of items of a diagnostic.
const MAX_TARGETS: usize = 16;

impl Engine {
    pub(super) fn summary(&self) -> Summary {
        let scene = &self.scene;
        let main = scene.group(scene.main());
        let count = |is_error| scene.marks.iter().filter(|mark| mark.is_error() == is_error).count();
        let diagnostics = scene.marks.iter().enumerate().take(MAX_FINDINGS);
        let about = &scene.about;
        let ports =
            |values: &[ValueId]| values.iter().take(MAX_LISTED).map(|value| port(scene, *value)).collect();
        Summary {
            name: short(&file_names(&about.title), MAX_DETAIL),
            path: short(&about.title, MAX_DETAIL),
            producer: short(&about.producer, MAX_DETAIL),
            opsets: about.opsets.iter().take(MAX_LISTED).map(|text| short(text, MAX_DETAIL)).collect(),
            nodes: main.total,
            values: scene.values.len(),
            errors: count(true),
            warnings: count(false),
            unreported: short(&about.unreported, MAX_DETAIL),
            sizes: sizes(scene),
            operators: operators(scene),
            coverage: coverage(scene),
            has_groups: inner(scene, scene.main()).next().is_some(),
            diagnostics: diagnostics.map(|(at, mark)| finding(scene, at, mark)).collect(),
            symbols: about.symbols.iter().take(MAX_LISTED).map(|symbol| of_symbol(scene, symbol)).collect(),
            equations: about.equations.iter().take(MAX_LISTED).map(|text| short(text, MAX_DETAIL)).collect(),
            inputs: ports(&main.inputs),
            outputs: ports(&main.outputs),
            changes: scene.comparison.as_ref().map(changes),
            targets: super::targets::names(scene),
            note: note(scene),
        }
    }
}

fn changes(comparison: &Comparison) -> Changes {
    let item = |subject: scene::Subject| match subject {
        scene::Subject::Model => None,
        scene::Subject::Node(node) => Some(Subject::Node(node).to_string()),
        scene::Subject::Value(value) => Some(Subject::Value(value).to_string()),
    };
    let entries = comparison.listed.iter().map(|listed| {
        let items = listed.items.iter();
        let items = items.map(|it| ChangedItem { text: short(&it.text, MAX_DETAIL), item: item(it.subject) });
        ChangeEntry {
            change: listed.change.name().to_owned(),
            text: short(&listed.text, MAX_DETAIL),
            item: item(listed.subject),
            count: listed.count,
            items: items.collect(),
        }
    });
    Changes { total: comparison.total, entries: entries.collect() }
}

fn sizes(scene: &Scene) -> Sizes {
    let scene::Sizes { file, parameters, initializers, constants } = scene.about.sizes;
    Sizes { file, parameters, initializers, constants, functions: scene.functions.len() }
}

/// The operators of the nodes outside of functions, the most frequent first.
fn operators(scene: &Scene) -> Vec<OperatorCount> {
    let mut counts = vec![0; scene.operators.len()];
    let mut in_function: Vec<bool> = Vec::with_capacity(scene.groups.len());
    for group in &scene.groups {
        // A group is behind the one around it.
        let outer = group.parent.and_then(|parent| in_function.get(parent.index()).copied());
        in_function.push(group.kind == GroupKind::Function || outer.unwrap_or(false));
    }
    let nodes = scene.nodes.iter().filter(|node| !in_function[node.group.index()]);
    nodes.for_each(|node| counts[node.operator.index()] += 1);
    let counted = scene.operators.iter().zip(counts).filter(|(_, count)| *count > 0);
    let mut found: Vec<OperatorCount> = counted
        .map(|(Operator { domain, name }, count)| {
            let separator = if domain.is_empty() { "" } else { "." };
            OperatorCount { operator: short(&format!("{domain}{separator}{name}"), MAX_DETAIL), count }
        })
        .collect();
    found.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.operator.cmp(&b.operator)));
    found.truncate(MAX_LISTED);
    found
}

fn coverage(scene: &Scene) -> Coverage {
    let mut coverage = Coverage::default();
    for value in &scene.values {
        match value.evidence {
            Evidence::Proven => coverage.proven += 1,
            Evidence::Assumed => coverage.assumed += 1,
            Evidence::Incomplete => coverage.incomplete += 1,
        }
    }
    coverage
}

pub(super) fn finding(scene: &Scene, at: usize, mark: &Mark) -> Finding {
    let nodes = mark.nodes.iter().map(|node| Subject::Node(*node));
    let targets: Vec<Subject> =
        nodes.chain(mark.values.iter().map(|value| Subject::Value(*value))).take(MAX_TARGETS).collect();
    Finding {
        item: format!("d{at}"),
        code: mark.code.to_owned(),
        severity: mark.severity.into(),
        message: short(&mark.message, MAX_DETAIL),
        operator: targets.first().map_or_else(String::new, |target| target.operator_in(scene)),
        target: targets.first().map_or_else(String::new, |target| target.own_name_in(scene)),
        targets: targets.iter().map(ToString::to_string).collect(),
    }
}

fn of_symbol(scene: &Scene, symbol: &scene::Symbol) -> Symbol {
    let origin = match symbol.value {
        Some(value) => {
            format!("axis {} of {}", symbol.axis, Subject::Value(value).name_in(scene))
        }
        None => String::new(),
    };
    Symbol {
        name: short(&symbol.name, MAX_DETAIL),
        origin,
        item: symbol.value.map(|value| Subject::Value(value).to_string()),
    }
}

fn port(scene: &Scene, value: ValueId) -> Port {
    Port {
        item: Subject::Value(value).to_string(),
        name: short(&scene.value(value).name, MAX_DETAIL),
        ty: crate::label::long_type_of(scene, value),
    }
}

fn note(scene: &Scene) -> String {
    let main = scene.group(scene.main());
    let (listed, changes) = match &scene.comparison {
        Some(comparison) => (comparison.listed.iter().map(|it| it.count).sum(), comparison.total),
        None => (0, 0),
    };
    let lists = [
        (changes, listed, "change"),
        (scene.marks.len(), MAX_FINDINGS, "diagnostic"),
        (scene.operators.len(), MAX_LISTED, "operator"),
        (scene.about.symbols.len(), MAX_LISTED, "symbol"),
        (scene.about.equations.len(), MAX_LISTED, "equation"),
        (main.inputs.len(), MAX_LISTED, "input"),
        (main.outputs.len(), MAX_LISTED, "output"),
    ];
    let others = lists.iter().filter(|(count, max, _)| count > max);
    let parts: Vec<String> = others.map(|(count, max, noun)| counted(count - max, noun)).collect();
    if parts.is_empty() { String::new() } else { format!("not listed: {}", parts.join(", ")) }
}

impl Subject {
    /// A name of an item for readers.
    pub(super) fn name_in(self, scene: &Scene) -> String {
        use crate::level::Item;
        use crate::scene::Child;
        match self {
            Self::Node(node) => item_label(scene, Item::Child(Child::Node(node))),
            Self::Group(group) => item_label(scene, Item::Child(Child::Group(group))),
            Self::Value(value) => item_label(scene, Item::Input(value)),
            Self::Mark(mark) => scene.mark(mark).code.to_owned(),
        }
    }

    /// The operator of a node; empty for other items.
    pub(super) fn operator_in(self, scene: &Scene) -> String {
        match self {
            Self::Node(node) => short(&scene.operator(node).name, MAX_NAME),
            Self::Group(_) | Self::Value(_) | Self::Mark(_) => String::new(),
        }
    }

    /// The name without the operator; empty for a node without a name.
    pub(super) fn own_name_in(self, scene: &Scene) -> String {
        match self {
            Self::Node(node) => short(&scene.node(node).name, MAX_NAME),
            Self::Group(_) | Self::Value(_) | Self::Mark(_) => self.name_in(scene),
        }
    }
}
