//! Building types: one method for each kind, and graphs for recursive ones.

use crate::binder::{check_uses, used_places};
use crate::descriptor::{Descriptor, FromWords, GraphRef, ToWords, Variable};
use crate::digest::Digest;
use crate::error::TypeError;
use crate::graph::{LOCAL, Local, MAX_WORK};
use crate::name::Name;
use crate::pool::{ID_LIMIT, Idx, Pool};
use crate::tag::{Class, Sort, Tag};

struct PoolWords<'p>(&'p mut Pool);

impl ToWords<Idx> for PoolWords<'_> {
    type Error = TypeError;

    fn child(&mut self, reference: &Idx) -> Result<u32, TypeError> {
        if self.0.contains(*reference) {
            Ok(reference.number())
        } else {
            Err(TypeError::UnknownType(*reference))
        }
    }

    fn name(&mut self, name: &str) -> Result<u32, TypeError> {
        Ok(self.0.name(name)?.0)
    }
}

impl ToWords<GraphRef<Idx>> for PoolWords<'_> {
    type Error = TypeError;

    fn child(&mut self, reference: &GraphRef<Idx>) -> Result<u32, TypeError> {
        match *reference {
            GraphRef::Outer(ty) if self.0.contains(ty) => Ok(ty.number()),
            GraphRef::Outer(ty) => Err(TypeError::UnknownType(ty)),
            GraphRef::Member(node) if node < ID_LIMIT => Ok(LOCAL | node),
            GraphRef::Member(node) => Err(TypeError::UnknownNode { node }),
        }
    }

    fn name(&mut self, name: &str) -> Result<u32, TypeError> {
        Ok(self.0.name(name)?.0)
    }
}

struct PoolDescriptors<'p>(&'p Pool);

impl FromWords<Idx> for PoolDescriptors<'_> {
    fn child(&mut self, word: u32) -> Idx {
        Idx::from_raw(word)
    }

    fn name(&mut self, word: u32) -> String {
        self.0.names.get(word).to_owned()
    }
}

