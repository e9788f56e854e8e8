//! The requests of a page.

use serde::Deserialize;

/// A request, as a JSON object with its name in `ask`. The answers are in [`answers`](super::answers).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize, ts_rs::TS))]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Facts about the model. Answer: `Summary`.
    Summary {},
    /// A picture for the page. Answer: `Picture`.
    Draw(View),
    /// The same picture as a complete SVG file. Answer: `File`.
    Export(View),
    /// Facts about an item. Answer: `Details`.
    Details {
        /// The item.
        item: String,
    },
    /// The chain of causes of the type of a value, or of the values that a diagnostic concerns. Answer:
    /// `Causes`.
    Causes {
        /// The item of the value.
        item: String,
    },
    /// The expanded groups that make an item visible. Answer: `Reveal`.
    Reveal {
        /// The item.
        item: String,
        /// The groups that are expanded already; null for the default picture.
        #[serde(default)]
        #[cfg_attr(test, ts(optional = nullable))]
        expanded: Option<Vec<String>>,
    },
    /// The items that match a query. Answer: `Results`.
    Search {
        /// The query.
        query: String,
        /// The maximum number of listed results.
        #[serde(default)]
        #[cfg_attr(test, ts(optional = nullable))]
        limit: Option<usize>,
    },
    /// The groups inside of a group. Answer: `Groups`.
    Groups {
        /// The path of the group, or of a node with nested graphs or a function; empty for the model's graph.
        place: String,
    },
    /// The item of a permanent link. Answer: `Found`.
    Find {
        /// The link, see `Details.link`. An item is also a link.
        link: String,
    },
    /// The verdict of a target. Answer: `TargetView`.
    Target {
        /// The name.
        name: String,
    },
    /// The boxes from which and to which values pass. Answer: `Neighbours`.
    Neighbours {
        /// The item.
        item: String,
        /// The path of its box.
        #[serde(default)]
        #[cfg_attr(test, ts(optional = nullable))]
        place: Option<String>,
        /// The expanded groups, as in the request of the picture.
        #[serde(default)]
        #[cfg_attr(test, ts(optional = nullable))]
        expanded: Option<Vec<String>>,
    },
}

/// The contents of a picture.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize, ts_rs::TS))]
#[serde(default, deny_unknown_fields)]
pub struct View {
    /// The paths of expanded groups, or null for the default picture. The path of a node expands all its
    /// graphs. A path has an effect only if the groups around it are expanded.
    #[cfg_attr(test, ts(optional = nullable))]
    pub expanded: Option<Vec<String>>,
    /// The selected item.
    #[cfg_attr(test, ts(optional = nullable))]
    pub selected: Option<String>,
    /// Items to be highlighted.
    #[cfg_attr(test, ts(as = "Option<Vec<String>>", optional))]
    pub highlight: Vec<String>,
    /// The target whose places the boxes have; an unknown one has no effect.
    #[cfg_attr(test, ts(optional = nullable))]
    pub target: Option<String>,
    /// The maximum number of boxes; at most 2000.
    #[cfg_attr(test, ts(optional = nullable))]
    pub max_items: Option<usize>,
}
