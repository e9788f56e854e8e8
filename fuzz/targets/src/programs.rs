//! Differential test of programs generated from the fuzzer's bytes.

use typeloom_differential::choices::Choices;
use typeloom_differential::generate::{Declarations, generate};
use typeloom_differential::laws::{HELD, examine};

/// Uses the bytes as choices of the generator and checks the laws on the program.
///
/// # Panics
/// If the program breaks a law.
pub fn programs(bytes: &[u8]) {
    let case = generate(Declarations::None, &mut Choices::of_bytes(bytes));
    let broken = examine(&case).findings.into_iter().find(|finding| HELD.contains(&finding.law));
    if let Some(finding) = broken {
        panic!("{:?}: {}\n{}", finding.law, finding.detail, case.program.text());
    }
}
