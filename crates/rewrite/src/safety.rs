//! The safety of repairs: which are applied without a decision of the user.

/// The safety of a repair.
///
/// `Safe < Unsafe`, so a repair is applied if its safety is at most the permitted one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Safety {
    /// Every value whose type was right has the same result as before, bit for bit. The repair defines only the results of
    /// nodes in error.
    #[default]
    Safe,
    /// The repair changes results, makes different values equal, or is one of several with different results.
    Unsafe,
}

/// An unsafe repair that was not applied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Withheld {
    /// The path of the graph; empty for the main graph.
    pub graph: String,
    /// The repair and the reason why it is unsafe, for example ``c: int64 -> uint8: -1 becomes 255``.
    pub repair: String,
}
