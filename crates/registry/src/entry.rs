//! Entries of a log, and their canonical bytes.
//!
//! The bytes are JSON in the canonical notation of RFC 8785: no white space, members in alphabetical order,
//! shortest escapes. The digest of an entry is the BLAKE3 hash of its bytes. An entry contains the whole
//! [`State`] of its subject, which is small, so a reader needs no other entry for it.
//!
//! **Invariant:** [`Entry::decode`] accepts only bytes that [`Entry::encode`] writes, and only entries that
//! [`Entry::validate`] accepts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use typeloom_interface::PortIdentity;
use typeloom_interface::exports::Content;
use typeloom_pool::Digest;

use crate::error::Problem;
use crate::mode::Mode;
use crate::names::{Alias, Subject};
use crate::skew;
use crate::time::Timestamp;

/// The version of the format.
pub const FORMAT: u64 = 1;
/// Maximum number of bytes of an entry.
pub const MAX_ENTRY: u64 = 256 << 10;
/// Maximum number of an entry: names have ten digits.
pub const MAX_NUMBER: u64 = 9_999_999_999;
/// Maximum number of aliases of a subject.
pub const MAX_ALIASES: usize = 256;
/// Maximum number of names in a `sweep`.
pub const MAX_SWEPT: usize = 1000;
/// Maximum number of types that a `push` lists.
pub const MAX_ROOTS: usize = 16;
/// Maximum number of bytes of a label that a `push` lists.
pub const MAX_LABEL: usize = 256;
/// Maximum number of bytes of the name of a source file, and of that of a tool.
pub const MAX_SOURCE: usize = 1024;
/// Integers of JSON are exact up to this number.
const MAX_INTEGER: u64 = (1 << 53) - 1;

/// 256 bits as hexadecimal digits: a BLAKE3 hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Hash(pub Digest);

impl Hash {
    /// The hash of bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Digest(blake3::hash(bytes).into()))
    }
}

impl std::fmt::Display for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> Self {
        hash.to_string()
    }
}

impl TryFrom<String> for Hash {
    type Error = typeloom_pool::DigestParseError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

/// 128 random bits as hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nonce(String);

impl Nonce {
    /// The nonce of random bits.
    #[must_use]
    pub fn of(bits: [u8; 16]) -> Self {
        Self(bits.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn is_valid(&self) -> bool {
        self.0.len() == 32 && self.0.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    }
}

/// The name of a bundle in the folder of its subject: the hash of its bytes and the nonce of its upload.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct BundleName {
    /// The hash of the bytes.
    pub digest: Hash,
    nonce: Nonce,
}

impl BundleName {
    /// The name of a new upload.
    #[must_use]
    pub fn new(digest: Hash, nonce: Nonce) -> Self {
        Self { digest, nonce }
    }
}

impl std::fmt::Display for BundleName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.digest, self.nonce.0)
    }
}

impl From<BundleName> for String {
    fn from(name: BundleName) -> Self {
        name.to_string()
    }
}

/// Error of a text that is not a [`BundleName`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a bundle is named `HASH-NONCE`, 64 and 32 lower-case hexadecimal digits")]
pub struct BundleNameError;

impl std::str::FromStr for BundleName {
    type Err = BundleNameError;

    fn from_str(text: &str) -> Result<Self, BundleNameError> {
        let (digest, nonce) = text.split_once('-').ok_or(BundleNameError)?;
        let (digest, nonce) = (digest.parse().map_err(|_| BundleNameError)?, Nonce(nonce.to_owned()));
        if nonce.is_valid() { Ok(Self { digest: Hash(digest), nonce }) } else { Err(BundleNameError) }
    }
}

impl TryFrom<String> for BundleName {
    type Error = BundleNameError;

    fn try_from(text: String) -> Result<Self, BundleNameError> {
        text.parse()
    }
}

