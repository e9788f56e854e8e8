//! Branches and loops: operators with nested graphs, recorded by closures.
//!
//! A closure gets the graph with its nested one open: what it records goes there, and values of the graphs
//! around it can be used.

use typeloom_onnx::messages::{AttributeProto, GraphProto};

use super::Graph;
use super::attributes::IntoAttribute;
use super::operators::{Input, record};
use super::recorder::NewNode;
use super::value::Value;
use crate::authoring::AuthoringErrorKind;
use crate::names::TYPES_DOMAIN;
use crate::place::Place;

impl Graph {
    /// ONNX's `If`: what the first closure gives where the condition holds, else what the second gives.
    #[track_caller]
    pub fn if_(
        &self,
        condition: &Value,
        then: impl FnOnce(&Self) -> Vec<Value>,
        otherwise: impl FnOnce(&Self) -> Vec<Value>,
    ) -> Vec<Value> {
        let place = Place::here();
        let (then, expected) = self.nested("then", 0, place, |g, _| then(g));
        let (otherwise, found) = self.nested("else", 0, place, |g, _| otherwise(g));
        if found != expected {
            let kind = AuthoringErrorKind::BodyArity { what: "the else branch", found, expected };
            self.recorder.borrow_mut().error(kind, place);
        }
        let branches = vec![then.into_attribute("then_branch"), otherwise.into_attribute("else_branch")];
        record(self, None, ("", "If"), &[condition.into()], branches, expected, place)
    }

    /// ONNX's `Loop`: at most `turns` turns, while `condition` holds. The closure gets the number of the turn, the
    /// condition and the carried values; it gives the next condition, then the carried values, then what each turn
    /// adds to a scanned output. The results are the carried values at the end, then the scanned outputs.
    #[track_caller]
    pub fn loop_(
        &self,
        turns: Option<&Value>,
        condition: Option<&Value>,
        carried: &[&Value],
        body: impl FnOnce(&Self, &Value, &Value, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let place = Place::here();
        let (body, found) = self.nested("body", carried.len() + 2, place, |g, inputs| {
            let [turn, condition, carried @ ..] = inputs else { return Vec::new() };
            body(g, turn, condition, carried)
        });
        let expected = carried.len() + 1;
        if found < expected {
            let kind = AuthoringErrorKind::BodyArity { what: "the body of the loop", found, expected };
            self.recorder.borrow_mut().error(kind, place);
            return (1..found).map(|_| self.poison(place)).collect();
        }
        let inputs = [turns.into(), condition.into(), Input::Many(carried)];
        record(self, None, ("", "Loop"), &inputs, vec![body.into_attribute("body")], found - 1, place)
    }

    /// ONNX's `Scan` along the first axes: the closure gets the state and one slice of each scanned input; it gives the
    /// next state, then what is added to each scanned output. The results are the state at the end, then the scanned
    /// outputs.
    #[track_caller]
    pub fn scan(
        &self,
        state: &[&Value],
        scanned: &[&Value],
        body: impl FnOnce(&Self, &[Value], &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let place = Place::here();
        let (body, found) = self.nested("body", state.len() + scanned.len(), place, |g, inputs| {
            let (state, slices) = inputs.split_at(state.len());
            body(g, state, slices)
        });
        if found < state.len() {
            let expected = state.len();
            let kind = AuthoringErrorKind::BodyArity { what: "the body of the scan", found, expected };
            self.recorder.borrow_mut().error(kind, place);
            return (0..found).map(|_| self.poison(place)).collect();
        }
        let inputs = [Input::Many(state), Input::Many(scanned)];
        let count = i64::try_from(scanned.len()).unwrap_or(i64::MAX);
        let attributes = vec![body.into_attribute("body"), count.into_attribute("num_scan_inputs")];
        record(self, None, ("", "Scan"), &inputs, attributes, found, place)
    }

    /// Records a nested graph; how many values it gives.
    fn nested(
        &self,
        stem: &str,
        inputs: usize,
        place: Place,
        body: impl FnOnce(&Self, &[Value]) -> Vec<Value>,
    ) -> (GraphProto, usize) {
        let names: Vec<String> = {
            let mut recorder = self.recorder.borrow_mut();
            recorder.open_graph(stem, place);
            (0..inputs).map(|_| recorder.fresh(stem, place)).collect()
        };
        for name in &names {
            self.recorder.borrow_mut().add_input(name);
        }
        let inputs: Vec<Value> = names.into_iter().map(|name| self.value(name, place)).collect();
        let outputs = body(self, &inputs);
        let given: Vec<Option<String>> = outputs.iter().map(|value| self.name_of(value, place)).collect();
        let count = given.len();
        let mut recorder = self.recorder.borrow_mut();
        let mut listed = std::collections::HashSet::new();
        let inner = recorder.current();
        for (name, value) in given.into_iter().zip(&outputs) {
            let Some(name) = name else { continue };
            if value.scope == inner && !recorder.is_given(&name) && listed.insert(name.clone()) {
                recorder.add_output(&name);
                continue;
            }
            // A graph gives a value of a graph around it, an input, or one value twice, under a name of its own.
            let own = recorder.fresh(stem, place);
            let node = NewNode {
                domain: TYPES_DOMAIN,
                op: "Identity",
                inputs: vec![name],
                attributes: Vec::<AttributeProto>::new(),
                outputs: 1,
                slot: None,
            };
            recorder.node_to(node, vec![own.clone()], place);
            recorder.add_output(&own);
        }
        (recorder.close_graph(), count)
    }
}
