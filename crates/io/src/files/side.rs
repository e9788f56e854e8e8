//! Tensors that a model stores in separate files.
//!
//! A model is not trusted. Its side files are named by relative paths inside its folder. Links, files with
//! other hard links and ranges outside the file are refused.
//!
//! **Invariant:** [`report_missing`] reports exactly the files that [`SideFiles`] refuses: both go through
//! [`open`] and [`range`].

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Seek as _};
use std::path::{Component, Path};

use bytes::Bytes;
use typeloom_onnx::header::header;
use typeloom_onnx::lfs;
use typeloom_onnx::messages::TensorProto;
use typeloom_solver::model::Checked;
use typeloom_solver::model::ExternalTensor;

use crate::files::beneath::{self, Found};

/// The side files of a model, each mapped once.
pub struct SideFiles<'a> {
    folder: Option<&'a Path>,
    maps: RefCell<HashMap<String, Bytes>>,
}

impl<'a> SideFiles<'a> {
    /// The files in the folder of a model, if it has one.
    pub fn new(folder: Option<&'a Path>) -> Self {
        Self { folder, maps: RefCell::default() }
    }

    /// The bytes of a tensor: a part of the mapped file. Nothing is read before the bounds are checked.
    pub fn read(&self, tensor: &TensorProto) -> Result<Bytes, String> {
        let folder = self.folder.ok_or("a model from standard input has no folder")?;
        let entry = |key: &str| {
            tensor.external_data.iter().find(|entry| entry.key() == key).map(|entry| entry.value().to_owned())
        };
        let location = entry("location").ok_or("it names no file")?;
        let number = |key: &str| match entry(key) {
            None => Ok(None),
            Some(text) => text
                .parse::<usize>()
                .map(Some)
                .map_err(|_| format!("`{key}` = `{text}` is not a number of bytes")),
        };
        let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?);
        let (dtype, shape) = header(tensor).map_err(|error| error.to_string())?;
        let count = shape.iter().try_fold(1_usize, |count, extent| count.checked_mul(*extent));
        let needed = count
            .and_then(|count| dtype.packed_len(count))
            .ok_or("its shape is too large, or its type has no fixed width")?;
        if let Some(length) = length.filter(|length| *length != needed) {
            return Err(format!("its type takes {needed} bytes, not {length}"));
        }
        let map = self.map(folder, &location)?;
        let end = range(&location, offset as u64, needed as u64, map.len() as u64)?;
        Ok(map.slice(offset..usize::try_from(end).map_err(|error| error.to_string())?))
    }

    fn map(&self, folder: &Path, location: &str) -> Result<Bytes, String> {
        if let Some(map) = self.maps.borrow().get(location) {
            return Ok(map.clone());
        }
        let file = open(folder, location)?;
        let size = file.metadata().map_err(|error| error.to_string())?.len();
        // An empty file cannot be mapped.
        let map = if size == 0 {
            Bytes::new()
        } else {
            crate::files::map(&file).map_err(|error| format!("`{location}`: {error}"))?
        };
        self.maps.borrow_mut().insert(location.to_owned(), map.clone());
        Ok(map)
    }
}

/// Reports every tensor of a model whose data cannot be read; `folder` is the model's, if it has one.
pub fn report_missing(checked: &mut Checked<'_>, folder: Option<&Path>) {
    report_missing_by(checked, |location| size(folder, location));
}

/// The size of a side file; `folder` is the model's, if it has one.
///
/// # Errors
/// A clause with the reason why it cannot be used.
pub fn size(folder: Option<&Path>, location: &str) -> Result<u64, String> {
    let folder = folder.ok_or("a model from standard input has no folder")?;
    let meta = open(folder, location)?.metadata().map_err(|error| error.to_string())?;
    Ok(meta.len())
}

