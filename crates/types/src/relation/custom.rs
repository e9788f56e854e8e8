//! What a custom relation sees of the node it runs on.
//!
//! Whoever runs relations implements [`PortAccess`] for one node; the relation gets a
//! [`CustomRelationCtx`] around it, which adds what can be written in terms of the trait.
//!
//! Types are nodes of one lattice, as far as they are known: an abstract node is a bound, the root
//! is "unknown". Extents are known numbers or unknown (`None`); symbols and the expressions that the solver
//! keeps for them do not pass through here, and what a relation does not know it does not narrow.

use super::{PortRef, Progress, RelationFailure, RelationResult};
use crate::lattice::{Lattice, NodeKey, NodeNo, NodeRef};

/// The extents of a shape, where they are known.
pub type Dims = Vec<Option<u64>>;

/// The ports, attributes and constants of one node.
///
/// **Laws.** Ports are single ones ([`PortRef::Input`], [`PortRef::Output`]); for a port that does
/// not exist or is left out, and for a variadic rest, what is read is `None` and narrowing is
/// `Ok(false)`. After `refine(port, node)` succeeded, `bound(port)` is under `node`, and under what
/// it was before; the same call again returns `Ok(false)`. Likewise for shapes.
pub trait PortAccess {
    /// The lattice that nodes are numbers of.
    fn lattice(&self) -> &Lattice;

    /// How many inputs the node has, left-out ones in the middle included.
    fn input_count(&self) -> usize;

    /// How many outputs the node has, left-out ones in the middle included.
    fn output_count(&self) -> usize;

    /// The most specific node that the port is known to be under.
    fn bound(&self, port: PortRef) -> Option<NodeNo>;

    /// Narrows the port to be under `node` as well; true if that is news.
    ///
    /// # Errors
    /// Where nothing is under both.
    fn refine(&mut self, port: PortRef, node: NodeNo) -> Result<bool, RelationFailure>;

    /// The shape of the port, where its rank is known.
    fn shape(&self, port: PortRef) -> Option<Dims>;

    /// Narrows the port's shape to this rank and these extents; true if that is news.
    ///
    /// # Errors
    /// Where rank or an extent is known to be another.
    fn refine_shape(&mut self, port: PortRef, dims: &[Option<u64>]) -> Result<bool, RelationFailure>;

    /// An integer attribute.
    fn attr_int(&self, name: &str) -> Option<i64>;

    /// An attribute that is a list of integers.
    fn attr_ints(&self, name: &str) -> Option<Vec<i64>>;

    /// A floating-point attribute.
    fn attr_float(&self, name: &str) -> Option<f32>;

    /// A string attribute.
    fn attr_str(&self, name: &str) -> Option<&str>;

    /// The integers that the port is known to hold at run time, in row-major order.
    fn constant_ints(&self, port: PortRef) -> Option<Vec<i64>>;

    /// An attribute that is a list of floating-point numbers.
    fn attr_floats(&self, name: &str) -> Option<Vec<f32>> {
        let _ = name;
        None
    }

    /// An attribute that is a list of strings.
    fn attr_strs(&self, name: &str) -> Option<Vec<&str>> {
        let _ = name;
        None
    }

    /// What the node's metadata says under a key.
    fn metadata(&self, key: &str) -> Option<&str> {
        let _ = key;
        None
    }

    /// Narrows all ports to a signature: the lists of types in the attributes `params` and `results`, whose
    /// symbols stand for what they are at this node. True if that is news.
    ///
    /// # Errors
    /// Where a port cannot have its type.
    fn instantiate(&mut self, params: &str, results: &str) -> Result<bool, RelationFailure> {
        let _ = (params, results);
        Ok(false)
    }

    /// The type and shape of an attribute that is a tensor, sparse or not.
    fn attr_tensor(&self, name: &str) -> Option<(NodeNo, Dims)> {
        let _ = name;
        None
    }
}

/// The node that a custom relation runs on.
///
/// ```
/// use typeloom_types::relation::custom::CustomRelationCtx;
/// use typeloom_types::relation::{PortRef, RelationResult, TypeRelation};
///
/// /// The output is of the first input's type, unless the attribute `boolean` is set.
/// fn like_or_bool(cx: &mut CustomRelationCtx<'_>) -> RelationResult {
///     if cx.attr_int("boolean") == Some(1) {
///         cx.narrow_all(&[PortRef::Output(0)], "tensor.bool")
///     } else {
///         cx.unify(&[PortRef::Input(0), PortRef::Output(0)])
///     }
/// }
///
/// const LIKE_OR_BOOL: &[TypeRelation] = &[TypeRelation::Custom { name: "like.or-bool", run: like_or_bool }];
/// assert_eq!(LIKE_OR_BOOL[0].name(), "like.or-bool");
/// ```
pub struct CustomRelationCtx<'a> {
    access: &'a mut dyn PortAccess,
}

impl<'a> CustomRelationCtx<'a> {
    /// The context around one node.
    pub fn new(access: &'a mut dyn PortAccess) -> Self {
        Self { access }
    }

    /// The lattice that nodes are numbers of.
    #[must_use]
    pub fn lattice(&self) -> &Lattice {
        self.access.lattice()
    }

    /// How many inputs the node has.
    #[must_use]
    pub fn input_count(&self) -> usize {
        self.access.input_count()
    }

    /// How many outputs the node has.
    #[must_use]
    pub fn output_count(&self) -> usize {
        self.access.output_count()
    }

