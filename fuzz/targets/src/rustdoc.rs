//! Rustdoc JSON of crates.

use typeloom_pool::compat::TypePath;
use typeloom_report::rust as report;
use typeloom_rust_api::{Edition, bundle, describe, diff, lower, read, self_check};
use typeloom_term::Symbols;

/// Describes a crate, adds it to a bundle, and compares it with itself, with and without proofs.
///
/// # Panics
/// If a crate differs from itself. An item with an unresolved name equals nothing, so it is left out.
pub fn rustdoc(bytes: &[u8]) {
    // Long inputs are slow and out of scope.
    if bytes.len() > 1 << 20 {
        return;
    }
    let edition = if bytes.len().is_multiple_of(2) { Edition::E2024 } else { Edition::E2021 };
    let mut symbols = Symbols::new();
    let Ok(api) = describe(bytes, edition, &mut symbols) else { return };
    let _ = report::description(&api, &mut symbols);
    let _ = bundle(&api, &mut symbols);
    let _ = self_check(&api, &mut symbols);
    let again = read(bytes).ok().and_then(|krate| lower(&krate, edition, &mut symbols, Some(&api)).ok());
    let again = again.expect("the second read succeeds as the first");
    if let Ok(changes) = diff(&api, &again, &mut symbols) {
        let text = report::changes_text(&changes);
        let is_unresolved = |path: &TypePath| path.to_string() == "unresolved";
        let breaks = changes.iter().any(|change| change.breaking && !is_unresolved(&change.path));
        assert!(!breaks, "a crate breaks itself: {text}");
    }
}
