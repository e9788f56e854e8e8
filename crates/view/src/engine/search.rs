//! Searches of nodes, values, groups and diagnostics.
//!
//! # Queries
//!
//! An item is a result if it matches all terms of the query. Terms are separated by spaces; text in double
//! quotes and a shape in brackets are one term. Letters of ASCII match in both cases, except in symbols.
//!
//! | term | matching items |
//! |---|---|
//! | `text` | a part of the name; of nodes also the beginning of the operator, of values also the element type, of diagnostics also a part of the code or message |
//! | `name:text` | a part of the name |
//! | `op:MatMul`, `op:com.microsoft.Gelu` | nodes of an operator, by the beginning of its name, and the values that they make |
//! | `float16`, `[*, seq, *]`, `float[1, *]`, `type:...` | values of a type; with `op:` also the nodes that make them |
//! | `code:text` | diagnostics by a part of their code, and the items that they concern |
//! | `source:model.py:12` | nodes by a part of the author's line `FILE:LINE` |
//! | `has:error`, `has:warning`, `has:source` | items with diagnostics or a source line |
//! | `is:node`, `is:value`, `is:group`, `is:diagnostic` | items of a kind |
//! | `is:input`, `is:output`, `is:stored`, `is:assumed`, `is:incomplete` | values |
//!
//! # Patterns of types
//!
//! The notation of `typeloom infer --filter`: `ELEMENT[AXIS, ...]`, of which both parts can be missing.
//! `ELEMENT` is the name of an element type, in which `*` is any text. An axis is `*` for any extent, an
//! extent such as `8`, `seq` or `2*seq` that is equal as text without spaces, or `~seq` for an extent that
//! mentions a symbol. One `...` matches any number of axes. `float[]` is a scalar, `[...]` any tensor,
//! `seq(float[N])` a sequence. A type that depends on branches matches if one alternative does.
//!
//! # Order and cost
//!
//! Items with exactly the searched name come first, then nodes, values, groups and diagnostics in their
//! order. A search is linear in the items and the lengths of their texts: types and operators are compared
//! once each.

mod pattern;
mod query;

use typeloom_solver::diagnostic::Severity;

use super::Engine;
use super::answers::{Hit, Results};
use super::item::Subject;
use crate::label::{long_type_of, title_of};
use crate::scene::{Evidence, GroupId, Maker, MarkId, NodeId, OperatorId, Scene, TypeId, ValueId};
use crate::text::{MAX_DETAIL, counted, short};
use pattern::Pattern;
use query::{Property, Term, parse};

/// The number of listed results if the request does not give it.
const FEW_RESULTS: usize = 100;

/// Maximum number of listed results.
const MAX_RESULTS: usize = 1000;

/// Maximum number of outputs and diagnostics of an item that are compared.
const MAX_PARTS: usize = 64;

impl Engine {
    pub(super) fn search(&self, query: &str, limit: Option<usize>) -> Results {
        self.search_counted(query, limit).0
    }

    /// The results, and the number of compared items and bytes.
    pub(crate) fn search_counted(&self, query: &str, limit: Option<usize>) -> (Results, usize) {
        let mut found = Results { total: 0, results: Vec::new(), error: String::new() };
        let terms = match parse(query) {
            Ok(terms) => terms,
            Err(error) => {
                found.error = error;
                return (found, 0);
            }
        };
        if terms.is_empty() {
            return (found, 0);
        }
        let limit = limit.unwrap_or(FEW_RESULTS).min(MAX_RESULTS);
        let scene = &self.scene;
        let mut search = Search::new(scene, &terms);
        let nodes = (0..scene.nodes.len()).map(|at| Subject::Node(NodeId::new(at)));
        let values = (0..scene.values.len()).map(|at| Subject::Value(ValueId::new(at)));
        // The model's graph has no name.
        let groups = (1..scene.groups.len()).map(|at| Subject::Group(GroupId::new(at)));
        let marks = (0..scene.marks.len()).map(|at| Subject::Mark(MarkId::new(at)));
        let (mut exact, mut others) = (Vec::new(), Vec::new());
        for subject in nodes.chain(values).chain(groups).chain(marks) {
            match search.compare(subject) {
                Some(Match::Exact) => exact.push(subject),
                Some(Match::Part) if others.len() < limit => others.push(subject),
                Some(Match::Part) => found.total += 1,
                None => {}
            }
        }
        found.total += exact.len() + others.len();
        let shown = exact.into_iter().chain(others).take(limit);
        found.results = shown.map(|subject| hit(scene, subject)).collect();
        (found, search.work)
    }
}

