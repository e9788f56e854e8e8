//! `typeloom describe FILE --as FORMAT`: writes a contract for serving.

use anyhow::{Context as _, bail};
use typeloom_interface::MAIN;
use typeloom_serving::{Options, write};

use crate::args::DescribeArgs;
use crate::exit::Outcome;
use crate::input::Source;
use crate::interfaces::Interfaces;
use crate::target::Target;

/// Writes a contract of the main function.
pub(super) fn run(args: &DescribeArgs, source: &Source, interfaces: &Interfaces) -> anyhow::Result<Outcome> {
    let (Some(format), Some(main)) = (args.contract.format, interfaces.functions.first()) else {
        bail!("`{}` has no interfaces", source.name)
    };
    let stem = source.path().and_then(|path| path.file_stem()?.to_str());
    let program = Some(interfaces.program.as_str()).filter(|program| !program.is_empty());
    let name = args.contract.model_name.as_deref().or(stem).or(program).unwrap_or(MAIN);
    let options = Options { name: name.to_owned(), max_batch: args.contract.max_batch };
    let text = write(format.0, &main.interface, &options)
        .with_context(|| format!("no contract of `{}`", source.name))?;
    let target = match &args.output {
        Some(output) => Target::unlike(output, source)?,
        None => Target::named("-"),
    };
    target.write(text.as_bytes())?;
    target.announce(source, &format!("the format {}", format.0))?;
    Ok(Outcome::Typed)
}
