//! The names of the result.
//!
//! Inputs and outputs of the result keep their names. Another name changes only if the result would have it
//! twice: names of the first model give way to inputs and outputs of the second one, and names of the second
//! model give way to all names of the first one. A new name is the old one with the first free suffix `_2`,
//! `_3` and so on.
//!
//! **Invariant:** the renames of one model are injective, also over the names of nested graphs. So a rename
//! neither captures a name nor shadows one.

use std::collections::{HashMap, HashSet};

use indexmap::{IndexMap, IndexSet};
use typeloom_rewrite::names::Names;

use crate::error::{MapError, NameConflict};
use crate::map::{Connection, Joint};
use crate::scan::Scan;
use crate::source::{FIRST_WITH_DEFAULTS, Source};
use crate::{LinkOptions, Outputs};
use typeloom_types::suggest::nearest;

/// An input or output of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Port {
    /// 0 for the first model, 1 for the second one.
    pub(crate) model: usize,
    /// The position in the inputs or outputs of the graph of that model.
    pub(crate) at: usize,
    /// The name in that model.
    pub(crate) own: String,
    /// The name in the result.
    pub(crate) name: String,
}

/// A renamed item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    /// The model.
    pub file: String,
    /// The kind of the name: `value`, `node`, `symbol`, `function`, `configuration` or `metadata`.
    pub kind: &'static str,
    /// The name in the model.
    pub from: String,
    /// The name in the result.
    pub to: String,
}

/// The names of values and nodes of the result.
pub(crate) struct Plan {
    pub(crate) inputs: Vec<Port>,
    pub(crate) outputs: Vec<Port>,
    /// The renames of values, by model. A connected input has its name in nested graphs here.
    pub(crate) values: [HashMap<String, String>; 2],
    /// The value of the result for each connected input, without casts.
    pub(crate) joined: IndexMap<String, String>,
    pub(crate) nodes: [HashMap<String, String>; 2],
    /// The used names of values and of nodes.
    pub(crate) value_names: Names,
    pub(crate) node_names: Names,
    pub(crate) renames: Vec<Rename>,
}

