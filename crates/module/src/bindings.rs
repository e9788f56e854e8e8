//! The Rust component of each slot.
//!
//! Binding a component checks at Rust's compile time that it implements the contract of its role, and records
//! the types that it stores. They replace the aliases in the types of a module:
//! `<compute as Backend>::Tensor` is the storage type of the component that is bound to `compute`.
//!
//! Example of [`Bindings`]:
//!
//! ```
//! use typeloom_module::bindings::{Alias, Bindings};
//! use typeloom_contracts::role::Role;
//! # use typeloom_contracts::index::Index;
//! # #[derive(Debug)]
//! # struct Nothing;
//! # impl std::fmt::Display for Nothing {
//! #     fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { Ok(()) }
//! # }
//! # impl std::error::Error for Nothing {}
//!
//! struct Flat;
//!
//! impl Index for Flat {
//!     type Vector = [f64];
//!     type Error = Nothing;
//!     # fn add(&mut self, _: u64, _: &[f64]) -> Result<(), Nothing> { Ok(()) }
//!     # fn search(&self, _: &[f64], _: usize) -> Result<Vec<(u64, f32)>, Nothing> { Ok(Vec::new()) }
//!     # fn remove(&mut self, _: u64) -> Result<bool, Nothing> { Ok(false) }
//!     # fn train(&mut self, _: &[&[f64]]) -> Result<(), Nothing> { Ok(()) }
//!     // ...
//! }
//!
//! let bindings = Bindings::new().bind_index::<Flat>("nearest");
//! let alias = Alias { slot: "nearest".into(), role: Role::Index, assoc: "Vector" };
//! assert_eq!(alias.to_string(), "<nearest as Index>::Vector");
//! assert_eq!(alias.normalise(&bindings).map(|node| node.id), Some("tensor.f64"));
//! ```
//!
//! ```compile_fail,E0277
//! # use typeloom_module::bindings::Bindings;
//! # use typeloom_contracts::index::Index;
//! # #[derive(Debug)]
//! # struct Nothing;
//! # impl std::fmt::Display for Nothing {
//! #     fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { Ok(()) }
//! # }
//! # impl std::error::Error for Nothing {}
//! # struct Flat;
//! # impl Index for Flat {
//! #     type Vector = [f64];
//! #     type Error = Nothing;
//! #     fn add(&mut self, _: u64, _: &[f64]) -> Result<(), Nothing> { Ok(()) }
//! #     fn search(&self, _: &[f64], _: usize) -> Result<Vec<(u64, f32)>, Nothing> { Ok(Vec::new()) }
//! #     fn remove(&mut self, _: u64) -> Result<bool, Nothing> { Ok(false) }
//! #     fn train(&mut self, _: &[&[f64]]) -> Result<(), Nothing> { Ok(()) }
//! # }
//! Bindings::new().bind_backend::<Flat>("nearest");
//! ```

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use typeloom_contracts::aggregator::Aggregator;
use typeloom_contracts::backend::Backend;
use typeloom_contracts::codec::Codec;
use typeloom_contracts::data_source::DataSource;
use typeloom_contracts::index::Index;
use typeloom_contracts::model::Model;
use typeloom_contracts::peer_selector::PeerSelector;
use typeloom_contracts::protocol::Protocol;
use typeloom_contracts::role::Role;
use typeloom_ops::described::Operators;
use typeloom_types::op::AtomicOpsetDecl;
use typeloom_types::storage::Storage;
use typeloom_types::tree::TypeNode;

/// The storage type of a slot before a component is bound: an associated type of its contract.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Alias {
    pub slot: String,
    pub role: Role,
    pub assoc: &'static str,
}

impl Alias {
    /// Returns the type node of the alias, or `None` if the slot has no component of this role.
    #[must_use]
    pub fn normalise(&self, bindings: &Bindings) -> Option<&'static TypeNode> {
        let bound = bindings.get(&self.slot).filter(|bound| bound.role == self.role)?;
        bound.stores(self.assoc)
    }
}

