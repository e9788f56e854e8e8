//! `typeloom graph FILE`: the graph of a model as a picture. A model with problems is drawn, with the
//! problems marked.

use typeloom_project::parts::view::plan::Options;
use typeloom_project::parts::view::text::counted;
use typeloom_project::parts::view::{dot, mermaid, svg};

use crate::args::{GraphArgs, GraphFormat};
use crate::exit::Outcome;
use crate::input;
use crate::output::refuse;
use crate::scenes::{self, Drawn};
use crate::target::Target;

pub(crate) fn run(args: &GraphArgs) -> anyhow::Result<Outcome> {
    let source = input::source(&args.file);
    let target = Target::output(args.output.as_deref().unwrap_or("-"))?;
    let Drawn { scene, outcome } = match scenes::of(&args.solve, &source)? {
        Ok(drawn) => drawn,
        Err(diagnostics) => {
            return refuse(&source.name, &diagnostics, crate::args::Color::Auto, "no graph");
        }
    };
    let options = args.depth.map_or_else(Options::default, Options::to_depth);
    let render = match args.format() {
        GraphFormat::Dot => dot::render,
        GraphFormat::Mermaid => mermaid::render,
        GraphFormat::Svg => svg::render,
    };
    target.write(render(&scene, &source.name, &options).as_bytes())?;
    target.announce(&source, &counted(scene.group(scene.main()).total, "node"))?;
    Ok(outcome)
}