    /// The single ports that `port` stands for on this node: a variadic rest is expanded.
    pub fn ports(&self, port: PortRef) -> impl Iterator<Item = PortRef> + use<> {
        let (range, make): (_, fn(usize) -> PortRef) = match port {
            PortRef::Input(at) => (at..at.saturating_add(1), PortRef::Input),
            PortRef::Output(at) => (at..at.saturating_add(1), PortRef::Output),
            PortRef::InputsFrom(at) => (at..self.input_count(), PortRef::Input),
            PortRef::OutputsFrom(at) => (at..self.output_count(), PortRef::Output),
        };
        range.map(make)
    }

    /// The most specific node that the port is known to be under; nothing if it is left out.
    #[must_use]
    pub fn bound(&self, port: PortRef) -> Option<NodeNo> {
        self.access.bound(port)
    }

    /// As [`bound`](Self::bound), with id and kind.
    #[must_use]
    pub fn bound_node(&self, port: PortRef) -> Option<NodeRef<'_>> {
        self.lattice().node(self.bound(port)?)
    }

    /// Whether the port is known to have one concrete type.
    #[must_use]
    pub fn is_resolved(&self, port: PortRef) -> bool {
        self.bound_node(port).is_some_and(|node| node.is_concrete())
    }

    /// Narrows one port to be under a node, which is given by number, static or id; true if that is
    /// news.
    ///
    /// # Errors
    /// Where nothing is under both, or the lattice does not have the node.
    pub fn refine<K: NodeKey>(&mut self, port: PortRef, node: K) -> Result<bool, RelationFailure> {
        match self.lattice().number_of(node) {
            Some(no) => self.access.refine(port, no),
            None => Err(RelationFailure {
                message: "a type that the lattice does not have".into(),
                ports: vec![port],
                expected: "a type of the lattice".into(),
                found: node.label(),
            }),
        }
    }

    /// Narrows ports to be under a node. Satisfied once all of them are concrete.
    pub fn narrow_all<K: NodeKey>(&mut self, ports: &[PortRef], node: K) -> RelationResult {
        self.try_narrow_all(ports, node).into()
    }

    fn try_narrow_all<K: NodeKey>(
        &mut self,
        ports: &[PortRef],
        node: K,
    ) -> Result<Progress, RelationFailure> {
        let mut progress = Progress { narrowed: false, complete: true };
        for port in self.present(ports) {
            progress.narrowed |= self.refine(port, node)?;
            progress.complete &= self.is_resolved(port);
        }
        Ok(progress)
    }

    /// Narrows ports to one type: the meet of what is known of each. Shapes are left alone.
    pub fn unify(&mut self, ports: &[PortRef]) -> RelationResult {
        self.try_unify(ports).into()
    }

    fn try_unify(&mut self, ports: &[PortRef]) -> Result<Progress, RelationFailure> {
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

    fn disagreement(&self, one: (PortRef, NodeNo), other: (PortRef, NodeNo)) -> RelationFailure {
        let id = |no| self.lattice().node(no).map_or_else(String::new, |node| node.id.to_owned());
        RelationFailure {
            message: format!("{} and {} have one type", one.0, other.0),
            ports: vec![one.0, other.0],
            expected: id(one.1),
            found: id(other.1),
        }
    }

    /// The single ports behind `ports` that the node has.
    fn present(&self, ports: &[PortRef]) -> Vec<PortRef> {
        let single = ports.iter().flat_map(|port| self.ports(*port));
        single.filter(|port| self.bound(*port).is_some()).collect()
    }

    /// The shape of the port, where its rank is known.
    #[must_use]
    pub fn shape(&self, port: PortRef) -> Option<Dims> {
        self.access.shape(port)
    }

    /// Narrows the port's shape to this rank and these extents; true if that is news.
    ///
    /// # Errors
    /// Where rank or an extent is known to be another.
    pub fn refine_shape(&mut self, port: PortRef, dims: &[Option<u64>]) -> Result<bool, RelationFailure> {
        self.access.refine_shape(port, dims)
    }

    /// An integer attribute.
    #[must_use]
    pub fn attr_int(&self, name: &str) -> Option<i64> {
        self.access.attr_int(name)
    }

    /// An attribute that is a list of integers.
    #[must_use]
    pub fn attr_ints(&self, name: &str) -> Option<Vec<i64>> {
        self.access.attr_ints(name)
    }

    /// A floating-point attribute.
    #[must_use]
    pub fn attr_float(&self, name: &str) -> Option<f32> {
        self.access.attr_float(name)
    }

    /// An attribute that is a list of floating-point numbers.
    #[must_use]
    pub fn attr_floats(&self, name: &str) -> Option<Vec<f32>> {
        self.access.attr_floats(name)
    }

    /// A string attribute.
    #[must_use]
    pub fn attr_str(&self, name: &str) -> Option<&str> {
        self.access.attr_str(name)
    }

    /// An attribute that is a list of strings.
    #[must_use]
    pub fn attr_strs(&self, name: &str) -> Option<Vec<&str>> {
        self.access.attr_strs(name)
    }

    /// The type and shape of an attribute that is a tensor.
    #[must_use]
    pub fn attr_tensor(&self, name: &str) -> Option<(NodeNo, Dims)> {
        self.access.attr_tensor(name)
    }

    /// What the node's metadata says under a key.
    #[must_use]
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.access.metadata(key)
    }

    /// Narrows all ports to a signature: the lists of types in the attributes `params` and `results`, whose
    /// symbols stand for what they are at this node. True if that is news.
    ///
    /// # Errors
    /// Where a port cannot have its type.
    pub fn instantiate(&mut self, params: &str, results: &str) -> Result<bool, RelationFailure> {
        self.access.instantiate(params, results)
    }

    /// The integers that the port is known to hold at run time, in row-major order.
    #[must_use]
    pub fn constant_ints(&self, port: PortRef) -> Option<Vec<i64>> {
        self.access.constant_ints(port)
    }
}
