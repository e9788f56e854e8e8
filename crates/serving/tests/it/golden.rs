//! The texts of all formats, compared with files in `tests/golden`; `TYPELOOM_BLESS=1` writes them.

use std::path::PathBuf;

use typeloom_serving::{Format, Options, write};

use crate::support::rich;

fn extension(format: Format) -> &'static str {
    match format {
        Format::Triton => "pbtxt",
        Format::Oip | Format::Mlflow | Format::JsonSchema | Format::OpenApi => "json",
        Format::CHeader => "h",
        Format::Rust => "rs.txt",
        Format::Python => "py.txt",
    }
}

#[test]
fn every_format_has_its_recorded_text() {
    let interface = rich();
    for format in Format::ALL {
        let text = write(format, &interface, &Options::named("my model")).expect("the types are supported");
        let file = format!("tests/golden/{format}.{}", extension(format));
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file);
        if std::env::var_os("TYPELOOM_BLESS").is_some() {
            std::fs::write(&path, &text).expect("the file can be written");
        }
        let expected = std::fs::read_to_string(&path).expect("the text is recorded");
        assert!(text == expected, "{format} differs from {}:\n{text}", path.display());
    }
}

#[test]
fn formats_are_found_by_their_names() {
    for format in Format::ALL {
        assert_eq!(Format::named(&format.to_string()), Some(format));
    }
    assert_eq!(Format::named("other"), None);
}
