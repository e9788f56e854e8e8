//! The typed payload fields of `TensorProto`, and the element types that each of them stores.

use typeloom_types::dtype::{Dtype, DtypeClass};

use crate::error::FieldName;

/// A field of `TensorProto` that stores elements one by one, in contrast to `raw_data`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypedField {
    Float,
    Int32,
    String,
    Int64,
    Double,
    Uint64,
}

impl TypedField {
    /// Every typed field, by field number.
    pub(crate) const ALL: [Self; 6] =
        [Self::Float, Self::Int32, Self::String, Self::Int64, Self::Double, Self::Uint64];

    /// The field for elements of `dtype`.
    pub(crate) fn of(dtype: Dtype) -> Self {
        match (dtype.class(), dtype.size_bits().unwrap_or(0)) {
            (DtypeClass::Float, 32) | (DtypeClass::Complex, 64) => Self::Float,
            (DtypeClass::Float, 64) | (DtypeClass::Complex, _) => Self::Double,
            (DtypeClass::SignedInt, 64) => Self::Int64,
            (DtypeClass::UnsignedInt, 32 | 64) => Self::Uint64,
            (DtypeClass::String, _) => Self::String,
            (DtypeClass::Float | DtypeClass::SignedInt | DtypeClass::UnsignedInt | DtypeClass::Bool, _) => {
                Self::Int32
            }
        }
    }

    /// The field with this number.
    pub(crate) const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            4 => Self::Float,
            5 => Self::Int32,
            6 => Self::String,
            7 => Self::Int64,
            10 => Self::Double,
            11 => Self::Uint64,
            _ => return None,
        })
    }

    pub(crate) const fn number(self) -> u32 {
        self.field().0
    }

    /// The field name, for errors.
    pub(crate) const fn name(self) -> &'static FieldName {
        self.field().1
    }

    /// The number of elements in a record of bytes: a packed list, or one string.
    pub(crate) fn packed_count(self, bytes: &[u8]) -> u64 {
        match self {
            Self::String => 1,
            Self::Float => bytes.len() as u64 / 4,
            Self::Double => bytes.len() as u64 / 8,
            Self::Int32 | Self::Int64 | Self::Uint64 => {
                bytes.iter().filter(|byte| **byte < 0x80).count() as u64
            }
        }
    }

    const fn field(self) -> (u32, &'static FieldName) {
        match self {
            Self::Float => (4, &FieldName { message: "TensorProto", field: "float_data" }),
            Self::Int32 => (5, &FieldName { message: "TensorProto", field: "int32_data" }),
            Self::String => (6, &FieldName { message: "TensorProto", field: "string_data" }),
            Self::Int64 => (7, &FieldName { message: "TensorProto", field: "int64_data" }),
            Self::Double => (10, &FieldName { message: "TensorProto", field: "double_data" }),
            Self::Uint64 => (11, &FieldName { message: "TensorProto", field: "uint64_data" }),
        }
    }
}

/// The number of at most eight bytes.
pub(crate) fn little_endian(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(wide)
}

#[cfg(test)]
mod tests {
    use super::TypedField;

    #[test]
    fn every_field_is_found_by_its_number() {
        let found: Vec<u32> = (0..40).filter_map(TypedField::from_number).map(TypedField::number).collect();
        assert_eq!(found, TypedField::ALL.map(TypedField::number));
        assert!((0..40).all(|number| TypedField::from_number(number).is_none_or(|it| it.number() == number)));
    }
}
