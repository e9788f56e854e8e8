//! ONNX's textual syntax: reading it, and printing it with the place of everything printed.
//!
//! ```text
//! <ir_version: 10, opset_import: ["": 21]>
//! masked (float[N, 128] x) => (float[N, 128] scores) <float[1] mask = {0.5}> {
//!    [attn] h = Softmax <axis = -1> (x)
//!    scores = Add(h, mask)    # a comment
//! }
//! ```
//!
//! [`parse_model`], [`parse_graph`], [`parse_function`], [`parse_node`] and [`parse_type`] read; an error has a byte offset,
//! a line and a column and says what was expected and found. [`print_model`], [`print_graph`], [`print_function`] and
//! [`print_node`] print, and return the [spans](span) of nodes, ports, operators, attributes and declared values beside
//! the text. Two presets: [`PrintOptions::round_trip`] prints everything, [`PrintOptions::display`] prints for people.
//!
//! **Invariant:** what `round_trip` prints can always be read again. If [`Printed::losses`] is empty the message read is
//! the one printed, up to what ONNX gives no meaning: a field that is absent equals one that is present with its
//! default, and elements in `raw_data` equal the same elements in the typed field (unless raw data is printed as
//! [bytes](RawData::Hex)). What the syntax cannot express at all is listed in [`Loss`].
//!
//! **Invariant:** no text makes the parser panic, recurse deeper than [`MAX_NESTING`] or use memory beyond a multiple of
//! the text's length.
//!
//! # Beyond ONNX's grammar
//!
//! Everything that onnx 1.23.2 reads and that means something is read the same way. These are additions, written only
//! where ONNX's own grammar has no words for the message:
//!
//! | extension | meaning |
//! |---|---|
//! | `float[batch*seq, seq + 1]` | an expression as a dim; stored as text with one spelling |
//! | `?`, `undefined[N]` | a type of which nothing, or not the element type, is known |
//! | `float[N]@"D"`, `float[N@"D"]` | the denotation of a type or a dim |
//! | `@{doc_string: "d", metadata_props: ["k": "v"]}` | behind the name of a graph, value, constant or attribute, or behind a node; a graph's may hold `quantization_annotation` |
//! | `hex"00ff"` | bytes: a string that is not UTF-8, or the `raw_data` of a constant |
//! | `sparse_tensor(float[9]) s = (float[2] {1, 2}, int64[2] {0, 8})` | a sparse constant: values and indices |
//! | `[float[1] {1}, ...]`, `[g () => () {}, ...]`, `[float, ...]` | lists of constants, graphs, types (the reference reads them and drops their elements) |
//! | `"my op"`, `<"my attribute" = 1>`, `x = "my.domain".Op:"v 1"(y)`, `a = "my graph" () => () {}` | quotes wherever a name stands |
//! | `seq()`, `map(int64)`, `a: undefined = []` | a container without its inner type, an attribute without a value |
//! | `[1, 2.5]` | integers among floats are floats |
//!
//! Stricter than the reference, because each of these is a mistake: anything behind the end of what was asked for, a
//! node without operator (`x = (y)`) or with a dot before it, negative numbers for unsigned elements, `=` without data behind it, a reference
//! inside a list.

mod error;
mod escape;
mod lexer;
mod names;
mod parse;
mod print;
pub mod span;

pub use error::{Expected, Found, KeyPlace, NameOf, NumberTarget, ParseError, ParseErrorKind};
pub use escape::{escape, escape_lines, is_unsafe};
pub use lexer::Punct;
pub use names::{attribute_type, attribute_type_name};
pub use parse::{
    MAX_NESTING, parse_function, parse_graph, parse_model, parse_node, parse_type, parse_value_info,
};
pub use print::{
    Annotations, Focus, Labels, Limits, Loss, PrintOptions, Printed, RawData, Subgraphs, Syntax,
    print_function, print_graph, print_model, print_node, print_type,
};
