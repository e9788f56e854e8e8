//! Placeholders of components in the body of a module.
//!
//! A placeholder records nodes on its slot. The storage type of the component is an alias, `<slot as Contract>::Assoc`, until the slot
//! is bound.

use std::cell::RefCell;
use std::rc::Rc;

use typeloom_contracts::role::Role;
use typeloom_onnx::messages::AttributeProto;

use super::Graph;
use super::attributes::IntoAttribute;
use super::operators::{Input, OperatorMethods, record};
use super::recorder::Recorder;
use super::value::ValueRef;
use crate::location::SourceLocation;

/// The placeholder of a component.
#[derive(Clone)]
struct Slot {
    recorder: Rc<RefCell<Recorder>>,
    name: Rc<str>,
    role: Role,
    domain: Rc<str>,
}

impl Slot {
    fn record<const N: usize>(
        &self,
        op: &str,
        inputs: &[Input<'_>],
        attributes: Vec<AttributeProto>,
        location: SourceLocation,
    ) -> [ValueRef; N] {
        let values = self.record_many((&self.domain, op), inputs, attributes, N, location);
        values.try_into().expect("a node has the outputs that it was recorded with")
    }

    fn record_many(
        &self,
        op: (&str, &str),
        inputs: &[Input<'_>],
        attributes: Vec<AttributeProto>,
        outputs: usize,
        location: SourceLocation,
    ) -> Vec<ValueRef> {
        let graph = Graph { recorder: Rc::clone(&self.recorder) };
        record(&graph, Some((&self.name, self.role)), op, inputs, attributes, outputs, location)
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
                    $slot(self.slot(slot, Role::$role, Role::$role.domain(), SourceLocation::here()))
                }
            )*
        }
    };
}

slots! {
    /// The placeholder of a backend. Its operators run on the component that is bound to the slot, on tensors of its storage
    /// type.
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
        ProtocolSlot(self.slot(slot, Role::Protocol, domain, SourceLocation::here()))
    }

    fn slot(&self, name: &str, role: Role, domain: &str, location: SourceLocation) -> Slot {
        self.recorder.borrow_mut().use_slot(name, role, location);
        Slot { recorder: Rc::clone(&self.recorder), name: name.into(), role, domain: domain.into() }
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
        self.0.record_many(("", op), inputs, attributes, outputs, location)
    }
}

impl ProtocolSlot {
    /// An operator of the protocol.
    #[track_caller]
    #[must_use]
    pub fn call(&self, op: &str, inputs: &[&ValueRef], outputs: usize) -> Vec<ValueRef> {
        let inputs = [Input::Many(inputs)];
        self.0.record_many((&self.0.domain, op), &inputs, Vec::new(), outputs, SourceLocation::here())
    }
}

impl IndexSlot {
    /// Adds vectors under ids. Returns a trigger of completion.
    #[track_caller]
    pub fn add(&self, ids: &ValueRef, vectors: &ValueRef) -> ValueRef {
        let [done] = self.0.record("Add", &[ids.into(), vectors.into()], Vec::new(), SourceLocation::here());
        done
    }

    /// Returns the ids of the `k` vectors nearest to a query, and their distances.
    #[track_caller]
    #[must_use]
    pub fn search(&self, query: &ValueRef, k: i64) -> (ValueRef, ValueRef) {
        let k = vec![k.into_attribute("k")];
        let [ids, distances] = self.0.record("Search", &[query.into()], k, SourceLocation::here());
        (ids, distances)
    }

    /// Removes vectors. Returns a trigger of completion.
    #[track_caller]
    pub fn remove(&self, ids: &ValueRef) -> ValueRef {
        let [done] = self.0.record("Remove", &[ids.into()], Vec::new(), SourceLocation::here());
        done
    }

    /// Trains the index on vectors. Returns a trigger of completion.
    #[track_caller]
    pub fn train(&self, vectors: &ValueRef) -> ValueRef {
        let [done] = self.0.record("Train", &[vectors.into()], Vec::new(), SourceLocation::here());
        done
    }
}

impl ModelSlot {
    /// Returns the prediction for an input.
    #[track_caller]
    #[must_use]
    pub fn forward(&self, input: &ValueRef) -> ValueRef {
        let [output] = self.0.record("Forward", &[input.into()], Vec::new(), SourceLocation::here());
        output
    }

    /// Replaces the parameters. Returns a trigger of completion.
    #[track_caller]
    pub fn load_parameters(&self, parameters: &ValueRef) -> ValueRef {
        let [done] =
            self.0.record("LoadParameters", &[parameters.into()], Vec::new(), SourceLocation::here());
        done
    }

