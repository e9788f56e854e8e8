//! Opens stores, with the options of all of them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use tokio::runtime::{Handle, Runtime};

use crate::stores::address::{Remote, local, unknown};
use crate::stores::error::StoreError;
use crate::stores::folder::Folder;

#[cfg(feature = "cloud")]
mod cloud;

/// Threads that drive connections.
const THREADS: usize = 2;

/// Treatment of a local folder that does not exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missing {
    /// Return [`StoreError::NotFound`].
    Refuse,
    /// Create the folder and those above it.
    Create,
}

/// Stores with their options.
#[derive(Debug)]
pub struct Stores {
    runtime: Arc<Threads>,
    options: Vec<(String, String)>,
    retry: Retry,
    buckets: Mutex<HashMap<String, Arc<dyn ObjectStore>>>,
}

/// How requests are repeated, where it differs from the default.
#[derive(Clone, Copy, Debug, Default)]
struct Retry {
    times: Option<usize>,
    timeout: Option<Duration>,
}

/// The runtime of a [`Stores`] and of its folders.
#[derive(Debug)]
pub(crate) struct Threads {
    /// Set until it is dropped.
    runtime: Option<Runtime>,
    handle: Handle,
}

impl Threads {
    fn start() -> Result<Self, StoreError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("typeloom-stores")
            .enable_all()
            .build()
            .map_err(|error| StoreError::Usage(format!("cannot start the threads of a client: {error}")))?;
        let handle = runtime.handle().clone();
        Ok(Self { runtime: Some(runtime), handle })
    }

    pub(crate) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.handle.block_on(future)
    }
}

impl Drop for Threads {
    /// Ends the threads without waiting for them: a name lookup may take seconds, and after a fork there are
    /// none.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Stores {
    /// Stores with options, by their names in `object_store`, and with `max_retries` and `retry_timeout` (in
    /// seconds).
    ///
    /// # Errors
    /// No store has such an option, or the threads cannot be started.
    pub fn new(options: Vec<(String, String)>) -> Result<Self, StoreError> {
        let mut retry = Retry::default();
        let mut kept = Vec::with_capacity(options.len());
        for (key, value) in options {
            let key = key.to_ascii_lowercase();
            let number = || {
                let error = |_| StoreError::Usage(format!("`{key}` must be a whole number, not `{value}`"));
                value.parse::<u32>().map_err(error)
            };
            match key.as_str() {
                "max_retries" => retry.times = Some(number()? as usize),
                "retry_timeout" => retry.timeout = Some(Duration::from_secs(number()?.into())),
                _ => {
                    check_option(&key)?;
                    kept.push((key, value));
                }
            }
        }
        Ok(Self { runtime: Arc::new(Threads::start()?), options: kept, retry, buckets: Mutex::default() })
    }

    /// Runs a request to the end.
    pub fn wait<F: Future>(&self, future: F) -> F::Output {
        self.runtime.wait(future)
    }

    /// The store and the key of a URL of an object store.
    ///
    /// # Errors
    /// The URL has no known scheme, or the store cannot be opened.
    pub fn object(&self, url: &str) -> Result<(Arc<dyn ObjectStore>, Key), StoreError> {
        let remote = Remote::parse(url).ok_or_else(|| unknown(url))?;
        let key = remote.key(url)?;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = buckets.get(remote.root) {
            return Ok((Arc::clone(store), key));
        }
        let store = self.open(&remote)?;
        buckets.insert(remote.root.to_owned(), Arc::clone(&store));
        Ok((store, key))
    }

    /// The folder of a URL or path.
    ///
    /// # Errors
    /// The URL has an unknown scheme, the store cannot be opened, or the local folder does not exist.
    pub fn folder(&self, url: &str, missing: Missing) -> Result<Folder, StoreError> {
        if Remote::parse(url).is_some() {
            let (store, key) = self.object(url)?;
            return Ok(self.folder_of(store, key, url));
        }
        let path = local(url)?;
        let refuse = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => StoreError::NotFound(url.to_owned()),
            std::io::ErrorKind::PermissionDenied => StoreError::Denied(url.to_owned(), error.to_string()),
            _ => StoreError::Store(url.to_owned(), error.to_string()),
        };
        if missing == Missing::Create {
            std::fs::create_dir_all(&path).map_err(refuse)?;
        }
        if !std::fs::metadata(&path).map_err(refuse)?.is_dir() {
            return Err(StoreError::Usage(format!("`{url}` is not a folder")));
        }
        let store = local_store(&path).map_err(|error| StoreError::of(url, error))?;
        Ok(self.folder_of(Arc::new(store.with_fsync(true)), Key::default(), url).of_path(path))
    }

    /// A folder of a store that the caller opened; `url` is its name in messages.
    #[must_use]
    pub fn folder_of(&self, store: Arc<dyn ObjectStore>, key: Key, url: &str) -> Folder {
        Folder::new(Arc::clone(&self.runtime), store, key, url)
    }

    #[cfg(not(feature = "cloud"))]
    fn open(&self, remote: &Remote<'_>) -> Result<Arc<dyn ObjectStore>, StoreError> {
        // Options are of the stores that this build leaves out.
        let _ = (&self.options, self.retry.times, self.retry.timeout, remote.scheme);
        Err(absent(&format!("cannot open `{}`", remote.root)))
    }
}

fn local_store(path: &Path) -> object_store::Result<LocalFileSystem> {
    LocalFileSystem::new_with_prefix(path)
}

/// Refuses an option that no kind of store has.
#[cfg(feature = "cloud")]
fn check_option(option: &str) -> Result<(), StoreError> {
    if cloud::is_option(option) {
        return Ok(());
    }
    Err(StoreError::Usage(format!("no object store has an option `{option}`")))
}

/// Refuses an option: folders have none.
#[cfg(not(feature = "cloud"))]
fn check_option(option: &str) -> Result<(), StoreError> {
    Err(absent(&format!("cannot use the option `{option}`")))
}

/// The error of a build without object stores.
#[cfg(not(feature = "cloud"))]
fn absent(problem: &str) -> StoreError {
    StoreError::Usage(format!("{problem}: this build has no object stores (feature `cloud`)"))
}
