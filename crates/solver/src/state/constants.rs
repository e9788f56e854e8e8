//! Interned constants.
//!
//! The solver follows small tensors whose elements can decide shapes.
//!
//! **Invariant:** equal constants have equal ids.

use std::hash::{BuildHasher, Hash, Hasher};
use std::num::NonZeroU32;
use std::sync::Arc;

use hashbrown::HashTable;

use crate::dim::DimId;
use crate::elem::Elem;
use crate::map::HashState;

/// Maximum number of elements of a constant that the solver follows.
pub const MAX_ELEMENTS: usize = 4096;

/// Maximum number of elements of a constant that is passed into a function or out of it.
pub(crate) const MAX_PASSED_ELEMENTS: usize = 64;

/// An integer or boolean tensor, or a tensor of whole floats, with its elements as dims in row-major order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ints {
    /// The extents; empty for a scalar.
    pub shape: Box<[usize]>,
    /// The elements, as many as the product of the extents.
    pub items: Box<[DimId]>,
}

/// A floating-point tensor.
#[derive(Clone, Debug)]
pub struct Floats {
    /// The extents; empty for a scalar.
    pub shape: Box<[usize]>,
    /// The elements in row-major order.
    pub items: Box<[f64]>,
}

/// The whole numbers from `least` to `greatest`, each at least once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Counting {
    /// The least of the numbers.
    pub least: DimId,
    /// The greatest of the numbers.
    pub greatest: DimId,
    /// Their order in the tensor.
    pub order: CountingOrder,
}

/// The order of numbers in a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CountingOrder {
    /// The tensor has one axis, and each number is its predecessor plus one.
    Rising,
    /// The tensor has one axis, and each number is its predecessor minus one.
    Falling,
    /// Unknown order.
    Any,
}

impl Counting {
    /// The same numbers in unknown order.
    #[must_use]
    pub fn shuffled(self) -> Self {
        Self { order: CountingOrder::Any, ..self }
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

    /// The only item.
    #[must_use]
    pub fn single(&self) -> Option<DimId> {
        if let [only] = self.items[..] { Some(only) } else { None }
    }
}

/// The elements of a constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Data {
    Ints(Arc<Ints>),
    Floats(Arc<Floats>),
    /// Equal whole numbers; their number is not a constant.
    Filled(DimId),
    /// Integers divided by a constant of 2 or more.
    Ratios(Arc<Ints>, i64),
    /// Consecutive whole numbers; their number is not a constant.
    Counting(Counting),
    /// Not followed: too large, of another element type, or not in the file.
    Opaque,
}

impl Data {
    pub(crate) fn as_ints(&self) -> Option<&Arc<Ints>> {
        if let Self::Ints(ints) = self { Some(ints) } else { None }
    }

    pub(crate) fn as_floats(&self) -> Option<&Arc<Floats>> {
        if let Self::Floats(floats) = self { Some(floats) } else { None }
    }
}

/// Identifies an interned constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct DataId(NonZeroU32);

impl DataId {
    /// The id of [`Data::Opaque`].
    pub(crate) const OPAQUE: Self = Self(NonZeroU32::MIN);

    /// The number of the id, never zero.
    pub(crate) const fn number(self) -> u32 {
        self.0.get()
    }

    /// The position in [`Constants::items`] of any other id than [`Self::OPAQUE`].
    const fn index(self) -> usize {
        self.0.get() as usize - 2
    }
}

/// The interned constants of a solve.
#[derive(Default)]
pub(crate) struct Constants {
    /// The constants from the second id on; the first one is [`DataId::OPAQUE`].
    items: Vec<Data>,
    index: HashTable<DataId>,
    hasher: HashState,
}

impl Constants {
    /// Returns the constant with this id.
    pub(crate) fn get(&self, id: DataId) -> &Data {
        if id == DataId::OPAQUE { const { &Data::Opaque } } else { &self.items[id.index()] }
    }

    /// Returns the id of a constant.
    pub(crate) fn intern(&mut self, data: Data) -> DataId {
        if let Data::Opaque = data {
            return DataId::OPAQUE;
        }
        let Self { items, index, hasher } = self;
        let hash = hasher.hash_one(&data);
        if let Some(found) = index.find(hash, |id| items[id.index()] == data) {
            return *found;
        }
        items.push(data);
        let number = u32::try_from(items.len() + 1).ok().and_then(NonZeroU32::new);
        let id = DataId(number.expect("2^32 constants do not fit into memory"));
        index.insert_unique(hash, id, |id| hasher.hash_one(&items[id.index()]));
        id
    }
}

/// Floats are compared by bits: a NaN equals itself, and the two zeros differ.
impl PartialEq for Floats {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
        self.shape == other.shape
            && self.items.len() == other.items.len()
            && self.items.iter().zip(&other.items).all(same)
    }
}

impl Eq for Floats {}

impl Hash for Floats {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.shape.hash(state);
        self.items.iter().for_each(|item| item.to_bits().hash(state));
    }
}

/// Whether shapes are computed with integers of this type.
pub(crate) fn is_followed(elem: Elem) -> bool {
    [Elem::INT64, Elem::INT32].contains(&elem)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Constants, Data, DataId};
    use crate::state::constants::Floats;

    fn floats(items: &[f64]) -> Data {
        Data::Floats(Arc::new(Floats { shape: Box::new([items.len()]), items: items.into() }))
    }

    #[test]
    fn equal_constants_have_one_number_by_bits() {
        let mut constants = Constants::default();
        let nan = constants.intern(floats(&[f64::NAN, 1.0]));
        assert_eq!(constants.intern(floats(&[f64::NAN, 1.0])), nan);
        assert_ne!(constants.intern(floats(&[0.0])), constants.intern(floats(&[-0.0])));
        assert_ne!(constants.intern(floats(&[1.0, 2.0])), constants.intern(floats(&[2.0, 1.0])));
        assert_eq!(constants.intern(Data::Opaque), DataId::OPAQUE);
    }
}
