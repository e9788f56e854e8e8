//! Operations on attributes.
//!
//! An operation returns the value in the node, or else the declared default. Inside a function, a reference
//! to an attribute of the function is resolved to the argument of the call. An attribute of the wrong kind
//! was reported before any rule runs. A value that the writer omitted because it is the default of the wire
//! format (0 or empty) has that default.

use smallvec::SmallVec;
use typeloom_onnx::DecodeError;
use typeloom_onnx::view::{Attribute, AttributeView, SparseTensorView, TensorHeader, TensorView, TypeView};

use super::{RuleCx, RuleError};
use crate::signature::{AttributeDefault, AttributeKind, is_same_name};

impl<'a> RuleCx<'_, 'a> {
    /// The attribute of the node, or for a reference that of the call.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr(&self, name: &str) -> Result<Option<Attribute<'a>>, RuleError> {
        self.with_attr(name, |attribute| *attribute)
    }

    /// Reads the attribute that [`RuleCx::attr`] returns. A decoded attribute takes more than 200 bytes, so
    /// it is not copied.
    fn with_attr<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Attribute<'a>) -> T,
    ) -> Result<Option<T>, RuleError> {
        if let Some(known) = self.read_attributes() {
            let found = known.iter().find(|known| is_same_name(known.name.as_bytes(), name.as_bytes()));
            return Ok(found.and_then(|attribute| self.referenced(attribute)).map(read));
        }
        for attribute in self.attribute_part().into_iter().flat_map(|part| part.attributes()) {
            let attribute = attribute?;
            if attribute.has_name(name)? {
                return Ok(self.referenced(&attribute.parse()?).map(read));
            }
        }
        Ok(None)
    }

    /// The names of the node's attributes, in order.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_names(&self) -> Result<SmallVec<[&'a str; 4]>, RuleError> {
        if let Some(known) = self.read_attributes() {
            return Ok(known.iter().map(|attribute| attribute.name).collect());
        }
        let name = |attribute: Result<AttributeView<'a>, _>| Ok(attribute?.parse()?.name);
        self.attribute_part().into_iter().flat_map(|part| part.attributes()).map(name).collect()
    }

    /// The value of an attribute, or else the declared default.
    fn value_or_default<T>(
        &self,
        name: &str,
        value: impl FnOnce(&Attribute<'a>) -> Result<Option<T>, DecodeError>,
        default: impl FnOnce(&'a AttributeDefault) -> Option<T>,
    ) -> Result<Option<T>, RuleError> {
        match self.with_attr(name, value)? {
            Some(value) => Ok(value?),
            None => {
                let declared = self.schema().and_then(|schema| schema.attribute(name));
                Ok(declared.and_then(|declared| declared.default.as_ref()).and_then(default))
            }
        }
    }

    /// Whether the node has the attribute.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn has_attr(&self, name: &str) -> Result<bool, RuleError> {
        Ok(self.with_attr(name, |_| ())?.is_some())
    }

    /// An integer attribute.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_int(&self, name: &str) -> Result<Option<i64>, RuleError> {
        // A writer may omit a field with its default value.
        let omitted = |kind| (kind == AttributeKind::Int as i32).then_some(0);
        self.value_or_default(
            name,
            |attribute| Ok(attribute.i.or_else(|| omitted(attribute.kind))),
            |default| if let AttributeDefault::Int(value) = default { Some(*value) } else { None },
        )
    }

    /// An integer attribute used as a boolean.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_flag(&self, name: &str) -> Result<bool, RuleError> {
        Ok(self.attr_int(name)?.unwrap_or(0) != 0)
    }

    /// A float attribute.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_float(&self, name: &str) -> Result<Option<f32>, RuleError> {
        let omitted = |kind| (kind == AttributeKind::Float as i32).then_some(0.0);
        self.value_or_default(
            name,
            |attribute| Ok(attribute.f.or_else(|| omitted(attribute.kind))),
            |default| if let AttributeDefault::Float(value) = default { Some(*value) } else { None },
        )
    }

    /// A string attribute. Bytes that are not UTF-8 count as absent, because no operator uses such a value.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_str(&self, name: &str) -> Result<Option<&'a str>, RuleError> {
        let omitted = |kind| (kind == AttributeKind::String as i32).then_some(&b""[..]);
        let text = |attribute: &Attribute<'a>| {
            let bytes = attribute.s.or_else(|| omitted(attribute.kind));
            Ok(bytes.and_then(|bytes| std::str::from_utf8(bytes).ok()))
        };
        self.value_or_default(name, text, |default| {
            if let AttributeDefault::String(value) = default { Some(&**value) } else { None }
        })
    }

    /// A list of integers.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_ints(&self, name: &str) -> Result<Option<Vec<i64>>, RuleError> {
        self.value_or_default(
            name,
            |attribute| attribute.ints().collect::<Result<_, _>>().map(Some),
            |default| if let AttributeDefault::Ints(values) = default { Some(values.to_vec()) } else { None },
        )
    }

    /// As [`RuleCx::attr_ints`], for a list with about one number for each spatial axis.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_numbers(&self, name: &str) -> Result<Option<SmallVec<[i64; 6]>>, RuleError> {
        self.value_or_default(
            name,
            |attribute| attribute.ints().collect::<Result<_, _>>().map(Some),
            |default| match default {
                AttributeDefault::Ints(values) => Some(values.iter().copied().collect()),
                _ => None,
            },
        )
    }

    /// A list of floats.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_floats(&self, name: &str) -> Result<Option<Vec<f32>>, RuleError> {
        self.value_or_default(
            name,
            |attribute| attribute.floats().collect::<Result<_, _>>().map(Some),
            |default| {
                if let AttributeDefault::Floats(values) = default { Some(values.to_vec()) } else { None }
            },
        )
    }

    /// A list of strings, as bytes.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_strings(&self, name: &str) -> Result<Option<Vec<&'a [u8]>>, RuleError> {
        self.value_or_default(
            name,
            |attribute| attribute.strings().collect::<Result<_, _>>().map(Some),
            |default| match default {
                AttributeDefault::Strings(values) => {
                    Some(values.iter().map(|value| value.as_bytes()).collect())
                }
                _ => None,
            },
        )
    }

    /// A tensor attribute.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_tensor(&self, name: &str) -> Result<Option<TensorView<'a>>, RuleError> {
        Ok(self.with_attr(name, |attribute| attribute.t)?.flatten())
    }

    /// The header of a tensor attribute.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_header(&self, name: &str) -> Result<Option<TensorHeader<'a>>, RuleError> {
        Ok(self.attr_tensor(name)?.map(|tensor| tensor.header()).transpose()?)
    }

    /// A sparse tensor attribute.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_sparse_tensor(&self, name: &str) -> Result<Option<SparseTensorView<'a>>, RuleError> {
        Ok(self.with_attr(name, |attribute| attribute.sparse_tensor)?.flatten())
    }

    /// A type attribute.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_type(&self, name: &str) -> Result<Option<TypeView<'a>>, RuleError> {
        Ok(self.with_attr(name, |attribute| attribute.tp)?.flatten())
    }
}
