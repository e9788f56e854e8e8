//! Output files. They are written atomically, and the model that is read is replaced only on request.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use typeloom_onnx::text::escape;

use crate::args::TargetArgs;
use typeloom_files::Bytes;
#[cfg(feature = "interfaces")]
use typeloom_link::Piece;

use crate::input::{self, Source};
use crate::output;

/// The destination of bytes.
#[derive(Debug)]
pub(crate) enum Target {
    Stdout,
    File {
        path: PathBuf,
        /// Name in the output, escaped.
        name: String,
    },
}

impl Target {
    /// The destination of a changed model.
    pub(crate) fn of(args: &TargetArgs, source: &Source) -> anyhow::Result<Self> {
        let is_text_name = args.output.as_deref().is_some_and(|name| input::is_text_name(OsStr::new(name)));
        if is_text_name || (args.in_place && source.is_text()?) {
            bail!("changed models are written in binary form, not as a text; use --output with another name");
        }
        if args.in_place {
            let own = source.path().and_then(|path| path.canonicalize().ok());
            let Some(path) = own else { bail!("`{}` cannot be replaced", source.name) };
            return Ok(Self::File { path, name: source.name.clone() });
        }
        Self::other(args.output.as_deref().unwrap_or("-"), source, "; use --in-place to replace it")
    }

    /// The file of this name, which must not be that of the model.
    #[cfg(any(feature = "interfaces", feature = "view"))]
    pub(crate) fn unlike(name: &str, source: &Source) -> anyhow::Result<Self> {
        Self::other(name, source, "")
    }

    fn other(name: &str, source: &Source, advice: &str) -> anyhow::Result<Self> {
        let own = source.path().and_then(|path| path.canonicalize().ok());
        let target = Self::named(name);
        if let Self::File { path, name } = &target
            && own.is_some()
            && path.canonicalize().ok() == own
        {
            bail!("`{name}` is the model itself{advice}");
        }
        Ok(target)
    }

    /// The file of this name; `-` is standard output.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "-" => Self::Stdout,
            name => Self::File { path: PathBuf::from(name), name: escape(name).into_owned() },
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

    /// Reports a written file; does nothing for standard output.
    pub(crate) fn announce(&self, source: &Source, text: &str) -> anyhow::Result<()> {
        match self {
            Self::Stdout => Ok(()),
            Self::File { name, .. } => output::write(&format!("{} -> {name}: {text}\n", source.name)),
        }
    }

    /// Writes a changed model. Long parts of the old one are copied from file to file, so that weights take no memory.
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
    pub(crate) fn write_copy(&self, from: &Path) -> anyhow::Result<()> {
        self.write_with(&mut |out| {
            let mut file = File::open(from)?;
            match out {
                Out::Stdout(out) => std::io::copy(&mut file, out),
                Out::File(out) => std::io::copy(&mut file, out),
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

    /// Writes to a temporary file in the same folder and then renames it. So no partial file is visible, and a model that
    /// is mapped into memory can be replaced.
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
            // A pipe or device is written directly.
            let file = OpenOptions::new().write(true).open(path).with_context(cannot)?;
            return write(&mut Out::File(file)).with_context(cannot);
        }
        let (temporary, file) = create_temporary(path).with_context(cannot)?;
        let written = write_temporary(file, path, write).and_then(|()| std::fs::rename(&temporary, path));
        if written.is_err() {
            // The first error is reported.
            let _ = std::fs::remove_file(&temporary);
        }
        written.with_context(cannot)
    }
}

/// A file that is written in parts. It appears at its path with [`Stream::commit`]; until then, and after an error, nothing
/// changes there.
pub(crate) struct Stream {
    file: BufWriter<File>,
    path: PathBuf,
    name: String,
    /// The file that is renamed to `path`; `None` for a pipe or device, which is written directly.
    temporary: Option<PathBuf>,
}

impl Target {
    /// Opens the target for parts; `None` for standard output.
    pub(crate) fn stream(&self) -> anyhow::Result<Option<Stream>> {
        let Self::File { path, name } = self else { return Ok(None) };
        let cannot = || format!("cannot write `{name}`");
        if path.is_dir() {
            bail!("cannot write `{name}`: it is a folder");
        }
        let (file, temporary) = if path.metadata().is_ok_and(|meta| !meta.is_file()) {
            (OpenOptions::new().write(true).open(path).with_context(cannot)?, None)
        } else {
            let (temporary, file) = create_temporary(path).with_context(cannot)?;
            (file, Some(temporary))
        };
        let (path, name) = (path.clone(), name.clone());
        Ok(Some(Stream { file: BufWriter::new(file), path, name, temporary }))
    }
}

impl Stream {
    /// Whether the file appears as a whole, which a pipe or device does not.
    pub(crate) fn is_atomic(&self) -> bool {
        self.temporary.is_some()
    }

    /// Writes a part.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.file.write_all(bytes).with_context(|| format!("cannot write `{}`", self.name))
    }

    /// Ends the file.
    pub(crate) fn commit(mut self) -> anyhow::Result<()> {
        let written = self.file.flush().and_then(|()| {
            let Some(temporary) = &self.temporary else { return Ok(()) };
            if let Ok(meta) = self.path.metadata() {
                self.file.get_ref().set_permissions(meta.permissions())?;
            }
            self.file.get_ref().sync_all()?;
            std::fs::rename(temporary, &self.path)
        });
        if written.is_ok() {
            self.temporary = None;
        }
        written.with_context(|| format!("cannot write `{}`", self.name))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // The first error is reported.
            let _ = std::fs::remove_file(temporary);
        }
    }
}

