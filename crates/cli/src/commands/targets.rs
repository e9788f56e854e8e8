//! `typeloom targets`: the runtimes that `check --target` knows.

use std::fmt::Write as _;

use typeloom_project::parts::onnx::domain::shown;
use typeloom_project::parts::targets::Target;

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
