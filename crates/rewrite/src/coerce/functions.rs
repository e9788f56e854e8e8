//! Repairs of models with functions: conversions inside bodies, which stand in every call at once.
//!
//! The model is [made one graph](super::flatten) and taken apart like any other, so every call has classes of its own. A
//! conversion in a body is then chosen for all calls together: into one element type where that suits all of them, and
//! elsewhere into the type of another operand by `CastLike`. Where no one set of conversions suits all calls, each call is
//! repaired for itself, and calls that come out alike share one copy of the function.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use typeloom_onnx::messages::{ModelProto, read};
use typeloom_onnx::prost::Message as _;
use typeloom_solver::catalogue::Catalogue;
use typeloom_solver::elem::Elem;
use typeloom_solver::model::ports::{ClassId, Ports, Reader, derived_declaration, ports};
use typeloom_solver::model::{Checked, Options, check};
use typeloom_solver::program::{GraphId, Origin as Made, StepId, ValueId};
use typeloom_solver::solution::Type;
use typeloom_solver::universe::Universe;

use super::assign::{Chosen, Group, Shared, Source, choose, choose_shared};
use super::bodies::{self, Edit, Kind, Placed, Site};
use super::flatten::{Flat, Operators, Origin, Role, flatten, instance_of};
use super::policy::{Policy, Stored, Support};
use super::write::Target;
use super::{Refused, Repair, RepairError};

/// The first version of the operator set that has `CastLike`.
const LIKE: i64 = 15;

/// The most values that one could be converted like, and the most that are looked at for that.
const MAX_LIKES: usize = 5;
const MAX_SEEN: usize = 64;

/// The most calls for which conversions into types of other values are considered.
const MAX_LIKELY: usize = 64;

/// What one call is.
type Instance = usize;

/// A value of the model or of a function: its graph there, and its name.
type Name = (usize, String);

/// A value with those who read it and whose conversions stand in one graph.
#[derive(Default)]
struct Readers {
    makers: BTreeMap<Instance, ClassId>,
    readers: BTreeMap<Site, BTreeMap<Instance, ClassId>>,
    converts: bool,
    declared: Option<Elem>,
}

/// Where it stands: place, value, the graph of its conversions, whether there can be any.
type Key = (usize, Name, usize, bool);

/// Values into whose type others may be converted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Likes {
    All,
    /// Those that a node reads beside the value.
    Beside,
    None,
}

/// Readers of one value whose classes are the same in every instance.
type Tuples = Vec<(Vec<Option<ClassId>>, Vec<Site>)>;

/// One round for a model with calls; `None` where it has none that could be looked into.
pub(super) fn step(
    bytes: &[u8],
    (catalogue, universe, options): (&dyn Catalogue, &Arc<Universe>, &Options),
    policy: Policy,
    (support, target): (Support, Target),
    repair: &mut Repair,
) -> Result<Option<Option<Vec<u8>>>, RepairError> {
    let model: ModelProto =
        read(bytes::Bytes::copy_from_slice(bytes)).map_err(super::WriteError::Malformed)?;
    if model.functions.is_empty() {
        return Ok(None);
    }
    let Some(flat) = flatten(&model) else { return Ok(None) };
    let encoded = flat.model.encode_to_vec();
    let operators = Operators(catalogue);
    let Ok(mut checked) = check(&encoded, &operators, universe, options) else { return Ok(None) };
    let apart = ports(&mut checked);
    let Some(found) = Found::of(&mut checked, &apart, &flat) else { return Ok(None) };
    let solved = found.solve(&apart, policy, support);
    let written = bodies::write(&model, &flat, &solved.placed, target);
    if written.changes.is_empty() && solved.refused.is_empty() {
        return Ok(None);
    }
    repair.is_minimal &= solved.is_proved;
    repair.refused.clear();
    for refused in solved.refused {
        if !repair.refused.contains(&refused) {
            repair.refused.push(refused);
        }
    }
    repair.casts.extend(written.casts);
    repair.declarations.extend(written.declarations);
    repair.hunks.extend(written.hunks);
    repair.copies.extend(written.copies);
    if written.changes.is_empty() {
        return Ok(Some(None));
    }
    Ok(Some(Some(written.changes.write(bytes)?)))
}

