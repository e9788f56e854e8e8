//! Alterations of a call: extents and numbers that no model has.

use std::collections::BTreeSet;

use typeloom_cpu::attributes::Attribute;
use typeloom_cpu::ops::generate::Random;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

use crate::calls::Baseline;

const NUMBERS: &[i64] = &[-1, 0, 1, 2, 3, 1000, 1 << 20, (1 << 31) - 1, 1 << 40, 1 << 62, i64::MAX, i64::MIN];

const REALS: &[f32] = &[0.0, -1.0, 1e-30, 1000.0, 1e9, 1e30, f32::INFINITY, f32::NAN];

/// Extents of tensors without elements, and of tensors with elements if they are small enough.
const EXTENTS: &[usize] = &[0, 1, 2, 500, 5000, 1 << 16, 1 << 20, 1 << 31, 1 << 40, 1 << 62];

/// Maximum number of bytes of an altered input.
const MAX_BYTES: usize = 1 << 22;

/// Elements of an input or a list that are altered one by one.
const MAX_ALTERED: usize = 4;

#[derive(Clone, Debug)]
enum Change {
    /// An extent, wherever inputs and attributes have it.
    Extent(usize, usize),
    /// The shape of an input.
    Shape(usize, Vec<usize>),
    /// An element of an input; all without an index.
    Element(usize, Option<usize>, i64),
    Real(usize, f32),
    Attribute(String, Attribute),
}

/// Altered calls: with single changes, and with two or three, `most` of each kind.
pub(crate) fn alterations(baseline: &Baseline, most: usize) -> impl Iterator<Item = Altered> {
    let changes = changes(baseline);
    let mut random = Random::new(Some(changes.len() as f64));
    let mut pick = move |number: usize| -> Vec<Change> {
        let below = |bits: u64| usize::try_from(bits % changes.len() as u64).expect("there are few changes");
        (0..if changes.is_empty() { 0 } else { number })
            .map(|_| changes[below(random.bits())].clone())
            .collect()
    };
    (0..most).flat_map(move |_| [1, 2, 3].map(|number| Altered::of(baseline, pick(number))))
}

fn changes(baseline: &Baseline) -> Vec<Change> {
    let mut changes = Vec::new();
    let tensors = baseline.inputs.iter().enumerate();
    let tensors = tensors.filter_map(|(at, value)| Some((at, value.as_ref()?.as_tensor()?)));
    let mut known = BTreeSet::new();
    for (at, tensor) in tensors {
        known.extend(tensor.shape());
        let shape = tensor.shape();
        for axis in 0..shape.len() {
            let with = |extent: usize| {
                let mut shape = shape.to_vec();
                shape[axis] = extent;
                shape
            };
            changes.extend(EXTENTS.iter().map(|extent| Change::Shape(at, with(*extent))));
            for other in (0..shape.len()).filter(|other| *other != axis) {
                for huge in [1 << 20, 1 << 31, 1 << 40, 1 << 62] {
                    let mut shape = with(0);
                    shape[other] = huge;
                    changes.push(Change::Shape(at, shape));
                }
            }
        }
        changes.push(Change::Shape(at, vec![]));
        changes.push(Change::Shape(at, vec![0]));
        changes.push(Change::Shape(at, vec![1; 80]));
        changes.push(Change::Shape(at, [&[1], shape].concat()));
        let some = (0..tensor.len().min(MAX_ALTERED)).map(Some).chain([None]);
        match tensor.dtype() {
            Dtype::I64 | Dtype::I32 => {
                for element in some {
                    changes.extend(NUMBERS.iter().map(|number| Change::Element(at, element, *number)));
                }
            }
            Dtype::F32 if tensor.len() <= 16 => {
                changes.extend(REALS.iter().map(|number| Change::Real(at, *number)));
            }
            _ => {}
        }
    }
    for extent in known {
        changes.extend(EXTENTS.iter().map(|to| Change::Extent(extent, *to)));
    }
    for (name, value) in &baseline.attributes {
        let mut push = |value| changes.push(Change::Attribute(name.clone(), value));
        match value {
            Attribute::Int(_) => NUMBERS.iter().for_each(|number| push(Attribute::Int(*number))),
            Attribute::Float(_) => REALS.iter().for_each(|number| push(Attribute::Float(*number))),
            Attribute::Ints(list) => {
                for number in NUMBERS {
                    push(Attribute::Ints(vec![*number; list.len()]));
                    for at in 0..list.len().min(MAX_ALTERED) {
                        let mut list = list.clone();
                        list[at] = *number;
                        push(Attribute::Ints(list));
                    }
                }
            }
            Attribute::Floats(list) => {
                REALS.iter().for_each(|number| push(Attribute::Floats(vec![*number; list.len()])));
            }
            Attribute::Bytes(_) | Attribute::Tensor(_) | Attribute::Strings(_) | Attribute::Type(_) => {}
        }
    }
    changes
}

