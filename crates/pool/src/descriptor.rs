//! Types written out one level at a time.
//!
//! A [`Descriptor`] is one type whose children are references of a type `R`: local ids, digests, or nodes of
//! a graph that is not interned yet. [`TypeDescriptor`], with digests, is the portable form and independent
//! of the pool.
//!
//! **Invariant:** converting a well-formed type to words and back is the identity.

mod fields;

use std::sync::Arc;

use crate::digest::Digest;
use crate::dim::{int_of, int_words};
use crate::error::PoolError;
use crate::graph::{LOCAL, Local};
use crate::layout::{FieldList, FieldLists};
use crate::name::Names;
use crate::tag::{Sort, Tag, TagClass};

/// One type with children of type `R`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Descriptor<R> {
    /// A primitive.
    Primitive(Tag),
    /// A container: list, option, set, channel, range, iterator, double-ended iterator.
    Container {
        /// Tag of the container.
        tag: Tag,
        /// Type of the content.
        child: R,
    },
    /// A map or a result.
    TwoChild {
        /// Tag: map or result.
        tag: Tag,
        /// Key type, or type of a success.
        child1: R,
        /// Value type, or type of an error.
        child2: R,
    },
    /// A borrowed value.
    Borrowed {
        /// The borrowed type.
        inner: R,
        /// Lifetime of the borrow: a [`Descriptor::Lifetime`] or a variable of that sort.
        lifetime: R,
    },
    /// A function.
    Function {
        /// Parameter types.
        params: Vec<R>,
        /// Result type.
        returns: R,
    },
    /// A tuple.
    Tuple {
        /// Element types.
        elements: Vec<R>,
    },
    /// A struct: a nominal product.
    Struct {
        /// Name of the struct.
        name: String,
        /// Field names; empty if the fields are positional.
        field_names: Vec<String>,
        /// Field types.
        field_types: Vec<R>,
    },
    /// An enum: a nominal sum.
    Enum {
        /// Name of the enum.
        name: String,
        /// Variants of the enum.
        variants: Vec<VariantDescriptor<R>>,
    },
    /// A constructor known by name only, applied to arguments.
    Applied {
        /// Name of the constructor.
        name: String,
        /// Arguments of any sort.
        args: Vec<R>,
    },
    /// A nominal type with a hidden definition.
    Opaque {
        /// Name of the type.
        name: String,
    },
    /// A nominal declaration with its definition, in which the parameters are bound.
    Declared {
        /// Name of the declaration.
        name: String,
        /// Sorts of the parameters.
        params: Vec<Sort>,
        /// Body of the declaration.
        body: R,
    },
    /// A declaration applied to arguments.
    Instance {
        /// A [`Descriptor::Declared`].
        declaration: R,
        /// Arguments for the parameters.
        args: Vec<R>,
    },
    /// An unresolved name.
    Named {
        /// The unresolved name.
        name: String,
    },
    /// A rigid variable: a type parameter that is known by its identity only.
    Rigid {
        /// Name of the parameter.
        name: String,
    },
    /// A type that is generic over variables.
    Scheme {
        /// Sorts of the variables.
        vars: Vec<Sort>,
        /// The type in which the variables are bound.
        body: R,
    },
    /// A bound variable or an inference variable.
    Variable(Variable),
    /// A named lifetime.
    Lifetime {
        /// Name without the apostrophe.
        name: String,
    },
    /// A tensor.
    Tensor {
        /// Element type.
        element: R,
        /// Dims, or `None` for unknown rank.
        dims: Option<Vec<R>>,
    },
    /// A constant expression.
    Const(ConstDescriptor<R>),
    /// A member of a recursive group, with the whole group. Occurs only in the portable form; inside a pool,
    /// members refer to each other by id.
    Recursive {
        /// The group.
        group: Arc<GroupDescriptor>,
        /// Number of the member, from 0.
        member: u32,
    },
}

/// A described type with children given by digest.
pub type TypeDescriptor = Descriptor<Digest>;

/// One variant of an enum.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VariantDescriptor<R = Digest> {
    /// Name of the variant.
    pub name: String,
    /// Field names; empty if the fields are positional.
    pub field_names: Vec<String>,
    /// Field types.
    pub field_types: Vec<R>,
}

/// A variable of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variable {
    /// A variable of an enclosing binder.
    Bound {
        /// Number of binders between the variable and its own; 0 is the nearest.
        depth: u32,
        /// Index among the binder's variables, from 0.
        index: u32,
        /// Sort of the variable.
        sort: Sort,
    },
    /// A variable of an unfinished inference. Cannot be exported.
    Infer {
        /// Number of the variable in that inference.
        number: u32,
        /// Sort of the variable.
        sort: Sort,
    },
}

