//! `typeloom cost FILE`: memory and arithmetic of a model, as functions of its symbols.

use typeloom_project::parts::report::cost::{CostOptions, human, object};
use typeloom_project::parts::report::json;

use crate::args::{CostArgs, TextFormat};
use crate::exit::Outcome;
use crate::input;
use crate::output::{refuse, write};

pub(crate) fn run(args: &CostArgs) -> anyhow::Result<Outcome> {
    let source = input::source(&args.file);
    let file = source.open()?;
    let plan = crate::settings::plan(&args.solve, &source)?.for_costs();
    let mut costed = match plan.cost(&file)? {
        Ok(costed) => costed,
        Err(diagnostics) => return refuse(&source.name, &diagnostics, args.color, "its cost is not known"),
    };
    let question = args.symbol.as_deref().zip(args.memory);
    let solved = question.map(|(symbol, memory)| costed.solve(symbol, memory)).transpose()?;
    let options = CostOptions { nodes: args.nodes };
    let checked = costed.checked.solved();
    let text = match args.format {
        TextFormat::Human => human(checked, &costed.cost, solved.as_ref(), options),
        TextFormat::Json => json::line(&source.name, object(checked, &costed.cost, solved.as_ref(), options)),
    };
    write(&text)?;
    Ok(Outcome::Typed)
}
