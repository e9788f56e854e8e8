//! Interning of graphs of types, including recursive ones.
//!
//! # The question
//!
//! A pool gives equal types equal ids. For a type without cycles that is hash-consing: intern the children,
//! then look up `(tag, ids of children)`. A recursive type has no first child:
//!
//! ```text
//! A = list<A>                  one node
//! B = list<C>, C = list<B>     two nodes, and the same infinite type list<list<list<...
//! ```
//!
//! Looking up `A` needs the id of `A`. Naming the cycle by its text, or comparing graphs node by node, finds
//! that `A` and `B` differ, although no program can tell them apart. Types are equal if their infinite
//! unfoldings are, which is bisimilarity of the graphs.
//!
//! # The idea
//!
//! A graph is a list of nodes whose children are types of the pool or nodes of the graph. Its strongly
//! connected components are interned children first. A component without a cycle is an ordinary type. A cycle
//! is minimized by partition refinement (Moore, 1956, for automata: a node is a state, its children are its
//! transitions): nodes start in one class for each tag, and classes are split until the members of a class
//! have their children in the same classes. `B` and `C` end in one class. Then there are three cases:
//!
//! 1. The cycle is an unfolding of a group that it refers to (`A = (A, E)` where `E = (E, E)`): refining its
//!    nodes together with that group's members maps every node to a member.
//! 2. The cycle is equal, member by member in canonical order, to a group of the pool.
//! 3. The cycle is new.
//!
//! The cases are exhaustive: suppose that a node of the cycle equals a type of the pool. Every node reachable
//! from the node equals a type reachable from that type, and the image of a strongly connected set is
//! strongly connected, so all nodes of the cycle map into one group of the pool. If a child outside the cycle
//! is in that group, case 1 applies; otherwise the minimized cycle is that group up to the order of members,
//! which is case 2.
//!
//! ```
//! use typeloom_pool::{Descriptor, GraphRef, Pool, Tag};
//! let list = |child| Descriptor::Container { tag: Tag::List, child: GraphRef::Member(child) };
//! let mut pool = Pool::new();
//! let a = pool.intern_graph(&[list(0)])?;
//! let b_and_c = pool.intern_graph(&[list(1), list(0)])?;
//! assert_eq!(b_and_c, [a[0], a[0]]);
//! // A list of that type is that type.
//! assert_eq!(pool.list(a[0])?, a[0]);
//! # Ok::<(), typeloom_pool::PoolError>(())
//! ```
//!
//! # Cost and limits
//!
//! Minimizing a graph takes at most [`MAX_WORK`] steps, and a group has at most [`MAX_GROUP`] members.
//! Schemes are normalized first, while the graph is still a graph: renumbering or removing variables copies
//! the open part of the body.
//!
//! **Invariant:** on an error the pool is unchanged.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::binder::{self, View};
use crate::check::{class_sort, meta_byte, node_sort};
use crate::error::PoolError;
use crate::layout::{self, Role};
use crate::pool::{GroupMember, MAX_BINDERS, Pool, meta};
use crate::refine::{Edges, OutOfWork, refine};
use crate::tag::{Tag, TagClass};

/// Maximum number of members of one recursive group.
pub const MAX_GROUP: usize = 1 << 16;

/// Maximum number of steps for minimizing one graph.
pub const MAX_WORK: u64 = 1 << 28;

/// Bit that marks a reference to a node of the graph; other references are ids of the pool.
pub(crate) const LOCAL: u32 = 1 << 31;

/// A node of a graph. Its children are ids of the pool, or [`LOCAL`] with the number of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Local {
    pub(crate) tag: Tag,
    pub(crate) words: Vec<u32>,
}

/// Result of interning a graph.
pub(crate) struct Interned {
    /// The type of each input node.
    pub(crate) ids: Vec<u32>,
    /// Whether a scheme was not in normal form.
    pub(crate) rewritten: bool,
}

struct Graph<'p> {
    pool: &'p Pool,
    nodes: Vec<Local>,
    free: Vec<u8>,
}

