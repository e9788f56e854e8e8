//! Types in a JSON view: one table of fields for writing and reading.
//!
//! In a bundle, a type is a tag and a list of words; in the view, it is an object with named fields. A
//! function for each kind and direction would define each layout twice. Instead, [`form`] lists the fields of
//! a kind, each with a [`Form`], and both directions interpret the list:
//!
//! ```text
//! form(Tag::Tensor)         element: Ref, dims: Refs
//! tensor, words [4, 2, 3]   { "kind": "tensor", "element": 4, "dims": [2, 3] }
//! ```
//!
//! Fields of fixed length take their words from the front. A list takes the remaining words, also if its
//! field is not the last one of the object, such as the parameters of a function.
//!
//! **Invariant:** [`TypeReader`] accepts each object that [`type_value`] returns, and gives the same words,
//! except for references: in the view, a reference is the number of an item, and in the bytes its distance. A
//! [`Form::Pair`] is the only field of its kind.
//!
//! **Limits:** the reader checks kinds, fields, numbers and references, and not whether the pool accepts the
//! type; the import of the bytes does. The time is linear in the words.

use serde_json::{Map, Value, json};

use crate::dim::{int_of, int_words};
use crate::graph::LOCAL;
use crate::import::ReferenceBase;
use crate::json::{JsonError, JsonValue, ViewWriter};
use crate::layout::{FieldList, FieldLists};
use crate::tag::{Sort, Tag, TagClass};

/// Form of one field of a type's object.
#[derive(Clone, Copy)]
enum Form {
    /// A reference.
    Ref,
    /// Two references.
    Pair,
    Name,
    Num,
    Sort,
    /// A 64-bit integer, stored in two words.
    Int,
    /// Any number of references.
    Refs,
    Sorts,
    /// The fields of a struct: a header, then names and types.
    Fields,
    Variants,
    /// Coefficients with references.
    Terms,
}

impl Form {
    /// Number of words; `None` for a list.
    const fn len(self) -> Option<usize> {
        match self {
            Form::Ref | Form::Name | Form::Num | Form::Sort => Some(1),
            Form::Pair | Form::Int => Some(2),
            Form::Refs | Form::Sorts | Form::Fields | Form::Variants | Form::Terms => None,
        }
    }
}

/// Returns the fields of a type's object, in the order of the view.
///
/// **Invariant:** the words of a type are those of its fields in this order, except that a list comes last. A
/// type has at most one list.
const fn form(tag: Tag) -> &'static [(&'static str, Form)] {
    match tag.class() {
        TagClass::Primitive => return &[],
        TagClass::Container => return &[("of", Form::Ref)],
        TagClass::TwoChild => return &[("of", Form::Pair)],
        TagClass::Constructor | TagClass::Region | TagClass::Const => {}
    }
    match tag {
        Tag::Borrowed => &[("inner", Form::Ref), ("lifetime", Form::Ref)],
        Tag::Function => &[("params", Form::Refs), ("returns", Form::Ref)],
        Tag::Tuple => &[("elements", Form::Refs)],
        Tag::Struct => &[("name", Form::Name), ("fields", Form::Fields)],
        Tag::Enum => &[("name", Form::Name), ("variants", Form::Variants)],
        Tag::Applied => &[("name", Form::Name), ("args", Form::Refs)],
        Tag::Opaque | Tag::Named | Tag::Rigid | Tag::Lifetime | Tag::DimSymbol => &[("name", Form::Name)],
        Tag::Declared => &[("name", Form::Name), ("params", Form::Sorts), ("body", Form::Ref)],
        Tag::Instance => &[("declaration", Form::Ref), ("args", Form::Refs)],
        Tag::Scheme => &[("vars", Form::Sorts), ("body", Form::Ref)],
        Tag::Bound => &[("depth", Form::Num), ("index", Form::Num), ("sort", Form::Sort)],
        Tag::Infer => &[("number", Form::Num), ("sort", Form::Sort)],
        Tag::Tensor => &[("element", Form::Ref), ("dims", Form::Refs)],
        Tag::TensorUnranked => &[("element", Form::Ref)],
        Tag::DimConst => &[("value", Form::Int)],
        Tag::DimSum => &[("constant", Form::Int), ("terms", Form::Terms)],
        Tag::DimProduct | Tag::DimMin | Tag::DimMax => &[("of", Form::Refs)],
        Tag::DimFloorDiv | Tag::DimMod => &[("of", Form::Pair)],
        // `DimUnknown`, and the classes that returned above.
        _ => &[],
    }
}

