//! Values that go to peers, and values in bundles.

use super::Graph;
use super::attributes::IntoAttribute;
use super::operators::record;
use super::value::Value;
use crate::authoring::AuthoringErrorKind;
use crate::names::{COMPOSITE_DOMAIN, WIRE_DOMAIN};
use crate::place::Place;

impl Graph {
    /// Sends a value to peers. The first result is the value where it arrives: what is computed from it runs
    /// there, on the peers that the second argument names. The second is the handle of the request, here.
    ///
    /// The receive at the other end is made by the compiler.
    #[track_caller]
    #[must_use]
    pub fn send(&self, value: &Value, peers: &Value) -> (Value, Value) {
        let inputs = [value.into(), peers.into()];
        let sent = record(self, None, (WIRE_DOMAIN, "Send"), &inputs, Vec::new(), 2, Place::here());
        let [data, handle] = sent.try_into().expect("a send has two results");
        (data, handle)
    }

    /// What arrived, and which peer it came from: for a module that answers its sender.
    #[track_caller]
    #[must_use]
    pub fn receive(&self, data: &Value) -> (Value, Value) {
        let received =
            record(self, None, (WIRE_DOMAIN, "Recv"), &[data.into()], Vec::new(), 2, Place::here());
        let [payload, sender] = received.try_into().expect("a receive has two results");
        (payload, sender)
    }

    /// An output of the module that goes to the network instead of a caller.
    #[track_caller]
    pub fn net_out(&self, name: &str, value: &Value) {
        self.add_output(name, value, Place::here(), true);
    }

    /// Several values as one, each under a name.
    #[track_caller]
    #[must_use]
    pub fn bundle(&self, children: &[(&str, &Value)]) -> Value {
        let place = Place::here();
        let keys: Vec<String> = children.iter().map(|(name, _)| (*name).to_owned()).collect();
        if let Some(message) = bad_names(&keys) {
            self.recorder.borrow_mut().error(AuthoringErrorKind::BadBundle { message }, place);
            return self.poison(place);
        }
        let values: Vec<&Value> = children.iter().map(|(_, value)| *value).collect();
        let inputs = [values.as_slice().into()];
        let keys = vec![keys.into_attribute("keys")];
        let made = record(self, None, (COMPOSITE_DOMAIN, "Bundle"), &inputs, keys, 1, place);
        made.into_iter().next().expect("a bundle is one value")
    }

    /// Values of a bundle, by name. Where the bundle is made in the same program, they have the types that were put in;
    /// where it comes from outside, [`Value::of`] declares them.
    #[track_caller]
    #[must_use]
    pub fn unbundle(&self, bundle: &Value, names: &[&str]) -> Vec<Value> {
        let place = Place::here();
        let keys: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        if let Some(message) = bad_names(&keys) {
            self.recorder.borrow_mut().error(AuthoringErrorKind::BadBundle { message }, place);
            return names.iter().map(|_| self.poison(place)).collect();
        }
        let keys = vec![keys.into_attribute("keys")];
        let op = (COMPOSITE_DOMAIN, "Unbundle");
        record(self, None, op, &[bundle.into()], keys, names.len(), place)
    }
}

fn bad_names(keys: &[String]) -> Option<String> {
    let mut seen = std::collections::HashSet::new();
    if keys.is_empty() {
        return Some("this one has none".to_owned());
    }
    keys.iter().find(|key| !seen.insert(*key)).map(|key| format!("`{key}` stands in it twice"))
}
