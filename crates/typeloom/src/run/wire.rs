//! Messages between the parts of a program: endpoints, transports, journals, clocks.
//!
//! ```
//! use std::sync::Arc;
//! use typeloom::module::PeerId;
//! use typeloom::run::host::SystemClock;
//! use typeloom::run::wire::{Endpoint, EndpointConfig, EndpointParts, LocalNetwork, MemoryJournal};
//!
//! let network = LocalNetwork::new();
//! let parts = EndpointParts {
//!     transport: Arc::new(network.join(PeerId(b"home".to_vec()))),
//!     clock: Arc::new(SystemClock::new()),
//!     journal: Box::new(MemoryJournal::new()),
//!     ports: vec![],
//!     peers: vec![],
//! };
//! let endpoint = Endpoint::open(parts, EndpointConfig::new(1))?;
//! assert_eq!(endpoint.peer(), &PeerId(b"home".to_vec()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`host`](super::host) contains the clock of the machine and a journal in a file.

/// The address book of a transport as a component, so that modules install addresses and read them.
///
/// ```
/// use std::sync::Arc;
/// use typeloom::module::{Graph, Module, PeerId};
/// use typeloom::run::host::SystemClock;
/// use typeloom::run::wire::{Addresses, BookError, LocalNetwork, Multiaddress, SharedBook};
/// use typeloom::run::{Components, Datum, Executor, Verify, inputs};
///
/// struct Introduce;
///
/// impl Module for Introduce {
///     fn name(&self) -> &str {
///         "introduce"
///     }
///
///     fn body(&self, g: &mut Graph) {
///         let (book, peer) = (g.address_book("book"), g.input("peer"));
///         g.output("done", book.install(&peer, &g.input("addresses")));
///         g.output("known", book.look_up(&peer));
///         g.output("own", book.own(None));
///     }
/// }
///
/// let own: Multiaddress = "/memory/1".parse()?;
/// let transport = LocalNetwork::new().join_at("a", own.clone(), Arc::new(SystemClock::new()));
/// let transport: Arc<dyn SharedBook> = Arc::new(transport);
/// let components = Components::new().protocol("book", Addresses(Arc::clone(&transport)));
/// let artifact = components.compiler().compile(Introduce)?;
/// assert_eq!((artifact.type_of("peer"), artifact.type_of("known")), (Some("peer_id"), Some("address_vec")));
///
/// let (peer, other) = (PeerId::from("b"), vec!["/memory/2".parse::<Multiaddress>()?]);
/// let inputs = inputs! { "peer" => peer.clone(), "addresses" => Datum::Addresses(other.clone()) };
/// let outcome = Executor::new(&artifact, &components)?.run(inputs, Verify::Inputs)?;
/// assert_eq!(outcome.get("known"), Some(&Datum::Addresses(other.clone())));
/// assert_eq!(outcome.get("own"), Some(&Datum::Addresses(vec![own])));
/// assert_eq!(transport.look_up(&peer), other);
/// assert_eq!(BookError::Full.to_string(), "the address book is full");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_runtime::components::address_book::Addresses;
/// [`Addresses`] has an example.
#[doc(inline)]
pub use typeloom_runtime::components::address_book::{BookError, SharedBook};
/// The outcome of a run of a part, requests of its network outputs, and errors of their answers.
/// `cargo run --example requests` is a program.
///
/// ```
/// use std::time::Duration;
/// use typeloom::run::wire::{AnswerError, Endpoint, PartOutcome, Request};
/// use typeloom::run::{Datum, Part};
///
/// fn first(part: &Part, endpoint: &Endpoint, request: &Request) -> Result<Option<Datum>, AnswerError> {
///     let answers = part.await_answers(endpoint, request, Duration::from_secs(1))?;
///     Ok(answers.into_iter().next().map(|(_, answer)| answer))
/// }
///
/// fn result(outcome: &PartOutcome) -> Option<&Datum> {
///     outcome.get("y")
/// }
/// ```
#[doc(inline)]
pub use typeloom_runtime::executor::part::{
    PartOutcome,
    answers::{AnswerError, Request},
};
/// Addresses of peers: sequences of protocol segments.
///
/// ```
/// use typeloom::run::wire::{Multiaddress, Segment};
///
/// let address: Multiaddress = "/ip4/127.0.0.1/tcp/4001".parse()?;
/// assert_eq!(Multiaddress::from_bytes(address.as_bytes())?.to_string(), "/ip4/127.0.0.1/tcp/4001");
/// assert_eq!(address.segments().last(), Some(Segment::Tcp(4001)));
/// let relayed = Multiaddress::of(address.segments().chain([Segment::P2pCircuit]))?;
/// assert_eq!(relayed.to_string(), "/ip4/127.0.0.1/tcp/4001/p2p-circuit");
/// assert!("/tcp/port".parse::<Multiaddress>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_tensor::address::Multiaddress;
/// [`Multiaddress`] has an example.
#[doc(inline)]
pub use typeloom_tensor::address::Segment;
/// Identity of a request, which answers refer to.
///
/// ```
/// use typeloom::run::Datum;
/// use typeloom::run::wire::WireReqId;
///
/// let request = Datum::Request(WireReqId(7));
/// assert_eq!(request.type_node().map(|node| node.id), Some("wire_req_id"));
/// ```
#[doc(inline)]
pub use typeloom_tensor::datum::WireReqId;
/// Addresses of peers in a transport, which expire.
///
/// ```
/// use std::time::Duration;
/// use typeloom::module::PeerId;
/// use typeloom::run::wire::{AddressBook, BookLimits};
///
/// let mut book = AddressBook::new(BookLimits { peers: 100, ..BookLimits::default() });
/// let (peer, minute) = (PeerId(b"a".to_vec()), Duration::from_secs(60));
/// book.install(&peer, ["/dns4/example.org/tcp/443".parse()?], Some(minute), Duration::ZERO);
/// assert_eq!(book.look_up(&peer, minute / 2)[0].to_string(), "/dns4/example.org/tcp/443");
/// assert_eq!((book.expire(minute), book.look_up(&peer, minute).len()), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_wire::address_book::AddressBook;
/// [`AddressBook`] has an example.
#[doc(inline)]
pub use typeloom_wire::address_book::BookLimits;
/// The clock of an endpoint.
///
/// ```
/// use std::time::Duration;
/// use typeloom::run::wire::Clock;
///
/// /// A clock that does not advance.
/// struct Stopped;
///
/// impl Clock for Stopped {
///     fn now(&self) -> Duration {
///         Duration::ZERO
///     }
///
///     fn sleep(&self, _: Duration) {}
/// }
///
/// assert_eq!(Stopped.now(), Duration::ZERO);
/// ```
#[doc(inline)]
pub use typeloom_wire::clock::Clock;
/// Outbox and mailbox of a peer, and their options.
///
/// ```
/// use std::time::Duration;
/// use typeloom::run::wire::{Capacity, EndpointConfig, MessageLimits, Retry};
///
/// let config = EndpointConfig {
///     limits: MessageLimits::default(),
///     retry: Retry { attempt: Duration::from_secs(1), ..Retry::default() },
///     mailbox: Capacity { messages: 16, ..Capacity::MAILBOX },
///     outbox: Capacity { messages: 16, ..Capacity::OUTBOX },
///     ..EndpointConfig::new(1)
/// };
/// assert_eq!(config.incarnation, 1);
/// ```
#[doc(inline)]
pub use typeloom_wire::endpoint::Endpoint;
/// [`Endpoint`] has an example.
#[doc(inline)]
pub use typeloom_wire::endpoint::{Capacity, EndpointConfig, EndpointParts, Retry};
/// Identity of a run among those of a program, the same at all peers.
///
/// ```
/// use typeloom::run::wire::RunId;
///
/// assert_ne!(RunId(1), RunId(2));
/// ```
#[doc(inline)]
pub use typeloom_wire::envelope::RunId;
/// Durable storage of the state of an endpoint.
///
/// ```
/// use typeloom::run::wire::{Change, Journal, JournalError, MemoryJournal};
///
/// fn count(journal: &dyn Journal) -> Result<usize, JournalError> {
///     let (mut count, mut last) = (0, Vec::new());
///     while let Some((key, _)) = journal.next(&last)? {
///         (count, last) = (count + 1, key);
///     }
///     Ok(count)
/// }
///
/// let mut journal = MemoryJournal::new();
/// journal.write(&[Change { key: b"key".to_vec(), value: Some("value".into()) }])?;
/// assert_eq!(count(&journal), Ok(1));
/// # Ok::<(), JournalError>(())
/// ```
#[doc(inline)]
pub use typeloom_wire::journal::Journal;
/// [`Journal`] has an example.
#[doc(inline)]
pub use typeloom_wire::journal::{Change, JournalError, MemoryJournal};
#[doc(inline)]
pub use typeloom_wire::limits::MessageLimits;
/// [`LocalNetwork`] has an example.
#[doc(inline)]
pub use typeloom_wire::memory::AddressedTransport;
/// Transports between peers of one process. [`LocalNetwork::join`] reaches all peers; the [module](self) has
/// an example. [`LocalNetwork::join_at`] reaches the peers of an address book:
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use typeloom::module::PeerId;
/// use typeloom::run::host::SystemClock;
/// use typeloom::run::wire::{AddressedTransport, LocalNetwork, Transport as _, TransportError};
///
/// let (network, other) = (LocalNetwork::new(), PeerId(b"b".to_vec()));
/// let clock = Arc::new(SystemClock::new());
/// let transport: AddressedTransport = network.join_at(PeerId(b"a".to_vec()), "/memory/1".parse()?, clock);
/// let sent = transport.exchange(&other, b"request", Duration::ZERO);
/// assert_eq!(sent, Err(TransportError::UnknownPeer));
/// assert!(transport.install(&other, ["/memory/2".parse()?], None));
/// assert_eq!(transport.look_up(&other).len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_wire::memory::LocalNetwork;
/// The type of the values at a port of an endpoint, equal at both ends.
///
/// ```
/// use typeloom::run::wire::PortType;
/// use typeloom::types::builtins::{TYPE_TENSOR, TYPE_TRIGGER};
///
/// assert!(PortType::of_node(&TYPE_TRIGGER).is_ok());
/// println!("{}", PortType::of_node(&TYPE_TENSOR).unwrap_err());
/// ```
#[doc(inline)]
pub use typeloom_wire::port::PortType;
/// The traits of a transport.
///
/// ```
/// use std::sync::Weak;
/// use std::time::Duration;
/// use typeloom::module::PeerId;
/// use typeloom::run::wire::{Inbound, Transport, TransportError};
///
/// /// A transport without network.
/// struct Alone(PeerId);
///
/// impl Transport for Alone {
///     fn local_peer(&self) -> PeerId {
///         self.0.clone()
///     }
///
///     fn serve(&self, _: Weak<dyn Inbound>) {}
///
///     fn exchange(&self, _: &PeerId, _: &[u8], _: Duration) -> Result<Vec<u8>, TransportError> {
///         Err(TransportError::UnknownPeer)
///     }
/// }
///
/// let alone = Alone(PeerId(b"home".to_vec()));
/// assert!(alone.exchange(&alone.0, b"request", Duration::ZERO).is_err());
/// ```
#[doc(inline)]
pub use typeloom_wire::transport::Transport;
/// [`Transport`] has an example.
#[doc(inline)]
pub use typeloom_wire::transport::{Inbound, TransportError};
