//! Operations on attributes.
//!
//! An operation returns the value in the node, or else the declared default. Inside a function, a reference
//! to an attribute of the function is resolved to the argument of the call. An attribute of the wrong kind
//! was reported before any rule runs. A value that the writer omitted because it is the default of the wire
//! format (0 or empty) has that default.

use smallvec::SmallVec;
use typeloom_onnx::view::{Attribute, AttributeView, SparseTensorView, TensorView, TypeView};

use super::{RuleCx, RuleError};
use crate::signature::{AttributeDefault, AttributeKind};

impl<'a> RuleCx<'_, 'a> {
    /// The attribute of the node, or for a reference that of the call.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr(&self, name: &str) -> Result<Option<Attribute<'a>>, RuleError> {
        let Some(part) = self.attribute_part() else { return Ok(None) };
        for attribute in part.attributes() {
            let attribute = attribute?.parse()?;
            if attribute.name != name {
                continue;
            }
            return Ok(match attribute.ref_attr_name {
                None => Some(attribute),
                Some(outer) => self.argument(outer),
            });
        }
        Ok(None)
    }

    /// The names of the node's attributes, in order.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_names(&self) -> Result<SmallVec<[&'a str; 4]>, RuleError> {
        let name = |attribute: Result<AttributeView<'a>, _>| Ok(attribute?.parse()?.name);
        self.attribute_part().into_iter().flat_map(|part| part.attributes()).map(name).collect()
    }

    fn default(&self, name: &str) -> Option<&'a AttributeDefault> {
        self.schema()?.attribute(name)?.default.as_ref()
    }

    /// Whether the node has the attribute.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn has_attr(&self, name: &str) -> Result<bool, RuleError> {
        Ok(self.attr(name)?.is_some())
    }

    /// An integer attribute.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_int(&self, name: &str) -> Result<Option<i64>, RuleError> {
        Ok(match self.attr(name)? {
            // A writer may omit a field with its default value.
            Some(attribute) => {
                attribute.i().or_else(|| (attribute.kind == AttributeKind::Int as i32).then_some(0))
            }
            None => match self.default(name) {
                Some(AttributeDefault::Int(value)) => Some(*value),
                Some(_) | None => None,
            },
        })
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
        Ok(match self.attr(name)? {
            Some(attribute) => {
                attribute.f().or_else(|| (attribute.kind == AttributeKind::Float as i32).then_some(0.0))
            }
            None => match self.default(name) {
                Some(AttributeDefault::Float(value)) => Some(*value),
                Some(_) | None => None,
            },
        })
    }

    /// A string attribute. Bytes that are not UTF-8 count as absent, because no operator uses such a value.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_str(&self, name: &str) -> Result<Option<&'a str>, RuleError> {
        Ok(match self.attr(name)? {
            Some(attribute) => {
                let empty = (attribute.kind == AttributeKind::String as i32).then_some(&b""[..]);
                attribute.s().or(empty).and_then(|bytes| std::str::from_utf8(bytes).ok())
            }
            None => match self.default(name) {
                Some(AttributeDefault::String(value)) => Some(value),
                Some(_) | None => None,
            },
        })
    }

    /// A list of integers.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_ints(&self, name: &str) -> Result<Option<Vec<i64>>, RuleError> {
        Ok(match self.attr(name)? {
            Some(attribute) => Some(attribute.ints().collect::<Result<_, _>>()?),
            None => match self.default(name) {
                Some(AttributeDefault::Ints(values)) => Some(values.to_vec()),
                Some(_) | None => None,
            },
        })
    }

    /// A list of floats.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_floats(&self, name: &str) -> Result<Option<Vec<f32>>, RuleError> {
        Ok(match self.attr(name)? {
            Some(attribute) => Some(attribute.floats().collect::<Result<_, _>>()?),
            None => match self.default(name) {
                Some(AttributeDefault::Floats(values)) => Some(values.to_vec()),
                Some(_) | None => None,
            },
        })
    }

    /// A list of strings, as bytes.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_strings(&self, name: &str) -> Result<Option<Vec<&'a [u8]>>, RuleError> {
        Ok(match self.attr(name)? {
            Some(attribute) => Some(attribute.strings().collect::<Result<_, _>>()?),
            None => match self.default(name) {
                Some(AttributeDefault::Strings(values)) => {
                    Some(values.iter().map(|value| value.as_bytes()).collect())
                }
                Some(_) | None => None,
            },
        })
    }

    /// A tensor attribute.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_tensor(&self, name: &str) -> Result<Option<TensorView<'a>>, RuleError> {
        Ok(self.attr(name)?.and_then(|attribute| attribute.t()))
    }

    /// A sparse tensor attribute.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_sparse_tensor(&self, name: &str) -> Result<Option<SparseTensorView<'a>>, RuleError> {
        Ok(self.attr(name)?.and_then(|attribute| attribute.sparse_tensor()))
    }

    /// A type attribute.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_type(&self, name: &str) -> Result<Option<TypeView<'a>>, RuleError> {
        Ok(self.attr(name)?.and_then(|attribute| attribute.tp()))
    }
}
