//! Affine quantization of floats to 8-bit integers.
//!
//! A value `x` is encoded as `round(x / scale) + zero`, saturated to `-128 ..= 127`, as by ONNX's
//! `QuantizeLinear`. Scale and zero point apply to the whole tensor, or to each entry along one axis. They
//! are derived from the range of the tensor, or from a range learned from samples; values outside a learned
//! range saturate. Ranges are extended to include 0, so that 0 is exact.
//!
//! **Law.** Within the range, `|x - decode(encode(x))| <= scale / 2`, up to rounding in the element type,
//! where `scale = (greatest - least) / 255`.
//!
//! After the [common header](super::message), a message contains the axis (`0xff` for none), a scale (64
//! bits) and a zero point (8 bits) for each entry along the axis, and the integers.
//!
//! Example of [`Int8`]:
//!
//! ```
//! use typeloom_components::codec::int8::Int8;
//! use typeloom_contracts::codec::Codec;
//!
//! let codec: Int8<[f32]> = Int8::default();
//! let decoded = codec.decode(&codec.encode(&[-1.0, 0.0, 0.3, 1.0])?)?;
//! assert_eq!(decoded[1], 0.0);
//! assert!((decoded[2] - 0.3).abs() <= 1.0 / 255.0);
//! # Ok::<(), typeloom_components::codec::int8::Int8Error>(())
//! ```

use std::marker::PhantomData;

use typeloom_contracts::codec::Codec;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_types::plural::counted;

use super::message::{MessageError, Reader, begin};
use crate::dense::{Dense, Floats, FloatsError, NotFloats, greatest, tensor_of};

/// Tag of messages: codec and version.
const TAG: [u8; 2] = [b'q', 1];
/// Encoding of a missing axis.
const NO_AXIS: u8 = 0xff;

