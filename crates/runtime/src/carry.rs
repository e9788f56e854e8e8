//! From values of running modules to what components store, and back.
//!
//! A component says by a Rust type what it stores; what flows between components is a [`Datum`]. [`Carried`] is the way
//! between the two: a slice is a view of a tensor's elements and costs nothing, what owns its elements is a copy. An element
//! type of one's own says how it is written in bytes, see [`CarriedElement`].

use std::borrow::Cow;
use std::sync::Arc;

use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::element::Element;
use typeloom_types::storage::{ElementStorage, Storage};

use typeloom_wire::datum::{Datum, LeafDatum, Scalar};

/// What is known of the extents of a tensor that is to be made; nothing where not even the rank is known.
pub type Extents<'a> = Option<&'a [Option<usize>]>;

/// A storage type whose values flow through running modules.
#[diagnostic::on_unimplemented(
    message = "values of a running module cannot be taken as `{Self}`",
    label = "`{Self}` is not `Carried`",
    note = "slices of element types, what owns them, the scalars and `AnyTensor` are; an element type of your own is by `impl CarriedElement`"
)]
pub trait Carried: Storage + ToOwned {
    /// Whether a value knows its own shape, so that what is expected of it is of no use.
    const KNOWS_SHAPE: bool = false;

    /// The datum as this type; nothing where it is of another one.
    fn of(datum: &Datum) -> Option<Cow<'_, Self>>;

    /// The datum that this is. What has no shape of its own gets the one that is expected, where that fits, else rank 1.
    fn to_datum(&self, extents: Extents<'_>) -> Datum;

    /// As [`Carried::to_datum`], of something that nobody else needs.
    fn into_datum(self, extents: Extents<'_>) -> Datum
    where
        Self: Sized,
    {
        self.to_datum(extents)
    }
}

/// An element type whose slices flow through running modules.
///
/// The slices of tensors' element types are views. An element type of one's own says how an element is written in bytes:
/// that is how its slices travel, from component to component and from peer to peer.
///
/// ```
/// use typeloom_runtime::carry::{Carried, CarriedElement};
/// use typeloom_types::storage::ElementStorage;
/// use typeloom_types::tree::{TypeKind, TypeNode};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Posit16(u16);
///
/// static TYPE_TENSOR_POSIT16: TypeNode = TypeNode {
///     id: "tensor.posit16",
///     parent: Some("tensor"),
///     kind: TypeKind::Concrete,
///     ffi_name: "",
///     wire_hash: 0,
///     denotation: "org.example.tensor.posit16",
/// };
///
/// impl ElementStorage for Posit16 {
///     const SLICE: &'static TypeNode = &TYPE_TENSOR_POSIT16;
/// }
///
/// impl CarriedElement for Posit16 {
///     const BYTES: usize = 2;
///
///     fn write(&self, bytes: &mut Vec<u8>) {
///         bytes.extend(self.0.to_le_bytes());
///     }
///
///     fn read(bytes: &[u8]) -> Option<Self> {
///         Some(Self(u16::from_le_bytes(bytes.try_into().ok()?)))
///     }
/// }
///
/// let datum = vec![Posit16(7)].to_datum(None);
/// assert_eq!(datum.type_node(), Some(&TYPE_TENSOR_POSIT16));
/// assert_eq!(Vec::<Posit16>::of(&datum).as_deref(), Some(&vec![Posit16(7)]));
/// ```
pub trait CarriedElement: ElementStorage + Clone {
    /// How many bytes an element takes; at least one.
    const BYTES: usize;

    /// Appends the bytes of an element: [`Self::BYTES`] of them.
    fn write(&self, bytes: &mut Vec<u8>);

    /// The element of these [`Self::BYTES`] bytes; nothing where they are none.
    fn read(bytes: &[u8]) -> Option<Self>;

    /// The elements of a datum; nothing where they are of another type.
    fn slice_of(datum: &Datum) -> Option<Cow<'_, [Self]>> {
        let Datum::Leaf(LeafDatum { node, bytes }) = datum else { return None };
        if node.id != Self::SLICE.id || !bytes.len().is_multiple_of(Self::BYTES.max(1)) {
            return None;
        }
        bytes.chunks_exact(Self::BYTES.max(1)).map(Self::read).collect::<Option<Vec<Self>>>().map(Cow::Owned)
    }

    /// The datum of these elements.
    fn slice_to_datum(elements: &[Self], _extents: Extents<'_>) -> Datum {
        let mut bytes = Vec::with_capacity(elements.len().saturating_mul(Self::BYTES));
        elements.iter().for_each(|element| element.write(&mut bytes));
        Datum::Leaf(LeafDatum { node: Self::SLICE, bytes: bytes.into() })
    }
}

/// The extents of so many elements: as expected where that fits, else one axis.
fn shape(count: usize, extents: Extents<'_>) -> Vec<usize> {
    let Some(extents) = extents else { return vec![count] };
    let known = extents.iter().flatten().try_fold(1_usize, |product, extent| product.checked_mul(*extent));
    let open = extents.iter().filter(|extent| extent.is_none()).count();
    let filled = match (known, open) {
        (Some(known), 0) => (known == count).then_some(0),
        // One extent that is not known is what the others leave.
        (Some(known), 1) => count.checked_div(known).filter(|it| it * known == count),
        (Some(_) | None, _) => None,
    };
    filled.map_or_else(|| vec![count], |open| extents.iter().map(|extent| extent.unwrap_or(open)).collect())
}

/// The tensor of these elements in the shape that is expected, where that fits.
pub(crate) fn tensor_of<T: Element>(elements: &[T], extents: Extents<'_>) -> AnyTensor {
    AnyTensor::from_slice(&shape(elements.len(), extents), elements)
        .unwrap_or_else(|_| AnyTensor::from(elements))
}

macro_rules! elements {
    ($($element:ty),*) => {
        $(
            impl CarriedElement for $element {
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

                fn slice_to_datum(elements: &[Self], extents: Extents<'_>) -> Datum {
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
            impl Carried for $scalar {
                const KNOWS_SHAPE: bool = true;

                fn of(datum: &Datum) -> Option<Cow<'_, Self>> {
                    if let Datum::Scalar(Scalar::$variant(scalar)) = datum {
                        return Some(Cow::Borrowed(scalar));
                    }
                    match datum.as_tensor()?.as_slice::<Self>() {
                        Ok([scalar]) => Some(Cow::Borrowed(scalar)),
                        Ok(_) | Err(_) => None,
                    }
                }

                fn to_datum(&self, _extents: Extents<'_>) -> Datum {
                    Datum::Scalar(Scalar::$variant(*self))
                }
            }
        )*
    };
}

scalars!(f32 => F32, f64 => F64, half::f16 => F16, u8 => U8, i32 => I32);

impl<T: CarriedElement> Carried for [T] {
    fn of(datum: &Datum) -> Option<Cow<'_, Self>> {
        T::slice_of(datum)
    }

    fn to_datum(&self, extents: Extents<'_>) -> Datum {
        T::slice_to_datum(self, extents)
    }
}

impl<T: CarriedElement> Carried for Vec<T> {
    fn of(datum: &Datum) -> Option<Cow<'_, Self>> {
        T::slice_of(datum).map(|elements| Cow::Owned(elements.into_owned()))
    }

