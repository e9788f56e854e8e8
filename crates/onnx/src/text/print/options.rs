//! What to print, and what a printed text lacks.

#[cfg(doc)]
use super::{super::parse::MAX_NESTING, print_node};

/// Something of a message that a printed text does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Loss {
    /// The options asked for less than everything.
    Elided,
    /// Graphs or types nested more than [`MAX_NESTING`] deep; what is too deep is printed as an attribute without a
    /// value or as the unknown type.
    TooDeep,
    /// Fields that ONNX's schema does not declare.
    UnknownFields,
    TrainingInfo,
    /// A model's device configurations, or those of a node.
    DeviceConfiguration,
    /// A model without a graph; an empty graph is printed.
    MissingGraph,
    /// The segment of a tensor that is part of another one.
    TensorSegment,
    /// Elements in a field that is not for the tensor's element type, or in several places.
    StrayTensorData,
    /// An element type with this number, which ONNX does not know; `undefined` is printed.
    ElementType(i32),
    /// An attribute type with this number, which ONNX does not know; `undefined` is printed.
    AttributeType(i32),
    /// An attribute that has a value but does not say of which type; the text says it.
    UntypedAttribute,
    /// Values of an attribute in fields that are not for its type.
    StrayAttributeValue,
    /// An attribute that says it has a tensor, graph or type but has none; an empty one is printed.
    MissingAttributeValue,
    /// Bits of a NaN other than its sign.
    NanPayload,
}

/// How to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintOptions {
    /// How names, dims and strings are spelled.
    pub syntax: Syntax,
    /// Whether nodes show their names.
    pub labels: Labels,
    /// Whether graphs inside attributes are printed.
    pub subgraphs: Subgraphs,
    /// Whether documentation and metadata are printed.
    pub annotations: Annotations,
    /// How raw tensor data is printed.
    pub raw_data: RawData,
    /// How much of long things is printed.
    pub limits: Limits,
    /// What [`print_node`] shows whatever the limits are.
    pub focus: Focus,
}

/// How names, dims and strings are spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Syntax {
    /// As the syntax asks: names that are not plain words are quoted, strings hold line breaks.
    Exact,
    /// As people like them: names like `/attn/Add_3` and dims like `batch*seq` stand bare, strings stay on one line.
    Readable,
}

/// Whether nodes show their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Labels {
    /// `[name] y = Relu(x)`
    Shown,
    /// `y = Relu(x)`
    Hidden,
}

/// Whether graphs inside attributes are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subgraphs {
    /// In full, over several lines.
    Inline,
    /// As `{...}`.
    Elided,
}

/// Whether documentation, metadata and quantisation annotations are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Annotations {
    /// As `@{...}`.
    Shown,
    /// Not at all.
    Hidden,
}

/// How raw tensor data is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RawData {
    /// As the values it holds, which are read back into the typed field. Data that does not hold a whole number of
    /// elements is printed as [`Hex`](Self::Hex).
    Values,
    /// As `hex"..."`, which is read back as raw data.
    Hex,
}

/// How much of long things is printed; the rest becomes `…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    pub tensor_elements: usize,
    /// Elements of one list in an attribute, and dims of one type.
    pub list_elements: usize,
    /// Inputs, and outputs, of one node.
    pub ports: usize,
    pub attributes: usize,
    /// Characters of one string.
    pub string_chars: usize,
    /// Characters of one name, operator or dim.
    pub name_chars: usize,
}

/// What [`print_node`] shows whatever the limits are.
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
    /// Prints everything, so that it can be read back.
    pub fn round_trip() -> Self {
        Self {
            syntax: Syntax::Exact,
            labels: Labels::Shown,
            subgraphs: Subgraphs::Inline,
            annotations: Annotations::Shown,
            raw_data: RawData::Values,
            limits: Limits::NONE,
            focus: Focus::default(),
        }
    }

    /// Prints for people: one line per node, of bounded length, without node names, metadata and subgraphs.
    pub fn display() -> Self {
        Self {
            syntax: Syntax::Readable,
            labels: Labels::Hidden,
            subgraphs: Subgraphs::Elided,
            annotations: Annotations::Hidden,
            raw_data: RawData::Values,
            limits: Limits::LINE,
            focus: Focus::default(),
        }
    }
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self {
        tensor_elements: usize::MAX,
        list_elements: usize::MAX,
        ports: usize::MAX,
        attributes: usize::MAX,
        string_chars: usize::MAX,
        name_chars: usize::MAX,
    };

    /// What fits a line.
    pub const LINE: Self = Self {
        tensor_elements: 4,
        list_elements: 8,
        ports: 8,
        attributes: 6,
        string_chars: 40,
        name_chars: 64,
    };
}
