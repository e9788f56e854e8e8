//! JSON view of a bundle: the same content, item by item, for people and for tools without a reader of
//! bundles.
//!
//! The view is equivalent to the bytes: parsing a view returns the bytes it was created from.
//! `docs/bundle-format.md` specifies it. Parsing checks only what is necessary to produce bytes; importing
//! the bundle checks everything else.

mod strict;

use serde_json::{Map, Value, json};

use crate::check::check_layout;
use crate::descriptor::{
    ConstDescriptor, Descriptor, FromWords, GraphRef, ToWords, Variable, VariantDescriptor,
};
use crate::digest::Digest;
use crate::error::PoolError;
use crate::export::Bundle;
use crate::graph::LOCAL;
use crate::import::{ReferenceBase, read_head, read_tail, read_type};
use crate::import_error::{ImportError, ImportErrorKind};
use crate::layout;
use crate::limits::ImportLimits;
use crate::tag::{GROUP_NUMBER, Sort, Tag, TagClass};
use crate::wire::{FORMAT_VERSION, Reader, assemble, put_varint};

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
    #[error("line {line}, column {column}: the field {name:?} is there twice")]
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
    /// A type that cannot be encoded.
    #[error("{path}: {error}")]
    Type {
        /// Path to the type.
        path: String,
        /// Error of the type.
        error: PoolError,
    },
}

/// Reference in a view: an item, or a member of the current group.
type ViewRef = GraphRef<u32>;

