//! Components of slots.
//!
//! A compilation binds Rust *types* to slots; a run needs *values* of these types. [`Components`] contains a
//! value per slot with the contract that it implements, and derives the bindings of the slots, so that the
//! two agree.
//!
//! A node of a contract is resolved once, when a module is prepared, to the method that its stamp names: a
//! closure over the component that converts the inputs of the node, calls the component and converts the
//! results. Calls look up no names.
//!
//! | contract | concurrency | module |
//! |---|---|---|
//! | backend | concurrent calls | `backend` |
//! | index, model, codec | concurrent reads, exclusive writes | `index`, `model`, `codec` |
//! | peer selector | concurrent reads of its view, exclusive selection | `peer_selector` |
//! | aggregator, data source, protocol | one call at a time | a module each |
//!
//! A component that has panicked can be called again, in the state in which the panic left it.
//!
//! Example of [`Components`]:
//!
//! ```
//! use typeloom_module::graph::Graph;
//! use typeloom_module::graph::operators::OperatorMethods;
//! use typeloom_module::module::Module;
//! use typeloom_runtime::backend::Cpu;
//! use typeloom_runtime::components::Components;
//! use typeloom_runtime::executor::Executor;
//! use typeloom_runtime::options::Verify;
//! use typeloom_tensor::any_tensor::AnyTensor;
//!
//! struct Scorer;
//!
//! impl Module for Scorer {
//!     fn name(&self) -> &str {
//!         "scorer"
//!     }
//!
//!     fn body(&self, g: &mut Graph) {
//!         let x = g.input("x").of("float[N]");
//!         let compute = g.backend("compute");
//!         g.output("y", &compute.relu(&compute.neg(&x)));
//!     }
//! }
//!
//! let components = Components::new().backend("compute", Cpu);
//! let artifact = components.compiler().compile(Scorer)?;
//! let executor = Executor::new(&artifact, &components)?;
//!
//! let x = AnyTensor::from([1.0_f32, -2.0]);
//! let outcome = executor.run([("x", x)], Verify::EveryValue)?;
//! assert_eq!(outcome.get("y"), Some(&AnyTensor::from([0.0_f32, 2.0]).into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
pub mod address_book;
mod aggregator;
mod args;
mod backend;
mod codec;
mod data_source;
mod index;
mod model;
mod peer_selector;
mod protocol;

use std::error::Error;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;
use indexmap::IndexMap;
use smallvec::{SmallVec, smallvec};
use typeloom_compiler::compiler::Compiler;
use typeloom_contracts::aggregator::Aggregator;
use typeloom_contracts::backend::Backend;
use typeloom_contracts::codec::Codec;
use typeloom_contracts::data_source::DataSource;
use typeloom_contracts::index::Index;
use typeloom_contracts::model::Model;
use typeloom_contracts::peer_selector::PeerSelector;
use typeloom_module::bindings::Bindings;
use typeloom_onnx::messages::{AttributeProto, NodeProto};
use typeloom_tensor::datum::Datum;

use crate::convert::{FromDatum, IntoDatum};
use crate::error::{ComponentError, RunError};
use crate::options::Verify;

use aggregator::AggregatorAdapter;
pub use aggregator::FromMetadata;
pub(crate) use args::Args;
pub use protocol::RunProtocol;

