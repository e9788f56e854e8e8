//! Types a graph whose operators are plain declarations: the general entry of the solver.
//!
//! A [`TypeSolver`] takes a graph as a message, and the declaration of each of its operators with ports and
//! relations. Other known types are *seeded*, value by value. The engine is the one that checks whole models
//! ([`crate::model`]).
//!
//! ```
//! use typeloom_onnx::messages::{GraphProto, NodeProto};
//! use typeloom_solver::type_solver::{TypeError, TypeSolver};
//! use typeloom_types::op::primitives::TENSOR_PRIMITIVES;
//! use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, PortDecl};
//! use typeloom_types::relation::ELEMENTWISE;
//! use typeloom_types::tree::builtin::{TYPE_ANY, TYPE_TENSOR_F32, TYPE_TENSOR_F64};
//!
//! static RELU: AtomicOpDecl = AtomicOpDecl {
//!     name: "Relu",
//!     inputs: &[PortDecl::required("X", &TYPE_ANY)],
//!     outputs: &[PortDecl::required("Y", &TYPE_ANY)],
//!     kind: AtomicOpKind::Pure,
//!     type_relations: ELEMENTWISE,
//! };
//!
//! let node = |op: &str, input: &[&str], output: &str| NodeProto {
//!     op_type: op.into(),
//!     input: input.iter().map(|name| (*name).to_owned()).collect(),
//!     output: vec![output.into()],
//!     ..Default::default()
//! };
//! // z = Add(x, y); w = Relu(z)
//! let graph = GraphProto {
//!     node: vec![node("Add", &["x", "y"], "z"), node("Relu", &["z"], "w")],
//!     ..Default::default()
//! };
//! let mut solver = TypeSolver::from_graph(&graph, |_domain, op| {
//!     if op == "Relu" { Some(&RELU) } else { TENSOR_PRIMITIVES.op(op) }
//! })?;
//!
//! solver.seed("x", &TYPE_TENSOR_F32);
//! let solution = solver.solve_strict()?;
//! for value in ["x", "y", "z", "w"] {
//!     assert_eq!(solution.type_of(value).map(|node| node.id), Some("tensor.f32"));
//! }
//!
//! solver.seed("y", &TYPE_TENSOR_F64);
//! let error = solver.solve().unwrap_err();
//! assert!(matches!(error, TypeError::ConstraintFailed { .. }));
//! assert!(error.to_string().contains("seed of `x`") && error.to_string().contains("seed of `y`"));
//! # Ok::<(), TypeError>(())
//! ```
//!
//! The graph is a fragment: a name that no node defines is an input, listed or not, and nodes may be in
//! any order. Declared types of the graph are ignored until
//! [`seed_from_value_info`](TypeSolver::seed_from_value_info) is called; declared types inside nested graphs
//! are always used.
//!
//! **Invariant:** a solver owns its data, and solving does not change it.
//!
//! **Invariant:** the solution depends neither on the order of nodes or seeds nor on the names of values.
//!
//! For whole models with functions and versions of operator sets, use [`crate::model::check`].

mod error;
mod fragment;
mod solution;
mod stamp;

use std::sync::Arc;

use prost::Message;
use typeloom_onnx::messages::{GraphProto, TypeProto, ValueInfoProto, type_proto};
use typeloom_types::lattice::{Lattice, NodeKey};
use typeloom_types::op::AtomicOpDecl;

use crate::diagnostic::diagnose_error;
use crate::model::{self, CheckError, Checked, Mode, Options, Seed};
use crate::program::DeclarationKind;
use crate::universe::Universe;
use fragment::Fragment;

pub use error::{ConstraintFailure, ConstraintSide, NodeLabel, TypeCause, TypeError};
pub use solution::{SolvedValue, TypeSolution};
pub use stamp::apply_solution_to_value_info;

/// Maximum nesting of type constructors in a seed.
const MAX_TYPE_DEPTH: usize = 32;

/// A graph to be typed, with the seeds of its values.
///
/// See the [module](self) for an example.
#[derive(Clone, Debug)]
pub struct TypeSolver {
    fragment: Fragment,
    lattice: Option<Arc<Lattice>>,
    seeds: Vec<Seeded>,
}

