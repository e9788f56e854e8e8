//! The effect of conversions on stored tensors, element by element.
//!
//! [ONNX's `Cast`](https://onnx.ai/onnx/operators/onnx__Cast.html) rounds to the nearest float, saturates
//! eight-bit floats, truncates floats to integers, and keeps the low bits of integers. Elements outside of
//! the range of an integer type have no defined result if they are floats.
//!
//! Limits: strings, complex numbers, sparse tensors and unsigned integers above the greatest `i64` are not
//! read, nor are tensors in other files that the [source](SideData) of the check does not read. Their
//! conversions are judged by their element types.

use std::cell::OnceCell;
use std::sync::Arc;

use typeloom_onnx::view::{NodeView, TensorHeader, TensorView};
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::model::{ExternalTensor, SideData};

use super::number_format::{Integer, NumberFormat, Specials, keeps_values, number_format};

/// Tensors with more elements are not read to choose conversions, only to report their loss.
const MAX_READ: usize = 1 << 20;

/// The effect of a conversion on the elements of a stored tensor.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TensorLoss {
    /// The number of elements.
    pub elements: usize,
    /// The elements that change, by kind.
    pub changes: Vec<LossOfKind>,
}

/// The elements of a stored tensor that a conversion changes in one way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LossOfKind {
    /// The kind of change.
    pub kind: LossKind,
    /// The number of elements.
    pub count: usize,
    /// The first of these elements.
    pub from: String,
    /// Its converted value.
    pub to: String,
}

/// The ways in which a conversion changes an element.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LossKind {
    /// An element is outside of the range of an integer type, so the result has other low bits or is
    /// undefined.
    Wrapped,
    /// A finite element becomes infinite, or the greatest value of the type.
    Overflowed,
    /// An element other than zero becomes zero.
    Vanished,
    /// An element becomes another number close to it.
    Rounded,
}

impl LossKind {
    /// The kind as a participle: `2 rounded`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Wrapped => "wrapped",
            Self::Overflowed => "overflowed",
            Self::Vanished => "vanished",
            Self::Rounded => "rounded",
        }
    }
}

impl TensorLoss {
    /// The number of elements that change.
    #[must_use]
    pub fn changed(&self) -> usize {
        self.changes.iter().map(|change| change.count).sum()
    }

    /// Whether elements are outside of the range of an integer type.
    #[must_use]
    pub fn wraps(&self) -> bool {
        self.changes.iter().any(|change| change.kind == LossKind::Wrapped)
    }

    pub(crate) fn add(&mut self, kind: LossKind, example: impl FnOnce() -> (String, String)) {
        match self.changes.iter_mut().find(|change| change.kind == kind) {
            Some(change) => change.count += 1,
            None => {
                let (from, to) = example();
                self.changes.push(LossOfKind { kind, count: 1, from, to });
                self.changes.sort_by_key(|change| change.kind);
            }
        }
    }
}

/// An element of a tensor.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Number {
    Int(i128),
    Float(f64),
    Bool(bool),
}

impl Number {
    /// The number as the shortest text from which its element type gives the same number.
    fn text(self, elem: Elem) -> String {
        let is_short = |size: f64| size == 0.0 || !size.is_finite() || (1e-4..1e16).contains(&size.abs());
        match self {
            Self::Int(value) => value.to_string(),
            Self::Bool(value) => value.to_string(),
            Self::Float(value) if elem == Elem::DOUBLE && is_short(value) => value.to_string(),
            Self::Float(value) if elem == Elem::DOUBLE => format!("{value:e}"),
            // Narrower formats are printed as single floats.
            Self::Float(value) if is_short(value) => (value as f32).to_string(),
            Self::Float(value) => format!("{:e}", value as f32),
        }
    }
}

/// A tensor that is stored in the model, and the element types that hold all of its elements.
#[derive(Clone, Debug)]
pub(crate) struct StoredTensor<'a> {
    data: StoredData<'a>,
    exact: OnceCell<ElemSet>,
}

