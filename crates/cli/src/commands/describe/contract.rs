//! `typeloom describe FILE --as FORMAT`: writes a contract for serving.

use anyhow::{Context as _, bail};
use typeloom_project::interfaces::Interfaces;
use typeloom_project::parts::serving::{Format, Options, write};

use crate::args::DescribeArgs;
use crate::exit::Outcome;
use crate::input::Source;
use crate::target::Target;

/// Writes a contract of the main function.
pub(super) fn run(
    args: &DescribeArgs,
    format: Format,
    source: &Source,
    interfaces: &Interfaces,
) -> anyhow::Result<Outcome> {
    let Some(main) = interfaces.functions.first() else { bail!("`{}` has no interfaces", source.name) };
    let stem = source.path().and_then(|path| path.file_stem()?.to_str()).map(str::to_owned);
    let program = Some(interfaces.program.clone()).filter(|program| !program.is_empty());
    // A configuration of Triton applies to the model of its folder, whose name is not known.
    let default = if format == Format::Triton { None } else { stem.or(program) };
    let name = args.contract.model_name.clone().or(default);
    let options = Options { name, max_batch: args.contract.max_batch };
    let text = write(format, &main.interface, &options)
        .with_context(|| format!("no contract of `{}`", source.name))?;
    let target = Target::output(args.output.as_deref().unwrap_or("-"))?;
    target.write(text.as_bytes())?;
    target.announce(source, &format!("the format {format}"))?;
    Ok(Outcome::Typed)
}
