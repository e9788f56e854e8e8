//! First pass: indexes the lines without indentation.
//!
//! Indented lines belong to the preceding `op` line. [`decode`](super::decode) decodes them per schema on
//! first access, because a model uses a few dozen of the hundreds of operators.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::OnceLock;

use super::words::{WordReader, lines, unexpected};
use super::{ByName, Domain, Entry, Group, Operator, Table, TableErrorKind, decode, in_memory};

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
        } else if line.starts_with(' ') && index.in_operator {
            index.extend(start + line.len());
        } else {
            index.line(start, line).map_err(|error| (start, error))?;
        }
    }
    let end = text.len();
    let error = |error| (end, error);
    if number < TOP_LINES {
        return Err(error(TableErrorKind::Missing { expected: "the three lines at the top" }));
    }
    check_count("domains", index.counts[0], index.domains.len()).map_err(error)?;
    check_count("operators", index.counts[1], index.operators.len()).map_err(error)?;
    check_count("schemas", index.counts[2], index.entries.len()).map_err(error)?;
    Ok(Table {
        package: index.package,
        package_version: index.package_version,
        groups: index.groups.into(),
        domains: index.domains.into(),
        by_name: ByName::new(&index.operators),
        operators: index.operators.into(),
        entries: index.entries.into(),
        text,
    })
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
    operators: Vec<Operator>,
    entries: Vec<Entry>,
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
            "domain" => self.domain(&mut words),
            "op" if !self.domains.is_empty() => self.op(&mut words, start..start + line.len()),
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

    fn domain(&mut self, words: &mut WordReader<'_>) -> Result<(), TableErrorKind> {
        self.in_operator = false;
        let name = in_memory(words.word("a domain")?);
        if self.domains.last().is_some_and(|before| *before.name >= *name) {
            return Err(TableErrorKind::OutOfOrder(name.into()));
        }
        let oldest = words.number("the domain's first version")?;
        let newest = words.number("the domain's last version")?;
        let here = self.operators.len();
        self.domains.push(Domain { name: name.into(), oldest, newest, operators: here..here });
        words.end()
    }

    fn op(&mut self, words: &mut WordReader<'_>, text: Range<usize>) -> Result<(), TableErrorKind> {
        let (name, since_version) = decode::name_and_version(words)?;
        let Some(domain) = self.domains.last_mut() else {
            return Err(TableErrorKind::Missing { expected: "a domain" });
        };
        let out_of_order = || TableErrorKind::OutOfOrder(name.into());
        let here = u32::try_from(self.entries.len()).map_err(|_| out_of_order())?;
        let before = self.operators.last_mut().filter(|_| !domain.operators.is_empty());
        let newer = self.entries.last().is_none_or(|entry| entry.since_version < since_version);
        match before.map(|operator| ((*operator.name).cmp(name), operator)) {
            Some((Ordering::Greater, _)) => return Err(out_of_order()),
            Some((Ordering::Equal, _)) if !newer => return Err(out_of_order()),
            Some((Ordering::Equal, operator)) => operator.versions.end = here + 1,
            Some((Ordering::Less, _)) | None => {
                self.operators.push(Operator { name: name.into(), versions: here..here + 1 });
                domain.operators.end = self.operators.len();
            }
        }
        let domain = self.domains.len() - 1;
        self.entries.push(Entry { domain, since_version, text, schema: OnceLock::new() });
        self.in_operator = true;
        Ok(())
    }

    /// Extends the text of the last `op` line to `end`.
    fn extend(&mut self, end: usize) {
        if let Some(entry) = self.entries.last_mut() {
            entry.text.end = end;
        }
    }
}

fn check_count(what: &'static str, declared: u32, found: usize) -> Result<(), TableErrorKind> {
    if declared as usize == found { Ok(()) } else { Err(TableErrorKind::Count { what, declared, found }) }
}
