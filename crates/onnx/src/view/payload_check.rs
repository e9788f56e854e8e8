//! Validation of a tensor's payload against its header: the field, its length, and the indices of sparse
//! tensors.
//!
//! The rules are those of the ONNX checker plus exact lengths, because ONNX Runtime rejects a payload that is
//! too long. A present but empty `raw_data` field is treated as absent if a typed field has elements.
//!
//! **Invariant:** the cost is independent of the number of elements, with two exceptions: the entries of
//! `int32_data`, `int64_data` and `uint64_data` are counted by their bytes, and the indices of a sparse
//! tensor are read.

use typeloom_types::dtype::{Dtype, DtypeClass};

use super::tensor::{SparseTensorView, TensorHeader, TensorView};
use super::{EntryView, name};
use crate::error::{DecodeError, ErrorKind, FieldName};
use crate::typed_field::TypedField;
use crate::wire::WireValue;

const RAW_DATA: &FieldName = name!("TensorProto", "raw_data");
const EXTERNAL_DATA: &FieldName = name!("TensorProto", "external_data");

/// Storage format of the elements of a type.
#[derive(Clone, Copy)]
pub(super) struct Storage {
    pub(super) dtype: Dtype,
    pub(super) field: TypedField,
}

impl Storage {
    pub(super) fn of(data_type: i32) -> Option<Self> {
        let dtype = Dtype::from_onnx_number(data_type)?;
        Some(Self { dtype, field: TypedField::of(dtype) })
    }

    /// Size in bytes of `count` elements in `raw_data`, rounded up from bits; `None` for strings, which
    /// `raw_data` cannot hold.
    fn bytes(self, count: u64) -> Option<u64> {
        let bits = u64::from(self.dtype.size_bits()?);
        // Groups of eight elements take a whole number of bytes.
        (count / 8).checked_mul(bits)?.checked_add((count % 8 * bits).div_ceil(8))
    }

    /// Size in bits of an element; 0 for strings.
    pub(super) fn bits(self) -> u32 {
        self.dtype.size_bits().unwrap_or(0)
    }

    /// As [`bytes`](Self::bytes), saturating, and 0 for strings.
    pub(super) fn byte_count(self, count: usize) -> usize {
        let bytes = self.bytes(count as u64).and_then(|bytes| usize::try_from(bytes).ok());
        bytes.unwrap_or(usize::MAX)
    }

    /// Number of elements that share one entry of the typed field. Elements of 6 bits are not packed.
    fn elements_per_entry(self) -> u64 {
        match self.dtype.size_bits() {
            Some(bits @ (2 | 4)) => u64::from(8 / bits),
            Some(_) | None => 1,
        }
    }

    /// Number of entries of the typed field for one element: real and imaginary part of a complex number.
    fn entries_per_element(self) -> u64 {
        if self.dtype.class() == DtypeClass::Complex { 2 } else { 1 }
    }

    /// Number of entries of the typed field for `count` elements.
    fn entries(self, count: u64) -> Option<u64> {
        count.div_ceil(self.elements_per_entry()).checked_mul(self.entries_per_element())
    }
}

/// The number of the typed field (`float_data`, `int32_data`, ...) for elements of a type, by the type's
/// number; `None` for an unknown type.
#[must_use]
pub fn typed_field(data_type: i32) -> Option<u32> {
    Storage::of(data_type).map(|storage| storage.field.number())
}

