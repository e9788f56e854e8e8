//! Shapes of the children of composites.
//!
//! A slot has the shape of a tensor. The shapes inside a composite are stored here, by value, so that
//! programs without composites do not pay for them. They flow from a bundle to its readers only, also through
//! calls: an unknown shape is always right.

use std::collections::BTreeMap;
use std::sync::Arc;

use typeloom_dim::shape::ShapeId;

/// The known shapes of the children of a composite. Clones share them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts(Arc<BTreeMap<Arc<str>, Part>>);

/// The shapes in one child.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// The shape of a tensor, or of the tensors in a container.
    pub(crate) shape: Option<ShapeId>,
    /// The shapes inside a child that is a composite.
    pub(crate) parts: Option<Parts>,
}

impl Part {
    fn is_known(&self) -> bool {
        self.shape.is_some() || self.parts.is_some()
    }
}

impl Parts {
    /// The known parts of a composite; `None` if there are none.
    pub(crate) fn of(parts: impl IntoIterator<Item = (Arc<str>, Part)>) -> Option<Self> {
        let known: BTreeMap<_, _> = parts.into_iter().filter(|(_, part)| part.is_known()).collect();
        (!known.is_empty()).then(|| Self(Arc::new(known)))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Part> {
        self.0.get(name)
    }

    /// The same children with other shapes. The depth of composites is bounded.
    pub(crate) fn map_shapes(&self, map: &mut dyn FnMut(ShapeId) -> ShapeId) -> Self {
        let part = |(name, part): (&Arc<str>, &Part)| {
            let shape = part.shape.map(&mut *map);
            (Arc::clone(name), Part { shape, parts: part.parts.as_ref().map(|parts| parts.map_shapes(map)) })
        };
        Self(Arc::new(self.0.iter().map(part).collect()))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Part)> {
        self.0.iter()
    }
}
