//! Construction of types: one method for each kind, and graphs for recursive types.
//!
//! Example of [`Pool::intern_graph`]:
//!
//! ```
//! use typeloom_pool::{Descriptor, GraphRef, Pool, Tag};
//! let mut pool = Pool::new();
//! // Two ways to write a list of lists of lists ...
//! let short = pool.intern_graph(&[Descriptor::Container { tag: Tag::List, child: GraphRef::Member(0) }])?;
//! let long = pool.intern_graph(&[
//!     Descriptor::Container { tag: Tag::List, child: GraphRef::Member(1) },
//!     Descriptor::Container { tag: Tag::List, child: GraphRef::Member(0) },
//! ])?;
//! assert_eq!(long, [short[0], short[0]]);
//! # Ok::<(), typeloom_pool::PoolError>(())
//! ```

use crate::binder::{check_uses, used_variables, uses};
use crate::descriptor::{Descriptor, GraphRef, ToWords, Variable, class_of, graph_words, with_sorts};
use crate::digest::Digest;
use crate::error::PoolError;
use crate::graph::{Local, MAX_WORK};
use crate::name::NameId;
use crate::pool::{Idx, Pool};
use crate::tag::{Sort, Tag, TagClass};

struct PoolWords<'p>(&'p mut Pool);

impl ToWords<Idx> for PoolWords<'_> {
    fn child(&mut self, reference: &Idx) -> Result<u32, PoolError> {
        self.0.known(*reference)
    }

    fn name(&mut self, name: &str) -> Result<u32, PoolError> {
        Ok(self.0.name(name)?.0)
    }
}

impl Pool {
    /// Returns a type, one level deep.
    ///
    /// # Panics
    /// If the id is not of this pool.
    #[must_use]
    pub fn get(&self, ty: Idx) -> Descriptor<Idx> {
        Descriptor::from_words(&self.names, self.tag(ty), self.words(ty.number()), Idx::from_raw)
    }

    /// Interns a type given one level deep. Constants and schemes are normalized.
    ///
    /// # Errors
    /// If the type is not well formed. The pool is then unchanged except for new names.
    pub fn intern(&mut self, ty: &Descriptor<Idx>) -> Result<Idx, PoolError> {
        let node = ty.to_words(&mut PoolWords(self))?;
        self.intern_any(node)
    }

    pub(crate) fn intern_any(&mut self, node: Local) -> Result<Idx, PoolError> {
        let Local { tag, words } = &node;
        let id = match (tag, tag.class()) {
            (Tag::Scheme, _) => match self.lookup(*tag, words) {
                Some(id) => id,
                None => self.intern_locals(vec![node])?.ids[0],
            },
            (_, TagClass::Const) => self.intern_dim(*tag, words)?,
            _ => self.intern_words(*tag, words)?,
        };
        Ok(Idx::from_raw(id))
    }

    /// Interns all nodes of a graph, whose references may form cycles, or none on an error. Returns the type
    /// of each node; nodes that unfold to the same tree get the same id.
    ///
    /// # Errors
    /// If a node is not well formed, or a group is too large or takes too long to minimise.
    pub fn intern_graph(&mut self, nodes: &[Descriptor<GraphRef<Idx>>]) -> Result<Vec<Idx>, PoolError> {
        self.transaction(|pool| {
            let nodes = graph_words(nodes, &mut PoolWords(pool))?;
            let ids = pool.try_intern_locals(nodes, &mut { MAX_WORK })?.ids;
            Ok(ids.into_iter().map(Idx::from_raw).collect())
        })
    }

    /// Interns a primitive type.
    ///
    /// # Errors
    /// If the tag is not that of a primitive.
    pub fn primitive(&mut self, tag: Tag) -> Result<Idx, PoolError> {
        let tag = class_of(tag, TagClass::Primitive, "primitive")?;
        Ok(Idx::from_raw(self.intern_words(tag, &[])?))
    }

    /// Interns a container type, such as an option or a list.
    ///
    /// # Errors
    /// If the tag is not that of a container or the child is not a type.
    #[inline]
    pub fn container(&mut self, tag: Tag, child: Idx) -> Result<Idx, PoolError> {
        let tag = class_of(tag, TagClass::Container, "container")?;
        Ok(Idx::from_raw(self.intern_short(tag, 1, [child.number(), 0, 0])?))
    }

    /// Interns a list type.
    ///
    /// # Errors
    /// If the child is not a type.
    #[inline]
    pub fn list(&mut self, child: Idx) -> Result<Idx, PoolError> {
        self.container(Tag::List, child)
    }

