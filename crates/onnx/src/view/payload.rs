//! Lists of numbers inside messages, packed or not.

use smallvec::SmallVec;

use crate::error::{DecodeError, FieldName};
use crate::wire::{Field, Fields, PackedVarints, WireKind, WireValue, check_packed};

/// Extents of a tensor, inline up to rank six.
pub type TensorDims = SmallVec<[i64; 6]>;

/// Iterator over the integers of a repeated field, packed or not.
#[derive(Clone, Copy, Debug)]
pub struct Ints<'a> {
    fields: Fields<'a>,
    packed: PackedVarints<'a>,
    number: u32,
    name: &'static FieldName,
}

impl<'a> Ints<'a> {
    #[inline]
    pub(super) const fn new(fields: Fields<'a>, number: u32, name: &'static FieldName) -> Self {
        Self { fields, packed: PackedVarints::new(&[], 0), number, name }
    }
}

impl Iterator for Ints<'_> {
    type Item = Result<i64, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(number) = self.packed.next() {
                return Some(number.map(u64::cast_signed).inspect_err(|_| self.fields.stop()));
            }
            match self.fields.next()? {
                Ok(field) if field.number != self.number => {}
                Ok(Field { value: WireValue::Len(bytes, offset), .. }) => {
                    self.packed = PackedVarints::new(bytes, offset);
                }
                Ok(field) => return Some(field.int64(self.name).inspect_err(|_| self.fields.stop())),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl std::iter::FusedIterator for Ints<'_> {}

/// Iterator over the bits of numbers of `N` bytes, where `N` is 4 or 8.
#[derive(Clone, Copy, Debug)]
pub(super) struct FixedBits<'a, const N: usize> {
    fields: Fields<'a>,
    packed: &'a [u8],
    number: u32,
    name: &'static FieldName,
}

impl<'a, const N: usize> FixedBits<'a, N> {
    const KIND: WireKind = if N == 4 { WireKind::Fixed32 } else { WireKind::Fixed64 };

    pub(super) const fn new(fields: Fields<'a>, number: u32, name: &'static FieldName) -> Self {
        Self { fields, packed: &[], number, name }
    }
}

impl<const N: usize> Iterator for FixedBits<'_, N> {
    type Item = Result<u64, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((first, rest)) = self.packed.split_first_chunk::<N>() {
                self.packed = rest;
                let mut bits = [0; 8];
                bits[..N].copy_from_slice(first);
                return Some(Ok(u64::from_le_bytes(bits)));
            }
            let read = match self.fields.next()? {
                Err(error) => Err(error),
                Ok(field) if field.number != self.number => continue,
                Ok(field) => match field.value {
                    WireValue::Len(bytes, offset) => match check_packed(bytes, offset, Self::KIND, self.name)
                    {
                        Ok(()) => {
                            self.packed = bytes;
                            continue;
                        }
                        Err(error) => Err(error),
                    },
                    WireValue::Fixed32(bits) if Self::KIND == WireKind::Fixed32 => Ok(u64::from(bits)),
                    WireValue::Fixed64(bits) if Self::KIND == WireKind::Fixed64 => Ok(bits),
                    WireValue::Fixed32(_)
                    | WireValue::Fixed64(_)
                    | WireValue::Varint(_)
                    | WireValue::Group(_, _) => Err(field.wrong(self.name, Self::KIND)),
                },
            };
            return Some(read.inspect_err(|_| self.fields.stop()));
        }
    }
}
