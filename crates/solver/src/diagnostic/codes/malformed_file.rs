//! Diagnostic code `malformed-file`, and the choice of the code for an error in the bytes of a model.

use typeloom_onnx::text::ParseError;
use typeloom_onnx::{DecodeError, ErrorKind};

use super::tensor_data;
use crate::diagnostic::{Code, Diagnostic, Location, clip, quote};

super::code!("malformed-file", Error, "the bytes are not an ONNX model");

/// Maximum length of a message of the decoder, in characters.
const MAX_CHARS: usize = 200;

/// The code of an error in the bytes of one tensor or of the file.
pub(crate) fn code_of_bytes(error: &DecodeError) -> Code {
    match &error.kind {
        ErrorKind::ElementCountOverflow => Code::ExtentOverflow,
        ErrorKind::NegativeDim { .. } => Code::NegativeDim,
        kind if tensor_data::concerns(kind) => Code::TensorData,
        _ => Code::MalformedFile,
    }
}

/// The bytes are not a model, or the data of a tensor does not fit.
pub(crate) fn malformed(error: &DecodeError, location: Location) -> Diagnostic {
    let code = code_of_bytes(error);
    let text = clip(&error.kind.to_string(), MAX_CHARS);
    let message = match &location.value {
        _ if matches!(error.kind, ErrorKind::OtherFormat(_) | ErrorKind::CutOff { .. }) => text,
        _ if code == Code::MalformedFile => format!("the file is malformed: {text}"),
        Some(value) => format!("{} {}: {text}", value.role.name(), quote(&value.name)),
        None => text,
    };
    let is_other = matches!(error.kind, ErrorKind::OtherFormat(_));
    let offset = (!is_other).then_some(error.offset);
    let diagnostic = Diagnostic::new(code, message, Location { offset, ..location });
    match code {
        Code::MalformedFile => diagnostic.with_help(match error.kind {
            ErrorKind::OtherFormat(format) => format.advice(),
            ErrorKind::CutOff { .. } => "export or download it again",
            _ => "the file may be cut off or damaged: export or download it again",
        }),
        Code::TensorData => diagnostic.with_help(tensor_data::HELP),
        _ => diagnostic,
    }
}

/// The text is not a model in the textual syntax.
pub(crate) fn malformed_text(error: &ParseError) -> Diagnostic {
    let message = format!("the text is malformed: {}", clip(&error.to_string(), MAX_CHARS));
    Diagnostic::new(Code::MalformedFile, message, Location::default()).with_help(
        "a model in ONNX's textual syntax begins with `<ir_version: 10, opset_import: [\"\": 21]>`",
    )
}

/// The model has no graph.
pub(crate) fn no_graph() -> Diagnostic {
    Diagnostic::new(Code::MalformedFile, "the model has no graph".to_owned(), Location::default())
        .with_help("check that the file is an ONNX model and that it is not empty")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::tests::report_of_bytes;

    #[test]
    fn bytes_that_are_no_model_are_reported_with_their_offset() {
        let cut = report_of_bytes(b"\x3a\x7f\x01");
        assert_eq!((cut.code, cut.location.offset), (Code::MalformedFile, Some(0)), "{cut:?}");
        assert_eq!(report_of_bytes(b"").message, "the model has no graph");
    }

    #[test]
    fn a_text_that_is_no_model_is_reported_with_line_and_column() {
        let error = typeloom_onnx::text::model_bytes("<ir_version: 10>\ng (x) y").map(|_| ());
        let diagnostic = malformed_text(&error.expect_err("the text has no arrow"));
        assert_eq!((diagnostic.code, &diagnostic.location), (Code::MalformedFile, &Location::default()));
        assert!(
            diagnostic.message.starts_with("the text is malformed: line 2, column 7: expected"),
            "{diagnostic:?}"
        );
    }
}