/// What was found in the flattened model.
struct Found<'f> {
    flat: &'f Flat,
    values: BTreeMap<Key, Readers>,
    /// The class of every value that has one.
    makers: BTreeMap<(Instance, Name), ClassId>,
    /// The class of every output of a graph.
    outputs: BTreeMap<(Instance, usize, usize), ClassId>,
    /// Where values of places are made: the node, where one makes them.
    made_at: BTreeMap<(usize, Name), usize>,
    /// The values at the inputs of each node of a place.
    beside: BTreeMap<(usize, usize, usize), Vec<(Name, Site)>>,
}

/// What comes of it.
struct Solved {
    placed: Placed,
    refused: Vec<Refused>,
    is_proved: bool,
}

impl<'f> Found<'f> {
    fn of(checked: &mut Checked<'_>, apart: &Ports, flat: &'f Flat) -> Option<Self> {
        let body = checked.body();
        // The instance and the number of every nested graph.
        let mut graphs: BTreeMap<GraphId, (Instance, usize)> = BTreeMap::new();
        for (id, view) in body.graph_views().ok()? {
            let place = match body.graph(id).owner {
                None => (0, 0),
                Some(owner) => {
                    let origin = origin(checked, owner.step)?;
                    (origin.instance, view.name().ok()?.parse().ok()?)
                }
            };
            graphs.insert(id, place);
        }
        let mut found = Self {
            flat,
            values: BTreeMap::new(),
            makers: BTreeMap::new(),
            outputs: BTreeMap::new(),
            made_at: BTreeMap::new(),
            beside: BTreeMap::new(),
        };
        let mut names: BTreeMap<ValueId, (Instance, Name)> = BTreeMap::new();
        for value in body.values() {
            let (_, name) = instance_of(body.value_name(value));
            let it = body.value(value);
            let (instance, graph, node) = match it.origin {
                Made::Step(step) => {
                    let origin = origin(checked, body.first_step(step))?;
                    match origin.role {
                        Role::Node | Role::Out(..) => (origin.instance, origin.graph, Some(origin.node)),
                        Role::In(_, callee) => (callee, 0, None),
                    }
                }
                Made::Input | Made::InputWithDefault(_) | Made::Initializer(_) => {
                    let (instance, graph) = graphs.get(&it.graph).copied()?;
                    (instance, graph, None)
                }
                Made::Undefined => continue,
            };
            let name: Name = (graph, name.to_owned());
            if let Some(node) = node {
                found.made_at.insert((flat.instances[instance].place, name.clone()), node);
            }
            if let Some(class) = apart.makers[value.index()] {
                found.makers.insert((instance, name.clone()), class);
            }
            names.insert(value, (instance, name));
        }
        for read in &apart.reads {
            let body = checked.body();
            let Some((owner, name)) = names.get(&read.value) else { continue };
            let (instance, site) = match read.by {
                Reader::Input { step, at } => {
                    let origin = origin(checked, step)?;
                    match origin.role {
                        Role::Node => (origin.instance, Site::input(origin.graph, origin.node, at)),
                        Role::In(at, _) => (origin.instance, Site::input(origin.graph, origin.node, at)),
                        Role::Out(at, callee) => (callee, Site::output(0, at)),
                    }
                }
                Reader::Output { graph, at } => {
                    let (instance, graph) = graphs.get(&graph).copied()?;
                    (instance, Site::output(graph, at))
                }
            };
            // A value is read where it is made; what crosses a border has two names.
            if instance != *owner {
                continue;
            }
            let place = flat.instances[instance].place;
            if site.node.is_none() {
                found.outputs.insert((instance, site.graph, site.at), read.class);
            }
            let is_interface = place == 0 && site.node.is_none() && site.graph == 0;
            let origin = body.value(read.value).origin;
            let is_given = matches!(origin, Made::Input | Made::InputWithDefault(_));
            // A graph gives values of its own only, so what it captures is converted inside.
            let graph = if site.node.is_none() { site.graph } else { name.0 };
            let converts = !(is_interface && is_given);
            let maker = apart.makers[read.value.index()];
            let Some(maker) = maker else { continue };
            if let Some(node) = site.node {
                let beside = found.beside.entry((place, site.graph, node)).or_default();
                if !beside.iter().any(|(_, other)| *other == site) {
                    beside.push((name.clone(), site));
                }
            }
            let is_tensor =
                matches!(checked.type_of(read.value), Type::Tensor(_) | Type::Error | Type::Unknown(_));
            let declared = if place == 0 { derived_declaration(checked, read.value) } else { None };
            let known = found.values.entry((place, name.clone(), graph, converts)).or_default();
            known.converts = converts && is_tensor;
            known.declared = declared;
            known.makers.insert(instance, maker);
            known.readers.entry(site).or_default().insert(instance, read.class);
        }
        Some(found)
    }

