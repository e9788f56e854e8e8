//! Operations on constants: small tensors whose elements decide shapes.
//!
//! An integer tensor is followed element by element as dims, so that symbols flow through
//! `Shape -> Gather -> Concat -> Reshape`. Booleans are the integers 0 and 1. An unknown element is a fresh
//! integer. Tensors with more than [`MAX_ELEMENTS`] elements are not followed.
//!
//! A `float` or `double` tensor of whole numbers that are not all constants is also followed as integers,
//! because exporters compute sizes in floats. A rule that has to distinguish them reads the element type. The
//! element types represent integers up to 2^24 or 2^53 exactly; larger extents do not occur in practice.

use std::sync::Arc;

use typeloom_dim::DimId;
use typeloom_dim::shape::DimVec;
use typeloom_onnx::view::TensorHeader;

use super::{Port, RuleCx, RuleError};
use crate::elem::Elem;
use crate::mode::FollowedValues;
use crate::state::affine::Affine;
use crate::state::constants::{Data, Extents, Floats, Ints, MAX_ELEMENTS, is_float, is_followed};
use crate::ty::Ty;

impl RuleCx<'_, '_> {
    /// The integers at a port, as far as they are known.
    pub fn ints(&mut self, port: Port) -> Option<Arc<Ints>> {
        self.data(port)?.as_ints()
    }

    /// The floating-point numbers at a port, if they are constants.
    pub fn floats(&mut self, port: Port) -> Option<Arc<Floats>> {
        self.data(port)?.as_floats()
    }

    /// The floats at a port as integer numerators with a common divisor, if they are known in that form.
    pub fn ratios(&mut self, port: Port) -> Option<(Arc<Ints>, i64)> {
        let Data::Ratios(numerators, divisor) = self.computed_data(port)? else { return None };
        Some((numerators, divisor))
    }

    /// Records the integers or whole floats at a port as affine functions of their positions.
    pub fn set_affine(&mut self, port: Port, affine: Affine) {
        self.set_data(port, Data::Affine(Arc::new(affine)));
    }

    /// Whether a port holds floats of the file that no rule has read so far. Reading them decodes up to
    /// [`MAX_ELEMENTS`] elements, so a rule that may not need them reads its other inputs first.
    #[must_use]
    pub fn has_unread_floats(&self, port: Port) -> bool {
        self.is_unread(port) && self.known_ty(port).and_then(Ty::constant_elem).is_some_and(is_float)
    }

    /// The integers at a port, if every one of them is a constant.
    pub fn const_ints(&mut self, port: Port) -> Option<Vec<i64>> {
        let ints = self.ints(port)?;
        ints.items.iter().map(|item| self.const_dim(*item)).collect()
    }

    /// The integer at a port with one constant element.
    pub fn const_int(&mut self, port: Port) -> Option<i64> {
        let [only] = self.const_ints(port)?[..] else { return None };
        Some(only)
    }

    /// The value of a dim that is a constant.
    pub fn const_dim(&mut self, dim: DimId) -> Option<i64> {
        let dim = self.dims().resolve(dim);
        self.dims().as_constant(dim)
    }

    /// Whether a constant at a port is known, in any form.
    #[must_use]
    pub fn has_constant(&self, port: Port) -> bool {
        self.value(port).is_some_and(|value| self.has_data(value))
    }

    /// Whether rules computed integers or fractions at a port.
    pub fn is_computed_size(&mut self, port: Port) -> bool {
        matches!(self.computed_data(port), Some(Data::Ints(_) | Data::Ratios(..)))
    }

    /// Records the integers at a port. Their number must match `ints.shape`; more than [`MAX_ELEMENTS`] are
    /// dropped.
    pub fn set_ints(&mut self, port: Port, ints: Ints) {
        if ints.items.len() > MAX_ELEMENTS {
            self.drop_constant(port);
        } else if ints.shape.iter().product::<usize>() == ints.items.len() {
            self.set_data(port, Data::Ints(Arc::new(ints)));
        }
    }

