//! Mappings between labels, categories and numbers.
//!
//! Models of tables map categories to numbers and back. A mapping is two lists in attributes, and an element
//! is found by its position in the first one:
//!
//! ```text
//! LabelEncoder <keys_strings = ["cat", "dog"], values_int64s = [7, 9], default_int64 = -1>
//!   positions   cat 0, dog 1, any other 2        values 7, 9, -1
//!   ["dog", "emu", "cat"]  ->  [9, -1, 7]
//! ```
//!
//! The default is the last value, so an unknown key needs no special case. A node builds its table ([`Keys`])
//! in its first run and keeps it with its attributes ([`Attributes::derived`]). If the integers of a list
//! differ by less than [`MAX_RANGE`], the table is an array; otherwise, and for other types, it is a hash
//! map. Building takes time linear in the keys and their range, and encoding takes constant time per element.
//! [`Mapping::block_by_block`] encodes 64-bit integers in blocks of [`BLOCK`], without a list of all
//! positions.
//!
//! **Invariant:** all NaN are one key, and both zeros are. Of equal keys the first one counts, except in
//! `OneHotEncoder`, where the last one does.
//!
//! **Limit:** an input has the kind of the keys: text for text, `float` or `double` for floats, integers of
//! 64, 32 or 16 bits for integers. `OneHotEncoder` converts other numbers to integers.

use std::collections::HashMap;

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

use super::numbers;
use crate::attributes::Attributes;
use crate::call::{Call, Outcome, one};
use crate::element::{build, check_size, from_slice, to_f64s};
use crate::error::{KernelErrorKind, invalid};
use crate::movement::{picked, reshape, write_chunks};
use crate::ops::{ML_DOMAIN, Operator, native};

pub(in crate::ops) const OPERATORS: &[Operator] = &[
    native("CategoryMapper", map_categories).of(ML_DOMAIN),
    native("LabelEncoder", encode_labels).of(ML_DOMAIN),
    native("OneHotEncoder", one_hot).of(ML_DOMAIN),
];

/// Greatest distance of two keys in a table.
const MAX_RANGE: i64 = 1 << 16;

/// Number of elements that are encoded together.
const BLOCK: usize = 512;

/// Position of each key in a list. The first of equal keys counts.
#[derive(Debug)]
pub(super) enum Keys {
    Texts(HashMap<String, usize>),
    Ints(HashMap<i64, usize>),
    /// Integers within a small range, by their distance from the first number.
    Range(i64, Vec<usize>),
    /// By bits; all NaN are one key, and so are both zeros.
    Reals(HashMap<u64, usize>),
}

fn bits(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() }
}

/// Positions of keys; the first of equal keys counts.
fn positions<K: std::hash::Hash + Eq>(keys: impl Iterator<Item = K>) -> HashMap<K, usize> {
    let mut positions = HashMap::new();
    for (at, key) in keys.enumerate() {
        positions.entry(key).or_insert(at);
    }
    positions
}

impl Keys {
    pub(super) fn of(keys: &AnyTensor) -> Result<Self, KernelErrorKind> {
        Ok(match keys.dtype() {
            Dtype::String => Self::Texts(positions(keys.strings()?.map(str::to_owned))),
            Dtype::F32 | Dtype::F64 => Self::Reals(positions(to_f64s(keys)?.into_iter().map(bits))),
            _ => Self::of_ints(positions(numbers::<i64>(keys)?.into_iter())),
        })
    }

    fn of_ints(keys: HashMap<i64, usize>) -> Self {
        let (least, most) = (keys.keys().min().copied(), keys.keys().max().copied());
        let (Some(least), Some(most)) = (least, most) else { return Self::Ints(keys) };
        match most.checked_sub(least) {
            Some(range) if range < MAX_RANGE => {
                let at = |distance| keys.get(&(least + distance)).copied().unwrap_or(usize::MAX);
                Self::Range(least, (0..=range).map(at).collect())
            }
            Some(_) | None => Self::Ints(keys),
        }
    }

