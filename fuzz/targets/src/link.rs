//! Linking of a model with itself.

use bytes::Bytes;
use typeloom_interface::Interface;
use typeloom_link::{Casts, Connection, LinkOptions, Narrowing, Part, Unproven, external_locations, link};
use typeloom_ops::described::Operators;
use typeloom_solver::model::{Mode, Options};
use typeloom_solver::universe::Universe;

/// Maximum input length; the result is materialised.
const MAX_LENGTH: usize = 1 << 20;
/// Maximum number of connections that are tried alone.
const MAX_CONNECTIONS: usize = 4;

/// Links the bytes with themselves: some output with some input, under the strictest and the most permissive
/// options.
///
/// A refusal because of the interface is no failure: extents beyond the range of integers are unknown
/// extents, at another node in the result than in the sequence.
///
/// # Panics
/// If a linked model does not check.
pub fn link_models(bytes: &[u8]) {
    let mode = Mode::Permissive;
    let options = Options { mode, ..Options::default() };
    let model = Bytes::copy_from_slice(bytes);
    let _ = external_locations(&model);
    if bytes.len() > MAX_LENGTH {
        return;
    }
    let Ok(mut checked) = typeloom_ops::check::check(bytes, &options) else { return };
    let interface = Interface::of_checked(&mut checked);
    drop(checked);
    let outputs = interface.outputs.iter().map(|output| output.name.clone());
    let inputs = interface.inputs.iter().map(|input| input.name.clone());
    let pairs = outputs.zip(inputs.collect::<Vec<_>>().into_iter().rev().cycle());
    let operators = Operators::standard();
    for (output, input) in pairs.take(MAX_CONNECTIONS) {
        let strict = LinkOptions {
            map: vec![Connection::new(output, input)],
            prefixes: [String::new(), "second/".to_owned()],
            mode,
            ..LinkOptions::default()
        };
        let permissive = LinkOptions {
            casts: Casts::Any,
            narrowing: Narrowing::Allow,
            unproven: Unproven::Accept,
            ..strict.clone()
        };
        let part = Part { name: "model", bytes: &model };
        for linking in [strict, permissive] {
            if let Ok(linked) = link(&[part, part], &operators, Universe::standard(), &linking) {
                let file = linked.to_vec([bytes, bytes]);
                let ok = typeloom_ops::check::check(&file, &options).is_ok_and(|checked| checked.is_ok());
                assert!(ok, "a linked model checks");
            }
        }
    }
}
