//! Views of tensors: headers without payloads, and small payloads on request.
//!
//! Almost all bytes of a large model are weights. A check needs their element types and extents, but not
//! their elements. So [`TensorView::header`] steps over the payload. A small constant can decide a shape, as
//! the second input of a `Reshape` does; its elements are decoded on request, up to a limit of the caller:
//!
//! ```text
//! tensor                   header()                              int_values(1024)
//! float[4096, 4096] w      FLOAT, [4096, 4096], raw_data         None: not integers
//! int64[2] {0, -1}         INT64, [2], int64_data                Some([0, -1])
//! int64[5000] table        INT64, [5000], raw_data               None: too many
//! ```
//!
//! ONNX has two encodings of elements: `raw_data`, which is little-endian bytes, and a field of numbers that
//! depends on the type (`typed_field`). Both give the same values. Integers of less than 8 bits share a byte,
//! the first of them in the lowest bits. An empty `raw_data` is ignored if the typed field has elements.
//!
//! **Invariant:** only the methods with a limit and `payload_check` read elements. The number of elements is
//! that of the extents; a payload of another length is an [`ErrorKind::PayloadSize`].
//!
//! **Invariant:** the fast path of [`TensorView::header`] gives the same header as [`TensorHeader::read`].
//!
//! **Limits:** complex numbers and floats of at most 8 bits are not decoded. Tensors in other files have no
//! elements here; [`TensorHeader::with_raw_data`] adds them.

use half::{bf16, f16};
use typeloom_types::dtype::{Dtype, DtypeClass};

use super::payload::FixedBits;
use super::payload_check::Storage;
use super::{EntryView, Ints, Select, TensorDims, getters, name, set_once, views};
use crate::error::{DecodeError, ErrorKind, FieldName};
use crate::messages::tensor_proto::DataLocation;
use crate::typed_field::{TypedField, little_endian};
use crate::wire::{Field, PackedVarints, SmallField, WireValue};

views! {
    /// A view of one `TensorProto`.
    TensorView,
    /// A view of one `SparseTensorProto`.
    SparseTensorView,
}

const RAW_DATA: &FieldName = name!("TensorProto", "raw_data");

/// A tensor without its payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TensorHeader<'a> {
    pub view: TensorView<'a>,
    name: &'a str,
    /// The element type, by the number of a [`Dtype`]; not checked, zero if absent.
    pub data_type: i32,
    /// The extents; not validated.
    pub dims: TensorDims,
    /// The number of a [`DataLocation`].
    pub data_location: i32,
    pub raw_data: Option<&'a [u8]>,
    /// Whether a typed field (`float_data`, `int32_data`, ...) has elements.
    pub has_typed_data: bool,
}

impl<'a> TensorHeader<'a> {
    fn read(&mut self, field: &Field<'a>) -> Result<(), DecodeError> {
        match field.number {
            1 => read_dims(field, name!("TensorProto", "dims"), &mut self.dims)?,
            2 => self.data_type = field.int32(name!("TensorProto", "data_type"))?,
            // An empty packed list has no element; an empty string is one.
            4 | 5 | 7 | 10 | 11 => self.has_typed_data |= !matches!(field.value, WireValue::Len([], _)),
            6 => self.has_typed_data = true,
            8 => self.name = field.string(name!("TensorProto", "name"))?,
            9 => self.raw_data = Some(field.bytes(RAW_DATA)?.0),
            14 => self.data_location = field.int32(name!("TensorProto", "data_location"))?,
            _ => {}
        }
        Ok(())
    }

    /// The name.
    pub const fn name(&self) -> &'a str {
        self.name
    }

    /// The header of the same tensor with its elements as bytes in the model instead of another file.
    #[must_use]
    pub fn with_raw_data<'b>(&self, bytes: &'b [u8]) -> TensorHeader<'b>
    where
        'a: 'b,
    {
        TensorHeader {
            raw_data: Some(bytes),
            data_location: DataLocation::Default as i32,
            has_typed_data: false,
            ..self.clone()
        }
    }
}

