//! A first description of an unknown operator in the format of operator files, for its diagnostic.
//!
//! The ports are those of one node: inputs have the element types that are known there, and an output without
//! a known one has that of the first input. Attributes have the kinds of the node. Shapes are left to the
//! author. The format is that of `docs/operator-files.md`; a test of the command parses descriptions and
//! checks models with them.

use std::fmt::Write as _;

use typeloom_onnx::domain::shown;
use typeloom_onnx::text::is_unsafe;

use super::Scope;
use crate::program::{StepId, ValueId};
use crate::signature::AttributeKind;
use typeloom_types::suggest::MAX_NAME;

/// The maximum number of lines; a longer description is not shown.
const MAX_LINES: usize = 40;

/// The element type of ports without a known one.
const ASSUMED: &str = "float";

impl Scope<'_, '_> {
    /// A description of the operator of a step; `None` if a name cannot be written in the format, or if it is
    /// long.
    pub(super) fn description(&mut self, step: StepId) -> Option<String> {
        let op = self.op(step);
        let domain = shown(op.domain);
        let newest = u32::try_from(self.operators.imported(op).unwrap_or(1)).ok().filter(|it| *it > 0)?;
        let (inputs, outputs) = (self.body().inputs(step), self.body().outputs(step));
        let attributes = self.attributes(step)?;
        let lines = 3 + inputs.len() + outputs.len() + attributes.len();
        if !is_word(domain) || !is_word(op.name) || lines > MAX_LINES {
            return None;
        }
        let first = inputs.iter().flatten().find_map(|input| self.elem_text(*input)).unwrap_or(ASSUMED);
        let mut text = format!("typeloom-operators 1\ndomain {domain} {newest}\nop {} 1", op.name);
        self.describe_ports(&mut text, "in", "x", inputs, ASSUMED);
        self.describe_ports(&mut text, "out", "y", outputs, first);
        for (name, kind) in attributes {
            let _ = write!(text, "\n  attr {name} {kind}");
        }
        Some(text)
    }

    fn describe_ports(
        &mut self,
        text: &mut String,
        side: &str,
        name: &str,
        ports: &[Option<ValueId>],
        assumed: &str,
    ) {
        // The ports after an omitted one are optional, so that another node can omit them.
        let mut option = "";
        for (at, port) in ports.iter().enumerate() {
            let number = if ports.len() == 1 { String::new() } else { (at + 1).to_string() };
            let elem = port.and_then(|value| self.elem_text(value)).unwrap_or(assumed);
            if port.is_none() {
                option = " optional";
            }
            let _ = write!(text, "\n  {side} {name}{number} tensor({elem}){option}");
        }
    }

    /// ONNX's name of the element type of a tensor.
    fn elem_text(&mut self, value: ValueId) -> Option<&'static str> {
        self.type_of(value).tensor()?.elem.single()?.onnx_name()
    }

    /// The attributes of a node with the keywords of their kinds; `None` if one cannot be described.
    fn attributes(&self, step: StepId) -> Option<Vec<(String, &'static str)>> {
        let mut found = Vec::new();
        for attribute in self.body().step(step).attribute_part().attributes() {
            let attribute = attribute.ok()?.parse().ok()?;
            // Such attributes are allowed on every node.
            if attribute.name.starts_with("__") {
                continue;
            }
            let kind = AttributeKind::from_onnx(attribute.kind).filter(|_| is_word(attribute.name))?;
            found.push((attribute.name.to_owned(), keyword(kind)));
        }
        Some(found)
    }
}

/// Whether a name is one word of an operator file.
fn is_word(name: &str) -> bool {
    let is_plain = |c: char| !(c.is_whitespace() || is_unsafe(c) || c == '#' || c == '"');
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_plain)
}

/// The keyword of an attribute kind in operator files.
fn keyword(kind: AttributeKind) -> &'static str {
    match kind {
        AttributeKind::Float => "float",
        AttributeKind::Int => "int",
        AttributeKind::String => "string",
        AttributeKind::Tensor => "tensor",
        AttributeKind::Graph => "graph",
        AttributeKind::Floats => "floats",
        AttributeKind::Ints => "ints",
        AttributeKind::Strings => "strings",
        AttributeKind::Tensors => "tensors",
        AttributeKind::Graphs => "graphs",
        AttributeKind::SparseTensor => "sparse_tensor",
        AttributeKind::SparseTensors => "sparse_tensors",
        AttributeKind::Type => "type",
        AttributeKind::Types => "types",
    }
}
