//! Solved types by name.

use std::sync::Arc;

use typeloom_dim::{DimId, Dims};
use typeloom_types::lattice::{Lattice, NodeNo, NodeRef};
use typeloom_types::tree::TypeNode;

use crate::map::Map;
use crate::model::Checked;
use crate::rule::tree::node_of;
use crate::solution::Type;
use crate::ty::Head;
use crate::universe::Universe;

/// The types of a graph's values.
///
/// Contains every value of the outermost graph in the order inputs, initializers, node outputs.
#[derive(Clone)]
pub struct TypeSolution {
    pub(super) universe: Arc<Universe>,
    dims: Dims,
    values: Vec<SolvedValue>,
    by_name: Map<String, usize>,
}

/// A value and its known type.
#[derive(Clone, Debug, PartialEq)]
pub struct SolvedValue {
    pub name: String,
    /// The known part of its type and shape; dims are those of [`TypeSolution::dims`].
    pub ty: Type,
    /// The lowest node of the tree above its type; the root for types outside of the tree.
    pub bound: NodeNo,
    /// Whether its kind (tensor or scalar) is assumed, because related values have this kind. Its element
    /// type is proved. A seed can make an assumed tensor a scalar.
    pub assumed: bool,
}

impl SolvedValue {
    /// Whether its type is known down to one leaf.
    #[must_use]
    pub fn is_resolved(&self) -> bool {
        self.ty.is_concrete()
    }
}

impl TypeSolution {
    pub(super) fn new(checked: Checked<'_>) -> Self {
        let Checked { mut core, frame, .. } = checked;
        let body = Arc::clone(&frame.body);
        let root = body.root();
        let mut values = Vec::with_capacity(body.values.len());
        for value in body.values().filter(|value| body.value(*value).graph == root) {
            let slot = frame.slots[value.index()];
            let bound = match slot.ty {
                Some(ty) => node_of(&mut core.types, ty),
                None => core.types.universe().lattice().root(),
            };
            let assumed = frame.rare.assumed.binary_search(&value).is_ok()
                && slot.ty.is_some_and(|ty| !matches!(core.types.head(ty), Head::Unknown(_)));
            let ty = core.snapshot(&frame, value);
            values.push(SolvedValue { name: body.value_name(value).to_owned(), ty, bound, assumed });
        }
        let by_name = values.iter().enumerate().map(|(at, value)| (value.name.clone(), at)).collect();
        Self { universe: Arc::clone(core.types.universe()), dims: *core.dims, values, by_name }
    }

    /// The concrete node of a value's type; `None` if the type is unresolved or has no node (sequences,
    /// optionals, maps, sparse tensors), or if the node has no static: [`node_of`](Self::node_of) returns
    /// nodes that are declared at run time too.
    #[must_use]
    pub fn type_of(&self, name: &str) -> Option<&'static TypeNode> {
        self.node_of(name)?.as_static()
    }

    /// The concrete node of a value's type, in the lattice of the solution.
    #[must_use]
    pub fn node_of(&self, name: &str) -> Option<NodeRef<'_>> {
        self.leaf(self.get(name)?)
    }

    /// The resolved values with their concrete nodes, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, NodeRef<'_>)> {
        self.values.iter().filter_map(|value| Some((value.name.as_str(), self.leaf(value)?)))
    }

    /// The unresolved values, each with the lowest known bound of its type.
    pub fn unresolved(&self) -> impl Iterator<Item = (&str, NodeRef<'_>)> {
        let open = self.values.iter().filter(|value| !value.is_resolved());
        open.filter_map(|value| Some((value.name.as_str(), self.lattice().node(value.bound)?)))
    }

    /// The lowest known bound of a value's type.
    #[must_use]
    pub fn bound_of(&self, name: &str) -> Option<NodeRef<'_>> {
        self.lattice().node(self.get(name)?.bound)
    }

    /// The dims of a value, if its rank is known.
    #[must_use]
    pub fn shape_of(&self, name: &str) -> Option<&[DimId]> {
        self.get(name)?.ty.tensor()?.shape.as_deref()
    }

    /// The solved value of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&SolvedValue> {
        self.values.get(*self.by_name.get(name)?)
    }

    /// Every value, in order.
    #[must_use]
    pub fn values(&self) -> &[SolvedValue] {
        &self.values
    }

    /// A value's type in ONNX notation (`float[batch, 3]`).
    #[must_use]
    pub fn display(&self, name: &str) -> Option<String> {
        Some(self.get(name)?.ty.display(&self.universe, &self.dims).to_string())
    }

    /// The arena of the dims in shapes.
    #[must_use]
    pub fn dims(&self) -> &Dims {
        &self.dims
    }

    /// The lattice of the nodes.
    #[must_use]
    pub fn lattice(&self) -> &Lattice {
        self.universe.lattice()
    }

    fn leaf(&self, value: &SolvedValue) -> Option<NodeRef<'_>> {
        self.lattice().node(value.bound).filter(|node| node.is_concrete() && value.is_resolved())
    }
}

impl std::fmt::Debug for TypeSolution {
    /// Every value with its type.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = self
            .values
            .iter()
            .map(|value| (&value.name, value.ty.display(&self.universe, &self.dims).to_string()));
        f.debug_map().entries(shown).finish()
    }
}
