//! Interfaces in bundles: out of one process and into another.

use typeloom_interface::{EncodeError, Interface, NotAnInterface};
use typeloom_pool::{Bundle, Digest, ExportError, ImportError, NotPortable, Pool};

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

/// The interfaces that a compiled program says it has: of its main function and of its parts; nothing for a model that
/// was not compiled. What it needs of slots is not among them. Whether the program is what it says,
/// [`Artifact::load`](crate::Artifact::load) finds out.
///
/// # Errors
/// [`BundleError`].
pub fn artifact_interfaces(file: &[u8]) -> Result<Option<Vec<Exported>>, BundleError> {
    let Some(bundle) = typeloom_compiler::artifact::recorded_interface(file) else { return Ok(None) };
    let mut pool = Pool::new();
    let mut roots = pool.import(&bundle)?;
    roots.retain(|root| !root.label.starts_with(typeloom_compiler::passes::export_interface::SLOTS));
    // The main function is the one that is no part; of a model that was not compiled it is called so.
    for root in &mut roots {
        if !root.label.starts_with(typeloom_compiler::passes::export_interface::PARTS) {
            root.label = typeloom_interface::MAIN.to_owned();
        }
    }
    roots.into_iter().map(|root| exported(&pool, root)).collect::<Result<_, _>>().map(Some)
}

fn exported(pool: &Pool, root: typeloom_pool::ImportedRoot) -> Result<Exported, BundleError> {
    let interface = Interface::from_pool(pool, root.ty, crate::universe())
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