/// A method of a component, resolved for one node.
pub(crate) type Method = Box<dyn Fn(&Args<'_>) -> Result<Results, ComponentError> + Send + Sync>;

/// A program that other programs call, with inputs in order.
pub(crate) type LinkedProgram =
    Arc<dyn Fn(Vec<Option<Datum>>, Verify) -> Result<Vec<Datum>, RunError> + Send + Sync>;

/// Results of a method; most methods have one.
pub(crate) type Results = SmallVec<[Datum; 1]>;

/// Resolves a method by name, with the attributes of a node; `None` for a method that the contract does not
/// have.
pub(crate) type Resolve = Arc<dyn Fn(&str, &NodeProto) -> Option<Method> + Send + Sync>;

fn method(
    run: impl Fn(&Args<'_>) -> Result<Results, ComponentError> + Send + Sync + 'static,
) -> Option<Method> {
    Some(Box::new(run))
}

/// The trigger of a completed method.
fn done<E: Error + Send + Sync + 'static>(result: Result<(), E>) -> Result<Results, ComponentError> {
    result.map_err(ComponentError::failed)?;
    Ok(smallvec![Datum::Trigger])
}

/// An integer attribute of a node.
fn int(node: &NodeProto, name: &str) -> Option<i64> {
    node.find_attribute(name).map(AttributeProto::i)
}

/// A component with concurrent reads and exclusive writes.
struct Locked<T>(RwLock<T>);

impl<T> Locked<T> {
    fn new(component: T) -> Self {
        Self(RwLock::new(component))
    }

    fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The components of a module by slot, and the functions of other modules that it calls. Clones share the
/// components.
#[derive(Clone, Default)]
pub struct Components {
    bindings: Bindings,
    by_slot: IndexMap<String, Resolve>,
    functions: IndexMap<String, LinkedProgram>,
}

impl fmt::Debug for Components {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = self.bindings.iter().map(|(slot, binding)| (slot, binding.component));
        f.debug_map().entries(bound).finish()
    }
}

impl From<&Components> for Bindings {
    fn from(components: &Components) -> Self {
        components.bindings.clone()
    }
}

impl Components {
    /// Creates an empty set of components.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The types of the components by slot, to compile a program with or to load an artifact against.
    #[must_use]
    pub fn bindings(&self) -> &Bindings {
        &self.bindings
    }

    /// A compiler that binds the slots to the types of these components.
    #[must_use]
    pub fn compiler(&self) -> Compiler {
        Compiler::new().with_bindings(self)
    }

    pub(crate) fn get(&self, slot: &str) -> Option<Resolve> {
        self.by_slot.get(slot).cloned()
    }

    pub(crate) fn linked_function(&self, function: &str) -> Option<LinkedProgram> {
        self.functions.get(function).cloned()
    }

    pub(crate) fn with_function(mut self, name: &str, program: LinkedProgram) -> Self {
        self.functions.insert(name.to_owned(), program);
        self
    }

    fn with<C: Send + Sync + 'static>(
        mut self,
        slot: &str,
        bind: impl FnOnce(Bindings, &str) -> Bindings,
        component: C,
        resolve: impl Fn(Arc<C>, &str, &NodeProto) -> Option<Method> + Send + Sync + 'static,
    ) -> Self {
        self.bindings = bind(self.bindings, slot);
        let component = Arc::new(component);
        let resolve = move |name: &str, node: &NodeProto| resolve(Arc::clone(&component), name, node);
        self.by_slot.insert(slot.to_owned(), Arc::new(resolve));
        self
    }

    /// Binds a backend to a slot.
    #[must_use]
    pub fn backend<B: Backend<Tensor: FromDatum + IntoDatum + Clone>>(
        self,
        slot: &str,
        component: B,
    ) -> Self {
        self.with(slot, Bindings::bind_backend::<B>, component, backend::resolve)
    }

    /// Binds an index to a slot.
    #[must_use]
    pub fn index<I: Index<Vector: FromDatum>>(self, slot: &str, component: I) -> Self {
        self.with(slot, Bindings::bind_index::<I>, Locked::new(component), index::resolve)
    }

    /// Binds a model to a slot.
    #[must_use]
    pub fn model<M: Model<Tensor: FromDatum + IntoDatum>>(self, slot: &str, component: M) -> Self {
        self.with(slot, Bindings::bind_model::<M>, Locked::new(component), model::resolve)
    }

    /// Binds an aggregator to a slot. Its metadata type defines how metadata is read from bytes.
    #[must_use]
    pub fn aggregator<A>(self, slot: &str, component: A) -> Self
    where
        A: Aggregator<Element: FromDatum + IntoDatum, Metadata: FromMetadata>,
    {
        self.aggregator_with(slot, component, |bytes| {
            <A::Metadata as FromMetadata>::from_metadata(bytes.map(|bytes| &**bytes))
        })
    }

    /// Binds an aggregator to a slot. `metadata` reads the metadata of a contribution from the bytes sent
    /// with it, if any.
    #[must_use]
    pub fn aggregator_with<A: Aggregator<Element: FromDatum + IntoDatum>>(
        self,
        slot: &str,
        component: A,
        metadata: impl Fn(Option<&Bytes>) -> Result<A::Metadata, String> + Send + Sync + 'static,
    ) -> Self {
        let (component, metadata) = (Locked::new(component), Box::new(metadata) as _);
        let adapter = AggregatorAdapter { component, metadata };
        self.with(slot, Bindings::bind_aggregator::<A>, adapter, AggregatorAdapter::resolve)
    }

    /// Binds a codec to a slot.
    #[must_use]
    pub fn codec<C: Codec<In: FromDatum + IntoDatum, Out: FromDatum + IntoDatum>>(
        self,
        slot: &str,
        component: C,
    ) -> Self {
        self.with(slot, Bindings::bind_codec::<C>, Locked::new(component), codec::resolve)
    }

    /// Binds a data source to a slot.
    #[must_use]
    pub fn data_source<D: DataSource<Sample: FromDatum + IntoDatum>>(self, slot: &str, component: D) -> Self {
        self.with(slot, Bindings::bind_data_source::<D>, Locked::new(component), data_source::resolve)
    }

    /// Binds a peer selector to a slot.
    #[must_use]
    pub fn peer_selector<P: PeerSelector>(self, slot: &str, component: P) -> Self {
        self.with(slot, Bindings::bind_peer_selector::<P>, Locked::new(component), peer_selector::resolve)
    }

    /// Binds a protocol to a slot.
    #[must_use]
    pub fn protocol<P: RunProtocol>(self, slot: &str, component: P) -> Self {
        self.with(slot, Bindings::bind_protocol::<P>, Locked::new(component), protocol::resolve)
    }
}
