//! The operands of a form, with the arithmetic of Rust.
//!
//! `1.0 / (1.0 + (-x).exp())` adds the nodes `Neg`, `Exp`, `Add` and `Div`, in the order of evaluation. A
//! number next to an operand is a constant of the operand's element type. An operand is a copyable reference
//! to a value of its form.

use std::ops::{Add, Div, Mul, Neg, Not, Sub};

use typeloom_types::dtype::{Dtype, DtypeClass};

use super::{Form, LARGEST, OrRefusal, Refusal, Shape, Source, number_of, refuse};

/// A value of a form and its element type.
#[derive(Clone, Copy)]
pub(super) struct ValueRef {
    pub(super) at: usize,
    pub(super) dtype: Dtype,
}

/// A tensor of a known element type in a form.
#[derive(Clone, Copy)]
pub(in super::super) struct Operand<'f> {
    pub(in super::super) form: Form<'f>,
    pub(super) value: ValueRef,
}

/// An operand, or a number of the element type of the other operand.
pub(in super::super) trait IntoOperand<'f>: Copy {
    fn own_dtype(self) -> Option<Dtype>;
    fn operand(self, form: Form<'f>, dtype: Dtype) -> Operand<'f>;
}

impl<'f> IntoOperand<'f> for Operand<'f> {
    fn own_dtype(self) -> Option<Dtype> {
        Some(self.dtype())
    }

    fn operand(self, _form: Form<'f>, _dtype: Dtype) -> Operand<'f> {
        self
    }
}

impl<'f> IntoOperand<'f> for f64 {
    fn own_dtype(self) -> Option<Dtype> {
        None
    }

    fn operand(self, form: Form<'f>, dtype: Dtype) -> Operand<'f> {
        form.literal(dtype, self)
    }
}

macro_rules! operators {
    ($($operator:ident $method:ident $op:literal;)*) => {$(
        impl<'f, T: IntoOperand<'f>> $operator<T> for Operand<'f> {
            type Output = Self;

            fn $method(self, other: T) -> Self {
                self.binary($op, other)
            }
        }

        impl<'f> $operator<Operand<'f>> for f64 {
            type Output = Operand<'f>;

            fn $method(self, other: Operand<'f>) -> Operand<'f> {
                other.number(self).binary($op, other)
            }
        }
    )*};
}

operators! {
    Add add "Add";
    Sub sub "Sub";
    Mul mul "Mul";
    Div div "Div";
}

impl Neg for Operand<'_> {
    type Output = Self;

    fn neg(self) -> Self {
        self.unary("Neg")
    }
}

/// The negation of a condition.
impl Not for Operand<'_> {
    type Output = Self;

    fn not(self) -> Self {
        if self.form.stores_masks() {
            return self.select(self.form.literal(Dtype::Bool, 0.0), 1.0);
        }
        self.truth().less(1.0)
    }
}

impl<'f> Operand<'f> {
    /// The name for messages: a value of the form has the name of its operator.
    pub(super) fn name(self) -> String {
        match &self.form.built.borrow().values[self.value.at].source {
            Source::Program(value) => self.form.program[*value].name.to_string(),
            Source::Form(op) => op.to_string(),
        }
    }

    /// The element type.
    pub(in super::super) fn dtype(self) -> Dtype {
        self.value.dtype
    }

    pub(in super::super) fn shape(self) -> Shape {
        self.form.built.borrow().values[self.value.at].shape.clone()
    }

    /// The number of axes.
    pub(in super::super) fn rank(self) -> OrRefusal<usize> {
        match self.shape() {
            Some(shape) => Ok(shape.len()),
            None => refuse(format!("the rank of `{}` is not known", self.name())),
        }
    }

    /// The extents, if all are numbers.
    pub(in super::super) fn extents(self) -> OrRefusal<Vec<i64>> {
        let all: Option<Vec<i64>> = self.shape().and_then(|shape| shape.iter().map(number_of).collect());
        let all =
            all.ok_or_else(|| Refusal(format!("the extents of `{}` are not all numbers", self.name())))?;
        match all.iter().all(|extent| *extent <= LARGEST) {
            true => Ok(all),
            false => refuse(format!("`{}` is too large", self.name())),
        }
    }

    /// One extent.
    pub(in super::super) fn extent(self, axis: usize) -> OrRefusal<i64> {
        match self.shape().and_then(|shape| number_of(shape.get(axis)?)) {
            Some(extent) if extent <= LARGEST => Ok(extent),
            Some(_) => refuse(format!("`{}` is too large", self.name())),
            None => refuse(format!("extent {axis} of `{}` is not a number", self.name())),
        }
    }

    /// A single number of the operand's element type.
    pub(in super::super) fn number(self, number: f64) -> Operand<'f> {
        self.form.literal(self.dtype(), number)
    }

    /// A number of the node's attributes, in the operand's element type.
    pub(in super::super) fn attribute(self, name: &str, default: f32) -> Operand<'f> {
        self.number(self.form.float(name, default))
    }

    /// A condition as 1 and 0.
    pub(in super::super) fn truth(self) -> Self {
        let dtype = self.form.truth_dtype();
        if self.form.storage.is_none() {
            return self.cast(dtype);
        }
        self.select(self.form.literal(dtype, 1.0), 0.0)
    }

    /// Evaluates a polynomial by Horner's scheme. The coefficient of the highest power is first.
    pub(in super::super) fn polynomial(self, coefficients: &[f64]) -> Self {
        let (first, rest) = coefficients.split_first().expect("a polynomial has coefficients");
        rest.iter().fold(self.number(*first), |sum, coefficient| sum * self + *coefficient)
    }

    /// The maximum; NaN if either operand is.
    pub(in super::super) fn max(self, other: Self) -> Self {
        self.either(self.greater(other), other)
    }

    /// The minimum; NaN if either operand is.
    pub(in super::super) fn min(self, other: Self) -> Self {
        self.either(self.less(other), other)
    }

    fn either(self, first: Self, other: Self) -> Self {
        let floats = matches!(self.dtype().class(), DtypeClass::Float);
        // Equality of floats exists since version 11.
        let has_equality = floats && self.form.version >= 11;
        first.select(self, if has_equality { self.equal(self).select(other, self) } else { other })
    }
}
