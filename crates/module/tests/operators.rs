//! The methods of operators agree with the operator table.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use typeloom_module::graph::operators::method_name;
use typeloom_ops::table::Table;
use typeloom_solver::signature::{Arity, AttributeDecl, AttributeDefault, AttributeKind, Formal, Schema};

/// Operators that are not methods: those with nested graphs have methods of their own, a constant is made
/// out of a tensor.
const BY_HAND: [&str; 5] = ["If", "Loop", "Scan", "SequenceMap", "Constant"];

fn newest() -> impl Iterator<Item = &'static Schema> {
    let table = Table::get();
    let newest = |name| table.versions("", name).next_back();
    let wanted = |schema: &&Schema| !schema.deprecated && !BY_HAND.contains(&&*schema.name);
    table.names("").filter_map(newest).filter(wanted)
}

fn argument(name: &str) -> String {
    let mut argument = String::new();
    for (at, c) in name.chars().enumerate() {
        if c.is_ascii_uppercase() && at > 0 && name.as_bytes()[at - 1].is_ascii_lowercase() {
            argument.push('_');
        }
        argument.push(c.to_ascii_lowercase());
    }
    if ["where", "mod", "type", "as", "in", "fn"].contains(&argument.as_str()) {
        argument.push('_');
    }
    argument
}

fn rust_type(attribute: &AttributeDecl) -> &'static str {
    match attribute.kind {
        AttributeKind::Int if ["to", "dtype", "output_dtype"].contains(&&*attribute.name) => "Dtype",
        AttributeKind::Float => "f32",
        AttributeKind::Int => "i64",
        AttributeKind::String => "String",
        AttributeKind::Tensor => "TensorProto",
        AttributeKind::Floats => "Vec<f32>",
        AttributeKind::Ints => "Vec<i64>",
        AttributeKind::Strings => "Vec<String>",
        AttributeKind::SparseTensor => "SparseTensorProto",
        AttributeKind::Type => "TypeProto",
        AttributeKind::Graph
        | AttributeKind::Tensors
        | AttributeKind::Graphs
        | AttributeKind::SparseTensors
        | AttributeKind::Types => panic!("no operator with a method has an attribute of this kind"),
    }
}

fn default(attribute: &AttributeDecl) -> Option<String> {
    let text = match attribute.default.as_ref()? {
        AttributeDefault::Float(value) => value.to_string(),
        AttributeDefault::Int(value) => value.to_string(),
        AttributeDefault::String(value) if value.is_empty() => "an empty string".to_owned(),
        AttributeDefault::String(value) => format!("`{value}`"),
        AttributeDefault::Floats(values) => format!("{values:?}"),
        AttributeDefault::Ints(values) => format!("{values:?}"),
        AttributeDefault::Strings(values) => format!("{values:?}"),
    };
    Some(text.replace('"', "'"))
}

fn input(formal: &Formal) -> String {
    let ty = match formal.arity {
        Arity::Required => "&ValueRef",
        Arity::Optional => "Option<&ValueRef>",
        Arity::Variadic { .. } => "&[&ValueRef]",
    };
    format!("{}: {ty}", argument(&formal.name))
}

fn attributes() -> String {
    let mut text = String::from(
        "//! The optional attributes of operators, generated from the operator table.\n\nuse super::*;\n\nattribute_structs! {\n",
    );
    for schema in newest() {
        let optional: Vec<_> = schema.attributes.iter().filter(|attribute| !attribute.required).collect();
        if optional.is_empty() {
            continue;
        }
        write!(text, "    {0}Attrs of \"{0}\" {{", schema.name).expect("a string takes everything");
        for attribute in optional {
            let default = default(attribute).map_or_else(String::new, |value| format!(" = \"{value}\""));
            let field = argument(&attribute.name);
            write!(text, " {field} \"{}\": {}{default},", attribute.name, rust_type(attribute))
                .expect("a string takes everything");
        }
        text.push_str(" }\n");
    }
    text + "}\n"
}

fn method(schema: &Schema, suffix: &str, outputs: usize, takes_first: bool) -> String {
    let mut inputs = schema.inputs.iter();
    let name = method_name(&schema.name);
    let mut text = format!("        \"{}\" {} {name}{suffix}", schema.name, schema.since_version);
    if takes_first {
        let first = inputs.next().map(|formal| argument(&formal.name)).expect("it has a first input");
        write!(text, " [{first}]").expect("a string takes everything");
    }
    let inputs: Vec<_> = inputs.map(input).collect();
    let required: Vec<_> = schema
        .attributes
        .iter()
        .filter(|attribute| attribute.required)
        .map(|attribute| {
            format!("{} \"{}\": {}", argument(&attribute.name), attribute.name, rust_type(attribute))
        })
        .collect();
    let optional = schema.attributes.iter().any(|attribute| !attribute.required);
    let attrs = if optional { format!("attrs: {}Attrs", schema.name) } else { String::new() };
    write!(text, " ({}) ({}) ({attrs})", inputs.join(", "), required.join(", "))
        .expect("a string takes everything");
    let variadic = matches!(schema.outputs.last().map(|last| last.arity), Some(Arity::Variadic { .. }));
    match outputs {
        _ if variadic => text.push_str(" with outputs -> Vec<ValueRef>, outputs;\n"),
        1 => text.push_str(" -> ValueRef, 1;\n"),
        n => writeln!(text, " -> [ValueRef; {n}], {n};").expect("a string takes everything"),
    }
    text
}

fn methods() -> String {
    let mut text = String::from(
        "//! The operators as methods, generated from the operator table.\n\nuse super::*;\n\noperator_methods! {\n",
    );
    for takes_first in [true, false] {
        text.push_str(if takes_first { "    methods {\n" } else { "    free {\n" });
        for schema in newest() {
            let first = schema.inputs.first().is_some_and(|first| first.arity == Arity::Required);
            if first != takes_first {
                continue;
            }
            let total = schema.outputs.len();
            let optional = |formal: &&Formal| formal.arity != Arity::Optional;
            let required = schema.outputs.iter().filter(optional).count();
            let required = if required == 0 { total } else { required };
            text.push_str(&method(schema, "", required, takes_first));
            if required < total {
                text.push_str(&method(schema, "_all", total, takes_first));
            }
        }
        text.push_str("    }\n");
    }
    text + "}\n"
}

fn agrees(file: &str, generated: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/graph/operators").join(file);
    if std::env::var_os("TYPELOOM_BLESS").is_some() {
        std::fs::write(&path, generated).expect("the source can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == generated, "{file} differs from the operator table; run with TYPELOOM_BLESS=1");
}

#[test]
fn every_operator_of_the_table_is_a_method() {
    agrees("attributes.rs", &attributes());
    agrees("methods.rs", &methods());
}
