//! Documents: Markdown with fences.
//!
//! Only fences at the start of a line are read, so that a fence's text is a range of bytes of the file that
//! can be replaced. Fences in some other languages are not executed; any other word after the backticks is an
//! error.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};

use crate::spec::kinds::Kind;

/// Languages of fences without statements.
const IGNORED: [&str; 7] = ["text", "sh", "rust", "python", "json", "toml", "markdown"];

/// A document with the fences that are statements.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its path in the repository.
    pub file: PathBuf,
    /// Its fences, in order.
    pub fences: Vec<Fence>,
    /// The errors of the document itself.
    pub malformed: Vec<Malformed>,
}

/// A fence that is a statement.
#[derive(Clone, Debug)]
pub struct Fence {
    /// The name of its test.
    pub name: String,
    /// The text after the backticks.
    pub info: String,
    pub kind: Kind,
    /// The lines between the backticks; every one ends in a line break.
    pub text: String,
    /// The bytes of the text in the file.
    pub range: Range<usize>,
    /// Number of backticks at its start and end.
    pub marks: usize,
    /// The line of the file on which the fence starts, from 1.
    pub line: usize,
    /// The number of the section that it is in.
    pub section: usize,
}

/// An error in a document, with its file and line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", file.display())]
pub struct Malformed {
    /// The file, from the repository on.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    pub message: String,
}

impl Document {
    /// Every document in a folder of a repository and below, in the order of their names; or a single one.
    pub fn all(repository: &Path, folder: &Path) -> Vec<Result<Self, Malformed>> {
        if repository.join(folder).is_file() {
            let text = std::fs::read_to_string(repository.join(folder));
            let unreadable = |error: std::io::Error| Malformed {
                file: folder.to_owned(),
                line: 0,
                message: error.to_string(),
            };
            return vec![text.map(|text| Self::read(folder, Path::new(""), &text)).map_err(unreadable)];
        }
        let mut files = Vec::new();
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            let unreadable = |error: std::io::Error| Malformed {
                file: folder.clone(),
                line: 0,
                message: error.to_string(),
            };
            let entries = match std::fs::read_dir(repository.join(&folder)) {
                Ok(entries) => entries,
                Err(error) => {
                    files.push((folder.clone(), Err(unreadable(error))));
                    continue;
                }
            };
            for entry in entries.flatten() {
                let path = folder.join(entry.file_name());
                if entry.path().is_dir() {
                    open.push(path);
                } else if path.extension().is_some_and(|extension| extension == "md") {
                    let text = std::fs::read_to_string(entry.path()).map_err(unreadable);
                    files.push((path, text));
                }
            }
        }
        files.sort_by(|(a, _), (b, _)| a.cmp(b));
        files.into_iter().map(|(file, text)| text.map(|text| Self::read(&file, folder, &text))).collect()
    }

    /// Reads the text of a document; names of tests omit `folder`.
    #[must_use]
    pub fn read(file: &Path, folder: &Path, text: &str) -> Self {
        let mut document = Self { file: file.to_owned(), fences: Vec::new(), malformed: Vec::new() };
        let stem = file.strip_prefix(folder).unwrap_or(file).with_extension("");
        let mut headings: Vec<(HeadingLevel, String)> = Vec::new();
        let mut in_heading = false;
        let mut section = 0;
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        let mut fence: Option<(String, Range<usize>)> = None;
        for (event, range) in Parser::new(text).into_offset_iter() {
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    headings.retain(|(above, _)| *above < level);
                    headings.push((level, String::new()));
                    in_heading = true;
                    section += 1;
                }
                Event::End(TagEnd::Heading(_)) => in_heading = false,
                Event::Text(words) | Event::Code(words) if in_heading => {
                    if let Some((_, heading)) = headings.last_mut() {
                        heading.push_str(&words);
                    }
                }
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                    fence = Some((info.to_string(), range));
                }
                Event::End(TagEnd::CodeBlock) => {
                    let Some((info, whole)) = fence.take() else { continue };
                    let line = 1 + text[..whole.start].bytes().filter(|byte| *byte == b'\n').count();
                    let word = info.split_whitespace().next().unwrap_or_default();
                    let kind = match Kind::parse(&info) {
                        Ok(Some(kind)) => kind,
                        Ok(None) if IGNORED.contains(&word) => continue,
                        Ok(None) => {
                            document.complain(line, unknown_kind(&info));
                            continue;
                        }
                        Err(message) => {
                            document.complain(line, message);
                            continue;
                        }
                    };
                    let Some((range, marks)) = inside(text, &whole) else {
                        document.complain(line, "a fence starts and ends at the start of a line".to_owned());
                        continue;
                    };
                    let title: Vec<&str> = match &headings[..] {
                        [(_, title)] => vec![title.as_str()],
                        [_, below @ ..] => below.iter().map(|(_, heading)| heading.as_str()).collect(),
                        [] => vec!["(no heading)"],
                    };
                    let name = format!("{}: {} ({})", stem.display(), title.join(": "), word);
                    let count = names.entry(name.clone()).or_default();
                    *count += 1;
                    let name = if *count == 1 { name } else { format!("{name} #{count}") };
                    let text = text[range.clone()].to_owned();
                    document.fences.push(Fence { name, info, kind, text, range, marks, line, section });
                }
                _ => {}
            }
        }
        document
    }

    fn complain(&mut self, line: usize, message: String) {
        self.malformed.push(Malformed { file: self.file.clone(), line, message });
    }
}

fn unknown_kind(info: &str) -> String {
    let kinds = Kind::NAMES.join("`, `");
    let readers = IGNORED.join("`, `");
    format!("`{info}` is no kind of fence; these are executed: `{kinds}`, and these are not: `{readers}`")
}

/// The bytes between the lines with the backticks, and the number of these; `None` if the fence is indented
/// or not closed.
fn inside(text: &str, whole: &Range<usize>) -> Option<(Range<usize>, usize)> {
    let at_line_start = whole.start == 0 || text.as_bytes()[whole.start - 1] == b'\n';
    let block = text[whole.clone()].trim_end_matches('\n');
    let marks = block.bytes().take_while(|byte| *byte == b'`').count();
    if !at_line_start || marks < 3 {
        return None;
    }
    let first = block.find('\n')? + 1;
    let last = block.rfind('\n')? + 1;
    let closes = block[last..].trim_end().bytes().eq(std::iter::repeat_n(b'`', marks));
    (closes && first <= last).then_some((whole.start + first..whole.start + last, marks))
}