/// As [`report_missing`], with the sizes of files from `size_of`, which is called once for each location.
pub fn report_missing_by(checked: &mut Checked<'_>, mut size_of: impl FnMut(&str) -> Result<u64, String>) {
    // Many tensors are in one file, which is opened once.
    let mut sizes: HashMap<&str, Result<u64, String>> = HashMap::new();
    for external in checked.external_data() {
        let ExternalTensor { site, location, offset, bytes } = external;
        // An empty location and sizes that are unknown are errors of the model, which are reported without
        // files.
        let (false, Some(bytes)) = (location.is_empty(), bytes) else { continue };
        let size = sizes.entry(location).or_insert_with(|| size_of(location));
        let read = size.clone().and_then(|size| range(location, offset, bytes, size));
        if let Err(reason) = read {
            checked.report_missing_data(site, reason);
        }
    }
}

/// The end of the range of a tensor in a file of `size` bytes.
fn range(location: &str, offset: u64, bytes: u64, size: u64) -> Result<u64, String> {
    offset.checked_add(bytes).filter(|end| *end <= size).ok_or_else(|| {
        format!("`{location}` has {size} bytes, and the tensor is {bytes} bytes from byte {offset} on")
    })
}

/// The number of bytes of side files that the tensors of a model use. A part that several tensors share
/// counts once, and files that cannot be read have none.
#[must_use]
pub fn used(checked: &Checked<'_>, folder: Option<&Path>) -> u64 {
    let mut sizes: HashMap<&str, u64> = HashMap::new();
    let mut parts = Vec::new();
    for ExternalTensor { site: _, location, offset, bytes } in checked.external_data() {
        let file = *sizes.entry(location).or_insert_with(|| size(folder, location).unwrap_or_default());
        let end = offset.saturating_add(bytes.unwrap_or_default()).min(file);
        parts.push((location, offset, end));
    }
    parts.sort_unstable();
    let (mut total, mut last) = (0_u64, ("", 0));
    for (location, start, end) in parts {
        let start = if last.0 == location { start.max(last.1) } else { start };
        if end > start {
            total = total.saturating_add(end - start);
            last = (location, end);
        }
    }
    total
}

/// Tests whether a side file can be used, and returns the reason if it cannot.
///
/// # Errors
/// A clause with the reason.
pub fn usable(folder: &Path, location: &str) -> Result<(), String> {
    open_side(folder, location).map(drop)
}

/// Opens a side file of a model in a folder.
///
/// # Errors
/// A clause with the reason why it cannot be used.
pub fn open_side(folder: &Path, location: &str) -> Result<File, String> {
    open(folder, location)
}

/// Opens a file inside a folder, without following a link.
pub(crate) fn open(folder: &Path, location: &str) -> Result<File, String> {
    let relative = Path::new(location);
    let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let parts: Vec<&OsStr> = relative
        .components()
        .filter_map(|part| if let Component::Normal(part) = part { Some(part) } else { None })
        .collect();
    if parts.is_empty() || !is_plain {
        return Err(format!("`{location}` is not a path inside the model's folder"));
    }
    let cannot = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => format!("`{location}` is not there"),
        _ => format!("`{location}`: {error}"),
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let file = match beneath::open(folder, &parts).map_err(cannot)? {
        Found::File(file) => file,
        Found::Link => return Err(format!("`{location}` is a link, or is reached through one")),
    };
    let meta = file.metadata().map_err(cannot)?;
    if has_other_names(&meta) {
        return Err(format!("`{location}` has several hard links"));
    }
    if is_pointer(&file, meta.len()).map_err(cannot)? {
        return Err(format!("`{location}` is a Git LFS pointer; download the file with `git lfs pull`"));
    }
    Ok(file)
}

