//! Branches and loops: operators with nested graphs, recorded by closures.
//!
//! A closure gets the graph while a nested one is open: it records nodes there, and can use values of the
//! outer graphs.

use typeloom_onnx::messages::{AttributeProto, GraphProto};
use typeloom_program::domain::Domain;
use typeloom_program::program::{GraphId, ValueId};

use super::Graph;
use super::operators::{Input, record_with_graphs};
use super::value::ValueRef;
use crate::authoring::AuthoringErrorKind;
use crate::location::SourceLocation;
use typeloom_onnx::messages::IntoAttribute;

impl Graph {
    /// ONNX's `If`: returns the values of the first closure if the condition holds, and of the second
    /// otherwise.
    #[track_caller]
    pub fn if_<T: Into<Vec<ValueRef>>, E: Into<Vec<ValueRef>>>(
        &self,
        condition: &ValueRef,
        then: impl FnOnce(&Self) -> T,
        otherwise: impl FnOnce(&Self) -> E,
    ) -> Vec<ValueRef> {
        let location = SourceLocation::here();
        let (then, expected) = self.nested("then", 0, location, |g, _| then(g).into());
        let (otherwise, found) = self.nested("else", 0, location, |g, _| otherwise(g).into());
        if found != expected {
            let kind = AuthoringErrorKind::BodyArity { what: "the else branch", found, expected };
            self.recorder.borrow_mut().error(kind, location);
        }
        let (attributes, graphs) = bodies([("then_branch", then), ("else_branch", otherwise)]);
        let op = (Domain::Onnx, "If");
        record_with_graphs(self, None, op, &[condition.into()], (attributes, graphs), expected, location)
    }

    /// ONNX's `Loop`: at most `iterations` iterations, while `condition` holds. The closure gets the number
    /// of the iteration, the condition and the state; it returns the next condition, the next state, and an
    /// element of each scanned output. The results are the final state and the scanned outputs.
    #[track_caller]
    pub fn loop_(
        &self,
        iterations: Option<&ValueRef>,
        condition: Option<&ValueRef>,
        state: &[&ValueRef],
        body: impl FnOnce(&Self, &ValueRef, &ValueRef, &[ValueRef]) -> Vec<ValueRef>,
    ) -> Vec<ValueRef> {
        let location = SourceLocation::here();
        let (body, found) = self.nested("body", state.len() + 2, location, |g, inputs| {
            let [iteration, condition, state @ ..] = inputs else { return Vec::new() };
            body(g, iteration, condition, state)
        });
        let expected = state.len() + 1;
        if found < expected {
            let kind = AuthoringErrorKind::BodyArity { what: "the body of the loop", found, expected };
            self.recorder.borrow_mut().error(kind, location);
            return (1..found).map(|_| self.poison(location)).collect();
        }
        let inputs = [iterations.into(), condition.into(), Input::Many(state)];
        let op = (Domain::Onnx, "Loop");
        record_with_graphs(self, None, op, &inputs, bodies([("body", body)]), found - 1, location)
    }

    /// ONNX's `Scan` along the first axes. The closure gets the state and one slice of each scanned input; it
    /// returns the next state and an element of each scanned output. The results are the final state and the
    /// scanned outputs.
    #[track_caller]
    pub fn scan(
        &self,
        state: &[&ValueRef],
        scanned: &[&ValueRef],
        body: impl FnOnce(&Self, &[ValueRef], &[ValueRef]) -> Vec<ValueRef>,
    ) -> Vec<ValueRef> {
        let location = SourceLocation::here();
        let (body, found) = self.nested("body", state.len() + scanned.len(), location, |g, inputs| {
            let (state, slices) = inputs.split_at(state.len());
            body(g, state, slices)
        });
        if found < state.len() {
            let expected = state.len();
            let kind = AuthoringErrorKind::BodyArity { what: "the body of the scan", found, expected };
            self.recorder.borrow_mut().error(kind, location);
            return (0..found).map(|_| self.poison(location)).collect();
        }
        let inputs = [Input::Many(state), Input::Many(scanned)];
        let count = i64::try_from(scanned.len()).unwrap_or(i64::MAX);
        let (mut attributes, graphs) = bodies([("body", body)]);
        attributes.push(count.into_attribute("num_scan_inputs"));
        let op = (Domain::Onnx, "Scan");
        record_with_graphs(self, None, op, &inputs, (attributes, graphs), found, location)
    }

    /// Records a nested graph; returns it with the number of its outputs.
    fn nested(
        &self,
        stem: &str,
        inputs: usize,
        location: SourceLocation,
        body: impl FnOnce(&Self, &[ValueRef]) -> Vec<ValueRef>,
    ) -> (GraphId, usize) {
        let inputs: Vec<ValueRef> = {
            let mut recorder = self.recorder.borrow_mut();
            recorder.open_graph(stem, location);
            let names: Vec<_> = (0..inputs).map(|_| recorder.fresh(stem, location)).collect();
            let inputs: Vec<ValueId> = names.into_iter().map(|name| recorder.add_input(name)).collect();
            drop(recorder);
            inputs.into_iter().map(|input| self.value(input, location)).collect()
        };
        let outputs = body(self, &inputs);
        let given: Vec<Option<ValueId>> = outputs.iter().map(|value| self.usable(value, location)).collect();
        let count = given.len();
        let mut recorder = self.recorder.borrow_mut();
        let mut listed = std::collections::HashSet::new();
        let inner = recorder.current();
        for (value, handle) in given.into_iter().zip(&outputs) {
            let Some(value) = value else { continue };
            if handle.scope == inner && !recorder.is_input_or_constant(value) && listed.insert(value) {
                recorder.add_output(value);
                continue;
            }
            // Values of outer graphs, inputs and repeated outputs get a new name.
            let own = recorder.alias(value, stem, location);
            recorder.add_output(own);
        }
        (recorder.close_graph(), count)
    }
}

/// Attributes that hold graphs, and the graphs.
fn bodies<const N: usize>(bodies: [(&str, GraphId); N]) -> (Vec<AttributeProto>, Vec<GraphId>) {
    let attribute = |(name, _): &(&str, GraphId)| GraphProto::default().into_attribute(name);
    (bodies.iter().map(attribute).collect(), bodies.iter().map(|(_, graph)| *graph).collect())
}