    /// Interns an optional type.
    ///
    /// # Errors
    /// If the child is not a type.
    #[inline]
    pub fn option(&mut self, child: Idx) -> Result<Idx, PoolError> {
        self.container(Tag::Option, child)
    }

    /// Interns a map type.
    ///
    /// # Errors
    /// If a child is not a type.
    #[inline]
    pub fn map(&mut self, key: Idx, value: Idx) -> Result<Idx, PoolError> {
        self.two_children(Tag::Map, key, value)
    }

    /// Interns a result type.
    ///
    /// # Errors
    /// If a child is not a type.
    #[inline]
    pub fn result(&mut self, ok: Idx, error: Idx) -> Result<Idx, PoolError> {
        self.two_children(Tag::Result, ok, error)
    }

    /// Interns a borrowed type.
    ///
    /// # Errors
    /// If the children are not a type and a lifetime.
    pub fn borrowed(&mut self, inner: Idx, lifetime: Idx) -> Result<Idx, PoolError> {
        Ok(Idx::from_raw(self.intern_words(Tag::Borrowed, &[inner.number(), lifetime.number()])?))
    }

    /// Interns a lifetime by its name, without apostrophe: `a` for `'a`.
    ///
    /// # Errors
    /// If the string is not a name.
    pub fn lifetime(&mut self, name: &str) -> Result<Idx, PoolError> {
        let name = self.name(name)?;
        Ok(Idx::from_raw(self.intern_words(Tag::Lifetime, &[name.0])?))
    }

    #[inline(always)]
    fn two_children(&mut self, tag: Tag, first: Idx, second: Idx) -> Result<Idx, PoolError> {
        let words = [first.number(), second.number(), 0];
        Ok(Idx::from_raw(self.intern_short(tag, 2, words)?))
    }

    /// Interns a type whose words are `first`, if given, and then children.
    #[inline(always)]
    fn with_children(&mut self, tag: Tag, first: Option<u32>, rest: &[Idx]) -> Result<Idx, PoolError> {
        Ok(Idx::from_raw(self.intern_children(tag, first, rest)?))
    }

    /// Interns a function type.
    ///
    /// # Errors
    /// If a child is not a type.
    #[inline]
    pub fn function(&mut self, params: &[Idx], returns: Idx) -> Result<Idx, PoolError> {
        self.with_children(Tag::Function, Some(returns.number()), params)
    }

    /// Interns a tuple type.
    ///
    /// # Errors
    /// If a child is not a type.
    #[inline]
    pub fn tuple(&mut self, elements: &[Idx]) -> Result<Idx, PoolError> {
        self.with_children(Tag::Tuple, None, elements)
    }

    /// Interns a struct with named fields. [`Pool::intern`] also accepts positional fields.
    ///
    /// # Errors
    /// If a child is not a type or a field name occurs twice.
    #[inline]
    pub fn structure(&mut self, name: NameId, fields: &[(NameId, Idx)]) -> Result<Idx, PoolError> {
        Ok(Idx::from_raw(self.intern_struct(name, fields)?))
    }

    /// Interns an enum whose variants have positional fields. [`Pool::intern`] also accepts named fields.
    ///
    /// # Errors
    /// If a child is not a type or a variant name occurs twice.
    pub fn enumeration(&mut self, name: NameId, variants: &[(NameId, &[Idx])]) -> Result<Idx, PoolError> {
        let mut words = vec![name.0];
        for (name, fields) in variants {
            words.extend([name.0, (fields.len() as u32) << 1]);
            words.extend(fields.iter().map(|field| field.number()));
        }
        Ok(Idx::from_raw(self.intern_words(Tag::Enum, &words)?))
    }

    /// Interns an application of a constructor known only by its name.
    ///
    /// # Errors
    /// If an argument is not of this pool.
    pub fn applied(&mut self, name: NameId, args: &[Idx]) -> Result<Idx, PoolError> {
        self.with_children(Tag::Applied, Some(name.0), args)
    }

    /// Interns a nominal type with a hidden definition.
    ///
    /// # Errors
    /// If the name is not of this pool.
    pub fn opaque(&mut self, name: NameId) -> Result<Idx, PoolError> {
        Ok(Idx::from_raw(self.intern_words(Tag::Opaque, &[name.0])?))
    }

    /// Interns an unresolved name.
    ///
    /// # Errors
    /// If the name is not of this pool.
    pub fn named(&mut self, name: NameId) -> Result<Idx, PoolError> {
        Ok(Idx::from_raw(self.intern_words(Tag::Named, &[name.0])?))
    }

    /// Interns a rigid variable: a type parameter that is known by its identity only.
    ///
    /// # Errors
    /// If the name is not of this pool.
    pub fn rigid(&mut self, name: NameId) -> Result<Idx, PoolError> {
        Ok(Idx::from_raw(self.intern_words(Tag::Rigid, &[name.0])?))
    }