impl View for Graph<'_> {
    fn node(&self, reference: u32) -> (Tag, &[u32], u8) {
        if reference & LOCAL == 0 {
            self.pool.node(reference)
        } else {
            let at = (reference & !LOCAL) as usize;
            (self.nodes[at].tag, &self.nodes[at].words, self.free[at])
        }
    }

    fn name(&self, name: u32) -> &str {
        self.pool.names.get(name)
    }
}

impl Pool {
    /// Interns all nodes of a graph, or none on an error.
    pub(crate) fn intern_locals(&mut self, nodes: Vec<Local>) -> Result<Interned, PoolError> {
        self.transaction(|pool| pool.try_intern_locals(nodes, &mut { MAX_WORK }))
    }

    /// [`Pool::intern_locals`] without rollback, with the caller's work limit.
    pub(crate) fn try_intern_locals(
        &mut self,
        mut nodes: Vec<Local>,
        work: &mut u64,
    ) -> Result<Interned, PoolError> {
        let wanted = nodes.len();
        check_graph(self, &nodes)?;
        if nodes.iter().any(|node| node.tag == Tag::Scheme) {
            self.intern_constants(&mut nodes)?;
        }
        let mut graph = Graph { free: free_of(self, &nodes)?, pool: self, nodes };
        let alias = normalise_schemes(&mut graph, work)?;
        let rewritten = graph.nodes.len() != wanted || !alias.is_empty();
        let Graph { nodes, free, .. } = graph;
        let mut ids = vec![0u32; nodes.len()];
        for component in components(&nodes) {
            if let [only] = component[..]
                && !has_edge(&nodes[only as usize], only)
            {
                ids[only as usize] = match alias.get(&only) {
                    Some(&target) => resolve(target, &ids),
                    None => self.intern_single(&nodes[only as usize], &ids)?,
                };
            } else {
                self.intern_cycle(&nodes, &free, &component, &alias, &mut ids, work)?;
            }
        }
        ids.truncate(wanted);
        Ok(Interned { ids, rewritten })
    }

    /// Returns an open type with the variables of its innermost outer binder renumbered; variables that are
    /// not in `order` keep their numbers. The number of created types is subtracted from `work`.
    pub(crate) fn renumber(
        &mut self,
        body: u32,
        order: &HashMap<u32, u32>,
        work: &mut usize,
    ) -> Result<u32, PoolError> {
        let mut graph = Graph { pool: self, nodes: Vec::new(), free: Vec::new() };
        let start = copy_open(&mut graph, body, order)?;
        let nodes = graph.nodes;
        *work = work.checked_sub(nodes.len()).ok_or(PoolError::SchemeTooHard)?;
        let ids = self.intern_locals(nodes)?.ids;
        Ok(resolve(start, &ids))
    }

    /// Interns the constants of a graph and replaces references to them by ids. The order in which a scheme
    /// uses its variables depends on their normal form: `max(n, n)` is `n`.
    fn intern_constants(&mut self, nodes: &mut [Local]) -> Result<(), PoolError> {
        if !nodes.iter().any(|node| node.tag.class() == TagClass::Const) {
            return Ok(());
        }
        let mut ids = vec![0u32; nodes.len()];
        for component in components(nodes) {
            let [at] = component[..] else { continue };
            let node = &nodes[at as usize];
            let mut is_constant =
                node.tag.class() == TagClass::Const || matches!(node.tag, Tag::Bound | Tag::Infer);
            layout::for_each_child(node.tag, &node.words, |child| is_constant &= resolve(child, &ids) != 0);
            if is_constant {
                ids[at as usize] = self.intern_single(node, &ids)?;
            }
        }
        for node in nodes {
            node.words = map_children(node, |child| match resolve(child, &ids) {
                0 => child,
                id => id,
            });
        }
        Ok(())
    }

    fn intern_single(&mut self, node: &Local, ids: &[u32]) -> Result<u32, PoolError> {
        let words = map_children(node, |child| resolve(child, ids));
        match node.tag.class() {
            TagClass::Const => self.intern_dim(node.tag, &words),
            _ => self.intern_words(node.tag, &words),
        }
    }

