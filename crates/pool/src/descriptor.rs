//! Types written out one level at a time.
//!
//! A [`Descriptor`] is one type whose children are references of some kind `R`: local ids, digests, or nodes of a graph
//! that is not interned yet. [`TypeDescriptor`], with digests, is the portable form: it means the same in every pool.
//!
//! **Invariant:** descriptor to words and back is the identity on well-formed types.

use std::sync::Arc;

use crate::digest::Digest;
use crate::dim::{int_of, int_words};
use crate::error::TypeError;
use crate::layout::Parts;
use crate::tag::{Class, Sort, Tag};

/// One type, its children referred to by `R`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Descriptor<R> {
    /// A primitive.
    Primitive(Tag),
    /// A container: list, option, set, channel, range, iterator, double-ended iterator.
    Container {
        /// Which container.
        tag: Tag,
        /// What it contains.
        child: R,
    },
    /// A map or a result.
    TwoChild {
        /// Which of them.
        tag: Tag,
        /// The key, or the value of a success.
        child1: R,
        /// The value, or the error.
        child2: R,
    },
    /// A borrowed value.
    Borrowed {
        /// What is borrowed.
        inner: R,
        /// For how long: a [`Descriptor::Lifetime`] or a variable of that sort.
        lifetime: R,
    },
    /// A function.
    Function {
        /// The parameters.
        params: Vec<R>,
        /// The result.
        returns: R,
    },
    /// A tuple.
    Tuple {
        /// The parts.
        elements: Vec<R>,
    },
    /// A nominal product.
    Struct {
        /// Its name.
        name: String,
        /// The names of the fields; empty if they are positional.
        field_names: Vec<String>,
        /// The types of the fields.
        field_types: Vec<R>,
    },
    /// A nominal sum.
    Enum {
        /// Its name.
        name: String,
        /// The variants.
        variants: Vec<VariantDescriptor<R>>,
    },
    /// A constructor known by name only, applied to arguments.
    Applied {
        /// The constructor.
        name: String,
        /// The arguments, of any sort.
        args: Vec<R>,
    },
    /// A nominal type whose definition is hidden on purpose.
    Opaque {
        /// Its name.
        name: String,
    },
    /// A nominal declaration together with its definition, in which the parameters are bound.
    Declared {
        /// Its name.
        name: String,
        /// The sorts of its parameters.
        params: Vec<Sort>,
        /// Its definition.
        body: R,
    },
    /// A declaration applied to arguments.
    Instance {
        /// A [`Descriptor::Declared`].
        declaration: R,
        /// The arguments.
        args: Vec<R>,
    },
    /// A name that has not been resolved.
    Named {
        /// The name.
        name: String,
    },
    /// A generic type.
    Scheme {
        /// The sorts of its variables.
        vars: Vec<Sort>,
        /// The type in which they are bound.
        body: R,
    },
    /// A variable.
    Variable(Variable),
    /// A lifetime known by name.
    Lifetime {
        /// Its name, without the apostrophe.
        name: String,
    },
    /// A tensor.
    Tensor {
        /// The type of its elements.
        element: R,
        /// Its extents, or `None` where not even their number is known.
        dims: Option<Vec<R>>,
    },
    /// A constant.
    Const(ConstDescriptor<R>),
    /// A member of a recursive group, with the whole group. Only in the portable form; inside a pool the members refer
    /// to each other by id.
    Recursive {
        /// The group.
        group: Arc<GroupDescriptor>,
        /// Which member, from 0.
        member: u32,
    },
}

/// A described type whose children are referred to by digest.
pub type TypeDescriptor = Descriptor<Digest>;

/// One variant of an enum.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VariantDescriptor<R = Digest> {
    /// Its name.
    pub name: String,
    /// The names of its fields; empty if they are positional.
    pub field_names: Vec<String>,
    /// The types of its fields.
    pub field_types: Vec<R>,
}

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variable {
    /// A place of an enclosing binder.
    Bound {
        /// How many binders lie between; 0 is the nearest.
        depth: u32,
        /// Which place of the binder, from 0.
        index: u32,
        /// What it stands for.
        sort: Sort,
    },
    /// A variable of an unfinished inference. It cannot be exported.
    Infer {
        /// Its number in that inference.
        number: u32,
        /// What it stands for.
        sort: Sort,
    },
}

