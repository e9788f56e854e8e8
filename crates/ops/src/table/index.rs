//! First pass: reads the lines without indentation.
//!
//! Indented lines belong to the preceding `op` line. [`decode`](super::decode) decodes them per schema on
//! first access, because a model uses a few dozen of the hundreds of operators.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::OnceLock;

use super::heads::{self, Head};
use super::words::{WordReader, lines, unexpected};
use super::{Domain, Group, Table, TableErrorKind, decode, in_memory};

/// The table of a text with undecoded schemas.
///
/// # Errors
///
/// The first error in a line without indentation, with the offset of the line.
pub(super) fn table(text: &str) -> Result<Table, (usize, TableErrorKind)> {
    let mut index = Index::default();
    let mut number = 0;
    for (start, line) in lines(text) {
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
    let heads = std::mem::take(&mut index.heads);
    let domains: Vec<usize> = index.domains.iter().map(|domain| domain.schemas.start).collect();
    let mut by_name = vec![0; heads::slots(heads.len())];
    heads::fill(&mut by_name, text.as_bytes(), &heads, &domains);
    Ok(index.finish(Cow::Owned(text.to_owned()), Cow::Owned(heads), Cow::Owned(by_name)))
}

/// The table of a text without errors, of which the `op` lines and the positions of the `domain` lines are known. No other
/// line after the groups is read.
///
/// # Errors
///
/// As for [`table`].
pub(super) fn located(
    text: &'static str,
    heads: &'static [Head],
    by_name: &'static [u32],
    domains: &[u32],
) -> Result<Table, (usize, TableErrorKind)> {
    let mut index = Index::default();
    let top = domains.first().map_or(text.len(), |start| *start as usize);
    for (at, (start, line)) in lines(&text[..top]).enumerate() {
        let read = if at < TOP_LINES { index.top(at + 1, line) } else { index.line(start, line) };
        read.map_err(|error| (start, error))?;
    }
    for start in domains {
        let (at, start) = (heads.partition_point(|head| head.line < *start), *start as usize);
        let line = lines(&text[start..]).next().map_or("", |(_, line)| line);
        index.begin_domain(start, at);
        index.line(start, line).map_err(|error| (start, error))?;
        if let Some(domain) = index.domains.last_mut() {
            domain.schemas = at..heads.len();
        }
    }
    Ok(index.finish(Cow::Borrowed(text), Cow::Borrowed(heads), Cow::Borrowed(by_name)))
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
        let name = in_memory(words.word("a domain")?);
        if self.domains.last().is_some_and(|before| *before.name >= *name) {
            return Err(TableErrorKind::OutOfOrder(name.into()));
        }
        let oldest = words.number("the domain's first version")?;
        let newest = words.number("the domain's last version")?;
        let here = self.heads.len();
        self.begin_domain(start, here);
        let schemas = here..here;
        self.domains.push(Domain { name: name.into(), oldest, newest, schemas, end: 0 });
        words.end()
    }

    /// Ends the domain before a line, whose next schema has this position.
    fn begin_domain(&mut self, line: usize, position: usize) {
        self.last = None;
        if let Some(Domain { schemas, end, .. }) = self.domains.last_mut().filter(|domain| domain.end == 0) {
            schemas.end = position;
            *end = line;
        }
    }

    fn op(&mut self, words: &mut WordReader<'_>, line: usize, end: usize) -> Result<(), TableErrorKind> {
        let mut after_name = WordReader(words.0);
        let _ = after_name.next_word();
        let name_end = end - after_name.0.len();
        let (name, since_version) = decode::name_and_version(words)?;
        let out_of_order = || TableErrorKind::OutOfOrder(name.into());
        let number = |offset| u32::try_from(offset).map_err(|_| out_of_order());
        let (line, name_end) = (number(line)?, number(name_end)?);
        let head = Head { line, name: name_end - number(name.len())?, name_end, since: since_version };
        match self.last.as_ref().map(|(before, since)| ((**before).cmp(name), since)) {
            Some((Ordering::Greater, _)) => return Err(out_of_order()),
            Some((Ordering::Equal, since)) if *since >= since_version => return Err(out_of_order()),
            Some((Ordering::Equal, _)) => {}
            Some((Ordering::Less, _)) | None => self.operators += 1,
        }
        self.last = Some((name.into(), since_version));
        self.heads.push(head);
        self.in_operator = true;
        Ok(())
    }

    fn finish(
        mut self,
        text: Cow<'static, str>,
        heads: Cow<'static, [Head]>,
        by_name: Cow<'static, [u32]>,
    ) -> Table {
        self.begin_domain(text.len(), heads.len());
        Table {
            package: self.package,
            package_version: self.package_version,
            groups: self.groups.into(),
            domains: self.domains.into(),
            schemas: heads.iter().map(|_| OnceLock::new()).collect(),
            heads,
            by_name,
            text,
        }
    }
}

fn check_count(what: &'static str, declared: u32, found: usize) -> Result<(), TableErrorKind> {
    if declared as usize == found { Ok(()) } else { Err(TableErrorKind::Count { what, declared, found }) }
}
