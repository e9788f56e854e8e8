//! The standard catalogue: the schemas of the table, joined with the rules of their families.

use typeloom_solver::catalogue::{Catalogue, Lookup, Operator, PyTorch};

use crate::rules::extents;
use crate::table::{Decoded, Located, Table};

/// All versions of ONNX's operators.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standard;

impl Catalogue for Standard {
    fn lookup(&self, domain: &str, name: &str, version: i64) -> Lookup<'_> {
        match Table::get().located(domain, name, version) {
            Located::Schema(Decoded { schema, entry }) => {
                let (rules, control) = entry.map_or((&[][..], None), |entry| (entry.rules, entry.control));
                Lookup::Found(Operator { schema, rules, control, described: None })
            }
            Located::NewerThanOpset { since } => Lookup::NewerThanOpset { since },
            Located::UnknownOperator => Lookup::UnknownOperator,
            Located::UnknownDomain => Lookup::UnknownDomain,
        }
    }

    fn names(&self, domain: &str) -> Vec<&str> {
        Table::get().names(domain).collect()
    }

    fn domains(&self) -> Vec<&str> {
        Table::get().domains().map(|domain| &*domain.name).collect()
    }

    fn newest(&self, domain: &str) -> Option<i64> {
        Table::get().domain(domain).map(|domain| i64::from(domain.newest))
    }

    fn replacement(&self, domain: &str, name: &str) -> Option<&'static str> {
        let replaced = REPLACEMENTS.iter().find(|(in_domain, old, _)| *in_domain == domain && *old == name);
        replaced.map(|(_, _, new)| *new)
    }

    fn pytorch(&self, domain: &str, name: &str) -> Option<PyTorch> {
        match (domain, name) {
            ("", "Reshape") => Some(PyTorch::Sizes { calls: "`view` or `reshape`" }),
            ("", "Expand") => Some(PyTorch::Sizes { calls: "`expand`" }),
            ("", "Concat") => Some(PyTorch::Joined),
            _ => None,
        }
    }
}

/// Withdrawn operators with their successors, by domain. Source: the descriptions of the withdrawn operators.
const REPLACEMENTS: &[(&str, &str, &str)] = &[
    ("", "Scatter", "ScatterElements"),
    ("", "Upsample", "Resize"),
    ("ai.onnx.ml", "TreeEnsembleClassifier", "TreeEnsemble"),
    ("ai.onnx.ml", "TreeEnsembleRegressor", "TreeEnsemble"),
];

/// Whether an operator of ONNX reads the shapes of its inputs, and none of their elements.
#[must_use]
pub fn reads_only_shapes(name: &str) -> bool {
    extents::OPERATORS.iter().any(|entry| entry.names().any(|known| known == name))
}

/// Names of operators of a domain that are similar to `name`, the most similar first.
#[must_use]
pub fn names_like(domain: &str, name: &str) -> Vec<String> {
    typeloom_types::suggest::nearest(name, Table::get().names(domain))
}