impl Plan {
    pub(crate) fn new(
        models: [&Source<'_>; 2],
        scans: &[Scan; 2],
        joints: &[Joint],
        options: &LinkOptions,
        ir_version: i64,
    ) -> Result<Self, crate::LinkError> {
        let inputs = inputs(models, joints, options, ir_version);
        let outputs = outputs(models, joints, options)?;
        let joined_names: HashMap<&str, &str> =
            joints.iter().map(|it| (it.connection.input.as_str(), it.connection.output.as_str())).collect();
        conflicts(models, &inputs, &outputs, &joined_names).map_err(crate::LinkError::Names)?;

        let fixed = |model: usize| -> HashMap<&str, &str> {
            let ports = inputs.iter().chain(&outputs).filter(move |port| port.model == model);
            ports.map(|port| (port.own.as_str(), port.name.as_str())).collect()
        };
        let (fixed_first, mut fixed_second) = (fixed(0), fixed(1));
        let reserved: HashSet<String> = fixed_second.values().map(|name| (*name).to_owned()).collect();
        // A connected input that is also an output is another value in the result.
        fixed_second.retain(|own, _| !joined_names.contains_key(own));
        let mut names = Names::default();
        for (model, scan) in scans.iter().enumerate() {
            scan.values.iter().for_each(|name| names.take(&format!("{}{name}", options.prefixes[model])));
        }
        reserved.iter().for_each(|name| names.take(name));
        let first = renamed(&scans[0].values, &options.prefixes[0], &fixed_first, &mut names, |name| {
            reserved.contains(name)
        });
        let used: HashSet<&str> = first.values().map(String::as_str).collect();
        let second = renamed(&scans[1].values, &options.prefixes[1], &fixed_second, &mut names, |name| {
            used.contains(name) || reserved.contains(name)
        });
        let joined = joints.iter().map(|Joint { connection: Connection { output, input }, .. }| {
            let name = first.get(output).unwrap_or(output);
            (input.clone(), name.clone())
        });
        let joined: IndexMap<String, String> = joined.collect();

        let mut node_names = Names::default();
        for (model, scan) in scans.iter().enumerate() {
            scan.nodes.iter().for_each(|name| node_names.take(&format!("{}{name}", options.prefixes[model])));
        }
        let none = HashMap::new();
        let first_nodes = renamed(&scans[0].nodes, &options.prefixes[0], &none, &mut node_names, |_| false);
        let used_nodes: HashSet<&str> = first_nodes.values().map(String::as_str).collect();
        let second_nodes = renamed(&scans[1].nodes, &options.prefixes[1], &none, &mut node_names, |name| {
            used_nodes.contains(name)
        });
        let mut plan = Self {
            inputs,
            outputs,
            joined,
            values: [first, second],
            nodes: [first_nodes, second_nodes],
            value_names: names,
            node_names,
            renames: Vec::new(),
        };
        plan.report(models, scans);
        Ok(plan)
    }

    /// Lists the changed names in the order of their first use.
    fn report(&mut self, models: [&Source<'_>; 2], scans: &[Scan; 2]) {
        for (model, scan) in scans.iter().enumerate() {
            let lists = [("value", &scan.values, &self.values), ("node", &scan.nodes, &self.nodes)];
            for (kind, list, maps) in lists {
                let is_joined =
                    |name: &&String| kind == "value" && model == 1 && self.joined.contains_key(*name);
                for from in list.iter().filter(|name| !is_joined(name)) {
                    let Some(to) = maps[model].get(from).filter(|to| *to != from) else { continue };
                    let file = models[model].name.to_owned();
                    self.renames.push(Rename { file, kind, from: from.clone(), to: to.clone() });
                }
            }
        }
    }
}

/// New names for a list of names. `is_used` decides whether a name is used by the other model.
fn renamed(
    list: &IndexSet<String>,
    prefix: &str,
    fixed: &HashMap<&str, &str>,
    names: &mut Names,
    is_used: impl Fn(&str) -> bool,
) -> HashMap<String, String> {
    let mut renamed = HashMap::with_capacity(list.len());
    for name in list {
        let new = match fixed.get(name.as_str()) {
            Some(fixed) => (*fixed).to_owned(),
            None => {
                let wanted = format!("{prefix}{name}");
                if is_used(&wanted) { names.fresh(&wanted) } else { wanted }
            }
        };
        renamed.insert(name.clone(), new);
    }
    renamed
}

fn port(model: usize, at: usize, own: &str, options: &LinkOptions) -> Port {
    Port { model, at, own: own.to_owned(), name: format!("{}{own}", options.prefixes[model]) }
}

/// The inputs of the result: those of the first model, then the unconnected ones of the second model.
fn inputs(models: [&Source<'_>; 2], joints: &[Joint], options: &LinkOptions, ir_version: i64) -> Vec<Port> {
    let connected: HashSet<&str> = joints.iter().map(|joint| joint.connection.input.as_str()).collect();
    let mut inputs = Vec::new();
    for (model, source) in models.into_iter().enumerate() {
        // In a newer IR, a constant that is listed as an input would become an input with a default.
        let drops_constants = source.has_constant_inputs() && ir_version >= FIRST_WITH_DEFAULTS;
        for (at, name) in source.inputs.iter().map(|record| record.message.name()).enumerate() {
            let is_connected = model == 1 && connected.contains(name);
            let is_dropped = drops_constants && source.stores(name);
            if !is_connected && !is_dropped {
                inputs.push(port(model, at, name, options));
            }
        }
    }
    inputs
}

/// The outputs of the result that the options select.
fn outputs(
    models: [&Source<'_>; 2],
    joints: &[Joint],
    options: &LinkOptions,
) -> Result<Vec<Port>, crate::LinkError> {
    let connected: HashSet<&str> = joints.iter().map(|joint| joint.connection.output.as_str()).collect();
    let mut all = Vec::new();
    for (model, source) in models.into_iter().enumerate() {
        for (at, name) in source.outputs.iter().map(|record| record.message.name()).enumerate() {
            let is_consumed = model == 0 && connected.contains(name);
            all.push((port(model, at, name, options), is_consumed));
        }
    }
    match &options.outputs {
        Outputs::Unconsumed => {
            Ok(all.into_iter().filter(|(_, is_consumed)| !is_consumed).map(|(port, _)| port).collect())
        }
        Outputs::All => Ok(all.into_iter().map(|(port, _)| port).collect()),
        Outputs::Named(names) => {
            let (mut kept, mut errors) = (Vec::new(), Vec::new());
            for name in names {
                // Of two outputs of one name, that of the second model is the later one.
                match all.iter().rev().find(|(port, _)| port.name == *name) {
                    Some((port, _)) => kept.push(port.clone()),
                    None => {
                        let near = nearest(name, all.iter().map(|(port, _)| port.name.as_str()));
                        errors.push(MapError::UnknownResult { name: name.clone(), near });
                    }
                }
            }
            if errors.is_empty() { Ok(kept) } else { Err(crate::LinkError::Map(errors)) }
        }
    }
}

/// Inputs and outputs of the result with equal names that are different values.
fn conflicts(
    models: [&Source<'_>; 2],
    inputs: &[Port],
    outputs: &[Port],
    joined: &HashMap<&str, &str>,
) -> Result<(), Vec<NameConflict>> {
    // The model and the name of the value that a port is: an input that is also an output is one value, and a
    // connected input of the second model is an output of the first one.
    let value = |port: &Port| match joined.get(port.own.as_str()).filter(|_| port.model == 1) {
        Some(output) => (0, (*output).to_owned()),
        None => (port.model, port.own.clone()),
    };
    let mut seen: HashMap<&str, (&Port, &'static str)> = HashMap::new();
    let mut conflicts = Vec::new();
    let ports = inputs.iter().map(|port| (port, "input")).chain(outputs.iter().map(|port| (port, "output")));
    for (port, kind) in ports {
        let Some((other, other_kind)) = seen.insert(&port.name, (port, kind)) else { continue };
        // The same value may be an input and an output, but not two outputs.
        if other_kind != kind && value(other) == value(port) {
            continue;
        }
        let side = |port: &Port, kind| (models[port.model].name.to_owned(), kind);
        let sides = [side(other, other_kind), side(port, kind)];
        conflicts.push(NameConflict { name: port.name.clone(), sides });
    }
    if conflicts.is_empty() { Ok(()) } else { Err(conflicts) }
}
