// Requests to the engine and its answers. Generated from the Rust types by
// `TYPELOOM_BLESS=1 cargo test -p typeloom-view answers`; do not edit.

/**
 * A request, as a JSON object with its name in `ask`. The answers are in [`answers`](super::answers).
 */
export type Request = { "ask": "summary", } | { "ask": "draw" } & View | { "ask": "export" } & View | { "ask": "details",
/**
 * The item.
 */
item: string, } | { "ask": "causes",
/**
 * The item of the value.
 */
item: string, } | { "ask": "reveal",
/**
 * The item.
 */
item: string,
/**
 * The groups that are expanded already; null for the default picture.
 */
expanded?: Array<string> | null, } | { "ask": "search",
/**
 * The query.
 */
query: string,
/**
 * The maximum number of listed results.
 */
limit?: number | null, } | { "ask": "groups",
/**
 * The path of the group, or of a node with nested graphs or a function; empty for the model's graph.
 */
place: string, } | { "ask": "find",
/**
 * The link, see `Details.link`. An item is also a link.
 */
link: string, } | { "ask": "target",
/**
 * The name.
 */
name: string, } | { "ask": "neighbours",
/**
 * The item.
 */
item: string,
/**
 * The path of its box.
 */
place?: string | null,
/**
 * The expanded groups, as in the request of the picture.
 */
expanded?: Array<string> | null, };

/**
 * The contents of a picture.
 */
export type View = {
/**
 * The paths of expanded groups, or null for the default picture. The path of a node expands all its
 * graphs. A path has an effect only if the groups around it are expanded.
 */
expanded?: Array<string> | null,
/**
 * The selected item.
 */
selected?: string | null,
/**
 * Items to be highlighted.
 */
highlight?: Array<string>,
/**
 * The target whose places the boxes have; an unknown one has no effect.
 */
target?: string | null,
/**
 * The maximum number of boxes; at most 2000.
 */
max_items?: number | null, };

/**
 * An answer.
 */
export type Answer = Summary | Picture | File | Details | Causes | Reveal | Results | Groups | Found | TargetView | Neighbours | Failure;

/**
 * The request has no answer.
 */
export type Failure = {
/**
 * The reason.
 */
error: string, };

/**
 * Facts about the model.
 */
export type Summary = {
/**
 * The name of the file; of two models, both names.
 */
name: string,
/**
 * The path of the file, or both paths.
 */
path: string,
/**
 * The program that wrote the file; empty if unknown.
 */
producer: string,
/**
 * The versions of operator sets: `opset 21`, `ai.onnx.ml opset 3`.
 */
opsets: Array<string>,
/**
 * The number of nodes with those of nested graphs, without functions.
 */
nodes: number,
/**
 * The number of values.
 */
values: number,
/**
 * The number of errors.
 */
errors: number,
/**
 * The number of warnings.
 */
warnings: number,
/**
 * The problems that are not reported, such as `2 known`; empty if there are none.
 */
unreported: string,
/**
 * The size of the model.
 */
sizes: Sizes,
/**
 * The operators of the nodes, the most frequent first.
 */
operators: Array<OperatorCount>,
/**
 * The evidence for the types of values.
 */
coverage: Coverage,
/**
 * Whether the model has groups, nested graphs or functions.
 */
has_groups: boolean,
/**
 * The first diagnostics.
 */
diagnostics: Array<Finding>,
/**
 * The symbols of the model.
 */
symbols: Array<Symbol>,
/**
 * Equations and conditions on symbols.
 */
equations: Array<string>,
/**
 * The inputs of the model.
 */
inputs: Array<Port>,
/**
 * The outputs of the model.
 */
outputs: Array<Port>,
/**
 * The changes from an old model; null if the scene is of one model.
 */
changes: Changes | null,
/**
 * The targets; empty if none was named.
 */
targets: Array<TargetName>,
/**
 * A note about entries that the lists do not have; empty if they are complete.
 */
note: string, };

/**
 * The number of values for each evidence.
 */
export type Coverage = {
/**
 * The type is proven.
 */
proven: number,
/**
 * The type depends on an assumed declaration.
 */
assumed: number,
/**
 * Part of the type is unknown or in error.
 */
incomplete: number, };

/**
 * A diagnostic in a list.
 */
