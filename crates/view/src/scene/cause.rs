//! Causes of types: each value has one link of its chain.

use super::{NodeId, RuleId, ValueId};

/// The cause of the element type of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cause {
    /// A node relates it with that of another value, whose own cause follows.
    Tie {
        /// The node.
        node: NodeId,
        /// The rule.
        rule: RuleId,
        /// The other value.
        next: ValueId,
    },
    /// A node requires or produces it, independently of its inputs.
    Rule {
        /// The node; `None` for a `Constant`.
        node: Option<NodeId>,
        /// The rule.
        rule: RuleId,
    },
    /// The declaration of an input.
    Input,
    /// Another declaration in the model.
    Declared,
    /// The value is stored in the file.
    Stored,
    /// The caller gave the type.
    Given,
    /// The argument of a call, for an input of a function.
    Argument,
}
