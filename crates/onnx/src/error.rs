//! Errors in the bytes of a model.

use crate::other_format::OtherFormat;
use crate::wire::WireKind;

/// Declares enums whose values are displayed as one text each.
macro_rules! displayed {
    ($( $(#[$meta:meta])* pub enum $name:ident { $( $(#[$doc:meta])* $variant:ident $text:literal, )* } )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $( $(#[$doc])* $variant, )* }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $( Self::$variant => $text, )* })
            }
        }
    )*};
}

pub(crate) use displayed;

/// Error of decoding malformed bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}{}", self.position())]
pub struct DecodeError {
    /// Offset of the error in the file, or in the slice given to the decoder.
    pub offset: usize,
    pub kind: ErrorKind,
}

impl DecodeError {
    /// ` at byte 7`; empty for an error of the file as a whole.
    fn position(&self) -> String {
        match self.kind {
            ErrorKind::OtherFormat(_) => String::new(),
            _ => format!(" at byte {}", self.offset),
        }
    }

    /// The error of the top level of a file, with what the file is instead of a model.
    #[must_use]
    pub fn of_file(self, file: &[u8]) -> Self {
        /// The greatest message of protobuf, in bytes.
        const MAX_MESSAGE: u64 = i32::MAX as u64;
        /// The key of `ir_version`, with which a model begins.
        const IR_VERSION: u8 = 0x08;
        if let Some(format) = OtherFormat::of(file) {
            return Self { offset: 0, kind: ErrorKind::OtherFormat(format) };
        }
        match self.kind {
            ErrorKind::LengthPastEnd { length, left }
                if length <= MAX_MESSAGE && file.first() == Some(&IR_VERSION) =>
            {
                let expected = file.len() as u64 + length - left as u64;
                Self { offset: self.offset, kind: ErrorKind::CutOff { length: file.len() as u64, expected } }
            }
            _ => self,
        }
    }
}

/// The name of a field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldName {
    /// The message, for example `NodeProto`.
    pub message: &'static str,
    /// The field, for example `op_type`.
    pub field: &'static str,
}

impl std::fmt::Display for FieldName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.message, self.field)
    }
}

/// Kind of a [`DecodeError`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file is not a model, but has another known format.
    #[error("the file is {}, not an ONNX model", .0.name())]
    OtherFormat(OtherFormat),
    /// The file ends inside of a field of the model.
    #[error("the file is cut off: it has {length} bytes of at least {expected}")]
    CutOff {
        /// The length of the file.
        length: u64,
        /// The length of a file that ends with this field.
        expected: u64,
    },
    /// A variable-length number continues past the end of its message.
    #[error("a number is cut off")]
    TruncatedVarint,
    /// A variable-length number takes more than 64 bits.
    #[error("a number has more than 64 bits")]
    VarintOverflow,
    /// A field of fixed size continues past the end of its message.
    #[error("a value of {size} bytes is cut off after {left}")]
    TruncatedFixed {
        size: u8,
        /// Number of bytes left in the message.
        left: u8,
    },
    /// A field is longer than the rest of its message.
    #[error("a field claims {length} bytes, but its message has {left} left")]
    LengthPastEnd {
        /// The declared length.
        length: u64,
        /// Number of bytes left in the message.
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
    KeyTooLarge { key: u64 },
    /// A group ends that did not start.
    #[error("group {number} ends but is not open")]
    UnmatchedEndGroup { number: u32 },
    /// A group does not end within its message.
    #[error("group {number} does not end")]
    UnterminatedGroup { number: u32 },
    /// Messages or groups are nested too deeply.
    #[error("messages nest more than {limit} deep")]
    NestingTooDeep {
        /// Maximum depth.
        limit: usize,
    },
    /// The wire type of a field differs from that of the schema.
    #[error("`{field}` is encoded as {found}, not as {expected}")]
    WrongWireType {
        field: &'static FieldName,
        /// The wire type of the schema.
        expected: WireKind,
        /// The wire type in the file.
        found: WireKind,
    },
    /// A string is not UTF-8.
    #[error("`{field}` is not valid UTF-8")]
    InvalidUtf8 { field: &'static FieldName },
    /// A singular message occurs twice. Owned messages merge the two as protobuf does; a view cannot, because
    /// it does not copy.
    #[error("`{field}` occurs twice")]
    RepeatedMessage { field: &'static FieldName },
    /// The length of a packed list is not a multiple of the size of its elements.
    #[error("`{field}` has {length} bytes, which is not a multiple of {size}")]
    UnevenPacked {
        field: &'static FieldName,
        /// Length of the list in bytes.
        length: usize,
        /// Size of an element in bytes.
        size: u8,
    },
    /// A tensor has a negative extent.
    #[error("a tensor has the negative extent {dim}")]
    NegativeDim { dim: i64 },
    /// A tensor has more elements than 64 bits can count.
    #[error("a tensor has more elements than can be counted")]
    ElementCountOverflow,
    /// The size of a tensor's payload does not match its dims and element type.
    #[error("a tensor's `{field}` has {found} {unit}, but its dims and element type require {expected}")]
    PayloadSize {
        /// The payload field.
        field: &'static FieldName,
        /// Unit of the sizes: `bytes`, `elements` or `entries`.
        unit: &'static str,
        /// Size for the dims.
        expected: u64,
        /// Size found.
        found: u64,
    },
    /// A tensor's payload is in the field of another element type.
    #[error("a tensor's payload is in `{found}`, but its element type needs `{expected}`")]
    PayloadField {
        /// The field of the payload.
        found: &'static FieldName,
        /// The field for the element type.
        expected: &'static FieldName,
    },
    /// A tensor has two payloads.
    #[error("a tensor has a payload in `{first}` and another in `{second}`")]
    TwoPayloads { first: &'static FieldName, second: &'static FieldName },
    /// A tensor refers to a payload in another file and also has one in the model.
    #[error("a tensor refers to another file for its payload, but has one in the model too")]
    ExternalAndInline,
    /// A tensor's payload is in another file without a location.
    #[error("a tensor's payload is in another file, but `location` does not name one")]
    ExternalWithoutLocation,
    /// A tensor of strings refers to another file: no format is defined for this.
    #[error("a tensor of strings cannot have its payload in another file")]
    ExternalStrings,
    /// The offset or length of an external payload is not a number.
    #[error("a tensor's external `{key}` is {value:?}, which is not a number of bytes")]
    ExternalNumber {
        /// `offset` or `length`.
        key: Box<str>,
        value: Box<str>,
    },
    /// The parts of a sparse tensor are inconsistent.
    #[error("a sparse tensor {reason}")]
    SparseTensor {
        /// The predicate after "a sparse tensor".
        reason: Box<str>,
    },
    /// An error that is reported by prost only.
    #[error("{0}")]
    Other(Box<str>),
}
