//! The registry: all operators that a program can use besides ONNX's.
//!
//! | source | registered by |
//! |---|---|
//! | contracts, wire, types, bundles, imports | [`OPSETS`] |
//! | protocols and other operator sets of linked crates | [`register_protocol!`], [`register_opset!`] |
//! | extension operators of backends, operators of bound protocols | the [`Bindings`] |
//! | declared and described operators of one compilation | [`Bindings::with_operators`] |
//!
//! Several sources can declare operators of one domain. Of several versions of an operator, the newest that
//! is not newer than the imported version of the domain is used.
//!
//! **Invariants:** every declaration is valid; no two declarations of an operator at one version differ; the
//! domains of [`OPSETS`] and ONNX's default domain have no other operators; the operators of one set have
//! different methods (see [`dispatch`](crate::dispatch)). The declarations of a backend in the default domain
//! state that it computes operators of ONNX, and are not part of the registry.
//!
//! [`register_protocol!`]: typeloom_contracts::register_protocol
//! [`register_opset!`]: typeloom_contracts::register_opset

use std::collections::BTreeMap;
use std::sync::Arc;

use typeloom_contracts::opset::registered;
use typeloom_contracts::protocol::Protocols;
use typeloom_onnx::domain::canonical;
use typeloom_onnx::messages::opset_import;
use typeloom_ops::described::{Described, Operators};
use typeloom_program::domain::{self, Domain};
use typeloom_program::program::{Node, NodeId, Program, imported};
use typeloom_solver::catalogue::{Catalogue, Lookup};
use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, OpDeclError};
use typeloom_types::relation::TypeRelation;

use crate::bindings::Bindings;
use crate::names::snake_case;
use crate::operators::OPSETS;

/// The operators that a program can use.
#[derive(Clone, Debug)]
pub struct Registry {
    declared: BTreeMap<&'static str, BTreeMap<&'static str, Vec<Declared>>>,
    operators: Arc<Operators>,
}

/// One version of a declared operator.
#[derive(Clone, Copy, Debug)]
struct Declared {
    version: u32,
    op: &'static AtomicOpDecl,
}

/// Error of a registered operator set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// A declaration is malformed.
    #[error("operator set `{domain}`: {error}")]
    Malformed {
        domain: &'static str,
        #[source]
        error: OpDeclError,
    },
    /// Two operators of a set have the same method.
    #[error("operator set `{domain}`: `{first}` and `{second}` are both called as `{method}`")]
    SameMethod { domain: &'static str, first: &'static str, second: &'static str, method: String },
    /// Two sources declare an operator differently.
    #[error("operator `{op}` of domain `{domain}`, version {version}, is declared twice, and differently")]
    Conflict { domain: &'static str, op: &'static str, version: u32 },
    /// The domain belongs to ONNX or to the IR.
    #[error("operator set `{domain}`: the domain is reserved")]
    Reserved { domain: &'static str },
}

/// Whether the operators of a domain are those of this crate.
#[must_use]
pub fn is_own(name: &str) -> bool {
    name == domain::MODULE || OPSETS.iter().any(|opset| opset.domain == name)
}

impl Registry {
    /// Collects the operators for a program with these bindings.
    ///
    /// # Errors
    /// All errors of the operator sets.
    pub fn of(bindings: &Bindings) -> Result<Self, Vec<RegistryError>> {
        let operators = bindings.operators().cloned().unwrap_or_default();
        let mut registry = Self { declared: BTreeMap::new(), operators: Arc::clone(&operators) };
        let mut errors = Vec::new();
        for opset in OPSETS {
            registry.add(opset, &mut errors);
        }
        let backends = bindings.iter().flat_map(|(_, bound)| bound.opsets);
        let protocols = bindings.iter().filter_map(|(_, bound)| bound.protocol);
        let user = Protocols::registered().chain(registered()).chain(protocols).chain(operators.opsets());
        // In the default domain, a backend lists the operators of ONNX that it computes.
        let backends = backends.filter(|opset| !canonical(opset.domain).is_empty());
        for opset in user.chain(backends) {
            if is_own(opset.domain) || canonical(opset.domain).is_empty() {
                errors.push(RegistryError::Reserved { domain: opset.domain });
                continue;
            }
            check(opset, &mut errors);
            registry.add(opset, &mut errors);
        }
        errors.dedup();
        if errors.is_empty() { Ok(registry) } else { Err(errors) }
    }

    fn add(&mut self, opset: &'static AtomicOpsetDecl, errors: &mut Vec<RegistryError>) {
        let (domain, version) = (opset.domain, opset.version);
        let names = self.declared.entry(canonical(domain)).or_default();
        for op in opset.ops {
            let versions = names.entry(op.name).or_default();
            match versions.iter().find(|known| known.version == version) {
                Some(known) if !is_same(known.op, op) => {
                    errors.push(RegistryError::Conflict { domain, op: op.name, version });
                }
                Some(_) => {}
                None => versions.push(Declared { version, op }),
            }
        }
    }

    /// The declaration of an operator as of a version of its domain.
    fn declared(&self, domain: &str, name: &str, version: i64) -> Lookup<'_> {
        let Some(names) = self.declared.get(canonical(domain)) else { return Lookup::UnknownDomain };
        let Some(versions) = names.get(name) else { return Lookup::UnknownOperator };
        let fits = versions.iter().filter(|known| i64::from(known.version) <= version);
        match fits.max_by_key(|known| known.version) {
            Some(found) => Lookup::Declared(found.op),
            None => {
                let since = versions.iter().map(|known| known.version).min().unwrap_or(1);
                Lookup::NewerThanOpset { since }
            }
        }
    }

    /// The side effects of a node, including those of its nested graphs. A node on a slot of a contract has
    /// those of the contract's operator.
    #[must_use]
    pub fn effects(&self, program: &Program, node: NodeId) -> AtomicOpKind {
        let inner = program.nodes_inside(node).map(|inner| self.own_effects(&program[inner]));
        inner.fold(self.own_effects(&program[node]), AtomicOpKind::max)
    }

    fn own_effects(&self, node: &Node) -> AtomicOpKind {
        let found = self.declared.get(node.domain.name()).and_then(|names| names.get(node.op.as_str()));
        // Of several versions, the strictest: the version of a node is not known here.
        let kind = found.and_then(|versions| versions.iter().map(|known| known.op.kind).max());
        kind.unwrap_or(AtomicOpKind::Pure)
    }

    /// Whether nodes of this kind keep their number and order.
    #[must_use]
    pub fn has_effects(&self, program: &Program, node: NodeId) -> bool {
        self.effects(program, node) != AtomicOpKind::Pure
    }

    /// Imports the domains of registered operators that a program uses without an import.
    pub fn import(&self, program: &mut Program) {
        let mut used: Vec<Domain> = Vec::new();
        for node in program.all_nodes() {
            let domain = &program[node].domain;
            if !used.contains(domain) {
                used.push(domain.clone());
            }
        }
        used.retain(|domain| !domain.is_onnx() && program.imported(domain).is_none());
        used.sort_by(|a, b| a.name().cmp(b.name()));
        for domain in used {
            let Some(version) = self.newest(domain.name()) else { continue };
            for function in &mut program.functions {
                if imported(function.imports(), &domain).is_none() {
                    function.imports_mut().push(opset_import(domain.name(), version));
                }
            }
            program.import(&domain, version);
        }
    }
}

