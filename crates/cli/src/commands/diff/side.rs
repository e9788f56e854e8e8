//! One side of a comparison: a file or folder, or a version in a registry.

use anyhow::bail;
use typeloom_project::interfaces::{self, Content};
use typeloom_project::parts::report;
#[cfg(feature = "registry")]
use typeloom_project::parts::{
    interface::exports,
    io::stores::Missing,
    pool::Bundle,
    registry::{Reference, RegistryError, names::Named},
};
use typeloom_project::settings::Resolver;

use crate::args::DiffArgs;
#[cfg(feature = "registry")]
use crate::commands::registry::open;
use crate::input::{Source, source};

/// The arguments that are versions in a registry, if there is no file of their name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Versions {
    /// `SUBJECT@VERSION`.
    Named,
    /// `SUBJECT` too.
    #[cfg(feature = "registry")]
    All,
}

pub(super) enum Side {
    File(Source),
    /// A version, with the argument.
    #[cfg(feature = "registry")]
    Version(Reference, String),
}

impl Side {
    #[cfg(feature = "registry")]
    pub(super) fn of(argument: &str, versions: Versions) -> Self {
        let is_file = argument == "-" || std::path::Path::new(argument).symlink_metadata().is_ok();
        let reference = if is_file { None } else { argument.parse::<Reference>().ok() };
        match reference.filter(|it| versions == Versions::All || it.version == Named::Yes) {
            Some(reference) => Self::Version(reference, argument.to_owned()),
            None => Self::File(source(argument)),
        }
    }

    #[cfg(not(feature = "registry"))]
    pub(super) fn of(argument: &str, _: Versions) -> Self {
        Self::File(source(argument))
    }

    pub(super) fn is_folder(&self) -> bool {
        match self {
            Self::File(source) => source.path().is_some_and(std::path::Path::is_dir),
            #[cfg(feature = "registry")]
            Self::Version(..) => false,
        }
    }

    /// The name in reports.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::File(source) => &source.name,
            #[cfg(feature = "registry")]
            Self::Version(_, argument) => argument,
        }
    }

    /// The content. A model with errors cannot be compared.
    #[cfg_attr(
        not(feature = "registry"),
        expect(unused_variables, reason = "only registries have arguments")
    )]
    pub(super) fn read(&self, args: &DiffArgs, settings: &mut Resolver) -> anyhow::Result<Content> {
        let source = match self {
            Self::File(source) => source,
            #[cfg(feature = "registry")]
            Self::Version(reference, _) => return version(reference, args, settings),
        };
        let file = &source.name;
        interfaces::read(&source.open()?, &*settings.plan(source)?)?.or_else(|diagnostics| {
            let first = diagnostics.first().map(|diagnostic| report::concise::diagnostic(file, diagnostic));
            bail!(
                "`{file}` is not well typed, see `typeloom check`: {}",
                first.unwrap_or_default().trim_end()
            )
        })
    }
}

/// The content of a version of the registry of the current folder.
#[cfg(feature = "registry")]
fn version(reference: &Reference, args: &DiffArgs, settings: &mut Resolver) -> anyhow::Result<Content> {
    let setting = settings.settings(&source("-"))?;
    let missing = |error: anyhow::Error| match error.downcast_ref::<RegistryError>() {
        Some(RegistryError::NoRegistry(_) | RegistryError::NoSubject { .. }) => {
            error.context(format!("there is no file `{reference}`"))
        }
        _ => error,
    };
    let registry = open(args.at.registry.as_deref(), setting.registry.as_ref(), Missing::Refuse);
    let registry = registry.map_err(missing)?;
    let pulled = registry.pull(reference).map_err(|error| missing(error.into()))?;
    let bundle = Bundle::from_bytes(pulled.bundle.to_vec());
    Ok(interfaces::of_bundle(exports::Content::clone(&pulled.content), bundle))
}