#[derive(Clone, Debug)]
enum StoredData<'a> {
    Tensor(TensorView<'a>),
    /// A tensor in another file.
    External(TensorView<'a>, Arc<dyn SideData>),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    /// The elements are not read.
    Unread,
}

impl<'a> StoredTensor<'a> {
    /// A tensor whose elements are not read.
    pub(crate) fn unread() -> Self {
        Self::new(StoredData::Unread)
    }

    /// A tensor in the model, or in another file that `source` reads.
    pub(crate) fn of_tensor(tensor: TensorView<'a>, source: Option<Arc<dyn SideData>>) -> Self {
        Self::new(match (ExternalTensor::of(tensor), source) {
            (None, _) => StoredData::Tensor(tensor),
            (Some(_), Some(source)) => StoredData::External(tensor, source),
            (Some(_), None) => StoredData::Unread,
        })
    }

    /// The tensor of a node without inputs: the attribute of a `Constant`.
    pub(crate) fn of_node(node: NodeView<'a>, source: Option<Arc<dyn SideData>>) -> Self {
        if node.op_type() != Ok("Constant") {
            return Self::unread();
        }
        let attributes = node.attributes().flatten().filter_map(|attribute| attribute.parse().ok());
        let mut data = attributes.filter_map(|attribute| {
            let ints = |ints: Vec<i64>| StoredData::Ints(ints);
            match attribute.name {
                "value" => attribute.t.map(|tensor| Self::of_tensor(tensor, source.clone()).data),
                "value_int" => attribute.i.map(|value| ints(vec![value])),
                "value_float" => attribute.f.map(|value| StoredData::Floats(vec![f64::from(value)])),
                "value_ints" => attribute.ints().collect::<Result<_, _>>().ok().map(ints),
                "value_floats" => {
                    let floats = attribute.floats().map(|float| float.map(f64::from));
                    floats.collect::<Result<_, _>>().ok().map(StoredData::Floats)
                }
                _ => None,
            }
        });
        Self::new(data.next().unwrap_or(StoredData::Unread))
    }

    fn new(data: StoredData<'a>) -> Self {
        Self { data, exact: OnceCell::new() }
    }

    /// The number of elements; `None` if they are not read.
    pub(crate) fn element_count(&self) -> Option<u64> {
        match &self.data {
            StoredData::Unread => None,
            StoredData::Ints(values) => Some(values.len() as u64),
            StoredData::Floats(values) => Some(values.len() as u64),
            StoredData::Tensor(tensor) | StoredData::External(tensor, _) => {
                tensor.header().ok()?.element_count().ok()
            }
        }
    }

    /// Whether a conversion from the tensor's element type keeps every element.
    pub(crate) fn keeps(&self, from: Elem, to: Elem) -> bool {
        let exact = || {
            let mut exact = Exact { from, to: (1..=Elem::LAST_ONNX).filter_map(Elem::new).collect() };
            exact.to.retain(|to| *to != Elem::STRING && number_format(*to).is_some());
            match self.read(from, MAX_READ, &mut exact) {
                Some(()) => exact.to.into_iter().collect(),
                None => ElemSet::EMPTY,
            }
        };
        keeps_values(from, to) || self.exact.get_or_init(exact).contains(to)
    }

    /// The effect of a conversion; `None` if the elements are not read.
    pub(crate) fn loss(&self, from: Elem, to: Elem) -> Option<TensorLoss> {
        number_format(to)?;
        let mut losses = Losses { from, to, loss: TensorLoss::default() };
        self.read(from, usize::MAX, &mut losses)?;
        Some(losses.loss)
    }

    /// Whether a conversion does not keep an element because it is outside of the range of an integer type.
    pub(crate) fn wraps(&self, from: Elem, to: Elem) -> bool {
        let is_bounded = |format: &NumberFormat| {
            !matches!(format.specials, Some(Specials::InfinitiesAndNan | Specials::Nan))
        };
        number_format(to).is_some_and(|format| is_bounded(&format))
            && self.loss(from, to).is_some_and(|loss| loss.wraps())
    }

    fn read(&self, from: Elem, limit: usize, visitor: &mut impl Visitor) -> Option<()> {
        let format = number_format(from)?;
        let is_float = format.specials.is_some();
        let int = |value: i64| {
            if from == Elem::BOOL { Number::Bool(value != 0) } else { Number::Int(i128::from(value)) }
        };
        let elements = |header: &TensorHeader<'_>, visitor: &mut _| {
            let read = if is_float {
                header.extend_floats(limit, &mut Visit { visitor, number: Number::Float })
            } else {
                header.extend_ints(limit, &mut Visit { visitor, number: int })
            };
            (header.data_type == i32::from(from.number()) && read == Ok(true)).then_some(())
        };
        match &self.data {
            StoredData::Unread => None,
            StoredData::Ints(values) => {
                values.iter().for_each(|value| visitor.visit(int(*value)));
                Some(())
            }
            StoredData::Floats(values) => {
                values.iter().for_each(|value| visitor.visit(Number::Float(*value)));
                Some(())
            }
            StoredData::External(tensor, source) => {
                let bytes = source.bytes(&ExternalTensor::of(*tensor)?)?;
                elements(&tensor.header().ok()?.with_raw_data(&bytes), visitor)
            }
            StoredData::Tensor(tensor) => elements(&tensor.header().ok()?, visitor),
        }
    }
}

