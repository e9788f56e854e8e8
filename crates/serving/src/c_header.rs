//! A header in C99, which is also C++, with the inputs and outputs of a model as structures.
//!
//! For each port: constants for its name, element type, rank and extents, a structure with a pointer to its
//! elements and one field for each extent that is no number, and a function for the number of elements. Two
//! axes of one symbol in a port are one field. `typeloom describe --as c-abi` generates another header, for the C
//! interface of typeloom.
//!
//! **Invariant:** identifiers are distinct. Constants and functions append a suffix or prefix of a fixed set
//! to the identifier of a port, and these identifiers are distinct.

use std::collections::HashMap;

use serde::Serialize;
use typeloom_types::dtype::{Dtype, DtypeClass};

use crate::Options;
use crate::c_text::{comment, element, literal};
use crate::identifier::{Names, c_keywords, constant, variable};
use crate::signature::{Extent, Port, Side, Signature};
use crate::template::render;

/// Names that the header uses, and macros of compilers.
const RESERVED: [&str; 16] = [
    "data", "dims", "rank", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t",
    "uint64_t", "size_t", "typeof", "linux", "unix", "i386",
];

/// The names of fields of a structure.
fn fields() -> Names {
    Names::reserving(c_keywords().chain(RESERVED))
}

#[derive(Serialize)]
struct Header {
    name: String,
    relations: Vec<String>,
    stem: String,
    /// The beginning of the names of constants.
    upper: String,
    lists: [List; 2],
}

/// The inputs or the outputs.
#[derive(Serialize)]
struct List {
    side: &'static str,
    tensors: Vec<Tensor>,
}

/// A port with its identifiers.
#[derive(Serialize)]
struct Tensor {
    /// The name for a comment.
    shown: String,
    /// The type for a comment.
    shown_type: String,
    /// The name as a string of C.
    literal: String,
    element: &'static str,
    /// The number of the element type.
    number: i32,
    optional: bool,
    /// The name of the structure.
    ty: String,
    /// The beginning of the names of constants.
    constants: String,
    /// The name of the function for the number of elements.
    count: String,
    /// The name of the field in the structure of all ports.
    member: String,
    pointer: String,
    layout: &'static str,
    /// The extents, -1 for those that are no numbers; `None` if the rank is unknown.
    extents: Option<Vec<i64>>,
    /// The fields for extents that are no numbers, each with its extent for a comment.
    fields: Vec<(String, String)>,
    /// The factors of the number of elements.
    factors: Vec<String>,
}

/// Writes a header.
pub(crate) fn write(signature: &Signature, options: &Options) -> String {
    let stem = variable(options.name_or_default(), "model");
    let header = Header {
        name: comment(options.name_or_default()),
        relations: signature.relations().iter().map(|relation| comment(relation)).collect(),
        upper: stem.to_ascii_uppercase(),
        lists: [
            List { side: "input", tensors: tensors(&signature.inputs, Side::Input, &stem) },
            List { side: "output", tensors: tensors(&signature.outputs, Side::Output, &stem) },
        ],
        stem,
    };
    render(include_str!("../templates/c_header.h.txt"), &header)
}

fn tensors(ports: &[Port], side: Side, stem: &str) -> Vec<Tensor> {
    let (mut names, mut members) = (Names::default(), fields());
    let tensor = |port: &Port| {
        let own = names.declare_numbered(constant(&port.name, "PORT"));
        let ty = format!("{stem}_{side}_{own}").to_ascii_lowercase();
        let (fields, factors) = extents(port);
        Tensor {
            shown: comment(&port.name),
            shown_type: comment(&port.to_string()),
            literal: literal(&port.name),
            element: port.element.onnx_name(),
            number: port.element.onnx_number(),
            optional: port.optional,
            constants: ty.to_ascii_uppercase(),
            ty,
            count: format!("{stem}_count_{side}_{own}").to_ascii_lowercase(),
            member: members.declare_numbered(variable(&port.name, "port")),
            pointer: pointer(port.element, side),
            layout: layout(port.element),
            extents: port.shape.as_ref().map(|shape| shape.iter().map(Extent::or_minus_one).collect()),
            fields,
            factors,
        }
    };
    ports.iter().map(tensor).collect()
}

/// The fields for extents that are no numbers, and the factors of the number of elements.
fn extents(port: &Port) -> (Vec<(String, String)>, Vec<String>) {
    let mut names = fields();
    let (mut members, mut factors) = (Vec::new(), Vec::new());
    let mut known: HashMap<&str, String> = HashMap::new();
    for (axis, extent) in port.extents().iter().enumerate() {
        let member = match extent {
            Extent::Fixed(value) => {
                factors.push(format!("(uint64_t){value}"));
                continue;
            }
            Extent::Symbol(symbol) => {
                if let Some(member) = known.get(symbol.as_str()) {
                    factors.push(format!("(uint64_t)tensor->{member}"));
                    continue;
                }
                let member = names.declare_numbered(variable(symbol, "symbol"));
                known.insert(symbol, member.clone());
                member
            }
            Extent::Expression { .. } | Extent::Free => names.declare_numbered(format!("axis_{axis}")),
        };
        factors.push(format!("(uint64_t)tensor->{member}"));
        members.push((member, comment(&extent.to_string())));
    }
    (members, factors)
}

/// The declaration of a pointer to elements up to its name.
fn pointer(dtype: Dtype, side: Side) -> String {
    let mutability = if side == Side::Input { "const " } else { "" };
    match dtype.class() {
        DtypeClass::String => format!("const char *{mutability}*"),
        DtypeClass::Float
        | DtypeClass::SignedInt
        | DtypeClass::UnsignedInt
        | DtypeClass::Bool
        | DtypeClass::Complex => format!("{mutability}{} *", element(dtype)),
    }
}

/// The comment about elements that are no plain numbers.
fn layout(dtype: Dtype) -> &'static str {
    match (dtype.class(), dtype.size_bits()) {
        (DtypeClass::Complex, _) => " /* two numbers for each element */",
        (DtypeClass::String, _) => " /* UTF-8, each with a zero byte at its end */",
        (DtypeClass::Float, Some(0..32)) => " /* the bits of each element */",
        (_, Some(0..8)) => " /* several elements in each byte, the first in the lowest bits */",
        (_, _) => "",
    }
}
