//! The interface between a custom relation and the node it is applied to.
//!
//! The solver implements [`PortAccess`] for one node. A relation receives it as [`CustomRelationCtx`], which
//! adds derived operations.
//!
//! A rule borrows the context as shared, whether it only reads or also narrows: the field of a relation has
//! one function type, and Rust converts a function with a parameter `&T` to a pointer to one with `&mut T`,
//! or the reverse, in no place. The context tracks what narrows.
//!
//! Types are nodes of one lattice: an abstract node is an upper bound, the root means unknown. An extent is a
//! number or unknown (`None`). A relation sees a symbolic dim as unknown, and narrowing to `None` leaves an
//! extent unchanged. [`PortAccess::copy_extents`] passes symbolic dims from one port to another.
//!
//! Example of [`CustomRelationCtx`]:
//!
//! ```
//! use typeloom_types::relation::custom::CustomRelationCtx;
//! use typeloom_types::relation::{PortRef, RelationResult, TypeRelation};
//!
//! /// The output is of the first input's type, unless the attribute `boolean` is set.
//! fn like_or_bool(cx: &CustomRelationCtx<'_>) -> RelationResult {
//!     if cx.attr_int("boolean") == Some(1) {
//!         cx.narrow_all(&[PortRef::Output(0)], "tensor.bool")
//!     } else {
//!         cx.unify(&[PortRef::Input(0), PortRef::Output(0)])
//!     }
//! }
//!
//! const LIKE_OR_BOOL: &[TypeRelation] = &[TypeRelation::Custom { name: "like.or-bool", run: like_or_bool }];
//! assert_eq!(LIKE_OR_BOOL[0].name(), "like.or-bool");
//! ```

use super::{PortRef, Progress, RelationError, RelationResult};
use crate::lattice::{Lattice, NodeKey, NodeNo, NodeRef};

/// The extents of a shape; `None` for an unknown extent.
pub type KnownExtents = Vec<Option<u64>>;

/// The ports, attributes and constants of one node.
///
/// **Laws.** Arguments are single ports ([`PortRef::Input`], [`PortRef::Output`]). For a missing or omitted
/// port and for a variadic reference, reads return `None` and narrowing returns `Ok(false)`. After a
/// successful `narrow(port, node)`, `bound(port)` is a subtype of `node` and of its previous value, and the
/// same call returns `Ok(false)`. The same holds for shapes.
pub trait PortAccess {
    /// The lattice of all node numbers.
    fn lattice(&self) -> &Lattice;

    /// Number of inputs, including omitted ones before the last.
    fn input_count(&self) -> usize;

    /// Number of outputs, including omitted ones before the last.
    fn output_count(&self) -> usize;

    /// The least known upper bound of the port's type.
    fn bound(&self, port: PortRef) -> Option<NodeNo>;

    /// Narrows the port's type to the meet with `node`; returns whether it changed.
    ///
    /// # Errors
    /// If the meet does not exist.
    fn narrow(&self, port: PortRef, node: NodeNo) -> Result<bool, RelationError>;

    /// The shape of the port; `None` if its rank is unknown.
    fn shape(&self, port: PortRef) -> Option<KnownExtents>;

    /// Narrows the port's shape to this rank and these extents; returns whether it changed.
    ///
    /// # Errors
    /// If the rank or an extent contradicts a known one.
    fn refine_shape(&self, port: PortRef, dims: &[Option<u64>]) -> Result<bool, RelationError>;

    /// Narrows the shape of `port` to as many axes as `from` has entries; an axis with an entry has the
    /// extent of that axis of that port, also if it is symbolic. Returns whether it changed.
    ///
    /// # Errors
    /// If the rank or an extent contradicts a known one.
    fn copy_extents(
        &self,
        _port: PortRef,
        _from: &[Option<(PortRef, usize)>],
    ) -> Result<bool, RelationError> {
        Ok(false)
    }

    /// An integer attribute.
    fn attr_int(&self, name: &str) -> Option<i64>;

    /// An attribute that is a list of integers.
    fn attr_ints(&self, name: &str) -> Option<Vec<i64>>;

    /// A floating-point attribute.
    fn attr_float(&self, name: &str) -> Option<f32>;

    /// A string attribute.
    fn attr_str(&self, name: &str) -> Option<&str>;

    /// The integers that the port is known to have at run time, in row-major order.
    fn constant_ints(&self, port: PortRef) -> Option<Vec<i64>>;

    /// An attribute that is a list of floating-point numbers.
    fn attr_floats(&self, _name: &str) -> Option<Vec<f32>> {
        None
    }

    /// An attribute that is a list of strings.
    fn attr_strs(&self, _name: &str) -> Option<Vec<&str>> {
        None
    }

    /// The value of a metadata key of the node.
    fn metadata(&self, _key: &str) -> Option<&str> {
        None
    }

    /// Narrows all ports to a signature: the lists of types in the attributes `params` and `results`, with
    /// symbols instantiated for this node. Returns whether a port changed. Errors name ports by the lists of
    /// strings in the attributes `<params>_names` and `<results>_names`, if the node has them.
    ///
    /// # Errors
    /// If a port cannot have its type.
    fn instantiate(&self, _params: &str, _results: &str) -> Result<bool, RelationError> {
        Ok(false)
    }

