//! Diagnostic code `tensor-data`.

use typeloom_onnx::ErrorKind;

super::code!("tensor-data", Error, "a tensor's data does not fit its dims and element type");

pub(crate) const HELP: &str = "export the model again, or correct the tensor";

/// Whether a decode error is about the data of one tensor rather than about the file.
pub(crate) fn concerns(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::PayloadSize { .. }
            | ErrorKind::PayloadField { .. }
            | ErrorKind::TwoPayloads { .. }
            | ErrorKind::ExternalAndInline
            | ErrorKind::ExternalWithoutLocation
            | ErrorKind::ExternalStrings
            | ErrorKind::ExternalNumber { .. }
            | ErrorKind::SparseTensor { .. }
    )
}
