//! Files out: never over a model that is being read, and never half written.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::args::TargetArgs;
use crate::input::Source;

/// Where bytes go.
#[derive(Debug)]
pub(crate) enum Target {
    Stdout,
    File {
        path: PathBuf,
        /// How output names it.
        name: String,
    },
}

impl Target {
    /// Where the arguments want a changed model. The model itself is replaced only where they say so.
    pub(crate) fn of(args: &TargetArgs, source: &Source) -> anyhow::Result<Self> {
        let own = source.path().and_then(|path| path.canonicalize().ok());
        if args.in_place {
            let Some(path) = own else { bail!("`{}` cannot be replaced", source.name) };
            return Ok(Self::File { path, name: source.name.clone() });
        }
        let target = Self::named(args.output.as_deref().unwrap_or("-"));
        if let Self::File { path, name } = &target
            && own.is_some()
            && path.canonicalize().ok() == own
        {
            bail!("`{name}` is the model itself; say --in-place to replace it");
        }
        Ok(target)
    }

    /// A file by its name, or standard output.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "-" => Self::Stdout,
            name => Self::File { path: PathBuf::from(name), name: name.to_owned() },
        }
    }

    pub(crate) fn is_stdout(&self) -> bool {
        matches!(self, Self::Stdout)
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Stdout => "<stdout>",
            Self::File { name, .. } => name,
        }
    }

    /// Writes the pieces one after the other. A file is written beside its place and then moved there, so that
    /// nobody ever sees a part of it, and a model that is mapped into memory can be replaced while it is read.
    pub(crate) fn write<P: AsRef<[u8]>>(&self, pieces: &[P]) -> anyhow::Result<()> {
        let Self::File { path, name } = self else {
            let mut out = std::io::stdout().lock();
            pieces.iter().try_for_each(|piece| out.write_all(piece.as_ref()))?;
            return Ok(out.flush()?);
        };
        let cannot = || format!("cannot write `{name}`");
        if path.is_dir() {
            bail!("cannot write `{name}`: it is a folder");
        }
        if path.metadata().is_ok_and(|meta| !meta.is_file()) {
            // A pipe or device has no place beside it.
            let mut file = OpenOptions::new().write(true).open(path).with_context(cannot)?;
            return pieces.iter().try_for_each(|piece| file.write_all(piece.as_ref())).with_context(cannot);
        }
        let (beside, mut file) = temporary(path).with_context(cannot)?;
        let written = pieces
            .iter()
            .try_for_each(|piece| file.write_all(piece.as_ref()))
            .and_then(|()| match path.metadata() {
                Ok(meta) => file.set_permissions(meta.permissions()),
                Err(_) => Ok(()),
            })
            .and_then(|()| file.sync_all())
            .and_then(|()| std::fs::rename(&beside, path));
        if written.is_err() {
            // The first error is the one to tell.
            let _ = std::fs::remove_file(&beside);
        }
        written.with_context(cannot)
    }
}

/// A new file in the folder of `path`, so that moving it there is one step.
fn temporary(path: &Path) -> std::io::Result<(PathBuf, File)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let id = std::process::id();
    let mut last = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
    for attempt in 0..100 {
        let beside = path.with_file_name(format!(".{name}.{id}-{attempt}.tmp"));
        match OpenOptions::new().write(true).create_new(true).open(&beside) {
            Ok(file) => return Ok((beside, file)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}
