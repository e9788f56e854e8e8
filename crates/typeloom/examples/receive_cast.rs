//! A value that arrives as f32 where f64 is declared: `cargo run --example receive_cast`.
//!
//! Coercions are never implicit. By default the module does not compile. With a policy, the cast is a node
//! of the IR on the receiving side and a line of the report.

use std::error::Error;

use typeloom::module::{Artifact, Coercion, Compiler, Graph, Module};
use typeloom::run::wire::LocalNetwork;
use typeloom::run::{Components, Datum, Peer, inputs};

/// Sends floats to peers, which compute on them as doubles.
struct Exchange;

impl Module for Exchange {
    fn name(&self) -> &str {
        "exchange"
    }

    fn body(&self, g: &mut Graph) {
        let x = g.input("x").of("float[N]");
        let workers = g.input("workers").of("peer_id_vec");
        let (data, handle) = g.send(&x, &workers);
        let data = data.of("double[N]");
        g.output("doubled", &(&data + &data));
        g.output("sent", &handle);
    }
}

fn shown(artifact: &Artifact) -> Vec<String> {
    let mut lines: Vec<String> = artifact.report.casts.iter().map(ToString::to_string).collect();
    for part in artifact.parts() {
        let ops: Vec<_> = part.node.iter().map(typeloom::onnx::NodeProto::op_type).collect();
        lines.push(format!("on {}: {}", part.name(), ops.join(", ")));
    }
    lines
}

/// Runs both parts as two peers of one process.
fn run(artifact: &Artifact) -> Result<Vec<String>, Box<dyn Error>> {
    let (network, components) = (LocalNetwork::new(), Components::new());
    let home = Peer::open(&network, "home")?.part(artifact, "self", &components)?;
    let worker = Peer::open(&network, "worker")?.part(artifact, "workers", &components)?;
    home.run(inputs! { "x" => [0.25, 1.5], "workers" => ["worker"] })?;
    let served = worker.serve()?.ok_or("nothing arrived")?;
    let doubled = served.get("doubled").and_then(Datum::as_tensor).ok_or("no tensor `doubled`")?;
    Ok(vec![format!("the worker received x from home and returned {doubled:?}")])
}

pub(crate) fn walk() -> Result<Vec<String>, Box<dyn Error>> {
    let refused = Compiler::new().compile(Exchange).err().ok_or("two types for one port compiled")?;
    let text = refused.to_string();
    let mut lines = vec![format!("strict: {}", text.lines().next().unwrap_or_default())];
    let artifact = Compiler::new().with_coercion(Coercion::Lossless).compile(Exchange)?;
    lines.extend(shown(&artifact));
    lines.extend(run(&artifact)?);
    Ok(lines)
}

#[expect(clippy::print_stdout, reason = "an example prints its results")]
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    for line in walk()? {
        println!("{line}");
    }
    Ok(())
}