    fn intern_cycle(
        &mut self,
        nodes: &[Local],
        free: &[u8],
        component: &[u32],
        alias: &HashMap<u32, u32>,
        ids: &mut [u32],
        work: &mut u64,
    ) -> Result<(), PoolError> {
        // A scheme without variables is an alias of its body; a cycle of such schemes alone has no content.
        let members: Vec<u32> = component.iter().copied().filter(|node| !alias.contains_key(node)).collect();
        if members.is_empty() {
            return Err(PoolError::EmptyCycle);
        }
        if members.len() > MAX_GROUP {
            return Err(PoolError::GroupTooLarge);
        }
        let position: HashMap<u32, u32> = members.iter().zip(0..).map(|(&node, at)| (node, at)).collect();
        // Children inside the cycle become `LOCAL | position`; all others become ids.
        let mut relative = Vec::with_capacity(members.len());
        let mut inner_meta = 0;
        for &member in &members {
            let node = &nodes[member as usize];
            if node.tag.class() == TagClass::Const {
                return Err(PoolError::CyclicConst);
            }
            let mut empty = false;
            let words = map_children(node, |child| match follow(alias, child) {
                None => {
                    empty = true;
                    child
                }
                Some(target) => match position.get(&(target & !LOCAL)) {
                    Some(&at) if target & LOCAL != 0 => LOCAL | at,
                    Some(_) | None => resolve(target, ids),
                },
            });
            if empty {
                return Err(PoolError::EmptyCycle);
            }
            layout::for_each_child(node.tag, &words, |child| {
                if child & LOCAL == 0 {
                    inner_meta |= self.meta[child as usize] & meta::INFER;
                }
            });
            relative.push(Local { tag: node.tag, words });
        }
        let found = match self.unfolding_of(&relative, work)? {
            Some(found) => found,
            None => {
                let frees: Vec<u8> = members.iter().map(|&member| free[member as usize]).collect();
                self.intern_group(&relative, &frees, inner_meta, work)?
            }
        };
        for (&member, id) in members.iter().zip(found) {
            ids[member as usize] = id;
        }
        for &node in component {
            if alias.contains_key(&node) {
                let target = follow(alias, LOCAL | node).ok_or(PoolError::EmptyCycle)?;
                ids[node as usize] = resolve(target, ids);
            }
        }
        Ok(())
    }

