//! Constants: dense tensors with typed, raw or external data, and sparse tensors.

use typeloom_types::dtype::{Dtype, DtypeClass};

use crate::messages::tensor_proto::DataLocation;
use crate::messages::{SparseTensorProto, TensorProto};
use crate::text::span::{Span, ValueSpans};
use crate::typed_field::{TypedField, little_endian};

use super::{Loss, Printer, RawData};

impl Printer<'_> {
    /// `type[dims] name @{...} = data`: an initializer.
    pub(super) fn initializer(&mut self, tensor: &TensorProto) -> ValueSpans {
        self.dense(tensor, Some(tensor.name()))
    }

    /// An initializer in a node, where the name is optional.
    pub(super) fn constant(&mut self, tensor: &TensorProto) {
        self.dense(tensor, Some(tensor.name()).filter(|name| !name.is_empty()));
    }

    fn dense(&mut self, tensor: &TensorProto, name: Option<&str>) -> ValueSpans {
        let (span, (ty, name)) = self.spanned(|printer| {
            let ty = printer.span(|printer| {
                printer.element_type(tensor.data_type);
                printer.extents(&tensor.dims);
            });
            let name = printer.name_after_type(name);
            printer.annotation(&tensor.doc_string, &tensor.metadata_props);
            printer.push(" = ");
            printer.data(tensor);
            (ty, name)
        });
        ValueSpans { span, ty: Some(ty), name }
    }

    fn name_after_type(&mut self, name: Option<&str>) -> Span {
        let Some(name) = name else { return Span::default() };
        self.push(" ");
        self.name(name)
    }

    /// `sparse_tensor(type[dims]) name = (values, indices)`: a sparse initializer.
    pub(super) fn sparse_initializer(&mut self, sparse: &SparseTensorProto) -> ValueSpans {
        self.sparse(sparse, Some(name_of(sparse)))
    }

    /// A sparse initializer in a node; the name is that of the values.
    pub(super) fn sparse_constant(&mut self, sparse: &SparseTensorProto) {
        self.sparse(sparse, Some(name_of(sparse)).filter(|name| !name.is_empty()));
    }

    fn sparse(&mut self, sparse: &SparseTensorProto, name: Option<&str>) -> ValueSpans {
        let (span, (ty, name)) = self.spanned(|printer| {
            let ty = printer.sparse_type(sparse);
            let name = printer.name_after_type(name);
            printer.push(" = ");
            printer.sparse_data(sparse);
            (ty, name)
        });
        ValueSpans { span, ty: Some(ty), name }
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
            Some(values) => drop(self.dense(values, None)),
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
        match own {
            _ if !raw.is_empty() => self.raw_data(raw, dtype),
            Some(TypedField::Float) => self.elements(float_data, |printer, value| printer.float(*value)),
            Some(TypedField::Double) => self.elements(double_data, |printer, value| printer.double(*value)),
            Some(TypedField::Int32) => self.numbers(int32_data),
            Some(TypedField::Int64) => self.numbers(int64_data),
            Some(TypedField::Uint64) => self.numbers(uint64_data),
            Some(TypedField::String) => {
                self.elements(string_data, |printer, value| printer.byte_string(value));
            }
            None => self.push("{}"),
        }
    }

    fn numbers(&mut self, numbers: &[impl std::fmt::Display]) {
        self.elements(numbers, |printer, number| printer.push_display(number));
    }

    /// `{element, ...}`
    fn elements<T>(&mut self, elements: &[T], print: impl FnMut(&mut Self, &T)) {
        let limit = self.options.limits.tensor_elements;
        self.enclosed("{", "}", |printer| printer.separated(elements, limit, print));
    }

    fn raw_data(&mut self, raw: &[u8], dtype: Option<Dtype>) {
        let limit = self.options.limits.tensor_elements;
        let width = dtype.and_then(raw_width).filter(|width| raw.len().is_multiple_of(*width));
        let (Some(dtype), Some(width), RawData::Values) = (dtype, width, self.options.raw_data) else {
            return self.hex(raw, limit);
        };
        self.enclosed("{", "}", |printer| {
            let print = |printer: &mut Self, index| {
                printer.raw_element(dtype, little_endian(&raw[index * width..][..width]), width);
            };
            printer.items(raw.len() / width, limit, &[], print, |_, _| None);
        });
    }

    /// An element from its little-endian bits. 8-bit floats, bool, and types of fewer than 8 bits are printed
    /// as uninterpreted bytes.
    fn raw_element(&mut self, dtype: Dtype, bits: u64, width: usize) {
        match TypedField::of(dtype) {
            TypedField::Float => self.float(f32::from_bits(bits as u32)),
            TypedField::Double => self.double(f64::from_bits(bits)),
            _ if dtype.class() == DtypeClass::SignedInt && dtype.size_bits() >= Some(8) => {
                let unused = 64 - 8 * width;
                self.push_display((bits << unused).cast_signed() >> unused);
            }
            _ => self.push_display(bits),
        }
    }

    /// The shortest text that parses to the same float, with a point or an exponent unless it is `inf` or
    /// `nan`.
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

/// The name of a sparse tensor, which its values have.
fn name_of(sparse: &SparseTensorProto) -> &str {
    sparse.values.as_ref().map(TensorProto::name).unwrap_or_default()
}

/// The number of bytes of one printed number in raw data; `None` for strings.
fn raw_width(dtype: Dtype) -> Option<usize> {
    match TypedField::of(dtype) {
        TypedField::Float => Some(4),
        TypedField::Double => Some(8),
        TypedField::Int32 | TypedField::Int64 | TypedField::Uint64 => {
            Some(dtype.size_bits()?.div_ceil(8) as usize)
        }
        TypedField::String => None,
    }
}
