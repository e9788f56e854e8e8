//! Comparison of the contents of two bundles, export by export.
//!
//! A bundle holds [interfaces of models](Content::Interfaces) or [other types](Content::Types), such as the
//! signatures of a Rust crate. Exports are paired by label. A label that only the old side has breaks callers
//! of the old side, and a label that only the new side has breaks callers of the new side that get the old
//! one.

use std::collections::BTreeMap;

use typeloom_pool::compat::{Breaks, CompatCache, Direction, ModuleCompat};
use typeloom_pool::{Bundle, Digest, Idx, ImportError, NotPortable, Pool};

use crate::bundle::{BundleError, Exported, exported};
use crate::{InterfaceComparison, PortIdentity, compare};

/// The verified content of a bundle.
#[derive(Clone, Debug)]
pub enum Content {
    /// Interfaces of models, in the order of the bundle.
    Interfaces(Vec<Exported>),
    /// A bundle with a type that is not an interface.
    Types(Types),
}

/// Types of a bundle.
#[derive(Clone, Debug)]
pub struct Types {
    /// The bundle.
    pub bundle: Bundle,
    /// The labels and digests of its roots, in order.
    pub roots: Vec<(String, Digest)>,
}

impl Content {
    /// Imports a bundle. Every digest is recomputed.
    ///
    /// # Errors
    /// [`BundleError::Import`].
    pub fn import(bytes: &[u8]) -> Result<Self, BundleError> {
        let mut pool = Pool::new();
        let roots = pool.import(bytes)?;
        let interfaces: Result<Vec<_>, _> = roots.iter().map(|root| exported(&pool, root.clone())).collect();
        match interfaces {
            Ok(interfaces) => Ok(Self::Interfaces(interfaces)),
            Err(BundleError::NotAnInterface { .. }) => {
                let roots = roots.into_iter().map(|root| (root.label, root.digest)).collect();
                Ok(Self::Types(Types { bundle: Bundle::from_bytes(bytes.to_vec()), roots }))
            }
            Err(error) => Err(error),
        }
    }

    /// The labels and digests of the types, in the order of the bundle.
    #[must_use]
    pub fn roots(&self) -> Vec<(&str, Digest)> {
        match self {
            Self::Interfaces(list) => list.iter().map(|it| (it.label.as_str(), it.digest)).collect(),
            Self::Types(types) => {
                types.roots.iter().map(|(label, digest)| (label.as_str(), *digest)).collect()
            }
        }
    }

    /// The name of this kind of content in messages.
    #[must_use]
    pub fn noun(&self) -> &'static str {
        match self {
            Self::Interfaces(_) => "interfaces of models",
            Self::Types(_) => "types",
        }
    }

    /// Compares with newer content.
    ///
    /// # Errors
    /// The kinds of content differ, or a bundle that was not [imported](Self::import) has an error.
    pub fn compare(
        &self,
        new: &Self,
        direction: Direction,
        identity: PortIdentity,
    ) -> Result<ExportsComparison, Incomparable> {
        match (self, new) {
            (Self::Interfaces(old), Self::Interfaces(new)) => {
                Ok(compare_interfaces(old, new, direction, identity))
            }
            (Self::Types(old), Self::Types(new)) => compare_types(old, new, direction),
            (Self::Interfaces(_), Self::Types(_)) | (Self::Types(_), Self::Interfaces(_)) => {
                Err(Incomparable::Kinds { old: self.noun(), new: new.noun() })
            }
        }
    }
}

/// Reason why two contents cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Incomparable {
    /// One has interfaces and the other one has other types.
    #[error("the old version holds {old} and the new one {new}")]
    Kinds {
        /// The [kind](Content::noun) of the old content.
        old: &'static str,
        /// The kind of the new content.
        new: &'static str,
    },
    /// A type contains inference variables.
    #[error(transparent)]
    NotPortable(#[from] NotPortable),
    /// A bundle cannot be imported.
    #[error(transparent)]
    Import(#[from] ImportError),
}

/// Result of comparing two contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportsComparison {
    /// The direction that was compared.
    pub direction: Direction,
    /// Whether both contents are equal.
    pub equal: bool,
    /// The labels that only the old side has.
    pub removed: Vec<String>,
    /// The labels that only the new side has.
    pub added: Vec<String>,
    /// The comparisons of the labels that both have.
    pub changes: ExportChanges,
}

/// Comparisons of the exports of one kind, by label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportChanges {
    /// Of interfaces, in the order of the old side. Equal ones are included.
    Interfaces {
        /// The identity of ports.
        identity: PortIdentity,
        /// The label and the comparison of each export.
        compared: Vec<(String, InterfaceComparison)>,
    },
    /// Of other types: those that differ, in the order of labels.
    Types(ModuleCompat),
}

impl ExportsComparison {
    /// Whether one side can replace the other one in the compared direction.
    #[must_use]
    pub fn is_compatible(&self) -> bool {
        let breaks = Breaks { backward: !self.removed.is_empty(), forward: !self.added.is_empty() };
        !self.direction.is_broken_by(breaks)
            && match &self.changes {
                ExportChanges::Interfaces { compared, .. } => {
                    compared.iter().all(|(_, comparison)| comparison.is_compatible())
                }
                ExportChanges::Types(compat) => compat.is_compatible(),
            }
    }
}

/// Compares interfaces by label.
#[must_use]
pub fn compare_interfaces(
    old: &[Exported],
    new: &[Exported],
    direction: Direction,
    identity: PortIdentity,
) -> ExportsComparison {
    let find = |list: &[Exported], label: &str| list.iter().position(|exported| exported.label == label);
    let missing = |list: &[Exported], other: &[Exported]| -> Vec<String> {
        list.iter().map(|it| it.label.clone()).filter(|label| find(other, label).is_none()).collect()
    };
    let (removed, added) = (missing(old, new), missing(new, old));
    let mut equal = removed.is_empty() && added.is_empty();
    let mut compared = Vec::new();
    for before in old {
        let Some(at) = find(new, &before.label) else { continue };
        equal &= before.digest == new[at].digest;
        let comparison = compare(&before.interface, &new[at].interface, direction, identity);
        compared.push((before.label.clone(), comparison));
    }
    let changes = ExportChanges::Interfaces { identity, compared };
    ExportsComparison { direction, equal, removed, added, changes }
}

/// Compares types by label. Both sides are imported into one pool, in which equal types have one id.
fn compare_types(old: &Types, new: &Types, direction: Direction) -> Result<ExportsComparison, Incomparable> {
    let mut pool = Pool::new();
    let mut roots = |types: &Types| -> Result<BTreeMap<String, Idx>, ImportError> {
        Ok(pool.import(types.bundle.as_bytes())?.into_iter().map(|root| (root.label, root.ty)).collect())
    };
    let (old, new) = (roots(old)?, roots(new)?);
    let compat = pool.compat_exports(&mut CompatCache::new(), &old, &new, direction)?;
    Ok(ExportsComparison {
        direction,
        equal: compat.removed.is_empty() && compat.added.is_empty() && compat.changed.is_empty(),
        removed: compat.removed.clone(),
        added: compat.added.clone(),
        changes: ExportChanges::Types(compat),
    })
}