export type Finding = {
/**
 * The item of the diagnostic.
 */
item: string,
/**
 * The code.
 */
code: string,
/**
 * The severity.
 */
severity: Level,
/**
 * The message.
 */
message: string,
/**
 * The first items that it concerns.
 */
targets: Array<string>,
/**
 * The operator of the first item.
 */
operator: string,
/**
 * The name of the first item.
 */
target: string, };

/**
 * A severity.
 */
export type Level = "error" | "warning";

/**
 * A symbol of the model.
 */
export type Symbol = {
/**
 * The name.
 */
name: string,
/**
 * The first axis with the symbol.
 */
origin: string,
/**
 * The item of the value with this axis; null if unknown.
 */
item: string | null, };

/**
 * An input or output.
 */
export type Port = {
/**
 * The item of the value.
 */
item: string,
/**
 * The name.
 */
name: string,
/**
 * The type.
 */
type: string, };

/**
 * A picture for the page.
 */
export type Picture = {
/**
 * The text of an SVG element without a style.
 */
svg: string,
/**
 * The paths of the groups that are expanded in the picture.
 */
expanded: Array<string>,
/**
 * The number of drawn nodes, without those of functions.
 */
drawn: number,
/**
 * The number of all nodes, without those of functions.
 */
nodes: number,
/**
 * Sentences about the nodes and links that are not drawn; empty if all are.
 */
notes: Array<string>,
/**
 * The width of the picture.
 */
width: number,
/**
 * The height of the picture.
 */
height: number,
/**
 * The boxes in reading order.
 */
boxes: Array<DrawnBox>, };

/**
 * A box of a picture.
 */
export type DrawnBox = {
/**
 * The item; for the port of several other values, the group.
 */
item: string,
/**
 * The path.
 */
place: string,
/**
 * The distance from the left side.
 */
x: number,
/**
 * The distance from the top.
 */
y: number,
/**
 * The width.
 */
w: number,
/**
 * The height.
 */
h: number,
/**
 * The text for assistive programs.
 */
label: string,
/**
 * The state of the groups inside; null if there are none.
 */
is_expanded: boolean | null, };

/**
 * A picture as a file.
 */
export type File = {
/**
 * The complete SVG file with its style.
 */
svg: string,
/**
 * The width of the picture.
 */
width: number,
/**
 * The height of the picture.
 */
height: number, };

/**
 * The kind of an item.
 */
export type Kind = "group" | "node" | "value" | "diagnostic";

/**
 * Facts about an item.
 */
export type Details = {
/**
 * The item.
 */
item: string,
/**
 * The kind of the item.
 */
kind: Kind,
/**
 * The operator.
 */
operator: string,
/**
 * The title.
 */
title: string,
/**
 * A link that stays the same if the model changes elsewhere.
 */
link: string,
/**
 * All facts as text, to be copied.
 */
text: string,
/**
 * The message of a diagnostic; null for other items.
 */
message: Message | null,
/**
 * The facts.
 */
sections: Array<Section>, };

/**
 * Facts of one kind.
 */
export type Section = {
/**
 * The title.
 */
title: string,
/**
 * The facts.
 */
rows: Array<Row>, };

/**
 * A fact.
 */
export type Row = {
/**
 * The name of the fact; may be empty.
 */
label: string,
/**
 * The operator of a node.
 */
operator: string,
/**
 * The fact, or the name of the item.
 */
text: string,
/**
 * The type of a value, with its elements if they are known; empty for other facts.
 */
type: string,
/**
 * The item that it names; null if there is none.
 */
item: string | null,
/**
 * The severity of a diagnostic; null for other facts.
 */
severity: Level | null, };

/**
 * The chain of causes of the type of a value, or those of the values that a diagnostic concerns.
 */
export type Causes = {
/**
 * The item of the value or diagnostic.
 */
item: string,
/**
 * The links of the chain, from the value to the source of its type; empty if nothing was recorded.
 */
steps: Array<Cause>,
/**
 * The number of links that are left out before the last.
 */
hidden: number,
/**
 * The origin of each named extent.
 */
axes: Array<AxisOrigin>,
/**
 * The nodes and values of the chain; for a diagnostic also itself and the nodes that extents pass.
 */
highlight: Array<string>,
/**
 * The names in the sentences and their items.
 */
names: Array<NamedItem>, };

