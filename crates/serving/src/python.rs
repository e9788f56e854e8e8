//! A Python module with the inputs and outputs of a model as dataclasses of NumPy arrays.
//!
//! `check` compares element types and shapes at run time. It binds each symbol to the first extent that it
//! meets and compares the others; the outputs are checked with the symbols of the inputs. Types are annotated
//! such that `mypy --strict` and `pyright` in strict mode accept the module.

use std::borrow::Cow;

use serde::Serialize;
use typeloom_onnx::text::{escape, is_unsafe};
use typeloom_types::dtype::Dtype;

use crate::Options;
use crate::identifier::{Names, variable};
use crate::signature::{Extent, Port, Signature};
use crate::template::render;

/// Names that no field has: keywords, builtins that annotations use, and members of the classes.
const RESERVED: [&str; 45] = [
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "case",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "match",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "type",
    "while",
    "with",
    "yield",
    "check",
    "classmethod",
    "cls",
    "dict",
    "from_dict",
    "int",
    "np",
    "npt",
    "str",
    "to_dict",
];

#[derive(Serialize)]
struct Module<'m> {
    name: Cow<'m, str>,
    relations: Vec<String>,
    uses_numpy: bool,
    classes: [Class; 2],
}

/// The class of the inputs or of the outputs.
#[derive(Serialize)]
struct Class {
    name: &'static str,
    list: &'static str,
    fields: Vec<Field>,
}

#[derive(Serialize)]
struct Field {
    name: String,
    /// The name of the port as a string of Python.
    key: String,
    element: &'static str,
    shape: String,
    /// The name and the type for a comment.
    shown: String,
    /// The annotation.
    array: String,
    optional: bool,
}

/// Writes a module.
pub(crate) fn write(signature: &Signature, options: &Options) -> String {
    let classes = [
        Class { name: "Inputs", list: "inputs", fields: fields(&signature.inputs) },
        Class { name: "Outputs", list: "outputs", fields: fields(&signature.outputs) },
    ];
    let mut all = classes.iter().flat_map(|class| &class.fields);
    let module = Module {
        name: escape(options.name_or_default()),
        relations: signature.relations().iter().map(|relation| escape(relation).into_owned()).collect(),
        uses_numpy: all.any(|field| field.array.contains("NDArray[np.")),
        classes,
    };
    render(include_str!("../templates/python.py.txt"), &module)
}

fn fields(ports: &[Port]) -> Vec<Field> {
    let mut names = Names::reserving(RESERVED);
    let field = |port: &Port| Field {
        name: names.declare_numbered(variable(&port.name, "port")),
        key: literal(&port.name),
        element: element_name(port.element),
        shape: shape(port),
        shown: format!("{}: {}", escape(&port.name), escape(&port.to_string())),
        array: array(port.element),
        optional: port.optional,
    };
    ports.iter().map(field).collect()
}

fn shape(port: &Port) -> String {
    let Some(shape) = &port.shape else { return "None".to_owned() };
    let axes = shape.iter().map(|extent| match extent {
        Extent::Fixed(value) => value.to_string(),
        Extent::Symbol(symbol) => literal(symbol),
        Extent::Expression { .. } | Extent::Free => "None".to_owned(),
    });
    let axes: Vec<String> = axes.collect();
    match &axes[..] {
        [single] => format!("({single},)"),
        several => format!("({})", several.join(", ")),
    }
}

/// The name of NumPy's or `ml_dtypes`' element type.
fn element_name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => "float32",
        Dtype::F64 => "float64",
        Dtype::String => "str",
        Dtype::Float8E4M3Fn => "float8_e4m3fn",
        Dtype::Float8E4M3Fnuz => "float8_e4m3fnuz",
        Dtype::Float8E5M2 => "float8_e5m2",
        Dtype::Float8E5M2Fnuz => "float8_e5m2fnuz",
        Dtype::Float8E8M0 => "float8_e8m0fnu",
        Dtype::Float4E2M1 => "float4_e2m1fn",
        Dtype::Float6E2M3 => "float6_e2m3fn",
        Dtype::Float6E3M2 => "float6_e3m2fn",
        other => other.onnx_name(),
    }
}

/// The annotation of an array. The element types of `ml_dtypes` have no annotation without that package.
fn array(dtype: Dtype) -> String {
    let element = match dtype {
        Dtype::Bool => "np.bool_",
        Dtype::U8 => "np.uint8",
        Dtype::U16 => "np.uint16",
        Dtype::U32 => "np.uint32",
        Dtype::U64 => "np.uint64",
        Dtype::I8 => "np.int8",
        Dtype::I16 => "np.int16",
        Dtype::I32 => "np.int32",
        Dtype::I64 => "np.int64",
        Dtype::F16 => "np.float16",
        Dtype::F32 => "np.float32",
        Dtype::F64 => "np.float64",
        Dtype::Complex64 => "np.complex64",
        Dtype::Complex128 => "np.complex128",
        _ => "Any",
    };
    format!("npt.NDArray[{element}]")
}

/// A string on one line.
fn literal(text: &str) -> String {
    let mut written = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => written.extend(['\\', c]),
            c if is_unsafe(c) && u32::from(c) < 0x1_0000 => {
                written.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c if is_unsafe(c) => written.push_str(&format!("\\U{:08x}", u32::from(c))),
            c => written.push(c),
        }
    }
    written + "\""
}