fn hit(scene: &Scene, subject: Subject) -> Hit {
    let text = match subject {
        Subject::Node(node) => {
            let mut outputs = scene.node(node).outputs.iter().flatten();
            outputs.next().map_or_else(String::new, |value| long_type_of(scene, *value))
        }
        Subject::Value(value) => long_type_of(scene, value),
        Subject::Group(group) => counted(scene.group(group).total, "node"),
        Subject::Mark(mark) => short(&scene.mark(mark).message, MAX_DETAIL),
    };
    let title = match subject {
        Subject::Value(value) => short(&scene.value(value).name, MAX_DETAIL),
        Subject::Group(group) => title_of(scene.group(group)),
        Subject::Node(node) => short(&scene.node(node).name, MAX_DETAIL),
        Subject::Mark(_) => subject.name_in(scene),
    };
    Hit { item: subject.to_string(), operator: subject.operator_in(scene), title, text }
}

/// The extent of a match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Match {
    /// The name of the item is the text of a term.
    Exact,
    /// Another match.
    Part,
}

/// A search with the results for all types and operators.
struct Search<'s> {
    scene: &'s Scene,
    terms: Vec<Prepared<'s>>,
    /// Whether a term is about operators, so that types also match nodes.
    has_operator: bool,
    /// The name of the current item in lower case.
    buffer: String,
    /// The number of compared items and bytes.
    work: usize,
}

struct Prepared<'s> {
    term: &'s Term,
    /// The types that match, by position.
    types: Vec<bool>,
    /// The operators that match, by position.
    operators: Vec<bool>,
    /// The codes of diagnostics that match, by position of the diagnostic.
    marks: Vec<bool>,
}

impl<'s> Search<'s> {
    fn new(scene: &'s Scene, terms: &'s [Term]) -> Self {
        let mut work = 0;
        let terms: Vec<Prepared<'s>> =
            terms.iter().map(|term| Prepared::new(scene, term, &mut work)).collect();
        let has_operator = terms.iter().any(|prepared| matches!(prepared.term, Term::Operator(_)));
        Self { scene, terms, has_operator, buffer: String::new(), work }
    }

    /// The match of an item, if all terms match.
    fn compare(&mut self, subject: Subject) -> Option<Match> {
        let scene = self.scene;
        let name = match subject {
            Subject::Node(node) => scene.node(node).name.as_str(),
            Subject::Value(value) => scene.value(value).name.as_str(),
            Subject::Group(group) => scene.group(group).label.as_str(),
            Subject::Mark(mark) => scene.mark(mark).message.as_str(),
        };
        self.buffer.clear();
        self.buffer.push_str(name);
        self.buffer.make_ascii_lowercase();
        let mut found = Match::Part;
        for prepared in &self.terms {
            self.work += 1 + self.buffer.len();
            if !self.matches(prepared, subject) {
                return None;
            }
            if let Term::Any { text, .. } | Term::Name(text) = prepared.term
                && *text == self.buffer
                && !matches!(subject, Subject::Mark(_))
            {
                found = Match::Exact;
            }
        }
        Some(found)
    }

    fn matches(&self, prepared: &Prepared<'_>, subject: Subject) -> bool {
        let scene = self.scene;
        let operator = |node: NodeId| prepared.has_operator(scene.node(node).operator);
        let ty = |value: ValueId| prepared.has_type(scene.value(value).ty);
        let outputs = |node: NodeId| scene.node(node).outputs.iter().flatten().take(MAX_PARTS).copied();
        let is_named = |text: &String| self.buffer.contains(text.as_str());
        match (prepared.term, subject) {
            (Term::Any { text, .. }, Subject::Node(node)) => is_named(text) || operator(node),
            (Term::Any { text, .. }, Subject::Value(value)) => is_named(text) || ty(value),
            (Term::Any { text, .. }, Subject::Group(_)) => is_named(text),
            (Term::Any { text, .. }, Subject::Mark(mark)) => is_named(text) || prepared.has_mark(mark),
            (Term::Name(_), Subject::Mark(_)) => false,
            (Term::Name(text), Subject::Node(_) | Subject::Value(_) | Subject::Group(_)) => is_named(text),
            (Term::Operator(_), Subject::Node(node)) => operator(node),
            (Term::Operator(_), Subject::Value(value)) => match scene.value(value).maker {
                Maker::Node { node, .. } => operator(node),
                Maker::Input | Maker::Stored | Maker::Undefined => false,
            },
            (Term::Operator(_), Subject::Group(_) | Subject::Mark(_)) => false,
            (Term::Type(_), Subject::Value(value)) => ty(value),
            (Term::Type(_), Subject::Node(node)) => self.has_operator && outputs(node).any(ty),
            (Term::Type(_), Subject::Group(_) | Subject::Mark(_)) => false,
            (Term::Code(_), _) => {
                self.marks_of(subject).iter().take(MAX_PARTS).any(|mark| prepared.has_mark(*mark))
                    || matches!(subject, Subject::Mark(mark) if prepared.has_mark(mark))
            }
            (Term::Source(text), Subject::Node(node)) => {
                let source = scene.node(node).source.as_ref();
                source.is_some_and(|line| {
                    format!("{}:{}", line.file, line.line).to_ascii_lowercase().contains(text)
                })
            }
            (Term::Source(_), Subject::Value(_) | Subject::Group(_) | Subject::Mark(_)) => false,
            (Term::Is(property), _) => self.has(*property, subject),
        }
    }