struct Names<'b>(&'b [(usize, &'b str)]);

impl FromWords<ViewRef> for Names<'_> {
    fn child(&mut self, word: u32) -> ViewRef {
        if word & LOCAL == 0 { GraphRef::Outer(word) } else { GraphRef::Member(word & !LOCAL) }
    }

    fn name(&mut self, word: u32) -> String {
        self.0.get(word as usize).map_or("", |(_, name)| name).to_owned()
    }
}

fn ref_value(reference: &ViewRef) -> Value {
    match reference {
        GraphRef::Outer(item) => json!(item),
        GraphRef::Member(member) => json!({ "member": member }),
    }
}

fn refs(children: &[ViewRef]) -> Value {
    children.iter().map(ref_value).collect()
}

fn sorts(sorts: &[Sort]) -> Value {
    sorts.iter().map(|sort| Value::from(sort.name())).collect()
}

fn fields(names: &[String], types: &[ViewRef]) -> Value {
    let field = |(at, ty): (usize, &ViewRef)| match names.get(at) {
        Some(name) => json!({ "name": name, "type": ref_value(ty) }),
        None => json!({ "type": ref_value(ty) }),
    };
    types.iter().enumerate().map(field).collect()
}

fn type_value(ty: &Descriptor<ViewRef>) -> Value {
    match ty {
        Descriptor::Primitive(tag) => json!({ "kind": tag.name() }),
        Descriptor::Container { tag, child } => json!({ "kind": tag.name(), "of": ref_value(child) }),
        Descriptor::TwoChild { tag, child1, child2 } => {
            json!({ "kind": tag.name(), "of": [ref_value(child1), ref_value(child2)] })
        }
        Descriptor::Borrowed { inner, lifetime } => {
            json!({ "kind": "borrowed", "inner": ref_value(inner), "lifetime": ref_value(lifetime) })
        }
        Descriptor::Function { params, returns } => {
            json!({ "kind": "function", "params": refs(params), "returns": ref_value(returns) })
        }
        Descriptor::Tuple { elements } => json!({ "kind": "tuple", "elements": refs(elements) }),
        Descriptor::Struct { name, field_names, field_types } => {
            json!({ "kind": "struct", "name": name, "fields": fields(field_names, field_types) })
        }
        Descriptor::Enum { name, variants } => {
            let variant = |variant: &VariantDescriptor<ViewRef>| json!({ "name": variant.name, "fields": fields(&variant.field_names, &variant.field_types) });
            json!({ "kind": "enum", "name": name, "variants": variants.iter().map(variant).collect::<Value>() })
        }
        Descriptor::Applied { name, args } => json!({ "kind": "applied", "name": name, "args": refs(args) }),
        Descriptor::Opaque { name } => json!({ "kind": "opaque", "name": name }),
        Descriptor::Declared { name, params, body } => {
            json!({ "kind": "declared", "name": name, "params": sorts(params), "body": ref_value(body) })
        }
        Descriptor::Instance { declaration, args } => {
            json!({ "kind": "instance", "declaration": ref_value(declaration), "args": refs(args) })
        }
        Descriptor::Named { name } => json!({ "kind": "named", "name": name }),
        Descriptor::Scheme { vars, body } => {
            json!({ "kind": "scheme", "vars": sorts(vars), "body": ref_value(body) })
        }
        Descriptor::Variable(Variable::Bound { depth, index, sort }) => {
            json!({ "kind": "bound", "depth": depth, "index": index, "sort": sort.name() })
        }
        Descriptor::Variable(Variable::Infer { number, sort }) => {
            json!({ "kind": "infer", "number": number, "sort": sort.name() })
        }
        Descriptor::Lifetime { name } => json!({ "kind": "lifetime", "name": name }),
        Descriptor::Tensor { element, dims: Some(dims) } => {
            json!({ "kind": "tensor", "element": ref_value(element), "dims": refs(dims) })
        }
        Descriptor::Tensor { element, dims: None } => {
            json!({ "kind": "tensor_unranked", "element": ref_value(element) })
        }
        Descriptor::Const(ConstDescriptor::Int(value)) => json!({ "kind": "const", "value": value }),
        Descriptor::Const(ConstDescriptor::Symbol(name)) => json!({ "kind": "symbol", "name": name }),
        Descriptor::Const(ConstDescriptor::Sum { constant, terms }) => {
            let term = |(coefficient, monomial): &(i64, ViewRef)| json!([coefficient, ref_value(monomial)]);
            json!({ "kind": "sum", "constant": constant, "terms": terms.iter().map(term).collect::<Value>() })
        }
        Descriptor::Const(ConstDescriptor::Product(of)) => json!({ "kind": "product", "of": refs(of) }),
        Descriptor::Const(ConstDescriptor::FloorDiv(a, b)) => {
            json!({ "kind": "floor_div", "of": [ref_value(a), ref_value(b)] })
        }
        Descriptor::Const(ConstDescriptor::Mod(a, b)) => {
            json!({ "kind": "mod", "of": [ref_value(a), ref_value(b)] })
        }
        Descriptor::Const(ConstDescriptor::Min(of)) => json!({ "kind": "min", "of": refs(of) }),
        Descriptor::Const(ConstDescriptor::Max(of)) => json!({ "kind": "max", "of": refs(of) }),
        Descriptor::Const(ConstDescriptor::Unknown) => json!({ "kind": "unknown" }),
        // A view lists the members of groups and never nests them.
        Descriptor::Recursive { member, .. } => json!({ "kind": "recursive", "member": member }),
    }
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
        let (strings, imports) = read_head(&mut reader, bytes.len(), &limits)?;
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
            Ok(type_value(&Descriptor::from_words(tag, &words, &mut Names(&strings))))
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
        let roots: Value = read_tail(&mut reader, bytes, item, &limits)?
            .iter()
            .map(|root| json!({ "label": root.label, "type": root.item, "digest": root.digest.to_string() }))
            .collect();
        let view = json!({
            "format": "typeloom-bundle",
            "version": FORMAT_VERSION,
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
        if top.field("format")?.value != "typeloom-bundle" {
            return top.field("format")?.expected("\"typeloom-bundle\"");
        }
        if top.field("version")?.value != FORMAT_VERSION {
            return top.field("version")?.expected("version 1");
        }
        if top.field("hash")?.value != "blake3-256" {
            return top.field("hash")?.expected("\"blake3-256\"");
        }
        let mut imports = Vec::new();
        for import in top.field("imports")?.array()? {
            imports.push(import.digest()?);
        }
        let mut writer = ViewWriter { strings: Vec::new(), string_at: Default::default(), out: Vec::new() };
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
        let mut roots = Vec::new();
        for root in top.field("roots")?.array()? {
            let root = root.object(&["label", "type", "digest"])?;
            let (label, ty) = (root.field("label")?.text()?, root.field("type")?.small()?);
            roots.push((label, ty, root.field("digest")?.digest()?));
        }
        let strings = writer.strings.iter().map(String::as_str);
        let types = item - imports.len() as u32;
        let bytes = assemble(strings, &imports, types, &writer.out, roots.into_iter());
        Ok(Bundle::from_bytes(bytes))
    }
}

/// A value of a view with its path.
struct JsonValue<'v> {
    value: &'v Value,
    path: String,
}

/// An object of a view without unknown fields.
struct Object<'v> {
    map: &'v Map<String, Value>,
    path: String,
}