/// One entry of a log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The reason for the entry.
    pub change: Change,
    /// The number in the log, from 1.
    pub entry: u64,
    /// [`FORMAT`].
    pub format: u64,
    /// The link of the skew-binary scheme, see `skew`; the first entry has none.
    pub jump: Option<Link>,
    /// Distinguishes equal changes of two writers.
    pub nonce: Nonce,
    /// The link to the entry before; the first entry has none.
    pub previous: Option<Link>,
    /// The state of the subject after the entry.
    pub state: State,
    /// The subject, so an entry cannot be used for another one.
    pub subject: Subject,
    /// The time at the writer.
    pub time: Timestamp,
    /// The number of versions up to this entry.
    pub versions: u64,
}

/// The reason for an entry.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// A new version, whose number is [`Entry::versions`]. The state may change too: aliases for the new
    /// version, and the mode, which this version has to fulfil already.
    Push(Version),
    /// A change of the state only.
    Set {},
    /// Names of unreferenced bundles that are never used again and will be deleted.
    Sweep {
        /// The names in ascending order.
        bundles: Vec<BundleName>,
    },
}

/// The record of a version.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    /// The bundle.
    pub bundle: BundleName,
    /// The first types of the bundle: at most [`MAX_ROOTS`], up to the first label longer than [`MAX_LABEL`].
    pub roots: Vec<Root>,
    /// The size of the bundle in bytes.
    pub size: u64,
    /// The file that the version was created from.
    pub source: SourceFile,
    /// The name and the version of the program that pushed it.
    pub tool: String,
}

/// A type of a bundle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Root {
    /// The digest of the type.
    pub digest: Hash,
    /// Its label.
    pub label: String,
}

/// The types that a record lists.
#[must_use]
pub fn listed_roots(content: &Content) -> Vec<Root> {
    let roots = content.roots().into_iter().take(MAX_ROOTS);
    let listed = roots.take_while(|(label, _)| label.len() <= MAX_LABEL);
    listed.map(|(label, digest)| Root { digest: Hash(digest), label: label.to_owned() }).collect()
}

/// A file on the computer of the writer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceFile {
    /// The BLAKE3 hash of its bytes.
    pub digest: Hash,
    /// Its name as the user wrote it.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
}

/// The state of a subject.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The versions of the aliases.
    pub aliases: BTreeMap<Alias, u64>,
    /// The compatibility mode.
    pub mode: Mode,
    /// The identity of ports.
    pub ports: Ports,
}

/// [`PortIdentity`] in an entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ports {
    /// Names and positions.
    #[default]
    NameAndPosition,
    /// Names alone.
    Name,
}

impl Ports {
    /// The name in an entry.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NameAndPosition => "name_and_position",
            Self::Name => "name",
        }
    }
}

impl From<Ports> for PortIdentity {
    fn from(ports: Ports) -> Self {
        match ports {
            Ports::NameAndPosition => Self::NameAndPosition,
            Ports::Name => Self::Name,
        }
    }
}

/// A reference to an earlier entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The hash of its bytes.
    pub digest: Hash,
    /// Its number.
    pub entry: u64,
    /// Its number of versions.
    pub versions: u64,
}

impl Entry {
    /// The canonical bytes.
    ///
    /// # Errors
    /// The entry has more than [`MAX_ENTRY`] bytes.
    pub fn encode(&self) -> Result<Vec<u8>, Problem> {
        let bytes = canonical(self)?;
        let size = bytes.len() as u64;
        if size > MAX_ENTRY { Err(Problem::TooLarge { size, max: MAX_ENTRY }) } else { Ok(bytes) }
    }

    /// The entry that `bytes` are.
    ///
    /// # Errors
    /// The bytes are not canonical, or the entry is not valid.
    pub fn decode(bytes: &[u8]) -> Result<Self, Problem> {
        let entry: Self = parse(bytes)?;
        entry.validate()?;
        Ok(entry)
    }