trait Visitor {
    fn visit(&mut self, number: Number);
}

/// Passes the elements of a tensor to a visitor, so that no list of them is made.
struct Visit<'v, V, F> {
    visitor: &'v mut V,
    number: F,
}

impl<T, V: Visitor, F: Fn(T) -> Number> Extend<T> for Visit<'_, V, F> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        elements.into_iter().for_each(|element| self.visitor.visit((self.number)(element)));
    }
}

/// The element types that hold all visited elements.
struct Exact {
    from: Elem,
    to: Vec<Elem>,
}

impl Visitor for Exact {
    fn visit(&mut self, number: Number) {
        let from = self.from;
        self.to.retain(|to| *to == from || converted(number, *to).is_some_and(|(_, kind)| kind.is_none()));
    }
}

struct Losses {
    from: Elem,
    to: Elem,
    loss: TensorLoss,
}

impl Visitor for Losses {
    fn visit(&mut self, number: Number) {
        self.loss.elements += 1;
        if self.from != self.to
            && let Some((result, Some(kind))) = converted(number, self.to)
        {
            self.loss.add(kind, || {
                let (from, to) = (number.text(self.from), result.text(self.to));
                // The shortest text of a single float can be that of the double.
                let to = if from == to { result.text(Elem::DOUBLE) } else { to };
                (from, to)
            });
        }
    }
}