impl TensorHeader<'_> {
    /// Checks that there is exactly one payload, in the field of the element type, with the length that the
    /// dims require. For an external payload, checks the declared length.
    ///
    /// A tensor of unknown element type passes, because its storage format is unknown.
    ///
    /// # Errors
    /// The first mismatch.
    pub fn check_payload(&self) -> Result<(), DecodeError> {
        let Some(storage) = Storage::of(self.data_type) else {
            return Ok(());
        };
        let count = self.exact_count()?;
        let bytes = storage.bytes(count);
        if self.is_external() {
            return self.check_external(bytes);
        }
        let overflow = || self.view.error(ErrorKind::ElementCountOverflow);
        let raw = self.raw_data.filter(|raw| !raw.is_empty() || !self.has_typed_data);
        if self.has_typed_data {
            return self.check_typed(storage, storage.entries(count).ok_or_else(overflow)?, raw.is_some());
        }
        let Some(raw) = raw else {
            if count == 0 {
                return Ok(());
            }
            let (field, unit, expected) = match bytes {
                Some(bytes) => (RAW_DATA, "bytes", bytes),
                None => (storage.field.name(), "elements", count),
            };
            return self.fail(ErrorKind::PayloadSize { field, unit, expected, found: 0 });
        };
        if storage.field == TypedField::String {
            // Some writers emit an empty field for an empty tensor.
            if raw.is_empty() && count == 0 {
                return Ok(());
            }
            return self.fail(ErrorKind::PayloadField { found: RAW_DATA, expected: storage.field.name() });
        }
        let expected = bytes.ok_or_else(overflow)?;
        let found = raw.len() as u64;
        if expected == found {
            return Ok(());
        }
        self.fail(ErrorKind::PayloadSize { field: RAW_DATA, unit: "bytes", expected, found })
    }

    /// Size in bytes of the elements in `raw_data` or in another file; `None` if the dims or the element type
    /// have no size.
    #[must_use]
    pub fn payload_bytes(&self) -> Option<u64> {
        let storage = Storage::of(self.data_type)?;
        storage.bytes(self.exact_count().ok()?)
    }

    /// The product of the extents in order. In contrast to [`TensorHeader::element_count`], an overflow
    /// before an extent of zero is an error, because other loaders reject it.
    fn exact_count(&self) -> Result<u64, DecodeError> {
        self.dims
            .iter()
            .try_fold(1_i64, |count, dim| {
                if *dim < 0 {
                    return self.fail(ErrorKind::NegativeDim { dim: *dim });
                }
                count.checked_mul(*dim).ok_or_else(|| self.view.error(ErrorKind::ElementCountOverflow))
            })
            .map(i64::cast_unsigned)
    }

    #[cold]
    fn fail<T>(&self, kind: ErrorKind) -> Result<T, DecodeError> {
        Err(self.view.error(kind))
    }

    fn check_typed(&self, storage: Storage, expected: u64, has_raw: bool) -> Result<(), DecodeError> {
        let mut counts = [0_u64; TypedField::ALL.len()];
        for field in self.view.wire_fields() {
            let field = field?;
            let Some(typed) = TypedField::from_number(field.number) else { continue };
            let at = typed as usize;
            let WireValue::Len(bytes, _) = field.value else {
                counts[at] += 1;
                continue;
            };
            counts[at] += typed.packed_count(bytes);
        }
        let expected_field = storage.field.name();
        let mut found = 0;
        for (field, count) in TypedField::ALL.into_iter().zip(counts) {
            if field == storage.field {
                found = count;
            } else if count > 0 {
                return self.fail(ErrorKind::PayloadField { found: field.name(), expected: expected_field });
            }
        }
        if has_raw {
            return self.fail(ErrorKind::TwoPayloads { first: RAW_DATA, second: expected_field });
        }
        if expected == found {
            return Ok(());
        }
        let one_to_one = storage.elements_per_entry() == storage.entries_per_element();
        let unit = if one_to_one { "elements" } else { "entries" };
        self.fail(ErrorKind::PayloadSize { field: expected_field, unit, expected, found })
    }

    /// Checks an external payload: no inline payload, and a declared length that matches the elements.
    fn check_external(&self, bytes: Option<u64>) -> Result<(), DecodeError> {
        if self.has_typed_data || self.raw_data.is_some_and(|raw| !raw.is_empty()) {
            return self.fail(ErrorKind::ExternalAndInline);
        }
        let mut located = false;
        for entry in self.view.external_data() {
            let entry: EntryView<'_> = entry?;
            let (key, value) = (entry.key()?, entry.value()?);
            located |= key == "location" && !value.is_empty();
            if !matches!(key, "offset" | "length") {
                continue;
            }
            let Ok(number) = value.parse::<u64>() else {
                return self.fail(ErrorKind::ExternalNumber { key: key.into(), value: value.into() });
            };
            if key == "length"
                && let Some(expected) = bytes
                && expected != number
            {
                let kind =
                    ErrorKind::PayloadSize { field: EXTERNAL_DATA, unit: "bytes", expected, found: number };
                return self.fail(kind);
            }
        }
        match (located, bytes) {
            (false, _) => self.fail(ErrorKind::ExternalWithoutLocation),
            (true, None) => self.fail(ErrorKind::ExternalStrings),
            (true, Some(_)) => Ok(()),
        }
    }
}

