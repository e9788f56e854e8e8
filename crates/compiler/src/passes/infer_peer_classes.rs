//! `infer_peer_classes`: assigns nodes and values to classes of peers, and inserts the receives of sends.
//!
//! The identity of a class is the set of the sources of its peers. The value at the peer port of a send is
//! traced back to them through `Identity`, `Slice`, `Gather`, `Concat`, `Squeeze` and `Unsqueeze`:
//!
//! | source | name of the class |
//! |---|---|
//! | a graph input | its name |
//! | a selector | the name of its slot; with the suffix `.selector` if the program has an input of this name |
//! | the sender that a receive returns | the class of the sender |
//! | several, which `Concat` joins | their names, sorted, with `+` in between |
//!
//! A join is a class of its own, since a peer of one list need not be in the other. `self` is the name of the
//! part on the module's own peer, and of no class.
//!
//! Lists of peers are traced through messages and bundles too: peers that a peer receives are of the class of
//! the input that the sender read.
//!
//! Values computed from a received value are on the class of the receive. Values computed from the module's
//! inputs are on the module's own peer, whose name is empty. Constants are on every class that reads them.
//!
//! **Invariant:** a value is on one class. A node that reads values of two classes is an error, since values
//! change their class only by sends.

use std::collections::{BTreeSet, HashMap, HashSet};

use indexmap::IndexMap;
use typeloom_module::registry::Registry;
use typeloom_onnx::messages::SharedText;
use typeloom_program::domain::Domain;
use typeloom_program::facts::{Facts, Table};
use typeloom_program::program::{Graph, Node, NodeId, Program, ValueId};
use typeloom_tensor::value_type::ValueType;
use typeloom_types::tree::builtin::TYPE_PEER_ID;

use super::partition::OWN;
use super::peer_list_operators::is_structural;
use crate::error::BuildError;
use crate::error::invalid_program::InvalidProgram;
use crate::report::ReceiveReport;
use crate::stage::Solved;
use crate::unit::Unit;

/// Finds the class of every node and inserts the receives.
pub(crate) fn run(mut solved: Solved) -> Result<Solved, BuildError> {
    let Solved { unit, .. } = &mut solved;
    check_sends(unit)?;
    if !has_sends(&unit.program) {
        return Ok(solved);
    }
    let receives = make_receives(unit);
    let classes = Classes::of(&unit.program, &unit.facts, &Registry::of(&unit.bindings)?)?;
    classes.note(&unit.program, &mut unit.facts);
    for (value, receive) in receives {
        let peer_class = classes.values.get(&value).map(ToString::to_string).unwrap_or_default();
        let value = unit.program.name_of(receive.payload).to_owned();
        unit.report.receives.push(ReceiveReport { peer_class, value });
    }
    Ok(solved)
}

/// Whether the main graph sends values.
pub(crate) fn has_sends(program: &Program) -> bool {
    program[program.main()].nodes.iter().any(|node| is_send(&program[*node]))
}

fn is_send(node: &Node) -> bool {
    node.is(&Domain::Wire, "Send")
}

fn is_receive(node: &Node) -> bool {
    node.is(&Domain::Wire, "Recv")
}

/// Checks that sends and receives are in the main graph, and that every receive follows a send.
fn check_sends(unit: &Unit) -> Result<(), BuildError> {
    let (program, facts) = (&unit.program, &unit.facts);
    let nodes = &program[program.main()].nodes;
    let sends = nodes.iter().map(|node| &program[*node]).filter(|node| is_send(node));
    let sent: HashSet<ValueId> = sends.filter_map(Node::first_output).collect();
    for id in nodes {
        let node = &program[*id];
        if is_receive(node) && !node.first_input().is_some_and(|data| sent.contains(&data)) {
            return Err(InvalidProgram::NoSend { location: facts.location(*id).to_owned() }.into());
        }
        if let Some(inner) = program.nodes_inside(*id).find(|inner| program[*inner].domain == Domain::Wire) {
            let (op, location) = (node.op.clone(), facts.location(inner).to_owned());
            return Err(InvalidProgram::SendInside { op, location }.into());
        }
    }
    Ok(())
}

