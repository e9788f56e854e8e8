//! Constants: dense tensors with typed, raw or external data, and sparse tensors.

use bytes::Bytes;
use typeloom_types::dtype::{Dtype, DtypeClass};

use crate::messages::tensor_proto::DataLocation;
use crate::messages::{SparseTensorProto, TensorProto};
use crate::text::span::{Span, ValueSpans};
use crate::typed_field::{TypedField, little_endian};

use super::{Loss, Printer, RawData};

/// The elements of a tensor in their field.
enum Elements<'a> {
    Float(&'a [f32]),
    Double(&'a [f64]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    Uint64(&'a [u64]),
    Strings(&'a [Bytes]),
    Raw(&'a [u8], Layout),
}

/// The format of one element in raw data, little-endian.
#[derive(Clone, Copy)]
enum Layout {
    Float,
    Double,
    /// Also 8-bit floats, bool, and types of fewer than 8 bits, as uninterpreted bytes.
    Int {
        bytes: usize,
        signed: bool,
    },
}

impl Printer<'_> {
    /// `type[dims] name @{...} = data`: an initializer.
    pub(super) fn initializer(&mut self, tensor: &TensorProto) -> ValueSpans {
        let (span, (ty, name)) = self.spanned(|printer| {
            let ty = printer.span(|printer| {
                printer.element_type(tensor.data_type);
                printer.extents(&tensor.dims);
            });
            printer.push(" ");
            let name = printer.name(tensor.name());
            printer.annotation(&tensor.doc_string, &tensor.metadata_props);
            printer.push(" = ");
            printer.data(tensor);
            (ty, name)
        });
        ValueSpans { span, ty: Some(ty), name }
    }

    /// An initializer in a node, where the name is optional.
    pub(super) fn constant(&mut self, tensor: &TensorProto) {
        self.element_type(tensor.data_type);
        self.extents(&tensor.dims);
        if !tensor.name().is_empty() {
            self.push(" ");
            self.name(tensor.name());
        }
        self.annotation(&tensor.doc_string, &tensor.metadata_props);
        self.push(" = ");
        self.data(tensor);
    }

    /// `sparse_tensor(type[dims]) name = (values, indices)`: a sparse initializer.
    pub(super) fn sparse_initializer(&mut self, sparse: &SparseTensorProto) -> ValueSpans {
        let name = sparse.values.as_ref().map(TensorProto::name).unwrap_or_default();
        let (span, (ty, name)) = self.spanned(|printer| {
            let ty = printer.sparse_type(sparse);
            printer.push(" ");
            let name = printer.name(name);
            printer.push(" = ");
            printer.sparse_data(sparse);
            (ty, name)
        });
        ValueSpans { span, ty: Some(ty), name }
    }

    /// A sparse initializer in a node; the name is that of the values.
    pub(super) fn sparse_constant(&mut self, sparse: &SparseTensorProto) {
        self.sparse_type(sparse);
        let name = sparse.values.as_ref().map(TensorProto::name).unwrap_or_default();
        if !name.is_empty() {
            self.push(" ");
            self.name(name);
        }
        self.push(" = ");
        self.sparse_data(sparse);
    }

    fn sparse_type(&mut self, sparse: &SparseTensorProto) -> Span {
        self.span(|printer| {
            printer.push("sparse_tensor(");
            printer.element_type(sparse.values.as_ref().and_then(|values| values.data_type));
            printer.extents(&sparse.dims);
            printer.push(")");
        })
    }

    fn sparse_data(&mut self, sparse: &SparseTensorProto) {
        let SparseTensorProto { values, indices, dims: _, unknown_fields } = sparse;
        self.check_unknown(unknown_fields);
        self.push("(");
        match values {
            // The name has been printed before.
            Some(values) => {
                self.element_type(values.data_type);
                self.extents(&values.dims);
                self.annotation(&values.doc_string, &values.metadata_props);
                self.push(" = ");
                self.data(values);
            }
            None => self.push("?"),
        }
        self.push(", ");
        match indices {
            Some(indices) => self.constant(indices),
            None => self.push("?"),
        }
        self.push(")");
    }

    fn data(&mut self, tensor: &TensorProto) {
        let TensorProto {
            dims: _,
            data_type,
            segment,
            float_data,
            int32_data,
            string_data,
            int64_data,
            name: _,
            raw_data,
            double_data,
            uint64_data,
            doc_string: _,
            external_data,
            data_location,
            metadata_props: _,
            unknown_fields,
        } = tensor;
        self.check_unknown(unknown_fields);
        if segment.is_some() {
            self.lose(Loss::TensorSegment);
        }
        let raw = raw_data.as_deref().unwrap_or_default();
        let dtype = data_type.and_then(Dtype::from_onnx_number);
        let own = dtype.map(TypedField::of);
        let external = *data_location == Some(DataLocation::External as i32);
        // Elements of one field are printed; elements of any other field are lost.
        let elsewhere = external || !raw.is_empty();
        let stray = [
            (TypedField::Float, float_data.is_empty()),
            (TypedField::Double, double_data.is_empty()),
            (TypedField::Int32, int32_data.is_empty()),
            (TypedField::Int64, int64_data.is_empty()),
            (TypedField::Uint64, uint64_data.is_empty()),
            (TypedField::String, string_data.is_empty()),
        ];
        let stray = stray.into_iter().any(|(field, empty)| !empty && (elsewhere || Some(field) != own))
            || (external && !raw.is_empty())
            || (!external && !external_data.is_empty())
            || data_location.is_some_and(|location| DataLocation::try_from(location).is_err());
        if stray {
            self.lose(Loss::StrayTensorData);
        }
        if external {
            return self.string_pairs(external_data);
        }
        let elements = match own {
            _ if !raw.is_empty() => {
                match dtype.and_then(layout).filter(|layout| raw.len().is_multiple_of(layout.width())) {
                    Some(layout) if self.options.raw_data == RawData::Values => Elements::Raw(raw, layout),
                    Some(_) | None => return self.hex(raw, self.options.limits.tensor_elements),
                }
            }
            Some(TypedField::Float) => Elements::Float(float_data),
            Some(TypedField::Double) => Elements::Double(double_data),
            Some(TypedField::Int32) => Elements::Int32(int32_data),
            Some(TypedField::Int64) => Elements::Int64(int64_data),
            Some(TypedField::Uint64) => Elements::Uint64(uint64_data),
            Some(TypedField::String) => Elements::Strings(string_data),
            None => Elements::Int32(&[]),
        };
        let limit = self.options.limits.tensor_elements;
        self.enclosed("{", "}", |printer| {
            let print = |printer: &mut Self, index| printer.element(&elements, index);
            printer.items(elements.len(), limit, &[], print, |_, _| None);
        });
    }

    fn element(&mut self, elements: &Elements<'_>, index: usize) {
        match elements {
            Elements::Float(values) => self.float(values[index]),
            Elements::Double(values) => self.double(values[index]),
            Elements::Int32(values) => self.push_display(values[index]),
            Elements::Int64(values) => self.push_display(values[index]),
            Elements::Uint64(values) => self.push_display(values[index]),
            Elements::Strings(values) => self.byte_string(&values[index]),
            Elements::Raw(bytes, layout) => {
                let element = &bytes[index * layout.width()..][..layout.width()];
                let bits = little_endian(element);
                match *layout {
                    Layout::Float => self.float(f32::from_bits(bits as u32)),
                    Layout::Double => self.double(f64::from_bits(bits)),
                    Layout::Int { signed: false, .. } => self.push_display(bits),
                    Layout::Int { signed: true, bytes } => {
                        let unused = 64 - 8 * bytes;
                        self.push_display((bits << unused).cast_signed() >> unused);
                    }
                }
            }
        }
    }

    /// The shortest text that parses to the same float, with a point or an exponent unless it is `inf` or `nan`.
    pub(super) fn float(&mut self, value: f32) {
        if value.is_nan() {
            let canonical = value.to_bits() & (u32::MAX >> 1) == f32::NAN.to_bits();
            self.nan(value.is_sign_negative(), canonical);
        } else {
            self.push_display(format_args!("{value:?}"));
        }
    }

    fn double(&mut self, value: f64) {
        if value.is_nan() {
            let canonical = value.to_bits() & (u64::MAX >> 1) == f64::NAN.to_bits();
            self.nan(value.is_sign_negative(), canonical);
        } else {
            self.push_display(format_args!("{value:?}"));
        }
    }

    fn nan(&mut self, negative: bool, canonical: bool) {
        if !canonical {
            self.lose(Loss::NanPayload);
        }
        self.push(if negative { "-nan" } else { "nan" });
    }
}

impl Elements<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Float(values) => values.len(),
            Self::Double(values) => values.len(),
            Self::Int32(values) => values.len(),
            Self::Int64(values) => values.len(),
            Self::Uint64(values) => values.len(),
            Self::Strings(values) => values.len(),
            Self::Raw(bytes, layout) => bytes.len() / layout.width(),
        }
    }
}

impl Layout {
    fn width(self) -> usize {
        match self {
            Self::Float => 4,
            Self::Double => 8,
            Self::Int { bytes, signed: _ } => bytes,
        }
    }
}

/// The format of the elements of a type in raw data; `None` for strings.
fn layout(dtype: Dtype) -> Option<Layout> {
    let bits = dtype.size_bits()?;
    Some(match TypedField::of(dtype) {
        TypedField::Float => Layout::Float,
        TypedField::Double => Layout::Double,
        TypedField::Int32 | TypedField::Int64 | TypedField::Uint64 => {
            let signed = dtype.class() == DtypeClass::SignedInt && bits >= 8;
            Layout::Int { bytes: bits.div_ceil(8) as usize, signed }
        }
        TypedField::String => return None,
    })
}
