//! The JSON view of a bundle: the same content, item for item, for people and for tools without a reader of their own.
//!
//! The view says nothing more and nothing less than the bytes: reading a view gives the bytes it was made from. It is
//! specified in `docs/bundle-format.md`. A view is not checked beyond what it takes to write the bytes down; importing
//! the bundle checks everything.

mod strict;

use serde_json::{Map, Value, json};

use crate::check::check_layout;
use crate::descriptor::{
    ConstDescriptor, Descriptor, FromWords, GraphRef, ToWords, Variable, VariantDescriptor,
};
use crate::digest::Digest;
use crate::error::TypeError;
use crate::export::Bundle;
use crate::fault::{Fault, ImportError};
use crate::graph::LOCAL;
use crate::import::{Place, read_head, read_tail, read_type};
use crate::layout;
use crate::limits::Limits;
use crate::tag::{Class, GROUP_NUMBER, Sort, Tag};
use crate::wire::{FORMAT_VERSION, MAGIC, Reader, SUITE_BLAKE3, put_varint};

/// Why text is not the JSON view of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// It is longer than the limit for bundles.
    #[error("more than {limit} bytes")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// It is not JSON.
    #[error("line {line}, column {column}: not JSON: {reason}")]
    Syntax {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// An object has a field twice.
    #[error("line {line}, column {column}: the field {name:?} is there twice")]
    DuplicateField {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// The field.
        name: String,
    },
    /// A value is not what the view has there.
    #[error("{path}: expected {expected}")]
    Expected {
        /// Where, such as `types[3].of`.
        path: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// A field that an object of this kind does not have.
    #[error("{path}: there is no such field")]
    UnknownField {
        /// Where.
        path: String,
    },
    /// A reference to an item that is not there or comes later.
    #[error("{path}: item {item} does not come before this one")]
    Reference {
        /// Where.
        path: String,
        /// The item.
        item: u64,
    },
    /// A reference to a member that the group at hand does not have, or outside of groups.
    #[error("{path}: there is no member {member} here")]
    Member {
        /// Where.
        path: String,
        /// The member.
        member: u32,
    },
    /// A type that cannot be written down.
    #[error("{path}: {error}")]
    Type {
        /// Where.
        path: String,
        /// What is wrong.
        error: TypeError,
    },
}

/// A reference in a view: an item, or a member of the group at hand.
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
        // A view writes groups out; it never nests them.
        Descriptor::Recursive { member, .. } => json!({ "kind": "recursive", "member": member }),
    }
}

impl Bundle {
    /// The JSON view.
    ///
    /// # Errors
    /// If the bytes cannot be read as far as the view needs.
    pub fn to_json(&self) -> Result<String, ImportError> {
        let bytes = self.as_bytes();
        let limits = Limits::default();
        let mut reader = Reader::new(bytes);
        let (strings, imports) = read_head(&mut reader, bytes.len(), &limits)?;
        let mut types = Vec::new();
        let mut next_string = 0;
        let mut words = Vec::new();
        let mut item = imports.len() as u32;
        let end = reader.varint()?.saturating_add(item);
        let mut read = |reader: &mut Reader<'_>, place: Place| -> Result<Value, ImportError> {
            let offset = reader.at;
            let tag = read_type(reader, place, &limits, &mut next_string, strings.len() as u32, &mut words)?;
            check_layout(tag, &words, |_, _| {})
                .map_err(|error| ImportError::at(offset, Fault::Type(error)))?;
            Ok(type_value(&Descriptor::from_words(tag, &words, &mut Names(&strings))))
        };
        while item < end {
            let offset = reader.at;
            if bytes.get(offset) == Some(&GROUP_NUMBER) {
                reader.byte()?;
                let len = reader.varint()?;
                if len > end - item {
                    return Err(ImportError::at(offset, Fault::CountTooLarge { count: len }));
                }
                let members: Result<Value, ImportError> =
                    (0..len).map(|_| read(&mut reader, Place::Group { first: item, len })).collect();
                types.push(json!({ "group": members? }));
                item += len;
            } else {
                types.push(read(&mut reader, Place::Item(item))?);
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

    /// The bundle with this JSON view. Nothing but its form is checked before it is imported.
    ///
    /// # Errors
    /// If the text is not a view.
    pub fn from_json(text: &str, limits: &Limits) -> Result<Bundle, JsonError> {
        if text.len() > limits.bytes {
            return Err(JsonError::TooLong { limit: limits.bytes });
        }
        let view = strict::parse(text)?;
        let top = At { value: &view, path: String::new() };
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
                    writer.write(member, Place::Group { first: item, len: members.len() as u32 })?;
                }
                item += members.len() as u32;
            } else {
                writer.write(&entry, Place::Item(item))?;
                item += 1;
            }
        }
        let mut bytes = Vec::new();
        bytes.extend(MAGIC);
        bytes.extend([FORMAT_VERSION, SUITE_BLAKE3, 0, 0]);
        put_varint(&mut bytes, writer.strings.len() as u32);
        for name in &writer.strings {
            put_varint(&mut bytes, name.len() as u32);
            bytes.extend(name.as_bytes());
        }
        put_varint(&mut bytes, imports.len() as u32);
        for digest in &imports {
            bytes.extend(digest.0);
        }
        put_varint(&mut bytes, item - imports.len() as u32);
        bytes.extend(&writer.out);
        let roots = top.field("roots")?.array()?;
        put_varint(&mut bytes, roots.len() as u32);
        for root in roots {
            let root = root.object(&["label", "type", "digest"])?;
            let label = root.field("label")?.text()?;
            put_varint(&mut bytes, label.len() as u32);
            bytes.extend(label.as_bytes());
            put_varint(&mut bytes, root.field("type")?.small()?);
            bytes.extend(root.field("digest")?.digest()?.0);
        }
        let checksum = blake3::hash(&bytes);
        bytes.extend(checksum.as_bytes());
        Ok(Bundle::from_bytes(bytes))
    }
}

