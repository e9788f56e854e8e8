//! Conversion of solved types to value types.

use std::collections::HashMap;
use std::sync::Arc;

use typeloom_dim::{DimId, Dims};
use typeloom_tensor::value_type::{Composite, Dim, Element, ValueType};
use typeloom_types::dtype::Dtype;
use typeloom_types::lattice::NodeNo;
use typeloom_types::tree::TypeNode;

use super::Type;
use crate::elem::{Elem, ElemSet};
use crate::ty::Constructor;
use crate::universe::Universe;

#[cfg(test)]
mod tests;

/// Converts the types of one solve; equal shapes and dims share memory.
#[derive(Clone, Debug, Default)]
pub struct Converter {
    shapes: HashMap<Box<[DimId]>, Arc<[Dim]>, foldhash::fast::RandomState>,
    dims: HashMap<DimId, Dim, foldhash::fast::RandomState>,
}

impl Converter {
    /// The value type of a solved type. `universe` and `dims` are those of the solve, the same at each call.
    pub fn convert(&mut self, ty: &Type, universe: &Universe, dims: &Dims) -> ValueType {
        let (constructors, inner) = ty.split();
        let node = |node: Option<NodeNo>| static_node(universe, node?);
        let inner = match inner {
            Type::Unknown(None) | Type::Error => ValueType::default(),
            Type::Unknown(Some(bound)) | Type::Leaf(bound) => {
                node(Some(*bound)).map(ValueType::of_node).unwrap_or_default()
            }
            Type::Scalar(set) => {
                let number =
                    set.single().map_or_else(|| universe.scalar_bound(*set), |it| universe.scalar_leaf(it));
                ValueType { node: node(number), element: Element::Scalar(dtype(*set)), shape: None }
            }
            Type::Tensor(tensor) => {
                let number = match tensor.elem.single() {
                    Some(elem) => universe.tensor_leaf(elem),
                    None => universe.tensor_bound(tensor.elem),
                };
                let shape = tensor.shape.as_deref().map(|shape| self.shape(shape, dims));
                ValueType { node: node(number), element: Element::Tensor(dtype(tensor.elem)), shape }
            }
            Type::Sparse(tensor) => {
                let shape = tensor.shape.as_deref().map(|shape| self.shape(shape, dims));
                ValueType { node: None, element: Element::Sparse(dtype(tensor.elem)), shape }
            }
            Type::Composite(composite) => {
                let Composite { children, is_open } = composite.map(|ty| self.convert(ty, universe, dims));
                ValueType::composite(children, is_open)
            }
            Type::Container(..) => unreachable!("the constructors are split off"),
        };
        constructors.into_iter().rev().fold(inner, |inner, constructor| {
            let inner = Arc::new(inner);
            let element = match constructor {
                Constructor::Sequence => Element::Sequence(inner),
                Constructor::Optional => Element::Optional(inner),
                Constructor::Map(key) => match dtype(ElemSet::of(key)) {
                    Some(key) => Element::Map(key, inner),
                    None => Element::Opaque,
                },
            };
            ValueType { node: None, element, shape: None }
        })
    }

    fn shape(&mut self, shape: &[DimId], dims: &Dims) -> Arc<[Dim]> {
        if let Some(known) = self.shapes.get(shape) {
            return Arc::clone(known);
        }
        let axis = |dim: &DimId| self.dims.entry(*dim).or_insert_with(|| Dim::of(*dim, dims)).clone();
        let converted: Arc<[Dim]> = shape.iter().map(axis).collect();
        self.shapes.insert(shape.into(), Arc::clone(&converted));
        converted
    }
}

impl Type {
    /// The value type of one solved type. To convert several, a [`Converter`] shares their shapes.
    #[must_use]
    pub fn value_type(&self, universe: &Universe, dims: &Dims) -> ValueType {
        Converter::default().convert(self, universe, dims)
    }
}

/// The element type, if there is one and ONNX defines it.
fn dtype(set: ElemSet) -> Option<Dtype> {
    set.single().map(Elem::number).and_then(|number| Dtype::from_onnx_number(i32::from(number)))
}

fn static_node(universe: &Universe, node: NodeNo) -> Option<&'static TypeNode> {
    universe.lattice().node(node)?.as_static()
}
