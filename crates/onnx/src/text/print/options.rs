//! Options of the printer, and losses of a printed text.

#[cfg(doc)]
use super::{super::parse::MAX_NESTING, print_node};

/// A part of a message that is missing in the printed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Loss {
    /// Omitted because of the options.
    Elided,
    /// Graphs or types nested more than [`MAX_NESTING`] deep; printed as an attribute without a value or as
    /// the unknown type.
    TooDeep,
    /// Fields that are not in ONNX's schema.
    UnknownFields,
    TrainingInfo,
    /// Device configurations of a model or a node.
    DeviceConfiguration,
    /// The absence of a model's graph; an empty graph is printed.
    MissingGraph,
    /// The segment of a tensor.
    TensorSegment,
    /// Elements in a field of another element type, or in several fields.
    StrayTensorData,
    /// An element type with an unknown number; `undefined` is printed.
    ElementType(i32),
    /// An attribute type with an unknown number; `undefined` is printed.
    AttributeType(i32),
    /// The absence of an attribute's type; the text implies one.
    UntypedAttribute,
    /// Values of an attribute in fields of other types.
    StrayAttributeValue,
    /// The absence of the value of a tensor, graph or type attribute; an empty one is printed.
    MissingAttributeValue,
    /// The payload of a NaN.
    NanPayload,
}

/// Options of the printer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintOptions {
    /// The notation of names, dims and strings.
    pub syntax: Syntax,
    /// The visibility of node names.
    pub labels: Labels,
    /// The visibility of graphs in attributes.
    pub subgraphs: Subgraphs,
    /// The visibility of documentation and metadata.
    pub annotations: Annotations,
    /// The notation of raw tensor data.
    pub raw_data: RawData,
    /// PrintLimits on the length of the output.
    pub limits: PrintLimits,
    /// Elements that [`print_node`] prints regardless of limits.
    pub focus: Focus,
}

/// Notation of names, dims and strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Syntax {
    /// As required by the syntax: names other than identifiers are quoted, strings contain line breaks.
    Exact,
    /// For display: names like `/attn/Add_3` and dims like `batch*seq` have no quotes, strings are on one
    /// line, and an unknown rank is `[...]`.
    Readable,
}

/// Visibility of node names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Labels {
    /// `[name] y = Relu(x)`
    Shown,
    /// `y = Relu(x)`
    Hidden,
}

/// Visibility of graphs in attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subgraphs {
    /// Printed in full on several lines.
    Inline,
    /// Printed as `{...}`.
    Elided,
}

/// Visibility of documentation, metadata and quantisation annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Annotations {
    /// Printed as `@{...}`.
    Shown,
    /// Not printed.
    Hidden,
}

/// Notation of raw tensor data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RawData {
    /// As values, which the parser stores in the typed field. Data that is not a whole number of elements is
    /// printed as [`Hex`](Self::Hex).
    Values,
    /// As `hex"..."`, which the parser stores as raw data.
    Hex,
}

/// PrintLimits on the length of the output; the rest is printed as `…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PrintLimits {
    pub tensor_elements: usize,
    /// Elements of one attribute list, and dims of one type.
    pub list_elements: usize,
    /// Inputs of one node, and outputs of one node.
    pub ports: usize,
    pub attributes: usize,
    /// Characters of one string.
    pub string_chars: usize,
    /// Characters of one name, operator or dim.
    pub name_chars: usize,
}

/// Elements of a node that are printed regardless of limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Focus {
    /// Positions of inputs.
    pub inputs: Vec<usize>,
    /// Positions of outputs.
    pub outputs: Vec<usize>,
    /// Positions of attributes.
    pub attributes: Vec<usize>,
}

impl PrintOptions {
    /// Prints everything, in a form that can be parsed.
    pub fn round_trip() -> Self {
        Self {
            syntax: Syntax::Exact,
            labels: Labels::Shown,
            subgraphs: Subgraphs::Inline,
            annotations: Annotations::Shown,
            raw_data: RawData::Values,
            limits: PrintLimits::NONE,
            focus: Focus::default(),
        }
    }

    /// Prints a short form for display: one line of bounded length per node, without node names, metadata and
    /// subgraphs.
    pub fn display() -> Self {
        Self {
            syntax: Syntax::Readable,
            labels: Labels::Hidden,
            subgraphs: Subgraphs::Elided,
            annotations: Annotations::Hidden,
            raw_data: RawData::Values,
            limits: PrintLimits::LINE,
            focus: Focus::default(),
        }
    }
}

impl PrintLimits {
    /// No limits.
    pub const NONE: Self = Self {
        tensor_elements: usize::MAX,
        list_elements: usize::MAX,
        ports: usize::MAX,
        attributes: usize::MAX,
        string_chars: usize::MAX,
        name_chars: usize::MAX,
    };

    /// Limits for one line.
    pub const LINE: Self = Self {
        tensor_elements: 4,
        list_elements: 8,
        ports: 8,
        attributes: 6,
        string_chars: 40,
        name_chars: 64,
    };
}
