//! JSON view of a bundle: the same content, item by item, for users and for tools that cannot read bundles.
//!
//! The view is equivalent to the bytes: parsing a view returns the bytes it was created from.
//! `docs/bundle-format.md` specifies it. Parsing checks only what is necessary to produce bytes; importing
//! the bundle checks everything else.

mod strict;
mod types;

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::check::check_layout;
use crate::digest::Digest;
use crate::export::Bundle;
use crate::import::{Head, RawRoot, ReferenceBase, read_head, read_tail, read_type};
use crate::import_error::{ImportError, ImportErrorKind};
use crate::json::types::{TypeReader, type_value};
use crate::layout;
use crate::limits::ImportLimits;
use crate::tag::GROUP_NUMBER;
use crate::wire::{FORMAT_VERSION, NAMED_VERSION, Reader, assemble, put_varint};

/// Error of parsing the JSON view of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// The text is longer than the limit for bundles.
    #[error("more than {limit} bytes")]
    TooLong {
        /// Limit in bytes.
        limit: usize,
    },
    /// The text is not JSON.
    #[error("line {line}, column {column}: not JSON: {reason}")]
    Syntax {
        /// Line number, from 1.
        line: usize,
        /// Column number, from 1.
        column: usize,
        /// Message of the JSON parser.
        reason: String,
    },
    /// An object repeats a field.
    #[error("line {line}, column {column}: the field {name:?} occurs twice")]
    DuplicateField {
        /// Line number, from 1.
        line: usize,
        /// Column number, from 1.
        column: usize,
        /// Name of the field.
        name: String,
    },
    /// A value of the wrong form.
    #[error("{path}: expected {expected}")]
    Expected {
        /// Path to the value, such as `types[3].of`.
        path: String,
        /// Description of the required value.
        expected: &'static str,
    },
    /// A field that objects of this kind do not have.
    #[error("{path}: there is no such field")]
    UnknownField {
        /// Path to the field.
        path: String,
    },
    /// A reference to an item that does not exist or comes later.
    #[error("{path}: item {item} does not come before this one")]
    Reference {
        /// Path to the reference.
        path: String,
        /// Number of the item.
        item: u64,
    },
    /// A reference to a member that the current group does not have, or outside of groups.
    #[error("{path}: there is no member {member} here")]
    Member {
        /// Path to the reference.
        path: String,
        /// Number of the member.
        member: u32,
    },
}

impl Bundle {
    /// Returns the JSON view.
    ///
    /// # Errors
    /// If the bytes cannot be decoded as far as the view requires.
    pub fn to_json(&self) -> Result<String, ImportError> {
        let bytes = self.as_bytes();
        let limits = ImportLimits::default();
        let mut reader = Reader::new(bytes);
        let Head { version, strings, imports } = read_head(&mut reader, bytes.len(), &limits)?;
        let mut types = Vec::new();
        let mut next_string = 0;
        let mut words = Vec::new();
        let mut item = imports.len() as u32;
        let end = reader.varint()?.saturating_add(item);
        let mut read = |reader: &mut Reader<'_>, base: ReferenceBase| -> Result<Value, ImportError> {
            let offset = reader.at;
            let tag = read_type(reader, base, &limits, &mut next_string, strings.len() as u32, &mut words)?;
            check_layout(tag, &words, |_, _| {})
                .map_err(|error| ImportError::at(offset, ImportErrorKind::Type(error)))?;
            Ok(type_value(tag, &words, &strings))
        };
        while item < end {
            let offset = reader.at;
            if bytes.get(offset) == Some(&GROUP_NUMBER) {
                reader.byte()?;
                let len = reader.varint()?;
                if len > end - item {
                    return Err(ImportError::at(offset, ImportErrorKind::CountTooLarge { count: len }));
                }
                let members: Result<Value, ImportError> =
                    (0..len).map(|_| read(&mut reader, ReferenceBase::Group { first: item, len })).collect();
                types.push(json!({ "group": members? }));
                item += len;
            } else {
                types.push(read(&mut reader, ReferenceBase::Item(item))?);
                item += 1;
            }
        }
        let root = |root: &RawRoot<'_>| {
            let mut view =
                json!({ "label": root.label, "type": root.item, "digest": root.digest.to_string() });
            if !root.names.is_empty() {
                view["names"] = json!(root.names);
            }
            view
        };
        let roots: Value = read_tail(&mut reader, bytes, item, version, &limits)?.iter().map(root).collect();
        let view = json!({
            "format": "typeloom-bundle",
            "version": version,
            "hash": "blake3-256",
            "imports": imports.iter().map(|digest| Value::from(digest.to_string())).collect::<Value>(),
            "types": types,
            "roots": roots,
        });
        Ok(format!("{view:#}"))
    }

    /// Returns the bundle with this JSON view. Only the form is checked; importing checks the content.
    ///
    /// # Errors
    /// If the text is not a view.
    pub fn from_json(text: &str, limits: &ImportLimits) -> Result<Bundle, JsonError> {
        if text.len() > limits.bytes {
            return Err(JsonError::TooLong { limit: limits.bytes });
        }
        let view = strict::parse(text)?;
        let top = JsonValue { value: &view, path: String::new() };
        let top = top.object(&["format", "version", "hash", "imports", "types", "roots"])?;
        let header = [
            ("format", json!("typeloom-bundle"), "\"typeloom-bundle\""),
            ("hash", json!("blake3-256"), "\"blake3-256\""),
        ];
        for (field, value, expected) in header {
            let found = top.field(field)?;
            if *found.value != value {
                return found.expected(expected);
            }
        }
        let version = top.field("version")?;
        let is_named = *version.value == json!(NAMED_VERSION);
        if !is_named && *version.value != json!(FORMAT_VERSION) {
            return version.expected("version 2 or 3");
        }
        let mut imports = Vec::new();
        for import in top.field("imports")?.array()? {
            imports.push(import.digest()?);
        }
        let mut writer = ViewWriter::default();
        let mut item = imports.len() as u32;
        for entry in top.field("types")?.array()? {
            if entry.value.get("group").is_some() {
                let group = entry.object(&["group"])?.field("group")?;
                let members = group.array()?;
                if members.is_empty() {
                    return group.expected("at least one member");
                }
                writer.out.push(GROUP_NUMBER);
                put_varint(&mut writer.out, members.len() as u32);
                for member in &members {
                    writer.write(member, ReferenceBase::Group { first: item, len: members.len() as u32 })?;
                }
                item += members.len() as u32;
            } else {
                writer.write(&entry, ReferenceBase::Item(item))?;
                item += 1;
            }
        }
        let (mut roots, mut names) = (Vec::new(), Vec::new());
        for root in top.field("roots")?.array()? {
            let root = root.object(&["label", "type", "digest", "names"])?;
            let (label, ty) = (root.field("label")?.text()?, root.field("type")?.small()?);
            roots.push((label, ty, root.field("digest")?.digest()?));
            let mut of_root = Vec::new();
            if root.value.get("names").is_some() {
                for name in root.field("names")?.array()? {
                    of_root.push(name.text()?.to_owned());
                }
            }
            names.push(of_root);
        }
        if is_named != names.iter().any(|names| !names.is_empty()) {
            return version.expected("version 3 with `names` of a root, or version 2 without");
        }
        let names: Vec<&[String]> = names.iter().map(Vec::as_slice).collect();
        let strings = writer.strings.iter().map(String::as_str);
        let types = item - imports.len() as u32;
        let bytes = assemble(strings, &imports, types, &writer.out, roots.into_iter(), &names);
        Ok(Bundle::from_bytes(bytes))
    }
}