/// A constant expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ConstDescriptor<R> {
    /// An integer constant.
    Int(i64),
    /// A named symbol.
    Symbol(String),
    /// An integer plus multiples of monomials.
    Sum {
        /// The integer term.
        constant: i64,
        /// Coefficients with their monomials.
        terms: Vec<(i64, R)>,
    },
    /// A product of several constants.
    Product(Vec<R>),
    /// A quotient rounded down: dividend and divisor.
    FloorDiv(R, R),
    /// The remainder of the quotient that is rounded down: dividend and divisor.
    Mod(R, R),
    /// The minimum of several constants.
    Min(Vec<R>),
    /// The maximum of several constants.
    Max(Vec<R>),
    /// An unknown constant.
    Unknown,
}

/// Child of a node in a graph that is not interned yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GraphRef<R> {
    /// A type outside of the graph.
    Outer(R),
    /// A node of the graph, from 0.
    Member(u32),
}

/// A recursive group in canonical order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupDescriptor {
    /// Members of the group.
    pub members: Vec<Descriptor<GraphRef<Digest>>>,
}

/// Converts the parts of descriptors to words.
pub(crate) trait ToWords<R> {
    fn child(&mut self, reference: &R) -> Result<u32, PoolError>;
    fn name(&mut self, name: &str) -> Result<u32, PoolError>;
}

/// Converts the references of a graph: `T` converts references to outside types, and [`LOCAL`] marks
/// references to nodes.
struct GraphWords<T>(T);

impl<R, T: ToWords<R>> ToWords<GraphRef<R>> for GraphWords<&mut T> {
    fn child(&mut self, reference: &GraphRef<R>) -> Result<u32, PoolError> {
        match reference {
            GraphRef::Outer(outer) => self.0.child(outer),
            GraphRef::Member(node) if *node < LOCAL => Ok(LOCAL | node),
            GraphRef::Member(node) => Err(PoolError::UnknownNode { node: *node }),
        }
    }

    fn name(&mut self, name: &str) -> Result<u32, PoolError> {
        self.0.name(name)
    }
}

/// Converts the nodes of a graph.
pub(crate) fn graph_words<R>(
    nodes: &[Descriptor<GraphRef<R>>],
    to: &mut impl ToWords<R>,
) -> Result<Vec<Local>, PoolError> {
    nodes.iter().map(|node| node.to_words(&mut GraphWords(&mut *to))).collect()
}

/// Appends words of children.
fn with_children<R>(
    mut words: Vec<u32>,
    children: &[R],
    to: &mut impl ToWords<R>,
) -> Result<Vec<u32>, PoolError> {
    for child in children {
        words.push(to.child(child)?);
    }
    Ok(words)
}

/// Appends the words of sorts.
pub(crate) fn with_sorts(mut words: Vec<u32>, sorts: &[Sort]) -> Vec<u32> {
    words.extend(sorts.iter().map(|&sort| sort as u32));
    words
}

/// Appends the name and the fields of a struct or a variant.
fn push_fields<R>(
    words: &mut Vec<u32>,
    (name, names, types): (&str, &[String], &[R]),
    to: &mut impl ToWords<R>,
) -> Result<(), PoolError> {
    words.push(to.name(name)?);
    let named = !names.is_empty();
    if named && names.len() != types.len() {
        return Err(PoolError::FieldCount { names: names.len(), types: types.len() });
    }
    words.push((types.len() as u32) << 1 | u32::from(named));
    for (at, ty) in types.iter().enumerate() {
        if let Some(name) = names.get(at) {
            words.push(to.name(name)?);
        }
        words.push(to.child(ty)?);
    }
    Ok(())
}

/// Checks the class of a tag.
pub(crate) fn class_of(tag: Tag, class: TagClass, wanted: &'static str) -> Result<Tag, PoolError> {
    if tag.class() == class { Ok(tag) } else { Err(PoolError::WrongTag { tag, wanted }) }
}

