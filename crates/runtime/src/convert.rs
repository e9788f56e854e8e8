//! Conversions between values at run time and the storage types of components.
//!
//! A component stores values of a Rust type; values between components are [`Datum`]s.
//! [`FromDatum`] and [`IntoDatum`] convert between the two. Slices borrow the elements of a tensor; owning
//! types copy them. Other crates add an element type by [`DatumElement`].
//!
//! Example of [`DatumElement`]:
//!
//! ```
//! use typeloom_runtime::convert::{DatumElement, FromDatum, IntoDatum};
//! use typeloom_types::storage::ElementStorage;
//! use typeloom_types::tree::{TypeKind, TypeNode};
//!
//! #[derive(Clone, Copy, Debug, PartialEq)]
//! struct Posit16(u16);
//!
//! static TYPE_TENSOR_POSIT16: TypeNode = TypeNode {
//!     id: "tensor.posit16",
//!     parent: Some("tensor"),
//!     kind: TypeKind::Concrete,
//!     ffi_name: "",
//!     wire_hash: 0,
//!     denotation: "org.example.tensor.posit16",
//! };
//!
//! impl ElementStorage for Posit16 {
//!     const SLICE: &'static TypeNode = &TYPE_TENSOR_POSIT16;
//! }
//!
//! impl DatumElement for Posit16 {
//!     const BYTES: usize = 2;
//!
//!     fn write(&self, bytes: &mut Vec<u8>) {
//!         bytes.extend(self.0.to_le_bytes());
//!     }
//!
//!     fn read(bytes: &[u8]) -> Option<Self> {
//!         Some(Self(u16::from_le_bytes(bytes.try_into().ok()?)))
//!     }
//! }
//!
//! let datum = vec![Posit16(7)].to_datum(None);
//! assert_eq!(datum.type_node(), Some(&TYPE_TENSOR_POSIT16));
//! assert_eq!(Vec::<Posit16>::from_datum(&datum).as_deref(), Some(&vec![Posit16(7)]));
//! ```

use std::borrow::Cow;
use std::sync::Arc;

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::{Datum, LeafDatum, Scalar};
use typeloom_types::element::Element;
use typeloom_types::storage::{ElementStorage, Storage};

/// The extents of a result as far as its type determines them; `None` if the rank is unknown.
pub type ExpectedShape<'a> = Option<&'a [Option<usize>]>;

/// A storage type that values at run time convert to.
#[diagnostic::on_unimplemented(
    message = "values of a running module cannot be taken as `{Self}`",
    label = "`{Self}` does not implement `FromDatum`",
    note = "slices of element types, types that own them, the scalars and `AnyTensor` implement it; for a type of your own, implement `StorageValue`, and for an element type `DatumElement`"
)]
pub trait FromDatum: Storage + ToOwned {
    /// Returns the value as this type, or `None` if it is of another type.
    fn from_datum(datum: &Datum) -> Option<Cow<'_, Self>>;
}

/// A storage type that converts to values at run time.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed on in a running module",
    label = "`{Self}` does not implement `IntoDatum`",
    note = "slices of element types, types that own them, the scalars and `AnyTensor` implement it; for a type of your own, implement `StorageValue`, and for an element type `DatumElement`"
)]
pub trait IntoDatum: Storage {
    /// Whether values contain their shape, so that the expected one is ignored.
    const KNOWS_SHAPE: bool = false;

