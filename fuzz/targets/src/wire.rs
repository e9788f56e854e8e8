//! Messages of the wire: an endpoint accepts or rejects arbitrary bytes from a peer and answers them.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use typeloom::run::host::SystemClock;
use typeloom_onnx::messages::{TypeProto, type_proto};
use typeloom_tensor::datum::Datum;
use typeloom_tensor::peer::PeerId;
use typeloom_wire::delivery::Wanted;
use typeloom_wire::endpoint::{Endpoint, EndpointConfig, EndpointParts};
use typeloom_wire::envelope::{Envelope, MessageId, PortId, RunId};
use typeloom_wire::journal::{Change, Journal as _, JournalError, MemoryJournal};
use typeloom_wire::limits::MessageLimits;
use typeloom_wire::port::PortType;
use typeloom_wire::receipt::Receipt;
use typeloom_wire::transport::{Inbound, Transport, TransportError};

const LIMITS: MessageLimits = MessageLimits {
    envelope_bytes: 1 << 20,
    name_bytes: 1 << 10,
    peer_bytes: 1 << 8,
    values: 1 << 12,
    rank: 16,
};

/// A transport that sends nothing and keeps the receiving endpoint.
struct CapturingTransport(Mutex<Option<Weak<dyn Inbound>>>);

impl Transport for CapturingTransport {
    fn local_peer(&self) -> PeerId {
        PeerId(b"transport".to_vec())
    }

    fn serve(&self, inbound: Weak<dyn Inbound>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(inbound);
    }

    fn exchange(&self, _: &PeerId, _: &[u8], _: Duration) -> Result<Vec<u8>, TransportError> {
        Err(TransportError::UnknownPeer)
    }
}

fn sender() -> PeerId {
    PeerId(b"mouth".to_vec())
}

fn port() -> PortId {
    PortId { program: "m".to_owned(), peer_class: "p".to_owned(), wire: "w".to_owned() }
}

/// Port type of float tensors of any shape.
fn port_type() -> &'static PortType {
    static TYPE: OnceLock<PortType> = OnceLock::new();
    TYPE.get_or_init(|| {
        let tensor = type_proto::Tensor { elem_type: Some(1), ..type_proto::Tensor::default() };
        let value = Some(type_proto::Value::TensorType(tensor));
        PortType::of_message(&TypeProto { value, ..TypeProto::default() })
            .expect("a type of values on the wire")
    })
}

fn endpoint(journal: MemoryJournal) -> Result<(Endpoint, Arc<CapturingTransport>), JournalError> {
    let transport = Arc::new(CapturingTransport(Mutex::new(None)));
    let parts = EndpointParts {
        transport: Arc::<CapturingTransport>::clone(&transport),
        clock: Arc::new(SystemClock::new()),
        journal: Box::new(journal),
        ports: vec![(port(), port_type().clone())],
        peers: vec![sender()],
    };
    Endpoint::open(parts, EndpointConfig { limits: LIMITS, ..EndpointConfig::new(1) })
        .map(|endpoint| (endpoint, transport))
}

/// A message with a float tensor that the target's endpoint accepts, without the trailing digest.
///
/// # Panics
/// If the value exceeds the limits.
#[must_use]
pub fn wire_message(value: &Datum) -> Vec<u8> {
    let message = Envelope {
        id: MessageId { incarnation: 3, number: 9 },
        floor: 4,
        run: RunId(1),
        sender: sender(),
        addresses: Vec::new(),
        port: port(),
        ty: port_type().tag(value),
        value: value.clone(),
    };
    let mut bytes = message.to_bytes(&LIMITS).expect("it is within the limits");
    bytes.truncate(bytes.len() - 32);
    bytes
}

/// Reads the bytes as a message, a receipt and the entries of a journal. The target appends the digest, which
/// a fuzzer would not find.
///
/// # Panics
/// If a message has two encodings, an answer cannot be read, or a message is accepted twice.
pub fn wire(bytes: &[u8]) {
    let mut sealed = bytes.to_vec();
    sealed.extend_from_slice(blake3::hash(bytes).as_bytes());
    for bytes in [bytes, &sealed] {
        if let Ok(message) = Envelope::from_bytes(bytes, &LIMITS) {
            assert_eq!(message.to_bytes(&LIMITS).as_deref(), Ok(bytes), "a message has one form");
        }
        if let Ok(receipt) = Receipt::from_bytes(bytes) {
            assert_eq!(receipt.to_bytes(), bytes, "a receipt has one form");
        }
    }
    let Ok((endpoint, transport)) = endpoint(MemoryJournal::new()) else { return };
    let inbound = transport.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(inbound) = inbound.and_then(|inbound| inbound.upgrade()) {
        for _ in 0..2 {
            let answer = inbound.answer(&sender(), &sealed);
            Receipt::from_bytes(&answer).expect("every message is answered");
        }
        assert!(endpoint.held() <= 1, "a message is taken once");
    }
    // The parts of the bytes, each with the number of its first bytes that are the key.
    let identity = [&[2, 9][..], b"transport", &[1]].concat();
    let mut changes = vec![Change { key: vec![1], value: Some(identity.into()) }];
    for part in bytes.chunks(bytes.len() / 3 + 1) {
        let Some((end, entry)) = part.split_first() else { continue };
        let (key, value) = entry.split_at(usize::from(*end).min(entry.len()));
        if !key.is_empty() {
            changes.push(Change { key: key.to_vec(), value: Some(value.to_vec().into()) });
        }
    }
    let mut journal = MemoryJournal::new();
    if journal.write(&changes).is_ok()
        && let Ok((endpoint, _)) = self::endpoint(journal)
    {
        let wanted = Wanted { port: port(), run: None };
        let _ = endpoint.receive(&wanted, Duration::ZERO);
        let _ = endpoint.flush(Duration::ZERO);
    }
}