/// String table of a bundle, with the offset of each string.
type Strings<'b> = [(usize, &'b str)];

/// Returns the view of a well-formed type whose references are item numbers, or [`LOCAL`] with a member.
pub(super) fn type_value(tag: Tag, words: &[u32], strings: &Strings<'_>) -> Value {
    let form = form(tag);
    let (mut single, list) = words.split_at(form.iter().filter_map(|(_, form)| form.len()).sum());
    let mut object = Map::from_iter([("kind".to_owned(), Value::from(tag.name()))]);
    for &(field, form) in form {
        let own = match form.len() {
            Some(len) => single.split_off(..len).unwrap_or_default(),
            None => list,
        };
        let value = match form {
            Form::Ref => reference_value(own[0]),
            Form::Pair | Form::Refs => own.iter().map(|&word| reference_value(word)).collect(),
            Form::Name => string(strings, own[0]).into(),
            Form::Num => own[0].into(),
            Form::Sort => Sort::from_number(own[0]).unwrap_or(Sort::Type).name().into(),
            Form::Int => int_of(own[0], own[1]).into(),
            Form::Sorts => own.iter().filter_map(|&word| Sort::from_number(word)).map(Sort::name).collect(),
            Form::Fields => FieldLists::of(tag, words).next().map(|part| fields_value(part, strings)).into(),
            Form::Variants => FieldLists::of(tag, words)
                .map(|part| json!({ "name": string(strings, part.name), "fields": fields_value(part, strings) }))
                .collect(),
            Form::Terms => own
                .chunks_exact(3)
                .map(|term| json!([int_of(term[0], term[1]), reference_value(term[2])]))
                .collect(),
        };
        object.insert(field.to_owned(), value);
    }
    object.into()
}

fn string<'b>(strings: &Strings<'b>, at: u32) -> &'b str {
    strings.get(at as usize).map_or("", |(_, string)| string)
}

fn reference_value(word: u32) -> Value {
    if word & LOCAL == 0 { word.into() } else { json!({ "member": word & !LOCAL }) }
}

fn fields_value(part: FieldList<'_>, strings: &Strings<'_>) -> Value {
    let mut names = part.field_names();
    let field = |ty: u32| match names.next() {
        Some(name) => json!({ "name": string(strings, name), "type": reference_value(ty) }),
        None => json!({ "type": reference_value(ty) }),
    };
    part.field_types().map(field).collect()
}

/// A type that is being read.
pub(super) struct TypeReader<'w> {
    pub(super) writer: &'w mut ViewWriter,
    pub(super) base: ReferenceBase,
    /// Path of the type.
    pub(super) path: &'w str,
}

