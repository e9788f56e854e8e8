//! Programs that are generated from the bytes of the fuzzer, executed, and compared with their reported types.

use typeloom_differential::choices::Choices;
use typeloom_differential::generate::{Declarations, generate};
use typeloom_differential::laws::{HELD, examine};

/// Takes the bytes as the choices of the generator, and holds the program to the laws.
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
