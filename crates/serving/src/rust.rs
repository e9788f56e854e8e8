//! A Rust module with the inputs and outputs of a model as structures, and a trait for the model.
//!
//! A structure has one slice for each tensor and one number for each symbol: two axes of one symbol are one
//! field, so they cannot differ. Extents that are neither numbers nor symbols are fields of their own.
//! `check` compares the lengths of the slices with the shapes. Elements that Rust has no type for are given
//! by their bits; those of less than a byte take one byte each. The module has no dependencies.

use typeloom_onnx::text::escape;
use typeloom_types::dtype::{Dtype, DtypeClass};

use crate::Options;
use crate::identifier::{Names, variable};
use crate::signature::{Extent, Port, Side, Signature};

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

const ERROR: &str = "
/// A tensor whose number of elements is not that of its shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeError {
    /// The name of the tensor.
    pub name: &'static str,
    /// The shape.
    pub shape: Vec<usize>,
    /// The number of elements.
    pub elements: usize,
}

impl std::fmt::Display for ShapeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, \"{:?} has {} elements, and the shape {:?}\", self.name, self.elements, self.shape)
    }
}

impl std::error::Error for ShapeError {}
";

const CHECK: &str = "
fn check_tensor(name: &'static str, elements: usize, shape: &[usize]) -> Result<(), ShapeError> {
    let expected = shape.iter().try_fold(1_usize, |count, extent| count.checked_mul(*extent));
    if expected == Some(elements) {
        return Ok(());
    }
    Err(ShapeError { name, shape: shape.to_vec(), elements })
}
";

/// Writes a module.
pub(crate) fn write(signature: &Signature, options: &Options) -> String {
    let mut text = format!(
        "// Interface of `{}`, written by `typeloom describe --as rust`.\n",
        escape(options.name_or_default())
    );
    for relation in signature.relations() {
        text.push_str(&format!("// {}\n", escape(&relation)));
    }
    text.push_str(&structure(&signature.inputs, Side::Input));
    text.push_str(&structure(&signature.outputs, Side::Output));
    let lifetime = if signature.inputs.is_empty() { "" } else { "<'_>" };
    text.push_str(&format!(
        "\n/// A model with this interface.\npub trait Model {{\n    /// Error of a run.\n    type Error;\n\n    \
         /// Runs the model.\n    ///\n    /// # Errors\n    /// If the run fails.\n    \
         fn run(&self, inputs: Inputs{lifetime}) -> Result<Outputs, Self::Error>;\n}}\n"
    ));
    text.push_str(ERROR);
    if signature.ports().next().is_some() {
        text.push_str(CHECK);
    }
    text
}

fn structure(ports: &[Port], side: Side) -> String {
    let (name, lifetime) = match side {
        Side::Input if ports.is_empty() => ("Inputs", ""),
        Side::Input => ("Inputs", "<'a>"),
        Side::Output => ("Outputs", ""),
    };
    let copy = if side == Side::Input { "Clone, Copy, Debug" } else { "Clone, Debug" };
    let mut text =
        format!("\n/// The {side}s of the model.\n#[derive({copy})]\npub struct {name}{lifetime} {{\n");
    let mut fields = Fields { names: Names::reserving(KEYWORDS), symbols: Vec::new() };
    let members: Vec<String> =
        ports.iter().map(|port| fields.names.declare_numbered(variable(&port.name, "port"))).collect();
    let (mut extents, mut methods, mut checks) = (String::new(), String::new(), String::new());
    for (port, member) in ports.iter().zip(&members) {
        let shown = format!("`{}`: {}", escape(&port.name), escape(&port.to_string()));
        text.push_str(&format!("    /// {shown}\n    pub {member}: {},\n", field_type(port, side)));
        let shape = fields.shape(port, member, side, &mut extents);
        methods.push_str(&format!(
            "\n    /// The shape of `{}`.\n    #[must_use]\n    pub fn {member}_shape(&self) -> {} {{\n        {}\n    }}\n",
            escape(&port.name),
            shape.ty,
            shape.value,
        ));
        let check = |elements: &str| {
            let literal = literal(&port.name);
            let borrow = if port.shape.is_some() { "&" } else { "" };
            format!("check_tensor({literal}, {elements}.len(), {borrow}self.{member}_shape())?;")
        };
        checks.push_str(&if port.optional {
            let check = check(member);
            format!("        if let Some({member}) = self.{member} {{\n            {check}\n        }}\n")
        } else {
            format!("        {}\n", check(&format!("self.{member}")))
        });
    }
    text.push_str(&extents);
    text.push_str("}\n");
    if ports.is_empty() {
        return text;
    }
    let anonymous = if lifetime.is_empty() { "" } else { "<'_>" };
    let methods = methods.trim_start_matches('\n');
    text.push_str(&format!("\nimpl {name}{anonymous} {{\n{methods}"));
    text.push_str(&format!(
        "\n    /// Compares the number of elements of each tensor with its shape.\n    ///\n    /// # Errors\n    \
         /// [`ShapeError`] for the first tensor that differs.\n    \
         pub fn check(&self) -> Result<(), ShapeError> {{\n{checks}        Ok(())\n    }}\n}}\n"
    ));
    text
}

/// The fields of a structure.
struct Fields<'s> {
    names: Names,
    symbols: Vec<(&'s str, String)>,
}

/// The type of a shape and its value.
struct Shape {
    ty: String,
    value: String,
}

impl<'s> Fields<'s> {
    /// The shape of a tensor, with new fields for its extents.
    fn shape(&mut self, port: &'s Port, member: &str, side: Side, extents: &mut String) -> Shape {
        let Some(shape) = &port.shape else {
            let field = self.names.declare_numbered(format!("{member}_extents"));
            let ty = if side == Side::Input { "&'a [usize]" } else { "Vec<usize>" };
            extents.push_str(&format!(
                "    /// The shape of `{}`.\n    pub {field}: {ty},\n",
                escape(&port.name)
            ));
            let borrow = if side == Side::Input { "" } else { "&" };
            return Shape { ty: "&[usize]".to_owned(), value: format!("{borrow}self.{field}") };
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
            let shown = escape(&extent.to_string()).into_owned();
            extents.push_str(&format!("    /// The extent `{shown}`.\n    pub {field}: usize,\n"));
            values.push(format!("self.{field}"));
        }
        Shape { ty: format!("[usize; {}]", shape.len()), value: format!("[{}]", values.join(", ")) }
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
