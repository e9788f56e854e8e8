//! The Rust component of each slot.
//!
//! Binding a component checks at Rust's compile time that it implements the contract of its role, and records
//! the types that it stores. They replace the aliases in the types of a module:
//! `<compute as Backend>::Tensor` is the storage type of the component that is bound to `compute`.

use std::fmt;

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
/// ```
/// use typeloom_module::bindings::{Alias, Bindings};
/// use typeloom_contracts::role::Role;
/// # use typeloom_contracts::index::Index;
/// # #[derive(Debug)]
/// # struct Nothing;
/// # impl std::fmt::Display for Nothing {
/// #     fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { Ok(()) }
/// # }
/// # impl std::error::Error for Nothing {}
///
/// struct Flat;
///
/// impl Index for Flat {
///     type Vector = [f64];
///     type Error = Nothing;
///     # fn add(&mut self, _: u64, _: &[f64]) -> Result<(), Nothing> { Ok(()) }
///     # fn search(&self, _: &[f64], _: usize) -> Result<Vec<(u64, f32)>, Nothing> { Ok(Vec::new()) }
///     # fn remove(&mut self, _: u64) -> Result<bool, Nothing> { Ok(false) }
///     # fn train(&mut self, _: &[&[f64]]) -> Result<(), Nothing> { Ok(()) }
///     // ...
/// }
///
/// let bindings = Bindings::new().bind_index::<Flat>("nearest");
/// let alias = Alias { slot: "nearest".into(), role: Role::Index, assoc: "Vector" };
/// assert_eq!(alias.to_string(), "<nearest as Index>::Vector");
/// assert_eq!(alias.normalise(&bindings).map(|node| node.id), Some("tensor.f64"));
/// ```
///
/// A component cannot be bound to a role whose contract it does not implement:
///
/// ```compile_fail,E0277
/// # use typeloom_module::bindings::Bindings;
/// # use typeloom_contracts::index::Index;
/// # #[derive(Debug)]
/// # struct Nothing;
/// # impl std::fmt::Display for Nothing {
/// #     fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { Ok(()) }
/// # }
/// # impl std::error::Error for Nothing {}
/// # struct Flat;
/// # impl Index for Flat {
/// #     type Vector = [f64];
/// #     type Error = Nothing;
/// #     fn add(&mut self, _: u64, _: &[f64]) -> Result<(), Nothing> { Ok(()) }
/// #     fn search(&self, _: &[f64], _: usize) -> Result<Vec<(u64, f32)>, Nothing> { Ok(Vec::new()) }
/// #     fn remove(&mut self, _: u64) -> Result<bool, Nothing> { Ok(false) }
/// #     fn train(&mut self, _: &[&[f64]]) -> Result<(), Nothing> { Ok(()) }
/// # }
/// Bindings::new().bind_backend::<Flat>("nearest");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    bound: IndexMap<String, Binding>,
    /// Slots that were bound more than once; compiling reports them.
    twice: Vec<String>,
}

impl Bindings {
    /// Bindings of no slot.
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

    /// Slots that were bound more than once.
    #[must_use]
    pub fn bound_twice(&self) -> &[String] {
        &self.twice
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

    fn with<T: ?Sized>(
        self,
        slot: &str,
        role: Role,
        storages: Vec<(&'static str, &'static TypeNode)>,
    ) -> Self {
        let component = std::any::type_name::<T>();
        self.bind(slot, Binding { role, component, storages, opsets: &[], protocol: None })
    }

    /// Binds a backend to a slot.
    #[must_use]
    pub fn bind_backend<T: Backend>(self, slot: &str) -> Self {
        let storages = vec![("Tensor", <T::Tensor as Storage>::TYPE)];
        let component = std::any::type_name::<T>();
        let opsets = T::extension_opsets();
        self.bind(slot, Binding { role: Role::Backend, component, storages, opsets, protocol: None })
    }

    /// Binds an index to a slot.
    #[must_use]
    pub fn bind_index<T: Index>(self, slot: &str) -> Self {
        self.with::<T>(slot, Role::Index, vec![("Vector", <T::Vector as Storage>::TYPE)])
    }

    /// Binds a model to a slot.
    #[must_use]
    pub fn bind_model<T: Model>(self, slot: &str) -> Self {
        self.with::<T>(slot, Role::Model, vec![("Tensor", <T::Tensor as Storage>::TYPE)])
    }

    /// Binds an aggregator to a slot.
    #[must_use]
    pub fn bind_aggregator<T: Aggregator>(self, slot: &str) -> Self {
        self.with::<T>(slot, Role::Aggregator, vec![("Element", <T::Element as Storage>::TYPE)])
    }

    /// Binds a codec to a slot.
    #[must_use]
    pub fn bind_codec<T: Codec>(self, slot: &str) -> Self {
        let storages = vec![("In", <T::In as Storage>::TYPE), ("Out", <T::Out as Storage>::TYPE)];
        self.with::<T>(slot, Role::Codec, storages)
    }

    /// Binds a data source to a slot.
    #[must_use]
    pub fn bind_data_source<T: DataSource>(self, slot: &str) -> Self {
        self.with::<T>(slot, Role::DataSource, vec![("Sample", <T::Sample as Storage>::TYPE)])
    }

    /// Binds a peer selector to a slot.
    #[must_use]
    pub fn bind_peer_selector<T: PeerSelector>(self, slot: &str) -> Self {
        self.with::<T>(slot, Role::PeerSelector, Vec::new())
    }

    /// Binds a protocol to a slot.
    #[must_use]
    pub fn bind_protocol<T: Protocol>(self, slot: &str) -> Self {
        let component = std::any::type_name::<T>();
        let protocol = Some(T::OPSET);
        let role = Role::Protocol;
        self.bind(slot, Binding { role, component, storages: Vec::new(), opsets: &[], protocol })
    }
}