    /// Returns the gradient of the parameters for a gradient of the output.
    #[track_caller]
    #[must_use]
    pub fn backward(&self, gradient: &ValueRef) -> ValueRef {
        let [parameters] = self.0.record("Backward", &[gradient.into()], Vec::new(), SourceLocation::here());
        parameters
    }

    /// Adds a delta to the parameters. Returns a trigger of completion.
    #[track_caller]
    pub fn apply_delta(&self, delta: &ValueRef) -> ValueRef {
        let [done] = self.0.record("ApplyDelta", &[delta.into()], Vec::new(), SourceLocation::here());
        done
    }

    /// Returns the loss of a prediction.
    #[track_caller]
    #[must_use]
    pub fn compute_loss(&self, prediction: &ValueRef, target: &ValueRef) -> ValueRef {
        let inputs = [prediction.into(), target.into()];
        let [loss] = self.0.record("ComputeLoss", &inputs, Vec::new(), SourceLocation::here());
        loss
    }

    /// Returns the parameters, after an optional trigger.
    #[track_caller]
    #[must_use]
    pub fn params(&self, when: Option<&ValueRef>) -> ValueRef {
        let [parameters] = self.0.record("Params", &[when.into()], Vec::new(), SourceLocation::here());
        parameters
    }
}

impl AggregatorSlot {
    /// Adds the contribution of a peer with optional metadata. Returns a trigger of completion.
    #[track_caller]
    pub fn contribute(&self, source: &ValueRef, element: &ValueRef, metadata: Option<&ValueRef>) -> ValueRef {
        let inputs = [source.into(), element.into(), metadata.into()];
        let [done] = self.0.record("Contribute", &inputs, Vec::new(), SourceLocation::here());
        done
    }

    /// Returns the aggregate of the contributions, after an optional trigger.
    #[track_caller]
    #[must_use]
    pub fn aggregate(&self, when: Option<&ValueRef>) -> ValueRef {
        let [element] = self.0.record("Aggregate", &[when.into()], Vec::new(), SourceLocation::here());
        element
    }
}

impl CodecSlot {
    /// Trains the codec on samples. Returns a trigger of completion.
    #[track_caller]
    pub fn train(&self, samples: &ValueRef) -> ValueRef {
        let [done] = self.0.record("Train", &[samples.into()], Vec::new(), SourceLocation::here());
        done
    }

    /// Returns the encoded value.
    #[track_caller]
    #[must_use]
    pub fn encode(&self, value: &ValueRef) -> ValueRef {
        let [encoded] = self.0.record("Encode", &[value.into()], Vec::new(), SourceLocation::here());
        encoded
    }

    /// Returns the decoded value.
    #[track_caller]
    #[must_use]
    pub fn decode(&self, value: &ValueRef) -> ValueRef {
        let [decoded] = self.0.record("Decode", &[value.into()], Vec::new(), SourceLocation::here());
        decoded
    }
}

impl DataSourceSlot {
    /// Returns the next batch, after an optional trigger.
    #[track_caller]
    #[must_use]
    pub fn next_batch(&self, when: Option<&ValueRef>) -> ValueRef {
        let [sample] = self.0.record("NextBatch", &[when.into()], Vec::new(), SourceLocation::here());
        sample
    }

    /// Restarts the source, after an optional trigger. Returns a trigger of completion.
    #[track_caller]
    pub fn reset(&self, when: Option<&ValueRef>) -> ValueRef {
        let [done] = self.0.record("Reset", &[when.into()], Vec::new(), SourceLocation::here());
        done
    }

    /// Notifies the source of a batch. Returns a trigger of completion.
    #[track_caller]
    pub fn on_data_loaded(&self, batch: &ValueRef) -> ValueRef {
        let [done] = self.0.record("OnDataLoaded", &[batch.into()], Vec::new(), SourceLocation::here());
        done
    }
}

impl PeerSelectorSlot {
    /// Returns the `count` best peers, after an optional trigger.
    #[track_caller]
    #[must_use]
    pub fn select(&self, when: Option<&ValueRef>, count: i64) -> ValueRef {
        let count = vec![count.into_attribute("count")];
        let [peers] = self.0.record("Select", &[when.into()], count, SourceLocation::here());
        peers
    }

    /// Returns `count` random peers, after an optional trigger.
    #[track_caller]
    #[must_use]
    pub fn sample(&self, when: Option<&ValueRef>, count: i64) -> ValueRef {
        let count = vec![count.into_attribute("count")];
        let [peers] = self.0.record("Sample", &[when.into()], count, SourceLocation::here());
        peers
    }

    /// Returns all known peers, after an optional trigger.
    #[track_caller]
    #[must_use]
    pub fn current_view(&self, when: Option<&ValueRef>) -> ValueRef {
        let [peers] = self.0.record("CurrentView", &[when.into()], Vec::new(), SourceLocation::here());
        peers
    }
}
