//! The tree of groups of one graph: prefixes of scopes, collapsed and split (see the parent module).

use std::collections::HashMap;

use super::scopes::Scope;
use super::{ChangeCounts, Child, Group, GroupId, GroupKind, MAX_CHILDREN, NodeId};

/// A group during construction.
struct Draft {
    kind: GroupKind,
    label: String,
    children: Vec<Item>,
}

/// A child of a draft, by position.
#[derive(Clone, Copy)]
enum Item {
    Node(usize),
    Draft(usize),
}

/// The order of the nodes of a graph: for each new position the old one, with the group and slot of the node.
pub(super) type Order = Vec<(usize, GroupId, u32)>;

/// Adds the groups of one graph below `root`, which is in `groups` and becomes the first of them. The nodes
/// are numbered from `first`.
pub(super) fn arrange(
    groups: &mut Vec<Group>,
    root: GroupId,
    first: usize,
    scopes: &[Vec<Scope<'_>>],
) -> Order {
    let mut drafts = prefixes(scopes);
    collapse(&mut drafts);
    split(&mut drafts);
    number(groups, root, first, &mut drafts)
}

/// The tree of prefixes; the first draft is the root.
fn prefixes(scopes: &[Vec<Scope<'_>>]) -> Vec<Draft> {
    let mut drafts = vec![Draft { kind: GroupKind::Part, label: String::new(), children: Vec::new() }];
    let mut known: HashMap<(usize, &str), usize> = HashMap::new();
    for (node, path) in scopes.iter().enumerate() {
        let mut at = 0;
        for scope in path {
            let next = drafts.len();
            let inner = *known.entry((at, scope.name)).or_insert(next);
            if inner == next {
                let kind = GroupKind::Scope { class: scope.class.to_owned() };
                drafts.push(Draft { kind, label: scope.name.to_owned(), children: Vec::new() });
                drafts[at].children.push(Item::Draft(inner));
            }
            at = inner;
        }
        drafts[at].children.push(Item::Node(node));
    }
    drafts
}

/// Replaces drafts with one child. Children are behind their parents, so each is finished before its parent.
fn collapse(drafts: &mut [Draft]) {
    for at in (0..drafts.len()).rev() {
        let mut children = std::mem::take(&mut drafts[at].children);
        for child in &mut children {
            if let Item::Draft(inner) = *child
                && let [Item::Node(only)] = drafts[inner].children[..]
            {
                *child = Item::Node(only);
            }
        }
        if let [Item::Draft(inner)] = children[..] {
            children = std::mem::take(&mut drafts[inner].children);
            if at != 0 {
                let label = std::mem::take(&mut drafts[inner].label);
                drafts[at].label.push('/');
                drafts[at].label.push_str(&label);
                drafts[at].kind = drafts[inner].kind.clone();
            }
        }
        drafts[at].children = children;
    }
}

/// Splits drafts with many children into parts.
fn split(drafts: &mut Vec<Draft>) {
    for at in 0..drafts.len() {
        let mut children = std::mem::take(&mut drafts[at].children);
        while children.len() > MAX_CHILDREN {
            let count = children.len().div_ceil(MAX_CHILDREN);
            let (size, longer) = (children.len() / count, children.len() % count);
            let mut rest = &children[..];
            let mut parts = Vec::with_capacity(count);
            for part in 0..count {
                let (own, others) = rest.split_at(size + usize::from(part < longer));
                rest = others;
                parts.push(Item::Draft(drafts.len()));
                let label = format!("part {} of {count}", part + 1);
                drafts.push(Draft { kind: GroupKind::Part, label, children: own.to_vec() });
            }
            children = parts;
        }
        drafts[at].children = children;
    }
}

/// Numbers drafts and nodes in pre-order.
fn number(groups: &mut Vec<Group>, root: GroupId, first: usize, drafts: &mut [Draft]) -> Order {
    let mut order = Vec::new();
    // Drafts that are being listed: the draft, its group and the next child.
    let mut open = vec![(0_usize, root, 0_usize)];
    groups[root.index()].nodes.start = position(first);
    while let Some((draft, group, next)) = open.pop() {
        let Some(item) = drafts[draft].children.get(next).copied() else {
            groups[group.index()].nodes.end = position(first + order.len());
            continue;
        };
        open.push((draft, group, next + 1));
        let slot = position(next);
        let child = match item {
            Item::Node(node) => {
                let id = NodeId::new(first + order.len());
                order.push((node, group, slot));
                Child::Node(id)
            }
            Item::Draft(inner) => {
                let id = GroupId::new(groups.len());
                let start = position(first + order.len());
                groups.push(Group {
                    kind: drafts[inner].kind.clone(),
                    label: std::mem::take(&mut drafts[inner].label),
                    parent: Some(group),
                    slot,
                    depth: groups[group.index()].depth + 1,
                    nodes: start..start,
                    ..Group::default()
                });
                open.push((inner, id, 0));
                Child::Group(id)
            }
        };
        groups[group.index()].children.push(child);
    }
    order
}

/// A position in 32 bits.
///
/// # Panics
/// If the table is longer than ids can number.
pub(crate) fn position(at: usize) -> u32 {
    u32::try_from(at).expect("a table has fewer than 2^32 items")
}

impl Default for Group {
    fn default() -> Self {
        Self {
            kind: GroupKind::Main,
            label: String::new(),
            parent: None,
            slot: 0,
            depth: 0,
            children: Vec::new(),
            nodes: 0..0,
            total: 0,
            inputs: Vec::new(),
            outputs: Vec::new(),
            errors: 0,
            warnings: 0,
            changes: ChangeCounts::default(),
        }
    }
}