/// The receive of a sent value.
struct Receive {
    /// The sent value.
    payload: Option<ValueId>,
    sender: ValueId,
}

/// Inserts a receive for every send, before the first node that reads the sent value: earlier nodes run while
/// the value is on its way. A receive in the module marks this position, and becomes an alias. Returns the
/// receives, by the received value.
fn make_receives(unit: &mut Unit) -> IndexMap<ValueId, Receive> {
    let main = unit.program.main();
    let mut names = unit.program.names();
    let mut receives: IndexMap<ValueId, Receive> = IndexMap::new();
    let former = unit.program.take_nodes(main);
    let mut nodes = Vec::with_capacity(former.len());
    let mut pending: IndexMap<ValueId, NodeId> = IndexMap::new();
    for node in former {
        let made_receive = is_receive(&unit.program[node]);
        for receive in unit.program.reads(node).iter().filter_map(|value| pending.shift_remove(value)) {
            if made_receive {
                unit.facts.replaces(receive, node);
            }
            nodes.push(receive);
        }
        let data = unit.program[node].first_input().filter(|_| made_receive);
        if let Some((data, receive)) = data.and_then(|data| Some((data, receives.get(&data)?))) {
            let outputs = unit.program[node].outputs.clone();
            for (from, to) in [data, receive.sender].into_iter().zip(outputs) {
                if let Some(to) = to {
                    nodes.push(unit.add_identity(Some(from), to, node));
                }
            }
            continue;
        }
        let data = unit.program[node].first_output().filter(|_| is_send(&unit.program[node]));
        nodes.push(node);
        let Some(data) = data else { continue };
        // The received value keeps its id, since it may be an output; the value on the wire gets a new one.
        let name = unit.program[data].name.to_string();
        let sent = unit.program.add_value(main, names.fresh(&format!("{name}.sent")));
        let sender = unit.program.add_value(main, names.fresh(&format!("{name}.sender")));
        unit.facts.types.share(sent, data);
        unit.facts.types.set(sender, ValueType::of_node(&TYPE_PEER_ID));
        unit.program[node].outputs[0] = Some(sent);
        let receive = Node::new(Domain::Wire, "Recv", vec![Some(sent)], vec![Some(data), Some(sender)]);
        let payload = unit.program[node].first_input();
        receives.insert(data, Receive { payload, sender });
        pending.insert(data, unit.add_node(receive, node));
    }
    nodes.extend(pending.into_values());
    unit.program[main].nodes = nodes;
    receives
}

/// Classes of nodes and values. An empty name is the module's own peer.
#[derive(Default)]
pub(crate) struct Classes {
    /// Classes of values; constants have none.
    pub(crate) values: HashMap<ValueId, SharedText>,
    /// Classes of nodes; nodes that read only constants have none.
    pub(crate) nodes: Table<NodeId, SharedText>,
    /// Target classes of sends, by the value on the wire.
    pub(crate) targets: HashMap<ValueId, SharedText>,
    /// Graph inputs that feed peer ports.
    peers: HashSet<ValueId>,
    /// Identities of classes by name, and the reverse.
    identities: HashMap<SharedText, Identity>,
    named: HashMap<Identity, SharedText>,
    /// The names of classes and of all inputs.
    names: HashSet<String>,
}

