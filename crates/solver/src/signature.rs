//! Declarations of operators: ports, type variables with their allowed types, and attributes.
//!
//! Schemas are data: the operator catalogue and description files are decoded into them, and the solver
//! interprets them. Rules express the rest (see [`crate::rule`]).

use crate::elem::{Elem, ElemSet};
use crate::rule::port::Port;

/// The declared interface of an operator in the versions of its domain from `since_version` on.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// The domain of the operator; empty for the default domain `ai.onnx`.
    pub domain: Box<str>,
    /// The name of the operator.
    pub name: Box<str>,
    /// The first version of the domain that has this form of the operator.
    pub since_version: u32,
    /// Whether the operator is deprecated in this version.
    pub deprecated: bool,
    /// Whether the specification also defines the operator by a function.
    pub function: FunctionBody,
    /// The declared inputs, in order.
    pub inputs: Box<[Formal]>,
    /// The declared outputs, in order.
    pub outputs: Box<[Formal]>,
    /// The type variables of the ports.
    pub type_vars: Box<[TypeVar]>,
    /// The declared attributes, ordered by name.
    pub attributes: Box<[AttributeDecl]>,
    /// Whether an attribute holds tensors.
    pub takes_tensors: bool,
}

impl Schema {
    /// Returns the attribute with this name.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&AttributeDecl> {
        self.attributes.iter().find(|declared| *declared.name == *name)
    }

    /// The declaration of the input at `position`: the last one if it is variadic.
    #[must_use]
    pub fn input(&self, position: usize) -> Option<&Formal> {
        formal_at(&self.inputs, position)
    }

    /// The declaration of the output at `position`: the last one if it is variadic.
    #[must_use]
    pub fn output(&self, position: usize) -> Option<&Formal> {
        formal_at(&self.outputs, position)
    }

    /// The declaration of a port of the node; nested graphs have none.
    pub(crate) fn formal(&self, port: Port) -> Option<&Formal> {
        match port {
            Port::In(at) => self.input(at),
            Port::Out(at) => self.output(at),
            Port::BodyIn(..) | Port::BodyOut(..) => None,
        }
    }
}

/// Whether two names are equal, as `a == b`, which is used wherever a comparison is not part of every node or
/// port.
///
/// Comparing slices calls `memcmp`, which takes longer for a few bytes. It is very slow for empty strings on
/// a processor with AVX-512: it loads no byte of their addresses, but these are not mapped, and such loads
/// are slow. Most domains are empty.
#[inline]
#[must_use]
pub fn is_same_name(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    // Names with one start often differ at the end.
    if let (Some((start, end)), Some((other, last))) = (a.split_last_chunk::<8>(), b.split_last_chunk::<8>())
    {
        return end == last
            && match (a.first_chunk::<8>(), b.first_chunk::<8>()) {
                _ if start.is_empty() => true,
                (Some(first), Some(given)) if start.len() <= 8 => first == given,
                (_, _) => start == other,
            };
    }
    if let (Some(end), Some(last)) = (a.last_chunk::<4>(), b.last_chunk::<4>()) {
        return end == last && a.first_chunk::<4>() == b.first_chunk::<4>();
    }
    a.iter().eq(b)
}

fn formal_at(formals: &[Formal], position: usize) -> Option<&Formal> {
    formals
        .get(position)
        .or_else(|| formals.last().filter(|last| matches!(last.arity, Arity::Variadic { .. })))
}

/// Whether the specification defines an operator by a graph of other operators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FunctionBody {
    /// No: the operator is primitive.
    #[default]
    None,
    /// By one graph for all nodes.
    Fixed,
    /// By a graph that depends on attributes, present inputs or types.
    FromNode,
}

/// One declared input or output.
#[derive(Clone, Debug, PartialEq)]
pub struct Formal {
    /// The name of the port in the specification.
    pub name: Box<str>,
    /// The type of the port.
    pub ty: FormalType,
    /// The number of values at the port.
    pub arity: Arity,
}

/// The declared type of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormalType {
    /// The type variable at this position of [`Schema::type_vars`].
    Var(u8),
    /// A tensor of exactly this element type.
    Tensor(Elem),
}

/// The number of values at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// Exactly one.
    Required,
    /// At most one; an empty name omits it.
    Optional,
    /// The last port, with at least `min` values.
    Variadic {
        /// The minimum number of values.
        min: u32,
        /// Whether all values share one type.
        homogeneous: bool,
    },
}

