//! Formats of files that are often given instead of an ONNX model, by their first bytes.
//!
//! A file is compared with them only if it cannot be decoded, so no model is refused because of its first
//! bytes. The list has what the tools around a model write: weights, archives, programs, pages of a failed
//! download.

/// Maximum number of bytes that are inspected.
const MAX_BYTES: usize = 1024;

/// A format that is not ONNX.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum OtherFormat {
    /// A ZIP archive.
    Zip,
    /// A file of `torch.save` or `torch.jit.save`.
    PyTorch,
    /// A pickled object of Python.
    Pickle,
    /// Arrays of NumPy.
    NumPy,
    /// A compressed file, or a `tar` archive.
    Compressed,
    /// An HDF5 file, as Keras writes.
    Hdf5,
    /// A model of TensorFlow Lite.
    TensorFlowLite,
    /// A model in ONNX Runtime's format.
    Ort,
    /// Weights in `safetensors`.
    SafeTensors,
    /// Weights in GGUF.
    Gguf,
    /// A page of a web site.
    Page,
    /// A program in Python.
    Python,
    /// JSON.
    Json,
    /// Another text.
    Text,
}

impl OtherFormat {
    /// The format of a file that is not a model; `None` if it is none of these.
    #[must_use]
    pub fn of(file: &[u8]) -> Option<Self> {
        const STARTS: [(&[u8], OtherFormat); 11] = [
            (b"\x80\x02", OtherFormat::Pickle),
            (b"\x80\x03", OtherFormat::Pickle),
            (b"\x80\x04", OtherFormat::Pickle),
            (b"\x80\x05", OtherFormat::Pickle),
            (b"\x93NUMPY", OtherFormat::NumPy),
            (b"\x1f\x8b", OtherFormat::Compressed),
            (b"\x28\xb5\x2f\xfd", OtherFormat::Compressed),
            (b"\xfd7zXZ\0", OtherFormat::Compressed),
            (b"BZh", OtherFormat::Compressed),
            (b"\x89HDF\r\n", OtherFormat::Hdf5),
            (b"GGUF", OtherFormat::Gguf),
        ];
        if file.starts_with(b"PK\x03\x04") {
            return Some(Self::of_archive(file));
        }
        let by_start = STARTS.iter().find(|(start, _)| file.starts_with(start));
        let by_start = by_start.map(|(_, format)| *format).or_else(|| match file.get(4..8)? {
            b"TFL3" => Some(Self::TensorFlowLite),
            b"ORTM" => Some(Self::Ort),
            _ => None,
        });
        by_start
            .or_else(|| (file.get(257..262)? == b"ustar").then_some(Self::Compressed))
            .or_else(|| (file.get(3..9)? == b"\0\0\0\0\0{").then_some(Self::SafeTensors))
            .or_else(|| Self::of_text(file))
    }

    /// The format of a ZIP archive, by the name of its first file.
    fn of_archive(file: &[u8]) -> Self {
        let name = || {
            let length = u16::from_le_bytes(file.get(26..28)?.try_into().ok()?);
            file.get(30..30 + usize::from(length))
        };
        match name().unwrap_or_default() {
            name if name.ends_with(b"/data.pkl") || name.ends_with(b"/version") => Self::PyTorch,
            name if name.ends_with(b".npy") => Self::NumPy,
            _ => Self::Zip,
        }
    }

