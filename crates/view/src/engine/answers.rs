//! The answers to requests. `page/src/answers.ts` has the same types for the page; a test generates and
//! compares it.
//!
//! An item is `g12` for a group, `n34` for a node, `v56` for a value or `d7` for a diagnostic. A `place` is
//! the path of a box in the picture: the items around it from the model's graph on, and the item itself,
//! joined by `/`. The path of a node is followed by the group of one of its graphs: `g3/n17/g22/n25`. Inputs
//! end with `in-v5` or `in`, outputs with `out-v5` or `out`.
//!
//! All texts except links are short and on one line, without control characters; [`Message::notes`] and
//! [`Details::text`] have several lines.
//!
//! A node is named by its operator and its name, which are separate fields. An item that is no node has an empty
//! `operator`.

use serde::Serialize;
use typeloom_solver::diagnostic::Severity;

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(untagged)]
pub enum Answer {
    /// Facts about the model.
    Summary(Box<Summary>),
    /// A picture for the page.
    Picture(Picture),
    /// A picture as a file.
    File(File),
    /// Facts about an item.
    Details(Box<Details>),
    /// A chain of causes.
    Causes(Causes),
    /// Expanded groups that make an item visible.
    Reveal(Reveal),
    /// Results of a search.
    Results(Results),
    /// The groups inside of a group.
    Groups(Groups),
    /// The item of a link.
    Found(Found),
    /// The verdict of a target.
    Target(TargetView),
    /// Boxes at the ends of links.
    Neighbours(Neighbours),
    /// The request has no answer.
    Failure(Failure),
}

/// The request has no answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Failure {
    /// The reason.
    pub error: String,
}

/// Facts about the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Summary {
    /// The name of the file; of two models, both names.
    pub name: String,
    /// The path of the file, or both paths.
    pub path: String,
    /// The program that wrote the file; empty if unknown.
    pub producer: String,
    /// The versions of operator sets: `opset 21`, `ai.onnx.ml opset 3`.
    pub opsets: Vec<String>,
    /// The number of nodes with those of nested graphs, without functions.
    pub nodes: usize,
    /// The number of values.
    pub values: usize,
    /// The number of errors.
    pub errors: usize,
    /// The number of warnings.
    pub warnings: usize,
    /// The problems that are not reported, such as `2 known`; empty if there are none.
    pub unreported: String,
    /// The size of the model.
    pub sizes: Sizes,
    /// The operators of the nodes, the most frequent first.
    pub operators: Vec<OperatorCount>,
    /// The evidence for the types of values.
    pub coverage: Coverage,
    /// Whether the model has groups, nested graphs or functions.
    pub has_groups: bool,
    /// The first diagnostics.
    pub diagnostics: Vec<Finding>,
    /// The symbols of the model.
    pub symbols: Vec<Symbol>,
    /// Equations and conditions on symbols.
    pub equations: Vec<String>,
    /// The inputs of the model.
    pub inputs: Vec<Port>,
    /// The outputs of the model.
    pub outputs: Vec<Port>,
    /// The changes from an old model; null if the scene is of one model.
    pub changes: Option<Changes>,
    /// The targets; empty if none was named.
    pub targets: Vec<TargetName>,
    /// A note about entries that the lists do not have; empty if they are complete.
    pub note: String,
}

/// The size of a model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Sizes {
    /// The size of the file without external data, in bytes; 0 if unknown.
    #[cfg_attr(test, ts(type = "number"))]
    pub file: u64,
    /// The number of elements of all initializers.
    #[cfg_attr(test, ts(type = "number"))]
    pub parameters: u64,
    /// The number of initializers.
    #[cfg_attr(test, ts(type = "number"))]
    pub initializers: u64,
    /// The number of `Constant` nodes, which are no boxes of the picture.
    #[cfg_attr(test, ts(type = "number"))]
    pub constants: u64,
    /// The number of functions.
    pub functions: usize,
}

/// The number of nodes with an operator, without those of functions.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct OperatorCount {
    /// The operator, with its domain if that is not ONNX's own.
    pub operator: String,
    /// The number of nodes.
    pub count: usize,
}

/// The changes between two models.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Changes {
    /// The number of all changes.
    pub total: usize,
    /// The first changes: those of the interface, of nodes, of types.
    pub entries: Vec<ChangeEntry>,
}

/// A change between two models.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ChangeEntry {
    /// `added`, `removed` or `changed`.
    pub change: String,
    /// The change.
    pub text: String,
    /// The item that changed; null for a symbol, and for several items.
    pub item: Option<String>,
    /// The number of changes: more than one for the same change of several items.
    pub count: usize,
    /// The first of several items; empty for one.
    pub items: Vec<ChangedItem>,
}

/// An item with a change that others share.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ChangedItem {
    /// The change with the name of the item.
    pub text: String,
    /// The item.
    pub item: Option<String>,
}

/// The number of values for each evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Coverage {
    /// The type is proven.
    pub proven: usize,
    /// The type depends on an assumed declaration.
    pub assumed: usize,
    /// Part of the type is unknown or in error.
    pub incomplete: usize,
}

