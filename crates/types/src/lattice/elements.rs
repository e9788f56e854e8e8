//! Element types of the leaves below `tensor` and `scalar`.
//!
//! `tensor.f32` and `scalar.f32` have the element type of ONNX that their ids name. Other leaves have element
//! types of their own, which have names: the *name* is the id without `tensor.` or `scalar.`. A leaf for
//! tensors and a leaf for scalars of one name share their element type. If the name is that of an element type
//! of ONNX or of an earlier leaf of the kind, it gets the prefix of the kind.
//!
//! **Invariant:** two leaves of one kind never share an element type.

use std::collections::BTreeSet;

use super::{Lattice, NodeNo};
use crate::dtype::Dtype;
use crate::tree::builtin::{TYPE_SCALAR, TYPE_TENSOR};

/// The element type of a leaf for tensors or scalars.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LeafElement {
    /// An element type of ONNX.
    Onnx(Dtype),
    /// Another one, by its name.
    Custom(Box<str>),
}

impl LeafElement {
    /// The name: for an element type of ONNX, ONNX's.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Onnx(dtype) => dtype.onnx_name(),
            Self::Custom(name) => name,
        }
    }
}

impl Lattice {
    /// The element type of a leaf; `None` for a leaf that is neither below `tensor` nor below `scalar`, and
    /// for an abstract node.
    ///
    /// ```
    /// use typeloom_types::lattice::Lattice;
    /// use typeloom_types::lattice::build::NodeSpec;
    ///
    /// let lattice = Lattice::builder().with_registered();
    /// let lattice = lattice.with_spec(NodeSpec::concrete("tensor.lns16", "tensor")).build()?;
    /// let name = |id: &str| Some(lattice.element_of(lattice.number_of(id)?)?.name());
    /// assert_eq!(name("tensor.f32"), Some("float"));
    /// assert_eq!(name("tensor.lns16"), Some("lns16"));
    /// assert_eq!(name("peer_id"), None);
    /// # Ok::<(), typeloom_types::lattice::error::LatticeError>(())
    /// ```
    #[must_use]
    pub fn element_of(&self, leaf: NodeNo) -> Option<&LeafElement> {
        let at = self.elements.binary_search_by_key(&leaf, |(own, _)| *own).ok()?;
        Some(&self.elements[at].1)
    }
}

/// The element types of all leaves of a lattice, sorted by leaf.
pub(super) fn elements(lattice: &Lattice) -> Box<[(NodeNo, LeafElement)]> {
    let mut elements = Vec::new();
    for (root, prefix) in [(TYPE_TENSOR.id, "tensor."), (TYPE_SCALAR.id, "scalar.")] {
        let Some(root) = lattice.number_of(root) else { continue };
        let mut taken = BTreeSet::new();
        for leaf in lattice.leaves_under(root).iter().filter_map(|leaf| lattice.node(*leaf)) {
            let name = leaf.id.strip_prefix(prefix);
            if let Some(dtype) = name.and_then(Dtype::from_name) {
                elements.push((leaf.no, LeafElement::Onnx(dtype)));
                continue;
            }
            let mut name = name.unwrap_or(leaf.id).to_owned();
            while name.parse::<Dtype>().is_ok() || taken.contains(&name) {
                name.insert_str(0, prefix);
            }
            elements.push((leaf.no, LeafElement::Custom(name.as_str().into())));
            taken.insert(name);
        }
    }
    elements.sort_by_key(|(leaf, _)| *leaf);
    elements.into()
}
