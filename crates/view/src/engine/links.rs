//! Permanent links: names of items that stay the same if the model changes elsewhere.
//!
//! | link | item |
//! |---|---|
//! | `node/NAME`, `value/NAME` | the first node or value with the name |
//! | `group/PATH` | the first group with the path: the labels of the groups around it and its own, joined by `/` |
//! | `diagnostic/CODE` | the first diagnostic with the code |
//! | `node~3/NAME` | the third one |
//! | `code/3` | the third diagnostic |
//! | `n34` | an item without a name, or with a name that is longer than [`MAX_LINK`] |
//!
//! **Cost:** linear in the scene.

use super::Engine;
use super::item::Subject;
use crate::scene::{GroupId, MarkId, NodeId, Scene, ValueId};

/// Maximum length of a name in a link, in bytes.
const MAX_LINK: usize = 1 << 10;

impl Engine {
    /// The link of an item.
    pub(super) fn link(&self, subject: Subject) -> String {
        let scene = &self.scene;
        let (kind, name, earlier) = match subject {
            Subject::Node(node) => {
                let name = &scene.node(node).name;
                let same = |it: &&crate::scene::Node| it.name == *name;
                ("node", name.clone(), scene.nodes[..node.index()].iter().filter(same).count())
            }
            Subject::Value(value) => {
                let name = &scene.value(value).name;
                let same = |it: &&crate::scene::Value| it.name == *name;
                ("value", name.clone(), scene.values[..value.index()].iter().filter(same).count())
            }
            Subject::Mark(mark) => {
                let code = scene.mark(mark).code;
                let same = |it: &&crate::scene::Mark| it.code == code;
                ("diagnostic", code.to_owned(), scene.marks[..mark.index()].iter().filter(same).count())
            }
            Subject::Group(group) => {
                let Some(path) = path_of(scene, group) else { return subject.to_string() };
                let earlier = (0..group.index()).map(GroupId::new);
                let count = earlier.filter(|it| has_path(scene, *it, &path)).count();
                ("group", path, count)
            }
        };
        match (name.len(), earlier) {
            (0, _) | (MAX_LINK.., _) => subject.to_string(),
            (_, 0) => format!("{kind}/{name}"),
            (_, earlier) => format!("{kind}~{}/{name}", earlier + 1),
        }
    }

    /// The item of a link.
    pub(super) fn find(&self, link: &str) -> Option<Subject> {
        let scene = &self.scene;
        if link.len() > 2 * MAX_LINK {
            return None;
        }
        let Some((kind, name)) = link.split_once('/') else { return Subject::parse(scene, link) };
        let (kind, number) = match kind.split_once('~') {
            Some((kind, number)) => (kind, number.parse::<usize>().ok()?.checked_sub(1)?),
            None => (kind, 0),
        };
        match kind {
            "node" => {
                let mut found = (0..scene.nodes.len()).map(NodeId::new);
                found.by_ref().filter(|it| scene.node(*it).name == name).nth(number).map(Subject::Node)
            }
            "value" => {
                let mut found = (0..scene.values.len()).map(ValueId::new);
                found.by_ref().filter(|it| scene.value(*it).name == name).nth(number).map(Subject::Value)
            }
            "diagnostic" => {
                let mut found = (0..scene.marks.len()).map(MarkId::new);
                found.by_ref().filter(|it| scene.mark(*it).code == name).nth(number).map(Subject::Mark)
            }
            "group" => {
                let mut found = (0..scene.groups.len()).map(GroupId::new);
                found.by_ref().filter(|it| has_path(scene, *it, name)).nth(number).map(Subject::Group)
            }
            "code" => {
                let at = name.parse::<usize>().ok()?.checked_sub(1)?;
                (at < scene.marks.len()).then(|| Subject::Mark(MarkId::new(at)))
            }
            _ => None,
        }
    }
}

/// The labels around a group and its own; `None` if they are long or empty.
fn path_of(scene: &Scene, group: GroupId) -> Option<String> {
    let mut labels = Vec::new();
    let mut length = 0;
    let mut at = Some(group);
    while let Some(group) = at {
        let group = scene.group(group);
        length += group.label.len() + 1;
        if length > MAX_LINK {
            return None;
        }
        labels.push(group.label.as_str());
        at = group.parent;
    }
    labels.reverse();
    let path = labels.join("/");
    let path = path.trim_start_matches('/');
    (!path.is_empty()).then(|| path.to_owned())
}

/// Whether a group has a path. Labels are compared from the inside out.
fn has_path(scene: &Scene, group: GroupId, path: &str) -> bool {
    if path.is_empty() {
        return false;
    }
    let mut rest = path;
    let mut at = Some(group);
    while let Some(group) = at {
        let group = scene.group(group);
        let Some(before) = rest.strip_suffix(group.label.as_str()) else { return false };
        at = group.parent;
        rest = match before.strip_suffix('/') {
            Some(before) => before,
            // The outermost labels are empty.
            None if before.is_empty() => return is_unlabelled(scene, at),
            None => return false,
        };
    }
    rest.is_empty()
}

/// Whether a group and those around it have no label.
fn is_unlabelled(scene: &Scene, group: Option<GroupId>) -> bool {
    let outer = |at: &GroupId| scene.group(*at).parent;
    std::iter::successors(group, outer).all(|at| scene.group(at).label.is_empty())
}
