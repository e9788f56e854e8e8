//! A request to a peer that only its address makes reachable, and the answer: `cargo run --example requests`.
//!
//! The client sends a question with `net_out`. The result is the id of the request, with which the client
//! waits for the answer. Each peer has an address and an address book. The client installs the address of the
//! server; the server finds the client by the address that is in the client's message.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use typeloom::module::{Compiler, Graph, Module, PeerId};
use typeloom::run::host::SystemClock;
use typeloom::run::wire::{
    AddressedTransport, Endpoint, EndpointConfig, EndpointParts, LocalNetwork, MemoryJournal, PortType, RunId,
};
use typeloom::run::wire::{Multiaddress, Segment};
use typeloom::run::{Components, Datum, Part, Verify};
use typeloom::types::{AnyTensor, builtins::TYPE_MULTIADDRESS};

const DEADLINE: Duration = Duration::from_secs(20);

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

/// A peer of the network with its transport.
fn open(
    network: &LocalNetwork,
    name: &str,
    address: Multiaddress,
    part: &Part,
) -> Result<(Endpoint, Arc<AddressedTransport>), Box<dyn Error>> {
    let clock = Arc::new(SystemClock::new());
    let transport = network.join_at(peer(name), address, Arc::<SystemClock>::clone(&clock));
    let transport = Arc::new(transport);
    let parts = EndpointParts {
        transport: Arc::<AddressedTransport>::clone(&transport),
        clock,
        journal: Box::new(MemoryJournal::new()),
        ports: part.ports(),
        peers: vec![peer("client"), peer("server")],
    };
    Ok((Endpoint::open(parts, EndpointConfig::new(1))?, transport))
}

fn peer(name: &str) -> PeerId {
    PeerId(name.as_bytes().to_vec())
}

pub(crate) fn walk() -> Result<Vec<String>, Box<dyn Error>> {
    let artifact = Compiler::new().compile(Question)?;
    // Both ends declare the type of the answers.
    let answer = PortType::of_node(&TYPE_MULTIADDRESS)?;
    let client = Part::new(&artifact, "self", &Components::new())?.with_answer("near", answer.clone())?;
    let server = Part::new(&artifact, "peers", &Components::new())?.with_answer("near", answer)?;

    let network = LocalNetwork::new();
    let (at_client, book) = open(&network, "client", "/memory/1".parse()?, &client)?;
    let (at_server, book_of_server) = open(&network, "server", "/memory/2".parse()?, &server)?;
    let ask = |run: u64| {
        let inputs = HashMap::from([
            ("position".to_owned(), AnyTensor::from([48.2_f32, 16.4]).into()),
            ("peers".to_owned(), Datum::Peers(vec![peer("server")])),
        ]);
        client.run(&at_client, RunId(run), inputs, DEADLINE, Verify::Inputs)
    };

    let mut lines = vec![format!("without an address: {}", ask(1).err().ok_or("the server was reached")?)];
    book.install(&peer("server"), ["/memory/2".parse()?], Some(DEADLINE));
    let asked = ask(2)?;
    let request = asked.requests.first().ok_or("nothing was sent")?;
    lines.push(format!("the id of the request: {:?}", asked.get("request").ok_or("no id")?));
    lines.push(format!(
        "it is that of the output: {}",
        asked.get("request") == Some(&Datum::Request(request.id))
    ));

    // The server runs its part, and answers with a value of its own.
    let served = server.serve(&at_server, DEADLINE, Verify::Inputs)?.ok_or("nothing arrived")?;
    lines.push(format!("the server received: {}", served.get("near").ok_or("no value")?));
    let known = book_of_server.look_up(&peer("client"));
    lines.push(format!("the server learned: {}", known.first().ok_or("no address")?));
    let mirror = Multiaddress::of([Segment::Dns("vienna.example.org".into()), Segment::Tcp(443)])?;
    server.answer(&at_server, &served, "near", &Datum::Address(mirror), DEADLINE)?;

    for (from, answer) in client.await_answers(&at_client, request, DEADLINE)? {
        let Datum::Address(address) = answer else { return Err("the answer is no address".into()) };
        lines.push(format!("{} answers: {address}", String::from_utf8_lossy(&from.0)));
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
