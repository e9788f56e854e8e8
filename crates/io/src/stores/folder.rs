//! Objects below one prefix of a store.
//!
//! [`Folder`] is the interface of a registry to its store. It reads, creates, replaces, deletes and lists
//! objects by name, and has the same methods for a bucket and for a folder on disk. For the URL
//! `s3://models/registry`:
//!
//! | call | result |
//! |---|---|
//! | `read("a/log/1", 4096)` | the object `registry/a/log/1` of the bucket, or `None` |
//! | `create("a/log/2", bytes)` | `Written`, or `Exists` if there is one already |
//! | `list("a", Some("a/log/1"), 100)` | the objects below `a/` with names after `a/log/1`, in order |
//!
//! `create` is a conditional write, which the store decides atomically. It is the compare-and-swap of a log:
//! of several writers, one gets [`Created::Written`]. A store may repeat a request whose answer was lost and
//! then find its own object, so [`Created::Exists`] does not prove that another writer was first.
//!
//! **Invariant:** [`Folder::read`], [`Folder::list`] and [`Folder::entries`] never return more than the
//! maximum of the caller. The size that a server announces is not trusted: bytes are counted while they
//! arrive.
//!
//! **Invariant:** operations on objects of a local folder refuse a path through a link or a special file (see
//! `local`).
//!
//! **Limits:** a call blocks its thread until the store answers. There are no partial reads and no
//! transactions over several objects. [`Folder::entries`] compares the maximum with the complete answer of
//! the store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt as _;
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt as _, PutMode, PutPayload};

use crate::stores::by_url::Threads;
use crate::stores::error::{StoreError, is_of_bucket};
use crate::stores::local;
use crate::stores::staging;

/// Objects below one prefix of a store, by names relative to it. Parts of a name are separated by `/`.
#[derive(Clone, Debug)]
pub struct Folder {
    runtime: Arc<Threads>,
    store: Arc<dyn ObjectStore>,
    prefix: Key,
    url: Arc<str>,
    /// The path of a local folder.
    path: Option<Arc<PathBuf>>,
}

/// Outcome of [`Folder::create`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Created {
    /// The object was created.
    Written,
    /// There is an object of this name already. It may be the own one, if a request was repeated.
    Exists,
}

/// An object in a listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// The name relative to the folder.
    pub name: String,
    /// The size in bytes.
    pub size: u64,
    /// The time of the last change in seconds of the Unix epoch, by the clock of the store.
    pub modified: i64,
}

impl Folder {
    pub(crate) fn new(runtime: Arc<Threads>, store: Arc<dyn ObjectStore>, prefix: Key, url: &str) -> Self {
        let url = Arc::from(url.strip_suffix('/').unwrap_or(url));
        Self { runtime, store, prefix, url, path: None }
    }

    pub(crate) fn of_path(mut self, path: PathBuf) -> Self {
        self.path = Some(Arc::new(path));
        self
    }