/// The seed of one value.
#[derive(Clone, Debug)]
struct Seeded {
    value: String,
    seed: Seed,
    /// The list of the graph that declares it; `None` for a seed of the caller.
    declared_in: Option<DeclarationKind>,
}

impl TypeSolver {
    /// Creates a solver for a graph; `declaration` returns an operator's declaration by domain and name.
    ///
    /// It is called once for each operator of the graph and of its nested graphs. The default domain is
    /// `""` or `ai.onnx`: if the spelling in the graph has no result, the other one is tried.
    ///
    /// # Errors
    /// All errors of the graph's structure, as [`TypeError::InvalidGraph`]: values that are defined twice,
    /// nodes that wait for each other, graphs that are nested too deep.
    pub fn from_graph(
        graph: &GraphProto,
        declaration: impl FnMut(&str, &str) -> Option<&'static AtomicOpDecl>,
    ) -> Result<Self, TypeError> {
        let solver = Self { fragment: Fragment::new(graph, declaration), lattice: None, seeds: Vec::new() };
        if solver.fragment.is_sound() {
            return Ok(solver);
        }
        // The engine locates and explains the errors.
        let found = solver.solve().err();
        let structural = |error: &&TypeError| matches!(error, TypeError::InvalidGraph { .. });
        let errors: Vec<TypeError> =
            found.iter().flat_map(TypeError::errors).filter(structural).cloned().collect();
        if errors.is_empty() { Ok(solver) } else { Err(TypeError::several(errors)) }
    }

    /// Solves in this lattice instead of that of all registered nodes.
    ///
    /// Set it before seeding with nodes that only this lattice has.
    #[must_use]
    pub fn with_lattice(mut self, lattice: Arc<Lattice>) -> Self {
        self.lattice = Some(lattice);
        self
    }

    /// Seeds a value with a node of the tree: a concrete node is its type, an abstract one a bound.
    /// Several seeds of one value must agree.
    ///
    /// A value or node that does not exist is reported by [`solve`](Self::solve).
    pub fn seed(&mut self, value: impl Into<String>, node: impl NodeKey) -> &mut Self {
        let lattice = self.lattice.as_deref().or_else(|| Lattice::try_get().ok());
        let known =
            lattice.and_then(|lattice| lattice.node(lattice.number_of(node)?)).map(|node| node.id.to_owned());
        let seed = Seed::Node(known.unwrap_or_else(|| node.label()));
        self.seeds.push(Seeded { value: value.into(), seed, declared_in: None });
        self
    }

    /// Seeds a value with an ONNX type, with its shape if it has one.
    pub fn seed_type(&mut self, value: impl Into<String>, ty: &TypeProto) -> &mut Self {
        self.seed_onnx(value.into(), ty, None);
        self
    }

    /// Seeds the types that a graph declares for its inputs, values and outputs: element type, shape, and
    /// the denotation of a stamp. Names that the solver's graph does not have are ignored.
    pub fn seed_from_value_info(&mut self, graph: &GraphProto) -> &mut Self {
        let lists: [(&[ValueInfoProto], DeclarationKind); 3] = [
            (&graph.input, DeclarationKind::Input),
            (&graph.value_info, DeclarationKind::Value),
            (&graph.output, DeclarationKind::Output),
        ];
        for (list, kind) in lists {
            for info in list {
                if let Some(ty) = &info.r#type
                    && self.fragment.has_value(info.name())
                {
                    self.seed_onnx(info.name().to_owned(), ty, Some(kind));
                }
            }
        }
        self
    }

    fn seed_onnx(&mut self, value: String, ty: &TypeProto, declared_in: Option<DeclarationKind>) {
        // The solver ignores deeper types, and encoding them recurses.
        if type_depth(ty) <= MAX_TYPE_DEPTH {
            self.seeds.push(Seeded { value, seed: Seed::Onnx(ty.encode_to_vec()), declared_in });
        }
    }

    /// Solves. Undetermined values stay unresolved, and operators without a declaration do not
    /// constrain their ports.
    ///
    /// # Errors
    /// All contradictions, in graph order, see [`TypeError::errors`].
    pub fn solve(&self) -> Result<TypeSolution, TypeError> {
        self.run(Mode::Permissive)
    }