impl TensorHeader<'_> {
    /// Whether the elements are in another file.
    pub const fn is_external(&self) -> bool {
        self.data_location == DataLocation::External as i32
    }

    /// The product of the extents.
    pub fn element_count(&self) -> Result<u64, DecodeError> {
        let mut count = Some(1_u64);
        let mut empty = false;
        for &dim in &self.dims {
            let extent = u64::try_from(dim).map_err(|_| self.view.error(ErrorKind::NegativeDim { dim }))?;
            empty |= extent == 0;
            count = count.and_then(|count| count.checked_mul(extent));
        }
        if empty { Ok(0) } else { count.ok_or_else(|| self.view.error(ErrorKind::ElementCountOverflow)) }
    }

    /// The elements of a tensor of integers or bools.
    ///
    /// Returns `None` for an external tensor, one with more than `limit` elements or of another type, and if
    /// an unsigned element exceeds `i64`. A payload whose length does not match the dims is an error.
    pub fn int_values(&self, limit: usize) -> Result<Option<Vec<i64>>, DecodeError> {
        let mut list = Vec::new();
        Ok(self.extend_ints(limit, &mut list)?.then_some(list))
    }

    /// Appends the elements to a list. If it returns `false`, [`TensorHeader::int_values`] returns `None`,
    /// and elements that the list received are no values of the tensor.
    pub fn extend_ints(&self, limit: usize, list: &mut impl Extend<i64>) -> Result<bool, DecodeError> {
        let Some(storage) = Storage::of(self.data_type).filter(|it| it.is_integer()) else {
            return Ok(false);
        };
        let Some(count) = self.view.count_within(self, limit)? else { return Ok(false) };
        if let Some(raw) = raw(self) {
            self.view.check_size(RAW_DATA, "bytes", storage.byte_count(count), raw.len())?;
            return Ok(storage.decode(raw, count, list));
        }
        let name = storage.field.name();
        let numbers = Ints::new(self.view.wire_fields(), storage.field.number(), name);
        if storage.bits() < 8 {
            // Several elements share a byte; each entry has one byte.
            let numbers = numbers.map(|number| number.map(|number| number as u8));
            let bytes: Vec<u8> = self.view.collect(numbers, name, storage.byte_count(count))?;
            return Ok(storage.decode(&bytes, count, list));
        }
        let mut exceeds = false;
        let narrowed = numbers.map(|number| {
            let narrowed = storage.narrow(number?);
            exceeds |= narrowed.is_none();
            Ok(narrowed.unwrap_or_default())
        });
        self.view.extend(list, narrowed, name, count)?;
        Ok(!exceeds)
    }

    /// The elements of a tensor of float, double, float16 or bfloat16.
    ///
    /// Returns `None` for an external tensor and for one with more than `limit` elements or of another type.
    /// A payload whose length does not match the dims is an error.
    pub fn float_values(&self, limit: usize) -> Result<Option<Vec<f64>>, DecodeError> {
        self.collect_floats(limit)
    }

    /// As [`TensorHeader::float_values`], in another list.
    pub fn collect_floats<C: Default + Extend<f64>>(&self, limit: usize) -> Result<Option<C>, DecodeError> {
        let mut list = C::default();
        Ok(self.extend_floats(limit, &mut list)?.then_some(list))
    }

    /// Appends the elements to a list; `false` if [`TensorHeader::float_values`] returns `None`.
    pub fn extend_floats(&self, limit: usize, list: &mut impl Extend<f64>) -> Result<bool, DecodeError> {
        let Some(storage) = Storage::of(self.data_type) else { return Ok(false) };
        let Some(decode) = float_decoder(storage.dtype) else { return Ok(false) };
        let Some(count) = self.view.count_within(self, limit)? else { return Ok(false) };
        if let Some(raw) = raw(self) {
            self.view.check_size(RAW_DATA, "bytes", storage.byte_count(count), raw.len())?;
            let elements = raw.chunks_exact(storage.byte_count(1));
            list.extend(elements.map(|bytes| decode(little_endian(bytes))));
            return Ok(true);
        }
        let fields = self.view.wire_fields();
        let (number, name) = (storage.field.number(), storage.field.name());
        match storage.field {
            TypedField::Float => {
                let values = FixedBits::<4>::new(fields, number, name).map(|bits| bits.map(decode));
                self.view.extend(list, values, name, count)?;
            }
            TypedField::Double => {
                let values = FixedBits::<8>::new(fields, number, name).map(|bits| bits.map(decode));
                self.view.extend(list, values, name, count)?;
            }
            _ => {
                let bits = Ints::new(fields, number, name);
                let values = bits.map(|bits| bits.map(|bits| decode(bits.cast_unsigned())));
                self.view.extend(list, values, name, count)?;
            }
        }
        Ok(true)
    }
}

