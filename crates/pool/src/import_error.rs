//! Errors of importing bundles.

use crate::digest::Digest;
use crate::error::PoolError;
use crate::name::NameError;
use crate::variables::VariableNamesError;

/// Error of importing a bundle. The pool is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The bundle omits types that this pool does not have. The only recoverable error: request these types
    /// from the sender, or a bundle that omits none.
    #[error("the bundle leaves out {} that this pool does not have", crate::error::counted(missing.len(), "type"))]
    NotFound {
        /// Digests of the missing types, ascending.
        missing: Vec<Digest>,
    },
    /// The bytes are not a bundle.
    #[error("{kind} (at byte {offset})")]
    Invalid {
        /// Byte offset of the error.
        offset: usize,
        /// Kind of the error.
        kind: ImportErrorKind,
    },
}

impl ImportError {
    pub(crate) fn at(offset: usize, kind: ImportErrorKind) -> Self {
        ImportError::Invalid { offset, kind }
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

/// Quantity that a limit bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bounded {
    /// Number of bytes of the bundle.
    Bytes,
    /// Number of types.
    Types,
    /// Number of strings.
    Strings,
    /// Number of bytes of a name.
    NameBytes,
    /// Number of words in one type.
    Arity,
    /// Depth of nesting.
    Depth,
    /// Number of members of one group.
    Group,
    /// Number of imports by digest.
    Imports,
    /// Number of roots.
    Roots,
    /// Number of steps for minimizing groups and walking the bodies of schemes.
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

/// Kinds of invalid bundles.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportErrorKind {
    /// The bytes end too early.
    #[error("the bundle ends too early")]
    Truncated,
    /// Bytes follow the end.
    #[error("bytes follow the end of the bundle")]
    TrailingBytes,
    /// The first bytes are not those of a bundle.
    #[error("not a bundle: the first bytes are wrong")]
    BadMagic,
    /// An unsupported format version.
    #[error("format version {found} is not supported")]
    Version {
        /// Version of the bundle.
        found: u8,
    },
    /// An unsupported hash suite.
    #[error("hash suite {found} is not supported")]
    Suite {
        /// Number of the suite.
        found: u8,
    },
    /// Reserved bytes that are not zero.
    #[error("reserved bytes must be zero")]
    Reserved,
    /// An integer of more than 32 bits.
    #[error("an integer is too large")]
    IntegerTooLarge,
    /// An integer that is not in its shortest form.
    #[error("an integer is not written in as few bytes as possible")]
    IntegerNotMinimal,
    /// A count that exceeds the number of bytes.
    #[error("a count of {count} exceeds the size of the bundle")]
    CountTooLarge {
        /// The decoded count.
        count: u32,
    },
    /// A limit is exceeded.
    #[error("more than {limit} {}", what.noun())]
    Limit {
        /// The bounded quantity.
        what: Bounded,
        /// Value of the limit.
        limit: u64,
    },
    /// A string that is not a valid name.
    #[error("bad name: {0}")]
    Name(NameError),
    /// A string occurs twice in the table.
    #[error("the string `{name}` is in the table twice")]
    DuplicateString {
        /// The repeated string.
        name: String,
    },
    /// A string that no type uses.
    #[error("the string `{name}` is not used")]
    UnusedString {
        /// The unused string.
        name: String,
    },
    /// The strings are not in the order of their first use.
    #[error("the strings are not in the order of first use")]
    StringOrder,
    /// A reference to a string that does not exist.
    #[error("there is no string {index}")]
    DanglingString {
        /// Index of the string.
        index: u32,
    },
    /// The imports are not in strictly ascending order.
    #[error("imports are not in ascending order")]
    ImportOrder,
    /// A number that is not the number of any tag.
    #[error("{number} is not a kind of type")]
    UnknownTag {
        /// The unknown number.
        number: u8,
    },
    /// A reference to a type that does not exist.
    #[error("a reference to a type that does not exist")]
    DanglingReference,
    /// A reference to a later type outside of groups.
    #[error("a reference to a type that comes later")]
    ForwardReference,
    /// A group inside a group.
    #[error("a recursive group inside of a recursive group")]
    NestedGroup,
    /// A type that is not well formed.
    #[error(transparent)]
    Type(PoolError),
    /// An inference variable.
    #[error("inference variables cannot be exported")]
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
    /// Members of a group that are not in canonical order.
    #[error("the members of a recursive group are not in canonical order")]
    GroupOrder,
    /// A root with unbound variables.
    #[error("a root has unbound variables")]
    OpenRoot,
    /// Labels of roots that are not in strictly ascending order.
    #[error("root labels are not in ascending order")]
    RootOrder,
    /// A root's digest differs from that of its type.
    #[error("the digest of root `{label}` is not that of its type")]
    RootDigest {
        /// Label of the root.
        label: String,
    },
    /// The names of a root's variables are not usable.
    #[error("the names of the variables of root `{label}`: {error}")]
    VariableNames {
        /// Label of the root.
        label: String,
        /// The error of the names.
        error: VariableNamesError,
    },
    /// The final digest differs from that of the bytes.
    #[error("the digest at the end is not that of the bundle")]
    Checksum,
}
