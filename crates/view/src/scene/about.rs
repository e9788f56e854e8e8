//! Facts about a model as a whole.

use super::ValueId;

/// Facts about a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The name of the file; set by the caller.
    pub title: String,
    /// The program that wrote the file, with its version; empty if unknown.
    pub producer: String,
    /// The versions of operator sets: `opset 21`, `ai.onnx.ml opset 3`.
    pub opsets: Vec<String>,
    /// The symbols in the types of the model's inputs and of values of unknown extents, in the order of their first use.
    pub symbols: Vec<Symbol>,
    /// Equations and conditions on symbols, as text.
    pub equations: Vec<String>,
}

/// A symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The name.
    pub name: String,
    /// A value with the symbol as an axis.
    pub value: Option<ValueId>,
    /// The position of the axis.
    pub axis: u32,
}
