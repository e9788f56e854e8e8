//! Globs of files, relative to the folder of a settings file.
//!
//! A glob matches a file or a folder with everything in it. `*` and `?` match no `/`; `**` matches any folders. A glob
//! without `/` matches at any depth: `*.tmp.onnx`, `vendor`.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// A list of globs.
#[derive(Clone, Debug)]
pub struct Paths {
    globs: GlobSet,
}

impl Paths {
    /// Parses globs.
    ///
    /// # Errors
    /// The position of the first malformed glob, with the syntax error.
    pub fn parse<'g>(texts: impl IntoIterator<Item = &'g str>) -> Result<Self, (usize, String)> {
        let mut builder = GlobSetBuilder::new();
        for (at, text) in texts.into_iter().enumerate() {
            let text = text.trim_start_matches("./").trim_end_matches('/');
            let anchored = match text.strip_prefix('/') {
                Some(text) => text.to_owned(),
                None if text.contains('/') => text.to_owned(),
                None => format!("**/{text}"),
            };
            for text in [anchored.clone(), format!("{anchored}/**")] {
                let glob = GlobBuilder::new(&text).literal_separator(true).build();
                builder.add(glob.map_err(|error| (at, error.kind().to_string()))?);
            }
        }
        let globs = builder.build().map_err(|error| (0, error.kind().to_string()))?;
        Ok(Self { globs })
    }

    /// Whether a glob matches a path, which is relative and separated by `/`.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        self.globs.is_match(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_files_and_folders() {
        for (glob, path, expected) in [
            ("*.tmp.onnx", "a/b/m.tmp.onnx", true),
            ("*.tmp.onnx", "a/b/m.onnx", false),
            ("vendor", "vendor/m.onnx", true),
            ("vendor", "a/vendor/b/m.onnx", true),
            ("/vendor", "a/vendor/m.onnx", false),
            ("vendor/", "vendor/m.onnx", true),
            ("a/*.onnx", "a/m.onnx", true),
            ("a/*.onnx", "a/b/m.onnx", false),
            ("a/**/m.onnx", "a/b/c/m.onnx", true),
            ("./a/b", "a/b/m.onnx", true),
            ("a/b", "c/a/b/m.onnx", false),
        ] {
            let paths = Paths::parse([glob]).unwrap_or_else(|(_, error)| panic!("{glob}: {error}"));
            assert_eq!(paths.matches(path), expected, "{glob} on {path}");
        }
    }

    #[test]
    fn a_malformed_glob_has_its_position() {
        assert!(matches!(Paths::parse(["a", "["]), Err((1, _))));
    }
}