/// A diagnostic in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Finding {
    /// The item of the diagnostic.
    pub item: String,
    /// The code.
    pub code: String,
    /// The severity.
    pub severity: Level,
    /// The message.
    pub message: String,
    /// The first items that it concerns.
    pub targets: Vec<String>,
    /// The operator of the first item.
    pub operator: String,
    /// The name of the first item.
    pub target: String,
}

/// A severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The model cannot be used.
    Error,
    /// The model can be used.
    Warning,
}

impl From<Severity> for Level {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Error => Self::Error,
            Severity::Warning => Self::Warning,
        }
    }
}

/// A symbol of the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Symbol {
    /// The name.
    pub name: String,
    /// The first axis with the symbol.
    pub origin: String,
    /// The item of the value with this axis; null if unknown.
    pub item: Option<String>,
}

/// An input or output.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Port {
    /// The item of the value.
    pub item: String,
    /// The name.
    pub name: String,
    /// The type.
    #[serde(rename = "type")]
    pub ty: String,
}

/// A picture for the page.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Picture {
    /// The text of an SVG element without a style.
    pub svg: String,
    /// The paths of the groups that are expanded in the picture.
    pub expanded: Vec<String>,
    /// The number of drawn nodes, without those of functions.
    pub drawn: usize,
    /// The number of all nodes, without those of functions.
    pub nodes: usize,
    /// Sentences about the nodes and links that are not drawn; empty if all are.
    pub notes: Vec<String>,
    /// The width of the picture.
    pub width: f64,
    /// The height of the picture.
    pub height: f64,
    /// The boxes in reading order.
    pub boxes: Vec<DrawnBox>,
}

/// A box of a picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DrawnBox {
    /// The item; for the port of several other values, the group.
    pub item: String,
    /// The path.
    pub place: String,
    /// The distance from the left side.
    pub x: f64,
    /// The distance from the top.
    pub y: f64,
    /// The width.
    pub w: f64,
    /// The height.
    pub h: f64,
    /// The text for assistive programs.
    pub label: String,
    /// The state of the groups inside; null if there are none.
    pub is_expanded: Option<bool>,
}

/// A picture as a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct File {
    /// The complete SVG file with its style.
    pub svg: String,
    /// The width of the picture.
    pub width: f64,
    /// The height of the picture.
    pub height: f64,
}

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A group of nodes.
    Group,
    /// A node.
    Node,
    /// A value.
    Value,
    /// A diagnostic.
    Diagnostic,
}

/// Facts about an item.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Details {
    /// The item.
    pub item: String,
    /// The kind of the item.
    pub kind: Kind,
    /// The operator.
    pub operator: String,
    /// The title.
    pub title: String,
    /// A link that stays the same if the model changes elsewhere.
    pub link: String,
    /// All facts as text, to be copied.
    pub text: String,
    /// The message of a diagnostic; null for other items.
    pub message: Option<Message>,
    /// The facts.
    pub sections: Vec<Section>,
}

/// The message of a diagnostic. Names of the model are in backticks.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Message {
    /// The code.
    pub code: String,
    /// The severity.
    pub severity: Level,
    /// The address of the page of the code.
    pub uri: String,
    /// The message.
    pub text: String,
    /// The nodes and declarations; the first is the one with the problem.
    pub excerpts: Vec<Excerpt>,
    /// Further explanation; a note can have several lines.
    pub notes: Vec<String>,
    /// A proposed repair; empty if there is none.
    pub help: String,
    /// The line of the author's program; empty if unknown.
    pub source: String,
    /// The names in the message and their items.
    pub names: Vec<NamedItem>,
}

/// A name in a text, and its item.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct NamedItem {
    /// The name.
    pub name: String,
    /// The item.
    pub item: String,
}

/// A printed node or declaration.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Excerpt {
    /// The location.
    pub location: String,
    /// The operator of the node.
    pub operator: String,
    /// The name of the node or value; may be empty.
    pub name: String,
    /// The item; null if the scene does not have it.
    pub item: Option<String>,
    /// The text; of a node, each input has a line of its own.
    pub lines: Vec<ExcerptLine>,
}

/// A line of an excerpt.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ExcerptLine {
    /// The parts of the text.
    pub parts: Vec<ExcerptPart>,
    /// The item of an input; null for other lines.
    pub item: Option<String>,
    /// The type of an input; empty for other lines.
    #[serde(rename = "type")]
    pub ty: String,
}

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ExcerptPart {
    /// The text.
    pub text: String,
    /// The label; null for a part without one, and may be empty.
    pub label: Option<String>,
    /// Whether this part is the cause of the problem.
    pub is_primary: bool,
}

/// Facts of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Section {
    /// The title.
    pub title: String,
    /// The facts.
    pub rows: Vec<Row>,
}

/// A fact.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Row {
    /// The name of the fact; may be empty.
    pub label: String,
    /// The operator of a node.
    pub operator: String,
    /// The fact, or the name of the item.
    pub text: String,
    /// The type of a value, with its elements if they are known; empty for other facts.
    #[serde(rename = "type")]
    pub ty: String,
    /// The item that it names; null if there is none.
    pub item: Option<String>,
    /// The severity of a diagnostic; null for other facts.
    pub severity: Option<Level>,
}

