//! Output files. They are written atomically, and files that the command reads are replaced only on request,
//! see [`reads`].

mod temporary;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use typeloom_project::file::is_text_name;
use typeloom_project::parts::onnx::text::escape;

use crate::args::{NewTargetArgs, TargetArgs};
use typeloom_project::parts::io::files::Bytes;
#[cfg(feature = "interfaces")]
use typeloom_project::parts::link::Piece;

use crate::input::Source;
use crate::output;
use crate::reads::{self, Replaces, Use};
use temporary::Temporary;

/// The destination of bytes.
#[derive(Debug)]
pub(crate) enum Target {
    Stdout,
    File {
        path: PathBuf,
        /// Name in the output, escaped.
        name: String,
        replaces: Replaces,
    },
}

impl Target {
    /// The destination of a changed model.
    pub(crate) fn of(args: &TargetArgs, source: &Source) -> anyhow::Result<Self> {
        let is_text_name = args.output.as_deref().is_some_and(|name| is_text_name(OsStr::new(name)));
        if is_text_name || (args.in_place && source.is_text()?) {
            bail!("changed models are written in binary form, not as a text; use --output with another name");
        }
        if args.in_place {
            let own = source.path().and_then(|path| path.canonicalize().ok());
            let Some(path) = own else { bail!("`{}` cannot be replaced", source.name) };
            return Ok(Self::File { path, name: source.name.clone(), replaces: Replaces::Requested });
        }
        let output = args.output.as_deref().unwrap_or("-");
        let own = source.path().and_then(|path| path.canonicalize().ok());
        let is_own = own.is_some() && Path::new(output).canonicalize().ok() == own;
        let advice = if is_own { "; use --in-place to replace it" } else { "" };
        Self::output(output).map_err(|error| anyhow!("{error}{advice}"))
    }

    /// The destination of a changed model, which is a new file unless the arguments request to replace one.
    pub(crate) fn of_new(args: &NewTargetArgs, source: &Source) -> anyhow::Result<Self> {
        let mut target = Self::of(&args.target, source)?;
        if let Self::File { replaces: replaces @ Replaces::Others, .. } = &mut target
            && !args.force
        {
            *replaces = Replaces::Nothing;
        }
        target.refuse()?;
        Ok(target)
    }

    /// The file of this name, which the command must not read; `-` is standard output.
    ///
    /// Files that are read afterwards are compared when the target is written.
    pub(crate) fn output(name: &str) -> anyhow::Result<Self> {
        let target = Self::named(name, Replaces::Others);
        target.refuse()?;
        Ok(target)
    }

    /// The file of this name, although the command may have read it.
    pub(crate) fn replacing(name: &str) -> Self {
        Self::named(name, Replaces::Requested)
    }

    fn named(name: &str, replaces: Replaces) -> Self {
        match name {
            "-" => Self::Stdout,
            name => Self::File { path: PathBuf::from(name), name: escape(name).into_owned(), replaces },
        }
    }

    /// Returns an error if the target would replace a file that is used, or if it is a folder.
    fn refuse(&self) -> anyhow::Result<()> {
        let Self::File { path, name, replaces } = self else { return Ok(()) };
        if path.is_dir() {
            bail!("cannot write `{name}`: it is a folder");
        }
        reads::refuse(path, name, *replaces)
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

    /// Reports a written file; does nothing for standard output.
    pub(crate) fn announce(&self, source: &Source, text: &str) -> anyhow::Result<()> {
        match self {
            Self::Stdout => Ok(()),
            Self::File { name, .. } => output::write(&format!("{} -> {name}: {text}\n", source.name)),
        }
    }

    /// Writes a changed model. Long parts of the old one are copied from file to file, so that weights take
    /// no memory.
    pub(crate) fn write_changed(&self, old: &Bytes, pieces: &[Cow<'_, [u8]>]) -> anyhow::Result<()> {
        self.write_with(&mut |out| pieces.iter().try_for_each(|piece| copy(out, old, piece)))
    }

    /// Writes pieces of several files and new bytes. Long pieces are copied from file to file.
    #[cfg(feature = "interfaces")]
    pub(crate) fn write_pieces(&self, files: &[&Bytes], pieces: &[Piece]) -> anyhow::Result<()> {
        self.write_with(&mut |out| {
            pieces.iter().try_for_each(|piece| match piece {
                Piece::Old { model, range } => copy(out, files[*model], &files[*model][range.clone()]),
                Piece::New(bytes) => out.write_all(bytes),
            })
        })
    }

    /// Writes the contents of another file.
    #[cfg(feature = "interfaces")]
    pub(crate) fn write_copy(&self, mut file: File) -> anyhow::Result<()> {
        self.write_with(&mut |out| {
            match out {
                Out::Stdout(out) => std::io::copy(&mut file, *out),
                Out::File(out) => std::io::copy(&mut file, *out),
            }?;
            Ok(())
        })
    }

    /// The path of the file; `None` for standard output.
    #[cfg(feature = "interfaces")]
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Stdout => None,
            Self::File { path, .. } => Some(path),
        }
    }