/// A value of a view and where it is.
struct At<'v> {
    value: &'v Value,
    path: String,
}

/// An object of a view that has only fields it may have.
struct Object<'v> {
    map: &'v Map<String, Value>,
    path: String,
}

impl<'v> At<'v> {
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

    fn array(&self) -> Result<Vec<At<'v>>, JsonError> {
        let Some(items) = self.value.as_array() else { return self.expected("an array") };
        let at = |(at, value)| At { value, path: format!("{}[{at}]", self.path) };
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
        self.array()?.iter().map(At::reference).collect()
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
        self.array()?.iter().map(At::sort).collect()
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
        let only = |allowed: &[&str]| self.object(&[&["kind"], allowed].concat());
        match tag.class() {
            Class::Primitive => {
                only(&[])?;
                return Ok(Descriptor::Primitive(tag));
            }
            Class::Container => {
                return Ok(Descriptor::Container { tag, child: only(&["of"])?.field("of")?.reference()? });
            }
            Class::TwoChild => {
                let (child1, child2) = only(&["of"])?.field("of")?.two()?;
                return Ok(Descriptor::TwoChild { tag, child1, child2 });
            }
            Class::Constructor | Class::Region | Class::Const => {}
        }
        let name_of = |object: &Object<'_>| object.field("name")?.text().map(str::to_owned);
        Ok(match tag {
            Tag::Borrowed => {
                let object = only(&["inner", "lifetime"])?;
                Descriptor::Borrowed {
                    inner: object.field("inner")?.reference()?,
                    lifetime: object.field("lifetime")?.reference()?,
                }
            }
            Tag::Function => {
                let object = only(&["params", "returns"])?;
                Descriptor::Function {
                    params: object.field("params")?.references()?,
                    returns: object.field("returns")?.reference()?,
                }
            }
            Tag::Tuple => {
                Descriptor::Tuple { elements: only(&["elements"])?.field("elements")?.references()? }
            }
            Tag::Struct => {
                let object = only(&["name", "fields"])?;
                let (field_names, field_types) = object.field("fields")?.fields()?;
                Descriptor::Struct { name: name_of(&object)?, field_names, field_types }
            }
            Tag::Enum => {
                let object = only(&["name", "variants"])?;
                let mut variants = Vec::new();
                for variant in object.field("variants")?.array()? {
                    let variant = variant.object(&["name", "fields"])?;
                    let (field_names, field_types) = variant.field("fields")?.fields()?;
                    variants.push(VariantDescriptor { name: name_of(&variant)?, field_names, field_types });
                }
                Descriptor::Enum { name: name_of(&object)?, variants }
            }
            Tag::Applied => {
                let object = only(&["name", "args"])?;
                Descriptor::Applied { name: name_of(&object)?, args: object.field("args")?.references()? }
            }
            Tag::Opaque => Descriptor::Opaque { name: name_of(&only(&["name"])?)? },
            Tag::Declared => {
                let object = only(&["name", "params", "body"])?;
                Descriptor::Declared {
                    name: name_of(&object)?,
                    params: object.field("params")?.sorts()?,
                    body: object.field("body")?.reference()?,
                }
            }
            Tag::Instance => {
                let object = only(&["declaration", "args"])?;
                Descriptor::Instance {
                    declaration: object.field("declaration")?.reference()?,
                    args: object.field("args")?.references()?,
                }
            }
            Tag::Named => Descriptor::Named { name: name_of(&only(&["name"])?)? },
            Tag::Scheme => {
                let object = only(&["vars", "body"])?;
                Descriptor::Scheme {
                    vars: object.field("vars")?.sorts()?,
                    body: object.field("body")?.reference()?,
                }
            }
            Tag::Bound => {
                let object = only(&["depth", "index", "sort"])?;
                Descriptor::Variable(Variable::Bound {
                    depth: object.field("depth")?.small()?,
                    index: object.field("index")?.small()?,
                    sort: object.field("sort")?.sort()?,
                })
            }
            Tag::Lifetime => Descriptor::Lifetime { name: name_of(&only(&["name"])?)? },
            Tag::Tensor => {
                let object = only(&["element", "dims"])?;
                Descriptor::Tensor {
                    element: object.field("element")?.reference()?,
                    dims: Some(object.field("dims")?.references()?),
                }
            }
            Tag::TensorUnranked => {
                Descriptor::Tensor { element: only(&["element"])?.field("element")?.reference()?, dims: None }
            }
            Tag::DimConst => {
                Descriptor::Const(ConstDescriptor::Int(only(&["value"])?.field("value")?.int()?))
            }
            Tag::DimSymbol => Descriptor::Const(ConstDescriptor::Symbol(name_of(&only(&["name"])?)?)),
            Tag::DimSum => {
                let object = only(&["constant", "terms"])?;
                let mut terms = Vec::new();
                for term in object.field("terms")?.array()? {
                    match &term.array()?[..] {
                        [coefficient, monomial] => terms.push((coefficient.int()?, monomial.reference()?)),
                        _ => return term.expected("a coefficient and a reference"),
                    }
                }
                Descriptor::Const(ConstDescriptor::Sum { constant: object.field("constant")?.int()?, terms })
            }
            Tag::DimProduct => {
                Descriptor::Const(ConstDescriptor::Product(only(&["of"])?.field("of")?.references()?))
            }
            Tag::DimFloorDiv => {
                let (a, b) = only(&["of"])?.field("of")?.two()?;
                Descriptor::Const(ConstDescriptor::FloorDiv(a, b))
            }
            Tag::DimMod => {
                let (a, b) = only(&["of"])?.field("of")?.two()?;
                Descriptor::Const(ConstDescriptor::Mod(a, b))
            }
            Tag::DimMin => Descriptor::Const(ConstDescriptor::Min(only(&["of"])?.field("of")?.references()?)),
            Tag::DimMax => Descriptor::Const(ConstDescriptor::Max(only(&["of"])?.field("of")?.references()?)),
            Tag::DimUnknown => {
                only(&[])?;
                Descriptor::Const(ConstDescriptor::Unknown)
            }
            // `Infer`, and the classes that returned above.
            _ => return self.expected("a kind that can travel"),
        })
    }
}

