//! Interned constants.
//!
//! The solver follows small tensors whose elements can decide shapes.
//!
//! **Invariant:** equal constants have equal ids.

use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;
use std::sync::Arc;

use foldhash::fast::RandomState;
use indexmap::IndexSet;
use smallvec::{SmallVec, smallvec};
use typeloom_dim::DimId;

use super::affine::Affine;
use crate::elem::Elem;

/// Maximum number of elements of a constant that the solver follows.
pub const MAX_ELEMENTS: usize = 4096;

/// Equal elements from this number on are stored as one, see [`Splat`].
const MIN_SPLAT: usize = 16;

/// Maximum number of elements of a constant that is passed into a function or out of it.
pub(crate) const MAX_PASSED_ELEMENTS: usize = 64;

/// The extents of a constant.
pub type Extents = SmallVec<[usize; 2]>;

/// The elements of a constant; those of most are so few that they take no allocation.
pub type Items<T> = SmallVec<[T; 4]>;

/// An integer or boolean tensor, or a tensor of whole floats, with its elements as dims in row-major order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ints {
    /// The extents; empty for a scalar.
    pub shape: Extents,
    /// The elements, as many as the product of the extents.
    pub items: Items<DimId>,
}

/// A floating-point tensor.
#[derive(Clone, Debug)]
pub struct Floats {
    /// The extents; empty for a scalar.
    pub shape: Extents,
    /// The elements in row-major order.
    pub items: Items<f64>,
}

/// A tensor of equal elements, as ConstantOfShape makes for weights. Its elements are listed only for a rule
/// that reads them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Splat {
    shape: Extents,
    item: Item,
}

/// The element of a [`Splat`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Item {
    Int(DimId),
    /// The bits of a float.
    Float(u64),
}

impl Splat {
    fn count(&self) -> usize {
        self.shape.iter().product()
    }

    fn ints(&self) -> Option<Ints> {
        let Item::Int(item) = self.item else { return None };
        Some(Ints { shape: self.shape.clone(), items: smallvec![item; self.count()] })
    }

    fn floats(&self) -> Option<Floats> {
        let Item::Float(bits) = self.item else { return None };
        let items = smallvec![f64::from_bits(bits); self.count()];
        Some(Floats { shape: self.shape.clone(), items })
    }
}

impl Ints {
    /// A tensor without axes.
    #[must_use]
    pub fn scalar(item: DimId) -> Self {
        Self { shape: Extents::new(), items: smallvec![item] }
    }

    /// A tensor with one axis.
    #[must_use]
    pub fn vector(items: impl IntoIterator<Item = DimId>) -> Self {
        let items: Items<DimId> = items.into_iter().collect();
        Self { shape: smallvec![items.len()], items }
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
    /// [`MIN_SPLAT`] or more equal integers or floats.
    Splat(Splat),
    /// Integers divided by a constant of 2 or more.
    Ratios(Arc<Ints>, i64),
    /// Integers, or whole floats, that are too many to list; their number is mostly not a constant.
    Affine(Arc<Affine>),
    /// Not followed: too large, of another element type, or not in the file.
    Opaque,
}

impl Data {
    /// Integers that all equal `item`, as many as the product of `shape`.
    pub(crate) fn equal_ints(shape: Extents, item: DimId) -> Self {
        let count = shape.iter().product();
        if count < MIN_SPLAT {
            return Self::Ints(Arc::new(Ints { shape, items: smallvec![item; count] }));
        }
        Self::Splat(Splat { shape, item: Item::Int(item) })
    }

    /// Floats that all equal `item`, as many as the product of `shape`.
    pub(crate) fn equal_floats(shape: Extents, item: f64) -> Self {
        let count = shape.iter().product();
        if count < MIN_SPLAT {
            return Self::Floats(Arc::new(Floats { shape, items: smallvec![item; count] }));
        }
        Self::Splat(Splat { shape, item: Item::Float(item.to_bits()) })
    }

    pub(crate) fn as_ints(&self) -> Option<Arc<Ints>> {
        match self {
            Self::Ints(ints) => Some(Arc::clone(ints)),
            Self::Splat(splat) => splat.ints().map(Arc::new),
            Self::Floats(_) | Self::Ratios(..) | Self::Affine(_) | Self::Opaque => None,
        }
    }

