//! Types of a pool, written to a bundle, read by another pool, and compared.
//!
//! `cargo run --example pool_bundle`

use typeloom::interface::Direction;
use typeloom::pool::{Idx, Pool, PoolError, Tag};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// `struct scores { names: list<str>, best: option<SCORE> }`
fn scores(pool: &mut Pool, score: Tag) -> Result<Idx, PoolError> {
    let (name, score) = (pool.primitive(Tag::Str)?, pool.primitive(score)?);
    let (names, best) = (pool.list(name)?, pool.option(score)?);
    let fields = [(pool.name("names")?, names), (pool.name("best")?, best)];
    let structure = pool.name("scores")?;
    pool.structure(structure, &fields)
}

#[expect(clippy::print_stdout, reason = "an example prints")]
pub(crate) fn main() -> Outcome<()> {
    println!("{}", walk()?.join("\n"));
    Ok(())
}

/// The printed lines.
pub(crate) fn walk() -> Outcome<Vec<String>> {
    let mut sender = Pool::new();
    let old = scores(&mut sender, Tag::Int)?;
    let bundle = sender.export(&[("scores", old)])?;

    let mut receiver = Pool::new();
    let root = receiver.import(bundle.as_bytes())?.remove(0);
    let same = receiver.digest(root.ty)? == sender.digest(old)?;
    let mut lines = vec![receiver.signature(root.ty), format!("same digest: {same}")];

    let new = scores(&mut receiver, Tag::Float)?;
    let compat = receiver.compat(root.ty, new, Direction::Backward);
    lines.push(format!("compatible: {}", compat.is_compatible()));
    lines.extend(compat.to_string().lines().map(str::to_owned));
    Ok(lines)
}
