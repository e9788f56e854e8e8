//! The stores of providers.

use std::str::FromStr;
use std::sync::Arc;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::{ObjectStore, RetryConfig};

use super::Stores;
use crate::stores::address::{Remote, Scheme};
use crate::stores::error::StoreError;

impl Stores {
    pub(super) fn open(&self, remote: &Remote<'_>) -> Result<Arc<dyn ObjectStore>, StoreError> {
        // An error means that the process has a provider already.
        drop(rustls::crypto::ring::default_provider().install_default());
        // Connections are opened later, by the threads of the runtime.
        let _context = self.runtime.handle.enter();
        self.build(remote).map_err(|error| StoreError::of(remote.root, error))
    }

    fn build(&self, remote: &Remote<'_>) -> object_store::Result<Arc<dyn ObjectStore>> {
        let root = remote.root;
        let mut retry = RetryConfig::default();
        retry.max_retries = self.retry.times.unwrap_or(retry.max_retries);
        retry.retry_timeout = self.retry.timeout.unwrap_or(retry.retry_timeout);
        Ok(match remote.scheme {
            Scheme::Amazon => {
                let builder = AmazonS3Builder::from_env().with_url(root).with_retry(retry);
                let set = |builder: AmazonS3Builder, (key, value)| builder.with_config(key, value);
                Arc::new(self.options().fold(builder, set).build()?)
            }
            Scheme::Google => {
                let builder = GoogleCloudStorageBuilder::from_env().with_url(root).with_retry(retry);
                let set = |builder: GoogleCloudStorageBuilder, (key, value)| builder.with_config(key, value);
                Arc::new(self.options().fold(builder, set).build()?)
            }
            Scheme::Azure => {
                let builder = MicrosoftAzureBuilder::from_env().with_url(root).with_retry(retry);
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

/// Whether a kind of store has this option.
pub(super) fn is_option(key: &str) -> bool {
    AmazonS3ConfigKey::from_str(key).is_ok()
        || GoogleConfigKey::from_str(key).is_ok()
        || AzureConfigKey::from_str(key).is_ok()
}
