//! Interfaces in bundles: out of one process and into another.

use typeloom_pool::{Bundle, Digest, ExportError, ImportError, NotPortable, Pool};
use typeloom_solver::universe::Universe;

use crate::{EncodeError, Interface, NotAnInterface};

/// Why interfaces do not go into a bundle, or do not come out of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// An interface is no portable type.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A type with holes.
    #[error(transparent)]
    NotPortable(#[from] NotPortable),
    /// The types cannot be written.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The bytes are no bundle.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The bundle carries something else.
    #[error("`{label}` in the bundle is not an interface: {error}")]
    NotAnInterface {
        /// The label of the type.
        label: String,
        /// Why.
        error: NotAnInterface,
    },
}

/// An interface as other processes know it.
#[derive(Clone)]
pub struct Exported {
    /// What it is called.
    pub label: String,
    /// Its parameters.
    pub interface: Interface,
    /// The digest of its type.
    pub digest: Digest,
    /// Its type on one line.
    pub signature: String,
}

impl Exported {
    /// Gives an interface its identity.
    ///
    /// # Errors
    /// [`BundleError::Encode`].
    pub fn new(label: &str, interface: Interface) -> Result<Self, BundleError> {
        let mut pool = Pool::new();
        let ty = interface.to_pool(&mut pool)?;
        let (digest, signature) = (pool.digest(ty)?, pool.signature(ty));
        Ok(Self { label: label.to_owned(), interface, digest, signature })
    }
}

/// Writes interfaces into a bundle.
///
/// # Errors
/// [`BundleError`].
pub fn export_interfaces(interfaces: &[Exported]) -> Result<Bundle, BundleError> {
    let mut pool = Pool::new();
    let mut roots = Vec::with_capacity(interfaces.len());
    for exported in interfaces {
        roots.push((exported.label.as_str(), exported.interface.to_pool(&mut pool)?));
    }
    Ok(pool.export(&roots)?)
}

/// The interface at a root of an imported bundle.
///
/// # Errors
/// [`BundleError::NotAnInterface`].
pub fn exported(pool: &Pool, root: typeloom_pool::ImportedRoot) -> Result<Exported, BundleError> {
    let interface = Interface::from_pool(pool, root.ty, Universe::standard())
        .map_err(|error| BundleError::NotAnInterface { label: root.label.clone(), error })?;
    let signature = pool.signature(root.ty);
    Ok(Exported { label: root.label, interface, digest: root.digest, signature })
}

/// Reads the interfaces in a bundle; symbols come back under letters, as their names are no part of a type.
///
/// # Errors
/// [`BundleError`].
pub fn import_interfaces(bytes: &[u8]) -> Result<Vec<Exported>, BundleError> {
    let mut pool = Pool::new();
    let roots = pool.import(bytes)?;
    roots.into_iter().map(|root| exported(&pool, root)).collect()
}
