//! Checks of values against their types.
//!
//! A symbol is bound by the first extent that it occurs with and keeps that value for the rest of the run;
//! expressions over bound symbols are evaluated. A nested graph starts with a copy of the outer bindings and
//! binds its own symbols anew in each run.

use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;
use typeloom_types::dtype::Dtype;
use typeloom_types::tree::TypeNode;

use crate::datum::{Datum, Scalar};
use crate::value_type::{Composite, Dim, Element, ValueType};

/// A value that does not match its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found} is not {expected}")]
pub struct Mismatch {
    /// Type of the value.
    pub found: String,
    /// The expected type, with the known values of its symbols.
    pub expected: String,
}

/// Values of symbols in one run.
#[derive(Clone, Debug, Default)]
pub struct SymbolBindings {
    /// Sorted by name. Most programs have two or three symbols, and each run of a nested graph copies the
    /// list.
    few: SmallVec<[(Arc<str>, usize); 3]>,
    /// The symbols beyond [`MAX_FEW`]; copies share the map until one of them binds another symbol.
    more: Option<Arc<BTreeMap<Arc<str>, usize>>>,
}

/// Maximum number of symbols in the sorted list.
const MAX_FEW: usize = 64;

impl SymbolBindings {
    /// The value of a symbol, if it is bound.
    #[must_use]
    pub fn get(&self, symbol: &str) -> Option<usize> {
        if let [(own, extent)] = &self.few[..] {
            // The types of one solve share the text of their symbols.
            return (std::ptr::eq(&**own, symbol) || **own == *symbol).then_some(*extent);
        }
        match self.few.binary_search_by(|(own, _)| (**own).cmp(symbol)) {
            Ok(at) => Some(self.few[at].1),
            Err(_) => self.more.as_ref().and_then(|more| more.get(symbol)).copied(),
        }
    }

    /// Binds a symbol, unless it is bound already.
    pub fn bind(&mut self, symbol: &str, extent: usize) {
        if self.get(symbol).is_none() {
            self.insert(symbol.into(), extent);
        }
    }

    fn insert(&mut self, symbol: Arc<str>, extent: usize) {
        if self.few.len() < MAX_FEW {
            let at = self.few.partition_point(|(own, _)| **own < *symbol);
            self.few.insert(at, (symbol, extent));
        } else {
            Arc::make_mut(self.more.get_or_insert_default()).insert(symbol, extent);
        }
    }

    /// Whether the value of a symbol is `extent`. Binds the symbol if it is unbound.
    fn equals(&mut self, symbol: &Arc<str>, extent: usize) -> bool {
        match self.get(symbol) {
            Some(own) => own == extent,
            None => {
                self.insert(Arc::clone(symbol), extent);
                true
            }
        }
    }

