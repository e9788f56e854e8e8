//! Sends, receives, network outputs and bundles.

use super::Graph;
use super::operators::{FromOutputs, record};
use super::outputs::Outputs;
use super::value::ValueRef;
use crate::authoring::AuthoringErrorKind;
use crate::location::SourceLocation;
use typeloom_onnx::messages::IntoAttribute;
use typeloom_program::domain::Domain;

fn borrowed(value: &impl std::borrow::Borrow<ValueRef>) -> &ValueRef {
    value.borrow()
}

impl Graph {
    /// Sends a value to peers. The first result is the value at the receiving peers: computations on it run
    /// there. The second is the handle of the request on the sending side.
    ///
    /// The compiler adds the receive at the other end.
    #[track_caller]
    #[must_use]
    pub fn send(
        &self,
        value: impl std::borrow::Borrow<ValueRef>,
        peers: impl std::borrow::Borrow<ValueRef>,
    ) -> (ValueRef, ValueRef) {
        let (value, peers) = (borrowed(&value), borrowed(&peers));
        let inputs = [value.into(), peers.into()];
        let sent = record(self, None, (Domain::Wire, "Send"), &inputs, Vec::new(), 2, SourceLocation::here());
        let [data, handle] = FromOutputs::from_outputs(sent);
        (data, handle)
    }

    /// Returns a received value and the peer that sent it, so that a module can answer its sender.
    #[track_caller]
    #[must_use]
    pub fn receive(&self, data: &ValueRef) -> (ValueRef, ValueRef) {
        let received =
            record(self, None, (Domain::Wire, "Recv"), &[data.into()], Vec::new(), 2, SourceLocation::here());
        let [payload, sender] = FromOutputs::from_outputs(received);
        (payload, sender)
    }

    /// Adds an output of the module that goes to peers instead of the caller, and returns the id of the
    /// request, of type `wire_req_id`. The value is an output of the part that runs at the peers.
    ///
    /// The program that runs the module can wait for the answers of the peers.
    #[track_caller]
    pub fn net_out(
        &self,
        name: &str,
        value: impl std::borrow::Borrow<ValueRef>,
        peers: impl std::borrow::Borrow<ValueRef>,
    ) -> ValueRef {
        let location = SourceLocation::here();
        let (value, peers) = (borrowed(&value), borrowed(&peers));
        let inputs = [value.into(), peers.into()];
        let sent = record(self, None, (Domain::Wire, "Send"), &inputs, Vec::new(), 2, location);
        let [data, request] = FromOutputs::from_outputs(sent);
        if data.name().is_some() {
            let mut recorder = self.recorder.borrow_mut();
            if let Some(send) = recorder.last_node() {
                recorder.facts.net_outs.set(send, name.into());
            }
        }
        self.add_output(name, &data, location, true);
        request
    }

    /// Bundles named values into one.
    #[track_caller]
    #[must_use]
    pub fn bundle(&self, children: &[(&str, &ValueRef)]) -> ValueRef {
        let location = SourceLocation::here();
        let keys: Vec<String> = children.iter().map(|(name, _)| (*name).to_owned()).collect();
        if let Some(message) = bad_names(&keys) {
            self.recorder.borrow_mut().error(AuthoringErrorKind::BadBundle { message }, location);
            return self.poison(location);
        }
        let values: Vec<&ValueRef> = children.iter().map(|(_, value)| *value).collect();
        let inputs = [values.as_slice().into()];
        let keys = vec![keys.into_attribute("keys")];
        FromOutputs::from_outputs(record(
            self,
            None,
            (Domain::Composite, "Bundle"),
            &inputs,
            keys,
            1,
            location,
        ))
    }

    /// Returns values of a bundle by name. They have the types of the bundled values; for a bundle from
    /// outside of the program, [`ValueRef::of`] declares them.
    #[track_caller]
    #[must_use]
    pub fn unbundle(&self, bundle: &ValueRef, names: &[&str]) -> Outputs {
        let location = SourceLocation::here();
        let keys: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        if let Some(message) = bad_names(&keys) {
            self.recorder.borrow_mut().error(AuthoringErrorKind::BadBundle { message }, location);
            return Outputs::failed("bundle", keys, self.poison(location));
        }
        let attributes = vec![keys.clone().into_attribute("keys")];
        let op = (Domain::Composite, "Unbundle");
        let values = record(self, None, op, &[bundle.into()], attributes, names.len(), location);
        Outputs::new("bundle", keys, values, self.poison(location))
    }
}

fn bad_names(keys: &[String]) -> Option<String> {
    let mut seen = std::collections::HashSet::new();
    if keys.is_empty() {
        return Some("the bundle has no names".to_owned());
    }
    keys.iter().find(|key| !seen.insert(*key)).map(|key| format!("`{key}` occurs twice in the bundle"))
}