    /// The kind of a text.
    fn of_text(file: &[u8]) -> Option<Self> {
        let start = &file[..file.len().min(MAX_BYTES)];
        let text = match std::str::from_utf8(start) {
            Ok(text) => text,
            // The last character can be cut.
            Err(error) if error.error_len().is_none() && file.len() > MAX_BYTES => {
                std::str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => return None,
        };
        let is_printed = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if text.is_empty() || !text.chars().all(is_printed) {
            return None;
        }
        let lower = text.to_ascii_lowercase();
        if lower.starts_with("<!doctype html") || lower.starts_with("<html") {
            return Some(Self::Page);
        }
        let is_python = |line: &str| {
            let has = |start: &str, end: &str| line.starts_with(start) && line.contains(end);
            line.starts_with("import ")
                || line.starts_with("\"\"\"")
                || has("from ", " import ")
                || has("def ", "(")
                || has("class ", ":")
                || has("#!", "python")
        };
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let first = lines.find(|line| !line.starts_with('#') || is_python(line));
        Some(match first {
            Some(line) if is_python(line) => Self::Python,
            _ if text.starts_with(['{', '[']) => Self::Json,
            _ => Self::Text,
        })
    }

    /// The name of the format: `a ZIP archive`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zip => "a ZIP archive",
            Self::PyTorch => "a file of PyTorch (`.pt`)",
            Self::Pickle => "a pickled object of Python, such as a file of PyTorch (`.pt`, `.pkl`)",
            Self::NumPy => "an array of NumPy",
            Self::Compressed => "a compressed file or an archive",
            Self::Hdf5 => "an HDF5 file, such as one of Keras",
            Self::TensorFlowLite => "a model of TensorFlow Lite",
            Self::Ort => "a model in ONNX Runtime's own format (`.ort`)",
            Self::SafeTensors => "a file of weights (`safetensors`)",
            Self::Gguf => "a file of weights (GGUF)",
            Self::Page => "a page of a web site",
            Self::Python => "a program in Python",
            Self::Json => "JSON",
            Self::Text => "a text",
        }
    }

    /// The way to a model.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Zip | Self::Compressed => "unpack it, and use the `.onnx` file in it",
            Self::PyTorch | Self::Pickle => {
                "load it in PyTorch and export it: `torch.onnx.export(model, args, \"model.onnx\")`"
            }
            Self::NumPy => "it has no graph; `typeloom run MODEL --input NAME=FILE` reads it as an input",
            Self::Hdf5 => "load it in Keras and export it: `model.export(\"model.onnx\", format=\"onnx\")`",
            Self::TensorFlowLite => {
                "convert it: `python -m tf2onnx.convert --tflite FILE --output model.onnx`"
            }
            Self::Ort => "use the `.onnx` file that it was made from",
            Self::SafeTensors | Self::Gguf => {
                "it has no graph: load it in the program of the model, and export that to ONNX"
            }
            Self::Page => {
                "the download has failed: use the address of the file itself, and sign in if it needs that"
            }
            Self::Python => "run it to export the model, and use the `.onnx` file that it writes",
            Self::Json | Self::Text => {
                "use the `.onnx` file of the model; a model in ONNX's textual syntax begins with `<ir_version: 10, \
                 opset_import: [\"\": 21]>`"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::ModelView;

    /// The start of a ZIP archive whose first file has this name.
    fn archive(name: &str) -> Vec<u8> {
        let mut file = b"PK\x03\x04".to_vec();
        file.resize(26, 0);
        file.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        file.resize(30, 0);
        file.extend(name.as_bytes());
        file.extend([0; 20]);
        file
    }

    #[test]
    fn formats_are_recognised_by_their_first_bytes() {
        let mut tar = b"m.onnx".to_vec();
        tar.resize(257, 0);
        tar.extend(b"ustar\0");
        for (file, format) in [
            (archive("m.onnx"), OtherFormat::Zip),
            (archive("archive/data.pkl"), OtherFormat::PyTorch),
            (archive("arr_0.npy"), OtherFormat::NumPy),
            (b"PK\x03\x04".to_vec(), OtherFormat::Zip),
            (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.".to_vec(), OtherFormat::Pickle),
            (b"\x93NUMPY\x01\0v\0{'descr'".to_vec(), OtherFormat::NumPy),
            (b"\x1f\x8b\x08\0\0\0\0\0".to_vec(), OtherFormat::Compressed),
            (tar, OtherFormat::Compressed),
            (b"\x89HDF\r\n\x1a\n\0\0".to_vec(), OtherFormat::Hdf5),
            (b"\x1c\0\0\0TFL3\x14\0".to_vec(), OtherFormat::TensorFlowLite),
            (b"\x18\0\0\0ORTM\0\0".to_vec(), OtherFormat::Ort),
            (b"\x18\x02\0\0\0\0\0\0{\"weight\":".to_vec(), OtherFormat::SafeTensors),
            (b"GGUF\x03\0\0\0".to_vec(), OtherFormat::Gguf),
            (b"\n<!DOCTYPE html>\n<html>".to_vec(), OtherFormat::Page),
            (b"# a model\nimport torch\n".to_vec(), OtherFormat::Python),
            (b"#!/usr/bin/env python3\nx = 1\n".to_vec(), OtherFormat::Python),
            (b"\"\"\"Exports the model.\"\"\"\n".to_vec(), OtherFormat::Python),
            (b"{\"a\": 1}".to_vec(), OtherFormat::Json),
            (b"MIT License".to_vec(), OtherFormat::Text),
            ("é".repeat(MAX_BYTES).into_bytes(), OtherFormat::Text),
        ] {
            assert_eq!(OtherFormat::of(&file), Some(format), "{:?}", String::from_utf8_lossy(&file));
        }
        for file in [&b""[..], b"\x08\x0a\x12\x07pytorch", b"\xff\xff", b"\n\n"] {
            assert_eq!(OtherFormat::of(file), None, "{file:?}");
        }
    }

    #[test]
    fn a_file_that_is_no_model_is_named_instead_of_its_first_wrong_byte() {
        let error = |file: &[u8]| ModelView::new(file).map(|_| ()).expect_err("no model").to_string();
        assert_eq!(error(&archive("m.onnx")), "the file is a ZIP archive, not an ONNX model");
        assert_eq!(
            error(b"\x08\x0a\x3a\x7f\x01"),
            "the file is cut off: it has 5 bytes of at least 131 at byte 2"
        );
        // A length that no file can have is damage, not a cut.
        assert!(error(b"\x08\x0a\x3a\xff\xff\xff\xff\xff\x01\x01").contains("a field claims"));
    }
}