impl<'v> JsonValue<'v> {
    fn expected<T>(&self, expected: &'static str) -> Result<T, JsonError> {
        let path = if self.path.is_empty() { "the view".to_owned() } else { self.path.clone() };
        Err(JsonError::Expected { path, expected })
    }

    fn object(&self, allowed: &[&str]) -> Result<Object<'v>, JsonError> {
        let Some(map) = self.value.as_object() else { return self.expected("an object") };
        if let Some(field) = map.keys().find(|key| !allowed.contains(&key.as_str())) {
            let dot = if self.path.is_empty() { "" } else { "." };
            let path = format!("{}{dot}{}", self.path, field.escape_debug());
            return Err(JsonError::UnknownField { path });
        }
        Ok(Object { map, path: self.path.clone() })
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

    fn reference(&self) -> Result<ViewRef, JsonError> {
        if self.value.is_object() {
            return Ok(GraphRef::Member(self.object(&["member"])?.field("member")?.small()?));
        }
        Ok(GraphRef::Outer(self.small()?))
    }

    fn references(&self) -> Result<Vec<ViewRef>, JsonError> {
        self.array()?.iter().map(JsonValue::reference).collect()
    }

    fn two(&self) -> Result<(ViewRef, ViewRef), JsonError> {
        match self.references()?[..] {
            [a, b] => Ok((a, b)),
            _ => self.expected("two references"),
        }
    }

    fn sort(&self) -> Result<Sort, JsonError> {
        match self.text()? {
            "type" => Ok(Sort::Type),
            "region" => Ok(Sort::Region),
            "const" => Ok(Sort::Const),
            _ => self.expected("\"type\", \"region\" or \"const\""),
        }
    }

    fn sorts(&self) -> Result<Vec<Sort>, JsonError> {
        self.array()?.iter().map(JsonValue::sort).collect()
    }

    fn fields(&self) -> Result<(Vec<String>, Vec<ViewRef>), JsonError> {
        let mut names = Vec::new();
        let mut types = Vec::new();
        for field in self.array()? {
            let field = field.object(&["name", "type"])?;
            if field.map.contains_key("name") {
                names.push(field.field("name")?.text()?.to_owned());
            }
            types.push(field.field("type")?.reference()?);
        }
        if !names.is_empty() && names.len() != types.len() {
            return self.expected("names for all fields or for none");
        }
        Ok((names, types))
    }

    fn ty(&self) -> Result<Descriptor<ViewRef>, JsonError> {
        let Some(kind) = self.value.get("kind").and_then(Value::as_str) else {
            return self.expected("an object with a kind");
        };
        let Some(&tag) = Tag::ALL.iter().find(|tag| tag.name() == kind) else {
            return self.expected("a known kind");
        };
        match tag.class() {
            TagClass::Primitive => {
                self.only(&[])?;
                Ok(Descriptor::Primitive(tag))
            }
            TagClass::Container => {
                Ok(Descriptor::Container { tag, child: self.only(&["of"])?.field("of")?.reference()? })
            }
            TagClass::TwoChild => {
                let (child1, child2) = self.only(&["of"])?.field("of")?.two()?;
                Ok(Descriptor::TwoChild { tag, child1, child2 })
            }
            TagClass::Const => self.constant(tag).map(Descriptor::Const),
            TagClass::Constructor | TagClass::Region => self.constructor(tag),
        }
    }