getters! {
    TensorView of "TensorProto";
    /// Location of the elements, if they are in another file: entries `location`, `offset`, `length`,
    /// `checksum`.
    13 "external_data" all EntryView external_data;
    /// Metadata entries.
    16 "metadata_props" all EntryView metadata_props;
}

impl<'a> TensorView<'a> {
    /// Decodes all fields but the payload.
    pub fn header(&self) -> Result<TensorHeader<'a>, DecodeError> {
        let mut header = TensorHeader { view: *self, ..TensorHeader::default() };
        let mut fields = self.wire_fields();
        loop {
            let start = fields.offset();
            // As `TensorHeader::read`, for the usual records.
            match fields.next_small() {
                Some(SmallField::Varint(1, dim)) => header.dims.push(dim.cast_signed()),
                Some(SmallField::Varint(2, number)) => header.data_type = number as i32,
                Some(SmallField::Bytes(9, bytes)) => header.raw_data = Some(bytes),
                Some(other) => header.read(&other.field(start, fields.offset()))?,
                None => match fields.next() {
                    Some(field) => header.read(&field?)?,
                    None => return Ok(header),
                },
            }
        }
    }

    /// As [`TensorHeader::int_values`].
    pub fn int_values(&self, limit: usize) -> Result<Option<Vec<i64>>, DecodeError> {
        self.header()?.int_values(limit)
    }

    /// As [`TensorHeader::float_values`].
    pub fn float_values(&self, limit: usize) -> Result<Option<Vec<f64>>, DecodeError> {
        self.header()?.float_values(limit)
    }

    /// The elements of a tensor of strings, not necessarily UTF-8.
    ///
    /// Returns `None` for an external tensor and for one with more than `limit` elements or of another type.
    /// A payload whose length does not match the dims is an error.
    pub fn string_values(&self, limit: usize) -> Result<Option<Vec<&'a [u8]>>, DecodeError> {
        let header = self.header()?;
        if header.data_type != Dtype::String.onnx_number() {
            return Ok(None);
        }
        let Some(count) = self.count_within(&header, limit)? else { return Ok(None) };
        let (number, name) = (TypedField::String.number(), TypedField::String.name());
        let read = |field: &Field<'a>| field.bytes(name).map(|(bytes, _)| bytes);
        let strings = Select { fields: self.wire_fields(), number, read };
        self.collect(strings, name, count).map(Some)
    }

    /// Number of elements; `None` for an external tensor and above `limit`.
    fn count_within(&self, header: &TensorHeader<'_>, limit: usize) -> Result<Option<usize>, DecodeError> {
        if header.is_external() {
            return Ok(None);
        }
        let count = header.element_count()?;
        Ok(usize::try_from(count).ok().filter(|&count| count <= limit))
    }

    /// Collects exactly `expected` elements.
    fn collect<T, C: Default + Extend<T>>(
        &self,
        elements: impl Iterator<Item = Result<T, DecodeError>>,
        field: &'static FieldName,
        expected: usize,
    ) -> Result<C, DecodeError> {
        let mut list = C::default();
        self.extend(&mut list, elements, field, expected)?;
        Ok(list)
    }

    /// Appends exactly `expected` elements to a list.
    fn extend<T>(
        &self,
        list: &mut impl Extend<T>,
        mut elements: impl Iterator<Item = Result<T, DecodeError>>,
        field: &'static FieldName,
        expected: usize,
    ) -> Result<(), DecodeError> {
        let (mut found, mut error) = (0, None);
        list.extend(elements.by_ref().take(expected).map_while(|element| {
            let element = element.map_err(|malformed| error = Some(malformed)).ok()?;
            found += 1;
            Some(element)
        }));
        if let Some(malformed) = error {
            return Err(malformed);
        }
        for element in elements {
            element?;
            found += 1;
        }
        self.check_size(field, "elements", expected, found)
    }

    fn check_size(
        &self,
        field: &'static FieldName,
        unit: &'static str,
        expected: usize,
        found: usize,
    ) -> Result<(), DecodeError> {
        if expected == found {
            return Ok(());
        }
        let (expected, found) = (expected as u64, found as u64);
        Err(self.error(ErrorKind::PayloadSize { field, unit, expected, found }))
    }

    #[cold]
    pub(super) fn error(&self, kind: ErrorKind) -> DecodeError {
        DecodeError { offset: self.offset, kind }
    }
}

