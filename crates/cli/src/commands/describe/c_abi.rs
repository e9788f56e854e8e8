//! `typeloom describe [FILE] --as c-abi`: a C header for the C interface, the type tree, and the ports of a
//! program.

use anyhow::{Context as _, bail};
use typeloom_project::interfaces::Interfaces;
use typeloom_project::parts::interface::MAIN;
use typeloom_project::parts::report::c_header::{Program, c_header};
use typeloom_project::parts::types::lattice::Lattice;
use typeloom_project::parts::types::plural::counted;

use crate::args::DescribeArgs;
use crate::exit::Outcome;
use crate::input::Source;
use crate::target::Target;

/// The destination of the header.
fn target(args: &DescribeArgs) -> anyhow::Result<Target> {
    if args.contract.max_batch.is_some() {
        bail!("--max-batch is an option of `--as triton`");
    }
    Target::output(args.output.as_deref().unwrap_or("-"))
}

/// Writes the header without a program.
pub(super) fn without_program(args: &DescribeArgs) -> anyhow::Result<Outcome> {
    if args.contract.model_name.is_some() {
        bail!("--model-name needs a FILE");
    }
    target(args)?.write(c_header(Lattice::get(), None)?.as_bytes())?;
    Ok(Outcome::Typed)
}

/// Writes the header of a program.
pub(super) fn run(args: &DescribeArgs, source: &Source, interfaces: &Interfaces) -> anyhow::Result<Outcome> {
    let target = target(args)?;
    let Interfaces { program, functions, origin: _ } = interfaces;
    let name = args.contract.model_name.as_deref().unwrap_or(if program.is_empty() { MAIN } else { program });
    let program = Program { name, functions };
    let header =
        c_header(Lattice::get(), Some(program)).with_context(|| format!("no header of `{}`", source.name))?;
    target.write(header.as_bytes())?;
    target.announce(source, &counted(functions.len(), "function"))?;
    Ok(Outcome::Typed)
}