    /// The URL or path as it was given.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The path of a local folder.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref().map(PathBuf::as_path)
    }

    /// The URL or path of an object.
    #[must_use]
    pub fn url_of(&self, name: &str) -> String {
        if name.is_empty() { self.url.to_string() } else { format!("{}/{name}", self.url) }
    }

    fn key(&self, name: &str) -> Result<Key, StoreError> {
        let prefix = self.prefix.as_ref();
        let key = if prefix.is_empty() || name.is_empty() {
            Key::parse(if name.is_empty() { prefix } else { name })
        } else {
            Key::parse(format!("{prefix}/{name}"))
        };
        key.map_err(|error| self.error(name, error.into()))
    }

    fn check_links(&self, name: &str) -> Result<(), StoreError> {
        self.path().map_or(Ok(()), |path| local::check(path, name))
    }

    fn error(&self, name: &str, error: object_store::Error) -> StoreError {
        StoreError::of(&self.url_of(name), error)
    }

    /// The bytes of an object; `None` if it does not exist.
    ///
    /// # Errors
    /// The object has more than `max` bytes, or cannot be read.
    pub fn read(&self, name: &str, max: u64) -> Result<Option<Bytes>, StoreError> {
        self.check_links(name)?;
        let key = self.key(name)?;
        let read = async {
            let result = match self.store.get(&key).await {
                Err(error @ object_store::Error::NotFound { .. }) if !is_of_bucket(&error) => {
                    return Ok(None);
                }
                result => result?,
            };
            let size = result.meta.size;
            if size > max {
                return Ok(Some(Err(size)));
            }
            // A server can send more than it announces.
            let mut bytes = BytesMut::new();
            let mut stream = result.into_stream();
            while let Some(part) = stream.try_next().await? {
                if (bytes.len() + part.len()) as u64 > max {
                    return Ok(Some(Err(max + 1)));
                }
                bytes.extend_from_slice(&part);
            }
            Ok(Some(Ok(bytes.freeze())))
        };
        match self.runtime.wait(read).map_err(|error| self.error(name, error))? {
            Some(Err(size)) => Err(StoreError::TooLarge(self.url_of(name), size, max)),
            Some(Ok(bytes)) => Ok(Some(bytes)),
            None => Ok(None),
        }
    }

    /// Creates an object that does not exist yet. Of several writers at the same time, one gets
    /// [`Created::Written`].
    ///
    /// # Errors
    /// The store refuses the request, or does not answer. In the second case, the object may exist.
    pub fn create(&self, name: &str, bytes: Bytes) -> Result<Created, StoreError> {
        self.check_links(name)?;
        let key = self.key(name)?;
        let put = self.store.put_opts(&key, PutPayload::from_bytes(bytes), PutMode::Create.into());
        match self.runtime.wait(put) {
            Ok(_) => Ok(Created::Written),
            // Some servers answer a failed condition with 412 or 304.
            Err(
                object_store::Error::AlreadyExists { .. }
                | object_store::Error::Precondition { .. }
                | object_store::Error::NotModified { .. },
            ) => Ok(Created::Exists),
            Err(error) => Err(self.error(name, error)),
        }
    }

    /// Creates or replaces an object.
    ///
    /// # Errors
    /// The store refuses the request, or does not answer.
    pub fn replace(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.check_links(name)?;
        let key = self.key(name)?;
        let put = self.store.put(&key, PutPayload::from_bytes(bytes));
        self.runtime.wait(put).map(drop).map_err(|error| self.error(name, error))
    }

    /// Deletes an object, if it exists.
    ///
    /// # Errors
    /// The store refuses the request, or does not answer.
    pub fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.check_links(name)?;
        let key = self.key(name)?;
        match self.runtime.wait(self.store.delete(&key)) {
            Err(error @ object_store::Error::NotFound { .. }) if !is_of_bucket(&error) => Ok(()),
            result => result.map_err(|error| self.error(name, error)),
        }
    }

    /// All objects below a folder in ascending order, those after the name `after` only.
    ///
    /// # Errors
    /// There are more than `max` objects, or the store does not list them.
    pub fn list(&self, folder: &str, after: Option<&str>, max: usize) -> Result<Vec<Listed>, StoreError> {
        let key = self.key(folder)?;
        let found = match self.path() {
            Some(path) => local::list(path, folder, after, max)?,
            None => self.list_remote(folder, &key, after, max)?,
        };
        let mut found = found.ok_or_else(|| StoreError::TooMany(self.url_of(folder), max))?;
        found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// The objects below a folder of a store that is no local folder; `None` if there are more than `max`.
    fn list_remote(
        &self,
        folder: &str,
        key: &Key,
        after: Option<&str>,
        max: usize,
    ) -> Result<Option<Vec<Listed>>, StoreError> {
        let mut objects = match after {
            Some(after) => self.store.list_with_offset(Some(key), &self.key(after)?),
            None => self.store.list(Some(key)),
        };
        let listing = async {
            let mut found = Vec::new();
            while let Some(meta) = objects.try_next().await? {
                if found.len() == max {
                    return Ok(None);
                }
                found.extend(self.listed(&meta));
            }
            Ok(Some(found))
        };
        self.runtime.wait(listing).map_err(|error| self.error(folder, error))
    }

    fn listed(&self, meta: &object_store::ObjectMeta) -> Option<Listed> {
        Some(Listed {
            name: self.relative(&meta.location)?.to_owned(),
            size: meta.size,
            modified: meta.last_modified.timestamp(),
        })
    }

    fn relative<'k>(&self, key: &'k Key) -> Option<&'k str> {
        match self.prefix.as_ref() {
            "" => Some(key.as_ref()),
            prefix => key.as_ref().strip_prefix(prefix)?.strip_prefix('/'),
        }
    }

    /// The folders and the objects directly in a folder, each in ascending order.
    ///
    /// # Errors
    /// There are more than `max` of them, or the store does not list them.
    pub fn entries(&self, folder: &str, max: usize) -> Result<(Vec<String>, Vec<Listed>), StoreError> {
        self.check_links(folder)?;
        let key = self.key(folder)?;
        let found = match self.runtime.wait(self.store.list_with_delimiter(Some(&key))) {
            Err(error @ object_store::Error::NotFound { .. }) if !is_of_bucket(&error) => {
                return Ok((Vec::new(), Vec::new()));
            }
            result => result.map_err(|error| self.error(folder, error))?,
        };
        if found.common_prefixes.len() + found.objects.len() > max {
            return Err(StoreError::TooMany(self.url_of(folder), max));
        }
        let mut folders: Vec<String> =
            found.common_prefixes.iter().filter_map(|key| self.relative(key)).map(str::to_owned).collect();
        let mut objects: Vec<Listed> = found.objects.iter().filter_map(|meta| self.listed(meta)).collect();
        folders.sort_unstable();
        objects.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok((folders, objects))
    }

    /// The last parts of the names of the folders directly in a folder, in ascending order; `None` if the store
    /// does not list them within a time. A large folder takes many requests.
    #[must_use]
    pub fn folders_within(&self, folder: &str, time: Duration) -> Option<Vec<String>> {
        self.check_links(folder).ok()?;
        let key = self.key(folder).ok()?;
        let listing = async { tokio::time::timeout(time, self.store.list_with_delimiter(Some(&key))).await };
        let found = self.runtime.wait(listing).ok()?.ok()?;
        let mut names: Vec<String> =
            found.common_prefixes.iter().filter_map(|key| Some(key.filename()?.to_owned())).collect();
        names.sort_unstable();
        Some(names)
    }

    /// Of a local folder: the files that interrupted writes of objects left directly in `folder`, if they
    /// were last changed at `before` or earlier (seconds of the Unix epoch). `is_object` tests the names of
    /// objects. Readers never see these files. Other stores have none.
    ///
    /// # Errors
    /// The folder cannot be listed.
    pub fn interrupted(
        &self,
        folder: &str,
        before: i64,
        is_object: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, StoreError> {
        let Some(path) = self.path() else { return Ok(Vec::new()) };
        local::check(path, folder)?;
        staging::find(&path.join(folder), before, is_object)
            .map_err(|error| StoreError::Store(self.url_of(folder), error.to_string()))
    }

    /// Removes files that [`interrupted`](Self::interrupted) listed.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn remove_interrupted(&self, folder: &str, names: &[String]) -> Result<(), StoreError> {
        let Some(path) = self.path() else { return Ok(()) };
        local::check(path, folder)?;
        staging::remove(&path.join(folder), names)
            .map_err(|error| StoreError::Store(self.url_of(folder), error.to_string()))
    }
}
