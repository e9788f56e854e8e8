//! Peer process for tests that kill it.
//!
//! ```text
//! mortal-peer FOLDER SECRET LISTEN FRIEND ADDRESS to send COUNT | to keep
//! ```
//!
//! The peer stores numbers in the journal in its directory. In mode `send`, it posts the numbers below a
//! count, each once, to its partner; in mode `keep`, it stores the received numbers. It prints its address
//! and its progress, one line each.

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use typeloom::PeerId;
use typeloom::run::host::{Durability, FileJournal, SystemClock};
use typeloom::types::AnyTensor;
use typeloom::types::Dtype;
use typeloom_libp2p::{Identity, Libp2p, Options, address, show_address};
use typeloom_onnx::messages::{TypeProto, type_proto};
use typeloom_tensor::address::Multiaddress;
use typeloom_tensor::datum::Datum;
use typeloom_wire::delivery::{Effects, Wanted};
use typeloom_wire::endpoint::{Endpoint, EndpointConfig, EndpointParts};
use typeloom_wire::envelope::{PortId, RunId};
use typeloom_wire::port::PortType;
use typeloom_wire::send::Outgoing;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, secret, listen, partner, at, _, rest @ ..] = arguments.as_slice() else {
        return Err("arguments: FOLDER SECRET LISTEN PARTNER ADDRESS to MODE".into());
    };
    let partner = Identity::from_secret([partner.parse()?; 32])?.peer();
    let known: Vec<Multiaddress> = if at == "-" { Vec::new() } else { vec![address(at)?] };
    let identity = Identity::from_secret([secret.parse()?; 32])?;
    let transport = Libp2p::start(&identity, &[address(listen)?], &Options::default())?;
    transport.find(&partner, &known)?;
    let listening = transport.addresses().first().map(show_address).unwrap_or_default();
    let journal = FileJournal::open(&Path::new(folder).join("journal"), Durability::Process)?;
    let endpoint = Endpoint::open(
        EndpointParts {
            transport: Arc::new(transport),
            clock: Arc::new(SystemClock::new()),
            journal: Box::new(journal),
            ports: vec![(port(), numbers()?)],
            peers: vec![partner.clone()],
        },
        EndpointConfig::new(1),
    )?;
    print_line(&format!("listens {listening}"))?;
    match rest {
        [send, count] if send == "send" => send_numbers(&endpoint, &partner, count.parse()?),
        [keep] if keep == "keep" => store_numbers(&endpoint),
        _ => Err("the mode is `send COUNT` or `keep`".into()),
    }
}

fn print_line(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

fn port() -> PortId {
    PortId { program: "numbers".to_owned(), peer_class: String::new(), wire: "number".to_owned() }
}

fn numbers() -> Result<PortType, Box<dyn Error>> {
    let elem_type = Some(Dtype::I64.onnx_number());
    let tensor = type_proto::Tensor { elem_type, ..type_proto::Tensor::default() };
    let value = Some(type_proto::Value::TensorType(tensor));
    Ok(PortType::of_message(&TypeProto { value, ..TypeProto::default() })?)
}

fn send_numbers(endpoint: &Endpoint, partner: &PeerId, count: u64) -> Result<(), Box<dyn Error>> {
    let (port, ty) = (port(), numbers()?);
    loop {
        let memory = endpoint.memory();
        let next = (memory.len() / 8) as u64;
        if next == count && endpoint.pending() == 0 {
            print_line("done")?;
            std::thread::sleep(Duration::from_secs(3600));
        }
        if next < count {
            let value = Datum::Tensor(AnyTensor::from_scalar(i64::try_from(next)?));
            let post = Outgoing { to: partner, port: &port, run: RunId(next), ty: &ty, value: &value };
            let memory = [memory, next.to_le_bytes().to_vec()].concat();
            endpoint.record(&Effects { memory: Some(&memory), posts: &[post] })?;
        }
        endpoint.flush(Duration::from_millis(if next < count { 50 } else { 1000 }))?;
    }
}

fn store_numbers(endpoint: &Endpoint) -> Result<(), Box<dyn Error>> {
    let wanted = Wanted { port: port(), run: None };
    loop {
        let Ok(delivery) = endpoint.receive(&wanted, Duration::from_secs(3600)) else { continue };
        let number = match delivery.value() {
            Datum::Tensor(tensor) => tensor.as_slice::<i64>()?.first().copied().unwrap_or(-1),
            other => return Err(format!("another value: {other:?}").into()),
        };
        let memory = [endpoint.memory(), number.to_le_bytes().to_vec()].concat();
        delivery.commit(&Effects { memory: Some(&memory), posts: &[] })?;
        print_line(&format!("kept {}", memory.len() / 8))?;
    }
}
