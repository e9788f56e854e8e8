//! Parser of operator descriptions, line by line.
//!
//! The format of operator files (`docs/operator-files.md`) has one fact per line. A line that begins with
//! `group`, `domain` or `op` ends the operator before it; all other lines belong to the open operator:
//!
//! ```text
//! op Fold 1                                           opens an operator
//!   in data T                                         a port
//!   type T tensor(float)                              a type variable
//!   shape data [batch, length]                        a clause
//! op Next 1                                           decodes the lines of `Fold`, opens the next one
//! ```
//!
//! [`Open`] collects lines by kind, so kinds can be in any order: type variables are decoded before ports,
//! and attributes are sorted by name, because [`Draft`] expects the order of the operator table. The lines of
//! a signature have the decoder of that table. Clauses have their own parser ([`expr`]).
//!
//! There are two ways to read. [`read()`] decodes the text of a user and reports errors with their lines.
//! [`split`] finds the operators of the embedded text, and [`operator`] decodes the lines of one of them at
//! its first lookup, because a model uses few of them. Both are linear in the text.
//!
//! **Invariant:** a description that was read has no unbound names: [`check_clause`] runs after all clauses
//! of an operator are parsed. `like` names an operator of ONNX that exists.
//!
//! **Limit:** reading ends at the first error.

use std::collections::btree_map::Entry as MapEntry;
use std::sync::{Arc, OnceLock};

use typeloom_onnx::domain::canonical;
use typeloom_solver::catalogue::{Catalogue as _, Lookup};
use typeloom_solver::rule::ShapeRule;
use typeloom_solver::signature::Schema;

use super::error::{DescribeError, DescribeErrorKind};
use super::expr::{self, Action, Clause, Mention, Names};
use super::run::Shapes;
use super::{Decoded, Described, Entry, Groups, intern_rule_name};
use crate::catalogue::Standard;
use crate::table::Group;
use crate::table::decode::{Draft, FindGroup, group, name_and_version};
use crate::table::words::{WordReader, lines};

const HEADER: &str = "typeloom-operators 1";

pub(super) fn read(text: &str) -> Result<Described, DescribeError> {
    let mut reader = Reader::default();
    let mut last = 0;
    for (at, line) in text.lines().enumerate() {
        last = at + 1;
        let line = normal(line);
        let blank = line.trim().is_empty();
        if at == 0 {
            if line.trim() != HEADER {
                return Err(DescribeError { line: 1, kind: DescribeErrorKind::Header(line.trim().into()) });
            }
        } else if !blank {
            reader.line(last, &line)?;
        }
    }
    if last == 0 {
        return Err(DescribeError { line: 1, kind: DescribeErrorKind::Header("".into()) });
    }
    reader.finish_operator()?;
    Ok(reader.described)
}

/// Removes a comment: `#` to the end of the line, except in quotes.
fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if !quoted => return line[..at].trim_end(),
            _ => {}
        }
    }
    line.trim_end()
}

/// Splits a text without errors into operators, and decodes none.
pub(super) fn split(text: &'static str) -> Result<Described, DescribeError> {
    let mut reader = Reader::default();
    let mut start = None;
    for (number, (at, line)) in lines(text).enumerate() {
        if line.is_empty() || line.starts_with([' ', '#']) || number == 0 {
            continue;
        }
        if let Some(start) = start.take() {
            reader.add_undecoded(&text[start..at])?;
        }
        if line.starts_with("op ") {
            start = Some(at);
        } else {
            reader.line(number + 1, line)?;
        }
    }
    start.map_or(Ok(()), |start| reader.add_undecoded(&text[start..]))?;
    Ok(reader.described)
}

