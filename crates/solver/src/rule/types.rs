//! Verbs on types and element types.

use typeloom_types::relation::RelationError;

use super::{Failure, Port, RuleCx};
use crate::elem::{Elem, ElemSet};
use crate::ty::{Clash, Head, Narrowed, Ty, Types};

/// What kind of type stands at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Not known yet, or nothing is there.
    Unknown,
    /// A dense tensor.
    Tensor,
    /// A sparse tensor.
    Sparse,
    /// A single element.
    Scalar,
    /// A sequence.
    Sequence,
    /// An optional.
    Optional,
    /// A map.
    Map,
    /// A leaf of the tree that is neither a tensor nor a scalar.
    Leaf,
    /// In error already.
    Error,
}

impl RuleCx<'_, '_> {
    /// What kind of type stands at a port. The rule runs again when an unknown one becomes known.
    pub fn kind(&mut self, port: Port) -> Kind {
        let Some(ty) = self.ty(port) else { return Kind::Unknown };
        match self.core.types.head(ty) {
            Head::Unknown(_) => {
                self.wait_for(ty);
                Kind::Unknown
            }
            Head::Tensor => Kind::Tensor,
            Head::Sparse => Kind::Sparse,
            Head::Scalar => Kind::Scalar,
            Head::Sequence(_) => Kind::Sequence,
            Head::Optional(_) => Kind::Optional,
            Head::Map(..) => Kind::Map,
            Head::Leaf(_) => Kind::Leaf,
            Head::Error => Kind::Error,
        }
    }

    /// The element type at a port (of a sequence or optional: of the tensors in it), once it is known.
    /// The rule runs again when it becomes known.
    pub fn elem(&mut self, port: Port) -> Option<Elem> {
        let ty = self.ty(port)?;
        if let Some(elem) = ty.constant_elem() {
            return Some(elem);
        }
        let inner = self.core.types.innermost(ty);
        let elem = self.core.types.elems(inner).and_then(ElemSet::single);
        if elem.is_none() {
            self.wait_for(ty);
        }
        elem
    }

    /// Makes the port a tensor of this element type.
    ///
    /// # Errors
    /// [`Failure::Element`] when it is something else.
    pub fn set_elem(&mut self, port: Port, elem: Elem) -> Result<(), Failure> {
        self.set_elems(port, ElemSet::of(elem))
    }

    /// Makes the port a tensor of one of these element types (a sparse tensor or scalar stays one).
    ///
    /// # Errors
    /// [`Failure::Element`] when it is something else.
    pub fn set_elems(&mut self, port: Port, set: ElemSet) -> Result<(), Failure> {
        let Some(value) = self.value(port) else { return Ok(()) };
        self.core.trace_fixed(self.frame.number, value, self.step, self.rule);
        match self.frame.slots[value.index()].ty {
            None => {
                let ty = self.core.types.tensor_of(set);
                self.frame.slots[value.index()].ty = Some(ty);
                Ok(())
            }
            Some(ty) => match self.core.types.narrow_tensor(ty, set) {
                Ok(Narrowed::Already | Narrowed::Changed | Narrowed::Pending) => Ok(()),
                Err(Clash) => Err(Failure::Element { port, allowed: set }),
            },
        }
    }

    /// Makes two ports have one type (their shapes stay apart, see [`RuleCx::same_shape`]).
    ///
    /// # Errors
    /// [`Failure::Types`] when they cannot.
    pub fn same_type(&mut self, left: Port, right: Port) -> Result<(), Failure> {
        let (Some(x), Some(y)) = (self.value(left), self.value(right)) else { return Ok(()) };
        let a = self.core.ty_of(&mut self.frame.slots[x.index()]);
        let b = self.core.ty_of(&mut self.frame.slots[y.index()]);
        self.core.trace_equal(self.frame.number, x, y, self.step, self.rule);
        self.core.types.unify(a, b).map(drop).map_err(|Clash| Failure::Types { left, right })
    }

    /// Makes two ports have one element type, each in its own kind: a scalar and a tensor can share it.
    ///
    /// # Errors
    /// [`Failure::Types`] when they cannot.
    pub fn same_elem(&mut self, left: Port, right: Port) -> Result<(), Failure> {
        let (Some(x), Some(y)) = (self.value(left), self.value(right)) else { return Ok(()) };
        let a = self.core.ty_of(&mut self.frame.slots[x.index()]);
        let b = self.core.ty_of(&mut self.frame.slots[y.index()]);
        self.core.trace_equal(self.frame.number, x, y, self.step, self.rule);
        let (inner_a, inner_b) = (self.core.types.innermost(a), self.core.types.innermost(b));
        self.wait_for(a);
        self.wait_for(b);
        self.core
            .types
            .unify_element(inner_a, inner_b)
            .map(drop)
            .map_err(|Clash| Failure::Types { left, right })
    }

    /// Makes `outer` a sequence of what `inner` is.
    ///
    /// # Errors
    /// [`Failure::Kind`] or [`Failure::Types`] when it cannot be one.
    pub fn sequence_of(&mut self, outer: Port, inner: Port) -> Result<(), Failure> {
        self.wrap(outer, inner, "a sequence", Types::sequence, |head| match head {
            Head::Sequence(_) | Head::Unknown(_) | Head::Error => true,
            Head::Tensor
            | Head::Sparse
            | Head::Scalar
            | Head::Optional(_)
            | Head::Map(..)
            | Head::Leaf(_) => false,
        })
    }

