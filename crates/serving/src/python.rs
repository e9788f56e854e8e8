//! A Python module with the inputs and outputs of a model as dataclasses of NumPy arrays.
//!
//! `check` compares element types and shapes at run time. It binds each symbol to the first extent that it
//! meets and compares the others; the outputs are checked with the symbols of the inputs. Types are annotated
//! such that `mypy --strict` and `pyright` in strict mode accept the module.

use typeloom_onnx::text::{escape, is_unsafe};
use typeloom_types::dtype::Dtype;

use crate::Options;
use crate::identifier::{Names, variable};
use crate::signature::{Extent, Port, Signature};

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

const CHECK: &str = r#"
_Spec = tuple[str, tuple[int | str | None, ...] | None]


def _check(name: str, array: npt.NDArray[Any], spec: _Spec, symbols: dict[str, int]) -> None:
    """Compares an array with its specification, and binds new symbols."""
    element, shape = spec
    own = "str" if array.dtype.kind in "OUST" else str(array.dtype)
    if own != element:
        raise TypeError(f"{name!r} has elements of {own}, not of {element}")
    if shape is None:
        return
    if len(array.shape) != len(shape):
        raise ValueError(f"{name!r} has the shape {array.shape}, not {shape}")
    for extent, expected in zip(array.shape, shape):
        if isinstance(expected, str):
            expected = symbols.setdefault(expected, extent)
        if expected is not None and extent != expected:
            raise ValueError(f"{name!r} has the shape {array.shape}, not {shape} with {symbols}")
"#;

const MODEL: &str = r#"

class Model(Protocol):
    """A model with this interface."""

    def __call__(self, inputs: Inputs, /) -> Outputs: ...
"#;

/// Writes a module.
pub(crate) fn write(signature: &Signature, options: &Options) -> String {
    let mut text = format!(
        "# Interface of {}, written by `typeloom describe --as python`.\n",
        escape(options.name_or_default())
    );
    for relation in signature.relations() {
        text.push_str(&format!("# {}\n", escape(&relation)));
    }
    let classes =
        class("Inputs", "inputs", &signature.inputs) + &class("Outputs", "outputs", &signature.outputs);
    let numpy = if classes.contains("NDArray[np.") { "import numpy as np\n" } else { "" };
    text.push_str(&format!(
        "\
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

{numpy}import numpy.typing as npt
{CHECK}{classes}{MODEL}"
    ));
    text
}

fn class(name: &str, list: &str, ports: &[Port]) -> String {
    let mut names = Names::reserving(RESERVED);
    let fields: Vec<String> =
        ports.iter().map(|port| names.declare_numbered(variable(&port.name, "port"))).collect();
    let mut specs = String::new();
    let mut members = String::new();
    let (mut to, mut optional, mut from) = (String::new(), String::new(), String::new());
    for (port, field) in ports.iter().zip(&fields) {
        let key = literal(&port.name);
        specs.push_str(&format!("    {key}: (\"{}\", {}),\n", element_name(port.element), shape(port)));
        let array = array(port.element);
        let shown = format!("    #: {}: {}\n", escape(&port.name), escape(&port.to_string()));
        members.push_str(&shown);
        if port.optional {
            members.push_str(&format!("    {field}: {array} | None = None\n"));
            optional.push_str(&format!(
                "        if self.{field} is not None:\n            arrays[{key}] = self.{field}\n"
            ));
            from.push_str(&format!("            {field}=arrays.get({key}),\n"));
        } else {
            members.push_str(&format!("    {field}: {array}\n"));
            to.push_str(&format!("            {key}: self.{field},\n"));
            from.push_str(&format!("            {field}=arrays[{key}],\n"));
        }
    }
    let upper = name.to_ascii_uppercase();
    let arguments = if from.is_empty() { "cls()".to_owned() } else { format!("cls(\n{from}        )") };
    let unused = if from.is_empty() { "        del arrays\n" } else { "" };
    let literals = if to.is_empty() { "{}".to_owned() } else { format!("{{\n{to}        }}") };
    format!(
        r#"

#: The {list} by name: element type and shape.
_{upper}: dict[str, _Spec] = {{
{specs}}}


@dataclass(frozen=True, kw_only=True, eq=False)
class {name}:
    """The {list} of the model."""

{members}
    def to_dict(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays by the names of the model, without those that are omitted."""
        arrays: dict[str, npt.NDArray[Any]] = {literals}
{optional}        return arrays

    @classmethod
    def from_dict(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> {name}:
        """The {list} from arrays by the names of the model."""
{unused}        return {arguments}

    def check(self, symbols: Mapping[str, int] | None = None) -> dict[str, int]:
        """Compares the arrays with the model. Returns the extent of each symbol, given some of them.

        Raises:
            TypeError: an element type differs.
            ValueError: a shape differs.
        """
        bound = dict(symbols or {{}})
        for name, array in self.to_dict().items():
            _check(name, array, _{upper}[name], bound)
        return bound
"#
    )
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