    /// Checks the rules that concern one entry alone.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn validate(&self) -> Result<(), Problem> {
        let Self { change, entry, format, jump, nonce, previous, state, subject: _, time: _, versions } =
            self;
        let rule = |holds: bool, text: &str| if holds { Ok(()) } else { Err(Problem::Rule(text.to_owned())) };
        Problem::unless_equal("format version", &FORMAT, format)?;
        rule((1..=MAX_NUMBER).contains(entry), "the number is out of range")?;
        rule(nonce.is_valid(), "the nonce has 32 hexadecimal digits")?;
        let number = |link: &Option<Link>| link.map_or(0, |link| link.entry);
        Problem::unless_equal("previous entry", &(entry - 1), &number(previous))?;
        Problem::unless_equal("jump", &skew::jump(*entry).unwrap_or_default(), &number(jump))?;
        let before = previous.map_or(0, |link| link.versions);
        rule(before < *entry, "there are more versions than entries")?;
        rule(
            jump.map_or(0, |link| link.versions) <= before,
            "the jump has more versions than the previous entry",
        )?;
        match change {
            Change::Push(version) => {
                Problem::unless_equal("number of versions", &(before + 1), versions)?;
                version.validate()?;
            }
            Change::Set {} => Problem::unless_equal("number of versions", &before, versions)?,
            Change::Sweep { bundles } => {
                Problem::unless_equal("number of versions", &before, versions)?;
                rule((1..=MAX_SWEPT).contains(&bundles.len()), "a sweep has 1 to 1000 names")?;
                rule(bundles.windows(2).all(|pair| pair[0] < pair[1]), "the names of a sweep ascend")?;
            }
        }
        rule(state.aliases.len() <= MAX_ALIASES, "a subject has at most 256 aliases")?;
        let mut targets = state.aliases.values();
        rule(targets.all(|version| (1..=*versions).contains(version)), "an alias refers to a version")
    }

    /// The state, the versions and the links are those of a successor of `previous`; `None` for the first
    /// entry.
    pub(crate) fn check_transition(&self, previous: Option<&Self>) -> Result<(), Problem> {
        let default = State::default();
        let before = previous.map_or(&default, |entry| &entry.state);
        match &self.change {
            Change::Sweep { .. } if self.state != *before => {
                Err(Problem::Rule("a sweep does not change the state".to_owned()))
            }
            Change::Push(_) | Change::Set {} | Change::Sweep { .. } => Ok(()),
        }
    }

    /// The record of the version that the entry creates.
    #[must_use]
    pub fn version(&self) -> Option<&Version> {
        match &self.change {
            Change::Push(version) => Some(version),
            Change::Set {} | Change::Sweep { .. } => None,
        }
    }
}

impl Version {
    fn validate(&self) -> Result<(), Problem> {
        let Self { bundle: _, roots, size, source, tool } = self;
        let rule = |holds: bool, text: &str| if holds { Ok(()) } else { Err(Problem::Rule(text.to_owned())) };
        rule(roots.len() <= MAX_ROOTS, "at most 16 types are listed")?;
        rule(roots.iter().all(|root| root.label.len() <= MAX_LABEL), "a listed label is too long")?;
        rule(source.name.len() <= MAX_SOURCE && tool.len() <= MAX_SOURCE, "a name is too long")?;
        rule(*size <= MAX_INTEGER && source.size <= MAX_INTEGER, "a size is not exact in JSON")
    }
}

/// The canonical JSON of a value whose members are declared in alphabetical order.
pub(crate) fn canonical<T: Serialize>(value: &T) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(value).map_err(|error| Problem::Malformed(error.to_string()))
}

/// The value of canonical JSON.
pub(crate) fn parse<T: Serialize + for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<T, Problem> {
    let value: T = serde_json::from_slice(bytes).map_err(|error| Problem::Malformed(error.to_string()))?;
    if canonical(&value)? == bytes { Ok(value) } else { Err(Problem::NotCanonical) }
}