/// Writes a bundle to the output, if one is given. Returns whether it is standard output, which must not contain
/// anything else.
#[cfg(feature = "interfaces")]
pub(crate) fn export(
    output: Option<&str>,
    bundle: impl FnOnce() -> anyhow::Result<Vec<u8>>,
) -> anyhow::Result<bool> {
    let Some(target) = output.map(Target::named) else { return Ok(false) };
    target.write(&bundle()?)?;
    Ok(target.is_stdout())
}

/// An open output.
enum Out {
    Stdout(std::io::StdoutLock<'static>),
    File(File),
}

impl Out {
    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Self::Stdout(out) => out.write_all(bytes),
            Self::File(out) => out.write_all(bytes),
        }
    }
}

/// Writes the temporary file, which gets the permissions of the file at `path`.
fn write_temporary(
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

/// Minimum number of bytes of a part that is copied from file to file.
const MIN_COPIED: usize = 1 << 20;

/// Writes one piece of a changed model.
fn copy(out: &mut Out, old: &Bytes, piece: &[u8]) -> std::io::Result<()> {
    match (out, old) {
        (Out::File(out), Bytes::Mapped(map, file)) if piece.len() >= MIN_COPIED => {
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

/// Creates a file in the folder of `path`, so that renaming it to `path` is atomic. Removes the temporary files of writers
/// that were killed.
fn create_temporary(path: &Path) -> std::io::Result<(PathBuf, File)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let id = std::process::id();
    remove_stale(path, &name);
    let mut last = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
    for attempt in 0..100 {
        let temporary = path.with_file_name(format!(".{name}.{id}-{attempt}.tmp"));
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Removes temporary files for `name` whose writer has ended. Files that cannot be removed stay.
fn remove_stale(path: &Path, name: &str) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let file = entry.file_name();
        let writer = file.to_str().and_then(|file| writer_of(file, name));
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && writer.is_some_and(is_gone) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The process that wrote `file`, if that is the name of a temporary file for `name`.
fn writer_of(file: &str, name: &str) -> Option<u32> {
    let number = |text: &str| -> Option<u32> {
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_plain { text.parse().ok() } else { None }
    };
    let rest = file.strip_prefix('.')?.strip_prefix(name)?.strip_prefix('.')?.strip_suffix(".tmp")?;
    let (process, attempt) = rest.split_once('-')?;
    number(attempt)?;
    number(process)
}

/// Whether no process has this number; `false` on systems without `/proc`.
fn is_gone(process: u32) -> bool {
    let processes = Path::new("/proc");
    processes.join("self").exists() && !processes.join(process.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_this_program_gives_are_those_of_temporary_files() {
        assert_eq!(writer_of(".m.onnx.123-0.tmp", "m.onnx"), Some(123));
        for other in [
            "m.onnx.123-0.tmp",
            ".m.onnx.123.tmp",
            ".m.onnx.123-.tmp",
            ".m.onnx.-0.tmp",
            ".m.onnx.+1-0.tmp",
            ".m.onnx.123-0.tmp.bak",
            ".other.onnx.123-0.tmp",
            ".m.onnx.tmp",
        ] {
            assert_eq!(writer_of(other, "m.onnx"), None, "{other}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn files_of_writers_that_are_gone_are_removed_and_others_stay() -> std::io::Result<()> {
        let folder = std::env::temp_dir().join(format!("typeloom-stale-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        // No process has the greatest number.
        let gone = format!(".m.onnx.{}-0.tmp", u32::MAX);
        let own = format!(".m.onnx.{}-7.tmp", std::process::id());
        let other = format!(".n.onnx.{}-0.tmp", u32::MAX);
        for name in [&gone, &own, &other] {
            std::fs::write(folder.join(name), b"x")?;
        }
        Target::named(&folder.join("m.onnx").display().to_string())
            .write(b"new")
            .map_err(std::io::Error::other)?;
        let left = |name: &String| folder.join(name).exists();
        assert_eq!([left(&gone), left(&own), left(&other)], [false, true, true]);
        assert_eq!(std::fs::read(folder.join("m.onnx"))?, b"new");
        std::fs::remove_dir_all(&folder)
    }
}
