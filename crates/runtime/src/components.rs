//! Components behind slots, as running modules call them.
//!
//! Compiling binds Rust *types* to slots; running needs *values* of them. [`Components`] holds one for each slot, under the
//! contract that it implements, and is the bindings of the same slots as well, so that the two cannot differ.
//!
//! A node of a contract is resolved once, when a module is prepared, to a method: a closure over the component that
//! takes the inputs of the node as its method takes them and gives the results back. Calls look up no name.
//!
//! | contract | how it is shared | file |
//! |---|---|---|
//! | backend | called by several threads at once | `backend` |
//! | index, model, codec | readers at once, writers alone | `index`, `model`, `codec` |
//! | aggregator, data source, peer selector, protocol | one call at a time (a selector's view is read by several) | a file each |
//!
//! A component that panicked is called again as it was left: whether it can go on is for it to say.

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
use typeloom_contracts::aggregator::Aggregator;
use typeloom_contracts::backend::Backend;
use typeloom_contracts::codec::Codec;
use typeloom_contracts::data_source::DataSource;
use typeloom_contracts::index::Index;
use typeloom_contracts::model::Model;
use typeloom_contracts::peer_selector::PeerSelector;
use typeloom_module::bindings::Bindings;
use typeloom_onnx::messages::{AttributeProto, NodeProto};

use crate::carry::Carried;
use crate::executor::Executor;
use typeloom_wire::datum::Datum;

pub use aggregator::FromMetadata;
pub(crate) use args::Args;
pub use protocol::RunProtocol;

/// Why a component gave no result.
#[derive(Debug, thiserror::Error)]
pub enum ComponentFault {
    /// The component says so.
    #[error("{0}")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
    /// An input that it needs is not there.
    #[error("input {0} is missing")]
    Missing(usize),
    /// An input is not what the component stores.
    #[error("input {index} is {found}, and the component stores {stores}")]
    Storage {
        /// Which input.
        index: usize,
        /// What it is.
        found: String,
        /// What the component stores, as a node of the type tree.
        stores: &'static str,
    },
    /// An input is not what the operator takes there.
    #[error("input {index} is {found}, not {wanted}")]
    Argument {
        /// Which input.
        index: usize,
        /// What it is.
        found: String,
        /// What the operator takes.
        wanted: &'static str,
    },
    /// Inputs do not fit each other.
    #[error("{0}")]
    Unfit(String),
    /// A data source has no more batches.
    #[error("the data source has no more batches")]
    Exhausted,
    /// The component gave more or fewer values than the node has outputs.
    #[error("the component gave {found} values for {expected} outputs")]
    Count {
        /// How many outputs the node has.
        expected: usize,
        /// How many values there are.
        found: usize,
    },
}

impl ComponentFault {
    pub(crate) fn failed(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Failed(Box::new(error))
    }
}

