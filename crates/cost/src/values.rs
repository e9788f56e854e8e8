//! The sizes of the values of a body.

use typeloom_dim::{DimId, Dims};
use typeloom_solver::elem::Elem;
use typeloom_solver::model::Checked;
use typeloom_solver::model::bodies::SolvedBody;
use typeloom_types::dtype::Dtype;

use crate::amount::Amount;

/// The size of a value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Size {
    /// The extents; `None` if the rank is unknown, or the value is no dense tensor.
    pub(crate) shape: Option<Box<[DimId]>>,
    pub(crate) dtype: Option<Dtype>,
    /// The number of elements.
    pub(crate) elements: Option<DimId>,
    /// The number of elements, if no symbol decides it.
    pub(crate) number: Option<u128>,
    /// Packed bytes. Texts have no size.
    pub(crate) bytes: Option<Amount>,
}

/// The sizes of all values, by their positions.
pub(crate) fn sizes<'a>(checked: &mut Checked<'a>, body: &SolvedBody<'a>) -> Vec<Size> {
    let values = body.body.values();
    values
        .map(|value| {
            let ty = checked.type_within(body, value);
            let Some(tensor) = ty.tensor() else { return Size::default() };
            let dtype = tensor.elem.single().and_then(Elem::dtype);
            let dims = checked.dims_mut();
            let shape = tensor.shape.as_deref().map(|shape| dims.resolve_all(shape).to_vec().into());
            Size::of(dims, shape, dtype)
        })
        .collect()
}

impl Size {
    pub(crate) fn of(dims: &mut Dims, shape: Option<Box<[DimId]>>, dtype: Option<Dtype>) -> Self {
        let elements = shape.as_deref().map(|shape| dims.product(shape));
        let extents = shape.as_deref().and_then(|shape| {
            let extent = |dim: &DimId| u128::try_from(dims.as_constant(*dim)?).ok();
            shape.iter().map(extent).collect::<Option<Vec<u128>>>()
        });
        let number = extents.map(|extents| extents.into_iter().fold(1, u128::saturating_mul));
        let bytes = elements.zip(dtype.and_then(Dtype::size_bits)).map(|(elements, bits)| {
            if bits.is_multiple_of(8) {
                return Amount::of_dim(dims, elements).scaled(i128::from(bits / 8));
            }
            let [bits, eight] = [i64::from(bits), 8].map(|number| dims.constant(number));
            let bits = dims.mul(elements, bits);
            let bytes = dims.ceil_div(bits, eight);
            Amount::of_dim(dims, bytes)
        });
        Self { shape, dtype, elements, number, bytes }
    }
}
