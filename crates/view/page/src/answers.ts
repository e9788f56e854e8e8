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
limit?: number | null, } | { "ask": "find",
/**
 * The link, see `Details.link`. An item is also a link.
 */
link: string, } | { "ask": "neighbours",
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
 * The maximum number of boxes; at most 2000.
 */
max_items?: number | null, };

/**
 * An answer.
 */
export type Answer = Summary | Picture | File | Details | Causes | Reveal | Results | Found | Neighbours | Failure;

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
 * The name of the file.
 */
title: string,
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
 * The evidence for the types of values.
 */
coverage: Coverage,
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
 * The names of the first item.
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
 * A note about nodes that are not shown; empty if all are.
 */
note: string,
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
rows: Array<Row>,
/**
 * A text of several lines with aligned columns; null if there is none.
 */
pre: string | null, };

/**
 * A fact.
 */
export type Row = {
/**
 * The name of the fact; may be empty.
 */
label: string,
/**
 * The fact.
 */
text: string,
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
highlight: Array<string>, };

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
 * The title.
 */
title: string,
/**
 * The matching text.
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
 * The item that changed; null for a symbol.
 */
item: string | null, };

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
"find": Found,
"neighbours": Neighbours,
};
