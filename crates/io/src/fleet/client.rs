//! Models in object stores by URL, with a blocking interface. [`Stores`] lists the URLs and options.
//!
//! **Invariant:** a client must not be used after a fork, see [`Stores`].

use std::ops::Range;
use std::path::{Component, Path};
use std::sync::Arc;

use crate::stores::{StoreError, Stores};
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::path::Path as Key;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt as _};

use crate::fleet::error::FetchError;
use crate::fleet::reader::{Counts, FIRST_BLOCK, Limits, Source};
use crate::fleet::skeleton::skeleton;

/// Maximum number of objects of one listing.
const MAX_LISTED: usize = 10_000_000;

/// The skeleton of a model.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// A valid ONNX file, if the object is one.
    pub skeleton: Bytes,
    /// Size of the object in bytes.
    pub size: u64,
    /// The entity tag of the object.
    pub version: Option<String>,
    pub counts: Counts,
}

/// Stores with the limits of reads.
#[derive(Debug)]
pub struct Client {
    stores: Stores,
    limits: Limits,
}

impl Client {
    /// A client. `options` are those of [`Stores::new`].
    ///
    /// # Errors
    /// No store has such an option, or the threads cannot be started.
    pub fn new(options: Vec<(String, String)>, limits: Limits) -> Result<Self, FetchError> {
        Ok(Self { stores: Stores::new(options)?, limits })
    }

    /// The skeleton of a model. Reading starts over once if the object is replaced meanwhile.
    ///
    /// # Errors
    /// The object cannot be read.
    pub fn fetch(&self, url: &str) -> Result<Fetched, FetchError> {
        let (store, key) = self.stores.object(url)?;
        let fetch = || fetch(&self.stores, &*store, &key, url, self.limits);
        match fetch() {
            Err(FetchError::Access(StoreError::Changed(_))) => fetch(),
            result => result,
        }
    }

    /// The size in bytes of a file that the model at `url` refers to by the relative path `location`.
    ///
    /// # Errors
    /// The path leaves the folder of the model, or the object cannot be accessed.
    pub fn size(&self, url: &str, location: &str) -> Result<u64, String> {
        let path = Path::new(location);
        let is_plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        let mut parts = path.components().filter(|part| *part != Component::CurDir).peekable();
        if !path.components().all(is_plain) || parts.peek().is_none() {
            return Err(format!("`{location}` is not a path inside the model's folder"));
        }
        let mut sibling = url.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        for part in parts {
            sibling.push('/');
            sibling.push_str(&part.as_os_str().to_string_lossy());
        }
        let head = |(store, key): (Arc<dyn ObjectStore>, Key)| {
            self.stores.wait(store.head(&key)).map_err(|error| StoreError::of(&sibling, error))
        };
        match self.stores.object(&sibling).and_then(head) {
            Ok(meta) => Ok(meta.size),
            Err(StoreError::NotFound(_)) => Err(format!("`{location}` is not there")),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The URLs of all objects in a folder and the folders in it, ascending.
    ///
    /// # Errors
    /// The bucket cannot be listed.
    pub fn list(&self, folder: &str) -> Result<Vec<String>, FetchError> {
        let (store, key) = self.stores.object(folder)?;
        let root = root(folder);
        let mut objects = store.list(Some(&key));
        let listing = async {
            let mut urls = Vec::new();
            while let Some(meta) = objects.try_next().await? {
                if urls.len() == MAX_LISTED {
                    return Ok(None);
                }
                urls.push(format!("{root}/{}", meta.location));
            }
            Ok(Some(urls))
        };
        let urls = self.stores.wait(listing).map_err(|error| StoreError::of(folder, error))?;
        let mut urls =
            urls.ok_or_else(|| FetchError::Limit(format!("`{folder}` has more than {MAX_LISTED} objects")))?;
        urls.sort_unstable();
        Ok(urls)
    }
}

/// The bucket of a URL.
fn root(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    &url[..url[start..].find('/').map_or(url.len(), |at| start + at)]
}

/// One object at one version.
struct Object<'a> {
    stores: &'a Stores,
    store: &'a dyn ObjectStore,
    key: &'a Key,
    url: &'a str,
    /// The object as the first read found it.
    meta: Option<ObjectMeta>,
}

impl Object<'_> {
    fn get(&self, range: Range<u64>) -> Result<(ObjectMeta, Bytes), FetchError> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(range)),
            if_match: self.meta.as_ref().and_then(|meta| meta.e_tag.clone()),
            ..GetOptions::default()
        };
        let get = async {
            let result = self.store.get_opts(self.key, options).await?;
            let meta = result.meta.clone();
            Ok((meta, result.bytes().await?))
        };
        Ok(self.stores.wait(get).map_err(|error| StoreError::of(self.url, error))?)
    }
}

impl Source for Object<'_> {
    fn read(&mut self, start: u64, end: u64) -> Result<Bytes, FetchError> {
        let (meta, bytes) = self.get(start..end)?;
        // Not every compatible server evaluates the condition.
        let is_same = |first: &ObjectMeta| (&first.e_tag, first.size) == (&meta.e_tag, meta.size);
        if self.meta.as_ref().is_some_and(is_same) {
            Ok(bytes)
        } else {
            Err(StoreError::Changed(self.url.to_owned()).into())
        }
    }
}

fn fetch(
    stores: &Stores,
    store: &dyn ObjectStore,
    key: &Key,
    url: &str,
    limits: Limits,
) -> Result<Fetched, FetchError> {
    let mut object = Object { stores, store, key, url, meta: None };
    let (meta, first) = match object.get(0..FIRST_BLOCK) {
        // Stores refuse every range of an empty object.
        Err(error @ FetchError::Access(StoreError::Store(..))) => match stores.wait(store.head(key)) {
            Ok(meta) if meta.size == 0 => (meta, Bytes::new()),
            _ => return Err(error),
        },
        result => result?,
    };
    if first.len() as u64 != meta.size.min(FIRST_BLOCK) {
        let reason = "the store does not read byte ranges";
        return Err(StoreError::Store(url.to_owned(), reason.to_owned()).into());
    }
    let (size, version) = (meta.size, meta.e_tag.clone());
    object.meta = Some(meta);
    let (skeleton, counts) = skeleton(&mut object, limits, size, first)?;
    Ok(Fetched { skeleton, size, version, counts })
}

#[cfg(test)]
mod tests;
