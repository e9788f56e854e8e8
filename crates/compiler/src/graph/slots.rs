//! Placeholders of components: what a body says about a slot before anybody knows what is bound to it.
//!
//! A placeholder records nodes on its slot. What the component stores stands in their types as an alias,
//! `<slot as Contract>::Assoc`, which the binding normalises.

use std::cell::RefCell;
use std::rc::Rc;

use typeloom_contracts::role::Role;
use typeloom_onnx::messages::AttributeProto;

use super::Graph;
use super::attributes::IntoAttribute;
use super::operators::{Input, OperatorMethods, record};
use super::recorder::Recorder;
use super::value::Value;
use crate::place::Place;

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
        place: Place,
    ) -> [Value; N] {
        let values = self.record_many((&self.domain, op), inputs, attributes, N, place);
        values.try_into().expect("a node has the outputs that it was recorded with")
    }

    fn record_many(
        &self,
        op: (&str, &str),
        inputs: &[Input<'_>],
        attributes: Vec<AttributeProto>,
        outputs: usize,
        place: Place,
    ) -> Vec<Value> {
        let graph = Graph { recorder: Rc::clone(&self.recorder) };
        record(&graph, Some((&self.name, self.role)), op, inputs, attributes, outputs, place)
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
                    $slot(self.slot(slot, Role::$role, Role::$role.domain(), Place::here()))
                }
            )*
        }
    };
}

