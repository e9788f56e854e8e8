//! A header in C99, which is also C++, with the inputs and outputs of a model as structures.
//!
//! For each port: constants for its name, element type, rank and extents, a structure with a pointer to its
//! elements and one field for each extent that is no number, and a function for the number of elements. Two
//! axes of one symbol in a port are one field. `typeloom header` generates another header, for the C
//! interface of typeloom.
//!
//! **Invariant:** identifiers are distinct. Constants and functions append a suffix or prefix of a fixed set
//! to the identifier of a port, and these identifiers are distinct.

use typeloom_types::dtype::{Dtype, DtypeClass};

use crate::Options;
use crate::c_text::{comment, element, literal};
use crate::identifier::{Names, c_keywords, constant, variable};
use crate::signature::{Extent, Port, Side, Signature};

/// Names that the header uses, and macros of compilers.
const RESERVED: [&str; 16] = [
    "data", "dims", "rank", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t",
    "uint64_t", "size_t", "typeof", "linux", "unix", "i386",
];

/// The names of fields of a structure.
fn fields() -> Names {
    Names::reserving(c_keywords().chain(RESERVED))
}

/// Writes a header.
pub(crate) fn write(signature: &Signature, options: &Options) -> String {
    let stem = variable(options.name_or_default(), "model");
    let upper = stem.to_ascii_uppercase();
    let mut text = format!(
        "/* Interface of `{}`, written by `typeloom describe --as c-header`. */\n",
        comment(options.name_or_default())
    );
    for relation in signature.relations() {
        text.push_str(&format!("/* Not expressed: {}. */\n", comment(&relation)));
    }
    text.push_str(&format!(
        "#ifndef {upper}_INTERFACE_H\n#define {upper}_INTERFACE_H\n\n#include <stdint.h>\n"
    ));
    for side in [Side::Input, Side::Output] {
        let ports: Vec<&Port> =
            signature.ports().filter(|(of, _)| *of == side).map(|(_, port)| port).collect();
        text.push_str(&format!(
            "\n#define {upper}_{}_COUNT {}\n",
            side.to_string().to_ascii_uppercase(),
            ports.len()
        ));
        let (mut names, mut members) = (Names::default(), fields());
        let mut all = String::new();
        for port in ports {
            let own = names.declare_numbered(constant(&port.name, "PORT"));
            let name = Named { stem: &stem, side, own: &own };
            text.push_str(&tensor(port, &name));
            let member = members.declare_numbered(variable(&port.name, "port"));
            all.push_str(&format!("  {} {member};\n", name.ty()));
        }
        if !all.is_empty() {
            text.push_str(&format!("\ntypedef struct {stem}_{side}s {{\n{all}}} {stem}_{side}s;\n"));
        }
    }
    text + "\n#endif\n"
}

/// The identifiers of a port.
struct Named<'n> {
    /// That of the model.
    stem: &'n str,
    side: Side,
    /// That of the port as a constant.
    own: &'n str,
}

impl Named<'_> {
    fn ty(&self) -> String {
        format!("{}_{}_{}", self.stem, self.side, self.own).to_ascii_lowercase()
    }

    fn count(&self) -> String {
        format!("{}_count_{}_{}", self.stem, self.side, self.own).to_ascii_lowercase()
    }
}

fn tensor(port: &Port, name: &Named<'_>) -> String {
    let (ty, count) = (name.ty(), name.count());
    let constants = ty.to_ascii_uppercase();
    let optional = if port.optional { ", optional: `data` is a null pointer if it is omitted" } else { "" };
    let mut text = format!(
        "\n/* {} `{}`: {}{optional} */\n",
        name.side,
        comment(&port.name),
        comment(&port.to_string())
    );
    let number = port.element.onnx_number();
    text.push_str(&format!("#define {constants}_NAME {}\n", literal(&port.name)));
    text.push_str(&format!(
        "#define {constants}_DTYPE {number} /* {}, as in ONNX */\n",
        port.element.onnx_name()
    ));
    let rank = port.shape.as_ref().map_or("-1".to_owned(), |shape| shape.len().to_string());
    text.push_str(&format!("#define {constants}_RANK {rank}\n"));
    if !port.extents().is_empty() {
        let extents: Vec<String> =
            port.extents().iter().map(|extent| extent.or_minus_one().to_string()).collect();
        text.push_str(&format!("#define {constants}_EXTENTS {{{}}}\n", extents.join(", ")));
    }
    text.push_str(&format!("#define {constants}_OPTIONAL {}\n", u8::from(port.optional)));
    let (members, factors) = members(port);
    text.push_str(&format!(
        "typedef struct {ty} {{\n  {}data;{}\n",
        pointer(port.element, name.side),
        layout(port.element)
    ));
    text.push_str(&format!("{members}}} {ty};\n"));
    text.push_str(&format!(
        "/* The number of elements. */\nstatic inline int64_t {count}(const {ty} *tensor) {{\n"
    ));
    if port.shape.is_none() {
        text.push_str(
            "  uint64_t count = 1;\n  uint32_t axis;\n  for (axis = 0; axis < tensor->rank; axis++) {\n",
        );
        text.push_str("    count *= (uint64_t)tensor->dims[axis];\n  }\n  return (int64_t)count;\n}\n");
    } else if factors.is_empty() {
        text.push_str("  (void)tensor;\n  return 1;\n}\n");
    } else {
        let is_used = factors.iter().any(|factor| factor.contains("tensor"));
        text.push_str(if is_used { "" } else { "  (void)tensor;\n" });
        text.push_str(&format!("  return (int64_t)({});\n}}\n", factors.join(" * ")));
    }
    text
}

/// The fields for extents that are no numbers, and the factors of the number of elements.
fn members(port: &Port) -> (String, Vec<String>) {
    if port.shape.is_none() {
        return ("  const int64_t *dims;\n  uint32_t rank;\n".to_owned(), Vec::new());
    }
    let mut names = fields();
    let (mut text, mut factors) = (String::new(), Vec::new());
    let mut known: Vec<(&str, String)> = Vec::new();
    for (axis, extent) in port.extents().iter().enumerate() {
        let member = match extent {
            Extent::Fixed(value) => {
                factors.push(format!("(uint64_t){value}"));
                continue;
            }
            Extent::Symbol(symbol) => {
                if let Some((_, member)) = known.iter().find(|(name, _)| name == symbol) {
                    factors.push(format!("(uint64_t)tensor->{member}"));
                    continue;
                }
                let member = names.declare_numbered(variable(symbol, "symbol"));
                known.push((symbol, member.clone()));
                member
            }
            Extent::Expression { .. } | Extent::Free => names.declare_numbered(format!("axis_{axis}")),
        };
        text.push_str(&format!("  int64_t {member}; /* {} */\n", comment(&extent.to_string())));
        factors.push(format!("(uint64_t)tensor->{member}"));
    }
    (text, factors)
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