    /// Makes `outer` an optional of what `inner` is.
    ///
    /// # Errors
    /// [`Failure::Kind`] or [`Failure::Types`] when it cannot be one.
    pub fn optional_of(&mut self, outer: Port, inner: Port) -> Result<(), Failure> {
        self.wrap(outer, inner, "an optional", Types::optional, |head| match head {
            Head::Optional(_) | Head::Unknown(_) | Head::Error => true,
            Head::Tensor
            | Head::Sparse
            | Head::Scalar
            | Head::Sequence(_)
            | Head::Map(..)
            | Head::Leaf(_) => false,
        })
    }

    fn wrap(
        &mut self,
        outer: Port,
        inner: Port,
        expected: &'static str,
        constructor: fn(&mut Types, Ty) -> Ty,
        fits: fn(Head) -> bool,
    ) -> Result<(), Failure> {
        let (Some(x), Some(y)) = (self.value(outer), self.value(inner)) else { return Ok(()) };
        let a = self.core.ty_of(&mut self.frame.slots[x.index()]);
        let b = self.core.ty_of(&mut self.frame.slots[y.index()]);
        if !fits(self.core.types.head(a)) {
            return Err(Failure::Kind { port: outer, expected });
        }
        self.core.trace_equal(self.frame.number, x, y, self.step, self.rule);
        let wrapped = constructor(&mut self.core.types, b);
        self.core
            .types
            .unify(a, wrapped)
            .map(drop)
            .map_err(|Clash| Failure::Types { left: outer, right: inner })
    }

    /// Makes a port an optional of a type that the model spells out; the type may itself be an optional.
    ///
    /// # Errors
    /// [`Failure::Kind`] when it cannot be one, [`Failure::Malformed`].
    pub fn set_optional_type(
        &mut self,
        port: Port,
        ty: typeloom_onnx::view::TypeView<'_>,
    ) -> Result<(), Failure> {
        let read = self.core.read_type(ty)?;
        let Some(inner) = read.ty else { return Ok(()) };
        let optional = match self.core.types.head(inner) {
            Head::Optional(_) => inner,
            Head::Unknown(_)
            | Head::Tensor
            | Head::Sparse
            | Head::Scalar
            | Head::Sequence(_)
            | Head::Map(..)
            | Head::Leaf(_)
            | Head::Error => self.core.types.optional(inner),
        };
        self.set_ty(port, optional, "an optional")?;
        match read.shape {
            Some(shape) => {
                let dims: super::DimVec = self.core.shapes.get(shape).into();
                self.set_shape(port, &dims)
            }
            None => Ok(()),
        }
    }

    /// Makes the type at a port lie under a node of the type tree, given by id; a tree without the node says
    /// nothing. `demand` says what needs it, in words.
    ///
    /// # Errors
    /// [`Failure::Relation`] when it cannot.
    pub fn refine_to_node(&mut self, port: Port, id: &str, demand: &str) -> Result<(), Failure> {
        let (Some(value), Some(ty)) = (self.value(port), self.ty(port)) else { return Ok(()) };
        let universe = std::sync::Arc::clone(self.core.types.universe());
        let Some(node) = universe.lattice().lookup(id) else { return Ok(()) };
        if node.is_concrete() {
            self.core.trace_fixed(self.frame.number, value, self.step, self.rule);
        }
        match self.core.types.narrow_to_node(ty, node.no) {
            Ok(_) => Ok(()),
            Err(Clash) => {
                let found = self.core.snapshot(self.frame, value);
                Err(Failure::Relation(Box::new(RelationError {
                    message: demand.to_owned(),
                    ports: crate::rule::relation::port_ref(port).into_iter().collect(),
                    expected: id.to_owned(),
                    found: crate::rule::relation::tree_name(&found, &universe),
                })))
            }
        }
    }

    /// The type at a port, as the solver's own handle.
    pub fn ty(&mut self, port: Port) -> Option<Ty> {
        let value = self.value(port)?;
        Some(self.core.ty_of(&mut self.frame.slots[value.index()]))
    }

    /// Makes the type at a port one with `ty`.
    ///
    /// # Errors
    /// [`Failure::Kind`] with `expected` when it cannot be.
    pub fn set_ty(&mut self, port: Port, ty: Ty, expected: &'static str) -> Result<(), Failure> {
        let Some(value) = self.value(port) else { return Ok(()) };
        self.core.trace_fixed(self.frame.number, value, self.step, self.rule);
        let slot = &mut self.frame.slots[value.index()];
        match slot.ty {
            None => {
                slot.ty = Some(ty);
                Ok(())
            }
            Some(known) => {
                self.core.types.unify(known, ty).map(drop).map_err(|Clash| Failure::Kind { port, expected })
            }
        }
    }

    /// The solver's table of types, to build a [`Ty`] for [`RuleCx::set_ty`].
    pub fn types(&mut self) -> &mut Types {
        &mut self.core.types
    }

    /// Asks to run again when more is known about `ty`.
    pub fn wait_for(&mut self, ty: Ty) {
        let waiter = self.frame.waiter(self.step);
        self.core.types.watch(ty, waiter);
    }
}
