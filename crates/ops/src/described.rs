//! Operators described by a text: signatures with type variables, and shape clauses.
//!
//! The operators of ONNX Runtime (domain `com.microsoft`) are described by an embedded text and available by
//! default ([`Described::microsoft`]). Users describe operators of other domains in files of the same format.
//! [`Operators`] combines several sources. `docs/operator-files.md` specifies the format.
//!
//! ```
//! use typeloom_ops::described::Described;
//! use typeloom_solver::catalogue::{Catalogue, Lookup};
//!
//! let text = r#"typeloom-operators 1
//! domain com.example 1
//! op Fold 1
//!   type T tensor(float+float16)
//!   in data T
//!   out folded T
//!   attr width int required
//!   shape data [batch, length, rest...]
//!   shape folded [batch, length // width, width, rest...]
//! "#;
//! let described = Described::parse(text)?;
//! assert!(matches!(described.lookup("com.example", "Fold", 1), Lookup::Found(_)));
//!
//! let wrong = Described::parse("typeloom-operators 1\ndomain d 1\nop A 1\n  in x T\n").unwrap_err();
//! assert_eq!(
//!     wrong.to_string(),
//!     "line 4: `T` is neither a type variable of the operator nor a tensor of one element type"
//! );
//! # Ok::<(), typeloom_ops::described::DescribeError>(())
//! ```
//!
//! **Invariant:** a description is validated when it is parsed: every name in an expression is bound by the
//! shape of an input, a `let` or an attribute. So an error of a run is always an error of the model.
//!
//! The embedded text is validated by a test. At run time it is split into operators at its first use, and an
//! operator is decoded when a model has it.

mod custom;
mod error;
mod expr;
mod read;
mod run;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use typeloom_solver::catalogue::{Catalogue, Lookup, Operator, PyTorch};
use typeloom_solver::elem::ElemSet;
use typeloom_solver::rule::{Rule, ShapeRule};
use typeloom_solver::signature::Schema;
use typeloom_types::op::AtomicOpsetDecl;
use typeloom_types::suggest::nearest;

use crate::catalogue::Standard;

pub use custom::{NoSuchOperator, OperatorCx, OperatorError, RuleDim};
pub use error::{DescribeError, DescribeErrorKind};

/// The operators described by one text.
#[derive(Debug, Default)]
pub struct Described {
    domains: BTreeMap<Box<str>, Domain>,
    groups: Groups,
}

/// Named sets of element types.
type Groups = HashMap<Box<str>, ElemSet>;

/// The operators of one domain by name and version.
#[derive(Debug, Default)]
struct Domain {
    newest: u32,
    operators: BTreeMap<Box<str>, BTreeMap<u32, Entry>>,
}

/// One version of an operator.
#[derive(Debug)]
struct Entry {
    /// Its lines, for an operator of the embedded text.
    text: &'static str,
    /// Set at the first lookup, or when the text was parsed.
    decoded: OnceLock<Box<Decoded>>,
}

/// The declaration and the rules of an operator.
#[derive(Debug)]
struct Decoded {
    schema: Schema,
    shapes: Option<Arc<dyn ShapeRule>>,
    /// Additional rules in Rust, for operators of the embedded text only.
    rules: &'static [Rule],
}

impl Described {
    /// The embedded text with the operators of ONNX Runtime's optimiser.
    pub const MICROSOFT: &str = include_str!("../data/com.microsoft.txt");

    /// Parses a text.
    ///
    /// # Errors
    /// The first line that is not in the format.
    pub fn parse(text: &str) -> Result<Self, DescribeError> {
        read::read(text)
    }

    /// The operators of the domain `com.microsoft`. An operator is decoded at its first lookup.
    #[must_use]
    pub fn microsoft() -> &'static Self {
        static MICROSOFT: OnceLock<Described> = OnceLock::new();
        MICROSOFT.get_or_init(|| read::split(Self::MICROSOFT).expect("a test of this crate splits the text"))
    }

    /// The domains with their newest versions.
    pub fn domains(&self) -> impl Iterator<Item = (&str, u32)> {
        self.domains.iter().map(|(name, domain)| (&**name, domain.newest))
    }

    /// The versions of an operator, oldest first.
    pub fn versions<'d>(&'d self, domain: &str, name: &str) -> impl Iterator<Item = &'d Schema> {
        let entries = self.domains.get_key_value(domain);
        let entries = entries.and_then(|(domain, known)| Some((&**domain, known.operators.get(name)?)));
        let all = move |(domain, entries): (&'d str, &'d BTreeMap<u32, Entry>)| {
            entries.values().map(move |entry| &self.decoded(domain, entry).schema)
        };
        entries.into_iter().flat_map(all)
    }

    fn decoded<'d>(&'d self, domain: &str, entry: &'d Entry) -> &'d Decoded {
        entry.decoded.get_or_init(|| {
            let decoded = read::operator(entry.text, domain, &self.groups);
            Box::new(decoded.expect("a test of this crate parses the text"))
        })
    }
}

