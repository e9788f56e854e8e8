//! What can be wrong with the bytes of a model, and where.

use crate::wire::WireKind;

/// Malformed bytes: what is wrong and at which byte.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}")]
pub struct DecodeError {
    /// Where, counted from the start of the file or of the slice that was handed in.
    pub offset: usize,
    /// What.
    pub kind: ErrorKind,
}

/// The name of a message's field, for errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldName {
    /// The message, such as `NodeProto`.
    pub message: &'static str,
    /// The field, such as `op_type`.
    pub field: &'static str,
}

impl std::fmt::Display for FieldName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.message, self.field)
    }
}

/// What is wrong with malformed bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A variable-length number continues past the end of its message.
    #[error("a number is cut off")]
    TruncatedVarint,
    /// A variable-length number takes more than 64 bits.
    #[error("a number has more than 64 bits")]
    VarintOverflow,
    /// A field of fixed size continues past the end of its message.
    #[error("a value of {size} bytes is cut off after {left}")]
    TruncatedFixed {
        /// The size of the field.
        size: u8,
        /// The bytes that are left of the message.
        left: u8,
    },
    /// A field claims to be longer than the message it is in.
    #[error("a field claims {length} bytes, but its message has {left} left")]
    LengthPastEnd {
        /// The claimed length.
        length: u64,
        /// The bytes that are left of the message.
        left: usize,
    },
    /// A key has a wire type that protobuf does not define.
    #[error("wire type {wire_type} does not exist")]
    InvalidWireType {
        /// The wire type, 6 or 7.
        wire_type: u8,
    },
    /// A key has field number zero.
    #[error("field number zero does not exist")]
    FieldNumberZero,
    /// A key takes more than 32 bits.
    #[error("field key {key} has more than 32 bits")]
    KeyTooLarge {
        /// The key.
        key: u64,
    },
    /// A group ends that did not start.
    #[error("group {number} ends but is not open")]
    UnmatchedEndGroup {
        /// The group's field number.
        number: u32,
    },
    /// A group does not end within its message.
    #[error("group {number} does not end")]
    UnterminatedGroup {
        /// The group's field number.
        number: u32,
    },
    /// Messages or groups nest deeper than is allowed.
    #[error("messages nest more than {limit} deep")]
    NestingTooDeep {
        /// How deep they may nest.
        limit: usize,
    },
    /// A field has another wire type than its schema says.
    #[error("`{field}` is encoded as {found}, not as {expected}")]
    WrongWireType {
        /// The field.
        field: &'static FieldName,
        /// What the schema says.
        expected: WireKind,
        /// What the bytes say.
        found: WireKind,
    },
    /// A string is not UTF-8.
    #[error("`{field}` is not valid UTF-8")]
    InvalidUtf8 {
        /// The field.
        field: &'static FieldName,
    },
    /// A message occurs twice in a field that holds one. Owned messages merge the two as protobuf does; a view, which
    /// does not copy, cannot.
    #[error("`{field}` occurs twice")]
    RepeatedMessage {
        /// The field.
        field: &'static FieldName,
    },
    /// A packed list of numbers of fixed size does not divide evenly.
    #[error("`{field}` has {length} bytes, which is no multiple of {size}")]
    UnevenPacked {
        /// The field.
        field: &'static FieldName,
        /// The bytes it has.
        length: usize,
        /// The bytes of one element.
        size: u8,
    },
    /// A tensor has a negative extent.
    #[error("a tensor has the negative extent {dim}")]
    NegativeDim {
        /// The extent.
        dim: i64,
    },
    /// A tensor has more elements than 64 bits can count.
    #[error("a tensor has more elements than can be counted")]
    ElementCountOverflow,
    /// A tensor's payload does not have the size that its dims and element type ask for.
    #[error("a tensor's `{field}` has {found} {unit}, but its dims and element type ask for {expected}")]
    PayloadSize {
        /// The payload field.
        field: &'static FieldName,
        /// What is counted: `bytes` or `elements`.
        unit: &'static str,
        /// The size the dims ask for.
        expected: u64,
        /// The size there is.
        found: u64,
    },
    /// A tensor's payload is in a field for other element types.
    #[error("a tensor's payload is in `{found}`, but its element type needs `{expected}`")]
    PayloadField {
        /// The field it is in.
        found: &'static FieldName,
        /// The field for the element type.
        expected: &'static FieldName,
    },
    /// A tensor has two payloads.
    #[error("a tensor has a payload in `{first}` and another in `{second}`")]
    TwoPayloads {
        /// One field.
        first: &'static FieldName,
        /// The other.
        second: &'static FieldName,
    },
    /// A tensor has a payload in the model and names another file.
    #[error("a tensor refers to another file for its payload, but has one in the model too")]
    ExternalAndInline,
    /// A tensor's payload is in another file, which the model does not name.
    #[error("a tensor's payload is in another file, but `location` does not name one")]
    ExternalWithoutLocation,
    /// Strings have no format in other files.
    #[error("a tensor of strings cannot have its payload in another file")]
    ExternalStrings,
    /// The offset or length of a payload in another file is not a number of bytes.
    #[error("a tensor's external `{key}` is {value:?}, which is not a number of bytes")]
    ExternalNumber {
        /// `offset` or `length`.
        key: Box<str>,
        /// The text.
        value: Box<str>,
    },
    /// The parts of a sparse tensor do not fit together.
    #[error("a sparse tensor {reason}")]
    SparseTensor {
        /// Completes "a sparse tensor ...".
        reason: Box<str>,
    },
    /// A fault that only prost reports.
    #[error("{0}")]
    Other(Box<str>),
}
