//! A [`Transport`](typeloom_wire::transport::Transport) over libp2p: messages between processes and machines.
//!
//! A message is a request and its receipt the response, each on a stream of its own (`request-response`), over TCP with Noise and
//! Yamux. Peers are their keys: the peer that a message comes from is the one that Noise authenticated. The leaves `peer_id` and
//! `multiaddress` of the type tree are libp2p's peer ids and multiaddresses in their binary forms.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use typeloom::run::host::{Durability, FileJournal, SystemClock, incarnation};
//! use typeloom_wire::endpoint::{Config, Endpoint, Parts};
//! use typeloom_libp2p::{Identity, Libp2p, Options, address};
//!
//! let transport = Libp2p::start(&Identity::generate(), &[address("/ip4/127.0.0.1/tcp/0")?], &Options::default())?;
//! let endpoint = Endpoint::open(
//!     Parts {
//!         transport: Arc::new(transport),
//!         clock: Arc::new(SystemClock::new()),
//!         journal: Box::new(FileJournal::open("peer.journal".as_ref(), Durability::Machine)?),
//!         ports: vec![],
//!         peers: vec![],
//!     },
//!     Config::new(incarnation()),
//! )?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Invariant:** the network runs on a thread of its own; the transport's calls block the caller, no longer than their timeout,
//! and are not for use inside asynchronous code.
//!
//! **Invariant:** a connection on which an answer does not come in time, and nothing else for some seconds, is closed: the next attempt
//! begins with a new one, so that a connection that is dead without knowing it does not stay in the way.

mod codec;
mod identity;
mod network;
mod transport;

pub use identity::{AddressError, Identity, IdentityError, address, show_address, show_peer};
pub use transport::{Libp2p, Options, StartError};
