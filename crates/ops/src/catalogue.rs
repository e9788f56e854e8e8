//! The standard catalogue: every schema of the table, with the rules of its family attached.

use typeloom_solver::catalogue::{Catalogue, Lookup, Operator};

use crate::rules;
use crate::table::{Found, Table};

/// ONNX's own operators, in every version.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standard;

impl Catalogue for Standard {
    fn lookup(&self, domain: &str, name: &str, version: i64) -> Lookup<'_> {
        match Table::get().at(domain, name, version) {
            Found::Schema(_, schema) => {
                let entry = rules::entry_for(&schema.domain, &schema.name, schema.since_version);
                let (rules, control) = entry.map_or((&[][..], None), |entry| (entry.rules, entry.control));
                Lookup::Found(Operator { schema, rules, control, described: None })
            }
            Found::NewerThanOpset { since } => Lookup::NewerThanOpset { since },
            Found::UnknownOperator => Lookup::UnknownOperator,
            Found::UnknownDomain => Lookup::UnknownDomain,
        }
    }

    fn names(&self, domain: &str) -> Vec<&str> {
        Table::get().names(domain).collect()
    }

    fn newest(&self, domain: &str) -> Option<i64> {
        Table::get().domain(domain).map(|domain| i64::from(domain.newest))
    }
}

/// Operators of a domain whose names are close to `name`, the nearest first.
#[must_use]
pub fn names_like(domain: &str, name: &str) -> Vec<String> {
    typeloom_solver::suggest::nearest(name, Table::get().names(domain))
}
