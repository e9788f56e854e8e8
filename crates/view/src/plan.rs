//! The choice of the groups that a picture shows expanded.
//!
//! A picture is a tree of [`Frame`]s: the level of the model's graph, and inside of it the levels of the
//! expanded groups, of the nested graphs of expanded nodes and of the functions that they call. Groups are
//! expanded breadth first, a whole level at a time, as long as the picture has at most [`Options::max_items`]
//! items and frames are at most [`Options::depth`] deep. So a large model is shown by its groups. A function
//! is not expanded inside of itself.
//!
//! An interactive picture has a [`Selection`] of expanded groups instead, which the reader of the picture
//! chooses.
//!
//! **Invariant:** frames are in breadth-first order: a frame is behind the one that contains it.
//!
//! **Cost:** that of the levels of the frames.

use std::sync::Arc;

use crate::level::{Item, Level};
use crate::map::{Map, OrderedMap};
use crate::recent::Cache;
use crate::scene::{Change, Child, GroupId, Maker, NodeId, Scene, ValueId};
use crate::text::counted;

mod selection;

pub use selection::{Selection, Step};

/// Options of a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// The maximum depth of expanded groups; 0 shows the children of the model's graph only.
    pub depth: usize,
    /// The maximum number of items.
    pub max_items: usize,
}

impl Options {
    /// The maximum number of items if the depth is not given.
    pub const FEW_ITEMS: usize = 150;

    /// The maximum number of items when a page is opened.
    pub const PAGE_ITEMS: usize = 300;

    /// The maximum number of items if the depth is given.
    pub const MAX_ITEMS: usize = 5000;

    /// Everything up to a depth.
    #[must_use]
    pub fn to_depth(depth: usize) -> Self {
        Self { depth, max_items: Self::MAX_ITEMS }
    }
}

/// As many groups as fit into a small picture.
impl Default for Options {
    fn default() -> Self {
        Self { depth: usize::MAX, max_items: Self::FEW_ITEMS }
    }
}

/// One expanded group.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The level of the group.
    pub level: Arc<Level>,
    /// The frame and item that contain it; `None` for the model's graph.
    pub parent: Option<(usize, usize)>,
    /// The frame of the root of its graph: for a function, one for each shown call.
    pub root: usize,
    /// The frames in each item: none, one for a group, or several for a node.
    pub inner: Vec<Vec<usize>>,
}

/// The expanded groups of a picture.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The frames.
    pub frames: Vec<Frame>,
    /// The number of nodes of the model, without functions.
    pub total: usize,
    /// The number of nodes in groups and nested graphs that are not expanded.
    pub hidden: usize,
    /// The number of selected groups that are not expanded, because the picture is large or they are deep.
    pub refused: usize,
    /// The frames of the groups of each graph.
    by_group: Map<(usize, GroupId), usize>,
}

impl Plan {
    /// The maximum depth of a selected group.
    pub const MAX_DEPTH: usize = 256;

    /// Plans a picture. Of a scene that shows two models, groups without changes inside and those that were
    /// added or removed as a whole are not expanded.
    #[must_use]
    pub fn of(scene: &Scene, options: &Options) -> Self {
        Self::of_cached(scene, options, &mut Cache::default())
    }

    /// As [`Plan::of`].
    pub(crate) fn of_cached(scene: &Scene, options: &Options, cache: &mut Cache) -> Self {
        let mut plan = Self::of_main(scene, cache);
        let size = |group, _: &mut Cache| scene.group(group).children.len();
        let is_chosen = |group: &GroupId| scene.group(*group).change() == Change::Changed;
        let has_changes = scene.comparison.as_ref().is_some_and(|comparison| comparison.total > 0);
        plan.grow(scene, options, cache, size, |_, _, _, groups| {
            groups.into_iter().filter(|group| !has_changes || is_chosen(group)).collect()
        });
        plan
    }

    /// Plans a picture with the selected groups expanded. Those beyond `max_items` items or
    /// [`Plan::MAX_DEPTH`] are [refused](Plan::refused), the innermost first.
    #[must_use]
    pub fn selected(scene: &Scene, selection: &Selection, max_items: usize) -> Self {
        Self::selected_cached(scene, selection, max_items, &mut Cache::default())
    }

