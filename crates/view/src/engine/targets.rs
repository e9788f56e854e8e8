//! Targets: their verdicts, and where nodes run.

use super::Engine;
use super::answers::{OtherNode, Partition, PlaceCount, Row, TargetName, TargetView};
use super::details::row;
use super::item::Subject;
use crate::scene::{Assignment, MarkId, NodeId, Scene, Target, Verdict};
use crate::text::{MAX_DETAIL, counted, short};

/// Maximum number of listed partitions, of listed nodes of each, and of listed nodes that are not on the device.
const MAX_LISTED: usize = 200;
const MAX_OTHERS: usize = 1000;

/// The names and verdicts of all targets.
pub(super) fn names(scene: &Scene) -> Vec<TargetName> {
    let name = |target: &Target| TargetName {
        name: short(&target.name, MAX_DETAIL),
        verdict: words(target.verdict).to_owned(),
    };
    scene.targets.iter().take(MAX_LISTED).map(name).collect()
}

/// The target of a scene with a name.
pub(super) fn named<'s>(scene: &'s Scene, name: &str) -> Option<&'s Target> {
    scene.targets.iter().find(|target| short(&target.name, MAX_DETAIL) == name)
}

/// The places of a node on all targets.
pub(super) fn rows_of(scene: &Scene, node: NodeId) -> Vec<Row> {
    let row_of = |target: &Target| {
        let at = target.places.binary_search_by_key(&node, |placed| placed.node).ok()?;
        let placed = &target.places[at];
        let mut text = format!("{} {}", placed.place.letter(), placed.place.text());
        if let Some(partition) = placed.partition {
            text.push_str(&format!(", partition {}", u64::from(partition) + 1));
        }
        let mark = mark_of(scene, target, node);
        if let Some(mark) = mark {
            text.push_str(&format!(": {}", reason(scene, mark)));
        }
        let item = mark.map(|mark| Subject::Mark(mark).to_string());
        Some(Row { item, ..row(&short(&target.name, MAX_DETAIL), text) })
    };
    scene.targets.iter().take(MAX_LISTED).filter_map(row_of).collect()
}

/// The diagnostic of a target about a node.
fn mark_of(scene: &Scene, target: &Target, node: NodeId) -> Option<MarkId> {
    scene.node(node).marks.iter().copied().find(|mark| target.marks.binary_search(mark).is_ok())
}

/// The reason why a node is not on the device. The message of a measured node only repeats its place.
fn reason(scene: &Scene, mark: MarkId) -> String {
    let mark = scene.mark(mark);
    let note = match mark.code {
        "target-fallback" | "target-node" => mark.parts.notes.first(),
        _ => None,
    };
    short(note.unwrap_or(&mark.message), MAX_DETAIL)
}

fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Runs => "runs",
        Verdict::RunsWithFallback => "runs with fallback",
        Verdict::Rejected => "does not run",
        Verdict::Undecided => "undecided",
    }
}

impl Engine {
    pub(super) fn target_view(&self, target: &Target) -> TargetView {
        let scene = &self.scene;
        let count = |place| target.places.iter().filter(|placed| placed.place == place).count();
        let places = Assignment::ALL.into_iter().map(|place| (place, count(place)));
        let partitions = partitions(target);
        let mut rows: Vec<Row> =
            target.conditions.iter().map(|text| row("where", short(text, MAX_DETAIL))).collect();
        if !target.fixed.is_empty() {
            let symbols = target.fixed.join(", ");
            rows.push(row("numbers", short(&format!("{symbols}: measured for fixed extents"), MAX_DETAIL)));
        }
        if target.is_measured {
            rows.push(row("partitions", partitions.len().to_string()));
            let crossing = target.crossing.as_ref().map_or("unknown", String::as_str);
            rows.push(row("bytes that cross", short(crossing, MAX_DETAIL)));
        }
        rows.extend(self.rows_of_model(target));
        let others = target.places.iter().filter(|placed| placed.place != Assignment::Device);
        let other = |node: NodeId, place: Assignment| OtherNode {
            item: Subject::Node(node).to_string(),
            place: place.class().to_owned(),
            letter: place.letter().to_string(),
            operator: Subject::Node(node).operator_in(scene),
            title: Subject::Node(node).own_name_in(scene),
            text: mark_of(scene, target, node).map_or_else(String::new, |mark| reason(scene, mark)),
        };
        TargetView {
            name: short(&target.name, MAX_DETAIL),
            verdict: words(target.verdict).to_owned(),
            is_measured: target.is_measured,
            places: places
                .filter(|(_, count)| *count > 0)
                .map(|(place, count)| PlaceCount {
                    place: place.class().to_owned(),
                    letter: place.letter().to_string(),
                    text: format!("{} {}", counted(count, "node"), place.text()),
                })
                .collect(),
            rows,
            partitions: partitions
                .iter()
                .take(MAX_LISTED)
                .map(|nodes| Partition {
                    nodes: nodes.len(),
                    items: nodes
                        .iter()
                        .take(MAX_LISTED)
                        .map(|node| Subject::Node(*node).to_string())
                        .collect(),
                })
                .collect(),
            total: others.clone().count(),
            others: others.take(MAX_OTHERS).map(|placed| other(placed.node, placed.place)).collect(),
        }
    }

    /// The reasons that concern the model as a whole.
    fn rows_of_model(&self, target: &Target) -> Vec<Row> {
        let scene = &self.scene;
        let is_own = |mark: &MarkId| target.marks.binary_search(mark).is_ok();
        let mut marks = (0..scene.marks.len()).map(MarkId::new);
        let is_invalid = marks.any(|mark| {
            let of_another = scene.targets.iter().any(|other| other.marks.binary_search(&mark).is_ok());
            scene.mark(mark).is_error() && !is_own(&mark) && !of_another
        });
        let mut rows = Vec::new();
        if is_invalid && target.verdict == Verdict::Undecided {
            rows.push(row("model", "it has errors of its own".to_owned()));
        }
        // Conditions have rows of their own.
        let of_model = target.marks.iter().filter(|mark| {
            let mark = scene.mark(**mark);
            mark.nodes.is_empty() && mark.code != "target-condition"
        });
        rows.extend(of_model.take(MAX_LISTED).map(|mark| Row {
            item: Some(Subject::Mark(*mark).to_string()),
            severity: Some(scene.mark(*mark).severity.into()),
            ..row("model", reason(scene, *mark))
        }));
        rows
    }
}

/// The nodes of each partition, in order.
fn partitions(target: &Target) -> Vec<Vec<NodeId>> {
    let mut found: Vec<Vec<NodeId>> = Vec::new();
    for placed in &target.places {
        let Some(at) = placed.partition else { continue };
        let at = at as usize;
        if found.len() <= at {
            found.resize_with(at + 1, Vec::new);
        }
        found[at].push(placed.node);
    }
    found.retain(|nodes| !nodes.is_empty());
    found
}