/// A constant expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ConstDescriptor<R> {
    /// An integer.
    Int(i64),
    /// A symbol.
    Symbol(String),
    /// An integer plus multiples of monomials.
    Sum {
        /// The integer.
        constant: i64,
        /// Coefficients and monomials.
        terms: Vec<(i64, R)>,
    },
    /// A product.
    Product(Vec<R>),
    /// A quotient rounded down: dividend, divisor.
    FloorDiv(R, R),
    /// The remainder of that quotient: dividend, divisor.
    Mod(R, R),
    /// The smallest of several.
    Min(Vec<R>),
    /// The largest of several.
    Max(Vec<R>),
    /// Nothing is known.
    Unknown,
}

/// A child of a node in a graph that is not interned yet: outside of the graph, or one of its nodes.
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
    /// The members.
    pub members: Vec<Descriptor<GraphRef<Digest>>>,
}

/// Turns descriptors into words: how children and names become words.
pub(crate) trait ToWords<R> {
    type Error: From<TypeError>;
    fn child(&mut self, reference: &R) -> Result<u32, Self::Error>;
    fn name(&mut self, name: &str) -> Result<u32, Self::Error>;
}

/// Turns words into descriptors: how words become children and names.
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
        return Err(TypeError::FieldCount { names: names.len(), types: types.len() }.into());
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

fn class_of(tag: Tag, class: Class, wanted: &'static str) -> Result<Tag, TypeError> {
    if tag.class() == class { Ok(tag) } else { Err(TypeError::WrongTag { tag, wanted }) }
}

impl<R> Descriptor<R> {
    /// Tag and words, not checked beyond the class of the tag and the number of fields.
    pub(crate) fn to_words<T: ToWords<R>>(&self, to: &mut T) -> Result<(Tag, Vec<u32>), T::Error> {
        let mut words = Vec::new();
        let tag = match self {
            Descriptor::Primitive(tag) => class_of(*tag, Class::Primitive, "primitive")?,
            Descriptor::Container { tag, child } => {
                words.push(to.child(child)?);
                class_of(*tag, Class::Container, "container")?
            }
            Descriptor::TwoChild { tag, child1, child2 } => {
                words.extend([to.child(child1)?, to.child(child2)?]);
                class_of(*tag, Class::TwoChild, "map or result")?
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
            Descriptor::Recursive { .. } => return Err(TypeError::BadGroup.into()),
        };
        Ok((tag, words))
    }

    /// The type with these words, which must be well formed.
    pub(crate) fn from_words(tag: Tag, words: &[u32], from: &mut impl FromWords<R>) -> Self {
        fn children<R>(words: &[u32], from: &mut impl FromWords<R>) -> Vec<R> {
            words.iter().map(|&word| from.child(word)).collect()
        }
        fn sorts(words: &[u32]) -> Vec<Sort> {
            words.iter().filter_map(|&word| Sort::from_number(word)).collect()
        }
        let variant = |part: crate::layout::Part<'_>,
                       from: &mut dyn FnMut(u32, bool) -> (String, Option<R>)| {
            VariantDescriptor {
                name: from(part.name, true).0,
                field_names: part.field_names().map(|name| from(name, true).0).collect(),
                field_types: part.field_types().filter_map(|ty| from(ty, false).1).collect(),
            }
        };
        let sort = |word: u32| Sort::from_number(word).unwrap_or(Sort::Type);
        match tag.class() {
            Class::Primitive => return Descriptor::Primitive(tag),
            Class::Container => return Descriptor::Container { tag, child: from.child(words[0]) },
            Class::TwoChild => {
                return Descriptor::TwoChild {
                    tag,
                    child1: from.child(words[0]),
                    child2: from.child(words[1]),
                };
            }
            Class::Constructor | Class::Region | Class::Const => {}
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
                    Parts::of(tag, words).map(|part| variant(part, &mut convert)).collect();
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
