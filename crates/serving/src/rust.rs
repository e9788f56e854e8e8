//! A Rust module with the inputs and outputs of a model as structures, and a trait for the model.
//!
//! A structure has one slice for each tensor and one number for each symbol: two axes of one symbol are one
//! field, so they cannot differ. Extents that are neither numbers nor symbols are fields of their own.
//! `check` compares the lengths of the slices with the shapes. Elements that Rust has no type for are given
//! by their bits; those of less than a byte take one byte each. The module has no dependencies.

use std::borrow::Cow;

use serde::Serialize;
use typeloom_onnx::text::escape;
use typeloom_types::dtype::{Dtype, DtypeClass};

use crate::Options;
use crate::identifier::{Names, variable};
use crate::signature::{Extent, Port, Side, Signature};
use crate::template::render;

/// Names that no field has: keywords in lower case, with those that are reserved.
const KEYWORDS: [&str; 54] = [
    "abstract",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "struct",
    "super",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "union",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
    "macro_rules",
    // A function of the module.
    "check_tensor",
];

#[derive(Serialize)]
struct Module<'m> {
    name: Cow<'m, str>,
    relations: Vec<String>,
    structures: [Structure; 2],
}

/// The structure of the inputs or of the outputs.
#[derive(Serialize)]
struct Structure {
    name: &'static str,
    list: &'static str,
    /// Whether the fields are slices.
    is_borrowed: bool,
    has_lifetime: bool,
    members: Vec<Member>,
    extents: Vec<ExtentField>,
}

/// The field of a tensor.
#[derive(Serialize)]
struct Member {
    field: String,
    ty: String,
    /// The name of the port for a comment.
    shown: String,
    /// The type of the port for a comment.
    shown_type: String,
    /// The name of the port as a string of Rust.
    literal: String,
    shape: Shape,
    optional: bool,
}

/// A field for an extent that is no number, or for a whole shape.
#[derive(Serialize)]
struct ExtentField {
    field: String,
    ty: &'static str,
    shown: String,
}

/// Writes a module.
pub(crate) fn write(signature: &Signature, options: &Options) -> String {
    let module = Module {
        name: escape(options.name_or_default()),
        relations: signature.relations().iter().map(|relation| escape(relation).into_owned()).collect(),
        structures: [
            Structure::of(&signature.inputs, Side::Input),
            Structure::of(&signature.outputs, Side::Output),
        ],
    };
    render(include_str!("../templates/rust.rs.txt"), &module)
}

impl Structure {
    fn of(ports: &[Port], side: Side) -> Self {
        let mut fields =
            Fields { names: Names::reserving(KEYWORDS), symbols: Vec::new(), extents: Vec::new() };
        let names: Vec<String> =
            ports.iter().map(|port| fields.names.declare_numbered(variable(&port.name, "port"))).collect();
        let member = |(port, field): (_, String)| Member {
            ty: field_type(port, side),
            shown: escape(&port.name).into_owned(),
            shown_type: escape(&port.to_string()).into_owned(),
            literal: literal(&port.name),
            shape: fields.shape(port, &field, side),
            optional: port.optional,
            field,
        };
        let members: Vec<Member> = ports.iter().zip(names).map(member).collect();
        let (name, list) = match side {
            Side::Input => ("Inputs", "inputs"),
            Side::Output => ("Outputs", "outputs"),
        };
        let is_borrowed = side == Side::Input;
        let has_lifetime = is_borrowed && !ports.is_empty();
        Self { name, list, is_borrowed, has_lifetime, members, extents: fields.extents }
    }
}

/// The fields of a structure.
struct Fields<'s> {
    names: Names,
    symbols: Vec<(&'s str, String)>,
    extents: Vec<ExtentField>,
}

/// The type of a shape and its value.
#[derive(Serialize)]
struct Shape {
    ty: String,
    value: String,
    /// The operator before a call of the method that passes a slice on.
    borrow: &'static str,
}

impl<'s> Fields<'s> {
    /// The shape of a tensor, with new fields for its extents.
    fn shape(&mut self, port: &'s Port, member: &str, side: Side) -> Shape {
        let Some(shape) = &port.shape else {
            let field = self.names.declare_numbered(format!("{member}_extents"));
            let (ty, borrow) = match side {
                Side::Input => ("&'a [usize]", ""),
                Side::Output => ("Vec<usize>", "&"),
            };
            let value = format!("{borrow}self.{field}");
            let shown = format!("shape of `{}`", escape(&port.name));
            self.extents.push(ExtentField { field, ty, shown });
            return Shape { ty: "&[usize]".to_owned(), value, borrow: "" };
        };
        let mut values = Vec::with_capacity(shape.len());
        for (axis, extent) in shape.iter().enumerate() {
            let field = match extent {
                Extent::Fixed(value) => {
                    values.push(value.to_string());
                    continue;
                }
                Extent::Symbol(symbol) => match self.symbols.iter().find(|(known, _)| known == symbol) {
                    Some((_, field)) => {
                        values.push(format!("self.{field}"));
                        continue;
                    }
                    None => {
                        let field = self.names.declare_numbered(variable(symbol, "symbol"));
                        self.symbols.push((symbol, field.clone()));
                        field
                    }
                },
                Extent::Expression { .. } | Extent::Free => {
                    self.names.declare_numbered(format!("{member}_axis_{axis}"))
                }
            };
            values.push(format!("self.{field}"));
            let shown = format!("extent `{}`", escape(&extent.to_string()));
            self.extents.push(ExtentField { field, ty: "usize", shown });
        }
        let (ty, value) = (format!("[usize; {}]", shape.len()), format!("[{}]", values.join(", ")));
        Shape { ty, value, borrow: "&" }
    }
}

fn field_type(port: &Port, side: Side) -> String {
    let element = match (port.element.class(), side) {
        (DtypeClass::String, Side::Input) => "&'a str",
        (DtypeClass::String, Side::Output) => "String",
        (
            DtypeClass::Float
            | DtypeClass::SignedInt
            | DtypeClass::UnsignedInt
            | DtypeClass::Bool
            | DtypeClass::Complex,
            _,
        ) => element(port.element),
    };
    let slice = match side {
        Side::Input => format!("&'a [{element}]"),
        Side::Output => format!("Vec<{element}>"),
    };
    if port.optional { format!("Option<{slice}>") } else { slice }
}

/// The type of an element that is no string.
fn element(dtype: Dtype) -> &'static str {
    match (dtype.class(), dtype.size_bits()) {
        (DtypeClass::Bool, _) => "bool",
        (DtypeClass::Float, Some(32)) => "f32",
        (DtypeClass::Float, Some(64)) => "f64",
        (DtypeClass::Complex, Some(64)) => "[f32; 2]",
        (DtypeClass::Complex, _) => "[f64; 2]",
        (DtypeClass::SignedInt, Some(16)) => "i16",
        (DtypeClass::SignedInt, Some(32)) => "i32",
        (DtypeClass::SignedInt, Some(64)) => "i64",
        (DtypeClass::SignedInt, _) => "i8",
        (_, Some(16)) => "u16",
        (_, Some(32)) => "u32",
        (_, Some(64)) => "u64",
        (_, _) => "u8",
    }
}

/// A string of ASCII characters.
fn literal(text: &str) -> String {
    format!("\"{}\"", text.escape_default())
}