impl Classes {
    pub(crate) fn of(program: &Program, facts: &Facts, registry: &Registry) -> Result<Self, BuildError> {
        let mut classes = Self::default();
        let graph = &program[program.main()];
        let Graph { inputs, nodes, .. } = graph;
        let inputs: HashSet<ValueId> = inputs.iter().map(|port| port.value).collect();
        let constants: HashSet<ValueId> = graph.constants().collect();
        for input in inputs.iter().filter(|input| !constants.contains(input)) {
            classes.values.insert(*input, SharedText::default());
        }
        classes.names.extend(inputs.iter().map(|input| program[*input].name.to_string()));
        let mut producers: HashMap<ValueId, NodeId> = HashMap::new();
        for node in nodes {
            producers.extend(program[*node].outputs.iter().flatten().map(|output| (*output, *node)));
        }
        for id in nodes {
            let node = &program[*id];
            let class = classes.class_of(program, facts, *id)?;
            // Nodes that are copied to the parts that read them have no class.
            let is_kept = facts.slot(*id).is_some() || registry.has_effects(program, *id);
            let class = class.or_else(|| is_kept.then(SharedText::default));
            if let Some(class) = &class {
                classes.nodes.set(*id, class.clone());
            }
            if is_send(node) {
                let target = classes.target(program, facts, *id, &producers, &inputs)?;
                if let Some(sent) = node.first_output() {
                    classes.targets.insert(sent, target.clone());
                    classes.values.insert(sent, target);
                }
                if let Some(handle) = node.outputs.get(1).copied().flatten() {
                    classes.values.insert(handle, class.unwrap_or_default());
                }
            } else if let Some(class) = class {
                classes.values.extend(node.outputs.iter().flatten().map(|output| (*output, class.clone())));
            }
        }
        Ok(classes)
    }

    /// Notes the classes of nodes and values.
    pub(crate) fn note(&self, program: &Program, facts: &mut Facts) {
        for id in &program[program.main()].nodes {
            let node = &program[*id];
            if is_send(node) {
                let target = node.first_output().and_then(|sent| self.targets.get(&sent));
                facts.node_classes.set(*id, target.cloned().unwrap_or_default());
            } else if let Some(class) = self.nodes.get(*id).filter(|class| !class.is_empty()) {
                facts.node_classes.set(*id, class.clone());
            }
        }
        for (value, class) in self.values.iter().filter(|(_, class)| !class.is_empty()) {
            facts.value_classes.set(*value, class.clone());
        }
        for value in &self.peers {
            facts.value_classes.set(*value, (&*program[*value].name).into());
        }
    }

    /// Returns the class of all values that a node reads.
    fn class_of(
        &self,
        program: &Program,
        facts: &Facts,
        node: NodeId,
    ) -> Result<Option<SharedText>, BuildError> {
        let mut found: Option<(ValueId, &SharedText)> = None;
        for value in program.reads(node) {
            let Some(class) = self.values.get(&value) else { continue };
            match found {
                Some((other, known)) if known != class => {
                    return Err(BuildError::CrossesWithoutSend {
                        node: format!("`{}`", program[node].op),
                        left: program[other].name.to_string(),
                        left_class: known.to_string(),
                        right: program[value].name.to_string(),
                        right_class: class.to_string(),
                        source_line: facts.location(node).to_owned(),
                    });
                }
                Some(_) => {}
                None => found = Some((value, class)),
            }
        }
        Ok(found.map(|(_, class)| class.clone()))
    }

    /// Returns the target class of a send.
    fn target(
        &mut self,
        program: &Program,
        facts: &Facts,
        send: NodeId,
        producers: &HashMap<ValueId, NodeId>,
        inputs: &HashSet<ValueId>,
    ) -> Result<SharedText, BuildError> {
        let Some(peers) = program[send].inputs.get(1).copied().flatten() else {
            return Ok(SharedText::default());
        };
        let mut identity = Identity::new();
        let mut seen = HashSet::new();
        let mut open = vec![Traced { value: peers, named: peers, children: Vec::new() }];
        while let Some(traced) = open.pop() {
            if !seen.insert(traced.clone()) {
                continue;
            }
            let Traced { value, named, children } = &traced;
            if inputs.contains(value) && children.is_empty() {
                self.peers.insert(*value);
                identity.insert(Origin::Input(*value));
                continue;
            }
            let Some(id) = producers.get(value).copied() else {
                identity.insert(Origin::Value(*named));
                continue;
            };
            let before = traced.before(program, id);
            let node = &program[id];
            if !before.is_empty() {
                open.extend(before);
            } else if is_receive(node) && node.first_output() != Some(*value) && children.is_empty() {
                // A reply goes to the class of the sender.
                let send = node.first_input().and_then(|sent| producers.get(&sent));
                let class = send.and_then(|send| self.nodes.get(*send)).cloned().unwrap_or_default();
                identity.extend(self.identities.get(&class).cloned().unwrap_or_else(|| [Origin::Own].into()));
            } else if let Some(placement) = facts.placements.get(id).filter(|_| children.is_empty()) {
                identity.insert(Origin::Slot(placement.slot.clone()));
            } else {
                identity.insert(Origin::Value(*named));
            }
        }
        self.name(program, identity)
            .map_err(|name| BuildError::ReservedClass { name, source_line: facts.location(send).to_owned() })
    }