    fn solve(&self, apart: &Ports, policy: Policy, support: Support) -> Solved {
        let instances = self.by_place();
        let (mut alone, mut together) = (Vec::new(), Vec::new());
        for (key, readers) in &self.values {
            if instances[key.0].len() < 2 {
                alone.push((key, readers));
            } else {
                together.push((key, readers));
            }
        }
        let groups: Vec<Group> = alone
            .iter()
            .flat_map(|(_, readers)| readers.makers.keys().map(|it| readers.group(*it)))
            .collect();
        let attempt = |wanted: Likes| {
            let of = |(key, readers): &(&Key, &Readers)| self.shared(key, readers, &instances[key.0], wanted);
            let prepared: Vec<(Shared, Tuples, Vec<Name>)> = together.iter().map(of).collect();
            let shared: Vec<Shared> = prepared.iter().map(|(shared, ..)| shared.clone()).collect();
            (choose_shared(&apart.classes, &groups, &shared, policy, support), prepared)
        };
        // What ties many calls together can be too much for an exact answer; with less to choose from it may be found, and
        // one conversion is the least that there can be.
        let (mut chosen, mut prepared) = attempt(Likes::None);
        let richer =
            if self.flat.instances.len() > MAX_LIKELY { &[][..] } else { &[Likes::Beside, Likes::All] };
        for wanted in richer {
            if chosen.is_proved && chosen.refused.is_empty() {
                break;
            }
            let (other, instead) = attempt(*wanted);
            if other.cost < chosen.cost {
                (chosen, prepared) = (other, instead);
            } else {
                chosen.is_proved |= other.is_proved && other.refused.is_empty();
            }
        }
        let mut edits: BTreeMap<Instance, Vec<Edit>> = BTreeMap::new();
        if chosen.refused.is_empty() {
            for (key, readers) in &alone {
                for instance in readers.makers.keys() {
                    edits.entry(*instance).or_default().extend(readers.edits(key, *instance, &chosen));
                }
            }
            for (at, (key, readers)) in together.iter().enumerate() {
                let (_, tuples, likes) = &prepared[at];
                for instance in &instances[key.0] {
                    let made =
                        readers.shared_edits(key, *instance, (tuples, likes), &chosen.sources[at], &chosen);
                    edits.entry(*instance).or_default().extend(made);
                }
            }
            return self.solved(edits, &chosen, Vec::new(), chosen.is_proved);
        }
        // No one set of conversions suits all calls, or the policy forbids what would: every call for itself.
        let pairs: Vec<(&Key, &Readers, Instance)> = self
            .values
            .iter()
            .flat_map(|(key, readers)| readers.makers.keys().map(move |instance| (key, readers, *instance)))
            .collect();
        let groups: Vec<Group> =
            pairs.iter().map(|(_, readers, instance)| readers.group(*instance)).collect();
        let chosen = choose(&apart.classes, &groups, policy, support);
        let mut refused = Vec::new();
        if !chosen.refused.is_empty() {
            let needed = choose(&apart.classes, &groups, Policy::Widest, support);
            for at in chosen.refused.iter().filter(|at| !needed.refused.contains(at)) {
                let (key, readers, instance) = pairs[*at];
                for edit in readers.edits(key, instance, &needed) {
                    let calls = self.calls(key.0);
                    refused.push(Refused { value: edit.value.1, from: edit.from, to: edit.to, calls });
                }
            }
        }
        for (at, (key, readers, instance)) in pairs.iter().enumerate() {
            if !chosen.refused.contains(&at) {
                edits.entry(*instance).or_default().extend(readers.edits(key, *instance, &chosen));
            }
        }
        let is_proved = chosen.is_proved && together.is_empty();
        self.solved(edits, &chosen, refused, is_proved)
    }