impl<'v> Object<'v> {
    fn field(&self, name: &'static str) -> Result<At<'v>, JsonError> {
        let dot = if self.path.is_empty() { "" } else { "." };
        let path = format!("{}{dot}{name}", self.path);
        match self.map.get(name) {
            Some(value) => Ok(At { value, path }),
            None => Err(JsonError::Expected { path, expected: "a value" }),
        }
    }
}

/// Writes types as they are in the bytes.
struct ViewWriter {
    strings: Vec<String>,
    string_at: std::collections::HashMap<String, u32>,
    out: Vec<u8>,
}

struct InPlace<'w> {
    writer: &'w mut ViewWriter,
    place: Place,
    path: &'w str,
}

impl From<TypeError> for JsonError {
    fn from(error: TypeError) -> Self {
        JsonError::Type { path: "types".to_owned(), error }
    }
}

impl ToWords<ViewRef> for InPlace<'_> {
    type Error = JsonError;

    fn child(&mut self, reference: &ViewRef) -> Result<u32, JsonError> {
        let bad = |item: u32| JsonError::Reference { path: self.path.to_owned(), item: u64::from(item) };
        match (*reference, self.place) {
            (GraphRef::Outer(item), Place::Item(own)) => {
                own.checked_sub(item).filter(|&distance| distance > 0).ok_or_else(|| bad(item))
            }
            (GraphRef::Outer(item), Place::Group { first, .. }) => first
                .checked_sub(item)
                .filter(|&distance| distance > 0)
                .map(|d| d << 1)
                .ok_or_else(|| bad(item)),
            (GraphRef::Member(member), Place::Group { len, .. }) if member < len => Ok(member << 1 | 1),
            (GraphRef::Member(member), Place::Group { .. } | Place::Item(_)) => {
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
    fn write(&mut self, at: &At<'_>, place: Place) -> Result<(), JsonError> {
        let ty = at.ty()?;
        let (tag, words) = ty.to_words(&mut InPlace { writer: self, place, path: &at.path }).map_err(
            |error| match error {
                JsonError::Type { error, .. } => JsonError::Type { path: at.path.clone(), error },
                other => other,
            },
        )?;
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
