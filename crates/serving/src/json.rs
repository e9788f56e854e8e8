//! Access to JSON documents with errors that name the path.

use serde_json::Value;
use typeloom_onnx::text::escape_json;
use typeloom_types::dtype::Dtype;

use crate::error::ReadError;
use crate::signature::{Extent, MAX_RANK};

/// Parses a document.
pub(crate) fn parse(text: &str) -> Result<Value, ReadError> {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| ReadError::At {
        line: error.line(),
        column: error.column(),
        message: message(&error),
    })
}

/// The message of a parser without its position.
fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(message, _)| message.to_owned())
}

/// A value with its path in the document.
#[derive(Clone, Debug)]
pub(crate) struct At<'v> {
    pub(crate) value: &'v Value,
    path: String,
}

impl<'v> At<'v> {
    /// A document, or a part of one at a path.
    pub(crate) fn new(value: &'v Value, path: &str) -> Self {
        Self { value, path: path.to_owned() }
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> ReadError {
        let path = if self.path.is_empty() { "the document" } else { &self.path };
        ReadError::Json { path: path.to_owned(), message: message.into() }
    }

    /// The value of a key; `None` if it is missing or `null`.
    pub(crate) fn get(&self, key: &str) -> Option<At<'v>> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        Some(At { value, path })
    }

    /// The value of a key that must exist.
    pub(crate) fn need(&self, key: &str) -> Result<At<'v>, ReadError> {
        self.get(key).ok_or_else(|| self.error(format!("`{key}` is missing")))
    }

    pub(crate) fn text(&self) -> Result<&'v str, ReadError> {
        self.value.as_str().ok_or_else(|| self.error("expected a string"))
    }

    pub(crate) fn elements(&self) -> Result<Vec<At<'v>>, ReadError> {
        let list = self.value.as_array().ok_or_else(|| self.error("expected a list"))?;
        let element = |(at, value)| At { value, path: format!("{}[{at}]", self.path) };
        Ok(list.iter().enumerate().map(element).collect())
    }

    /// A list of extents, in which -1 is any number.
    pub(crate) fn shape(&self) -> Result<Vec<Extent>, ReadError> {
        let elements = self.elements()?;
        if elements.len() > MAX_RANK {
            return Err(self.error(format!("a tensor has more than {MAX_RANK} axes")));
        }
        elements.iter().map(At::extent).collect()
    }

    fn extent(&self) -> Result<Extent, ReadError> {
        // Some servers write integers of 64 bits as strings, as the JSON form of protocol buffers does.
        let number = self.value.as_i64().or_else(|| self.value.as_str()?.parse().ok());
        match number {
            Some(-1) => Ok(Extent::Free),
            Some(number) => {
                let extent = u64::try_from(number).map(Extent::Fixed);
                extent.map_err(|_| self.error("an extent is -1 or not negative"))
            }
            None => Err(self.error("expected an integer")),
        }
    }

    /// The element type of a name in a table.
    pub(crate) fn element(&self, table: &[(Dtype, &str)]) -> Result<Dtype, ReadError> {
        let name = self.text()?;
        let found = table.iter().find(|(_, known)| *known == name);
        found.map(|(dtype, _)| *dtype).ok_or_else(|| self.error(format!("unknown data type `{name}`")))
    }
}

/// A document on several lines, ending in a line break.
pub(crate) fn pretty(value: &Value) -> String {
    escape_json(&format!("{value:#}\n")).into_owned()
}
