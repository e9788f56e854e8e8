//! Parser of operator descriptions, line by line.

use std::collections::HashMap;
use std::collections::btree_map::Entry as MapEntry;
use std::sync::Arc;

use typeloom_solver::catalogue::{Catalogue as _, Lookup};
use typeloom_solver::elem::ElemSet;
use typeloom_solver::rule::ShapeRule;
use typeloom_solver::signature::Schema;

use super::error::{DescribeError, DescribeErrorKind};
use super::expr::{self, Action, Clause, Mention, Names};
use super::run::Shapes;
use super::{Described, Entry, intern_rule_name};
use crate::catalogue::Standard;
use crate::table::decode::{Draft, FindGroup, group};
use crate::table::words::WordReader;
use crate::table::{Group, in_memory};

const HEADER: &str = "typeloom-operators 1";

pub(super) fn read(text: &str) -> Result<Described, DescribeError> {
    let mut reader = Reader::default();
    let mut last = 0;
    for (at, line) in text.lines().enumerate() {
        last = at + 1;
        let line = without_comment(line).replace('\t', " ");
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

#[derive(Default)]
struct Reader {
    described: Described,
    groups: HashMap<Box<str>, ElemSet>,
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

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), DescribeError> {
        let here = |kind| DescribeError { line: number, kind };
        let mut words = WordReader(line);
        match words.next_word().unwrap_or_default() {
            "group" => {
                self.finish_operator()?;
                let find = |name: &str| self.groups.get(name).copied();
                let Group { name, members } = group(&mut words, &find).map_err(|kind| here(kind.into()))?;
                self.groups.insert(name, members);
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
                let line = line.trim_start().to_owned();
                let Some(open) = &mut self.open else {
                    return Err(here(DescribeErrorKind::Orphan { line: word.into(), owner: "operator" }));
                };
                match word {
                    "type" => open.types.push((number, line)),
                    "in" | "out" => open.ports.push((number, line)),
                    "attr" => open.attributes.push((number, line)),
                    _ => open.clauses.push((number, line)),
                }
                Ok(())
            }
        }
    }

    fn begin_domain(&mut self, words: &mut WordReader<'_>) -> Result<(), DescribeErrorKind> {
        let name: Box<str> = in_memory(words.word("a domain")?).into();
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
        let start = open.line;
        let (schema, names) = signature(&open, domain, &|name| self.groups.get(name).copied())?;
        let shapes = shapes(&open, &schema, names)?;
        let operators = &mut self.described.domains.entry(domain.clone()).or_default().operators;
        let versions = operators.entry(schema.name.clone()).or_default();
        match versions.entry(schema.since_version) {
            MapEntry::Occupied(_) => {
                Err(DescribeError { line: start, kind: DescribeErrorKind::Repeated(schema.name) })
            }
            MapEntry::Vacant(free) => {
                free.insert(Entry {
                    schema,
                    shapes: shapes.map(|it| Arc::new(it) as Arc<dyn ShapeRule>),
                    rules: &[],
                });
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
