//! Files that are not models, tensors whose data does not fit, unknown versions, and files that cannot be used.

use typeloom_onnx::{DecodeError, ErrorKind};

use super::words::{plain, tick};
use super::{Code, Diagnostic, Location, Severity};
use crate::model::Mode;
use crate::program::MAX_NESTING;

/// The code of an error in the bytes: most are of the file, some of one tensor.
pub(super) fn code_of_bytes(error: &DecodeError) -> Code {
    match &error.kind {
        ErrorKind::PayloadSize { .. }
        | ErrorKind::PayloadField { .. }
        | ErrorKind::TwoPayloads { .. }
        | ErrorKind::ExternalAndInline
        | ErrorKind::ExternalWithoutLocation
        | ErrorKind::ExternalStrings
        | ErrorKind::ExternalNumber { .. }
        | ErrorKind::SparseTensor { .. } => Code::TensorData,
        ErrorKind::ElementCountOverflow => Code::ExtentOverflow,
        ErrorKind::NegativeDim { .. } => Code::NegativeDim,
        _ => Code::MalformedFile,
    }
}

/// The bytes are not a model, or the data of a tensor does not fit.
pub(super) fn malformed(error: &DecodeError, location: Location) -> Diagnostic {
    let DecodeError { offset, kind } = error;
    let code = code_of_bytes(error);
    let kind = plain(&kind.to_string(), 200);
    let value = location.value.as_ref().map(|value| format!("{} {}", value.role.name(), tick(&value.name)));
    let location = Location { offset: Some(*offset), ..location };
    if code == Code::MalformedFile {
        return Diagnostic::new(code, format!("the file is malformed: {kind}"), location)
            .with_help("the file may be cut off or damaged: export or download it again");
    }
    let message = value.map_or_else(|| kind.clone(), |value| format!("{value}: {kind}"));
    let diagnostic = Diagnostic::new(code, message, location);
    if code == Code::TensorData {
        return diagnostic.with_help("export the model again, or correct the tensor");
    }
    diagnostic
}

/// The IR version is missing, zero, or newer than is known.
pub(super) fn ir_version(found: i64, newest: i64, mode: Mode) -> Diagnostic {
    let (message, help) = if found < 1 {
        let message = match found {
            0 => "the model has no IR version".to_owned(),
            _ => format!("the model has IR version {found}"),
        };
        (message, format!("set `ir_version` to a version from 3 to {newest}"))
    } else {
        let message = format!("the model has IR version {found}, but the newest known is {newest}");
        (message, "export the model with an older version of ONNX, or update typeloom".to_owned())
    };
    graded(Diagnostic::new(Code::IrVersion, message, Location::default()).with_help(help), mode)
}

/// A newer operator set is imported than is known.
pub(super) fn newer_opset(
    function: Option<&str>,
    domain: &str,
    (imported, newest): (i64, i64),
    mode: Mode,
) -> Diagnostic {
    let what = match function {
        Some(function) => format!("function {}", tick(function)),
        None => "the model".to_owned(),
    };
    let set = match domain {
        "" => "opset".to_owned(),
        domain => format!("version {{}} of domain {}", tick(domain)),
    };
    let message = if domain.is_empty() {
        format!("{what} imports {set} {imported}, but the newest known is {newest}")
    } else {
        format!(
            "{what} imports {}, but the newest known is {newest}",
            set.replace("{}", &imported.to_string())
        )
    };
    let help = format!("operators are checked as of version {newest}; import it, or update typeloom");
    graded(Diagnostic::new(Code::NewerOpset, message, Location::default()).with_help(help), mode)
}

/// A warning in permissive mode.
fn graded(mut diagnostic: Diagnostic, mode: Mode) -> Diagnostic {
    if mode == Mode::Permissive {
        diagnostic.severity = Severity::Warning;
    }
    diagnostic
}

/// There is no graph in the model.
pub(super) fn no_graph() -> Diagnostic {
    Diagnostic::new(Code::MalformedFile, "the model has no graph".to_owned(), Location::default())
        .with_help("check that the file is an ONNX model and that it is not empty")
}

/// Graphs are nested too deep.
pub(super) fn too_deep(location: Location) -> Diagnostic {
    let message = format!("graphs are nested more than {MAX_NESTING} deep");
    Diagnostic::new(Code::NestingTooDeep, message, location)
}

/// A tensor's data is in a file that cannot be used.
pub(super) fn missing_external_data(name: Option<String>, reason: &str, location: Location) -> Diagnostic {
    let subject = name.unwrap_or_else(|| "a tensor".to_owned());
    let message = format!("the data of {subject} cannot be read: {}", plain(reason, 400));
    Diagnostic::new(Code::MissingExternalData, message, location)
        .with_help("put the file beside the model; `--no-external-data` checks without it")
}

/// The file is a Git LFS pointer.
pub(super) fn lfs_pointer() -> Diagnostic {
    let message = "the file is a Git LFS pointer, not the model itself".to_owned();
    Diagnostic::new(Code::LfsPointer, message, Location::default())
        .with_help("download the model with `git lfs pull`")
}
