//! One version of each domain for two models.
//!
//! An operator has the same definition in two versions of its domain if the catalogue finds one signature for
//! both. A version suits a model if every operator that the model uses has the same definition in it as in
//! the imported version. The newest version between the two imported ones that suits both models is used.
//!
//! **Invariant:** no version converter is involved: an operator that changed between the versions is a
//! conflict.
//!
//! Functions keep their own imports. A function is counted if the catalogue defines its operators equally in
//! its own version and in that of its model, because checkers of ONNX require it to stay so.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use typeloom_onnx::domain::{canonical, shown};
use typeloom_onnx::messages::{FunctionProto, NodeProto, OperatorSetIdProto, opset_import};
use typeloom_onnx::nested;
use typeloom_solver::catalogue::{Catalogue, Lookup};

use crate::error::OpsetConflict;
use crate::source::Source;

/// A changed version of a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpsetChange {
    /// The domain; `ai.onnx` for the default one.
    pub domain: String,
    /// The model whose operators are read in another version.
    pub file: String,
    /// The version that the model imports.
    pub from: i64,
    /// The version that the result imports.
    pub to: i64,
}

/// The imports of the result.
pub(crate) struct Reconciled {
    pub(crate) imports: Vec<OperatorSetIdProto>,
    pub(crate) changes: Vec<OpsetChange>,
}

impl Reconciled {
    /// The version of the default domain.
    pub(crate) fn default_version(&self) -> Option<i64> {
        let default = self.imports.iter().find(|import| canonical(import.domain()).is_empty());
        default.map(|import| import.version.unwrap_or_default())
    }
}

/// The first version of an operator's definition; `None` if the catalogue has none at this version.
fn definition(catalogue: &dyn Catalogue, domain: &str, operator: &str, version: i64) -> Option<u32> {
    match catalogue.lookup(domain, operator, version) {
        Lookup::Found(found) => Some(found.schema.since_version),
        Lookup::Declared(_)
        | Lookup::NewerThanOpset { .. }
        | Lookup::UnknownOperator
        | Lookup::UnknownDomain => None,
    }
}

/// The operators of a model by domain, each with a version that it is read in.
type Used = BTreeMap<String, BTreeSet<(String, i64)>>;

/// The operators that nodes refer to by name, in a list of nodes and the graphs nested in them.
pub(crate) fn called<'m>(nodes: impl Iterator<Item = &'m NodeProto>) -> Vec<&'m NodeProto> {
    let mut found = Vec::new();
    for node in nodes {
        found.push(node);
        for graph in nested::graphs(node) {
            nested::each_node(graph, |node| found.push(node));
        }
    }
    found
}

fn used(source: &Source<'_>, catalogue: &dyn Catalogue) -> Used {
    let functions: BTreeSet<[&str; 3]> = source
        .functions
        .iter()
        .map(|record| &record.message)
        .map(|it| [canonical(it.domain()), it.name(), it.overload()])
        .collect();
    let mut used = Used::new();
    let mut add = |nodes: Vec<&NodeProto>, own: Option<&FunctionProto>| {
        for node in nodes {
            let domain = canonical(node.domain());
            if functions.contains(&[domain, node.op_type(), node.overload()]) {
                continue;
            }
            let Some(imported) = source.imports.get(domain).copied() else { continue };
            let own = own.filter(|function| !function.opset_import.is_empty());
            let version = match own {
                None => imported,
                Some(function) => {
                    let import = function.opset_import.iter().find(|it| canonical(it.domain()) == domain);
                    let Some(own) = import.and_then(|import| import.version) else { continue };
                    let of = |version| definition(catalogue, domain, node.op_type(), version);
                    if of(own) != of(imported) {
                        continue;
                    }
                    own
                }
            };
            used.entry(domain.to_owned()).or_default().insert((node.op_type().to_owned(), version));
        }
    };
    add(called(source.nodes.iter().map(|record| &record.message)), None);
    for record in &source.functions {
        add(called(record.message.node.iter()), Some(&record.message));
    }
    used
}

/// Chooses a version of every domain.
pub(crate) fn reconcile<'a>(
    first: &Source<'a>,
    second: &Source<'a>,
    catalogue: &dyn Catalogue,
) -> Result<Reconciled, Vec<OpsetConflict>> {
    let all = [used(first, catalogue), used(second, catalogue)];
    let mut versions: IndexMap<&str, i64> = IndexMap::new();
    let (mut conflicts, mut changes) = (Vec::new(), Vec::new());
    for (domain, version) in &first.imports {
        versions.insert(domain, *version);
    }
    for (domain, b) in &second.imports {
        let Some(a) = first.imports.get(domain).copied() else {
            versions.insert(domain, *b);
            continue;
        };
        if a == *b {
            continue;
        }
        let shown = shown(domain);
        match choose(catalogue, domain, [a, *b], &all) {
            Ok(version) => {
                versions.insert(domain, version);
                for (source, from) in [(first, a), (second, *b)].into_iter().filter(|(_, it)| *it != version)
                {
                    let (domain, file) = (shown.to_owned(), source.name.to_owned());
                    changes.push(OpsetChange { domain, file, from, to: version });
                }
            }
            Err(operators) => conflicts.push(OpsetConflict {
                domain: shown.to_owned(),
                imports: [(first.name.to_owned(), a), (second.name.to_owned(), *b)],
                operators,
            }),
        }
    }
    if !conflicts.is_empty() {
        return Err(conflicts);
    }
    let mut imports: Vec<OperatorSetIdProto> = Vec::new();
    for import in first.header.opset_import.iter().chain(&second.header.opset_import) {
        let domain = canonical(import.domain());
        if let Some(version) = versions.shift_remove(domain) {
            let own = import.version == Some(version);
            imports.push(if own { import.clone() } else { opset_import(import.domain(), version) });
        }
    }
    Ok(Reconciled { imports, changes })
}

/// The newest version that suits both models, or the operators that prevent it.
fn choose(
    catalogue: &dyn Catalogue,
    domain: &str,
    imports: [i64; 2],
    all: &[Used; 2],
) -> Result<i64, Vec<String>> {
    let operators = |at: usize| all[at].get(domain).into_iter().flatten();
    // A model without operators of the domain accepts every version.
    for (at, other) in [(0, 1), (1, 0)] {
        if operators(at).next().is_none() {
            return Ok(imports[other]);
        }
    }
    let suits = |version: i64| {
        operators(0).chain(operators(1)).all(|(name, own)| {
            let own = definition(catalogue, domain, name, *own);
            own.is_some() && own == definition(catalogue, domain, name, version)
        })
    };
    let (low, high) = (imports[0].min(imports[1]), imports[0].max(imports[1]));
    // A file can import any number, so only versions that the catalogue knows are tried between the two.
    let known = catalogue.newest(domain).map_or(0..=0, |newest| low.max(1)..=newest.min(high));
    if let Some(version) =
        std::iter::once(high).chain(known.rev()).chain([low]).find(|version| suits(*version))
    {
        return Ok(version);
    }
    let mut differing = BTreeSet::new();
    for (name, own) in operators(0).chain(operators(1)) {
        let definitions = imports.map(|version| definition(catalogue, domain, name, version));
        if definitions[0] != definitions[1] || definitions[0].is_none() {
            differing.insert(match (definitions, definition(catalogue, domain, name, *own)) {
                ([Some(a), Some(b)], _) if a != b => format!("{name} (since {a} and since {b})"),
                _ => name.clone(),
            });
        }
    }
    Err(differing.into_iter().collect())
}