    /// Returns the name of a class; the reserved name as an error.
    fn name(&mut self, program: &Program, identity: Identity) -> Result<SharedText, String> {
        if let Some(name) = self.named.get(&identity) {
            return Ok(name.clone());
        }
        let mut origins = identity.iter();
        let (stem, is_input) = match (origins.next(), origins.next()) {
            (Some(Origin::Input(input)), None) => (program[*input].name.to_string(), true),
            (Some(Origin::Value(value)), None) => (program[*value].name.to_string(), false),
            (Some(Origin::Slot(slot)), None) if self.names.contains(slot.as_str()) => {
                (format!("{slot}.selector"), false)
            }
            (Some(Origin::Slot(slot)), None) => (slot.to_string(), false),
            (None | Some(Origin::Own), None) => return Ok(SharedText::default()),
            _ => {
                let mut names = Vec::with_capacity(identity.len());
                for origin in &identity {
                    let name = self.name(program, [origin.clone()].into())?;
                    names.push(if name.is_empty() { OWN.into() } else { name });
                }
                names.sort();
                (names.join("+"), false)
            }
        };
        if stem == OWN {
            return Err(stem);
        }
        let mut name = stem.clone();
        let mut number = 1;
        while !is_input && self.names.contains(&name) {
            number += 1;
            name = format!("{stem}.{number}");
        }
        self.names.insert(name.clone());
        let name = SharedText::from(name);
        self.identities.insert(name.clone(), identity.clone());
        self.named.insert(identity, name.clone());
        Ok(name)
    }
}

/// A source of peers.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Origin {
    /// The module's own peer.
    Own,
    /// An input of the program.
    Input(ValueId),
    /// The selector in a slot.
    Slot(SharedText),
    /// Any other computed list.
    Value(ValueId),
}

/// The identity of a class: the sources of its peers.
type Identity = BTreeSet<Origin>;

/// A value on the way from a peer port to the sources of its peers.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Traced {
    value: ValueId,
    /// The value before bundles and messages, which names the class if it cannot be traced further.
    named: ValueId,
    /// The children to look up in bundles, innermost last.
    children: Vec<String>,
}

impl Traced {
    /// The values from which the node makes this one; none if it is a source.
    fn before(&self, program: &Program, node: NodeId) -> Vec<Self> {
        let Self { value, named, children } = self;
        let node = &program[node];
        let at = node.outputs.iter().position(|output| *output == Some(*value)).unwrap_or_default();
        let to = |value, children| Self { value, named: *named, children };
        let one = |value: Option<ValueId>, children: Vec<String>| {
            value.map(|value| to(value, children)).into_iter().collect()
        };
        if is_structural(node) {
            let lists = if node.op == "Concat" { node.inputs.len() } else { 1 };
            let is_list = children.is_empty() && named == value;
            let list =
                |value| Self { named: if is_list { value } else { *named }, ..to(value, children.clone()) };
            return node.inputs.iter().take(lists).copied().flatten().map(list).collect();
        }
        if at == 0 && (is_receive(node) || is_send(node)) {
            return one(node.first_input(), children.clone());
        }
        let keys = || node.texts("keys").into_iter();
        let mut children = children.clone();
        if node.is(&Domain::Composite, "Unbundle") {
            let Some(key) = keys().nth(at) else { return Vec::new() };
            children.push(key);
            return one(node.first_input(), children);
        }
        if node.is(&Domain::Composite, "Bundle") {
            let Some(key) = children.pop() else { return Vec::new() };
            let child = keys().position(|known| known == key);
            return one(child.and_then(|at| node.inputs.get(at).copied().flatten()), children);
        }
        Vec::new()
    }
}
