//! Repairs that need a decision of the user, see [`Safety`](typeloom_solver::diagnostic::Safety).

/// An unsafe repair that was not applied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Withheld {
    /// The path of the graph; empty for the main graph.
    pub graph: String,
    /// The repair and the reason why it is unsafe, for example ``c: int64 -> uint8: -1 becomes 255``.
    pub repair: String,
}
