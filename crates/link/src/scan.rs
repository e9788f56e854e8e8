//! The names, symbols and calls of one model.

use std::collections::HashSet;

use indexmap::IndexSet;
use typeloom_dim::{Dims, is_placeholder};
use typeloom_onnx::domain::canonical;
use typeloom_onnx::messages::tensor_shape_proto::dimension;
use typeloom_onnx::messages::{NodeProto, SharedText, Text};

use crate::source::Source;
use crate::walk::{Edit, Scope, Walk};

/// Domain, name and overload of an operator or function.
pub(crate) type Callee = [String; 3];

pub(crate) fn callee(domain: &str, name: &str, overload: &str) -> Callee {
    [canonical(domain).to_owned(), name.to_owned(), overload.to_owned()]
}

/// The names of a model, each list in the order of first use.
#[derive(Default)]
pub(crate) struct Scan {
    /// Values of the main graph and of the graphs nested in it.
    pub(crate) values: IndexSet<String>,
    pub(crate) nodes: IndexSet<String>,
    pub(crate) symbols: IndexSet<String>,
    /// The operators that are no functions of the model.
    pub(crate) operators: HashSet<Callee>,
    /// The texts of dims that were read.
    texts: HashSet<String>,
}

impl Scan {
    pub(crate) fn of(source: &Source<'_>) -> Self {
        let mut scan = Self::default();
        // Traversals change messages in general, so this one works on copies of single messages.
        for record in &source.nodes {
            Walk::main(&mut scan).node(&mut record.message.clone());
        }
        let infos = source.inputs.iter().chain(&source.outputs).chain(&source.value_info);
        for record in infos {
            Walk::main(&mut scan).info(&mut record.message.clone());
        }
        for record in &source.annotations {
            Walk::main(&mut scan).annotation(&mut record.message.clone());
        }
        for stored in &source.stored {
            scan.values.insert(stored.name.clone());
        }
        for record in &source.functions {
            Walk::function(&mut scan, &mut record.message.clone());
        }
        for record in &source.functions {
            let function = &record.message;
            scan.operators.remove(&callee(function.domain(), function.name(), function.overload()));
        }
        scan
    }
}

impl Edit for Scan {
    fn value(&mut self, name: &mut String, scope: Scope) {
        if scope != Scope::Function && !self.values.contains(name) {
            self.values.insert(name.clone());
        }
    }

    fn node(&mut self, name: &mut String, scope: Scope) {
        if scope != Scope::Function && !self.nodes.contains(name) {
            self.nodes.insert(name.clone());
        }
    }

    fn call(&mut self, node: &mut NodeProto) {
        self.operators.insert(callee(node.domain(), node.op_type(), node.overload()));
    }

    fn extent(&mut self, extent: &mut Option<dimension::Value>) {
        let Some(dimension::Value::DimParam(text)) = extent else { return };
        if self.texts.insert(text.clone()) {
            self.symbols.extend(symbols_in(text));
        }
    }

    fn location(&mut self, _: &mut Text<SharedText>) {}

    fn configuration(&mut self, _: &mut String) {}
}

/// The symbols in the text of a dim.
pub(crate) fn symbols_in(text: &str) -> Vec<String> {
    if text.is_empty() || is_placeholder(text) {
        return Vec::new();
    }
    let mut dims = Dims::new();
    // A text that is no expression is a symbol.
    let dim = dims.parse(text).unwrap_or_else(|_| dims.symbol(text));
    let named = dims.symbols_of(dim);
    named.iter().filter_map(|symbol| dims.as_symbol(*symbol).map(str::to_owned)).collect()
}
