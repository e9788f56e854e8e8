//! What an operator declares: ports, type variables with the types they may take, attributes.
//!
//! These are facts, not behaviour. The operator catalogue decodes its table into them, a file that
//! describes custom operators is read into them, and the solver interprets them; what a table
//! cannot express is a named rule (see [`crate::rule`]).

use crate::elem::{Elem, ElemSet};

/// The declared interface of one operator at the versions of its domain from `since_version` on.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// The operator set's domain; the default domain `ai.onnx` is the empty string.
    pub domain: Box<str>,
    /// The operator's name.
    pub name: Box<str>,
    /// The first version of the domain that has this form of the operator.
    pub since_version: u32,
    /// Whether this version withdraws the operator.
    pub deprecated: bool,
    /// Whether the specification also gives the operator as a function of other operators.
    pub function: FunctionBody,
    /// Declared inputs, in order.
    pub inputs: Box<[Formal]>,
    /// Declared outputs, in order.
    pub outputs: Box<[Formal]>,
    /// The type variables that ports name.
    pub type_vars: Box<[TypeVar]>,
    /// Declared attributes, ordered by name.
    pub attributes: Box<[AttributeDecl]>,
    /// Whether an attribute holds tensors.
    pub takes_tensors: bool,
}

impl Schema {
    /// The attribute with this name.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&AttributeDecl> {
        self.attributes.binary_search_by(|decl| (*decl.name).cmp(name)).ok().map(|at| &self.attributes[at])
    }

    /// The declaration that covers the input at `position`: the last one if it is variadic.
    #[must_use]
    pub fn input(&self, position: usize) -> Option<&Formal> {
        formal_at(&self.inputs, position)
    }

    /// The declaration that covers the output at `position`: the last one if it is variadic.
    #[must_use]
    pub fn output(&self, position: usize) -> Option<&Formal> {
        formal_at(&self.outputs, position)
    }
}

fn formal_at(formals: &[Formal], position: usize) -> Option<&Formal> {
    formals
        .get(position)
        .or_else(|| formals.last().filter(|last| matches!(last.arity, Arity::Variadic { .. })))
}

/// Whether an operator's meaning is also written as a graph of other operators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FunctionBody {
    /// No: the operator is primitive.
    #[default]
    None,
    /// One graph for every node of the operator.
    Fixed,
    /// A graph that depends on the node's attributes and on which inputs and types it has.
    FromNode,
}

/// One declared input or output.
#[derive(Clone, Debug, PartialEq)]
pub struct Formal {
    /// The port's name, as the specification writes it.
    pub name: Box<str>,
    /// The type it must have.
    pub ty: FormalType,
    /// How often it appears.
    pub arity: Arity,
}

/// How a port is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormalType {
    /// By the type variable at this position of [`Schema::type_vars`].
    Var(u8),
    /// A tensor of exactly this element type.
    Tensor(Elem),
}

/// How often a port appears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// Exactly once.
    Required,
    /// At most once; an empty name leaves it out.
    Optional,
    /// The last port: any number of times from `min` on.
    Variadic {
        /// The least number of values.
        min: u32,
        /// Whether all of them share one type; where they do not, each has a type of its own.
        homogeneous: bool,
    },
}

/// A type variable of a schema: one type per node, out of an allowed set.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeVar {
    /// Its name (`T`, `Tind`, ...).
    pub name: Box<str>,
    /// What it may be.
    pub allowed: AllowedTypes,
}

/// A set of types: by constructor, the element types possible under it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AllowedTypes {
    /// `tensor(e)`
    pub tensor: ElemSet,
    /// `seq(tensor(e))`
    pub seq_tensor: ElemSet,
    /// `optional(tensor(e))`
    pub opt_tensor: ElemSet,
    /// `optional(seq(tensor(e)))`
    pub opt_seq_tensor: ElemSet,
    /// `map(k, tensor-less v)`: pairs of key and value element types.
    pub map: Box<[(Elem, Elem)]>,
    /// `seq(map(k, v))`
    pub seq_map: Box<[(Elem, Elem)]>,
}

/// One declared attribute.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeDecl {
    /// Its name.
    pub name: Box<str>,
    /// The kind of value it takes.
    pub kind: AttributeKind,
    /// Whether a node must give it.
    pub required: bool,
    /// The value it has where a node does not give it.
    pub default: Option<AttributeDefault>,
    /// The strings that it takes, where they are a closed set.
    pub choices: Option<Choices>,
}

/// A closed set of values of a string attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// The values.
    pub values: &'static [&'static str],
    /// Whether upper and lower case are equal.
    pub any_case: bool,
}

impl Choices {
    /// Whether a string is one of the values.
    #[must_use]
    pub fn contain(&self, string: &str) -> bool {
        let same = |value: &&str| match self.any_case {
            true => value.eq_ignore_ascii_case(string),
            false => *value == string,
        };
        self.values.iter().any(same)
    }
}

/// The kinds of attribute values, with ONNX's `AttributeProto.AttributeType` numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AttributeKind {
    /// One 32-bit float.
    Float = 1,
    /// One 64-bit integer.
    Int = 2,
    /// One byte string.
    String = 3,
    /// One tensor.
    Tensor = 4,
    /// One graph.
    Graph = 5,
    /// A list of floats.
    Floats = 6,
    /// A list of integers.
    Ints = 7,
    /// A list of byte strings.
    Strings = 8,
    /// A list of tensors.
    Tensors = 9,
    /// A list of graphs.
    Graphs = 10,
    /// One sparse tensor.
    SparseTensor = 11,
    /// A list of sparse tensors.
    SparseTensors = 12,
    /// One type.
    Type = 13,
    /// A list of types.
    Types = 14,
}

impl AttributeKind {
    /// Every kind, in the order of its number.
    pub const ALL: [Self; 14] = [
        Self::Float,
        Self::Int,
        Self::String,
        Self::Tensor,
        Self::Graph,
        Self::Floats,
        Self::Ints,
        Self::Strings,
        Self::Tensors,
        Self::Graphs,
        Self::SparseTensor,
        Self::SparseTensors,
        Self::Type,
        Self::Types,
    ];

    /// From an `AttributeProto.AttributeType` number; `None` for 0 (`UNDEFINED`) and unknown numbers.
    #[must_use]
    pub fn from_onnx(number: i32) -> Option<Self> {
        usize::try_from(number).ok().and_then(|n| n.checked_sub(1)).and_then(|n| Self::ALL.get(n)).copied()
    }

    /// How a diagnostic names the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Float => "float",
            Self::Int => "int",
            Self::String => "string",
            Self::Tensor => "tensor",
            Self::Graph => "graph",
            Self::Floats => "list of floats",
            Self::Ints => "list of ints",
            Self::Strings => "list of strings",
            Self::Tensors => "list of tensors",
            Self::Graphs => "list of graphs",
            Self::SparseTensor => "sparse tensor",
            Self::SparseTensors => "list of sparse tensors",
            Self::Type => "type",
            Self::Types => "list of types",
        }
    }
}

/// A default value; only these kinds have defaults in any operator set.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeDefault {
    /// One float.
    Float(f32),
    /// One integer.
    Int(i64),
    /// One string.
    String(Box<str>),
    /// A list of floats.
    Floats(Box<[f32]>),
    /// A list of integers.
    Ints(Box<[i64]>),
    /// A list of strings.
    Strings(Box<[Box<str>]>),
}
