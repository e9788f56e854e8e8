//! Verbs on constants: the small tensors whose values decide shapes.
//!
//! An integer tensor is followed element by element as dims, so that `Shape -> Gather -> Concat ->
//! Reshape` carries symbols through. Truth values are the integers 0 and 1. An element nobody knows is
//! a fresh integer. Tensors of more than [`MAX_ELEMENTS`] elements are not followed.
//!
//! A `float` or `double` tensor whose elements are whole numbers, not all of them constants, is followed as
//! integers too: exporters compute sizes in floats. Rules that depend on the difference ask for the element type.
//! An element type holds such a number exactly up to 2^24 or 2^53; larger extents do not occur in practice.

use std::sync::Arc;

use typeloom_onnx::DecodeError;

use super::{DimVec, Failure, Port, RuleCx};
use crate::analysis::limits::Limit;
use crate::dim::DimId;
use crate::elem::{Elem, ElemSet};
use crate::program::{Initializer, InitializerId, Origin, ValueId};
use crate::solve_error::{ErrorSite, SolveError, SolveErrorKind};
use crate::state::Core;
use crate::state::constants::Data;
use crate::state::memo;

/// The most elements of a constant that the solver follows.
pub const MAX_ELEMENTS: usize = 4096;

/// An integer (or boolean) tensor, or a tensor of whole floats, its elements as dims in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ints {
    /// Its extents; empty for a single element.
    pub shape: Box<[usize]>,
    /// Its elements, as many as the product of the extents.
    pub items: Box<[DimId]>,
}

/// A floating-point tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Floats {
    /// Its extents; empty for a single element.
    pub shape: Box<[usize]>,
    /// Its elements in row-major order.
    pub items: Box<[f64]>,
}

/// The whole numbers from `least` to `greatest`, each of them at least once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Counting {
    /// The least number.
    pub least: DimId,
    /// The greatest number.
    pub greatest: DimId,
    /// In which order they come.
    pub order: Order,
}

/// The order of numbers in a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// The tensor has one axis, and each number is the one before it plus one.
    Rising,
    /// The tensor has one axis, and each number is the one before it minus one.
    Falling,
    /// Unknown.
    Any,
}

impl Counting {
    /// The same numbers in unknown order.
    #[must_use]
    pub fn shuffled(self) -> Self {
        Self { order: Order::Any, ..self }
    }
}

impl Ints {
    /// A tensor without axes.
    #[must_use]
    pub fn scalar(item: DimId) -> Self {
        Self { shape: Box::default(), items: Box::new([item]) }
    }

    /// A tensor with one axis.
    #[must_use]
    pub fn vector(items: impl Into<Box<[DimId]>>) -> Self {
        let items = items.into();
        Self { shape: Box::new([items.len()]), items }
    }
}

impl RuleCx<'_, '_> {
    /// The integers at a port, as far as they are known.
    pub fn ints(&mut self, port: Port) -> Option<Arc<Ints>> {
        self.data(self.value(port)?)?.as_ints().cloned()
    }

    /// The floating-point numbers at a port, if they are constants.
    pub fn floats(&mut self, port: Port) -> Option<Arc<Floats>> {
        self.data(self.value(port)?)?.as_floats().cloned()
    }

    /// The whole number that every element at a port has, where their count is not a constant.
    pub fn filled(&mut self, port: Port) -> Option<DimId> {
        self.data(self.value(port)?)?.as_filled()
    }

    /// The floats at a port as integers and what all of them are divided by, if that is how they are known.
    pub fn ratios(&mut self, port: Port) -> Option<(Arc<Ints>, i64)> {
        let data = self.data(self.value(port)?)?;
        data.as_ratios().map(|(numerators, divisor)| (Arc::clone(numerators), divisor))
    }

    /// The consecutive numbers at a port, if that is how they are known.
    pub fn counting(&mut self, port: Port) -> Option<Counting> {
        self.data(self.value(port)?)?.as_counting()
    }

    /// Records that a port holds consecutive numbers, where their count is not a constant.
    pub fn set_counting(&mut self, port: Port, counting: Counting) {
        self.set_data(port, Data::Counting(counting));
    }

    /// The integers at a port, if every one of them is a constant.
    pub fn const_ints(&mut self, port: Port) -> Option<Vec<i64>> {
        let ints = self.ints(port)?;
        ints.items.iter().map(|item| self.const_dim(*item)).collect()
    }

