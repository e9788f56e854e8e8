//! Exchange of interfaces between processes, as bundles of a pool.

use typeloom_pool::{Bundle, Digest, ExportError, ImportError, NotPortable, Pool};
use typeloom_solver::universe::Universe;

use crate::{EncodeError, Interface, NotAnInterface};

/// Error of writing or reading a bundle of interfaces.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// An interface has no portable type.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A type contains inference variables.
    #[error(transparent)]
    NotPortable(#[from] NotPortable),
    /// The types cannot be exported.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The bytes are not a bundle.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A type of the bundle is not an interface.
    #[error("`{label}` in the bundle is not an interface: {error}")]
    NotAnInterface {
        /// The label of the type.
        label: String,
        /// The error of decoding it.
        error: NotAnInterface,
    },
}

/// An interface with its identity in other processes.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The label in the bundle.
    pub label: String,
    /// The decoded interface.
    pub interface: Interface,
    /// The digest of the type.
    pub digest: Digest,
    /// The type on one line.
    pub signature: String,
}

impl Exported {
    /// Computes the digest and the signature of an interface.
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

/// Writes interfaces into a bundle, with the names of their symbols.
///
/// # Errors
/// [`BundleError`].
pub fn export_interfaces(interfaces: &[Exported]) -> Result<Bundle, BundleError> {
    let mut pool = Pool::new();
    let mut named = Vec::with_capacity(interfaces.len());
    for exported in interfaces {
        named.push((exported.label.as_str(), exported.interface.to_pool_named(&mut pool)?));
    }
    let roots: Vec<_> = named.iter().map(|(label, (ty, names))| (*label, *ty, names.as_slice())).collect();
    Ok(pool.export_named(&roots)?)
}

/// Decodes the interface at a root of an imported bundle.
///
/// # Errors
/// [`BundleError::NotAnInterface`].
pub fn exported(pool: &Pool, root: typeloom_pool::ImportedRoot) -> Result<Exported, BundleError> {
    let interface = Interface::from_pool_named(pool, root.ty, &root.names, Universe::standard())
        .map_err(|error| BundleError::NotAnInterface { label: root.label.clone(), error })?;
    let signature = pool.signature(root.ty);
    Ok(Exported { label: root.label, interface, digest: root.digest, signature })
}

/// Reads the interfaces of a bundle. Symbols have the names in the bundle; without names, they are `A`, `B`,
/// ...
///
/// # Errors
/// [`BundleError`].
pub fn import_interfaces(bytes: &[u8]) -> Result<Vec<Exported>, BundleError> {
    let mut pool = Pool::new();
    let roots = pool.import(bytes)?;
    roots.into_iter().map(|root| exported(&pool, root)).collect()
}
