//! Collection of the constraint problem from a checked model.
//!
//! [`ports`] separates the model into classes of ports that one node ties together. This module relates the
//! classes to the bodies of the original model: a value of a function with several calls has one class per
//! call.

use std::collections::{BTreeMap, HashMap};

use indexmap::IndexMap;
use typeloom_solver::elem::ElemSet;
use typeloom_solver::model::Checked;
use typeloom_solver::model::ports::{ClassId, Ports, Read, Reader, SettledPort, derived_declaration, ports};
use typeloom_solver::program::{Body, GraphId, Initializer, Origin, StepId, ValueId};
use typeloom_solver::solution::Type;

use super::flatten::{Flattened, NodeOrigin, Role};
use super::layout::{BodyId, NodeId, Site};
use super::loss::StoredTensor;
use super::problem::{BodyCalls, Call, CallId, CastSource, LocalValue, Problem, Uses};

/// Collects the problem of a model, or of a flattened model; `None` if the bytes are malformed.
pub(crate) fn find<'a>(checked: &mut Checked<'a>, origins: Origins<'_>) -> Option<Problem<'a>> {
    let mut ports = ports(checked);
    keep_settled(&mut ports, checked.body(), origins);
    collect(checked, ports, origins)
}

/// As [`find`], with classes that the caller chose.
pub(crate) fn collect<'a>(
    checked: &mut Checked<'a>,
    ports: Ports,
    origins: Origins<'_>,
) -> Option<Problem<'a>> {
    let (calls, bodies) = match origins.0 {
        Some(flattened) => (flattened.calls.clone(), flattened.bodies.clone()),
        None => {
            let main = Call { body: BodyId::MAIN, caller: None };
            (vec![main], vec![BodyCalls { calls: vec![CallId::MAIN], version: 0 }])
        }
    };
    let mut finder = Finder {
        origins,
        locals: Vec::new(),
        uses: IndexMap::new(),
        outputs: HashMap::new(),
        standard: HashMap::new(),
        problem: Problem { makers: vec![HashMap::new(); calls.len()], calls, bodies, ..Problem::default() },
    };
    finder.values(checked.body(), &ports)?;
    for read in &ports.reads {
        finder.read(checked, &ports, *read)?;
    }
    Some(finder.finish(ports))
}

/// Narrows the classes of ports that no error affects to their element types, so that their values keep their
/// results. The borders of calls are not part of the model.
fn keep_settled(ports: &mut Ports, body: &Body<'_>, origins: Origins<'_>) {
    for SettledPort { step, class, elem } in &ports.settled {
        let is_border = |step| origins.node(body, step).is_some_and(|origin| origin.role != Role::Node);
        let set = &mut ports.classes[class.index()];
        if set.contains(*elem) && !step.is_some_and(is_border) {
            *set = ElemSet::of(*elem);
        }
    }
}

/// The operators whose results depend on whether two values are equal.
const COMPARISONS: [&str; 5] = ["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"];

/// The relation of a checked body to the bodies of the original model.
#[derive(Clone, Copy)]
pub(crate) struct Origins<'f>(pub(crate) Option<&'f Flattened>);

impl Origins<'_> {
    /// The body of a call.
    pub(crate) fn body(self, call: CallId) -> BodyId {
        self.0.map_or(BodyId::MAIN, |flattened| flattened.calls[call.index()].body)
    }

    pub(crate) fn graph(self, graph: GraphId) -> Option<(CallId, GraphId)> {
        match self.0 {
            Some(flattened) => flattened.graphs.get(graph.index()).copied(),
            None => Some((CallId::MAIN, graph)),
        }
    }

    pub(crate) fn node(self, body: &Body<'_>, step: StepId) -> Option<NodeOrigin> {
        let step = body.step(body.first_step(step));
        let position = usize::try_from(step.position).ok()?;
        match self.0 {
            Some(flattened) => flattened.nodes.get(step.graph.index())?.get(position).copied(),
            None => {
                let node = NodeId { graph: step.graph, position };
                Some(NodeOrigin { call: CallId::MAIN, node, role: Role::Node })
            }
        }
    }

    pub(crate) fn own_name(self, call: CallId, name: &str) -> &str {
        self.0.map_or(name, |flattened| flattened.own_name(call, name))
    }
}