    fn to_datum(&self, extents: Extents<'_>) -> Datum {
        T::slice_to_datum(self, extents)
    }
}

impl<T: CarriedElement> Carried for Box<[T]> {
    fn of(datum: &Datum) -> Option<Cow<'_, Self>> {
        T::slice_of(datum).map(|elements| Cow::Owned(elements.into_owned().into()))
    }

    fn to_datum(&self, extents: Extents<'_>) -> Datum {
        T::slice_to_datum(self, extents)
    }
}

impl<T: CarriedElement> Carried for Arc<[T]> {
    fn of(datum: &Datum) -> Option<Cow<'_, Self>> {
        T::slice_of(datum).map(|elements| Cow::Owned(elements.into_owned().into()))
    }

    fn to_datum(&self, extents: Extents<'_>) -> Datum {
        T::slice_to_datum(self, extents)
    }
}

impl<T: CarriedElement, const N: usize> Carried for [T; N] {
    fn of(datum: &Datum) -> Option<Cow<'_, Self>> {
        T::slice_of(datum)?.into_owned().try_into().ok().map(Cow::Owned)
    }

    fn to_datum(&self, extents: Extents<'_>) -> Datum {
        T::slice_to_datum(self, extents)
    }
}

impl Carried for AnyTensor {
    const KNOWS_SHAPE: bool = true;

    fn of(datum: &Datum) -> Option<Cow<'_, Self>> {
        datum.as_tensor().map(Cow::Borrowed)
    }

    fn to_datum(&self, _extents: Extents<'_>) -> Datum {
        Datum::Tensor(self.clone())
    }

    fn into_datum(self, _extents: Extents<'_>) -> Datum {
        Datum::Tensor(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_view_tensors_and_take_the_shape_that_is_expected() {
        let datum = [1.0_f32, 2.0, 3.0, 4.0].as_slice().to_datum(Some(&[Some(2), None]));
        assert_eq!(datum.as_tensor().map(AnyTensor::shape), Some(&[2, 2][..]));
        assert!(matches!(<[f32]>::of(&datum), Some(Cow::Borrowed([1.0, 2.0, 3.0, 4.0]))));
        assert!(<[f64]>::of(&datum).is_none());
        assert!(<[f32; 3]>::of(&datum).is_none());
        for odd in [&[Some(3)][..], &[Some(3), None], &[None, None], &[Some(0), None]] {
            let datum = vec![1_i64, 2, 3, 4].to_datum(Some(odd));
            assert_eq!(datum.as_tensor().map(AnyTensor::shape), Some(&[4][..]), "{odd:?}");
        }
    }

    #[test]
    fn scalars_are_single_numbers_and_tensors_of_one() {
        assert_eq!(f32::of(&3.0_f32.to_datum(None)).as_deref(), Some(&3.0));
        assert_eq!(i32::of(&AnyTensor::from_scalar(3_i32).into()).as_deref(), Some(&3));
        assert!(f32::of(&Datum::Scalar(Scalar::F64(3.0))).is_none());
    }
}
