//! A [`Transport`](typeloom_wire::transport::Transport) over libp2p, between processes and machines.
//!
//! A message is a request and its receipt the response. Each exchange has a separate stream
//! (`request-response`), over TCP with Noise and Yamux. A peer id is derived from the peer's key, and Noise
//! authenticates the sender of each message. The leaves `peer_id` and `multiaddress` of the type tree contain
//! libp2p's peer ids and multiaddresses in binary form.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use typeloom::run::host::{Durability, FileJournal, SystemClock, incarnation};
//! use typeloom_wire::endpoint::{EndpointConfig, Endpoint, EndpointParts};
//! use typeloom_libp2p::{Identity, Libp2p, Options, address};
//!
//! let transport = Libp2p::start(&Identity::generate(), &[address("/ip4/127.0.0.1/tcp/0")?], &Options::default())?;
//! let endpoint = Endpoint::open(
//!     EndpointParts {
//!         transport: Arc::new(transport),
//!         clock: Arc::new(SystemClock::new()),
//!         journal: Box::new(FileJournal::open("peer.journal".as_ref(), Durability::Machine)?),
//!         ports: vec![],
//!         peers: vec![],
//!     },
//!     EndpointConfig::new(incarnation()),
//! )?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Addresses of peers are in an address book: those of [`Libp2p::find`], and those that known peers report in
//! their messages, which end after a time. A peer that starts can therefore answer all peers that send to it.
//!
//! **Invariant:** the network runs on a dedicated thread. Calls block the caller until their timeout at most,
//! and must not be used in asynchronous code.
//!
//! **Invariant:** if an answer times out and the peer has sent nothing for two seconds, its connections are
//! closed. The next attempt opens a new connection, so a dead connection does not block later messages.

mod codec;
mod identity;
mod network;
mod transport;

pub use identity::{Identity, IdentityError, address, show_address, show_peer};
pub use transport::{Libp2p, Options, StartError};