    fn only(&self, allowed: &[&str]) -> Result<Object<'v>, JsonError> {
        self.object(&[&["kind"], allowed].concat())
    }

    fn constructor(&self, tag: Tag) -> Result<Descriptor<ViewRef>, JsonError> {
        Ok(match tag {
            Tag::Borrowed => {
                let object = self.only(&["inner", "lifetime"])?;
                Descriptor::Borrowed {
                    inner: object.field("inner")?.reference()?,
                    lifetime: object.field("lifetime")?.reference()?,
                }
            }
            Tag::Function => {
                let object = self.only(&["params", "returns"])?;
                Descriptor::Function {
                    params: object.field("params")?.references()?,
                    returns: object.field("returns")?.reference()?,
                }
            }
            Tag::Tuple => {
                Descriptor::Tuple { elements: self.only(&["elements"])?.field("elements")?.references()? }
            }
            Tag::Struct => {
                let object = self.only(&["name", "fields"])?;
                let (field_names, field_types) = object.field("fields")?.fields()?;
                Descriptor::Struct { name: object.name()?, field_names, field_types }
            }
            Tag::Enum => {
                let object = self.only(&["name", "variants"])?;
                let mut variants = Vec::new();
                for variant in object.field("variants")?.array()? {
                    let variant = variant.object(&["name", "fields"])?;
                    let (field_names, field_types) = variant.field("fields")?.fields()?;
                    variants.push(VariantDescriptor { name: variant.name()?, field_names, field_types });
                }
                Descriptor::Enum { name: object.name()?, variants }
            }
            Tag::Applied => {
                let object = self.only(&["name", "args"])?;
                Descriptor::Applied { name: object.name()?, args: object.field("args")?.references()? }
            }
            Tag::Opaque => Descriptor::Opaque { name: self.only(&["name"])?.name()? },
            Tag::Declared => {
                let object = self.only(&["name", "params", "body"])?;
                Descriptor::Declared {
                    name: object.name()?,
                    params: object.field("params")?.sorts()?,
                    body: object.field("body")?.reference()?,
                }
            }
            Tag::Instance => {
                let object = self.only(&["declaration", "args"])?;
                Descriptor::Instance {
                    declaration: object.field("declaration")?.reference()?,
                    args: object.field("args")?.references()?,
                }
            }
            Tag::Named => Descriptor::Named { name: self.only(&["name"])?.name()? },
            Tag::Scheme => {
                let object = self.only(&["vars", "body"])?;
                Descriptor::Scheme {
                    vars: object.field("vars")?.sorts()?,
                    body: object.field("body")?.reference()?,
                }
            }
            Tag::Bound => {
                let object = self.only(&["depth", "index", "sort"])?;
                Descriptor::Variable(Variable::Bound {
                    depth: object.field("depth")?.small()?,
                    index: object.field("index")?.small()?,
                    sort: object.field("sort")?.sort()?,
                })
            }
            Tag::Lifetime => Descriptor::Lifetime { name: self.only(&["name"])?.name()? },
            Tag::Tensor => {
                let object = self.only(&["element", "dims"])?;
                Descriptor::Tensor {
                    element: object.field("element")?.reference()?,
                    dims: Some(object.field("dims")?.references()?),
                }
            }
            Tag::TensorUnranked => Descriptor::Tensor {
                element: self.only(&["element"])?.field("element")?.reference()?,
                dims: None,
            },
            // `Infer`, and tags of other classes.
            _ => return self.expected("a kind that can travel"),
        })
    }

    fn constant(&self, tag: Tag) -> Result<ConstDescriptor<ViewRef>, JsonError> {
        Ok(match tag {
            Tag::DimConst => ConstDescriptor::Int(self.only(&["value"])?.field("value")?.int()?),
            Tag::DimSymbol => ConstDescriptor::Symbol(self.only(&["name"])?.name()?),
            Tag::DimSum => {
                let object = self.only(&["constant", "terms"])?;
                let mut terms = Vec::new();
                for term in object.field("terms")?.array()? {
                    match &term.array()?[..] {
                        [coefficient, monomial] => terms.push((coefficient.int()?, monomial.reference()?)),
                        _ => return term.expected("a coefficient and a reference"),
                    }
                }
                ConstDescriptor::Sum { constant: object.field("constant")?.int()?, terms }
            }
            Tag::DimProduct => ConstDescriptor::Product(self.only(&["of"])?.field("of")?.references()?),
            Tag::DimFloorDiv => {
                let (a, b) = self.only(&["of"])?.field("of")?.two()?;
                ConstDescriptor::FloorDiv(a, b)
            }
            Tag::DimMod => {
                let (a, b) = self.only(&["of"])?.field("of")?.two()?;
                ConstDescriptor::Mod(a, b)
            }
            Tag::DimMin => ConstDescriptor::Min(self.only(&["of"])?.field("of")?.references()?),
            Tag::DimMax => ConstDescriptor::Max(self.only(&["of"])?.field("of")?.references()?),
            Tag::DimUnknown => {
                self.only(&[])?;
                ConstDescriptor::Unknown
            }
            _ => return self.expected("a kind that can travel"),
        })
    }
}

