//! Names in the IR: domains of operators, metadata keys, attributes.

/// Operators that convert values between types.
pub const TYPES_DOMAIN: &str = "ai.bytesandbrains.types";
/// Operators that send values to peers and receive them.
pub const WIRE_DOMAIN: &str = "ai.bytesandbrains.wire";
/// Operators that bundle values and unbundle them.
pub const COMPOSITE_DOMAIN: &str = "ai.bytesandbrains.composite";
/// Calls of functions that another module exports.
pub const IMPORT_DOMAIN: &str = "ai.bytesandbrains.import";
/// Structural operators on lists of peers.
pub const PEERS_DOMAIN: &str = "ai.bytesandbrains.peers";
/// Modules that are called as functions.
pub const MODULE_DOMAIN: &str = "ai.bytesandbrains.module";

/// Key: the name of the trait that a node requires of its component.
pub const REQUIRED_TRAIT: &str = "ai.bytesandbrains.required_trait";
/// Key: the slot that a node runs on.
pub const SLOT_ID: &str = "ai.bytesandbrains.slot_id";
/// Key: the slot and the method that a node was resolved to.
pub const DISPATCH: &str = "ai.bytesandbrains.dispatch";
/// Key prefix: a storage type of a slot's component, followed by a dot and the associated type.
pub const BINDING: &str = "ai.bytesandbrains.binding";
/// Key: the peer class of a node or value, or the target of a send.
pub const PEER_CLASS: &str = "ai.bytesandbrains.peer_class";
/// Key: set on outputs that go to the network; on their sends, the name of the output.
pub const NET_OUT: &str = "ai.bytesandbrains.net_out";
/// Attribute: the parameter types of an imported function.
pub const PARAMS: &str = "params";
/// Attribute: the result types of an imported function.
pub const RESULTS: &str = "results";
/// Attribute: the parameter names of an imported function.
pub const PARAMS_NAMES: &str = "params_names";
/// Attribute: the result names of an imported function.
pub const RESULTS_NAMES: &str = "results_names";
/// Key: the source location of a node, `file:line:column`.
pub const SOURCE_LOCATION: &str = "typeloom.place";

/// The keys that most nodes have, shared.
pub mod keys {
    use std::sync::LazyLock;

    use typeloom_onnx::messages::SharedText;

    pub static REQUIRED_TRAIT: LazyLock<SharedText> = LazyLock::new(|| super::REQUIRED_TRAIT.into());
    pub static SLOT_ID: LazyLock<SharedText> = LazyLock::new(|| super::SLOT_ID.into());
    pub static DISPATCH: LazyLock<SharedText> = LazyLock::new(|| super::DISPATCH.into());
    pub static SOURCE_LOCATION: LazyLock<SharedText> = LazyLock::new(|| super::SOURCE_LOCATION.into());
}

/// `ReduceSum` as `reduce_sum`, `GRU` as `gru`, `MatMul` as `mat_mul`.
#[must_use]
pub fn snake_case(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut snake = String::with_capacity(name.len() + 4);
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| chars[before]);
        let starts_word = c.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || (before.is_ascii_digit() && chars.get(at + 1).is_some_and(char::is_ascii_lowercase))
                    || (before.is_ascii_uppercase()
                        && chars.get(at + 1).is_some_and(char::is_ascii_lowercase))
            });
        if starts_word {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}
