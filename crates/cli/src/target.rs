//! Files out: never over a model that is being read, and never half written.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::args::TargetArgs;
use crate::input::{Bytes, Source};

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

    /// Writes a changed model: long runs of the old one are copied from file to file, so that weights take no memory.
    pub(crate) fn write_changed(&self, old: &Bytes, pieces: &[Cow<'_, [u8]>]) -> anyhow::Result<()> {
        self.write_with(&mut |out| pieces.iter().try_for_each(|piece| copy(out, old, piece)))
    }

    /// Writes bytes.
    pub(crate) fn write(&self, bytes: &[u8]) -> anyhow::Result<()> {
        self.write_with(&mut |out| match out {
            Out::Stdout(out) => out.write_all(bytes),
            Out::File(out) => out.write_all(bytes),
        })
    }

    /// A file is written beside its place and then moved there, so that nobody ever sees a part of it, and a model that
    /// is mapped into memory can be replaced while it is read.
    fn write_with(&self, write: &mut dyn FnMut(&mut Out) -> std::io::Result<()>) -> anyhow::Result<()> {
        let Self::File { path, name } = self else {
            let mut out = Out::Stdout(std::io::stdout().lock());
            write(&mut out)?;
            return Ok(std::io::stdout().flush()?);
        };
        let cannot = || format!("cannot write `{name}`");
        if path.is_dir() {
            bail!("cannot write `{name}`: it is a folder");
        }
        if path.metadata().is_ok_and(|meta| !meta.is_file()) {
            // A pipe or device has no place beside it.
            let file = OpenOptions::new().write(true).open(path).with_context(cannot)?;
            return write(&mut Out::File(file)).with_context(cannot);
        }
        let (beside, file) = temporary(path).with_context(cannot)?;
        let written = finish(file, path, write).and_then(|()| std::fs::rename(&beside, path));
        if written.is_err() {
            // The first error is the one to tell.
            let _ = std::fs::remove_file(&beside);
        }
        written.with_context(cannot)
    }
}

/// Where bytes are written right now.
enum Out {
    Stdout(std::io::StdoutLock<'static>),
    File(File),
}

/// Writes all of a file that will stand at `path`.
fn finish(
    file: File,
    path: &Path,
    write: &mut dyn FnMut(&mut Out) -> std::io::Result<()>,
) -> std::io::Result<()> {
    if let Ok(meta) = path.metadata() {
        file.set_permissions(meta.permissions())?;
    }
    let mut out = Out::File(file);
    write(&mut out)?;
    match out {
        Out::File(file) => file.sync_all(),
        Out::Stdout(_) => Ok(()),
    }
}

/// From this length on, a run of the old file is copied from file to file.
const LONG: usize = 1 << 20;

/// Writes one piece of a changed model.
fn copy(out: &mut Out, old: &Bytes, piece: &[u8]) -> std::io::Result<()> {
    match (out, old) {
        (Out::File(out), Bytes::Mapped(map, file)) if piece.len() >= LONG => {
            let start = piece.as_ptr().addr().checked_sub(map.as_ptr().addr()).filter(|at| *at < map.len());
            let Some(start) = start else { return out.write_all(piece) };
            let mut file = file;
            file.seek(SeekFrom::Start(start as u64))?;
            let copied = std::io::copy(&mut file.take(piece.len() as u64), out)?;
            if copied == piece.len() as u64 {
                Ok(())
            } else {
                Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof))
            }
        }
        (Out::File(out), Bytes::Mapped(..) | Bytes::Read(_)) => out.write_all(piece),
        (Out::Stdout(out), _) => out.write_all(piece),
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