impl<'v> Object<'v> {
    fn name(&self) -> Result<String, JsonError> {
        self.field("name")?.text().map(str::to_owned)
    }

    fn field(&self, name: &'static str) -> Result<JsonValue<'v>, JsonError> {
        let dot = if self.path.is_empty() { "" } else { "." };
        let path = format!("{}{dot}{name}", self.path);
        match self.map.get(name) {
            Some(value) => Ok(JsonValue { value, path }),
            None => Err(JsonError::Expected { path, expected: "a value" }),
        }
    }
}

/// Writes types as in the bytes.
struct ViewWriter {
    strings: Vec<String>,
    string_at: std::collections::HashMap<String, u32>,
    out: Vec<u8>,
}

struct ReferenceEncoder<'w> {
    writer: &'w mut ViewWriter,
    base: ReferenceBase,
    path: &'w str,
}

impl From<PoolError> for JsonError {
    fn from(error: PoolError) -> Self {
        JsonError::Type { path: "types".to_owned(), error }
    }
}

impl ToWords<ViewRef> for ReferenceEncoder<'_> {
    type Error = JsonError;

    fn child(&mut self, reference: &ViewRef) -> Result<u32, JsonError> {
        let bad = |item: u32| JsonError::Reference { path: self.path.to_owned(), item: u64::from(item) };
        match (*reference, self.base) {
            (GraphRef::Outer(item), ReferenceBase::Item(own)) => {
                own.checked_sub(item).filter(|&distance| distance > 0).ok_or_else(|| bad(item))
            }
            (GraphRef::Outer(item), ReferenceBase::Group { first, .. }) => first
                .checked_sub(item)
                .filter(|&distance| distance > 0)
                .map(|d| d << 1)
                .ok_or_else(|| bad(item)),
            (GraphRef::Member(member), ReferenceBase::Group { len, .. }) if member < len => {
                Ok(member << 1 | 1)
            }
            (GraphRef::Member(member), ReferenceBase::Group { .. } | ReferenceBase::Item(_)) => {
                Err(JsonError::Member { path: self.path.to_owned(), member })
            }
        }
    }

    fn name(&mut self, name: &str) -> Result<u32, JsonError> {
        let writer = &mut *self.writer;
        if let Some(&at) = writer.string_at.get(name) {
            return Ok(at);
        }
        let at = writer.strings.len() as u32;
        writer.strings.push(name.to_owned());
        writer.string_at.insert(name.to_owned(), at);
        Ok(at)
    }
}

impl ViewWriter {
    fn write(&mut self, at: &JsonValue<'_>, base: ReferenceBase) -> Result<(), JsonError> {
        let ty = at.ty()?;
        let (tag, words) = ty
            .to_words(&mut ReferenceEncoder { writer: self, base, path: &at.path })
            .map_err(|error| match error {
                JsonError::Type { error, .. } => JsonError::Type { path: at.path.clone(), error },
                other => other,
            })?;
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
