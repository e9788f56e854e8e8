//! Object stores by URL, with a blocking interface.
//!
//! | URL | store |
//! |---|---|
//! | `s3://BUCKET/KEY`, `s3a://` | Amazon S3 and compatible servers |
//! | `gs://BUCKET/KEY` | Google Cloud Storage |
//! | `az://CONTAINER/KEY`, `abfs://`, `abfss://` | Azure Blob Storage |
//!
//! The key is taken literally: it has no escapes, queries or fragments. Options come from the environment (`AWS_ENDPOINT`,
//! `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_NAME`, ...) and from the caller, which take precedence. Requests
//! that a store throttles (429, 503) or fails (5xx) are repeated with exponential backoff.
//!
//! **Invariant:** a client has one runtime with two threads, and a store for each bucket. It must not be used after a fork.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Component, Path};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::path::Path as Key;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt as _, RetryConfig};
use tokio::runtime::{Handle, Runtime};

use crate::error::FetchError;
use crate::reader::{Counts, FIRST_BLOCK, Limits, Source};
use crate::skeleton::skeleton;

/// Threads that drive connections. They do no work on models.
const THREADS: usize = 2;
/// Maximum number of objects of one listing.
const MAX_LISTED: usize = 10_000_000;

/// The scheme of a URL and the rest.
fn split(url: &str) -> Option<(Scheme, &str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = match scheme {
        "s3" | "s3a" => Scheme::Amazon,
        "gs" => Scheme::Google,
        "az" | "abfs" | "abfss" => Scheme::Azure,
        _ => return None,
    };
    let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
    Some((scheme, bucket, key))
}

/// Whether a text is a URL of an object store, rather than a path.
pub fn is_remote(url: &str) -> bool {
    split(url).is_some()
}

#[derive(Clone, Copy)]
enum Scheme {
    Amazon,
    Google,
    Azure,
}

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

/// Stores with their options.
#[derive(Debug)]
pub struct Client {
    /// Set until the client is dropped.
    runtime: Option<Runtime>,
    handle: Handle,
    options: Vec<(String, String)>,
    retry: RetryConfig,
    limits: Limits,
    stores: Mutex<HashMap<String, Arc<dyn ObjectStore>>>,
}

impl Client {
    /// A client. `options` are those of the stores, by their names in `object_store`, and `max_retries` and
    /// `retry_timeout` (in seconds).
    ///
    /// # Errors
    /// No store has such an option, or the threads cannot be started.
    pub fn new(options: Vec<(String, String)>, limits: Limits) -> Result<Self, FetchError> {
        let mut retry = RetryConfig::default();
        let mut kept = Vec::with_capacity(options.len());
        for (key, value) in options {
            let key = key.to_ascii_lowercase();
            let number = || {
                let error = |_| FetchError::Usage(format!("`{key}` must be a whole number, not `{value}`"));
                value.parse::<u32>().map_err(error)
            };
            match key.as_str() {
                "max_retries" => retry.max_retries = number()? as usize,
                "retry_timeout" => retry.retry_timeout = Duration::from_secs(number()?.into()),
                _ if is_option(&key) => kept.push((key, value)),
                _ => return Err(FetchError::Usage(format!("no object store has an option `{key}`"))),
            }
        }
        // An error means that the process has a provider already.
        drop(rustls::crypto::ring::default_provider().install_default());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("typeloom-fleet")
            .enable_all()
            .build()
            .map_err(|error| FetchError::Usage(format!("cannot start the threads of a client: {error}")))?;
        let handle = runtime.handle().clone();
        Ok(Self { runtime: Some(runtime), handle, options: kept, retry, limits, stores: Mutex::default() })
    }