    /// The bound symbols in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, usize)> {
        let more = self.more.iter().flat_map(|more| more.iter());
        let few = self.few.iter().map(|(name, value)| (name, value));
        let mut all: Vec<(&str, usize)> = few.chain(more).map(|(name, value)| (&**name, *value)).collect();
        all.sort_unstable();
        all.into_iter()
    }

    /// The extent of a dim, if all of its symbols are bound.
    #[must_use]
    pub fn evaluate(&self, dim: &Dim) -> Option<usize> {
        dim.evaluate(|symbol| self.get(symbol))
    }

    /// The symbols of a dim that are unbound.
    pub fn unbound<'d>(&self, dim: &'d Dim) -> impl Iterator<Item = &'d str> {
        let symbols = match dim {
            Dim::Unknown | Dim::Fixed(_) => &[][..],
            Dim::Symbol(name) => std::slice::from_ref(name),
            Dim::Expression(expression) => expression.symbols(),
        };
        symbols.iter().map(|name| &**name).filter(|name| self.get(name).is_none())
    }

    /// Extents of a tensor type, as far as its dims can be evaluated; `None` for an unknown rank and for
    /// other types.
    #[must_use]
    pub fn extents(&self, ty: &ValueType) -> Option<Vec<Option<usize>>> {
        let shape = ty.shape.as_deref().filter(|_| ty.is_tensor())?;
        Some(shape.iter().map(|dim| self.evaluate(dim)).collect())
    }

    /// Checks that a value is of a type, and binds the symbols of the type.
    ///
    /// A tensor of rank 0 is accepted as a scalar, and a value of type `T` as an `optional(T)`. Types without
    /// values at run time (sparse tensors) and unknown types accept every value.
    ///
    /// # Errors
    /// [`Mismatch`].
    pub fn check(&mut self, value: &Datum, ty: &ValueType) -> Result<(), Mismatch> {
        let fits = match (&ty.element, value) {
            (Element::Sparse(_), _) => true,
            (Element::Tensor(dtype), Datum::Tensor(tensor)) => {
                self.fits_tensor((tensor.dtype(), tensor.shape()), *dtype, ty)
            }
            (Element::Map(key, inner), Datum::Map(map)) => {
                let (own, value, shape) = map.types();
                own == *key
                    && match &inner.element {
                        Element::Tensor(dtype) => self.fits_tensor((value, shape), *dtype, inner),
                        _ => inner.is_unknown(),
                    }
            }
            (Element::Sequence(inner), Datum::Sequence(values)) => {
                // Each element of a sequence binds the symbols of its type independently.
                return values.iter().try_for_each(|value| Self::default().check(value, inner));
            }
            (Element::Optional(_), Datum::Optional(None)) => true,
            (Element::Optional(inner), Datum::Optional(Some(held))) => return self.check(held, inner),
            (Element::Optional(inner), _) => return self.check(value, inner),
            (Element::Composite(composite), Datum::Composite(children)) => {
                return self.check_children(children, composite, ty, value);
            }
            (Element::Composite(_), _) => false,
            (Element::Scalar(_), Datum::Tensor(_)) => {
                ty.node.is_some_and(|node| scalar_of(value, node).is_some())
            }
            (Element::Opaque | Element::Scalar(_) | Element::Tensor(None), _) => match ty.node {
                None => ty.is_unknown(),
                Some(node) => match value.type_node() {
                    Some(own) => own.id == node.id || own.is_subtype_of(node),
                    None => node.is_abstract() && !ty.is_tensor(),
                },
            },
            (Element::Tensor(Some(_)) | Element::Sequence(_) | Element::Map(..), _) => false,
        };
        if fits { Ok(()) } else { Err(Mismatch { found: value.describe(), expected: self.describe(ty) }) }
    }

    /// Checks the children of a composite, which may be in any order, and binds their symbols.
    fn check_children(
        &mut self,
        children: &[(String, Datum)],
        composite: &Composite<ValueType>,
        ty: &ValueType,
        value: &Datum,
    ) -> Result<(), Mismatch> {
        let mismatch =
            |bindings: &Self| Mismatch { found: value.describe(), expected: bindings.describe(ty) };
        // Names of a value are distinct if all declared ones occur and there are no others.
        if !composite.is_open && children.len() != composite.children.len() {
            return Err(mismatch(self));
        }
        for (name, child) in &composite.children {
            let Some((_, found)) = children.iter().find(|(own, _)| **own == **name) else {
                return Err(mismatch(self));
            };
            self.check(found, child).map_err(|inner| Mismatch {
                found: format!("child `{name}`, {},", inner.found),
                expected: inner.expected,
            })?;
        }
        Ok(())
    }

    /// Whether a tensor of an element type and shape is of a type.
    fn fits_tensor(&mut self, (own, shape): (Dtype, &[usize]), dtype: Option<Dtype>, ty: &ValueType) -> bool {
        let element_fits = match (dtype, ty.node) {
            (Some(dtype), _) => dtype == own,
            (None, Some(node)) => own.type_node().is_subtype_of(node),
            (None, None) => true,
        };
        element_fits && ty.shape.as_deref().is_none_or(|dims| self.fits_shape(shape, dims))
    }

    fn fits_shape(&mut self, extents: &[usize], shape: &[Dim]) -> bool {
        if extents.len() != shape.len() {
            return false;
        }
        // Symbols first, so that expressions over them can be evaluated independently of the order of the
        // axes. The loop does not stop at the first contradiction: the error message contains the values of
        // all symbols.
        let (mut fits, mut has_expressions) = (true, false);
        for (extent, dim) in extents.iter().zip(shape) {
            fits &= match dim {
                Dim::Unknown => true,
                Dim::Fixed(known) => known == extent,
                Dim::Symbol(name) => self.equals(name, *extent),
                Dim::Expression(_) => {
                    has_expressions = true;
                    true
                }
            };
        }
        let expression_fits = |(extent, dim): (&usize, &Dim)| match dim {
            Dim::Unknown | Dim::Fixed(_) | Dim::Symbol(_) => true,
            Dim::Expression(_) => self.evaluate(dim).is_none_or(|value| value == *extent),
        };
        fits && (!has_expressions || extents.iter().zip(shape).all(expression_fits))
    }

    /// Display form of a type followed by the known values of its symbols.
    fn describe(&self, ty: &ValueType) -> String {
        let shape = ty.shape.as_deref().filter(|_| ty.is_tensor()).unwrap_or_default();
        let known = |dim: &Dim| Some(format!("{} = {}", dim.as_text()?, self.evaluate(dim)?));
        let mut notes: Vec<String> = shape.iter().filter_map(known).collect();
        notes.sort();
        notes.dedup();
        if notes.is_empty() { ty.to_string() } else { format!("{ty}, where {}", notes.join(", ")) }
    }
}

