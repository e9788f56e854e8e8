//! Checks that every public item of crates can be proven substitutable for itself.
//!
//! `cargo run --release -p typeloom-rust-api --example self_check target/doc/*.json`

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use typeloom_rust_api::{Edition, describe, self_check};
use typeloom_term::Symbols;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for file in std::env::args().skip(1) {
        let mut symbols = Symbols::new();
        let api = describe(&std::fs::read(&file)?, Edition::default(), &mut symbols)?;
        let unproven = self_check(&api, &mut symbols)?;
        println!("{file}: {} items, {} of them not proven", api.items.len(), unproven.len());
        for change in unproven {
            println!("  {} at {}", change.item, change.path);
        }
    }
    Ok(())
}
