//! Two versions of a crate, compared.

use typeloom_rust_api::{Api, Edition, ItemChange, diff, lower, read};
use typeloom_term::Symbols;

/// Compares two crates by their rustdoc JSON.
pub(crate) fn compare(old: &[u8], new: &[u8]) -> Vec<ItemChange> {
    let edition = Edition::default();
    let mut symbols = Symbols::new();
    let old = read(old).expect("rustdoc wrote it");
    let new = read(new).expect("rustdoc wrote it");
    let old: Api = lower(&old, edition, &mut symbols, None).expect("the crate is small");
    let new: Api = lower(&new, edition, &mut symbols, Some(&old)).expect("the crate is small");
    diff(&old, &new, &mut symbols).expect("the crate is small")
}