slots! {
    /// The placeholder of a backend. Operators on it run on the component that is bound to the slot, and their
    /// data is what it stores.
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

/// The placeholder of a protocol: operators of a domain that [`register_protocol!`] made known.
///
/// [`register_protocol!`]: typeloom_contracts::register_protocol
#[derive(Clone)]
pub struct ProtocolSlot(Slot);

impl Graph {
    /// The placeholder of a protocol with operators of this domain.
    #[track_caller]
    pub fn protocol(&self, slot: &str, domain: &str) -> ProtocolSlot {
        ProtocolSlot(self.slot(slot, Role::Protocol, domain, Place::here()))
    }

    fn slot(&self, name: &str, role: Role, domain: &str, place: Place) -> Slot {
        self.recorder.borrow_mut().use_slot(name, role, place);
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
        place: Place,
    ) -> Vec<Value> {
        self.0.record_many(("", op), inputs, attributes, outputs, place)
    }
}

impl ProtocolSlot {
    /// An operator of the protocol.
    #[track_caller]
    #[must_use]
    pub fn call(&self, op: &str, inputs: &[&Value], outputs: usize) -> Vec<Value> {
        let inputs = [Input::Many(inputs)];
        self.0.record_many((&self.0.domain, op), &inputs, Vec::new(), outputs, Place::here())
    }
}

impl IndexSlot {
    /// Stores vectors under ids; a trigger when it is done.
    #[track_caller]
    pub fn add(&self, ids: &Value, vectors: &Value) -> Value {
        let [done] = self.0.record("Add", &[ids.into(), vectors.into()], Vec::new(), Place::here());
        done
    }

    /// The ids of the `k` vectors nearest to a query, and their distances.
    #[track_caller]
    #[must_use]
    pub fn search(&self, query: &Value, k: i64) -> (Value, Value) {
        let k = vec![k.into_attribute("k")];
        let [ids, distances] = self.0.record("Search", &[query.into()], k, Place::here());
        (ids, distances)
    }

    /// Forgets vectors; a trigger when it is done.
    #[track_caller]
    pub fn remove(&self, ids: &Value) -> Value {
        let [done] = self.0.record("Remove", &[ids.into()], Vec::new(), Place::here());
        done
    }

    /// Learns how vectors are spread; a trigger when it is done.
    #[track_caller]
    pub fn train(&self, vectors: &Value) -> Value {
        let [done] = self.0.record("Train", &[vectors.into()], Vec::new(), Place::here());
        done
    }
}

impl ModelSlot {
    /// The prediction for an input.
    #[track_caller]
    #[must_use]
    pub fn forward(&self, input: &Value) -> Value {
        let [output] = self.0.record("Forward", &[input.into()], Vec::new(), Place::here());
        output
    }

    /// Takes parameters in place of its own; a trigger when it is done.
    #[track_caller]
    pub fn load_parameters(&self, parameters: &Value) -> Value {
        let [done] = self.0.record("LoadParameters", &[parameters.into()], Vec::new(), Place::here());
        done
    }

    /// The gradient of the parameters for that of the output.
    #[track_caller]
    #[must_use]
    pub fn backward(&self, gradient: &Value) -> Value {
        let [parameters] = self.0.record("Backward", &[gradient.into()], Vec::new(), Place::here());
        parameters
    }

    /// Adds to the parameters; a trigger when it is done.
    #[track_caller]
    pub fn apply_delta(&self, delta: &Value) -> Value {
        let [done] = self.0.record("ApplyDelta", &[delta.into()], Vec::new(), Place::here());
        done
    }

    /// How far a prediction is from the target.
    #[track_caller]
    #[must_use]
    pub fn compute_loss(&self, prediction: &Value, target: &Value) -> Value {
        let inputs = [prediction.into(), target.into()];
        let [loss] = self.0.record("ComputeLoss", &inputs, Vec::new(), Place::here());
        loss
    }

    /// The parameters, once a trigger came.
    #[track_caller]
    #[must_use]
    pub fn params(&self, when: Option<&Value>) -> Value {
        let [parameters] = self.0.record("Params", &[when.into()], Vec::new(), Place::here());
        parameters
    }
}

impl AggregatorSlot {
    /// Takes the contribution of a peer, with bytes that say more about it; a trigger when it is done.
    #[track_caller]
    pub fn contribute(&self, source: &Value, element: &Value, metadata: Option<&Value>) -> Value {
        let inputs = [source.into(), element.into(), metadata.into()];
        let [done] = self.0.record("Contribute", &inputs, Vec::new(), Place::here());
        done
    }

    /// What the contributions come to, once a trigger came.
    #[track_caller]
    #[must_use]
    pub fn aggregate(&self, when: Option<&Value>) -> Value {
        let [element] = self.0.record("Aggregate", &[when.into()], Vec::new(), Place::here());
        element
    }
}

impl CodecSlot {
    /// Learns from samples; a trigger when it is done.
    #[track_caller]
    pub fn train(&self, samples: &Value) -> Value {
        let [done] = self.0.record("Train", &[samples.into()], Vec::new(), Place::here());
        done
    }

    /// The encoded value.
    #[track_caller]
    #[must_use]
    pub fn encode(&self, value: &Value) -> Value {
        let [encoded] = self.0.record("Encode", &[value.into()], Vec::new(), Place::here());
        encoded
    }

    /// The decoded value.
    #[track_caller]
    #[must_use]
    pub fn decode(&self, value: &Value) -> Value {
        let [decoded] = self.0.record("Decode", &[value.into()], Vec::new(), Place::here());
        decoded
    }
}

impl DataSourceSlot {
    /// The next batch, once a trigger came.
    #[track_caller]
    #[must_use]
    pub fn next_batch(&self, when: Option<&Value>) -> Value {
        let [sample] = self.0.record("NextBatch", &[when.into()], Vec::new(), Place::here());
        sample
    }

    /// Starts again, once a trigger came; a trigger when it is done.
    #[track_caller]
    pub fn reset(&self, when: Option<&Value>) -> Value {
        let [done] = self.0.record("Reset", &[when.into()], Vec::new(), Place::here());
        done
    }

    /// Tells the source that a batch has arrived; a trigger when it is done.
    #[track_caller]
    pub fn on_data_loaded(&self, batch: &Value) -> Value {
        let [done] = self.0.record("OnDataLoaded", &[batch.into()], Vec::new(), Place::here());
        done
    }
}

impl PeerSelectorSlot {
    /// The `count` peers that suit best, once a trigger came.
    #[track_caller]
    #[must_use]
    pub fn select(&self, when: Option<&Value>, count: i64) -> Value {
        let count = vec![count.into_attribute("count")];
        let [peers] = self.0.record("Select", &[when.into()], count, Place::here());
        peers
    }

    /// `count` peers at random, once a trigger came.
    #[track_caller]
    #[must_use]
    pub fn sample(&self, when: Option<&Value>, count: i64) -> Value {
        let count = vec![count.into_attribute("count")];
        let [peers] = self.0.record("Sample", &[when.into()], count, Place::here());
        peers
    }

    /// Every peer that is known, once a trigger came.
    #[track_caller]
    #[must_use]
    pub fn current_view(&self, when: Option<&Value>) -> Value {
        let [peers] = self.0.record("CurrentView", &[when.into()], Vec::new(), Place::here());
        peers
    }
}