    /// Unifies the type of the port with the type variable `name`, which all nodes of the graph share;
    /// returns whether the port was narrowed.
    ///
    /// # Errors
    /// If the types do not unify.
    fn share(&self, _port: PortRef, _name: &str) -> Result<bool, RelationError> {
        Ok(false)
    }

    /// Proposes a type for the port. If the port is an input of the model and nothing else determines its
    /// type, it has the proposed one.
    fn fall_back(&self, _port: PortRef, _node: NodeNo) {}

    /// Makes the type at `composite` the composite of the named values at these ports, and of no others.
    /// Returns whether a port changed.
    ///
    /// # Errors
    /// If a type cannot be the one that the relation needs.
    fn bundle(&self, _composite: PortRef, _children: &[(&str, PortRef)]) -> Result<bool, RelationError> {
        Ok(false)
    }

    /// Relates the values at these ports to the children of these names of the composite at `composite`,
    /// which can have further children. Returns whether a port changed.
    ///
    /// # Errors
    /// If the composite has no child of a name, or one of another type.
    fn unbundle(&self, _composite: PortRef, _children: &[(&str, PortRef)]) -> Result<bool, RelationError> {
        Ok(false)
    }

    /// Type node and shape of a tensor attribute, dense or sparse.
    fn attr_tensor(&self, _name: &str) -> Option<(NodeNo, KnownExtents)> {
        None
    }
}

/// The node that a custom relation is applied to.
pub type CustomRelationCtx<'a> = dyn PortAccess + 'a;

impl CustomRelationCtx<'_> {
    /// Expands a variadic reference into the single ports of this node.
    pub fn ports(&self, port: PortRef) -> impl Iterator<Item = PortRef> + use<> {
        port.expand(self.input_count(), self.output_count())
    }

    /// As [`bound`](PortAccess::bound), with id and kind.
    #[must_use]
    pub fn bound_node(&self, port: PortRef) -> Option<NodeRef<'_>> {
        self.lattice().node(self.bound(port)?)
    }

    /// Whether the port's type is known to be one concrete leaf.
    #[must_use]
    pub fn is_resolved(&self, port: PortRef) -> bool {
        self.bound_node(port).is_some_and(|node| node.is_concrete())
    }

    /// Narrows the type of one port to the meet with a node, named by number, static or id; returns whether
    /// it changed.
    ///
    /// # Errors
    /// If the meet does not exist, or the lattice does not have the node.
    pub fn refine<K: NodeKey>(&self, port: PortRef, node: K) -> Result<bool, RelationError> {
        match self.lattice().number_of(node) {
            Some(no) => self.narrow(port, no),
            None => {
                let message = "a type that the lattice does not have";
                Err(RelationError::new(message, [port], "a type of the lattice", node.label()))
            }
        }
    }

    /// Narrows the types of ports to a node. The relation is satisfied once all are concrete.
    pub fn narrow_all<K: NodeKey>(&self, ports: &[PortRef], node: K) -> RelationResult {
        self.try_narrow_all(ports, node).into()
    }

    fn try_narrow_all<K: NodeKey>(&self, ports: &[PortRef], node: K) -> Result<Progress, RelationError> {
        let mut progress = Progress { narrowed: false, complete: true };
        for port in self.present(ports) {
            progress.narrowed |= self.refine(port, node)?;
            progress.complete &= self.is_resolved(port);
        }
        Ok(progress)
    }

    /// Narrows the types of ports to the meet of their bounds. Does not change shapes.
    pub fn unify(&self, ports: &[PortRef]) -> RelationResult {
        self.try_unify(ports).into()
    }

    fn try_unify(&self, ports: &[PortRef]) -> Result<Progress, RelationError> {
        let ports = self.present(ports);
        let mut meet: Option<(PortRef, NodeNo)> = None;
        for port in &ports {
            let Some(bound) = self.bound(*port) else { continue };
            meet = match meet {
                None => Some((*port, bound)),
                Some((from, known)) => match self.lattice().meet(known, bound) {
                    Some(both) if both == known => Some((from, known)),
                    Some(both) => Some((*port, both)),
                    None => return Err(self.disagreement((from, known), (*port, bound))),
                },
            };
        }
        match meet {
            Some((_, meet)) => self.try_narrow_all(&ports, meet),
            None => Ok(Progress { narrowed: false, complete: true }),
        }
    }

    fn disagreement(&self, one: (PortRef, NodeNo), other: (PortRef, NodeNo)) -> RelationError {
        let id = |no| self.lattice().node(no).map_or_else(String::new, |node| node.id.to_owned());
        let message = format!("{} and {} must have one type", one.0, other.0);
        RelationError::new(message, [one.0, other.0], id(one.1), id(other.1))
    }

    /// Expands `ports` and drops omitted ones.
    fn present(&self, ports: &[PortRef]) -> Vec<PortRef> {
        let single = ports.iter().flat_map(|port| self.ports(*port));
        single.filter(|port| self.bound(*port).is_some()).collect()
    }
}
