//! Verbs on attributes.
//!
//! Every verb answers with the node's own value, or else with the default that the operator declares.
//! Inside a function, an attribute that refers to one of the function's own is the caller's. An
//! attribute of the wrong kind has been reported before any rule runs. One whose value a writer left out
//! because it is that of the wire format (0, or empty) has that value.

use smallvec::SmallVec;
use typeloom_onnx::view::{Attribute, AttributeView, SparseTensorView, TensorView, TypeView};

use super::{RuleCx, RuleError};
use crate::signature::{AttributeDefault, AttributeKind};

impl<'a> RuleCx<'_, 'a> {
    /// The attribute as the node (or, for a reference, the caller of the function) gives it.
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

    /// The names of the attributes that the node lists, in its order.
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

    /// Whether the node gives the attribute itself.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn has_attr(&self, name: &str) -> Result<bool, RuleError> {
        Ok(self.attr(name)?.is_some())
    }

    /// An integer.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_int(&self, name: &str) -> Result<Option<i64>, RuleError> {
        Ok(match self.attr(name)? {
            // A writer may leave out a field that holds its default.
            Some(attribute) => {
                attribute.i().or_else(|| (attribute.kind == AttributeKind::Int as i32).then_some(0))
            }
            None => match self.default(name) {
                Some(AttributeDefault::Int(value)) => Some(*value),
                Some(_) | None => None,
            },
        })
    }

    /// An integer used as a truth value.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_flag(&self, name: &str) -> Result<bool, RuleError> {
        Ok(self.attr_int(name)?.unwrap_or(0) != 0)
    }

    /// A float.
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

    /// A string; bytes that are not UTF-8 are no string that any operator knows.
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

    /// A tensor.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_tensor(&self, name: &str) -> Result<Option<TensorView<'a>>, RuleError> {
        Ok(self.attr(name)?.and_then(|attribute| attribute.t()))
    }

    /// A sparse tensor.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_sparse_tensor(&self, name: &str) -> Result<Option<SparseTensorView<'a>>, RuleError> {
        Ok(self.attr(name)?.and_then(|attribute| attribute.sparse_tensor()))
    }

    /// A type.
    ///
    /// # Errors
    /// [`RuleError::Malformed`].
    pub fn attr_type(&self, name: &str) -> Result<Option<TypeView<'a>>, RuleError> {
        Ok(self.attr(name)?.and_then(|attribute| attribute.tp()))
    }
}
