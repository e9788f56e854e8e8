//! The methods of operators agree with the operator table.

use std::fmt::Write as _;
use std::path::Path;

use typeloom_module::graph::operators::method_name;
use typeloom_ops::table::Table;
use typeloom_solver::signature::{Arity, AttributeDecl, AttributeDefault, AttributeKind, Formal, Schema};

/// Operators without a generated method: operators with nested graphs have handwritten methods, and constants
/// are created from tensors.
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

/// The name, the Rust name, the type and the default of attributes.
fn listed(attributes: &[&AttributeDecl]) -> Vec<String> {
    let each = attributes.iter().map(|attribute| {
        let default = default(attribute).map_or_else(String::new, |value| format!(" = \"{value}\""));
        format!("{} \"{}\": {}{default}", argument(&attribute.name), attribute.name, rust_type(attribute))
    });
    each.collect()
}

/// The methods of an operator: one for the required outputs, and one for all.
fn methods(schema: &Schema) -> String {
    let name = method_name(&schema.name);
    if matches!(schema.outputs.last().map(|last| last.arity), Some(Arity::Variadic { .. })) {
        return format!("{name}(outputs) -> Vec<ValueRef>, outputs");
    }
    let returns =
        |count: usize| if count == 1 { "ValueRef".to_owned() } else { format!("[ValueRef; {count}]") };
    let total = schema.outputs.len();
    let optional = |formal: &&Formal| formal.arity == Arity::Optional;
    let required = match total - schema.outputs.iter().filter(optional).count() {
        0 => total,
        required => required,
    };
    let mut text = format!("{name}() -> {}, {required}", returns(required));
    if required < total {
        write!(text, "; {name}_all() -> {}, {total}", returns(total)).expect("a string takes everything");
    }
    text
}

fn operator(schema: &Schema) -> String {
    let is_single = |first: &&Formal| first.arity == Arity::Required;
    let first = schema.inputs.first().filter(is_single).map(|formal| argument(&formal.name));
    let inputs: Vec<_> = schema.inputs.iter().skip(usize::from(first.is_some())).map(input).collect();
    let (required, optional): (Vec<_>, Vec<_>) = schema.attributes.iter().partition(|it| it.required);
    let attrs = match &listed(&optional)[..] {
        [] => String::new(),
        optional => format!("{}Attrs {{ {}, }}", schema.name, optional.join(", ")),
    };
    format!(
        "    \"{}\" {} [{}] ({}) ({}) ({attrs}) {{ {} }}\n",
        schema.name,
        schema.since_version,
        first.unwrap_or_default(),
        inputs.join(", "),
        listed(&required).join(", "),
        methods(schema),
    )
}

#[test]
fn every_operator_of_the_table_is_a_method() {
    let operators: String = newest().map(operator).collect();
    let generated = format!(
        "//! The operators of the default domain, generated from the operator table.\n\nuse super::*;\n\noperators! {{\n{operators}}}\n"
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/graph/operators/table.rs");
    if std::env::var_os("TYPELOOM_BLESS").is_some() {
        std::fs::write(&path, &generated).expect("the source can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == generated, "table.rs differs from the operator table; run with TYPELOOM_BLESS=1");
}