    /// As [`Plan::selected`].
    pub(crate) fn selected_cached(
        scene: &Scene,
        selection: &Selection,
        max_items: usize,
        cache: &mut Cache,
    ) -> Self {
        let mut plan = Self::of_main(scene, cache);
        // The part of the selection inside of each frame.
        let mut inside: Vec<Option<usize>> = vec![Some(Selection::ROOT)];
        let options = Options { depth: Self::MAX_DEPTH, max_items };
        let size = |group, cache: &mut Cache| cache.level(scene, group).items.len();
        let refused = plan.grow(scene, &options, cache, size, |plan, frame, item, groups| {
            for at in inside.len()..plan.frames.len() {
                let of_frame = plan.frames[at].parent.and_then(|(outer, item)| {
                    let level = &plan.frames[outer].level;
                    selection.inside(inside[outer]?, level.items[item], plan.frames[at].level.group)
                });
                inside.push(of_frame);
            }
            let Some(around) = inside[frame] else { return Vec::new() };
            let item = plan.frames[frame].level.items[item];
            groups.into_iter().filter(|group| selection.contains(around, item, *group)).collect()
        });
        plan.refused = refused;
        plan
    }

    fn of_main(scene: &Scene, cache: &mut Cache) -> Self {
        let mut plan = Self {
            frames: Vec::new(),
            total: scene.group(scene.main()).total,
            hidden: 0,
            refused: 0,
            by_group: Map::default(),
        };
        plan.add(cache.level(scene, scene.main()), None, 0);
        plan
    }

    /// Expands groups within the options: for each item with groups, those that `choose` selects, all or
    /// none. `size` is the number of items of a group. Returns the number of the groups for which there is no
    /// space.
    fn grow(
        &mut self,
        scene: &Scene,
        options: &Options,
        cache: &mut Cache,
        size: impl Fn(GroupId, &mut Cache) -> usize,
        mut choose: impl FnMut(&Self, usize, usize, Vec<GroupId>) -> Vec<GroupId>,
    ) -> usize {
        let mut items = self.frames[0].level.items.len();
        let mut depths = vec![0_usize];
        let mut refused = 0;
        let mut at = 0;
        while at < self.frames.len() {
            let depth = depths[at] + 1;
            for item in 0..self.frames[at].level.items.len() {
                let groups = expandable(scene, self.frames[at].level.items[item]);
                if groups.is_empty() || groups.iter().any(|group| self.is_inside(at, *group)) {
                    continue;
                }
                let groups = choose(self, at, item, groups);
                let mut expanded = items;
                let mut fits = depth <= options.depth;
                for group in &groups {
                    fits = fits && expanded <= options.max_items;
                    if fits {
                        expanded += size(*group, cache);
                    }
                }
                fits = fits && expanded <= options.max_items;
                if !fits {
                    refused += groups.len();
                    continue;
                }
                for group in groups {
                    let is_root = scene.group(group).kind.is_root();
                    let root = if is_root { self.frames.len() } else { self.frames[at].root };
                    self.add(cache.level(scene, group), Some((at, item)), root);
                    depths.push(depth);
                    items += self.frames.last().map_or(0, |frame| frame.level.items.len());
                }
            }
            at += 1;
        }
        self.hidden = self.hidden_nodes(scene);
        refused
    }

    fn add(&mut self, level: Arc<Level>, parent: Option<(usize, usize)>, root: usize) {
        let at = self.frames.len();
        let group = level.group;
        let inner = vec![Vec::new(); level.items.len()];
        self.frames.push(Frame { level, parent, root, inner });
        self.by_group.insert((root, group), at);
        if let Some((frame, item)) = parent {
            self.frames[frame].inner[item].push(at);
        }
    }

    /// Whether a frame shows a group or is inside of one that does.
    fn is_inside(&self, frame: usize, group: GroupId) -> bool {
        let outer = |at: &usize| self.frames[*at].parent.map(|(outer, _)| outer);
        std::iter::successors(Some(frame), outer).any(|at| self.frames[at].level.group == group)
    }

    /// The number of nodes below items that are not expanded. Functions are not counted: they are not part of
    /// the total.
    fn hidden_nodes(&self, scene: &Scene) -> usize {
        let mut hidden = 0;
        for frame in &self.frames {
            if self.is_in_function(scene, frame) {
                continue;
            }
            for (item, inner) in frame.level.items.iter().zip(&frame.inner) {
                if !inner.is_empty() {
                    continue;
                }
                hidden += match item {
                    Item::Child(Child::Group(group)) => scene.group(*group).total,
                    Item::Child(Child::Node(node)) => {
                        let bodies = scene.node(*node).bodies.iter();
                        bodies.map(|body| scene.group(*body).total).sum()
                    }
                    Item::Input(_) | Item::MoreInputs(_) | Item::Output(_) | Item::MoreOutputs(_) => 0,
                };
            }
        }
        hidden
    }