    /// Converts to a value. Elements without a shape get the expected shape if it matches their number,
    /// otherwise rank 1.
    fn to_datum(&self, shape: ExpectedShape<'_>) -> Datum;

    /// As [`IntoDatum::to_datum`], but can reuse the memory of the value.
    fn into_datum(self, shape: ExpectedShape<'_>) -> Datum
    where
        Self: Sized,
    {
        self.to_datum(shape)
    }
}

/// An element type whose slices convert from and to values at run time.
///
/// Slices of the element types of tensors are views. Slices of other element types are passed between
/// components and peers in the byte format that [`DatumElement::write`] defines.
pub trait DatumElement: ElementStorage + Clone {
    /// Size of an element in bytes; at least one.
    const BYTES: usize;

    /// Appends the [`Self::BYTES`] bytes of an element.
    fn write(&self, bytes: &mut Vec<u8>);

    /// Reads an element of [`Self::BYTES`] bytes; `None` if they are invalid.
    fn read(bytes: &[u8]) -> Option<Self>;

    /// The elements of a value, or `None` if it is of another type.
    fn slice_of(datum: &Datum) -> Option<Cow<'_, [Self]>> {
        let Datum::Leaf(LeafDatum { node, bytes }) = datum else { return None };
        if node.id != Self::SLICE.id || !bytes.len().is_multiple_of(Self::BYTES.max(1)) {
            return None;
        }
        bytes.chunks_exact(Self::BYTES.max(1)).map(Self::read).collect::<Option<Vec<Self>>>().map(Cow::Owned)
    }

    /// Converts elements to a value.
    fn slice_to_datum(elements: &[Self], _extents: ExpectedShape<'_>) -> Datum {
        let mut bytes = Vec::with_capacity(elements.len().saturating_mul(Self::BYTES));
        elements.iter().for_each(|element| element.write(&mut bytes));
        Datum::Leaf(LeafDatum { node: Self::SLICE, bytes: bytes.into() })
    }
}

/// A storage type of a program's own that converts to values and from them. Together with [`Storage`], it is
/// all that a component needs to store the type.
///
/// ```
/// use typeloom_runtime::convert::StorageValue;
/// use typeloom_tensor::any_tensor::AnyTensor;
/// use typeloom_tensor::datum::Datum;
/// use typeloom_types::storage::Storage;
/// use typeloom_types::tree::TypeNode;
/// use typeloom_types::tree::builtin::TYPE_TENSOR_F32;
///
/// #[derive(Clone)]
/// struct Own(Vec<f32>);
///
/// impl Storage for Own {
///     const TYPE: &'static TypeNode = &TYPE_TENSOR_F32;
/// }
///
/// impl StorageValue for Own {
///     fn to_value(&self) -> Datum {
///         AnyTensor::from(&*self.0).into()
///     }
///
///     fn from_value(value: &Datum) -> Option<Self> {
///         Some(Self(value.as_tensor()?.to_vec().ok()?))
///     }
/// }
///
/// assert_eq!(Own::from_value(&Own(vec![1.0]).to_value()).unwrap().0, [1.0]);
/// ```
pub trait StorageValue: Storage + Clone {
    /// Converts to a value. A tensor of rank 1 gets the shape of its place in the program if that has as many
    /// elements.
    fn to_value(&self) -> Datum;

    /// Converts from a value; `None` if it is of another type.
    fn from_value(value: &Datum) -> Option<Self>;
}

impl<T: StorageValue> FromDatum for T {
    fn from_datum(datum: &Datum) -> Option<Cow<'_, Self>> {
        T::from_value(datum).map(Cow::Owned)
    }
}

impl<T: StorageValue> IntoDatum for T {
    fn to_datum(&self, extents: ExpectedShape<'_>) -> Datum {
        match self.to_value() {
            Datum::Tensor(tensor) if tensor.rank() == 1 => {
                let shape = shape(tensor.len(), extents);
                Datum::Tensor(tensor.clone().reshape(&shape).unwrap_or(tensor))
            }
            value => value,
        }
    }
}

/// The shape of `count` elements: the expected shape if it matches, otherwise a single axis.
fn shape(count: usize, extents: ExpectedShape<'_>) -> Vec<usize> {
    let Some(extents) = extents else { return vec![count] };
    let known = extents.iter().flatten().try_fold(1_usize, |product, extent| product.checked_mul(*extent));
    let open = extents.iter().filter(|extent| extent.is_none()).count();
    let filled = match (known, open) {
        (Some(known), 0) => (known == count).then_some(0),
        // A single unknown extent follows from the others.
        (Some(known), 1) => count.checked_div(known).filter(|it| it * known == count),
        (Some(_) | None, _) => None,
    };
    filled.map_or_else(|| vec![count], |open| extents.iter().map(|extent| extent.unwrap_or(open)).collect())
}

/// A tensor of the expected shape if it matches, otherwise of rank 1.
pub(crate) fn tensor_of<T: Element>(elements: &[T], extents: ExpectedShape<'_>) -> AnyTensor {
    AnyTensor::from_slice(&shape(elements.len(), extents), elements)
        .unwrap_or_else(|_| AnyTensor::from(elements))
}

macro_rules! elements {
    ($($element:ty),*) => {
        $(
            impl DatumElement for $element {
                const BYTES: usize = size_of::<Self>();

                fn write(&self, bytes: &mut Vec<u8>) {
                    bytes.extend_from_slice(AnyTensor::from_scalar(*self).bytes());
                }

                fn read(bytes: &[u8]) -> Option<Self> {
                    let tensor = AnyTensor::from_le_bytes(<Self as Element>::DTYPE, &[], bytes).ok()?;
                    tensor.as_slice().ok()?.first().copied()
                }

                fn slice_of(datum: &Datum) -> Option<Cow<'_, [Self]>> {
                    datum.as_tensor()?.as_slice().ok().map(Cow::Borrowed)
                }

                fn slice_to_datum(elements: &[Self], extents: ExpectedShape<'_>) -> Datum {
                    tensor_of(elements, extents).into()
                }
            }
        )*
    };
}

