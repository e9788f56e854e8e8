//! Shared test support: fixed seeds, random trees, and a node with plain data as ports.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use typeloom_types::lattice::build::{LatticeBuilder, NodeSpec};
use typeloom_types::lattice::{Lattice, NodeNo};
use typeloom_types::relation::custom::{KnownExtents, PortAccess};
use typeloom_types::relation::{PortRef, RelationError};
use typeloom_types::tree::TypeKind;

/// A bounded, deterministic configuration.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x7970_6c6f),
        ..Default::default()
    }
}

/// A tree of up to `max` nodes: entry `i` is the parent of node `i + 1`, among the nodes before it.
pub(crate) fn parents(max: usize) -> impl Strategy<Value = Vec<usize>> {
    // Close parents make deep trees, arbitrary earlier ones make wide trees.
    let near = proptest::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..max);
    near.prop_map(|choices| {
        choices
            .into_iter()
            .enumerate()
            .map(|(at, (index, deep))| {
                let earlier = at + 1;
                if deep { earlier - 1 - index.index(earlier.min(3)) } else { index.index(earlier) }
            })
            .collect()
    })
}

/// Declarations of a random tree: leaves are concrete, `n0` is the root, and the order of ids differs from
/// the order of positions.
pub(crate) fn specs(parents: &[usize]) -> Vec<NodeSpec> {
    let count = parents.len() + 1;
    let mut has_child = vec![false; count];
    for parent in parents {
        has_child[*parent] = true;
    }
    (0..count)
        .map(|at| {
            let kind = if at == 0 || has_child[at] { TypeKind::Abstract } else { TypeKind::Concrete };
            let root = NodeSpec { kind, ..NodeSpec::root(id(at)) };
            match at.checked_sub(1) {
                None => root,
                Some(edge) => NodeSpec { parent: Some(id(parents[edge]).into()), ..root },
            }
        })
        .collect()
}

/// The id of the node at position `at` of a random tree.
pub(crate) fn id(at: usize) -> String {
    format!("n{}{at}", (at * 7) % 10)
}

pub(crate) fn build(specs: &[NodeSpec]) -> Result<Lattice, typeloom_types::lattice::error::LatticeError> {
    specs.iter().cloned().fold(Lattice::builder(), LatticeBuilder::with_spec).build()
}

/// A node to apply relations to.
pub(crate) struct FakeNode {
    pub(crate) inputs: Vec<FakePort>,
    pub(crate) outputs: Vec<FakePort>,
    pub(crate) ints: BTreeMap<&'static str, Vec<i64>>,
    pub(crate) floats: BTreeMap<&'static str, f32>,
    pub(crate) strings: BTreeMap<&'static str, &'static str>,
    pub(crate) tensors: BTreeMap<&'static str, (NodeNo, KnownExtents)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FakePort {
    pub(crate) bound: Cell<Option<NodeNo>>,
    pub(crate) shape: RefCell<Option<KnownExtents>>,
}

/// A port by the id of its bound; the empty id omits it.
pub(crate) fn port(id: &str, shape: Option<&[Option<u64>]>) -> FakePort {
    let bound = (!id.is_empty()).then(|| Lattice::get().lookup(id).expect("a registered id").no);
    FakePort { bound: Cell::new(bound), shape: RefCell::new(shape.map(<[_]>::to_vec)) }
}

impl FakeNode {
    pub(crate) fn new(inputs: &[FakePort], outputs: &[FakePort]) -> Self {
        Self {
            inputs: inputs.to_vec(),
            outputs: outputs.to_vec(),
            ints: BTreeMap::new(),
            floats: BTreeMap::new(),
            strings: BTreeMap::new(),
            tensors: BTreeMap::new(),
        }
    }

    fn port(&self, port: PortRef) -> Option<&FakePort> {
        match port {
            PortRef::Input(at) => self.inputs.get(at),
            PortRef::Output(at) => self.outputs.get(at),
            PortRef::InputsFrom(_) | PortRef::OutputsFrom(_) => None,
        }
        .filter(|port| port.bound.get().is_some())
    }

    pub(crate) fn id_at(&self, port: PortRef) -> &'static str {
        let bound = self.port(port).and_then(|port| port.bound.get()).expect("the port is there");
        Lattice::get().node(bound).expect("a registered node").id
    }
}

fn failure(port: PortRef, expected: impl std::fmt::Debug, found: impl std::fmt::Debug) -> RelationError {
    RelationError {
        message: "fake".into(),
        ports: vec![port],
        expected: format!("{expected:?}"),
        found: format!("{found:?}"),
    }
}

impl PortAccess for FakeNode {
    fn lattice(&self) -> &Lattice {
        Lattice::get()
    }

    fn input_count(&self) -> usize {
        self.inputs.len()
    }

    fn output_count(&self) -> usize {
        self.outputs.len()
    }

    fn bound(&self, port: PortRef) -> Option<NodeNo> {
        self.port(port)?.bound.get()
    }

    fn narrow(&self, port: PortRef, node: NodeNo) -> Result<bool, RelationError> {
        let Some(fake) = self.port(port) else { return Ok(false) };
        let Some(bound) = fake.bound.get() else { return Ok(false) };
        let meet = Lattice::get().meet(bound, node).ok_or_else(|| failure(port, bound, node))?;
        fake.bound.set(Some(meet));
        Ok(meet != bound)
    }

    fn shape(&self, port: PortRef) -> Option<KnownExtents> {
        self.port(port)?.shape.borrow().clone()
    }

    fn refine_shape(&self, port: PortRef, dims: &[Option<u64>]) -> Result<bool, RelationError> {
        let Some(fake) = self.port(port) else { return Ok(false) };
        let mut shape = fake.shape.borrow_mut();
        let before = shape.clone();
        let known = shape.get_or_insert_with(|| vec![None; dims.len()]);
        if known.len() != dims.len() {
            return Err(failure(port, &known, dims));
        }
        for (known, dim) in known.iter_mut().zip(dims) {
            match (*known, dim) {
                (Some(a), Some(b)) if a != *b => return Err(failure(port, a, b)),
                (None, Some(_)) => *known = *dim,
                (Some(_), _) | (None, None) => {}
            }
        }
        Ok(*shape != before)
    }

    fn attr_int(&self, name: &str) -> Option<i64> {
        match self.ints.get(name)?.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }

    fn attr_ints(&self, name: &str) -> Option<Vec<i64>> {
        self.ints.get(name).cloned()
    }

    fn attr_float(&self, name: &str) -> Option<f32> {
        self.floats.get(name).copied()
    }

    fn attr_str(&self, name: &str) -> Option<&str> {
        self.strings.get(name).copied()
    }

    fn constant_ints(&self, _port: PortRef) -> Option<Vec<i64>> {
        None
    }

    fn attr_tensor(&self, name: &str) -> Option<(NodeNo, KnownExtents)> {
        self.tensors.get(name).cloned()
    }
}
