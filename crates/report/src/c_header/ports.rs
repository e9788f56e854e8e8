//! The functions of a program: constants for the indices of inputs and outputs.

use typeloom_interface::bundle::Exported;
use typeloom_interface::recorded::PARTS;
use typeloom_interface::{Interface, Parameter};
use typeloom_serving::c_text::{comment, literal};
use typeloom_serving::identifier::{Names, constant};

use super::Program;

/// The include guard of a program, and its text.
pub(super) fn program(names: &mut Names, program: Program<'_>) -> (String, String) {
    let mut stem = constant(program.name, "PROGRAM");
    if stem.starts_with(|c: char| c.is_ascii_digit()) {
        stem.insert_str(0, "PROGRAM_");
    }
    let guard = names.declare_numbered(format!("TYPELOOM_PROGRAM_{stem}_H"));
    let mut text = format!("\n/* Program `{}`. */\n", comment(program.name));
    for (at, exported) in program.functions.iter().enumerate() {
        if at == 0 {
            function(&mut text, names, &stem, exported, None);
            continue;
        }
        let stem = format!("{stem}_{}", constant(&exported.label, "FUNCTION"));
        // A part is no function that a C program can load.
        let name = Some(exported.label.as_str()).filter(|label| !label.starts_with(PARTS));
        function(&mut text, names, &stem, exported, name);
    }
    (guard, text)
}

fn function(text: &mut String, names: &mut Names, stem: &str, exported: &Exported, name: Option<&str>) {
    let Exported { label, interface, digest, signature: _ } = exported;
    let mut define = |text: &mut String, name: String, value: &str, note: &str| {
        let name = names.declare_numbered(name);
        text.push_str(&format!("#define {name} {value}{note}\n"));
    };
    text.push_str(&format!("\n/* Function `{}`: {} */\n", comment(label), comment(&interface.to_string())));
    for condition in interface.shown_conditions() {
        text.push_str(&format!("/* It runs only if {}. */\n", comment(&condition)));
    }
    if let Some(name) = name {
        // A zero byte would end the text; `typeloom-ffi` replaces it in the same way.
        define(text, format!("{stem}_FUNCTION"), &literal(&name.replace('\0', "\\0")), "");
    }
    define(text, format!("{stem}_DIGEST"), &literal(&digest.to_string()), "");
    for (kind, list) in [("INPUT", &interface.inputs), ("OUTPUT", &interface.outputs)] {
        define(text, format!("{stem}_{kind}_COUNT"), &list.len().to_string(), "");
        for (index, parameter) in list.iter().enumerate() {
            let name = format!("{stem}_{kind}_{}", constant(&parameter.name, "PORT"));
            define(text, name, &index.to_string(), &note(interface, parameter));
        }
    }
}

/// The comment of a port: its name, type and C type.
fn note(interface: &Interface, parameter: &Parameter) -> String {
    let ty = interface.value_type(&parameter.ty);
    let c_type = match ty.leaf().map_or("", |leaf| leaf.ffi_name) {
        "" if ty.is_tensor() => "a C type of a tensor",
        "" => "no C type",
        name => name,
    };
    let optional = if parameter.optional { ", optional" } else { "" };
    let (name, shown) = (comment(&parameter.name), comment(&interface.show(&parameter.ty)));
    format!(" /* `{name}`: {shown}, {c_type}{optional} */")
}