elements!(f32, f64, half::f16, half::bf16, u8, u16, u32, u64, i8, i16, i32, i64, bool);

macro_rules! scalars {
    ($($scalar:ty => $variant:ident),*) => {
        $(
            impl FromDatum for $scalar {
                fn from_datum(datum: &Datum) -> Option<Cow<'_, Self>> {
                    if let Datum::Scalar(Scalar::$variant(scalar)) = datum {
                        return Some(Cow::Borrowed(scalar));
                    }
                    match datum.as_tensor()?.as_slice::<Self>() {
                        Ok([scalar]) => Some(Cow::Borrowed(scalar)),
                        Ok(_) | Err(_) => None,
                    }
                }
            }

            impl IntoDatum for $scalar {
                const KNOWS_SHAPE: bool = true;

                fn to_datum(&self, _shape: ExpectedShape<'_>) -> Datum {
                    Datum::Scalar(Scalar::$variant(*self))
                }
            }
        )*
    };
}

scalars!(f32 => F32, f64 => F64, half::f16 => F16, u8 => U8, i32 => I32);

impl<T: DatumElement> FromDatum for [T] {
    fn from_datum(datum: &Datum) -> Option<Cow<'_, Self>> {
        T::slice_of(datum)
    }
}

impl<T: DatumElement> IntoDatum for [T] {
    fn to_datum(&self, shape: ExpectedShape<'_>) -> Datum {
        T::slice_to_datum(self, shape)
    }
}

macro_rules! owned_slices {
    ($($owned:ty),*) => {
        $(
            impl<T: DatumElement> FromDatum for $owned {
                fn from_datum(datum: &Datum) -> Option<Cow<'_, Self>> {
                    T::slice_of(datum).map(|elements| Cow::Owned(elements.into_owned().into()))
                }
            }

            impl<T: DatumElement> IntoDatum for $owned {
                fn to_datum(&self, shape: ExpectedShape<'_>) -> Datum {
                    T::slice_to_datum(self, shape)
                }
            }
        )*
    };
}

owned_slices!(Vec<T>, Box<[T]>, Arc<[T]>);

impl<T: DatumElement, const N: usize> FromDatum for [T; N] {
    fn from_datum(datum: &Datum) -> Option<Cow<'_, Self>> {
        T::slice_of(datum)?.into_owned().try_into().ok().map(Cow::Owned)
    }
}

impl<T: DatumElement, const N: usize> IntoDatum for [T; N] {
    fn to_datum(&self, shape: ExpectedShape<'_>) -> Datum {
        T::slice_to_datum(self, shape)
    }
}

impl FromDatum for AnyTensor {
    fn from_datum(datum: &Datum) -> Option<Cow<'_, Self>> {
        datum.as_tensor().map(Cow::Borrowed)
    }
}

impl IntoDatum for AnyTensor {
    const KNOWS_SHAPE: bool = true;

    fn to_datum(&self, _shape: ExpectedShape<'_>) -> Datum {
        Datum::Tensor(self.clone())
    }

    fn into_datum(self, _shape: ExpectedShape<'_>) -> Datum {
        Datum::Tensor(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_borrow_tensors_and_get_the_expected_shape() {
        let datum = [1.0_f32, 2.0, 3.0, 4.0].as_slice().to_datum(Some(&[Some(2), None]));
        assert_eq!(datum.as_tensor().map(AnyTensor::shape), Some(&[2, 2][..]));
        assert!(matches!(<[f32]>::from_datum(&datum), Some(Cow::Borrowed([1.0, 2.0, 3.0, 4.0]))));
        assert!(<[f64]>::from_datum(&datum).is_none());
        assert!(<[f32; 3]>::from_datum(&datum).is_none());
        for unusable in [&[Some(3)][..], &[Some(3), None], &[None, None], &[Some(0), None]] {
            let datum = vec![1_i64, 2, 3, 4].to_datum(Some(unusable));
            assert_eq!(datum.as_tensor().map(AnyTensor::shape), Some(&[4][..]), "{unusable:?}");
        }
    }

    #[test]
    fn scalars_convert_from_scalars_and_tensors_of_one_element() {
        assert_eq!(f32::from_datum(&3.0_f32.to_datum(None)).as_deref(), Some(&3.0));
        assert_eq!(i32::from_datum(&AnyTensor::from_scalar(3_i32).into()).as_deref(), Some(&3));
        assert!(f32::from_datum(&Datum::Scalar(Scalar::F64(3.0))).is_none());
    }
}
