//! Operations on types and element types.

use std::sync::Arc;

use typeloom_dim::shape::DimVec;
use typeloom_types::lattice::NodeNo;
use typeloom_types::relation::RelationError;

use super::tree::tree_name;
use super::{Port, RuleCx, RuleError};
use crate::elem::{Elem, ElemSet};
use crate::ty::{Clash, Constructor, Head, Ty};

/// The kind of type at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Unknown so far, or an omitted port.
    Unknown,
    /// A sequence.
    Sequence,
    /// An optional.
    Optional,
    /// A tensor, sparse tensor, scalar or map, or another leaf of the type tree.
    Other,
    /// Already in error.
    Error,
}

impl RuleCx<'_, '_> {
    /// The kind of type at a port. The rule runs again when an unknown kind becomes known.
    pub fn kind(&mut self, port: Port) -> Kind {
        let Some(ty) = self.ty(port) else { return Kind::Unknown };
        match self.types().head(ty) {
            Head::Unknown(_) => {
                self.wait_for(ty);
                Kind::Unknown
            }
            Head::Container(Constructor::Sequence, _) => Kind::Sequence,
            Head::Container(Constructor::Optional, _) => Kind::Optional,
            Head::Container(Constructor::Map(_), _)
            | Head::Tensor
            | Head::Sparse
            | Head::Scalar
            | Head::Composite
            | Head::Leaf(_) => Kind::Other,
            Head::Error => Kind::Error,
        }
    }

    /// The element type at a port, or of the tensors in a container. The rule runs again when an unknown one
    /// becomes known.
    pub fn elem(&mut self, port: Port) -> Option<Elem> {
        let ty = self.ty(port)?;
        if let Some(elem) = ty.constant_elem() {
            return Some(elem);
        }
        let inner = self.types().innermost(ty);
        let elem = self.types().elems(inner).and_then(ElemSet::single);
        if elem.is_none() {
            self.wait_for(ty);
        }
        elem
    }

    /// Makes the port a tensor of this element type.
    ///
    /// # Errors
    /// [`RuleError::Element`] when it is something else.
    pub fn set_elem(&mut self, port: Port, elem: Elem) -> Result<(), RuleError> {
        self.set_elems(port, ElemSet::of(elem))
    }

    /// Makes the port a tensor of one of these element types. A sparse tensor or scalar keeps its kind.
    ///
    /// # Errors
    /// [`RuleError::Element`] when it is something else.
    pub fn set_elems(&mut self, port: Port, set: ElemSet) -> Result<(), RuleError> {
        self.trace_fixed(port);
        match self.known_ty(port) {
            None => {
                let ty = self.types().tensor_of(set);
                self.write_ty(port, ty);
                Ok(())
            }
            Some(ty) => {
                let narrowed = self.types().narrow_tensor(ty, set);
                narrowed.map_err(|Clash| RuleError::Element { port, allowed: set })
            }
        }
    }

    /// Unifies the types at two ports, without their shapes (see [`RuleCx::same_shape`]).
    ///
    /// # Errors
    /// [`RuleError::Types`] when the types do not unify.
    pub fn same_type(&mut self, left: Port, right: Port) -> Result<(), RuleError> {
        let (Some(a), Some(b)) = (self.ty(left), self.ty(right)) else { return Ok(()) };
        self.trace_equal(left, right);
        self.types().unify(a, b).map_err(|Clash| RuleError::Types { left, right })
    }

    /// Unifies the element types at two ports. Each port keeps its kind, so a scalar and a tensor can share
    /// an element type.
    ///
    /// # Errors
    /// [`RuleError::Types`] when the element types do not unify.
    pub fn same_elem(&mut self, left: Port, right: Port) -> Result<(), RuleError> {
        let (Some(a), Some(b)) = (self.ty(left), self.ty(right)) else { return Ok(()) };
        self.wait_for(a);
        self.wait_for(b);
        self.unify_element(left, right)
    }

    /// As [`RuleCx::same_elem`] without waiting.
    pub(crate) fn unify_element(&mut self, left: Port, right: Port) -> Result<(), RuleError> {
        let (Some(a), Some(b)) = (self.ty(left), self.ty(right)) else { return Ok(()) };
        self.trace_equal(left, right);
        let types = self.types();
        let (a, b) = (types.innermost(a), types.innermost(b));
        types.unify_element(a, b).map_err(|Clash| RuleError::Types { left, right })
    }

