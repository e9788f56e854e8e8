//! Parser and printer of ONNX's textual syntax.
//!
//! ```text
//! <ir_version: 10, opset_import: ["": 21]>
//! masked (float[N, 128] x) => (float[N, 128] scores) <float[1] mask = {0.5}> {
//!    [attn] h = Softmax <axis = -1> (x)
//!    scores = Add(h, mask)    # a comment
//! }
//! ```
//!
//! [`parse_model`], [`parse_graph`], [`parse_function`], [`parse_node`] and [`parse_type`] parse a text. An
//! error has a byte offset, a line and a column, and reports expected and found tokens. [`print_model`],
//! [`print_graph`], [`print_function`] and [`print_node`] print a message and return the [spans](span) of
//! nodes, ports, operators, attributes and declared values. There are two presets:
//! [`PrintOptions::round_trip`] prints everything, [`PrintOptions::display`] prints a short form for
//! diagnostics.
//!
//! **Invariant:** the output of `round_trip` can be parsed. If [`Printed::losses`] is empty, the parsed
//! message equals the printed one up to differences without meaning in ONNX: an absent field equals a field
//! with the default value, and elements in `raw_data` equal the same elements in the typed field (unless raw
//! data is printed as [bytes](RawData::Hex)). [`Loss`] lists what the syntax cannot express.
//!
//! **Invariant:** for any text, the parser does not panic, does not recurse deeper than [`MAX_NESTING`] and
//! uses memory proportional to the length of the text.
//!
//! # Beyond ONNX's grammar
//!
//! Every text that onnx 1.23.2 parses with a meaning is parsed with the same meaning. The printer uses these
//! extensions only for messages that ONNX's grammar cannot express:
//!
//! | extension | meaning |
//! |---|---|
//! | `float[batch*seq, seq + 1]` | an expression as a dim; stored as text with one spelling |
//! | `?`, `undefined[N]` | an unknown type, a tensor type with an unknown element type |
//! | `composite{a: float[N], b: peer_id}` | a composite type; see [`CompositeText`] |
//! | `float[N]@"D"`, `float[N@"D"]` | the denotation of a type or a dim |
//! | `@{doc_string: "d", metadata_props: ["k": "v"]}` | after the name of a graph, value, constant or attribute, or after a node; that of a graph may also contain `quantization_annotation` |
//! | `hex"00ff"` | bytes: a string that is not UTF-8, or the `raw_data` of a constant |
//! | `sparse_tensor(float[9]) s = (float[2] {1, 2}, int64[2] {0, 8})` | a sparse constant: values and indices |
//! | `[float[1] {1}, ...]`, `[g () => () {}, ...]`, `[float, ...]` | lists of constants, graphs, types (the reference reads them and drops their elements) |
//! | `"my op"`, `<"my attribute" = 1>`, `x = "my.domain".Op:"v 1"(y)`, `a = "my graph" () => () {}` | quoted names in any position |
//! | `seq()`, `map(int64)`, `a: undefined = []` | a container without its inner type, an attribute without a value |
//! | `[1, 2.5]` | integers among floats are floats |
//!
//! The parser rejects some texts that the reference accepts by mistake: tokens after the end of the parsed
//! entity, a node without an operator (`x = (y)`) or with a dot before it, negative numbers for unsigned
//! elements, `=` without data, and a reference inside a list.

mod composite;
mod detect;
mod error;
mod escape;
mod lexer;
mod names;
mod parse;
mod print;
pub mod span;

pub use composite::{COMPOSITE_DOMAIN, CompositeText, child_name};
pub use detect::{SUFFIXES, is_text};
pub use error::{Expected, Found, KeyContext, NameOf, NumberTarget, ParseError, ParseErrorKind};
pub use escape::{escape, escape_json, escape_lines, is_unsafe};
pub use lexer::Punct;
pub use names::{attribute_type, attribute_type_name};
pub use parse::{
    MAX_NESTING, model_bytes, parse_function, parse_graph, parse_model, parse_node, parse_type,
    parse_value_info,
};
pub use print::{
    Annotations, Focus, Labels, Loss, PrintLimits, PrintOptions, Printed, RawData, Subgraphs, Syntax,
    print_function, print_graph, print_model, print_node, print_type,
};
