//! Printer of the table, and keywords shared with the parser.
//!
//! Sets of element types are printed greedily: the first declared group that is contained in the set, then
//! the next one that is contained in the remainder, and finally single element types by number. The notation
//! of a set is thus unique.

use std::fmt::{self, Display, Formatter};

use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::signature::{
    AllowedTypes, Arity, AttributeDecl, AttributeDefault, AttributeKind, Formal, FormalType, FunctionBody,
    Schema,
};

use super::{Domain, Group, Table, in_text};

/// The constructors of types in a type variable's set.
#[derive(Clone, Copy)]
pub(super) enum Constructor {
    Tensor,
    SeqTensor,
    OptTensor,
    OptSeqTensor,
    Map,
    SeqMap,
}

/// In the order of the text.
pub(super) const CONSTRUCTORS: [Constructor; 6] = [
    Constructor::Tensor,
    Constructor::SeqTensor,
    Constructor::OptTensor,
    Constructor::OptSeqTensor,
    Constructor::Map,
    Constructor::SeqMap,
];

impl Constructor {
    /// The text before and after the elements or pairs.
    fn around(self) -> (&'static str, &'static str) {
        match self {
            Self::Tensor => ("tensor(", ")"),
            Self::SeqTensor => ("seq(tensor(", "))"),
            Self::OptTensor => ("optional(tensor(", "))"),
            Self::OptSeqTensor => ("optional(seq(tensor(", ")))"),
            Self::Map => ("map(", ")"),
            Self::SeqMap => ("seq(map(", "))"),
        }
    }

    /// The text between the parentheses, if `word` has this constructor.
    pub(super) fn strip(self, word: &str) -> Option<&str> {
        let (before, after) = self.around();
        word.strip_prefix(before)?.strip_suffix(after)
    }
}

/// The keyword of an attribute kind.
pub(super) fn kind_word(kind: AttributeKind) -> &'static str {
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
        AttributeKind::Type => "type_proto",
        AttributeKind::Types => "type_protos",
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { text: _, package, package_version, groups, domains, operators, entries } = self;
        writeln!(f, "typeloom-operator-table 1")?;
        writeln!(f, "source {package} {package_version}")?;
        writeln!(
            f,
            "count {} domains {} operators {} schemas",
            domains.len(),
            operators.len(),
            entries.len()
        )?;
        for Group { name, members } in groups {
            write!(f, "group {name}")?;
            members.iter().try_for_each(|elem| write!(f, " {}", elem_name(elem)))?;
            writeln!(f)?;
        }
        for Domain { name, oldest, newest, operators: own } in domains {
            writeln!(f, "domain {} {oldest} {newest}", in_text(name))?;
            for operator in &operators[own.clone()] {
                self.decoded(operator.versions.clone())
                    .try_for_each(|schema| write_schema(f, schema, groups))?;
            }
        }
        Ok(())
    }
}

fn write_schema(f: &mut Formatter<'_>, schema: &Schema, groups: &[Group]) -> fmt::Result {
    let Schema {
        domain: _,
        name,
        since_version,
        deprecated,
        function,
        inputs,
        outputs,
        type_vars,
        attributes,
        takes_tensors: _,
    } = schema;
    write!(f, "op {name} {since_version}")?;
    if *deprecated {
        write!(f, " deprecated")?;
    }
    writeln!(
        f,
        "{}",
        match function {
            FunctionBody::None => "",
            FunctionBody::Fixed => " function",
            FunctionBody::FromNode => " function-from-node",
        }
    )?;
    for var in type_vars {
        write!(f, "  type {}", var.name)?;
        write_allowed(f, &var.allowed, groups)?;
        writeln!(f)?;
    }
    inputs.iter().try_for_each(|formal| write_port(f, "in", formal, schema))?;
    outputs.iter().try_for_each(|formal| write_port(f, "out", formal, schema))?;
    attributes.iter().try_for_each(|decl| write_attribute(f, decl))
}

fn write_allowed(f: &mut Formatter<'_>, allowed: &AllowedTypes, groups: &[Group]) -> fmt::Result {
    let elems = |before: &str, set: ElemSet| format!("{before}{}", elems_text(set, groups));
    let pairs = |before: &str, pairs: &[(Elem, Elem)]| format!("{before}{}", pairs_text(pairs));
    let items = allowed.texts(CONSTRUCTORS.map(Constructor::around), elems, pairs);
    items.iter().try_for_each(|item| write!(f, " {item}"))
}

fn elems_text(set: ElemSet, groups: &[Group]) -> String {
    let mut rest = set;
    let mut parts: Vec<&str> = Vec::new();
    for group in groups {
        if rest.intersect(group.members) == group.members {
            parts.push(&*group.name);
            rest = ElemSet::from_bits(rest.bits() & !group.members.bits());
        }
    }
    for elem in rest.iter() {
        parts.push(elem_name(elem));
    }
    parts.join("+")
}

fn pairs_text(pairs: &[(Elem, Elem)]) -> String {
    let parts: Vec<_> =
        pairs.iter().map(|(key, value)| [elem_name(*key), elem_name(*value)].join(":")).collect();
    parts.join("+")
}

fn elem_name(elem: Elem) -> &'static str {
    elem.onnx_name().expect("a table is read from ONNX's names")
}

fn write_port(f: &mut Formatter<'_>, keyword: &str, formal: &Formal, schema: &Schema) -> fmt::Result {
    let Formal { name, ty, arity } = formal;
    write!(f, "  {keyword} {name} ")?;
    match ty {
        FormalType::Var(var) => write!(f, "{}", schema.type_vars[usize::from(*var)].name)?,
        FormalType::Tensor(elem) => write!(f, "tensor({})", elem_name(*elem))?,
    }
    match arity {
        Arity::Required => writeln!(f),
        Arity::Optional => writeln!(f, " optional"),
        Arity::Variadic { min, homogeneous: true } => writeln!(f, " variadic {min}"),
        Arity::Variadic { min, homogeneous: false } => writeln!(f, " variadic {min} mixed"),
    }
}

fn write_attribute(f: &mut Formatter<'_>, decl: &AttributeDecl) -> fmt::Result {
    let AttributeDecl { name, kind, required, default, choices: _ } = decl;
    write!(f, "  attr {name} {}", kind_word(*kind))?;
    if *required {
        write!(f, " required")?;
    }
    let Some(default) = default else { return writeln!(f) };
    let values: Vec<String> = match default {
        AttributeDefault::Float(value) => vec![format!("{value:?}")],
        AttributeDefault::Int(value) => vec![value.to_string()],
        AttributeDefault::String(value) => vec![quoted(value)],
        AttributeDefault::Floats(values) => values.iter().map(|value| format!("{value:?}")).collect(),
        AttributeDefault::Ints(values) => values.iter().map(i64::to_string).collect(),
        AttributeDefault::Strings(values) => values.iter().map(|value| quoted(value)).collect(),
    };
    write!(f, " =")?;
    values.iter().try_for_each(|value| write!(f, " {value}"))?;
    writeln!(f)
}

fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}
