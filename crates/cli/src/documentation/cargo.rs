//! Calls of cargo in a temporary project, with bounded time.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::spec::PackageName;

/// Maximum number of lines of cargo's output in an error.
const MAX_LINES: usize = 30;

/// Maximum number of bytes of cargo's output in an error.
const MAX_TAIL: usize = 8 << 10;

/// Interval between two checks of a running cargo.
const INTERVAL: Duration = Duration::from_millis(20);

/// Error of a call of cargo.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CargoError {
    #[error("cannot start cargo, which builds the documentation: {0}")]
    Start(std::io::Error),
    #[error("cargo {verb} failed ({status})")]
    Failed {
        verb: &'static str,
        status: String,
        /// The end of the output.
        tail: String,
    },
    #[error("cargo {verb} took longer than {seconds} s (see --timeout)")]
    TimedOut {
        verb: &'static str,
        seconds: u64,
        /// The end of the output so far.
        tail: String,
    },
    #[error("the package `{package}` has no library")]
    NoLibrary { package: String },
    #[error("`{folder}` is a workspace without a package of its own; use the folder of a member")]
    NoPackage { folder: String },
    #[error("cargo metadata does not contain {missing}")]
    Metadata { missing: &'static str },
    #[error("cargo rustdoc did not write `{library}.json`")]
    NoJson { library: String },
    #[error("cannot write the temporary project: {0}")]
    Project(#[from] std::io::Error),
}

impl CargoError {
    /// The end of cargo's output, if cargo failed.
    pub(crate) fn tail(&self) -> Option<&str> {
        match self {
            Self::Failed { tail, .. } | Self::TimedOut { tail, .. } => Some(tail),
            Self::Start(_)
            | Self::NoLibrary { .. }
            | Self::NoPackage { .. }
            | Self::Metadata { .. }
            | Self::NoJson { .. }
            | Self::Project(_) => None,
        }
    }
}

/// A temporary project and the folder for build results.
pub(super) struct Cargo {
    project: PathBuf,
    target: PathBuf,
    timeout: Duration,
}

impl Cargo {
    /// Creates an empty project and removes an earlier one.
    pub(super) fn new(project: PathBuf, target: PathBuf, timeout: Duration) -> Result<Self, CargoError> {
        if project.exists() {
            std::fs::remove_dir_all(&project)?;
        }
        std::fs::create_dir_all(&project)?;
        std::fs::write(project.join("lib.rs"), "")?;
        Ok(Self { project, target, timeout })
    }

    pub(super) fn project(&self) -> &Path {
        &self.project
    }

    /// Writes the manifest of the project, with one dependency.
    pub(super) fn write_manifest(
        &self,
        name: &PackageName,
        source: &[(&'static str, String)],
        features: &[String],
    ) -> Result<(), CargoError> {
        // Every JSON string is also a TOML string.
        let quoted = |text: &str| Value::from(text).to_string();
        let mut manifest =
            "[package]\nname = \"typeloom-documentation\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\
             [lib]\npath = \"lib.rs\"\n[workspace]\n[dependencies.documented]\n"
                .to_owned();
        manifest.push_str(&format!("package = {}\n", quoted(name.as_str())));
        for (field, value) in source {
            manifest.push_str(&format!("{field} = {}\n", quoted(value)));
        }
        let features: Vec<String> = features.iter().map(|feature| quoted(feature)).collect();
        manifest.push_str(&format!("features = [{}]\n", features.join(", ")));
        Ok(std::fs::write(self.project.join("Cargo.toml"), manifest)?)
    }

    /// Runs `cargo metadata` for a manifest.
    pub(super) fn metadata(&self, manifest: &Path, options: &[&str]) -> Result<Value, CargoError> {
        let mut command = self.command();
        command
            .args(["metadata", "--format-version", "1"])
            .args(options)
            .arg("--manifest-path")
            .arg(manifest);
        let json = self.run("metadata", &mut command)?;
        serde_json::from_slice(&json).map_err(|_| CargoError::Metadata { missing: "JSON" })
    }

    /// Builds the JSON of the dependency.
    pub(super) fn rustdoc(
        &self,
        name: &PackageName,
        version: &str,
        library: &str,
    ) -> Result<Vec<u8>, CargoError> {
        let mut command = self.command();
        command
            .args(["rustdoc", "--lib", "--package"])
            .arg(format!("{}@{version}", name.as_str()))
            .arg("--target-dir")
            .arg(&self.target)
            .args(["--", "-Z", "unstable-options", "--output-format", "json"])
            .args(["--document-hidden-items", "--document-private-items", "--cap-lints", "allow"])
            // Permits unstable options for this crate only, so that build scripts do not detect a nightly
            // compiler.
            .env("RUSTC_BOOTSTRAP", library);
        for old in self.outputs(library) {
            if old.exists() {
                std::fs::remove_file(old)?;
            }
        }
        self.run("rustdoc", &mut command)?;
        let written = self.outputs(library).into_iter().find(|path| path.is_file());
        let written = written.ok_or_else(|| CargoError::NoJson { library: library.to_owned() })?;
        Ok(std::fs::read(written)?)
    }

    /// The possible paths of the JSON. If a build target is configured, its folder is part of the path.
    fn outputs(&self, library: &str) -> Vec<PathBuf> {
        let file = |folder: &Path| folder.join("doc").join(format!("{library}.json"));
        let targets = std::fs::read_dir(&self.target).into_iter().flatten().flatten();
        std::iter::once(file(&self.target)).chain(targets.map(|entry| file(&entry.path()))).collect()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command
            .current_dir(&self.project)
            .env_remove("RUSTDOCFLAGS")
            .env_remove("CARGO_ENCODED_RUSTDOCFLAGS")
            .env("CARGO_TERM_COLOR", "never");
        command
    }

    /// Runs cargo and returns its standard output.
    fn run(&self, verb: &'static str, command: &mut Command) -> Result<Vec<u8>, CargoError> {
        // Files rather than pipes: a compiler that outlives cargo would keep a pipe open.
        let (out, err) = (self.project.join("stdout"), self.project.join("stderr"));
        command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?);
        let mut child = command.spawn().map_err(CargoError::Start)?;
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if start.elapsed() >= self.timeout {
                child.kill()?;
                child.wait()?;
                return Err(CargoError::TimedOut {
                    verb,
                    seconds: self.timeout.as_secs(),
                    tail: tail(&err)?,
                });
            }
            std::thread::sleep(INTERVAL);
        };
        if status.success() {
            return Ok(std::fs::read(out)?);
        }
        Err(CargoError::Failed { verb, status: status.to_string(), tail: tail(&err)? })
    }
}

/// The last lines of a file.
fn tail(file: &Path) -> std::io::Result<String> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let mut file = File::open(file)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_TAIL as u64)))?;
    let mut bytes = Vec::new();
    file.take(MAX_TAIL as u64).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines[lines.len().saturating_sub(MAX_LINES)..].join("\n"))
}