/// Decodes the lines of an operator. Numbers of lines in errors are relative to its first one.
pub(super) fn operator(text: &str, domain: &str, groups: &Groups) -> Result<Decoded, DescribeError> {
    let mut open = Open::default();
    for (at, line) in text.lines().enumerate() {
        let line = normal(line);
        let line = line.trim_start();
        match line.split(' ').next().unwrap_or_default() {
            "" => {}
            "op" => open = Open { line: at + 1, head: line.to_owned(), ..Open::default() },
            word => open.push(at + 1, word, line),
        }
    }
    let mut decoded = open.decode(domain, groups)?;
    let Schema { name, since_version, .. } = &decoded.schema;
    let found = crate::rules::entry_for(domain, name, *since_version);
    decoded.rules = found.map_or(&[], |found| found.rules);
    Ok(decoded)
}

/// A line without its comment and with spaces for tabs.
fn normal(line: &str) -> String {
    without_comment(line).replace('\t', " ")
}

#[derive(Default)]
struct Reader {
    described: Described,
    domain: Option<Box<str>>,
    open: Option<Open>,
}

/// The operator being parsed: its lines by kind, with line numbers.
#[derive(Default)]
struct Open {
    line: usize,
    head: String,
    types: Vec<(usize, String)>,
    ports: Vec<(usize, String)>,
    attributes: Vec<(usize, String)>,
    clauses: Vec<(usize, String)>,
}

impl Open {
    /// Adds a line that begins with this word.
    fn push(&mut self, number: usize, word: &str, line: &str) {
        let lines = match word {
            "type" => &mut self.types,
            "in" | "out" => &mut self.ports,
            "attr" => &mut self.attributes,
            _ => &mut self.clauses,
        };
        lines.push((number, line.to_owned()));
    }

    fn decode(&self, domain: &str, groups: &Groups) -> Result<Decoded, DescribeError> {
        let (schema, names) = signature(self, domain, &|name| groups.get(name).copied())?;
        let shapes = shapes(self, &schema, names)?;
        let shapes = shapes.map(|it| Arc::new(it) as Arc<dyn ShapeRule>);
        Ok(Decoded { schema, shapes, rules: &[] })
    }
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), DescribeError> {
        let here = |kind| DescribeError { line: number, kind };
        let mut words = WordReader(line);
        match words.next_word().unwrap_or_default() {
            "group" => {
                self.finish_operator()?;
                let groups = &mut self.described.groups;
                let find = |name: &str| groups.get(name).copied();
                let Group { name, members } = group(&mut words, &find).map_err(|kind| here(kind.into()))?;
                groups.insert(name, members);
                Ok(())
            }
            "domain" => {
                self.finish_operator()?;
                self.begin_domain(&mut words).map_err(here)
            }
            "op" => {
                self.finish_operator()?;
                self.begin_operator(number, line).map_err(here)
            }
            word => {
                let Some(open) = &mut self.open else {
                    return Err(here(DescribeErrorKind::Orphan { line: word.into(), owner: "operator" }));
                };
                open.push(number, word, line.trim_start());
                Ok(())
            }
        }
    }

    fn begin_domain(&mut self, words: &mut WordReader<'_>) -> Result<(), DescribeErrorKind> {
        let name: Box<str> = canonical(words.word("a domain")?).into();
        let newest = words.number("the domain's newest version")?;
        words.end()?;
        let domain = self.described.domains.entry(name.clone()).or_default();
        domain.newest = domain.newest.max(newest);
        self.domain = Some(name);
        Ok(())
    }

    fn begin_operator(&mut self, line: usize, head: &str) -> Result<(), DescribeErrorKind> {
        if self.domain.is_none() {
            return Err(DescribeErrorKind::Orphan { line: "op".into(), owner: "domain" });
        }
        let head = head.trim_start().to_owned();
        self.open = Some(Open { line, head, ..Open::default() });
        Ok(())
    }

    fn finish_operator(&mut self) -> Result<(), DescribeError> {
        let (Some(open), Some(domain)) = (self.open.take(), &self.domain) else { return Ok(()) };
        let decoded = open.decode(domain, &self.described.groups)?;
        let (name, since) = (decoded.schema.name.clone(), decoded.schema.since_version);
        let entry = Entry { text: "", decoded: OnceLock::from(Box::new(decoded)) };
        self.insert(name, since, entry).map_err(|kind| DescribeError { line: open.line, kind })
    }

    /// Adds an operator with these lines to the domain.
    fn add_undecoded(&mut self, text: &'static str) -> Result<(), DescribeError> {
        let mut words = WordReader(text.lines().next().unwrap_or_default());
        let head = words.literal("op", "`op`").and_then(|()| name_and_version(&mut words));
        let head = head.map_err(DescribeErrorKind::from);
        let entry = Entry { text, decoded: OnceLock::new() };
        head.and_then(|(name, since)| self.insert(name.into(), since, entry))
            .map_err(|kind| DescribeError { line: 1, kind })
    }

    fn insert(&mut self, name: Box<str>, since: u32, entry: Entry) -> Result<(), DescribeErrorKind> {
        let domain = self.domain.clone().unwrap_or_default();
        let operators = &mut self.described.domains.entry(domain).or_default().operators;
        match operators.entry(name.clone()).or_default().entry(since) {
            MapEntry::Occupied(_) => Err(DescribeErrorKind::Repeated(name)),
            MapEntry::Vacant(free) => {
                free.insert(entry);
                Ok(())
            }
        }
    }
}