/// Whether a file is a Git LFS pointer; only small files are read.
fn is_pointer(mut file: &File, size: u64) -> std::io::Result<bool> {
    if size > 1024 {
        return Ok(false);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    file.rewind()?;
    Ok(lfs::is_pointer(&bytes))
}

#[cfg(unix)]
fn has_other_names(meta: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    meta.nlink() > 1
}

#[cfg(not(unix))]
fn has_other_names(_: &std::fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use typeloom_onnx::messages::StringStringEntryProto;

    use super::*;

    /// A folder of a model with a side file of 64 bytes, and a sibling folder.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> std::io::Result<Self> {
            let path = std::env::temp_dir().join(format!("typeloom-{}-{name}", std::process::id()));
            let folder = Self(path);
            std::fs::create_dir_all(folder.model())?;
            let bytes: Vec<u8> = (0..64).collect();
            std::fs::write(folder.model().join("weights.bin"), &bytes)?;
            std::fs::write(folder.0.join("secret.bin"), &bytes)?;
            Ok(folder)
        }

        fn model(&self) -> PathBuf {
            self.0.join("model")
        }

        fn read(&self, entries: &[(&str, &str)]) -> Result<Bytes, String> {
            let entry = |(key, value): &(&str, &str)| StringStringEntryProto {
                key: (*key).into(),
                value: (*value).into(),
                ..StringStringEntryProto::default()
            };
            let tensor = TensorProto {
                data_type: Some(1),
                dims: vec![4],
                external_data: entries.iter().map(entry).collect(),
                ..TensorProto::default()
            };
            let model = self.model();
            SideFiles::new(Some(&model)).read(&tensor)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn a_range_of_a_side_file_is_read() -> Result<(), String> {
        let folder = Folder::new("range").map_err(|error| error.to_string())?;
        let bytes = folder.read(&[("location", "weights.bin"), ("offset", "16"), ("length", "16")])?;
        assert_eq!(bytes[..], (16..32).collect::<Vec<u8>>());
        Ok(())
    }

    #[test]
    fn a_range_outside_of_the_file_is_refused() -> std::io::Result<()> {
        let folder = Folder::new("outside")?;
        for (offset, reason) in
            [("49", "from byte 49 on"), ("18446744073709551615", "64 bytes"), ("-1", "not a number")]
        {
            let read = folder.read(&[("location", "weights.bin"), ("offset", offset)]);
            assert!(read.clone().is_err_and(|error| error.contains(reason)), "{offset}: {read:?}");
        }
        let read = folder.read(&[("location", "weights.bin"), ("length", "17")]);
        assert!(read.is_err_and(|error| error.contains("takes 16 bytes, not 17")));
        Ok(())
    }

    #[test]
    fn paths_that_leave_the_folder_are_refused() -> std::io::Result<()> {
        let folder = Folder::new("leave")?;
        let absolute = folder.0.join("secret.bin").display().to_string();
        for location in ["../secret.bin", "sub/../../secret.bin", &absolute, "", "."] {
            let read = folder.read(&[("location", location)]);
            assert!(read.is_err_and(|error| error.contains("not a path inside")), "{location}");
        }
        assert!(folder.read(&[("location", "./weights.bin")]).is_ok());
        assert!(folder.read(&[("location", "missing.bin")]).is_err());
        assert!(folder.read(&[]).is_err_and(|error| error.contains("names no file")));
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn links_to_files_elsewhere_are_refused() -> std::io::Result<()> {
        let folder = Folder::new("links")?;
        std::os::unix::fs::symlink(folder.0.join("secret.bin"), folder.model().join("soft.bin"))?;
        std::os::unix::fs::symlink(&folder.0, folder.model().join("up"))?;
        std::fs::hard_link(folder.0.join("secret.bin"), folder.model().join("hard.bin"))?;
        for location in ["soft.bin", "up/secret.bin"] {
            let read = folder.read(&[("location", location)]);
            assert!(read.is_err_and(|error| error.contains("link")), "{location}");
        }
        let read = folder.read(&[("location", "hard.bin")]);
        assert!(read.is_err_and(|error| error.contains("several hard links")));
        Ok(())
    }

    #[test]
    fn a_folder_is_no_side_file() -> std::io::Result<()> {
        let folder = Folder::new("folder")?;
        std::fs::create_dir(folder.model().join("inner"))?;
        assert!(
            folder
                .read(&[("location", "inner")])
                .is_err_and(|error| error.contains("it is a folder, not a file"))
        );
        Ok(())
    }
}