    /// The position of each element of `x`, and `other` for those that are no key.
    pub(super) fn positions(&self, x: &AnyTensor, other: usize) -> Result<Vec<usize>, KernelErrorKind> {
        let or_other = |at: Option<&usize>| at.copied().unwrap_or(other);
        match (self, x.dtype()) {
            (Self::Texts(keys), Dtype::String) => {
                Ok(x.strings()?.map(|text| or_other(keys.get(text))).collect())
            }
            (Self::Reals(keys), Dtype::F32 | Dtype::F64) => {
                Ok(to_f64s(x)?.into_iter().map(|value| or_other(keys.get(&bits(value)))).collect())
            }
            (Self::Ints(_) | Self::Range(..), Dtype::I64 | Dtype::I32 | Dtype::I16) => {
                let list = numbers::<i64>(x)?;
                let mut positions = vec![0; list.len()];
                self.of_numbers(&list, other, &mut positions);
                Ok(positions)
            }
            (Self::Texts(_) | Self::Ints(_) | Self::Range(..) | Self::Reals(_), dtype) => {
                Err(KernelErrorKind::Dtype(dtype))
            }
        }
    }

    fn of_numbers(&self, list: &[i64], other: usize, positions: &mut [usize]) {
        let pairs = positions.iter_mut().zip(list);
        match self {
            Self::Range(least, table) => pairs.for_each(|(to, value)| {
                // Numbers below the first one wrap to large distances.
                *to = match table.get(value.wrapping_sub(*least) as u64 as usize) {
                    Some(at) if *at != usize::MAX => *at,
                    Some(_) | None => other,
                };
            }),
            Self::Ints(keys) => {
                pairs.for_each(|(to, value)| *to = keys.get(value).copied().unwrap_or(other));
            }
            Self::Texts(_) | Self::Reals(_) => pairs.for_each(|(to, _)| *to = other),
        }
    }
}

/// A mapping of keys to values.
#[derive(Debug)]
struct Mapping {
    keys: Keys,
    /// The values in the order of their keys, then the default.
    values: AnyTensor,
}

impl Mapping {
    fn new(keys: &AnyTensor, values: &AnyTensor, default: &AnyTensor) -> Result<Self, KernelErrorKind> {
        if keys.len() != values.len() || default.len() != 1 {
            return invalid(format!(
                "there are {} and {}",
                counted(keys.len(), "key"),
                counted(values.len(), "value")
            ));
        }
        let values = reshape(values.clone(), &[values.len()])?;
        let default = reshape(default.clone(), &[1])?;
        Ok(Self { keys: Keys::of(keys)?, values: crate::ops::slice::join(&[&values, &default], 0)? })
    }

    fn apply(&self, x: &AnyTensor) -> Outcome {
        let default = self.values.len() - 1;
        one(match (&self.keys, x.dtype(), self.values.dtype().size_bytes()) {
            (Keys::Ints(_) | Keys::Range(..), Dtype::I64, Some(4)) => self.block_by_block::<4>(x)?,
            (Keys::Ints(_) | Keys::Range(..), Dtype::I64, Some(8)) => self.block_by_block::<8>(x)?,
            _ => picked(&self.values, &self.keys.positions(x, default)?, x.shape())?,
        })
    }

    /// Encodes integers with values of `N` bytes, without a list of all positions.
    fn block_by_block<const N: usize>(&self, x: &AnyTensor) -> Result<AnyTensor, KernelErrorKind> {
        check_size(x.shape(), N)?;
        let (list, values) = (x.as_slice::<i64>()?, self.values.bytes().as_chunks::<N>().0);
        let default = values.len() - 1;
        write_chunks::<N>(self.values.dtype(), x.shape(), |out| {
            let mut buffer = [0; BLOCK];
            for (out, list) in out.chunks_mut(BLOCK).zip(list.chunks(BLOCK)) {
                let positions = &mut buffer[..list.len()];
                self.keys.of_numbers(list, default, positions);
                out.iter_mut().zip(&*positions).for_each(|(out, at)| *out = values[*at]);
            }
        })
    }
}

fn texts(list: &[&str]) -> Result<AnyTensor, KernelErrorKind> {
    Ok(AnyTensor::from_strings(&[list.len()], list)?)
}

/// The default text and the default integer, as tensors.
fn defaults(attributes: &Attributes) -> Result<(AnyTensor, AnyTensor), KernelErrorKind> {
    let text = attributes.text("default_string")?.unwrap_or("_Unused");
    Ok((texts(&[text])?, AnyTensor::from_scalar(attributes.int("default_int64")?.unwrap_or(-1))))
}

