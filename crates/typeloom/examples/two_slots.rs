//! A module with two slots, run with the components that are bound to them.
//!
//! `cargo run --example two_slots`

use typeloom::module::{Graph, Index as _, Module, OperatorMethods as _};
use typeloom::run::components::{Exact, Metric};
use typeloom::run::{Components, Cpu, Executor, Verify, inputs};
use typeloom::types::AnyTensor;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

struct Nearest;

impl Module for Nearest {
    fn name(&self) -> &str {
        "nearest"
    }

    fn body(&self, g: &mut Graph) {
        let query = g.input("query").of("float[2]");
        let scaled = g.backend("compute").mul(&query, &g.constant(&AnyTensor::from_scalar(2.0_f32)));
        let (ids, distances) = g.index("vectors").search(&scaled, 1);
        g.output("ids", &ids);
        g.output("distances", &distances);
    }
}

#[expect(clippy::print_stdout, reason = "an example prints")]
pub(crate) fn main() -> Outcome<()> {
    println!("{}", walk()?.join("\n"));
    Ok(())
}

/// The printed lines.
pub(crate) fn walk() -> Outcome<Vec<String>> {
    let mut vectors: Exact<Cpu, [f32]> = Exact::new(Cpu, Metric::Euclidean);
    vectors.add(7, &[0.0, 0.0])?;
    vectors.add(8, &[6.0, 8.0])?;
    let components = Components::new().backend("compute", Cpu).index("vectors", vectors);
    let artifact = components.compiler().compile(Nearest)?;

    let executor = Executor::new(&artifact, &components)?;
    let outcome = executor.run(inputs! { "query" => [3.0, 3.0] }, Verify::EveryValue)?;
    Ok(outcome.outputs.iter().map(|(name, value)| format!("{name}: {value}")).collect())
}
