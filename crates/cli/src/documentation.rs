//! The rustdoc JSON of a crate: read from a file, or built from a folder or a package of the registry.
//!
//! [`Documentation`] builds in a temporary project that has the crate as its only dependency. So cargo
//! resolves folders and packages in the same way, and writes neither a lock file nor build results into the
//! folder of the user. The lock file of the folder's workspace is copied if there is one, so that the
//! dependencies have the versions that it records.
//!
//! The JSON contains private and hidden items. The comparison needs private items for variances and for
//! sealed traits. With hidden items in the JSON, an item that became hidden does not count as removed.
//!
//! **Invariant:** only cargo is started, with arguments and without a shell. Names and versions are checked
//! by [`spec`] before they become a part of an argument or of the manifest.
//!
//! **Limits:** `[patch]` sections and `.cargo/config.toml` of the folder do not apply. At the timeout, cargo
//! is stopped; compilers that it started continue until their crate is compiled.

mod cargo;
pub(crate) mod spec;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;
use typeloom_project::parts::rust_api::Edition;

use typeloom_project::parts::io::files::Bytes;

use crate::input;
use crate::interrupt::Removal;
use cargo::Cargo;
pub(crate) use cargo::CargoError;
use spec::{CrateSpec, PackageName};

/// Features of the documented crates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Features {
    Default,
    All,
}

/// The JSON of a crate, and its edition if it has a manifest.
pub(crate) struct CrateJson {
    pub(crate) json: Bytes,
    pub(crate) edition: Option<Edition>,
}

/// Builds documentation. All crates share the compiled dependencies.
pub(crate) struct Documentation {
    features: Features,
    timeout: Duration,
    /// Created with the first crate that has to be built.
    folder: Option<(tempfile::TempDir, Removal)>,
}

/// A package, as `cargo metadata` describes it.
struct Package {
    name: PackageName,
    version: String,
    edition: Option<Edition>,
    features: Vec<String>,
    /// Name of the library in `use` declarations.
    library: String,
    workspace: Option<PathBuf>,
}

impl Documentation {
    pub(crate) fn new(features: Features, timeout: Duration) -> Self {
        Self { features, timeout, folder: None }
    }

    /// The JSON of a crate.
    pub(crate) fn of(&mut self, argument: &str) -> anyhow::Result<CrateJson> {
        let spec = CrateSpec::parse(argument)?;
        if let CrateSpec::Json(file) = &spec {
            return Ok(CrateJson { json: input::source(file).open()?.into_model(), edition: None });
        }
        let bar = crate::progress::progress(None, "documenting {msg}");
        bar.set_message(argument.to_owned());
        let found = self.build(&spec).with_context(|| format!("`{argument}` cannot be documented"));
        bar.finish_and_clear();
        found
    }

    fn build(&mut self, spec: &CrateSpec) -> anyhow::Result<CrateJson> {
        let folder = match &self.folder {
            Some((folder, _)) => folder.path().to_owned(),
            None => {
                let made = || tempfile::Builder::new().prefix("typeloom-rustdoc-").tempdir();
                let made = Removal::of(|| made().map(|folder| (folder.path().to_owned(), folder)));
                let (removal, folder) = made.context("cannot create a temporary folder")?;
                self.folder.insert((folder, removal)).0.path().to_owned()
            }
        };
        let cargo = Cargo::new(folder.join("project"), folder.join("target"), self.timeout)?;
        let package = package(&cargo, spec)?;
        if let Some(workspace) = &package.workspace {
            let lock = workspace.join("Cargo.lock");
            if lock.is_file() {
                std::fs::copy(&lock, cargo.project().join("Cargo.lock"))
                    .with_context(|| format!("cannot copy `{}`", lock.display()))?;
            }
        }
        let features: &[String] = match self.features {
            Features::Default => &[],
            Features::All => &package.features,
        };
        cargo.write_manifest(&package.name, &spec.source(), features)?;
        let json = cargo.rustdoc(&package.name, &package.version, &package.library)?;
        Ok(CrateJson { json: Bytes::Read(json.into()), edition: package.edition })
    }
}

/// Finds the package of a folder or of the registry.
fn package(cargo: &Cargo, spec: &CrateSpec) -> anyhow::Result<Package> {
    match spec {
        CrateSpec::Json(_) => anyhow::bail!("a file has no package"),
        CrateSpec::Folder(folder) => {
            let manifest = folder.join("Cargo.toml");
            let metadata = cargo.metadata(&manifest, &["--no-deps"])?;
            let of_folder = |package: &&Value| {
                package["manifest_path"].as_str().is_some_and(|path| is_same_file(Path::new(path), &manifest))
            };
            let found = packages(&metadata).find(of_folder);
            let found =
                found.ok_or_else(|| CargoError::NoPackage { folder: folder.display().to_string() })?;
            let workspace = metadata["workspace_root"].as_str().map(PathBuf::from);
            Ok(Package { workspace, ..read_package(found)? })
        }
        CrateSpec::Registry { name, version } => {
            cargo.write_manifest(name, &spec.source(), &[])?;
            let metadata = cargo.metadata(&cargo.project().join("Cargo.toml"), &[])?;
            let is_it = |package: &&Value| {
                package["name"] == name.as_str()
                    && package["version"].as_str().is_some_and(|found| spec::is_version(version, found))
                    && !package["source"].is_null()
            };
            let found = packages(&metadata).find(is_it);
            let found = found.ok_or(CargoError::Metadata { missing: "the package" })?;
            read_package(found)
        }
    }
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().into_iter().flatten()
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn read_package(package: &Value) -> anyhow::Result<Package> {
    let text = |field: &'static str| {
        package[field].as_str().map(str::to_owned).ok_or(CargoError::Metadata { missing: field })
    };
    let name = PackageName::new(&text("name")?)?;
    let is_library = |target: &&Value| {
        let kinds = target["kind"].as_array().into_iter().flatten().filter_map(Value::as_str);
        kinds.into_iter().any(|kind| matches!(kind, "lib" | "rlib" | "dylib" | "proc-macro"))
    };
    let targets = package["targets"].as_array().into_iter().flatten();
    let library = targets.into_iter().find(is_library).and_then(|target| target["name"].as_str());
    let library = library.ok_or_else(|| CargoError::NoLibrary { package: name.as_str().to_owned() })?;
    let features = package["features"].as_object().into_iter().flat_map(|features| features.keys().cloned());
    Ok(Package {
        version: text("version")?,
        edition: edition(&text("edition")?),
        features: features.collect(),
        library: library.replace('-', "_"),
        workspace: None,
        name,
    })
}

fn edition(year: &str) -> Option<Edition> {
    match year {
        "2015" => Some(Edition::E2015),
        "2018" => Some(Edition::E2018),
        "2021" => Some(Edition::E2021),
        "2024" => Some(Edition::E2024),
        _ => None,
    }
}