/**
 * A link of a chain of causes.
 */
export type Cause = {
/**
 * A sentence with the type of a value and its cause.
 */
text: string,
/**
 * The item of the value.
 */
value: string,
/**
 * The item of the node that gives the value its type; null for a declaration.
 */
node: string | null,
/**
 * The name of the rule; empty if it is the operator's signature or there is none.
 */
rule: string,
/**
 * The line of the author's program; empty if unknown.
 */
source: string, };

/**
 * The origin of an extent.
 */
export type AxisOrigin = {
/**
 * The position of the axis.
 */
axis: number,
/**
 * A sentence with the extent and its origin.
 */
text: string,
/**
 * The item of the value that introduces the extent.
 */
source: string,
/**
 * The items of the nodes that pass it on.
 */
through: Array<string>, };

/**
 * Expanded groups that make an item visible.
 */
export type Reveal = {
/**
 * The paths to be expanded.
 */
expanded: Array<string>,
/**
 * The item with a box: of a stored value, the node that reads it.
 */
shown: string,
/**
 * The path of the box; of a value that a node makes, the box of the node. Empty for the model's graph
 * itself.
 */
place: string, };

/**
 * Results of a search.
 */
export type Results = {
/**
 * The number of all results.
 */
total: number,
/**
 * The first results.
 */
results: Array<Hit>,
/**
 * An error in the query; empty if there is none.
 */
error: string, };

/**
 * A result.
 */
export type Hit = {
/**
 * The item.
 */
item: string,
/**
 * The operator.
 */
operator: string,
/**
 * The title.
 */
title: string,
/**
 * The matching text; of a node or value, a type.
 */
text: string, };

/**
 * The item of a link.
 */
export type Found = {
/**
 * The item; null if there is none.
 */
item: string | null, };

/**
 * Boxes at the ends of links.
 */
export type Neighbours = {
/**
 * The boxes from which values come.
 */
inputs: Array<Neighbour>,
/**
 * The boxes to which values pass.
 */
outputs: Array<Neighbour>, };

/**
 * A box at the end of a link.
 */
export type Neighbour = {
/**
 * The item.
 */
item: string,
/**
 * The path.
 */
place: string,
/**
 * The item of the first value.
 */
value: string,
/**
 * The values of the link.
 */
label: string, };

/**
 * The changes between two models.
 */
export type Changes = {
/**
 * The number of all changes.
 */
total: number,
/**
 * The first changes: those of the interface, of nodes, of types.
 */
entries: Array<ChangeEntry>, };

/**
 * A change between two models.
 */
export type ChangeEntry = {
/**
 * `added`, `removed` or `changed`.
 */
change: string,
/**
 * The change.
 */
text: string,
/**
 * The item that changed; null for a symbol, and for several items.
 */
item: string | null,
/**
 * The number of changes: more than one for the same change of several items.
 */
count: number,
/**
 * The first of several items; empty for one.
 */
items: Array<ChangedItem>, };

/**
 * An item with a change that others share.
 */
export type ChangedItem = {
/**
 * The change with the name of the item.
 */
text: string,
/**
 * The item.
 */
item: string | null, };

/**
 * The size of a model.
 */
export type Sizes = {
/**
 * The size of the file without external data, in bytes; 0 if unknown.
 */
file: number,
/**
 * The number of elements of all initializers.
 */
parameters: number,
/**
 * The number of initializers.
 */
initializers: number,
/**
 * The number of `Constant` nodes, which are no boxes of the picture.
 */
constants: number,
/**
 * The number of functions.
 */
functions: number, };

/**
 * The number of nodes with an operator, without those of functions.
 */
export type OperatorCount = {
/**
 * The operator, with its domain if that is not ONNX's own.
 */
operator: string,
/**
 * The number of nodes.
 */
count: number, };

/**
 * A target.
 */
export type TargetName = {
/**
 * The name.
 */
name: string,
/**
 * The verdict as text.
 */
verdict: string, };

/**
 * The verdict of a target, and where nodes run.
 */
