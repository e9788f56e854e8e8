//! A registry in a folder of a store: its format marker, its objects, and what all operations share.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use typeloom_interface::exports::Content;
use typeloom_io::stores::{Created, Folder, Missing, Stores};
use typeloom_pool::ImportLimits;

use crate::entry::{BundleName, Entry, FORMAT, Hash, Nonce, Version, canonical, listed_roots};
use crate::error::{Problem, RegistryError};
use crate::names::Subject;

/// Maximum number of bytes of a bundle; the limit of an import of the pool.
pub const MAX_BUNDLE: u64 = 1 << 28;
/// Maximum number of bytes of the format marker and of a head.
pub(crate) const MAX_MARKER: u64 = 1 << 10;
/// Maximum number of objects of one listing.
pub(crate) const MAX_LISTED: usize = 10_000_000;
/// Maximum number of decoded bundles that are kept.
const MAX_CACHED: usize = 64;
/// Maximum size of a bundle that is kept.
const MAX_CACHED_SIZE: usize = 1 << 20;

/// The name of the format marker.
pub const MARKER: &str = "registry.json";
/// The folder of all subjects.
pub const SUBJECTS: &str = "subjects";
/// The folder of entries in the folder of a subject.
pub(crate) const LOG: &str = "_log";
/// The folder of bundles in the folder of a subject.
pub(crate) const BUNDLES: &str = "_bundles";
/// The name of the head in the folder of a subject.
pub(crate) const HEAD: &str = "_head.json";

/// The format marker of a registry.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Marker {
    format: String,
    version: u64,
}

/// The name of the format.
const FORMAT_NAME: &str = "typeloom-registry";

/// Behaviour when several writers change one subject.
#[derive(Clone, Copy, Debug)]
pub struct Contention {
    /// Maximum number of attempts of one operation.
    pub attempts: u32,
    /// Upper bound of the pause after the second lost race. It doubles with each further one.
    pub first_pause: Duration,
    /// Maximum upper bound of a pause.
    pub longest_pause: Duration,
}

impl Default for Contention {
    /// At most about a minute of pauses.
    fn default() -> Self {
        let (first_pause, longest_pause) = (Duration::from_millis(5), Duration::from_secs(1));
        Self { attempts: 128, first_pause, longest_pause }
    }
}

/// A registry. The operations are methods in the modules of their names.
#[derive(Debug)]
pub struct Registry {
    pub(crate) folder: Folder,
    pub(crate) contention: Contention,
    /// Decoded bundles by the hashes of their bytes.
    contents: Mutex<HashMap<Hash, Arc<Content>>>,
    /// Whether this object has checked that writes to the store are conditional.
    is_checked: Mutex<bool>,
}

impl Registry {
    /// The registry at a URL or path. A missing local folder is created if `missing` requires it.
    ///
    /// # Errors
    /// [`RegistryError::NoRegistry`] for a missing folder, or the store cannot be opened.
    pub fn open(stores: &Stores, url: &str, missing: Missing) -> Result<Self, RegistryError> {
        match stores.folder(url, missing) {
            Ok(folder) => Ok(Self::new(folder, Contention::default())),
            Err(typeloom_io::stores::StoreError::NotFound(url)) => Err(RegistryError::NoRegistry(url)),
            Err(error) => Err(error.into()),
        }
    }

    /// The registry in a folder of a store.
    #[must_use]
    pub fn new(folder: Folder, contention: Contention) -> Self {
        Self { folder, contention, contents: Mutex::default(), is_checked: Mutex::default() }
    }

    /// The URL or path.
    #[must_use]
    pub fn url(&self) -> &str {
        self.folder.url()
    }