/// A type variable of a schema: one type per node, out of an allowed set.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeVar {
    /// The name (`T`, `Tind`, ...).
    pub name: Box<str>,
    /// The allowed types.
    pub allowed: AllowedTypes,
}

/// A set of types: the allowed element types for each constructor.
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

impl AllowedTypes {
    /// Whether these are tensors only.
    #[must_use]
    pub fn is_tensor_only(&self) -> bool {
        let Self { tensor: _, seq_tensor, opt_tensor, opt_seq_tensor, map, seq_map } = self;
        let others = [seq_tensor, opt_tensor, opt_seq_tensor];
        others.iter().all(|set| set.is_empty()) && map.is_empty() && seq_map.is_empty()
    }

    /// The types as text, one item for each constructor in the order of the fields. `brackets` are the texts
    /// before and after each item; `elems` and `pairs` append element types and types of maps to the text
    /// before.
    pub fn texts(
        &self,
        brackets: [(&str, &str); 6],
        elems: impl Fn(&str, ElemSet) -> String,
        pairs: impl Fn(&str, &[(Elem, Elem)]) -> String,
    ) -> Vec<String> {
        let Self { tensor, seq_tensor, opt_tensor, opt_seq_tensor, map, seq_map } = self;
        let mut items = Vec::new();
        for (set, (before, after)) in
            [tensor, seq_tensor, opt_tensor, opt_seq_tensor].into_iter().zip(brackets)
        {
            if !set.is_empty() {
                items.push(elems(before, *set) + after);
            }
        }
        for (list, (before, after)) in [map, seq_map].into_iter().zip(brackets.into_iter().skip(4)) {
            if !list.is_empty() {
                items.push(pairs(before, list) + after);
            }
        }
        items
    }
}

/// One declared attribute.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeDecl {
    /// The name of the attribute.
    pub name: Box<str>,
    /// The kind of its value.
    pub kind: AttributeKind,
    /// Whether it is required.
    pub required: bool,
    /// The default value.
    pub default: Option<AttributeDefault>,
    /// The allowed strings, if they are a closed set.
    pub choices: Option<Choices>,
}

/// The allowed values of a string attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// The allowed values.
    pub values: &'static [&'static str],
    /// Whether case is ignored.
    pub any_case: bool,
}

impl Choices {
    /// Whether a string is an allowed value.
    #[must_use]
    pub fn contain(&self, string: &str) -> bool {
        let same = |value: &&str| match self.any_case {
            true => value.eq_ignore_ascii_case(string),
            false => *value == string,
        };
        self.values.iter().any(same)
    }
}

/// Declares the kinds with their numbers and names.
macro_rules! attribute_kinds {
    ($($kind:ident = $number:literal, $name:literal;)*) => {
        /// The kinds of attributes, with the numbers of ONNX's `AttributeProto.AttributeType`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum AttributeKind {
            $(#[doc = $name] $kind = $number,)*
        }

        impl AttributeKind {
            /// All kinds, in the order of their numbers.
            pub const ALL: [Self; 14] = [$(Self::$kind),*];

            /// The kind in messages.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

attribute_kinds! {
    Float = 1, "float";
    Int = 2, "int";
    String = 3, "string";
    Tensor = 4, "tensor";
    Graph = 5, "graph";
    Floats = 6, "list of floats";
    Ints = 7, "list of ints";
    Strings = 8, "list of strings";
    Tensors = 9, "list of tensors";
    Graphs = 10, "list of graphs";
    SparseTensor = 11, "sparse tensor";
    SparseTensors = 12, "list of sparse tensors";
    Type = 13, "type";
    Types = 14, "list of types";
}

impl AttributeKind {
    /// The kind with a number of ONNX.
    #[must_use]
    pub fn from_onnx(number: i32) -> Option<Self> {
        usize::try_from(number).ok().and_then(|n| n.checked_sub(1)).and_then(|n| Self::ALL.get(n)).copied()
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

#[cfg(test)]
mod tests {
    use super::is_same_name;

    #[test]
    fn names_are_equal_as_slices_are() {
        let name: Vec<u8> = (0..40).collect();
        for length in 0..=name.len() {
            let (given, copy) = (&name[..length], name[..length].to_vec());
            assert!(is_same_name(given, &copy));
            assert!(length == 0 || !is_same_name(given, &given[1..]) && !is_same_name(&given[1..], given));
            for at in 0..length {
                let mut other = copy.clone();
                other[at] ^= 0x80;
                assert!(!is_same_name(given, &other), "byte {at} of {length}");
            }
        }
    }
}