impl Catalogue for Described {
    fn lookup(&self, domain: &str, name: &str, version: i64) -> Lookup<'_> {
        let Some(known) = self.domains.get(domain) else { return Lookup::UnknownDomain };
        let Some(entries) = known.operators.get(name) else { return Lookup::UnknownOperator };
        let newest = u32::try_from(version.max(0)).unwrap_or(u32::MAX);
        match entries.range(..=newest).next_back() {
            Some((_, entry)) => {
                let Decoded { schema, shapes, rules } = self.decoded(domain, entry);
                let described = shapes.as_deref();
                Lookup::Found(Operator { schema, rules, control: None, described })
            }
            None => {
                Lookup::NewerThanOpset { since: entries.first_key_value().map_or(1, |(since, _)| *since) }
            }
        }
    }

    fn names(&self, domain: &str) -> Vec<&str> {
        self.domains
            .get(domain)
            .into_iter()
            .flat_map(|domain| domain.operators.keys())
            .map(|name| &**name)
            .collect()
    }

    fn domains(&self) -> Vec<&str> {
        self.domains.keys().map(|name| &**name).collect()
    }
}

/// A combination of catalogues. In order of precedence: ONNX's operators, declared operators, described ones
/// (the last addition first), and `com.microsoft`.
#[derive(Debug, Default)]
pub struct Operators {
    described: Vec<Described>,
    declared: Vec<&'static AtomicOpsetDecl>,
}

impl Operators {
    /// The operators of ONNX and of ONNX Runtime.
    #[must_use]
    pub const fn standard() -> Self {
        Self { described: Vec::new(), declared: Vec::new() }
    }

    /// Adds the operators of a text.
    #[must_use]
    pub fn with(mut self, described: Described) -> Self {
        self.described.push(described);
        self
    }

    /// Adds operators declared in Rust by their ports and relations.
    #[must_use]
    pub fn with_opset(mut self, opset: &'static AtomicOpsetDecl) -> Self {
        self.declared.push(opset);
        self
    }

    /// The declared operator sets in the order of their addition.
    pub fn opsets(&self) -> impl Iterator<Item = &'static AtomicOpsetDecl> {
        self.declared.iter().copied()
    }

    /// The descriptions in order of precedence.
    pub fn descriptions<'o>(&'o self) -> impl Iterator<Item = &'o Described> {
        let embedded = || -> &'o Described { Described::microsoft() };
        self.described.iter().rev().chain(std::iter::once_with(embedded))
    }

    /// Names of operators of a domain that are similar to `name`, the most similar first.
    #[must_use]
    pub fn names_like(&self, domain: &str, name: &str) -> Vec<String> {
        nearest(name, self.names(domain).into_iter())
    }

    /// The declaration of the newest version that is not newer than `version`; of equal versions, the last
    /// one added.
    fn declared(&self, domain: &str, name: &str, version: i64) -> Lookup<'_> {
        let mut opsets = self.declared.iter().filter(|opset| opset.domain == domain).peekable();
        if opsets.peek().is_none() {
            return Lookup::UnknownDomain;
        }
        let versions: Vec<_> = opsets.filter_map(|opset| Some((opset.version, opset.op(name)?))).collect();
        let fits = versions.iter().filter(|(since, _)| i64::from(*since) <= version);
        match (fits.max_by_key(|(since, _)| *since), versions.iter().map(|(since, _)| *since).min()) {
            (Some((_, op)), _) => Lookup::Declared(op),
            (None, Some(since)) => Lookup::NewerThanOpset { since },
            (None, None) => Lookup::UnknownOperator,
        }
    }
}

impl Catalogue for Operators {
    fn lookup(&self, domain: &str, name: &str, version: i64) -> Lookup<'_> {
        let mut answer = Standard.lookup(domain, name, version);
        let mut others = std::iter::once_with(|| self.declared(domain, name, version))
            .chain(self.descriptions().map(|described| described.lookup(domain, name, version)));
        // The first source with the operator is used. Otherwise the most specific negative result is
        // returned.
        let known = |found: &Lookup<'_>| match found {
            Lookup::Found(_) | Lookup::Declared(_) => 3,
            Lookup::NewerThanOpset { .. } => 2,
            Lookup::UnknownOperator => 1,
            Lookup::UnknownDomain => 0,
        };
        // A source is split or decoded only if none before it has the operator.
        while known(&answer) < 2
            && let Some(found) = others.next()
        {
            if known(&found) > known(&answer) {
                answer = found;
            }
        }
        answer
    }

    fn names(&self, domain: &str) -> Vec<&str> {
        let declared = self.declared.iter().filter(|opset| opset.domain == domain);
        let declared = declared.flat_map(|opset| opset.ops.iter().map(|op| op.name));
        let mut names = crate::table::Table::get().names(domain).collect::<Vec<_>>();
        names.extend(declared);
        names.extend(self.descriptions().flat_map(|described| described.names(domain)));
        names
    }

    fn domains(&self) -> Vec<&str> {
        let mut domains = Standard.domains();
        domains.extend(self.declared.iter().map(|opset| opset.domain));
        domains.extend(self.descriptions().flat_map(Catalogue::domains));
        domains
    }

    fn newest(&self, domain: &str) -> Option<i64> {
        Standard.newest(domain)
    }

    fn replacement(&self, domain: &str, name: &str) -> Option<&'static str> {
        Standard.replacement(domain, name)
    }

    fn pytorch(&self, domain: &str, name: &str) -> Option<PyTorch> {
        Standard.pytorch(domain, name)
    }
}

/// Interns the name of a rule for the lifetime of the process. Rules store static names; the memory is
/// bounded by the number of distinct described operators.
fn intern_rule_name(name: String) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let name: &'static str = Box::leak(name.into_boxed_str());
    names.insert(name);
    name
}
