//! Object stores and local folders by URL, with a blocking interface.
//!
//! | URL | store |
//! |---|---|
//! | `s3://BUCKET/KEY`, `s3a://` | Amazon S3 and compatible servers |
//! | `gs://BUCKET/KEY` | Google Cloud Storage |
//! | `az://CONTAINER/KEY`, `abfs://`, `abfss://` | Azure Blob Storage |
//! | `file:///FOLDER`, or a path | a folder of this machine |
//!
//! The key is taken literally: it has no escapes, queries or fragments. Options come from the environment
//! (`AWS_ENDPOINT`, `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_NAME`, ...) and from the caller, which
//! take precedence. Requests that a store throttles (429, 503) or fails (5xx) are repeated with exponential
//! backoff.
//!
//! [`Stores`] opens stores; [`Folder`] reads, creates and lists objects below one prefix. Stores other than
//! folders need the feature `cloud`.
//!
//! **Invariant:** a [`Stores`] has one runtime with two threads, and a store for each bucket. It must not be
//! used after a fork, nor inside of an asynchronous runtime.
//!
//! **Invariant:** links and special files in a local folder are refused.
//!
//! **Invariant:** a write to a local folder is on the disk when it returns: the file and its folder are
//! synchronised.

mod address;
mod by_url;
mod error;
mod folder;
mod local;
mod staging;

pub use address::is_remote;
pub use by_url::{Missing, Stores};
pub use error::StoreError;
pub use folder::{Created, Folder, Listed};
