//! What can be wrong with a bundle.

use crate::digest::Digest;
use crate::error::TypeError;
use crate::name::NameError;

/// Why an import failed. The pool is as it was before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The bundle leaves out types that this pool does not have. The only recoverable failure: ask the sender for these,
    /// or for a bundle that leaves nothing out.
    #[error("the bundle leaves out {} that this pool does not have", crate::error::counted(missing.len(), "type"))]
    NotFound {
        /// Their digests, ascending.
        missing: Vec<Digest>,
    },
    /// The bytes are not a bundle.
    #[error("{fault} (at byte {offset})")]
    Invalid {
        /// Where.
        offset: usize,
        /// What is wrong.
        fault: Fault,
    },
}

impl ImportError {
    pub(crate) fn at(offset: usize, fault: Fault) -> Self {
        ImportError::Invalid { offset, fault }
    }

    /// Whether the import can succeed after more types have been imported.
    #[must_use]
    pub fn is_recoverable(&self) -> bool {
        match self {
            ImportError::NotFound { .. } => true,
            ImportError::Invalid { .. } => false,
        }
    }
}

/// What a limit bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bounded {
    /// Bytes of the bundle.
    Bytes,
    /// Types.
    Types,
    /// Strings.
    Strings,
    /// Bytes of a name.
    NameBytes,
    /// Words of one type.
    Arity,
    /// Depth of nesting.
    Depth,
    /// Members of one group.
    Group,
    /// Imports by digest.
    Imports,
    /// Roots.
    Roots,
    /// Steps for minimising groups and walking the bodies of schemes.
    Work,
}

impl Bounded {
    const fn noun(self) -> &'static str {
        match self {
            Bounded::Bytes => "bytes",
            Bounded::Types => "types",
            Bounded::Strings => "strings",
            Bounded::NameBytes => "bytes in a name",
            Bounded::Arity => "words in one type",
            Bounded::Depth => "levels of nesting",
            Bounded::Group => "members of one recursive group",
            Bounded::Imports => "imports",
            Bounded::Roots => "roots",
            Bounded::Work => "steps for recursive groups and generic types",
        }
    }
}

/// One way in which bytes fail to be a bundle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The bytes end too early.
    #[error("the bundle ends too early")]
    Truncated,
    /// Bytes follow the end.
    #[error("bytes follow the end of the bundle")]
    TrailingBytes,
    /// It does not start like a bundle.
    #[error("not a bundle: the first bytes are wrong")]
    BadMagic,
    /// A version that this reader does not know.
    #[error("format version {found} is not supported")]
    Version {
        /// The version.
        found: u8,
    },
    /// A hash suite that this reader does not know.
    #[error("hash suite {found} is not supported")]
    Suite {
        /// The number of the suite.
        found: u8,
    },
    /// Bytes that must be zero are not.
    #[error("reserved bytes must be zero")]
    Reserved,
    /// An integer beyond 32 bits.
    #[error("an integer is too large")]
    IntegerTooLarge,
    /// An integer in more bytes than needed.
    #[error("an integer is not written in as few bytes as possible")]
    IntegerNotMinimal,
    /// A count that the bytes cannot hold.
    #[error("a count of {count} is more than the bundle can hold")]
    CountTooLarge {
        /// The count.
        count: u32,
    },
    /// More than a limit allows.
    #[error("more than {limit} {}", what.noun())]
    Limit {
        /// What there is too much of.
        what: Bounded,
        /// How much may be.
        limit: u64,
    },
    /// A string that is not a name.
    #[error("bad name: {0}")]
    Name(NameError),
    /// A string occurs twice in the table.
    #[error("the string `{name}` is in the table twice")]
    DuplicateString {
        /// The string.
        name: String,
    },
    /// A string that no type uses.
    #[error("the string `{name}` is not used")]
    UnusedString {
        /// The string.
        name: String,
    },
    /// The strings are not in the order of their first use.
    #[error("the strings are not in the order of first use")]
    StringOrder,
    /// A string that the table does not have.
    #[error("there is no string {index}")]
    DanglingString {
        /// Its index.
        index: u32,
    },
    /// The imports are not in strictly ascending order.
    #[error("imports are not in ascending order")]
    ImportOrder,
    /// A number that is not the number of a kind of type.
    #[error("{number} is not a kind of type")]
    UnknownTag {
        /// The number.
        number: u8,
    },
    /// A reference to a type that is not there.
    #[error("a reference to a type that is not there")]
    DanglingReference,
    /// A reference to a type that comes later, outside of a group.
    #[error("a reference to a type that comes later")]
    ForwardReference,
    /// A group inside of a group.
    #[error("a recursive group inside of a recursive group")]
    NestedGroup,
    /// A type that is not well formed.
    #[error(transparent)]
    Type(TypeError),
    /// An inference variable.
    #[error("inference variables cannot travel")]
    InferenceVariable,
    /// A type occurs twice.
    #[error("a type occurs twice")]
    DuplicateType,
    /// A type that no root reaches.
    #[error("a type is not reached by any root")]
    UnreachableType,
    /// An import that no type uses.
    #[error("an import is not used")]
    UnusedImport,
    /// The types are not in the canonical order.
    #[error("the types are not in canonical order")]
    TypeOrder,
    /// Operands of a commutative constant are not in canonical order.
    #[error("operands are not in the order of their digests")]
    OperandOrder,
    /// A constant that is not in normal form.
    #[error("a constant is not in normal form")]
    ConstNotNormal,
    /// A scheme that is not in normal form.
    #[error("a scheme's variables are not in the order of first use")]
    SchemeNotNormal,
    /// A group that is not one minimal cycle.
    #[error("a recursive group is not one minimal cycle")]
    GroupNotMinimal,
    /// A group's members are not in canonical order.
    #[error("the members of a recursive group are not in canonical order")]
    GroupOrder,
    /// A root whose type has variables that nothing binds.
    #[error("a root has variables that nothing binds")]
    OpenRoot,
    /// The labels of the roots are not in strictly ascending order.
    #[error("root labels are not in ascending order")]
    RootOrder,
    /// A root's digest is not that of its type.
    #[error("the digest of root `{label}` is not that of its type")]
    RootDigest {
        /// The label.
        label: String,
    },
    /// The digest at the end is not that of the bytes.
    #[error("the digest at the end is not that of the bundle")]
    Checksum,
}