/// The converted element and how it differs; `None` if the type is no number format.
fn converted(number: Number, to: Elem) -> Option<(Number, Option<LossKind>)> {
    let format = number_format(to)?;
    Some(match (number, format.specials) {
        (Number::Int(value), _) if to == Elem::BOOL => bool_of(value != 0, value == 0 || value == 1),
        (Number::Float(value), None) => {
            if to == Elem::BOOL {
                return Some(bool_of(value != 0.0, value == 0.0 || value == 1.0));
            }
            let whole = value.trunc();
            let result = Number::Int(whole as i128);
            match format.integer().contains_float(whole) {
                false => (Number::Int(format.integer().wrap(whole as i128)), Some(LossKind::Wrapped)),
                true if whole == value => (result, None),
                true if whole == 0.0 => (result, Some(LossKind::Vanished)),
                true => (result, Some(LossKind::Rounded)),
            }
        }
        (Number::Bool(value), None) => match to {
            Elem::BOOL => (number, None),
            _ => (Number::Int(i128::from(value)), None),
        },
        (Number::Int(value), None) => {
            let integer = format.integer();
            let wrapped = integer.wrap(value);
            let kind = (wrapped != value).then_some(LossKind::Wrapped);
            (Number::Int(wrapped), kind)
        }
        (Number::Bool(value), Some(_)) => return converted(Number::Int(i128::from(value)), to),
        (Number::Int(value), Some(_)) => {
            let near = rounded_integer(value, format.significand.unsigned_abs());
            let (result, kind) = rounded(to, &format, near as f64);
            (Number::Float(result), kind.or((near != value).then_some(LossKind::Rounded)))
        }
        (Number::Float(value), Some(_)) => {
            let (result, kind) = rounded(to, &format, value);
            (Number::Float(result), kind)
        }
    })
}

fn bool_of(value: bool, is_exact: bool) -> (Number, Option<LossKind>) {
    (Number::Bool(value), (!is_exact).then_some(LossKind::Rounded))
}

/// An integer rounded to some significant bits, ties to even.
fn rounded_integer(value: i128, significand: u32) -> i128 {
    let size = value.unsigned_abs();
    let excess = (u128::BITS - size.leading_zeros()).saturating_sub(significand);
    if excess == 0 {
        return value;
    }
    let (kept, rest, half) = (size >> excess, size & ((1 << excess) - 1), 1 << (excess - 1));
    let up = u128::from(rest > half || rest == half && kept & 1 == 1);
    let rounded = ((kept + up) << excess).cast_signed();
    if value < 0 { -rounded } else { rounded }
}

/// A float in a narrower format, rounded to the nearest value, ties to even.
fn rounded(to: Elem, format: &NumberFormat, value: f64) -> (f64, Option<LossKind>) {
    let Some(specials) = format.specials else { return (value, None) };
    if to == Elem::DOUBLE || value == 0.0 && to != Elem::FLOAT8E8M0 {
        return (value, None);
    }
    if value.is_nan() {
        return if specials == Specials::None { (value, Some(LossKind::Wrapped)) } else { (value, None) };
    }
    let greatest = format.greatest_value(to);
    // Eight-bit floats and smaller ones saturate.
    let beyond = if format.significand >= 8 { f64::INFINITY } else { greatest };
    if value.is_infinite() {
        return match specials {
            Specials::InfinitiesAndNan => (value, None),
            Specials::Nan | Specials::None => (greatest.copysign(value), Some(LossKind::Overflowed)),
        };
    }
    if !format.is_signed && value <= 0.0 {
        return (0.0, Some(LossKind::Overflowed));
    }
    let exponent = i32::try_from(value.to_bits() >> 52 & 0x7ff).unwrap_or(0) - 1023;
    let unit = f64::from((exponent - (format.significand - 1)).max(format.least)).exp2();
    let result = (value / unit).round_ties_even() * unit;
    match result {
        result if result.abs() > greatest => (beyond.copysign(value), Some(LossKind::Overflowed)),
        result if result == value => (result, None),
        0.0 => (result, Some(LossKind::Vanished)),
        result => (result, Some(LossKind::Rounded)),
    }
}

impl Integer {
    fn contains_float(self, whole: f64) -> bool {
        let limit = f64::from(self.bits).exp2();
        whole.is_finite() && whole < limit && if self.is_signed { whole >= -limit } else { whole >= 0.0 }
    }

    /// The low bits of a number.
    fn wrap(self, value: i128) -> i128 {
        let bits = self.bits + u32::from(self.is_signed);
        let low = value & ((1 << bits) - 1);
        let is_negative = self.is_signed && low >> self.bits == 1;
        if is_negative { low - (1 << bits) } else { low }
    }
}

#[cfg(test)]
mod tests;