    /// The skeleton of a model. Reading starts over once if the object is replaced meanwhile.
    ///
    /// # Errors
    /// The object cannot be read.
    pub fn fetch(&self, url: &str) -> Result<Fetched, FetchError> {
        let (store, key) = self.object(url)?;
        let fetch = || fetch(&self.handle, &*store, &key, url, self.limits);
        match fetch() {
            Err(FetchError::Changed(_)) => fetch(),
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
            self.handle.block_on(store.head(&key)).map_err(|error| FetchError::of(&sibling, error))
        };
        match self.object(&sibling).and_then(head) {
            Ok(meta) => Ok(meta.size),
            Err(FetchError::NotFound(_)) => Err(format!("`{location}` is not there")),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The URLs of all objects in a folder and the folders in it, ascending.
    ///
    /// # Errors
    /// The bucket cannot be listed.
    pub fn list(&self, folder: &str) -> Result<Vec<String>, FetchError> {
        let (store, key) = self.object(folder)?;
        let (_, bucket, _) = split(folder).ok_or_else(|| unknown(folder))?;
        let root = folder.split_once("://").map_or(folder, |(scheme, _)| scheme);
        let mut objects = store.list(Some(&key));
        let listing = async {
            let mut urls = Vec::new();
            while let Some(meta) = objects.try_next().await? {
                if urls.len() == MAX_LISTED {
                    return Ok(None);
                }
                urls.push(format!("{root}://{bucket}/{}", meta.location));
            }
            Ok(Some(urls))
        };
        let urls = self.handle.block_on(listing).map_err(|error| FetchError::of(folder, error))?;
        let mut urls =
            urls.ok_or_else(|| FetchError::Limit(format!("`{folder}` has more than {MAX_LISTED} objects")))?;
        urls.sort_unstable();
        Ok(urls)
    }

    /// The store and the key of a URL.
    fn object(&self, url: &str) -> Result<(Arc<dyn ObjectStore>, Key), FetchError> {
        let (scheme, bucket, key) = split(url).ok_or_else(|| unknown(url))?;
        let key = Key::parse(key).map_err(|error| FetchError::of(url, error.into()))?;
        let root = &url[..url.len() - url.split_once("://").map_or(0, |(_, rest)| rest.len()) + bucket.len()];
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = stores.get(root) {
            return Ok((Arc::clone(store), key));
        }
        let store = self.open(scheme, root).map_err(|error| FetchError::of(root, error))?;
        stores.insert(root.to_owned(), Arc::clone(&store));
        Ok((store, key))
    }

    fn open(&self, scheme: Scheme, root: &str) -> object_store::Result<Arc<dyn ObjectStore>> {
        // Connections are opened later, by the threads of the runtime.
        let _context = self.handle.enter();
        Ok(match scheme {
            Scheme::Amazon => {
                let builder = AmazonS3Builder::from_env().with_url(root).with_retry(self.retry.clone());
                let set = |builder: AmazonS3Builder, (key, value)| builder.with_config(key, value);
                Arc::new(self.options().fold(builder, set).build()?)
            }
            Scheme::Google => {
                let builder =
                    GoogleCloudStorageBuilder::from_env().with_url(root).with_retry(self.retry.clone());
                let set = |builder: GoogleCloudStorageBuilder, (key, value)| builder.with_config(key, value);
                Arc::new(self.options().fold(builder, set).build()?)
            }
            Scheme::Azure => {
                let builder = MicrosoftAzureBuilder::from_env().with_url(root).with_retry(self.retry.clone());
                let set = |builder: MicrosoftAzureBuilder, (key, value)| builder.with_config(key, value);
                Arc::new(self.options().fold(builder, set).build()?)
            }
        })
    }

    /// The options of one kind of store.
    fn options<K: FromStr>(&self) -> impl Iterator<Item = (K, &str)> {
        self.options.iter().filter_map(|(key, value)| Some((key.parse().ok()?, value.as_str())))
    }
}

impl Drop for Client {
    /// Ends the threads without waiting for them: a name lookup may take seconds, and after a fork there are none.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Whether a kind of store has this option.
fn is_option(key: &str) -> bool {
    AmazonS3ConfigKey::from_str(key).is_ok()
        || GoogleConfigKey::from_str(key).is_ok()
        || AzureConfigKey::from_str(key).is_ok()
}

fn unknown(url: &str) -> FetchError {
    FetchError::Usage(format!("`{url}` is not a URL of a supported object store (s3, gs, az)"))
}

/// One object at one version.
struct Object<'a> {
    runtime: &'a Handle,
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
        self.runtime.block_on(get).map_err(|error| FetchError::of(self.url, error))
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
            Err(FetchError::Changed(self.url.to_owned()))
        }
    }
}

fn fetch(
    runtime: &Handle,
    store: &dyn ObjectStore,
    key: &Key,
    url: &str,
    limits: Limits,
) -> Result<Fetched, FetchError> {
    let mut object = Object { runtime, store, key, url, meta: None };
    let (meta, first) = match object.get(0..FIRST_BLOCK) {
        // Stores refuse every range of an empty object.
        Err(FetchError::Store(at, reason)) => match runtime.block_on(store.head(key)) {
            Ok(meta) if meta.size == 0 => (meta, Bytes::new()),
            _ => return Err(FetchError::Store(at, reason)),
        },
        result => result?,
    };
    if first.len() as u64 != meta.size.min(FIRST_BLOCK) {
        return Err(FetchError::Store(url.to_owned(), "the store does not read byte ranges".to_owned()));
    }
    let (size, version) = (meta.size, meta.e_tag.clone());
    object.meta = Some(meta);
    let (skeleton, counts) = skeleton(&mut object, limits, size, first)?;
    Ok(Fetched { skeleton, size, version, counts })
}

#[cfg(test)]
mod tests;