    fn is_in_function(&self, scene: &Scene, frame: &Frame) -> bool {
        let mut at = Some(frame);
        while let Some(frame) = at {
            let root = &self.frames[frame.root];
            if scene.functions.contains(&root.level.group) {
                return true;
            }
            at = root.parent.map(|(outer, _)| &self.frames[outer]);
        }
        false
    }

    /// The frame and item in the graph of a frame that show a node.
    #[must_use]
    pub fn shown(&self, scene: &Scene, frame: usize, node: NodeId) -> Option<(usize, usize)> {
        let root = self.frames[frame].root;
        let (mut group, mut slot) = (scene.node(node).group, scene.node(node).slot);
        loop {
            if let Some(at) = self.by_group.get(&(root, group)) {
                return Some((*at, self.frames[*at].level.child(slot)));
            }
            let outer = scene.group(group);
            if outer.kind.is_root() {
                return None;
            }
            (group, slot) = (outer.parent?, outer.slot);
        }
    }

    /// The frame and item in the graph of a frame that make a value: a node, a group that is not expanded, or
    /// a port of the graph.
    #[must_use]
    pub fn source(&self, scene: &Scene, frame: usize, value: ValueId) -> Option<(usize, usize)> {
        let root = self.frames[frame].root;
        if let Some(port) = self.frames[root].level.input(value) {
            return Some((root, port));
        }
        match scene.value(value).maker {
            Maker::Node { node, .. } => self.shown(scene, frame, node),
            Maker::Input | Maker::Stored | Maker::Undefined => None,
        }
    }

    /// The links between the innermost items of all frames: from a frame and item to another, with their
    /// values. The ports of scopes and parts are left out: their links go through.
    #[must_use]
    pub fn through_links(&self, scene: &Scene) -> Vec<(At, At, Vec<ValueId>)> {
        let mut links: OrderedMap<(At, At), Vec<ValueId>> = OrderedMap::default();
        for (at, frame) in self.frames.iter().enumerate() {
            for link in &frame.level.links {
                if !self.is_drawn(scene, at, link.to) {
                    continue;
                }
                for value in &link.values {
                    if let Some(source) = self.source(scene, at, *value) {
                        links.entry((source, (at, link.to))).or_default().push(*value);
                    }
                }
            }
        }
        links.into_iter().map(|((from, to), values)| (from, to, values)).collect()
    }

    /// Whether an item is an end of a link that goes through scopes.
    #[must_use]
    pub fn is_drawn(&self, scene: &Scene, frame: usize, item: usize) -> bool {
        let level = &self.frames[frame].level;
        match level.items[item] {
            Item::Child(Child::Group(_)) => self.frames[frame].inner[item].is_empty(),
            Item::Child(Child::Node(_)) => true,
            Item::Input(_) | Item::MoreInputs(_) | Item::Output(_) | Item::MoreOutputs(_) => {
                scene.group(level.group).kind.is_root()
            }
        }
    }

    /// A note about the nodes that are not shown; `None` if all are.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let notes = self.notes();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    /// Notes about the nodes that are not shown.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let Self { hidden, total, refused, .. } = self;
        let mut notes = Vec::new();
        if *hidden > 0 {
            notes.push(format!("{hidden} of {total} nodes are in groups that are not expanded"));
        }
        if *refused > 0 {
            notes.push(format!("{} not expanded, because the picture is large", counted(*refused, "group")));
        }
        notes
    }
}

/// A frame and an item of it, by position.
pub type At = (usize, usize);

/// The groups in an item.
pub(crate) fn expandable(scene: &Scene, item: Item) -> Vec<GroupId> {
    match item {
        Item::Child(Child::Group(group)) => vec![group],
        Item::Child(Child::Node(node)) => {
            let node = scene.node(node);
            node.bodies.iter().chain(&node.callee).copied().collect()
        }
        Item::Input(_) | Item::MoreInputs(_) | Item::Output(_) | Item::MoreOutputs(_) => Vec::new(),
    }
}
