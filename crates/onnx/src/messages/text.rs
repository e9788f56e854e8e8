//! Text fields of messages.
//!
//! proto2 distinguishes an absent text from an empty one, and a message keeps the difference, so that it is
//! written as it was read. To authors and readers both are the empty text.
//!
//! ```
//! use typeloom_onnx::messages::NodeProto;
//!
//! let node = NodeProto { op_type: "Add".into(), domain: "".into(), ..NodeProto::default() };
//! assert_eq!(node.op_type.as_str(), "Add");
//! assert!(node.domain.is_empty() && node.domain.is_some());
//! assert!(node.name.is_empty() && node.name.is_none());
//! let name = String::from("Add");
//! assert!(node.op_type == name && name == node.op_type && String::from(&node.op_type) == name);
//! ```

use std::fmt;
use std::ops::Deref;

use super::{SharedText, Singular};

/// A text that a message may lack. It dereferences to the empty text if it is absent.
///
/// `S` is the storage: [`String`] for names, [`SharedText`] for texts that many messages share.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<S = String>(Option<S>);

impl<S: Deref<Target = str>> Text<S> {
    /// The text; empty if it is absent.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.as_deref().unwrap_or_default()
    }

    /// The text, if it is present.
    #[must_use]
    pub fn as_deref(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl<S> Text<S> {
    /// Whether the message has the field.
    #[must_use]
    pub fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the message lacks the field.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// The stored text, if it is present.
    pub fn as_mut(&mut self) -> Option<&mut S> {
        self.0.as_mut()
    }

    /// Takes the text; the field is absent afterwards.
    pub fn take(&mut self) -> Option<S> {
        self.0.take()
    }

    /// The stored text, if it is present.
    #[must_use]
    pub fn into_option(self) -> Option<S> {
        self.0
    }
}

impl<S: Default> Singular for Text<S> {
    type Value = S;

    fn value(&self) -> Option<&S> {
        self.0.as_ref()
    }

    fn value_mut(&mut self) -> &mut S {
        self.0.get_or_insert_default()
    }
}

impl<S: Deref<Target = str>> Deref for Text<S> {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl<'a, S: From<&'a str>> From<&'a str> for Text<S> {
    fn from(text: &'a str) -> Self {
        Self(Some(text.into()))
    }
}

impl<'a, S: From<&'a String>> From<&'a String> for Text<S> {
    fn from(text: &'a String) -> Self {
        Self(Some(text.into()))
    }
}

impl<S: From<String>> From<String> for Text<S> {
    fn from(text: String) -> Self {
        Self(Some(text.into()))
    }
}

impl From<SharedText> for Text<SharedText> {
    fn from(text: SharedText) -> Self {
        Self(Some(text))
    }
}

impl<S> From<Option<S>> for Text<S> {
    fn from(text: Option<S>) -> Self {
        Self(text)
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.0.unwrap_or_default()
    }
}

impl From<Text<SharedText>> for String {
    fn from(text: Text<SharedText>) -> Self {
        text.as_str().to_owned()
    }
}

impl<S: Deref<Target = str>> From<&Text<S>> for String {
    fn from(text: &Text<S>) -> Self {
        text.as_str().to_owned()
    }
}

impl<S: Deref<Target = str>> AsRef<str> for Text<S> {
    fn as_ref(&self) -> &str {
        self
    }
}

/// Comparisons with the types of texts, in both directions.
macro_rules! compares {
    ($($text:ty),*) => {
        $(
            impl<S: Deref<Target = str>> PartialEq<$text> for Text<S> {
                fn eq(&self, other: &$text) -> bool {
                    let other: &str = other;
                    self.as_str() == other
                }
            }

            impl<S: Deref<Target = str>> PartialEq<Text<S>> for $text {
                fn eq(&self, other: &Text<S>) -> bool {
                    other == self
                }
            }
        )*
    };
}

compares!(str, &str, String);

impl<S: fmt::Debug> fmt::Debug for Text<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<S: Deref<Target = str>> fmt::Display for Text<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}