fn signature(open: &Open, domain: &str, groups: FindGroup<'_>) -> Result<(Schema, Names), DescribeError> {
    let at =
        |line: usize| move |kind: crate::table::TableErrorKind| DescribeError { line, kind: kind.into() };
    let mut draft = Draft::head(&mut WordReader(&open.head)).map_err(at(open.line))?;
    for (line, text) in open.types.iter().chain(&open.ports) {
        draft.line(text, groups).map_err(at(*line))?;
    }
    // The table sorts attributes by name; a description need not.
    let name = |text: &str| text.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let mut attributes: Vec<(String, usize, &str)> =
        open.attributes.iter().map(|(line, text)| (name(text), *line, text.as_str())).collect();
    attributes.sort();
    if let Some(pair) = attributes.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let kind = DescribeErrorKind::Repeated(pair[1].0.as_str().into());
        return Err(DescribeError { line: pair[1].1, kind });
    }
    for (_, line, text) in &attributes {
        draft.line(text, groups).map_err(at(*line))?;
    }
    let schema = draft.finish(domain);
    let mut names = Names::default();
    for formal in &schema.inputs {
        names.inputs.add(&formal.name);
    }
    for formal in &schema.outputs {
        names.outputs.add(&formal.name);
    }
    for attribute in &schema.attributes {
        names.attributes.add(&attribute.name);
    }
    Ok((schema, names))
}

fn shapes(open: &Open, schema: &Schema, mut names: Names) -> Result<Option<Shapes>, DescribeError> {
    if open.clauses.is_empty() {
        return Ok(None);
    }
    let at = |line: &usize| {
        let line = *line;
        move |kind| DescribeError { line, kind }
    };
    let mut clauses = Vec::with_capacity(open.clauses.len());
    for (line, text) in &open.clauses {
        clauses.push(expr::clause(text, &mut names).map_err(at(line))?);
    }
    for ((line, _), clause) in open.clauses.iter().zip(&clauses) {
        check_clause(clause, &names).map_err(at(line))?;
    }
    let name = intern_rule_name(format!("{}.shape", schema.name.to_lowercase()));
    Ok(Some(Shapes::new(name, clauses, names.extents.len(), names.axis_lists.len())))
}

fn check_clause(clause: &Clause, names: &Names) -> Result<(), DescribeErrorKind> {
    let unbound = clause.mentions.iter().find(|mention| !names.bound.contains(mention));
    match (unbound, &clause.action) {
        (Some(Mention::Extent(name)), _) => {
            Err(DescribeErrorKind::Unbound(names.extents.name(name.0).into()))
        }
        (Some(Mention::Axes(list)), _) => {
            Err(DescribeErrorKind::UnboundAxes(names.axis_lists.name(list.0).into()))
        }
        (None, Action::Like(operator, version))
            if !matches!(Standard.lookup("", operator, *version), Lookup::Found(_)) =>
        {
            Err(DescribeErrorKind::UnknownOperator(operator.clone()))
        }
        (None, _) => Ok(()),
    }
}