/// The chain of causes of the type of a value, or those of the values that a diagnostic concerns.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Causes {
    /// The item of the value or diagnostic.
    pub item: String,
    /// The links of the chain, from the value to the source of its type; empty if nothing was recorded.
    pub steps: Vec<Cause>,
    /// The number of links that are left out before the last.
    pub hidden: usize,
    /// The origin of each named extent.
    pub axes: Vec<AxisOrigin>,
    /// The nodes and values of the chain; for a diagnostic also itself and the nodes that extents pass.
    pub highlight: Vec<String>,
    /// The names in the sentences and their items.
    pub names: Vec<NamedItem>,
}

/// A link of a chain of causes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Cause {
    /// A sentence with the type of a value and its cause.
    pub text: String,
    /// The item of the value.
    pub value: String,
    /// The item of the node that gives the value its type; null for a declaration.
    pub node: Option<String>,
    /// The name of the rule; empty if it is the operator's signature or there is none.
    pub rule: String,
    /// The line of the author's program; empty if unknown.
    pub source: String,
}

/// The origin of an extent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AxisOrigin {
    /// The position of the axis.
    pub axis: usize,
    /// A sentence with the extent and its origin.
    pub text: String,
    /// The item of the value that introduces the extent.
    pub source: String,
    /// The items of the nodes that pass it on.
    pub through: Vec<String>,
}

/// Expanded groups that make an item visible.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Reveal {
    /// The paths to be expanded.
    pub expanded: Vec<String>,
    /// The item with a box: of a stored value, the node that reads it.
    pub shown: String,
    /// The path of the box; of a value that a node makes, the box of the node. Empty for the model's graph
    /// itself.
    pub place: String,
}

/// Results of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Results {
    /// The number of all results.
    pub total: usize,
    /// The first results.
    pub results: Vec<Hit>,
    /// An error in the query; empty if there is none.
    pub error: String,
}

/// A result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Hit {
    /// The item.
    pub item: String,
    /// The operator.
    pub operator: String,
    /// The title.
    pub title: String,
    /// The matching text; of a node or value, a type.
    pub text: String,
}

/// The groups, nested graphs and functions inside of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Groups {
    /// The groups.
    pub groups: Vec<InnerGroup>,
}

/// A group, or a node with nested graphs or a function.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct InnerGroup {
    /// The item.
    pub item: String,
    /// The path of the box, and of the group to be expanded.
    pub place: String,
    /// The operator.
    pub operator: String,
    /// The title.
    pub title: String,
    /// The number of nodes in it.
    pub nodes: usize,
    /// The number of errors in it.
    pub errors: usize,
    /// The number of warnings in it.
    pub warnings: usize,
    /// The numbers of changes in it, as text; empty if there are none.
    pub changes: String,
    /// Whether it has inner groups.
    pub has_groups: bool,
}

/// The item of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Found {
    /// The item; null if there is none.
    pub item: Option<String>,
}

/// A target.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TargetName {
    /// The name.
    pub name: String,
    /// The verdict as text.
    pub verdict: String,
}

/// The verdict of a target, and where nodes run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TargetView {
    /// The name.
    pub name: String,
    /// The verdict as text.
    pub verdict: String,
    /// Whether the target is a device or a runtime whose nodes were measured. Otherwise only nodes with problems
    /// have a place.
    pub is_measured: bool,
    /// The places with nodes.
    pub places: Vec<PlaceCount>,
    /// Conditions, the bytes that cross, and reasons that concern the model as a whole.
    pub rows: Vec<Row>,
    /// The first partitions of the device.
    pub partitions: Vec<Partition>,
    /// The number of nodes that are not on the device.
    pub total: usize,
    /// The first nodes that are not on the device.
    pub others: Vec<OtherNode>,
}

/// The number of nodes in a place.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PlaceCount {
    /// The class of the place.
    pub place: String,
    /// The letter of the place.
    pub letter: String,
    /// The number and the assignment as text.
    pub text: String,
}

/// A partition of the device.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Partition {
    /// The number of nodes.
    pub nodes: usize,
    /// The first nodes.
    pub items: Vec<String>,
}

/// A node that is not on the device.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct OtherNode {
    /// The item.
    pub item: String,
    /// The class of the place.
    pub place: String,
    /// The letter of the place.
    pub letter: String,
    /// The operator.
    pub operator: String,
    /// The name.
    pub title: String,
    /// The reason; empty if no diagnostic has one.
    pub text: String,
}

/// Boxes at the ends of links.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Neighbours {
    /// The boxes from which values come.
    pub inputs: Vec<Neighbour>,
    /// The boxes to which values pass.
    pub outputs: Vec<Neighbour>,
}

/// A box at the end of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Neighbour {
    /// The item.
    pub item: String,
    /// The path.
    pub place: String,
    /// The item of the first value.
    pub value: String,
    /// The values of the link.
    pub label: String,
}
