//! Branches and loops: operators with nested graphs, recorded by closures.
//!
//! A closure gets the graph while a nested one is open: it records nodes there, and can use values of the
//! outer graphs.

use typeloom_onnx::messages::GraphProto;

use super::Graph;
use super::operators::{Input, record};
use super::value::ValueRef;
use crate::authoring::AuthoringErrorKind;
use crate::location::SourceLocation;
use typeloom_onnx::messages::IntoAttribute;

impl Graph {
    /// ONNX's `If`: returns the values of the first closure if the condition holds, and of the second
    /// otherwise.
    #[track_caller]
    pub fn if_(
        &self,
        condition: &ValueRef,
        then: impl FnOnce(&Self) -> Vec<ValueRef>,
        otherwise: impl FnOnce(&Self) -> Vec<ValueRef>,
    ) -> Vec<ValueRef> {
        let location = SourceLocation::here();
        let (then, expected) = self.nested("then", 0, location, |g, _| then(g));
        let (otherwise, found) = self.nested("else", 0, location, |g, _| otherwise(g));
        if found != expected {
            let kind = AuthoringErrorKind::BodyArity { what: "the else branch", found, expected };
            self.recorder.borrow_mut().error(kind, location);
        }
        let branches = vec![then.into_attribute("then_branch"), otherwise.into_attribute("else_branch")];
        record(self, None, ("", "If"), &[condition.into()], branches, expected, location)
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
        record(self, None, ("", "Loop"), &inputs, vec![body.into_attribute("body")], found - 1, location)
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
        let attributes = vec![body.into_attribute("body"), count.into_attribute("num_scan_inputs")];
        record(self, None, ("", "Scan"), &inputs, attributes, found, location)
    }

    /// Records a nested graph; returns it with the number of its outputs.
    fn nested(
        &self,
        stem: &str,
        inputs: usize,
        location: SourceLocation,
        body: impl FnOnce(&Self, &[ValueRef]) -> Vec<ValueRef>,
    ) -> (GraphProto, usize) {
        let names: Vec<String> = {
            let mut recorder = self.recorder.borrow_mut();
            recorder.open_graph(stem, location);
            (0..inputs).map(|_| recorder.fresh(stem, location)).collect()
        };
        for name in &names {
            self.recorder.borrow_mut().add_input(name);
        }
        let inputs: Vec<ValueRef> = names.into_iter().map(|name| self.value(name, location)).collect();
        let outputs = body(self, &inputs);
        let given: Vec<Option<String>> = outputs.iter().map(|value| self.name_of(value, location)).collect();
        let count = given.len();
        let mut recorder = self.recorder.borrow_mut();
        let mut listed = std::collections::HashSet::new();
        let inner = recorder.current();
        for (name, value) in given.into_iter().zip(&outputs) {
            let Some(name) = name else { continue };
            if value.scope == inner && !recorder.is_input_or_constant(&name) && listed.insert(name.clone()) {
                recorder.add_output(&name);
                continue;
            }
            // Values of outer graphs, inputs and repeated outputs get a new name.
            let own = recorder.fresh(stem, location);
            recorder.alias(name, own.clone(), location);
            recorder.add_output(&own);
        }
        (recorder.close_graph(), count)
    }
}