/// Converts a tensor of rank 0 to a scalar if the type is a scalar type, also in composites. Returns other
/// values unchanged.
#[must_use]
pub fn to_declared_form(value: Datum, ty: &ValueType) -> Datum {
    match (&ty.element, ty.node, value) {
        (Element::Scalar(_), Some(node), value) => scalar_of(&value, node).map_or(value, Datum::Scalar),
        (Element::Composite(composite), _, Datum::Composite(children)) => {
            let child = |(name, value): (String, Datum)| match composite.child(&name) {
                Some(ty) => (name, to_declared_form(value, ty)),
                None => (name, value),
            };
            Datum::Composite(children.into_iter().map(child).collect())
        }
        (_, _, value) => value,
    }
}

/// The part of a composite type that has symbols, as an open composite; `None` if there is none.
#[must_use]
pub fn with_symbols(ty: &ValueType) -> Option<ValueType> {
    let has_symbols = |dim: &Dim| matches!(dim, Dim::Symbol(_) | Dim::Expression(_));
    let Element::Composite(composite) = &ty.element else {
        return ty.shape.as_deref()?.iter().any(has_symbols).then(|| ty.clone());
    };
    let child = |(name, ty): &(Arc<str>, ValueType)| Some((Arc::clone(name), with_symbols(ty)?));
    let children: Vec<_> = composite.children.iter().filter_map(child).collect();
    if children.is_empty() {
        return None;
    }
    let composite = Composite { children: children.into(), is_open: true };
    Some(ValueType { element: Element::Composite(Arc::new(composite)), ..ty.clone() })
}

/// Whether [`to_declared_form`] leaves a value of a type unchanged.
#[must_use]
pub fn is_in_declared_form(value: &Datum, ty: &ValueType) -> bool {
    match (&ty.element, value) {
        (Element::Scalar(_), Datum::Tensor(_)) => false,
        (Element::Composite(composite), Datum::Composite(children)) => children
            .iter()
            .all(|(name, value)| composite.child(name).is_none_or(|ty| is_in_declared_form(value, ty))),
        _ => true,
    }
}

/// The element of a tensor of rank 0, if it is of a scalar type.
fn scalar_of(value: &Datum, node: &TypeNode) -> Option<Scalar> {
    let tensor = value.as_tensor().filter(|tensor| tensor.rank() == 0)?;
    let scalar = match tensor.dtype() {
        Dtype::F32 => Scalar::F32(*tensor.as_slice().ok()?.first()?),
        Dtype::F64 => Scalar::F64(*tensor.as_slice().ok()?.first()?),
        Dtype::F16 => Scalar::F16(*tensor.as_slice().ok()?.first()?),
        Dtype::U8 => Scalar::U8(*tensor.as_slice().ok()?.first()?),
        Dtype::I32 => Scalar::I32(*tensor.as_slice().ok()?.first()?),
        _ => return None,
    };
    (scalar.type_node().id == node.id).then_some(scalar)
}
