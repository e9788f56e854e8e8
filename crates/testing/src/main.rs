//! `typeloom-pictures FOLDER DOCUMENT...`: draws the diagnostics that Markdown documents show.
//!
//! Run in the root of the repository, with documents relative to it. The picture of the n-th snapshot of
//! `docs/a.md` is `FOLDER/docs/a-n.svg`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use typeloom_testing::spec::pictures;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let Some(folder) = arguments.next() else { return fail("usage: typeloom-pictures FOLDER DOCUMENT...") };
    for document in arguments {
        if let Err(message) = draw(&folder, &document) {
            return fail(&message);
        }
    }
    ExitCode::SUCCESS
}

fn fail(message: &str) -> ExitCode {
    // Without a standard error stream, the exit code remains.
    let _ = writeln!(std::io::stderr(), "error: {message}");
    ExitCode::from(2)
}

/// Writes the pictures of one document.
fn draw(folder: &Path, document: &Path) -> Result<(), String> {
    let of_file = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(document).map_err(|error| of_file(document, error))?;
    for picture in pictures::of_document(document, &text).map_err(|error| error.to_string())? {
        let file = folder.join(pictures::file_name(document, &picture));
        let parent = file.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(|error| of_file(parent, error))?;
        std::fs::write(&file, picture.svg).map_err(|error| of_file(&file, error))?;
    }
    Ok(())
}
