//! The edits of one model: names, symbols, calls and locations in the result.

use std::collections::{BTreeMap, HashMap};

use typeloom_onnx::messages::tensor_shape_proto::dimension;
use typeloom_onnx::messages::{FunctionProto, NodeProto, SharedText, Text};

use crate::scan::{Callee, callee};
use crate::symbols::Symbols;
use crate::walk::{Edit, Scope, Walk};

/// The new names of one model.
pub(crate) struct Renamer<'r> {
    pub(crate) values: &'r HashMap<String, String>,
    /// The values of the result for connected inputs, where the main graph is meant.
    pub(crate) joined: HashMap<String, String>,
    pub(crate) nodes: &'r HashMap<String, String>,
    pub(crate) symbols: &'r mut Symbols,
    /// New names of functions.
    pub(crate) functions: &'r HashMap<Callee, String>,
    pub(crate) configurations: &'r HashMap<String, String>,
    pub(crate) locations: &'r BTreeMap<String, String>,
}

impl Renamer<'_> {
    /// The name of a value of the main graph in the result.
    pub(crate) fn main<'n>(&'n self, name: &'n str) -> &'n str {
        self.joined.get(name).or_else(|| self.values.get(name)).map_or(name, String::as_str)
    }

    /// A function in the result.
    pub(crate) fn function(&mut self, function: &FunctionProto) -> FunctionProto {
        let mut new = function.clone();
        Walk::function(self, &mut new);
        let own = callee(new.domain(), new.name(), new.overload());
        if let Some(name) = self.functions.get(&own) {
            new.name = name.into();
        }
        new
    }

    /// The new location of a file with tensors, if it changes.
    pub(crate) fn moved(&self, location: &str) -> Option<&str> {
        self.locations.get(location).map(String::as_str).filter(|new| *new != location)
    }
}

impl Edit for Renamer<'_> {
    fn value(&mut self, name: &mut String, scope: Scope) {
        let new = match scope {
            Scope::Main => self.joined.get(name).or_else(|| self.values.get(name)),
            Scope::Nested => self.values.get(name),
            Scope::Function => None,
        };
        if let Some(new) = new {
            name.clone_from(new);
        }
    }

    fn node(&mut self, name: &mut String, scope: Scope) {
        if scope != Scope::Function
            && let Some(new) = self.nodes.get(name)
        {
            name.clone_from(new);
        }
    }

    fn call(&mut self, node: &mut NodeProto) {
        if self.functions.is_empty() {
            return;
        }
        if let Some(name) = self.functions.get(&callee(node.domain(), node.op_type(), node.overload())) {
            node.op_type = name.into();
        }
    }

    fn extent(&mut self, extent: &mut Option<dimension::Value>) {
        self.symbols.substitute(extent);
    }

    fn location(&mut self, location: &mut Text<SharedText>) {
        if let Some(new) = self.moved(location.as_str()) {
            *location = SharedText::from(new).into();
        }
    }

    fn configuration(&mut self, name: &mut String) {
        if let Some(new) = self.configurations.get(name) {
            name.clone_from(new);
        }
    }
}