/// Checks the declarations of a set.
fn check(opset: &'static AtomicOpsetDecl, errors: &mut Vec<RegistryError>) {
    let domain = opset.domain;
    errors.extend(opset.check().into_iter().map(|error| RegistryError::Malformed { domain, error }));
    let mut methods: BTreeMap<String, &'static str> = BTreeMap::new();
    for op in opset.ops {
        let method = snake_case(op.name);
        match methods.get(&method) {
            Some(first) if *first != op.name => {
                errors.push(RegistryError::SameMethod { domain, first, second: op.name, method });
            }
            _ => drop(methods.insert(method, op.name)),
        }
    }
}

/// Whether two declarations are equal, with relations compared by name and ports.
fn is_same(a: &'static AtomicOpDecl, b: &'static AtomicOpDecl) -> bool {
    if std::ptr::eq(a, b) {
        return true;
    }
    let relation = |relation: &TypeRelation| (relation.name(), relation.ports().collect::<Vec<_>>());
    let relations = |op: &AtomicOpDecl| op.type_relations.iter().map(relation).collect::<Vec<_>>();
    (a.name, a.inputs, a.outputs, a.kind) == (b.name, b.inputs, b.outputs, b.kind)
        && relations(a) == relations(b)
}

impl Catalogue for Registry {
    fn lookup(&self, domain: &str, name: &str, version: i64) -> Lookup<'_> {
        let declared = self.declared(domain, name, version);
        if matches!(declared, Lookup::Declared(_) | Lookup::NewerThanOpset { .. }) {
            return declared;
        }
        let described = self.operators.lookup(domain, name, version);
        let rank = |found: &Lookup<'_>| match found {
            Lookup::Found(_) | Lookup::Declared(_) => 3,
            Lookup::NewerThanOpset { .. } => 2,
            Lookup::UnknownOperator => 1,
            Lookup::UnknownDomain => 0,
        };
        if rank(&declared) >= rank(&described) { declared } else { described }
    }

    fn names(&self, domain: &str) -> Vec<&str> {
        let declared = self.declared.get(canonical(domain)).into_iter().flat_map(BTreeMap::keys).copied();
        let mut names: Vec<&str> = declared.chain(self.operators.names(domain)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn domains(&self) -> Vec<&str> {
        let declared = self.declared.keys().copied().filter(|domain| !is_own(domain));
        declared.chain(Catalogue::domains(&*self.operators)).collect()
    }

    fn newest(&self, domain: &str) -> Option<i64> {
        let declared = self.declared.get(canonical(domain)).filter(|_| !canonical(domain).is_empty());
        let declared = declared.into_iter().flat_map(BTreeMap::values).flatten();
        let declared = declared.map(|known| i64::from(known.version)).max();
        let described = self.operators.descriptions().flat_map(Described::domains);
        let described =
            described.filter(|(name, _)| *name == domain).map(|(_, newest)| i64::from(newest)).max();
        declared.max(described).or_else(|| self.operators.newest(domain))
    }
}

#[cfg(test)]
mod tests {
    use typeloom_types::op::PortDecl;
    use typeloom_types::relation::{ELEMENTWISE, NO_RELATIONS};
    use typeloom_types::tree::builtin::TYPE_TENSOR;

    use super::*;

    const X: PortDecl = PortDecl::required("x", &TYPE_TENSOR);
    const Y: PortDecl = PortDecl::required("y", &TYPE_TENSOR);

    const fn op(name: &'static str, kind: AtomicOpKind) -> AtomicOpDecl {
        AtomicOpDecl { name, inputs: &[X], outputs: &[Y], kind, type_relations: ELEMENTWISE }
    }

    const fn set(domain: &'static str, version: u32, ops: &'static [AtomicOpDecl]) -> AtomicOpsetDecl {
        AtomicOpsetDecl { domain, version, ops }
    }

    fn registry(opsets: &[&'static AtomicOpsetDecl]) -> Result<Registry, Vec<RegistryError>> {
        let operators = opsets.iter().fold(Operators::standard(), |all, opset| all.with_opset(opset));
        Registry::of(&Bindings::new().with_operators(Arc::new(operators)))
    }

    static FIRST: AtomicOpsetDecl = set("org.example", 1, &[op("Twist", AtomicOpKind::Pure)]);
    static NEWER: AtomicOpsetDecl = set("org.example", 3, &[op("Twist", AtomicOpKind::Stateful)]);
    static OTHERS: AtomicOpsetDecl = set("org.example", 1, &[op("Turn", AtomicOpKind::Wire)]);

    #[test]
    fn the_newest_version_that_is_imported_is_found() {
        let registry = registry(&[&FIRST, &NEWER, &OTHERS, &FIRST]).unwrap();
        let kind = |name, version| match registry.lookup("org.example", name, version) {
            Lookup::Declared(op) => Some(op.kind),
            _ => None,
        };
        assert_eq!(kind("Twist", 2), Some(AtomicOpKind::Pure));
        assert_eq!(kind("Twist", 3), Some(AtomicOpKind::Stateful));
        assert_eq!(kind("Turn", 3), Some(AtomicOpKind::Wire));
        assert!(matches!(registry.lookup("org.example", "Twist", 0), Lookup::NewerThanOpset { since: 1 }));
        assert!(matches!(registry.lookup("org.example", "Bend", 1), Lookup::UnknownOperator));
        assert!(matches!(registry.lookup("org.other", "Bend", 1), Lookup::UnknownDomain));
        assert!(matches!(registry.lookup("", "Relu", 20), Lookup::Found(_)));
        assert_eq!(registry.newest("org.example"), Some(3));
        assert_eq!(registry.names("org.example"), ["Turn", "Twist"]);
    }

    #[test]
    fn malformed_and_contradicting_declarations_are_errors() {
        static OTHER_TWIST: AtomicOpsetDecl = set("org.example", 1, &[op("Twist", AtomicOpKind::Stateful)]);
        static TWICE: AtomicOpsetDecl =
            set("org.twice", 1, &[op("A", AtomicOpKind::Pure), op("A", AtomicOpKind::Pure)]);
        static SAME_METHOD: AtomicOpsetDecl =
            set("org.method", 1, &[op("ReLU6", AtomicOpKind::Pure), op("re_lu6", AtomicOpKind::Pure)]);
        static OF_ONNX: AtomicOpsetDecl = set("", 1, &[op("Own", AtomicOpKind::Pure)]);
        static OF_WIRE: AtomicOpsetDecl = set(domain::WIRE, 1, &[op("Own", AtomicOpKind::Pure)]);
        static PORTS: AtomicOpsetDecl = set(
            "org.ports",
            1,
            &[AtomicOpDecl {
                name: "P",
                inputs: &[X, X],
                outputs: &[],
                kind: AtomicOpKind::Pure,
                type_relations: NO_RELATIONS,
            }],
        );
        let errors = |opsets: &[&'static AtomicOpsetDecl]| registry(opsets).err().unwrap_or_default();
        assert!(matches!(errors(&[&FIRST, &OTHER_TWIST])[..], [RegistryError::Conflict { version: 1, .. }]));
        assert!(matches!(errors(&[&TWICE])[..], [RegistryError::Malformed { .. }]));
        assert!(matches!(errors(&[&SAME_METHOD])[..], [RegistryError::SameMethod { .. }]));
        assert!(matches!(errors(&[&OF_ONNX])[..], [RegistryError::Reserved { domain: "" }]));
        assert!(matches!(errors(&[&OF_WIRE])[..], [RegistryError::Reserved { .. }]));
        assert!(matches!(errors(&[&PORTS])[..], [RegistryError::Malformed { .. }]));
    }
}