    /// Writes bytes.
    pub(crate) fn write(&self, bytes: &[u8]) -> anyhow::Result<()> {
        self.write_with(&mut |out| out.write_all(bytes))
    }

    /// Writes to a temporary file in the same folder and then renames it. So no partial file is visible, and
    /// a model that is mapped into memory can be replaced.
    fn write_with(&self, write: &mut dyn FnMut(&mut Out<'_>) -> std::io::Result<()>) -> anyhow::Result<()> {
        let Some(mut stream) = self.stream()? else {
            let mut out = std::io::stdout().lock();
            write(&mut Out::Stdout(&mut out))?;
            return Ok(out.flush()?);
        };
        let written = write(&mut Out::File(stream.file.get_mut()));
        written.with_context(|| format!("cannot write `{}`", self.name()))?;
        stream.commit()
    }
}

/// A file that is written in parts. It appears at its path with [`Stream::commit`]; until then, and after an
/// error, nothing changes there.
pub(crate) struct Stream {
    file: BufWriter<File>,
    target: Target,
    path: PathBuf,
    /// The file that is renamed to the path; `None` for a pipe or device, which is written directly.
    temporary: Option<Temporary>,
}

impl Target {
    /// Opens the target for parts; `None` for standard output.
    pub(crate) fn stream(&self) -> anyhow::Result<Option<Stream>> {
        let Self::File { path, name, replaces } = self else { return Ok(None) };
        let cannot = || format!("cannot write `{name}`");
        self.refuse()?;
        let old = path.metadata().ok();
        let (file, temporary) = if old.as_ref().is_some_and(|meta| !meta.is_file()) {
            (OpenOptions::new().write(true).open(path).with_context(cannot)?, None)
        } else {
            let temporary = Temporary::create(path).with_context(cannot)?;
            if let Some(old) = old {
                temporary.file.set_permissions(old.permissions()).with_context(cannot)?;
            }
            (temporary.file.try_clone().with_context(cannot)?, Some(temporary))
        };
        let target = Self::File { path: path.clone(), name: name.clone(), replaces: *replaces };
        Ok(Some(Stream { file: BufWriter::new(file), target, path: path.clone(), temporary }))
    }
}

impl Stream {
    /// Whether the file appears as a whole, which a pipe or device does not.
    pub(crate) fn is_atomic(&self) -> bool {
        self.temporary.is_some()
    }

    /// Writes a part.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.file.write_all(bytes).with_context(|| format!("cannot write `{}`", self.target.name()))
    }

    /// Ends the file.
    pub(crate) fn commit(mut self) -> anyhow::Result<()> {
        self.target.refuse()?;
        let written = self.file.flush().and_then(|()| {
            let Some(temporary) = &self.temporary else { return Ok(()) };
            temporary.file.sync_all()?;
            temporary.rename(&self.path)
        });
        written.with_context(|| format!("cannot write `{}`", self.target.name()))?;
        reads::record(&self.path, Use::Written);
        Ok(())
    }
}

/// Writes a bundle to the output, if one is given. Returns whether it is standard output, which must not
/// contain anything else.
#[cfg(feature = "interfaces")]
pub(crate) fn export(
    output: Option<&str>,
    bundle: impl FnOnce() -> anyhow::Result<Vec<u8>>,
) -> anyhow::Result<bool> {
    let Some(target) = output.map(Target::output).transpose()? else { return Ok(false) };
    target.write(&bundle()?)?;
    Ok(target.is_stdout())
}

/// An open output.
enum Out<'f> {
    Stdout(&'f mut std::io::StdoutLock<'static>),
    File(&'f mut File),
}

impl Out<'_> {
    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Self::Stdout(out) => out.write_all(bytes),
            Self::File(out) => out.write_all(bytes),
        }
    }
}

/// Minimum number of bytes of a part that is copied from file to file.
const MIN_COPIED: usize = 1 << 20;

/// Writes one piece of a changed model.
fn copy(out: &mut Out<'_>, old: &Bytes, piece: &[u8]) -> std::io::Result<()> {
    match (out, old) {
        (Out::File(out), Bytes::Mapped(map, file)) if piece.len() >= MIN_COPIED => {
            let start = piece.as_ptr().addr().checked_sub(map.as_ptr().addr()).filter(|at| *at < map.len());
            let Some(start) = start else { return out.write_all(piece) };
            let mut file = file;
            file.seek(SeekFrom::Start(start as u64))?;
            let copied = std::io::copy(&mut file.take(piece.len() as u64), *out)?;
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
