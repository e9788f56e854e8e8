//! `typeloom targets`: the runtimes that `check --target` knows.

use std::fmt::Write as _;

use anyhow::bail;
use typeloom_onnx::domain::shown;
use typeloom_solver::diagnostic::text::suggestion;
use typeloom_solver::suggest::nearest;
use typeloom_targets::Target;

use crate::exit::Outcome;
use crate::output::write;

pub(crate) fn run() -> anyhow::Result<Outcome> {
    let mut text = String::new();
    for target in Target::all() {
        let facts = target.facts();
        let _ = writeln!(text, "{}", target.name());
        let _ = writeln!(text, "  source       {}", facts.source);
        let _ = writeln!(text, "  provider     {}", facts.provider);
        let _ = writeln!(text, "  IR versions  up to {}", facts.ir);
        for (domain, newest) in &facts.domains {
            if facts.operators_of(domain) > 0 {
                let _ = writeln!(text, "  {} up to {newest}", shown(domain));
            }
        }
        let _ = writeln!(text, "  operators    {}", facts.operator_count());
        let _ = writeln!(text, "  kernels      {}", facts.kernel_count());
    }
    write(&text)?;
    Ok(Outcome::Typed)
}

/// The targets with these names.
pub(crate) fn find<'n>(names: impl Iterator<Item = &'n str>) -> anyhow::Result<Vec<&'static Target>> {
    let mut targets = Vec::new();
    for name in names {
        let Some(target) = Target::find(name) else {
            let near = nearest(name, Target::all().iter().map(Target::name));
            bail!("there is no target `{name}`{}; `typeloom targets` lists all", suggestion(&near));
        };
        targets.push(target);
    }
    Ok(targets)
}
