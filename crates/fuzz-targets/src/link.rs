//! Linking of a model with itself.

use bytes::Bytes;
use typeloom_interface::Interface;
use typeloom_link::{
    Casts, Connection, LinkError, LinkOptions, Narrowing, Part, Unproven, external_locations, link,
};
use typeloom_ops::described::Operators;
use typeloom_solver::model::{Mode, Options};
use typeloom_solver::universe::Universe;

/// Maximum input length; the result is materialised.
const MAX_LENGTH: usize = 1 << 20;
/// Maximum number of connections that are tried alone.
const MAX_CONNECTIONS: usize = 4;

/// Links the bytes with themselves: some output with some input, under the strictest and the most permissive options.
///
/// # Panics
/// If a linked model does not check, or has another interface than the sequence.
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
        for (linking, is_strict) in [(strict, true), (permissive, false)] {
            match link(&[part, part], &operators, Universe::standard(), &linking) {
                Ok(linked) => {
                    let file = linked.to_vec([bytes, bytes]);
                    let ok = typeloom_ops::check::check(&file, &options).is_ok_and(|checked| checked.is_ok());
                    assert!(ok, "a linked model checks");
                }
                Err(error @ LinkError::Interface(_)) if is_strict => panic!("{error}"),
                Err(_) => {}
            }
        }
    }
}