export type TargetView = {
/**
 * The name.
 */
name: string,
/**
 * The verdict as text.
 */
verdict: string,
/**
 * Whether the target is a device or a runtime whose nodes were measured. Otherwise only nodes with problems
 * have a place.
 */
is_measured: boolean,
/**
 * The places with nodes.
 */
places: Array<PlaceCount>,
/**
 * Conditions, the bytes that cross, and reasons that concern the model as a whole.
 */
rows: Array<Row>,
/**
 * The first partitions of the device.
 */
partitions: Array<Partition>,
/**
 * The number of nodes that are not on the device.
 */
total: number,
/**
 * The first nodes that are not on the device.
 */
others: Array<OtherNode>, };

/**
 * The number of nodes in a place.
 */
export type PlaceCount = {
/**
 * The class of the place.
 */
place: string,
/**
 * The letter of the place.
 */
letter: string,
/**
 * The number and the assignment as text.
 */
text: string, };

/**
 * A partition of the device.
 */
export type Partition = {
/**
 * The number of nodes.
 */
nodes: number,
/**
 * The first nodes.
 */
items: Array<string>, };

/**
 * A node that is not on the device.
 */
export type OtherNode = {
/**
 * The item.
 */
item: string,
/**
 * The class of the place.
 */
place: string,
/**
 * The letter of the place.
 */
letter: string,
/**
 * The operator.
 */
operator: string,
/**
 * The name.
 */
title: string,
/**
 * The reason; empty if no diagnostic has one.
 */
text: string, };

/**
 * The message of a diagnostic. Names of the model are in backticks.
 */
export type Message = {
/**
 * The code.
 */
code: string,
/**
 * The severity.
 */
severity: Level,
/**
 * The address of the page of the code.
 */
uri: string,
/**
 * The message.
 */
text: string,
/**
 * The nodes and declarations; the first is the one with the problem.
 */
excerpts: Array<Excerpt>,
/**
 * Further explanation; a note can have several lines.
 */
notes: Array<string>,
/**
 * A proposed repair; empty if there is none.
 */
help: string,
/**
 * The line of the author's program; empty if unknown.
 */
source: string,
/**
 * The names in the message and their items.
 */
names: Array<NamedItem>, };

/**
 * A printed node or declaration.
 */
export type Excerpt = {
/**
 * The location.
 */
location: string,
/**
 * The operator of the node.
 */
operator: string,
/**
 * The name of the node or value; may be empty.
 */
name: string,
/**
 * The item; null if the scene does not have it.
 */
item: string | null,
/**
 * The text; of a node, each input has a line of its own.
 */
lines: Array<ExcerptLine>, };

/**
 * A line of an excerpt.
 */
export type ExcerptLine = {
/**
 * The parts of the text.
 */
parts: Array<ExcerptPart>,
/**
 * The item of an input; null for other lines.
 */
item: string | null,
/**
 * The type of an input; empty for other lines.
 */
type: string, };

/**
 * A part of a line.
 */
export type ExcerptPart = {
/**
 * The text.
 */
text: string,
/**
 * The label; null for a part without one, and may be empty.
 */
label: string | null,
/**
 * Whether this part is the cause of the problem.
 */
is_primary: boolean, };

/**
 * A name in a text, and its item.
 */
export type NamedItem = {
/**
 * The name.
 */
name: string,
/**
 * The item.
 */
item: string, };

/**
 * The groups, nested graphs and functions inside of a group.
 */
export type Groups = {
/**
 * The groups.
 */
groups: Array<InnerGroup>, };

/**
 * A group, or a node with nested graphs or a function.
 */
export type InnerGroup = {
/**
 * The item.
 */
item: string,
/**
 * The path of the box, and of the group to be expanded.
 */
place: string,
/**
 * The operator.
 */
operator: string,
/**
 * The title.
 */
title: string,
/**
 * The number of nodes in it.
 */
nodes: number,
/**
 * The number of errors in it.
 */
errors: number,
/**
 * The number of warnings in it.
 */
warnings: number,
/**
 * The numbers of changes in it, as text; empty if there are none.
 */
changes: string,
/**
 * Whether it has inner groups.
 */
has_groups: boolean, };

/**
 * The answer to each request, if it is not a failure.
 */
export type Answers = {
"summary": Summary,
"draw": Picture,
"export": File,
"details": Details,
"causes": Causes,
"reveal": Reveal,
"search": Results,
"groups": Groups,
"find": Found,
"target": TargetView,
"neighbours": Neighbours,
};
