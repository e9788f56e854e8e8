//! A request to a peer that only its address makes reachable, and the answer: `cargo run --example requests`.
//!
//! The client sends a question with `net_out`. The result is the id of the request, with which the client
//! waits for the answer. Each peer has an address and an address book. The client installs the address of the
//! server; the server finds the client by the address that is in the client's message.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use typeloom::module::{Compiler, Graph, Module};
use typeloom::run::host::SystemClock;
use typeloom::run::wire::{AddressedTransport, LocalNetwork, Multiaddress, PortType, Segment};
use typeloom::run::{Components, Datum, Peer, inputs};
use typeloom::types::builtins::TYPE_MULTIADDRESS;

/// How long the address of the server is known.
const LIFETIME: Duration = Duration::from_secs(20);

/// Asks peers for a mirror of a site that is near a position.
struct Question;

impl Module for Question {
    fn name(&self) -> &str {
        "question"
    }

    fn body(&self, g: &mut Graph) {
        let position = g.input("position").of("float[2]");
        // The peers have no declared type: values are sent to peers.
        let request = g.net_out("near", position.neg(), g.input("peers"));
        g.output("request", request);
    }
}

/// A peer at an address, and its transport, which has an address book.
fn open(
    network: &LocalNetwork,
    name: &str,
    address: &str,
) -> Result<(Peer, Arc<AddressedTransport>), Box<dyn Error>> {
    let transport = Arc::new(network.join_at(name, address.parse()?, Arc::new(SystemClock::new())));
    let peer =
        Peer::over(Arc::<AddressedTransport>::clone(&transport)).accept(["client", "server"]).open()?;
    Ok((peer, transport))
}

pub(crate) fn walk() -> Result<Vec<String>, Box<dyn Error>> {
    let artifact = Compiler::new().compile(Question)?;
    // Both ends declare the type of the answers.
    let answer = PortType::of_node(&TYPE_MULTIADDRESS)?;
    let (network, components) = (LocalNetwork::new(), Components::new());
    let (client, book) = open(&network, "client", "/memory/1")?;
    let (server, book_of_server) = open(&network, "server", "/memory/2")?;
    let client = client.part(&artifact, "self", &components)?.with_answer("near", answer.clone())?;
    let server = server.part(&artifact, "peers", &components)?.with_answer("near", answer)?;
    let ask = || client.run(inputs! { "position" => [48.2, 16.4], "peers" => ["server"] });

    let mut lines = vec![format!("without an address: {}", ask().err().ok_or("the server was reached")?)];
    book.install(&"server".into(), ["/memory/2".parse()?], Some(LIFETIME));
    let asked = ask()?;
    let request = asked.requests.first().ok_or("nothing was sent")?;
    lines.push(format!("the id of the request: {:?}", asked.get("request").ok_or("no id")?));
    lines.push(format!(
        "it is that of the output: {}",
        asked.get("request") == Some(&Datum::Request(request.id))
    ));

    // The server runs its part, and answers with a value of its own.
    let served = server.serve()?.ok_or("nothing arrived")?;
    lines.push(format!("the server received: {}", served.get("near").ok_or("no value")?));
    let known = book_of_server.look_up(&"client".into());
    lines.push(format!("the server learned: {}", known.first().ok_or("no address")?));
    let mirror = Multiaddress::of([Segment::Dns("vienna.example.org".into()), Segment::Tcp(443)])?;
    server.answer(&served, "near", mirror)?;

    for (from, answer) in client.await_answers(request)? {
        let Datum::Address(address) = answer else { return Err("the answer is no address".into()) };
        lines.push(format!("{from} answers: {address}"));
    }
    Ok(lines)
}

#[expect(clippy::print_stdout, reason = "an example prints its results")]
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    for line in walk()? {
        println!("{line}");
    }
    Ok(())
}