/// Error of training, encoding or decoding.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Int8Error {
    /// The values are not floats.
    #[error(transparent)]
    NotFloats(#[from] NotFloats),
    /// The value cannot be quantized.
    #[error("element {at} is not finite")]
    NotFinite { at: usize },
    /// The tensor does not have the axis of the codec.
    #[error("a tensor of rank {rank} has no axis {axis}")]
    NoAxis { axis: usize, rank: usize },
    /// The ranges were learned from tensors with another extent along the axis.
    #[error("ranges were learned for {}, but the tensor has {found}", counted(*learned, "entry"))]
    Entries { learned: usize, found: usize },
    /// The samples contain no elements.
    #[error("the samples contain no elements to learn a range from")]
    NoSamples,
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The decoded tensor cannot be converted to the storage of the codec.
    #[error(transparent)]
    Storage(#[from] TensorError),
    /// The decoded element type is not a float type.
    #[error(transparent)]
    Floats(#[from] FloatsError),
}

/// Range of the values of one entry.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Range {
    least: f64,
    greatest: f64,
}

impl Range {
    /// The range that contains 0 only.
    const NOTHING: Self = Self { least: 0.0, greatest: 0.0 };

    fn with(self, value: f64) -> Self {
        Self { least: self.least.min(value), greatest: self.greatest.max(value) }
    }

    fn affine(self) -> Affine {
        // Divide before subtracting, because the difference may overflow.
        let step = self.greatest / 255.0 - self.least / 255.0;
        let scale = if step >= f64::MIN_POSITIVE { step } else { 1.0 };
        let zero = (-128.0 - self.least / scale).round_ties_even().clamp(-128.0, 127.0);
        Affine { scale, zero: zero as i8 }
    }
}

/// Quantization parameters of one entry.
#[derive(Clone, Copy, Debug)]
struct Affine {
    scale: f64,
    zero: i8,
}

impl Affine {
    fn encode(self, value: f64) -> i8 {
        ((value / self.scale).round_ties_even() + f64::from(self.zero)).clamp(-128.0, 127.0) as i8
    }

    fn decode(self, code: i8) -> f64 {
        (f64::from(code) - f64::from(self.zero)) * self.scale
    }
}

/// Maps elements to entries along an axis.
#[derive(Clone, Copy)]
struct Entries {
    count: usize,
    /// Number of elements in one step along the axis.
    stride: usize,
}

impl Entries {
    fn of(axis: Option<usize>, shape: &[usize]) -> Result<Self, Int8Error> {
        let Some(axis) = axis else { return Ok(Self { count: 1, stride: usize::MAX }) };
        let Some(count) = shape.get(axis) else { return Err(Int8Error::NoAxis { axis, rank: shape.len() }) };
        let stride = shape[axis + 1..].iter().fold(1_usize, |stride, extent| stride.saturating_mul(*extent));
        Ok(Self { count: *count, stride: stride.max(1) })
    }

    fn entry(self, element: usize) -> usize {
        element / self.stride % self.count.max(1)
    }
}

/// Quantizes floats to 8-bit integers; see the [module](self).
#[derive(Debug)]
pub struct Int8<In: ?Sized = AnyTensor> {
    axis: Option<usize>,
    learned: Option<Vec<Range>>,
    input: PhantomData<fn(&In)>,
}

impl<In: ?Sized> Default for Int8<In> {
    /// One scale for the whole tensor.
    fn default() -> Self {
        Self { axis: None, learned: None, input: PhantomData }
    }
}

impl<In: ?Sized> Int8<In> {
    /// Creates a codec with one scale for each entry along an axis.
    #[must_use]
    pub fn along(axis: usize) -> Self {
        Self { axis: Some(axis), ..Self::default() }
    }

    /// Returns the learned scales. The error of a value within its range is at most half of its scale.
    #[must_use]
    pub fn scales(&self) -> Option<Vec<f64>> {
        let scales = |ranges: &Vec<Range>| ranges.iter().map(|range| range.affine().scale).collect();
        self.learned.as_ref().map(scales)
    }
}

/// Extends the ranges to include the values of a tensor.
fn widen(ranges: &mut [Range], values: Floats<'_>, entries: Entries) -> Result<(), Int8Error> {
    if let Some(at) = values.first_not_finite() {
        return Err(Int8Error::NotFinite { at });
    }
    for (at, value) in values.iter().enumerate() {
        let range = &mut ranges[entries.entry(at)];
        *range = range.with(value);
    }
    Ok(())
}

impl<In: ?Sized + Dense> Codec for Int8<In> {
    type In = In;
    type Out = [u8];
    type Error = Int8Error;

    /// Learns the range of each entry: the minimum and maximum over all samples.
    fn train(&mut self, samples: &[&In]) -> Result<(), Int8Error> {
        let mut learned: Option<Vec<Range>> = None;
        for sample in samples {
            let sample = sample.to_tensor();
            let entries = Entries::of(self.axis, sample.shape())?;
            let ranges = learned.get_or_insert_with(|| vec![Range::NOTHING; entries.count]);
            if ranges.len() != entries.count {
                return Err(Int8Error::Entries { learned: ranges.len(), found: entries.count });
            }
            widen(ranges, Floats::of(&sample)?, entries)?;
        }
        self.learned = Some(learned.filter(|ranges| !ranges.is_empty()).ok_or(Int8Error::NoSamples)?);
        Ok(())
    }

    fn encode(&self, value: &In) -> Result<Box<[u8]>, Int8Error> {
        let tensor = value.to_tensor();
        let values = Floats::of(&tensor)?;
        let entries = Entries::of(self.axis, tensor.shape())?;
        let ranges = match &self.learned {
            Some(learned) if learned.len() == entries.count => {
                if let Some(at) = values.first_not_finite() {
                    return Err(Int8Error::NotFinite { at });
                }
                learned.clone()
            }
            Some(learned) => return Err(Int8Error::Entries { learned: learned.len(), found: entries.count }),
            None => {
                let mut ranges = vec![Range::NOTHING; entries.count];
                widen(&mut ranges, values, entries)?;
                ranges
            }
        };
        let affine: Vec<Affine> = ranges.into_iter().map(Range::affine).collect();
        let mut bytes = begin(TAG, &tensor)?;
        let axis = self.axis.map_or(Ok(NO_AXIS), u8::try_from);
        bytes.push(axis.map_err(|_| MessageError::Number { what: "axis", at: bytes.len() })?);
        for affine in &affine {
            bytes.extend(affine.scale.to_le_bytes());
            bytes.extend(affine.zero.to_le_bytes());
        }
        let codes = values.iter().enumerate().map(|(at, value)| affine[entries.entry(at)].encode(value));
        bytes.extend(codes.flat_map(i8::to_le_bytes));
        Ok(bytes.into_boxed_slice())
    }

    fn decode(&self, value: &[u8]) -> Result<Box<In>, Int8Error> {
        let (mut reader, dtype, shape) = Reader::begin(TAG, value)?;
        let at = reader.at();
        let [axis] = reader.array()?;
        let axis = (axis != NO_AXIS).then_some(usize::from(axis));
        if axis.is_some_and(|axis| axis >= shape.len()) {
            return Err(MessageError::Number { what: "axis", at }.into());
        }
        let entries = Entries::of(axis, &shape)?;
        // Every entry and every element occupies bytes of the message, so the message bounds the allocations.
        let mut affine = Vec::new();
        for _ in 0..entries.count {
            let at = reader.at();
            let scale = f64::from_le_bytes(reader.array()?);
            if !(scale.is_finite() && scale > 0.0) {
                return Err(MessageError::Number { what: "scale", at }.into());
            }
            affine.push(Affine { scale, zero: i8::from_le_bytes(reader.array()?) });
        }
        let count = shape.iter().try_fold(1_usize, |count, extent| count.checked_mul(*extent));
        let count = count.ok_or_else(|| TensorError::ShapeOverflow { shape: shape.clone().into() })?;
        let codes = reader.bytes(count)?;
        reader.end()?;
        let greatest = greatest(dtype).ok_or(NotFloats { found: dtype })?;
        // Rounding may move the last step past the greatest finite value.
        let decoded = |(at, code): (usize, &u8)| {
            affine[entries.entry(at)].decode(i8::from_le_bytes([*code])).clamp(-greatest, greatest)
        };
        let values: Vec<f64> = codes.iter().enumerate().map(decoded).collect();
        Ok(In::from_tensor(tensor_of(dtype, &shape, &values)?)?)
    }
}