impl TensorView<'_> {
    /// As [`TensorHeader::check_payload`].
    ///
    /// # Errors
    /// The first mismatch.
    pub fn check_payload(&self) -> Result<(), DecodeError> {
        self.header()?.check_payload()
    }
}

impl SparseTensorView<'_> {
    /// Checks the parts of a sparse tensor: a vector of values and as many `int64` indices, ascending and
    /// within the dims. An index is a position in the flattened tensor or a row with a coordinate per axis.
    ///
    /// # Errors
    /// The first mismatch.
    pub fn check_payload(&self) -> Result<(), DecodeError> {
        let error = |reason: String| DecodeError {
            offset: self.offset(),
            kind: ErrorKind::SparseTensor { reason: reason.into() },
        };
        let sparse = self.parse()?;
        if sparse.dims.is_empty() || sparse.dims.iter().any(|dim| *dim <= 0) {
            return Err(error("needs at least one axis, and extents of 1 or more".to_owned()));
        }
        let count = sparse.dims.iter().try_fold(1_i64, |count, dim| count.checked_mul(*dim));
        let Some(count) = count else {
            return Err(DecodeError { offset: self.offset(), kind: ErrorKind::ElementCountOverflow });
        };
        let Some(values) = sparse.values else { return Err(error("has no values".to_owned())) };
        let values = values.header()?;
        let &[stored] = &values.dims[..] else {
            return Err(error(format!("has values with {} axes; they must be a vector", values.dims.len())));
        };
        values.check_payload()?;
        let Some(indices) = sparse.indices else {
            return if stored == 0 { Ok(()) } else { Err(error("has no indices".to_owned())) };
        };
        let header = indices.header()?;
        if header.data_type != Dtype::I64.onnx_number() {
            return Err(error("has indices that are not of type int64".to_owned()));
        }
        let rank = sparse.dims.len();
        let width = match header.dims[..] {
            [rows] if rows == stored => 1,
            [rows, width] if rows == stored && usize::try_from(width) == Ok(rank) => rank,
            _ => {
                let shape: Vec<String> = header.dims.iter().map(i64::to_string).collect();
                let shape = shape.join(", ");
                return Err(error(format!(
                    "has indices of shape [{shape}] for {stored} values; [{stored}] or [{stored}, {rank}] is needed"
                )));
            }
        };
        header.check_payload()?;
        if header.is_external() {
            return Ok(());
        }
        let Some(numbers) = indices.int_values(usize::MAX)? else { return Ok(()) };
        let bounds = if header.dims.len() == 1 { &[count][..] } else { &sparse.dims[..] };
        let mut last: Option<&[i64]> = None;
        for (at, index) in numbers.chunks_exact(width).enumerate() {
            if index.iter().zip(bounds).any(|(coordinate, bound)| !(0..*bound).contains(coordinate)) {
                return Err(error(format!(
                    "has index {index:?} at position {at}, which is outside its dims"
                )));
            }
            if last.is_some_and(|last| last >= index) {
                return Err(error(format!("has indices that are not in ascending order at position {at}")));
            }
            last = Some(index);
        }
        Ok(())
    }
}
