//! Targets whose nodes were measured: a device, or a runtime without a list of kernels.
//!
//! A *row* is a model of one node that was run on the device, with its outcome. A [`Table`] has a
//! decision tree for each operator that is exact on the rows. A node of a model is looked up by its
//! *properties*, such as the element type of a type variable or the rank of an input:
//!
//! ```text
//! op ai.onnx::Softmax 960             a tree of 960 rows
//!   version 11 13                     property 0 with its values
//!   type.T double float float16
//!   rank.input 0 1 2 3 4 5
//!   tree {1:0~1,2{2:0-1,2,3,4,5+}}    by property 1: double runs on the CPU; others by property 2
//! ```
//!
//! | step | module |
//! |---|---|
//! | read the text | `table` |
//! | find the values that are constants by then | `folded` |
//! | compute a property of a node from its solved types | `property` |
//! | walk the tree of a node, along each value that an open property can have | `node` |
//! | find a change after which the device runs a node | `advice` |
//! | put all nodes together: partitions, and bytes that cross their boundaries | `placement` |
//!
//! A property of a node is open if it depends on symbols: whether `x` of type `float[batch, 1]` has one element
//! depends on `batch`. The walk then takes each branch. If the branches agree, the node is decided;
//! otherwise the outcome has the condition under which it is reached.
//!
//! **Invariant:** a node with a property that no row has is undecided.

pub mod table;
#[cfg(test)]
mod tests;

mod advice;
mod folded;
pub(crate) mod node;
pub(crate) mod placement;
mod property;
mod shapes;
mod values;

pub use table::{Table, TableError};
