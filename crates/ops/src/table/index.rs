//! First pass: reads the lines without indentation.
//!
//! Indented lines belong to the preceding `op` line. [`decode`](super::decode) decodes them per schema on
//! first access, because a model uses a few dozen of the hundreds of operators.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use super::words::{WordReader, lines, unexpected};
use super::{Domain, Group, Table, TableErrorKind, decode};
use typeloom_onnx::domain::canonical;

/// The table of a text with undecoded schemas.
///
/// # Errors
///
/// The first error in a line without indentation, with the offset of the line.
pub(super) fn table(text: Cow<'static, str>) -> Result<Table, (usize, TableErrorKind)> {
    let mut index = Index::default();
    let mut number = 0;
    for (start, line) in lines(&text) {
        number += 1;
        if number <= TOP_LINES {
            index.top(number, line).map_err(|error| (start, error))?;
        } else if !(line.starts_with(' ') && index.in_operator) {
            index.line(start, line).map_err(|error| (start, error))?;
        }
    }
    let end = text.len();
    let error = |error| (end, error);
    if number < TOP_LINES {
        return Err(error(TableErrorKind::Missing { expected: "the three lines at the top" }));
    }
    check_count("domains", index.counts[0], index.domains.len()).map_err(error)?;
    check_count("operators", index.counts[1], index.operators).map_err(error)?;
    check_count("schemas", index.counts[2], index.heads.len()).map_err(error)?;
    Ok(index.finish(text))
}

/// An `op` line.
#[derive(Debug)]
pub(super) struct Head {
    /// The position of the line in the text.
    pub(super) line: usize,
    /// The position of the name in the text.
    pub(super) name: Range<usize>,
    /// The version.
    pub(super) since: u32,
}

/// Number of lines before the groups.
const TOP_LINES: usize = 3;

#[derive(Default)]
struct Index {
    package: Box<str>,
    package_version: Box<str>,
    /// The numbers of domains, operators and schemas in the header.
    counts: [u32; 3],
    groups: Vec<Group>,
    domains: Vec<Domain>,
    /// The number of operators.
    operators: usize,
    /// The `op` lines.
    heads: Vec<Head>,
    /// The name and version of the last `op` line of the domain.
    last: Option<(Box<str>, u32)>,
    /// Whether the last line without indentation was an `op` line.
    in_operator: bool,
}

impl Index {
    fn top(&mut self, number: usize, line: &str) -> Result<(), TableErrorKind> {
        let mut words = WordReader(line);
        match number {
            1 => {
                words.literal("typeloom-operator-table", "`typeloom-operator-table`")?;
                words.literal("1", "format version 1")?;
            }
            2 => {
                words.literal("source", "`source`")?;
                self.package = words.word("a package")?.into();
                self.package_version = words.word("a version")?.into();
            }
            _ => {
                words.literal("count", "`count`")?;
                self.counts[0] = words.number("the number of domains")?;
                words.literal("domains", "`domains`")?;
                self.counts[1] = words.number("the number of operators")?;
                words.literal("operators", "`operators`")?;
                self.counts[2] = words.number("the number of schemas")?;
                words.literal("schemas", "`schemas`")?;
            }
        }
        words.end()
    }

    fn line(&mut self, start: usize, line: &str) -> Result<(), TableErrorKind> {
        let mut words = WordReader(line);
        match words.word("a keyword")? {
            "group" if self.domains.is_empty() => self.group(&mut words),
            "domain" => self.domain(&mut words, start),
            "op" if !self.domains.is_empty() => self.op(&mut words, start, start + line.len()),
            found if self.domains.is_empty() => Err(unexpected("`group` or `domain`", found)),
            found => Err(unexpected("`op` or `domain`", found)),
        }
    }

    fn group(&mut self, words: &mut WordReader<'_>) -> Result<(), TableErrorKind> {
        let groups = &self.groups;
        let group = decode::group(words, &|name| decode::find(groups, name))?;
        self.groups.push(group);
        Ok(())
    }

    fn domain(&mut self, words: &mut WordReader<'_>, start: usize) -> Result<(), TableErrorKind> {
        self.in_operator = false;
        let name = canonical(words.word("a domain")?);
        if self.domains.last().is_some_and(|before| *before.name >= *name) {
            return Err(TableErrorKind::OutOfOrder(name.into()));
        }
        let oldest = words.number("the domain's first version")?;
        let newest = words.number("the domain's last version")?;
        let here = self.heads.len();
        self.end_domain(start);
        let schemas = here..here;
        self.domains.push(Domain {
            name: name.into(),
            oldest,
            newest,
            schemas,
            operators: HashMap::new(),
            end: 0,
        });
        words.end()
    }

    /// Ends the last domain, if there is one, before a line.
    fn end_domain(&mut self, line: usize) {
        self.last = None;
        if let Some(Domain { schemas, end, .. }) = self.domains.last_mut() {
            schemas.end = self.heads.len();
            *end = line;
        }
    }

    fn op(&mut self, words: &mut WordReader<'_>, line: usize, end: usize) -> Result<(), TableErrorKind> {
        let mut after_name = WordReader(words.0);
        let _ = after_name.next_word();
        let name_end = end - after_name.0.len();
        let (name, since_version) = decode::name_and_version(words)?;
        let out_of_order = || TableErrorKind::OutOfOrder(name.into());
        let head = Head { line, name: name_end - name.len()..name_end, since: since_version };
        match self.last.as_ref().map(|(before, since)| ((**before).cmp(name), since)) {
            Some((Ordering::Greater, _)) => return Err(out_of_order()),
            Some((Ordering::Equal, since)) if *since >= since_version => return Err(out_of_order()),
            Some((Ordering::Equal, _)) => {}
            Some((Ordering::Less, _)) | None => self.operators += 1,
        }
        let at = self.heads.len();
        if let Some(domain) = self.domains.last_mut() {
            domain.operators.entry(name.into()).or_insert(at..at).end = at + 1;
        }
        self.last = Some((name.into(), since_version));
        self.heads.push(head);
        self.in_operator = true;
        Ok(())
    }

    fn finish(mut self, text: Cow<'static, str>) -> Table {
        self.end_domain(text.len());
        Table {
            package: self.package,
            package_version: self.package_version,
            groups: self.groups.into(),
            domains: self.domains.into(),
            schemas: self.heads.iter().map(|_| OnceLock::new()).collect(),
            heads: self.heads.into(),
            text,
        }
    }
}

fn check_count(what: &'static str, declared: u32, found: usize) -> Result<(), TableErrorKind> {
    if declared as usize == found { Ok(()) } else { Err(TableErrorKind::Count { what, declared, found }) }
}
