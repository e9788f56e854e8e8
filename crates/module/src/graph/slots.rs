//! Placeholders of components in the body of a module.
//!
//! A placeholder records nodes on its slot. The storage type of the component is an alias,
//! `<slot as Contract>::Assoc`, until the slot is bound.

use std::cell::RefCell;
use std::rc::Rc;

use typeloom_contracts::address_book::ADDRESS_BOOK;
use typeloom_contracts::role::Role;
use typeloom_onnx::messages::AttributeProto;
use typeloom_program::domain::Domain;

use super::Graph;
use super::operators::{FromOutputs, Input, OperatorMethods, record};
use super::recorder::Recorder;
use super::value::ValueRef;
use crate::location::SourceLocation;
use typeloom_onnx::messages::IntoAttribute;

/// The placeholder of a component.
#[derive(Clone)]
struct Slot {
    recorder: Rc<RefCell<Recorder>>,
    name: Rc<str>,
    role: Role,
    domain: Domain,
}

impl Slot {
    fn record(
        &self,
        op: &str,
        inputs: &[Input<'_>],
        attributes: Vec<AttributeProto>,
        outputs: usize,
        location: SourceLocation,
    ) -> Vec<ValueRef> {
        let (graph, slot) = (Graph { recorder: Rc::clone(&self.recorder) }, (&*self.name, self.role));
        record(&graph, Some(slot), (self.domain.clone(), op), inputs, attributes, outputs, location)
    }
}

macro_rules! slots {
    ($($(#[$doc:meta])* $slot:ident $method:ident $role:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone)]
            pub struct $slot(Slot);

            impl $slot {
                /// The slot's name.
                #[must_use]
                pub fn name(&self) -> &str {
                    &self.0.name
                }
            }
        )*

        impl Graph {
            $(
                $(#[$doc])*
                #[track_caller]
                pub fn $method(&self, slot: &str) -> $slot {
                    $slot(self.slot(slot, Role::$role, Domain::of(Role::$role.domain()), SourceLocation::here()))
                }
            )*
        }
    };
}

slots! {
    /// The placeholder of a backend. Its operators run on the component that is bound to the slot, on tensors
    /// of its storage type.
    BackendSlot backend Backend;
    /// The placeholder of an index.
    IndexSlot index Index;
    /// The placeholder of a model.
    ModelSlot model Model;
    /// The placeholder of an aggregator.
    AggregatorSlot aggregator Aggregator;
    /// The placeholder of a codec.
    CodecSlot codec Codec;
    /// The placeholder of a data source.
    DataSourceSlot data_source DataSource;
    /// The placeholder of a peer selector.
    PeerSelectorSlot peer_selector PeerSelector;
}

/// The placeholder of a protocol, whose operators belong to a domain that [`register_protocol!`] registers.
///
/// [`register_protocol!`]: typeloom_contracts::register_protocol
#[derive(Clone)]
pub struct ProtocolSlot(Slot);

impl Graph {
    /// The placeholder of a protocol with operators of this domain.
    #[track_caller]
    pub fn protocol(&self, slot: &str, domain: &str) -> ProtocolSlot {
        ProtocolSlot(self.slot(slot, Role::Protocol, Domain::of(domain), SourceLocation::here()))
    }

    fn slot(&self, name: &str, role: Role, domain: Domain, location: SourceLocation) -> Slot {
        self.recorder.borrow_mut().use_slot(name, role, location);
        Slot { recorder: Rc::clone(&self.recorder), name: name.into(), role, domain }
    }
}

/// The placeholder of an address book, see [`typeloom_contracts::address_book`].
#[derive(Clone)]
pub struct AddressBookSlot(Slot);

impl Graph {
    /// The placeholder of an address book.
    #[track_caller]
    pub fn address_book(&self, slot: &str) -> AddressBookSlot {
        let domain = Domain::of(ADDRESS_BOOK.domain);
        AddressBookSlot(self.slot(slot, Role::Protocol, domain, SourceLocation::here()))
    }
}

impl OperatorMethods for BackendSlot {
    fn record_operator(
        &self,
        op: &str,
        inputs: &[Input<'_>],
        attributes: Vec<AttributeProto>,
        outputs: usize,
        location: SourceLocation,
    ) -> Vec<ValueRef> {
        self.0.record(op, inputs, attributes, outputs, location)
    }
}

impl BackendSlot {
    /// Records an operator of any domain, such as an extension operator of the backend.
    #[track_caller]
    #[must_use]
    pub fn node(
        &self,
        domain: &str,
        op: &str,
        inputs: &[&ValueRef],
        attributes: Vec<AttributeProto>,
        outputs: usize,
    ) -> Vec<ValueRef> {
        let slot = Slot { domain: Domain::of(domain), ..self.0.clone() };
        slot.record(op, &[inputs.into()], attributes, outputs, SourceLocation::here())
    }
}

impl ProtocolSlot {
    /// An operator of the protocol.
    #[track_caller]
    #[must_use]
    pub fn call(&self, op: &str, inputs: &[&ValueRef], outputs: usize) -> Vec<ValueRef> {
        self.0.record(op, &[Input::Many(inputs)], Vec::new(), outputs, SourceLocation::here())
    }
}

/// Defines the operators of placeholders: methods with the name of an operator, its inputs, and an optional
/// integer attribute.
macro_rules! operators {
    ($($slot:ident { $($(#[$meta:meta])* $method:ident $op:literal($($input:ident: $ty:ty),*) $($attribute:ident)?;)* })*) => {
        $(
            impl $slot {
                $(
                    $(#[$meta])*
                    #[track_caller]
                    pub fn $method(&self, $($input: $ty,)* $($attribute: i64)?) -> ValueRef {
                        let attributes = vec![$($attribute.into_attribute(stringify!($attribute)))?];
                        let inputs = &[$($input.into()),*];
                        FromOutputs::from_outputs(self.0.record($op, inputs, attributes, 1, SourceLocation::here()))
                    }
                )*
            }
        )*
    };
}

operators! {
    IndexSlot {
        /// Adds vectors under ids, a `uint64` tensor. Returns a trigger of completion.
        add "Add"(ids: &ValueRef, vectors: &ValueRef);
        /// Removes the vectors of ids, a `uint64` tensor. Returns a trigger of completion.
        remove "Remove"(ids: &ValueRef);
        /// Trains the index on vectors. Returns a trigger of completion.
        train "Train"(vectors: &ValueRef);
    }
    ModelSlot {
        /// Returns the prediction for an input.
        #[must_use]
        forward "Forward"(input: &ValueRef);
        /// Replaces the parameters. Returns a trigger of completion.
        load_parameters "LoadParameters"(parameters: &ValueRef);
        /// Returns the gradient of the parameters for a gradient of the output.
        #[must_use]
        backward "Backward"(gradient: &ValueRef);
        /// Adds a delta to the parameters. Returns a trigger of completion.
        apply_delta "ApplyDelta"(delta: &ValueRef);
        /// Returns the loss of a prediction.
        #[must_use]
        compute_loss "ComputeLoss"(prediction: &ValueRef, target: &ValueRef);
        /// Returns the parameters, after an optional trigger.
        #[must_use]
        params "Params"(when: Option<&ValueRef>);
    }
    AggregatorSlot {
        /// Adds the contribution of a peer (`peer_id`) with optional metadata (`bytes`). Returns a trigger of
        /// completion.
        contribute "Contribute"(source: &ValueRef, element: &ValueRef, metadata: Option<&ValueRef>);
        /// Returns the aggregate of the contributions, after an optional trigger.
        #[must_use]
        aggregate "Aggregate"(when: Option<&ValueRef>);
    }
    CodecSlot {
        /// Trains the codec on samples. Returns a trigger of completion.
        train "Train"(samples: &ValueRef);
        /// Returns the encoded value.
        #[must_use]
        encode "Encode"(value: &ValueRef);
        /// Returns the decoded value.
        #[must_use]
        decode "Decode"(value: &ValueRef);
    }
    DataSourceSlot {
        /// Returns the next batch, after an optional trigger.
        #[must_use]
        next_batch "NextBatch"(when: Option<&ValueRef>);
        /// Restarts the source, after an optional trigger. Returns a trigger of completion.
        reset "Reset"(when: Option<&ValueRef>);
        /// Notifies the source of a batch. Returns a trigger of completion.
        on_data_loaded "OnDataLoaded"(batch: &ValueRef);
    }
    AddressBookSlot {
        /// Adds addresses (`address_vec`) of a peer (`peer_id`), which do not expire. Returns a trigger of
        /// completion; a full book is an error of the run.
        install "Install"(peer: &ValueRef, addresses: &ValueRef);
        /// Returns the addresses of a peer that have not expired.
        #[must_use]
        look_up "LookUp"(peer: &ValueRef);
        /// Removes the addresses of a peer. Returns a trigger of completion.
        remove "Remove"(peer: &ValueRef);
        /// Returns the addresses at which other peers reach this one, after an optional trigger.
        #[must_use]
        own "Own"(when: Option<&ValueRef>);
    }
    PeerSelectorSlot {
        /// Returns the `count` best peers (`peer_id_vec`), after an optional trigger.
        #[must_use]
        select "Select"(when: Option<&ValueRef>) count;
        /// Returns `count` random peers (`peer_id_vec`), after an optional trigger.
        #[must_use]
        sample "Sample"(when: Option<&ValueRef>) count;
        /// Returns all known peers (`peer_id_vec`), after an optional trigger.
        #[must_use]
        current_view "CurrentView"(when: Option<&ValueRef>);
    }
}

impl IndexSlot {
    /// Returns the ids of the `k` vectors nearest to a query as a `uint64` tensor, and their distances as a
    /// `float` tensor.
    #[track_caller]
    #[must_use]
    pub fn search(&self, query: &ValueRef, k: i64) -> (ValueRef, ValueRef) {
        let k = vec![k.into_attribute("k")];
        let found = self.0.record("Search", &[query.into()], k, 2, SourceLocation::here());
        let [ids, distances] = FromOutputs::from_outputs(found);
        (ids, distances)
    }
}
