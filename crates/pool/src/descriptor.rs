//! Types written out one level at a time.
//!
//! A [`Descriptor`] is one type whose children are references of a type `R`: local ids, digests, or nodes of
//! a graph that is not interned yet. [`TypeDescriptor`], with digests, is the portable form and independent
//! of the pool.
//!
//! **Invariant:** converting a well-formed type to words and back is the identity.

use std::sync::Arc;

use crate::digest::Digest;
use crate::dim::{int_of, int_words};
use crate::error::PoolError;
use crate::graph::LOCAL;
use crate::layout::FieldLists;
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
    /// The remainder of that quotient: dividend and divisor.
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

/// Converts descriptors to words.
pub(crate) trait ToWords<R> {
    type Error: From<PoolError>;
    fn child(&mut self, reference: &R) -> Result<u32, Self::Error>;
    fn name(&mut self, name: &str) -> Result<u32, Self::Error>;
}

/// Converts the references of a graph: `T` converts those to outside types, [`LOCAL`] marks those to nodes.
pub(crate) struct GraphWords<T>(pub(crate) T);

impl<R, T: ToWords<R>> ToWords<GraphRef<R>> for GraphWords<&mut T> {
    type Error = T::Error;

    fn child(&mut self, reference: &GraphRef<R>) -> Result<u32, T::Error> {
        match reference {
            GraphRef::Outer(outer) => self.0.child(outer),
            GraphRef::Member(node) if *node < LOCAL => Ok(LOCAL | node),
            GraphRef::Member(node) => Err(PoolError::UnknownNode { node: *node }.into()),
        }
    }

    fn name(&mut self, name: &str) -> Result<u32, T::Error> {
        self.0.name(name)
    }
}

/// Converts words to descriptors.
pub(crate) trait FromWords<R> {
    fn child(&mut self, word: u32) -> R;
    fn name(&mut self, word: u32) -> String;
}

