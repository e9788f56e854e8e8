//! Floats as 8-bit integers.
//!
//! A value `x` becomes `round(x / scale) + zero`, saturated to `-128 ..= 127`, as ONNX's `QuantizeLinear` does it; scale and zero
//! point are of the whole tensor, or of each entry along one axis. They come from the range of the tensor itself, or
//! from a range that was learned from samples, outside of which values saturate. Ranges are widened to hold 0, which is
//! thereby exact.
//!
//! **Law.** Within its range `|x - decode(encode(x))| <= scale / 2`, where `scale = (greatest - least) / 255`, up to the rounding of
//! the element type.
//!
//! After the [common beginning](super::message) a message has the axis (`0xff` for none), a scale (64 bits) and a zero point (8
//! bits) for each entry of the axis, and the integers.

use std::marker::PhantomData;

use typeloom_contracts::codec::Codec;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::any_tensor::error::TensorError;

use super::message::{MessageError, Reader, begin};
use crate::dense::{Dense, Floats, FloatsError, NotFloats, greatest, tensor_of};

/// The beginning of its messages.
const TAG: [u8; 2] = [b'q', 1];
/// What stands for no axis.
const NO_AXIS: u8 = 0xff;

/// What the codec has to say against a tensor or a message.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Int8Error {
    /// Values that have no range.
    #[error(transparent)]
    NotFloats(#[from] NotFloats),
    /// A value that no integer stands for.
    #[error("element {at} is not finite")]
    NotFinite {
        /// Which element.
        at: usize,
    },
    /// The axis of the codec is none of the tensor's.
    #[error("a tensor of rank {rank} has no axis {axis}")]
    NoAxis {
        /// The codec's axis.
        axis: usize,
        /// The tensor's rank.
        rank: usize,
    },
    /// The ranges were learned from tensors of another extent.
    #[error("ranges were learned for {learned} entries, and there are {found}")]
    Entries {
        /// How many there were.
        learned: usize,
        /// How many there are.
        found: usize,
    },
    /// Samples without a single value.
    #[error("there is nothing to learn a range from")]
    NoSamples,
    /// The message is malformed.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// What was decoded is not what the codec stores.
    #[error(transparent)]
    Storage(#[from] TensorError),
    /// What was decoded is no tensor of floats.
    #[error(transparent)]
    Floats(#[from] FloatsError),
}

/// The values of one entry, from the least to the greatest.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Range {
    least: f64,
    greatest: f64,
}

impl Range {
    /// Holds nothing but 0.
    const NOTHING: Self = Self { least: 0.0, greatest: 0.0 };

    fn with(self, value: f64) -> Self {
        Self { least: self.least.min(value), greatest: self.greatest.max(value) }
    }

    fn affine(self) -> Affine {
        // Divided before they are subtracted, because the difference may overflow.
        let step = self.greatest / 255.0 - self.least / 255.0;
        let scale = if step >= f64::MIN_POSITIVE { step } else { 1.0 };
        let zero = (-128.0 - self.least / scale).round_ties_even().clamp(-128.0, 127.0);
        Affine { scale, zero: zero as i8 }
    }
}

/// How values become integers.
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

/// Which entry along an axis an element belongs to.
#[derive(Clone, Copy)]
struct Entries {
    count: usize,
    /// How many elements one step along the axis passes over.
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

/// Floats as 8-bit integers; see the [module](self).
///
/// ```
/// use typeloom_components::codec::int8::Int8;
/// use typeloom_contracts::codec::Codec;
///
/// let codec: Int8<[f32]> = Int8::default();
/// let decoded = codec.decode(&codec.encode(&[-1.0, 0.0, 0.3, 1.0])?)?;
/// assert_eq!(decoded[1], 0.0);
/// assert!((decoded[2] - 0.3).abs() <= 1.0 / 255.0);
/// # Ok::<(), typeloom_components::codec::int8::Int8Error>(())
/// ```
#[derive(Debug)]
pub struct Int8<In: ?Sized = AnyTensor> {
    axis: Option<usize>,
    learned: Option<Vec<Range>>,
    input: PhantomData<fn(&In)>,
}

impl<In: ?Sized> Default for Int8<In> {
    /// One scale for a tensor.
    fn default() -> Self {
        Self { axis: None, learned: None, input: PhantomData }
    }
}

impl<In: ?Sized> Int8<In> {
    /// A scale for each entry along an axis.
    #[must_use]
    pub fn along(axis: usize) -> Self {
        Self { axis: Some(axis), ..Self::default() }
    }

    /// The scales that were learned: half of one is how far a value within its range may be off.
    #[must_use]
    pub fn scales(&self) -> Option<Vec<f64>> {
        let scales = |ranges: &Vec<Range>| ranges.iter().map(|range| range.affine().scale).collect();
        self.learned.as_ref().map(scales)
    }
}

/// Widens ranges by the values of a tensor.
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

    /// Learns the range of each entry: from the least to the greatest value in any sample.
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
        // An entry takes bytes, and so does an element: what the message claims, it has to hold.
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
        // The step that holds the greatest value may end past it.
        let decoded = |(at, code): (usize, &u8)| {
            affine[entries.entry(at)].decode(i8::from_le_bytes([*code])).clamp(-greatest, greatest)
        };
        let values: Vec<f64> = codes.iter().enumerate().map(decoded).collect();
        Ok(In::from_tensor(tensor_of(dtype, &shape, &values)?)?)
    }
}
