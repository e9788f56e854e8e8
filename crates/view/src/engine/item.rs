//! The text form of the items of a scene: `g12` (group), `n34` (node), `v56` (value) and `d7` (mark).

use std::fmt;

use crate::scene::{GroupId, MarkId, NodeId, Scene, ValueId};

/// An item of a scene.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Subject {
    Group(GroupId),
    Node(NodeId),
    Value(ValueId),
    Mark(MarkId),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group(group) => write!(f, "g{}", group.index()),
            Self::Node(node) => write!(f, "n{}", node.index()),
            Self::Value(value) => write!(f, "v{}", value.index()),
            Self::Mark(mark) => write!(f, "d{}", mark.index()),
        }
    }
}

impl Subject {
    /// Parses the text form of an item; `None` if the text is malformed or the scene does not have the item.
    pub(crate) fn parse(scene: &Scene, text: &str) -> Option<Self> {
        let number = text.get(1..)?;
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let at: usize = number.parse().ok()?;
        match text.as_bytes().first()? {
            b'g' if at < scene.groups.len() => Some(Self::Group(GroupId::new(at))),
            b'n' if at < scene.nodes.len() => Some(Self::Node(NodeId::new(at))),
            b'v' if at < scene.values.len() => Some(Self::Value(ValueId::new(at))),
            b'd' if at < scene.marks.len() => Some(Self::Mark(MarkId::new(at))),
            _ => None,
        }
    }
}
