//! Dependencies listed in a Cargo manifest.
//!
//! Parses, line by line, the subset of TOML that the manifests of this workspace use. The parser rejects
//! other forms (a renamed package, a dotted table), so that it never misses a dependency.

use super::{files, read, shown};

pub(crate) struct Manifest {
    /// Name of the folder below `crates/`.
    pub(crate) folder: String,
    pub(crate) package: String,
    /// Dependencies of the package without dev-dependencies.
    pub(crate) dependencies: Vec<String>,
}

/// Reads the manifests of all crates, sorted by folder.
pub(crate) fn all() -> Vec<Manifest> {
    let manifests: Vec<_> =
        files("crates", "toml").into_iter().filter(|path| path.ends_with("Cargo.toml")).collect();
    assert!(manifests.len() > 5, "only {} crates", manifests.len());
    manifests
        .iter()
        .map(|path| {
            let folder = path.parent().and_then(|folder| folder.file_name()).unwrap_or_default();
            let parsed = parse(&read(path)).unwrap_or_else(|line| panic!("{}: `{line}`", shown(path)));
            Manifest { folder: folder.to_string_lossy().into_owned(), ..parsed }
        })
        .collect()
}

/// Returns the name and dependencies of a manifest, or the first unsupported line.
fn parse(text: &str) -> Result<Manifest, String> {
    let mut section = String::new();
    let mut manifest = Manifest { folder: String::new(), package: String::new(), dependencies: Vec::new() };
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(header) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = header.trim_matches(['[', ']']).to_owned();
            if section.contains("dependencies.") {
                return Err(line.to_owned());
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=').map(|(key, value)| (key.trim(), value.trim())) else {
            continue;
        };
        let table = section.rsplit('.').next().unwrap_or_default();
        match table {
            "package" if key == "name" => manifest.package = value.trim_matches('"').to_owned(),
            "dependencies" | "build-dependencies" if value.contains("package") => {
                return Err(line.to_owned());
            }
            "dependencies" | "build-dependencies" => {
                let name = key.split('.').next().unwrap_or(key).trim_matches('"');
                manifest.dependencies.push(name.to_owned());
            }
            _ => {}
        }
    }
    Ok(manifest)
}

#[test]
fn every_way_to_write_a_dependency_is_read_or_refused() {
    let text = "[package]\nname = \"p\"\n[dependencies]\na.workspace = true\n# not = \"this\"\n\
                b = { version = \"1\", features = [\"x\"] }\n[target.'cfg(unix)'.dependencies]\nc = \"1\"\n\
                [build-dependencies]\nd = \"1\"\n[dev-dependencies]\ne = \"1\"\n[lints]\nworkspace = true\n";
    let manifest = parse(text).expect("a manifest");
    assert_eq!((manifest.package.as_str(), manifest.dependencies.join(" ")), ("p", "a b c d".to_owned()));
    assert!(parse("[dependencies.a]\nversion = \"1\"").is_err());
    assert!(parse("[dependencies]\na = { package = \"b\", version = \"1\" }").is_err());
}