impl TypeReader<'_> {
    /// Returns tag and words of a type, with references as in the bytes.
    pub(super) fn read(&mut self, ty: &JsonValue<'_>) -> Result<(Tag, Vec<u32>), JsonError> {
        let Some(kind) = ty.value.get("kind").and_then(Value::as_str) else {
            return ty.expected("an object with a kind");
        };
        let Some(&tag) = Tag::ALL.iter().find(|tag| tag.name() == kind) else {
            return ty.expected("a known kind");
        };
        if tag == Tag::Infer {
            return ty.expected("a kind that can be exported");
        }
        let form = form(tag);
        let names: Vec<&str> = form.iter().map(|(name, _)| *name).chain(["kind"]).collect();
        let object = ty.object(&names)?;
        let (mut words, mut list) = (Vec::new(), Vec::new());
        for &(name, form) in form {
            let to = if form.len().is_some() { &mut words } else { &mut list };
            self.field(form, &object.field(name)?, to)?;
        }
        words.append(&mut list);
        Ok((tag, words))
    }

    fn field(&mut self, form: Form, value: &JsonValue<'_>, words: &mut Vec<u32>) -> Result<(), JsonError> {
        match form {
            Form::Ref => words.push(self.reference(value)?),
            Form::Pair => {
                self.references(value, words)?;
                if words.len() != 2 {
                    return value.expected("two references");
                }
            }
            Form::Name => words.push(self.writer.string(value.text()?)),
            Form::Num => words.push(value.small()?),
            Form::Sort => words.push(sort(value)?),
            Form::Int => words.extend(int_words(value.int()?)),
            Form::Refs => self.references(value, words)?,
            Form::Sorts => {
                for one in value.array()? {
                    words.push(sort(&one)?);
                }
            }
            Form::Fields => self.fields(value, words)?,
            Form::Variants => {
                for variant in value.array()? {
                    let variant = variant.object(&["name", "fields"])?;
                    words.push(self.writer.string(variant.field("name")?.text()?));
                    self.fields(&variant.field("fields")?, words)?;
                }
            }
            Form::Terms => {
                for term in value.array()? {
                    let [coefficient, monomial] = &term.array()?[..] else {
                        return term.expected("a coefficient and a reference");
                    };
                    words.extend(int_words(coefficient.int()?));
                    words.push(self.reference(monomial)?);
                }
            }
        }
        Ok(())
    }

    fn fields(&mut self, value: &JsonValue<'_>, words: &mut Vec<u32>) -> Result<(), JsonError> {
        let fields = value.array()?;
        let header = words.len();
        words.push(0);
        let mut names = 0;
        for field in &fields {
            let field = field.object(&["name", "type"])?;
            if field.value.get("name").is_some() {
                names += 1;
                words.push(self.writer.string(field.field("name")?.text()?));
            }
            words.push(self.reference(&field.field("type")?)?);
        }
        if names != 0 && names != fields.len() {
            return value.expected("names for all fields or for none");
        }
        words[header] = (fields.len() as u32) << 1 | u32::from(names != 0);
        Ok(())
    }

    fn references(&mut self, value: &JsonValue<'_>, words: &mut Vec<u32>) -> Result<(), JsonError> {
        for one in value.array()? {
            words.push(self.reference(&one)?);
        }
        Ok(())
    }

    fn reference(&self, value: &JsonValue<'_>) -> Result<u32, JsonError> {
        if value.value.is_object() {
            let member = value.object(&["member"])?.field("member")?.small()?;
            return match self.base {
                ReferenceBase::Group { len, .. } if member < len => Ok(member << 1 | 1),
                _ => Err(JsonError::Member { path: self.path.to_owned(), member }),
            };
        }
        let item = value.small()?;
        let (own, shift) = match self.base {
            ReferenceBase::Item(own) => (own, 0),
            ReferenceBase::Group { first, .. } => (first, 1),
        };
        match own.checked_sub(item) {
            None | Some(0) => Err(JsonError::Reference { path: self.path.to_owned(), item: item.into() }),
            Some(distance) => Ok(distance << shift),
        }
    }
}

fn sort(value: &JsonValue<'_>) -> Result<u32, JsonError> {
    let text = value.text()?;
    match [Sort::Type, Sort::Region, Sort::Const].into_iter().find(|sort| sort.name() == text) {
        Some(sort) => Ok(sort as u32),
        None => value.expected("\"type\", \"region\" or \"const\""),
    }
}
