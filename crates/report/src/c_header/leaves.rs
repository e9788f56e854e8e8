//! The element types and the leaves of the type tree.
//!
//! | leaf | C type |
//! |---|---|
//! | under `tensor`, with an element type of the table | a structure with the layout of `typeloom_tensor` and typed elements |
//! | under `tensor`, of another crate | `typeloom_bytes`: the byte format that the owner of the leaf defines |
//! | under `scalar`, with an element type | a number |
//! | `trigger` | a structure with one unused byte |
//! | `peer_id`, `bytes`, and leaves of other crates | `typeloom_bytes` |
//! | `peer_id_vec`, `address_vec` | `typeloom_list` |
//! | `composite` | `typeloom_fields` |
//! | `wire_req_id` | `uint64_t` |

use std::fmt::Write as _;

use typeloom_serving::c_text::{comment, element, literal};
use typeloom_serving::identifier::{Names, constant, is_c_identifier};
use typeloom_types::dtype::{Dtype, DtypeClass};
use typeloom_types::lattice::{Lattice, NodeRef};

use super::HeaderError;

/// Writes a constant for each element type.
pub(super) fn dtypes(text: &mut String, names: &mut Names) {
    text.push_str("/* Element types, numbered as in ONNX. */\n");
    for dtype in Dtype::ALL {
        let name = names.declare_numbered(format!("TYPELOOM_DTYPE_{}", constant(dtype.name(), "OTHER")));
        push(text, format_args!("#define {name} {}\n", dtype.onnx_number()));
    }
}

/// Writes the C type and the constants of each leaf.
pub(super) fn leaves(text: &mut String, names: &mut Names, lattice: &Lattice) -> Result<(), HeaderError> {
    text.push_str("\n/* Leaves of the type tree. */\n");
    for node in lattice.nodes().filter(NodeRef::is_concrete) {
        leaf(text, names, &node)?;
    }
    Ok(())
}

fn leaf(text: &mut String, names: &mut Names, node: &NodeRef<'_>) -> Result<(), HeaderError> {
    let error = |name: &str| HeaderError::Declared { leaf: node.id.to_owned(), name: name.to_owned() };
    push(text, format_args!("\n/* {} */\n", comment(node.id)));
    let stem = if node.ffi_name.is_empty() {
        format!("TYPELOOM_LEAF_{}", constant(node.id, "OTHER"))
    } else {
        if !is_c_identifier(node.ffi_name) {
            let (leaf, name) = (node.id.to_owned(), node.ffi_name.to_owned());
            return Err(HeaderError::NotAnIdentifier { leaf, name });
        }
        if !names.declare(node.ffi_name) {
            return Err(error(node.ffi_name));
        }
        constant(node.ffi_name.strip_suffix("_t").unwrap_or(node.ffi_name), "OTHER")
    };
    let constants = [
        ("ID", literal(node.id)),
        ("WIRE_HASH", format!("UINT64_C({:#x})", node.wire_tag)),
        ("DENOTATION", literal(node.denotation)),
    ];
    for (field, value) in constants {
        let name = format!("{stem}_{field}");
        if !names.declare(&name) {
            return Err(error(&name));
        }
        push(text, format_args!("#define {name} {value}\n"));
    }
    if !node.ffi_name.is_empty() {
        text.push_str(&declaration(node));
    }
    Ok(())
}

/// The declaration of a leaf's C type.
fn declaration(node: &NodeRef<'_>) -> String {
    let name = node.ffi_name;
    let dtype = Dtype::from_node_id(node.id);
    match (node.id, dtype) {
        (_, Some(dtype)) if node.is_subtype_of("tensor") => tensor(name, dtype),
        (_, Some(dtype)) if node.is_subtype_of("scalar") => format!("typedef {} {name};\n", element(dtype)),
        ("trigger", _) => format!("typedef struct {name} {{\n  uint8_t unused;\n}} {name};\n"),
        ("wire_req_id", _) => format!("typedef uint64_t {name};\n"),
        ("peer_id_vec" | "address_vec", _) => format!("typedef typeloom_list {name};\n"),
        ("composite", _) => format!("typedef typeloom_fields {name};\n"),
        _ => format!("typedef typeloom_bytes {name};\n"),
    }
}

/// A structure with the fields of `typeloom_tensor`.
fn tensor(name: &str, dtype: Dtype) -> String {
    let (element, number) = (element(dtype), dtype.onnx_number());
    let packing = match (dtype.class(), dtype.is_sub_byte()) {
        (DtypeClass::Complex, _) => ", two for each element",
        (DtypeClass::String, _) => ", offsets and text",
        (_, true) => ", several elements in a byte",
        (_, false) => "",
    };
    format!(
        "typedef struct {name} {{\n  const {element} *data; /* {}{packing} */\n  size_t length; /* in bytes */\n  \
         const uint64_t *dims;\n  uint32_t rank;\n  int32_t dtype; /* {number} */\n}} {name};\n",
        dtype.onnx_name(),
    )
}

/// Appends formatted text.
fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("a string accepts every text");
}