    /// Interns a nominal declaration, whose parameters are bound in its body.
    ///
    /// # Errors
    /// If the body is not a type, or uses a parameter out of range or at a different sort.
    pub fn declared(&mut self, name: NameId, params: &[Sort], body: Idx) -> Result<Idx, PoolError> {
        let words = with_sorts(vec![name.0, body.number()], params);
        Ok(Idx::from_raw(self.intern_words(Tag::Declared, &words)?))
    }

    /// Interns a declaration applied to arguments.
    ///
    /// # Errors
    /// If `declaration` is not a declaration, or the arguments do not match its parameters.
    pub fn instance(&mut self, declaration: Idx, args: &[Idx]) -> Result<Idx, PoolError> {
        self.with_children(Tag::Instance, Some(declaration.number()), args)
    }

    /// Interns a generic type in normal form: variables are renumbered by first use, and unused variables are
    /// removed. If no variable is used, the result is the body, and the depth of variables of outer binders
    /// decreases by one.
    ///
    /// # Errors
    /// If the body is not a type, or uses a variable out of range or at a different sort.
    pub fn scheme(&mut self, vars: &[Sort], body: Idx) -> Result<Idx, PoolError> {
        let body = self.known(body)?;
        let vars = match vars {
            [] => {
                check_uses(&used_variables(self, body, &mut { MAX_WORK })?, &[])?;
                // An unused variable does not change the type.
                &[Sort::Type]
            }
            _ => vars,
        };
        self.intern_any(Local { tag: Tag::Scheme, words: with_sorts(vec![body], vars) })
    }

    /// The indices of the variables that [`Pool::scheme`] keeps for a body, in the order of their new indices.
    ///
    /// # Errors
    /// If the order of the variables cannot be decided.
    pub fn scheme_order(&self, body: Idx) -> Result<Vec<u32>, PoolError> {
        let uses = uses(self, self.known(body)?, &mut { MAX_WORK })?;
        Ok(uses.into_iter().map(|used| used.index).collect())
    }

    /// Interns a bound variable: the variable `index` of the scheme or declaration that is separated from it
    /// by `depth` other binders.
    ///
    /// # Errors
    /// If `depth` exceeds the limit of nested binders.
    pub fn bound(&mut self, depth: u32, index: u32, sort: Sort) -> Result<Idx, PoolError> {
        self.intern(&Descriptor::Variable(Variable::Bound { depth, index, sort }))
    }

    /// Interns a variable of an unfinished inference.
    ///
    /// # Errors
    /// If the pool is full.
    pub fn infer(&mut self, number: u32, sort: Sort) -> Result<Idx, PoolError> {
        self.intern(&Descriptor::Variable(Variable::Infer { number, sort }))
    }

    /// Interns a tensor of known rank. Its dims are constants: [`Pool::dim_const`], [`Pool::dim_symbol`] and
    /// expressions over them.
    ///
    /// # Errors
    /// If the element is not a type or a dim is not a constant.
    pub fn tensor(&mut self, element: Idx, dims: &[Idx]) -> Result<Idx, PoolError> {
        self.with_children(Tag::Tensor, Some(element.number()), dims)
    }

    /// Interns a tensor of unknown rank.
    ///
    /// # Errors
    /// If the element is not a type.
    pub fn tensor_unranked(&mut self, element: Idx) -> Result<Idx, PoolError> {
        Ok(Idx::from_raw(self.intern_words(Tag::TensorUnranked, &[element.number()])?))
    }

    /// Returns the digest of a type if it was computed before; see [`Pool::digest`].
    #[must_use]
    pub fn known_digest(&self, ty: Idx) -> Option<Digest> {
        self.digests.get(ty.number())
    }
}

/// Converts names and children to ids without adding any to the pool.
struct Lookup<'p>(&'p Pool);

impl ToWords<Idx> for Lookup<'_> {
    fn child(&mut self, reference: &Idx) -> Result<u32, PoolError> {
        self.0.known(*reference)
    }

    fn name(&mut self, name: &str) -> Result<u32, PoolError> {
        self.0.find_name(name).map(|name| name.0).ok_or(PoolError::UnknownName)
    }
}

/// Returns the type with this description, if the pool contains it. Constants and schemes must be in normal
/// form.
pub(crate) fn find_descriptor(pool: &Pool, ty: &Descriptor<Idx>) -> Option<Idx> {
    let Local { tag, words } = ty.to_words(&mut Lookup(pool)).ok()?;
    pool.lookup(tag, &words).map(Idx::from_raw)
}