    /// The only integer at a port, if it is one constant.
    pub fn const_int(&mut self, port: Port) -> Option<i64> {
        match self.const_ints(port)?[..] {
            [only] => Some(only),
            [] | [_, _, ..] => None,
        }
    }

    /// A dim as a constant, if it is one by now.
    pub fn const_dim(&mut self, dim: DimId) -> Option<i64> {
        let dim = self.core.dims.resolve(dim);
        self.core.dims.as_constant(dim)
    }

    /// Records the integers at a port (their number must be that of `ints.shape`; too many are dropped).
    pub fn set_ints(&mut self, port: Port, ints: Ints) {
        if ints.items.len() > MAX_ELEMENTS {
            self.drop_constant(port);
        } else if ints.shape.iter().product::<usize>() == ints.items.len() {
            self.set_data(port, Data::Ints(Arc::new(ints)));
        }
    }

    /// Notes that a port holds integers that are known, but too many to be followed.
    pub fn drop_constant(&mut self, port: Port) {
        memo::looked_elsewhere(self.core);
        if let Some(value) = self.value(port) {
            self.frame.dropped.insert(value);
        }
    }

    /// Notes that the rule would use the constant at a port if it were smaller. What the step makes of it is not known either.
    pub fn misses_constant(&mut self, port: Port) {
        if let Some(value) = self.value(port) {
            self.misses(value);
        }
    }

    fn misses(&mut self, value: ValueId) {
        if self.frame.dropped.is_empty() || !self.frame.dropped.contains(&value) {
            return;
        }
        memo::looked_elsewhere(self.core);
        let is_call_limit =
            self.frame.number != 0 && matches!(self.frame.body.value(value).origin, Origin::Input);
        let most = if is_call_limit { crate::engine::call::MAX_CONSTANTS } else { MAX_ELEMENTS };
        let step = self.frame.body.first_step(self.step);
        self.frame.limited.insert((step, Limit::Constant { most }));
        let body = self.body_rc();
        for output in body.outputs(body.last_step(self.step)).iter().flatten() {
            let ty = self.frame.slots[output.index()].ty;
            let elem = ty.and_then(|ty| self.core.types.elems(ty)).and_then(ElemSet::single);
            if elem.is_some_and(is_followed) {
                self.frame.dropped.insert(*output);
            }
        }
    }

    /// Records the floating-point numbers at a port.
    pub fn set_floats(&mut self, port: Port, floats: Floats) {
        if floats.items.len() <= MAX_ELEMENTS && floats.shape.iter().product::<usize>() == floats.items.len()
        {
            self.set_data(port, Data::Floats(Arc::new(floats)));
        }
    }

    /// Records that every element at a port is one whole number; for shapes that are not constant.
    pub fn set_filled(&mut self, port: Port, item: DimId) {
        self.set_data(port, Data::Filled(item));
    }

    /// Records that the floats at a port are integers divided by a constant from 2 on.
    pub fn set_ratios(&mut self, port: Port, numerators: Ints, divisor: i64) {
        if numerators.items.len() <= MAX_ELEMENTS && divisor >= 2 {
            self.set_data(port, Data::Ratios(Arc::new(numerators), divisor));
        }
    }

    /// Gives `to` the constant that stands at `from`, if one does.
    pub fn copy_data(&mut self, from: Port, to: Port) {
        if let Some(value) = self.value(from)
            && let Some(
                data @ (Data::Ints(_)
                | Data::Floats(_)
                | Data::Filled(_)
                | Data::Ratios(..)
                | Data::Counting(..)),
            ) = self.data(value)
        {
            self.set_data(to, data);
        }
    }

    fn set_data(&mut self, port: Port, data: Data) {
        let Some(value) = self.value(port) else { return };
        if self.frame.slots[value.index()].data.is_none() {
            self.core.set_data(self.frame, value, data);
            self.frame.touch(value, self.step);
        } else if self.frame.number == 0 && !self.core.cases.assumes_nothing() {
            self.confirm(value, &data);
        }
    }

