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

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_tensor_has_as_many_elements_as_its_dims() {
        let model = "g (float x) => (y) <float[3] w = {1.0}> { y = Add(x, w) }";
        let expected = [
            "error[tensor-data]: initializer `w`: a tensor's `TensorProto.float_data` has 1 elements, but its dims and element type require 3",
        ];
        assert_eq!(reports(model), expected);
    }
}
