//! Files that are not models, and files that are not there.

use typeloom_onnx::DecodeError;

use super::words::plain;
use super::{Code, Diagnostic, Place};
use crate::program::MAX_NESTING;

/// The bytes are not a model.
pub(super) fn malformed(error: &DecodeError, place: Place) -> Diagnostic {
    let DecodeError { offset, kind } = error;
    let message = format!("the file is malformed: {}", plain(&kind.to_string(), 200));
    Diagnostic::new(Code::MalformedFile, message, Place { offset: Some(*offset), ..place })
        .with_help("the file may be cut off or damaged: export or download it again")
}

/// There is no graph in the model.
pub(super) fn no_graph() -> Diagnostic {
    Diagnostic::new(Code::MalformedFile, "the model has no graph".to_owned(), Place::default())
        .with_help("check that the file is an ONNX model and that it is not empty")
}

/// Graphs are nested too deep.
pub(super) fn too_deep(place: Place) -> Diagnostic {
    let message = format!("graphs are nested more than {MAX_NESTING} deep");
    Diagnostic::new(Code::NestingTooDeep, message, place)
}

/// A tensor's payload lies in a file that is not there.
pub(super) fn missing_external_data(name: Option<String>, location: &str, place: Place) -> Diagnostic {
    let subject = name.map_or_else(|| "a payload".to_owned(), |name| format!("the payload of {name}"));
    let message = format!("{subject} lies in {}, which is not there", super::words::tick(location));
    Diagnostic::new(Code::MissingExternalData, message, place)
        .with_notes(["types and shapes do not need it, running the model does".to_owned()])
}
