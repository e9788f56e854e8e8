//! The interface between a custom relation and the node it is applied to.
//!
//! The solver implements [`PortAccess`] for one node. A relation receives it as [`CustomRelationCtx`], which
//! adds derived operations.
//!
//! Relations that narrow ports and relations that only read borrow the context as shared. The reason is that
//! [`TypeRelation::Custom`](super::TypeRelation::Custom) has one function type, and Rust does not convert
//! between functions with a parameter `&T` and functions with `&mut T`. The context has interior mutability.
//!
//! Types are nodes of one lattice. An abstract node is an upper bound of the type. The root is the bound of
//! an unknown type. An extent is a number or unknown (`None`). A relation sees a symbolic dim as unknown, and
//! narrowing to `None` leaves an extent unchanged. [`PortAccess::copy_extents`] passes symbolic dims from one
//! port to another.
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
/// successful `narrow(port, node)`, `bound(port)` is a subtype of `node` and of its previous value, and
/// repeating the call returns `Ok(false)`. Narrowing of shapes has the same properties.
pub trait PortAccess {
    /// The lattice to which the node numbers belong.
    fn lattice(&self) -> &Lattice;

    /// Number of inputs, including omitted ones before the last.
    fn input_count(&self) -> usize;

    /// Number of outputs, including omitted ones before the last.
    fn output_count(&self) -> usize;

    /// The least known upper bound of the port's type.
    fn bound(&self, port: PortRef) -> Option<NodeNo>;

    /// Narrows the port's type to the meet with `node`; returns whether the type changed.
    ///
    /// # Errors
    /// If the meet does not exist.
    fn narrow(&self, port: PortRef, node: NodeNo) -> Result<bool, RelationError>;

    /// The shape of the port; `None` if its rank is unknown.
    fn shape(&self, port: PortRef) -> Option<KnownExtents>;

    /// Narrows the port's shape to the rank and the known extents of `dims`; returns whether it changed.
    ///
    /// # Errors
    /// If the rank or an extent contradicts a known one.
    fn refine_shape(&self, port: PortRef, dims: &[Option<u64>]) -> Result<bool, RelationError>;

    /// Narrows the shape of `port`. Its rank becomes the length of `from`. If the entry of an axis is
    /// `Some((other, at))`, the axis gets the extent of axis `at` of port `other`, even if that extent is
    /// symbolic. Returns whether the shape changed.
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

    /// The integers of the port in row-major order, if they are known before the run.
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

    /// Narrows all ports to a signature. The attributes `params` and `results` are lists of the types of
    /// inputs and outputs, and symbols in them are instantiated for this node. Errors take the names of ports
    /// from the attributes `<params>_names` and `<results>_names`, if the node has them. Returns whether a
    /// port changed.
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

    /// Proposes a type for the port. The type applies if the port reads an input of the model whose type
    /// nothing else determines.
    fn fall_back(&self, _port: PortRef, _node: NodeNo) {}

    /// Narrows the type at `composite` to a composite with exactly these children: the name of a child, and
    /// the port with its value. Returns whether a port changed.
    ///
    /// # Errors
    /// If a type contradicts this composite.
    fn bundle(&self, _composite: PortRef, _children: &[(&str, PortRef)]) -> Result<bool, RelationError> {
        Ok(false)
    }

    /// Relates ports to children of the composite at `composite`: each port has the type of the child with
    /// this name. The composite can have further children. Returns whether a port changed.
    ///
    /// # Errors
    /// If the composite has no child with a name, or the child has another type.
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

    /// The node of [`bound`](PortAccess::bound), with its id and kind.
    #[must_use]
    pub fn bound_node(&self, port: PortRef) -> Option<NodeRef<'_>> {
        self.lattice().node(self.bound(port)?)
    }

    /// Whether the port's type is known to be one concrete leaf.
    #[must_use]
    pub fn is_resolved(&self, port: PortRef) -> bool {
        self.bound_node(port).is_some_and(|node| node.is_concrete())
    }

    /// Narrows the type of one port to the meet with a node; returns whether the type changed. The node is
    /// given by its number, static or id.
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

    /// Narrows the types of ports to a node. The relation is satisfied when all ports have concrete types.
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