impl Pool {
    /// The type, one level deep.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    pub fn get(&self, ty: Idx) -> Descriptor<Idx> {
        Descriptor::from_words(self.tag(ty), self.words(ty.number()), &mut PoolDescriptors(self))
    }

    /// Interns a type that is given one level deep. Constants and schemes are brought into normal form.
    ///
    /// # Errors
    /// If the type is not well formed; nothing but names may have been added then.
    pub fn intern(&mut self, ty: &Descriptor<Idx>) -> Result<Idx, TypeError> {
        let (tag, words) = ty.to_words(&mut PoolWords(self))?;
        self.intern_any(tag, words)
    }

    pub(crate) fn intern_any(&mut self, tag: Tag, words: Vec<u32>) -> Result<Idx, TypeError> {
        let id = match (tag, tag.class()) {
            (Tag::Scheme, _) => match self.lookup(tag, &words) {
                Some(id) => id,
                None => self.intern_locals(vec![Local { tag, words }])?.ids[0],
            },
            (_, Class::Const) => self.intern_dim(tag, &words)?,
            _ => self.intern_words(tag, &words)?,
        };
        Ok(Idx::from_raw(id))
    }

    /// Interns all nodes of a graph, whose references may form cycles, or none. Gives the type of each node; nodes that
    /// unfold to the same type get the same id.
    ///
    /// ```
    /// use typeloom_pool::{Descriptor, GraphRef, Pool, Tag};
    /// let mut pool = Pool::new();
    /// // Two ways to write a list of lists of lists ...
    /// let short = pool.intern_graph(&[Descriptor::Container { tag: Tag::List, child: GraphRef::Member(0) }])?;
    /// let long = pool.intern_graph(&[
    ///     Descriptor::Container { tag: Tag::List, child: GraphRef::Member(1) },
    ///     Descriptor::Container { tag: Tag::List, child: GraphRef::Member(0) },
    /// ])?;
    /// assert_eq!(long, [short[0], short[0]]);
    /// # Ok::<(), typeloom_pool::TypeError>(())
    /// ```
    ///
    /// # Errors
    /// If a node is not well formed, or a group is too large or takes too long to minimise.
    pub fn intern_graph(&mut self, nodes: &[Descriptor<GraphRef<Idx>>]) -> Result<Vec<Idx>, TypeError> {
        let checkpoint = self.checkpoint();
        let locals: Result<Vec<Local>, TypeError> = nodes
            .iter()
            .map(|node| {
                let (tag, words) = node.to_words(&mut PoolWords(self))?;
                Ok(Local { tag, words })
            })
            .collect();
        let interned = locals.and_then(|locals| self.intern_locals(locals));
        match interned {
            Ok(interned) => Ok(interned.ids.into_iter().map(Idx::from_raw).collect()),
            Err(error) => {
                self.rollback(checkpoint);
                Err(error)
            }
        }
    }

    /// A primitive.
    ///
    /// # Errors
    /// If the tag is not that of a primitive.
    pub fn primitive(&mut self, tag: Tag) -> Result<Idx, TypeError> {
        if tag.class() != Class::Primitive {
            return Err(TypeError::WrongTag { tag, wanted: "primitive" });
        }
        Ok(Idx::from_raw(self.intern_words(tag, &[])?))
    }

    /// A container of a child.
    ///
    /// # Errors
    /// If the tag is not that of a container or the child is not a type.
    #[inline]
    pub fn container(&mut self, tag: Tag, child: Idx) -> Result<Idx, TypeError> {
        if tag.class() != Class::Container {
            return Err(TypeError::WrongTag { tag, wanted: "container" });
        }
        Ok(Idx::from_raw(self.intern_short(tag, 1, [child.number(), 0, 0])?))
    }

    /// A list.
    ///
    /// # Errors
    /// If the child is not a type.
    #[inline]
    pub fn list(&mut self, child: Idx) -> Result<Idx, TypeError> {
        self.container(Tag::List, child)
    }

    /// A value that may be absent.
    ///
    /// # Errors
    /// If the child is not a type.
    #[inline]
    pub fn option(&mut self, child: Idx) -> Result<Idx, TypeError> {
        self.container(Tag::Option, child)
    }

    /// A map.
    ///
    /// # Errors
    /// If a child is not a type.
    #[inline]
    pub fn map(&mut self, key: Idx, value: Idx) -> Result<Idx, TypeError> {
        self.two_children(Tag::Map, key, value)
    }

    /// A value or an error.
    ///
    /// # Errors
    /// If a child is not a type.
    #[inline]
    pub fn result(&mut self, ok: Idx, error: Idx) -> Result<Idx, TypeError> {
        self.two_children(Tag::Result, ok, error)
    }

    /// A borrowed value.
    ///
    /// # Errors
    /// If the children are not a type and a lifetime.
    pub fn borrowed(&mut self, inner: Idx, lifetime: Idx) -> Result<Idx, TypeError> {
        Ok(Idx::from_raw(self.intern_words(Tag::Borrowed, &[inner.number(), lifetime.number()])?))
    }

    /// A lifetime known by name, which is written without an apostrophe: `a` for `'a`.
    ///
    /// # Errors
    /// If the string is not a name.
    pub fn lifetime(&mut self, name: &str) -> Result<Idx, TypeError> {
        let name = self.name(name)?;
        Ok(Idx::from_raw(self.intern_words(Tag::Lifetime, &[name.0])?))
    }

    #[inline(always)]
    fn two_children(&mut self, tag: Tag, first: Idx, second: Idx) -> Result<Idx, TypeError> {
        let words = [first.number(), second.number(), 0];
        Ok(Idx::from_raw(self.intern_short(tag, 2, words)?))
    }

    /// A word, if there is one, and children after it.
    #[inline(always)]
    fn with_children(&mut self, tag: Tag, first: Option<u32>, rest: &[Idx]) -> Result<Idx, TypeError> {
        Ok(Idx::from_raw(self.intern_children(tag, first, rest)?))
    }

    /// A function.
    ///
    /// # Errors
    /// If a child is not a type.
    #[inline]
    pub fn function(&mut self, params: &[Idx], returns: Idx) -> Result<Idx, TypeError> {
        self.with_children(Tag::Function, Some(returns.number()), params)
    }

    /// A tuple.
    ///
    /// # Errors
    /// If a child is not a type.
    #[inline]
    pub fn tuple(&mut self, elements: &[Idx]) -> Result<Idx, TypeError> {
        self.with_children(Tag::Tuple, None, elements)
    }

    /// A struct with named fields; for positional ones, see [`Pool::intern`].
    ///
    /// # Errors
    /// If a child is not a type or a field name occurs twice.
    #[inline]
    pub fn structure(&mut self, name: Name, fields: &[(Name, Idx)]) -> Result<Idx, TypeError> {
        Ok(Idx::from_raw(self.intern_struct(name, fields)?))
    }

    /// An enum whose variants have positional fields; for named ones, see [`Pool::intern`].
    ///
    /// # Errors
    /// If a child is not a type or a variant name occurs twice.
    pub fn enumeration(&mut self, name: Name, variants: &[(Name, &[Idx])]) -> Result<Idx, TypeError> {
        let mut words = vec![name.0];
        for (name, fields) in variants {
            words.extend([name.0, (fields.len() as u32) << 1]);
            words.extend(fields.iter().map(|field| field.number()));
        }
        Ok(Idx::from_raw(self.intern_words(Tag::Enum, &words)?))
    }

    /// A constructor known by name only, applied to arguments.
    ///
    /// # Errors
    /// If an argument is not of this pool.
    pub fn applied(&mut self, name: Name, args: &[Idx]) -> Result<Idx, TypeError> {
        self.with_children(Tag::Applied, Some(name.0), args)
    }

    /// A nominal type whose definition is hidden on purpose.
    ///
    /// # Errors
    /// If the name is not of this pool.
    pub fn opaque(&mut self, name: Name) -> Result<Idx, TypeError> {
        Ok(Idx::from_raw(self.intern_words(Tag::Opaque, &[name.0])?))
    }

    /// A name that has not been resolved.
    ///
    /// # Errors
    /// If the name is not of this pool.
    pub fn named(&mut self, name: Name) -> Result<Idx, TypeError> {
        Ok(Idx::from_raw(self.intern_words(Tag::Named, &[name.0])?))
    }

    /// A nominal declaration. Its parameters are bound in its definition.
    ///
    /// # Errors
    /// If the body is not a type, or uses a parameter that is not there or is of another sort.
    pub fn declared(&mut self, name: Name, params: &[Sort], body: Idx) -> Result<Idx, TypeError> {
        let mut words = vec![name.0, body.number()];
        words.extend(params.iter().map(|&sort| sort as u32));
        Ok(Idx::from_raw(self.intern_words(Tag::Declared, &words)?))
    }

    /// A declaration applied to arguments.
    ///
    /// # Errors
    /// If it is not a declaration, or the arguments do not fit its parameters.
    pub fn instance(&mut self, declaration: Idx, args: &[Idx]) -> Result<Idx, TypeError> {
        self.with_children(Tag::Instance, Some(declaration.number()), args)
    }

    /// A type that is generic over variables, in normal form: variables are renumbered by first use, and those that are
    /// not used are dropped. If none is used, this is the body, whose variables of binders further out come one nearer.
    ///
    /// # Errors
    /// If the body is not a type, or uses a variable that is not there or is of another sort.
    pub fn scheme(&mut self, vars: &[Sort], body: Idx) -> Result<Idx, TypeError> {
        if !self.contains(body) {
            return Err(TypeError::UnknownType(body));
        }
        let vars = match vars {
            [] => {
                let mut work = MAX_WORK;
                check_uses(&used_places(self, body.number(), &mut work)?, &[])?;
                // A variable that is not used makes no difference.
                &[Sort::Type]
            }
            _ => vars,
        };
        let words = std::iter::once(body.number()).chain(vars.iter().map(|&sort| sort as u32)).collect();
        self.intern_any(Tag::Scheme, words)
    }

    /// A variable of a binder: of the scheme or declaration that has `depth` others between itself and the variable, the one
    /// at place `index`.
    ///
    /// # Errors
    /// If there are too many binders between.
    pub fn bound(&mut self, depth: u32, index: u32, sort: Sort) -> Result<Idx, TypeError> {
        self.intern(&Descriptor::Variable(Variable::Bound { depth, index, sort }))
    }

    /// A variable of an unfinished inference.
    ///
    /// # Errors
    /// If the pool is full.
    pub fn infer(&mut self, number: u32, sort: Sort) -> Result<Idx, TypeError> {
        self.intern(&Descriptor::Variable(Variable::Infer { number, sort }))
    }

    /// A tensor of known rank. Its extents are constants: [`Pool::dim_const`], [`Pool::dim_symbol`] and what is computed of
    /// them.
    ///
    /// # Errors
    /// If the element is not a type or an extent is not a constant.
    pub fn tensor(&mut self, element: Idx, dims: &[Idx]) -> Result<Idx, TypeError> {
        self.with_children(Tag::Tensor, Some(element.number()), dims)
    }

    /// A tensor of unknown rank.
    ///
    /// # Errors
    /// If the element is not a type.
    pub fn tensor_unranked(&mut self, element: Idx) -> Result<Idx, TypeError> {
        Ok(Idx::from_raw(self.intern_words(Tag::TensorUnranked, &[element.number()])?))
    }

    /// The digest of a type if it has been computed already; see [`Pool::digest`].
    #[must_use]
    pub fn known_digest(&self, ty: Idx) -> Option<Digest> {
        self.digests.get(ty.number())
    }
}

/// Finds names and children without adding any.
struct Lookup<'p>(&'p Pool);

/// A name that is not in the pool, so that the type cannot be either.
struct Absent;

impl From<TypeError> for Absent {
    fn from(_: TypeError) -> Self {
        Absent
    }
}

impl ToWords<Idx> for Lookup<'_> {
    type Error = Absent;

    fn child(&mut self, reference: &Idx) -> Result<u32, Absent> {
        if self.0.contains(*reference) { Ok(reference.number()) } else { Err(Absent) }
    }

    fn name(&mut self, name: &str) -> Result<u32, Absent> {
        self.0.find_name(name).map(|name| name.0).ok_or(Absent)
    }
}

/// The type with this description as it stands, if the pool has it. A constant or scheme that is not in normal form is
/// not found.
pub(crate) fn find_descriptor(pool: &Pool, ty: &Descriptor<Idx>) -> Option<Idx> {
    let (tag, words) = ty.to_words(&mut Lookup(pool)).ok()?;
    pool.lookup(tag, &words).map(Idx::from_raw)
}
