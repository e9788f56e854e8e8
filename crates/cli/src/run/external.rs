//! Tensors that a model keeps in files beside it.
//!
//! A model is not trusted. Its side files are named by relative paths that stay inside its folder; neither a link on the
//! way, nor a file that has another name somewhere else, nor a range outside the file is read.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Component, Path};

use typeloom::TensorProto;
use typeloom::cpu::decode;

/// The bytes of a tensor, from its side file in the model's folder.
pub(crate) fn read(folder: Option<&Path>, tensor: &TensorProto) -> Result<Vec<u8>, String> {
    let folder = folder.ok_or("a model from standard input has no folder")?;
    let entry = |key: &str| {
        tensor.external_data.iter().find(|entry| entry.key() == key).map(|entry| entry.value().to_owned())
    };
    let location = entry("location").ok_or("it names no file")?;
    let number = |key: &str| match entry(key) {
        None => Ok(None),
        Some(text) => text.parse::<u64>().map(Some).map_err(|_| format!("`{key}` = `{text}` is no number")),
    };
    let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?);
    let (dtype, shape) = decode::header(tensor).map_err(|error| error.to_string())?;
    let count = shape.iter().try_fold(1_usize, |count, extent| count.checked_mul(*extent));
    let needed = count
        .and_then(|count| dtype.packed_len(count))
        .ok_or("its shape is too large, or its type has no fixed width")?;
    if length.is_some_and(|length| length != needed as u64) {
        return Err(format!("its type takes {needed} bytes, not {}", length.unwrap_or(0)));
    }
    let mut file = open(folder, &location)?;
    let size = file.metadata().map_err(|error| error.to_string())?.len();
    if offset.checked_add(needed as u64).is_none_or(|end| end > size) {
        return Err(format!("bytes {offset} and on are outside `{location}`, which has {size}"));
    }
    let mut bytes = vec![0; needed];
    file.seek(SeekFrom::Start(offset)).map_err(|error| error.to_string())?;
    file.read_exact(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Opens a file inside a folder, without following a link.
fn open(folder: &Path, location: &str) -> Result<File, String> {
    let relative = Path::new(location);
    let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
    if location.is_empty() || !is_plain {
        return Err(format!("`{location}` is not a path inside the model's folder"));
    }
    let cannot = |error: std::io::Error| format!("`{location}`: {error}");
    let mut path = folder.to_path_buf();
    for part in relative.components() {
        path.push(part);
        if path.symlink_metadata().map_err(cannot)?.is_symlink() {
            return Err(format!("`{location}` is, or lies behind, a link"));
        }
    }
    let file = File::open(&path).map_err(cannot)?;
    let meta = file.metadata().map_err(cannot)?;
    if !meta.is_file() {
        return Err(format!("`{location}` is not a file"));
    }
    if has_other_names(&meta) {
        return Err(format!("`{location}` is the same file as one elsewhere"));
    }
    Ok(file)
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
