//! Writes the signature of every public item of crates to a bundle and checks that reading it yields the same
//! term.
//!
//! `cargo run --release -p typeloom-rust-api --example round_trip target/doc/*.json`

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::collections::HashSet;

use typeloom_pool::Pool;
use typeloom_rust_api::{Counts, Edition, bundle, describe, signature};
use typeloom_term::normal::normal_form;
use typeloom_term::{Boxed, Symbols};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cx = Boxed::new();
    let mut failed = 0;
    for file in std::env::args().skip(1) {
        let mut symbols = Symbols::new();
        let api = describe(&std::fs::read(&file)?, Edition::default(), &mut symbols)?;
        let bundle = bundle(&api, &mut symbols)?;
        let mut pool = Pool::new();
        let roots: HashSet<_> = pool.import(bundle.as_bytes())?.into_iter().map(|root| root.ty).collect();
        let imported = pool.len();
        let (mut same, mut different) = (0, Vec::new());
        for item in &api.items {
            let Some(ty) = signature(item, &mut symbols)? else { continue };
            // The pool contains only the types of the bundle: the term must be one of its roots, and must be
            // returned unchanged.
            let id = pool.intern_term(&cx, &symbols, &ty)?;
            let back = pool.term(&cx, &mut symbols, id)?;
            if roots.contains(&id) && back == normal_form(&cx, &ty)? {
                same += 1;
            } else {
                different.push(&item.path);
            }
        }
        failed += different.len();
        println!("{file}: {same} signatures are unchanged, {} differ", different.len());
        let Counts { occurrences, distinct, unknown, .. } = &api.counts;
        println!(
            "  {} items, {occurrences} occurrences of {distinct} types, {} unknown; the bundle: {} types, {} bytes",
            api.items.len(),
            unknown.values().sum::<usize>(),
            imported,
            bundle.as_bytes().len()
        );
        for path in different {
            println!("  {path}");
        }
    }
    if failed > 0 { Err("some signatures differ after the round trip".into()) } else { Ok(()) }
}
