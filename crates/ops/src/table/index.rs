//! First reading: the lines that are not indented, which say what there is and where.
//!
//! Everything that is indented belongs to the `op` line before it and is left for
//! [`decode`](super::decode), schema by schema, when somebody asks: a model uses a few dozen operators
//! out of hundreds.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::OnceLock;

use super::words::{Words, lines, unexpected};
use super::{Domain, Entry, Group, Operator, Table, TableErrorKind as Fault, decode, in_memory};

/// The table of a text with every schema still to be decoded.
///
/// # Errors
///
/// The first fault in a line that is not indented, and the offset of this line.
pub(super) fn table(text: Cow<'static, str>) -> Result<Table, (usize, Fault)> {
    let mut index = Index::default();
    let mut number = 0;
    for (start, line) in lines(&text) {
        number += 1;
        if number <= TOP_LINES {
            index.top(number, line).map_err(|fault| (start, fault))?;
        } else if line.starts_with(' ') && index.in_operator {
            index.extend(start + line.len());
        } else {
            index.line(start, line).map_err(|fault| (start, fault))?;
        }
    }
    let end = text.len();
    let fault = |fault| (end, fault);
    if number < TOP_LINES {
        return Err(fault(Fault::Missing { expected: "the three lines at the top" }));
    }
    check_count("domains", index.counts[0], index.domains.len()).map_err(fault)?;
    check_count("operators", index.counts[1], index.operators.len()).map_err(fault)?;
    check_count("schemas", index.counts[2], index.entries.len()).map_err(fault)?;
    Ok(Table {
        package: index.package,
        package_version: index.package_version,
        groups: index.groups.into(),
        domains: index.domains.into(),
        operators: index.operators.into(),
        entries: index.entries.into(),
        text,
    })
}

/// How many lines come before the groups.
const TOP_LINES: usize = 3;

#[derive(Default)]
struct Index {
    package: Box<str>,
    package_version: Box<str>,
    /// How many domains, operators and schemas the text declares at its top.
    counts: [u32; 3],
    groups: Vec<Group>,
    domains: Vec<Domain>,
    operators: Vec<Operator>,
    entries: Vec<Entry>,
    /// Whether the last line that is not indented was an `op` line.
    in_operator: bool,
}

impl Index {
    fn top(&mut self, number: usize, line: &str) -> Result<(), Fault> {
        let mut words = Words(line);
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

    fn line(&mut self, start: usize, line: &str) -> Result<(), Fault> {
        let mut words = Words(line);
        match words.word("a keyword")? {
            "group" if self.domains.is_empty() => self.group(&mut words),
            "domain" => self.domain(&mut words),
            "op" if !self.domains.is_empty() => self.op(&mut words, start..start + line.len()),
            found if self.domains.is_empty() => Err(unexpected("`group` or `domain`", found)),
            found => Err(unexpected("`op` or `domain`", found)),
        }
    }

    fn group(&mut self, words: &mut Words<'_>) -> Result<(), Fault> {
        let groups = &self.groups;
        let group = decode::group(words, &|name| decode::find(groups, name))?;
        self.groups.push(group);
        Ok(())
    }

    fn domain(&mut self, words: &mut Words<'_>) -> Result<(), Fault> {
        self.in_operator = false;
        let name = in_memory(words.word("a domain")?);
        if self.domains.last().is_some_and(|before| *before.name >= *name) {
            return Err(Fault::OutOfOrder(name.into()));
        }
        let oldest = words.number("the domain's first version")?;
        let newest = words.number("the domain's last version")?;
        let here = self.operators.len();
        self.domains.push(Domain { name: name.into(), oldest, newest, operators: here..here });
        words.end()
    }

    fn op(&mut self, words: &mut Words<'_>, text: Range<usize>) -> Result<(), Fault> {
        let (name, since_version) = decode::name_and_version(words)?;
        let Some(domain) = self.domains.last_mut() else {
            return Err(Fault::Missing { expected: "a domain" });
        };
        let out_of_order = || Fault::OutOfOrder(name.into());
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

    /// The text of the last `op` line goes on to `end`.
    fn extend(&mut self, end: usize) {
        if let Some(entry) = self.entries.last_mut() {
            entry.text.end = end;
        }
    }
}

fn check_count(what: &'static str, declared: u32, found: usize) -> Result<(), Fault> {
    if declared as usize == found { Ok(()) } else { Err(Fault::Count { what, declared, found }) }
}
