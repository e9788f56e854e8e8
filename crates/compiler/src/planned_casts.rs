//! Casts that the solver plans: their positions, and the possible ones.

use typeloom_program::program::{NodeId, Program, ValueId};
use typeloom_rewrite::coerce::keeps_values;
use typeloom_solver::elem::Elem;
use typeloom_tensor::value_type::{Element, ValueType};

use crate::report::CastReport;

/// The end of an edge at which a cast is inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CastEnd {
    Input,
    /// After an output of a node. The value keeps its name, and the node's own result gets another.
    Output,
}

/// The position of a cast.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CastSite {
    pub(crate) end: CastEnd,
    pub(crate) node: NodeId,
    /// The position of the input or output.
    pub(crate) port: usize,
    pub(crate) value: ValueId,
}

/// A cast to be inserted.
#[derive(Clone, Debug)]
pub(crate) struct PlannedCast {
    pub(crate) site: CastSite,
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
    pub(crate) lossless: bool,
    pub(crate) reason: String,
}

impl PlannedCast {
    pub(crate) fn report(&self, program: &Program) -> CastReport {
        CastReport {
            value: program[self.site.value].name.to_string(),
            from: self.from.to_owned(),
            to: self.to.to_owned(),
            lossless: self.lossless,
            reason: format!("{}, but the value is {}", self.reason, self.from),
        }
    }
}

/// Returns the element type if a cast can read and write it: a number that ONNX defines.
fn number(ty: &ValueType) -> Option<Elem> {
    let (Element::Tensor(Some(dtype)) | Element::Scalar(Some(dtype))) = ty.element else { return None };
    let elem = Elem::from_onnx(dtype.onnx_number())?;
    (![Elem::STRING, Elem::COMPLEX64, Elem::COMPLEX128].contains(&elem)).then_some(elem)
}

/// Whether there is a cast from one type to another: both are tensors, or both scalars, of numbers.
pub(crate) fn is_convertible(from: &ValueType, to: &ValueType) -> bool {
    from.is_tensor() == to.is_tensor() && number(from).is_some() && number(to).is_some()
}

/// Whether a cast keeps every value.
pub(crate) fn is_lossless(from: &ValueType, to: &ValueType) -> bool {
    number(from).zip(number(to)).is_some_and(|(from, to)| keeps_values(from, to))
}
