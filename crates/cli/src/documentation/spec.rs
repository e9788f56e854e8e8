//! The crate that an argument denotes: a folder, `name@version` or a JSON file.

use std::path::PathBuf;

use semver::Version;

/// Maximum length of a package name on crates.io.
const MAX_NAME: usize = 64;

/// A crate to describe or compare.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum CrateSpec {
    /// A file with rustdoc JSON, or `-` for standard input.
    Json(String),
    /// A folder with a `Cargo.toml`, as an absolute path.
    Folder(PathBuf),
    /// A package of the registry.
    Registry { name: PackageName, version: Version },
}

/// A package name that the registry allows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PackageName(String);

/// Error of an argument that denotes no crate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SpecError {
    #[error("`{0}` is a folder without a `Cargo.toml`")]
    NoManifest(String),
    #[error("the path of the folder `{0}` is not Unicode")]
    NotUnicode(String),
    #[error("cannot read the folder `{folder}`")]
    Folder { folder: String, source: std::io::Error },
    #[error(
        "`{0}` is not the name of a package: it has letters, digits, `-` and `_`, and starts with a letter"
    )]
    Name(String),
    #[error("`{version}` is not a full version such as `1.2.3`")]
    Version { version: String, source: semver::Error },
}

impl PackageName {
    pub(crate) fn new(text: &str) -> Result<Self, SpecError> {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let starts = text.starts_with(|c: char| c.is_ascii_alphabetic());
        if starts && text.len() <= MAX_NAME && text.chars().all(is_allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(SpecError::Name(text.to_owned()))
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl CrateSpec {
    /// Reads an argument. An existing file or folder has priority over a package of that name.
    pub(crate) fn parse(text: &str) -> Result<Self, SpecError> {
        let path = PathBuf::from(text);
        if text == "-" || path.is_file() {
            return Ok(Self::Json(text.to_owned()));
        }
        if !path.is_dir() {
            return Self::parse_absent(text);
        }
        if !path.join("Cargo.toml").is_file() {
            return Err(SpecError::NoManifest(text.to_owned()));
        }
        let folder = std::path::absolute(&path)
            .map_err(|source| SpecError::Folder { folder: text.to_owned(), source })?;
        match folder.to_str() {
            Some(_) => Ok(Self::Folder(folder)),
            None => Err(SpecError::NotUnicode(text.to_owned())),
        }
    }

    /// Reads an argument that is no existing path: a package, or a file that is missing.
    fn parse_absent(text: &str) -> Result<Self, SpecError> {
        let is_path = text.contains(['/', '\\']) || text.ends_with(".json");
        match text.split_once('@') {
            Some((name, version)) if !is_path => {
                let name = PackageName::new(name)?;
                let version = Version::parse(version)
                    .map_err(|source| SpecError::Version { version: version.to_owned(), source })?;
                Ok(Self::Registry { name, version })
            }
            Some(_) | None => Ok(Self::Json(text.to_owned())),
        }
    }

    /// The source of the crate as fields of a dependency in a manifest.
    pub(crate) fn source(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Json(_) => Vec::new(),
            Self::Folder(folder) => vec![("path", folder.display().to_string())],
            Self::Registry { name: _, version } => vec![("version", format!("={version}"))],
        }
    }
}

/// Whether the registry can have `found` as the version `asked`. Its build metadata may be omitted: a
/// registry has one package per version without it.
pub(crate) fn is_version(asked: &Version, found: &str) -> bool {
    Version::parse(found).is_ok_and(|found| {
        asked.cmp_precedence(&found).is_eq() && (asked.build.is_empty() || asked.build == found.build)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry(name: &str, version: &str) -> CrateSpec {
        CrateSpec::Registry {
            name: PackageName(name.to_owned()),
            version: Version::parse(version).expect("a version"),
        }
    }

    #[test]
    fn a_package_has_a_name_and_a_full_version() {
        for (text, name, version) in [
            ("itoa@1.0.0", "itoa", "1.0.0"),
            ("percent-encoding@2.3.1", "percent-encoding", "2.3.1"),
            ("lazy_static@1.5.0-rc.1+build.5", "lazy_static", "1.5.0-rc.1+build.5"),
        ] {
            assert_eq!(CrateSpec::parse(text).expect("a package"), registry(name, version));
        }
    }

    #[test]
    fn build_metadata_may_be_omitted() {
        for (asked, found, is_it) in [
            ("0.11.0", "0.11.0+wasi-snapshot-preview1", true),
            ("0.11.0+wasi-snapshot-preview1", "0.11.0+wasi-snapshot-preview1", true),
            ("0.11.0+other", "0.11.0+wasi-snapshot-preview1", false),
            ("0.11.0", "0.11.1", false),
            ("0.11.0-rc.1", "0.11.0", false),
        ] {
            let asked = Version::parse(asked).expect("a version");
            assert_eq!(is_version(&asked, found), is_it, "{asked} {found}");
        }
    }

    #[test]
    fn other_texts_with_an_at_sign_are_refused_with_the_reason() {
        for (text, reason) in [
            ("itoa@1", "full version"),
            ("itoa@1.0", "full version"),
            ("itoa@^1.0.0", "full version"),
            ("itoa@", "full version"),
            ("itoa@1.0.0\"\npath=\"x", "full version"),
            ("@1.0.0", "name of a package"),
            ("1toa@1.0.0", "name of a package"),
            ("-p@1.0.0", "name of a package"),
            ("$(touch x)@1.0.0", "name of a package"),
            ("a b@1.0.0", "name of a package"),
            ("a\"b@1.0.0", "name of a package"),
            ("ü@1.0.0", "name of a package"),
            (&format!("{}@1.0.0", "a".repeat(65)), "name of a package"),
        ] {
            let error = CrateSpec::parse(text).expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn paths_are_files_unless_they_are_folders() {
        for text in ["-", "absent.json", "some@folder/absent", "itoa@1.0.0.json", "itoa"] {
            assert_eq!(CrateSpec::parse(text).expect("a file"), CrateSpec::Json(text.to_owned()));
        }
        let own = env!("CARGO_MANIFEST_DIR");
        assert_eq!(CrateSpec::parse(own).expect("this crate"), CrateSpec::Folder(own.into()));
        let error = CrateSpec::parse(&format!("{own}/src")).expect_err("it has no manifest").to_string();
        assert!(error.contains("without a `Cargo.toml`"), "{error}");
    }
}
