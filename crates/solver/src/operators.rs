//! The operators that a model uses: those of the catalogue, and the functions of the model.
//!
//! A node costs one lookup of its operator by name. Everything else is decided once for each operator and
//! model.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use smallvec::SmallVec;
use std::hash::BuildHasher;
use typeloom_onnx::domain::canonical;
use typeloom_onnx::view::FunctionView;
use typeloom_types::op::AtomicOpDecl;

use crate::catalogue::{Catalogue, DeclaredRule, Lookup, Operator, PyTorch};
use crate::map::{Map, Set};
use crate::program::{OpId, id};
use crate::signature::{Formal, Schema, is_same_name};
use crate::solve_error::SolveErrorKind;
use typeloom_types::suggest::nearest;

/// Maximum number of unknown operators with suggestions.
const MAX_SUGGESTED: usize = 64;
/// Maximum number of versions of a domain that are searched for other forms of an operator.
const MAX_VERSIONS: i64 = 64;

id!(
    /// The operator set imports of a model or function.
    ImportsId
);
id!(
    /// A model-local function, by position in the model.
    FunctionId
);

/// The meaning of an operator name.
#[derive(Clone, Debug)]
pub(crate) enum OpKind<'a> {
    Schema(Operator<'a>),
    Declared(&'static AtomicOpDecl),
    Function(FunctionId),
    Missing(Box<SolveErrorKind<'a>>),
}

impl<'a> OpKind<'a> {
    pub(crate) fn schema(&self) -> Option<&'a Schema> {
        match self {
            Self::Schema(operator) => Some(operator.schema),
            Self::Declared(_) | Self::Function(_) | Self::Missing(_) => None,
        }
    }
}

/// An operator that the model uses.
#[derive(Clone, Debug)]
pub(crate) struct Op<'a> {
    pub(crate) domain: &'a str,
    pub(crate) name: &'a str,
    overload: &'a str,
    imports: ImportsId,
    pub(crate) kind: OpKind<'a>,
}

/// A function of the model.
#[derive(Clone, Debug)]
pub(crate) struct Function<'a> {
    pub(crate) domain: &'a str,
    pub(crate) name: &'a str,
    pub(crate) overload: &'a str,
    pub(crate) view: FunctionView<'a>,
    pub(crate) imports: ImportsId,
}

/// The imported versions of domains, each with its canonical name.
pub(crate) type Imports<'a> = SmallVec<[(&'a str, i64); 2]>;

/// The functions of the model.
#[derive(Default)]
struct LocalFunctions<'a> {
    /// All functions, in the order of the file.
    list: Vec<Function<'a>>,
    /// The first function of each domain, name and overload.
    by_name: Map<[&'a str; 3], FunctionId>,
    /// The domains of the functions.
    domains: Set<&'a str>,
    /// The ids of [`Operators::imports`], except for the first one.
    imports: Map<Imports<'a>, ImportsId>,
}

/// The operators that the model uses.
pub(crate) struct Operators<'a> {
    catalogue: &'a dyn Catalogue,
    local: LocalFunctions<'a>,
    imports: SmallVec<[Imports<'a>; 1]>,
    ops: Vec<Op<'a>>,
    /// The ids of `ops` by domain, name and imports.
    ids: HashTable<OpId>,
    hasher: RandomState,
    /// Number of unknown operators with suggestions.
    suggested: usize,
}

impl<'a> Operators<'a> {
    pub(crate) fn new(catalogue: &'a dyn Catalogue) -> Self {
        Self {
            catalogue,
            local: LocalFunctions::default(),
            imports: SmallVec::new(),
            ops: Vec::new(),
            ids: HashTable::new(),
            hasher: RandomState::default(),
            suggested: 0,
        }
    }

    /// Leaves out the similar names of unknown operators.
    pub(crate) fn suggest_nothing(&mut self) {
        self.suggested = MAX_SUGGESTED;
    }

    /// The functions of the model, in the order of the file.
    pub(crate) fn functions(&self) -> &[Function<'a>] {
        &self.local.list
    }

    pub(crate) fn add_function(&mut self, function: Function<'a>) {
        let local = &mut self.local;
        let id = FunctionId::new(local.list.len());
        let name = [canonical(function.domain), function.name, function.overload];
        local.by_name.entry(name).or_insert(id);
        local.domains.insert(name[0]);
        local.list.push(function);
    }

    pub(crate) fn add_imports(&mut self, imports: &Imports<'a>) -> ImportsId {
        let id = ImportsId::new(self.imports.len());
        if self.imports.first() == Some(imports) {
            return ImportsId::new(0);
        }
        if id.index() > 0 {
            if let Some(known) = self.local.imports.get(imports) {
                return *known;
            }
            self.local.imports.insert(imports.clone(), id);
        }
        self.imports.push(imports.clone());
        id
    }