    pub(crate) fn as_floats(&self) -> Option<Arc<Floats>> {
        match self {
            Self::Floats(floats) => Some(Arc::clone(floats)),
            Self::Splat(splat) => splat.floats().map(Arc::new),
            Self::Ints(_) | Self::Ratios(..) | Self::Affine(_) | Self::Opaque => None,
        }
    }

    /// The number of its integers.
    pub(crate) fn int_count(&self) -> Option<usize> {
        match self {
            Self::Ints(ints) => Some(ints.items.len()),
            Self::Splat(splat) => matches!(splat.item, Item::Int(_)).then(|| splat.count()),
            Self::Floats(_) | Self::Ratios(..) | Self::Affine(_) | Self::Opaque => None,
        }
    }

    /// The number of its floats.
    pub(crate) fn float_count(&self) -> Option<usize> {
        match self {
            Self::Floats(floats) => Some(floats.items.len()),
            Self::Splat(splat) => matches!(splat.item, Item::Float(_)).then(|| splat.count()),
            Self::Ints(_) | Self::Ratios(..) | Self::Affine(_) | Self::Opaque => None,
        }
    }

    /// The one form of equal constants.
    fn canonical(self) -> Self {
        match &self {
            Self::Ints(ints) if ints.items.len() >= MIN_SPLAT => match ints.items[..] {
                [first, ref rest @ ..] if rest.iter().all(|item| *item == first) => {
                    Self::equal_ints(ints.shape.clone(), first)
                }
                _ => self,
            },
            Self::Floats(floats) if floats.items.len() >= MIN_SPLAT => match floats.items[..] {
                [first, ref rest @ ..] if rest.iter().all(|item| item.to_bits() == first.to_bits()) => {
                    Self::equal_floats(floats.shape.clone(), first)
                }
                _ => self,
            },
            Self::Ints(_)
            | Self::Floats(_)
            | Self::Splat(_)
            | Self::Ratios(..)
            | Self::Affine(_)
            | Self::Opaque => self,
        }
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
    items: IndexSet<Data, RandomState>,
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
        let (at, _) = self.items.insert_full(data.canonical());
        let number = u32::try_from(at + 2).ok().and_then(NonZeroU32::new);
        DataId(number.expect("2^32 constants do not fit into memory"))
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

/// Whether the solver follows constants of this type as floats.
pub(crate) fn is_float(elem: Elem) -> bool {
    [Elem::FLOAT, Elem::DOUBLE, Elem::FLOAT16, Elem::BFLOAT16].contains(&elem)
}

/// Whether shapes are computed with integers of this type.
pub(crate) fn is_followed(elem: Elem) -> bool {
    [Elem::INT64, Elem::INT32].contains(&elem)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use smallvec::smallvec;

    use super::{Constants, Data, DataId, Extents, Floats, Ints, MIN_SPLAT};
    use typeloom_dim::DimId;

    fn floats(items: &[f64]) -> Data {
        Data::Floats(Arc::new(Floats { shape: smallvec![items.len()], items: items.into() }))
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

    #[test]
    fn equal_elements_are_one_constant_however_they_were_listed() {
        let mut constants = Constants::default();
        for count in [1, MIN_SPLAT - 1, MIN_SPLAT, 100] {
            let shape: Extents = smallvec![count];
            let listed = constants.intern(floats(&vec![-0.0; count]));
            assert_eq!(constants.intern(Data::equal_floats(shape.clone(), -0.0)), listed);
            assert_ne!(constants.intern(Data::equal_floats(shape.clone(), 0.0)), listed);
            let data = constants.get(listed);
            assert_eq!((data.float_count(), data.int_count()), (Some(count), None));
            assert_eq!(data.as_floats().map(|floats| floats.items.len()), Some(count));
            let listed = Ints { shape: shape.clone(), items: smallvec![DimId::ONE; count] };
            let equal = Data::equal_ints(shape.clone(), DimId::ONE);
            assert_eq!(equal.as_ints().as_deref(), Some(&listed));
            assert!(equal.as_floats().is_none());
            let listed = constants.intern(Data::Ints(Arc::new(listed)));
            assert_eq!(constants.intern(equal), listed);
            assert_ne!(constants.intern(Data::equal_ints(shape, DimId::ZERO)), listed);
        }
        let mut different = vec![1.0; 100];
        different[99] = 2.0;
        let id = constants.intern(floats(&different));
        assert_eq!(constants.get(id).as_floats().map(|floats| floats.items[99]), Some(2.0));
    }
}
