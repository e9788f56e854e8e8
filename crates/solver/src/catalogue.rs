//! The trait of a catalogue of operators: schemas with rules, and plain declarations with relations.

use typeloom_types::op::AtomicOpDecl;

use crate::rule::{Control, Rule, RuleCx, RuleResult, ShapeRule};
use crate::signature::Schema;

/// An operator: its declaration, and the rules that a declaration cannot express.
#[derive(Clone, Copy, Debug)]
pub struct Operator<'c> {
    /// The declared interface.
    pub schema: &'c Schema,
    /// The rules, in execution order.
    pub rules: &'c [Rule],
    /// The rules around nested graphs, if the operator has any.
    pub control: Option<&'c Control>,
    /// The shape rule from a description. It runs after the other rules.
    pub described: Option<&'c dyn ShapeRule>,
}

/// The result of a lookup in a catalogue.
#[derive(Clone, Copy, Debug)]
pub enum Lookup<'c> {
    /// The operator in the requested version.
    Found(Operator<'c>),
    /// The operator as plain ports and relations.
    Declared(&'static AtomicOpDecl),
    /// The operator was introduced in a later version.
    NewerThanOpset {
        /// The first version with the operator.
        since: u32,
    },
    /// The domain has no such operator.
    UnknownOperator,
    /// The domain is unknown.
    UnknownDomain,
}

/// A rule for the nodes of all plainly declared operators.
#[derive(Clone, Copy, Debug)]
pub struct DeclaredRule {
    /// The name, for messages.
    pub name: &'static str,
    /// The function to run, with the declaration of the node's operator.
    pub run: fn(&mut RuleCx<'_, '_>, &'static AtomicOpDecl) -> RuleResult,
}

/// The part of PyTorch code that an operator comes from, as far as it matters for sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PyTorch {
    /// A call with sizes as arguments, which become an input of the operator.
    Sizes {
        /// The calls, as a message names them: `` `view` or `reshape` ``.
        calls: &'static str,
    },
    /// A call that joins tensors.
    Joined,
}

/// A source of operators.
pub trait Catalogue: Sync {
    /// Looks up the operator `name` of `domain` in version `version` of the domain. The default domain is
    /// `""`.
    fn lookup(&self, domain: &str, name: &str, version: i64) -> Lookup<'_>;

    /// The names of the operators of a domain, for suggestions.
    fn names(&self, domain: &str) -> Vec<&str>;

    /// The domains with operators, for suggestions.
    fn domains(&self) -> Vec<&str> {
        Vec::new()
    }

    /// A rule for nodes of plainly declared operators. It runs after the bounds of their ports.
    fn declared_rule(&self) -> Option<DeclaredRule> {
        None
    }

    /// The version of a domain to assume without an import; with `None` the missing import is an error.
    fn assumed_version(&self, _domain: &str) -> Option<i64> {
        None
    }

    /// The newest known version of a domain with published versions. A model that imports a newer one is
    /// reported.
    fn newest(&self, _domain: &str) -> Option<i64> {
        None
    }

    /// The operator that replaces a withdrawn one of the same domain.
    fn replacement(&self, _domain: &str, _name: &str) -> Option<&'static str> {
        None
    }

    /// The PyTorch code that an operator comes from, if it has numbers that an export can record.
    fn pytorch(&self, _domain: &str, _name: &str) -> Option<PyTorch> {
        None
    }
}