    /// Solves, and requires a concrete type for every value and a declaration for every operator.
    ///
    /// # Errors
    /// As [`TypeSolver::solve`], and [`TypeError::UnresolvedType`] for every undetermined value; of values
    /// with one unified type, the first is reported.
    pub fn solve_strict(&self) -> Result<TypeSolution, TypeError> {
        self.run(Mode::Strict)
    }

    fn run(&self, mode: Mode) -> Result<TypeSolution, TypeError> {
        self.run_with(mode, TypeSolution::new)
    }

    /// As [`TypeSolver::solve`], with the number of times that each step ran.
    #[cfg(test)]
    pub(crate) fn solve_counting(&self) -> Result<(TypeSolution, Vec<u32>), TypeError> {
        self.run_with(Mode::Permissive, |checked| {
            let runs = checked.frame.runs.clone();
            (TypeSolution::new(checked), runs)
        })
    }

    fn run_with<T>(&self, mode: Mode, finish: impl FnOnce(Checked<'_>) -> T) -> Result<T, TypeError> {
        let universe = self.universe()?;
        let seeds = self.checked_seeds(universe.lattice())?;
        let bytes = self.fragment.bytes()?;
        let options = Options { mode, seeds, ..Options::default() };
        let checked = model::check_with(
            bytes,
            self.fragment.declarations(),
            &universe,
            &options,
            model::SeedConflict::ReportNode,
        )?;
        if checked.errors().is_empty() {
            return Ok(finish(checked));
        }
        Err(error::from_checked(self, checked))
    }

    fn universe(&self) -> Result<Arc<Universe>, TypeError> {
        let built = match &self.lattice {
            Some(lattice) => Universe::of(Arc::clone(lattice)),
            None => Universe::try_standard().cloned().map_err(Clone::clone),
        };
        built.map_err(|error| TypeError::BadLattice { message: error.to_string() })
    }

    /// Converts the seeds for the engine, or returns the errors of all invalid ones.
    fn checked_seeds(&self, lattice: &Lattice) -> Result<Vec<(String, Seed)>, TypeError> {
        let mut errors = Vec::new();
        let mut seeds = Vec::with_capacity(self.seeds.len());
        for Seeded { value, seed, declared_in: _ } in &self.seeds {
            if !self.fragment.has_value(value) {
                errors.push(TypeError::UnknownValue { value: value.clone() });
                continue;
            }
            match seed {
                Seed::Node(id) if lattice.lookup(id).is_none() => {
                    errors.push(TypeError::UnknownType { value: value.clone(), id: id.clone() });
                }
                Seed::Node(_) | Seed::Onnx(_) => seeds.push((value.clone(), seed.clone())),
            }
        }
        match errors.is_empty() {
            true => Ok(seeds),
            false => Err(TypeError::several(errors)),
        }
    }
}

/// The number of constructors around the innermost part of a type.
fn type_depth(ty: &TypeProto) -> usize {
    let mut depth = 0;
    let mut next = Some(ty);
    while let Some(ty) = next {
        depth += 1;
        next = match &ty.value {
            Some(type_proto::Value::SequenceType(sequence)) => sequence.elem_type.as_deref(),
            Some(type_proto::Value::OptionalType(optional)) => optional.elem_type.as_deref(),
            Some(type_proto::Value::MapType(map)) => map.value_type.as_deref(),
            _ => None,
        };
    }
    depth
}

impl From<CheckError> for TypeError {
    fn from(error: CheckError) -> Self {
        if let Some(diagnostic) = diagnose_error(&error) {
            return Self::InvalidGraph { node: None, diagnostic: Box::new(diagnostic) };
        }
        match error {
            CheckError::BadSeed { name, near: _ } => Self::BadSeed { value: name },
            // A type solver passes no assumptions, and the other errors have a diagnostic.
            CheckError::UnknownSeed { name }
            | CheckError::UnknownSymbol { name, .. }
            | CheckError::BadAssumption { name, .. } => Self::UnknownValue { value: name },
            CheckError::Malformed(_)
            | CheckError::NestingTooDeep
            | CheckError::NoGraph
            | CheckError::LfsPointer => Self::UnknownValue { value: String::new() },
        }
    }
}