    fn solved(
        &self,
        edits: BTreeMap<Instance, Vec<Edit>>,
        chosen: &Chosen,
        refused: Vec<Refused>,
        is_proved: bool,
    ) -> Solved {
        let elem = |class: &ClassId| chosen.elems[class.index()];
        let values =
            self.makers.iter().filter_map(|(key, class)| Some((key.clone(), elem(class)?))).collect();
        let outputs = self.outputs.iter().filter_map(|(key, class)| Some((*key, elem(class)?))).collect();
        Solved { placed: Placed { edits, values, outputs }, refused, is_proved }
    }

    /// The instances of each place.
    fn by_place(&self) -> Vec<Vec<Instance>> {
        let mut instances = vec![Vec::new(); self.flat.places.len()];
        for (at, instance) in self.flat.instances.iter().enumerate() {
            instances[instance.place].push(at);
        }
        instances
    }

    /// The nodes that call a function, in words; nothing for the model itself.
    fn calls(&self, place: usize) -> Vec<String> {
        let calls = self.flat.instances.iter().filter(|instance| instance.place == place);
        let mut found: Vec<String> = calls
            .filter_map(|instance| {
                let (caller, (graph, node)) = instance.caller?;
                Some(bodies::call_site(self.flat, caller, graph, node))
            })
            .collect();
        found.dedup();
        found
    }

    /// A value of a function that is called more than once, and what could be chosen about it.
    fn shared(
        &self,
        key: &Key,
        readers: &Readers,
        instances: &[Instance],
        wanted: Likes,
    ) -> (Shared, Tuples, Vec<Name>) {
        let place = &key.0;
        let in_order = |classes: &BTreeMap<Instance, ClassId>| -> Vec<Option<ClassId>> {
            instances.iter().map(|instance| classes.get(instance).copied()).collect()
        };
        let mut tuples: Tuples = Vec::new();
        for (site, classes) in &readers.readers {
            let classes = in_order(classes);
            match tuples.iter_mut().find(|(known, _)| *known == classes) {
                Some((_, sites)) => sites.push(*site),
                None => tuples.push((classes, vec![*site])),
            }
        }
        let (likes, is_complete) = match self.flat.places[*place].version >= LIKE {
            true if wanted != Likes::None => self.likes(key, &tuples, instances, wanted),
            true => (Vec::new(), false),
            false => (Vec::new(), true),
        };
        let makers_of = |name: &Name| -> Vec<Option<ClassId>> {
            let of = |instance: &Instance| self.makers.get(&(*instance, name.clone())).copied();
            instances.iter().map(of).collect()
        };
        let shared = Shared {
            makers: in_order(&readers.makers),
            readers: tuples.iter().map(|(classes, _)| classes.clone()).collect(),
            likes: likes.iter().map(|(name, usable)| (makers_of(name), usable.clone())).collect(),
            converts: readers.converts,
            is_complete,
        };
        let likes = likes.into_iter().map(|(name, _)| name).collect();
        (shared, tuples, likes)
    }

    /// Other values into whose type one could be converted, each with the readers before which it is there; and whether
    /// these are all. Of values whose type is the same in any case the first will do.
    fn likes(
        &self,
        key: &Key,
        tuples: &Tuples,
        instances: &[Instance],
        wanted: Likes,
    ) -> (Vec<(Name, Vec<usize>)>, bool) {
        let (place, value, graph, _) = key;
        let beside = self.beside(*place, tuples);
        let own = instances.first().copied().unwrap_or_default();
        let from = (own, (0, String::new()));
        let seen = self
            .makers
            .range(from..)
            .take_while(|((instance, _), _)| *instance == own)
            .map(|((_, name), _)| name);
        let mut candidates: Vec<(bool, Option<usize>, &Name)> = seen
            .filter(|name| *name != value && (name.0 == 0 || name.0 == *graph))
            .map(|name| (!beside.contains(name), self.made_at.get(&(*place, name.clone())).copied(), name))
            .collect();
        candidates.sort_unstable();
        let mut is_complete = wanted == Likes::All && candidates.len() <= MAX_SEEN;
        candidates.retain(|(elsewhere, ..)| wanted == Likes::All || !elsewhere);
        candidates.truncate(MAX_SEEN);
        let mut classes: Vec<Vec<Option<ClassId>>> = Vec::new();
        let mut likes = Vec::new();
        for (_, made, name) in candidates {
            let of = |instance: &Instance| self.makers.get(&(*instance, name.clone())).copied();
            let makers: Vec<Option<ClassId>> = instances.iter().map(of).collect();
            let usable: Vec<usize> = (0..tuples.len())
                .filter(|at| {
                    made.is_none_or(|made| {
                        self.first(*place, &tuples[*at].1, name.0).is_none_or(|it| made < it)
                    })
                })
                .collect();
            if usable.is_empty() || classes.contains(&makers) {
                continue;
            }
            if likes.len() == MAX_LIKES {
                is_complete = false;
                break;
            }
            classes.push(makers);
            likes.push((name.clone(), usable));
        }
        (likes, is_complete)
    }