/// An altered call, and its changes.
pub(crate) struct Altered {
    call: Baseline,
    changes: Vec<Change>,
}

impl std::fmt::Debug for Altered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.changes.fmt(f)?;
        for input in self.call.inputs.iter().flatten().filter_map(Datum::as_tensor) {
            write!(f, " {}{:?}", input.dtype(), input.shape().iter().take(9).collect::<Vec<_>>())?;
        }
        Ok(())
    }
}

impl Altered {
    pub(crate) fn run(&self) {
        drop(self.call.run());
    }

    fn of(baseline: &Baseline, changes: Vec<Change>) -> Self {
        let mut call = baseline.clone();
        for change in &changes {
            apply(&mut call, change);
        }
        Self { call, changes }
    }
}

fn apply(call: &mut Baseline, change: &Change) {
    match change {
        Change::Extent(from, to) => {
            let number = *to as i64;
            for input in call.inputs.iter_mut().flatten() {
                let Datum::Tensor(tensor) = input else { continue };
                let other = |extent: &usize| if extent == from { *to } else { *extent };
                let shape: Vec<usize> = tensor.shape().iter().map(other).collect();
                *tensor = reshaped(tensor, &shape);
            }
            for value in call.attributes.values_mut() {
                match value {
                    Attribute::Int(value) if *value == *from as i64 => *value = number,
                    Attribute::Ints(list) => {
                        list.iter_mut()
                            .filter(|value| **value == *from as i64)
                            .for_each(|value| *value = number);
                    }
                    _ => {}
                }
            }
        }
        Change::Shape(at, shape) => {
            if let Some(Some(Datum::Tensor(tensor))) = call.inputs.get_mut(*at) {
                *tensor = reshaped(tensor, shape);
            }
        }
        Change::Element(at, element, number) => {
            let Some(Some(Datum::Tensor(tensor))) = call.inputs.get_mut(*at) else { return };
            let is_chosen = |index: usize| element.is_none_or(|element| element == index);
            if let Ok(list) = tensor.as_mut_slice::<i64>() {
                let chosen = list.iter_mut().enumerate().filter(|(index, _)| is_chosen(*index));
                chosen.for_each(|(_, value)| *value = *number);
            } else if let Ok(list) = tensor.as_mut_slice::<i32>() {
                let number = *number as i32;
                let chosen = list.iter_mut().enumerate().filter(|(index, _)| is_chosen(*index));
                chosen.for_each(|(_, value)| *value = number);
            }
        }
        Change::Real(at, number) => {
            let Some(Some(Datum::Tensor(tensor))) = call.inputs.get_mut(*at) else { return };
            if let Ok(list) = tensor.as_mut_slice::<f32>() {
                list.fill(*number);
            }
        }
        Change::Attribute(name, value) => {
            call.attributes.insert(name.clone(), value.clone());
        }
    }
}

/// A tensor of another shape, whose elements are those of the first, again and again. The same tensor if it
/// would be large.
fn reshaped(tensor: &AnyTensor, shape: &[usize]) -> AnyTensor {
    let count = if shape.contains(&0) {
        Some(0)
    } else {
        shape.iter().try_fold(1_usize, |all, it| all.checked_mul(*it))
    };
    let width = tensor.dtype().size_bytes().unwrap_or(8);
    let Some(bytes) = count.and_then(|count| count.checked_mul(width)).filter(|bytes| *bytes <= MAX_BYTES)
    else {
        return tensor.clone();
    };
    let has_bytes = tensor.dtype().size_bytes().is_some() && !tensor.is_empty();
    if has_bytes && bytes > 0 {
        let all: Vec<u8> = tensor.bytes().iter().copied().cycle().take(bytes).collect();
        if let Ok(made) = AnyTensor::from_le_bytes(tensor.dtype(), shape, &all) {
            return made;
        }
    }
    AnyTensor::zeros(tensor.dtype(), shape).unwrap_or_else(|_| tensor.clone())
}