/// Both directions of a mapping between texts and integers.
fn both_ways(attributes: &Attributes, names: &[&str], ids: &[i64]) -> Result<[Mapping; 2], KernelErrorKind> {
    let (names, ids) = (texts(names)?, AnyTensor::from(ids));
    let (text, int) = defaults(attributes)?;
    Ok([Mapping::new(&names, &ids, &int)?, Mapping::new(&ids, &names, &text)?])
}

fn map_categories(call: &mut Call<'_>) -> Outcome {
    let ways = call.attributes.derived(|attributes| {
        let names = attributes.texts("cats_strings")?.unwrap_or_default();
        both_ways(attributes, &names, attributes.ints("cats_int64s")?.unwrap_or_default())
    })?;
    let x = call.tensor(0)?;
    ways[usize::from(x.dtype() != Dtype::String)].apply(x)
}

/// Version 1 numbers a list of texts. Later versions have keys and values, in one attribute each.
fn encode_labels(call: &mut Call<'_>) -> Outcome {
    let ways = call.attributes.derived(|attributes| {
        if let Some(classes) = attributes.texts("classes_strings")? {
            let ids: Vec<i64> = (0..).take(classes.len()).collect();
            return both_ways(attributes, &classes, &ids).map(Vec::from);
        }
        let list = |prefix: &str| -> Result<Option<AnyTensor>, KernelErrorKind> {
            if let Some(list) = attributes.texts(&format!("{prefix}_strings"))? {
                return texts(&list).map(Some);
            }
            if let Some(list) = attributes.ints(&format!("{prefix}_int64s"))? {
                return Ok(Some(AnyTensor::from(list)));
            }
            if let Some(list) = attributes.floats(&format!("{prefix}_floats"))? {
                return from_slice(&[list.len()], list).map(Some);
            }
            Ok(attributes.tensor(&format!("{prefix}_tensor"))?.cloned())
        };
        let keys = list("keys")?.ok_or(KernelErrorKind::MissingAttribute("keys_tensor"))?;
        let values = list("values")?.ok_or(KernelErrorKind::MissingAttribute("values_tensor"))?;
        let (text, int) = defaults(attributes)?;
        let default = match (attributes.tensor("default_tensor")?, values.dtype()) {
            (Some(default), _) => default.clone(),
            (None, Dtype::String) => text,
            (None, Dtype::F32 | Dtype::F64) => {
                let real = AnyTensor::from_scalar(attributes.float("default_float")?.unwrap_or(-0.0));
                crate::ops::cast::convert(&real, values.dtype())?
            }
            (None, dtype) => crate::ops::cast::convert(&int, dtype)?,
        };
        Ok(vec![Mapping::new(&keys, &values, &default)?])
    })?;
    let x = call.tensor(0)?;
    let way = usize::from(ways.len() > 1 && x.dtype() != Dtype::String);
    ways[way].apply(x)
}

/// Numbers other than integers are truncated. The last of equal categories counts, as in ONNX Runtime.
fn one_hot(call: &mut Call<'_>) -> Outcome {
    let zeros = call.flag("zeros", true)?;
    let x = call.tensor(0)?;
    let names = call.attributes.texts("cats_strings")?.unwrap_or_default();
    let ids = call.attributes.ints("cats_int64s")?.unwrap_or_default();
    let width = if ids.is_empty() { names.len() } else { ids.len() };
    let shape = [x.shape(), &[width]].concat();
    check_size(&shape, size_of::<f32>())?;
    let keys = call.attributes.derived(|attributes| {
        let names = attributes.texts("cats_strings")?.unwrap_or_default();
        let ids = attributes.ints("cats_int64s")?.unwrap_or_default();
        Ok(if ids.is_empty() {
            Keys::Texts(names.into_iter().enumerate().map(|(at, name)| (name.to_owned(), at)).collect())
        } else {
            Keys::of_ints(ids.iter().enumerate().map(|(at, id)| (*id, at)).collect())
        })
    })?;
    let hits = if matches!(x.dtype(), Dtype::String | Dtype::I64) {
        keys.positions(x, width)?
    } else {
        keys.positions(&crate::ops::cast::convert(x, Dtype::I64)?, width)?
    };
    if !zeros && hits.contains(&width) {
        return invalid("an element is not a category");
    }
    one(build::<f32>(&shape, |out| {
        for (row, hit) in out.chunks_exact_mut(width.max(1)).zip(&hits) {
            if let Some(hit) = row.get_mut(*hit) {
                *hit = 1.0;
            }
        }
    })?)
}