/// A value of a view with its path.
struct JsonValue<'v> {
    value: &'v Value,
    path: String,
}

impl<'v> JsonValue<'v> {
    fn expected<T>(&self, expected: &'static str) -> Result<T, JsonError> {
        let path = if self.path.is_empty() { "the view".to_owned() } else { self.path.clone() };
        Err(JsonError::Expected { path, expected })
    }

    /// Checks that the value is an object with allowed fields only.
    fn object(&self, allowed: &[&str]) -> Result<&Self, JsonError> {
        let Some(map) = self.value.as_object() else { return self.expected("an object") };
        match map.keys().find(|key| !allowed.contains(&key.as_str())) {
            Some(field) => Err(JsonError::UnknownField { path: self.below(&field.escape_debug()) }),
            None => Ok(self),
        }
    }

    fn field(&self, name: &'static str) -> Result<JsonValue<'v>, JsonError> {
        let path = self.below(&name);
        match self.value.get(name) {
            Some(value) => Ok(JsonValue { value, path }),
            None => Err(JsonError::Expected { path, expected: "a value" }),
        }
    }

    fn below(&self, field: &dyn std::fmt::Display) -> String {
        let dot = if self.path.is_empty() { "" } else { "." };
        format!("{}{dot}{field}", self.path)
    }

    fn array(&self) -> Result<Vec<JsonValue<'v>>, JsonError> {
        let Some(items) = self.value.as_array() else { return self.expected("an array") };
        let at = |(at, value)| JsonValue { value, path: format!("{}[{at}]", self.path) };
        Ok(items.iter().enumerate().map(at).collect())
    }

    fn text(&self) -> Result<&'v str, JsonError> {
        self.value.as_str().map_or_else(|| self.expected("a string"), Ok)
    }

    fn small(&self) -> Result<u32, JsonError> {
        let small = self.value.as_u64().and_then(|value| u32::try_from(value).ok());
        small.map_or_else(|| self.expected("an integer of 32 bits"), Ok)
    }

    fn int(&self) -> Result<i64, JsonError> {
        self.value.as_i64().map_or_else(|| self.expected("an integer of 64 bits"), Ok)
    }

    fn digest(&self) -> Result<Digest, JsonError> {
        self.text()?.parse().or_else(|_| self.expected("64 lower-case hexadecimal digits"))
    }
}

/// Writes types as in the bytes.
#[derive(Default)]
struct ViewWriter {
    strings: Vec<String>,
    string_at: HashMap<String, u32>,
    out: Vec<u8>,
}

impl ViewWriter {
    /// Returns the number of a string.
    fn string(&mut self, text: &str) -> u32 {
        let Self { strings, string_at, .. } = self;
        *string_at.entry(text.to_owned()).or_insert_with(|| {
            strings.push(text.to_owned());
            strings.len() as u32 - 1
        })
    }

    fn write(&mut self, at: &JsonValue<'_>, base: ReferenceBase) -> Result<(), JsonError> {
        let (tag, words) = TypeReader { writer: self, base, path: &at.path }.read(at)?;
        self.out.push(tag.number());
        if layout::fixed_len(tag).is_none() {
            put_varint(&mut self.out, words.len() as u32);
        }
        for word in words {
            put_varint(&mut self.out, word);
        }
        Ok(())
    }
}
