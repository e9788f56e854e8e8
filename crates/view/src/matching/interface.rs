//! The inputs and outputs of a pair of graphs.

use super::{Matcher, hash, sequence};
use crate::map::Map;
use crate::scene::{GroupId, Scene, Type, ValueId};

/// A matched input or output: positions in the lists of the old and the new graph; `None` if it was added or
/// removed.
pub type Port = [Option<usize>; 2];

/// The matched inputs and outputs of a pair of graphs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// The old and the new root.
    pub graphs: [GroupId; 2],
    /// The inputs: those of the new graph in order, then the removed ones.
    pub inputs: Vec<Port>,
    /// The outputs, in the same order.
    pub outputs: Vec<Port>,
}

/// The token of an output that has no pair.
const FREE: u64 = 0;

impl Interface {
    /// The interface with old and new exchanged.
    pub(super) fn swapped(self) -> Self {
        let Self { graphs: [old, new], inputs, outputs } = self;
        let swap = |ports: Vec<Port>| ordered(ports.into_iter().map(|[old, new]| [new, old]).collect());
        Self { graphs: [new, old], inputs: swap(inputs), outputs: swap(outputs) }
    }

    /// Tokens of the outputs of a side that are equal for pairs.
    pub(super) fn output_tokens(&self, side: usize, count: usize) -> Vec<u64> {
        let mut tokens = vec![FREE; count];
        for port in &self.outputs {
            if let [Some(old), Some(_)] = *port
                && let Some(at) = port[side]
            {
                tokens[at] = 1 + old as u64;
            }
        }
        tokens
    }
}

/// The ports of the new graph in order, then the removed ones.
fn ordered(mut ports: Vec<Port>) -> Vec<Port> {
    ports.sort_by_key(|[old, new]| (new.is_none(), *new, *old));
    ports
}

/// Matches the inputs and outputs of two graphs, and the values of matched inputs.
pub(super) fn of(matcher: &mut Matcher<'_>, graphs: [GroupId; 2]) -> Interface {
    let scenes = matcher.sides.each_ref().map(|side| side.scene);
    let is_body = matcher.is_body(0, graphs[0]) || matcher.is_body(1, graphs[1]);
    let lists = |of: fn(&Scene, GroupId) -> &Vec<ValueId>| [0, 1].map(|side| of(scenes[side], graphs[side]));
    let inputs = lists(|scene, root| &scene.group(root).inputs);
    let outputs = lists(|scene, root| &scene.group(root).outputs);
    let ports = |lists: [&Vec<ValueId>; 2], matcher: &mut Matcher<'_>| {
        if is_body { by_position(lists) } else { by_name(matcher, scenes, lists) }
    };
    let interface = Interface { graphs, inputs: ports(inputs, matcher), outputs: ports(outputs, matcher) };
    for port in &interface.inputs {
        if let [Some(old), Some(new)] = *port {
            matcher.values.join(inputs[0][old], inputs[1][new]);
        }
    }
    interface
}

fn by_position(lists: [&Vec<ValueId>; 2]) -> Vec<Port> {
    let [old, new] = lists.map(Vec::len);
    (0..old.max(new)).map(|at| [(at < old).then_some(at), (at < new).then_some(at)]).collect()
}

/// By name, then in order by type without extents.
fn by_name(matcher: &mut Matcher<'_>, scenes: [&Scene; 2], lists: [&Vec<ValueId>; 2]) -> Vec<Port> {
    let mut known: Map<&str, usize> = Map::default();
    for (at, value) in lists[1].iter().enumerate() {
        known.entry(&scenes[1].value(*value).name).or_insert(at);
    }
    let mut mates: Vec<Option<usize>> =
        lists[0].iter().map(|value| known.remove(scenes[0].value(*value).name.as_str())).collect();
    let mut is_taken = vec![false; lists[1].len()];
    mates.iter().flatten().for_each(|at| is_taken[*at] = true);
    let rest: [Vec<usize>; 2] = [
        (0..mates.len()).filter(|at| mates[*at].is_none()).collect(),
        (0..is_taken.len()).filter(|at| !is_taken[*at]).collect(),
    ];
    let kinds = [0, 1].map(|side: usize| {
        let kind = |at: &usize| kind(scenes[side].type_of(lists[side][*at]));
        rest[side].iter().map(kind).collect::<Vec<_>>()
    });
    for (old, new) in sequence::align(&kinds[0], &kinds[1], &mut matcher.work) {
        let (old, new) = (rest[0][old], rest[1][new]);
        (mates[old], is_taken[new]) = (Some(new), true);
    }
    let old = mates.into_iter().enumerate().map(|(old, new)| [Some(old), new]);
    let added =
        is_taken.iter().enumerate().filter(|(_, is_taken)| !**is_taken).map(|(new, _)| [None, Some(new)]);
    ordered(old.chain(added).collect())
}