fn push_fields<R, T: ToWords<R>>(
    words: &mut Vec<u32>,
    to: &mut T,
    names: &[String],
    types: &[R],
) -> Result<(), T::Error> {
    let named = !names.is_empty();
    if named && names.len() != types.len() {
        return Err(PoolError::FieldCount { names: names.len(), types: types.len() }.into());
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

fn class_of(tag: Tag, class: TagClass, wanted: &'static str) -> Result<Tag, PoolError> {
    if tag.class() == class { Ok(tag) } else { Err(PoolError::WrongTag { tag, wanted }) }
}

impl<R> Descriptor<R> {
    /// Returns tag and words. Checks only the class of the tag and the number of fields.
    pub(crate) fn to_words<T: ToWords<R>>(&self, to: &mut T) -> Result<(Tag, Vec<u32>), T::Error> {
        let mut words = Vec::new();
        let tag = match self {
            Descriptor::Primitive(tag) => class_of(*tag, TagClass::Primitive, "primitive")?,
            Descriptor::Container { tag, child } => {
                words.push(to.child(child)?);
                class_of(*tag, TagClass::Container, "container")?
            }
            Descriptor::TwoChild { tag, child1, child2 } => {
                words.extend([to.child(child1)?, to.child(child2)?]);
                class_of(*tag, TagClass::TwoChild, "map or result")?
            }
            Descriptor::Borrowed { inner, lifetime } => {
                words.extend([to.child(inner)?, to.child(lifetime)?]);
                Tag::Borrowed
            }
            Descriptor::Function { params, returns } => {
                words.push(to.child(returns)?);
                for param in params {
                    words.push(to.child(param)?);
                }
                Tag::Function
            }
            Descriptor::Tuple { elements } => {
                for element in elements {
                    words.push(to.child(element)?);
                }
                Tag::Tuple
            }
            Descriptor::Struct { name, field_names, field_types } => {
                words.push(to.name(name)?);
                push_fields(&mut words, to, field_names, field_types)?;
                Tag::Struct
            }
            Descriptor::Enum { name, variants } => {
                words.push(to.name(name)?);
                for VariantDescriptor { name, field_names, field_types } in variants {
                    words.push(to.name(name)?);
                    push_fields(&mut words, to, field_names, field_types)?;
                }
                Tag::Enum
            }
            Descriptor::Applied { name, args } => {
                words.push(to.name(name)?);
                for arg in args {
                    words.push(to.child(arg)?);
                }
                Tag::Applied
            }
            Descriptor::Opaque { name } => {
                words.push(to.name(name)?);
                Tag::Opaque
            }
            Descriptor::Declared { name, params, body } => {
                words.extend([to.name(name)?, to.child(body)?]);
                words.extend(params.iter().map(|&sort| sort as u32));
                Tag::Declared
            }
            Descriptor::Instance { declaration, args } => {
                words.push(to.child(declaration)?);
                for arg in args {
                    words.push(to.child(arg)?);
                }
                Tag::Instance
            }
            Descriptor::Named { name } => {
                words.push(to.name(name)?);
                Tag::Named
            }
            Descriptor::Scheme { vars, body } => {
                words.push(to.child(body)?);
                words.extend(vars.iter().map(|&sort| sort as u32));
                Tag::Scheme
            }
            Descriptor::Variable(Variable::Bound { depth, index, sort }) => {
                words.extend([*depth, *index, *sort as u32]);
                Tag::Bound
            }
            Descriptor::Variable(Variable::Infer { number, sort }) => {
                words.extend([*number, *sort as u32]);
                Tag::Infer
            }
            Descriptor::Lifetime { name } => {
                words.push(to.name(name)?);
                Tag::Lifetime
            }
            Descriptor::Tensor { element, dims } => {
                words.push(to.child(element)?);
                match dims {
                    Some(dims) => {
                        for dim in dims {
                            words.push(to.child(dim)?);
                        }
                        Tag::Tensor
                    }
                    None => Tag::TensorUnranked,
                }
            }
            Descriptor::Const(constant) => constant.to_words(to, &mut words)?,
            Descriptor::Recursive { .. } => return Err(PoolError::BadGroup.into()),
        };
        Ok((tag, words))
    }

    /// Returns the type with these words, which must be well formed.
    pub(crate) fn from_words(tag: Tag, words: &[u32], from: &mut impl FromWords<R>) -> Self {
        fn children<R>(words: &[u32], from: &mut impl FromWords<R>) -> Vec<R> {
            words.iter().map(|&word| from.child(word)).collect()
        }
        fn sorts(words: &[u32]) -> Vec<Sort> {
            words.iter().filter_map(|&word| Sort::from_number(word)).collect()
        }
        let variant = |part: crate::layout::FieldList<'_>,
                       from: &mut dyn FnMut(u32, bool) -> (String, Option<R>)| {
            VariantDescriptor {
                name: from(part.name, true).0,
                field_names: part.field_names().map(|name| from(name, true).0).collect(),
                field_types: part.field_types().filter_map(|ty| from(ty, false).1).collect(),
            }
        };
        let sort = |word: u32| Sort::from_number(word).unwrap_or(Sort::Type);
        match tag.class() {
            TagClass::Primitive => return Descriptor::Primitive(tag),
            TagClass::Container => return Descriptor::Container { tag, child: from.child(words[0]) },
            TagClass::TwoChild => {
                return Descriptor::TwoChild {
                    tag,
                    child1: from.child(words[0]),
                    child2: from.child(words[1]),
                };
            }
            TagClass::Constructor | TagClass::Region | TagClass::Const => {}
        }
        match tag {
            Tag::Borrowed => {
                Descriptor::Borrowed { inner: from.child(words[0]), lifetime: from.child(words[1]) }
            }
            Tag::Function => {
                Descriptor::Function { returns: from.child(words[0]), params: children(&words[1..], from) }
            }
            Tag::Tuple => Descriptor::Tuple { elements: children(words, from) },
            Tag::Struct | Tag::Enum => {
                let mut convert = |word: u32, is_name: bool| {
                    if is_name { (from.name(word), None) } else { (String::new(), Some(from.child(word))) }
                };
                let mut parts: Vec<_> =
                    FieldLists::of(tag, words).map(|part| variant(part, &mut convert)).collect();
                match (tag, parts.pop()) {
                    (Tag::Struct, Some(VariantDescriptor { name, field_names, field_types })) => {
                        Descriptor::Struct { name, field_names, field_types }
                    }
                    (_, last) => {
                        parts.extend(last);
                        Descriptor::Enum { name: from.name(words[0]), variants: parts }
                    }
                }
            }
            Tag::Applied => {
                Descriptor::Applied { name: from.name(words[0]), args: children(&words[1..], from) }
            }
            Tag::Opaque => Descriptor::Opaque { name: from.name(words[0]) },
            Tag::Declared => Descriptor::Declared {
                name: from.name(words[0]),
                body: from.child(words[1]),
                params: sorts(&words[2..]),
            },
            Tag::Instance => {
                Descriptor::Instance { declaration: from.child(words[0]), args: children(&words[1..], from) }
            }
            Tag::Named => Descriptor::Named { name: from.name(words[0]) },
            Tag::Scheme => Descriptor::Scheme { body: from.child(words[0]), vars: sorts(&words[1..]) },
            Tag::Bound => Descriptor::Variable(Variable::Bound {
                depth: words[0],
                index: words[1],
                sort: sort(words[2]),
            }),
            Tag::Infer => Descriptor::Variable(Variable::Infer { number: words[0], sort: sort(words[1]) }),
            Tag::Lifetime => Descriptor::Lifetime { name: from.name(words[0]) },
            Tag::Tensor => {
                Descriptor::Tensor { element: from.child(words[0]), dims: Some(children(&words[1..], from)) }
            }
            Tag::TensorUnranked => Descriptor::Tensor { element: from.child(words[0]), dims: None },
            Tag::DimConst => Descriptor::Const(ConstDescriptor::Int(int_of(words[0], words[1]))),
            Tag::DimSymbol => Descriptor::Const(ConstDescriptor::Symbol(from.name(words[0]))),
            Tag::DimSum => Descriptor::Const(ConstDescriptor::Sum {
                constant: int_of(words[0], words[1]),
                terms: words[2..].chunks_exact(3).map(|t| (int_of(t[0], t[1]), from.child(t[2]))).collect(),
            }),
            Tag::DimProduct => Descriptor::Const(ConstDescriptor::Product(children(words, from))),
            Tag::DimFloorDiv => {
                Descriptor::Const(ConstDescriptor::FloorDiv(from.child(words[0]), from.child(words[1])))
            }
            Tag::DimMod => {
                Descriptor::Const(ConstDescriptor::Mod(from.child(words[0]), from.child(words[1])))
            }
            Tag::DimMin => Descriptor::Const(ConstDescriptor::Min(children(words, from))),
            Tag::DimMax => Descriptor::Const(ConstDescriptor::Max(children(words, from))),
            // `DimUnknown`, and the classes that returned above.
            _ => Descriptor::Const(ConstDescriptor::Unknown),
        }
    }
}

impl<R> ConstDescriptor<R> {
    fn to_words<T: ToWords<R>>(&self, to: &mut T, words: &mut Vec<u32>) -> Result<Tag, T::Error> {
        Ok(match self {
            ConstDescriptor::Int(value) => {
                words.extend(int_words(*value));
                Tag::DimConst
            }
            ConstDescriptor::Symbol(name) => {
                words.push(to.name(name)?);
                Tag::DimSymbol
            }
            ConstDescriptor::Sum { constant, terms } => {
                words.extend(int_words(*constant));
                for (coefficient, monomial) in terms {
                    words.extend(int_words(*coefficient));
                    words.push(to.child(monomial)?);
                }
                Tag::DimSum
            }
            ConstDescriptor::Product(children) => {
                for child in children {
                    words.push(to.child(child)?);
                }
                Tag::DimProduct
            }
            ConstDescriptor::FloorDiv(dividend, divisor) => {
                words.extend([to.child(dividend)?, to.child(divisor)?]);
                Tag::DimFloorDiv
            }
            ConstDescriptor::Mod(dividend, divisor) => {
                words.extend([to.child(dividend)?, to.child(divisor)?]);
                Tag::DimMod
            }
            ConstDescriptor::Min(children) => {
                for child in children {
                    words.push(to.child(child)?);
                }
                Tag::DimMin
            }
            ConstDescriptor::Max(children) => {
                for child in children {
                    words.push(to.child(child)?);
                }
                Tag::DimMax
            }
            ConstDescriptor::Unknown => Tag::DimUnknown,
        })
    }
}