    /// Makes `outer` a sequence of the type at `inner`.
    ///
    /// # Errors
    /// [`RuleError::Kind`] or [`RuleError::Types`] when it cannot be one.
    pub fn sequence_of(&mut self, outer: Port, inner: Port) -> Result<(), RuleError> {
        self.wrap(outer, inner, Constructor::Sequence, "a sequence")
    }

    /// Makes `outer` an optional of the type at `inner`.
    ///
    /// # Errors
    /// [`RuleError::Kind`] or [`RuleError::Types`] when it cannot be one.
    pub fn optional_of(&mut self, outer: Port, inner: Port) -> Result<(), RuleError> {
        self.wrap(outer, inner, Constructor::Optional, "an optional")
    }

    fn wrap(
        &mut self,
        outer: Port,
        inner: Port,
        constructor: Constructor,
        expected: &'static str,
    ) -> Result<(), RuleError> {
        let (Some(a), Some(b)) = (self.ty(outer), self.ty(inner)) else { return Ok(()) };
        let fits = match self.types().head(a) {
            Head::Container(known, _) => known == constructor,
            Head::Unknown(_) | Head::Error => true,
            Head::Tensor | Head::Sparse | Head::Scalar | Head::Composite | Head::Leaf(_) => false,
        };
        if !fits {
            return Err(RuleError::Kind { port: outer, expected });
        }
        self.trace_equal(outer, inner);
        let wrapped = self.types().container(constructor, b);
        self.types().unify(a, wrapped).map_err(|Clash| RuleError::Types { left: outer, right: inner })
    }

    /// Makes a port an optional of a type that the model declares. The declared type may itself be an
    /// optional.
    ///
    /// # Errors
    /// [`RuleError::Kind`] when it cannot be one, [`RuleError::Malformed`] for malformed bytes.
    pub fn set_optional_type(
        &mut self,
        port: Port,
        ty: typeloom_onnx::view::TypeView<'_>,
    ) -> Result<(), RuleError> {
        let read = self.core().read_type(ty)?;
        let Some(inner) = read.ty else { return Ok(()) };
        let is_optional = matches!(self.types().head(inner), Head::Container(Constructor::Optional, _));
        let optional = if is_optional { inner } else { self.types().container(Constructor::Optional, inner) };
        self.set_ty(port, optional, "an optional")?;
        match read.shape {
            Some(shape) => {
                let dims: DimVec = self.core().shapes.get(shape).into();
                self.set_shape(port, &dims)
            }
            None => Ok(()),
        }
    }

    /// Narrows the type at a port to a node of the type tree, given by id; does nothing if the tree does not
    /// have it. `demand` is the message of the error.
    ///
    /// # Errors
    /// [`RuleError::Relation`] when the type is not under the node.
    pub fn refine_to_node(&mut self, port: Port, id: &str, demand: &str) -> Result<(), RuleError> {
        let universe = Arc::clone(self.tables().types.universe());
        let Some(node) = universe.lattice().lookup(id) else { return Ok(()) };
        let Err(Clash) = self.narrow_to_node(port, node.no) else { return Ok(()) };
        Err(RuleError::Relation(Box::new(self.not_under(port, id, demand.to_owned()))))
    }

    /// Narrows the type at a port to a node of the type tree.
    pub(crate) fn narrow_to_node(&mut self, port: Port, node: NodeNo) -> Result<(), Clash> {
        let Some(ty) = self.ty(port) else { return Ok(()) };
        // An abstract node does not determine the type, so it is not recorded as its cause.
        if self.tables().types.universe().lattice().node(node).is_some_and(|node| node.is_concrete()) {
            self.trace_fixed(port);
        }
        self.types().narrow_to_node(ty, node)
    }

    /// The error of a port whose type is not under the node `expected` of the type tree.
    pub(crate) fn not_under(&mut self, port: Port, expected: &str, message: String) -> RelationError {
        let found = self.snapshot(port);
        RelationError::new(
            message,
            port.to_ref(),
            expected,
            tree_name(&found, self.tables().types.universe()),
        )
    }

    /// Unifies the type at a port with `ty`.
    ///
    /// # Errors
    /// [`RuleError::Kind`] with `expected` when they do not unify.
    pub fn set_ty(&mut self, port: Port, ty: Ty, expected: &'static str) -> Result<(), RuleError> {
        self.trace_fixed(port);
        match self.known_ty(port) {
            None => {
                self.write_ty(port, ty);
                Ok(())
            }
            Some(known) => self.types().unify(known, ty).map_err(|Clash| RuleError::Kind { port, expected }),
        }
    }
}