    /// Returns the members equal to the nodes of a cycle, if the cycle unfolds a group that it refers to.
    fn unfolding_of(&self, cycle: &[Local], work: &mut u64) -> Result<Option<Vec<u32>>, PoolError> {
        let mut candidates = Vec::new();
        for node in cycle {
            layout::for_each_child(node.tag, &node.words, |child| {
                if child & LOCAL == 0 {
                    candidates.extend(self.group_of(child));
                }
            });
        }
        candidates.sort_unstable();
        candidates.dedup();
        for group in candidates {
            let members = self.groups[group].members();
            *work = work.checked_sub(members.len() as u64).ok_or(PoolError::GroupTooHard)?;
            if self.may_unfold(cycle, members.clone()) {
                let found = self.members_equal_to(cycle, members, work)?;
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        Ok(None)
    }

    /// Whether every node has a member with the same tag, names, numbers and length.
    fn may_unfold(&self, cycle: &[Local], mut members: Range<u32>) -> bool {
        let own = |tag: Tag, words: &[u32]| {
            let mut key = vec![u32::from(tag.number()), words.len() as u32];
            layout::for_each(tag, words, |role, _, word| {
                if !matches!(role, Role::Child(_)) {
                    key.push(word);
                }
            });
            key
        };
        let mut missing: HashSet<Vec<u32>> = cycle.iter().map(|node| own(node.tag, &node.words)).collect();
        members.any(|member| {
            missing.remove(&own(self.nodes[member as usize].tag, self.words(member)));
            missing.is_empty()
        })
    }

    /// Refines a cycle together with the members of a group. Returns the member that equals each node.
    fn members_equal_to(
        &self,
        cycle: &[Local],
        members: Range<u32>,
        work: &mut u64,
    ) -> Result<Option<Vec<u32>>, PoolError> {
        let count = cycle.len() as u32;
        let mut partition = Partition::default();
        let target = |child: u32| match child {
            local if local & LOCAL != 0 => Some(local & !LOCAL),
            child => members.contains(&child).then(|| count + (child - members.start)),
        };
        for node in cycle {
            partition.add(node.tag, &node.words, target);
        }
        for member in members.clone() {
            partition.add(self.nodes[member as usize].tag, self.words(member), target);
        }
        let ranks = partition.refine(work)?;
        let (nodes, rest) = ranks.split_at(cycle.len());
        let member_of: HashMap<u32, u32> = rest.iter().copied().zip(members).collect();
        Ok(nodes.iter().map(|rank| member_of.get(rank).copied()).collect())
    }

    /// Minimizes a cycle and finds or adds its group.
    fn intern_group(
        &mut self,
        cycle: &[Local],
        free: &[u8],
        inner_meta: u8,
        work: &mut u64,
    ) -> Result<Vec<u32>, PoolError> {
        let mut partition = Partition::default();
        for node in cycle {
            partition.add(node.tag, &node.words, |child| (child & LOCAL != 0).then_some(child & !LOCAL));
        }
        let ranks = partition.refine(work)?;
        let mut representatives: Vec<(u32, u32)> =
            ranks.iter().zip(0..).map(|(&rank, node)| (rank, node)).collect();
        representatives.sort_unstable();
        representatives.dedup_by_key(|&mut (rank, _)| rank);
        let class_of: HashMap<u32, u32> =
            representatives.iter().zip(0..).map(|(&(rank, _), class)| (rank, class)).collect();
        let class = |node: u32| class_of[&ranks[node as usize]];
        let mut flat = Vec::new();
        let members: Vec<Local> = representatives
            .iter()
            .map(|&(_, node)| {
                let node = &cycle[node as usize];
                let words = map_children(node, |child| {
                    if child & LOCAL == 0 { child } else { LOCAL | class(child & !LOCAL) }
                });
                flat.push(u32::from(node.tag.number()));
                flat.extend(&words);
                Local { tag: node.tag, words }
            })
            .collect();
        let hash = self.hasher.long(Tag::Bound, &flat).spread();
        let absolute = |base: u32, member: &Local| {
            map_children(member, |child| if child & LOCAL == 0 { child } else { base + (child & !LOCAL) })
        };
        let existing = self.find_group(hash, members.len(), |base, at| {
            let member = &members[at];
            let id = base + at as u32;
            self.nodes[id as usize].tag == member.tag && self.words(id) == absolute(base, member)
        });
        let base = match existing {
            Some(base) => base,
            None => {
                let base = self.nodes.len() as u32;
                let ready: Vec<GroupMember> = members
                    .iter()
                    .zip(&representatives)
                    .map(|(member, &(_, node))| GroupMember {
                        tag: member.tag,
                        words: absolute(base, member),
                        free: free[node as usize],
                        meta: meta_byte(class_sort(member.tag), inner_meta, free[node as usize]),
                    })
                    .collect();
                self.push_group(hash, &ready)?
            }
        };
        Ok((0..cycle.len() as u32).map(|node| base + class(node)).collect())
    }
}

/// Nodes to be distinguished by partition refinement.
#[derive(Default)]
struct Partition {
    edges: Edges,
    keys: Vec<Vec<u32>>,
}

impl Partition {
    /// Adds a node; `target` returns the number of a child that is a node.
    fn add(&mut self, tag: Tag, words: &[u32], target: impl Fn(u32) -> Option<u32>) {
        let mut key = vec![u32::from(tag.number())];
        layout::for_each(tag, words, |role, _, word| {
            match target(word).filter(|_| matches!(role, Role::Child(_))) {
                Some(target) => {
                    self.edges.push(target);
                    key.push(LOCAL);
                }
                None => key.push(word),
            }
        });
        self.edges.close_node();
        self.keys.push(key);
    }

    /// Returns a number for every node that is equal for equal nodes.
    fn refine(&self, work: &mut u64) -> Result<Vec<u32>, PoolError> {
        refine(&self.keys, &self.edges, work).map_err(|OutOfWork| PoolError::GroupTooHard)
    }
}

pub(crate) fn map_children(node: &Local, mut f: impl FnMut(u32) -> u32) -> Vec<u32> {
    let mut words = node.words.clone();
    layout::for_each(node.tag, &node.words, |role, at, word| {
        if let Role::Child(_) = role {
            words[at] = f(word);
        }
    });
    words
}

fn resolve(reference: u32, ids: &[u32]) -> u32 {
    if reference & LOCAL == 0 { reference } else { ids[(reference & !LOCAL) as usize] }
}

/// Resolves a reference through schemes that bind no variables; `None` if they form a cycle.
fn follow(alias: &HashMap<u32, u32>, reference: u32) -> Option<u32> {
    let mut target = reference;
    for _ in 0..=alias.len() {
        if target & LOCAL == 0 {
            return Some(target);
        }
        match alias.get(&(target & !LOCAL)) {
            Some(&next) => target = next,
            None => return Some(target),
        }
    }
    None
}

fn has_edge(node: &Local, to: u32) -> bool {
    let mut found = false;
    layout::for_each_child(node.tag, &node.words, |child| found |= child == LOCAL | to);
    found
}

/// Checks layouts, references, names, sorts and instances.
fn check_graph(pool: &Pool, nodes: &[Local]) -> Result<(), PoolError> {
    let local = |reference: u32| nodes.get((reference & !LOCAL) as usize);
    let sort = |reference: u32| {
        if reference & LOCAL == 0 {
            return pool.sort_of_child(reference);
        }
        let node = local(reference).ok_or(PoolError::UnknownNode { node: reference & !LOCAL })?;
        node_sort(node.tag, &node.words)
    };
    let content = |reference: u32| match local(reference) {
        Some(node) if reference & LOCAL != 0 => (node.tag, &node.words[..]),
        _ => (pool.nodes[reference as usize].tag, pool.words(reference)),
    };
    nodes.iter().try_for_each(|node| pool.check_node(node.tag, &node.words, sort, content).map(drop))
}

/// For every node, the number of outer binders that its free variables reach: the least solution, propagated
/// from the variables upwards with the largest values first, so that each node is finished once.
fn free_of(pool: &Pool, nodes: &[Local]) -> Result<Vec<u8>, PoolError> {
    let mut free = vec![0u8; nodes.len()];
    let mut parents: Vec<Vec<(u32, bool)>> = vec![Vec::new(); nodes.len()];
    let mut buckets: Vec<Vec<u32>> = vec![Vec::new(); MAX_BINDERS as usize + 2];
    for (node, own) in nodes.iter().zip(0u32..) {
        let mut value = if node.tag == Tag::Bound { node.words[0] as u8 + 1 } else { 0 };
        layout::for_each_scoped_child(node.tag, &node.words, |_, child, is_bound| {
            if child & LOCAL != 0 {
                parents[(child & !LOCAL) as usize].push((own, is_bound));
            } else {
                value = value.max(pool.nodes[child as usize].free.saturating_sub(u8::from(is_bound)));
            }
        });
        buckets[usize::from(value)].push(own);
        free[own as usize] = value;
    }
    for value in (1..buckets.len()).rev() {
        while let Some(node) = buckets[value].pop() {
            if usize::from(free[node as usize]) != value {
                continue;
            }
            for &(parent, binds) in &parents[node as usize] {
                let reached = value as u8 - u8::from(binds);
                if reached > free[parent as usize] {
                    free[parent as usize] = reached;
                    buckets[usize::from(reached)].push(parent);
                }
            }
        }
    }
    Ok(free)
}

/// Checks the scopes of all binders and normalizes schemes. Returns the schemes that bind no variables, with
/// their bodies.
fn normalise_schemes(graph: &mut Graph<'_>, work: &mut u64) -> Result<HashMap<u32, u32>, PoolError> {
    let mut alias = HashMap::new();
    let mut at = 0;
    // Copies are appended and visited later in this loop.
    while at < graph.nodes.len() {
        let Local { tag, words } = &graph.nodes[at];
        match *tag {
            Tag::Declared => {
                binder::check_uses(&binder::used_variables(graph, words[1], work)?, &words[2..])?;
            }
            Tag::Scheme => {
                let body = words[0];
                let uses = binder::uses(graph, body, work)?;
                binder::check_uses(&uses, &words[1..])?;
                if !binder::is_normal(&uses, words.len() - 1) {
                    let order: HashMap<u32, u32> =
                        uses.iter().zip(0..).map(|(used, position)| (used.index, position)).collect();
                    let body = copy_open(graph, body, &order)?;
                    if uses.is_empty() {
                        alias.insert(at as u32, body);
                        graph.nodes[at] = Local { tag: Tag::Tuple, words: vec![body] };
                    } else {
                        graph.nodes[at].words =
                            std::iter::once(body).chain(uses.iter().map(|used| used.sort)).collect();
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    Ok(alias)
}

/// Copies the open part of a scheme's body with its variables renumbered. If `order` is empty, the scheme is
/// removed, and the depth of variables of outer binders decreases by one.
fn copy_open(graph: &mut Graph<'_>, body: u32, order: &HashMap<u32, u32>) -> Result<u32, PoolError> {
    let removed = u32::from(order.is_empty());
    let mut copies: HashMap<(u32, u32), u32> = HashMap::new();
    let mut pending = Vec::new();
    let mut copy = |graph: &mut Graph<'_>,
                    reference: u32,
                    level: u32,
                    pending: &mut Vec<(u32, u32, u32)>|
     -> Result<u32, PoolError> {
        if u32::from(graph.node(reference).2) <= level {
            return Ok(reference);
        }
        if let Some(&copied) = copies.get(&(reference, level)) {
            return Ok(copied);
        }
        if graph.nodes.len() >= MAX_GROUP * 4 {
            return Err(PoolError::GroupTooLarge);
        }
        let new = graph.nodes.len() as u32;
        let (tag, words, free) = graph.node(reference);
        let words = words.to_vec();
        // If the scheme is removed, the copy reaches one binder less.
        let free = if removed == 1 { free - 1 } else { free };
        graph.nodes.push(Local { tag, words });
        graph.free.push(free);
        copies.insert((reference, level), LOCAL | new);
        pending.push((reference, level, new));
        Ok(LOCAL | new)
    };
    let start = copy(graph, body, 0, &mut pending)?;
    while let Some((reference, level, new)) = pending.pop() {
        let (tag, words, _) = graph.node(reference);
        let source = Local { tag, words: words.to_vec() };
        let mut words = source.words.clone();
        if tag == Tag::Bound {
            if words[0] == level {
                words[1] = order.get(&words[1]).copied().unwrap_or(words[1]);
            } else if words[0] > level {
                words[0] -= removed;
            }
        } else {
            let mut children = Vec::new();
            layout::for_each_scoped_child(tag, &source.words, |at, child, is_bound| {
                children.push((at, child, level + u32::from(is_bound)));
            });
            for (at, child, level) in children {
                words[at] = copy(graph, child, level, &mut pending)?;
            }
        }
        graph.nodes[new as usize].words = words;
    }
    Ok(start)
}

/// Strongly connected components, children before parents.
fn components(nodes: &[Local]) -> Vec<Vec<u32>> {
    let mut graph = DiGraph::<(), ()>::with_capacity(nodes.len(), 0);
    let indices: Vec<NodeIndex> = nodes.iter().map(|_| graph.add_node(())).collect();
    for (node, &parent) in nodes.iter().zip(&indices) {
        layout::for_each_child(node.tag, &node.words, |child| {
            if child & LOCAL != 0 {
                graph.add_edge(parent, indices[(child & !LOCAL) as usize], ());
            }
        });
    }
    let members = |component: Vec<NodeIndex>| component.into_iter().map(|node| node.index() as u32).collect();
    kosaraju_scc(&graph).into_iter().map(members).collect()
}
