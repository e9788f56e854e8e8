//! Globs of files: [`Paths`] in settings, relative to the folder of a settings file, and [`Search`] as an
//! argument.
//!
//! A glob matches a file or a folder with everything in it. `*` and `?` match no `/`; `**` matches any
//! folders. A glob without `/` matches at any depth in settings: `*.tmp.onnx`, `vendor`. As an argument it
//! matches in the current folder only, as in a shell.

use crate::glob::{Glob, GlobError, Globs, Subject, parsed};

/// Lists of globs, compiled together.
#[derive(Clone, Debug)]
pub struct Paths {
    globs: Globs,
    /// The list of each glob.
    lists: Vec<usize>,
}

/// The syntax of lists of globs, which are not compiled yet.
#[derive(Default)]
pub(crate) struct Lists {
    globs: Vec<globset::Glob>,
    lists: Vec<usize>,
    length: usize,
}

impl Lists {
    /// Adds a list, which gets the next number.
    ///
    /// # Errors
    /// The position of the first malformed glob, with the error.
    pub(crate) fn add<'g>(
        &mut self,
        texts: impl IntoIterator<Item = &'g str>,
    ) -> Result<(), (usize, GlobError)> {
        for (at, text) in texts.into_iter().enumerate() {
            let text = text.trim_start_matches("./").trim_end_matches('/');
            let anchored = match text.strip_prefix('/') {
                Some(text) => text.to_owned(),
                None if text.contains('/') => text.to_owned(),
                None => format!("**/{text}"),
            };
            for text in [anchored.clone(), format!("{anchored}/**")] {
                self.globs.push(parsed(&text, Subject::Paths).map_err(|error| (at, error))?);
                self.lists.push(self.length);
            }
        }
        self.length += 1;
        Ok(())
    }

    /// Compiles the lists.
    pub(crate) fn compile(self) -> Result<Paths, GlobError> {
        Ok(Paths { globs: Globs::compile(self.globs)?, lists: self.lists })
    }
}

impl Paths {
    /// Parses one list of globs.
    ///
    /// # Errors
    /// The position of the first malformed glob, with the error.
    pub fn parse<'g>(texts: impl IntoIterator<Item = &'g str>) -> Result<Self, (usize, GlobError)> {
        let mut lists = Lists::default();
        lists.add(texts)?;
        lists.compile().map_err(|error| (0, error))
    }

    /// Whether a glob matches a path, which is relative and separated by `/`.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        !self.globs.matches(path).is_empty()
    }

    /// The lists with a glob that matches a path, in ascending order.
    pub(crate) fn lists_of(&self, path: &str) -> Vec<usize> {
        let mut lists: Vec<usize> =
            self.globs.matches(path).into_iter().map(|glob| self.lists[glob]).collect();
        lists.sort_unstable();
        lists.dedup();
        lists
    }
}

/// A search for files by a glob: the folder to begin with, and the glob of paths in it.
#[derive(Clone, Debug)]
pub struct Search {
    folder: String,
    glob: Glob,
    /// The number of parts of the glob; `None` if it matches at any depth.
    depth: Option<usize>,
    has_extension: bool,
}

/// The relation of a path to a [`Search`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Match {
    /// The glob matches the path.
    Whole,
    /// The path may be a folder with files that the glob matches.
    Above,
    /// The glob matches neither the path nor anything in it.
    None,
}

impl Search {
    /// Whether a text has a character with a meaning in globs.
    #[must_use]
    pub fn is_glob(text: &str) -> bool {
        text.contains(['*', '?', '[', '{'])
    }

    /// Parses an argument.
    ///
    /// # Errors
    /// The syntax error.
    pub fn parse(text: &str) -> Result<Self, GlobError> {
        let meta = text.find(['*', '?', '[', '{']).unwrap_or(text.len());
        let split = text[..meta].rfind(std::path::is_separator).map_or(0, |at| at + 1);
        let (folder, rest) = text.split_at(split);
        let rest = rest.trim_end_matches(std::path::is_separator);
        let is_bounded = !rest.contains("**") && !rest.contains('{');
        let depth = is_bounded.then(|| rest.split(std::path::is_separator).count());
        let last = rest.rsplit(std::path::is_separator).next().unwrap_or(rest);
        let has_extension = last.rsplit_once('.').is_some_and(|(_, extension)| !extension.contains('*'));
        Ok(Self { folder: folder.to_owned(), glob: Glob::parse(rest, Subject::Paths)?, depth, has_extension })
    }

    /// The folder to search, which ends with a separator; empty for the current folder.
    #[must_use]
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// Whether the glob has an extension, so that it selects files of any kind by their names.
    #[must_use]
    pub fn has_extension(&self) -> bool {
        self.has_extension
    }

    /// Matches a path in the folder; parts are separated by `/`.
    #[must_use]
    pub fn matches(&self, path: &str) -> Match {
        if self.glob.matches(path) {
            Match::Whole
        } else if self.depth.is_none_or(|depth| path.split('/').count() < depth) {
            Match::Above
        } else {
            Match::None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_begins_in_the_last_folder_without_a_meta_character() {
        for (text, folder, path, expected) in [
            ("*.onnx", "", "m.onnx", Match::Whole),
            ("*.onnx", "", "a/m.onnx", Match::None),
            ("*.onnx", "", "a", Match::None),
            ("a/b/*.onnx", "a/b/", "m.onnx", Match::Whole),
            ("../a*/m.onnx", "../", "ab", Match::Above),
            ("../a*/m.onnx", "../", "ab/m.onnx", Match::Whole),
            ("/a/**/m.onnx", "/a/", "b/c/m.onnx", Match::Whole),
            ("/a/**/m.onnx", "/a/", "m.onnx", Match::Whole),
            ("/a/**/m.onnx", "/a/", "b/c", Match::Above),
            ("v[12]/", "", "v1", Match::Whole),
            ("{a/b,c}.onnx", "", "a/b.onnx", Match::Whole),
        ] {
            let search = Search::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((search.folder(), search.matches(path)), (folder, expected), "{text} on {path}");
        }
        assert!(Search::parse("a/[").is_err());
    }

    #[test]
    fn a_glob_can_name_an_extension() {
        for (text, expected) in [("a/*.pb", true), ("a.b/*", false), ("a.b/**", false), ("m.*", false)] {
            assert_eq!(Search::parse(text).map(|search| search.has_extension()), Ok(expected), "{text}");
        }
    }

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
