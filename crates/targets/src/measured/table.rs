//! The text of a measured target.
//!
//! ```text
//! typeloom-measured 1
//! source winml-cli 0.4.0                        where the rows come from
//! device Qualcomm NPU                           what was measured
//! through onnxruntime QNNExecutionProvider      optional: through a provider of ONNX Runtime, which runs the
//!                                               nodes on the CPU that the provider does not take
//! fixed                                         optional: all measured models had fixed extents
//! inputs ranked                                 optional: inputs of the model need a declared rank; `inputs named`:
//!                                               each extent of an input needs a number or a name
//! unused removed                                optional: nodes that reach no output are not compiled
//! functions rejected                            optional: calls of functions of the model do not run
//! op ai.onnx::Softmax 960                       an operator and its number of rows; for a node between
//!                                               `DequantizeLinear` and `QuantizeLinear`: `Softmax/quantized`
//!   version 11 13                               a property and its values, numbered from 0
//!   rank.input 0 1 2
//!   tree {1:0-1,2+}                             the decision tree, the last line of an operator
//! ```
//!
//! A tree is an outcome or a test. `{1:0-1,2+}` tests property 1: for value 0 the outcome is `-`, for values 1
//! and 2 it is `+`. A value without a branch was not measured.
//!
//! | outcome | meaning |
//! |---|---|
//! | `+` | the device runs the node |
//! | `~` | the device does not; the runtime runs it on the CPU |
//! | `-` | the node does not run |
//! | `?` | measurements contradict each other |
//!
//! The properties are those of `docs/targets.md`. Words are separated by blanks. `tools/facts/measured.py`
//! writes this text from rows.
//!
//! **Cost:** reading is linear in the text. Trees stay text, and a walk reads the branches on its way.

use std::collections::BTreeMap;

/// The first line.
pub const HEAD: &str = "typeloom-measured 1";
/// The largest number of properties of an operator.
const MAX_PROPERTIES: usize = 64;
/// The largest number of tests within each other.
const MAX_DEPTH: usize = 256;

/// The measurements on a device.
#[derive(Debug, Default)]
pub struct Table<'t> {
    /// The package of the measurements with its version.
    pub source: &'t str,
    /// The device.
    pub device: &'t str,
    /// The runtime and its provider, if nodes that the device does not take run on the CPU.
    pub through: Option<&'t str>,
    /// Whether all measured models had fixed extents.
    pub is_fixed: bool,
    /// The requirement on the declared types of inputs of the model.
    pub inputs: Inputs,
    /// Whether nodes that reach no output of the model are removed before the others are compiled.
    pub removes_unused: bool,
    /// Whether calls of functions of the model do not run.
    pub rejects_functions: bool,
    /// The operators by qualified name, `ai.onnx::Relu`.
    operators: BTreeMap<&'t str, Operator<'t>>,
}

/// A requirement on the declared types of inputs of the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Inputs {
    /// Nothing.
    #[default]
    Any,
    /// A rank.
    Ranked,
    /// A number or a name for each extent.
    Named,
}

impl Inputs {
    /// The requirement on each input, as text.
    #[must_use]
    pub fn need(self) -> Option<&'static str> {
        match self {
            Self::Any => None,
            Self::Ranked => Some("a declared rank"),
            Self::Named => Some("a number or a name for each extent"),
        }
    }
}

/// The measurements of one operator.
#[derive(Debug)]
pub struct Operator<'t> {
    /// The number of rows.
    pub rows: usize,
    /// The properties, each with its values.
    pub properties: Vec<(&'t str, Vec<&'t str>)>,
    /// The text of the tree.
    tree: &'t str,
}

/// Whether and where a node runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Assignment {
    /// The device runs it.
    Device,
    /// The CPU runs it.
    Cpu,
    /// It does not run.
    Nowhere,
    /// Unknown.
    Unknown,
}

/// A part of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Node<'t> {
    Leaf(Assignment),
    /// A test of the property with this number.
    Test(usize, Branches<'t>),
}

/// The branches of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Branches<'t>(&'t str);

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the target: {reason}")]
pub struct TableError {
    /// The number of the line, from 1.
    pub line: usize,
    /// The error.
    pub reason: String,
}