    /// Records the floating-point numbers at a port.
    pub fn set_floats(&mut self, port: Port, floats: Floats) {
        if floats.items.len() <= MAX_ELEMENTS && floats.shape.iter().product::<usize>() == floats.items.len()
        {
            self.set_data(port, Data::Floats(Arc::new(floats)));
        }
    }

    /// Records that all elements at a port of this shape equal one integer.
    pub fn set_equal_ints(&mut self, port: Port, shape: Extents, item: DimId) {
        if shape.iter().product::<usize>() <= MAX_ELEMENTS {
            self.set_data(port, Data::equal_ints(shape, item));
        } else {
            self.drop_constant(port);
        }
    }

    /// Records that all elements at a port of this shape equal one float.
    pub fn set_equal_floats(&mut self, port: Port, shape: Extents, item: f64) {
        if shape.iter().product::<usize>() <= MAX_ELEMENTS {
            self.set_data(port, Data::equal_floats(shape, item));
        }
    }

    /// Records that the floats at a port are integers divided by a constant of at least 2.
    pub fn set_ratios(&mut self, port: Port, numerators: Ints, divisor: i64) {
        if numerators.items.len() <= MAX_ELEMENTS && divisor >= 2 {
            self.set_data(port, Data::Ratios(Arc::new(numerators), divisor));
        }
    }

    /// Copies the constant at `from` to `to`, if there is one.
    pub fn copy_data(&mut self, from: Port, to: Port) {
        if let Some(data) = self.data(from).filter(|data| !matches!(data, Data::Opaque)) {
            self.set_data(to, data);
        }
    }

    /// Whether the constants that the rules of this node compute are recorded.
    pub fn records_values(&mut self) -> bool {
        self.tables().values == FollowedValues::Computed || self.input_count() == 0
    }

    fn set_data(&mut self, port: Port, data: Data) {
        let Some(value) = self.value(port) else { return };
        if !self.records_values() {
            return;
        }
        if !self.has_data(value) {
            self.write_data(value, data);
        } else if !self.tables().cases.assumes_nothing() {
            self.confirm(value, &data);
        }
    }

    /// The shape that the elements of the integer vector at a port describe, if their number is known.
    pub fn shape_value(&mut self, port: Port) -> Option<DimVec> {
        let ints = self.ints(port).filter(|ints| ints.shape.len() == 1)?;
        Some(self.dims().resolve_all(&ints.items))
    }

    /// The number of elements of the vector at a port, from its value or its shape, if it is at most
    /// [`MAX_ELEMENTS`].
    pub fn vector_len(&mut self, port: Port) -> Option<usize> {
        if let Some(ints) = self.ints(port) {
            return Some(ints.items.len());
        }
        let [only] = self.shape(port)?[..] else { return None };
        self.const_dim(only).and_then(|len| usize::try_from(len).ok()).filter(|len| *len <= MAX_ELEMENTS)
    }

    /// Sets the type, shape and constant at a port from a tensor.
    ///
    /// # Errors
    /// As for [`RuleCx::set_elem`] and [`RuleCx::set_shape`]; [`RuleError::Malformed`] for malformed tensors.
    pub fn set_tensor(&mut self, port: Port, header: &TensorHeader<'_>) -> Result<(), RuleError> {
        if let Some(elem) = Elem::from_onnx(header.data_type) {
            self.set_elem(port, elem)?;
        }
        let dims: DimVec = header.dims.iter().map(|dim| self.dims().constant(*dim)).collect();
        self.set_shape(port, &dims)?;
        if Elem::from_onnx(header.data_type).is_some_and(is_followed)
            && header.element_count().is_ok_and(|count| count > MAX_ELEMENTS as u64)
        {
            self.drop_constant(port);
        }
        if let Some(data) = self.core().read_tensor(header)? {
            self.set_data(port, data);
        }
        Ok(())
    }
}
