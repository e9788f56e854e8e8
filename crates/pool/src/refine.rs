//! Partition refinement: nodes of a graph with ordered edges that unfold to the same tree.
//!
//! Moore's algorithm with ordered classes. Nodes are first ranked by their own keys; each round ranks the
//! nodes of a class by the ranks of their children, until no class splits. Two nodes end in the same class
//! exactly if they are bisimilar. The order of the classes depends only on the order of the initial keys and
//! on the structure of the graph, not on the numbering of nodes or on class sizes, so it is also a canonical
//! numbering, which the format of bundles prescribes.
//!
//! A round visits only classes with more than one node. The number of rounds can reach the number of nodes,
//! so the caller limits the work.

/// Edges of node `i` are `targets[offsets[i] .. offsets[i + 1]]`.
#[derive(Clone, Debug)]
pub(crate) struct Edges {
    offsets: Vec<u32>,
    targets: Vec<u32>,
}

impl Default for Edges {
    fn default() -> Self {
        Edges { offsets: vec![0], targets: Vec::new() }
    }
}

impl Edges {
    /// Adds an edge of the node after the last closed one.
    pub(crate) fn push(&mut self, target: u32) {
        self.targets.push(target);
    }

    pub(crate) fn close_node(&mut self) {
        self.offsets.push(self.targets.len() as u32);
    }

    pub(crate) fn of(&self, node: u32) -> &[u32] {
        &self.targets[self.offsets[node as usize] as usize..self.offsets[node as usize + 1] as usize]
    }
}

/// Error of exceeding the work limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfWork;

/// Returns for every node the number of nodes in smaller classes. Nodes with equal keys must have the same
/// number of edges. Steps are subtracted from `work`.
pub(crate) fn refine<K: Ord>(keys: &[K], edges: &Edges, work: &mut u64) -> Result<Vec<u32>, OutOfWork> {
    let count = keys.len();
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.sort_by(|&a, &b| keys[a as usize].cmp(&keys[b as usize]));
    let mut rank = vec![0u32; count];
    let mut open: Vec<(u32, u32)> = Vec::new();
    let mut start = 0;
    for end in 1..=count {
        if end == count || keys[order[end] as usize] != keys[order[start] as usize] {
            for &node in &order[start..end] {
                rank[node as usize] = start as u32;
            }
            if end - start > 1 {
                open.push((start as u32, end as u32));
            }
            start = end;
        }
    }
    let mut changes: Vec<(u32, u32)> = Vec::new();
    while !open.is_empty() {
        let mut still_open = Vec::new();
        let mut split = false;
        changes.clear();
        for &(start, end) in &open {
            let class = &mut order[start as usize..end as usize];
            let edge_count: usize = class.iter().map(|&node| edges.of(node).len()).sum();
            let steps = (edge_count + class.len()) as u64 * u64::from(class.len().ilog2() + 1);
            *work = work.checked_sub(steps).ok_or(OutOfWork)?;
            let ranks_of = |node: u32| edges.of(node).iter().map(|&child| rank[child as usize]);
            class.sort_by(|&a, &b| ranks_of(a).cmp(ranks_of(b)));
            let mut begin = 0;
            for at in 1..=class.len() {
                if at == class.len() || ranks_of(class[at]).ne(ranks_of(class[begin])) {
                    if begin > 0 {
                        split = true;
                        changes.extend(class[begin..at].iter().map(|&node| (node, start + begin as u32)));
                    }
                    if at - begin > 1 {
                        still_open.push((start + begin as u32, start + at as u32));
                    }
                    begin = at;
                }
            }
        }
        for &(node, new) in &changes {
            rank[node as usize] = new;
        }
        if !split {
            break;
        }
        open = still_open;
    }
    Ok(rank)
}