/// The identity of [`Uses`].
type Key<'a> = (BodyId, LocalValue<'a>, GraphId, bool);

struct Finder<'f, 'a> {
    origins: Origins<'f>,
    /// The call and the name in its body of each value that something defines.
    locals: Vec<Option<(CallId, LocalValue<'a>)>>,
    /// The uses, each with its value in the checked body.
    uses: IndexMap<Key<'a>, (ValueId, Uses<'a>)>,
    /// The class and the uses of each output of a graph.
    outputs: HashMap<(CallId, GraphId, usize), (ClassId, Key<'a>)>,
    problem: Problem<'a>,
    /// The nodes that are standard operators of some names, each read once: a node can have many ports.
    standard: HashMap<StepId, Option<Standard>>,
}

/// A standard operator whose ports are treated in another way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standard {
    Cast,
    Comparison,
}

impl<'a> Finder<'_, 'a> {
    fn body(&self, call: CallId) -> BodyId {
        self.problem.calls[call.index()].body
    }

    fn values(&mut self, body: &Body<'a>, ports: &Ports) -> Option<()> {
        for value in body.values() {
            let (call, graph, position) = match body.value(value).origin {
                Origin::Step(step) => {
                    let NodeOrigin { call, node, role } = self.origins.node(body, step)?;
                    match role {
                        Role::Node | Role::Output { .. } => (call, node.graph, Some(node.position)),
                        Role::Input { callee, .. } => (callee, GraphId::new(0), None),
                    }
                }
                Origin::Input | Origin::InputWithDefault(_) | Origin::Initializer(_) => {
                    let (call, graph) = self.origins.graph(body.value(value).graph)?;
                    (call, graph, None)
                }
                Origin::Undefined => {
                    self.locals.push(None);
                    continue;
                }
            };
            let local = LocalValue { graph, name: self.origins.own_name(call, body.value_name(value)) };
            if let Some(position) = position.filter(|_| self.origins.0.is_some()) {
                self.problem.definitions.insert((self.body(call), local), position);
            }
            if let Some(class) = ports.makers[value.index()] {
                self.problem.makers[call.index()].insert(local, class);
            }
            self.locals.push(Some((call, local)));
        }
        Some(())
    }

    /// The call and the site of a use.
    fn site(&self, body: &Body<'_>, reader: Reader) -> Option<(CallId, Site)> {
        Some(match reader {
            Reader::Input { step, at } => {
                let NodeOrigin { call, node, role } = self.origins.node(body, step)?;
                let input = |port| Site { graph: node.graph, node: Some(node.position), port };
                match role {
                    Role::Node => (call, input(at)),
                    Role::Input { port, .. } => (call, input(port)),
                    Role::Output { port, callee } => {
                        (callee, Site { graph: GraphId::new(0), node: None, port })
                    }
                }
            }
            Reader::Output { graph, at } => {
                let (call, graph) = self.origins.graph(graph)?;
                (call, Site { graph, node: None, port: at })
            }
        })
    }

    fn standard(&mut self, checked: &Checked<'a>, step: StepId) -> Option<Standard> {
        *self.standard.entry(step).or_insert_with(|| {
            let body = checked.body();
            let found = match body.op_name(step) {
                "Cast" => Standard::Cast,
                name if COMPARISONS.contains(&name) => Standard::Comparison,
                _ => return None,
            };
            checked.domain_of(body, step).is_empty().then_some(found)
        })
    }

    /// The input of the `Cast` that makes a value of a body with one call.
    fn source(
        &mut self,
        checked: &Checked<'a>,
        ports: &Ports,
        value: ValueId,
        call: CallId,
    ) -> Option<CastSource<'a>> {
        let body = checked.body();
        let step = body.value(value).origin.step()?;
        let is_cast = self.standard(checked, body.first_step(step)) == Some(Standard::Cast);
        let is_single = self.problem.calls_of(self.body(call)).len() == 1;
        let input = body.inputs(step).first().copied().flatten().filter(|_| is_cast && is_single)?;
        let (owner, value) = self.locals[input.index()]?;
        let class = ports.makers[input.index()]?;
        (owner == call).then_some(CastSource { value, class })
    }

    fn read(&mut self, checked: &mut Checked<'a>, ports: &Ports, read: Read) -> Option<()> {
        let body = checked.body();
        let Some((owner, value)) = self.locals[read.value.index()] else { return Some(()) };
        let (call, site) = self.site(body, read.by)?;
        let Some(maker) = ports.makers[read.value.index()].filter(|_| call == owner) else { return Some(()) };
        let owner = self.body(call);
        let is_interface = owner == BodyId::MAIN && site.node.is_none() && site.graph.index() == 0;
        let origin = body.value(read.value).origin;
        // The conversion takes the name of the output, but an input must keep its name.
        let converts = !(is_interface && matches!(origin, Origin::Input | Origin::InputWithDefault(_)));
        let graph = if site.node.is_none() { site.graph } else { value.graph };
        if let Some(node) = site.node().filter(|_| self.origins.0.is_some()) {
            self.problem.operands.entry((owner, node)).or_default().insert(value);
        }
        if let Some(step) = reading_step(read.by)
            && self.standard(checked, body.first_step(step)) == Some(Standard::Comparison)
        {
            self.problem.compared.insert(read.class);
        }
        let key = (owner, value, graph, converts);
        if !self.uses.contains_key(&key) {
            let is_tensor =
                matches!(checked.type_of(read.value), Type::Tensor(_) | Type::Error | Type::Unknown(_));
            let declared =
                if owner == BodyId::MAIN { derived_declaration(checked, read.value) } else { None };
            let stored = stored(checked, read.value);
            let source = self.source(checked, ports, read.value, call);
            let uses = Uses {
                body: owner,
                value,
                graph,
                converts: converts && is_tensor,
                stored,
                source,
                declared,
                makers: BTreeMap::new(),
                readers: IndexMap::new(),
            };
            self.uses.insert(key, (read.value, uses));
        }
        let (_, uses) = &mut self.uses[&key];
        uses.makers.insert(call, maker);
        uses.readers.entry(site).or_default().insert(call, read.class);
        if site.node.is_none() {
            self.outputs.insert((call, site.graph, site.port), (read.class, key));
        }
        Some(())
    }

    /// Sorts the uses: by value, and for models with calls by body and name, because calls interleave.
    fn finish(self, ports: Ports) -> Problem<'a> {
        let Self { origins, mut uses, outputs, problem, locals: _, standard: _ } = self;
        if origins.0.is_some() {
            uses.sort_unstable_keys();
            uses.values_mut().for_each(|(_, uses)| uses.readers.sort_unstable_keys());
        } else {
            uses.sort_unstable_by(
                |(_, _, graph, converts), (value, _), (_, _, other, also), (other_value, _)| {
                    (value, graph, converts).cmp(&(other_value, other, also))
                },
            );
        }
        let position = |key| uses.get_index_of(&key).unwrap_or_default();
        let outputs = outputs.into_iter().map(|(output, (class, key))| (output, (class, position(key))));
        let outputs = outputs.collect();
        let uses: Vec<Uses<'a>> = uses.into_values().map(|(_, uses)| uses).collect();
        let stored = uses.iter().enumerate().filter(|(_, uses)| uses.stored.is_some());
        let stored = stored.map(|(at, uses)| ((uses.body, uses.value), at)).collect();
        Problem { classes: ports.classes, uses, stored, outputs, ..problem }
    }
}

fn reading_step(reader: Reader) -> Option<StepId> {
    match reader {
        Reader::Input { step, .. } => Some(step),
        Reader::Output { .. } => None,
    }
}

/// The tensor of a value that the model stores. A caller can replace a default.
fn stored<'a>(checked: &Checked<'a>, value: ValueId) -> Option<StoredTensor<'a>> {
    let (body, source) = (checked.body(), checked.side_data());
    match body.value(value).origin {
        Origin::Initializer(at) => Some(match body.initializer(at) {
            Initializer::Dense(tensor) => StoredTensor::of_tensor(tensor, source),
            Initializer::Sparse(_) => StoredTensor::unread(),
        }),
        Origin::InputWithDefault(_) => Some(StoredTensor::unread()),
        // A node without inputs is a constant.
        Origin::Step(step) if body.inputs(body.first_step(step)).is_empty() => {
            Some(StoredTensor::of_node(body.step(step).node, source))
        }
        Origin::Step(_) | Origin::Input | Origin::Undefined => None,
    }
}
