//! The changes from one model to another: as text, and as a picture if a file is given.
//!
//!     cargo run -p typeloom-view --example compare -- old.onnx new.onnx changes.svg

use std::io::Write as _;
use std::time::Instant;

use typeloom_solver::model::Options;
use typeloom_view::matching::matching;
use typeloom_view::plan::Options as Plan;
use typeloom_view::scene::{self, Scene};
use typeloom_view::{changes::Changes, svg};

fn read(file: &str) -> Result<Scene, Box<dyn std::error::Error>> {
    let bytes = std::fs::read(file)?;
    let options = Options { functions: true, ..Options::default() };
    let mut checked = typeloom_ops::check::check(&bytes, &options)?;
    let diagnostics = checked.diagnostics();
    Ok(scene::scene(&mut checked, &diagnostics))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    let files: Vec<String> = std::env::args().skip(1).collect();
    let [old, new, rest @ ..] = &files[..] else { return Err("two models are needed".into()) };
    let (before, after) = (read(old)?, read(new)?);
    let clock = Instant::now();
    let matching = matching(&before, &after);
    let matched = clock.elapsed().as_millis();
    let changes = Changes::of(&before, &after, &matching);
    let union = scene::union(&before, &after, &matching, &changes);
    let total = clock.elapsed().as_millis();
    write!(out, "{}", changes.to_text(&before, &after))?;
    let pairs = matching.nodes.iter().count();
    let sizes = (before.nodes.len(), after.nodes.len());
    writeln!(
        out,
        "\n{} and {} nodes, {pairs} pairs; {} steps; matching {matched} ms, all {total} ms",
        sizes.0,
        sizes.1,
        matching.work.total()
    )?;
    if let [picture] = rest {
        std::fs::write(picture, svg::render(&union, &format!("{old} and {new}"), &Plan::default()))?;
    }
    Ok(())
}