    /// The used operators that the catalogue lacks: domain and name.
    pub(crate) fn unknown(&self) -> Vec<(&'a str, &'a str)> {
        let is_unknown = |op: &&Op<'a>| {
            matches!(&op.kind, OpKind::Missing(kind)
                if matches!(**kind, SolveErrorKind::UnknownOperator { .. } | SolveErrorKind::MissingOpset))
        };
        self.ops.iter().filter(is_unknown).map(|op| (op.domain, op.name)).collect()
    }

    pub(crate) fn op(&self, op: OpId) -> &Op<'a> {
        &self.ops[op.index()]
    }

    /// The version of a domain that the model imports.
    pub(crate) fn imported_by_model(&self, domain: &str) -> Option<i64> {
        self.version(ImportsId::new(0), domain)
    }

    /// The imported version of the operator's domain.
    pub(crate) fn imported(&self, op: &Op<'a>) -> Option<i64> {
        self.version(op.imports, op.domain)
    }

    fn version(&self, imports: ImportsId, domain: &str) -> Option<i64> {
        let imports = &self.imports[imports.index()];
        imports.iter().find(|(known, _)| *known == domain).map(|(_, version)| *version)
    }

    /// The rule for plainly declared operators.
    pub(crate) fn declared_rule(&self) -> Option<DeclaredRule> {
        self.catalogue.declared_rule()
    }

    /// The newest known version of a domain.
    pub(crate) fn newest(&self, domain: &str) -> Option<i64> {
        self.catalogue.newest(domain)
    }

    /// The operator that replaces a withdrawn one.
    pub(crate) fn replacement(&self, op: &Op<'a>) -> Option<&'static str> {
        self.catalogue.replacement(op.domain, op.name)
    }

    /// The PyTorch code that an operator comes from.
    pub(crate) fn pytorch(&self, op: &Op<'a>) -> Option<PyTorch> {
        self.catalogue.pytorch(op.domain, op.name)
    }

    /// Whether the replacement of an operator that a version withdrew has, in the imported version, its ports
    /// and attributes.
    pub(crate) fn has_ports_of(&self, op: &Op<'a>, since: u32, replacement: &str) -> bool {
        let Some(imported) = self.imported(op) else { return false };
        let old = self.catalogue.lookup(op.domain, op.name, i64::from(since) - 1);
        let new = self.catalogue.lookup(op.domain, replacement, imported);
        let (Lookup::Found(Operator { schema: old, .. }), Lookup::Found(Operator { schema: new, .. })) =
            (old, new)
        else {
            return false;
        };
        let same = |(a, b): (&Formal, &Formal)| a.name == b.name && a.arity == b.arity;
        let ports = |old: &[Formal], new: &[Formal]| old.len() == new.len() && old.iter().zip(new).all(same);
        ports(&old.inputs, &new.inputs)
            && ports(&old.outputs, &new.outputs)
            && old.attributes.iter().all(|attribute| new.attributes.contains(attribute))
    }

    /// Whether all operators in the scope of an import have the same form in another version of the domain.
    /// An operator that the imported version lacks has none to keep.
    pub(crate) fn keeps_forms(&self, op: &Op<'a>, version: i64) -> bool {
        self.ops.iter().filter(|other| other.imports == op.imports && other.domain == op.domain).all(|other| {
            let Some(known) = other.kind.schema().filter(|_| other.name != op.name) else { return true };
            let found = self.in_version(other, version);
            matches!(found, Lookup::Found(operator) if operator.schema.since_version == known.since_version)
        })
    }

    /// The version of a domain that another part of the model imports.
    pub(crate) fn imported_elsewhere(&self, domain: &str) -> Option<i64> {
        (0..self.imports.len()).find_map(|at| self.version(ImportsId::new(at), domain))
    }

    /// The newest version of a domain that has all operators of it which one body uses.
    pub(crate) fn version_with_all(&self, op: &Op<'a>) -> Option<i64> {
        let used =
            || self.ops.iter().filter(|other| other.imports == op.imports && other.domain == op.domain);
        let is_function = |op: &Op<'a>| self.local.by_name.contains_key(&[op.domain, op.name, op.overload]);
        if used().all(is_function) {
            return Some(1);
        }
        let has_all = |version: &i64| {
            used().all(|other| match self.in_version(other, *version) {
                Lookup::Found(operator) => !operator.schema.deprecated,
                Lookup::Declared(_) => true,
                Lookup::NewerThanOpset { .. } | Lookup::UnknownOperator | Lookup::UnknownDomain => {
                    is_function(other)
                }
            })
        };
        (1..=self.newest(op.domain).unwrap_or(1).min(MAX_VERSIONS)).rev().find(has_all)
    }

    /// The forms of an operator in all versions of its domain, in order.
    pub(crate) fn forms(&self, op: &Op<'a>) -> Vec<&'a Schema> {
        let newest = self.newest(op.domain).or(self.imported(op)).unwrap_or(1);
        let mut forms: Vec<&'a Schema> = Vec::new();
        for version in 1..=newest.min(MAX_VERSIONS) {
            if let Lookup::Found(operator) = self.in_version(op, version)
                && forms.last().is_none_or(|last| last.since_version != operator.schema.since_version)
            {
                forms.push(operator.schema);
            }
        }
        forms
    }

    /// Looks up an operator in another version of its domain.
    pub(crate) fn in_version(&self, op: &Op<'a>, version: i64) -> Lookup<'a> {
        self.catalogue.lookup(op.domain, op.name, version)
    }

    /// Returns the operator that a node denotes.
    #[inline]
    pub(crate) fn resolve(
        &mut self,
        imports: ImportsId,
        domain: &'a str,
        name: &'a str,
        overload: &'a str,
    ) -> OpId {
        let domain = canonical(domain);
        let hash = self.hasher.hash_one((name, domain, imports));
        let is_same = |op: &Op<'a>| {
            let equal = |known: &str, given: &str| is_same_name(known.as_bytes(), given.as_bytes());
            equal(op.name, name)
                && equal(op.domain, domain)
                && equal(op.overload, overload)
                && op.imports == imports
        };
        if let Some(known) = self.ids.find(hash, |id| is_same(&self.ops[id.index()])) {
            return *known;
        }
        let id = OpId::new(self.ops.len());
        let kind = self.look_up(imports, domain, name, overload);
        self.ops.push(Op { domain, name, overload, imports, kind });
        let Self { ids, hasher, ops, .. } = self;
        ids.insert_unique(hash, id, |id| {
            let Op { name, domain, imports, .. } = ops[id.index()];
            hasher.hash_one((name, domain, imports))
        });
        id
    }

    fn look_up(
        &mut self,
        imports: ImportsId,
        domain: &'a str,
        name: &'a str,
        overload: &'a str,
    ) -> OpKind<'a> {
        let catalogue = self.catalogue;
        let version = self.version(imports, domain).or_else(|| catalogue.assumed_version(domain));
        let missing = |kind| OpKind::Missing(Box::new(kind));
        if !self.local.by_name.is_empty()
            && let Some(function) = self.local.by_name.get(&[domain, name, overload])
        {
            return match version {
                Some(_) => OpKind::Function(*function),
                None => missing(SolveErrorKind::MissingOpset),
            };
        }
        let found = catalogue.lookup(domain, name, version.unwrap_or(i64::MAX));
        match (found, version) {
            (Lookup::Found(_) | Lookup::NewerThanOpset { .. }, None) => missing(SolveErrorKind::MissingOpset),
            (Lookup::Found(operator), Some(_)) => OpKind::Schema(operator),
            (Lookup::Declared(decl), _) => OpKind::Declared(decl),
            (Lookup::NewerThanOpset { since }, Some(imported)) => {
                missing(SolveErrorKind::NewerOperator { since, imported })
            }
            (Lookup::UnknownOperator, _) => {
                let near = self.names_like(domain, name, || catalogue.names(domain));
                missing(SolveErrorKind::UnknownOperator { near, domain_unknown: false })
            }
            (Lookup::UnknownDomain, _) => {
                let domain_unknown = !self.local.domains.contains(domain);
                let near = match domain_unknown {
                    true => self.domains_like(domain),
                    false => self.names_like(domain, name, Vec::new),
                };
                missing(SolveErrorKind::UnknownOperator { near, domain_unknown })
            }
        }
    }

    /// Domains with similar names, of operators and of functions, for the first unknown operators of a model.
    fn domains_like(&mut self, domain: &str) -> Vec<String> {
        if self.suggested >= MAX_SUGGESTED {
            return Vec::new();
        }
        self.suggested += 1;
        let functions = self.local.list.iter().map(|function| canonical(function.domain));
        nearest(domain, self.catalogue.domains().into_iter().chain(functions).filter(|name| !name.is_empty()))
    }

    /// Operators and functions with similar names, for the first unknown operators of a model.
    fn names_like<'n>(
        &mut self,
        domain: &str,
        name: &str,
        operators: impl FnOnce() -> Vec<&'n str>,
    ) -> Vec<String> {
        if self.suggested >= MAX_SUGGESTED {
            return Vec::new();
        }
        self.suggested += 1;
        let functions = self.local.list.iter().filter(|function| canonical(function.domain) == domain);
        nearest(name, operators().into_iter().chain(functions.map(|function| function.name)))
    }
}
