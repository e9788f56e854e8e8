//! NumPy `.npz` files: ZIP archives of `.npy` files, stored or deflated.
//!
//! The sizes of members come from the directory at the end of the archive. Encrypted members, archives in
//! several parts, and archives of more than 4 GiB are not read.

use typeloom_tensor::any_tensor::AnyTensor;

use super::npy::{self, NpyError};

/// Error of reading an `.npz` file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NpzError {
    /// The directory at the end is missing.
    #[error("this is not an `.npz` file")]
    NoArchive,
    /// A part of the archive is outside of the file.
    #[error("the archive is cut off")]
    CutOff,
    /// A member is compressed in a way that is not supported, or damaged.
    #[error("`{member}` cannot be decompressed")]
    Compression {
        /// The name of the array.
        member: String,
    },
    /// A member is no array.
    #[error("`{member}`: {error}")]
    Array {
        /// The name of the array.
        member: String,
        /// The reason.
        error: NpyError,
    },
}

/// The signature of the directory's end, and its length without the comment.
const END: &[u8; 4] = b"PK\x05\x06";
const END_LENGTH: usize = 22;

/// The lengths of the fixed parts of entries of the directory and of members.
const ENTRY_LENGTH: usize = 46;
const MEMBER_LENGTH: usize = 30;

/// Reads all arrays with their names.
///
/// # Errors
/// [`NpzError`]
pub fn read(bytes: &[u8]) -> Result<Vec<(String, AnyTensor)>, NpzError> {
    let last = bytes.len().checked_sub(END_LENGTH).ok_or(NpzError::NoArchive)?;
    // A comment of at most 65,535 bytes can follow.
    let end = (last.saturating_sub(usize::from(u16::MAX))..=last)
        .rev()
        .find(|at| bytes[*at..].starts_with(END))
        .ok_or(NpzError::NoArchive)?;
    let count = u16_at(bytes, end + 10)?;
    let mut at = u32_at(bytes, end + 16)? as usize;
    let mut arrays = Vec::new();
    for _ in 0..count {
        let method = u16_at(bytes, at + 10)?;
        let [packed, length] = [u32_at(bytes, at + 20)?, u32_at(bytes, at + 24)?].map(|it| it as usize);
        let [name_length, extra, comment] = [28, 30, 32].map(|offset| u16_at(bytes, at + offset));
        let (name_length, extra, comment) = (name_length?, extra?, comment?);
        let member = u32_at(bytes, at + 42)? as usize;
        let name = part(bytes, at + ENTRY_LENGTH, name_length.into())?;
        let name = String::from_utf8_lossy(name);
        let name = name.strip_suffix(".npy").unwrap_or(&name).to_owned();
        at += ENTRY_LENGTH + usize::from(name_length) + usize::from(extra) + usize::from(comment);
        let skipped = usize::from(u16_at(bytes, member + 26)?) + usize::from(u16_at(bytes, member + 28)?);
        let data = part(bytes, member + MEMBER_LENGTH + skipped, packed)?;
        let inflated;
        let array = match method {
            0 => data,
            8 => {
                let limit = miniz_oxide::inflate::decompress_to_vec_with_limit(data, length);
                inflated = limit.map_err(|_| NpzError::Compression { member: name.clone() })?;
                &inflated
            }
            _ => return Err(NpzError::Compression { member: name }),
        };
        match npy::read(array) {
            Ok(array) => arrays.push((name, array)),
            Err(error) => return Err(NpzError::Array { member: name, error }),
        }
    }
    Ok(arrays)
}

fn part(bytes: &[u8], start: usize, length: usize) -> Result<&[u8], NpzError> {
    let end = start.checked_add(length).ok_or(NpzError::CutOff)?;
    bytes.get(start..end).ok_or(NpzError::CutOff)
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, NpzError> {
    let bytes = part(bytes, at, 2)?;
    Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, NpzError> {
    let bytes = part(bytes, at, 4)?;
    Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive with one member.
    fn archive(name: &str, method: u16, data: &[u8], length: usize) -> Vec<u8> {
        let size = |size: usize| u32::try_from(size).expect("the archive is small").to_le_bytes();
        let name_length = u16::try_from(name.len()).expect("the name is short").to_le_bytes();
        let mut file = b"PK\x03\x04\x14\0\0\0".to_vec();
        file.extend(method.to_le_bytes());
        file.extend([0; 8]);
        file.extend([size(data.len()), size(length)].concat());
        file.extend([&name_length[..], &[0, 0]].concat());
        file.extend(name.as_bytes());
        file.extend(data);
        let directory = file.len();
        file.extend(b"PK\x01\x02\x14\0\x14\0\0\0");
        file.extend(method.to_le_bytes());
        file.extend([0; 8]);
        file.extend([size(data.len()), size(length)].concat());
        file.extend(name_length);
        file.extend([0; 16]);
        file.extend(name.as_bytes());
        let entry = file.len() - directory;
        file.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
        file.extend([size(entry), size(directory)].concat());
        file.extend([0, 0]);
        file
    }

    #[test]
    fn stored_and_deflated_arrays_are_read() {
        let array = AnyTensor::from([1.5_f32, -2.0]);
        let bytes = npy::written(&array).expect("NumPy has float");
        let stored = archive("x.npy", 0, &bytes, bytes.len());
        assert_eq!(read(&stored), Ok(vec![("x".to_owned(), array.clone())]));
        let packed = miniz_oxide::deflate::compress_to_vec(&bytes, 6);
        let deflated = archive("x.npy", 8, &packed, bytes.len());
        assert_eq!(read(&deflated), Ok(vec![("x".to_owned(), array)]));
        assert_eq!(read(&archive("x.npy", 8, &packed, 3)), Err(NpzError::Compression { member: "x".into() }));
        assert_eq!(read(&bytes), Err(NpzError::NoArchive));
        assert!(read(&stored[..stored.len() - 1]).is_err());
    }
}
