//! A registry of interfaces in an object store: subjects with numbered versions, aliases and compatibility
//! modes.
//!
//! [`Registry`] pushes, pulls, checks and verifies. There is no server: the store is shared, and
//! `docs/registry.md` specifies its layout. The content of a version is a [bundle of a
//! pool](typeloom_pool::Bundle).
//!
//! | module | serves |
//! |---|---|
//! | [`names`] | subjects, aliases, references such as `vision/resnet@production` |
//! | [`entry`] | entries of a log and their canonical bytes |
//! | [`log`](mod@log) | reading, verified search, appending |
//! | [`mode`] | compatibility modes |
//! | [`verdict`] | comparison with earlier versions |
//! | [`registry`], [`push`], [`pull`], [`settings`], [`gc`], [`verify`] | one operation each |
//! | [`json`] | results for programs |
//!
//! ```
//! use typeloom_pool::{Pool, Tag};
//! use typeloom_registry::entry::{Hash, SourceFile};
//! use typeloom_registry::push::Push;
//! use typeloom_registry::settings::Settings;
//! use typeloom_registry::{Registry, Timestamp};
//! use typeloom_io::stores::{Missing, Stores};
//!
//! let mut pool = Pool::new();
//! let int = pool.primitive(Tag::I64)?;
//! let bundle = pool.export(&[("count", int)])?.into_bytes();
//!
//! let folder = tempfile::tempdir()?;
//! let registry = Registry::open(&Stores::new(Vec::new())?, &folder.path().to_string_lossy(), Missing::Create)?;
//! let push = Push {
//!     source: SourceFile { digest: Hash::of(b"..."), name: "counter.rs".to_owned(), size: 3 },
//!     bundle: bundle.clone().into(),
//!     tool: "example 1.0".to_owned(),
//!     settings: Settings::default(),
//!     time: Timestamp::from_unix(1_767_225_600),
//! };
//! assert_eq!(registry.push(&"team/counter".parse()?, &push)?.version, 1);
//! assert_eq!(registry.pull(&"team/counter@latest".parse()?)?.bundle, bundle);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The log
//!
//! Each subject has an append-only log. Entry `n + 1` is created on the condition that it does not exist,
//! which is the compare-and-swap on the head of the subject: of several writers, one creates the entry, and
//! the others read it and try again with `n + 2`. An entry contains the digest of the entry before it and of
//! an earlier one, chosen by the skew-binary scheme of Myers (*An applicative random-access stack*, 1983), so
//! any version is found and verified from the head with `O(log n)` reads.
//!
//! **Invariant:** entries and bundles are never changed. A bundle is uploaded before the entry that refers to
//! it, so readers see either the whole version or none.
//!
//! **Invariant:** nothing is returned before it is verified: the chain of digests from the head, the digest
//! of the bundle, and the digests of its types.
//!
//! **Invariant:** the names of bundles are unique per upload, and a name in a `sweep` entry is never used
//! again. So a collection needs no clock to be safe.
//!
//! **Limits:** objects are bounded by [`MAX_ENTRY`](entry::MAX_ENTRY) and
//! [`MAX_BUNDLE`](registry::MAX_BUNDLE). Any bytes in the store give a typed error. Without a
//! [checkpoint](verify::Checkpoint), the replacement of a whole log by a valid other one is not detected.

pub mod entry;
pub mod error;
pub mod gc;
pub mod json;
pub mod log;
pub mod mode;
pub mod names;
pub mod pull;
pub mod push;
pub mod registry;
pub mod settings;
mod similar;
mod skew;
pub mod time;
pub mod verdict;
pub mod verify;

pub use error::{Corruption, Problem, RegistryError};
pub use mode::Mode;
pub use names::{Alias, Reference, Selector, Subject};
pub use registry::Registry;
pub use time::Timestamp;