    /// The position in a graph of the first node that reads, or in which it is read; nothing for outputs alone.
    fn first(&self, place: usize, sites: &[Site], graph: usize) -> Option<usize> {
        let it = &self.flat.places[place];
        let position = |site: &Site| match site.node {
            Some(node) => it.lift(site.graph, node, graph),
            None => {
                let (around, node) = it.parents.get(site.graph).copied().flatten()?;
                it.lift(around, node, graph)
            }
        };
        sites.iter().filter_map(position).min()
    }

    /// The values that nodes read beside one.
    fn beside(&self, place: usize, tuples: &Tuples) -> BTreeSet<Name> {
        let sites = tuples.iter().flat_map(|(_, sites)| sites);
        let nodes = sites.filter_map(|site| self.beside.get(&(place, site.graph, site.node?)));
        nodes.flatten().map(|(name, _)| name.clone()).collect()
    }
}

fn origin(checked: &Checked<'_>, step: StepId) -> Option<Origin> {
    let body = checked.body();
    Origin::parse(body.step(body.first_step(step)).node.name().ok()?)
}

impl Readers {
    /// As the readers of one instance alone.
    fn group(&self, instance: Instance) -> Group {
        Group {
            maker: self.makers[&instance],
            readers: self.readers.values().filter_map(|classes| classes.get(&instance).copied()).collect(),
            converts: self.converts,
            stored: Stored::No,
            declared: self.declared,
        }
    }

    /// The conversions of one instance.
    fn edits(&self, (_, value, graph, _): &Key, instance: Instance, chosen: &Chosen) -> Vec<Edit> {
        let Some(from) = chosen.elems[self.makers[&instance].index()] else { return Vec::new() };
        let mut by_type: BTreeMap<Elem, Vec<Site>> = BTreeMap::new();
        for (site, classes) in &self.readers {
            let elem = classes.get(&instance).and_then(|class| chosen.elems[class.index()]);
            if let Some(to) = elem.filter(|to| *to != from) {
                by_type.entry(to).or_default().push(*site);
            }
        }
        let edit = |(to, readers)| Edit {
            value: value.clone(),
            graph: *graph,
            kind: Kind::To(to),
            readers,
            from,
            to,
        };
        by_type.into_iter().map(edit).collect()
    }

    /// The conversions that all instances have, with the types of one.
    fn shared_edits(
        &self,
        (_, value, graph, _): &Key,
        instance: Instance,
        (tuples, likes): (&Tuples, &[Name]),
        sources: &[Source],
        chosen: &Chosen,
    ) -> Vec<Edit> {
        let elem = |class: Option<&ClassId>| class.and_then(|class| chosen.elems[class.index()]);
        let mut found: BTreeMap<Source, Vec<Site>> = BTreeMap::new();
        for ((_, sites), source) in tuples.iter().zip(sources) {
            if *source != Source::Direct {
                found.entry(*source).or_default().extend(sites);
            }
        }
        let mut edits = Vec::new();
        for (source, mut readers) in found {
            readers.sort_unstable();
            let to = readers.iter().find_map(|site| elem(self.readers[site].get(&instance)));
            let (kind, to) = match source {
                Source::Direct => continue,
                Source::To(elem) => (Kind::To(elem), elem),
                Source::Like(at) => {
                    let Some(to) = to else { continue };
                    (Kind::Like(likes[at].1.clone()), to)
                }
            };
            let from = elem(self.makers.get(&instance)).unwrap_or(to);
            edits.push(Edit { value: value.clone(), graph: *graph, kind, readers, from, to });
        }
        edits
    }
}