/// The raw payload; an empty one is ignored if a typed field has elements.
fn raw<'a>(header: &TensorHeader<'a>) -> Option<&'a [u8]> {
    header.raw_data.filter(|raw| !raw.is_empty() || !header.has_typed_data)
}

/// Appends the extents of one record.
fn read_dims(field: &Field<'_>, name: &'static FieldName, dims: &mut TensorDims) -> Result<(), DecodeError> {
    if let WireValue::Len(bytes, offset) = field.value {
        for dim in PackedVarints::new(bytes, offset) {
            dims.push(dim?.cast_signed());
        }
    } else {
        dims.push(field.int64(name)?);
    }
    Ok(())
}

/// Decodes integers and bools.
impl Storage {
    fn is_integer(self) -> bool {
        matches!(self.dtype.class(), DtypeClass::Bool | DtypeClass::SignedInt | DtypeClass::UnsignedInt)
    }

    /// Truncates `number` to the bits of the type; `None` for an unsigned number that exceeds `i64`.
    fn narrow(self, number: i64) -> Option<i64> {
        let unused = 64 - self.bits();
        match self.dtype.class() {
            DtypeClass::Bool => Some(i64::from(number != 0)),
            DtypeClass::SignedInt => Some(number << unused >> unused),
            _ => i64::try_from(number.cast_unsigned() << unused >> unused).ok(),
        }
    }

    /// Decodes `count` elements from [`byte_count(count)`](Self::byte_count) little-endian bytes.
    /// Returns whether all of them are in the range of `i64`.
    fn decode(self, bytes: &[u8], count: usize, list: &mut impl Extend<i64>) -> bool {
        let bits = self.bits() as usize;
        let mut fits = true;
        let mut narrow = |number| {
            let narrowed = self.narrow(number);
            fits &= narrowed.is_some();
            narrowed.unwrap_or_default()
        };
        if bits < 8 {
            let per_byte = 8 / bits;
            let element = |at: usize| i64::from(bytes[at / per_byte] >> (at % per_byte * bits));
            list.extend((0..count).map(element).map(narrow));
        } else if self.dtype == Dtype::I64 {
            let (words, _) = bytes.as_chunks::<8>();
            list.extend(words.iter().map(|word| i64::from_le_bytes(*word)));
        } else {
            let element = |bytes: &[u8]| narrow(little_endian(bytes).cast_signed());
            list.extend(bytes.chunks_exact(bits / 8).map(element));
        }
        fits
    }
}

/// The value of an element of a float type from its bits.
fn float_decoder(dtype: Dtype) -> Option<fn(u64) -> f64> {
    match dtype {
        Dtype::F64 => Some(f64::from_bits),
        Dtype::F32 => Some(|bits| f64::from(f32::from_bits(bits as u32))),
        Dtype::F16 => Some(|bits| f16::from_bits(bits as u16).to_f64()),
        Dtype::BF16 => Some(|bits| bf16::from_bits(bits as u16).to_f64()),
        _ => None,
    }
}

/// The parts of a sparse tensor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparseTensor<'a> {
    /// The non-default elements. Their name is that of the sparse tensor.
    pub values: Option<TensorView<'a>>,
    /// The positions of the elements.
    pub indices: Option<TensorView<'a>>,
    /// The extents of the dense tensor; not validated.
    pub dims: TensorDims,
}

impl<'a> SparseTensorView<'a> {
    /// Decodes the parts.
    pub fn parse(&self) -> Result<SparseTensor<'a>, DecodeError> {
        let mut sparse = SparseTensor::default();
        for field in self.wire_fields() {
            let field = field?;
            let (part, name) = match field.number {
                1 => (&mut sparse.values, name!("SparseTensorProto", "values")),
                2 => (&mut sparse.indices, name!("SparseTensorProto", "indices")),
                3 => {
                    read_dims(&field, name!("SparseTensorProto", "dims"), &mut sparse.dims)?;
                    continue;
                }
                _ => continue,
            };
            set_once(part, &field, name, TensorView::from_body)?;
        }
        Ok(sparse)
    }
}
