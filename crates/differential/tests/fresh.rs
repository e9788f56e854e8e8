//! A short run of freshly generated programs. `TYPELOOM_SEED` repeats a run.

use std::time::{SystemTime, UNIX_EPOCH};

use typeloom_differential::choices::Choices;
use typeloom_differential::generate::{Declarations, generate};
use typeloom_differential::laws::{HELD, Runs, examine};
use typeloom_differential::shrink::shrink;

/// Number of programs per run.
const PROGRAMS: u64 = 60;

fn seed() -> u64 {
    if let Ok(text) = std::env::var("TYPELOOM_SEED") {
        return text.trim().parse().expect("TYPELOOM_SEED is a number");
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    // Keeps the seed short enough to type.
    now.as_secs() % 1_000_000_000 * 1000 + u64::from(now.subsec_millis())
}

/// Checks the programs from this seed on.
fn hold(first: u64, programs: u64) {
    let mut compared = 0;
    let mut everywhere = 0;
    for seed in first..first + programs {
        let declarations = if seed % 2 == 0 { Declarations::None } else { Declarations::TrueAndFalse };
        let case = generate(declarations, &mut Choices::seeded(seed));
        let report = examine(&case);
        compared += report.compared;
        everywhere += u64::from(report.runs == Runs::Everywhere);
        let Some(finding) = report.findings.iter().find(|finding| HELD.contains(&finding.law)) else {
            continue;
        };
        let small = shrink(&case, finding);
        let left = examine(&small).findings;
        let detail = left.iter().find(|it| it.law == finding.law).map_or(&finding.detail, |it| &it.detail);
        panic!("TYPELOOM_SEED={seed} breaks {:?}: {detail}\n{}", finding.law, small.program.text());
    }
    assert!(everywhere > programs / 2, "only {everywhere} of {programs} programs run everywhere");
    assert!(compared as u64 > 4 * programs, "only {compared} values were compared");
}

#[test]
fn fresh_programs_keep_the_laws() {
    let seed = seed();
    println!("TYPELOOM_SEED={seed}");
    hold(seed, PROGRAMS);
}

#[test]
fn known_programs_keep_the_laws() {
    hold(1, PROGRAMS);
}