/// What runs a node: resolved once, called often.
pub(crate) type Method = Box<dyn Fn(&Args<'_>) -> Result<Results, ComponentFault> + Send + Sync>;

/// What a method gives: most give one value.
pub(crate) type Results = SmallVec<[Datum; 1]>;

/// A component without its type.
pub(crate) trait Erased: Send + Sync {
    /// What runs a node of this component's contract; nothing for an operator that the contract does not have.
    fn method(self: Arc<Self>, node: &NodeProto) -> Option<Method>;
}

fn method(
    run: impl Fn(&Args<'_>) -> Result<Results, ComponentFault> + Send + Sync + 'static,
) -> Option<Method> {
    Some(Box::new(run))
}

fn done() -> Results {
    smallvec![Datum::Trigger]
}

/// A whole number that a node has as an attribute.
fn int(node: &NodeProto, name: &str) -> Option<i64> {
    node.attribute.iter().find(|attribute| attribute.name() == name).map(AttributeProto::i)
}

/// A component that some calls change and others read.
struct Guarded<T>(RwLock<T>);

impl<T> Guarded<T> {
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

/// The components of a running module, by slot, and the functions of other modules that it calls. Clones share the components.
///
/// ```
/// use std::collections::HashMap;
/// use typeloom_compiler::compiler::Compiler;
/// use typeloom_module::graph::Graph;
/// use typeloom_module::graph::operators::OperatorMethods;
/// use typeloom_module::module::Module;
/// use typeloom_runtime::backend::Cpu;
/// use typeloom_runtime::components::Components;
/// use typeloom_runtime::executor::Executor;
/// use typeloom_runtime::session::Verify;
/// use typeloom_types::any_tensor::AnyTensor;
///
/// struct Scorer;
///
/// impl Module for Scorer {
///     fn name(&self) -> &str {
///         "scorer"
///     }
///
///     fn body(&self, g: &mut Graph) {
///         let x = g.input("x").of("float[N]");
///         let compute = g.backend("compute");
///         g.output("y", &compute.relu(&compute.neg(&x)));
///     }
/// }
///
/// let components = Components::new().backend("compute", Cpu);
/// let artifact = Compiler::new().with_bindings(components.bindings().clone()).compile(Scorer)?;
/// let executor = Executor::new(&artifact, &components)?;
///
/// let x = AnyTensor::from([1.0_f32, -2.0]);
/// let outcome = executor.run(HashMap::from([("x".to_owned(), x.into())]), Verify::EveryValue)?;
/// assert_eq!(outcome.get("y"), Some(&AnyTensor::from([0.0_f32, 2.0]).into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Components {
    bindings: Bindings,
    by_slot: IndexMap<String, Arc<dyn Erased>>,
    functions: IndexMap<String, Executor>,
}

impl fmt::Debug for Components {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = self.bindings.iter().map(|(slot, binding)| (slot, binding.component));
        f.debug_map().entries(bound).finish()
    }
}

impl Components {
    /// No components.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The types of the components by slot: what a program is compiled with, or an artifact loaded against.
    #[must_use]
    pub fn bindings(&self) -> &Bindings {
        &self.bindings
    }

    pub(crate) fn get(&self, slot: &str) -> Option<Arc<dyn Erased>> {
        self.by_slot.get(slot).cloned()
    }

    pub(crate) fn linked(&self, function: &str) -> Option<&Executor> {
        self.functions.get(function)
    }

    fn with(
        mut self,
        slot: &str,
        bind: impl FnOnce(Bindings, &str) -> Bindings,
        component: impl Erased + 'static,
    ) -> Self {
        self.bindings = bind(self.bindings, slot);
        self.by_slot.insert(slot.to_owned(), Arc::new(component));
        self
    }

    /// A backend behind a slot.
    #[must_use]
    pub fn backend<B: Backend<Tensor: Carried + Clone>>(self, slot: &str, component: B) -> Self {
        self.with(slot, Bindings::bind_backend::<B>, backend::OfBackend(component))
    }

    /// An index behind a slot.
    #[must_use]
    pub fn index<I: Index<Vector: Carried>>(self, slot: &str, component: I) -> Self {
        self.with(slot, Bindings::bind_index::<I>, index::OfIndex(Guarded::new(component)))
    }

    /// A model behind a slot.
    #[must_use]
    pub fn model<M: Model<Tensor: Carried>>(self, slot: &str, component: M) -> Self {
        self.with(slot, Bindings::bind_model::<M>, model::OfModel(Guarded::new(component)))
    }

    /// An aggregator behind a slot, whose metadata says itself how it is read from bytes.
    #[must_use]
    pub fn aggregator<A>(self, slot: &str, component: A) -> Self
    where
        A: Aggregator<Element: Carried, Metadata: FromMetadata>,
    {
        self.aggregator_with(slot, component, |bytes| {
            <A::Metadata as FromMetadata>::from_metadata(bytes.map(|bytes| &**bytes))
        })
    }

    /// An aggregator behind a slot, and how its metadata is read from the bytes that come with a contribution, if any do.
    #[must_use]
    pub fn aggregator_with<A: Aggregator<Element: Carried>>(
        self,
        slot: &str,
        component: A,
        metadata: impl Fn(Option<&Bytes>) -> Result<A::Metadata, String> + Send + Sync + 'static,
    ) -> Self {
        let component = aggregator::OfAggregator::new(component, Box::new(metadata));
        self.with(slot, Bindings::bind_aggregator::<A>, component)
    }

    /// A codec behind a slot.
    #[must_use]
    pub fn codec<C: Codec<In: Carried, Out: Carried>>(self, slot: &str, component: C) -> Self {
        self.with(slot, Bindings::bind_codec::<C>, codec::OfCodec(Guarded::new(component)))
    }

    /// A data source behind a slot.
    #[must_use]
    pub fn data_source<D: DataSource<Sample: Carried>>(self, slot: &str, component: D) -> Self {
        self.with(slot, Bindings::bind_data_source::<D>, data_source::OfDataSource(Guarded::new(component)))
    }

    /// A peer selector behind a slot.
    #[must_use]
    pub fn peer_selector<P: PeerSelector>(self, slot: &str, component: P) -> Self {
        let component = peer_selector::OfPeerSelector(Guarded::new(component));
        self.with(slot, Bindings::bind_peer_selector::<P>, component)
    }

    /// A protocol behind a slot.
    #[must_use]
    pub fn protocol<P: RunProtocol>(self, slot: &str, component: P) -> Self {
        let component = protocol::OfProtocol(Guarded::new(component));
        self.with(slot, Bindings::bind_protocol::<P>, component)
    }

    /// A program that stands behind calls of a function which another module exports.
    #[must_use]
    pub fn function(mut self, name: &str, program: Executor) -> Self {
        self.functions.insert(name.to_owned(), program);
        self
    }
}