impl<'t> Table<'t> {
    /// Reads a text.
    ///
    /// # Errors
    /// [`TableError`] for the first line that is wrong. A tree is read as a whole, so later walks do not fail.
    pub fn parse(text: &'t str) -> Result<Self, TableError> {
        let mut table = Self::default();
        if text.lines().next() != Some(HEAD) {
            return Err(TableError { line: 1, reason: format!("the first line must be `{HEAD}`") });
        }
        let mut open: Option<(&'t str, Operator<'t>)> = None;
        for (at, line) in text.lines().enumerate().skip(1) {
            let wrong = |reason: String| TableError { line: at + 1, reason };
            let mut words = line.split_whitespace();
            let Some(first) = words.next() else { continue };
            if line.starts_with(' ') {
                let Some((name, operator)) = &mut open else {
                    return Err(wrong("it belongs to no operator".to_owned()));
                };
                if first == "tree" {
                    operator.tree = words.next().unwrap_or_default();
                    check(operator.tree, &operator.properties).map_err(wrong)?;
                    let name = *name;
                    let Some((_, operator)) = open.take() else { continue };
                    if table.operators.insert(name, operator).is_some() {
                        return Err(wrong(format!("a second operator `{name}`")));
                    }
                } else if operator.properties.len() == MAX_PROPERTIES {
                    return Err(wrong(format!("more than {MAX_PROPERTIES} properties")));
                } else {
                    operator.properties.push((first, words.collect()));
                }
                continue;
            }
            if let Some((name, ..)) = open {
                return Err(wrong(format!("the operator `{name}` has no tree")));
            }
            let rest = line[first.len()..].trim();
            match first {
                "source" => table.source = rest,
                "device" => table.device = rest,
                "through" => table.through = Some(rest),
                "fixed" => table.is_fixed = true,
                "inputs" => {
                    table.inputs = match rest {
                        "ranked" => Inputs::Ranked,
                        "named" => Inputs::Named,
                        _ => return Err(wrong(format!("unknown requirement `{rest}` of inputs"))),
                    };
                }
                "unused" if rest == "removed" => table.removes_unused = true,
                "functions" if rest == "rejected" => table.rejects_functions = true,
                "op" => {
                    let name = words.next().ok_or_else(|| wrong("an operator without a name".to_owned()))?;
                    let rows = words.next().and_then(|rows| rows.parse().ok());
                    let rows = rows.ok_or_else(|| wrong(format!("`{name}` without a number of rows")))?;
                    open = Some((name, Operator { rows, properties: Vec::new(), tree: "" }));
                }
                _ => return Err(wrong(format!("unknown word `{first}`"))),
            }
        }
        match open {
            Some((name, ..)) => {
                let reason = format!("the operator `{name}` has no tree");
                Err(TableError { line: text.lines().count(), reason })
            }
            None => Ok(table),
        }
    }

    /// The measurements of an operator, by qualified name: `ai.onnx::Relu`, `ai.onnx::Relu/quantized`.
    #[must_use]
    pub fn operator(&self, name: &str) -> Option<&Operator<'t>> {
        self.operators.get(name)
    }

    /// All operators by name.
    pub fn operators(&self) -> impl Iterator<Item = (&'t str, &Operator<'t>)> {
        self.operators.iter().map(|(name, operator)| (*name, operator))
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.operators.values().map(|operator| operator.rows).sum()
    }
}

impl<'t> Operator<'t> {
    /// The versions that were measured.
    #[must_use]
    pub fn versions(&self) -> &[&'t str] {
        let versions = self.properties.iter().find(|(name, _)| *name == "version");
        versions.map_or(&[], |(_, values)| values)
    }

    /// The number of cases that the tree distinguishes, with this outcome.
    #[must_use]
    pub fn cases(&self, outcome: Assignment) -> usize {
        self.tree.chars().filter(|sign| place(*sign) == Some(outcome)).count()
    }

    pub(crate) fn tree(&self) -> Node<'t> {
        node(self.tree)
    }
}

impl<'t> Branches<'t> {
    /// The part for a value; `None` if no row has this value here.
    pub(crate) fn of(self, value: usize) -> Option<Node<'t>> {
        let mut rest = self.0;
        while rest.as_bytes().first().is_some_and(u8::is_ascii_digit) {
            let values = rest.find(|sign: char| !sign.is_ascii_digit() && sign != ',').unwrap_or(rest.len());
            let (values, tree) = rest.split_at(values);
            if values.split(',').any(|number| number.parse() == Ok(value)) {
                return Some(node(tree));
            }
            rest = &tree[end(tree)..];
        }
        None
    }
}

/// The node at the start of a text that [`check`] accepted.
fn node(text: &str) -> Node<'_> {
    let Some(test) = text.strip_prefix('{') else {
        return Node::Leaf(text.chars().next().and_then(place).unwrap_or(Assignment::Unknown));
    };
    let (number, branches) = test.split_once(':').unwrap_or_default();
    Node::Test(number.parse().unwrap_or(usize::MAX), Branches(branches))
}

fn place(sign: char) -> Option<Assignment> {
    Some(match sign {
        '+' => Assignment::Device,
        '~' => Assignment::Cpu,
        '-' => Assignment::Nowhere,
        '?' => Assignment::Unknown,
        _ => return None,
    })
}

