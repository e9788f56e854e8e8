//! Graphs of checked models, for people: the content of a viewer as data, and static pictures.
//!
//! ```text
//! Checked, diagnostics -> scene::Scene          nodes, typed values, a tree of groups
//!                      -> level::Level          one group: its children, its ports and the links between them
//!                      -> layout::Layout        coordinates of one level, computed on demand
//!                      -> plan::Plan            the groups that a picture shows expanded
//!                      -> svg, dot, mermaid     text
//!                      -> engine::Engine        answers to the requests of an interactive page
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`scene`] | the graph of a model as it is shown |
//! | [`level`] | the contents of one group |
//! | [`layout`] | coordinates of the boxes and links of one level |
//! | [`matching`] | the matching of nodes and values of two scenes |
//! | [`changes`] | their changes, as data and text; [`scene::compare`] gives one scene for both |
//! | [`plan`] | the choice of expanded groups within a budget |
//! | [`svg`], [`dot`], [`mermaid`] | static pictures |
//! | [`engine`] | requests and answers of an interactive page |
//! | `page` | the HTML file with the scene and the engine |
//! | [`wire`] | scenes as bytes |
//! | [`text`] | short, escaped texts and their widths |
//!
//! **Invariant:** every group has at most [`scene::MAX_CHILDREN`] children, so each level is small, for any
//! model.
//!
//! **Invariant:** nothing recurses over the nesting of groups, graphs or functions.
//!
//! **Invariant:** the same scene gives the same bytes on every machine. There is no clock: the work of a
//! layout is counted.
//!
//! **Invariant:** text of a model is escaped by the writers. A [`scene::Scene`] contains the names as they
//! are in the file, so that they can be searched.

pub mod changes;
pub mod dot;
pub mod engine;
pub mod layout;
pub mod level;
pub mod matching;
pub mod mermaid;
#[cfg(not(target_family = "wasm"))]
pub mod page;
pub mod plan;
pub mod scene;
pub mod svg;
pub mod text;
pub mod wire;

mod drawing;
mod label;
mod map;
mod order;
mod outline;
mod recent;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