/// The hash of a type without its extents: of its texts and ranks.
fn kind(ty: &Type) -> u64 {
    let Type { texts, shapes } = ty;
    let texts = texts.iter().map(|text| hash::text(text));
    texts.chain(shapes.iter().map(|shape| shape.len() as u64)).fold(hash::EMPTY, hash::mix)
}

/// Matches ports that are still free by their nodes: inputs that matched nodes read at the same port, and
/// outputs that they make.
pub(super) fn complete(matcher: &mut Matcher<'_>, graphs: [GroupId; 2], at: usize) {
    let scenes = matcher.sides.each_ref().map(|side| side.scene);
    let mut interface = matcher.interfaces[at].clone();
    let free = |ports: &[Port], side: usize| -> Vec<usize> {
        ports.iter().filter(|port| port[1 - side].is_none()).filter_map(|port| port[side]).collect()
    };
    let [old, new] = [0, 1].map(|side| free(&interface.inputs, side));
    let mut position: Map<ValueId, usize> =
        new.into_iter().map(|at| (scenes[1].group(graphs[1]).inputs[at], at)).collect();
    for input in old {
        let value = scenes[0].group(graphs[0]).inputs[input];
        let uses = matcher.sides[0].uses(value).iter().filter(|(_, port)| *port != super::side::CAPTURE);
        let mates =
            uses.filter_map(|(node, port)| matcher.sides[1].input(matcher.nodes.new_of(*node)?, *port));
        let mate = mates.take(MAX_USES).find(|mate| position.contains_key(mate));
        if let Some(mate) = mate
            && let Some(output) = position.remove(&mate)
            && matcher.values.join(value, mate)
        {
            unite(&mut interface.inputs, input, output);
        }
    }
    let [old, new] = [0, 1].map(|side| free(&interface.outputs, side));
    let mut position: Map<ValueId, usize> =
        new.into_iter().map(|at| (scenes[1].group(graphs[1]).outputs[at], at)).collect();
    for output in old {
        let value = scenes[0].group(graphs[0]).outputs[output];
        let mate = matcher.values.new_of(value).and_then(|mate| position.remove(&mate));
        if let Some(mate) = mate {
            unite(&mut interface.outputs, output, mate);
        }
    }
    interface.inputs = ordered(interface.inputs);
    interface.outputs = ordered(interface.outputs);
    matcher.interfaces[at] = interface;
}

/// The number of uses of a value that are considered.
const MAX_USES: usize = 8;

/// Replaces a removed and an added port by a pair.
fn unite(ports: &mut Vec<Port>, old: usize, new: usize) {
    ports.retain(|port| *port != [None, Some(new)]);
    ports.iter_mut().filter(|port| port[0] == Some(old)).for_each(|port| port[1] = Some(new));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::ExtentId;

    #[test]
    fn the_kind_of_a_type_has_no_extents() {
        let ty = |texts: [&str; 2], shape: &[usize]| Type {
            texts: texts.map(str::to_owned).into(),
            shapes: vec![shape.iter().map(|at| ExtentId::new(*at)).collect()],
        };
        assert_eq!(kind(&ty(["float", ""], &[0, 1])), kind(&ty(["float", ""], &[2, 2])));
        assert_ne!(kind(&ty(["float", ""], &[0])), kind(&ty(["float", ""], &[0, 1])));
        assert_ne!(kind(&ty(["seq(float", ")"], &[0])), kind(&ty(["float", ""], &[0])));
    }
}
