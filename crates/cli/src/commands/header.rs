//! `typeloom header [FILE]`: a C header for the C interface, the type tree, and the ports of a program.

use anyhow::{Context as _, bail};
use typeloom_project::interfaces::{self, Content, Interfaces};
use typeloom_project::parts::interface::MAIN;
use typeloom_project::parts::report::c_header::{Program, c_header};
use typeloom_project::parts::types::lattice::Lattice;

use crate::args::HeaderArgs;
use crate::exit::Outcome;
use crate::input;
use crate::output::refuse;
use crate::target::Target;

pub(crate) fn run(args: &HeaderArgs) -> anyhow::Result<Outcome> {
    let output = args.output.as_deref().unwrap_or("-");
    let Some(file) = &args.file else {
        Target::output(output)?.write(c_header(Lattice::get(), None)?.as_bytes())?;
        return Ok(Outcome::Typed);
    };
    let source = input::source(file);
    let target = Target::output(output)?;
    let interfaces = match interfaces::read(&source.open()?, &crate::settings::plan(&args.solve, &source)?)? {
        Ok(Content::Interfaces(interfaces)) => interfaces,
        Ok(Content::Types(_)) => bail!("`{}` has types, but no interfaces", source.name),
        Err(diagnostics) => return refuse(&source.name, &diagnostics, args.color, "no header"),
    };
    let Interfaces { program, functions, origin: _ } = interfaces;
    let name = args.name.as_deref().unwrap_or(if program.is_empty() { MAIN } else { &program });
    let program = Program { name, functions: &functions };
    let header =
        c_header(Lattice::get(), Some(program)).with_context(|| format!("no header of `{}`", source.name))?;
    target.write(header.as_bytes())?;
    target.announce(&source, &format!("{} functions", functions.len()))?;
    Ok(Outcome::Typed)
}
