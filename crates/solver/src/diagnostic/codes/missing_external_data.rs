//! Diagnostic code `missing-external-data`.

use crate::diagnostic::{Code, Diagnostic, Location, clip};

super::code!("missing-external-data", Error, "a tensor's data is in a file that cannot be used");

/// A tensor's data is in a file that cannot be used.
pub(crate) fn missing_external_data(name: Option<String>, reason: &str, location: Location) -> Diagnostic {
    let subject = name.unwrap_or_else(|| "a tensor".to_owned());
    let message = format!("the data of {subject} cannot be read: {}", clip(reason, 400));
    Diagnostic::new(Code::MissingExternalData, message, location)
        .with_help("put the file next to the model; `--no-external-data` checks without it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_data_is_an_error_with_the_reason() {
        let reason = "`weights.bin` is not there";
        let diagnostic = missing_external_data(Some("`w`".to_owned()), reason, Location::default());
        assert_eq!(diagnostic.message, "the data of `w` cannot be read: `weights.bin` is not there");
        assert!(diagnostic.is_error());
    }
}