impl<R> Descriptor<R> {
    /// Returns tag and words. Checks only the class of the tag and the number of fields.
    pub(crate) fn to_words(&self, to: &mut impl ToWords<R>) -> Result<Local, PoolError> {
        let (tag, words) = match self {
            Descriptor::Primitive(tag) => (class_of(*tag, TagClass::Primitive, "primitive")?, Vec::new()),
            Descriptor::Container { tag, child } => {
                (class_of(*tag, TagClass::Container, "container")?, vec![to.child(child)?])
            }
            Descriptor::TwoChild { tag, child1, child2 } => {
                let tag = class_of(*tag, TagClass::TwoChild, "map or result")?;
                (tag, vec![to.child(child1)?, to.child(child2)?])
            }
            Descriptor::Borrowed { inner, lifetime } => {
                (Tag::Borrowed, vec![to.child(inner)?, to.child(lifetime)?])
            }
            Descriptor::Function { params, returns } => {
                (Tag::Function, with_children(vec![to.child(returns)?], params, to)?)
            }
            Descriptor::Tuple { elements } => (Tag::Tuple, with_children(Vec::new(), elements, to)?),
            Descriptor::Struct { name, field_names, field_types } => {
                let mut words = Vec::new();
                push_fields(&mut words, (name, field_names, field_types), to)?;
                (Tag::Struct, words)
            }
            Descriptor::Enum { name, variants } => {
                let mut words = vec![to.name(name)?];
                for VariantDescriptor { name, field_names, field_types } in variants {
                    push_fields(&mut words, (name, field_names, field_types), to)?;
                }
                (Tag::Enum, words)
            }
            Descriptor::Applied { name, args } => {
                (Tag::Applied, with_children(vec![to.name(name)?], args, to)?)
            }
            Descriptor::Opaque { name } => (Tag::Opaque, vec![to.name(name)?]),
            Descriptor::Declared { name, params, body } => {
                (Tag::Declared, with_sorts(vec![to.name(name)?, to.child(body)?], params))
            }
            Descriptor::Instance { declaration, args } => {
                (Tag::Instance, with_children(vec![to.child(declaration)?], args, to)?)
            }
            Descriptor::Named { name } => (Tag::Named, vec![to.name(name)?]),
            Descriptor::Rigid { name } => (Tag::Rigid, vec![to.name(name)?]),
            Descriptor::Scheme { vars, body } => (Tag::Scheme, with_sorts(vec![to.child(body)?], vars)),
            Descriptor::Variable(Variable::Bound { depth, index, sort }) => {
                (Tag::Bound, vec![*depth, *index, *sort as u32])
            }
            Descriptor::Variable(Variable::Infer { number, sort }) => {
                (Tag::Infer, vec![*number, *sort as u32])
            }
            Descriptor::Lifetime { name } => (Tag::Lifetime, vec![to.name(name)?]),
            Descriptor::Tensor { element, dims: Some(dims) } => {
                (Tag::Tensor, with_children(vec![to.child(element)?], dims, to)?)
            }
            Descriptor::Tensor { element, dims: None } => (Tag::TensorUnranked, vec![to.child(element)?]),
            Descriptor::Const(constant) => constant.to_words(to)?,
            Descriptor::Recursive { .. } => return Err(PoolError::BadGroup),
        };
        Ok(Local { tag, words })
    }