impl fmt::Display for Alias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{} as {}>::{}", self.slot, self.role, self.assoc)
    }
}

/// The type information of a component.
#[derive(Clone, Debug)]
pub struct Binding {
    pub role: Role,
    /// The name of the Rust type, for messages only.
    pub component: &'static str,
    /// Storage types, by associated type.
    pub storages: Vec<(&'static str, &'static TypeNode)>,
    /// Operators that a backend computes in addition to the primitives.
    pub opsets: &'static [AtomicOpsetDecl],
    /// The operators of a protocol.
    pub protocol: Option<&'static AtomicOpsetDecl>,
}

impl Binding {
    /// The storage type of an associated type of the contract.
    #[must_use]
    pub fn stores(&self, assoc: &str) -> Option<&'static TypeNode> {
        self.storages.iter().find(|(name, _)| *name == assoc).map(|(_, node)| *node)
    }
}

/// Components by slot.
///
/// A component cannot be bound to a role whose contract it does not implement.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    bound: IndexMap<String, Binding>,
    /// Slots that were bound more than once; the compiler reports them.
    twice: Vec<String>,
    /// Declared and described operators.
    operators: Option<Arc<Operators>>,
}

impl Bindings {
    /// Creates bindings without components.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The component of a slot.
    #[must_use]
    pub fn get(&self, slot: &str) -> Option<&Binding> {
        self.bound.get(slot)
    }

    /// Every slot with its component, in the order of binding.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Binding)> {
        self.bound.iter().map(|(slot, binding)| (slot.as_str(), binding))
    }

    /// The bindings of some slots.
    #[must_use]
    pub fn of_slots(&self, keep: impl Fn(&str) -> bool) -> Self {
        let mut bindings = self.clone();
        bindings.bound.retain(|slot, _| keep(slot));
        bindings.twice.retain(|slot| keep(slot));
        bindings
    }

    /// Slots that were bound more than once.
    #[must_use]
    pub fn bound_twice(&self) -> &[String] {
        &self.twice
    }

    /// The declared and described operators that a program can use, in addition to registered ones.
    #[must_use]
    pub fn operators(&self) -> Option<&Arc<Operators>> {
        self.operators.as_ref()
    }

    /// Replaces the declared and described operators. Loading an artifact needs those that it was compiled
    /// with.
    #[must_use]
    pub fn with_operators(mut self, operators: Arc<Operators>) -> Self {
        self.operators = Some(operators);
        self
    }

    /// Binds a described component to a slot. Binding a Rust type is checked; use this for tools that have no
    /// Rust type.
    #[must_use]
    pub fn bind(mut self, slot: &str, binding: Binding) -> Self {
        if self.bound.insert(slot.to_owned(), binding).is_some() {
            self.twice.push(slot.to_owned());
        }
        self
    }
}

/// Defines the methods that bind Rust types, with the associated types of each contract that are storages.
macro_rules! binds {
    ($($method:ident $contract:ident $doc:literal [$($assoc:ident),*] $($field:ident: $value:expr)?;)*) => {
        impl Bindings {
            $(
                #[doc = concat!("Binds ", $doc, " to a slot.")]
                #[must_use]
                pub fn $method<T: $contract>(self, slot: &str) -> Self {
                    let (role, component) = (Role::$contract, std::any::type_name::<T>());
                    let storages = vec![$((stringify!($assoc), <T::$assoc as Storage>::TYPE)),*];
                    let binding = Binding { role, component, storages, opsets: &[], protocol: None };
                    self.bind(slot, Binding { $($field: $value,)? ..binding })
                }
            )*
        }
    };
}

binds! {
    bind_backend Backend "a backend" [Tensor] opsets: T::extension_opsets();
    bind_index Index "an index" [Vector];
    bind_model Model "a model" [Tensor];
    bind_aggregator Aggregator "an aggregator" [Element];
    bind_codec Codec "a codec" [In, Out];
    bind_data_source DataSource "a data source" [Sample];
    bind_peer_selector PeerSelector "a peer selector" [];
    bind_protocol Protocol "a protocol" [] protocol: Some(T::OPSET);
}
