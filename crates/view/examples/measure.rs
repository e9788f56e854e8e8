//! Counts and times of the scene and the picture of a model.
//!
//!     cargo run --release -p typeloom-view --example measure -- models/decoder.onnx

use std::io::Write as _;
use std::time::Instant;

use typeloom_solver::model::Options;
use typeloom_view::level::Level;
use typeloom_view::plan::Options as Plan;
use typeloom_view::scene::GroupId;
use typeloom_view::{scene, svg, wire};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    for file in std::env::args().skip(1) {
        let bytes = std::fs::read(&file)?;
        let mut clock = Instant::now();
        let mut lap = || std::mem::replace(&mut clock, Instant::now()).elapsed().as_millis();
        let mut checked = typeloom_ops::check::check(
            &bytes,
            &Options { functions: true, trace: true, ..Options::default() },
        )?;
        let diagnostics = checked.diagnostics();
        let check = lap();
        let scene = scene::scene(&mut checked, &diagnostics);
        let build = lap();
        let groups = (0..scene.groups.len()).map(GroupId::new);
        let sizes: Vec<(usize, usize)> = groups
            .map(|group| Level::of(&scene, group))
            .map(|level| (level.items.len(), level.links.len()))
            .collect();
        let levels = lap();
        let picture = svg::render(&scene, &file, &Plan::default());
        let draw = lap();
        let encoded = wire::encode(&scene);
        let encode = lap();
        wire::decode(&encoded)?;
        let decode = lap();
        let compressed = miniz_oxide::deflate::compress_to_vec(&encoded, 9).len();
        let (items, links) = (sizes.iter().map(|it| it.0).max(), sizes.iter().map(|it| it.1).max());
        writeln!(
            out,
            "{file}: {} nodes, {} values, {} types, {} groups; largest level {} items, {} links; picture {} bytes",
            scene.nodes.len(),
            scene.values.len(),
            scene.types.len(),
            scene.groups.len(),
            items.unwrap_or_default(),
            links.unwrap_or_default(),
            picture.len()
        )?;
        writeln!(out, "  check {check} ms, scene {build} ms, all levels {levels} ms, picture {draw} ms")?;
        writeln!(
            out,
            "  encoded {} bytes in {encode} ms, decoded in {decode} ms; {compressed} bytes compressed, {:.1} for each node",
            encoded.len(),
            compressed as f64 / scene.nodes.len().max(1) as f64
        )?;
    }
    Ok(())
}
