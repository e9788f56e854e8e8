//! Stored tensors in another element type.
//!
//! Elements are rounded to the nearest value, ties to even. A finite element above the greatest value becomes
//! the greatest value: a mask of `-3.4e38` stays finite, so that sums and products of masks do not become
//! undefined. Infinities and NaN stay.

use half::{bf16, f16};
use typeloom_onnx::messages::TensorProto;
use typeloom_onnx::prost::Message as _;
use typeloom_onnx::view::TensorView;
use typeloom_solver::elem::Elem;

use super::{ConvertError, ReadSide};
use crate::coerce::loss::{LossKind, TensorLoss};

/// A stored tensor in another element type, and the effect on its elements.
pub(super) fn converted(
    mut tensor: TensorProto,
    to: Elem,
    side: Option<&ReadSide<'_>>,
) -> Result<(TensorProto, TensorLoss), ConvertError> {
    let bytes = tensor.encode_to_vec();
    let view = TensorView::from_body(&bytes, 0);
    let unread = |reason: String| ConvertError::Unread { tensor: tensor.name().to_owned(), reason };
    let header = view.header().map_err(|error| unread(error.to_string()))?;
    let mut elements = Elements::new(to);
    let is_read = match (header.is_external(), side) {
        (true, Some(side)) => {
            let data = side(&tensor).map_err(unread)?;
            header.with_raw_data(&data).extend_floats(usize::MAX, &mut elements)
        }
        (true, None) => return Err(unread("they are in another file".to_owned())),
        (false, _) => header.extend_floats(usize::MAX, &mut elements),
    };
    if is_read != Ok(true) {
        return Err(unread("they do not fit its extents and its type".to_owned()));
    }
    let (data, loss) = (elements.bytes, elements.loss);
    tensor.data_type = Some(i32::from(to.number()));
    tensor.raw_data = Some(data.into());
    tensor.data_location = None;
    tensor.external_data.clear();
    tensor.float_data.clear();
    tensor.int32_data.clear();
    Ok((tensor, loss))
}

/// A tensor of floats.
pub(super) fn of_floats(floats: &[f32], dims: Vec<i64>, to: Elem) -> (TensorProto, TensorLoss) {
    let mut elements = Elements::new(to);
    elements.extend(floats.iter().map(|float| f64::from(*float)));
    let tensor = TensorProto {
        dims,
        data_type: Some(i32::from(to.number())),
        raw_data: Some(elements.bytes.into()),
        ..TensorProto::default()
    };
    (tensor, elements.loss)
}

/// Converted elements as bytes.
struct Elements {
    to: Elem,
    bytes: Vec<u8>,
    loss: TensorLoss,
}

impl Elements {
    fn new(to: Elem) -> Self {
        Self { to, bytes: Vec::new(), loss: TensorLoss::default() }
    }

    fn push(&mut self, value: f32) {
        let new = match self.to {
            Elem::FLOAT16 => {
                let new = f16::from_f32(value);
                let new = if new.is_infinite() && value.is_finite() { f16::MAX.copysign(new) } else { new };
                self.bytes.extend_from_slice(&new.to_le_bytes());
                new.to_f32()
            }
            Elem::BFLOAT16 => {
                let new = bf16::from_f32(value);
                let new = if new.is_infinite() && value.is_finite() { bf16::MAX.copysign(new) } else { new };
                self.bytes.extend_from_slice(&new.to_le_bytes());
                new.to_f32()
            }
            _ => {
                self.bytes.extend_from_slice(&value.to_le_bytes());
                value
            }
        };
        self.loss.elements += 1;
        if new == value || value.is_nan() {
            return;
        }
        let greatest = match self.to {
            Elem::FLOAT16 => f16::MAX.to_f32(),
            _ => bf16::MAX.to_f32(),
        };
        let kind = if new == 0.0 {
            LossKind::Vanished
        } else if value.abs() > greatest {
            LossKind::Overflowed
        } else {
            LossKind::Rounded
        };
        self.loss.add(kind, || (text(value), text(new)));
    }
}

/// The shortest text of a number.
fn text(value: f32) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-4..1e7).contains(&size) { value.to_string() } else { format!("{value:e}") }
}

impl Extend<f64> for Elements {
    /// The elements are exact as single floats, because they come from a type of at most 32 bits.
    fn extend<I: IntoIterator<Item = f64>>(&mut self, elements: I) {
        elements.into_iter().for_each(|element| self.push(element as f32));
    }
}