/// The length of the tree at the start of a text.
fn end(text: &str) -> usize {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

/// Reads a whole tree.
fn check(text: &str, properties: &[(&str, Vec<&str>)]) -> Result<(), String> {
    let mut rest = text;
    // The tests that are open, with the numbers of values of their properties.
    let mut open: Vec<usize> = Vec::new();
    loop {
        // A tree starts here.
        if let Some(test) = rest.strip_prefix('{') {
            let (number, branches) = test.split_once(':').ok_or("a test without `:`")?;
            let number: usize = number.parse().map_err(|_| format!("`{number}` is not a property"))?;
            let (_, values) = properties.get(number).ok_or(format!("there is no property {number}"))?;
            if open.len() == MAX_DEPTH {
                return Err(format!("more than {MAX_DEPTH} nested tests"));
            }
            open.push(values.len());
            rest = branches;
        } else {
            let sign = rest.chars().next().ok_or("the tree is cut off")?;
            place(sign).ok_or_else(|| format!("`{sign}` is not an outcome"))?;
            rest = &rest[1..];
            while let Some(after) = rest.strip_prefix('}') {
                open.pop().ok_or("a `}` too many")?;
                rest = after;
            }
        }
        let Some(values) = open.last() else {
            return if rest.is_empty() { Ok(()) } else { Err(format!("`{rest}` after the tree")) };
        };
        let length =
            rest.find(|sign: char| !sign.is_ascii_digit() && sign != ',').ok_or("the tree is cut off")?;
        for number in rest[..length].split(',') {
            if !number.parse::<usize>().is_ok_and(|number| number < *values) {
                return Err(format!("there is no value `{number}`"));
            }
        }
        rest = &rest[length..];
    }
}

#[cfg(test)]
mod tests {
    use super::{Assignment, Node, Table};

    const TEXT: &str = "typeloom-measured 1\nsource a 1\ndevice b\nfixed\nop ai.onnx::Relu 12\n  version 6 13\n  rank.X 0 1 2 3 4 5 6 7 8 9 10\n  tree {1:0-1,10{0:1+}2~}\n";

    fn walk(table: &Table<'_>, values: [usize; 2]) -> Option<Assignment> {
        let mut node = table.operator("ai.onnx::Relu")?.tree();
        loop {
            match node {
                Node::Leaf(place) => return Some(place),
                Node::Test(property, branches) => node = branches.of(values[property])?,
            }
        }
    }

    #[test]
    fn a_tree_has_the_outcome_of_each_measured_value() {
        let table = Table::parse(TEXT).unwrap();
        assert!(table.is_fixed);
        assert_eq!((table.source, table.device, table.through, table.rows()), ("a 1", "b", None, 12));
        assert_eq!(walk(&table, [0, 0]), Some(Assignment::Nowhere));
        assert_eq!(walk(&table, [1, 10]), Some(Assignment::Device));
        assert_eq!(walk(&table, [0, 10]), None);
        assert_eq!(walk(&table, [0, 2]), Some(Assignment::Cpu));
        assert_eq!(walk(&table, [0, 3]), None);
        let relu = table.operator("ai.onnx::Relu").unwrap();
        assert_eq!(relu.versions(), ["6", "13"]);
        let places = [Assignment::Device, Assignment::Cpu, Assignment::Nowhere, Assignment::Unknown];
        assert_eq!(places.map(|place| relu.cases(place)), [1, 1, 1, 0]);
    }

    #[test]
    fn a_wrong_text_is_an_error_with_its_line() {
        let cases = [
            ("", Some(1)),
            ("typeloom-measured 2", Some(1)),
            ("typeloom-measured 1\nfoo", Some(2)),
            ("typeloom-measured 1\ninputs large", Some(2)),
            ("typeloom-measured 1\nunused", Some(2)),
            ("typeloom-measured 1\n  version 1", Some(2)),
            ("typeloom-measured 1\nop a", Some(2)),
            ("typeloom-measured 1\nop a 1\nop b 1", Some(3)),
            ("typeloom-measured 1\nop a 1\n  version 1", Some(3)),
            ("typeloom-measured 1\nop a 1\n  version 1\n  tree", Some(4)),
            ("typeloom-measured 1\nop a 1\n  version 1\n  tree x", Some(4)),
            ("typeloom-measured 1\nop a 1\n  version 1\n  tree ++", Some(4)),
            ("typeloom-measured 1\nop a 1\n  version 1\n  tree {0:0+", Some(4)),
            ("typeloom-measured 1\nop a 1\n  version 1\n  tree {0:1+}", Some(4)),
            ("typeloom-measured 1\nop a 1\n  version 1\n  tree {1:0+}", Some(4)),
            ("typeloom-measured 1\nop a 1\n  version 1\n  tree {0:0+}}", Some(4)),
            ("typeloom-measured 1\nop a 1\n  version 1\n  tree {0:+}", Some(4)),
            (
                "typeloom-measured 1\nop a 1\n  version 1\n  tree {0:0+}\nop a 1\n  version 1\n  tree +",
                Some(7),
            ),
        ];
        for (text, line) in cases {
            assert_eq!(Table::parse(text).err().map(|error| error.line), line, "{text:?}");
        }
    }
}
