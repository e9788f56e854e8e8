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
/// use typeloom::run::wire::{EndpointConfig, Mailbox, MessageLimits, Outbox, Retry};
///
/// let config = EndpointConfig {
///     limits: MessageLimits::default(),
///     retry: Retry { attempt: Duration::from_secs(1), ..Retry::default() },
///     mailbox: Mailbox { messages: 16, ..Mailbox::default() },
///     outbox: Outbox { messages: 16, ..Outbox::default() },
///     ..EndpointConfig::new(1)
/// };
/// assert_eq!(config.incarnation, 1);
/// ```
#[doc(inline)]
pub use typeloom_wire::endpoint::{Endpoint, EndpointConfig, EndpointParts, Mailbox, Outbox, Retry};
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
pub use typeloom_wire::journal::{Change, Journal, JournalError, MemoryJournal};
#[doc(inline)]
pub use typeloom_wire::limits::MessageLimits;
/// A transport between peers of one process; the [module](self) has an example.
#[doc(inline)]
pub use typeloom_wire::memory::LocalNetwork;
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
pub use typeloom_wire::transport::{Inbound, Transport, TransportError};
