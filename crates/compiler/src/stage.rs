//! Stages of a compilation. Each type holds the [`Unit`] and the facts known about it at that stage.
//!
//! ```text
//! Parsed -> expand -> Expanded -> type_solver -> Solved -> lower -> Lowered -> resolve_dispatch -> Dispatched
//!        -> export_interface -> Exported
//! ```
//!
//! A pass that is not listed here changes the IR and stays at its stage. A pass takes the stage that it
//! needs, so it cannot run before the passes that it relies on: [`Stage`] holds any stage, and a pass on the
//! wrong one is [`BuildError::WrongStage`](crate::error::BuildError::WrongStage).

use std::collections::BTreeMap;
use std::sync::Arc;

use typeloom_contracts::role::Role;
use typeloom_interface::Interface;
use typeloom_pool::{Bundle, ExportError, Idx, ModuleItem, NotPortable, Pool, TypedModule, Visibility};
use typeloom_program::facts::Table;
use typeloom_program::program::NodeId;
use typeloom_tensor::value_type::ValueType;

use crate::planned_casts::PlannedCast;
use crate::unit::Unit;

/// A program as it was recorded or read.
#[derive(Clone)]
pub struct Parsed {
    pub unit: Unit,
}

/// A program without calls of functions that can be expanded.
#[derive(Clone)]
pub struct Expanded {
    pub unit: Unit,
}

/// A program whose types are solved: they are in the facts of the unit.
#[derive(Clone)]
pub struct Solved {
    pub unit: Unit,
    /// Inputs and outputs with their types.
    pub interface: Interface,
    /// Casts to insert. The types are those of the program with the casts.
    pub(crate) casts: Vec<PlannedCast>,
    /// The types of the values that the casts add.
    pub(crate) cast_types: Vec<Option<ValueType>>,
}

/// A program in which operators that a backend does not compute are rewritten as primitives.
#[derive(Clone)]
pub struct Lowered {
    pub unit: Unit,
    /// Inputs and outputs with their types.
    pub interface: Interface,
    /// Reasons why nodes have no form in primitives.
    pub(crate) refusals: Table<NodeId, String>,
}

impl Lowered {
    /// A program without any operator written in primitives.
    pub(crate) fn unchanged(solved: Solved) -> Self {
        let Solved { unit, interface, .. } = solved;
        Self { unit, interface, refusals: Table::default() }
    }
}

/// A program whose nodes on slots are assigned to methods of components.
#[derive(Clone)]
pub struct Dispatched {
    pub unit: Unit,
    /// Inputs and outputs with their types.
    pub interface: Interface,
}

/// A program with the types of its exports: everything of an artifact.
#[derive(Clone)]
pub struct Exported {
    pub unit: Unit,
    pub interface: TypedModule,
    pub(crate) exports: Exports,
}

/// The types of exports by name, and the pool that contains them.
#[derive(Clone, Default)]
pub(crate) struct Exports {
    pub(crate) pool: Pool,
    pub(crate) types: BTreeMap<String, Idx>,
    /// The names of the variables of the types, as in a bundle.
    pub(crate) names: BTreeMap<String, Vec<String>>,
}

impl Exports {
    /// The exports as a bundle.
    pub(crate) fn bundle(&self) -> Result<Bundle, ExportError> {
        let Self { pool, types, names } = self;
        let names_of = |name: &str| names.get(name).map(Vec::as_slice).unwrap_or_default();
        let roots = types.iter().map(|(name, ty)| (name.as_str(), *ty, names_of(name)));
        pool.clone().export_named(&roots.collect::<Vec<_>>())
    }

    /// The exports as public items of a module.
    pub(crate) fn module(&mut self) -> Result<TypedModule, NotPortable> {
        let Self { pool, types, names: _ } = self;
        let visibility = Visibility::Public;
        let items = types.iter().map(|(name, ty)| ModuleItem { name, ty: *ty, visibility });
        TypedModule::new(pool, &items.collect::<Vec<_>>())
    }
}

/// The component that runs a node, and its method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// The first output of the node, which identifies it.
    pub node: String,
    pub slot: Arc<str>,
    pub role: Role,
    /// The method of the contract; `execute` for an extension operator of a backend.
    pub method: Arc<str>,
    pub operator: Arc<str>,
}

/// A program at any stage.
#[derive(Clone)]
pub enum Stage {
    /// See [`Parsed`].
    Parsed(Parsed),
    /// See [`Expanded`].
    Expanded(Expanded),
    /// See [`Solved`].
    Solved(Solved),
    /// See [`Lowered`].
    Lowered(Lowered),
    /// See [`Dispatched`].
    Dispatched(Dispatched),
    /// See [`Exported`].
    Exported(Exported),
}

impl Stage {
    /// The name of the stage, in lower case.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Parsed(_) => "parsed",
            Self::Expanded(_) => "expanded",
            Self::Solved(_) => "solved",
            Self::Lowered(_) => "lowered",
            Self::Dispatched(_) => "dispatched",
            Self::Exported(_) => "exported",
        }
    }

    /// The IR.
    #[must_use]
    pub fn unit(&self) -> &Unit {
        match self {
            Self::Parsed(Parsed { unit })
            | Self::Expanded(Expanded { unit })
            | Self::Solved(Solved { unit, .. })
            | Self::Lowered(Lowered { unit, .. })
            | Self::Dispatched(Dispatched { unit, .. })
            | Self::Exported(Exported { unit, .. }) => unit,
        }
    }

    /// The IR, mutable.
    pub fn unit_mut(&mut self) -> &mut Unit {
        match self {
            Self::Parsed(Parsed { unit })
            | Self::Expanded(Expanded { unit })
            | Self::Solved(Solved { unit, .. })
            | Self::Lowered(Lowered { unit, .. })
            | Self::Dispatched(Dispatched { unit, .. })
            | Self::Exported(Exported { unit, .. }) => unit,
        }
    }
}