    /// Returns the type with these words, which must be well formed.
    pub(crate) fn from_words(names: &Names, tag: Tag, words: &[u32], child: impl Fn(u32) -> R) -> Self {
        let name = |word: u32| names.get(word).to_owned();
        let children = |words: &[u32]| words.iter().map(|&word| child(word)).collect();
        let sorts = |words: &[u32]| words.iter().filter_map(|&word| Sort::from_number(word)).collect();
        let sort = |word: u32| Sort::from_number(word).unwrap_or(Sort::Type);
        let part = |part: FieldList<'_>| VariantDescriptor {
            name: name(part.name),
            field_names: part.field_names().map(name).collect(),
            field_types: part.field_types().map(&child).collect(),
        };
        match (tag.class(), words) {
            (TagClass::Primitive, _) => return Descriptor::Primitive(tag),
            (TagClass::Container, &[only]) => return Descriptor::Container { tag, child: child(only) },
            (TagClass::TwoChild, &[first, second]) => {
                return Descriptor::TwoChild { tag, child1: child(first), child2: child(second) };
            }
            _ => {}
        }
        if tag == Tag::Struct
            && let Some(fields) = FieldLists(words).next()
        {
            let VariantDescriptor { name, field_names, field_types } = part(fields);
            return Descriptor::Struct { name, field_names, field_types };
        }
        match (tag, words) {
            (Tag::Borrowed, &[inner, lifetime]) => {
                Descriptor::Borrowed { inner: child(inner), lifetime: child(lifetime) }
            }
            (Tag::Function, [returns, params @ ..]) => {
                Descriptor::Function { returns: child(*returns), params: children(params) }
            }
            (Tag::Tuple, elements) => Descriptor::Tuple { elements: children(elements) },
            (Tag::Enum, [own, variants @ ..]) => {
                Descriptor::Enum { name: name(*own), variants: FieldLists(variants).map(part).collect() }
            }
            (Tag::Applied, [own, args @ ..]) => {
                Descriptor::Applied { name: name(*own), args: children(args) }
            }
            (Tag::Opaque, &[own]) => Descriptor::Opaque { name: name(own) },
            (Tag::Declared, [own, body, params @ ..]) => {
                Descriptor::Declared { name: name(*own), body: child(*body), params: sorts(params) }
            }
            (Tag::Instance, [declaration, args @ ..]) => {
                Descriptor::Instance { declaration: child(*declaration), args: children(args) }
            }
            (Tag::Named, &[own]) => Descriptor::Named { name: name(own) },
            (Tag::Rigid, &[own]) => Descriptor::Rigid { name: name(own) },
            (Tag::Scheme, [body, vars @ ..]) => Descriptor::Scheme { body: child(*body), vars: sorts(vars) },
            (Tag::Bound, &[depth, index, word]) => {
                Descriptor::Variable(Variable::Bound { depth, index, sort: sort(word) })
            }
            (Tag::Infer, &[number, word]) => {
                Descriptor::Variable(Variable::Infer { number, sort: sort(word) })
            }
            (Tag::Lifetime, &[own]) => Descriptor::Lifetime { name: name(own) },
            (Tag::Tensor, [element, dims @ ..]) => {
                Descriptor::Tensor { element: child(*element), dims: Some(children(dims)) }
            }
            (Tag::TensorUnranked, &[element]) => Descriptor::Tensor { element: child(element), dims: None },
            _ => Descriptor::Const(match (tag, words) {
                (Tag::DimConst, &[low, high]) => ConstDescriptor::Int(int_of(low, high)),
                (Tag::DimSymbol, &[own]) => ConstDescriptor::Symbol(name(own)),
                (Tag::DimSum, [low, high, terms @ ..]) => ConstDescriptor::Sum {
                    constant: int_of(*low, *high),
                    terms: terms.chunks_exact(3).map(|t| (int_of(t[0], t[1]), child(t[2]))).collect(),
                },
                (Tag::DimProduct, factors) => ConstDescriptor::Product(children(factors)),
                (Tag::DimFloorDiv, &[a, b]) => ConstDescriptor::FloorDiv(child(a), child(b)),
                (Tag::DimMod, &[a, b]) => ConstDescriptor::Mod(child(a), child(b)),
                (Tag::DimMin, list) => ConstDescriptor::Min(children(list)),
                (Tag::DimMax, list) => ConstDescriptor::Max(children(list)),
                // `DimUnknown`; the words of the other tags are well formed.
                _ => ConstDescriptor::Unknown,
            }),
        }
    }
}

impl<R> ConstDescriptor<R> {
    fn to_words(&self, to: &mut impl ToWords<R>) -> Result<(Tag, Vec<u32>), PoolError> {
        Ok(match self {
            ConstDescriptor::Int(value) => (Tag::DimConst, int_words(*value).to_vec()),
            ConstDescriptor::Symbol(name) => (Tag::DimSymbol, vec![to.name(name)?]),
            ConstDescriptor::Sum { constant, terms } => {
                let mut words = int_words(*constant).to_vec();
                for (coefficient, monomial) in terms {
                    words.extend(int_words(*coefficient));
                    words.push(to.child(monomial)?);
                }
                (Tag::DimSum, words)
            }
            ConstDescriptor::Product(children) => (Tag::DimProduct, with_children(Vec::new(), children, to)?),
            ConstDescriptor::FloorDiv(dividend, divisor) => {
                (Tag::DimFloorDiv, vec![to.child(dividend)?, to.child(divisor)?])
            }
            ConstDescriptor::Mod(dividend, divisor) => {
                (Tag::DimMod, vec![to.child(dividend)?, to.child(divisor)?])
            }
            ConstDescriptor::Min(children) => (Tag::DimMin, with_children(Vec::new(), children, to)?),
            ConstDescriptor::Max(children) => (Tag::DimMax, with_children(Vec::new(), children, to)?),
            ConstDescriptor::Unknown => (Tag::DimUnknown, Vec::new()),
        })
    }
}