    fn marks_of(&self, subject: Subject) -> &'s [MarkId] {
        match subject {
            Subject::Node(node) => &self.scene.node(node).marks,
            Subject::Value(value) => &self.scene.value(value).marks,
            Subject::Group(_) | Subject::Mark(_) => &[],
        }
    }

    fn has(&self, property: Property, subject: Subject) -> bool {
        let scene = self.scene;
        let with_severity = |severity: Severity| {
            let mut marks = self.marks_of(subject).iter().take(MAX_PARTS);
            marks.any(|mark| scene.mark(*mark).severity == severity)
                || match subject {
                    Subject::Mark(mark) => scene.mark(mark).severity == severity,
                    Subject::Group(group) => match severity {
                        Severity::Error => scene.group(group).errors > 0,
                        Severity::Warning => scene.group(group).warnings > 0,
                    },
                    Subject::Node(_) | Subject::Value(_) => false,
                }
        };
        let value = match subject {
            Subject::Value(value) => Some(scene.value(value)),
            Subject::Node(_) | Subject::Group(_) | Subject::Mark(_) => None,
        };
        match property {
            Property::Error => with_severity(Severity::Error),
            Property::Warning => with_severity(Severity::Warning),
            Property::Source => match subject {
                Subject::Node(node) => scene.node(node).source.is_some(),
                Subject::Value(_) | Subject::Group(_) | Subject::Mark(_) => false,
            },
            Property::Node => matches!(subject, Subject::Node(_)),
            Property::Value => value.is_some(),
            Property::Group => matches!(subject, Subject::Group(_)),
            Property::Diagnostic => matches!(subject, Subject::Mark(_)),
            Property::Input => value.is_some_and(|value| value.maker == Maker::Input),
            Property::Output => value.is_some_and(|value| value.is_output),
            Property::Stored => value.is_some_and(|value| value.maker == Maker::Stored),
            Property::Assumed => value.is_some_and(|value| value.evidence == Evidence::Assumed),
            Property::Incomplete => value.is_some_and(|value| value.evidence == Evidence::Incomplete),
        }
    }
}

impl<'s> Prepared<'s> {
    fn new(scene: &Scene, term: &'s Term, work: &mut usize) -> Self {
        let mut prepared = Self { term, types: Vec::new(), operators: Vec::new(), marks: Vec::new() };
        match term {
            Term::Any { text, pattern } => {
                prepared.operators = operators(scene, text, work);
                prepared.types = types(scene, pattern.as_ref(), work);
                prepared.marks = codes(scene, text, work);
            }
            Term::Operator(text) => prepared.operators = operators(scene, text, work),
            Term::Type(pattern) => prepared.types = types(scene, Some(pattern), work),
            Term::Code(text) => prepared.marks = codes(scene, text, work),
            Term::Name(_) | Term::Source(_) | Term::Is(_) => {}
        }
        prepared
    }

    fn has_type(&self, ty: TypeId) -> bool {
        self.types.get(ty.index()).copied().unwrap_or_default()
    }

    fn has_operator(&self, operator: OperatorId) -> bool {
        self.operators.get(operator.index()).copied().unwrap_or_default()
    }

    fn has_mark(&self, mark: MarkId) -> bool {
        self.marks.get(mark.index()).copied().unwrap_or_default()
    }
}

/// The operators whose name, or domain and name, begin with a text in lower case.
fn operators(scene: &Scene, text: &str, work: &mut usize) -> Vec<bool> {
    let begins = |own: &str| own.get(..text.len()).is_some_and(|head| head.eq_ignore_ascii_case(text));
    let matches = |operator: &crate::scene::Operator| {
        *work += operator.name.len() + operator.domain.len();
        begins(&operator.name) || begins(&format!("{}.{}", operator.domain, operator.name))
    };
    scene.operators.iter().map(matches).collect()
}

fn types(scene: &Scene, pattern: Option<&Pattern>, work: &mut usize) -> Vec<bool> {
    let Some(pattern) = pattern else { return Vec::new() };
    let types = (0..scene.types.len()).map(TypeId::new);
    let matches = |id: TypeId| {
        *work += scene.text_of(id).len();
        pattern.matches(&scene.types[id.index()], &scene.extents)
    };
    types.map(matches).collect()
}

fn codes(scene: &Scene, text: &str, work: &mut usize) -> Vec<bool> {
    *work += scene.marks.len();
    scene.marks.iter().map(|mark| mark.code.contains(text)).collect()
}
