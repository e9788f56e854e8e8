//! The schema of the messages as data: numbers, names and kinds of fields.
//!
//! prost does not report the offset of an error. [`find_error`] decodes the bytes by the schema and returns
//! the first error with its offset; [`read`](super::read) calls it after an error of prost. Tests generate
//! random messages from the schema and compare it with the descriptors of the reference package.

use crate::error::{DecodeError, ErrorKind, FieldName};
use crate::wire::{Field, Fields, WireKind, WireValue, check_packed, utf8};

/// The maximum depth in prost, counting the outermost message as zero.
const MAX_DEPTH: usize = 100;

/// A message with a schema.
pub trait Described {
    const SCHEMA: &'static MessageSchema;

    /// The schema as a function, so that schemas can refer to each other in cycles.
    fn schema() -> &'static MessageSchema {
        Self::SCHEMA
    }
}

impl<M: Described> Described for Box<M> {
    const SCHEMA: &'static MessageSchema = M::SCHEMA;
}

/// A `oneof` with a schema.
pub(crate) trait DescribedOneOf {
    const MEMBERS: &'static [FieldSchema];
}

/// The Rust type of a message field.
pub(crate) trait Wraps {
    /// The message.
    type Inner: Described;
}

impl<M: Described> Wraps for Option<M> {
    type Inner = M;
}

impl<M: Described> Wraps for Vec<M> {
    type Inner = M;
}

/// A message's name and fields.
#[derive(Debug)]
pub struct MessageSchema {
    /// ONNX's name without the enclosing message.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests print it"))]
    pub(crate) name: &'static str,
    /// The fields in order of their numbers.
    pub(crate) fields: &'static [Entry],
}

/// A field or a `oneof` of a message.
#[derive(Debug)]
pub(crate) enum Entry {
    Field(FieldSchema),
    /// The members of a `oneof`.
    OneOf(&'static [FieldSchema]),
}

#[derive(Debug)]
pub(crate) struct FieldSchema {
    pub(crate) number: u32,
    /// ONNX's name of the message and of the field.
    pub(crate) name: FieldName,
    /// The cardinality.
    pub(crate) label: Label,
    /// The type of the value.
    pub(crate) kind: Kind,
}

impl FieldSchema {
    /// A member of a `oneof`.
    pub(crate) const fn one_of(number: u32, message: &'static str, field: &'static str, kind: Kind) -> Self {
        Self { number, name: FieldName { message, field }, label: Label::OneOf, kind }
    }
}

/// ONNX's name of a field, from its Rust identifier, which may be a raw one.
pub(crate) const fn plain(identifier: &'static str) -> &'static str {
    match identifier.as_bytes() {
        [b'r', b'#', ..] => identifier.split_at(2).1,
        _ => identifier,
    }
}

/// Cardinality of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// At most once.
    Optional,
    /// At most once, excluding the other members.
    OneOf,
    /// Any number of times.
    Repeated,
    /// Any number of times, written packed.
    Packed,
}

/// Type of a field's value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Int32,
    Int64,
    Uint64,
    Enum,
    Float,
    Double,
    String,
    Bytes,
    Message(fn() -> &'static MessageSchema),
}

impl Kind {
    /// The wire type of one element.
    pub(crate) fn wire(self) -> WireKind {
        match self {
            Self::Int32 | Self::Int64 | Self::Uint64 | Self::Enum => WireKind::Varint,
            Self::Float => WireKind::Fixed32,
            Self::Double => WireKind::Fixed64,
            Self::String | Self::Bytes | Self::Message(_) => WireKind::Len,
        }
    }
}

impl MessageSchema {
    /// All fields, including members of `oneof`s.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &'static FieldSchema> + use<> {
        self.fields.iter().flat_map(|entry| match entry {
            Entry::Field(field) => std::slice::from_ref(field),
            Entry::OneOf(members) => members,
        })
    }

    /// The field with this number.
    pub(crate) fn field(&self, number: u32) -> Option<&'static FieldSchema> {
        self.fields().find(|field| field.number == number)
    }
}

/// The first error of a message in file order.
pub(crate) fn find_error(schema: &'static MessageSchema, bytes: &[u8]) -> Option<DecodeError> {
    let mut open = vec![(schema, Fields::new(bytes, 0))];
    while let Some((schema, fields)) = open.last_mut() {
        let schema = *schema;
        let Some(field) = fields.next() else {
            open.pop();
            continue;
        };
        match field.and_then(|field| check_field(schema, &field)) {
            Err(error) => return Some(error),
            Ok(None) => {}
            Ok(Some((inner, bytes, offset))) => {
                if open.len() > MAX_DEPTH {
                    return Some(DecodeError {
                        offset,
                        kind: ErrorKind::NestingTooDeep { limit: MAX_DEPTH },
                    });
                }
                open.push((inner, Fields::new(bytes, offset)));
            }
        }
    }
    None
}

/// A nested message: its schema, bytes and offset.
type Inner<'a> = (&'static MessageSchema, &'a [u8], usize);

/// Checks the bytes of one field; returns a nested message for later.
fn check_field<'a>(
    schema: &'static MessageSchema,
    field: &Field<'a>,
) -> Result<Option<Inner<'a>>, DecodeError> {
    let Some(known) = schema.field(field.number) else { return Ok(None) };
    let repeated = matches!(known.label, Label::Repeated | Label::Packed);
    match (field.value, known.kind) {
        (WireValue::Len(bytes, offset), Kind::Message(inner)) => Ok(Some((inner(), bytes, offset))),
        (WireValue::Len(bytes, offset), Kind::String) => utf8(bytes, offset, &known.name).map(|_| None),
        (WireValue::Len(bytes, offset), kind) if repeated => {
            check_packed(bytes, offset, kind.wire(), &known.name).map(|()| None)
        }
        (value, kind) if value.kind() == kind.wire() => Ok(None),
        (_, kind) => Err(field.wrong(&known.name, kind.wire())),
    }
}
