//! Facts about a model as a whole.

use std::collections::HashSet;

use typeloom_dim::{DimId, Dims};
use typeloom_solver::model::Checked;
use typeloom_solver::solution::Type;

use super::tree::position;
use super::{Scene, ValueId};

/// Maximum number of listed symbols and equations.
const MAX_LISTED: usize = 10_000;

/// Facts about a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The name of the file; set by the caller.
    pub title: String,
    /// The program that wrote the file, with its version; empty if unknown.
    pub producer: String,
    /// The versions of operator sets: `opset 21`, `ai.onnx.ml opset 3`.
    pub opsets: Vec<String>,
    /// The symbols in the types of values, in the order of their first use.
    pub symbols: Vec<Symbol>,
    /// Equations and conditions on symbols, as text.
    pub equations: Vec<String>,
    /// The size of the model.
    pub sizes: Sizes,
    /// The problems that are not reported, such as `2 known`; set by the caller, empty if there are none.
    pub unreported: String,
}

/// The size of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The size of the file without external data, in bytes; set by the caller, 0 if unknown.
    pub file: u64,
    /// The number of elements of all initializers.
    pub parameters: u64,
    /// The number of initializers.
    pub initializers: u64,
    /// The number of `Constant` nodes, which are stored values of the scene.
    pub constants: u64,
}

/// Maximum number of rendered messages in a scene.
pub const MAX_REPORTS: usize = 1000;

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

impl Scene {
    /// Sets the rendered messages of the first 1,000 diagnostics, without colours, in their order; the others
    /// have their messages only.
    pub fn set_reports(&mut self, reports: impl IntoIterator<Item = String>) {
        for (mark, report) in self.marks.iter_mut().zip(reports).take(MAX_REPORTS) {
            mark.report = report;
        }
    }
}

/// The symbols of the values of the main graph.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    found: Vec<Symbol>,
    known: HashSet<DimId>,
}

impl Symbols {
    /// Adds the symbols in the shape of a value.
    pub(super) fn add(&mut self, dims: &Dims, ty: &Type, id: ValueId) {
        let Some(shape) = ty.tensor().and_then(|tensor| tensor.shape.as_ref()) else { return };
        for (axis, dim) in shape.iter().enumerate() {
            if !self.known.insert(*dim) {
                continue;
            }
            for symbol in dims.symbols_of(*dim) {
                let is_new = symbol == *dim || self.known.insert(symbol);
                if is_new && self.found.len() < MAX_LISTED {
                    let name = dims.display(symbol).to_string();
                    self.found.push(Symbol { name, value: Some(id), axis: position(axis) });
                }
            }
        }
    }
}

/// The facts about a checked model.
pub(super) fn of_model(checked: &Checked<'_>, symbols: Symbols, sizes: Sizes) -> About {
    let mut about = About { symbols: symbols.found, sizes, ..About::default() };
    if let Some(model) = checked.model() {
        let version = model.producer_version();
        let separator = if version.is_empty() { "" } else { " " };
        about.producer = format!("{}{separator}{version}", model.producer_name());
        let opsets = model.opset_imports().filter_map(Result::ok);
        about.opsets = opsets
            .map(|import| match import.domain {
                "" => format!("opset {}", import.version),
                domain => format!("{domain} opset {}", import.version),
            })
            .collect();
    }
    let mut known = HashSet::new();
    for requirement in checked.requirements() {
        let text = checked.dims().display_condition(requirement.condition).to_string();
        if about.equations.len() < MAX_LISTED && known.insert(text.clone()) {
            about.equations.push(text);
        }
    }
    about
}