    /// What a value holds; an initializer is read the first time somebody asks.
    fn data(&mut self, value: ValueId) -> Option<Data> {
        memo::asked(self.core, value);
        self.misses(value);
        if let Some(known) = self.core.data_of(self.frame, value) {
            return Some(known.clone());
        }
        let initializer = match self.frame.body.value(value).origin {
            // A default counts: the model is typed as it runs when nobody replaces it.
            Origin::Initializer(initializer) | Origin::InputWithDefault(initializer) => initializer,
            Origin::Input | Origin::Step(_) | Origin::Undefined => return None,
        };
        let data = match self.read_initializer(initializer) {
            Ok(read) => read.unwrap_or(Data::Opaque),
            Err(error) => {
                let error =
                    SolveError { site: ErrorSite::Value(value), kind: SolveErrorKind::Malformed(error) };
                self.frame.value_errors.entry(value).or_insert(error);
                Data::Opaque
            }
        };
        self.core.set_data(self.frame, value, data.clone());
        Some(data)
    }

    fn read_initializer(&mut self, initializer: InitializerId) -> Result<Option<Data>, DecodeError> {
        match self.frame.body.initializers[initializer.index()] {
            Initializer::Dense(tensor) => self.core.read_tensor(tensor),
            Initializer::Sparse(_) => Ok(None),
        }
    }

    /// The shape that an integer vector at a port spells, if its length is known: each element as a dim.
    pub fn shape_value(&mut self, port: Port) -> Option<DimVec> {
        let ints = self.ints(port)?;
        (ints.shape.len() == 1).then(|| ints.items.iter().map(|item| self.core.dims.resolve(*item)).collect())
    }

    /// How many elements the vector at a port has, from its value or else from its shape, if they are few
    /// enough to be followed.
    pub fn vector_len(&mut self, port: Port) -> Option<usize> {
        if let Some(ints) = self.ints(port) {
            return Some(ints.items.len());
        }
        match self.shape(port)?[..] {
            [only] => self
                .const_dim(only)
                .and_then(|len| usize::try_from(len).ok())
                .filter(|len| *len <= MAX_ELEMENTS),
            [] | [_, _, ..] => None,
        }
    }

    /// Types and shapes a port from a tensor message and records its value.
    ///
    /// # Errors
    /// As [`RuleCx::set_elem`] and [`RuleCx::set_shape`]; malformed tensors are reported as such.
    pub fn set_tensor(
        &mut self,
        port: Port,
        tensor: typeloom_onnx::view::TensorView<'_>,
    ) -> Result<(), Failure> {
        let header = tensor.header()?;
        if let Some(elem) = Elem::from_onnx(header.data_type) {
            self.set_elem(port, elem)?;
        }
        let dims: DimVec = header.dims.iter().map(|dim| self.core.dims.constant(*dim)).collect();
        self.set_shape(port, &dims)?;
        if Elem::from_onnx(header.data_type).is_some_and(is_followed)
            && header.element_count().is_ok_and(|count| count > MAX_ELEMENTS as u64)
        {
            self.drop_constant(port);
        }
        if let Some(data) = self.core.read_tensor(tensor)? {
            self.set_data(port, data);
        }
        Ok(())
    }
}

/// Whether integers of this type are followed because shapes are computed with them.
pub(crate) fn is_followed(elem: Elem) -> bool {
    [Elem::INT64, Elem::INT32].contains(&elem)
}

impl Core<'_> {
    /// The constant in a tensor message, if it is small enough to follow.
    pub(crate) fn read_tensor(
        &mut self,
        tensor: typeloom_onnx::view::TensorView<'_>,
    ) -> Result<Option<Data>, DecodeError> {
        let header = tensor.header()?;
        let extents = header.dims.iter().map(|dim| usize::try_from(*dim).ok());
        let Some(shape) = extents.collect::<Option<Box<[usize]>>>() else { return Ok(None) };
        let count = shape.iter().try_fold(1_usize, |count, dim| count.checked_mul(*dim));
        if count.is_none_or(|count| count > MAX_ELEMENTS) {
            return Ok(None);
        }
        let floats = [Elem::FLOAT, Elem::DOUBLE, Elem::FLOAT16, Elem::BFLOAT16];
        if Elem::from_onnx(header.data_type).is_some_and(|elem| floats.contains(&elem)) {
            let items = tensor.float_values(MAX_ELEMENTS)?;
            return Ok(items.map(|items| Data::Floats(Arc::new(Floats { shape, items: items.into() }))));
        }
        let Some(items) = tensor.int_values(MAX_ELEMENTS)? else { return Ok(None) };
        let items = items.into_iter().map(|item| self.dims.constant(item)).collect();
        Ok(Some(Data::Ints(Arc::new(Ints { shape, items }))))
    }
}