    /// The path of a registry in a folder of this machine.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.folder.path()
    }

    /// Checks that the store contains a registry of a known format.
    pub(crate) fn check_format(&self) -> Result<(), RegistryError> {
        let Some(bytes) = self.folder.read(MARKER, MAX_MARKER)? else {
            return Err(RegistryError::NoRegistry(self.url().to_owned()));
        };
        let object = self.folder.url_of(MARKER);
        let marker: Marker = crate::entry::parse(&bytes).map_err(|problem| problem.at(object.clone()))?;
        let format = Problem::unless_equal("format", &FORMAT_NAME.to_owned(), &marker.format);
        format.map_err(|problem| problem.at(object.clone()))?;
        if marker.version == FORMAT {
            Ok(())
        } else {
            Err(RegistryError::UnknownFormat { object, found: marker.version, known: FORMAT })
        }
    }

    /// Creates the format marker if it is missing. The store must refuse to create it twice: a store that
    /// ignores the condition would lose versions.
    pub(crate) fn ensure_format(&self) -> Result<(), RegistryError> {
        let mut is_checked = self.is_checked.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_checked {
            return Ok(());
        }
        let marker = Marker { format: FORMAT_NAME.to_owned(), version: FORMAT };
        let bytes =
            Bytes::from(canonical(&marker).map_err(|problem| problem.at(self.folder.url_of(MARKER)))?);
        for lost in 0..self.contention.attempts {
            self.pause(lost)?;
            let is_there = self.folder.read(MARKER, MAX_MARKER)?.is_some();
            // A conflict with another writer does not mean that the object exists already.
            if is_there || self.folder.create(MARKER, bytes.clone())? == Created::Written {
                break;
            }
        }
        self.check_format()?;
        if self.folder.create(MARKER, bytes)? == Created::Written {
            return Err(RegistryError::NoConditionalWrites(self.url().to_owned()));
        }
        *is_checked = true;
        Ok(())
    }

    /// The name of an object in the folder of a subject.
    pub(crate) fn object(subject: &Subject, name: &str) -> String {
        format!("{SUBJECTS}/{subject}/{name}")
    }

    pub(crate) fn entry_object(subject: &Subject, number: u64) -> String {
        Self::object(subject, &format!("{LOG}/{number:010}.json"))
    }

    pub(crate) fn bundle_object(subject: &Subject, name: &BundleName) -> String {
        Self::object(subject, &format!("{BUNDLES}/{name}"))
    }

    /// The verified bytes and content of a version.
    pub(crate) fn content(
        &self,
        subject: &Subject,
        version: &Version,
    ) -> Result<(Bytes, Arc<Content>), RegistryError> {
        let name = Self::bundle_object(subject, &version.bundle);
        let at = |problem: Problem| problem.at(self.folder.url_of(&name));
        let max = version.size.min(MAX_BUNDLE);
        let Some(bytes) = self.folder.read(&name, max)? else {
            return Err(at(Problem::Missing("an entry refers to it".to_owned())).into());
        };
        Problem::unless_equal("size", &version.size, &(bytes.len() as u64)).map_err(at)?;
        let digest = Hash::of(&bytes);
        Problem::unless_equal("hash", &version.bundle.digest, &digest).map_err(at)?;
        let content =
            self.decoded(digest, &bytes).map_err(|error| at(Problem::Malformed(error.to_string())))?;
        if listed_roots(&content) == version.roots {
            Ok((bytes, content))
        } else {
            Err(at(Problem::Rule("its types are not those of its entry".to_owned())).into())
        }
    }

    /// The content of bytes with a hash.
    pub(crate) fn decoded(
        &self,
        digest: Hash,
        bytes: &[u8],
    ) -> Result<Arc<Content>, typeloom_interface::bundle::BundleError> {
        let contents = || self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(content) = contents().get(&digest) {
            return Ok(Arc::clone(content));
        }
        debug_assert!(MAX_BUNDLE <= ImportLimits::default().bytes as u64);
        let content = Arc::new(Content::import(bytes)?);
        if bytes.len() > MAX_CACHED_SIZE {
            return Ok(content);
        }
        let mut contents = contents();
        if contents.len() >= MAX_CACHED {
            contents.clear();
        }
        contents.insert(digest, Arc::clone(&content));
        Ok(content)
    }

    /// Random bits. They come from the operating system for each call, so processes differ after a fork.
    pub(crate) fn nonce() -> Result<Nonce, RegistryError> {
        let mut bits = [0; 16];
        getrandom::fill(&mut bits).map_err(|error| RegistryError::Random(error.to_string()))?;
        Ok(Nonce::of(bits))
    }

    /// Pauses after a lost race, for a random time below a bound that doubles (full jitter).
    pub(crate) fn pause(&self, lost: u32) -> Result<(), RegistryError> {
        let Contention { attempts: _, first_pause, longest_pause } = self.contention;
        let Some(doublings) = lost.checked_sub(2) else { return Ok(()) };
        let bound = first_pause.saturating_mul(1 << doublings.min(20)).min(longest_pause);
        let mut bits = [0; 2];
        getrandom::fill(&mut bits).map_err(|error| RegistryError::Random(error.to_string()))?;
        std::thread::sleep(bound * u32::from(u16::from_le_bytes(bits)) / u32::from(u16::MAX));
        Ok(())
    }

    /// The hash and the entry of bytes at a number of a log.
    pub(crate) fn decode(
        &self,
        subject: &Subject,
        number: u64,
        bytes: &[u8],
    ) -> Result<(Hash, Entry), RegistryError> {
        let at = |problem: Problem| problem.at(self.folder.url_of(&Self::entry_object(subject, number)));
        let entry = Entry::decode(bytes).map_err(at)?;
        Problem::unless_equal("subject", subject, &entry.subject).map_err(at)?;
        Problem::unless_equal("number", &number, &entry.entry).map_err(at)?;
        Ok((Hash::of(bytes), entry))
    }
}
